//! What memory things take. These tests have a process of their own, because the allocator counts for all of
//! it, and run one at a time: each begins with [`alone`].

mod bombs;
#[cfg(target_os = "linux")]
mod corpus;
mod graph_product;
#[path = "../shared/logs_of_tools.rs"]
mod logs_of_tools;
mod ode;
mod readers;
mod reading;
mod streaming;
mod training;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use orrery::nn::memory;

struct PeakCounting;

static ALIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for PeakCounting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let alive = ALIVE.fetch_add(layout.size(), SeqCst) + layout.size();
        PEAK.fetch_max(alive, SeqCst);
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        ALIVE.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: memory::Counting<PeakCounting> = memory::Counting(PeakCounting);

/// Held by a test while it runs, so that what is counted is that test's.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|e| e.into_inner())
}

/// The result of `work`, and the most bytes that all threads together held during it above what was held before.
fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = ALIVE.load(SeqCst);
    PEAK.store(before, SeqCst);
    let result = work();
    (result, PEAK.load(SeqCst) - before)
}
