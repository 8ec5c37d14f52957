//! The folder of a sweep that was made in the window: the same file and the same folder as of the command line, beside the
//! runs. Nothing is written before every point was tried.

use super::{SWEEPS, background::Background, folder::SweepFolder};
use crate::{cli::prelude::*, experiments::sweep::SweepFile};

/// Writes it; its runs are begun by `begun`, if that is given. An error is a message for the user.
///
/// # Errors
/// If a point cannot be run, another sweep has this name, or the disk refuses.
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
///
/// # Errors
/// If the path of the folder of runs cannot be used.
pub fn sweeps_beside(runs: &Path) -> Result<PathBuf, String> {
    let runs = std::path::absolute(runs).map_err(|e| format!("{} is not a usable path: {e}", runs.display()))?;
    Ok(runs.parent().unwrap_or(&runs).join(SWEEPS))
}
