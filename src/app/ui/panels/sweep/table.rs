//! The table of a sweep's points, or of compared runs: settings, runs, and numbers as means with their spread over seeds.
//! The best of each number are marked. Only visible rows are drawn.

use crate::{
    experiments::{
        seeds,
        sweep::results::{BEST_RULE, PointValue, order::Column},
    },
    ui::{
        panels::prelude::*,
        widgets::sorted_table::{CellText, HEAD_LINE, PAD, SortedTable, TableColumn, cell_ui},
    },
};

const ROW_HEIGHT: f32 = 24.0;
/// Height of the header if every heading fits on one line, points.
const HEAD_HEIGHT: f32 = 22.0;
/// Width of a point's number with its colour, points.
const POINT_WIDTH: f32 = 72.0;
/// Width of a point's name with its colour, points.
const NAMED_POINT_WIDTH: f32 = 240.0;
/// Minimum width of a setting, points.
const MIN_SETTING_WIDTH: f32 = 72.0;
/// Minimum width of a number with its spread, points.
const MIN_NUMBER_WIDTH: f32 = 176.0;
/// Width of the column that counts the finished runs, points.
const RUN_COUNT_WIDTH: f32 = 72.0;

/// Draws the table; the point that was clicked.
pub fn table_ui(ui: &mut Ui, order: &mut PointOrder, view: &SweepView<'_>) -> Option<usize> {
    let frame = TableFrame::new(ui, order, view);
    let points = rows(order, view);
    let mut clicked = None;
    let sorted = frame.table.show(ui, points.len(), |ui, i| {
        if row_ui(ui, view, &frame, points[i]).clicked() {
            clicked = Some(points[i]);
        }
    });
    if let Some(column) = sorted {
        order.click(frame.columns[column].clone());
    }
    clicked
}

/// The meaning of the marks in the table, where a point has one; or why the shown number marks none.
pub fn mark_legend(view: &SweepView<'_>) -> Option<&'static str> {
    if view.best.values().any(|best| best.as_ref().is_ok_and(|points| !points.is_empty())) {
        return Some("★ best within its spread");
    }
    let shown = view.shown_number().filter(|number| view.results.can_mark_best(number))?;
    view.best.get(&shown.id)?.as_ref().err().copied()
}

/// The meaning of the spreads in the table; `None` where there is none.
pub fn spread_legend(view: &SweepView<'_>) -> Option<String> {
    let has_spread = |number: &&Number| {
        let values = view.values_at_step.get(&number.id);
        values.is_some_and(|values| values.values.iter().flatten().any(|value| value.sd.is_some()))
    };
    seeds::spread_legend(numbers(view).filter(has_spread).map(|number| number.is_paired))
}

fn rows(order: &PointOrder, view: &SweepView<'_>) -> Vec<usize> {
    let values_at_step = match &order.column {
        Column::Number(id) => view.values_at_step.get(id),
        _ => None,
    };
    let order = order.sorted(view.results, values_at_step);
    order.into_iter().filter(|point| view.is_in_brush(*point)).collect()
}

fn numbers<'a>(view: &SweepView<'a>) -> impl Iterator<Item = &'a Number> {
    let places = std::iter::once(view.number).chain(view.others.iter().copied());
    places.filter_map(|place| view.results.numbers.get(place))
}

/// The frame of the table, and what its columns are.
struct TableFrame<'a> {
    columns: Vec<Column>,
    table: SortedTable<'a>,
}

