//! Sweeps that the window started: each is a process that outlives it, makes the runs, and can be asked to stop.

use std::{
    collections::HashMap,
    process::Child,
    sync::{Mutex, PoisonError},
};

use super::{
    super::terminal::printable,
    folder::{LOGS, MAX_OUTPUT},
    lock, pool,
};
use crate::cli::{prelude::*, process::terminate};

/// The output of the process, in the folder of the runs' outputs.
const LOG: &str = "sweep.txt";

/// The processes, by the sweep's folder.
#[derive(Default)]
pub struct Background {
    children: Mutex<HashMap<PathBuf, Child>>,
    /// The program to run in place of this one.
    program: Option<PathBuf>,
}

impl Background {
    /// Runs this program, where the one that asks is another.
    pub fn with_program(program: PathBuf) -> Self {
        Self { program: Some(program), ..Self::default() }
    }

    /// Makes what a sweep has no end of, as `orrery sweep FOLDER --missing` does.
    ///
    /// # Errors
    /// If it is being made already, or the process cannot be begun.
    pub fn begin(&self, folder: &Path) -> Result<(), Failure> {
        ensure!(!self.is_running(folder), "the runs of {} are being made already", folder.display());
        lock::check_free(folder)?;
        let program = self.program.clone().map_or_else(std::env::current_exe, Ok);
        let spawned = program.and_then(|program| pool::spawn(&program, folder, &["--missing"], LOG));
        let child =
            spawned.map_err(|e| Failure::run(format!("the runs of {} could not be started: {e}", folder.display())))?;
        self.children.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned(), child);
        Ok(())
    }

    pub fn is_running(&self, folder: &Path) -> bool {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.get_mut(folder).is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// How the process that this window started ended, if it failed: its last line of output, or else its exit status.
    pub fn complaint(&self, folder: &Path) -> Option<String> {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        let status = children.get_mut(folder)?.try_wait().ok()??;
        if status.success() {
            return None;
        }
        let said = files::read_end_inside(folder, Path::new(LOGS).join(LOG), MAX_OUTPUT).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        Some(
            last.map_or_else(|| status.to_string(), |line| printable(line.trim_start_matches("orrery: ")).into_owned()),
        )
    }

    /// Asks it to stop, as Ctrl-C does: its runs write a checkpoint first. Killed, they resume from their last ones.
    pub fn stop(&self, folder: &Path) {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(child) = children.get_mut(folder)
            && matches!(child.try_wait(), Ok(None))
        {
            terminate(child, true);
        }
    }
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
        let silent = background.complaint(folder.path()).unwrap();
        assert!(silent.contains("exit status: 1") && !silent.contains("ended"), "{silent}: the page says that");
        let said = [b"\xff begun\n".repeat(MAX_OUTPUT as usize / 4), b"orrery: the disk is full\n".to_vec()].concat();
        std::fs::write(folder.path().join(LOGS).join(LOG), said).unwrap();
        assert_eq!(background.complaint(folder.path()).as_deref(), Some("the disk is full"));
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
            let words = background.begin(folder.path()).unwrap_err().words;
            assert!(words.contains("could not be started") && words.contains("it is a link"), "{words}");
        };
        symlink(outside.path(), &logs).unwrap();
        refused();
        std::fs::remove_file(&logs).unwrap();
        std::fs::create_dir(&logs).unwrap();
        for target in [target.clone(), outside.path().join("dangling")] {
            symlink(target, logs.join(LOG)).unwrap();
            refused();
            std::fs::remove_file(logs.join(LOG)).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "nothing was made outside");
    }

    #[test]
    fn a_sweep_that_another_process_makes_is_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock::lock_sweep(folder.path()).unwrap();
        let background = Background::with_program("no program".into());
        let words = background.begin(folder.path()).unwrap_err().words;
        assert!(words.contains("are being made by"), "{words}");
        assert!(!folder.path().join(LOGS).exists(), "the output of that process stays as it is");
        drop(held);
        let words = background.begin(folder.path()).unwrap_err().words;
        assert!(words.contains("could not be started"), "{words}");
    }
}
