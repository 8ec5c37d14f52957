//! Neurons on a circle with bars of X and Y outwards and A inwards, faint synapses, and the last round's bright flows.

use eframe::egui::{Stroke, epaint::QuadraticBezierShape};

use super::machine::Machine;
use crate::ui::views::prelude::*;

/// Tracks as shares of the radius of the whole: where chords end, A, X, Y.
const CHORDS: f32 = 0.62;
const INNER: f32 = 0.70;
const MIDDLE: f32 = 0.855;

/// Neurons around a circle, or particles.
pub(super) struct Ring {
    pub centre: Pos2,
    pub radius: f32,
    pub n: usize,
}

impl Ring {
    /// `rim`: points that are free around it.
    pub fn new(rect: Rect, n: usize, rim: f32) -> Self {
        Self { centre: rect.center(), radius: (0.5 * rect.width().min(rect.height()) - rim).max(20.0), n: n.max(1) }
    }

    /// The place of a neuron so far out, as a share of the radius.
    pub fn place(&self, neuron: usize, share: f32) -> Pos2 {
        let angle = std::f32::consts::TAU * (neuron as f32 / self.n as f32 - 0.25);
        self.centre + vec2(angle.cos(), angle.sin()) * (self.radius * share)
    }

    /// The neuron under a pointer on the tracks.
    pub fn neuron_at(&self, p: Pos2) -> Option<usize> {
        let away = p - self.centre;
        if away.length() < self.radius * (CHORDS - 0.06) || away.length() > self.radius + 6.0 {
            return None;
        }
        let share = away.angle() / std::f32::consts::TAU + 0.25;
        Some((share.rem_euclid(1.0) * self.n as f32).round() as usize % self.n)
    }

    pub fn paint(&self, painter: &Painter, theme: &Theme, machine: &mut Machine, chosen: Option<usize>) {
        self.synapses(painter, theme, machine, chosen);
        self.flows(painter, theme, machine, chosen);
        for share in [CHORDS, INNER, MIDDLE] {
            painter.circle_stroke(self.centre, self.radius * share, Stroke::new(1.0, theme.line));
        }
        let wide = (std::f32::consts::TAU * self.radius * INNER / self.n as f32 - 1.0).clamp(1.0, 7.0);
        let s = &machine.state;
        let changed: &[usize] = machine.last.as_ref().map_or(&[], |r| &r.nodes);
        let bar = |neuron: usize, value: f64, max: f64, (from, room): (f32, f32), colour: Color32| {
            // Roots: a few large ones would leave the others unseen.
            let share = if max > 0.0 { (value.abs() / max).min(1.0).sqrt() as f32 } else { 0.0 };
            if share > 0.01 {
                let ends = [self.place(neuron, from), self.place(neuron, from + room * share)];
                painter.line_segment(ends, Stroke::new(wide, colour));
            }
        };
        let kernel = machine.last.as_ref().map(|r| r.kernel);
        let is_arrival = machine.last.as_ref().is_some_and(|r| r.layer.is_none());
        for i in 0..self.n {
            // Neurons that the last round changed stand out.
            let tone = |acts: bool, colour: Color32| {
                if acts && changed.contains(&i) || chosen == Some(i) { colour } else { colour.gamma_multiply(0.55) }
            };
            let a = if s.a[i] < 0.0 { theme.cool } else { theme.secondary };
            bar(i, s.a[i], machine.max[2], (INNER, CHORDS - INNER), tone(kernel == Some(0), a));
            bar(i, s.x[i], machine.max[0], (INNER, MIDDLE - INNER - 0.012), tone(kernel == Some(3), theme.fast));
            let is_y_changed = matches!(kernel, Some(1 | 2)) || is_arrival;
            bar(i, s.y[i], machine.max[1], (MIDDLE, 0.99 - MIDDLE), tone(is_y_changed, theme.text));
        }
        if let Some(i) = chosen {
            let ends = [self.place(i, CHORDS - 0.02), self.place(i, 1.0)];
            painter.line_segment(ends, Stroke::new(1.0, theme.text));
        }
        self.names(painter, theme);
    }

