//! The dials of the flow and what they do to the next word: its probabilities and the mass of the two classes as bars, and
//! a continuation.

use eframe::egui::{SliderClamping, TextFormat};

use super::{
    EMPTY,
    answer::{Answer, SPACE},
    motion::Motion,
    pad::{MAX_CONTROL, Pad, U_LABELS, control_text, round_control},
    settings::{
        ALPHA, CONTROLS, FlowSettings, PLANE_CONTROLS, PROMPT, U, field_ui, keep_fresh, number_setting, solver_ui,
        text_setting,
    },
};
use crate::ui::views::prelude::*;

#[derive(Default)]
pub struct SteerView {
    pad: Pad,
    motion: Motion,
    /// The prompt while it is typed.
    prompt: Option<String>,
    /// The settings whose controls were drawn in the last frame.
    controls: &'static [&'static str],
}

const TRAINED_TIP: &str = "The control that steering was trained with: W_u u is added to the state inside the field. Trained \
                      at \u{2212}1, 0 and 1; further out is beyond what it has seen.";
const UNTRAINED_TIP: &str = "Enters the field as a trained control does, by W_u u, but no training gave it a meaning: its \
                        weights are about as they were drawn. It moves the words all the same.";

/// Width from which controls and answer are side by side, points.
const WIDE_WIDTH: f32 = 640.0;
const MIN_PAD_SIZE: f32 = 120.0;
/// Side of the pad in narrow tiles, and the width below which a tile is narrow, points.
const SMALL_PAD: (f32, f32) = (88.0, 320.0);
/// A tile lower than this has the sliders beside the answer, points.
const LOW_HEIGHT: f32 = 400.0;
/// Width of the sliders there: a share, and at least this many points.
const SLIDER_WIDTH: (f32, f32) = (0.42, 168.0);

/// True if the flow is that of a vector field over the plane, which predicts no tokens.
fn is_plane(cx: &ViewCx<'_>) -> bool {
    Answer::in_focus(cx).is_some_and(|a| a.planar_field().is_some())
}

/// The number of dials: two for a field over the plane, where they are the components of a wind.
fn dial_count(cx: &ViewCx<'_>) -> usize {
    if is_plane(cx) { 2 } else { U.len() }
}

