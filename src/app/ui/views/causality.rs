//! Change one token and see how far the logits move at every position: none before it, however strong the coupling.

use super::task::{sentence_ui, task_ui};
use crate::ui::{table::number_at, views::prelude::*};

#[derive(Default)]
pub struct Causality {
    /// A sentence that the user typed; if it is empty, a held-out passage is asked about.
    text: String,
    /// The token typed as replacement; the position it goes to is the selection shared by all views.
    replacement: KeyedCache<RunNumber, String>,
    /// The factor on the gate; `None` counts as 1.
    coupling_scale: Option<f64>,
    show_wrong: bool,
}

/// The label of the axis, and the legend entry for the effect on the unmodified model.
const POSITION_LABEL: &str = "position (tokens)";
const THIS_MODEL_LABEL: &str = "this model";

/// Height of a line below the chart, and of the gap above them, points.
const LINE_HEIGHT: f32 = 18.0;
const GAP: f32 = 4.0;

impl Causality {
    /// The selected token, if the sentence that was read has it; `None` lets the probe choose.
    fn position(cx: &ViewCx<'_>) -> Option<usize> {
        let read = cx.answered::<measurements::Causality>().map_or(0, |c| c.sample.tokens.len());
        cx.selection.token.filter(|t| *t < read)
    }

    fn args(&self, cx: &ViewCx<'_>) -> CausalityArgs {
        CausalityArgs {
            text: if self.text.trim().is_empty() { String::new() } else { self.text.clone() },
            position: Self::position(cx),
            replacement: self.replacement.get(&cx.mirror.run).cloned().unwrap_or_default(),
            coupling_scale: Some(self.coupling_scale.unwrap_or(1.0)),
            show_wrong: self.show_wrong,
            ..CausalityArgs::default()
        }
    }

    fn change_ui(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, causality: Measured<'_, measurements::Causality>) {
        ui.horizontal_wrapped(|ui| {
            let at = Self::position(cx).unwrap_or(causality.position);
            let here = causality.sample.tokens.get(at).map_or("", String::as_str);
            let label = ui.label(format!("\u{201c}{here}\u{201d} becomes"));
            let label = label.on_hover_text(format!("Token {at}. Click another one above.")).id;
            // where nothing is typed, the probe chooses the token, and the answer says which
            let hint = if at == causality.position { causality.replacement.clone() } else { String::new() };
            let edit = TextEdit::singleline(self.replacement.at(cx.mirror.run)).desired_width(56.0).hint_text(hint);
            ui.add(edit).labelled_by(label);
            let label = ui.label("s").on_hover_text("Coupling scale, for this question only.").id;
            ui.spacing_mut().slider_width = 64.0;
            let slider = Slider::new(self.coupling_scale.get_or_insert(1.0), 0.0..=10.0).max_decimals(1);
            ui.add(slider).labelled_by(label).on_hover_text(
                "Multiplies the gate for this question only. The paper turns it to 10: nothing before the change may move \
                 even then.",
            );
            ui.checkbox(&mut self.show_wrong, "wrong upsample").on_hover_text(
                "Also asks the model with floor(t/P) in place of floor(t/P) \u{2212} 1: a token then reads its own \
                 unfinished block, and the future leaks into it.",
            );
        });
    }
}

/// The positions before the change that move with the wrong upsampling.
fn leaking_positions(causality: &measurements::Causality) -> Option<std::ops::Range<usize>> {
    let leaky = causality.leaky_upsample.as_ref().filter(|l| l.before_max > 0.0)?;
    let first = leaky.delta.iter().position(|d| *d > 0.0)?;
    (first < causality.position).then_some(first..causality.position)
}

/// The legend entry of the wrong upsampling, with the gate it was measured through if that differs from the model's.
fn leaky_label(causality: &measurements::Causality, leaky: &LeakyUpsample) -> String {
    let mut label = "wrong upsample, floor(t/P)".to_owned();
    if leaky.gate != causality.effective_gate {
        label.push_str(&format!(", through a gate of {}", value_label(leaky.gate)));
    }
    label
}

