//! A table of every metric of the compared runs, with the best value of each marked, and charts of the chosen metric over
//! the settings that differ: those of a sweep, with the runs as its points.

use super::{ComparePage, scrubber_ui};
use crate::{
    experiments::sweep::results::order::Column,
    ui::{
        panels::{
            prelude::*,
            sweep::{pictures::slices_ui, table},
        },
        sweep_pictures::heat_ui,
        table::{Table, optional_field},
    },
};

/// Height of the pictures over the table, points.
const PICTURES_HEIGHT: f32 = 200.0;
/// Height from which there is room for them, points.
const WITH_PICTURES: f32 = 460.0;
/// Space between two pictures, points.
const GAP: f32 = 16.0;

#[derive(Debug, Default)]
pub struct PointsState {
    pub selected: Option<usize>,
    order: PointOrder,
    prepared: Option<Prepared>,
}

pub fn numbers_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut ComparePage, step: u64) {
    let results = page.results().clone();
    // that of the chosen figure; the first where it is none of the results
    let chosen = page.shown.as_ref().and_then(|id| results.number(id));
    let Some(number) = chosen.or_else(|| results.first_number()) else {
        quiet_ui(ui, shell.theme, "These runs have recorded no number.");
        return;
    };
    let others = (0..results.numbers.len()).filter(|i| *i != number).collect();
    let choices = PictureChoices { number, others, step, brush: Brush::default(), is_dark: shell.theme.dark };
    let mut state = std::mem::take(&mut page.points);
    let prepared = Prepared::renewed(state.prepared.take(), &results, choices);
    let theme = shell.theme.clone();
    let view = prepared.view(state.selected, Scale::Linear, &theme);
    scrubber_ui(ui, shell, page);
    ui.horizontal(|ui| {
        let about = "Saves the table, each number with all its digits.";
        if ui.button("Save the table (CSV)").on_hover_text(about).clicked() {
            let name = format!("numbers-step-{step}.{}", ExportFormat::Csv.extension());
            shell.act(FileAction::Save(name, csv(&results, step).into_bytes()));
        }
        selected_ui(ui, shell, &results, state.selected);
        let mark = table::mark_legend(&view).map(str::to_owned);
        let legend = mark.into_iter().chain(table::spread_legend(&view)).collect::<Vec<_>>().join(" · ");
        if !legend.is_empty() {
            truncated_ui(ui, legend, theme.secondary);
        }
    });
    let mut clicked = None;
    if ui.available_height() >= WITH_PICTURES && !results.axes.is_empty() {
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = GAP;
            let width = ui.available_width();
            let share = if prepared.cells.is_some() { (width * 0.6).floor() } else { width };
            let mut pointed = slices_ui(ui, vec2(share, PICTURES_HEIGHT), &view);
            if let Some(cells) = &prepared.cells {
                pointed = pointed.or(heat_ui(ui, vec2(width - share - GAP, PICTURES_HEIGHT), &view, cells));
            }
            clicked = pointed.clicked;
        });
        ui.add_space(8.0);
    }
    clicked = table::table_ui(ui, &mut state.order, &view).or(clicked);
    if clicked.is_some() {
        state.selected = if state.selected == clicked { None } else { clicked };
    }
    state.prepared = Some(prepared);
    page.points = state;
}

/// The selected point, with its runs to be opened.
pub fn selected_ui(ui: &mut Ui, shell: &mut Shell<'_>, results: &SweepResults, selected: Option<usize>) {
    let Some(point) = selected else {
        let words = "A click selects a run in the table and in every picture.";
        note_ui(ui, shell.theme, words);
        return;
    };
    ui.label(RichText::new(format!("selected: {}", results.point_name(point))).small());
    let runs: Vec<_> = results.runs_of(point).filter_map(|(_, run)| Some((run.seed, run.made.as_ref()?))).collect();
    for (seed, made) in &runs {
        let words = if runs.len() > 1 { format!("Open seed {seed}") } else { "Open".to_owned() };
        let open = ui.small_button(words).on_hover_text("Opens the run in its lab.");
        shell.on_click(open, OpenAction::Run(made.path.clone()));
    }
}

/// The table as numbers: one row per point with its settings, its seeds if they are not settings, the mean and standard
/// deviation of each number, of a paired difference its interval too, and the steps of the values.
fn csv(results: &SweepResults, step: u64) -> String {
    let mut head: Vec<String> = vec!["run".into()];
    head.extend(results.axes.iter().map(|axis| axis.key.clone()));
    let has_seeds = results.axes.iter().all(|axis| axis.key != "seed");
    head.extend(has_seeds.then(|| "seeds".to_owned()));
    let values_at_step: Vec<_> =
        (0..results.numbers.len()).map(|number| results.values_at_step(number, step)).collect();
    let of_number = |n: &Number| {
        let interval = [", 95% low", ", 95% high"].into_iter().filter(|_| n.is_paired);
        let columns = ["", ", sd over seeds"].into_iter().chain(interval).chain([", step"]);
        columns.map(|what| format!("{}{what}", n.heading)).collect::<Vec<_>>()
    };
    head.extend(results.numbers.iter().flat_map(of_number));
    let order = PointOrder { column: Column::Point, is_falling: false };
    let mut out = Table::new(head);
    for point in order.sorted(results, None) {
        let mut line = vec![results.point_name(point)];
        line.extend(results.points.get(point).map(|p| p.values.clone()).unwrap_or_default());
        let seeds: Vec<String> = results.runs_of(point).map(|(_, run)| run.seed.to_string()).collect();
        line.extend(has_seeds.then(|| seeds.join(", ")));
        for (number, values_at_step) in results.numbers.iter().zip(&values_at_step) {
            let value = values_at_step.values.get(point).and_then(Option::as_ref);
            line.push(optional_field(value.map(|v| v.mean)));
            line.push(optional_field(value.and_then(|v| v.sd)));
            if number.is_paired {
                let interval = value.and_then(|v| v.interval);
                line.extend([interval.map(|i| i.0), interval.map(|i| i.1)].map(optional_field));
            }
            line.push(value.map_or(String::new(), |v| match v.steps {
                [first, last] if first == last => first.to_string(),
                [first, last] => format!("{first} to {last}"),
            }));
        }
        out.row(line);
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiments::sweep::results::ResultPoint,
        ui::sweep_pictures::fixtures::{recorded_number, unmade_run},
    };

    #[test]
    fn a_row_names_its_seeds() {
        let point = ResultPoint { values: vec![], places: vec![] };
        let results = SweepResults {
            names: vec!["lr 0.1, 2 seeds".into(), "lr 1".into()],
            points: vec![point.clone(), point],
            runs: vec![unmade_run(0, 3), unmade_run(0, 4), unmade_run(1, 3)],
            ..SweepResults::default()
        };
        assert_eq!(csv(&results, 10), "run,seeds\n\"lr 0.1, 2 seeds\",\"3, 4\"\nlr 1,3\n");
        let head = |is_paired| {
            let number = Number { is_paired, ..recorded_number("d", [0.0, 1.0, 2.0].map(Some)) };
            let with = SweepResults { numbers: vec![number], ..results.clone() };
            csv(&with, 10).lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(head(false), "run,seeds,d,\"d, sd over seeds\",\"d, step\"");
        assert_eq!(head(true), "run,seeds,d,\"d, sd over seeds\",\"d, 95% low\",\"d, 95% high\",\"d, step\"");
    }
}