impl SteerView {
    fn dials_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let side = if ui.available_width() < SMALL_PAD.1 { SMALL_PAD.0 } else { MIN_PAD_SIZE };
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| self.pad_ui(ui, cx, side));
            ui.vertical(|ui| self.sliders_ui(ui, cx));
        });
        self.motion.ui(ui, cx, dial_count(cx));
    }

    fn pad_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, side: f32) {
        let (u, plane) = (FlowSettings::u(cx), is_plane(cx));
        if plane {
            self.pad.pair = (0, 1);
        }
        ui.set_width(side);
        let (i, j) = self.pad.pair;
        // a padlock beside the pad takes of its width
        let pad_ui = |ui: &mut Ui, cx: &mut ViewCx<'_>| self.pad.ui(ui, cx.theme, u, side.min(ui.available_width()));
        if let Some([x, y]) = cx.setting_ui(ui, &[U[i], U[j]], pad_ui).flatten() {
            self.motion.stop();
            cx.set(U[i], Value::Float(x));
            cx.set(U[j], Value::Float(y));
        }
        if !plane && U.into_iter().any(|key| !cx.is_restricted(&[key])) {
            self.pad.pair_ui(ui, side - 8.0);
        }
    }

    fn sliders_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let (u, plane) = (FlowSettings::u(cx), is_plane(cx));
        let trained = Answer::in_focus(cx).map(|a| a.trained_controls());
        ui.spacing_mut().item_spacing.y = 5.0;
        for (dim, value) in u.into_iter().enumerate().take(dial_count(cx)) {
            let tip = match (plane, trained) {
                (true, _) => "A steady wind over the plane, the same at every place and time.",
                (_, Some(n)) if dim < n => TRAINED_TIP,
                _ => UNTRAINED_TIP,
            };
            let range = -MAX_CONTROL..=MAX_CONTROL;
            let dial_ui = |ui: &mut Ui, _: &mut ViewCx<'_>| slider_ui(ui, U_LABELS[dim], value, range, tip);
            if let Some(v) = cx.setting_ui(ui, &[U[dim]], dial_ui).flatten() {
                self.motion.stop();
                cx.set(U[dim], Value::Float(v));
            }
        }
        let tip = "Multiplies the learned \u{3b1} of the field when it is asked. 0 stops the flow, 1 is as trained.";
        let alpha = number_setting(cx, ALPHA, |answer| answer.control.alpha);
        let alpha_ui = |ui: &mut Ui, _: &mut ViewCx<'_>| slider_ui(ui, "\u{3b1} \u{d7}", alpha, 0.0..=4.0, tip);
        if let Some(v) = cx.setting_ui(ui, &[ALPHA], alpha_ui).flatten() {
            cx.set(ALPHA, Value::Float(v));
        }
        ui.horizontal_wrapped(|ui| {
            let touched = FlowSettings::differs_from_preset(cx);
            let back = ui.add_enabled(touched, Button::new("reset the dials").small());
            if back.on_hover_text("Resets all dials to the preset's values.").clicked() {
                self.motion.stop();
                FlowSettings::reset_dials(cx);
            }
            let words = match trained {
                Some(1) => "u\u{2081}\u{2013}u\u{2083} untrained",
                Some(0) => "u untrained",
                _ => "",
            };
            let label = small_text(words, cx.theme.secondary);
            ui.label(label).on_hover_text(UNTRAINED_TIP);
        });
    }

    /// In a low tile the sliders are beside their effect, so that both are visible, and the other dials are below.
    fn low_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, answer: Option<Answer<'_>>) {
        let left = (ui.available_width() * SLIDER_WIDTH.0).max(SLIDER_WIDTH.1);
        ui.horizontal_top(|ui| {
            ui.allocate_ui_with_layout(vec2(left, 0.0), Layout::top_down(Align::Min), |ui| {
                ui.set_width(left);
                cx.dials_ui(ui, |ui, cx| self.sliders_ui(ui, cx));
            });
            ui.vertical(|ui| answers_or_why_ui(ui, cx, answer));
        });
        cx.dials_ui(ui, |ui, cx| {
            self.prompt_ui(ui, cx);
            ui.vertical(|ui| self.pad_ui(ui, cx, MIN_PAD_SIZE));
            self.motion.ui(ui, cx, dial_count(cx));
        });
    }

    fn prompt_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if is_plane(cx) {
            return;
        }
        let used = |answer: &FlowAnswer| answer.language().map_or(String::new(), |l| l.prompt.clone());
        let shown = text_setting(cx, |args| args.prompt, used);
        let mut typed = self.prompt.clone().unwrap_or_else(|| shown.clone());
        cx.setting_ui(ui, &[PROMPT], |ui, cx| {
            ui.horizontal(|ui| {
                let label = ui.label("prompt").id;
                let field = TextEdit::singleline(&mut typed).desired_width(f32::INFINITY).hint_text("The tea was");
                let response = ui.add(field).labelled_by(label);
                // Asked when done: half a word is not a word.
                if let Some(prompt) = settled(&response, typed, &mut self.prompt).filter(|p| p.trim() != shown) {
                    cx.selection.token = None;
                    cx.set(PROMPT, Value::Text(prompt.trim().to_owned()));
                }
            });
        });
        let Some(answer) = Answer::in_focus(cx) else { return };
        let tokens = &answer.sample.tokens;
        if tokens.is_empty() {
            return;
        }
        let theme = cx.theme;
        let followed = cx.selection.token.unwrap_or(answer.token);
        let last = tokens.len() - 1;
        // No spaces are drawn between tokens where spaces are tokens themselves.
        let own = tokens.iter().any(|t| t == SPACE);
        let space = |i| if i < last && !own { " " } else { "" };
        let spaced: Vec<String> = tokens.iter().enumerate().map(|(i, t)| format!("{}{}", t.trim(), space(i))).collect();
        let pointed = token_strip_ui(ui, theme, &spaced, |i| {
            let ground = class_of(answer.value, &tokens[i], theme).map(|(_, colour)| colour.gamma_multiply(0.3));
            TokenMark { ground, outline: (followed == i).then_some(theme.accent) }
        });
        cx.selection.token = pointed.clicked.or(cx.selection.token);
    }

    fn answer_ui(ui: &mut Ui, cx: &ViewCx<'_>, answer: Answer<'_>) {
        let theme = cx.theme;
        let (mass, next) = (mass_bars(answer.value, theme), next_bars(answer.value, theme));
        let has_words = !mass.is_empty() || !next.is_empty();
        if let Some(classes) = answer.value.classes() {
            let first = |class: &SteeringClass| class.tokens.first().map_or(String::new(), |t| t.trim().to_owned());
            let (plus, minus) = (first(&classes.plus), first(&classes.minus));
            let note = format!("+ {plus}, \u{2212} {minus} \u{b7} mark: u = 0");
            heading_ui(ui, theme, "mass of a class", &note);
            let (plus, minus) = (classes.plus.tokens.join(", "), classes.minus.tokens.join(", "));
            let words = format!("class +: {plus}\nclass \u{2212}: {minus}");
            bars_ui(ui, theme, "mass", mass, 1.0).on_hover_text(words);
        }
        if !next.is_empty() {
            let max = next.iter().map(|b| b.value.max(b.before.unwrap_or(0.0))).fold(1e-6, f64::max);
            heading_ui(ui, theme, "next word", &format!("full width: {max:.2}"));
            bars_ui(ui, theme, "next word", next, max);
        }
        let continuation = answer.value.language().map_or(&[][..], |l| &l.continuation);
        let text = answer.running_text(continuation);
        if !text.trim().is_empty() {
            heading_ui(ui, theme, "and so on", "likeliest words");
            // A single text breaks between words.
            let mut job = LayoutJob::default();
            let prompt = answer.running_text(&answer.sample.tokens);
            let glue = if text.starts_with(' ') || prompt.ends_with(' ') { "" } else { " " };
            for (words, colour) in [(format!("{prompt}{glue}"), theme.secondary), (text, theme.text)] {
                let format = TextFormat { font_id: FontId::proportional(14.0), color: colour, ..Default::default() };
                job.append(&words, 0.0, format);
            }
            ui.label(job);
        }
        if !has_words {
            let words = "This field has no words: its paths, its solver and its speed are in the other tiles.";
            ui.label(RichText::new(words).color(theme.secondary));
        }
    }
}

