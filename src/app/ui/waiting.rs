//! What is done once a person has agreed that a training ends. It does not ask.

use super::{action::Action, run::Run, tiling::Layout};
use crate::config::Config;

/// What is done once the training may end.
pub(super) enum Waiting {
    Action(Action),
    Settings(Box<Config>, Option<Box<Layout>>),
    Replay(Box<Run>),
}
