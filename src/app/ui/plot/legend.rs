//! The controls around a chart: names that switch lines on and off, the list of all names, and a y axis that is held.

use eframe::egui::{
    self, Align2, CursorIcon, FontId, Id, Rect, Sense, Stroke as Pen, Ui, WidgetInfo, accesskit::Role, pos2, vec2,
};

use super::{
    Chart, ChartState, Line,
    geometry::{FIXED, ROW_HEIGHT, SWATCH_WIDTH, TEXT_SIZE},
    mark::paint_swatch,
    paint::{Canvas, width_of},
    tile::current_tile,
};
use crate::ui::theme::{FAINT_LINE, Theme};

/// A line's name with its sign, struck where the line is switched off.
fn paint_name(painter: &egui::Painter, at: egui::Pos2, line: &Line<'_>, name: &str, theme: &Theme, is_hidden: bool) {
    let colour = if is_hidden || line.faint { line.colour.gamma_multiply(FAINT_LINE) } else { line.colour };
    paint_swatch(painter, at, line.stroke, colour);
    let words = if is_hidden { theme.secondary } else { theme.text };
    let at = at + vec2(SWATCH_WIDTH + 4.0, 0.0);
    let place = painter.text(at, Align2::LEFT_CENTER, name, FontId::proportional(TEXT_SIZE), words);
    if is_hidden {
        painter.hline(place.x_range(), place.center().y, Pen::new(1.0, words));
    }
}

impl Chart<'_> {
    /// The lines' names; a click on one switches its lines off or on.
    pub(super) fn legend_ui(&self, ui: &mut Ui, canvas: &Canvas<'_>, state: &mut ChartState) {
        for name in &canvas.layout.names {
            let Some(line) = self.lines.get(name.line) else { continue };
            let at = name.at + canvas.corner;
            let wide = SWATCH_WIDTH + 4.0 + width_of(ui, line.name(), false);
            let place = Rect::from_min_size(pos2(at.x, at.y - ROW_HEIGHT / 2.0), vec2(wide, ROW_HEIGHT - 1.0));
            let is_shown = !state.hides(line);
            let id = ui.scope_id().with((&self.name, "line", line.name(), name.line));
            let response = ui.interact(place, id, Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
            response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, is_shown, line.name()));
            if response.hovered() {
                canvas.painter.hline(place.x_range(), place.bottom(), Pen::new(1.0, canvas.theme.line));
            }
            paint_name(&canvas.painter, at, line, line.name(), canvas.theme, !is_shown);
            let tip = if is_shown { "Click to leave this line out." } else { "Click to show this line again." };
            if response.on_hover_text(format!("{}. {tip}", line.name())).clicked() {
                state.toggle(line.name());
            }
        }
        if let Some((count, at)) = canvas.layout.unnamed {
            self.list_ui(ui, canvas, state, count, at + canvas.corner);
        }
    }

    /// "+ 4 more", or "4 lines" where none is named: it opens the list of every line that the readout has.
    fn list_ui(&self, ui: &mut Ui, canvas: &Canvas<'_>, state: &mut ChartState, count: usize, at: egui::Pos2) {
        let words = match (canvas.layout.names.len(), self.lines.iter().filter(|line| line.is_in_list()).count()) {
            (0, 1) => "1 line".to_owned(),
            (0, all) => format!("{all} lines"),
            _ => format!("+ {count} more"),
        };
        let size = vec2(width_of(ui, &words, false), ROW_HEIGHT - 1.0);
        let place = Align2::LEFT_CENTER.anchor_size(at, size);
        let id = ui.scope_id().with((&self.name, "lines"));
        let response = ui.interact(place, id, Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Every line of {}", self.name)));
        let colour = if response.hovered() { canvas.theme.text } else { canvas.theme.secondary };
        canvas.painter.text(at, Align2::LEFT_CENTER, words, FontId::proportional(TEXT_SIZE), colour);
        canvas.painter.hline(place.x_range(), place.bottom(), Pen::new(1.0, canvas.theme.line));
        egui::Popup::menu(&response).close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside).show(|ui| {
            egui::ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
                for line in self.lines.iter().filter(|line| line.is_in_list()) {
                    let is_shown = !state.hides(line);
                    let wide = SWATCH_WIDTH + 4.0 + width_of(ui, &line.label, false);
                    let (place, response) = ui.allocate_exact_size(vec2(wide, ROW_HEIGHT + 2.0), Sense::click());
                    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, is_shown, &line.label));
                    paint_name(ui.painter(), place.left_center(), line, &line.label, canvas.theme, !is_shown);
                    if response.on_hover_cursor(CursorIcon::PointingHand).clicked() {
                        state.toggle(line.name());
                    }
                }
            });
        });
        response.on_hover_text("Click for the names of all lines.");
    }

    /// A control after the label of the y axis, visible while the pointer is over the chart, and while the axis is
    /// held. A click holds the current range, on every chart of the tile with the same axis one range for all.
    pub(super) fn fix_ui(&self, ui: &mut Ui, canvas: &Canvas<'_>, sheet: Rect, state: &mut ChartState) {
        let range = canvas.layout.y.map(|place| canvas.layout.y_scale.value(place));
        let shared = SharedRange::new(ui, &self.y.label);
        shared.report_range(ui, &self.name, range);
        if let Some(wanted) = shared.requested_range(ui) {
            state.fixed_y = wanted;
        }
        let is_fixed = state.fixed_y.is_some();
        let at = canvas.layout.fix_at(&|words, mono| width_of(ui, words, mono)) + canvas.corner;
        let place = Align2::LEFT_CENTER.anchor_size(at, vec2(width_of(ui, FIXED, false), ROW_HEIGHT - 1.0));
        if self.y.fixed.is_some() || !sheet.contains_rect(place) || !is_fixed && !ui.rect_contains_pointer(sheet) {
            return;
        }
        let id = ui.scope_id().with((&self.name, "fix y"));
        let response = ui.interact(place, id, Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
        let name = format!("Hold the y axis of {}", self.name);
        response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, is_fixed, &name));
        let colour = match is_fixed {
            true => canvas.theme.accent,
            false if response.hovered() => canvas.theme.text,
            false => canvas.theme.secondary,
        };
        let words = if is_fixed { FIXED } else { "fix y" };
        canvas.painter.text(at, Align2::LEFT_CENTER, words, FontId::proportional(TEXT_SIZE), colour);
        if is_fixed {
            canvas.painter.hline(place.x_range(), place.bottom(), Pen::new(1.5, colour));
        }
        let tip = match is_fixed {
            true => "The range of this axis is held. Click to let it follow the data.",
            false => {
                "Click to hold the range of this axis while the run goes on; charts of this tile with the same axis take \
                 one range."
            }
        };
        if response.on_hover_text(tip).clicked() {
            shared.request_range(ui, !is_fixed);
            ui.ctx().request_repaint();
        }
    }
}

