//! Plots perplexity along streamed texts with carried and with empty traces, and how the gap closes after the traces
//! have been cleared.

use super::{
    CONTROLS_HEIGHT, STREAM_TOKENS_TIP, VARIANTS_TIP, empty_reason, measure_ui, shown_measurement, subtitle_of,
    tokens_ui,
};
use crate::ui::views::prelude::*;

const TOKEN_COUNTS: [usize; 4] = [1000, 2000, 4000, 10_000];
const GAP: f32 = 6.0;
/// Wider tiles have the charts side by side, points.
const WIDE_WIDTH: f32 = 700.0;
/// Ratio of the ends of successive bins of positions.
const BIN_RATIO: f64 = 1.4;

#[derive(Default)]
pub struct WarmUpView {
    args: WarmUpArgs,
}

/// The mean difference of two lists over bins that widen by a constant factor. Each bin's x is its logarithmic middle,
/// with the first value at 1.
fn binned_difference(minuend: &[f64], less: &[f64]) -> Vec<[f64; 2]> {
    let n = minuend.len().min(less.len());
    let (mut points, mut from) = (vec![], 0);
    while from < n {
        let to = (((from + 1) as f64 * BIN_RATIO).floor() as usize).clamp(from + 1, n);
        let sum: f64 = (from..to).map(|i| minuend[i] - less[i]).sum();
        let middle = ((from + 1) as f64 * to as f64).sqrt();
        points.push([middle, sum / (to - from) as f64]);
        from = to;
    }
    points
}

/// A sentence about how much streaming reduces perplexity.
fn saving_sentence(text: &WarmUpText) -> String {
    match text.saved.is_finite() {
        true => {
            let [saved, low, high] = [text.saved, text.saved_low, text.saved_high].map(|v| number::rounded(v, 3));
            format!("{}: {saved} nats ({low} to {high}, 95%)", text.name)
        }
        false => text.name.clone(),
    }
}

impl WarmUpView {
    fn chart_along_text(cx: &ViewCx<'_>) -> Chart<'static> {
        let x = Axis::new("tokens read").include(&[0.0]);
        let mut chart = Chart::new("perplexity along the text", x, Axis::new("perplexity").log());
        let Some(m) = shown_measurement::<WarmUp>(cx) else {
            let otherwise = "Not measured yet. Press Space to train, and then Measure: texts of the run's own domain and of \
                             two others are read on and on, and once more with empty traces at every window.";
            return chart.empty(empty_reason::<WarmUp>(cx, otherwise, "this model does not read part by part."));
        };
        for (i, text) in m.value.texts.iter().enumerate() {
            let points = |values: &[f64]| -> Vec<[f64; 2]> {
                values.iter().zip(1..).map(|(p, w)| [(w * m.value.window) as f64, *p]).collect()
            };
            let colour = cx.theme.series(i);
            chart.add(Line::new(&text.name, colour, points(&text.streamed)).dots());
            let label = format!("{}, traces emptied", text.name);
            chart.add_of_kind("traces emptied", Line::new(label, colour, points(&text.reset)).dashed());
        }
        chart
    }

    /// The extra loss after traces were emptied, by tokens since.
    fn chart_after_reset(cx: &ViewCx<'_>) -> Chart<'static> {
        let x = Axis::new("tokens since traces were emptied").log();
        let mut chart = Chart::new("what empty traces cost", x, Axis::new("nats above streaming").include(&[0.0]));
        let Some(m) = shown_measurement::<WarmUp>(cx) else { return chart };
        for (i, text) in m.value.texts.iter().enumerate() {
            let points = binned_difference(&text.reset_by_position, &text.streamed_by_position);
            chart.add(Line::new(saving_sentence(text), cx.theme.series(i), points).dots().short(text.name.clone()));
        }
        if chart.is_empty() {
            return chart.empty("One window only: nothing was streamed into it.");
        }
        chart.x.include.push(m.value.window as f64);
        chart.horizontal_line("", 0.0);
        for mark in m.value.retention.iter().filter(|mark| mark.tokens <= m.value.window) {
            let label = format!("{:.2} of a slow trace is older", mark.share);
            chart.vertical_line(label, mark.tokens as f64);
        }
        chart
    }
}

impl PanelView for WarmUpView {
    const SPACING: Vec2 = vec2(GAP, GAP);
    const FOOTER_HEIGHT: f32 = CONTROLS_HEIGHT + GAP;
    const ARRANGEMENT: Arrangement = Arrangement::Halves { wide: WIDE_WIDTH };

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        vec![Panel::new(Self::chart_along_text(cx), 0.5), Panel::new(Self::chart_after_reset(cx), 0.5)]
    }

    fn footer_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        measure_ui::<WarmUp>(ui, cx, &self.args, "Weights stay frozen. It takes some seconds.");
        tokens_ui(ui, &mut self.args.tokens, &TOKEN_COUNTS, STREAM_TOKENS_TIP);
        cx.variants_ui(ui, VARIANTS_TIP);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let what = "dashed: the same windows with empty traces";
        let subtitle = subtitle_of::<WarmUp>(cx, "perplexity of texts that are read on", |m| &m.notes);
        if shown_measurement::<WarmUp>(cx).is_some() { format!("{subtitle} \u{b7} {what}") } else { subtitle }
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let m = shown_measurement::<WarmUp>(cx)?;
        let mut table = Table::new(["text", "measure", "tokens", "streamed", "traces_emptied"]);
        for text in &m.value.texts {
            let mut rows = |measure: &str, tokens: usize, streamed: &[f64], reset: &[f64]| {
                for (i, (streamed, reset)) in streamed.iter().zip(reset).enumerate() {
                    table.cells(&[&text.name, &measure, &((i + 1) * tokens), streamed, reset]);
                }
            };
            rows("perplexity of a window", m.value.window, &text.streamed, &text.reset);
            rows("nats by position", 1, &text.streamed_by_position, &text.reset_by_position);
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_grow_and_hold_every_position_once() {
        let minuend: Vec<f64> = (0..200).map(f64::from).collect();
        let points = binned_difference(&minuend, &[0.0; 200]);
        assert_eq!(points[..2], [[1.0, 0.0], [2.0, 1.0]]);
        assert!(points.windows(2).all(|p| p[1][0] > p[0][0]) && points.len() < 20, "{points:?}");
        let last = points[points.len() - 1];
        assert!(last[0] < 200.0 && last[1] < 199.0 && last[1] > 150.0, "{last:?}");
        assert!(binned_difference(&[], &[]).is_empty());
    }
}
