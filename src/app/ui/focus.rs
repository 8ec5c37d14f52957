//! Keeps the focus visible: a widget that gets it by key is scrolled into view.

use std::mem;

use eframe::egui::{
    Context, Event, FullOutput, Id, Key, Plugin, RawInput,
    accesskit::{Action, ActionRequest, TreeId},
};

const FOCUS_KEYS: [Key; 5] = [Key::Tab, Key::ArrowUp, Key::ArrowDown, Key::ArrowLeft, Key::ArrowRight];
/// A widget counts as visible if at most this many points of it are cut off.
const MAX_CUT: f32 = 1.0;

/// Asks the widget that a key gave the focus to scroll into view if part of it is cut off, as assistive technology does,
/// so that no widget has to do it by itself. A widget that was pressed stays where it is under the pointer.
#[derive(Default)]
pub(super) struct FocusInSight {
    focused: Option<Id>,
    /// The user has moved the focus by key since a button of the pointer was last pressed.
    is_by_key: bool,
    /// The widget to be scrolled into view in the next frame.
    scroll_target: Option<Id>,
}

impl Plugin for FocusInSight {
    fn debug_name(&self) -> &'static str {
        "focus in sight"
    }

    fn input_hook(&mut self, _: &Context, input: &mut RawInput) {
        for event in &input.events {
            match event {
                Event::Key { key, pressed: true, .. } if FOCUS_KEYS.contains(key) => self.is_by_key = true,
                Event::PointerButton { pressed: true, .. } => self.is_by_key = false,
                _ => {}
            }
        }
        if let Some(id) = self.scroll_target.take() {
            let (action, target_tree, target_node) = (Action::ScrollIntoView, TreeId::ROOT, id.accesskit_id());
            let request = ActionRequest { action, target_tree, target_node, data: None };
            input.events.push(Event::AccessKitActionRequest(request));
        }
    }

    fn output_hook(&mut self, ctx: &Context, _: &mut FullOutput) {
        let focused = ctx.memory(|m| m.focused());
        if mem::replace(&mut self.focused, focused) == focused || !self.is_by_key {
            return;
        }
        let is_cut = |id: &Id| {
            let widget = ctx.read_response(*id);
            widget.is_some_and(|widget| !widget.interact_rect.expand(MAX_CUT).contains_rect(widget.rect))
        };
        self.scroll_target = focused.filter(is_cut);
        if self.scroll_target.is_some() {
            ctx.request_repaint();
        }
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{self, Modifiers, PointerButton, Pos2, Rect, ScrollArea, pos2};

    use super::*;

    /// Draws twenty buttons in a column that shows three and a part; a click gives a button the focus.
    /// Returns the index and the place of the one that has it.
    fn draw(ctx: &Context, events: Vec<Event>) -> Option<(usize, Rect)> {
        let mut found = None;
        let input = RawInput { screen_rect: Some(SCREEN), events, ..RawInput::default() };
        let out = ctx.run_ui(input, |ui| {
            ScrollArea::vertical().show(ui, |ui| {
                for i in 0..20 {
                    let button = ui.add_sized([100.0, 28.0], egui::Button::new(i.to_string()));
                    if button.clicked() {
                        button.request_focus();
                    }
                    if button.has_focus() {
                        found = Some((i, button.rect));
                    }
                }
            });
        });
        out.drop_without_applying_deltas();
        found
    }

    const SCREEN: Rect = Rect { min: Pos2::ZERO, max: Pos2 { x: 200.0, y: 100.0 } };

    fn begun() -> Context {
        let ctx = Context::default();
        ctx.add_plugin(FocusInSight::default());
        draw(&ctx, vec![]);
        ctx
    }

    fn pressed(key: Key) -> Event {
        Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE }
    }

    #[test]
    fn the_focus_stays_in_sight_while_keys_move_it() {
        let ctx = begun();
        let down = (0..9).map(|i| (Key::Tab, i)).chain((9..18).map(|i| (Key::ArrowDown, i)));
        for (key, wanted) in down.chain((5..17).rev().map(|i| (Key::ArrowUp, i))) {
            draw(&ctx, vec![pressed(key)]);
            // the widget is asked to scroll, the area begins to, and has
            draw(&ctx, vec![]);
            draw(&ctx, vec![]);
            let (i, rect) = draw(&ctx, vec![]).expect("a button has the focus");
            assert_eq!(i, wanted);
            assert!(SCREEN.expand(MAX_CUT).contains_rect(rect), "{key:?} leads to {rect:?}");
        }
    }

    #[test]
    fn what_is_pressed_stays_under_the_pointer() {
        let ctx = begun();
        draw(&ctx, vec![pressed(Key::Tab)]);
        let at = pos2(50.0, 97.0);
        draw(&ctx, vec![Event::PointerMoved(at)]);
        for pressed in [true, false] {
            let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
            draw(&ctx, vec![Event::PointerButton { pos: at, button, pressed, modifiers }]);
        }
        draw(&ctx, vec![]);
        draw(&ctx, vec![]);
        let (i, rect) = draw(&ctx, vec![]).expect("a button has the focus");
        assert!(i == 3 && rect.contains(at) && !SCREEN.contains_rect(rect), "{i} at {rect:?}");
    }
}
