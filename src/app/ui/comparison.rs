//! One number of several runs over their steps, as one chart: one colour per run, or folded, mean and band over seeds.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use eframe::egui::Vec2;

use super::{
    figure, picture_order,
    plot::{Axis, Chart, ChartState, Curve, Line, Stroke},
    theme::Theme,
};
use crate::{
    experiments::{
        run_table::Difference,
        seeds::over_seeds,
        sweep::results::{NumberId, SweepResults},
    },
    gpu::offscreen::Offscreen,
};

const FIGURE_SIZE: Vec2 = Vec2::new(960.0, 600.0);
/// The number of distinct colours of lines; further lines are dashed.
const N_COLOURS: usize = 7;

#[derive(Debug, Clone)]
pub struct ComparedLine {
    pub name: String,
    /// Its index among the runs, for its colour.
    pub index: usize,
    /// The first run that differs from it in nothing but the seed.
    pub seed_group: usize,
    /// The runs that it shows: one, or all seeds.
    pub runs: Vec<usize>,
    /// Step, mean and standard deviation over seeds, by rising step.
    pub points: Vec<[f64; 3]>,
    /// The means, with a pyramid over them, so that any number draws fast.
    pub mean: Curve,
    /// One standard deviation below and above, if there is a spread.
    pub band: Option<[Curve; 2]>,
}

impl ComparedLine {
    /// A line through `[step, mean, sd]`, by rising step.
    pub fn new(name: String, index: usize, seed_group: usize, points: Vec<[f64; 3]>) -> Self {
        let (mean, band) = Curve::mean_and_band(&points);
        Self { name, index, seed_group, runs: vec![index], points, mean, band }
    }
}

#[derive(Debug, Clone, Default)]
pub struct ComparedRuns {
    /// The label of each run.
    pub names: Vec<String>,
    pub folders: Vec<PathBuf>,
    /// The views that the pages of all compared labs have, to be read when the user asks for one.
    pub views: Vec<&'static str>,
    pub differences: Vec<Difference>,
    /// Says that the losses of the runs are not of the same tokens, where they are not.
    pub loss_note: Option<String>,
    /// One number of one variant each.
    pub figures: Vec<Comparison>,
    /// The figures with runs that differ only by seed folded into one line.
    pub folded: Vec<Comparison>,
    /// Every number of the runs, each run a point by itself, and runs that differ only by seed one.
    pub points: Arc<SweepResults>,
    pub folded_points: Arc<SweepResults>,
    /// For each run, the seconds of training by rising step.
    pub times: Vec<Vec<(u64, f64)>>,
}

/// One number of one variant, of several runs.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub key: String,
    pub variant: String,
    /// The number's heading, with its unit.
    pub title: String,
    pub lines: Vec<ComparedLine>,
}

impl Comparison {
    pub fn id(&self) -> NumberId {
        NumberId { key: self.key.clone(), group: self.variant.clone() }
    }

    /// A file name without its extension, `gate-coupled`, in which `_` replaces characters unsafe in names.
    pub fn file_stem(&self) -> String {
        picture_order::file_stem(&format!("{}-{}", self.key, self.variant))
    }

    /// Replaces the lines of runs that differ only by seed by their mean and its spread.
    pub fn fold(&mut self) {
        let mut folded: BTreeMap<usize, Vec<ComparedLine>> = BTreeMap::new();
        std::mem::take(&mut self.lines)
            .into_iter()
            .for_each(|line| folded.entry(line.seed_group).or_default().push(line));
        self.lines = folded.into_values().map(mean_line).collect();
        // A line's place gives its colour, so that the remaining lines are numbered again.
        self.lines.iter_mut().enumerate().for_each(|(place, line)| line.index = place);
    }

