//! Tests of memory use. They have their own process, because the allocator counts the memory of the whole process, and
//! run one at a time through [`alone`].

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
    panic::resume_unwind,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
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

/// Runs a test's `work` while no other test runs, so that only its memory is counted. It has its own thread, because
/// thread-local memory is freed only when the thread ends.
fn alone<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    static ALONE: Mutex<()> = Mutex::new(());
    let _one = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs `work`. Returns its result and the peak of allocated bytes of all threads, above the bytes allocated before.
fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = ALIVE.load(SeqCst);
    PEAK.store(before, SeqCst);
    let result = work();
    (result, PEAK.load(SeqCst) - before)
}
