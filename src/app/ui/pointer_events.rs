//! Splits the pointer events of a late frame over several frames, with one press or release in each.

use std::mem;

use eframe::egui::{Context, Event, Plugin, RawInput};

/// Lets a frame see events only up to a button that goes down or up, and keeps the rest for the frame after it. egui
/// finds the widget under the pointer once per frame, at the last position. If a press, a move and a release came in
/// one frame, it would place the press where the pointer went, and a slider would follow moves after its release.
#[derive(Default)]
pub(super) struct PointerEvents {
    waiting: Vec<Event>,
}

impl Plugin for PointerEvents {
    fn debug_name(&self) -> &'static str {
        "pointer events"
    }

    fn input_hook(&mut self, ctx: &Context, input: &mut RawInput) {
        let mut events = mem::take(&mut self.waiting);
        events.append(&mut input.events);
        self.waiting = events.split_off(end_of_frame(&events));
        input.events = events;
        if !self.waiting.is_empty() {
            ctx.request_repaint();
        }
    }
}

/// The number of events that a frame sees: up to the first press, or to the first release with the moves before it.
fn end_of_frame(events: &[Event]) -> usize {
    let is_move = |event: &Event| matches!(event, Event::PointerMoved(_));
    for (i, event) in events.iter().enumerate() {
        if let Event::PointerButton { pressed, .. } = event {
            let follows_moves = events[..i].iter().any(is_move);
            return if !pressed && follows_moves { i } else { i + 1 };
        }
    }
    events.len()
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Key, Modifiers, PointerButton, Pos2, pos2};

    use super::*;

    fn moved(x: f32) -> Event {
        Event::PointerMoved(pos2(x, 0.0))
    }

    fn button(pos: Pos2, pressed: bool) -> Event {
        Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }
    }

    /// The events of each frame, where all come before the first.
    fn frames(events: Vec<Event>) -> Vec<Vec<Event>> {
        let (mut plugin, ctx) = (PointerEvents::default(), Context::default());
        let mut input = RawInput { events, ..RawInput::default() };
        let mut frames = vec![];
        loop {
            plugin.input_hook(&ctx, &mut input);
            frames.push(mem::take(&mut input.events));
            if plugin.waiting.is_empty() {
                return frames;
            }
        }
    }

    #[test]
    fn each_button_has_its_own_position() {
        let (down, up) = (button(pos2(1.0, 0.0), true), button(pos2(3.0, 0.0), false));
        let drag = vec![moved(1.0), down.clone(), moved(2.0), moved(3.0), up.clone(), moved(9.0)];
        let apart =
            vec![vec![moved(1.0), down.clone()], vec![moved(2.0), moved(3.0)], vec![up.clone()], vec![moved(9.0)]];
        assert_eq!(frames(drag), apart);
        let clicks = vec![down.clone(), up.clone(), down.clone(), up.clone()];
        assert_eq!(frames(clicks), [vec![down.clone()], vec![up.clone()], vec![down], vec![up]]);
    }

    #[test]
    fn events_without_a_button_pass_in_one_frame() {
        let key =
            Event::Key { key: Key::A, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE };
        let events = vec![moved(1.0), key, moved(2.0), Event::PointerGone];
        assert_eq!(frames(events.clone()), [events]);
        assert_eq!(frames(vec![]), [Vec::<Event>::new()]);
    }
}
