//! One batch on the device, from its buffers to what is read back: one submission, one wait.
//!
//! Owns the order of things: nothing of a batch is used again before the device has finished with it. A device that
//! does not finish in time, or is lost, is never asked again, and what it may still be writing to is never given back.

use crate::GpuError;
use crate::device::Vulkan;
use crate::kept::Kept;
use crate::pass::Passes;
use crate::pool::{Kind, Pool, allocate};
use highground_terrain::compute::batch::{Batch, Outputs, Source, Step};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vulkano::buffer::Subbuffer;
use vulkano::command_buffer::{
    AutoCommandBufferBuilder, CommandBufferUsage, CopyBufferInfo, PrimaryAutoCommandBuffer,
};
use vulkano::descriptor_set::{DescriptorSet, WriteDescriptorSet};
use vulkano::pipeline::{Pipeline, PipelineBindPoint};
use vulkano::sync::GpuFuture;

/// What a device works with, one batch at a time.
pub(crate) struct Bench {
    pub(crate) passes: Passes,
    pub(crate) pool: Pool,
    pub(crate) kept: Kept,
    /// Fills every target with this first: tests show with it that nothing depends on what was there.
    pub(crate) poison: Option<u32>,
    pub(crate) timeout: Duration,
    /// The device is not to be asked again.
    pub(crate) lost: bool,
}

/// A buffer of a batch: what is bound, and the pooled one behind it, if any.
struct Lent {
    bound: Subbuffer<[u32]>,
    pooled: Option<(Kind, Subbuffer<[u32]>)>,
}

type Recorder = AutoCommandBufferBuilder<PrimaryAutoCommandBuffer>;

impl Bench {
    /// Runs a batch that was checked.
    pub(crate) fn run(
        &mut self,
        vulkan: &Vulkan,
        batch: &Batch<'_>,
        out: &mut Outputs,
    ) -> Result<(), GpuError> {
        const WHAT: &str = "recording a batch";
        if self.lost {
            return Err(GpuError::DeviceLost);
        }
        out.clear();
        let mut recorder = AutoCommandBufferBuilder::primary(
            vulkan.commands.clone(),
            vulkan.queue.queue_family_index(),
            CommandBufferUsage::OneTimeSubmit,
        )
        .map_err(GpuError::vulkan(WHAT))?;
        let mut lent: Vec<Lent> = Vec::with_capacity(batch.sources().len() + batch.reads().len());
        let mut done = self.record(vulkan, batch, &mut recorder, &mut lent);
        if done.is_ok() {
            let commands = recorder.build().map_err(GpuError::vulkan(WHAT));
            done = commands.and_then(|commands| self.submit(vulkan, commands));
        }
        if done.is_ok() {
            done = batch.reads().iter().zip(&lent[batch.sources().len()..]).try_for_each(
                |((_, range), lent)| {
                    let words = lent.bound.read().map_err(GpuError::other("reading a buffer"))?;
                    out.next(range.len()).copy_from_slice(&words[..range.len()]);
                    Ok(())
                },
            );
        }
        if self.lost {
            // The device may still write to them.
            std::mem::forget(lent);
        } else {
            for (kind, buffer) in lent.into_iter().filter_map(|l| l.pooled) {
                self.pool.give(kind, buffer);
            }
        }
        done.and_then(|()| vulkan.check_validation())
    }

    fn record(
        &mut self,
        vulkan: &Vulkan,
        batch: &Batch<'_>,
        recorder: &mut Recorder,
        lent: &mut Vec<Lent>,
    ) -> Result<(), GpuError> {
        const WHAT: &str = "recording a batch";
        for source in batch.sources() {
            let buffer = self.source(vulkan, source)?;
            lent.push(buffer);
        }
        for step in batch.steps() {
            self.step(vulkan, step, recorder, lent)?;
        }
        for (id, range) in batch.reads() {
            let buffer = self.pool.take(Kind::Readback, range.len() as u64)?;
            if !range.is_empty() {
                let part = lent[id.index()].bound.clone().slice(range.start as u64..range.end as u64);
                let to = buffer.clone().slice(0..range.len() as u64);
                recorder.copy_buffer(CopyBufferInfo::buffers(part, to)).map_err(GpuError::other(WHAT))?;
            }
            lent.push(Lent { bound: buffer.clone(), pooled: Some((Kind::Readback, buffer)) });
        }
        Ok(())
    }

    /// The buffer of a source, filled.
    fn source(&mut self, vulkan: &Vulkan, source: &Source<'_>) -> Result<Lent, GpuError> {
        const WHAT: &str = "filling a buffer";
        // No buffer of Vulkan's is empty.
        let words = source.words().max(1) as u64;
        let pooled = |pool: &mut Pool, kind| -> Result<(Lent, Subbuffer<[u32]>), GpuError> {
            let whole = pool.take(kind, words)?;
            let bound = whole.clone().slice(0..words);
            Ok((Lent { bound: bound.clone(), pooled: Some((kind, whole)) }, bound))
        };
        match *source {
            Source::Words(from) => {
                let (lent, bound) = pooled(&mut self.pool, Kind::Upload)?;
                bound.write().map_err(GpuError::other(WHAT))?[..from.len()].copy_from_slice(from);
                Ok(lent)
            }
            Source::Bytes(bytes) => {
                let (lent, bound) = pooled(&mut self.pool, Kind::Upload)?;
                upload(&bound, bytes)?;
                Ok(lent)
            }
            // Filled by the host: a fill on the device would need a barrier for what a shader may read, and Vulkano puts one
            // for what it does.
            Source::Zeroed(_) => {
                let (lent, bound) = pooled(&mut self.pool, Kind::Upload)?;
                bound.write().map_err(GpuError::other(WHAT))?.fill(0);
                Ok(lent)
            }
            Source::Target(_) => match self.poison {
                None => Ok(pooled(&mut self.pool, Kind::Device)?.0),
                Some(poison) => {
                    let (lent, bound) = pooled(&mut self.pool, Kind::Upload)?;
                    bound.write().map_err(GpuError::other(WHAT))?.fill(poison);
                    Ok(lent)
                }
            },
            Source::Shared(shared) => {
                let bound = match self.kept.get(shared.id()) {
                    Some(bound) => bound,
                    None => {
                        let bound = self.keep(vulkan, shared.words())?;
                        self.kept.put(shared.id(), bound.clone());
                        bound
                    }
                };
                Ok(Lent { bound, pooled: None })
            }
        }
    }

