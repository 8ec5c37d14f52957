//! Start and end of a process: the allocator's delay, a reader of its output that leaves early, the exit code.

use std::{
    panic,
    process::{self, ExitCode},
};

use super::{failure::Failure, terminal::notice};

/// `mi_option_purge_delay` of mimalloc's header, which its crate does not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// The exit code that a shell reports for a command ended by a broken pipe (128 + SIGPIPE).
const ENDED_WITH_THE_READER: i32 = 141;

/// Call it first in `main`: it sets the environment, which no other thread may read meanwhile.
pub fn prepare_process() {
    // SAFETY: the call only sets a number of milliseconds. The next step needs the memory that a step frees, and the
    // kernel would clear it first, so that it is returned every five seconds instead of every second.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 5_000) };
    // SAFETY: no other thread runs yet. candle's own elementwise pool spins; ours does that work.
    unsafe { std::env::set_var("CANDLE_NUM_THREADS", "1") };
    end_with_the_reader();
}

/// The exit code for the result of a command; a failure is printed to standard error.
pub fn exit_code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            notice!("orrery: {}", failure.words);
            ExitCode::from(failure.code)
        }
    }
}

/// Who reads our output may leave before its end (`orrery list | head`), or its disk may be full. The standard
/// library makes that a panic; here the process ends in silence, as other commands do, or says why.
fn end_with_the_reader() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| match info.payload_as_str() {
        Some(words) if words.starts_with("failed printing to stdout") => {
            if words.contains("Broken pipe") {
                process::exit(ENDED_WITH_THE_READER);
            }
            notice!("orrery: {words}");
            process::exit(1);
        }
        _ => before(info),
    }));
}
