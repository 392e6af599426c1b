//! An allocator that counts: how often a thread, and the whole process, asked for memory, and how many bytes it holds.
//!
//! Owns the counters, nothing else: every request goes to the system's allocator unchanged. A test that counts installs
//! it as its `#[global_allocator]`; without that every count stays 0, so such a test must first see it count something.
//!
//! The one file outside `gpu` that says `unsafe`: a global allocator cannot be written without it.
#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

static IN_PROCESS: AtomicU64 = AtomicU64::new(0);
static HELD: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    // Const-initialised and without a destructor: reading it neither allocates nor registers anything.
    static ON_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

fn note() {
    IN_PROCESS.fetch_add(1, Ordering::Relaxed);
    // A thread that is ending has no counter any more; nobody asks for it then.
    let _ = ON_THREAD.try_with(|n| n.set(n.get() + 1));
}

/// Notes bytes that are about to be held.
fn take(bytes: usize) {
    let held = HELD.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    MOST.fetch_max(held, Ordering::Relaxed);
}

/// Notes bytes that are no longer held.
fn give(bytes: usize) {
    HELD.fetch_sub(bytes as u64, Ordering::Relaxed);
}

// SAFETY: every method hands its arguments unchanged to `System`, which keeps the trait's contract, and gives its answer
// back unchanged. Counting touches no memory but the counters and cannot panic or allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        take(layout.size());
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        take(layout.size());
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note();
        // Both may be held while it is copied.
        take(new_size);
        give(layout.size());
        // SAFETY: the pointer came from this allocator, so from `System`, with this layout.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        give(layout.size());
        // SAFETY: the pointer came from this allocator, so from `System`, with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Allocations and reallocations on the calling thread so far.
pub fn on_this_thread() -> u64 {
    ON_THREAD.with(Cell::get)
}

/// Allocations and reallocations on all threads so far.
pub fn in_process() -> u64 {
    IN_PROCESS.load(Ordering::Relaxed)
}

/// What `f` gives, and how often it allocated on the calling thread.
pub fn counted<T>(f: impl FnOnce() -> T) -> (T, u64) {
    let before = on_this_thread();
    let value = f();
    (value, on_this_thread() - before)
}

/// What `f` gives, and the most bytes that the process held meanwhile beyond those it held before.
pub fn peak_bytes<T>(f: impl FnOnce() -> T) -> (T, u64) {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let value = f();
    (value, MOST.load(Ordering::Relaxed).saturating_sub(before))
}
