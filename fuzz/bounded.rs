//! Reads what a fuzzer made up, and fails where that takes too much memory: counted at the allocator, so that it
//! needs no sanitizer.

use std::alloc::System;

use orrery::nn::memory::{Counting, peak_bytes};

#[path = "readers.rs"]
mod readers;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

/// The largest number of bytes that a reader may hold for a file of 64 KiB.
const MAX_BYTES: u64 = 256 << 20;

pub fn read(name: &str, bytes: &[u8]) {
    let ((), peak) = peak_bytes(|| readers::read(name, bytes));
    let peak = peak.unwrap_or(0);
    assert!(peak < MAX_BYTES, "{name} held {} MB for {} bytes", peak >> 20, bytes.len());
}
