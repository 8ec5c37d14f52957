//! The controls above the picture: view settings and the shared selection. Another head, layer or text asks a model.

use eframe::egui::SliderClamping;

use super::{Mode, PhasePlane, PortraitSource, plane::PlaneChoice, portrait::PhasePortrait, toy::Toy};
use crate::ui::views::prelude::*;

const DT_RANGE: std::ops::RangeInclusive<f64> = 0.001..=10.0;
const TOY_DT: std::ops::RangeInclusive<f64> = 0.01..=3.0;
/// A tile that is less wide has the controls of the plane in a menu: the picture needs their height.
const NARROW_WIDTH: f32 = 440.0;
const MAX_STEPS: usize = 16;
const MAX_TOY_STEPS: usize = 400;

const DT_TIP: &str = "\u{394}t, the length of a step. The paper learns one for each head, exp(\u{3c4}); moving it here asks the \
                      model nothing.";
const STEPS_TIP: &str = "n, the number of steps before queries meet keys. The paper takes 3.";

impl PhasePlane {
    /// Draws the choice between the learned field and the toys, and returns a new choice. The learned field also has a
    /// choice of layer, head and text.
    pub(super) fn mode_ui(&self, ui: &mut Ui, cx: &mut ViewCx<'_>, measured: Option<&QueryKeyPaths>) -> Option<Mode> {
        let mode = self.mode(cx);
        let row = ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            let choices = [
                (Mode::Learned, "learned", "The f that the model of this run has learned, at the step shown."),
                (Mode::Toy(Toy::Harmonic), "harmonic", "A spring: V = q\u{b2}/2. Every true path is a circle."),
                (
                    Mode::Toy(Toy::DoubleWell),
                    "double well",
                    "V = (q\u{b2} \u{2212} 1)\u{b2}/4: two wells at \u{b1}1 with a barrier of 1/4 between them.",
                ),
            ];
            let chosen = choice_buttons(ui, &mode, choices);
            if mode == Mode::Learned {
                ui.separator();
                Self::head_ui(ui, cx, measured);
            }
            chosen
        });
        row.inner
    }

    fn head_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, measured: Option<&QueryKeyPaths>) {
        let Some(m) = measured else { return };
        let (mut layer, mut head) = (m.layer, m.head);
        let words = |layer: usize| if m.evolves[layer] { "" } else { " (as projected)" };
        let layers = (0..m.evolves.len()).map(|layer| (layer, format!("layer {layer}{}", words(layer))));
        if choice_box(ui, "layer", 64.0, &format!("layer {}", m.layer), &mut layer, layers).changed() {
            cx.selection.layer = Some(format!("layers.{layer}"));
        }
        let heads = (0..m.heads).map(|head| (head, format!("head {head}")));
        if choice_box(ui, "head", 64.0, &format!("head {}", m.head), &mut head, heads).changed() {
            cx.selection.head = Some(head);
        }
    }

    pub(super) fn text_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let button = controls_menu(ui, "text", |ui| {
            let hint = "a held-out passage; type a text of your own";
            let edit = TextEdit::singleline(&mut self.text).desired_width(320.0).hint_text(hint);
            if text_field(ui, edit, "text to read").changed() {
                // Another text has other positions.
                cx.selection.token = None;
            }
        });
        button.on_hover_text("The text whose queries and keys are shown: a held-out passage, or one of your own.");
    }

    /// Controls for dt and n, which act in this frame, and the further controls of `add` beside them.
    pub(super) fn step_ui(&mut self, ui: &mut Ui, shown: &PhasePortrait, add: impl FnOnce(&mut Self, &mut Ui)) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 5.0;
            let room = ui.available_width();
            ui.spacing_mut().slider_width = ((room - 250.0) / 2.0).clamp(48.0, 150.0);
            match (shown.source, self.learned()) {
                (PortraitSource::Toy(toy, _), _) => {
                    let settings = &mut self.toys[toy as usize];
                    dt_ui(ui, &mut settings.dt, TOY_DT);
                    steps_ui(ui, &mut settings.steps, MAX_TOY_STEPS);
                    let is_usual = *settings == toy.system().settings;
                    let reset = ui.add_enabled(!is_usual, Button::new("reset"));
                    if reset.on_hover_text("Back to the start, \u{394}t and n that the toy begins with.").clicked() {
                        *settings = toy.system().settings;
                    }
                }
                (PortraitSource::Token(..), Some(learned)) => {
                    let own = learned.model_stepping;
                    let (mut dt, mut steps) = self.stepping(&learned);
                    if dt_ui(ui, &mut dt, DT_RANGE) {
                        self.dt = Some(dt);
                    }
                    if steps_ui(ui, &mut steps, MAX_STEPS.max(own.steps)) {
                        self.steps = Some(steps);
                    }
                    let moved = self.dt.is_some() || self.steps.is_some();
                    let back = ui.add_enabled(moved, Button::new("model\u{2019}s"));
                    let dt = value_label(own.dt);
                    let tip = format!("Back to the model\u{2019}s own \u{394}t {dt} and n {}.", own.steps);
                    if back.on_hover_text(tip).clicked() {
                        (self.dt, self.steps) = (None, None);
                    }
                }
                (PortraitSource::Token(..), None) => {}
            }
            add(self, ui);
        });
    }

    /// Chooses the plane that is shown, or a toy's start, and the background; in a menu where the tile is low or narrow.
    pub(super) fn plane_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, shown: &PhasePortrait, is_low: bool) {
        if !is_low && ui.available_width() >= NARROW_WIDTH {
            return self.plane_row_ui(ui, cx, shown);
        }
        let button = controls_menu(ui, "plane \u{2026}", |ui| self.plane_row_ui(ui, cx, shown));
        button.on_hover_text("Which plane is looked at, what is behind the paths, and which text is read.");
    }

    fn plane_row_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, shown: &PhasePortrait) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            match shown.source {
                PortraitSource::Toy(toy, _) => {
                    for (i, name) in ["q\u{2080}", "k\u{2080}"].into_iter().enumerate() {
                        let label = ui.label(name).on_hover_text("The start; or drag it in the picture.").id;
                        let value = &mut self.toys[toy as usize].start[i];
                        ui.add(DragValue::new(value).range(-4.0..=4.0).speed(0.01).max_decimals(2)).labelled_by(label);
                    }
                }
                PortraitSource::Token(..) => self.choice_ui(ui, shown.plane.coordinate),
            }
            ui.separator();
            self.chosen = self.background.choice_ui(ui).or(self.chosen);
            if shown.token().is_some() {
                ui.separator();
                self.text_ui(ui, cx);
            }
        });
    }

    fn choice_ui(&mut self, ui: &mut Ui, coordinate: Option<usize>) {
        let is_pair = matches!(self.plane, PlaneChoice::Pair(_));
        let width = self.learned().map_or(1, |learned| learned.width());
        let tip = "One coordinate of the query against the same of the key: the pair that pulls at each other. At first the \
                   one that varies most over the text.";
        if ui.selectable_label(is_pair, "q, k of").on_hover_text(tip).clicked() && !is_pair {
            self.plane = PlaneChoice::Pair(None);
        }
        let mut i = coordinate.unwrap_or(0);
        let drag = DragValue::new(&mut i).range(0..=width.saturating_sub(1)).speed(0.1);
        let response = ui.add_enabled(is_pair, drag);
        response.widget_info(|| WidgetInfo::labeled(Role::SpinButton, is_pair, "coordinate"));
        if response.changed() {
            self.plane = PlaneChoice::Pair(Some(i));
        }
        let tip = "The two directions of all 2d in which starts and ends of the tokens differ most.";
        if ui.selectable_label(!is_pair, "PCA").on_hover_text(tip).clicked() {
            self.plane = PlaneChoice::Principal;
        }
        let tip = "Fits the token in focus alone: tokens lie far apart, and each is moved a little.";
        ui.toggle_value(&mut self.close, "close").on_hover_text(tip);
    }
}

