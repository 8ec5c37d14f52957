//! The rates of a generator as a matrix of cells beside a graph of lines between states on a circle, in one picture, and
//! the edits of the rates by the pointer.

use super::{
    GAP,
    canvas::{COLOUR_BAR_WIDTH, inner_rect, largest, paint_bar, paint_cells, paint_frame},
};
use crate::ui::views::painting::*;

pub const CANVAS: &str = "rates between states";
/// A narrower matrix has no colour bar, points.
const NARROW_WIDTH: f32 = 220.0;
/// The maximum number of lines drawn, beginning with the strongest.
const MAX_LINES: usize = 600;
/// Distance from a line within which the pointer selects it, points.
const HIT_DISTANCE: f32 = 6.0;
/// The offset of an edge to the right of the line between its states, so that both directions can be seen.
const EDGE_OFFSET: f32 = 2.5;
/// Room around the circle of states for the discs and their names, points.
const MARGIN: f32 = 36.0;
/// The radius of a disc is this at most: it and a name fit into the margin.
const LARGEST_DISC: f32 = 20.0;

/// A rate: the state that is left and the state that is gone to.
pub type Rate = (usize, usize);

/// A change that the pointer makes to a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateGesture {
    /// Points upwards since the press.
    Dragged(f32),
    Removed,
}

/// Draws matrix and graph in equal shares of the width. The rate pointed at in the matrix stands out in the graph.
pub fn rates_ui(ui: &mut Ui, theme: &Theme, size: Vec2, state: &GeneratorState) -> Response {
    // whole points; a width that was rounded down before stays as it is
    let each = vec2(((size.x - GAP) / 2.0 + 0.01).floor(), size.y);
    let both = ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        let (on_matrix, marked) = matrix_ui(ui, theme, each, state);
        on_matrix | graph_ui(ui, theme, each, state, marked)
    });
    both.inner
}

/// The rate that a drag or a double click on the picture changes, and how.
pub fn edited_rate(on: &Response, state: &GeneratorState) -> Option<(Rate, RateGesture)> {
    let (at, gesture) = if on.double_clicked() {
        (on.hover_pos()?, RateGesture::Removed)
    } else {
        let (origin, now) = on.ctx.input(|i| (i.pointer.press_origin(), i.pointer.latest_pos()));
        let (origin, now) = origin.zip(now).filter(|_| on.dragged())?;
        (origin, RateGesture::Dragged(origin.y - now.y))
    };
    let wide = (on.rect.width() - GAP) / 2.0;
    let on_graph = on.rect.with_min_x(on.rect.right() - wide);
    let of_line = || nearest_edge(&edges(state, Circle::new(on_graph, state)), at).map(|edge| edge.rate);
    let rate = cell_at(on.rect.with_max_x(on.rect.left() + wide), state, at).or_else(of_line)?;
    Some((rate, gesture))
}

/// The rate to mark in a picture: while it is dragged the one that was pressed, else the one under the pointer.
fn rate_at_pointer(ui: &Ui, response: &Response, rate_at: impl Fn(Pos2) -> Option<Rate>) -> Option<Rate> {
    let at = if response.dragged() { ui.input(|i| i.pointer.press_origin()) } else { response.hover_pos() };
    at.and_then(rate_at)
}

/// Names a rate with its value at the pointer.
fn name_ui(response: &Response, (from, to): Rate, value: f64) {
    let words = format!("{} \u{2192} {}: {}", from + 1, to + 1, number::short(value));
    response.clone().on_hover_ui_at_pointer(|ui| _ = ui.monospace(words));
}

fn has_bar(sheet: Rect) -> bool {
    sheet.width() >= NARROW_WIDTH
}

/// The rectangle of the matrix's cells, without the colour bar.
fn cells(sheet: Rect) -> Rect {
    let right = if has_bar(sheet) { COLOUR_BAR_WIDTH } else { 0.0 };
    inner_rect(Rect::from_min_max(sheet.min, sheet.max - vec2(right, 0.0)), Some(1.0))
}

/// The rate of the cell at a position in the matrix; `None` on the diagonal and outside of the cells.
fn cell_at(sheet: Rect, state: &GeneratorState, at: Pos2) -> Option<Rate> {
    let (rect, n) = (cells(sheet), state.states().max(1));
    let share = (at - rect.min) / rect.size();
    let (col, row) = ((share.x * n as f32).floor(), (share.y * n as f32).floor());
    let is_inside = (0.0..n as f32).contains(&col) && (0.0..n as f32).contains(&row) && col != row;
    is_inside.then_some((col as usize, row as usize))
}

