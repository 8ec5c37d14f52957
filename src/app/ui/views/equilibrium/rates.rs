//! The rates of a generator as a matrix beside a graph, in one picture, and the edits of the rates by the pointer.

use super::{GAP, graph, matrix, rate::Rate};
use crate::ui::views::painting::*;

/// The name of the picture.
pub const CANVAS: &str = "rates between states";

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
        let (on_matrix, marked) = matrix::matrix_ui(ui, theme, each, state);
        on_matrix | graph::graph_ui(ui, theme, each, state, marked)
    });
    both.inner
}

/// The rate that a drag or a double click on the picture changes, and how.
pub fn edited(on: &Response, state: &GeneratorState) -> Option<(Rate, RateGesture)> {
    let (at, gesture) = if on.double_clicked() {
        (on.hover_pos()?, RateGesture::Removed)
    } else {
        let (origin, now) = on.ctx.input(|i| (i.pointer.press_origin(), i.pointer.latest_pos()));
        let (origin, now) = origin.zip(now).filter(|_| on.dragged())?;
        (origin, RateGesture::Dragged(origin.y - now.y))
    };
    let wide = (on.rect.width() - GAP) / 2.0;
    let on_matrix = on.rect.with_max_x(on.rect.left() + wide);
    let on_graph = on.rect.with_min_x(on.rect.right() - wide);
    let rate = matrix::rate_at(on_matrix, state, at).or_else(|| graph::rate_at(on_graph, state, at))?;
    Some((rate, gesture))
}