const DT_DECIMALS: usize = 3;

/// True if the user moved the slider. A value beyond its ends stays as it is until then.
fn dt_ui(ui: &mut Ui, dt: &mut f64, range: std::ops::RangeInclusive<f64>) -> bool {
    let label = ui.label("\u{394}t").on_hover_text(DT_TIP).id;
    let mut shown = if dt.is_finite() { dt.clamp(*range.start(), *range.end()) } else { 1.0 };
    // the slider rounds what it is given, which would count as a move
    shown = egui::emath::round_to_decimals(shown, DT_DECIMALS);
    let slider =
        Slider::new(&mut shown, range).logarithmic(true).clamping(SliderClamping::Always).max_decimals(DT_DECIMALS);
    let changed = ui.add(slider).labelled_by(label).changed();
    if changed {
        *dt = shown;
    }
    changed
}

fn steps_ui(ui: &mut Ui, steps: &mut usize, max: usize) -> bool {
    let label = ui.label("n").on_hover_text(STEPS_TIP).id;
    ui.add(Slider::new(steps, 0..=max)).labelled_by(label).changed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_length_that_the_slider_rounds_is_not_moved() {
        egui::__run_test_ui(|ui| {
            for own in [0.1087, 0.1, 0.0123456] {
                let mut dt = own;
                assert!(!dt_ui(ui, &mut dt, DT_RANGE), "{own}");
                assert_eq!(dt, own);
            }
        });
    }
}
