//! Everything a key, a button, a menu, the palette or a view can ask for, by area.
//!
//! Panels and views do nothing themselves: they push an [`Action`] into the one list [`Actions`], for the app to do.

mod keys;

use std::path::PathBuf;

use eframe::egui::Rect;
use egui_tiles::TileId;

pub use self::keys::{GESTURES, KEYS, KeyBinding, OTHER_KEYS, key_groups};
use super::{dialog::DialogKind, picture_order::PictureOrder};
use crate::{
    config::Value,
    experiments::sweep::SweepFile,
    labs::lesson::LessonLink,
    telemetry::{Question, RunNote},
};

/// Declares [`Action`] with one variant an area, each made from the area's own actions.
macro_rules! areas {
    ($($area:ident($of:ident)),* $(,)?) => {
        /// An action that the user or a view requests, by area.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Action {
            $($area($of),)*
        }

        $(impl From<$of> for Action {
            fn from(action: $of) -> Self {
                Self::$area(action)
            }
        })*
    };
}

areas! {
    Run(RunAction),
    Time(TimeAction),
    Setting(SettingAction),
    Page(PageAction),
    Look(LookAction),
    Open(OpenAction),
    File(FileAction),
    Runs(RunsAction),
    Lesson(LessonAction),
    Message(MessageAction),
}

/// The actions of one frame, in the order in which they were pushed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Actions(Vec<Action>);

impl Actions {
    pub fn push(&mut self, action: impl Into<Action>) {
        self.0.push(action.into());
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Action> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The settings changed in this frame, with the value of each change.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> {
        self.iter().filter_map(|action| match action {
            Action::Setting(SettingAction::Change(key, value)) => Some((key.as_str(), value)),
            _ => None,
        })
    }

    /// The questions and what was withdrawn of them, apart from everything else. They are performed first, because they
    /// are put to the run that was drawn, and another action of the frame may begin a new one.
    pub fn split(self) -> (Vec<Action>, Vec<Action>) {
        let is_question = |action: &Action| matches!(action, Action::Run(action) if action.is_question());
        self.0.into_iter().partition(is_question)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Png,
    Csv,
    Svg,
}

impl ExportFormat {
    pub const ALL: [Self; 3] = [Self::Png, Self::Csv, Self::Svg];

    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Csv => "csv",
            Self::Svg => "svg",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Png => "picture (PNG)",
            Self::Csv => "numbers (CSV)",
            Self::Svg => "drawing (SVG)",
        }
    }
}

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
    pub fn may_train(&self) -> bool {
        matches!(
            self,
            Self::Space | Self::RunPause | Self::TrainOn | Self::StepOnce | Self::RightArrow | Self::RunTo(_)
        )
    }
}

/// The actions on the step that is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeAction {
    /// Plays what was recorded, or pauses that.
    Play,
    /// Shows the next recorded step, and stops playing.
    Next,
    /// Sets the seconds in which the whole run is played.
    PlaySpeed(f64),
    PlayLoops(bool),
    /// Shows the newest step from now on.
    Follow,
    /// Shows this step, whatever the run does.
    Scrub(u64),
}

#[derive(Debug, Clone, PartialEq)]
pub enum SettingAction {
    Change(String, Value),
    Seed(u64),
    /// Takes every setting of a preset, by its id.
    Preset(String),
    /// Gives the setting with this key the preset's value.
    Restore(String),
    /// Gives the settings with these keys the preset's values, as one step.
    RestoreAll(Vec<String>),
    /// Lets the controls be moved and shown that the link that opened the page locks or hides.
    Unlock,
    /// Shows the control of the setting with this key.
    Find(&'static str),
}

/// The actions on the tiles, the selection and the history of the page in front.
#[derive(Debug, Clone, PartialEq)]
pub enum PageAction {
    Undo,
    /// Undoes the last step that changed settings, whatever was selected or moved since.
    UndoSettings,
    Redo,
    /// Selects the variant, by its index, that views of one model show.
    Focus(usize),
    SelectTile(usize),
    /// Maximises the selected tile, or puts it back.
    Maximise,
    /// Selects this tile, then as [`PageAction::Maximise`].
    MaximiseTile(TileId),
    CloseTile(TileId),
    ShowView(&'static str),
    ResetLayout,
    /// Saves what a tile shows; for a picture a sheet opens first.
    Export(TileId, ExportFormat),
    /// Keeps the run's curves visible, drawn faintly behind those of later runs.
    PinRun,
    UnpinRun,
    /// Opens the draft of a sweep over the settings, or closes it.
    DraftSweep,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LookAction {
    Presenter,
    ToggleTheme,
    /// Sets the scale of the whole window; 1 is the normal size.
    Zoom(f32),
    /// Turns reduced motion on or off.
    ToggleStill,
    FoldControls,
    FoldInspector,
    FrameTimes,
}

/// The actions that change what is in front: pages and sheets.
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
    Run(PathBuf),
    /// Opens a run like [`OpenAction::Run`] and trains on from its last checkpoint.
    GoOn(PathBuf),
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
    /// Opens the sheet that makes a link for a class.
    ClassLink,
    /// Opens the link that asked for files of this machine.
    UseLinkedFiles,
}

/// The actions that read a chosen file or write one.
#[derive(Debug, Clone, PartialEq)]
pub enum FileAction {
    /// Opens a file dialog.
    Pick(DialogKind),
    /// Chooses a file for the setting with this key.
    PickFor(&'static str, DialogKind),
    /// Opens the sheet on which the size and the look of a picture are chosen.
    PictureSheet(PictureOrder),
    /// Draws that picture and asks for its place.
    SavePicture(PictureOrder),
    /// Writes this rectangle (points) of the next frame as PNG for export, without a message: one of a sequence.
    Record(Rect, String),
    /// Asks for a place and writes bytes there, under this name.
    Save(String, Vec<u8>),
    /// Writes bytes into the export folder, without asking.
    SaveInExports(String, Vec<u8>),
    /// Saves like [`FileAction::SaveInExports`] a matrix of transitions, and opens it as a generator of these states.
    OpenTransitions { name: String, bytes: Vec<u8>, states: usize },
}

/// The actions on the table of runs, on comparisons, on sweeps and on the runs of claims.
#[derive(Debug, Clone, PartialEq)]
pub enum RunsAction {
    Compare(Vec<PathBuf>),
    /// Reads the complete records of the compared runs, so that views can show them.
    Replay(Vec<PathBuf>),
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

#[derive(Debug, Clone, PartialEq)]
pub enum LessonAction {
    /// Follows a step of the open lab's lesson, counted from 0.
    Step(usize),
    Next,
    Previous,
    /// Opens a lab at a step of its lesson, with the controls of that step alone.
    Open(LessonLink),
}

/// The actions on the clipboard and on messages.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageAction {
    CopySession,
    PasteSession,
    /// Copies a link to what is shown: settings, seed, step, selection and views.
    CopyLink,
    CopyText(String),
    Toast(String),
    /// Takes a message away, by its number.
    Dismiss(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_precede_actions_that_may_end_the_run() {
        let mut actions = Actions::default();
        actions.push(RunAction::Reset);
        actions.push(SettingAction::Change("a".into(), Value::Int(1)));
        actions.push(RunAction::Cancel(3));
        assert_eq!(actions.changes().collect::<Vec<_>>(), [("a", &Value::Int(1))]);
        let (questions, others) = actions.split();
        assert_eq!(questions, [RunAction::Cancel(3).into()]);
        assert_eq!(others[0], RunAction::Reset.into());
    }
}
