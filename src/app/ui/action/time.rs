//! The actions on the step that is shown.

#[derive(Debug, Clone, PartialEq)]
pub enum TimeAction {
    /// Plays what was recorded, or pauses that.
    Play,
    /// Shows the next recorded step, and plays no more.
    Next,
    /// Sets the seconds in which the whole run is played.
    PlaySpeed(f64),
    PlayLoops(bool),
    /// Shows the newest step from now on.
    Follow,
    /// Shows this step, whatever the run does.
    Scrub(u64),
}
