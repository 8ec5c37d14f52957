//! The effect of a claim over the steps of its runs, each with its own interval: does it turn?

use eframe::egui::{self, Align2, Pos2, Rect, Sense, Stroke, Ui, pos2, vec2};

use crate::{
    experiments::claims::{curve::StepEffect, ledger::Judgement, rule::Rule},
    ui::{
        theme::{self, Theme},
        widgets::number::{grouped, short},
    },
};

const WIDTH: f32 = 640.0;
const HEIGHT: f32 = 112.0;
/// Room of the values at the left and of the steps below, points.
const LEFT: f32 = 76.0;
const BELOW: f32 = 20.0;
const RADIUS: f32 = 2.5;

/// Draws it; nothing where the result has fewer than two steps.
pub fn curve_ui(ui: &mut Ui, theme: &Theme, rule: &Rule, judged: &Judgement) {
    let (Some(first), Some(last)) = (judged.curve.first(), judged.curve.last()) else { return };
    let Some((low, high)) = judged.curve_extent(rule) else { return };
    let size = vec2(ui.available_width().min(WIDTH), HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let name = format!("effect over steps: {}", rule.turns_label(&judged.curve));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &name));
    if !ui.is_rect_visible(rect) {
        return;
    }
    let area = Rect::from_min_max(pos2(rect.left() + LEFT, rect.top() + 8.0), rect.max - vec2(12.0, BELOW));
    let steps = (last.step - first.step) as f64;
    let x = |step: u64| area.left() + ((step - first.step) as f64 / steps) as f32 * area.width();
    let y = |value: f64| area.bottom() - ((value - low) / (high - low)).clamp(0.0, 1.0) as f32 * area.height();

    let (top, bottom) = (rule.stands.below.map_or(area.top(), y), rule.stands.above.map_or(area.bottom(), y));
    let shade = Rect::from_min_max(pos2(area.left(), top), pos2(area.right(), bottom.max(top)));
    ui.painter().rect_filled(shade, 0.0, theme.faint(theme.grey()));
    ui.painter().hline(area.x_range(), area.bottom(), Stroke::new(1.0, theme.grey()));
    for (value, align) in [(high, Align2::RIGHT_TOP), (low, Align2::RIGHT_BOTTOM)] {
        let at = pos2(area.left() - 6.0, y(value));
        ui.painter().text(at, align, short(value), theme::numbers(), theme.secondary);
    }
    for (step, align) in [(first.step, Align2::LEFT_TOP), (last.step, Align2::RIGHT_TOP)] {
        let words = format!("step {}", grouped(step));
        ui.painter().text(pos2(x(step), area.bottom() + 4.0), align, words, theme::numbers(), theme.secondary);
    }
    let points: Vec<Pos2> = judged.curve.iter().map(|point| pos2(x(point.step), y(point.effect))).collect();
    for (point, at) in judged.curve.iter().zip(&points) {
        let whisker = y(point.interval.1)..=y(point.interval.0);
        ui.painter().vline(at.x, whisker, Stroke::new(1.5, theme.series(0).gamma_multiply(0.6)));
        ui.painter().circle_filled(*at, RADIUS, theme.series(0));
    }
    ui.painter().line(points.clone(), Stroke::new(1.5, theme.series(0)));
    let near = response.hover_pos().and_then(|pointer| {
        let distance = |at: &Pos2| (at.x - pointer.x).abs();
        let nearest = judged.curve.iter().zip(&points).min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
        nearest.map(|(point, _)| *point)
    });
    let tip = near.map_or_else(|| name.clone(), |point| point_label(&point));
    response.on_hover_text(tip);
}

/// "step 40: 0.02 [0.01, 0.03]".
fn point_label(point: &StepEffect) -> String {
    let (low, high) = point.interval;
    format!("step {}: {} [{}, {}]", grouped(point.step), short(point.effect), short(low), short(high))
}
