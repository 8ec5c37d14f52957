//! While something is dragged, no tooltip opens and an open one is not drawn, because it could cover what the user
//! drags to. The same holds after the drag until the pointer moves on, because a tooltip could cover the result.

use eframe::egui::{Context, Id, Order, Pos2};

use super::theme::TOOLTIP_DELAY;

/// Longer than anybody holds a button, seconds.
const NEVER_SECONDS: f32 = 1e6;
/// A pointer that is no farther than this from where a drag ended rests there, points.
const REST_DISTANCE: f32 = 8.0;

/// Suppresses tooltips while a button is held, and after a drag; call it before anything is drawn.
pub fn suppress_while_held(ctx: &Context) {
    let delay = if is_busy(ctx) { NEVER_SECONDS } else { TOOLTIP_DELAY };
    if ctx.global_style().interaction.tooltip_delay != delay {
        ctx.all_styles_mut(|style| style.interaction.tooltip_delay = delay);
    }
}

/// Ends the suppression of tooltips; call it after everything is drawn.
pub fn clear(ctx: &Context) {
    if !is_busy(ctx) {
        return;
    }
    let shown = ctx.memory(|m| m.areas().visible_layer_ids());
    let tooltips = shown.into_iter().filter(|layer| layer.order == Order::Tooltip);
    ctx.graphics_mut(|graphics| tooltips.for_each(|layer| *graphics.entry(layer) = Default::default()));
}

/// True while a button is held, and after a drag until the pointer moves on.
fn is_busy(ctx: &Context) -> bool {
    let (is_held, has_dragged, at) = ctx.input(|i| {
        let has_dragged = i.pointer.any_released() && i.pointer.is_decidedly_dragging();
        (i.pointer.any_down(), has_dragged, i.pointer.latest_pos())
    });
    let id = Id::unique("end of a drag");
    ctx.data_mut(|data| {
        let end: Option<Pos2> = if has_dragged { at } else { data.get_temp(id) };
        match end.filter(|end| at.is_some_and(|at| at.distance(*end) <= REST_DISTANCE)) {
            Some(end) => _ = data.insert_temp(id, end),
            None => data.remove::<Pos2>(id),
        }
        is_held || data.get_temp::<Pos2>(id).is_some()
    })
}

#[cfg(test)]
mod tests {
    use eframe::egui::{self, Event, PointerButton, RawInput, pos2, vec2};

    use super::*;

    /// Frames of a label with a tooltip; whether anything is drawn in a tooltip's layer in the last.
    struct Frames {
        ctx: Context,
        time: f64,
    }

    impl Frames {
        fn draw(&mut self, events: Vec<Event>, seconds: f64) -> bool {
            let mut is_shown = false;
            for (i, events) in [events, vec![], vec![]].into_iter().enumerate() {
                self.time += if i == 0 { 0.02 } else { seconds };
                let rect = egui::Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0));
                let input = RawInput { time: Some(self.time), screen_rect: Some(rect), events, ..RawInput::default() };
                let out = self.ctx.run_ui(input, |ui| {
                    suppress_while_held(ui.ctx());
                    ui.add(egui::Slider::new(&mut 0.5, 0.0..=1.0)).on_hover_text("how far");
                    clear(ui.ctx());
                    let ctx = ui.ctx();
                    let layers = ctx.memory(|m| m.areas().visible_layer_ids());
                    let is_drawn = |layer| ctx.graphics(|g| g.get(layer).is_some_and(|list| !list.is_empty()));
                    is_shown = layers.into_iter().any(|layer| layer.order == Order::Tooltip && is_drawn(layer));
                });
                out.drop_without_applying_deltas();
            }
            is_shown
        }
    }

    fn button(pos: Pos2, pressed: bool) -> Event {
        Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: egui::Modifiers::NONE }
    }

    #[test]
    fn a_tooltip_gives_way_to_a_drag() {
        let mut frames = Frames { ctx: Context::default(), time: 0.0 };
        let at = pos2(40.0, 12.0);
        assert!(!frames.draw(vec![Event::PointerMoved(at)], 0.1));
        assert!(frames.draw(vec![], 1.0), "a pointer that rests has its tooltip");
        assert!(!frames.draw(vec![button(at, true)], 1.0), "while the button is held it is gone");
        assert!(!frames.draw(vec![Event::PointerMoved(at + vec2(6.0, 0.0))], 2.0), "and none opens where it rests");
    }

    #[test]
    fn the_end_of_a_drag_is_not_covered_until_the_pointer_moves_on() {
        let mut frames = Frames { ctx: Context::default(), time: 0.0 };
        let (from, to) = (pos2(30.0, 12.0), pos2(60.0, 12.0));
        frames.draw(vec![Event::PointerMoved(from)], 0.1);
        frames.draw(vec![button(from, true)], 0.1);
        frames.draw(vec![Event::PointerMoved(to)], 0.1);
        assert!(!frames.draw(vec![button(to, false)], 2.0), "the pointer rests where the drag ended");
        assert!(!frames.draw(vec![Event::PointerMoved(to + vec2(2.0, 0.0))], 2.0), "a hand is never quite still");
        frames.draw(vec![Event::PointerMoved(from)], 0.1);
        assert!(frames.draw(vec![], 1.0), "elsewhere on the slider it opens again");
    }
}