    /// A buffer of the device's with these words: a submission of its own, since it happens once.
    fn keep(&mut self, vulkan: &Vulkan, words: &[u32]) -> Result<Subbuffer<[u32]>, GpuError> {
        const WHAT: &str = "filling a buffer";
        let len = words.len().max(1) as u64;
        let bound = allocate(&vulkan.memory, Kind::Device, len)?;
        let staging = self.pool.take(Kind::Upload, len)?;
        let part = staging.clone().slice(0..len);
        part.write().map_err(GpuError::other(WHAT))?[..words.len()].copy_from_slice(words);
        let mut recorder = AutoCommandBufferBuilder::primary(
            vulkan.commands.clone(),
            vulkan.queue.queue_family_index(),
            CommandBufferUsage::OneTimeSubmit,
        )
        .map_err(GpuError::vulkan(WHAT))?;
        recorder.copy_buffer(CopyBufferInfo::buffers(part, bound.clone())).map_err(GpuError::other(WHAT))?;
        let commands = recorder.build().map_err(GpuError::vulkan(WHAT))?;
        self.submit(vulkan, commands)?;
        self.pool.give(Kind::Upload, staging);
        Ok(bound)
    }

    fn step(
        &mut self,
        vulkan: &Vulkan,
        step: &Step,
        recorder: &mut Recorder,
        lent: &[Lent],
    ) -> Result<(), GpuError> {
        const WHAT: &str = "recording a step";
        let pipeline = self.passes.get(vulkan, step.entry)?;
        let layout = pipeline.layout().clone();
        let set_layout = layout
            .set_layouts()
            .first()
            .ok_or(GpuError::Vulkan { what: WHAT, reason: "the shader has no bindings".to_owned() })?
            .clone();
        let writes = (0..)
            .zip(&step.buffers)
            .map(|(binding, id)| WriteDescriptorSet::buffer(binding, lent[id.index()].bound.clone()));
        let set = DescriptorSet::new(vulkan.descriptors.clone(), set_layout, writes, [])
            .map_err(GpuError::vulkan(WHAT))?;
        recorder
            .bind_pipeline_compute(pipeline)
            .map_err(GpuError::vulkan(WHAT))?
            .bind_descriptor_sets(PipelineBindPoint::Compute, layout.clone(), 0, set)
            .map_err(GpuError::vulkan(WHAT))?;
        push(recorder, &layout, &step.params)?;
        let [across, down] = step.grid();
        // SAFETY: the shader was compiled with bounds checks on every buffer and array access and bounded loops, needs
        // no feature beyond Vulkan 1.1, and everything that it is bound to was checked above.
        unsafe { recorder.dispatch([across, down, 1]) }.map_err(GpuError::vulkan(WHAT))?;
        Ok(())
    }

    /// Submits and waits, but not longer than the timeout.
    fn submit(&mut self, vulkan: &Vulkan, commands: Arc<PrimaryAutoCommandBuffer>) -> Result<(), GpuError> {
        let future = vulkano::sync::now(vulkan.device.clone())
            .then_execute(vulkan.queue.clone(), commands)
            .map_err(GpuError::other("submitting a batch"))?
            .then_signal_fence_and_flush()
            .map_err(GpuError::vulkan("submitting a batch"));
        let future = match future {
            Ok(future) => future,
            Err(error) => {
                self.lost |= error == GpuError::DeviceLost;
                return Err(error);
            }
        };
        let start = Instant::now();
        let mut pause = Duration::from_micros(20);
        // Dropping a future waits for it without end, and panics when the device is lost; so it is waited for here,
        // and forgotten where that is hopeless.
        let error = loop {
            match future.is_signaled() {
                Ok(true) => return future.wait(None).map_err(GpuError::vulkan("waiting for a batch")),
                Ok(false) if start.elapsed() < self.timeout => std::thread::sleep(pause),
                Ok(false) => break GpuError::Timeout { seconds: self.timeout.as_secs() },
                Err(_) => break GpuError::DeviceLost,
            }
            pause = (pause * 2).min(Duration::from_millis(1));
        };
        self.lost = true;
        std::mem::forget(future);
        Err(error)
    }
}

/// Pushes the parameters; there may be none. Vulkano takes arrays of a fixed length.
fn push(
    recorder: &mut Recorder,
    layout: &Arc<vulkano::pipeline::PipelineLayout>,
    params: &[u32],
) -> Result<(), GpuError> {
    const WHAT: &str = "recording a step";
    for (i, &word) in params.iter().enumerate() {
        recorder.push_constants(layout.clone(), 4 * i as u32, word).map_err(GpuError::vulkan(WHAT))?;
    }
    Ok(())
}

/// Writes bytes as little-endian words, the last one filled up with zeros.
fn upload(buffer: &Subbuffer<[u32]>, bytes: &[u8]) -> Result<(), GpuError> {
    let mut target = buffer.write().map_err(GpuError::other("filling a buffer"))?;
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
