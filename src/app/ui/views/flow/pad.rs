//! A square in which two of the controls are set at once, with the class mass found at every place that was visited.

use super::{answer::Answer, sheet::Sheet};
use crate::{
    analysis::fast_slow_plane::{Bounds, Point},
    ui::views::painting::*,
};

/// The controls go from minus this to this.
pub const MAX_CONTROL: f64 = 2.0;
/// Visited places that are kept.
const MAX_VISITED: usize = 1500;
/// The change of a control by one press of an arrow key.
const KEY_STEP: f64 = 0.05;
/// Radius of the ring that marks the current controls, and the width of its line, points.
const RING_RADIUS: f32 = 5.5;
const RING_WIDTH: f32 = 2.0;
/// Between the edge of the pad and the ends of the controls, where the whole ring has room, points.
const PAD_MARGIN: f32 = 7.0;

/// The plane of the pair on a pad.
fn sheet(pad: Rect) -> Sheet {
    let ends = [-MAX_CONTROL, MAX_CONTROL];
    Sheet { rect: pad.shrink(PAD_MARGIN), bounds: Bounds { x: ends, y: ends } }
}

/// The names of the controls.
pub const U_LABELS: [&str; 4] = ["u\u{2080}", "u\u{2081}", "u\u{2082}", "u\u{2083}"];

/// The inputs, except u, on which the probability mass of the classes depends; a change of them clears what was
/// visited.
#[derive(Debug, Clone, PartialEq)]
struct MassInputs {
    run: RunNumber,
    step: u64,
    alpha: f64,
    method: String,
    policy: StepPolicy,
    prompt: String,
}

/// The pad's pair of controls, and what was seen on it.
#[derive(Debug, Clone)]
pub struct Pad {
    pub pair: (usize, usize),
    /// The visited values of u, with P(class +) - P(class -) at each.
    seen: Vec<([f64; 4], f64)>,
    inputs: Option<MassInputs>,
    last: Option<u64>,
}

impl Default for Pad {
    fn default() -> Self {
        Self { pair: (0, 1), seen: vec![], inputs: None, last: None }
    }
}

impl Pad {
    /// Remembers what the newest answer says of its place.
    pub fn remember_answer(&mut self, cx: &ViewCx<'_>) {
        let Some(answer) = Answer::in_focus(cx) else { return };
        let Some((language, classes)) = answer.value.language().zip(answer.value.classes()) else { return };
        let (request, step, solver) = (answer.sample.request, answer.sample.step, &answer.value.solver);
        let inputs = MassInputs {
            run: cx.mirror.run,
            step,
            alpha: answer.control.alpha,
            method: solver.method.clone(),
            policy: solver.policy,
            prompt: language.prompt.clone(),
        };
        if self.inputs.as_ref() != Some(&inputs) {
            self.seen.clear();
            (self.inputs, self.last) = (Some(inputs), None);
        }
        if self.last == request && !self.seen.is_empty() {
            return;
        }
        self.last = request;
        if self.seen.len() == MAX_VISITED {
            self.seen.remove(0);
        }
        let difference = classes.plus.probability - classes.minus.probability;
        self.seen.push((answer.control.u, difference));
    }

