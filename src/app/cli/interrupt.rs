//! Ctrl-C and the system's requests to end (SIGINT, SIGTERM, SIGHUP): the work in progress is asked to stop, which ends
//! a run with a checkpoint. Asked a second time, a second later or more, the process ends at once.

use std::{
    process,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::terminal::notice;

/// The exit code that a shell reports for a command ended by Ctrl-C (128 + SIGINT).
pub const INTERRUPTED: u8 = 130;

/// Requests to end that come within this time count as one.
const DEBOUNCE: Duration = Duration::from_secs(1);

type StopHandler = Box<dyn Fn() + Send>;

static STOP_HANDLER: Mutex<Option<StopHandler>> = Mutex::new(None);
static STOP_REQUESTED: AtomicBool = AtomicBool::new(false);
static STOP_REPEATED: AtomicBool = AtomicBool::new(false);

/// Calls `stop` when the process is asked to end, or at once if it was. The newest `stop` replaces the one before.
pub fn on_interrupt(stop: impl Fn() + Send + 'static) {
    *STOP_HANDLER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
    static IS_LISTENING: AtomicBool = AtomicBool::new(false);
    if IS_LISTENING.swap(true, Ordering::SeqCst) {
        // the task that was running may have ended before it noticed the interrupt
        if STOP_REQUESTED.load(Ordering::SeqCst) {
            call_stop();
        }
        return;
    }
    if let Err(e) = ctrlc::set_handler(interrupted) {
        notice!("warning: Ctrl-C will end the process without a checkpoint ({e})");
    }
}

/// Returns a flag that is set when the process is asked to end; it replaces the `stop` of an earlier [`on_interrupt`].
pub fn cancel_flag() -> Arc<AtomicBool> {
    let asked = Arc::<AtomicBool>::default();
    let flag = Arc::clone(&asked);
    on_interrupt(move || flag.store(true, Ordering::SeqCst));
    asked
}

/// True if the process was asked to end more than once, so that callers should wait for nothing any more.
pub fn is_repeated() -> bool {
    STOP_REPEATED.load(Ordering::SeqCst)
}

fn interrupted() {
    static FIRST_REQUEST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST_REQUEST.get_or_init(Instant::now);
    if STOP_REQUESTED.swap(true, Ordering::SeqCst) {
        // one request may come twice: by a terminal that closes, or by systemd and by the sweep that a run belongs to
        if first.elapsed() < DEBOUNCE {
            return;
        }
        STOP_REPEATED.store(true, Ordering::SeqCst);
        process::exit(i32::from(INTERRUPTED));
    }
    call_stop();
}

fn call_stop() {
    match &*STOP_HANDLER.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(stop) => stop(),
        None => process::exit(i32::from(INTERRUPTED)),
    }
}