impl<'a> TableFrame<'a> {
    /// The columns share the width there is, if it is enough. Headings without room in it are on two lines.
    fn new(ui: &Ui, order: &PointOrder, view: &SweepView<'a>) -> Self {
        let settings = view.results.axes.iter().enumerate().map(|(i, axis)| (Column::Axis(i), axis.key.clone()));
        let numbers: Vec<(Column, String)> =
            numbers(view).map(|n| (Column::Number(n.id.clone()), heading(view, n))).collect();
        let (axes, count) = (view.results.axes.len() as f32, numbers.len() as f32);
        let has_names = !view.results.names.is_empty();
        let (points, point) = if has_names { ("run", NAMED_POINT_WIDTH) } else { ("point", POINT_WIDTH) };
        let shared = ui.available_width() - point - RUN_COUNT_WIDTH;
        // a number with its spread is wider than a setting
        let number = (1.5 * shared / (axes + 1.5 * count).max(1.0)).max(MIN_NUMBER_WIDTH);
        let part = ((shared - number * count) / axes.max(1.0)).max(MIN_SETTING_WIDTH);
        let theme = view.theme;
        let has_room = |(_, words): &(Column, String)| note_width(ui.painter(), words) <= number - 3.0 * PAD;
        let head = if numbers.iter().all(has_room) { HEAD_HEIGHT } else { 2.0 * HEAD_LINE };
        let all = std::iter::once((Column::Point, points.to_owned(), point))
            .chain(settings.map(|(column, words)| (column, words, part)))
            .chain([(Column::Runs, "finished".to_owned(), RUN_COUNT_WIDTH)])
            .chain(numbers.into_iter().map(|(column, words)| (column, words, number)));
        let (ids, columns) = all
            .map(|(column, heading, width)| {
                let descending = (order.column == column).then_some(order.is_falling);
                let align_right = column != Column::Point;
                (column, TableColumn { heading, width, align_right, descending })
            })
            .unzip();
        let table = SortedTable { id: "points", theme, columns, left: 0.0, head, row: ROW_HEIGHT, wanted: None };
        Self { columns: ids, table }
    }
}

fn row_ui(ui: &mut Ui, view: &SweepView<'_>, frame: &TableFrame<'_>, point: usize) -> Response {
    let theme = view.theme;
    let is_best = |id: &NumberId| matches!(view.best.get(id), Some(Ok(points)) if points.contains(&point));
    let unmarked =
        numbers(view).find_map(|number| view.best.get(&number.id)?.as_ref().err().map(|why| (*why).to_owned()));
    let name = format!("point {}, {}", point + 1, view.results.point_name(point));
    let response = frame.table.row_ui(ui, &name, view.selected == Some(point));
    let mut cut_off = vec![];
    for (column, place) in frame.columns.iter().zip(frame.table.places(response.rect)) {
        if *column == Column::Point {
            let swatch = Rect::from_center_size(place.left_center() + vec2(PAD + 5.0, 0.0), vec2(10.0, 10.0));
            ui.painter().rect_filled(swatch, 2.0, view.colour(point));
            let mark = if view.shown_number().is_some_and(|number| is_best(&number.id)) { " ★" } else { "" };
            let (text, font) = match view.results.names.get(point) {
                Some(name) => (format!("{name}{mark}"), FontId::proportional(theme::BODY)),
                None => (format!("{}{mark}", point + 1), theme::numbers()),
            };
            let cell = CellText { text, font, colour: theme.text, align_right: false };
            cell_ui(ui, place.with_min_x(place.left() + 16.0), cell);
            continue;
        }
        let mut text = cell(view, column, point);
        if let Column::Number(id) = column
            && is_best(id)
        {
            text = format!("★ {text}");
        }
        let colour = if text == NO_VALUE { theme.secondary } else { theme.text };
        let whole = text.clone();
        let is_cut = cell_ui(ui, place, CellText { text, font: theme::numbers(), colour, align_right: true });
        if let Column::Number(id) = column
            && is_cut
        {
            cut_off.extend(numbers(view).find(|n| n.id == *id).map(|n| format!("{}: {whole}", n.heading)));
        }
    }
    let best = |number: &Number| {
        let step = view.values_at_step.get(&number.id).filter(|_| is_best(&number.id))?.newest_step()?;
        Some(format!("{} at {}", number.heading, steps_label([step; 2])))
    };
    let best: Vec<String> = numbers(view).filter_map(best).collect();
    let best = (!best.is_empty()).then(|| format!("★ best within its spread, by {}\n{BEST_RULE}", best.join("; ")));
    let about: Vec<String> = cut_off.into_iter().chain(best).chain(unmarked).collect();
    if about.is_empty() { response } else { response.on_hover_text(about.join("\n")) }
}

/// The heading of a number, with the step of its values if that differs from the shown step.
fn heading(view: &SweepView<'_>, number: &Number) -> String {
    let values_at_step = view.values_at_step.get(&number.id);
    let step = values_at_step
        .and_then(|values_at_step| values_at_step.newest_step().filter(|step| *step != values_at_step.step));
    step.map_or_else(|| number.heading.clone(), |step| format!("{}, {}", number.heading, steps_label([step; 2])))
}

/// Stands where nothing is recorded so far.
const NO_VALUE: &str = "no value";

