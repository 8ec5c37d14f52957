//! The effect on a text of silencing, scaling or clamping neurons or synapses, beside random ones as active.

use super::{choices_ui, text_ui};
use crate::{
    analysis::statistics::finite_mean,
    config::{Range, SettingKey},
    labs::{
        synapses::settings::ReadingSettings,
        trained_bdh::settings::{ChangeSettings, TrainedBdhSettings},
    },
    ui::views::prelude::*,
};

#[derive(Default)]
pub struct Intervention {
    chart: ChartState,
    /// The names of neurons or synapses while they are typed.
    names: Option<String>,
}

/// Share of the chart in the height that the text leaves, and its minimum height, points.
const CHART_SHARE: f32 = 0.5;
const MIN_CHART: f32 = 110.0;

/// Compares the effect with random draws: how many random sets reach it.
fn verdict(m: &InterventionEffect) -> String {
    let (own, draws) = (m.mean_divergence(), m.null_draws.len());
    if m.sigma.is_some_and(|s| s.0 == 0.0) && own == 0.0 {
        return "Nothing happens: on this text these synapses hold nothing.".to_owned();
    }
    if draws == 0 {
        return format!(
            "The next token\u{2019}s distribution moves by {own:.2e} nats per token. There are too few others of the same heads \
             for a random set to compare with."
        );
    }
    let random = m.null_draws.iter().sum::<f64>() / draws as f64;
    let ratio = match own / random {
        r if r.is_finite() => format!(", {r:.1} times as far as"),
        _ => "; it is".to_owned(),
    };
    let alike = if m.synapses.is_empty() { "neurons that fire as often" } else { "synapses that hold as much" };
    format!(
        "The next token\u{2019}s distribution moves by {own:.2e} nats per token{ratio} \
         with random {alike} ({random:.2e}). Random sets that move it as far: {} of {draws}.",
        m.draws_above()
    )
}

/// Describes the change, the activity of the chosen and the random ones, which `seed` draws, and the loss of the text.
fn details(m: &InterventionEffect, seed: u64) -> String {
    let loss = match (finite_mean(&m.loss_before), finite_mean(&m.loss_after)) {
        (Some(before), Some(after)) => format!("Loss of the text {before:.3} \u{2192} {after:.3} nats per token."),
        _ => "The text has no loss to compare: that takes at least two tokens.".to_owned(),
    };
    let activity = match (m.sigma, m.null_sigma) {
        (Some(own), Some(random)) => {
            let [own, random] = [own.0, random.0].map(|sigma| number::rounded(sigma, 3));
            format!("They hold {own} after the text, the random ones {random}.")
        }
        (Some(own), None) => format!("They hold {} after the text.", number::rounded(own.0, 3)),
        _ => format!(
            "They fire at {:.1}% of tokens and layers, the random ones at {:.1}%.",
            100.0 * m.firing,
            100.0 * m.null_firing
        ),
    };
    let drawn = if m.null_draws.is_empty() { String::new() } else { format!(" Seed of the random sets: {seed}.") };
    format!("{}: {}. {activity}{drawn} {loss}", m.names(), m.action)
}

/// The settings of the change, in a lab that has them.
fn settings(cx: &ViewCx<'_>) -> Option<TrainedBdhSettings> {
    cx.setting(ChangeSettings::neurons.name)?;
    Some(TrainedBdhSettings::read(&cx.config_now()).unwrap_or_default())
}

