//! Reads what a fuzzer made up, and fails where that takes too much memory: counted at the allocator, so that it
//! needs no sanitizer.

use std::alloc::System;

use orrery::nn::memory::{Counting, most_held};

#[path = "readers.rs"]
mod readers;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

/// Most that a reader may hold for a file of 64 KiB.
const MOST: u64 = 256 << 20;

pub fn read(name: &str, bytes: &[u8]) {
    let ((), most) = most_held(|| readers::read(name, bytes));
    let most = most.unwrap_or(0);
    assert!(most < MOST, "{name} held {} MB for {} bytes", most >> 20, bytes.len());
}
