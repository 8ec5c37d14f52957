//! Fuzzes the reader `gml` of readers.rs.
#![no_main]

#[path = "../bounded.rs"]
mod bounded;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bounded::read("gml", bytes));
