//! Makes the runs of a sweep with several processes on this machine, one run each; no further run starts once the disk
//! is full.

use std::{
    io,
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::AtomicUsize,
};

use super::{
    super::{
        interrupt::{self, INTERRUPTED},
        shell::quoted,
    },
    folder::{LOGS, SweepFolder, TaskState, task_name},
};
use crate::cli::{prelude::*, process::terminate};

/// The number of bytes that must fit on the disk before another run is started.
const MIN_FREE_BYTES: usize = 256 << 10;
/// The interval at which a run is checked for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// True if the disk of a folder has no room left; where that cannot be found out it is taken to have room.
pub fn is_full(folder: &Path) -> bool {
    let is_cause = |e: io::Error| matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    files::try_writing(folder, MIN_FREE_BYTES).is_err_and(is_cause)
}

/// Makes the runs of these numbers; returns how many failed.
///
/// # Errors
/// If the process was asked to end, or the disk is full: what was being made has a checkpoint then, as far as there was room.
pub fn run(sweep: &SweepFolder, numbers: &[usize], jobs: usize) -> Result<usize, Failure> {
    let (stopping, full) = (interrupt::cancel_flag(), AtomicBool::new(false));
    let (waiting, ended, failed) = (Mutex::new(numbers.iter()), AtomicUsize::new(0), AtomicUsize::new(0));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let tasks = sweep.sweep.tasks();
    // there is no code where the signal came before the run had installed its handler
    let was_stopped =
        |code: Option<i32>| code.map_or_else(|| stopping.load(Ordering::SeqCst), |code| code == i32::from(INTERRUPTED));
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(numbers.len()) {
            scope.spawn(|| {
                while let Some(number) =
                    next().filter(|_| !stopping.load(Ordering::SeqCst) && !full.load(Ordering::SeqCst))
                {
                    let task = tasks.get(*number).copied();
                    let name = task.map(task_name).unwrap_or_default();
                    let outcome = make(sweep, *number, &name).and_then(|child| wait(child, &stopping));
                    let count = ended.fetch_add(1, Ordering::SeqCst) + 1;
                    let said = match outcome {
                        Ok(status) if status.success() => {
                            let run = task.and_then(|task| sweep.printed_run(task));
                            run.map_or("finished".to_owned(), |run| format!("finished: {run}"))
                        }
                        Ok(status) if was_stopped(status.code()) => "stopped".to_owned(),
                        outcome => {
                            failed.fetch_add(1, Ordering::SeqCst);
                            full.fetch_or(is_full(&sweep.path), Ordering::SeqCst);
                            outcome.map_or_else(
                                |e| format!("could not be started: {e}"),
                                |status| format!("failed ({status})"),
                            )
                        }
                    };
                    notice!("{name} {said} ({count} of {})", numbers.len());
                }
            });
        }
    });
    if stopping.load(Ordering::SeqCst) {
        let word = quoted(&sweep.path);
        return Err(Failure::interrupted(format!("stopped; `orrery sweep {word} --missing` goes on")));
    }
    if full.load(Ordering::SeqCst) {
        return Err(Failure::run(full_disk_message(sweep)));
    }
    Ok(failed.load(Ordering::SeqCst))
}

/// Explains what a full disk means, and what to do.
fn full_disk_message(sweep: &SweepFolder) -> String {
    let states = sweep.states().unwrap_or_default();
    let ended = states.iter().filter_map(TaskState::finished).count();
    let (shown, word) = (sweep.path.display(), quoted(&sweep.path));
    format!(
        "the disk of {shown} is full: {ended} of {} runs have ended and stay as they are. Make room there; then `orrery sweep \
         {word} --missing` completes it",
        sweep.sweep.tasks().len()
    )
}

/// Waits for a run to end. If the sweep is asked to stop, it asks the run to stop too, so that this writes a
/// checkpoint; on systems without signals the console has already asked it.
fn wait(mut child: Child, stopping: &AtomicBool) -> io::Result<ExitStatus> {
    let mut is_asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stopping.load(Ordering::SeqCst) && !is_asked {
            is_asked = true;
            if cfg!(unix) {
                terminate(&mut child, true);
            }
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Starts a run. Signals reach only the sweep's process, which asks each run to stop once, because a second request would
/// end the run without a checkpoint.
fn make(sweep: &SweepFolder, number: usize, name: &str) -> io::Result<Child> {
    spawn(&std::env::current_exe()?, &sweep.path, &["--task", &number.to_string()], &format!("{name}.txt"))
}

/// Runs `orrery sweep FOLDER` with these arguments, leading a process group; it prints into this file among the logs.
pub fn spawn(program: &Path, folder: &Path, arguments: &[&str], log: &str) -> io::Result<Child> {
    let unwritten = |name: &Path, e: FileError| {
        let e = io::Error::from(e);
        io::Error::new(e.kind(), format!("{} cannot be written: {e}", folder.join(name).display()))
    };
    let logs = Path::new(LOGS);
    files::make_folder_inside(folder, logs).map_err(|e| unwritten(logs, e))?;
    let path = logs.join(log);
    let log = files::create_inside(folder, &path).map_err(|e| unwritten(&path, e))?;
    let mut command = Command::new(program);
    command.arg("sweep").arg(folder).args(arguments);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn()
}