    /// Draws the pad; returns the new values of its pair if the user moved them.
    pub fn ui(&mut self, ui: &mut Ui, theme: &Theme, u: [f64; 4], side: f32) -> Option<Point> {
        let (i, j) = self.pair;
        let label = format!("pad of {} and {}", U_LABELS[i], U_LABELS[j]);
        // it is a control and no picture
        let (rect, response) = ui.allocate_exact_size(vec2(side, side), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &label));
        self.paint(ui, theme, rect, u, response.has_focus());
        let step = KEY_STEP / (2.0 * MAX_CONTROL);
        let chosen = sheet(rect).chosen_point(ui, &response, [u[i], u[j]], step).map(|point| point.map(round_control));
        response.on_hover_text(format!(
            "Sets {} and {} together: drag, click, or arrow keys. Each place that was solved keeps a dot: warm where \
             class + won, cool where class \u{2212} did.",
            U_LABELS[i], U_LABELS[j]
        ));
        chosen
    }

    fn paint(&self, ui: &Ui, theme: &Theme, rect: Rect, u: [f64; 4], focused: bool) {
        let painter = ui.painter_at(rect.expand(1.0));
        let (i, j) = self.pair;
        let held = |v: f64| v.clamp(-MAX_CONTROL, MAX_CONTROL);
        let at = |u: &[f64; 4]| sheet(rect).at([u[i], u[j]].map(held));
        painter.rect_filled(rect, 2.0, theme.raised);
        for tick in [-1.0, 0.0, 1.0] {
            let place = at(&[tick; 4]);
            let colour = if tick == 0.0 { theme.secondary.gamma_multiply(0.6) } else { theme.line };
            painter.vline(place.x, rect.y_range(), Stroke::new(1.0, colour));
            painter.hline(rect.x_range(), place.y, Stroke::new(1.0, colour));
        }
        let map = ColourMap::Diverging { dark: theme.dark };
        for (place, difference) in &self.seen {
            let others = (0..4).filter(|k| *k != i && *k != j);
            if others.into_iter().all(|k| (place[k] - u[k]).abs() < 1e-9) {
                painter.circle_filled(at(place), 3.0, map.colour(0.5 + 0.5 * *difference as f32));
            }
        }
        let small = theme::small();
        let right = pos2(rect.right() - 3.0, at(&[0.0; 4]).y + 2.0);
        painter.text(right, Align2::RIGHT_TOP, U_LABELS[i], small.clone(), theme.secondary);
        let top = pos2(at(&[0.0; 4]).x + 4.0, rect.top() + 2.0);
        painter.text(top, Align2::LEFT_TOP, U_LABELS[j], small, theme.secondary);
        let here = at(&u);
        painter.circle(here, RING_RADIUS, theme.panel, Stroke::new(RING_WIDTH, theme.accent));
        painter.circle_filled(here, 2.0, theme.accent);
        let edge = if focused { theme.accent } else { theme.line };
        painter.rect_stroke(rect, 2.0, Stroke::new(1.0, edge), StrokeKind::Outside);
    }

    pub fn pair_ui(&mut self, ui: &mut Ui, width: f32) {
        let pair_label = |(i, j): (usize, usize)| format!("{} and {}", U_LABELS[i], U_LABELS[j]);
        let pairs = (0..4).flat_map(|i| (i + 1..4).map(move |j| ((i, j), pair_label((i, j)))));
        choice_box(ui, "pair of the pad", width, &pair_label(self.pair), &mut self.pair, pairs)
            .on_hover_text("Which two of the controls the pad sets. The other two stay where they are.");
    }
}

/// Rounds to two decimals, the precision of the pointer, and snaps to zero.
pub fn round_control(v: f64) -> f64 {
    let v = (v * 100.0).round() / 100.0;
    if v.abs() < 0.03 { 0.0 } else { v }
}

pub fn control_text(u: [f64; 4]) -> String {
    let all: Vec<String> = u.iter().map(|v| number::short(*v).replace('-', "\u{2212}")).collect();
    format!("({})", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_is_whole_at_both_ends() {
        let pad = Rect::from_min_size(pos2(20.0, 30.0), vec2(120.0, 120.0));
        for pair in [[-2.0, 2.0], [2.0, -2.0], [0.5, -1.25]] {
            let at = sheet(pad).at(pair);
            let ring = Rect::from_center_size(at, Vec2::splat(2.0 * RING_RADIUS + RING_WIDTH));
            assert!(pad.contains_rect(ring), "{pair:?}: {ring:?}");
            assert_eq!(sheet(pad).point_at(at).map(round_control), pair);
        }
        assert_eq!(sheet(pad).point_at(pad.left_top()), [-2.0, 2.0], "the margin is of the ends");
    }
}
