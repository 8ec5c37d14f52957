//! Neurons on a circle with bars of X and Y outwards and A inwards, faint synapses, and the last round's bright flows; and
//! particles on a circle: pulses as displacements, connectors as bulging bands, wires and prods as thin arrows.

use eframe::egui::{Stroke, epaint::QuadraticBezierShape};

use super::machine::Machine;
use crate::{analysis::bdh_dynamics::oscillators::Oscillators, ui::views::prelude::*};

/// Tracks as shares of the radius of the whole: where chords end, A, X, Y.
const CHORD_RADIUS: f32 = 0.62;
const INNER_RADIUS: f32 = 0.70;
const MIDDLE_RADIUS: f32 = 0.855;

/// Neurons around a circle, or particles.
pub(super) struct Ring {
    pub centre: Pos2,
    pub radius: f32,
    pub n: usize,
}

impl Ring {
    /// Fits the ring into `rect`, and leaves `rim` points free around it.
    pub fn new(rect: Rect, n: usize, rim: f32) -> Self {
        Self { centre: rect.center(), radius: (0.5 * rect.width().min(rect.height()) - rim).max(20.0), n: n.max(1) }
    }

    /// The position of a neuron at this share of the radius.
    fn neuron_position(&self, neuron: usize, share: f32) -> Pos2 {
        let angle = std::f32::consts::TAU * (neuron as f32 / self.n as f32 - 0.25);
        self.centre + vec2(angle.cos(), angle.sin()) * (self.radius * share)
    }

    /// The neuron under a pointer on the tracks.
    pub fn neuron_at(&self, p: Pos2) -> Option<usize> {
        let away = p - self.centre;
        if away.length() < self.radius * (CHORD_RADIUS - 0.06) || away.length() > self.radius + 6.0 {
            return None;
        }
        let share = away.angle() / std::f32::consts::TAU + 0.25;
        Some((share.rem_euclid(1.0) * self.n as f32).round() as usize % self.n)
    }

