//! From pressed keys to actions. Plain keys do nothing while a text field has the focus.

use eframe::egui::{Context, Event, Key, Modifiers};

use super::{
    action::{Action, Actions, KEYS, KeyBinding, MessageAction, OpenAction, PageAction, RunAction},
    session::PREFIX,
};
use crate::labs::lesson::LINK;

const DIGIT_KEYS: [Key; 9] =
    [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9];

/// The actions that the keyboard triggered in this frame.
#[derive(Debug, Default, PartialEq)]
pub struct PressedKeys {
    pub actions: Actions,
    /// A session string that was pasted.
    pub pasted: Option<String>,
    /// The last key as plain text, for presenter mode.
    pub shown: Option<String>,
    /// The text typed after a key that opens a sheet with a text field, which it is meant for.
    pub typed_ahead: Option<Vec<Event>>,
}

/// Reads this frame's keys. `sheet_open`: a sheet takes all keys but Escape. `was_typing`: a text
/// field had the focus at the end of the last frame (Escape has taken it away by now).
pub fn pressed(ctx: &Context, sheet_open: bool, was_typing: bool) -> PressedKeys {
    let typing = was_typing || ctx.text_edit_focused();
    let focused = ctx.memory(|m| m.focused().is_some());
    let menu = eframe::egui::Popup::is_any_open(ctx);
    let mut out = PressedKeys::default();
    let opened_at = ctx.input(|input| {
        for (i, event) in input.events.iter().enumerate() {
            match event {
                Event::Copy if !typing && !sheet_open => out.actions.push(MessageAction::CopySession),
                Event::Paste(text)
                    if !typing && [PREFIX, LINK].iter().any(|begins| text.trim_start().starts_with(begins)) =>
                {
                    out.pasted = Some(text.clone());
                }
                Event::Key { key, pressed: true, modifiers, repeat, .. } => {
                    out.shown = Some(named(*key, *modifiers));
                    let is_of_others = match *key {
                        // a text field or an open menu gives Escape its own meaning first; a sheet goes
                        Key::Escape => menu || typing && !sheet_open,
                        _ => sheet_open || typing && !modifiers.command,
                    };
                    // a key that is held down begins no run after another
                    let action = action_of(*key, *modifiers, focused, typing)
                        .filter(|action| !(is_of_others || *repeat && may_begin_run(action)));
                    if let Some(action) = action {
                        let opens = matches!(action, Action::Open(OpenAction::Palette | OpenAction::Sheet));
                        out.actions.push(action);
                        if opens {
                            return Some(i);
                        }
                    }
                }
                _ => {}
            }
        }
        None
    });
    out.typed_ahead = opened_at.map(|i| ctx.input_mut(|input| take_typed(&mut input.events, i + 1)));
    out
}

/// Removes the keyboard events from index `from` on, so that no other widget handles them in this frame.
pub fn take_typed(events: &mut Vec<Event>, from: usize) -> Vec<Event> {
    let is_typed =
        |e: &Event| matches!(e, Event::Key { .. } | Event::Text(_) | Event::Paste(_) | Event::Copy | Event::Cut);
    let (typed, others): (Vec<Event>, Vec<Event>) = events.split_off(from).into_iter().partition(is_typed);
    events.extend(others);
    typed
}

fn may_begin_run(action: &Action) -> bool {
    matches!(action, Action::Run(RunAction::Space | RunAction::LetterR) | Action::Lesson(_))
}

fn action_of(key: Key, modifiers: Modifiers, focused: bool, typing: bool) -> Option<Action> {
    if !modifiers.any()
        && let Some(i) = DIGIT_KEYS.iter().position(|d| *d == key)
    {
        return Some(PageAction::SelectTile(i + 1).into());
    }
    binding_of(key, modifiers)
        .filter(|b| !(b.yields_to_focus && focused))
        // Undo inside a text field is the field's own.
        .filter(|b| !(typing && matches!(b.action, Action::Page(PageAction::Undo | PageAction::Redo))))
        .map(|b| b.action.clone())
}

fn binding_of(key: Key, modifiers: Modifiers) -> Option<&'static KeyBinding> {
    // "?" arrives as Slash with Shift on some keyboards.
    let key = if key == Key::Slash && modifiers.shift { Key::Questionmark } else { key };
    KEYS.iter().find(|b| {
        let shift_ok = b.modifiers.shift == modifiers.shift || key == Key::Questionmark;
        b.key == key && b.modifiers.command == modifiers.command && shift_ok && !modifiers.alt
    })
}

/// The label of a key on the sheet of keys; a key without one has its own name.
fn named(key: Key, modifiers: Modifiers) -> String {
    if let Some(binding) = binding_of(key, modifiers) {
        return binding.label.to_owned();
    }
    let held = [(modifiers.command, "Ctrl "), (modifiers.alt, "Alt "), (modifiers.shift, "Shift ")];
    let name = match key {
        Key::ArrowUp | Key::ArrowDown | Key::ArrowLeft | Key::ArrowRight => key.name(),
        _ => key.symbol_or_name(),
    };
    held.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).chain([name]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redo_is_not_undo() {
        let shift = Modifiers { shift: true, ..Modifiers::COMMAND };
        assert_eq!(action_of(Key::Z, Modifiers::COMMAND, false, false), Some(PageAction::Undo.into()));
        assert_eq!(action_of(Key::Z, shift, false, false), Some(PageAction::Redo.into()));
        assert_eq!(action_of(Key::Y, Modifiers::COMMAND, false, false), Some(PageAction::Redo.into()));
        assert_eq!(action_of(Key::Z, Modifiers::NONE, false, false), None);
        for key in [Key::Z, Key::Y] {
            assert_eq!(action_of(key, Modifiers::COMMAND, true, true), None, "a text field undoes its own text");
        }
    }

    #[test]
    fn a_key_is_shown_as_on_the_sheet_of_keys() {
        let shift = Modifiers { shift: true, ..Modifiers::NONE };
        let shown = [named(Key::CloseBracket, Modifiers::NONE), named(Key::Slash, shift), named(Key::Escape, shift)];
        assert_eq!(shown, ["]", "?", "Shift Escape"]);
        assert_eq!(named(Key::P, Modifiers::COMMAND), "Ctrl P");
    }

    #[test]
    fn space_belongs_to_a_focused_button() {
        assert_eq!(action_of(Key::Space, Modifiers::NONE, false, false), Some(RunAction::Space.into()));
        assert_eq!(action_of(Key::Space, Modifiers::NONE, true, false), None);
    }

    #[test]
    fn a_held_key_steps_and_begins_nothing() {
        let ctx = Context::default();
        // egui tells a key that is down already as a repetition
        let actions = || {
            let keys = [Key::R, Key::PageDown, Key::Space, Key::ArrowRight];
            let modifiers = Modifiers::NONE;
            let event = |key| Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers };
            let input = eframe::egui::RawInput { events: keys.map(event).into(), ..Default::default() };
            let mut actions = vec![];
            let out = ctx.run_ui(input, |ui| actions.extend(pressed(ui.ctx(), false, false).actions.iter().cloned()));
            out.drop_without_applying_deltas();
            actions
        };
        assert_eq!(actions().len(), 4);
        assert_eq!(actions(), [action_of(Key::ArrowRight, Modifiers::NONE, false, false).unwrap()]);
    }

    #[test]
    fn no_key_means_two_things() {
        for (i, a) in KEYS.iter().enumerate() {
            for b in KEYS.iter().skip(i + 1) {
                assert!(a.key != b.key || a.modifiers != b.modifiers, "{} and {}", a.description, b.description);
            }
        }
    }
}