/// Shows the answers of all variants side by side; returns the variant that was clicked.
fn answers_ui(ui: &mut Ui, cx: &ViewCx<'_>, answer: Answer<'_>) -> Option<usize> {
    let all = Answer::by_variant(cx);
    if all.len() < 2 {
        SteerView::answer_ui(ui, cx, answer);
        return None;
    }
    let (focus, mut focused) = (answer.variant, None);
    ui.spacing_mut().item_spacing.x = 16.0;
    ui.columns(all.len(), |columns| {
        for (ui, (label, answer)) in columns.iter_mut().zip(all) {
            ui.spacing_mut().item_spacing.x = 6.0;
            let words = RichText::new(label).strong();
            let tip = "The one whose paths, solver and sweeps the other tiles show.";
            let shown = focus == answer.variant;
            if ui.selectable_label(shown, words).on_hover_text(tip).clicked() {
                focused = Some(answer.variant);
            }
            SteerView::answer_ui(ui, cx, answer);
        }
    });
    focused
}

/// A slider with its name and a number that can be typed; the new value if it changed.
fn slider_ui(ui: &mut Ui, name: &str, value: f64, range: std::ops::RangeInclusive<f64>, tip: &str) -> Option<f64> {
    let mut v = value;
    let changed = ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let (rect, label) = ui.allocate_exact_size(vec2(20.0, 18.0), Sense::hover());
        let colour = ui.visuals().text_color();
        ui.painter().text(rect.left_center(), Align2::LEFT_CENTER, name, FontId::proportional(14.0), colour);
        label.widget_info(|| WidgetInfo::labeled(Role::Label, true, name));
        ui.spacing_mut().slider_width = (ui.available_width() - 64.0).clamp(48.0, 220.0);
        ui.spacing_mut().interact_size.y = 18.0;
        let slider = Slider::new(&mut v, range)
            .clamping(SliderClamping::Always)
            .custom_formatter(|v, _| number::rounded(v, 2).replace('-', "\u{2212}"))
            .custom_parser(|t| t.trim().replace(',', ".").replace('\u{2212}', "-").parse().ok())
            .update_while_editing(false);
        ui.add(slider).labelled_by(label.id).on_hover_text(tip).changed()
    });
    (changed.inner && v != value).then(|| round_control(v))
}

