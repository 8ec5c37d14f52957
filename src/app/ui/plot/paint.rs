//! A chart on the screen: the layout painted over `egui_plot`, and its interaction: read values off, zoom by drag,
//! reset by double-click, change an axis' division by a click.

use eframe::egui::{
    self, Align2, Color32, CornerRadius, CursorIcon, FontId, Id, LayerId, Order, Rect, Response, Sense, StrokeKind, Ui,
    UiBuilder, Vec2, WidgetInfo, accesskit::Role, pos2, vec2,
};
use egui_plot::PlotItem as _;

use super::{
    Chart, ChartState, Mark, Scale, Stroke, clip,
    empty::empty_ui,
    events::{StepEvents, step_events},
    geometry::{Label, Layout, PlottedLine, ROW_HEIGHT, TEXT_SIZE},
    gestures::claim_link_ui,
    guess::{Guess, are_claims_hidden, guess_on},
    labels::{move_inside, place_avoiding},
    mark::{DOT, LONE, MARK, shape_of},
    tile::{current_tile, is_picture, note_lacking, note_plot},
};
use crate::ui::theme::Theme;

#[derive(Debug, Clone)]
pub struct ChartResponse {
    pub response: Response,
    /// The x value under the pointer.
    pub hovered_x: Option<f64>,
    pub clicked_x: Option<f64>,
    /// Left and right margins, for a chart to be under this one.
    pub margins: [f32; 2],
    /// Where the data are, screen points.
    pub area: Rect,
    /// The x values at the left and the right end of it.
    pub x_limits: [f64; 2],
    /// The index of the line under the pointer among the chart's lines.
    pub hovered_line: Option<usize>,
}

