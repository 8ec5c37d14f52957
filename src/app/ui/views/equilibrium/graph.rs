//! Draws the states on a circle and the rates between them as lines.

use super::rate::{Rate, name_ui, rate_at_pointer};
use crate::ui::views::painting::*;

/// The maximum number of lines drawn, beginning with the strongest.
const LINES: usize = 600;
/// Distance from a line within which the pointer selects it, points.
const NEAR: f32 = 6.0;
/// The offset of an edge to the right of the line between its states, so that both directions can be seen.
const EDGE_OFFSET: f32 = 2.5;
/// Room around the circle of states for the discs and their names, points.
const MARGIN: f32 = 36.0;
/// The radius of a disc is this at most: it and a name fit into the margin.
const LARGEST: f32 = 20.0;

struct RateEdge {
    rate: Rate,
    value: f64,
    ends: [Pos2; 2],
}

/// The circle on which the states stand.
#[derive(Clone, Copy)]
struct Circle {
    centre: Pos2,
    radius: f32,
    states: usize,
}

impl Circle {
    fn new(sheet: Rect, state: &GeneratorState) -> Self {
        let radius = (0.5 * sheet.size().min_elem() - MARGIN).max(10.0);
        Self { centre: sheet.center(), radius, states: state.states().max(1) }
    }

    fn direction(&self, state: usize) -> Vec2 {
        let angle = std::f32::consts::TAU * (state as f32 / self.states as f32) - std::f32::consts::FRAC_PI_2;
        Vec2::angled(angle)
    }

    fn place(&self, state: usize) -> Pos2 {
        self.centre + self.radius * self.direction(state)
    }

    /// Draws the number of each state outside of the circle.
    fn names(&self, painter: &Painter, theme: &Theme) {
        for s in 0..self.states {
            let at = self.centre + (self.radius + MARGIN - 8.0) * self.direction(s);
            painter.text(at, Align2::CENTER_CENTER, (s + 1).to_string(), FontId::proportional(11.0), theme.secondary);
        }
    }
}

/// The rate of the line at a position in the picture, or near it.
pub fn rate_at(sheet: Rect, state: &GeneratorState, at: Pos2) -> Option<Rate> {
    nearest(&edges(state, Circle::new(sheet, state)), at).map(|edge| edge.rate)
}

/// Draws the graph with one rate marked.
pub fn graph_ui(ui: &mut Ui, theme: &Theme, size: Vec2, state: &GeneratorState, marked: Option<Rate>) -> Response {
    let n = state.states().max(1);
    let words = format!("{n} states: the area of a disc is its stationary probability, within limits");
    let (sheet, response, painter) = canvas_ui(ui, size, Sense::click_and_drag(), words);
    let circle = Circle::new(sheet, state);
    let edges = edges(state, circle);
    let largest = edges.first().map_or(1.0, |e| e.value);
    for edge in edges.iter().rev() {
        let is_marked = marked == Some(edge.rate);
        let share = (edge.value / largest).sqrt() as f32;
        let colour = if is_marked { theme.accent } else { theme.secondary.gamma_multiply(0.12 + 0.5 * share) };
        painter.line_segment(edge.ends, Stroke::new(if is_marked { 3.0 } else { 0.4 + 2.2 * share }, colour));
    }
    let largest_disc = 0.9 * circle.radius;
    for (rank, class) in state.classes.iter().enumerate() {
        let colour = if class.is_closed() { theme.group(rank) } else { theme.grey() };
        for s in &class.states {
            let p = class.stationary.get(*s).copied().unwrap_or(0.0);
            painter.circle_filled(circle.place(*s), disc_radius(p, largest_disc, n), colour);
        }
    }
    for (s, phi) in state.predicted.iter().enumerate().take(n) {
        painter.circle_stroke(circle.place(s), disc_radius(*phi, largest_disc, n), Stroke::new(1.5, theme.text));
    }
    if n <= 32 {
        circle.names(&painter, theme);
    }
    let near = rate_at_pointer(ui, &response, |at| nearest(&edges, at).map(|edge| edge.rate));
    if let Some(edge) = edges.iter().find(|edge| near == Some(edge.rate)) {
        painter.line_segment(edge.ends, Stroke::new(3.0, theme.accent));
        name_ui(&response, edge.rate, edge.value);
    }
    response
}

/// The radius of a disc whose area stands for a probability, up to four times 1/n.
fn disc_radius(p: f64, max: f32, n: usize) -> f32 {
    let even = (max * std::f32::consts::TAU / n as f32 * 0.2).min(10.0);
    let share = if p.is_finite() { (p * n as f64).clamp(0.0, 4.0) as f32 } else { 0.0 };
    (even * share.sqrt()).clamp(1.5, LARGEST)
}

/// The strongest rates, largest first.
fn edges(state: &GeneratorState, circle: Circle) -> Vec<RateEdge> {
    let n = state.states();
    let values = state.matrix.data();
    let mut all: Vec<RateEdge> = (0..n * n)
        .map(|at| (at % n, at / n, f64::from(values[at])))
        .filter(|(from, to, value)| from != to && *value > 0.0 && value.is_finite())
        .map(|(from, to, value)| {
            let (a, b) = (circle.place(from), circle.place(to));
            let aside = EDGE_OFFSET * (b - a).normalized().rot90();
            RateEdge { rate: (from, to), value, ends: [a + aside, b + aside] }
        })
        .collect();
    all.sort_by(|a, b| b.value.total_cmp(&a.value));
    all.truncate(LINES);
    all
}

fn nearest(edges: &[RateEdge], p: Pos2) -> Option<&RateEdge> {
    let near = edges.iter().map(|e| (distance_to(&e.ends, p), e)).filter(|(d, _)| *d < NEAR);
    near.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, e)| e)
}
