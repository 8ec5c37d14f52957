//! The process with its threads and children: how they begin and end, the allocator's delay, the exit code.

use std::{
    process::{Child, ExitCode},
    thread::JoinHandle,
};

use crate::cli::prelude::*;

/// `mi_option_purge_delay` of mimalloc's header, which its crate does not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// The variable that switches backtraces of errors on; if it is unset, `RUST_BACKTRACE` decides, as for panics.
const ERROR_BACKTRACES: &str = "RUST_LIB_BACKTRACE";

/// The variable that names the folder of a Wayland desktop's socket; containers and bare servers have none.
const RUNTIME_FOLDER: &str = "XDG_RUNTIME_DIR";
/// The variable that switches off Mesa's layer of Vulkan for the selection of a device.
const NO_DEVICE_SELECTION: &str = "NODEVICE_SELECT";

/// Sets the allocator and the environment of the process. It must be called first in `main`, because no other thread may
/// read the environment while it is set.
pub fn prepare_process() {
    // SAFETY: the call only sets a number of milliseconds. The next step needs the memory that a step frees, and the
    // kernel would clear it first, so that it is returned every five seconds instead of every second.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 5_000) };
    #[cfg(unix)]
    // SAFETY: no other thread runs yet. A write beyond a limit of file sizes (`ulimit -f`) then fails like one on a full disk,
    // with a sentence, instead of ending the process.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
    // SAFETY: no other thread runs yet. candle's own elementwise pool spins; ours does that work.
    unsafe { std::env::set_var("CANDLE_NUM_THREADS", "1") };
    let is_unset = |name: &str| std::env::var_os(name).is_none();
    if is_unset(ERROR_BACKTRACES) {
        // SAFETY: as above. With `RUST_BACKTRACE` set for panics, candle's errors would print backtraces as well.
        unsafe { std::env::set_var(ERROR_BACKTRACES, "0") };
    }
    if is_unset(RUNTIME_FOLDER) && is_unset(NO_DEVICE_SELECTION) {
        // SAFETY: as above. Mesa's layer would ask a Wayland desktop for its card, and where there is none print "error".
        unsafe { std::env::set_var(NO_DEVICE_SELECTION, "1") };
    }
}

pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, String> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|e| format!("no thread could be started: {e}"))
}

/// Runs work on a thread with a large stack, because backpropagation recurses over the graph. The names are used in error
/// messages: the first if the thread panics, the second if it cannot be started.
pub fn on_large_stack<T: Send>(
    [thread, name]: [&str; 2],
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    std::thread::scope(|scope| match std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work) {
        Ok(worker) => worker.join().unwrap_or_else(|_| Err(Failure::run(format!("{thread} panicked")))),
        Err(e) => Err(Failure::run(format!("no thread for {name}: {e}"))),
    })
}

/// Asks a child that was not waited for to end, or all of the group that it leads. Where there are no signals it is killed.
pub fn terminate(child: &mut Child, is_group: bool) {
    #[cfg(unix)]
    if let Ok(id) = i32::try_from(child.id()) {
        // SAFETY: a signal is sent to a child that was not waited for, so that the number is still its own.
        unsafe { libc::kill(if is_group { -id } else { id }, libc::SIGTERM) };
    }
    #[cfg(not(unix))]
    let _ = (is_group, child.kill());
}

/// The exit code for the result of a command; a failure is printed to standard error, unless it was reported before.
pub fn exit_code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.message.is_empty() {
                notice!("orrery: {}", failure.message);
            }
            ExitCode::from(failure.code)
        }
    }
}