/// The y ranges of the charts of one tile that have the same y axis.
struct SharedRange {
    id: Id,
}

/// The ranges that the charts of a tile show, by their names, and the one last asked for.
#[derive(Clone, Default)]
struct Ranges {
    shown: Vec<(String, [f64; 2], u64)>,
    /// The range to hold (`None`: follow the data), and in which pass it was asked for.
    wanted: Option<(Option<[f64; 2]>, u64)>,
}

impl SharedRange {
    fn new(ui: &Ui, axis: &str) -> Self {
        let tile = current_tile(ui.ctx()).unwrap_or(0);
        Self { id: Id::unique(("orrery plot y", tile, axis)) }
    }

    fn with_ranges<R>(&self, ui: &Ui, f: impl FnOnce(&mut Ranges, u64) -> R) -> R {
        let pass = ui.ctx().cumulative_pass_nr();
        ui.data_mut(|d| f(d.get_temp_mut_or_default(self.id), pass))
    }

    fn report_range(&self, ui: &Ui, chart: &str, range: [f64; 2]) {
        self.with_ranges(ui, |ranges, pass| {
            ranges.shown.retain(|(name, _, seen)| name != chart && pass.saturating_sub(*seen) <= 1);
            ranges.shown.push((chart.to_owned(), range, pass));
        });
    }

    /// Asks all charts to hold one range that has room for each, or to follow their data again.
    fn request_range(&self, ui: &Ui, hold: bool) {
        self.with_ranges(ui, |ranges, pass| {
            let ends = ranges.shown.iter().map(|(_, range, _)| *range);
            let all = ends.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
            ranges.wanted = Some((all.filter(|_| hold), pass));
        });
    }

    /// The range asked for in this pass or the one before.
    fn requested_range(&self, ui: &Ui) -> Option<Option<[f64; 2]>> {
        self.with_ranges(ui, |ranges, pass| ranges.wanted.filter(|w| pass.saturating_sub(w.1) <= 1).map(|w| w.0))
    }
}
