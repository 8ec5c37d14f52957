//! The effects of a claim over the steps of its runs, or over the values of a setting, each with its own interval: does it turn?

use eframe::egui::{self, Align2, Pos2, Rect, Sense, Stroke, Ui, pos2, vec2};

use crate::{
    experiments::{
        claims::{criterion::Region, curve::EffectPoint, ledger::Judgement, rule::Rule},
        short_number::short,
    },
    ui::{
        theme::{self, Theme},
        widgets::number::grouped,
    },
};

const WIDTH: f32 = 640.0;
const HEIGHT: f32 = 112.0;
/// Room of the values at the left and of the axis below, points.
const LEFT: f32 = 76.0;
const BELOW: f32 = 20.0;
const RADIUS: f32 = 2.5;

/// Effects along an axis, and how they are named.
struct EffectChart<'a> {
    points: &'a [EffectPoint],
    /// The ends of the axis of effects.
    ends: (f64, f64),
    /// The region in which the claim stands, where it is one of these effects.
    region: Option<&'a Region>,
    /// The whole in words.
    name: String,
    /// A place on the axis in words: "step 40".
    place: &'a dyn Fn(f64) -> String,
}

/// Draws the effect over steps; nothing where the result has fewer than two.
pub fn steps_ui(ui: &mut Ui, theme: &Theme, rule: &Rule, judged: &Judgement) {
    let Some(ends) = judged.curve_extent(rule) else { return };
    let name = format!("effect over steps: {}", rule.turns_label(&judged.curve));
    let place = |step: f64| format!("step {}", grouped(step as u64));
    let chart = EffectChart { points: &judged.curve, ends, region: Some(&rule.stands), name, place: &place };
    chart.ui(ui, theme);
}

/// Draws the number over the setting along which the effect is a slope or a rank correlation; nothing where there is none.
pub fn axis_ui(ui: &mut Ui, theme: &Theme, rule: &Rule, judged: &Judgement) {
    let (Some(ends), Some(axis)) = (judged.along_axis_extent(), rule.axis()) else { return };
    let points: Vec<String> = judged.along_axis.iter().map(EffectPoint::label).collect();
    let name = format!("over {axis}: {}", points.join("; "));
    let place = |value: f64| format!("{axis} {}", short(value));
    EffectChart { points: &judged.along_axis, ends, region: None, name, place: &place }.ui(ui, theme);
}

impl EffectChart<'_> {
    fn ui(&self, ui: &mut Ui, theme: &Theme) {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else { return };
        let size = vec2(ui.available_width().min(WIDTH), HEIGHT);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &self.name));
        if !ui.is_rect_visible(rect) {
            return;
        }
        let area = Rect::from_min_max(pos2(rect.left() + LEFT, rect.top() + 8.0), rect.max - vec2(12.0, BELOW));
        let (low, high) = self.ends;
        let x = |at: f64| area.left() + ((at - first.at) / (last.at - first.at)) as f32 * area.width();
        let y = |value: f64| area.bottom() - ((value - low) / (high - low)).clamp(0.0, 1.0) as f32 * area.height();

        if let Some(region) = self.region {
            let (top, bottom) = (region.below.map_or(area.top(), y), region.above.map_or(area.bottom(), y));
            let shade = Rect::from_min_max(pos2(area.left(), top), pos2(area.right(), bottom.max(top)));
            ui.painter().rect_filled(shade, 0.0, theme.faint(theme.grey()));
        }
        ui.painter().hline(area.x_range(), area.bottom(), Stroke::new(1.0, theme.grey()));
        for (value, align) in [(high, Align2::RIGHT_TOP), (low, Align2::RIGHT_BOTTOM)] {
            let at = pos2(area.left() - 6.0, y(value));
            ui.painter().text(at, align, short(value), theme::numbers(), theme.secondary);
        }
        for (at, align) in [(first.at, Align2::LEFT_TOP), (last.at, Align2::RIGHT_TOP)] {
            let under = pos2(x(at), area.bottom() + 4.0);
            ui.painter().text(under, align, (self.place)(at), theme::numbers(), theme.secondary);
        }
        let places: Vec<Pos2> = self.points.iter().map(|point| pos2(x(point.at), y(point.effect))).collect();
        for (point, at) in self.points.iter().zip(&places) {
            let whisker = y(point.interval.1)..=y(point.interval.0);
            ui.painter().vline(at.x, whisker, Stroke::new(1.5, theme.series(0).gamma_multiply(0.6)));
            ui.painter().circle_filled(*at, RADIUS, theme.series(0));
        }
        ui.painter().line(places.clone(), Stroke::new(1.5, theme.series(0)));
        let near = response.hover_pos().and_then(|pointer| {
            let distance = |at: &Pos2| (at.x - pointer.x).abs();
            let nearest = self.points.iter().zip(&places).min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
            nearest.map(|(point, _)| self.point_label(point))
        });
        response.on_hover_text(near.unwrap_or_else(|| self.name.clone()));
    }

    /// "step 40: 0.02 [0.01, 0.03]".
    fn point_label(&self, point: &EffectPoint) -> String {
        let (low, high) = point.interval;
        format!("{}: {} [{}, {}]", (self.place)(point.at), short(point.effect), short(low), short(high))
    }
}