    pub fn chart(&self, theme: &Theme) -> Chart<'_> {
        let mut chart = Chart::new(self.key.clone(), Axis::new("step").integer_ticks(), Axis::new(self.title.clone()));
        for line in &self.lines {
            let colour = theme.series(line.index);
            let stroke = if (line.index / N_COLOURS).is_multiple_of(2) { Stroke::Solid } else { Stroke::Dashed };
            let drawn = Line::new(line.name.clone(), colour, &line.mean).stroke(stroke);
            // A few measurements are seen as such.
            chart = chart.line(if line.points.len() < 40 { drawn.dots() } else { drawn });
            if let Some([low, high]) = &line.band {
                chart.band(line.name.clone(), colour, low, high);
            }
        }
        chart
    }

    fn subtitle(&self) -> String {
        let has_band = self.lines.iter().any(|l| l.band.is_some());
        let band = if has_band { "; band: one standard deviation over seeds" } else { "" };
        format!("{} of {} runs{band}", self.variant, self.lines.len())
    }

    /// Needs no adapter. `None` without points.
    pub fn svg(&self, theme: &Theme) -> Option<String> {
        self.chart(theme).svg(&ChartState::default(), theme)
    }

    pub fn png(&self, offscreen: &mut Offscreen, theme: &Theme) -> Result<Vec<u8>, String> {
        let mut state = ChartState::default();
        figure::png(offscreen, theme, FIGURE_SIZE, |ui| {
            let mut inner = figure::sheet_ui(ui, theme, &self.title, &self.subtitle());
            let size = inner.max_rect().size();
            self.chart(theme).show(&mut inner, size, theme, &mut state);
        })
    }
}

/// The mean at each step over the lines that have that step. A single line is returned unchanged.
fn mean_line(mut lines: Vec<ComparedLine>) -> ComparedLine {
    if lines.len() == 1 {
        return lines.remove(0);
    }
    let means: Vec<Vec<(u64, f64)>> =
        lines.iter().map(|l| l.points.iter().map(|p| (p[0] as u64, p[1])).collect()).collect();
    let points = over_seeds(&means.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let (seeds, runs) = (lines.len(), lines.iter().flat_map(|l| l.runs.clone()).collect());
    let first = lines.remove(0);
    ComparedLine { runs, ..ComparedLine::new(folded_name(&first.name, seeds), first.index, first.seed_group, points) }
}

/// The name of runs that differ only by seed, from that of the first: "lr 0.001, 3 seeds".
pub fn folded_name(first: &str, seeds: usize) -> String {
    let without_seed: Vec<&str> = first.split(", ").filter(|part| !part.starts_with("seed ")).collect();
    match without_seed.is_empty() {
        true => format!("{seeds} seeds"),
        false => format!("{}, {seeds} seeds", without_seed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_become_mean_and_spread_where_both_have_a_step() {
        let line = |seed: u64, points: &[[f64; 3]]| {
            ComparedLine::new(format!("lr 0.001, seed {seed}"), seed as usize, 1, points.to_vec())
        };
        let other = ComparedLine::new("lr 0.1, seed 1".into(), 3, 2, vec![[1.0, 5.0, 0.0], [2.0, 4.0, 0.0]]);
        let lines = vec![line(1, &[[1.0, 2.0, 0.0], [2.0, 1.0, 0.0]]), line(2, &[[1.0, 4.0, 0.0]]), other];
        let mut figure = Comparison { key: "a b".into(), variant: "c".into(), title: "t".into(), lines };
        figure.fold();
        let [folded, alone] = figure.lines.as_slice() else { panic!("{figure:?}") };
        assert_eq!((folded.name.as_str(), folded.index), ("lr 0.001, 2 seeds", 0));
        assert_eq!(folded.points[0], [1.0, 3.0, 2f64.sqrt()]);
        assert!(folded.points[1][1] == 1.0 && folded.points[1][2].is_nan(), "at the second step there is one seed");
        assert_eq!(folded.mean.points(0, 9).collect::<Vec<_>>(), [(1, 3.0), (2, 1.0)]);
        assert!(folded.band.as_ref().is_some_and(|[low, high]| {
            low.value_at(1) == Some(3.0 - 2f64.sqrt()) && high.value_at(2).is_some_and(f64::is_nan)
        }));
        assert_eq!((alone.name.as_str(), alone.index), ("lr 0.1, seed 1", 1));
        assert_eq!(figure.file_stem(), "a_b-c");
        assert!(figure.svg(&Theme::dark()).is_some_and(|svg| svg.contains("2 seeds")));
    }
}
