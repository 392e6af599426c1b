//! One compute pass per kernel: its shader's module, and the pipelines of the entry points that are in use.
//!
//! A kernel's passes need no code of their own here: what an entry point binds stands in the terrain crate
//! (`kernel::Entry`), what it does in `shaders/<kernel>.wgsl`, and how it is asked in the terrain crate's `pass`. The
//! tests hold every entry against its shader.

use crate::device::Vulkan;
use crate::{GpuError, shader};
use highground_terrain::kernel::Entry;
use std::collections::BTreeMap;
use std::sync::Arc;
use vulkano::pipeline::compute::ComputePipelineCreateInfo;
use vulkano::pipeline::layout::PipelineDescriptorSetLayoutCreateInfo;
use vulkano::pipeline::{ComputePipeline, PipelineLayout, PipelineShaderStageCreateInfo};
use vulkano::shader::{ShaderModule, ShaderModuleCreateInfo};

/// Modules and pipelines, made when they are first needed.
#[derive(Default)]
pub(crate) struct Passes {
    /// Taken instead of the built module of its name.
    other: Option<shader::Module>,
    modules: BTreeMap<&'static str, Arc<ShaderModule>>,
    pipelines: BTreeMap<(&'static str, &'static str), Arc<ComputePipeline>>,
}

impl Passes {
    #[cfg(feature = "compile")]
    pub(crate) fn with(other: shader::Module) -> Self {
        Self { other: Some(other), ..Self::default() }
    }

    /// The pipeline of an entry point.
    pub(crate) fn get(&mut self, vulkan: &Vulkan, entry: &Entry) -> Result<Arc<ComputePipeline>, GpuError> {
        let key = (entry.kernel, entry.name);
        if let Some(pipeline) = self.pipelines.get(&key) {
            return Ok(pipeline.clone());
        }
        let module = match self.modules.get(entry.kernel) {
            Some(module) => module.clone(),
            None => {
                let other = self.other.filter(|m| m.name == entry.kernel);
                let module = load(vulkan, entry.kernel, other)?;
                self.modules.insert(entry.kernel, module.clone());
                module
            }
        };
        let pipeline = pipeline(vulkan, &module, entry)?;
        self.pipelines.insert(key, pipeline.clone());
        Ok(pipeline)
    }
}

/// Loads a module that `build.rs` compiled.
fn load(
    vulkan: &Vulkan,
    name: &'static str,
    other: Option<shader::Module>,
) -> Result<Arc<ShaderModule>, GpuError> {
    const WHAT: &str = "loading a shader";
    let module = other
        .or_else(|| shader::module(name).copied())
        .ok_or(GpuError::Vulkan { what: WHAT, reason: format!("there is no module {name}") })?;
    let words = module.words();
    // SAFETY: the words are what naga wrote from a module that its validator accepted, unchanged since then.
    unsafe { ShaderModule::new(vulkan.device.clone(), ShaderModuleCreateInfo::new(&words)) }
        .map_err(GpuError::vulkan(WHAT))
}

/// The pipeline of one entry point, with the layout that the shader declares.
fn pipeline(
    vulkan: &Vulkan,
    module: &Arc<ShaderModule>,
    entry: &Entry,
) -> Result<Arc<ComputePipeline>, GpuError> {
    const WHAT: &str = "creating a compute pipeline";
    let point = module.entry_point(entry.name).ok_or_else(|| GpuError::Vulkan {
        what: WHAT,
        reason: format!("there is no entry point {entry:?}"),
    })?;
    let stage = PipelineShaderStageCreateInfo::new(point);
    let layout = PipelineDescriptorSetLayoutCreateInfo::from_stages([&stage])
        .into_pipeline_layout_create_info(vulkan.device.clone())
        .map_err(|e| GpuError::vulkan(WHAT)(e.error))?;
    let layout = PipelineLayout::new(vulkan.device.clone(), layout).map_err(GpuError::vulkan(WHAT))?;
    ComputePipeline::new(vulkan.device.clone(), None, ComputePipelineCreateInfo::stage_layout(stage, layout))
        .map_err(GpuError::vulkan(WHAT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use highground_terrain::kernel::ENTRIES;
    use vulkano::pipeline::Pipeline;

    #[test]
    fn every_entry_point_has_a_shader_that_binds_what_it_says() {
        if crate::policy(crate::Policy::Require) == Ok(crate::Policy::Off) {
            return;
        }
        let vulkan = Vulkan::open().unwrap();
        let mut passes = Passes::default();
        for entry in ENTRIES {
            let pipeline = passes.get(&vulkan, entry).unwrap();
            let layout = pipeline.layout();
            let [set] = layout.set_layouts() else { panic!("{entry:?} has sets {:?}", layout.set_layouts()) };
            let bindings: Vec<u32> = set.bindings().keys().copied().collect();
            assert_eq!(bindings, (0..(entry.reads + entry.writes) as u32).collect::<Vec<_>>(), "{entry:?}");
            let pushed: u32 = layout.push_constant_ranges().iter().map(|r| r.size).sum();
            assert_eq!(pushed as usize, 4 * entry.params, "{entry:?}");
        }
        // And no shader is without a kernel.
        for module in shader::MODULES {
            assert!(ENTRIES.iter().any(|e| e.kernel == module.name), "{}", module.name);
        }
    }
}