impl Chart<'_> {
    /// Draws the chart in `size` points and lets it be handled.
    pub fn show(&self, ui: &mut Ui, size: Vec2, theme: &Theme, state: &mut ChartState) -> ChartResponse {
        let unclaimed = (are_claims_hidden(ui) && self.has_claims()).then(|| self.without_claims());
        let chart = unclaimed.as_ref().unwrap_or(self);
        let guess = guess_on(ui, chart);
        let widened = guess.as_ref().map(|guess| guess.widen(chart));
        widened.as_ref().unwrap_or(chart).show_with(ui, size, theme, state, guess)
    }

    fn show_with(
        &self,
        ui: &mut Ui,
        size: Vec2,
        theme: &Theme,
        state: &mut ChartState,
        guess: Option<Guess>,
    ) -> ChartResponse {
        if self.is_empty() && guess.is_none() {
            let response = empty_ui(ui, size, theme, &self.empty);
            return ChartResponse {
                response,
                hovered_x: None,
                clicked_x: None,
                margins: [0.0; 2],
                area: Rect::NOTHING,
                x_limits: [0.0; 2],
                hovered_line: None,
            };
        }
        state.is_in_tile = current_tile(ui.ctx()).is_some();
        let measure = |text: &str, mono: bool| width_of(ui, text, mono);
        let mut layout = Layout::new(self, state, [size.x, size.y], &measure);
        if layout.unnamed.is_some() && is_picture(ui.ctx()) {
            let height = layout.size[1];
            layout = self.named_layout(state, layout.size, &measure);
            note_lacking(ui.ctx(), layout.size[1] - height);
        }
        if let Some(guess) = &guess {
            let place = |p: &[f64; 2]| layout.shares(&[layout.x_scale.position(p[0]), layout.y_scale.position(p[1])]);
            let points = guess.points.iter().map(place).collect();
            place_avoiding(self, &mut layout, points, &measure);
        }
        state.size = Some(layout.size);
        let (rect, _) = ui.allocate_exact_size(layout.size.into(), Sense::hover());
        state.corner = Some(rect.min);
        let area = layout.plot.translate(rect.min.to_vec2());
        note_plot(ui, &self.name, area);
        let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
        let canvas = Canvas { chart: self, layout: &layout, theme, corner: rect.min.to_vec2(), painter };
        canvas.frame();
        let events = if self.x.counts_steps { step_events(ui.ctx()) } else { StepEvents::default() };
        canvas.events(&events);
        let response = canvas.data(ui, area);
        canvas.draw_labels();
        if let Some(guess) = &guess {
            canvas.guess(guess);
        }
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &self.name));
        let pointer = response.hover_pos().filter(|p| area.contains(*p)).map(|p| p - canvas.corner);
        let hovered_x = pointer.map(|p| layout.x_value(p.x));
        self.claims_ui(ui, &canvas, state);
        self.axes_ui(ui, &canvas, area, rect, state);
        self.fix_ui(ui, &canvas, rect, state);
        self.legend_ui(ui, &canvas, state);
        match guess.filter(|guess| guess.is_drawing) {
            Some(guess) => canvas.draw_guess(ui, &response, guess),
            None => self.zoom_ui(&canvas, &response, state),
        }
        let shared = share_cursor(ui, &self.x.label, &response, hovered_x);
        if let Some(x) = hovered_x.or(shared) {
            let over =
                ui.ctx().layer_painter(LayerId::new(Order::Tooltip, ui.scope_id().with((&self.name, "readout"))));
            canvas.cursor(x, hovered_x.map(|_| over).as_ref(), state);
        }
        if let Some(pointer) = response.hover_pos() {
            canvas.event_tooltip(&events, pointer);
        }
        state.events = events;
        let clicked_x = if response.clicked() { hovered_x } else { None };
        let hovered_line = pointer.and_then(|p| layout.line_at(p));
        let (margins, x_limits) = (layout.margins, layout.x_values());
        ChartResponse { response, hovered_x, clicked_x, margins, area, x_limits, hovered_line }
    }

    /// The labels of numbers that claims of the ledger state: a click asks for the claim.
    fn claims_ui(&self, ui: &Ui, canvas: &Canvas<'_>, state: &mut ChartState) {
        for label in &canvas.layout.labels {
            let Some(claim) = label.claim else { continue };
            let rect = label.rect.translate(canvas.corner);
            if claim_link_ui(ui, canvas.theme, rect, claim, &label.rows.join(" "), &self.name) {
                state.asked_claim = Some(claim);
            }
        }
    }

    /// Makes the strips of ticks clickable: a click switches between a linear and a logarithmic axis.
    fn axes_ui(&self, ui: &mut Ui, canvas: &Canvas<'_>, area: Rect, rect: Rect, state: &mut ChartState) {
        let strips = [
            ("x", Rect::from_min_max(pos2(area.left(), area.bottom()), rect.max), canvas.layout.x_scale),
            ("y", Rect::from_min_max(rect.min, pos2(area.left(), area.bottom())), canvas.layout.y_scale),
        ];
        for (axis, strip, scale) in strips {
            let id = ui.scope_id().with((&self.name, axis));
            let other = if scale == Scale::Log { Scale::Linear } else { Scale::Log };
            let to = if other == Scale::Log { "logarithmic" } else { "linear" };
            let response = ui.interact(strip, id, Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
            response.widget_info(|| {
                WidgetInfo::labeled(Role::Button, true, format!("{} axis of {}: make {to}", axis, self.name))
            });
            let label = if axis == "x" { &self.x.label } else { &self.y.label };
            if response.on_hover_text(format!("{label}. Click for a {to} axis.")).clicked() {
                match axis {
                    "x" => state.scale_x = Some(other),
                    _ => state.scale_y = Some(other),
                }
            }
        }
    }

    /// A drag zooms to its rectangle; a mostly horizontal one keeps y, a mostly vertical one keeps x.
    fn zoom_ui(&self, canvas: &Canvas<'_>, response: &Response, state: &mut ChartState) {
        if response.double_clicked() {
            (state.zoom_x, state.zoom_y) = (None, None);
        }
        if response.drag_started() {
            // A drag is known as one only after some points: it began where the button went down.
            state.drag_from = response.ctx.input(|i| i.pointer.press_origin()).map(|p| p.into());
        }
        let (Some(from), Some(to)) = (state.drag_from, response.interact_pointer_pos()) else {
            if !response.dragged() && !response.drag_stopped() {
                state.drag_from = None;
            }
            return;
        };
        let area = canvas.layout.plot.translate(canvas.corner);
        let mut picked = Rect::from_two_pos(from.into(), to).intersect(area);
        let (wide, high) = (picked.width() > 8.0, picked.height() > 16.0);
        if !high {
            picked = Rect::from_x_y_ranges(picked.x_range(), area.y_range());
        } else if !wide {
            picked = Rect::from_x_y_ranges(area.x_range(), picked.y_range());
        }
        if !wide && !high {
            if response.drag_stopped() {
                state.drag_from = None;
            }
            return;
        }
        if response.drag_stopped() {
            let inside = picked.translate(-canvas.corner);
            if wide {
                state.zoom_x = Some([canvas.layout.x_value(inside.left()), canvas.layout.x_value(inside.right())]);
            }
            if high {
                state.zoom_y = Some([canvas.layout.y_value(inside.bottom()), canvas.layout.y_value(inside.top())]);
            }
            state.drag_from = None;
        } else {
            let accent = canvas.theme.accent;
            canvas.painter.rect(
                picked,
                CornerRadius::ZERO,
                accent.gamma_multiply(0.12),
                egui::Stroke::new(1.0, accent),
                StrokeKind::Inside,
            );
        }
    }
}

