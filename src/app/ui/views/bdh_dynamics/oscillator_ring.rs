//! Particles on a circle: pulses as displacements, connectors as bands that bulge by their displacement,
//! wires and prods as thin arrows.

use eframe::egui::{Stroke, epaint::QuadraticBezierShape};

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

pub(super) struct OscillatorRing {
    centre: Pos2,
    radius: f32,
    n: usize,
}

impl OscillatorRing {
    pub fn new(rect: Rect, n: usize) -> Self {
        Self { centre: rect.center(), radius: (0.5 * rect.width().min(rect.height()) - 4.0).max(20.0), n: n.max(1) }
    }

    fn direction(&self, i: usize) -> Vec2 {
        let angle = std::f32::consts::TAU * (i as f32 / self.n as f32 - 0.25);
        vec2(angle.cos(), angle.sin())
    }

    /// A particle, pushed out by its x.
    fn place(&self, toy: &Oscillators, i: usize) -> Pos2 {
        let x = toy.x.get(i).map_or(0.0, |x| *x as f32);
        self.centre + self.direction(i) * (self.radius * (REST_RADIUS + PUSH * x))
    }

    /// The particle nearest to the pointer, if it is near.
    pub fn particle_at(&self, toy: &Oscillators, p: Pos2) -> Option<usize> {
        let near = (0..self.n).map(|i| (i, self.place(toy, i).distance(p))).min_by(|a, b| a.1.total_cmp(&b.1));
        near.filter(|(_, d)| *d < (0.16 * self.radius).max(14.0)).map(|(i, _)| i)
    }

    pub fn paint(
        &self,
        painter: &Painter,
        theme: &Theme,
        toy: &Oscillators,
        chosen: Option<usize>,
        shown: VisibleEdges,
    ) {
        painter.circle_stroke(self.centre, self.radius * REST_RADIUS, Stroke::new(1.0, theme.line));
        let active = |from: usize, source: &[f64]| source.get(from).map_or(0.0, |v| (*v as f32).clamp(0.0, 1.0));
        let pull = toy.pull();
        if shown.prods {
            for (from, to) in &toy.prods {
                let near = chosen == Some(*from) || chosen == Some(*to);
                self.arrow(painter, toy, (*from, *to), -0.10, theme.secondary, active(*from, &pull), near);
            }
        }
        if shown.wires {
            for (from, to) in &toy.wires {
                let near = chosen == Some(*from) || chosen == Some(*to);
                self.arrow(painter, toy, (*from, *to), 0.10, theme.fast, active(*from, &toy.y), near);
            }
        }
        self.connectors(painter, theme, toy, chosen);
        for i in 0..self.n {
            let at = self.place(toy, i);
            let size = (0.045 * self.radius).clamp(4.0, 9.0);
            let (x, y) = (toy.x[i] as f32, toy.y[i] as f32);
            if y > 0.01 {
                painter.circle_stroke(
                    at,
                    size + 2.0 + 8.0 * y,
                    Stroke::new(2.0 * y + 0.5, theme.text.gamma_multiply(0.3 + 0.7 * y)),
                );
            }
            let fill = blend(theme.raised, theme.fast, x);
            let edge = if chosen == Some(i) { theme.accent } else { theme.secondary };
            painter.circle(at, size, fill, Stroke::new(1.5, edge));
            if self.n <= 24 {
                let at = self.centre + self.direction(i) * (self.radius * (REST_RADIUS - 0.13));
                painter.text(at, Align2::CENTER_CENTER, i, theme::small(), theme.secondary);
            }
        }
    }

    /// Each pair's band: straight at rest, bulged by sigma to one side or the other; its light is its energy.
    fn connectors(&self, painter: &Painter, theme: &Theme, toy: &Oscillators, chosen: Option<usize>) {
        for k in 0..toy.sigma.len() {
            let (i, j) = (k / self.n, k % self.n);
            let (s, p) = (toy.sigma[k], toy.momentum[k]);
            let strength = s.hypot(p);
            if i == j || strength < FAINTEST {
                continue;
            }
            let near = chosen.is_none_or(|c| c == i || c == j);
            let light = (strength as f32).sqrt().clamp(0.12, 1.0) * if near { 1.0 } else { 0.3 };
            let stroke = Stroke::new(0.8 + 2.0 * light, theme.slow.gamma_multiply(light));
            painter.add(self.band(toy, (i, j), BULGE * (s as f32).clamp(-1.5, 1.5), stroke));
        }
    }

    fn band(&self, toy: &Oscillators, (from, to): (usize, usize), bulge: f32, stroke: Stroke) -> Shape {
        let (a, b) = (self.place(toy, from), self.place(toy, to));
        let along = b - a;
        // A curve goes half as far as its control point.
        let control = a + 0.5 * along + along.normalized().rot90() * (2.0 * bulge * self.radius);
        Shape::from(QuadraticBezierShape::from_points_stroke([a, control, b], false, Color32::TRANSPARENT, stroke))
    }

    #[allow(clippy::too_many_arguments, reason = "one arrow, with where it stands and how it looks")]
    fn arrow(
        &self,
        painter: &Painter,
        toy: &Oscillators,
        ends: (usize, usize),
        bend: f32,
        colour: Color32,
        active: f32,
        near: bool,
    ) {
        let light = if near { 0.8f32.max(active) } else { 0.16 + 0.84 * active };
        let stroke = Stroke::new(0.7 + 1.3 * active, colour.gamma_multiply(light));
        painter.add(self.band(toy, ends, bend, stroke));
        // The head, a little before the particle.
        let (a, b) = (self.place(toy, ends.0), self.place(toy, ends.1));
        let along = b - a;
        let control = a + 0.5 * along + along.normalized().rot90() * (2.0 * bend * self.radius);
        let back = (control - b).normalized();
        let tip = b + back * (0.05 * self.radius + 3.0);
        let wing = |side: f32| tip + (back + side * back.rot90() * 0.5) * 6.0;
        painter.add(Shape::line(vec![wing(1.0), tip, wing(-1.0)], stroke));
    }
}

fn blend(a: Color32, b: Color32, share: f32) -> Color32 {
    a.lerp_to_gamma(b, share.clamp(0.0, 1.0))
}
