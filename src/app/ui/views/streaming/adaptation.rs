//! Gain on a foreign text that is learned from against what is forgotten: a line per variant, a dot per rate.

use super::{CONTROLS_HEIGHT, VARIANTS_TIP, empty_reason, measure_ui, shown_measurement, subtitle_of, tokens_ui};
use crate::ui::views::prelude::*;

const TOKEN_COUNTS: [usize; 4] = [500, 1000, 2000, 5000];
const GAP: f32 = 6.0;

#[derive(Default)]
pub struct AdaptationView {
    args: AdaptationArgs,
}

impl PanelView for AdaptationView {
    const SPACING: Vec2 = vec2(GAP, GAP);
    const FOOTER_HEIGHT: f32 = CONTROLS_HEIGHT + GAP;

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let x = Axis::new("perplexity saved in the foreign text's last quarter, %").include(&[0.0]);
        let y = Axis::new("perplexity added on the own text, %").include(&[0.0]);
        let otherwise = "Not measured yet. Press Space to train, and then Measure: own text, a foreign one that is learned from, and \
                         own text again.";
        let why = empty_reason::<Adaptation>(cx, otherwise, "this model predicts no tokens.");
        let mut chart = Chart::new("adapting and forgetting", x, y).empty(why);
        for (info, colour, found) in cx.each_variant(|v| cx.newest::<Adaptation>(v)) {
            // a model that has diverged has no place on the axes
            let at = |of: f64| if of.is_finite() { 100.0 * of } else { f64::NAN };
            let points: Vec<[f64; 2]> =
                found.settings.iter().map(|s| [at(s.adaptation.mean), at(s.forgetting.mean)]).collect();
            chart.add(Line::new(format!("{}, {}", info.label, found.method), colour, points).dots());
        }
        if !chart.lines.is_empty() {
            chart.horizontal_line("", 0.0);
            chart.vertical_line("", 0.0);
        }
        Panel::single(chart)
    }

    fn footer_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let tip = "Fast weights learn while the texts are read; of a model without them a copy is fine-tuned. The model itself \
                   stays as it is. It takes some seconds, or a minute.";
        measure_ui::<Adaptation>(ui, cx, &self.args, tip);
        let tip = "Tokens of the own text that the next measurement reads. The foreign one has two and a half times as \
                   many. Longer ones take longer.";
        tokens_ui(ui, &mut self.args.tokens, &TOKEN_COUNTS, tip);
        cx.variants_ui(ui, VARIANTS_TIP);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle_of::<Adaptation>(cx, "learning from a foreign text, and the own one after it", |m| &m.notes)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        shown_measurement::<Adaptation>(cx)?;
        let columns = "variant,method,rate,adaptation,low,high,forgetting,forgetting_low,forgetting_high";
        let mut table = Table::new(columns.split(','));
        for (info, _, found) in cx.each_variant(|v| cx.newest::<Adaptation>(v)) {
            for s in &found.settings {
                let numbers = [s.adaptation, s.forgetting].into_iter().flat_map(|s| [s.mean, s.low, s.high]);
                let words = [info.label.clone(), found.method.clone(), s.rate.to_string()];
                table.row(words.into_iter().chain(numbers.map(|number| number.to_string())));
            }
        }
        Some(table)
    }
}
