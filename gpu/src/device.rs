//! The Vulkan device: found without a display, chosen by a fixed rule, reported by name.
//!
//! Owns the instance, the device, its one compute queue and the allocators. Uses no optional feature and no device
//! extension. Never runs a kernel: that is what the passes do.

use crate::GpuError;
use highground_terrain::compute::{DeviceInfo, DeviceKind};
use std::sync::{Arc, Mutex, PoisonError};
use vulkano::command_buffer::allocator::StandardCommandBufferAllocator;
use vulkano::descriptor_set::allocator::StandardDescriptorSetAllocator;
use vulkano::device::physical::{PhysicalDevice, PhysicalDeviceType};
use vulkano::device::{Device, DeviceCreateInfo, Queue, QueueCreateInfo, QueueFlags};
use vulkano::instance::debug::{
    DebugUtilsMessageSeverity, DebugUtilsMessageType, DebugUtilsMessenger, DebugUtilsMessengerCallback,
    DebugUtilsMessengerCreateInfo, ValidationFeatureEnable,
};
use vulkano::instance::{Instance, InstanceCreateInfo, InstanceExtensions};
use vulkano::memory::allocator::StandardMemoryAllocator;
use vulkano::{Validated, Version, VulkanError, VulkanLibrary};

/// What to do about a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Use one; its absence is an error.
    Require,
    /// Use one if there is one, else the CPU twins, and say so.
    Auto,
    /// Do not look for one.
    Off,
}

/// Reads the one switch about GPUs, the environment variable `HIGHGROUND_GPU`:
///
/// | value | the command with `--device auto` | with `--device gpu` | tests that need a device |
/// |---|---|---|---|
/// | `require` | fails without a device | fails without a device | fail without a device |
/// | `auto` | falls back to the CPU and says so | fails without a device | fail without a device |
/// | `off` | uses the CPU and says so | fails | are named as skipped |
/// | not set, or empty | as `auto` | as `auto` | as `require` |
///
/// `unset` is what the caller takes an unset variable for. No value lets a test pass because no device was found.
///
/// # Errors
/// Any other value.
pub fn policy(unset: Policy) -> Result<Policy, GpuError> {
    let Some(value) = std::env::var_os("HIGHGROUND_GPU") else { return Ok(unset) };
    parse_policy(&value.to_string_lossy(), unset)
}

fn parse_policy(value: &str, unset: Policy) -> Result<Policy, GpuError> {
    match value {
        "" => Ok(unset),
        "require" => Ok(Policy::Require),
        "auto" => Ok(Policy::Auto),
        "off" => Ok(Policy::Off),
        other => Err(GpuError::Policy { value: other.to_owned() }),
    }
}

const VALIDATION_LAYER: &str = "VK_LAYER_KHRONOS_validation";

/// What the validation layer said since the last look.
type Messages = Arc<Mutex<Vec<String>>>;

/// An open device with one compute queue.
pub(crate) struct Vulkan {
    pub(crate) device: Arc<Device>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) memory: Arc<StandardMemoryAllocator>,
    pub(crate) descriptors: Arc<StandardDescriptorSetAllocator>,
    pub(crate) commands: Arc<StandardCommandBufferAllocator>,
    info: DeviceInfo,
    /// There when the validation layer is on. The messenger keeps it talking to the list.
    watch: Option<(Messages, DebugUtilsMessenger)>,
}

impl Vulkan {
    /// Opens the best device: discrete before integrated before virtual before software, then by name, then by the
    /// order in which the loader lists them. The validation layer, with synchronisation validation, is on exactly
    /// when `HIGHGROUND_VK_VALIDATION` is `1`.
    pub(crate) fn open() -> Result<Self, GpuError> {
        Self::open_with(std::env::var_os("HIGHGROUND_VK_VALIDATION").is_some_and(|v| v == "1"))
    }