/// The answers beside the dials, or the reason why there are none.
fn answers_or_why_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, answer: Option<Answer<'_>>) {
    let Some(answer) = answer else {
        let words = RichText::new(cx.empty_reason::<FlowAnswer>(EMPTY)).color(cx.theme.secondary);
        ui.add(Label::new(words).wrap());
        return;
    };
    if let Some(focused) = answers_ui(ui, cx, answer) {
        cx.selection.variant = focused;
    }
}

fn heading_ui(ui: &mut Ui, theme: &Theme, words: &str, note: &str) {
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        ui.label(small_text(words, theme.text)).on_hover_text(note);
        if ui.available_width() < 7.0 * note.len() as f32 {
            return;
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| note_ui(ui, theme, note));
    });
}

/// The two classes of words that a flow is steered between, each with its sign and its colour; none where there are none.
fn classes<'a>(answer: &'a FlowAnswer, theme: &Theme) -> Vec<(&'static str, Color32, &'a SteeringClass)> {
    let Some(classes) = answer.classes() else { return vec![] };
    vec![("+", theme.warm, &classes.plus), ("\u{2212}", theme.cool, &classes.minus)]
}

/// The sign and the colour of the class that a token belongs to.
fn class_of(answer: &FlowAnswer, token: &str, theme: &Theme) -> Option<(&'static str, Color32)> {
    let is_in = |class: &SteeringClass| class.tokens.iter().any(|t| t.trim() == token.trim());
    let found = classes(answer, theme).into_iter().find(|(.., class)| is_in(class));
    found.map(|(sign, colour, _)| (sign, colour))
}

/// The likeliest next words, each with what it was at u = 0.
fn next_bars(answer: &FlowAnswer, theme: &Theme) -> Vec<Bar> {
    let next = answer.language().map_or(&[][..], |l| &l.next);
    let bar = |next: &NextToken| {
        let (sign, colour) = class_of(answer, &next.token, theme).unwrap_or(("", theme.secondary));
        let word = next.token.trim();
        let bar = Bar::new(if word.is_empty() { "(space)" } else { word }, colour, next.probability);
        bar.sign(sign).before(next.unsteered)
    };
    next.iter().map(bar).collect()
}

/// The summed probability of either class, where there are classes.
fn mass_bars(answer: &FlowAnswer, theme: &Theme) -> Vec<Bar> {
    let bar = |(sign, colour, mass): (&'static str, Color32, &SteeringClass)| {
        Bar::new(format!("class {sign}"), colour, mass.probability).sign(sign).before(mass.unsteered)
    };
    classes(answer, theme).into_iter().map(bar).collect()
}