    pub fn paint(&self, painter: &Painter, theme: &Theme, machine: &Machine, chosen: Option<usize>) {
        self.synapses(painter, theme, machine, chosen);
        self.flows(painter, theme, machine, chosen);
        for share in [CHORD_RADIUS, INNER_RADIUS, MIDDLE_RADIUS] {
            painter.circle_stroke(self.centre, self.radius * share, Stroke::new(1.0, theme.line));
        }
        let wide = (std::f32::consts::TAU * self.radius * INNER_RADIUS / self.n as f32 - 1.0).clamp(1.0, 7.0);
        let s = &machine.state;
        let changed: &[usize] = machine.last.as_ref().map_or(&[], |r| &r.nodes);
        let bar = |neuron: usize, value: f64, max: f64, (from, room): (f32, f32), colour: Color32| {
            // Roots: a few large ones would leave the others unseen.
            let share = if max > 0.0 { (value.abs() / max).min(1.0).sqrt() as f32 } else { 0.0 };
            if share > 0.01 {
                let ends = [self.neuron_position(neuron, from), self.neuron_position(neuron, from + room * share)];
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
            bar(i, s.a[i], machine.max[2], (INNER_RADIUS, CHORD_RADIUS - INNER_RADIUS), tone(kernel == Some(0), a));
            let x_track = (INNER_RADIUS, MIDDLE_RADIUS - INNER_RADIUS - 0.012);
            bar(i, s.x[i], machine.max[0], x_track, tone(kernel == Some(3), theme.fast));
            let is_y_changed = matches!(kernel, Some(1 | 2)) || is_arrival;
            bar(i, s.y[i], machine.max[1], (MIDDLE_RADIUS, 0.99 - MIDDLE_RADIUS), tone(is_y_changed, theme.text));
        }
        if let Some(i) = chosen {
            let ends = [self.neuron_position(i, CHORD_RADIUS - 0.02), self.neuron_position(i, 1.0)];
            painter.line_segment(ends, Stroke::new(1.0, theme.text));
        }
        self.names(painter, theme);
    }

    fn names(&self, painter: &Painter, theme: &Theme) {
        let tracks = [
            ("A", 0.5 * (CHORD_RADIUS + INNER_RADIUS), theme.secondary),
            ("X", 0.5 * (INNER_RADIUS + MIDDLE_RADIUS), theme.fast),
            ("Y", 0.5 * (MIDDLE_RADIUS + 1.0), theme.text),
        ];
        for (name, share, colour) in tracks {
            // Between the last neuron and the first, on a patch of ground.
            let half_step = std::f32::consts::PI * self.radius * share / self.n as f32;
            let at = self.neuron_position(0, share) - vec2(half_step, 0.0);
            painter.circle_filled(at, 8.0, theme.panel);
            painter.text(at, Align2::CENTER_CENTER, name, theme::small(), colour);
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a chord is no longer than its ring is wide")]
    fn chord(&self, from: usize, to: usize, stroke: Stroke, dashed: bool) -> Vec<Shape> {
        let (a, b) = (self.neuron_position(from, CHORD_RADIUS), self.neuron_position(to, CHORD_RADIUS));
        if from == to {
            // A loop of its own: a small ring inwards.
            let at = self.neuron_position(from, CHORD_RADIUS - 0.025);
            return vec![Shape::circle_stroke(at, 0.02 * self.radius, stroke)];
        }
        // Near ones bend little, far ones through the middle.
        let control = self.centre + ((a.to_vec2() + b.to_vec2()) * 0.5 - self.centre.to_vec2()) * 0.25;
        let curve = band([a, control, b], stroke);
        if dashed { Shape::dashed_line(&curve.flatten(Some(0.5)), stroke, 4.0, 3.0) } else { vec![Shape::from(curve)] }
    }

    /// Draws the strongest synapses of the layer.
    fn synapses(&self, painter: &Painter, theme: &Theme, machine: &Machine, chosen: Option<usize>) {
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
                painter.circle_filled(self.neuron_position(flow.to, CHORD_RADIUS), 1.5 + 1.5 * share, colour);
            }
        }
    }
}

/// Rest position of the particles, and their displacement by a pulse of 1, as shares of the radius.
const REST_RADIUS: f32 = 0.74;
const PULSE_SCALE: f32 = 0.2;
/// Bulge of a connector of displacement 1, as a share of the radius.
const CONNECTOR_BULGE: f32 = 0.35;
/// Connectors less displaced are not drawn.
const MIN_DRAWN_CONNECTOR: f64 = 0.004;

/// The edges that are drawn besides the connectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VisibleEdges {
    pub wires: bool,
    pub prods: bool,
}

impl Default for VisibleEdges {
    fn default() -> Self {
        Self { wires: true, prods: true }
    }
}

/// The particles at their present positions.
pub(super) struct OscillatorRing<'a> {
    ring: Ring,
    toy: &'a Oscillators,
}

impl<'a> OscillatorRing<'a> {
    pub fn new(rect: Rect, toy: &'a Oscillators) -> Self {
        Self { ring: Ring::new(rect, toy.n(), 4.0), toy }
    }

    /// A particle, pushed out by its x.
    fn particle_position(&self, i: usize) -> Pos2 {
        let x = self.toy.x.get(i).map_or(0.0, |x| *x as f32);
        self.ring.neuron_position(i, REST_RADIUS + PULSE_SCALE * x)
    }

    /// The particle nearest to the pointer, if it is near.
    pub fn particle_at(&self, p: Pos2) -> Option<usize> {
        let distances = (0..self.ring.n).map(|i| (i, self.particle_position(i).distance(p)));
        let near = distances.min_by(|a, b| a.1.total_cmp(&b.1));
        near.filter(|(_, d)| *d < (0.16 * self.ring.radius).max(14.0)).map(|(i, _)| i)
    }

