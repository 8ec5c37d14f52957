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
    let text = with_absolute_paths(file)?.to_toml()?;
    let spec = out.join("sweep.toml");
    // the specification is not a file of its own yet, so that its path would tell the user nothing
    let place = format!("{}: ", spec.display());
    let folder = SweepFolder::from_text(&text, &spec, &out).map_err(|e| e.words.replace(&place, ""))?;
    if let Some(background) = begun {
        background.begin(&folder.path).map_err(|e| e.words)?;
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

/// Paths of files made absolute, so that the runs find them from anywhere.
fn with_absolute_paths(file: &SweepFile) -> Result<SweepFile, String> {
    let mut file = file.clone();
    let lab = labs::LABS.iter().find(|lab| lab.id == file.base || lab.presets.iter().any(|p| p.id == file.base));
    let knobs = lab.map(|lab| (lab.knobs)()).unwrap_or_default();
    for (key, value) in &mut file.set {
        let is_path = knobs.iter().any(|knob| knob.key == key && knob.file_kind().is_some());
        if let (true, Value::Text(path)) = (is_path, &*value)
            && !path.is_empty()
        {
            let absolute =
                std::path::absolute(path).map_err(|e| format!("{key}: `{path}` is not a usable path: {e}"))?;
            *value = Value::Text(absolute.to_string_lossy().into_owned());
        }
    }
    Ok(file)
}