impl View for SteerView {
    fn controls(&self) -> &'static [&'static str] {
        self.controls
    }

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh(cx);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.motion.drive(ui, cx);
        self.pad.remember_answer(cx);
        let answer = Answer::in_focus(cx);
        let is_plane = is_plane(cx);
        let has_dials = answer.is_some() || cx.has_controls && cx.can_ask();
        self.controls = match is_plane {
            _ if !has_dials => &[],
            true => PLANE_CONTROLS,
            false => CONTROLS,
        };
        if !has_dials {
            return cx.unmeasured_ui::<FlowAnswer>(ui, EMPTY);
        }
        let room = ui.available_size();
        ui.spacing_mut().item_spacing.y = 6.0;
        let how_ui = |ui: &mut Ui, cx: &mut ViewCx<'_>| {
            cx.dials_ui(ui, |ui, cx| {
                if let Some(field) = answer.and_then(|a| a.value.planar_field()) {
                    field_ui(ui, cx, field);
                }
                solver_ui(ui, cx);
            });
        };
        let is_alone = !is_plane && Answer::by_variant(cx).len() < 2;
        if room.x < WIDE_WIDTH && is_alone && plot::is_lower(ui, LOW_HEIGHT) && cx.shows_controls() {
            self.low_ui(ui, cx, answer);
            how_ui(ui, cx);
        } else if room.x < WIDE_WIDTH {
            // The effect of the dials is shown right under them; the solver's settings follow below.
            cx.dials_ui(ui, |ui, cx| {
                self.dials_ui(ui, cx);
                self.prompt_ui(ui, cx);
            });
            answers_or_why_ui(ui, cx, answer);
            how_ui(ui, cx);
        } else {
            let left = (room.x * 0.5).clamp(344.0, 420.0);
            ui.horizontal_top(|ui| {
                ui.allocate_ui_with_layout(vec2(left, 0.0), Layout::top_down(Align::Min), |ui| {
                    ui.set_width(left);
                    cx.dials_ui(ui, |ui, cx| self.dials_ui(ui, cx));
                    how_ui(ui, cx);
                });
                ui.add_space(16.0);
                ui.vertical(|ui| {
                    cx.dials_ui(ui, |ui, cx| self.prompt_ui(ui, cx));
                    answers_or_why_ui(ui, cx, answer);
                });
            });
        }
        FlowSettings::watch(ui, cx);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(answer) = Answer::in_focus(cx) else { return "turn u, and the flow is solved again".to_owned() };
        let used = answer.control.u;
        let is_shown = !answer.sample.about.contains("u = ") && used.iter().all(|v| v.is_finite());
        let u = if is_shown { format!("u = {}", control_text(used)) } else { String::new() };
        sample_subtitle(Some(answer.sample), &u, "")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let answer = Answer::in_focus(cx)?.value;
        let mut table = Table::new(["what", "name", "class", "steered", "at_u_0"]);
        let theme = cx.theme;
        for (what, bars) in [("next word", next_bars(answer, theme)), ("mass", mass_bars(answer, theme))] {
            for b in bars {
                let sign = b.sign.replace('\u{2212}', "-");
                table.cells(&[&what, &b.name, &sign, &b.value, &optional_field(b.before)]);
            }
        }
        table.cells(&[&"solver", &"nfe", &"", &answer.trace.nfe, &""]);
        table.cells(&[&"solver", &"h_init", &"", &answer.trace.h_init, &""]);
        Some(table.finish())
    }

    /// The bars and the text, without the controls.
    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let answer = Answer::in_focus(cx).filter(|a| !next_bars(a.value, cx.theme).is_empty())?;
        let columns = Answer::by_variant(cx).len().max(1) as f32;
        let size = vec2(32.0 + 360.0 * columns, 420.0);
        Some(drawing("steering", size, cx.theme, |ui| {
            let inside = ui.max_rect().shrink(16.0);
            ui.scope_builder(UiBuilder::new().max_rect(inside), |ui| {
                note_ui(ui, cx.theme, self.subtitle(cx));
                answers_ui(ui, cx, answer);
            });
        }))
    }
}
