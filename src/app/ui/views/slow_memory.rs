//! The effective memory of a slow path that decays, over training: its median, and beneath it its first and last decile.

use crate::{labs::fast_slow::settings::ModelSettings, ui::views::prelude::*};

/// Memory in slow tokens below which a slow path holds no more than the paper's collapsed one.
const COLLAPSED_TOKENS: f64 = 2.0;

#[derive(Default)]
pub struct SlowMemory {
    median: SeedSeries,
    low: SeedSeries,
    high: SeedSeries,
}

impl PanelView for SlowMemory {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        self.median.follow(cx.mirror, channels::MEMORY_MEDIAN, 0.0);
        self.low.follow(cx.mirror, channels::MEMORY_LOW, 0.0);
        self.high.follow(cx.mirror, channels::MEMORY_HIGH, 0.0);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let y = Axis::new("median memory (slow tokens)").include(&[0.0, 1.2 * COLLAPSED_TOKENS]);
        let mut median = cx.training_chart("slow memory", y).empty(cx.no_curve_reason(
            "No memory yet. Turn a slow path that decays on, such as \u{201c}Gated linear slow path\u{201d}, and \
             press Space.",
            "No variant of this run has a slow path that decays. Turn on \u{201c}Gated linear slow \
             path\u{201d} and begin again with R.",
        ));
        let look = SeriesStyle { seeds: Seeds::SpreadAndEach, ..SeriesStyle::default() };
        self.median.draw(&mut median, cx.mirror, channels::MEMORY_MEDIAN, cx.theme, look);
        median.horizontal_span("block mean: 1", cx.theme.secondary, [0.0, 1.0]);
        let collapsed = [1.0, COLLAPSED_TOKENS];
        median.horizontal_span("paper: collapses to about 2 tokens", cx.theme.secondary, collapsed).claim = Some("A10");
        let y = Axis::new("first and last decile").include(&[0.0]);
        let mut deciles = cx.training_chart("deciles of slow memory", y);
        let high = SeriesStyle { suffix: ", last decile", ..SeriesStyle::default() };
        self.high.draw(&mut deciles, cx.mirror, channels::MEMORY_HIGH, cx.theme, high);
        let low = SeriesStyle { suffix: ", first decile", stroke: Stroke::Dashed, unnamed: true, seeds: Seeds::Spread };
        self.low.draw(&mut deciles, cx.mirror, channels::MEMORY_LOW, cx.theme, low);
        deciles.legend = false;
        vec![Panel::new(median, 0.6), Panel::new(deciles, 0.4).in_table("decile of slow memory ")]
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let tokens = match cx.run_config().value::<usize>(ModelSettings::pool) {
            Ok(pool) => format!("; a slow token is {pool} tokens"),
            Err(_) => String::new(),
        };
        cx.subtitle(&format!("-1 / ln a of the slow path's decays{tokens}"))
    }
}