pub(super) fn width_of(ui: &Ui, text: &str, mono: bool) -> f32 {
    let font = if mono { FontId::monospace(TEXT_SIZE) } else { FontId::proportional(TEXT_SIZE) };
    ui.painter().layout_no_wrap(text.to_owned(), font, Color32::WHITE).size().x
}

/// Charts with the same x share the pointer's x: hovering one marks the others.
fn share_cursor(ui: &Ui, x_label: &str, response: &Response, hovered: Option<f64>) -> Option<f64> {
    let id = Id::unique("orrery plot cursor");
    let pass = ui.ctx().cumulative_pass_nr();
    let told: Option<(String, f64, u64, Id)> = ui.data(|d| d.get_temp(id));
    if let Some(x) = hovered {
        ui.data_mut(|d| d.insert_temp(id, (x_label.to_owned(), x, pass, response.id)));
        return None;
    }
    told.filter(|t| t.0 == x_label && t.3 != response.id && pass.saturating_sub(t.2) <= 1).map(|t| t.1)
}

pub(super) struct Canvas<'a> {
    pub(super) chart: &'a Chart<'a>,
    pub(super) layout: &'a Layout,
    pub(super) theme: &'a Theme,
    /// The offset from sheet to screen coordinates.
    pub(super) corner: Vec2,
    pub(super) painter: egui::Painter,
}

