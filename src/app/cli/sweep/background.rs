//! Sweeps that the window started: each is a process that outlives it, makes the runs, and can be asked to stop.

use std::process::Child;

use super::{
    super::{interrupt::INTERRUPTED, terminal::printable},
    SWEEPS_FOLDER,
    folder::{LOGS, MAX_OUTPUT, SweepFolder},
    lock, pool,
};
use crate::{
    cli::{prelude::*, process::terminate},
    experiments::sweep::{SweepFile, results::SweepProcess},
};

/// The output of the process, in the folder of the runs' outputs.
const LOG_FILE: &str = "sweep.txt";

/// A process that was started to make the runs of a sweep.
struct SweepChild {
    child: Child,
    is_asked_to_stop: bool,
}

#[derive(Default)]
pub struct Background {
    children: Mutex<HashMap<PathBuf, SweepChild>>,
    /// The program to run in place of the current executable.
    program: Option<PathBuf>,
}

impl Background {
    /// Runs `program` in place of the current executable.
    pub fn with_program(program: PathBuf) -> Self {
        Self { program: Some(program), ..Self::default() }
    }

    /// Makes what a sweep has no end of, as `orrery sweep FOLDER --missing` does.
    pub fn begin(&self, folder: &Path) -> Result<(), Failure> {
        ensure!(!self.is_running(folder), "the runs of {} are being made already", folder.display());
        lock::check_free(folder)?;
        let program = self.program.clone().map_or_else(std::env::current_exe, Ok);
        let spawned = program.and_then(|program| pool::spawn(&program, folder, &["--missing"], LOG_FILE));
        let child =
            spawned.map_err(|e| Failure::run(format!("the runs of {} could not be started: {e}", folder.display())))?;
        let child = SweepChild { child, is_asked_to_stop: false };
        self.children.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned(), child);
        Ok(())
    }

    pub fn is_running(&self, folder: &Path) -> bool {
        self.process(folder).is_alive()
    }

    /// The process that this window started, or how it ended.
    pub fn process(&self, folder: &Path) -> SweepProcess {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(SweepChild { child, is_asked_to_stop }) = children.get_mut(folder) else {
            return SweepProcess::Absent;
        };
        let (waited, is_asked_to_stop) = (child.try_wait(), *is_asked_to_stop);
        // nobody waits for the file below
        drop(children);
        let status = match waited {
            Ok(None) if is_asked_to_stop => return SweepProcess::Stopping,
            Ok(None) => return SweepProcess::Running,
            Ok(Some(status)) if !status.success() => status,
            Ok(Some(_)) | Err(_) => return SweepProcess::Absent,
        };
        if is_asked_to_stop || status.code() == Some(i32::from(INTERRUPTED)) {
            return SweepProcess::Stopped;
        }
        let said = files::read_end_inside(folder, Path::new(LOGS).join(LOG_FILE), MAX_OUTPUT).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.map(|line| printable(line.strip_prefix("orrery: ").unwrap_or(line).trim_start()).into_owned());
        SweepProcess::Failed(last.unwrap_or_else(|| status.to_string()))
    }

    /// Asks it to stop, once, as Ctrl-C does: its runs write a checkpoint first. Asked again they would end without one.
    pub fn stop(&self, folder: &Path) {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(SweepChild { child, is_asked_to_stop }) = children.get_mut(folder)
            && !*is_asked_to_stop
            && matches!(child.try_wait(), Ok(None))
        {
            *is_asked_to_stop = true;
            terminate(child, true);
        }
    }
}

