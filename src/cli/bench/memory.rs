//! What memory a process has used: its peak, and how often and how much it allocates.

use std::{
    alloc::{GlobalAlloc, Layout},
    sync::atomic::{AtomicU64, Ordering},
};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

fn count(size: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(size as u64, Ordering::Relaxed);
}

/// Counts the allocations of another allocator.
pub struct Counting<A>(pub A);

// SAFETY: every call is passed on as it came.
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
        // SAFETY: the caller's contract is the same.
        unsafe { self.0.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { self.0.dealloc(ptr, layout) }
    }
}

/// Allocations since the process began, and their bytes; 0 where [`Counting`] is not the global allocator.
pub fn allocations() -> [u64; 2] {
    [ALLOCATIONS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed)]
}

/// Most resident memory that a process (`self`, or a number) ever had, MiB; `None` where the system
/// does not tell.
pub fn peak_mib(process: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|k| k / 1024.0)
}
