//! The layout of the panels of a view in the space that they share.

use eframe::egui::{Context, Ui, Vec2, vec2};

use super::panel::{Panel, PanelResponse};
use crate::ui::{
    plot::{Chart, ChartState, columns, fits_two, min_chart_height},
    theme::Theme,
    widgets::notes::note_ui,
};

/// Height of a row of controls above the panels, points.
const CONTROLS_HEIGHT: f32 = 40.0;

/// The rule by which the panels of a view share its space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrangement {
    /// Charts on one x axis: above one another, or beside one another where a tile is wide and too low for all of them.
    OneAxis,
    /// Charts of the same lines on one x axis, two in a row. The axis is named under the last row, and a line that is
    /// switched off in the first chart is switched off in all.
    Grid,
    /// Two panels in halves of the space: side by side if the space is wider than this (points), else stacked.
    Halves { wide: f32 },
    /// Two panels in halves of the space: side by side if the ratio of width to height is at least this, else stacked;
    /// in a tile too low for two, only the one that [`super::PanelView::single_panel`] names.
    HalvesByShape { wide: f32 },
    /// Two panels side by side if the space is wider than this (points), else only the one that
    /// [`super::PanelView::single_panel`] names.
    HalvesOrOne { wide: f32 },
}

impl Arrangement {
    /// True where there is room for only one of several panels. The height is that of the whole view, so that controls
    /// above the panels find the same as the panels.
    pub(super) fn shows_one(self, ui: &Ui) -> bool {
        let (ctx, width, height) = (ui.ctx(), ui.available_width(), ui.max_rect().height());
        let stacked = 2.0 * min_chart_height(ctx);
        match self {
            Self::HalvesOrOne { wide } => !fits_two(ctx, width, wide),
            Self::HalvesByShape { wide } => {
                stacked > 0.0 && height < stacked + CONTROLS_HEIGHT && !fits_two(ctx, width, wide * height)
            }
            Self::OneAxis | Self::Grid | Self::Halves { .. } => false,
        }
    }

