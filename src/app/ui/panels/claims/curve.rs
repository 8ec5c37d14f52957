//! The effects of a claim over the steps of its runs, or over the values of a setting, each with its own interval: does it turn?

use crate::{
    experiments::{claims::entry::EffectCurve, short_number::short},
    ui::panels::prelude::*,
};

const WIDTH: f32 = 640.0;
const HEIGHT: f32 = 128.0;
/// Room of the values at the left and of the axis below, points.
const LEFT_MARGIN: f32 = 76.0;
/// Room above of the name of the values.
const TOP_MARGIN: f32 = 24.0;
const BOTTOM_MARGIN: f32 = 20.0;
const DOT_RADIUS: f32 = 2.5;

fn label(curve: &EffectCurve) -> String {
    format!("effect {}", curve.label)
}

/// The effects of a claim along an axis as SVG, this many points wide.
pub fn curve_svg(theme: &Theme, curve: &EffectCurve, width: f32) -> String {
    drawing(&label(curve), vec2(width, HEIGHT), theme, |ui| curve_ui(ui, theme, curve))
}

pub fn curve_ui(ui: &mut Ui, theme: &Theme, curve: &EffectCurve) {
    let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else { return };
    let name = label(curve);
    let size = vec2(ui.available_width().min(WIDTH), HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
    if !ui.is_rect_visible(rect) {
        return;
    }
    let area = Rect::from_min_max(rect.min + vec2(LEFT_MARGIN, TOP_MARGIN), rect.max - vec2(12.0, BOTTOM_MARGIN));
    let (low, high) = curve.ends;
    let x = |at: f64| area.left() + ((at - first.at) / (last.at - first.at)) as f32 * area.width();
    let y = |value: f64| area.bottom() - ((value - low) / (high - low)).clamp(0.0, 1.0) as f32 * area.height();

    if let Some(region) = curve.region {
        let (top, bottom) = (region.below.map_or(area.top(), y), region.above.map_or(area.bottom(), y));
        let shade = Rect::from_min_max(pos2(area.left(), top), pos2(area.right(), bottom.max(top)));
        ui.painter().rect_filled(shade, 0.0, theme.faint(theme.grey()));
    }
    ui.painter().hline(area.x_range(), area.bottom(), Stroke::new(1.0, theme.grey()));
    ui.painter().text(rect.left_top(), Align2::LEFT_TOP, &curve.quantity, theme::small(), theme.secondary);
    for (value, align) in [(high, Align2::RIGHT_TOP), (low, Align2::RIGHT_BOTTOM)] {
        let at = pos2(area.left() - 6.0, y(value));
        ui.painter().text(at, align, short(value), theme::numbers(), theme.secondary);
    }
    for (at, align) in [(first.at, Align2::LEFT_TOP), (last.at, Align2::RIGHT_TOP)] {
        let under = pos2(x(at), area.bottom() + 4.0);
        ui.painter().text(under, align, place_label(curve, at), theme::numbers(), theme.secondary);
    }
    let places: Vec<Pos2> = curve.points.iter().map(|point| pos2(x(point.at), y(point.effect))).collect();
    for (point, at) in curve.points.iter().zip(&places) {
        let whisker = y(point.interval.1)..=y(point.interval.0);
        ui.painter().vline(at.x, whisker, Stroke::new(1.5, theme.series(0).gamma_multiply(theme::INTERVAL_LINE)));
        ui.painter().circle_filled(*at, DOT_RADIUS, theme.series(0));
    }
    ui.painter().line(places.clone(), Stroke::new(1.5, theme.series(0)));
    let near = response.hover_pos().and_then(|pointer| {
        let distance = |at: &Pos2| (at.x - pointer.x).abs();
        let nearest = curve.points.iter().zip(&places).min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
        nearest.map(|(point, _)| point.label_at(&place_label(curve, point.at)))
    });
    response.on_hover_text(near.unwrap_or(name));
}

/// A place on the axis: "step 40".
fn place_label(curve: &EffectCurve, at: f64) -> String {
    curve.setting.map_or_else(|| format!("step {}", grouped(at as u64)), |setting| format!("{setting} {}", short(at)))
}
