//! The runs of a sweep by processes of this machine, so many at once. A run that is killed takes no other with it.

use std::{
    fs::File,
    process::{Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::{
    super::{
        failure::Failure,
        interrupt::{self, INTERRUPTED},
        terminal::tell,
    },
    folder::{LOGS, SweepFolder, task_name},
};

/// Makes the runs of these numbers; returns how many failed.
///
/// # Errors
/// If the process was asked to end: what was being made has a checkpoint then.
pub fn run(sweep: &SweepFolder, numbers: &[usize], jobs: usize) -> Result<usize, Failure> {
    let stopping = Arc::new(AtomicBool::new(false));
    let asked = stopping.clone();
    // The processes of the runs are told by the terminal as this one is.
    interrupt::on_interrupt(move || asked.store(true, Ordering::SeqCst));
    let (waiting, ended, failed) = (Mutex::new(numbers.iter()), AtomicUsize::new(0), AtomicUsize::new(0));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let tasks = sweep.sweep.tasks();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(numbers.len()) {
            scope.spawn(|| {
                while let Some(number) = next().filter(|_| !stopping.load(Ordering::SeqCst)) {
                    let name = tasks.get(*number).map(|task| task_name(*task)).unwrap_or_default();
                    let outcome = make(sweep, *number, &name);
                    let count = ended.fetch_add(1, Ordering::SeqCst) + 1;
                    let said = match outcome {
                        Ok(status) if status.success() => "finished".to_owned(),
                        Ok(status) if status.code() == Some(i32::from(INTERRUPTED)) => "stopped".to_owned(),
                        outcome => {
                            failed.fetch_add(1, Ordering::SeqCst);
                            outcome
                                .map_or_else(|e| format!("was not begun: {e}"), |status| format!("failed ({status})"))
                        }
                    };
                    tell!("{name} {said} ({count} of {})", numbers.len());
                }
            });
        }
    });
    if stopping.load(Ordering::SeqCst) {
        let shown = sweep.path.display();
        return Err(Failure::interrupted(format!("stopped; `orrery sweep {shown} --missing` goes on")));
    }
    Ok(failed.load(Ordering::SeqCst))
}

fn make(sweep: &SweepFolder, number: usize, name: &str) -> std::io::Result<ExitStatus> {
    let log = File::create(sweep.path.join(LOGS).join(format!("{name}.txt")))?;
    let said = log.try_clone()?;
    Command::new(std::env::current_exe()?)
        .arg("sweep")
        .arg(&sweep.path)
        .args(["--task", &number.to_string()])
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(said)
        .status()
}