    /// The layout in this space, where there is room for several panels. `gap`: between panels, points.
    pub(super) fn place(self, ctx: &Context, room: Vec2, gap: Vec2, panels: &[Panel<'_>]) -> Placement {
        let is_wide = match self {
            Self::OneAxis => return Placement::OneAxis(panels.iter().map(|panel| panel.share).collect()),
            Self::Grid => return Placement::Grid,
            Self::Halves { wide } => fits_two(ctx, room.x, wide),
            Self::HalvesByShape { wide } => fits_two(ctx, room.x, wide * room.y),
            Self::HalvesOrOne { .. } => true,
        };
        match is_wide {
            true => Placement::Row(vec![vec2(((room.x - gap.x) / 2.0).floor(), room.y); 2]),
            false => Placement::Column(vec![vec2(room.x, ((room.y - gap.y) / 2.0).floor()); 2]),
        }
    }
}

/// The layout of panels in a space of known size.
#[derive(Debug, Clone, PartialEq)]
pub enum Placement {
    /// The panel with this index has all the room; the others are out of sight.
    Alone(usize),
    /// Arranged as by [`Arrangement::OneAxis`], with these shares of the height; the panels beyond those are out of sight.
    OneAxis(Vec<f32>),
    /// Arranged as by [`Arrangement::Grid`].
    Grid,
    /// Beside one another in these sizes, points.
    Row(Vec<Vec2>),
    /// Above one another in these sizes, points. An x axis that several charts share is named under the lowest alone.
    Column(Vec<Vec2>),
    /// Groups of panels beside one another, or above: the size of each, points, its number of panels, and their places in it.
    Groups { is_row: bool, groups: Vec<(Vec2, usize, Placement)> },
    /// The placement with small text below it.
    Noted(Box<Placement>, String),
}

impl Placement {
    /// Draws the panels, each with its state. Returns the response of a panel that is alone, or of a canvas; of groups that
    /// of the first canvas.
    pub(super) fn show(
        self,
        ui: &mut Ui,
        theme: &Theme,
        room: Vec2,
        mut panels: Vec<Panel<'_>>,
        states: &mut [ChartState],
    ) -> Option<PanelResponse> {
        let (sizes, is_row) = match self {
            Self::Alone(index) => {
                let (panel, state) = (panels.get(index)?, states.get_mut(index)?);
                return Some(panel.show(ui, room, theme, state));
            }
            Self::OneAxis(shares) => {
                let charts = panels.into_iter().filter_map(Panel::into_chart).zip(shares).collect();
                one_axis_ui(ui, theme, room, charts, states);
                return None;
            }
            Self::Grid => {
                grid_ui(ui, theme, room, panels.into_iter().filter_map(Panel::into_chart), states);
                return None;
            }
            Self::Groups { is_row, groups } => {
                let (mut states, mut on_canvas) = (states, None);
                let all_ui = |ui: &mut Ui| {
                    for (size, count, placement) in groups {
                        let own: Vec<Panel<'_>> = panels.drain(..count.min(panels.len())).collect();
                        let (own_states, others) = std::mem::take(&mut states).split_at_mut(own.len());
                        states = others;
                        let shown = ui.vertical(|ui| {
                            ui.set_width(size.x);
                            placement.show(ui, theme, size, own, own_states)
                        });
                        let canvas = shown.inner.filter(|on| matches!(on, PanelResponse::Canvas(_)));
                        on_canvas = on_canvas.take().or(canvas);
                    }
                };
                if is_row {
                    ui.horizontal_top(all_ui);
                } else {
                    all_ui(ui);
                }
                return on_canvas;
            }
            Self::Noted(placement, words) => {
                ui.spacing_mut().item_spacing.y = 2.0;
                let response = placement.show(ui, theme, room, panels, states);
                note_ui(ui, theme, words);
                return response;
            }
            Self::Row(sizes) => (sizes, true),
            Self::Column(sizes) => {
                Panel::name_axes_once(&mut panels);
                (sizes, false)
            }
        };
        let mut on_canvas = None;
        let mut all_ui = |ui: &mut Ui| {
            for ((panel, state), size) in panels.iter().zip(states.iter_mut()).zip(&sizes) {
                let response = panel.show(ui, *size, theme, state);
                if matches!(response, PanelResponse::Canvas(_)) {
                    on_canvas = Some(response);
                }
            }
        };
        if is_row {
            ui.horizontal(all_ui);
        } else {
            all_ui(ui);
        }
        on_canvas
    }
}

/// Wide enough for the figures beside any of the charts, points.
const LEFT_MARGIN: f32 = 60.0;

/// Shows charts on one x axis, each with its share of the height; a state a chart. Its zoom and its division are shared. They
/// are above one another, with shared margins too, or in rows, beside one another, in a tile that is wide and too low for all
/// of them.
fn one_axis_ui(ui: &mut Ui, theme: &Theme, room: Vec2, charts: Vec<(Chart<'_>, f32)>, states: &mut [ChartState]) {
    let Some((first, others)) = states.split_first_mut() else { return };
    let count = charts.len();
    let columns = columns(ui.ctx(), room, count);
    let gap = ui.spacing().item_spacing;
    let high = room.y - gap.y * (count.max(1) - 1) as f32;
    let wide = ((room.x - gap.x * (columns - 1) as f32) / columns as f32).floor();
    let mut margins = None;
    let (mut charts, mut others) = (charts.into_iter().enumerate(), others.iter_mut());
    let mut row_ui = |ui: &mut Ui| {
        for (nth, (mut chart, share)) in charts.by_ref().take(columns) {
            let size = if columns > 1 { vec2(wide, room.y) } else { vec2(wide, (high * share).round()) };
            if columns == 1 {
                chart.min_left_margin = chart.min_left_margin.max(LEFT_MARGIN);
                chart.margins = margins;
            }
            if nth == 0 {
                margins = Some(chart.show(ui, size, theme, first).margins);
            } else if let Some(state) = others.next() {
                state.share_x(first);
                chart.show(ui, size, theme, state);
                first.share_x(state);
            }
        }
    };
    for _ in 0..count.div_ceil(columns) {
        if columns > 1 {
            ui.horizontal(&mut row_ui);
        } else {
            row_ui(ui);
        }
    }
}

fn grid_ui<'a>(
    ui: &mut Ui,
    theme: &Theme,
    room: Vec2,
    charts: impl Iterator<Item = Chart<'a>>,
    states: &mut [ChartState],
) {
    let mut charts: Vec<Chart<'a>> = charts.collect();
    let (rows, gap) = (charts.len().div_ceil(2), ui.spacing().item_spacing);
    let high = room.y - gap.y * (rows.max(1) - 1) as f32;
    let size = vec2((room.x - gap.x) / 2.0, high / rows.max(1) as f32).floor();
    for (row, pair) in charts.chunks_mut(2).enumerate() {
        ui.horizontal(|ui| {
            for (column, chart) in pair.iter_mut().enumerate() {
                if row + 1 < rows {
                    chart.x.has_hidden_label = true;
                }
                let index = 2 * row + column;
                if index > 0 {
                    states[index].hidden = states[0].hidden.clone();
                }
                chart.show(ui, size, theme, &mut states[index]);
            }
        });
    }
}