/// Draws the matrix: row i, column j is the rate from j to i, the diagonal open. Returns the pointed rate too.
fn matrix_ui(ui: &mut Ui, theme: &Theme, size: Vec2, state: &GeneratorState) -> (Response, Option<Rate>) {
    let n = state.states().max(1);
    let words = format!("rates between {n} states: drag a cell up or down, double-click to remove");
    let (sheet, response, painter) = canvas_ui(ui, size, Sense::click_and_drag(), words);
    let rect = cells(sheet);
    let values = state.matrix.data();
    let rate = |to: usize, from: usize| f64::from(values[to * n + from]);
    let full = largest(values, 1e-9);
    paint_cells(&painter, rect, (n, n), full, |to, from| Some(rate(to, from)).filter(|v| to != from && *v > 0.0));
    let has_range = !has_bar(sheet) && rect.width() >= 120.0;
    let range = if has_range { format!("0 to {} \u{b7} ", number::short(full.into())) } else { String::new() };
    paint_frame(&painter, rect, theme, "rates A, to state \u{2193}", &format!("{range}from state \u{2192}"));
    if has_bar(sheet) {
        paint_bar(&painter, rect, full, theme);
    }
    let marked = rate_at_pointer(ui, &response, |at| cell_at(sheet, state, at));
    if let Some((from, to)) = marked {
        let side = rect.width() / n as f32;
        let cell = Rect::from_min_size(rect.min + vec2(from as f32, to as f32) * side, Vec2::splat(side));
        painter.rect_stroke(cell, 0.0, Stroke::new(2.0, theme.text), StrokeKind::Outside);
        name_ui(&response, (from, to), rate(to, from));
    }
    (response, marked)
}

struct RateEdge {
    rate: Rate,
    value: f64,
    ends: [Pos2; 2],
}

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

    fn state_position(&self, state: usize) -> Pos2 {
        self.centre + self.radius * self.direction(state)
    }
}

fn graph_ui(ui: &mut Ui, theme: &Theme, size: Vec2, state: &GeneratorState, marked: Option<Rate>) -> Response {
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
            painter.circle_filled(circle.state_position(*s), disc_radius(p, largest_disc, n), colour);
        }
    }
    for (s, phi) in state.predicted.iter().enumerate().take(n) {
        let radius = disc_radius(*phi, largest_disc, n);
        painter.circle_stroke(circle.state_position(s), radius, Stroke::new(1.5, theme.text));
    }
    for s in (0..n).filter(|_| n <= 32) {
        let at = circle.centre + (circle.radius + MARGIN - 8.0) * circle.direction(s);
        painter.text(at, Align2::CENTER_CENTER, (s + 1).to_string(), FontId::proportional(11.0), theme.secondary);
    }
    let near = rate_at_pointer(ui, &response, |at| nearest_edge(&edges, at).map(|edge| edge.rate));
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
    (even * share.sqrt()).clamp(1.5, LARGEST_DISC)
}

/// The strongest rates, largest first.
fn edges(state: &GeneratorState, circle: Circle) -> Vec<RateEdge> {
    let n = state.states();
    let values = state.matrix.data();
    let mut all: Vec<RateEdge> = (0..n * n)
        .map(|at| (at % n, at / n, f64::from(values[at])))
        .filter(|(from, to, value)| from != to && *value > 0.0 && value.is_finite())
        .map(|(from, to, value)| {
            let (a, b) = (circle.state_position(from), circle.state_position(to));
            let aside = EDGE_OFFSET * (b - a).normalized().rot90();
            RateEdge { rate: (from, to), value, ends: [a + aside, b + aside] }
        })
        .collect();
    all.sort_by(|a, b| b.value.total_cmp(&a.value));
    all.truncate(MAX_LINES);
    all
}

fn nearest_edge(edges: &[RateEdge], p: Pos2) -> Option<&RateEdge> {
    let near = edges.iter().map(|e| (distance_to(&e.ends, p), e)).filter(|(d, _)| *d < HIT_DISTANCE);
    near.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, e)| e)
}