/// Says whether the wrong upsampling leaks here, and where it would.
fn leak_ui(ui: &mut Ui, cx: &ViewCx<'_>, causality: &measurements::Causality) {
    let Some(leaky) = &causality.leaky_upsample else { return };
    let (words, colour) = match leaking_positions(causality) {
        Some(leak) => {
            let (tokens, max) = (counted(leak.len(), "token"), value_label(leaky.before_max));
            let words =
                format!("! With the wrong upsample the future leaks: {tokens} before the change move, by up to {max}.");
            (words, cx.theme.error)
        }
        None if leaky.pool > 1 && causality.position.is_multiple_of(leaky.pool) => (
            format!(
                "No earlier token reads this block, which begins with the changed one. Click token {}, its last, to \
                 see the leak.",
                causality.position + leaky.pool - 1
            ),
            cx.theme.secondary,
        ),
        None => ("The wrong upsampling moves nothing before the change here.".to_owned(), cx.theme.secondary),
    };
    wrapped_ui(ui, words, colour);
}

impl PanelView for Causality {
    const SPACING: Vec2 = vec2(8.0, GAP);

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask::<measurements::Causality>(Some(cx.selection.variant), &self.args(cx), Freshness::OFTEN);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let x = Axis::new(POSITION_LABEL).integer_ticks();
        let y = Axis::new("max |\u{394} logits|").log();
        let mut chart = Chart::new("causality", x, y).empty(cx.empty_reason::<measurements::Causality>(
            "No answer yet. A fast-slow model is asked at once, as it stands: press Space.",
        ));
        let Some(causality) = cx.answered::<measurements::Causality>() else { return Panel::single(chart) };
        let at = causality.position as f64;
        let ends = [-0.5, causality.delta.len().max(1) as f64 - 0.5];
        chart.x = chart.x.include(&ends);
        if let Some(leaky) = &causality.leaky_upsample {
            let label = leaky_label(causality.value, leaky);
            let line = Line::new(label, cx.theme.error, by_place(&leaky.delta)).stroke(Stroke::Stems);
            chart.add(line.short("wrong upsample"));
            if let Some(leak) = leaking_positions(causality.value) {
                chart.vertical_span("leak", cx.theme.error, [leak.start as f64 - 0.5, leak.end as f64 - 0.5]);
            }
        }
        let colour = variant_colour(cx.mirror, causality.variant, cx.theme);
        chart.add(Line::new(THIS_MODEL_LABEL, colour, by_place(&causality.delta)).stroke(Stroke::Stems));
        if at > 0.0 {
            let max = causality.before_max;
            let label = if max == 0.0 { "0 exactly".to_owned() } else { format!("at most {}", value_label(max)) };
            chart.vertical_span(label, cx.theme.secondary, [ends[0], at - 0.5]);
        }
        chart.vertical_line("changed", at);
        Panel::single(chart)
    }

    /// A row a position with its token; in that of the changed one also what it became.
    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let causality = cx.answered::<measurements::Causality>()?;
        let leaky = causality.leaky_upsample.as_ref();
        let leaky_label = leaky.map(|leaky| leaky_label(causality.value, leaky));
        let heading = [POSITION_LABEL, "token", "becomes"].map(str::to_owned).into_iter();
        let mut table = Table::new(heading.chain(leaky_label).chain([THIS_MODEL_LABEL.to_owned()]));
        for at in 0..causality.delta.len() {
            let becomes = Some(&causality.replacement).filter(|_| at == causality.position);
            let words = [Some(&at.to_string()), causality.sample.tokens.get(at), becomes].map(optional_field);
            let numbers = leaky.map(|leaky| number_at(&leaky.delta, at)).into_iter();
            table.row(words.into_iter().chain(numbers).chain([number_at(&causality.delta, at)]));
        }
        Some(table)
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let answered = cx.answered::<measurements::Causality>();
        // a refused sentence can be corrected, and the chart or the note gives the reason
        if answered.is_none() && cx.refusal_of::<measurements::Causality>(Some(cx.selection.variant)).is_none() {
            return;
        }
        let theme = cx.theme;
        let asked = self.args(cx);
        cx.controls_ui(ui, |ui, cx| {
            let tip = "The sentence that is read. Empty takes the first passage of the held-out text, which the model \
                       has never been trained on.";
            sentence_ui(ui, cx, &mut self.text, "sentence to read", tip);
        });
        let Some(causality) = answered else { return };
        let at = Self::position(cx).unwrap_or(causality.position);
        let leaks = leaking_positions(causality.value);
        let pointed = token_strip_ui(ui, theme, &causality.sample.tokens, |i| TokenMark {
            ground: (i == at).then_some(theme.accent.gamma_multiply(0.3)),
            outline: match &leaks {
                Some(leak) if leak.contains(&i) => Some(theme.error),
                _ => (cx.selection.token == Some(i)).then_some(theme.accent),
            },
        });
        task_ui(ui, cx, &self.text);
        cx.controls_ui(ui, |ui, cx| self.change_ui(ui, cx, causality));
        leak_ui(ui, cx, causality.value);
        cx.selection.token = pointed.clicked.or(cx.selection.token);
        if self.args(cx) != asked {
            // another question is put in the next frame
            ui.ctx().request_repaint();
        }
    }

    fn height_below(&self, _ui: &Ui, cx: &ViewCx<'_>, room: Vec2, _is_empty: bool) -> f32 {
        match cx.answered::<measurements::Causality>() {
            None => 0.0,
            Some(_) if room.y > 170.0 => 2.0 * LINE_HEIGHT + GAP,
            Some(_) => GAP,
        }
    }

    fn below_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, height: f32) {
        let Some(causality) = cx.answered::<measurements::Causality>().filter(|_| height > LINE_HEIGHT) else { return };
        for (when, likely) in [("before", &causality.predictions.original), ("after", &causality.predictions.edited)] {
            let text = RichText::new(format!("next, {when}: {}", likely_tokens_label(likely))).font(theme::numbers());
            ui.add(egui::Label::new(text.color(cx.theme.secondary)).truncate());
        }
    }

    /// Tells of a measured leak: logits moved before the changed token, by the model or the wrong upsampling.
    fn caption(&self, mirror: &Mirror) -> Option<String> {
        let all = (0..mirror.variants().len()).flat_map(|variant| {
            let asked = mirror.answer(variant, measurements::Causality::CHANNEL).into_iter();
            asked.chain(mirror.samples(variant, measurements::Causality::CHANNEL))
        });
        let moved = |causality: &measurements::Causality| {
            let own = (causality.before_max > 0.0).then_some(("the future leaks", causality.before_max));
            let wrong = causality.leaky_upsample.as_ref().filter(|l| l.before_max > 0.0);
            own.or(wrong.map(|l| ("with the wrong upsample the future leaks", l.before_max)))
        };
        let leaks = all.filter_map(|sample| moved(sample.measurement::<measurements::Causality>()?));
        let (words, max) = leaks.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!(
            "One token was changed, and {words}: logits before the change move, by up to {}. In a causal model they do \
             not move at all.",
            value_label(max)
        ))
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(causality) = cx.answered::<measurements::Causality>() else {
            return "change one token, watch every logit".to_owned();
        };
        let gate = format!("s tanh(\u{3b3}) = {}", value_label(causality.effective_gate));
        // what was changed comes first, since a tile cuts the end
        let Some(edit) = causality.edit_label(&causality.sample.tokens) else {
            return causality.subtitle(cx, &format!("{gate} \u{b7} "));
        };
        let about = causality.sample.about.as_str();
        let passage = about.strip_suffix(edit.as_str()).and_then(|about| about.strip_suffix(", ")).unwrap_or(about);
        let variant = cx.variant_prefix(causality.variant);
        format!("step {} \u{b7} {variant}{edit} \u{b7} {gate} \u{b7} {passage}", causality.sample.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Event, VariantInfo};

    #[test]
    fn a_measured_leak_is_reported() {
        let with = |own: f64, wrong: f64| {
            let mut mirror = Mirror::default();
            let causality = measurements::Causality {
                original: String::new(),
                edited: String::new(),
                position: 2,
                replacement: "b".into(),
                delta: vec![own, own, 1.0].into(),
                before_max: own,
                effective_gate: 0.5,
                leaky_upsample: Some(LeakyUpsample {
                    delta: vec![wrong, wrong, 1.0].into(),
                    before_max: wrong,
                    gate: 0.5,
                    pool: 4,
                }),
                predictions: Predictions { original: vec![], edited: vec![] },
            };
            let variant = VariantInfo { id: "a".into(), label: "a".into(), group: "a".into(), seed: 7, params: 1 };
            mirror.apply(Event::Started(RunInfo { variants: vec![variant], ..RunInfo::default() }.into()));
            mirror.apply(Event::Sample(Sample {
                step: 3,
                variant: 0,
                channel: measurements::Causality::CHANNEL.into(),
                about: String::new(),
                tokens: vec![],
                request: Some(1),
                payload: Arc::new(causality.into_payload()),
            }));
            Causality::default().caption(&mirror)
        };
        assert_eq!(with(0.0, 0.0), None);
        let said = with(0.25, 0.0).unwrap();
        assert!(said.contains("the future leaks") && said.contains("0.25") && !said.contains("upsample"), "{said}");
        assert!(with(0.0, 0.5).unwrap().contains("with the wrong upsample the future leaks"));
    }
}
