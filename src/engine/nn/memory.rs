//! Memory use of a process: its peak, how often and how much it allocates, and the most that a piece of work holds at
//! once.

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::files;
pub use crate::files::{available_memory, memory::size};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static HELD_BYTES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The bytes that this thread holds more than when watching began, and their maximum; `None` while it is not
    /// watched.
    static WATCHED: Cell<Option<[i64; 2]>> = const { Cell::new(None) };
}

fn count(size: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    HELD_BYTES.fetch_add(size as u64, Ordering::Relaxed);
    track(size as i64);
}

fn track(change: i64) {
    // a thread that ends may free memory after its thread-local cell is gone
    let _ = WATCHED.try_with(|w| {
        if let Some([held, most]) = w.get() {
            w.set(Some([held + change, most.max(held + change)]));
        }
    });
}

/// The result of `work`, and the peak of the bytes that this thread held during it above those held before; `None`
/// where [`Counting`] is not the global allocator. Other threads' buffers do not count.
pub fn peak_bytes<R>(work: impl FnOnce() -> R) -> (R, Option<u64>) {
    let before = allocations()[0];
    let outer = WATCHED.replace(Some([0, 0]));
    let result = work();
    let most = WATCHED.replace(outer).map_or(0, |[_, most]| most);
    (result, (allocations()[0] > before).then_some(most.max(0) as u64))
}

/// Counts the allocations of another allocator.
pub struct Counting<A>(pub A);

// SAFETY: every call is forwarded unchanged to the inner allocator.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        track(-(layout.size() as i64));
        // SAFETY: the caller's contract is the same.
        unsafe { self.0.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        track(-(layout.size() as i64));
        // SAFETY: the caller's contract is the same.
        unsafe { self.0.dealloc(ptr, layout) }
    }
}

/// Allocations since the process began, and their bytes; 0 where [`Counting`] is not the global allocator.
pub fn allocations() -> [u64; 2] {
    [ALLOCATIONS.load(Ordering::Relaxed), HELD_BYTES.load(Ordering::Relaxed)]
}

/// The limit of a `/proc/PROCESS/status` in bytes.
const MAX_STATUS: u64 = 1 << 20;

/// Peak resident memory of a process (`self`, or a number), MiB; `None` if the system does not report it.
pub fn peak_mib(process: &str) -> Option<f64> {
    let status = files::read_text(Path::new(&format!("/proc/{process}/status")), MAX_STATUS).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|k| k / 1024.0)
}
