//! What there is to remember of a block's input, as its autocorrelation, over what the three traces keep. It sees no
//! model.

use eframe::egui::Ui;

use super::{
    TRACES,
    block_choice::{block_ui, name},
};
use crate::{
    telemetry::measurements::{Autocorrelation as Measured, AutocorrelationArgs},
    ui::{
        plot::{Axis, Chart, ChartState, Line, Stroke, Zone},
        questions::Freshness,
        views::{View, ViewCx},
    },
};

/// View `autocorrelation`.
#[derive(Default)]
pub struct Autocorrelation {
    state: ChartState,
    block: usize,
}

impl Autocorrelation {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    fn chart<'a>(&self, cx: &ViewCx<'a>) -> Chart<'a> {
        let y = Axis::new("correlation, share kept").include(&[0.0, 1.0]);
        let mut chart =
            Chart::new("autocorrelation", Axis::new("lag k (tokens)"), y).empty(cx.why_nothing::<Measured>(
                "Not measured yet. A run measures it at the start and as it trains: press Space.",
            ));
        let Some(m) = cx.latest::<Measured>() else { return chart };
        let Some(block) = m.value.blocks.get(self.block).or(m.value.blocks.first()) else { return chart };
        let points = |y: &[f64]| -> Vec<[f64; 2]> { y.iter().enumerate().map(|(lag, y)| [lag as f64, *y]).collect() };
        for (trace, (words, kept)) in TRACES.into_iter().zip(&block.retention).enumerate() {
            let line = Line::new(format!("kept by {words}"), cx.theme.trace(trace), points(kept));
            chart.lines.push(line.stroke(Stroke::Dashed));
        }
        chart.lines.push(Line::new("input", cx.theme.text, points(&block.input)).dots());
        if m.value.noise.is_finite() {
            let (from, to) = (-m.value.noise, m.value.noise);
            chart.zones.push(Zone { label: "noise, 95%".to_owned(), colour: cx.theme.secondary, from, to });
        }
        chart
    }
}

impl View for Autocorrelation {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let mut args = AutocorrelationArgs::default();
        args.window = cx.training_window().unwrap_or(args.window);
        cx.ask::<Measured>(None, &args, Freshness::IfMissing);
        if cx.has_controls
            && let Some(m) = cx.latest::<Measured>()
        {
            let paths: Vec<&str> = m.value.blocks.iter().map(|b| b.path.as_str()).collect();
            ui.horizontal(|ui| block_ui(ui, &mut self.block, &paths));
        }
        self.chart(cx).show(ui, ui.available_size(), cx.theme, &mut self.state);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let m = cx.latest::<Measured>();
        let block = m.and_then(|m| m.value.blocks.get(self.block).or(m.value.blocks.first()));
        cx.subtitle_of::<Measured>(&block.map_or_else(
            || "what there is to remember, and what is kept".to_owned(),
            |block| format!("input of {}", name(&block.path)),
        ))
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        self.chart(cx).csv(&self.state)
    }

    fn draws_svg(&self) -> bool {
        true
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        self.chart(cx).svg(&self.state, cx.theme)
    }
}
