//! The autocorrelation of a block's input, above the decay of its three traces.

use super::{TRACE_NAMES, block_name, block_ui};
use crate::{telemetry::measurements::Autocorrelation as Measured, ui::views::prelude::*};

#[derive(Default)]
pub struct Autocorrelation {
    block: usize,
}

impl PanelView for Autocorrelation {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let mut args = AutocorrelationArgs::default();
        args.window = cx.training_window().unwrap_or(args.window);
        cx.ask::<Measured>(None, &args, Freshness::IfMissing);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let y = Axis::new("correlation, share kept").include(&[0.0, 1.0]);
        let hint = "Not measured yet. A run measures it at the start and as it trains: press Space.";
        let empty = cx.empty_reason::<Measured>(hint);
        let mut chart = Chart::new("autocorrelation", Axis::new("lag k (tokens)"), y).empty(empty);
        let Some(m) = cx.latest::<Measured>() else { return Panel::single(chart) };
        let Some(block) = m.value.blocks.get(self.block).or(m.value.blocks.first()) else {
            return Panel::single(chart);
        };
        for (trace, (words, kept)) in TRACE_NAMES.into_iter().zip(&block.retention).enumerate() {
            let line = Line::new(format!("kept by {words}"), cx.theme.trace_colour(trace), by_place(kept));
            chart.add(line.dashed());
        }
        chart.add(Line::new("input", cx.theme.text, by_place(&block.input)).dots());
        if m.value.noise.is_finite() {
            chart.horizontal_span("noise of one channel, 95%", cx.theme.secondary, [-m.value.noise, m.value.noise]);
        }
        Panel::single(chart)
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(m) = cx.latest::<Measured>() {
            let paths: Vec<&str> = m.value.blocks.iter().map(|b| b.path.as_str()).collect();
            ui.horizontal(|ui| block_ui(ui, &mut self.block, &paths));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let m = cx.latest::<Measured>();
        let block = m.and_then(|m| m.value.blocks.get(self.block).or(m.value.blocks.first()));
        let all = "what there is to remember, and what is kept".to_owned();
        cx.subtitle_of::<Measured>(&block.map_or(all, |block| format!("input of {}", block_name(&block.path))))
    }
}