    pub fn paint(&self, painter: &Painter, theme: &Theme, chosen: Option<usize>, shown: VisibleEdges) {
        let toy = self.toy;
        let Ring { centre, radius, n } = self.ring;
        painter.circle_stroke(centre, radius * REST_RADIUS, Stroke::new(1.0, theme.line));
        let pull = toy.connector_forces();
        let prods = (shown.prods, &toy.prods, &pull, -0.10, theme.secondary);
        let wires = (shown.wires, &toy.wires, &toy.y, 0.10, theme.fast);
        for (is_shown, edges, source, bend, colour) in [prods, wires] {
            for (from, to) in edges.iter().filter(|_| is_shown) {
                let active = source.get(*from).map_or(0.0, |v| (*v as f32).clamp(0.0, 1.0));
                let near = chosen == Some(*from) || chosen == Some(*to);
                let light = if near { 0.8f32.max(active) } else { 0.16 + 0.84 * active };
                let stroke = Stroke::new(0.7 + 1.3 * active, colour.gamma_multiply(light));
                self.arrow(painter, (*from, *to), bend, stroke);
            }
        }
        self.paint_connectors(painter, theme, chosen);
        for i in 0..n {
            let at = self.particle_position(i);
            let size = (0.045 * radius).clamp(4.0, 9.0);
            let (x, y) = (toy.x[i] as f32, toy.y[i] as f32);
            if y > 0.01 {
                let stroke = Stroke::new(2.0 * y + 0.5, theme.text.gamma_multiply(0.3 + 0.7 * y));
                painter.circle_stroke(at, size + 2.0 + 8.0 * y, stroke);
            }
            let fill = theme.raised.lerp_to_gamma(theme.fast, x.clamp(0.0, 1.0));
            let edge = if chosen == Some(i) { theme.accent } else { theme.secondary };
            painter.circle(at, size, fill, Stroke::new(1.5, edge));
            if n <= 24 {
                let at = self.ring.neuron_position(i, REST_RADIUS - 0.13);
                painter.text(at, Align2::CENTER_CENTER, i, theme::small(), theme.secondary);
            }
        }
    }

    /// Each pair's band: straight at rest, bulged by sigma to one side or the other; its light is its energy.
    fn paint_connectors(&self, painter: &Painter, theme: &Theme, chosen: Option<usize>) {
        for (k, (s, p)) in self.toy.sigma.iter().zip(&self.toy.momentum).enumerate() {
            let (i, j) = (k / self.ring.n, k % self.ring.n);
            let strength = s.hypot(*p);
            if i == j || strength < MIN_DRAWN_CONNECTOR {
                continue;
            }
            let near = chosen.is_none_or(|c| c == i || c == j);
            let light = (strength as f32).sqrt().clamp(0.12, 1.0) * if near { 1.0 } else { 0.3 };
            let stroke = Stroke::new(0.8 + 2.0 * light, theme.slow.gamma_multiply(light));
            painter.add(band(self.edge_curve((i, j), CONNECTOR_BULGE * (*s as f32).clamp(-1.5, 1.5)), stroke));
        }
    }

    /// Both ends of an edge that bulges so far, and its control point between them.
    fn edge_curve(&self, (from, to): (usize, usize), bulge: f32) -> [Pos2; 3] {
        let (a, b) = (self.particle_position(from), self.particle_position(to));
        let along = b - a;
        // A quadratic curve reaches half as far as its control point.
        [a, a + 0.5 * along + along.normalized().rot90() * (2.0 * bulge * self.ring.radius), b]
    }

    fn arrow(&self, painter: &Painter, ends: (usize, usize), bend: f32, stroke: Stroke) {
        let curve = self.edge_curve(ends, bend);
        painter.add(band(curve, stroke));
        // The head, a little before the particle.
        let [_, control, b] = curve;
        let back = (control - b).normalized();
        let tip = b + back * (0.05 * self.ring.radius + 3.0);
        let wing = |side: f32| tip + (back + side * back.rot90() * 0.5) * 6.0;
        painter.add(Shape::line(vec![wing(1.0), tip, wing(-1.0)], stroke));
    }
}

/// A curve from the first point to the last, bent towards the one between them.
fn band(points: [Pos2; 3], stroke: Stroke) -> QuadraticBezierShape {
    QuadraticBezierShape::from_points_stroke(points, false, Color32::TRANSPARENT, stroke)
}
