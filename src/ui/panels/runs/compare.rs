//! Runs of the table beside each other: one number at a time, all runs in one chart under one scrubber, and the settings that
//! differ. What is shown was read elsewhere.

use eframe::egui::{self, ComboBox, Grid, RichText, ScrollArea, Slider, Ui, vec2};

use super::caption;
use crate::ui::{
    comparison::{ComparedRuns, Comparison},
    panels::Shell,
    plot::ChartState,
    theme,
    widgets::number,
};

/// Height of what stands under the chart, points.
const TABLE: f32 = 216.0;

/// What is looked at.
#[derive(Debug, Default)]
pub struct ComparePage {
    runs: ComparedRuns,
    /// The figure that is shown: number and variant.
    shown: Option<(String, String)>,
    folded: bool,
    /// All runs as of this step; `None`: the last.
    step: Option<u64>,
    chart: ChartState,
}

impl ComparePage {
    pub fn new(runs: ComparedRuns) -> Self {
        // The first number is a lab's first: its loss, of the first variant.
        let first = runs.figures.iter().find(|f| f.key == "held_out_loss").or(runs.figures.first());
        let shown = first.map(|f| (f.key.clone(), f.variant.clone()));
        Self { runs, shown, ..Self::default() }
    }

    fn figures(&self) -> &[Comparison] {
        if self.folded { &self.runs.folded } else { &self.runs.figures }
    }

    fn figure(&self) -> Option<&Comparison> {
        let (key, variant) = self.shown.as_ref()?;
        self.figures().iter().find(|f| f.key == *key && f.variant == *variant)
    }

    fn last_step(&self) -> u64 {
        self.runs.figures.iter().flat_map(|f| &f.lines).filter_map(|l| l.last_step()).max().unwrap_or(0)
    }
}

/// Whether it was left.
pub fn compare_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut ComparePage) -> bool {
    let is_left = ui
        .horizontal(|ui| {
            let back = ui.button("‹ Table").on_hover_text("Back to the table of runs (Esc)").clicked();
            choice_ui(ui, shell, page);
            back
        })
        .inner;
    ui.add_space(8.0);
    let last = page.last_step();
    let step = page.step.unwrap_or(last).min(last);
    let mut state = std::mem::take(&mut page.chart);
    match page.figure() {
        None => {
            let words = "These runs have no number that was measured more than once.";
            ui.label(RichText::new(words).color(shell.theme.secondary));
        }
        Some(figure) => {
            let mut chart = figure.chart(shell.theme);
            chart.marker = page.step.map(|step| step as f64);
            let room = vec2(ui.available_width(), (ui.available_height() - TABLE).max(160.0));
            chart.show(ui, room, shell.theme, &mut state);
        }
    }
    page.chart = state;
    scrubber_ui(ui, shell, page, last);
    ui.add_space(8.0);
    table_ui(ui, shell, page, step);
    is_left
}

fn choice_ui(ui: &mut Ui, shell: &Shell<'_>, page: &mut ComparePage) {
    let words = |f: &Comparison| format!("{} · {}", f.title, f.variant);
    let selected = page.figure().map_or_else(String::new, words);
    let label = ui.label(RichText::new("number").small().color(shell.theme.secondary));
    let mut chosen = None;
    let combo = ComboBox::from_id_salt("number").selected_text(selected).width(280.0).truncate();
    let combo = combo.show_ui(ui, |ui| {
        for figure in page.figures() {
            let key = (figure.key.clone(), figure.variant.clone());
            if ui.selectable_label(page.shown.as_ref() == Some(&key), words(figure)).clicked() {
                chosen = Some(key);
            }
        }
    });
    combo.response.labelled_by(label.id);
    if let Some(key) = chosen {
        page.shown = Some(key);
        page.chart = ChartState::default();
    }
    let about = "Runs that differ in nothing but their seed become one line: their mean, with a band of one standard deviation.";
    ui.checkbox(&mut page.folded, "fold seeds").on_hover_text(about);
}

fn scrubber_ui(ui: &mut Ui, shell: &Shell<'_>, page: &mut ComparePage, last: u64) {
    ui.horizontal(|ui| {
        let label = ui.label(RichText::new("step").small().color(shell.theme.secondary));
        ui.spacing_mut().slider_width = (ui.available_width() - 160.0).max(80.0);
        let mut step = page.step.unwrap_or(last).min(last);
        let slider = Slider::new(&mut step, 0..=last.max(1)).integer();
        if ui.add(slider).labelled_by(label.id).on_hover_text("The values below are those of this step.").changed() {
            page.step = (step < last).then_some(step);
        }
    });
}

/// A row a run: its value at the step, and what differs.
fn table_ui(ui: &mut Ui, shell: &Shell<'_>, page: &ComparePage, step: u64) {
    let theme = shell.theme;
    let title = page.figure().map_or_else(String::new, |f| f.title.clone());
    caption(ui, theme, &format!("{title} at step {}, and the settings that differ", number::grouped(step)));
    let differences = &page.runs.differences;
    ScrollArea::both().auto_shrink([false, false]).show(ui, |ui| {
        Grid::new("compared").num_columns(2 + differences.len()).spacing([24.0, 4.0]).show(ui, |ui| {
            for heading in ["run", "value"].into_iter().chain(differences.iter().map(|d| d.key.as_str())) {
                ui.label(RichText::new(heading).small().color(theme.secondary));
            }
            ui.end_row();
            for (i, name) in page.runs.names.iter().enumerate() {
                ui.horizontal(|ui| {
                    let (rect, _) = ui.allocate_exact_size(vec2(12.0, 12.0), egui::Sense::hover());
                    ui.painter().rect_filled(rect, 2.0, theme.series(place_of(page, i)));
                    ui.label(name);
                });
                let line = page.figure().and_then(|f| f.lines.iter().find(|l| l.runs.contains(&i)));
                let value = line.and_then(|l| l.at(step)).map_or_else(|| "–".to_owned(), number::short);
                ui.label(RichText::new(value).font(theme::numbers()));
                for difference in differences {
                    let value = difference.values.get(i).map_or("", String::as_str);
                    ui.label(RichText::new(value).font(theme::numbers()));
                }
                ui.end_row();
            }
        });
    });
}

/// The place of a run's line, for its colour.
fn place_of(page: &ComparePage, run: usize) -> usize {
    let line = page.figure().and_then(|f| f.lines.iter().find(|l| l.runs.contains(&run)));
    line.map_or(run, |l| l.place)
}
