//! Making a sweep in the control panel: controls are ticked and get values, and the foot counts the runs to make.

use crate::{
    config::Config,
    experiments::sweep::draft::DraftAxis,
    ui::{panels::prelude::*, sweep_draft::SweepDraftState},
};

/// The maximum number of runs, or of points, that a field accepts.
const MAX_COUNT: usize = 10_000;

/// Draws a setting with a check box in place of its widget, and with the values of its axis if it is checked.
pub fn knob_ui(ui: &mut Ui, theme: &Theme, (state, config): (&mut SweepDraftState, &Config), knob: &Knob) {
    let Some(value) = config.get(knob.key) else { return };
    ui.push_id(("sweep", knob.key), |ui| {
        let mut is_on = state.draft.axis(knob.key).is_some();
        ui.horizontal(|ui| {
            let tick = ui.checkbox(&mut is_on, knob.label);
            let about = format!("{} Takes {}. In files: {}", knob.tip, knob.accepts(), knob.key);
            if tick.on_hover_text(about).changed() {
                state.draft.toggle(knob, value);
            }
            if !is_on {
                let right = Layout::right_to_left(Align::Center);
                ui.with_layout(right, |ui| truncated_ui(ui, value.to_string(), theme.secondary));
            }
        });
        if let Some(axis) = state.draft.axes.iter_mut().find(|axis| axis.key == knob.key) {
            Frame::NONE.inner_margin(Margin { left: 24, ..Margin::ZERO }).show(ui, |ui| axis_ui(ui, theme, axis, knob));
            if let Some(words) = state.check.axes.get(knob.key) {
                wrapped_ui(ui, format!("! {words}"), theme.error);
            }
        }
    });
}

/// Draws the fields of an axis: a list of values, or a range.
fn axis_ui(ui: &mut Ui, theme: &Theme, axis: &mut DraftAxis, knob: &Knob) {
    if DraftAxis::is_number(knob) {
        ui.horizontal(|ui| {
            ui.selectable_value(&mut axis.is_range, false, "list");
            ui.selectable_value(&mut axis.is_range, true, "range");
        });
    }
    if !axis.is_range {
        text_field_ui(ui, &mut axis.list, &format!("Values of {}", knob.label), None, f32::INFINITY);
        note_ui(ui, theme, "commas between values");
        return;
    }
    ui.horizontal(|ui| {
        let between = note_width(ui.painter(), "to") + 2.0 * ui.spacing().item_spacing.x;
        // the ends of a small range have many digits
        let width = ((ui.available_width() - between) / 2.0).floor();
        text_field_ui(ui, &mut axis.from, &format!("{} from", knob.label), None, width);
        note_ui(ui, theme, "to");
        text_field_ui(ui, &mut axis.to, &format!("{} to", knob.label), None, width);
    });
    ui.horizontal(|ui| {
        let points = ui.add(DragValue::new(&mut axis.points).range(2..=1000).speed(0.1));
        let label = note_ui(ui, theme, "points");
        points.labelled_by(label.id);
        ui.checkbox(&mut axis.is_log, "log")
            .on_hover_text("Points are spaced by equal ratios rather than by equal steps.");
    });
}

/// Draws the name, the seeds and the objective of the sweep, its number of runs, and the buttons that make it.
pub fn footer_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    let Some(mut state) = page.sweep.take() else { return };
    state.renew(page.lab, &page.config);
    let margin = Frame::NONE.inner_margin(Margin::symmetric(16, 8));
    let mut is_left = false;
    borderless(Panel::bottom("sweep"), margin).show(ui, |ui| {
        hairline(ui, shell.theme);
        ui.spacing_mut().item_spacing.y = 4.0;
        ui.horizontal(|ui| {
            ui.label(RichText::new("Sweep").strong().color(shell.theme.text));
            note_ui(ui, shell.theme, "tick what varies above");
        });
        whole_ui(ui, shell.theme, &mut state);
        run_count_ui(ui, shell.theme, &state);
        is_left = buttons_ui(ui, shell, &mut state);
    });
    page.sweep = if is_left { None } else { Some(state) };
}

