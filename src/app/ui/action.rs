//! Everything a key, a button, a menu or the palette can ask for, as one list.
//!
//! Panels never do things themselves; they push an [`Action`] and the app performs it after the
//! frame. It does not know how.

use std::path::PathBuf;

use eframe::egui::{Key, Modifiers, Rect};

use egui_tiles::TileId;

use super::{host::DialogKind, picture_order::PictureOrder};
use crate::{
    config::Value,
    labs::{lesson::LessonLink, sweep::SweepFile},
    telemetry::RunNote,
};

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    // The run.
    /// Plays what was recorded, where a run is replayed or looked back at; otherwise [`Action::RunPause`].
    Space,
    /// Trains, or pauses the training.
    RunPause,
    /// Trains a model that was only looked at, by as many updates as such training on begins with.
    TrainOn,
    /// Plays what was recorded, or pauses that.
    Play,
    /// Seconds in which the whole run is played.
    PlaySpeed(f64),
    PlayLoops(bool),
    StepOnce,
    /// Trains up to this step, then pauses.
    RunTo(u64),
    Reset,
    Follow,
    /// Look at this step, whatever the run does.
    Scrub(u64),
    /// Steps a second; 0: as fast as it goes.
    Pace(f64),
    Checkpoint,
    /// Follows a step of the lesson, from 0.
    LessonStep(usize),
    /// Opens a lab at a step of its lesson, with the controls of that step alone.
    OpenLesson(LessonLink),
    // Settings.
    Change(String, Value),
    Seed(u64),
    Preset(String),
    /// Back to the preset's value.
    Restore(String),
    Undo,
    /// The last step that changed settings, whatever was selected or moved since.
    UndoSettings,
    Redo,
    /// A text that a control could not take, with why.
    Refused(String, String),
    // Places.
    Home,
    /// The table of runs; there already, it looks again.
    Runs,
    OpenLab(&'static str),
    /// A lab by its id, with one of its presets.
    OpenPreset(&'static str, &'static str),
    OpenRun(PathBuf),
    OpenPath(PathBuf),
    OpenSheet,
    Pick(DialogKind),
    Palette,
    Help,
    Back,
    // Looks.
    Presenter,
    ToggleTheme,
    Zoom(f32),
    ToggleStill,
    FoldControls,
    FoldInspector,
    FrameTimes,
    /// The variant that views of one model show, by its index.
    Focus(usize),
    // Tiles.
    /// By its number.
    SelectTile(usize),
    Maximise,
    ShowView(&'static str),
    ResetLayout,
    /// Saves what a tile shows, or asks how its picture shall be.
    Export(TileId, ExportFormat),
    /// Asks what a picture of a tile shall be.
    PictureSheet(PictureOrder),
    /// Draws that picture and asks for its place.
    SavePicture(PictureOrder),
    /// What the window shows inside this rectangle, into the export folder and without a word: one of a sequence.
    Record(Rect, String),
    /// Bytes to be saved under this name.
    Save(String, Vec<u8>),
    /// As `Save`, without asking, into the export folder.
    SaveInExports(String, Vec<u8>),
    /// As `SaveInExports`, of a matrix of transition probabilities, which then opens as a generator.
    OpenTransitions(String, Vec<u8>),
    FindControl(&'static str),
    // Runs in the table.
    /// Sets runs beside each other.
    CompareRuns(Vec<PathBuf>),
    /// Reads compared runs whole, to be shown by views.
    ReplayRuns(Vec<PathBuf>),
    /// Begins to make a sweep of the open lab's settings, or leaves that.
    DraftSweep,
    /// Writes a sweep and, if true, begins its runs.
    MakeSweep(Box<SweepFile>, bool),
    /// The page of a sweep, by its folder.
    OpenSweep(PathBuf),
    /// Reads a sweep's runs again.
    ReadSweep(PathBuf),
    /// Makes what a sweep has no end of, in the background.
    CompleteSweep(PathBuf),
    StopSweep(PathBuf),
    /// Keeps what a person says of a run.
    Note(PathBuf, RunNote),
    /// Moves a run to the trash.
    Discard(PathBuf),
    /// Takes a run back out of the trash, by its place there.
    TakeBack(PathBuf),
    // Sessions and messages.
    CopySession,
    PasteSession,
    /// A link to what is shown: settings, seed, step, selection and views.
    CopyLink,
    OpenLink(String),
    CopyText(String),
    Dismiss(u64),
    Toast(String),
    /// Ends the training that something else was asked in place of, and does that.
    StopAndGoOn,
}

/// How a tile is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Png,
    Csv,
    Svg,
}

impl ExportFormat {
    pub const ALL: [Self; 3] = [Self::Png, Self::Csv, Self::Svg];

    pub fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Csv => "csv",
            Self::Svg => "svg",
        }
    }

    /// "picture (PNG)".
    pub fn words(self) -> &'static str {
        match self {
            Self::Png => "picture (PNG)",
            Self::Csv => "numbers (CSV)",
            Self::Svg => "drawing (SVG)",
        }
    }
}

