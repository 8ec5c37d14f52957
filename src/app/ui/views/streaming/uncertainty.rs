//! The distribution of U, the inverse precision of a prediction's error, over windows of the run's own text and of
//! foreign ones, and how well it separates the two, compared with the model's own surprise.

use super::{
    CONTROLS, VARIANTS_TIP, measure_ui,
    roc::{RocRow, roc_ui, wanted_height},
    shown, subtitle_of, why_nothing,
};
use crate::ui::views::prelude::*;

const GAP: f32 = 8.0;
/// Wider tiles have the areas beside the histogram, points.
const WIDE_WIDTH: f32 = 620.0;
const BINS: usize = 24;

#[derive(Default)]
pub struct UncertaintyView {
    /// Shows the histogram of the model's surprise instead of that of U.
    of_surprise: bool,
}

fn values(text: &UncertaintyText, of_surprise: bool) -> &[f64] {
    if of_surprise { &text.surprise } else { &text.uncertainty }
}

/// Shares of values in equal bins from `low` to `high`, as steps: the left edge of each bin, and the end.
fn histogram(values: &[f64], low: f64, high: f64) -> Vec<[f64; 2]> {
    let width = (high - low) / BINS as f64;
    let mut counts = [0usize; BINS];
    let finite = values.iter().filter(|v| v.is_finite());
    finite.for_each(|v| counts[(((v - low) / width) as usize).min(BINS - 1)] += 1);
    let all = values.len().max(1) as f64;
    let steps = counts.iter().enumerate().map(|(i, n)| [low + i as f64 * width, *n as f64 / all]);
    steps.chain([[high, 0.0]]).collect()
}

impl UncertaintyView {
    fn chart(&self, cx: &ViewCx<'_>) -> Chart<'static> {
        let x = if self.of_surprise { "surprise of a window (nats per token)" } else { "U of a window" };
        let mut chart =
            Chart::new("windows by uncertainty", Axis::new(x), Axis::new("share of windows").include(&[0.0]));
        let Some(m) = shown::<Uncertainty>(cx) else {
            let otherwise = "Not measured yet. Press Space to train, and then Measure: the run's own text and three foreign \
                             ones are read, and the variance of the predictions' errors is kept on the way.";
            let absent = "its predictor is an attention, and U is that of a static one. Choose another variant.";
            return chart.empty(why_nothing::<Uncertainty>(cx, otherwise, absent));
        };
        let all = m.value.texts.iter().flat_map(|t| values(t, self.of_surprise)).copied();
        let Some([low, high]) = finite_range(all) else {
            return chart.empty("Nothing was measured that is a finite number: the model has diverged.");
        };
        // values that are all the same, or farther apart than numbers go
        let (low, high) = (low.max(-1e300), high.min(1e300));
        let high = if high > low { high } else { low + low.abs().max(1e-3) * 0.1 };
        for (i, text) in m.value.texts.iter().enumerate() {
            let points = histogram(values(text, self.of_surprise), low, high);
            chart.add(Line::new(&text.name, cx.theme.series(i), points).stroke(Stroke::Stairs));
        }
        chart
    }
}

impl PanelView for UncertaintyView {
    const SPACING: Vec2 = vec2(GAP, GAP);
    const FOOTER_HEIGHT: f32 = CONTROLS + GAP;

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let chart = self.chart(cx);
        let found = shown::<Uncertainty>(cx).filter(|_| !chart.is_empty()).map(|m| m.value);
        let (theme, rows) = (cx.theme, found.map_or(vec![], rows));
        let mut panels = vec![Panel::new(chart, 1.0)];
        if !rows.is_empty() {
            panels.push(Panel::canvas("AUROC by text", move |ui, size| roc_ui(ui, theme, size, &rows)));
        }
        panels
    }

    fn arrange(&self, ui: &Ui, cx: &ViewCx<'_>, room: Vec2, panels: &[Panel<'_>], _alone: usize) -> Placement {
        let Some(m) = shown::<Uncertainty>(cx).filter(|_| panels.len() > 1) else { return Placement::Alone(0) };
        if fits_two(ui.ctx(), room.x, WIDE_WIDTH) {
            let wide = ((room.x - GAP) * 0.58).floor();
            return Placement::Row(vec![vec2(wide, room.y), vec2(room.x - GAP - wide, room.y)]);
        }
        let high = wanted_height(m.texts.len()).min(((room.y - GAP) / 2.0).floor());
        Placement::Column(vec![vec2(room.x, room.y - GAP - high), vec2(room.x, high)])
    }

    fn footer_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let tip = "Weights stay frozen. It takes some seconds.";
        measure_ui::<Uncertainty>(ui, cx, &UncertaintyArgs::default(), tip);
        ui.selectable_value(&mut self.of_surprise, false, "U").on_hover_text("Mean of 1 / \u{3c0} over channels.");
        ui.selectable_value(&mut self.of_surprise, true, "surprise").on_hover_text("The model's own cross-entropy.");
        cx.variants_ui(ui, VARIANTS_TIP);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle_of::<Uncertainty>(cx, "what tells foreign text from the run's own", |m| &m.notes)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let found = shown::<Uncertainty>(cx)?.value;
        let mut table = Table::new(["text", "told_by", "auroc", "low", "high", "window", "value"]);
        for text in &found.texts {
            let by_uncertainty = ("uncertainty", &text.uncertainty, text.by_uncertainty);
            for (name, values, area) in [by_uncertainty, ("surprise", &text.surprise, text.by_surprise)] {
                for (window, value) in values.iter().enumerate() {
                    table.cells(&[&text.name, &name, &area.value, &area.low, &area.high, &window, value]);
                }
            }
        }
        Some(table)
    }
}

/// Foreign texts first; the own one is held against itself.
fn rows(found: &Uncertainty) -> Vec<RocRow<'_>> {
    let row = |name, text: &UncertaintyText| RocRow { name, areas: [text.by_uncertainty, text.by_surprise] };
    let foreign = found.texts.iter().skip(1).map(|text| row(&text.name, text));
    foreign.chain(found.texts.first().map(|own| row("own text, halves", own))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_value_has_a_bin() {
        let steps = histogram(&[0.0, 1.0, 0.5, f64::NAN], 0.0, 1.0);
        assert_eq!(steps.len(), BINS + 1);
        let sum: f64 = steps.iter().map(|s| s[1]).sum();
        assert!((sum - 0.75).abs() < 1e-12, "the fourth is no number");
        assert_eq!((steps[0][1], steps[BINS - 1][1]), (0.25, 0.25));
    }
}