impl Intervention {
    /// The controls of the intervention, laid out as one sentence.
    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        text_ui(ui, cx);
        let Ok(target) = cx.config.value(ChangeSettings::target) else { return };
        let names = match target {
            TargetKind::Neurons => ChangeSettings::neurons,
            TargetKind::Synapses => ChangeSettings::synapses,
        };
        ui.horizontal_wrapped(|ui| {
            if choices_ui(ui, cx, ChangeSettings::target, target, |_| "") {
                self.names = None;
            }
            cx.setting_ui(ui, &[names.name], |ui, cx| self.names_ui(ui, cx, target, names));
            let action = cx.config.value(ChangeSettings::action).unwrap_or(ActionKind::Silence);
            choices_ui(ui, cx, ChangeSettings::action, action, |_| "");
            Self::amount_ui(ui, cx, action);
            cx.setting_ui(ui, &[names.name], |ui, cx| self.focus_ui(ui, cx, target, names));
        });
    }

    /// The factor of scale, or the value of clamp; disabled for silence, which has none.
    fn amount_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, action: ActionKind) {
        let (name, tip) = match action {
            ActionKind::Silence => ("amount", "Silence has none; it is the factor of scale and the value of clamp."),
            ActionKind::Scale => ("factor", "The activation, or what the synapse holds, is multiplied by it."),
            ActionKind::Clamp => ("value", "The activation, or what the synapse holds, is held at it."),
        };
        let key = ChangeSettings::amount.name;
        let knob = cx.knobs.iter().find(|knob| knob.key == key);
        let Some(Range::Float { min, max, .. }) = knob.map(|knob| knob.range.clone()) else { return };
        let amount = cx.config.value(ChangeSettings::amount).unwrap_or_default();
        cx.edit_setting_ui(ui, key, amount, |ui, amount| {
            let label = ui.label(name).on_hover_text(tip).id;
            let field = DragValue::new(amount).range(min..=max).speed(0.02).max_decimals(3);
            ui.add_enabled(action != ActionKind::Silence, field).labelled_by(label)
        });
    }

    /// The line in which neurons or synapses are named.
    fn names_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, target: TargetKind, setting: &SettingKey<String>) {
        let (hint, tip, name) = match target {
            TargetKind::Neurons => {
                ("0:12, 0:31", "head:index, both counted from 0, separated by commas.", "neurons to change")
            }
            TargetKind::Synapses => (
                "1 0:12>0:31",
                "layer y>x, separated by commas: from a neuron of y in the layer before to one of x in this layer.",
                "synapses to change",
            ),
        };
        let set = cx.config.value(setting).unwrap_or_default();
        let mut text = self.names.clone().unwrap_or(set.clone());
        let response = text_field(ui, TextEdit::singleline(&mut text).desired_width(140.0).hint_text(hint), name);
        if let Some(names) = settled(&response, text, &mut self.names).filter(|names| *names != set) {
            cx.set(setting.name, Value::Text(names));
        }
        response.on_hover_text(tip);
    }

    /// Takes over what other views have in focus.
    fn focus_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, target: TargetKind, setting: &SettingKey<String>) {
        let synapse = || cx.selection.get::<Synapse>().map(|s| format!("{}:{}:{}", s.layer, s.i, s.j));
        let (taken, name, place) = match target {
            TargetKind::Neurons => (cx.selection.neuron.map(|neuron| neuron.to_string()), "neuron", "in the graph"),
            TargetKind::Synapses => (synapse(), "synapse", "under Reading or Concepts"),
        };
        let (words, hint) = (format!("the {name} in focus"), format!("Takes the {name} that is selected {place}."));
        if let Some(taken) = taken.filter(|_| ui.button(words).on_hover_text(hint).clicked()) {
            self.names = None;
            cx.set(setting.name, Value::Text(taken));
        }
    }

    fn chart<'a>(cx: &ViewCx<'a>, m: &Measured<'a, InterventionEffect>) -> Chart<'a> {
        let x = Axis::new("position (tokens)").integer_ticks();
        let y = Axis::new("relative entropy (nats)").include(&[0.0]);
        let points = |values: &[f64]| -> Vec<[f64; 2]> {
            values.iter().enumerate().filter(|(_, v)| v.is_finite()).map(|(t, v)| [t as f64, *v]).collect()
        };
        let mut chart = Chart::new("what changes at each token", x, y);
        let random = format!("random {}, mean of {}", m.kind(), m.null_draws.len());
        chart.add(Line::new(format!("these {}", m.kind()), cx.theme.accent, points(&m.divergence)));
        if !m.null_draws.is_empty() {
            let null = Line::new(random, cx.theme.secondary, points(&m.null_divergence));
            chart.add(null.null_baseline());
        }
        chart.marker = cx.selection.token.map(|t| t as f64);
        chart
    }

    fn likely_ui(ui: &mut Ui, cx: &ViewCx<'_>, m: &InterventionEffect) {
        let theme = cx.theme;
        let likely = m.after.iter().filter(|likely| likely.probability.is_finite());
        note_ui(ui, theme, "what comes next; a line across marks the model as it is");
        let bars = likely.map(|likely| likely_bar(likely, theme.accent, &m.before));
        bars_ui(ui, theme, "next tokens with the change", bars, 1.0);
        for (name, text) in [("as it is", &m.continuation_before), ("with the change", &m.continuation_after)] {
            wrapped_ui(ui, format!("goes on {name}: {}", drawable_text(ui, &visible_text(text))), theme.secondary);
        }
    }
}

