//! The legend over the canvas: groups with their colours and counts; a click lets one stand out.

use super::{NeuronGraph, network::Network};
use crate::ui::views::prelude::*;

const ROW: f32 = 18.0;
/// A narrower canvas has no room for a legend beside the graph, points.
const MIN_WIDTH: f32 = 300.0;

/// The lines of a legend, and how many of them its canvas has room for.
#[derive(Clone, Copy)]
pub(super) struct LegendLines {
    lines: usize,
    fit: usize,
}

impl NeuronGraph {
    fn scale_ui(&self, ui: &Ui, network: &Network, rect: Rect, scale: Colours, cx: &ViewCx<'_>) {
        let missing = self.palette.groups.first();
        let words = self.kind().map_or("", |kind| network.kind_name(kind)).to_owned();
        let words = words + if scale.log { " (log)" } else { "" };
        let under = if missing.is_some() { ROW } else { 0.0 };
        let bar = Rect::from_min_size(rect.left_bottom() + vec2(14.0, -36.0 - under), vec2(180.0, 10.0));
        let ground = Rect::from_min_max(bar.min - vec2(12.0, 22.0), bar.max + vec2(24.0, 22.0 + under));
        let painter = ui.painter();
        painter.rect_filled(ground, 4.0, cx.theme.panel.gamma_multiply(0.85));
        let small = theme::small();
        let galley = truncated(ui.painter(), &words, small.clone(), cx.theme.text, bar.width() + 20.0);
        painter.galley(bar.min - vec2(0.0, 19.0), galley, cx.theme.text);
        colour_bar(painter, bar, scale, cx.theme);
        if let Some(none) = missing {
            let at = bar.left_bottom() + vec2(4.0, 22.0 + ROW / 2.0);
            painter.circle_filled(at, 4.5, none.colour);
            let words = format!("none  {}", grouped(none.count as u64));
            painter.text(at + vec2(12.0, 0.0), Align2::LEFT_CENTER, words, small, cx.theme.secondary);
        }
    }

    pub(super) fn legend_lines(&self, network: &Network, rect: Rect) -> LegendLines {
        let negative = network.edges.iter().any(|e| e.2 < 0.0);
        let fit = if rect.width() < MIN_WIDTH { 0 } else { ((rect.height() - 24.0) / ROW) as usize };
        LegendLines { lines: self.palette.groups.len() + usize::from(negative), fit }
    }

    /// The height of the groups' legend at the foot of a canvas, points; 0 where there is none.
    pub(super) fn legend_height(&self, LegendLines { lines, fit }: LegendLines) -> f32 {
        if self.palette.scale.is_some() || fit < 2 { 0.0 } else { 12.0 + ROW * lines.min(fit) as f32 }
    }

    pub(super) fn legend_ui(
        &mut self,
        ui: &mut Ui,
        network: &Network,
        LegendLines { lines, fit }: LegendLines,
        rect: Rect,
        cx: &ViewCx<'_>,
    ) {
        let all = &self.palette.groups;
        let negative = lines > all.len();
        if fit < 2 {
            return;
        }
        if let Some(scale) = self.palette.scale {
            self.scale_ui(ui, network, rect, scale, cx);
            return;
        }
        let shown = if lines > fit { fit - 1 } else { lines };
        let corner = pos2(rect.left() + 6.0, rect.bottom() - 6.0 - ROW * (shown + usize::from(shown < lines)) as f32);
        let small = theme::small();
        let mut clicked = None;
        for (i, group) in all.iter().take(shown).enumerate() {
            let place = Rect::from_min_size(corner + vec2(0.0, ROW * i as f32), vec2(170.0, ROW));
            let text = format!("{}  {}", group.name, grouped(group.count as u64));
            let galley = truncated(ui.painter(), &text, small.clone(), Color32::WHITE, 0.4 * rect.width());
            let place = Rect::from_min_size(place.min, vec2(galley.size().x + 26.0, ROW));
            let id = ui.scope_id().with(("legend", i));
            let response = ui.interact(place, id, Sense::click());
            let on = self.group == Some(i);
            response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, on, &text));
            let hot = on || response.hovered();
            let back = cx.theme.panel.gamma_multiply(if hot { 0.95 } else { 0.7 });
            ui.painter().rect_filled(place, 4.0, back);
            ui.painter().circle_filled(pos2(place.left() + 9.0, place.center().y), 4.5, group.colour);
            let colour = if hot { cx.theme.text } else { cx.theme.secondary };
            let at = pos2(place.left() + 20.0, place.center().y - galley.size().y / 2.0);
            ui.painter().galley_with_override_text_color(at, galley, colour);
            if response.on_hover_text("Click to let these stand out; click again for all.").clicked() {
                clicked = Some(i);
            }
        }
        let mut next = corner + vec2(0.0, ROW * shown.min(all.len()) as f32);
        if shown < lines {
            let words = format!("and {} more lines", lines - shown);
            ui.painter().text(next + vec2(20.0, ROW / 2.0), Align2::LEFT_CENTER, words, small, cx.theme.secondary);
        } else if negative {
            next.y += ROW / 2.0;
            let line = egui::Stroke::new(2.0, cx.theme.cool);
            ui.painter().line_segment([next + vec2(3.0, 0.0), next + vec2(15.0, 0.0)], line);
            let words = if network.file.is_some() { "negative edges" } else { "inhibitory edges" };
            ui.painter().text(next + vec2(20.0, 0.0), Align2::LEFT_CENTER, words, small, cx.theme.secondary);
        }
        if let Some(i) = clicked {
            self.group = (self.group != Some(i)).then_some(i);
            ui.ctx().request_repaint();
        }
    }
}