    fn names(&self, painter: &Painter, theme: &Theme) {
        let tracks = [
            ("A", 0.5 * (CHORDS + INNER), theme.secondary),
            ("X", 0.5 * (INNER + MIDDLE), theme.fast),
            ("Y", 0.5 * (MIDDLE + 1.0), theme.text),
        ];
        for (name, share, colour) in tracks {
            // Between the last neuron and the first, on a patch of ground.
            let at = self.place(0, share) - vec2(std::f32::consts::PI * self.radius * share / self.n as f32, 0.0);
            painter.circle_filled(at, 8.0, theme.panel);
            painter.text(at, Align2::CENTER_CENTER, name, theme::small(), colour);
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a chord is no longer than its ring is wide")]
    fn chord(&self, from: usize, to: usize, stroke: Stroke, dashed: bool) -> Vec<Shape> {
        let (a, b) = (self.place(from, CHORDS), self.place(to, CHORDS));
        if from == to {
            // A loop of its own: a small ring inwards.
            let at = self.place(from, CHORDS - 0.025);
            return vec![Shape::circle_stroke(at, 0.02 * self.radius, stroke)];
        }
        // Near ones bend little, far ones through the middle.
        let control = self.centre + ((a.to_vec2() + b.to_vec2()) * 0.5 - self.centre.to_vec2()) * 0.25;
        let curve = QuadraticBezierShape::from_points_stroke([a, control, b], false, Color32::TRANSPARENT, stroke);
        if dashed { Shape::dashed_line(&curve.flatten(Some(0.5)), stroke, 4.0, 3.0) } else { vec![Shape::from(curve)] }
    }

    /// Draws the strongest synapses of the layer.
    fn synapses(&self, painter: &Painter, theme: &Theme, machine: &mut Machine, chosen: Option<usize>) {
        let all = machine.memory();
        let max = all.first().map_or(1.0, |s| s.2.abs());
        for &(y, x, sigma) in all {
            let near = chosen.is_none_or(|c| c == y || c == x);
            let share = share((sigma.abs() / max) as f32) * if near { 1.0 } else { 0.3 };
            let stroke = Stroke::new(0.5 + 1.5 * share, theme.slow.gamma_multiply(0.08 + 0.35 * share));
            painter.extend(self.chord(x, y, stroke, sigma < 0.0));
        }
    }

    /// Draws the flows of the last round: warm colours excite, cool colours inhibit, amber flows through a synapse.
    fn flows(&self, painter: &Painter, theme: &Theme, machine: &Machine, chosen: Option<usize>) {
        let max = machine.flows.first().map_or(1.0, |f| f.amount.abs());
        let parameters = machine.last.as_ref().is_some_and(|r| r.kernel >= 2);
        // the weakest are drawn first, so that the strongest are on top
        for flow in machine.flows.iter().rev() {
            let near = chosen.is_none_or(|c| c == flow.from || c == flow.to);
            let share = share((flow.amount.abs() / max) as f32) * if near { 1.0 } else { 0.25 };
            let colour = match (parameters, flow.amount > 0.0) {
                (true, true) => theme.warm,
                (true, false) => theme.cool,
                (false, _) => theme.slow,
            };
            let stroke = Stroke::new(0.5 + 2.0 * share, colour.gamma_multiply(0.12 + 0.83 * share));
            painter.extend(self.chord(flow.from, flow.to, stroke, flow.amount < 0.0));
            if share > 0.25 {
                painter.circle_filled(self.place(flow.to, CHORDS), 1.5 + 1.5 * share, colour);
            }
        }
    }
}

/// The largest centred square in `room`.
pub(super) fn square(room: Rect) -> Rect {
    let side = room.width().min(room.height());
    Rect::from_center_size(pos2(room.center().x, room.top() + 0.5 * side), vec2(side, side))
}
