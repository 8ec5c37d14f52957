//! Particles on a circle: pulses as displacements, connectors as bulging bands, wires and prods as thin arrows.

use eframe::egui::{Stroke, epaint::QuadraticBezierShape};

use super::ring::Ring;
use crate::{analysis::bdh_dynamics::oscillators::Oscillators, ui::views::prelude::*};

/// Rest position of the particles, and their displacement by a pulse of 1, as shares of the radius.
const REST_RADIUS: f32 = 0.74;
const PUSH: f32 = 0.2;
/// Bulge of a connector of displacement 1, as a share of the radius.
const BULGE: f32 = 0.35;
/// Connectors less displaced are not drawn.
const FAINTEST: f64 = 0.004;

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
    fn place(&self, i: usize) -> Pos2 {
        let x = self.toy.x.get(i).map_or(0.0, |x| *x as f32);
        self.ring.place(i, REST_RADIUS + PUSH * x)
    }

    /// The particle nearest to the pointer, if it is near.
    pub fn particle_at(&self, p: Pos2) -> Option<usize> {
        let near = (0..self.ring.n).map(|i| (i, self.place(i).distance(p))).min_by(|a, b| a.1.total_cmp(&b.1));
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
        self.connectors(painter, theme, chosen);
        for i in 0..n {
            let at = self.place(i);
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
                let at = self.ring.place(i, REST_RADIUS - 0.13);
                painter.text(at, Align2::CENTER_CENTER, i, theme::small(), theme.secondary);
            }
        }
    }

    /// Each pair's band: straight at rest, bulged by sigma to one side or the other; its light is its energy.
    fn connectors(&self, painter: &Painter, theme: &Theme, chosen: Option<usize>) {
        for (k, (s, p)) in self.toy.sigma.iter().zip(&self.toy.momentum).enumerate() {
            let (i, j) = (k / self.ring.n, k % self.ring.n);
            let strength = s.hypot(*p);
            if i == j || strength < FAINTEST {
                continue;
            }
            let near = chosen.is_none_or(|c| c == i || c == j);
            let light = (strength as f32).sqrt().clamp(0.12, 1.0) * if near { 1.0 } else { 0.3 };
            let stroke = Stroke::new(0.8 + 2.0 * light, theme.slow.gamma_multiply(light));
            painter.add(band(self.curve((i, j), BULGE * (*s as f32).clamp(-1.5, 1.5)), stroke));
        }
    }

    /// Both ends of an edge that bulges so far, and its control point between them.
    fn curve(&self, (from, to): (usize, usize), bulge: f32) -> [Pos2; 3] {
        let (a, b) = (self.place(from), self.place(to));
        let along = b - a;
        // A quadratic curve reaches half as far as its control point.
        [a, a + 0.5 * along + along.normalized().rot90() * (2.0 * bulge * self.ring.radius), b]
    }

    fn arrow(&self, painter: &Painter, ends: (usize, usize), bend: f32, stroke: Stroke) {
        let curve = self.curve(ends, bend);
        painter.add(band(curve, stroke));
        // The head, a little before the particle.
        let [_, control, b] = curve;
        let back = (control - b).normalized();
        let tip = b + back * (0.05 * self.ring.radius + 3.0);
        let wing = |side: f32| tip + (back + side * back.rot90() * 0.5) * 6.0;
        painter.add(Shape::line(vec![wing(1.0), tip, wing(-1.0)], stroke));
    }
}

fn band(curve: [Pos2; 3], stroke: Stroke) -> Shape {
    Shape::from(QuadraticBezierShape::from_points_stroke(curve, false, Color32::TRANSPARENT, stroke))
}