/// A key and what it does.
pub struct KeyBinding {
    pub modifiers: Modifiers,
    pub key: Key,
    pub action: Action,
    /// As it is written on the help sheet.
    pub shown: &'static str,
    pub words: &'static str,
    /// Widgets that have the focus use this key themselves.
    pub yields_to_focus: bool,
}

const fn key(key: Key, action: Action, shown: &'static str, words: &'static str) -> KeyBinding {
    KeyBinding { modifiers: Modifiers::NONE, key, action, shown, words, yields_to_focus: false }
}

const fn command(key: Key, action: Action, shown: &'static str, words: &'static str) -> KeyBinding {
    KeyBinding { modifiers: Modifiers::COMMAND, key, action, shown, words, yields_to_focus: false }
}

const fn yielding(key: Key, action: Action, shown: &'static str, words: &'static str) -> KeyBinding {
    KeyBinding { modifiers: Modifiers::NONE, key, action, shown, words, yields_to_focus: true }
}

/// Every key. The help sheet prints this list, the palette offers it. Digits 1 to 9 (select a
/// tile), Ctrl-C and Ctrl-V (copy and paste a session) and Ctrl +, -, 0 (scale) are not keys in
/// egui's sense or are many; they stand in [`OTHER_KEYS`].
pub static KEYS: &[KeyBinding] = &[
    yielding(Key::Space, Action::Space, "Space", "Run or pause; play or pause a replay, or what is looked back at"),
    yielding(Key::ArrowRight, Action::StepOnce, "→", "One step, then pause"),
    key(Key::R, Action::Reset, "R", "Reset: begin again with the settings shown"),
    key(Key::F, Action::Follow, "F", "Follow: back to the newest step"),
    key(Key::End, Action::Follow, "End", "Follow: back to the newest step"),
    yielding(Key::Enter, Action::Maximise, "Enter", "Maximise the selected tile, or put it back"),
    yielding(Key::P, Action::Presenter, "P", "Presenter mode: panels folded, everything larger, keys shown"),
    key(Key::D, Action::ToggleTheme, "D", "Dark or light"),
    key(Key::OpenBracket, Action::FoldControls, "[", "Fold or open the controls"),
    key(Key::CloseBracket, Action::FoldInspector, "]", "Fold or open the right panel"),
    key(Key::T, Action::FrameTimes, "T", "Frame times: draws without pause while they are shown"),
    key(Key::Questionmark, Action::Help, "?", "Every key and gesture"),
    key(Key::Escape, Action::Back, "Esc", "Back out: sheet, maximised tile, lab"),
    command(Key::Z, Action::Undo, "Ctrl Z", "Undo the last step: a setting, a preset, a tile, a selection"),
    KeyBinding {
        modifiers: Modifiers { shift: true, ..Modifiers::COMMAND },
        key: Key::Z,
        action: Action::Redo,
        shown: "Ctrl Shift Z",
        words: "Redo",
        yields_to_focus: false,
    },
    command(Key::P, Action::Palette, "Ctrl P", "Find a command, lab, preset, view or control"),
    command(Key::O, Action::OpenSheet, "Ctrl O", "Open a text, config, tokenizer, graph or run folder"),
];

/// Keys that are not in [`KEYS`], for the help sheet.
pub static OTHER_KEYS: &[(&str, &str)] = &[
    ("1 to 9", "Select a tile"),
    ("Ctrl C", "Copy settings, seed and layout as one string"),
    ("Ctrl V", "Paste such a string and have the same page"),
    ("Ctrl +  Ctrl -  Ctrl 0", "Larger, smaller, normal size"),
];

/// What can be done with the mouse, for the help sheet.
pub static GESTURES: &[(&str, &str)] = &[
    ("Drag a tile's title", "Move it, split, or stack as tabs"),
    ("Double-click a tile's title", "Maximise it, or put it back"),
    ("Drag between tiles", "Resize them"),
    ("Double-click a control's name", "Back to the preset's value"),
    ("Click a number", "Type an exact value"),
    ("Drag the scrubber", "See every view as of that step; training goes on"),
    ("In the neuron graph", "Scroll to zoom, drag to move it, drag a neuron; then arrows, + \u{2212} 0, and P to pin"),
    ("Drop a file anywhere", "Text: train on it. Config, run folder or graph: open it"),
];
