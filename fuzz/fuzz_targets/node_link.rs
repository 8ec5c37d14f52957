//! Fuzzes the reader `node_link` of readers.rs.
#![no_main]

#[path = "../bounded.rs"]
mod bounded;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bounded::read("node_link", bytes));
