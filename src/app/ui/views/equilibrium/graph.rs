//! Draws the states on a circle and the rates between them as lines, and returns edits of the rates.

use super::matrix::{Rate, RateGesture, touch};
use crate::{telemetry::measurements::GeneratorState, ui::views::painting::*};

/// Most lines that are drawn: the strongest.
const LINES: usize = 600;
/// Distance from a line within which the pointer selects it, points.
const NEAR: f32 = 6.0;
/// A line keeps so far to the right of the way between its states, so that both directions are seen.
const ASIDE: f32 = 2.5;
/// Room around the circle of states for the discs and their names, points.
const MARGIN: f32 = 36.0;
/// The radius of a disc is this at most: it and a name fit into the margin.
const LARGEST: f32 = 20.0;

struct Edge {
    rate: Rate,
    value: f64,
    ends: [Pos2; 2],
}

/// Draws the graph; returns the rate that was edited, and the edit.
pub fn graph_ui(
    ui: &mut Ui,
    theme: &Theme,
    size: Vec2,
    state: &GeneratorState,
    marked: Option<Rate>,
) -> Option<(Rate, RateGesture)> {
    let n = state.states().max(1);
    let words = format!("{n} states: the area of a disc is its stationary probability, within limits");
    let (sheet, response, painter) = canvas_ui(ui, size, Sense::click_and_drag(), words);
    let radius = (0.5 * size.min_elem() - MARGIN).max(10.0);
    let centre = sheet.center();
    let place = |state: usize| {
        let angle = std::f32::consts::TAU * (state as f32 / n as f32) - std::f32::consts::FRAC_PI_2;
        centre + radius * Vec2::angled(angle)
    };
    let edges = edges(state, place);
    let largest = edges.first().map_or(1.0, |e| e.value);
    for edge in edges.iter().rev() {
        let is_marked = marked == Some(edge.rate);
        let share = (edge.value / largest).sqrt() as f32;
        let colour = if is_marked { theme.accent } else { theme.secondary.gamma_multiply(0.12 + 0.5 * share) };
        painter.line_segment(edge.ends, Stroke::new(if is_marked { 3.0 } else { 0.4 + 2.2 * share }, colour));
    }
    let largest_disc = 0.9 * radius;
    for (rank, class) in state.classes.iter().enumerate() {
        let colour = if class.is_closed() { theme.group(rank) } else { theme.grey() };
        for s in &class.states {
            let p = class.stationary.get(*s).copied().unwrap_or(0.0);
            painter.circle_filled(place(*s), disc_radius(p, largest_disc, n), colour);
        }
    }
    for (s, phi) in state.predicted.iter().enumerate().take(n) {
        painter.circle_stroke(place(s), disc_radius(*phi, largest_disc, n), Stroke::new(1.5, theme.text));
    }
    if n <= 32 {
        names(&painter, theme, n, |s| centre + (radius + MARGIN - 8.0) * (place(s) - centre) / radius);
    }
    let near = |p: Pos2| nearest(&edges, p);
    let pressed = ui.input(|i| i.pointer.press_origin()).and_then(near);
    let hovered = response.hover_pos().and_then(near);
    if let Some(edge) = if response.dragged() { pressed } else { hovered } {
        let (from, to) = edge.rate;
        painter.line_segment(edge.ends, Stroke::new(3.0, theme.accent));
        let words = format!("{} \u{2192} {}: {}", from + 1, to + 1, number::short(edge.value));
        response.clone().on_hover_ui_at_pointer(|ui| {
            ui.monospace(words);
        });
    }
    let edited = if response.double_clicked() { hovered } else { pressed };
    edited.map(|e| e.rate).zip(touch(ui, &response))
}

/// The radius of a disc whose area stands for a probability, up to four times 1/n.
fn disc_radius(p: f64, max: f32, n: usize) -> f32 {
    let even = (max * std::f32::consts::TAU / n as f32 * 0.2).min(10.0);
    let share = if p.is_finite() { (p * n as f64).clamp(0.0, 4.0) as f32 } else { 0.0 };
    (even * share.sqrt()).clamp(1.5, LARGEST)
}

fn names(painter: &eframe::egui::Painter, theme: &Theme, n: usize, at: impl Fn(usize) -> Pos2) {
    let colour: Color32 = theme.secondary;
    for s in 0..n {
        painter.text(at(s), Align2::CENTER_CENTER, (s + 1).to_string(), FontId::proportional(11.0), colour);
    }
}

/// The strongest rates, largest first.
fn edges(state: &GeneratorState, place: impl Fn(usize) -> Pos2) -> Vec<Edge> {
    let n = state.states();
    let values = state.matrix.data();
    let mut all: Vec<Edge> = (0..n * n)
        .map(|at| (at % n, at / n, f64::from(values[at])))
        .filter(|(from, to, value)| from != to && *value > 0.0 && value.is_finite())
        .map(|(from, to, value)| {
            let (a, b) = (place(from), place(to));
            let aside = ASIDE * (b - a).normalized().rot90();
            Edge { rate: (from, to), value, ends: [a + aside, b + aside] }
        })
        .collect();
    all.sort_by(|a, b| b.value.total_cmp(&a.value));
    all.truncate(LINES);
    all
}

fn nearest(edges: &[Edge], p: Pos2) -> Option<&Edge> {
    let distance = |edge: &Edge| {
        let [a, b] = edge.ends;
        let along = ((p - a).dot(b - a) / (b - a).length_sq().max(1e-6)).clamp(0.0, 1.0);
        let on = pos2(a.x + along * (b.x - a.x), a.y + along * (b.y - a.y));
        (p - on).length()
    };
    edges.iter().map(|e| (distance(e), e)).filter(|(d, _)| *d < NEAR).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, e)| e)
}
