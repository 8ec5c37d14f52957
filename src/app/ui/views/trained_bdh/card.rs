//! The properties of an opened BDH, read from its tensors, and whether it can read the current text.

use crate::{
    labs::{corpus::CorpusSettings, headline::large, trained_bdh::settings::FileSettings},
    ui::views::prelude::*,
};

/// Width of the rows' names and height of a row, points.
const NAMES_WIDTH: f32 = 156.0;
const ROW_HEIGHT: f32 = 18.0;
const ROW_SPACING: f32 = 2.0;

#[derive(Default)]
pub struct TrainedBdhView {
    /// True if all facts about the tensors are shown, not only the large numbers; `None` until the user chooses, when
    /// the room of the tile decides.
    has_details: Option<bool>,
}

fn large_figures(m: &TrainedBdh) -> [LargeFigure; 2] {
    let digits = Digits::Decimals(3);
    let is_known = m.loss.is_finite() && m.frequency_loss.is_finite();
    let compared = || large::comparison(digits, m.loss, m.frequency_loss, "frequencies");
    let tip = "Mean loss on held-out windows of the text at hand, nats per token, and what guessing by the frequencies of its \
               tokens costs on the same windows.";
    let loss = LargeFigure {
        unit: "nats".into(),
        meaning: if is_known { compared() } else { String::new() },
        ..LargeFigure::new("held-out loss", digits.format(m.loss), tip)
    };
    [loss, LargeFigure::new("parameters", grouped(m.parameters as u64), "All numbers of its tensors.")]
}

/// Sizes and form, then what the file itself notes.
fn details_ui(ui: &mut Ui, cx: &ViewCx<'_>, m: &TrainedBdh) {
    ui.spacing_mut().item_spacing.y = ROW_SPACING;
    ui.spacing_mut().interact_size.y = ROW_HEIGHT;
    for (name, symbol, value) in rows(m) {
        ui.horizontal(|ui| {
            let (place, _) = ui.allocate_exact_size(vec2(NAMES_WIDTH, ROW_HEIGHT), Sense::hover());
            let words = if symbol.is_empty() { name.to_owned() } else { format!("{name}  {symbol}") };
            let font = theme::small();
            ui.painter().text(place.left_center(), Align2::LEFT_CENTER, words, font, cx.theme.secondary);
            ui.add(Label::new(RichText::new(value).font(theme::numbers())).wrap());
        });
    }
    for note in &m.notes {
        ui.add_space(6.0);
        note_ui(ui, cx.theme, note);
    }
    ui.add_space(8.0);
}

/// Rows of name, symbol and value, without the number of parameters, which is a large figure.
fn rows(m: &TrainedBdh) -> [(&'static str, &'static str, String); 7] {
    let per_head = m.neurons / m.heads.max(1);
    let unsaid = if m.layers_unsaid { " (the file does not say)" } else { "" };
    [
        ("Neurons", "n", format!("{} in {} heads of {}", grouped(m.neurons as u64), m.heads, grouped(per_head as u64))),
        ("Width", "D", grouped(m.d_model as u64)),
        ("Layers, sharing weights", "L", format!("{}{unsaid}", m.layers)),
        ("Vocabulary", "V", grouped(m.vocab as u64)),
        ("Time", "U", m.position.clone()),
        ("Form", "", m.form.clone()),
        ("Text at hand", "", m.tokens.clone()),
    ]
}

/// Judges by the loss whether the text fits the model's tokens; true marks a warning.
fn verdict(m: &TrainedBdh) -> (String, bool) {
    let uniform = (m.vocab as f64).ln();
    let costs = format!(
        "Held-out loss {:.3} nats per token. By the frequencies of these tokens alone: {:.3}; by guessing evenly: {uniform:.3}.",
        m.loss, m.frequency_loss
    );
    if m.loss.is_finite() && m.loss < m.frequency_loss {
        return (costs, false);
    }
    let why = "It reads this text no better than its tokens' frequencies tell it. Random weights do so, and so does a model \
               that was trained on other tokens: under Text, choose those that it was trained on.";
    (format!("{costs} {why}"), true)
}

