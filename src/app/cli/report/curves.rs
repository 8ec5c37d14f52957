//! Every scalar of a run as data for the page: the numbers that `orrery export --csv` writes.

use serde::Serialize;

use crate::{
    cli::prelude::*,
    experiments::series::every_nth,
    telemetry::Channel,
    ui::{plot::svg::hex, seed_series::variant_colour},
};

/// The largest number of points in a report; of longer runs every n-th step is taken.
const MAX_POINTS: usize = 300_000;

/// The scalars, in the order of their first appearance.
#[derive(Default)]
pub struct Curves {
    channels: Vec<Channel>,
    points: HashMap<(usize, usize), Vec<(u64, f64)>>,
}

#[derive(Debug, Serialize)]
pub struct CurveData {
    pub name: String,
    pub series: Vec<SeriesData>,
}

#[derive(Debug, Serialize)]
pub struct SeriesData {
    pub label: String,
    pub colour: String,
    pub steps: Vec<u64>,
    /// `None` for what is not finite.
    pub values: Vec<Option<f64>>,
    /// Standard deviations, for a band; `None` at a step that one seed alone has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd: Option<Vec<Option<f64>>>,
}

/// The charts, and which steps they show.
#[derive(Debug)]
pub struct CurvesData {
    pub charts: Vec<CurveData>,
    /// 1: every step.
    pub every: usize,
}

impl Curves {
    pub fn event(&mut self, event: &Event) {
        let Event::Step(stats) = event else { return };
        for (channel, value) in &stats.scalars {
            let place = self.channels.iter().position(|c| c == channel).unwrap_or_else(|| {
                self.channels.push(channel.clone());
                self.channels.len() - 1
            });
            // other programs may log in any order
            let points = self.points.entry((place, stats.variant)).or_default();
            let at = points.partition_point(|(step, _)| *step < stats.step);
            let replaced = usize::from(points.get(at).is_some_and(|(step, _)| *step == stats.step));
            points.splice(at..at + replaced, [(stats.step, *value)]);
        }
    }

    /// The data of the chart, in the colours of the run's variants.
    pub fn data(&self, mirror: &Mirror, theme: &Theme) -> CurvesData {
        let all: usize = self.points.values().map(Vec::len).sum();
        let every = all.div_ceil(MAX_POINTS).max(1);
        let series = |place: usize, (variant, label): (usize, &str)| {
            let shown = every_nth(self.points.get(&(place, variant))?, every);
            let (steps, values) = shown.map(|(step, value)| (step, value.is_finite().then_some(value))).unzip();
            let colour = hex(variant_colour(mirror, variant, theme));
            Some(SeriesData { label: label.to_owned(), colour, steps, values, sd: None })
        };
        let labels: Vec<(usize, &str)> = mirror.variants().iter().map(|v| v.label.as_str()).enumerate().collect();
        let chart = |(place, channel): (usize, &Channel)| CurveData {
            name: channel.as_str().to_owned(),
            series: labels.iter().filter_map(|variant| series(place, *variant)).collect(),
        };
        let charts = self.channels.iter().enumerate().map(chart).filter(|c| !c.series.is_empty()).collect();
        CurvesData { charts, every }
    }
}