fn cell(view: &SweepView<'_>, column: &Column, point: usize) -> String {
    let results = view.results;
    match column {
        Column::Point => String::new(),
        Column::Axis(axis) => results.value_label(point, *axis),
        Column::Runs => format!("{} of {}", results.finished(point), results.run_count(point)),
        Column::Number(id) => {
            let number = numbers(view).find(|n| n.id == *id);
            let values_at_step = view.values_at_step.get(id);
            match (number, values_at_step.and_then(|values_at_step| values_at_step.values.get(point)?.as_ref())) {
                (Some(number), Some(value)) => {
                    let other_steps = values_at_step.and_then(|values_at_step| values_at_step.other_steps(point));
                    value_label(number, value, results.run_count(point), other_steps)
                }
                _ => NO_VALUE.to_owned(),
            }
        }
    }
}

/// "0.0123 ± 0.0011", with the number of seeds where some lack a value, and with the steps where they differ from the
/// heading's.
fn value_label(number: &Number, value: &PointValue, seeds: usize, other_steps: Option<[u64; 2]>) -> String {
    let known = value.each.len();
    let notes = (known < seeds).then(|| format!("{known} of {seeds}")).into_iter().chain(other_steps.map(steps_label));
    let notes: Vec<String> = notes.collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    format!("{}{notes}", value.label(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiments::sweep::results::{ONE_SEED, ResultPoint},
        labs::headline::Digits,
        ui::sweep_pictures::fixtures::{recorded_number, unmade_run},
    };

    /// Two points of two seeds, each run with this loss.
    fn results(losses: [Option<f64>; 4]) -> Arc<SweepResults> {
        let point = ResultPoint { values: vec![], places: vec![] };
        Arc::new(SweepResults {
            points: vec![point.clone(), point],
            seeds: vec![7, 8],
            runs: (0..4).map(|i| unmade_run(i / 2, 7 + (i % 2) as u64)).collect(),
            numbers: vec![recorded_number("loss", losses)],
            ..SweepResults::default()
        })
    }

    #[test]
    fn the_mark_is_explained_where_a_point_has_it() {
        let legends = |losses| {
            let choices =
                PictureChoices { number: 0, others: vec![], step: 10, brush: Brush::default(), is_dark: true };
            let prepared = Prepared::new(&results(losses), choices);
            let (theme, selected) = (Theme::dark(), None);
            let view = prepared.view(selected, Scale::Linear, &theme);
            (mark_legend(&view), spread_legend(&view))
        };
        let spread = || Some("mean ± standard deviation over seeds".to_owned());
        let apart = [Some(1.0), Some(1.1), Some(5.0), Some(5.1)];
        assert_eq!(legends(apart), (Some("★ best within its spread"), spread()));
        assert_eq!(legends([Some(1.0), Some(2.0), Some(1.1), Some(2.1)]), (None, spread()), "none stands out");
        assert_eq!(legends([Some(1.0), Some(1.1), Some(5.0), None]), (Some(ONE_SEED), spread()));
    }

    #[test]
    fn a_value_of_another_step_says_so() {
        let number = Number { digits: Some(Digits::Decimals(2)), ..recorded_number("loss", []) };
        let of = |each: &[(usize, f64)]| {
            let sd = (each.len() > 1).then_some(0.5);
            let interval = sd.map(|sd| (5.55 - 9.0 * sd, 5.55 + 9.0 * sd));
            PointValue { mean: 5.55, sd, interval, each: each.to_vec(), steps: [0, 400] }
        };
        let label = |each: &[(usize, f64)], steps| value_label(&number, &of(each), 2, steps);
        let both = [(0, 5.05), (1, 6.05)];
        assert_eq!(label(&both, None), "5.55 ± 0.50");
        assert_eq!(label(&both, Some([0, 400])), "5.55 ± 0.50 (steps 0 to 400)");
        let count = Number { digits: Some(Digits::Decimals(0)), ..number.clone() };
        let (sd, each) = (Some(0.5f64.sqrt()), vec![(0, 2.0), (1, 1.0)]);
        let two = PointValue { mean: 1.5, sd, interval: Some((-4.9, 7.9)), each, steps: [0, 0] };
        assert_eq!(value_label(&count, &two, 2, None), "1.50 ± 0.71", "a mean of whole numbers is not whole");
        let difference = Number { is_paired: true, ..number.clone() };
        let words = value_label(&difference, &of(&both), 2, Some([0, 400]));
        assert_eq!(words, "5.55 [1.05, 10.05] (steps 0 to 400)", "as the command line writes it");
        assert_eq!(label(&both[..1], Some([0, 0])), "5.55 (1 of 2, step 0)");
    }
}
