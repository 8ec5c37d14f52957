//! Any two numbers of the compared runs against each other, or one against a setting: one dot per run, or per mean over
//! seeds.

use super::{ComparePage, curves::log_ui, numbers::selected_ui, save_ui, scrubber_ui};
use crate::{
    experiments::sweep::results::{AxisKind, ValuesAtStep},
    ui::{
        panels::prelude::*,
        plot::{Axis, Chart, Data, Line, Mark, Stroke},
        sweep_pictures::{OWN_COLOURS, point_colours},
        table::Table,
    },
};

#[derive(Debug, Default)]
pub struct ScatterState {
    x: Option<Dimension>,
    y: Option<Dimension>,
    chart: ChartState,
}

impl ScatterState {
    /// True if an axis has a number whose key is wanted.
    pub fn shows(&self, is_wanted: fn(&str) -> bool) -> bool {
        let is_shown = |dimension: &Dimension| matches!(dimension, Dimension::Number(id) if is_wanted(&id.key));
        [&self.x, &self.y].into_iter().flatten().any(is_shown)
    }
}

/// A number or a setting of numbers with its values.
enum Values {
    /// The value of each point.
    Setting(Vec<f64>),
    Number(ValuesAtStep),
}

impl Values {
    fn new(results: &SweepResults, dimension: &Dimension, step: u64) -> Option<Self> {
        Some(match dimension {
            Dimension::Axis(axis) => {
                let places = results.points.iter().map(|p| p.places.get(*axis).copied().unwrap_or(f64::NAN));
                Self::Setting(places.collect())
            }
            Dimension::Number(id) => Self::Number(results.values_at_step(results.number(id)?, step)),
        })
    }

    /// The steps at which the number of one or all points was measured, unless they are the shown step: "step 0".
    fn other_steps(&self, point: Option<usize>) -> Option<String> {
        let Self::Number(values_at_step) = self else { return None };
        let steps = match point {
            Some(point) => values_at_step.values.get(point)?.as_ref()?.steps,
            None => values_at_step.steps?,
        };
        (steps != [values_at_step.step; 2]).then(|| steps_label(steps))
    }

    fn of_run(&self, point: usize, run: usize) -> Option<f64> {
        match self {
            Self::Setting(values) => values.get(point).copied(),
            Self::Number(values_at_step) => {
                let value = values_at_step.values.get(point)?.as_ref()?;
                value.each.iter().find(|(i, _)| *i == run).map(|(_, v)| *v)
            }
        }
        .filter(|v| v.is_finite())
    }

    fn of_runs(&self, results: &SweepResults) -> Vec<f64> {
        results.runs.iter().enumerate().filter_map(|(run, of)| self.of_run(of.point, run)).collect()
    }
}

/// The quantities of an axis: settings of numbers, then numbers.
fn dimensions(results: &SweepResults) -> Vec<Dimension> {
    let is_numeric = |i: &usize| matches!(results.axes[*i].kind, AxisKind::Numbers { .. });
    let axes = (0..results.axes.len()).filter(is_numeric).map(Dimension::Axis);
    axes.chain(results.numbers.iter().map(|n| Dimension::Number(n.id.clone()))).collect()
}

/// The initial axes: of what differs between the runs and is not the seed, the first quantity and the first number
/// besides; where there is none, any.
fn first_axes(results: &SweepResults, step: u64) -> [Option<Dimension>; 2] {
    let all = dimensions(results);
    let is_seed = |d: &Dimension| matches!(d, Dimension::Axis(axis) if results.axes[*axis].key == "seed");
    let differs = |d: &Dimension| {
        let values = Values::new(results, d, step).map(|values| values.of_runs(results));
        values.is_some_and(|values| values.iter().any(|v| *v != values[0]))
    };
    let telling: Vec<&Dimension> = all.iter().filter(|d| !is_seed(d) && differs(d)).collect();
    let x = telling.first().copied().or(all.first());
    let numbers = || all.iter().filter(|d| matches!(d, Dimension::Number(_)) && Some(*d) != x);
    let y = numbers().find(|d| telling.contains(d)).or_else(|| numbers().next()).or(all.first());
    [x.cloned(), y.cloned()]
}

