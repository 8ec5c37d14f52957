//! One number of all runs over steps or time, smoothed if wanted, and a table of its values and differing settings.

use super::{ComparePage, TABLE_HEIGHT, save_ui, scrubber_ui, table_ui};
use crate::{
    analysis::statistics::finite_mean,
    ui::{
        comparison::{ComparedLine, Comparison},
        identity::KeyedCache,
        panels::prelude::*,
        plot::{Axis, Band, Chart, Curve, Data, Line, Smoothed},
        widgets::smoothing::smoothing_ui,
    },
};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CurveAxis {
    #[default]
    Steps,
    /// The time of training, seconds.
    Time,
}

/// The choices about the chart, and what is drawn by them.
#[derive(Debug, Default)]
pub struct CurvesState {
    chart: ChartState,
    /// Factor by which weights fall from point to point; 0: not smoothed.
    smoothing: f64,
    axis: CurveAxis,
    /// The lines as they are drawn, kept until a choice changes.
    drawn: KeyedCache<CurveChoices, Option<Vec<DrawnLine>>>,
}

/// The inputs by which lines are worked out.
#[derive(Debug, Clone, PartialEq)]
struct CurveChoices {
    figure: NumberId,
    is_folded: bool,
    smoothing: f64,
    axis: CurveAxis,
}

#[derive(Debug, Default)]
struct DrawnLine {
    smoothed: Option<Smoothed>,
    smoothed_band: Option<[Smoothed; 2]>,
    timed: Option<TimedLine>,
}

/// A line over seconds.
#[derive(Debug)]
struct TimedLine {
    mean: Vec<[f64; 2]>,
    /// The values before smoothing.
    raw: Option<Vec<[f64; 2]>>,
    band: Option<[Vec<[f64; 2]>; 2]>,
}

/// The lines of the figure for these choices; they are computed again only if the choices have changed.
fn drawn_lines<'d>(
    drawn: &'d mut KeyedCache<CurveChoices, Option<Vec<DrawnLine>>>,
    figure: &Comparison,
    times: &[Vec<(u64, f64)>],
    choices: CurveChoices,
) -> &'d [DrawnLine] {
    let (smoothing, axis) = (choices.smoothing, choices.axis);
    let line = |line: &ComparedLine| drawn_line(line, times, smoothing, axis);
    drawn.at(choices).get_or_insert_with(|| figure.lines.iter().map(line).collect())
}

fn drawn_line(line: &ComparedLine, times: &[Vec<(u64, f64)>], smoothing: f64, axis: CurveAxis) -> DrawnLine {
    let smooth = |curve: &Curve| {
        let mut smoothed = Smoothed::default();
        smoothed.follow(curve, smoothing);
        smoothed
    };
    let is_smoothed = smoothing > 0.0;
    let smoothed = is_smoothed.then(|| smooth(&line.mean));
    let smoothed_band = line.band.as_ref().filter(|_| is_smoothed).map(|edges| edges.each_ref().map(smooth));
    let timed = (axis == CurveAxis::Time).then(|| {
        let over_time = |curve: &Curve| -> Vec<[f64; 2]> {
            let points = curve.points(0, u64::MAX);
            points.filter_map(|(step, value)| Some([seconds(line, times, step)?, value])).collect()
        };
        let raw = over_time(&line.mean);
        let mean = smoothed.as_ref().map(|s| over_time(s.curve()));
        let band = match &smoothed_band {
            Some(edges) => Some(edges.each_ref().map(|edge| over_time(edge.curve()))),
            None => line.band.as_ref().map(|edges| edges.each_ref().map(over_time)),
        };
        TimedLine { band, raw: mean.is_some().then(|| raw.clone()), mean: mean.unwrap_or(raw) }
    });
    DrawnLine { smoothed, smoothed_band, timed }
}

/// Seconds of training at a step, mean over the runs of the line; `None` where no run recorded it.
fn seconds(line: &ComparedLine, times: &[Vec<(u64, f64)>], step: u64) -> Option<f64> {
    let of_run = |run: &usize| {
        let times = times.get(*run)?;
        // a measurement before the first step takes no time of training
        let at = times.partition_point(|(s, _)| *s <= step).checked_sub(1);
        (!times.is_empty()).then(|| at.map_or(0.0, |i| times[i].1))
    };
    let known: Vec<f64> = line.runs.iter().filter_map(of_run).collect();
    finite_mean(&known)
}