/// Losses under other numbers of layers and in other tokens; a click takes a candidate over for the next reset.
fn candidates_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
    let variant = Some(cx.selection.variant);
    let Some(m) = cx.answered::<ReadingCandidates>() else {
        cx.controls_ui(ui, |ui, cx| {
            let waits = cx.is_waiting_for::<ReadingCandidates>(variant);
            let words = if waits { "comparing \u{2026}" } else { "Compare layers and tokens" };
            let tip = "Reads the same text with 1 to 12 layers, where the file does not say how many it has, and with \
                       other tokens that fit the model's vocabulary. The lowest loss tells which it was trained with.";
            let args = |cx: &ViewCx<'_>| ReadingCandidatesArgs { window: own_window(cx), ..Default::default() };
            cx.ask_button::<ReadingCandidates>(ui, Button::new(words).small(), true, tip, args);
            if let Some(words) = cx.refusal_of::<ReadingCandidates>(variant) {
                ui.label(small_text(words, cx.theme.error));
            }
        });
        return;
    };
    note_ui(ui, cx.theme, comparison(m.value));
    for candidate in &m.candidates {
        let marks = [
            (candidate.is_used, "used"),
            (candidate.is_chosen, "least"),
            (candidate.is_close, "as good within the error"),
        ];
        let marks: Vec<&str> = marks.iter().filter(|(is, _)| *is).map(|(_, words)| *words).collect();
        let error = match candidate.loss_error {
            error if error.is_finite() => format!("\u{b1} {error:.4} "),
            _ => String::new(),
        };
        let line = format!(
            "{:>2} layers  {:.4} {error}nats per token  {:.4} bits per byte  {}",
            candidate.layers,
            candidate.loss,
            candidate.bits_per_byte,
            marks.join(", ")
        );
        let tone = if marks.is_empty() { cx.theme.secondary } else { cx.theme.text };
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new(line).font(theme::numbers()).color(tone)).on_hover_text(&candidate.tokens);
            if !candidate.tokenizer.is_empty() {
                ui.label(small_text(&candidate.tokenizer, tone));
            }
            let list = list_setting(candidate);
            let keys = [FileSettings::layers.name, CorpusSettings::tokenizer.name].into_iter().chain(list);
            let is_restricted = cx.is_restricted(&keys.collect::<Vec<_>>());
            if candidate.is_chosen && !candidate.is_used && cx.can_move_controls() && !is_restricted {
                let tip = "Adopts this number of layers and these tokens; R then opens the model again with them, and \
                           records a folder of checkpoints again.";
                if ui.small_button("take it").on_hover_text(tip).clicked() {
                    cx.set(FileSettings::layers.name, Value::Int(candidate.layers as i64));
                    if let Some(key) = list {
                        cx.set(key, Value::Text(candidate.list.clone()));
                    }
                    if !candidate.tokenizer.is_empty() {
                        cx.set(CorpusSettings::tokenizer.name, Value::Text(candidate.tokenizer.clone()));
                    }
                }
            }
        });
    }
    m.warnings.iter().for_each(|words| _ = ui.label(small_text(words, cx.theme.warm)));
}

/// The setting that names the list of a candidate's tokens. Characters without a list are those of the text, so that it is
/// emptied for them.
fn list_setting(candidate: &ReadingCandidate) -> Option<&'static str> {
    match candidate.tokenizer.as_str() {
        "sorted_char" => Some(CorpusSettings::vocabulary_file.name),
        "huggingface" => Some(CorpusSettings::tokenizer_file.name),
        _ => None,
    }
}

/// The text that the candidates read, and the facts known before.
fn comparison(m: &ReadingCandidates) -> String {
    let known = match m.layers_from {
        Evidence::Measured => String::new(),
        _ if !m.layers_known => String::new(),
        Evidence::Assumed => "; the file says its layers".to_owned(),
        from => format!("; its layers are known, {}", from.label()),
    };
    let windows = match (m.windows, m.window_from) {
        (0, _) => String::new(),
        (n, Evidence::Assumed) => {
            format!(", in {n} windows of {} tokens, as it is not known which ones training used", m.window)
        }
        (n, from) => format!(", in {n} windows of {} tokens, {}", m.window, from.label()),
    };
    format!("loss of the same text by layers and tokens{windows}{known}")
}

/// The training window of a model that the run itself trains; 0 if it is left to the file's metadata.
fn own_window(cx: &ViewCx<'_>) -> usize {
    let config = cx.run_config();
    let is_file = config.value(FileSettings::checkpoint).is_ok_and(|file| file.path().is_some());
    if is_file { 0 } else { cx.training_window().unwrap_or(0) }
}

impl View for TrainedBdhView {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let mut args = TrainedBdhArgs::default();
        args.window = cx.training_window().unwrap_or(args.window);
        cx.ask::<TrainedBdh>(Some(cx.selection.variant), &args, Freshness::WithSchedule);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(m) = cx.latest::<TrainedBdh>() else {
            return cx.unmeasured_ui::<TrainedBdh>(ui, "No model is open yet: name a file at Checkpoint, or drop one.");
        };
        plot::rows_ui(ui, ScrollArea::vertical().auto_shrink([false, false]), |ui| {
            large_figures_ui(ui, cx.theme, &large_figures(m.value), Sense::hover());
            // candidates for the depth come first if the file does not record it, so that a wrong depth is noticed
            if m.layers_unsaid {
                candidates_ui(ui, cx);
                ui.add_space(8.0);
            }
            let (words, is_warning) = verdict(m.value);
            if is_warning {
                ui.label(RichText::new(&words).color(cx.theme.warm));
            }
            let above = ui.cursor().top() - ui.min_rect().top();
            let height = rows(m.value).len() as f32 * (ROW_HEIGHT + ROW_SPACING) + ROW_HEIGHT;
            let fits = above + height <= ui.clip_rect().height();
            let mut has_details = self.has_details.unwrap_or(fits);
            if cx.shows_controls() {
                let before = has_details;
                fold_ui(ui, cx.theme, "Details", &mut has_details);
                if has_details != before {
                    self.has_details = Some(has_details);
                }
            }
            // a picture has nothing to open
            if has_details || !cx.shows_controls() {
                ui.scope(|ui| details_ui(ui, cx, m.value));
                if !is_warning {
                    ui.label(RichText::new(words).color(cx.theme.text));
                }
            }
            if !m.layers_unsaid {
                ui.add_space(8.0);
                candidates_ui(ui, cx);
            }
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle_of::<TrainedBdh>("as its tensors have it")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let m = cx.latest::<TrainedBdh>()?;
        let mut table = Table::new(["what", "value"]);
        table.row(["Parameters".to_owned(), grouped(m.parameters as u64)]);
        rows(m.value).into_iter().for_each(|(name, _, value)| table.row([name.to_owned(), value]));
        table.row(["held-out loss, nats per token".to_owned(), m.loss.to_string()]);
        table.row(["loss by token frequencies, nats per token".to_owned(), m.frequency_loss.to_string()]);
        Some(table.finish())
    }
}