fn label(results: &SweepResults, dimension: &Dimension) -> String {
    match dimension {
        Dimension::Axis(axis) => results.axis_title(*axis),
        Dimension::Number(id) => {
            results.number(id).map_or_else(|| id.key.clone(), |i| results.numbers[i].heading.clone())
        }
    }
}

/// The dot of a point: the mean over its runs that have both values.
fn mean_dot(results: &SweepResults, point: usize, [x, y]: [&Values; 2]) -> Option<[f64; 2]> {
    let of_run = |(run, _): (usize, _)| Some((x.of_run(point, run)?, y.of_run(point, run)?));
    let (x, y): (Vec<f64>, Vec<f64>) = results.runs_of(point).filter_map(of_run).unzip();
    Some([mean(&x)?, mean(&y)?])
}

/// The mean of values, which is the value itself where all are the same.
fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    let is_one = values.iter().all(|value| *value == first);
    Some(if is_one { first } else { values.iter().sum::<f64>() / values.len() as f64 })
}

/// Room beside the outermost dots for their whole marks, as a share of their distance. The y axis has its own.
const MARGIN: f64 = 0.04;

/// The chart, and the index of the point to which each of its lines belongs.
fn chart(
    results: &SweepResults,
    of: [&Dimension; 2],
    step: u64,
    selected: Option<usize>,
    theme: &Theme,
) -> (Chart<'static>, Vec<usize>) {
    let values = of.map(|dimension| Values::new(results, dimension, step));
    let axis = |dimension: &Dimension, values: &Option<Values>| {
        let steps = values.as_ref().and_then(|values| values.other_steps(None));
        let steps = steps.map_or(String::new(), |steps| format!(", {steps}"));
        let all = values.as_ref().map(|values| values.of_runs(results)).unwrap_or_default();
        let integer_ticks = !all.is_empty() && all.iter().all(|v| v.fract() == 0.0);
        Axis { integer_ticks, ..Axis::new(format!("{}{steps}", label(results, dimension))) }
    };
    let [x, y] = [0, 1].map(|i| axis(of[i], &values[i]));
    let mut chart = Chart::new("scatter of runs", x.margin(MARGIN), y).empty("No run has recorded both by this step.");
    chart.legend = results.points.len() <= OWN_COLOURS;
    let (mut points, colours) = (vec![], point_colours(results, theme));
    let [Some(x), Some(y)] = values else { return (chart, points) };
    for point in (0..results.points.len()).filter(|p| selected != Some(*p)).chain(selected) {
        let Some(dot) = mean_dot(results, point, [&x, &y]) else { continue };
        let colour = colours.get(point).copied().unwrap_or(theme.text);
        let is_selected = selected == Some(point);
        let mark = if is_selected { Mark::Cross } else { Mark::Ring };
        let mut line = Line::new(results.point_name(point), colour, vec![dot]).stroke(Stroke::Marks(mark));
        line.width = if is_selected { 3.0 } else { 1.5 };
        chart.add(line);
        points.push(point);
    }
    (chart, points)
}

/// A row a dot: its name and both of its values; `None` without dots.
fn csv(chart: &Chart<'_>) -> Option<String> {
    let mut table = Table::new(["run", chart.x.label.as_str(), chart.y.label.as_str()]);
    for line in &chart.lines {
        if let Data::Points(dots) = &line.data {
            dots.iter().for_each(|[x, y]| table.cells(&[&line.label, x, y]));
        }
    }
    table.finish_if_any()
}