/// Writes the folder of a sweep that was made in the window, the same as of the command line, beside the runs; these are begun by
/// `begun`, if that is given. Nothing is written before every point was tried. An error is a message for the user.
pub fn make(file: &SweepFile, runs: &Path, begun: Option<&Background>) -> Result<PathBuf, String> {
    let out = sweeps_beside(runs)?;
    let text = file.to_toml()?;
    let spec = out.join("sweep.toml");
    // the specification is not a file of its own yet, so that its path would tell the user nothing
    let place = format!("{}: ", spec.display());
    let folder = SweepFolder::with_files(&text, &spec, &out).map_err(|e| e.message.replace(&place, ""))?;
    if let Some(background) = begun {
        background.begin(&folder.path).map_err(|e| e.message)?;
    }
    Ok(folder.path)
}

/// The folder of the sweeps that the window makes, beside the one of its runs. An error is a message for the user.
pub fn sweeps_beside(runs: &Path) -> Result<PathBuf, String> {
    let runs = std::path::absolute(runs).map_err(|e| format!("{} is not a usable path: {e}", runs.display()))?;
    Ok(runs.parent().unwrap_or(&runs).join(SWEEPS_FOLDER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_last_line_of_a_long_output_is_the_complaint() {
        let folder = tempfile::tempdir().unwrap();
        let background = Background::with_program("false".into());
        background.begin(folder.path()).unwrap();
        while background.is_running(folder.path()) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let failure = || match background.process(folder.path()) {
            SweepProcess::Failed(words) => words,
            other => panic!("{other:?}"),
        };
        let silent = failure();
        assert!(silent.contains("exit status: 1") && !silent.contains("ended"), "{silent}: the page says that");
        let said = [b"\xff begun\n".repeat(MAX_OUTPUT as usize / 4), b"orrery: the disk is full\n".to_vec()].concat();
        std::fs::write(folder.path().join(LOGS).join(LOG_FILE), said).unwrap();
        assert_eq!(failure(), "the disk is full");
    }

    /// The user who stops the runs sees why their process ended.
    #[cfg(unix)]
    #[test]
    fn a_stop_that_was_asked_for_is_no_failure() {
        use std::{os::unix::process::CommandExt, process::Command};
        let (folder, background) = (Path::new("a sweep"), Background::default());
        assert_eq!(background.process(folder), SweepProcess::Absent);
        let child = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        background.children.lock().unwrap().insert(folder.into(), SweepChild { child, is_asked_to_stop: false });
        assert_eq!(background.process(folder), SweepProcess::Running);
        background.stop(folder);
        assert_ne!(background.process(folder), SweepProcess::Running, "it stops from the request on");
        background.children.lock().unwrap().get_mut(folder).unwrap().child.wait().unwrap();
        assert_eq!(background.process(folder), SweepProcess::Stopped);
        assert!(!background.is_running(folder));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_over_a_link() {
        use std::os::unix::fs::symlink;
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (logs, target) = (folder.path().join(LOGS), outside.path().join("profile"));
        std::fs::write(&target, "kept").unwrap();
        let background = Background::with_program("true".into());
        let refused = || {
            let words = background.begin(folder.path()).unwrap_err().message;
            assert!(words.contains("could not be started") && words.contains("it is a link"), "{words}");
            assert!(words.contains(&logs.display().to_string()), "which file is a link: {words}");
        };
        symlink(outside.path(), &logs).unwrap();
        refused();
        std::fs::remove_file(&logs).unwrap();
        std::fs::create_dir(&logs).unwrap();
        for target in [target.clone(), outside.path().join("dangling")] {
            symlink(target, logs.join(LOG_FILE)).unwrap();
            refused();
            std::fs::remove_file(logs.join(LOG_FILE)).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "nothing was made outside");
    }

    #[test]
    fn a_sweep_that_another_process_makes_is_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock::lock_sweep(folder.path()).unwrap();
        let background = Background::with_program("no program".into());
        let words = background.begin(folder.path()).unwrap_err().message;
        assert!(words.contains("are being made by"), "{words}");
        assert!(!folder.path().join(LOGS).exists(), "the output of that process stays as it is");
        drop(held);
        let words = background.begin(folder.path()).unwrap_err().message;
        assert!(words.contains("could not be started"), "{words}");
    }
}
