//! The lab and settings of a command: the default lab, also on a text file, or those that a run folder records.

use super::settings;
use crate::{cli::prelude::*, files::read_text_inside, labs::foreign};

/// The lab that opens when none is named.
pub fn default_lab() -> Result<&'static Lab, Failure> {
    labs::LABS.first().copied().ok_or_else(|| Failure::run("this build has no lab"))
}

/// The default lab, trained on the text file at `path`.
pub fn with_text(path: PathBuf) -> Result<(&'static Lab, Config), Failure> {
    let lab = default_lab()?;
    let mut config = lab.config(None)?;
    settings::set_text_file(lab, &mut config, &path)?;
    Ok((lab, config))
}

/// The lab and settings of a run folder. Those of another program's run are as it wrote them.
pub fn recorded(folder: &Path) -> Result<(&'static Lab, Config), Failure> {
    store::check_folder(folder).map_err(Failure::wrong)?;
    let info = Reader::open(folder).ok().and_then(|reader| reader.info());
    if let Some(info) = info.filter(|info| info.lab == FOREIGN) {
        return Ok((&foreign::LAB, info.config.clone()));
    }
    const CONFIG: &str = "config.toml";
    let text = read_text_inside(folder, CONFIG, store::MAX_CONFIG);
    let is_missing = text.as_ref().is_err_and(FileError::is_missing);
    ensure!(!is_missing, "`{}` is not a run folder: it has no {CONFIG}", folder.display());
    settings::config_of(&folder.join(CONFIG), text)
}
