//! The actions on the table of runs, on comparisons, on sweeps and on the runs of claims.

use std::path::PathBuf;

use crate::{experiments::sweep::SweepFile, telemetry::RunNote};

#[derive(Debug, Clone, PartialEq)]
pub enum RunsAction {
    /// Sets runs beside each other.
    Compare(Vec<PathBuf>),
    /// Reads the complete records of the compared runs, so that views can show them.
    Replay(Vec<PathBuf>),
    /// Saves the user's note on a run.
    Note(PathBuf, RunNote),
    /// Moves a run to the trash.
    Discard(PathBuf),
    /// Dismisses the notice that this run was interrupted.
    DismissInterruption(PathBuf),
    /// Takes a run back out of the trash; named by its path there.
    TakeBack(PathBuf),
    /// Writes a sweep and, if true, begins its runs.
    MakeSweep(Box<SweepFile>, bool),
    ReadSweep(PathBuf),
    /// Makes the runs that a sweep lacks, in the background.
    CompleteSweep(PathBuf),
    StopSweep(PathBuf),
    /// Reads the ledger of claims, unless it is known.
    ListClaims,
    /// Reads the runs of a claim's rule again, by the claim's id.
    ReadClaim(String),
    /// Makes the runs that a claim's rule lacks, in the background.
    RunClaim(String),
}
