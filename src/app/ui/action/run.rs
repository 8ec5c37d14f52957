//! The actions on the run of the page in front.

use crate::telemetry::Question;

#[derive(Debug, Clone, PartialEq)]
pub enum RunAction {
    /// Plays what was recorded, where a run is replayed or looked back at; otherwise as [`RunAction::RunPause`].
    Space,
    /// Trains, or pauses the training; plays a replay that nothing can train.
    RunPause,
    /// Trains a model that was only opened, by a default number of updates.
    TrainOn,
    StepOnce,
    /// Shows the next recorded step, where a run is replayed or looked back at; otherwise as [`RunAction::StepOnce`].
    RightArrow,
    /// Trains up to this step, then pauses.
    RunTo(u64),
    /// Begins again with the settings shown.
    Reset,
    /// Begins again like [`RunAction::Reset`], but once the user agrees to end a training, since the key may be pressed
    /// by mistake.
    LetterR,
    /// Steps a second; 0: as fast as it goes.
    Pace(f64),
    Checkpoint,
    Ask(Question),
    /// Withdraws the question with this number.
    Cancel(u64),
}

impl RunAction {
    /// True if it concerns a view's question to the model, and not the training.
    pub fn is_question(&self) -> bool {
        matches!(self, Self::Ask(_) | Self::Cancel(_))
    }

    /// True if steps of training may follow.
    pub fn trains(&self) -> bool {
        matches!(
            self,
            Self::Space | Self::RunPause | Self::TrainOn | Self::StepOnce | Self::RightArrow | Self::RunTo(_)
        )
    }
}
