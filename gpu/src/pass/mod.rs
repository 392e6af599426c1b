//! One compute pass per kernel, and what all passes share: pipelines, word buffers, and one dispatch to its end.
//!
//! A pass owns its pipelines and limits. It never keeps a caller's data: buffers live for one call.

pub(crate) mod weight_mip;

use crate::device::Vulkan;
use crate::{GpuError, shader};
use std::sync::Arc;
use vulkano::buffer::{Buffer, BufferContents, BufferCreateInfo, BufferUsage, Subbuffer};
use vulkano::command_buffer::{AutoCommandBufferBuilder, CommandBufferUsage};
use vulkano::descriptor_set::{DescriptorSet, WriteDescriptorSet};
use vulkano::memory::allocator::{AllocationCreateInfo, MemoryTypeFilter};
use vulkano::pipeline::compute::ComputePipelineCreateInfo;
use vulkano::pipeline::layout::PipelineDescriptorSetLayoutCreateInfo;
use vulkano::pipeline::{
    ComputePipeline, Pipeline, PipelineBindPoint, PipelineLayout, PipelineShaderStageCreateInfo,
};
use vulkano::shader::{ShaderModule, ShaderModuleCreateInfo};
use vulkano::sync::GpuFuture;

/// Invocations in a group: what every Vulkan device has.
pub(crate) const GROUP: u32 = 128;

/// Groups in a dispatch: what every Vulkan device has.
pub(crate) const MAX_GROUPS: u32 = 65_535;

/// Loads a module that `build.rs` compiled.
fn load(vulkan: &Vulkan, name: &'static str) -> Result<Arc<ShaderModule>, GpuError> {
    const WHAT: &str = "loading a shader";
    let module = shader::module(name)
        .ok_or(GpuError::Vulkan { what: WHAT, reason: format!("there is no module {name}") })?;
    let words = module.words();
    // SAFETY: the words are what naga wrote from a module that its validator accepted, unchanged since the build.
    unsafe { ShaderModule::new(vulkan.device.clone(), ShaderModuleCreateInfo::new(&words)) }
        .map_err(GpuError::vulkan(WHAT))
}

/// The pipeline of one entry point, with the layout that the shader declares.
fn pipeline(
    vulkan: &Vulkan,
    module: &Arc<ShaderModule>,
    entry: &'static str,
) -> Result<Arc<ComputePipeline>, GpuError> {
    const WHAT: &str = "creating a compute pipeline";
    let entry = module
        .entry_point(entry)
        .ok_or(GpuError::Vulkan { what: WHAT, reason: format!("the shader has no entry point {entry}") })?;
    let stage = PipelineShaderStageCreateInfo::new(entry);
    let layout = PipelineDescriptorSetLayoutCreateInfo::from_stages([&stage])
        .into_pipeline_layout_create_info(vulkan.device.clone())
        .map_err(|e| GpuError::vulkan(WHAT)(e.error))?;
    let layout = PipelineLayout::new(vulkan.device.clone(), layout).map_err(GpuError::vulkan(WHAT))?;
    ComputePipeline::new(vulkan.device.clone(), None, ComputePipelineCreateInfo::stage_layout(stage, layout))
        .map_err(GpuError::vulkan(WHAT))
}

/// Who touches a buffer on the host's side.
#[derive(Clone, Copy)]
enum Host {
    Writes,
    Reads,
}

/// A storage buffer of `words` words that the host can see.
fn words(vulkan: &Vulkan, words: u64, host: Host) -> Result<Subbuffer<[u32]>, GpuError> {
    let memory_type_filter = match host {
        Host::Writes => MemoryTypeFilter::PREFER_DEVICE | MemoryTypeFilter::HOST_SEQUENTIAL_WRITE,
        Host::Reads => MemoryTypeFilter::PREFER_HOST | MemoryTypeFilter::HOST_RANDOM_ACCESS,
    };
    Buffer::new_slice(
        vulkan.memory.clone(),
        BufferCreateInfo { usage: BufferUsage::STORAGE_BUFFER, ..Default::default() },
        AllocationCreateInfo { memory_type_filter, ..Default::default() },
        words,
    )
    .map_err(|e| match e {
        vulkano::Validated::Error(e) => GpuError::other("allocating a buffer")(e),
        vulkano::Validated::ValidationError(e) => GpuError::other("allocating a buffer")(e),
    })
}

/// Writes bytes as little-endian words, the last one filled up with zeros.
fn upload(buffer: &Subbuffer<[u32]>, bytes: &[u8]) -> Result<(), GpuError> {
    let mut target = buffer.write().map_err(GpuError::other("writing a buffer"))?;
    let (whole, rest) = bytes.as_chunks::<4>();
    for (word, &chunk) in target.iter_mut().zip(whole) {
        *word = u32::from_le_bytes(chunk);
    }
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        target[whole.len()] = u32::from_le_bytes(last);
    }
    Ok(())
}

/// Reads little-endian words back into bytes.
fn download(buffer: &Subbuffer<[u32]>, bytes: &mut [u8]) -> Result<(), GpuError> {
    let source = buffer.read().map_err(GpuError::other("reading a buffer"))?;
    for (chunk, word) in bytes.chunks_mut(4).zip(source.iter()) {
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
    Ok(())
}

/// One dispatch over `buffers` (bindings 0, 1, … of group 0), from recording until it is complete on the device.
fn dispatch<P: BufferContents>(
    vulkan: &Vulkan,
    pipeline: &Arc<ComputePipeline>,
    buffers: &[&Subbuffer<[u32]>],
    push: P,
    groups: u32,
) -> Result<(), GpuError> {
    const WHAT: &str = "recording a compute pass";
    let layout = pipeline.layout();
    let set_layout = layout
        .set_layouts()
        .first()
        .ok_or(GpuError::Vulkan { what: WHAT, reason: "the shader has no bindings".to_owned() })?;
    let writes = (0..).zip(buffers).map(|(binding, b)| WriteDescriptorSet::buffer(binding, (*b).clone()));
    let set = DescriptorSet::new(vulkan.descriptors.clone(), set_layout.clone(), writes, [])
        .map_err(GpuError::vulkan(WHAT))?;
    let mut recorder = AutoCommandBufferBuilder::primary(
        vulkan.commands.clone(),
        vulkan.queue.queue_family_index(),
        CommandBufferUsage::OneTimeSubmit,
    )
    .map_err(GpuError::vulkan(WHAT))?;
    recorder
        .bind_pipeline_compute(pipeline.clone())
        .map_err(GpuError::vulkan(WHAT))?
        .bind_descriptor_sets(PipelineBindPoint::Compute, layout.clone(), 0, set)
        .map_err(GpuError::vulkan(WHAT))?
        .push_constants(layout.clone(), 0, push)
        .map_err(GpuError::vulkan(WHAT))?;
    // SAFETY: the shader was compiled with bounds checks on every buffer and array access and bounded loops, needs
    // no feature beyond Vulkan 1.1, and everything that it is bound to was checked above.
    unsafe { recorder.dispatch([groups, 1, 1]) }.map_err(GpuError::vulkan(WHAT))?;
    let commands = recorder.build().map_err(GpuError::vulkan(WHAT))?;
    vulkano::sync::now(vulkan.device.clone())
        .then_execute(vulkan.queue.clone(), commands)
        .map_err(GpuError::other("submitting a compute pass"))?
        .then_signal_fence_and_flush()
        .map_err(GpuError::vulkan("submitting a compute pass"))?
        .wait(None)
        .map_err(GpuError::vulkan("waiting for a compute pass"))?;
    vulkan.check_validation()
}