    fn open_with(validation: bool) -> Result<Self, GpuError> {
        let library = VulkanLibrary::new().map_err(|e| GpuError::NoLoader { reason: e.to_string() })?;
        let messages = validation.then(Messages::default);
        let instance = instance(library, messages.as_ref())?;
        let watch = messages.map(|m| watch(&instance, m)).transpose()?;
        let (physical, family) = choose(&instance)?;
        let info = describe(&physical);
        let create = DeviceCreateInfo {
            queue_create_infos: vec![QueueCreateInfo { queue_family_index: family, ..Default::default() }],
            ..Default::default()
        };
        let (device, mut queues) =
            Device::new(physical, create).map_err(GpuError::vulkan("opening the device"))?;
        let queue = queues
            .next()
            .ok_or(GpuError::Vulkan { what: "opening the device", reason: "it gave no queue".to_owned() })?;
        let vulkan = Self {
            memory: Arc::new(StandardMemoryAllocator::new_default(device.clone())),
            descriptors: Arc::new(StandardDescriptorSetAllocator::new(device.clone(), Default::default())),
            commands: Arc::new(StandardCommandBufferAllocator::new(device.clone(), Default::default())),
            device,
            queue,
            info,
            watch,
        };
        vulkan.check_validation()?;
        Ok(vulkan)
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Whether the validation layer watches.
    pub(crate) fn is_validating(&self) -> bool {
        self.watch.is_some()
    }

    /// Turns what the validation layer said since the last call into an error.
    pub(crate) fn check_validation(&self) -> Result<(), GpuError> {
        let Some((messages, _)) = &self.watch else { return Ok(()) };
        let said = std::mem::take(&mut *messages.lock().unwrap_or_else(PoisonError::into_inner));
        match said.first() {
            None => Ok(()),
            Some(first) => Err(GpuError::Validation { count: said.len(), first: first.clone() }),
        }
    }
}

fn instance(library: Arc<VulkanLibrary>, messages: Option<&Messages>) -> Result<Arc<Instance>, GpuError> {
    let mut create = InstanceCreateInfo {
        application_name: Some("highground".to_owned()),
        max_api_version: Some(Version::V1_1),
        ..Default::default()
    };
    if let Some(messages) = messages {
        let mut layers = library.layer_properties().map_err(GpuError::vulkan("listing Vulkan layers"))?;
        if !layers.any(|l| l.name() == VALIDATION_LAYER) {
            return Err(GpuError::NoValidationLayer);
        }
        create.enabled_layers = vec![VALIDATION_LAYER.to_owned()];
        create.enabled_extensions = InstanceExtensions {
            ext_debug_utils: true,
            ext_validation_features: true,
            ..InstanceExtensions::empty()
        };
        create.enabled_validation_features = vec![ValidationFeatureEnable::SynchronizationValidation];
        create.debug_utils_messengers = vec![messenger(messages.clone())];
    }
    Instance::new(library, create).map_err(|error| match error {
        Validated::Error(VulkanError::IncompatibleDriver) => {
            GpuError::NoDevice { reason: "the loader found no driver".to_owned() }
        }
        error => GpuError::vulkan("creating a Vulkan instance")(error),
    })
}

/// From now on the layer reports to the list. What was given at the instance's creation hears that alone.
fn watch(instance: &Arc<Instance>, messages: Messages) -> Result<(Messages, DebugUtilsMessenger), GpuError> {
    let messenger = DebugUtilsMessenger::new(instance.clone(), messenger(messages.clone()))
        .map_err(GpuError::vulkan("listening to the validation layer"))?;
    Ok((messages, messenger))
}

fn messenger(messages: Messages) -> DebugUtilsMessengerCreateInfo {
    // SAFETY: the callback only formats its argument and pushes it to a list; it makes no Vulkan call.
    let callback = unsafe {
        DebugUtilsMessengerCallback::new(move |_severity, _kind, data| {
            let id = data.message_id_name.unwrap_or("unnamed");
            let line = format!("{id}: {}", data.message);
            messages.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        })
    };
    DebugUtilsMessengerCreateInfo {
        message_severity: DebugUtilsMessageSeverity::ERROR | DebugUtilsMessageSeverity::WARNING,
        // Not GENERAL: that is the loader complaining about drivers which are not used.
        message_type: DebugUtilsMessageType::VALIDATION,
        ..DebugUtilsMessengerCreateInfo::user_callback(callback)
    }
}

/// The best usable device and its first compute queue family.
fn choose(instance: &Arc<Instance>) -> Result<(Arc<PhysicalDevice>, u32), GpuError> {
    let all = instance.enumerate_physical_devices().map_err(GpuError::vulkan("listing Vulkan devices"))?;
    let mut found = Vec::new();
    let mut usable = Vec::new();
    for device in all {
        let properties = device.properties();
        found.push(format!("{} with Vulkan {}", properties.device_name, device.api_version()));
        let queues = device.queue_family_properties();
        let family = queues.iter().position(|q| q.queue_flags.intersects(QueueFlags::COMPUTE));
        if let (Some(family), true) = (family, device.api_version() >= Version::V1_1) {
            usable.push((
                rank(properties.device_type),
                properties.device_name.clone(),
                device,
                family as u32,
            ));
        }
    }
    // Stable, so the loader's order decides between equals.
    usable.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    match usable.into_iter().next() {
        Some((_, _, device, family)) => Ok((device, family)),
        None if found.is_empty() => {
            Err(GpuError::NoDevice { reason: "the loader lists no device".to_owned() })
        }
        None => Err(GpuError::NoDevice { reason: format!("found {}", found.join(", ")) }),
    }
}

/// Smaller is better.
const fn rank(kind: PhysicalDeviceType) -> u8 {
    match kind {
        PhysicalDeviceType::DiscreteGpu => 0,
        PhysicalDeviceType::IntegratedGpu => 1,
        PhysicalDeviceType::VirtualGpu => 2,
        PhysicalDeviceType::Cpu => 3,
        _ => 4,
    }
}

fn describe(device: &PhysicalDevice) -> DeviceInfo {
    let properties = device.properties();
    let kind = match properties.device_type {
        PhysicalDeviceType::DiscreteGpu => DeviceKind::DiscreteGpu,
        PhysicalDeviceType::IntegratedGpu => DeviceKind::IntegratedGpu,
        PhysicalDeviceType::VirtualGpu => DeviceKind::VirtualGpu,
        PhysicalDeviceType::Cpu => DeviceKind::SoftwareGpu,
        _ => DeviceKind::OtherGpu,
    };
    // Named drivers came with Vulkan 1.2; before that only the driver's number is known.
    let driver = match (&properties.driver_name, &properties.driver_info) {
        (Some(name), Some(info)) => format!("{name} {info}"),
        _ => format!("driver {:#x}", properties.driver_version),
    };
    let driver = format!("{}, Vulkan {}", driver.trim(), device.api_version());
    DeviceInfo { kind, name: properties.device_name.clone(), driver }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_has_three_words_and_a_default_of_the_callers() {
        assert_eq!(parse_policy("", Policy::Require), Ok(Policy::Require));
        assert_eq!(parse_policy("", Policy::Auto), Ok(Policy::Auto));
        assert_eq!(parse_policy("require", Policy::Auto), Ok(Policy::Require));
        assert_eq!(parse_policy("auto", Policy::Require), Ok(Policy::Auto));
        assert_eq!(parse_policy("off", Policy::Require), Ok(Policy::Off));
        let wrong = parse_policy("no", Policy::Require).unwrap_err();
        assert_eq!(wrong.to_string(), "HIGHGROUND_GPU is \"no\": expected require, auto or off");
    }

    #[test]
    fn real_devices_come_before_software() {
        use PhysicalDeviceType::{Cpu, DiscreteGpu, IntegratedGpu, Other, VirtualGpu};
        let mut kinds = [Other, Cpu, VirtualGpu, IntegratedGpu, DiscreteGpu];
        kinds.sort_by_key(|&k| rank(k));
        assert_eq!(kinds, [DiscreteGpu, IntegratedGpu, VirtualGpu, Cpu, Other]);
    }

    #[test]
    fn what_the_validation_layer_finds_is_an_error() {
        use std::io::Write;
        use vulkano::shader::{ShaderModule, ShaderModuleCreateInfo};
        if policy(Policy::Require) == Ok(Policy::Off) {
            let test = "device::what_the_validation_layer_finds_is_an_error";
            let _ = writeln!(std::io::stderr(), "SKIPPED (HIGHGROUND_GPU=off): {test}");
            return;
        }
        let vulkan = Vulkan::open_with(true).unwrap();
        assert!(vulkan.is_validating());
        assert_eq!(vulkan.check_validation(), Ok(()));
        let mut words = crate::shader::module("weight_mip").unwrap().words();
        // An identifier bound that is too small for the identifiers in use.
        words[3] = 3;
        // SAFETY: drivers take a module's words as they are until a pipeline is made of it, and none is.
        let module = unsafe {
            ShaderModule::new_unchecked(vulkan.device.clone(), ShaderModuleCreateInfo::new(&words))
        };
        drop(module);
        let found = vulkan.check_validation();
        assert!(
            matches!(&found, Err(GpuError::Validation { first, .. }) if first.contains("SPIR-V")),
            "{found:?}"
        );
        // Said once.
        assert_eq!(vulkan.check_validation(), Ok(()));
    }

    #[test]
    fn a_machine_without_a_device_is_told_what_to_install() {
        for error in [GpuError::NoLoader { reason: "x".into() }, GpuError::NoDevice { reason: "x".into() }] {
            let line = error.to_string();
            assert!(line.contains("apt-get install mesa-vulkan-drivers libvulkan1"), "{line}");
            assert_eq!(line.lines().count(), 1);
        }
    }
}