fn whole_ui(ui: &mut Ui, theme: &Theme, state: &mut SweepDraftState) {
    let draft = &mut state.draft;
    ui.horizontal(|ui| {
        note_ui(ui, theme, "name");
        text_field_ui(ui, &mut draft.name, "Name of the sweep", None, f32::INFINITY);
    });
    ui.horizontal(|ui| {
        let label = note_ui(ui, theme, "seeds");
        let seeds = DragValue::new(&mut draft.seeds).range(1..=MAX_COUNT as u64).speed(0.1);
        ui.add(seeds)
            .labelled_by(label.id)
            .on_hover_text("Runs per point, with consecutive seeds starting at the seed of these settings.");
        if draft.axes.len() > 2 {
            let label = note_ui(ui, theme, "points");
            let samples = DragValue::new(&mut draft.samples).range(1..=MAX_COUNT).speed(0.2);
            let about = "More than two settings are not combined as a grid: this many points of a quasi-random (Sobol) \
                 sequence are used.";
            ui.add(samples).labelled_by(label.id).on_hover_text(about);
        }
    });
    objective_ui(ui, theme, state);
}

fn objective_ui(ui: &mut Ui, theme: &Theme, state: &mut SweepDraftState) {
    let draft = &mut state.draft;
    // the objective is below its label, and wraps where it is too long for one line
    ui.vertical(|ui| {
        ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Wrap);
        let label = note_ui(ui, theme, "objective");
        let known = state.objectives.iter().map(|objective| (objective.id.as_str(), objective.label.clone()));
        let all: Vec<(&str, String)> = std::iter::once(("", "none".to_owned())).chain(known).collect();
        let chosen = all.iter().find(|(id, _)| *id == draft.objective);
        let shown = chosen.map_or_else(|| draft.objective.clone(), |(_, label)| label.clone());
        let choices = all.into_iter().map(|(id, label)| (id, label, draft.objective == id));
        let width = ui.available_width();
        let (chosen, list) = list_box(ui, ("objective", label.id), width, &shown, choices);
        list.on_hover_text(format!("{shown}: the headline number by which points are best."));
        if let Some(chosen) = chosen {
            chosen.clone_into(&mut draft.objective);
        }
    });
}

/// Shows the number of runs, or the reason why the sweep cannot be made.
fn run_count_ui(ui: &mut Ui, theme: &Theme, state: &SweepDraftState) {
    let check = &state.check;
    let (words, colour) = match (&state.refusal, &check.general_error) {
        (Some(words), _) | (None, Some(words)) => (words.clone(), theme.error),
        _ if !check.axes.is_empty() => {
            ("A ticked control has no values that can be run: see above.".to_owned(), theme.error)
        }
        _ if state.draft.axes.is_empty() => ("Nothing is ticked yet.".to_owned(), theme.secondary),
        _ if check.is_checked => (check.sentence(), theme.text),
        _ => (format!("{}; each point is tried before anything is written", check.sentence()), theme.text),
    };
    wrapped_ui(ui, words, colour);
}

/// Returns true if the person left the sheet.
fn buttons_ui(ui: &mut Ui, shell: &mut Shell<'_>, state: &mut SweepDraftState) -> bool {
    let file = state.check.file.clone().filter(|_| !state.is_waiting);
    let mut is_left = false;
    ui.horizontal_wrapped(|ui| {
        let start = main_button(shell.theme, "Start");
        let about = "Writes the sweep and makes its runs in the background, as many at once as there are cores. They \
                     continue when this window closes.";
        let is_started = ui.add_enabled(file.is_some(), start).on_hover_text(about).clicked();
        let about = "Writes the sweep and shows the command that makes its runs, here or elsewhere.";
        let write = ui.add_enabled(file.is_some(), Button::new("Write")).on_hover_text(about);
        if let Some(file) = file.filter(|_| is_started || write.clicked()) {
            state.is_waiting = true;
            shell.act(RunsAction::MakeSweep(Box::new(file), is_started));
        }
        is_left = ui.button("Cancel").on_hover_text("Back to the controls; nothing is written.").clicked();
    });
    is_left
}