impl View for Intervention {
    fn controls(&self) -> &'static [&'static str] {
        const {
            &[
                ReadingSettings::text.name,
                ChangeSettings::target.name,
                ChangeSettings::neurons.name,
                ChangeSettings::synapses.name,
                ChangeSettings::action.name,
                ChangeSettings::amount.name,
            ]
        }
    }

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        if let Some(settings) = settings(cx).filter(|s| !s.change.named().is_empty()) {
            let args = settings.intervention_args();
            cx.ask::<InterventionEffect>(Some(cx.selection.variant), &args, Freshness::SELDOM);
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing.y = 4.0;
        cx.controls_ui(ui, |ui, cx| self.controls_ui(ui, cx));
        // a lab without the setting shows the recorded measurement
        let is_named = settings(cx).is_none_or(|s| !s.change.named().is_empty());
        let Some(m) = cx.answered::<InterventionEffect>().filter(|_| is_named) else {
            let words = match is_named {
                true => cx.empty_reason::<InterventionEffect>("Not measured yet."),
                false => {
                    "Nothing is changed. Name neurons or synapses above, or click one in another view and take what is in focus."
                        .to_owned()
                }
            };
            return cx.nothing_ui(ui, &words);
        };
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            ui.label(RichText::new(verdict(m.value)).size(theme::SMALL));
            note_ui(ui, cx.theme, details(m.value, cx.run_config().seed));
            let max = m.divergence.iter().copied().fold(1e-12, f64::max);
            let pointed = token_strip_ui(ui, cx.theme, &m.sample.tokens, |t| {
                let share = share(m.divergence.get(t).map_or(0.0, |d| d / max) as f32);
                let outline = (cx.selection.token == Some(t)).then_some(cx.theme.text);
                TokenMark::heat(cx.theme.accent, share, 0.08, 0.6, outline)
            });
            cx.selection.token = pointed.clicked.or(cx.selection.token);
            let high = (ui.available_height() * CHART_SHARE).max(MIN_CHART);
            Self::chart(cx, &m).show(ui, vec2(ui.available_width(), high), cx.theme, &mut self.chart);
            Self::likely_ui(ui, cx, m.value);
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let names = cx.answered::<InterventionEffect>().map_or(String::new(), |m| m.names());
        cx.answered_subtitle::<InterventionEffect>(&names, "what the model says without some of its neurons")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let m = cx.answered::<InterventionEffect>()?;
        let lists = [
            ("loss_before", &m.loss_before[..]),
            ("loss_after", &m.loss_after[..]),
            ("divergence", &m.divergence[..]),
            ("divergence_random", &m.null_divergence[..]),
        ];
        Some(Table::per_token(m.sample.tokens.iter().cloned(), &lists).finish())
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let m = cx.answered::<InterventionEffect>()?;
        Self::chart(cx, &m).svg(&self.chart, cx.theme)
    }
}