/// The figure's chart with its lines as they are drawn.
fn chart<'a>(figure: &'a Comparison, drawn: &'a [DrawnLine], axis: CurveAxis, theme: &Theme) -> Chart<'a> {
    let mut chart = figure.chart(theme);
    let mut behind = vec![];
    for ((line, drawn), compared) in chart.lines.iter_mut().zip(drawn).zip(&figure.lines) {
        line.is_smoothed = drawn.smoothed.is_some();
        match (&drawn.timed, &drawn.smoothed) {
            (None, None) => {}
            (None, Some(smoothed)) => {
                line.data = smoothed.curve().into();
                (line.raw, line.dots) = (Some(&compared.mean), false);
            }
            (Some(timed), _) => {
                line.data = timed.mean.as_slice().into();
                if let Some(raw) = &timed.raw {
                    let raw = Line::new(line.label.clone(), line.colour, raw.as_slice());
                    let mut raw = raw.stroke(line.stroke).faint();
                    raw.short = Some(line.name().to_owned());
                    behind.push(raw);
                    line.dots = false;
                }
            }
        }
    }
    if axis == CurveAxis::Time || drawn.iter().any(|line| line.smoothed.is_some()) {
        let band = |(line, drawn): (&Line<'_>, &'a DrawnLine)| {
            let [low, high]: [Data<'a>; 2] = match &drawn.timed {
                Some(timed) => timed.band.as_ref()?.each_ref().map(|edge| edge.as_slice().into()),
                None => drawn.smoothed_band.as_ref()?.each_ref().map(|edge| edge.curve().into()),
            };
            Some(Band { label: line.values_label(), colour: line.colour, low, high })
        };
        chart.bands = chart.lines.iter().zip(drawn).filter_map(band).collect();
    }
    if axis == CurveAxis::Time {
        chart.x = Axis::new("time of training (s)");
        chart = chart.empty("These runs recorded no times.");
    }
    behind.append(&mut chart.lines);
    chart.lines = behind;
    chart
}

pub fn curves_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut ComparePage, step: u64) {
    let mut state = std::mem::take(&mut page.curves);
    match page.figure() {
        None => {
            let words = "These runs have no number that was measured more than once.";
            quiet_ui(ui, shell.theme, words);
        }
        Some(figure) => {
            let (mut smoothing, mut axis) = (state.smoothing, state.axis);
            let choices = CurveChoices { figure: figure.id(), is_folded: page.folded, smoothing, axis };
            let lines = drawn_lines(&mut state.drawn, figure, &page.runs.times, choices);
            let mut chart = chart(figure, lines, state.axis, shell.theme);
            chart.marker = page.step.filter(|_| state.axis == CurveAxis::Steps).map(|step| step as f64);
            ui.horizontal(|ui| {
                axis_ui(ui, &mut axis, page.runs.times.iter().any(|times| !times.is_empty()));
                log_ui(ui, &mut state.chart);
                let saved = |format| match format {
                    ExportFormat::Csv => chart.csv(&state.chart),
                    ExportFormat::Svg => chart.svg(&state.chart, shell.theme),
                    ExportFormat::Png => None,
                };
                save_ui(ui, shell.actions, &figure.file_stem(), &saved);
                let about = "Each value is averaged with as many before it as after it: by this factor the weight falls \
                             from point to point. Towards both ends fewer are averaged; the raw line stays faintly behind.";
                smoothing_ui(ui, &mut smoothing, about);
            });
            let room = vec2(ui.available_width(), (ui.available_height() - TABLE_HEIGHT).max(160.0));
            chart.show(ui, room, shell.theme, &mut state.chart);
            if axis != state.axis {
                (state.chart.zoom_x, state.chart.zoom_y) = (None, None);
            }
            (state.smoothing, state.axis) = (smoothing, axis);
        }
    }
    page.curves = state;
    scrubber_ui(ui, shell, page);
    ui.add_space(8.0);
    table_ui(ui, shell, page, step);
}

