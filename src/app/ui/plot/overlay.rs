//! Draws the layer over a chart's data: the events of the run, and the curve that the user guesses.

use eframe::egui::{Align2, CursorIcon, Pos2, Response, Shape, Stroke, Ui, pos2, vec2};

use super::{
    clip,
    events::{StepEvent, near},
    geometry::ROW_HEIGHT,
    guess::{Guess, set_guess},
    paint::Canvas,
};

/// Half the width of the sign at the head of an event's line, points.
const HALF_SIGN_WIDTH: f32 = 3.0;

impl Canvas<'_> {
    fn event_x(&self, step: u64) -> f32 {
        self.layout.x_of(step as f64) + self.corner.x
    }

    /// A hairline with a sign at its head for each visible event.
    pub(super) fn events(&self, events: &[StepEvent]) {
        let area = self.area();
        let colour = self.theme.secondary;
        for event in events {
            let x = self.event_x(event.step);
            if !area.x_range().contains(x) {
                continue;
            }
            let x = x.round() + 0.5;
            self.painter.vline(x, area.y_range(), Stroke::new(1.0, colour.gamma_multiply(0.55)));
            let (half, top) = (HALF_SIGN_WIDTH, area.top());
            let head = [pos2(x - half, top), pos2(x + half, top), pos2(x, top + 1.6 * half)];
            self.painter.add(Shape::convex_polygon(head.to_vec(), colour, Stroke::NONE));
        }
    }

    /// The text of the events near the pointer.
    pub(super) fn event_tooltip(&self, events: &[StepEvent], pointer: Pos2) {
        let area = self.area();
        for (i, event) in near(events, |step| self.event_x(step), pointer.x).into_iter().rev().take(4).enumerate() {
            let at = pos2(self.event_x(event.step) + 4.0, area.bottom() - 4.0 - i as f32 * ROW_HEIGHT);
            self.halo_text(at, Align2::LEFT_BOTTOM, &event.label());
        }
    }

    /// The guess as a dashed line with its name.
    pub(super) fn guess(&self, guess: &Guess) {
        let area = self.area();
        let place = |p: &[f64; 2]| self.layout.at(*p) + self.corner;
        let points: Vec<_> = guess.points.iter().map(place).filter(|p| area.expand(1.0).contains(*p)).collect();
        let stroke = Stroke::new(2.0, self.theme.accent);
        if points.len() > 1 {
            clip::paint_dashed(&self.painter, &points, stroke, 7.0, 4.0);
        }
        if let Some(first) = points.first() {
            self.painter.add(Shape::circle_filled(*first, 2.5, self.theme.accent));
            let last = points.last().unwrap_or(first);
            self.halo_text(*last + vec2(4.0, -4.0), Align2::LEFT_BOTTOM, "your guess");
        } else if guess.is_drawing {
            self.halo_text(area.center(), Align2::CENTER_CENTER, "draw here what you expect");
        }
    }

    pub(super) fn draw_guess(&self, ui: &Ui, response: &Response, mut guess: Guess) {
        if response.hovered() {
            ui.ctx().set_cursor_icon(CursorIcon::Crosshair);
        }
        let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged()) else { return };
        let area = self.area();
        let value = |p: Pos2| {
            let inside = area.clamp(p) - self.corner;
            [self.layout.x_value(inside.x), self.layout.y_value(inside.y)]
        };
        let from = (!response.drag_started()).then(|| value(at - response.drag_delta())[0]);
        guess.draw(from, value(at));
        set_guess(ui.ctx(), Some(guess));
    }
}