pub fn scatter_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut ComparePage, step: u64) {
    let results = page.results().clone();
    let mut state = std::mem::take(&mut page.scatter);
    if state.x.is_none() {
        [state.x, state.y] = first_axes(&results, step);
    }
    ui.horizontal(|ui| {
        let before = (state.x.clone(), state.y.clone());
        axis_ui(ui, shell, &results, "x", &mut state.x);
        axis_ui(ui, shell, &results, "y", &mut state.y);
        if before != (state.x.clone(), state.y.clone()) {
            state.chart = ChartState::default();
        }
        log_ui(ui, &mut state.chart);
        if let (Some(x), Some(y)) = (&state.x, &state.y) {
            let saved = |format| {
                let (chart, _) = chart(&results, [x, y], step, None, shell.theme);
                match format {
                    ExportFormat::Csv => csv(&chart),
                    ExportFormat::Svg => chart.svg(&state.chart, shell.theme),
                    ExportFormat::Png => None,
                }
            };
            save_ui(ui, shell.actions, "scatter", &saved);
        }
    });
    ui.horizontal(|ui| selected_ui(ui, shell, &results, page.points.selected));
    scrubber_ui(ui, shell, page);
    if let (Some(x), Some(y)) = (state.x.clone(), state.y.clone()) {
        let (chart, points) = chart(&results, [&x, &y], step, page.points.selected, shell.theme);
        let room = vec2(ui.available_width(), ui.available_height().max(160.0));
        let shown = chart.show(ui, room, shell.theme, &mut state.chart);
        let hovered = shown.hovered_line.and_then(|line| points.get(line).copied());
        if let Some(point) = hovered {
            if shown.response.clicked() {
                page.points.selected = if page.points.selected == Some(point) { None } else { Some(point) };
            }
            let words = dot_tooltip(&results, point, [&x, &y], step);
            shown.response.on_hover_ui_at_pointer(|ui| _ = ui.label(RichText::new(words).small()));
        }
    }
    page.scatter = state;
}

/// A run's name and its two values; for folded runs the means, and the number of runs.
fn dot_tooltip(results: &SweepResults, point: usize, of: [&Dimension; 2], step: u64) -> String {
    let mut words = results.point_name(point);
    let values = of.map(|dimension| Values::new(results, dimension, step));
    for (dimension, values) in of.iter().zip(&values) {
        let each = results.runs_of(point).filter_map(|(run, _)| values.as_ref()?.of_run(point, run));
        let each: Vec<f64> = each.collect();
        let mut labels: Vec<String> = each.iter().copied().map(value_label).collect();
        labels.dedup();
        let value = match (mean(&each), &labels[..]) {
            (Some(mean), [_, _, ..]) => format!("{}, mean of {}", value_label(mean), labels.join(", ")),
            _ => labels.join(", "),
        };
        let steps = values.as_ref().and_then(|values| values.other_steps(Some(point)));
        let steps = steps.map_or(String::new(), |steps| format!(" ({steps})"));
        words += &format!("\n{}: {value}{steps}", label(results, dimension));
    }
    words
}

