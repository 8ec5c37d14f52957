//! From pressed keys to actions. Plain keys do nothing while a text field has the focus.

use eframe::egui::{Context, Event, Key, Modifiers};

use super::{
    action::{Action, Actions, KEYS, MessageAction, PageAction},
    session::PREFIX,
};
use crate::labs::lesson::LINK;

const DIGITS: [Key; 9] =
    [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9];

/// The actions that the keyboard triggered in this frame.
#[derive(Debug, Default, PartialEq)]
pub struct Pressed {
    pub actions: Actions,
    /// A session string that was pasted.
    pub pasted: Option<String>,
    /// The last key in plain words, for presenter mode.
    pub shown: Option<String>,
}

/// Reads this frame's keys. `sheet_open`: a sheet takes all keys but Escape. `was_typing`: a text
/// field had the focus at the end of the last frame (Escape has taken it away by now).
pub fn pressed(ctx: &Context, sheet_open: bool, was_typing: bool) -> Pressed {
    let typing = was_typing || ctx.text_edit_focused();
    let focused = ctx.memory(|m| m.focused().is_some());
    let menu = eframe::egui::Popup::is_any_open(ctx);
    let mut out = Pressed::default();
    ctx.input(|input| {
        for event in &input.events {
            match event {
                Event::Copy if !typing && !sheet_open => out.actions.push(MessageAction::CopySession),
                Event::Paste(text)
                    if !typing && [PREFIX, LINK].iter().any(|begins| text.trim_start().starts_with(begins)) =>
                {
                    out.pasted = Some(text.clone());
                }
                Event::Key { key, pressed: true, modifiers, .. } => {
                    let words = named(*key, *modifiers);
                    out.shown = Some(words);
                    if typing && !modifiers.command && *key != Key::Escape {
                        continue;
                    }
                    // A text field or an open menu gives Escape its own meaning first; a sheet goes.
                    if *key == Key::Escape && (menu || typing && !sheet_open) {
                        continue;
                    }
                    if sheet_open && *key != Key::Escape {
                        continue;
                    }
                    if let Some(action) = action_of(*key, *modifiers, focused, typing) {
                        out.actions.push(action);
                    }
                }
                _ => {}
            }
        }
    });
    out
}

fn action_of(key: Key, modifiers: Modifiers, focused: bool, typing: bool) -> Option<Action> {
    if !modifiers.any()
        && let Some(i) = DIGITS.iter().position(|d| *d == key)
    {
        return Some(PageAction::SelectTile(i + 1).into());
    }
    // "?" arrives as Slash with Shift on some keyboards.
    let key = if key == Key::Slash && modifiers.shift { Key::Questionmark } else { key };
    KEYS.iter()
        .find(|b| {
            let shift_ok = b.modifiers.shift == modifiers.shift || key == Key::Questionmark;
            b.key == key && b.modifiers.command == modifiers.command && shift_ok && !modifiers.alt
        })
        .filter(|b| !(b.yields_to_focus && focused))
        // Undo inside a text field is the field's own.
        .filter(|b| !(typing && matches!(b.action, Action::Page(PageAction::Undo | PageAction::Redo))))
        .map(|b| b.action.clone())
}

fn named(key: Key, modifiers: Modifiers) -> String {
    let mut words = String::new();
    for (on, name) in [(modifiers.command, "Ctrl "), (modifiers.alt, "Alt "), (modifiers.shift, "Shift ")] {
        if on {
            words.push_str(name);
        }
    }
    words.push_str(match key {
        Key::Questionmark => "?",
        Key::Escape => "Esc",
        Key::ArrowRight => "→",
        other => other.name(),
    });
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::action::RunAction;

    #[test]
    fn redo_is_not_undo() {
        let shift = Modifiers { shift: true, ..Modifiers::COMMAND };
        assert_eq!(action_of(Key::Z, Modifiers::COMMAND, false, false), Some(PageAction::Undo.into()));
        assert_eq!(action_of(Key::Z, shift, false, false), Some(PageAction::Redo.into()));
        assert_eq!(action_of(Key::Z, Modifiers::NONE, false, false), None);
        assert_eq!(action_of(Key::Z, Modifiers::COMMAND, true, true), None, "a text field undoes its own text");
    }

    #[test]
    fn space_belongs_to_a_focused_button() {
        assert_eq!(action_of(Key::Space, Modifiers::NONE, false, false), Some(RunAction::Space.into()));
        assert_eq!(action_of(Key::Space, Modifiers::NONE, true, false), None);
    }

    #[test]
    fn no_key_means_two_things() {
        for (i, a) in KEYS.iter().enumerate() {
            for b in KEYS.iter().skip(i + 1) {
                assert!(a.key != b.key || a.modifiers != b.modifiers, "{} and {}", a.words, b.words);
            }
        }
    }
}
