//! The actions that change what is in front: pages and sheets.

use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq)]
pub enum OpenAction {
    Home,
    /// Opens the table of runs; where it is open, reads it again.
    Runs,
    /// Opens the page of claims, filtered by this line; all of them by an empty one.
    Claims(String),
    /// Opens the page of claims at one of this id, unfolded.
    Claim(String),
    Lab(&'static str),
    /// Opens a lab by its id, with one of its presets.
    Preset(&'static str, &'static str),
    /// Opens a lab by its id, with one of its views in front.
    View(&'static str, &'static str),
    /// Opens a run by its folder.
    Run(PathBuf),
    /// Opens a run like [`OpenAction::Run`] and trains on from its last checkpoint.
    GoOn(PathBuf),
    /// Opens the page of a sweep, by its folder.
    Sweep(PathBuf),
    /// Opens a file or a folder of any kind.
    Path(PathBuf),
    Link(String),
    Sheet,
    Palette,
    Help,
    /// Leaves the innermost of what is open.
    Back,
    /// Ends the training that something else was asked in place of, and does that.
    StopAndGoOn,
    /// Opens the link that asked for files of this machine.
    UseLinkedFiles,
}