impl Canvas<'_> {
    pub(super) fn area(&self) -> Rect {
        self.layout.plot.translate(self.corner)
    }

    /// Zones, grid and ticks: everything under the lines.
    fn frame(&self) {
        let (layout, theme, area) = (self.layout, self.theme, self.area());
        for zone in &self.chart.zones {
            if let Some(strip) = zone.rect(layout).filter(Rect::is_finite) {
                let strip = strip.translate(self.corner).intersect(area);
                self.painter.rect_filled(strip, 0.0, zone.colour.gamma_multiply(zone.opacity()));
            }
        }
        let hairline = egui::Stroke::new(1.0, theme.line);
        for (place, words) in &layout.y_ticks {
            let y = layout.y_at(*place) + self.corner.y;
            self.painter.hline(area.x_range(), y.round() + 0.5, hairline);
            let at = pos2(area.left() - 6.0, y);
            self.painter.text(at, Align2::RIGHT_CENTER, words, FontId::monospace(TEXT_SIZE), theme.secondary);
        }
        for (place, words) in &layout.x_ticks {
            let x = layout.x_at(*place) + self.corner.x;
            self.painter.vline(x.round() + 0.5, area.y_range(), hairline);
            let at = pos2(x, area.bottom() + 4.0);
            self.painter.text(at, Align2::CENTER_TOP, words, FontId::monospace(TEXT_SIZE), theme.secondary);
        }
    }

    /// Lines and bands as the layout cut them, through `egui_plot`, which carries the pointer.
    fn data(&self, ui: &mut Ui, area: Rect) -> Response {
        let layout = self.layout;
        let mut inner = ui.new_child(UiBuilder::new().max_rect(area).id_salt(&self.chart.name));
        let plot = egui_plot::Plot::new(&self.chart.name)
            .width(area.width())
            .height(area.height())
            .show_axes(false)
            .show_grid(false)
            .show_background(false)
            .show_x(false)
            .show_y(false)
            .show_crosshair(false)
            .allow_zoom(false)
            .allow_drag(false)
            .allow_scroll(false)
            .allow_boxed_zoom(false)
            .allow_double_click_reset(false)
            .set_margin_fraction(Vec2::ZERO)
            .cursor_color(Color32::TRANSPARENT)
            .sense(Sense::click_and_drag());
        let shown = plot.show(&mut inner, |plot| {
            // Bounds are shares of the plot, because data units may overflow.
            plot.set_plot_bounds(egui_plot::PlotBounds::from_min_max([0.0; 2], [1.0; 2]));
            for area in layout.areas.iter().filter(|area| area.columns.len() > 1) {
                let column = |i: usize| area.columns.iter().map(|c| c[i]).collect::<Vec<f64>>();
                plot.add(
                    egui_plot::FilledArea::new("", &column(0), &column(1), &column(2))
                        .fill_color(area.colour.gamma_multiply(0.18))
                        .allow_hover(false),
                );
            }
            for trace in &layout.traces {
                let colour = trace.colour.gamma_multiply(trace.strength);
                if trace.stems {
                    for [x, y] in &trace.points {
                        let stem = vec![[*x, 0.0], [*x, *y]];
                        plot.line(egui_plot::Line::new("", stem).color(colour).width(2.0).allow_hover(false));
                    }
                } else if trace.mark.is_none() && trace.points.len() > 1 {
                    let style = match trace.stroke {
                        Stroke::Dashed if trace.is_dashed() => egui_plot::LineStyle::Dashed { length: 7.0 },
                        Stroke::Dotted if trace.is_dashed() => egui_plot::LineStyle::Dotted { spacing: 5.0 },
                        _ => egui_plot::LineStyle::Solid,
                    };
                    plot.line(
                        egui_plot::Line::new("", trace.points.clone())
                            .color(colour)
                            .width(trace.width)
                            .style(style)
                            .allow_band(false)
                            .allow_hover(false),
                    );
                }
            }
        });
        let mut marks = vec![];
        for points in layout.traces.iter().filter_map(|trace| self.marks(trace)) {
            points.shapes(ui, &shown.transform, &mut marks);
        }
        self.painter.extend(marks);
        shown.response
    }

    /// The marks of a trace at its points in the plot, painted whole: the plot would cut those at its edges.
    fn marks(&self, trace: &PlottedLine) -> Option<egui_plot::Points<'static>> {
        // a single value is the whole of its line, so its mark is larger
        let line = trace.line.and_then(|line| self.chart.lines.get(line));
        let is_single = line.is_some_and(|line| line.data.len() == 1);
        let (radius, is_filled) = match trace.mark {
            Some(Mark::Dot) => (DOT, true),
            Some(mark) => (MARK, mark == Mark::Up),
            None if !trace.dots => return None,
            None if is_single => (LONE, !trace.is_dashed()),
            None => (DOT, true),
        };
        let points: Vec<[f64; 2]> = self.layout.marked_points(trace).collect();
        let points = egui_plot::Points::new("", points).shape(shape_of(trace.mark.unwrap_or(Mark::Dot)));
        Some(points.color(trace.colour.gamma_multiply(trace.strength)).radius(radius).filled(is_filled))
    }

    /// Axis words, reference lines with their labels, names, the scrub marker.
    fn draw_labels(&self) {
        let (layout, theme, area) = (self.layout, self.theme, self.area());
        let small = FontId::proportional(TEXT_SIZE);
        let at = pos2(self.corner.x + 2.0, self.corner.y + ROW_HEIGHT / 2.0);
        self.painter.text(at, Align2::LEFT_CENTER, &layout.y_label, small.clone(), theme.secondary);
        let at = pos2(area.right() + layout.margins[1] - 4.0, area.bottom() + 4.0 + layout.x_label_drop);
        self.painter.text(at, Align2::RIGHT_TOP, &layout.x_label, small, theme.secondary);
        self.chart.references.iter().for_each(|reference| self.reference(reference));
        layout.labels.iter().for_each(|label| self.label(label));
        if let Some(marker) = self.chart.marker {
            let x = layout.x_of(marker) + self.corner.x;
            if area.x_range().contains(x) {
                self.painter.vline(x, area.y_range(), egui::Stroke::new(1.0, theme.accent));
            }
        }
    }

    fn reference(&self, reference: &super::Reference) {
        let path = reference.path(self.layout).map(|end| end + self.corner);
        let Some([dash, gap]) = reference.stroke.dashes().filter(|_| self.area().contains(path[0])) else { return };
        let stroke = egui::Stroke::new(1.0, self.theme.secondary);
        clip::paint_dashed(&self.painter, &path, stroke, dash, gap);
    }

    /// Draws text over lines on a patch of the background colour, so that it stays legible.
    pub(super) fn halo_text(&self, at: egui::Pos2, align: Align2, words: &str) {
        if words.is_empty() {
            return;
        }
        let font = FontId::proportional(TEXT_SIZE);
        let galley = self.painter.layout_no_wrap(words.to_owned(), font, self.theme.secondary);
        let rect = move_inside(self.area(), align.anchor_size(at, galley.size()));
        self.painter.rect_filled(rect.expand2(vec2(3.0, 0.0)), 2.0, self.theme.panel.gamma_multiply(0.8));
        self.painter.galley(rect.min, galley, self.theme.secondary);
    }

    /// Draws a label like [`Canvas::halo_text`], where the layout found room.
    fn label(&self, label: &Label) {
        let rect = label.rect.translate(self.corner);
        if let Some(leader) = label.leader {
            let stroke = egui::Stroke::new(1.0, self.theme.secondary);
            self.painter.line_segment(leader.map(|end| end + self.corner), stroke);
        }
        self.painter.rect_filled(rect.expand2(vec2(3.0, 0.0)), 2.0, self.theme.panel.gamma_multiply(0.8));
        for (i, row) in label.rows.iter().enumerate() {
            let at = rect.min + vec2(0.0, i as f32 * (ROW_HEIGHT - 1.0));
            self.painter.text(at, Align2::LEFT_TOP, row, FontId::proportional(TEXT_SIZE), self.theme.secondary);
        }
        if label.claim.is_some() {
            let stroke = egui::Stroke::new(1.0, self.theme.secondary);
            self.painter.hline(rect.x_range(), rect.bottom() - 1.0, stroke);
        }
    }
}