fn axis_ui(ui: &mut Ui, shell: &Shell<'_>, results: &SweepResults, name: &str, chosen: &mut Option<Dimension>) {
    let word = note_ui(ui, shell.theme, name);
    let selected = chosen.as_ref().map_or_else(String::new, |d| label(results, d));
    let choices = dimensions(results).into_iter().map(|dimension| {
        let (words, is_chosen) = (label(results, &dimension), chosen.as_ref() == Some(&dimension));
        (dimension, words, is_chosen)
    });
    let (clicked, list) = list_box(ui, (name, word.id), 200.0, &selected, choices);
    list.on_hover_text("The number or setting on this axis.");
    if clicked.is_some() {
        *chosen = clicked;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiments::sweep::results::{ResultAxis, ResultPoint},
        ui::sweep_pictures::fixtures::{recorded_number, unmade_run},
    };

    fn results() -> SweepResults {
        let number = |key: &str, values: [f64; 2]| recorded_number(key, values.map(Some));
        let point = |x: f64| ResultPoint { values: vec![x.to_string()], places: vec![x] };
        SweepResults {
            axes: vec![ResultAxis { key: "train.lr".into(), kind: AxisKind::Numbers { is_log: false } }],
            points: vec![point(0.1), point(0.2)],
            names: vec!["slow".into(), "fast".into()],
            seeds: vec![7],
            runs: vec![unmade_run(0, 7), unmade_run(1, 7)],
            numbers: vec![number("loss", [2.0, 1.0]), number("gate", [0.5, f64::NAN])],
            every: 1,
            ..SweepResults::default()
        }
    }

    #[test]
    fn a_dot_stands_where_a_run_has_both_numbers() {
        let (results, theme) = (results(), Theme::dark());
        let all = dimensions(&results);
        assert_eq!(all.iter().map(|d| label(&results, d)).collect::<Vec<_>>(), ["train.lr", "loss", "gate"]);
        let names = |of: [&Dimension; 2], step| {
            let (chart, points) = chart(&results, of, step, Some(0), &theme);
            assert_eq!(chart.lines.len(), points.len());
            chart.lines.iter().map(|line| line.label.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names([&all[0], &all[1]], 10), ["fast", "slow"], "the selected one lies over the others");
        assert_eq!(names([&all[1], &all[2]], 10), ["slow"], "the other has no gate");
        assert!(names([&all[0], &all[1]], 9).is_empty(), "nothing is recorded by then");
        assert_eq!(dot_tooltip(&results, 0, [&all[0], &all[1]], 10), "slow\ntrain.lr: 0.1000\nloss: 2.000");
        let (shown, _) = chart(&results, [&all[0], &all[1]], 10, None, &theme);
        assert_eq!(shown.x.margin, 0.04, "no mark is cut");
        let later = dot_tooltip(&results, 0, [&all[0], &all[1]], 400);
        assert_eq!(later, "slow\ntrain.lr: 0.1000\nloss: 2.000 (step 10)", "a value says its own step");
    }

    #[test]
    fn an_axis_says_that_a_setting_was_changed_in_training() {
        let (mut results, theme) = (results(), Theme::dark());
        results.points[0].values = vec!["0.2 \u{2192} 0.1".into()];
        let all = dimensions(&results);
        let (shown, _) = chart(&results, [&all[0], &all[1]], 10, None, &theme);
        assert_eq!(shown.x.label, "train.lr (last value)");
        let tooltip = dot_tooltip(&results, 0, [&all[0], &all[1]], 10);
        assert_eq!(tooltip, "slow\ntrain.lr (last value): 0.1000\nloss: 2.000");
    }

    #[test]
    fn the_axes_to_begin_with_tell_runs_apart() {
        let mut results = results();
        let words = |results: &SweepResults| {
            first_axes(results, 10).map(|d| d.map_or_else(String::new, |d| label(results, &d)))
        };
        assert_eq!(words(&results), ["train.lr", "loss"]);
        results.axes[0].key = "seed".into();
        assert_eq!(words(&results), ["loss", "gate"], "the seed tells nothing; the gate is the other number");
        results.numbers[0].series = [2.0, 2.0].map(|v| Arc::new(vec![(10, v)])).into();
        results.numbers[1].series = [0.5, 0.25].map(|v| Arc::new(vec![(10, v)])).into();
        assert_eq!(words(&results), ["gate", "loss"], "all losses are the same");
        results.numbers.clear();
        assert_eq!(words(&results), ["seed", "seed"], "there is nothing else");
    }

    #[test]
    fn whole_numbers_have_whole_ticks() {
        let (mut results, theme) = (results(), Theme::dark());
        results.axes[0].key = "seed".into();
        results.points.iter_mut().zip([3.0, 4.0]).for_each(|(point, seed)| point.places = vec![seed]);
        let all = dimensions(&results);
        let (chart, _) = chart(&results, [&all[0], &all[2]], 10, None, &theme);
        assert!(chart.x.integer_ticks && !chart.y.integer_ticks);
    }

    #[test]
    fn a_table_names_both_values() {
        let (results, theme) = (results(), Theme::dark());
        let all = dimensions(&results);
        let of = |of: [&Dimension; 2], step| csv(&chart(&results, of, step, None, &theme).0);
        let text = of([&all[0], &all[1]], 10).unwrap();
        assert_eq!(text, "run,train.lr,loss\nslow,0.1,2\nfast,0.2,1\n");
        assert_eq!(of([&all[0], &all[1]], 9), None, "nothing is recorded by then");
    }

    #[test]
    fn folded_seeds_are_one_dot_at_their_mean() {
        let (mut results, theme) = (results(), Theme::dark());
        results.points.truncate(1);
        results.runs[1].point = 0;
        let all = dimensions(&results);
        let (chart, points) = chart(&results, [&all[0], &all[1]], 10, None, &theme);
        let [Line { data: Data::Points(dots), .. }] = &chart.lines[..] else { panic!("one line, of points") };
        assert_eq!((&dots[..], points), (&[[0.1, 1.5]][..], vec![0]));
        let words = dot_tooltip(&results, 0, [&all[0], &all[1]], 10);
        assert!(words.ends_with("\ntrain.lr: 0.1000\nloss: 1.500, mean of 2.000, 1.000"), "{words}");
    }
}