/// Chooses what the curves go along.
fn axis_ui(ui: &mut Ui, axis: &mut CurveAxis, has_times: bool) {
    for (choice, words) in [(CurveAxis::Steps, "by step"), (CurveAxis::Time, "by time")] {
        let can = choice == CurveAxis::Steps || has_times;
        ui.add_enabled_ui(can, |ui| {
            let about = "Along the steps, or along the seconds of training that each run had taken.";
            let button = ui.selectable_value(axis, choice, words).on_hover_text(about);
            button.on_disabled_hover_text("These runs recorded no times.");
        });
    }
}

/// Divides the axes by logarithms; a click on an axis does the same.
pub fn log_ui(ui: &mut Ui, chart: &mut ChartState) {
    for (words, scale, zoom) in
        [("log x", &mut chart.scale_x, &mut chart.zoom_x), ("log y", &mut chart.scale_y, &mut chart.zoom_y)]
    {
        let mut is_log = *scale == Some(Scale::Log);
        let about = "Makes the axis logarithmic. A click on the axis does the same.";
        if ui.checkbox(&mut is_log, words).on_hover_text(about).changed() {
            (*scale, *zoom) = (Some(if is_log { Scale::Log } else { Scale::Linear }), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> Comparison {
        let points = vec![[0.0, 4.0, 0.0], [10.0, 2.0, 0.0], [20.0, 0.0, 0.0]];
        let line = ComparedLine::new("lr 0.1".into(), 0, 0, points);
        Comparison { key: "loss".into(), variant: "a".into(), title: "loss".into(), lines: vec![line] }
    }

    fn choices(figure: &Comparison, smoothing: f64, axis: CurveAxis) -> CurveChoices {
        CurveChoices { figure: figure.id(), is_folded: false, smoothing, axis }
    }

    #[test]
    fn curves_go_along_the_time_of_training() {
        let (figure, times) = (figure(), [vec![(1, 0.5), (10, 5.0), (20, 11.0)]]);
        let over = |times: &[Vec<(u64, f64)>]| {
            let mut cache = KeyedCache::default();
            let lines = drawn_lines(&mut cache, &figure, times, choices(&figure, 0.0, CurveAxis::Time));
            lines[0].timed.as_ref().unwrap().mean.clone()
        };
        assert_eq!(over(&times), [[0.0, 4.0], [5.0, 2.0], [11.0, 0.0]]);
        assert!(over(&[vec![]]).is_empty(), "no times, no line");
    }

    #[test]
    fn a_smoothed_mean_stays_in_its_band_and_ends_at_its_value() {
        let points = vec![[0.0, 4.0, 0.1], [10.0, 2.0, 0.1], [20.0, 1.0, 0.1], [30.0, 0.7, 0.1]];
        let line = ComparedLine::new("2 seeds".into(), 0, 0, points);
        let figure = Comparison { lines: vec![line], ..figure() };
        for axis in [CurveAxis::Steps, CurveAxis::Time] {
            let times = [vec![(10, 10.0), (20, 20.0), (30, 30.0)]];
            let mut cache = KeyedCache::default();
            let lines = drawn_lines(&mut cache, &figure, &times, choices(&figure, 0.9, axis));
            let csv = chart(&figure, lines, axis, &Theme::dark()).csv(&ChartState::default()).unwrap();
            let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
            let head = "2 seeds (raw),\"2 seeds, smoothed\",\"2 seeds, smoothed (low)\",\"2 seeds, smoothed (high)\"";
            assert!(axis == CurveAxis::Time || csv.starts_with(&format!("step,{head}\n")), "{csv}");
            for row in &rows[1..] {
                let [raw, mean, low, high] = [1, 2, 3, 4].map(|column| row[column].parse::<f64>().unwrap());
                assert!(low < mean && mean < high, "{row:?}");
                let is_end = ["0", "30"].contains(&row[0]);
                assert!(!is_end || raw == mean, "{row:?}");
            }
        }
    }
}
