//! Fuzzes the reader of readers.rs that `ORRERY_READER` names.
#![no_main]

use std::sync::LazyLock;

#[path = "../bounded.rs"]
mod bounded;

static NAME: LazyLock<String> = LazyLock::new(|| std::env::var("ORRERY_READER").expect("ORRERY_READER names a reader"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bounded::read(&NAME, bytes));
