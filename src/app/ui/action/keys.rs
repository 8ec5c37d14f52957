//! The key bindings, and the gestures that the help page lists beside them.

use eframe::egui::{Key, Modifiers};

use super::{Action, LessonAction, LookAction, OpenAction, PageAction, RunAction, TimeAction};

pub struct KeyBinding {
    pub modifiers: Modifiers,
    pub key: Key,
    pub action: Action,
    /// The spelling on the help sheet.
    pub label: &'static str,
    pub description: &'static str,
    /// Widgets that have the focus use this key themselves.
    pub yields_to_focus: bool,
}

const fn key(key: Key, action: Action, label: &'static str, description: &'static str) -> KeyBinding {
    KeyBinding { modifiers: Modifiers::NONE, key, action, label, description, yields_to_focus: false }
}

const fn command(key: Key, action: Action, label: &'static str, description: &'static str) -> KeyBinding {
    KeyBinding { modifiers: Modifiers::COMMAND, key, action, label, description, yields_to_focus: false }
}

const fn yielding(key: Key, action: Action, label: &'static str, description: &'static str) -> KeyBinding {
    KeyBinding { modifiers: Modifiers::NONE, key, action, label, description, yields_to_focus: true }
}

/// Every key, as the help sheet prints and the palette offers them, except for several that egui treats otherwise:
/// digits select a tile, Ctrl-C and Ctrl-V copy and paste a session, Ctrl +, -, 0 scale. They are in [`OTHER_KEYS`].
pub static KEYS: &[KeyBinding] = &[
    yielding(
        Key::Space,
        Action::Run(RunAction::Space),
        "Space",
        "Run or pause; play or pause a replay, or the recorded steps",
    ),
    yielding(
        Key::ArrowRight,
        Action::Run(RunAction::RightArrow),
        "→",
        "One step, then pause; the next recorded step of a replay, or of a run that is scrubbed",
    ),
    key(
        Key::R,
        Action::Run(RunAction::LetterR),
        "R",
        "Reset: begin again with the settings shown; asks first if a training would end",
    ),
    key(Key::F, Action::Time(TimeAction::Follow), "F", "Follow: back to the newest step"),
    key(Key::End, Action::Time(TimeAction::Follow), "End", "Follow: back to the newest step"),
    yielding(Key::Enter, Action::Page(PageAction::Maximise), "Enter", "Maximise the selected tile, or put it back"),
    yielding(
        Key::P,
        Action::Look(LookAction::Presenter),
        "P",
        "Presenter mode: panels folded, everything larger, keys shown",
    ),
    key(Key::PageDown, Action::Lesson(LessonAction::Next), "Page Down", "Next step of the lesson"),
    key(Key::PageUp, Action::Lesson(LessonAction::Previous), "Page Up", "Previous step of the lesson"),
    key(Key::D, Action::Look(LookAction::ToggleTheme), "D", "Dark or light"),
    key(Key::OpenBracket, Action::Look(LookAction::FoldControls), "[", "Fold or open the controls"),
    key(Key::CloseBracket, Action::Look(LookAction::FoldInspector), "]", "Fold or open the right panel"),
    key(Key::T, Action::Look(LookAction::FrameTimes), "T", "Frame times: draws without pause while they are shown"),
    key(Key::Questionmark, Action::Open(OpenAction::Help), "?", "Every key and gesture"),
    key(Key::Escape, Action::Open(OpenAction::Back), "Esc", "Back out: sheet, maximised tile, lab"),
    command(
        Key::Z,
        Action::Page(PageAction::Undo),
        "Ctrl Z",
        "Undo the last step: a setting, a preset, a tile, a selection, a run that was left or deleted",
    ),
    KeyBinding {
        modifiers: Modifiers { shift: true, ..Modifiers::COMMAND },
        key: Key::Z,
        action: Action::Page(PageAction::Redo),
        label: "Ctrl Shift Z",
        description: "Redo",
        yields_to_focus: false,
    },
    command(Key::Y, Action::Page(PageAction::Redo), "Ctrl Y", "Redo"),
    command(Key::P, Action::Open(OpenAction::Palette), "Ctrl P", "Find a command, lab, preset, view or control"),
    command(Key::O, Action::Open(OpenAction::Sheet), "Ctrl O", "Open a text, config, tokenizer, graph or run folder"),
];

/// The keys in groups that do the same, which are adjacent in [`KEYS`]; the usual one is the first.
pub fn key_groups() -> impl Iterator<Item = &'static [KeyBinding]> {
    KEYS.chunk_by(|a, b| a.action == b.action)
}

/// Keys that are not in [`KEYS`], for the help sheet.
pub static OTHER_KEYS: &[(&str, &str)] = &[
    ("1 to 9", "Select a tile"),
    ("Ctrl C", "Copy settings, seed and layout as one string"),
    ("Ctrl V", "Paste such a string and have the same page"),
    ("Ctrl +  Ctrl -  Ctrl 0", "Larger, smaller, normal size"),
];

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
