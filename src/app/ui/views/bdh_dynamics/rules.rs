//! Steps through the local rules of a model, round by round, on the text that it reads or after a poke.

use std::time::Duration;

use super::{
    EMPTY, keep_fresh,
    machine::Machine,
    origin,
    ring::Ring,
    rounds::{self, longest_sentences, rounds_ui, sentence},
    shown_measurement,
};
use crate::ui::views::prelude::*;

/// Seconds a round takes while playing.
const ROUND_TIME: f64 = 0.45;
/// Tokens read before the user steps, so that there is something to see.
const SHOWN_FIRST: usize = 9;

#[derive(Default)]
pub struct Rules {
    machine: Option<Machine>,
    /// Time of the last round played; `None` while paused.
    playing: Option<f64>,
    /// The result of [`Rules::longest_height`] for its width, its gap and its pixels per point.
    longest: KeyedCache<[f32; 3], Option<f32>>,
}

impl Rules {
    /// A machine on the weights that were measured. New weights keep the place in the text.
    fn follow(&mut self, measured: Measured<'_, BdhDynamicsWeights>) {
        if self.machine.as_ref().is_some_and(|m| m.was_built_from(measured.sample)) {
            return;
        }
        self.longest = KeyedCache::default();
        self.machine = match &self.machine {
            Some(old) => old.replayed_on(measured),
            None => Machine::from_weights(measured).map(|mut m| {
                if m.next_token().is_some() {
                    m.read_to(SHOWN_FIRST.min(measured.sample.tokens.len().saturating_sub(1)));
                    // Then one more token: its arrival and its first three rounds, up to its prods.
                    (0..4).for_each(|_| _ = m.step());
                }
                m
            }),
        };
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, machine: &mut Machine) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            let over = machine.system.is_done(&machine.state) && machine.next_token().is_none();
            let button = |ui: &mut Ui, is_enabled: bool, name: &str, tip: &str| {
                ui.add_enabled(is_enabled, Button::new(name)).on_hover_text(tip).clicked()
            };
            let tip = "Executes the next of the four rounds; when a token is through, the next one arrives.";
            if button(ui, !over, "step round", tip) {
                machine.step();
                self.playing = None;
            }
            if button(ui, !over, "step token", "Takes the token through all rounds of all layers.") {
                machine.finish_token();
                self.playing = None;
            }
            let playing = self.playing.is_some();
            let name = if playing { "pause" } else { "play" };
            if button(ui, true, name, "Round after round, to the end of the text.") {
                self.playing = if playing { None } else { Some(ui.input(|i| i.time)) };
                if !playing && over {
                    machine.restart();
                }
            }
            if button(ui, true, "restart", "Back to rest: nothing read, all synapses at zero.") {
                machine.restart();
                self.playing = None;
            }
            cx.variants_ui(ui, "The variant whose neurons and synapses are shown.");
        });
    }

    /// The height of the longest sentences that rounds of this text have, points. It is kept until the text or the room
    /// changes, because several sentences per token are laid out for it.
    fn longest_height(&mut self, ui: &Ui, machine: &Machine, measured: Measured<'_, BdhDynamicsWeights>) -> f32 {
        let room = [ui.available_width(), ui.spacing().item_spacing.y, ui.pixels_per_point()];
        *self.longest.at(room).get_or_insert_with(|| {
            let highest = |height: f32, words: String| height.max(sentences_height(ui, [&words]));
            let rounds = longest_sentences(machine).into_iter().fold(0.0, highest);
            let predictions = (0..measured.sample.tokens.len()).filter_map(|t| predictions_sentence(measured, t));
            rounds + predictions.fold(0.0, highest)
        })
    }

    /// Makes the next step of the animation if its time has come.
    fn play(&mut self, ui: &Ui, machine: &mut Machine) {
        let Some(since) = self.playing else { return };
        let now = ui.input(|i| i.time);
        if now - since >= ROUND_TIME {
            self.playing = machine.step().then_some(now);
        }
        ui.ctx().request_repaint_after(Duration::from_secs_f64(ROUND_TIME / 4.0));
    }

    fn strip_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, machine: &mut Machine, sample: &Sample) {
        let now = machine.token();
        let next = machine.next_token().unwrap_or(sample.tokens.len());
        let pointed = token_strip_ui(ui, cx.theme, &sample.tokens, |t| TokenMark {
            ground: (t < next).then(|| cx.theme.slow.gamma_multiply(0.14)),
            outline: (now == Some(t)).then_some(cx.theme.accent),
        });
        if let Some(t) = pointed.clicked {
            machine.read_to(t);
            cx.selection.token = Some(t);
            self.playing = None;
        }
    }

    fn ring_ui(ui: &mut Ui, cx: &ViewCx<'_>, machine: &mut Machine, room: Rect) -> bool {
        // the largest square, in the middle
        let side = room.width().min(room.height());
        let rect = Rect::from_center_size(pos2(room.center().x, room.top() + 0.5 * side), vec2(side, side));
        let response = ui.allocate_rect(rect, Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "neurons on a circle"));
        plot::note_canvas(ui, "neurons on a circle", rect);
        let ring = Ring::new(rect, machine.system.n(), 8.0);
        let under = response.hover_pos().and_then(|p| ring.neuron_at(p));
        let clicked = response.interact_pointer_pos().filter(|_| response.clicked());
        let poked = clicked.and_then(|p| ring.neuron_at(p));
        if let Some(neuron) = poked {
            machine.poke(neuron);
        }
        ring.paint(&ui.painter_at(rect), cx.theme, machine, under);
        if let Some(i) = under {
            response.on_hover_text_at_pointer(neuron_text(machine, i));
        }
        poked.is_some()
    }
}

/// The state and the strongest synapses of a neuron, for its tooltip.
fn neuron_text(machine: &Machine, i: usize) -> String {
    let s = &machine.state;
    let [x, y, a] = [s.x[i], s.y[i], s.a[i]].map(|v| number::rounded(v, 4));
    let words = format!("neuron {i}: X {x}, Y {y}, A {a}\nclick to poke it");
    let own = machine.strongest_synapses(usize::MAX).into_iter().filter(|(y, x, _)| *y == i || *x == i).take(3);
    let synapses = own.map(|(y, x, sigma)| format!("\n\u{3c3}({y}, {x}) = {}", number::rounded(sigma, 4)));
    words + &synapses.collect::<String>()
}

/// The next token after a token, as predicted by the rules and by the model.
fn predictions_sentence(measured: Measured<'_, BdhDynamicsWeights>, token: usize) -> Option<String> {
    let (rules, model) = (measured.rule_predictions.get(token)?, measured.model_predictions.get(token)?);
    let norms = if measured.graph.is_some() { "by the model" } else { "by the model, which has LayerNorms" };
    Some(format!(
        "next, by the rules: {}   {norms}: {}   (the same first on {} of {} tokens)",
        likely_tokens_label(rules),
        likely_tokens_label(model),
        measured.agreements,
        measured.sample.tokens.len()
    ))
}

fn sentences_ui(ui: &mut Ui, cx: &ViewCx<'_>, words: &[String]) {
    words.iter().for_each(|words| _ = note_ui(ui, cx.theme, words));
}

/// The height of sentences with the gaps between them, points.
fn sentences_height<'a>(ui: &Ui, sentences: impl IntoIterator<Item = &'a String>) -> f32 {
    let (gap, width) = (ui.spacing().item_spacing.y, ui.available_width());
    sentences.into_iter().map(|words| note_height(ui, words, width) + gap).sum()
}

impl View for Rules {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh::<BdhDynamicsWeights>(cx);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let measured = shown_measurement::<BdhDynamicsWeights>(cx);
        match measured {
            Some(measured) => self.follow(measured),
            None => (self.machine, self.longest) = (None, KeyedCache::default()),
        }
        let (Some(measured), Some(mut machine)) = (measured, self.machine.take()) else {
            self.playing = None;
            return cx.unmeasured_ui::<BdhDynamicsWeights>(ui, EMPTY);
        };
        ui.spacing_mut().item_spacing.y = 4.0;
        self.play(ui, &mut machine);
        cx.controls_ui(ui, |ui, cx| self.controls_ui(ui, cx, &mut machine));
        self.strip_ui(ui, cx, &mut machine, measured.sample);
        // the last round and, after the last round of a token, the next token
        let token = machine.token().filter(|_| machine.system.is_done(&machine.state));
        let predictions = token.and_then(|t| predictions_sentence(measured, t));
        let words: Vec<String> =
            std::iter::once(sentence(&machine, &measured.sample.tokens)).chain(predictions).collect();
        let room = ui.available_rect_before_wrap();
        let poked;
        let side = room.height().min(0.55 * room.width());
        if room.width() > 1.4 * room.height() && room.width() - side - 12.0 >= rounds::MIN_WIDTH {
            poked = Self::ring_ui(ui, cx, &mut machine, Rect::from_min_size(room.min, vec2(side, room.height())));
            let right = Rect::from_min_max(room.min + vec2(side + 12.0, 0.0), room.max);
            let mut beside = ui.new_child(UiBuilder::new().max_rect(right));
            sentences_ui(&mut beside, cx, &words);
            let left = beside.available_size();
            rounds_ui(&mut beside, cx.theme, &machine, left);
        } else {
            // the sentences are below the circle, in the room of the longest, so that it keeps its place and its size
            // a picture has only the round that is shown
            let longest = if cx.has_controls { self.longest_height(ui, &machine, measured) } else { 0.0 };
            let sentences = longest.max(sentences_height(ui, &words));
            let most = room.width().max(80.0);
            // the tracks of a smaller circle would not be distinct
            let is_in_tile = plot::min_chart_height(ui.ctx()) > 0.0;
            let least: f32 = match (is_in_tile, cx.has_controls) {
                (true, _) => plot::MIN_PLOT_SIZE.x,
                (false, true) => 200.0,
                (false, false) => 80.0,
            };
            let least = least.min(most);
            // a tile can be scrolled to a table below its edge; a picture leaves such a table out
            let free = room.height() - sentences - 8.0;
            let has_table = cx.has_controls || free - least >= rounds::MIN_HEIGHT - 1.0;
            let table = if has_table { rounds::MIN_HEIGHT } else { 0.0 };
            let high = (free - table).clamp(least, most);
            poked = Self::ring_ui(ui, cx, &mut machine, Rect::from_min_size(room.min, vec2(room.width(), high)));
            let part = |top: f32, high: f32| {
                UiBuilder::new().max_rect(Rect::from_min_size(room.min + vec2(0.0, top), vec2(room.width(), high)))
            };
            ui.scope_builder(part(high + 4.0, sentences), |ui| sentences_ui(ui, cx, &words));
            if has_table {
                let size = vec2(room.width(), (free - high).max(table));
                let place = part(high + sentences + 8.0, size.y);
                ui.scope_builder(place, |ui| rounds_ui(ui, cx.theme, &machine, size));
            }
        }
        if poked {
            self.playing = None;
        }
        self.machine = Some(machine);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(measured) = shown_measurement::<BdhDynamicsWeights>(cx) else {
            return "the four rounds of table 1, on the model's weights".to_owned();
        };
        let gain = match measured.gain {
            _ if measured.graph.is_some() => "the trained edges themselves".to_owned(),
            g if g.is_finite() => format!("D_y \u{d7} {g:.3} in place of LayerNorms"),
            _ => "no gain replaces the LayerNorms".to_owned(),
        };
        format!("{} \u{b7} {gain}", origin(cx, measured.sample, "four local rules"))
    }

    /// One row for each neuron with its current values.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let sample = shown_measurement::<BdhDynamicsWeights>(cx)?.sample;
        let machine = self.machine.as_ref()?;
        let token = machine.token().and_then(|t| sample.tokens.get(t)).map_or("", String::as_str);
        let round = machine.last.as_ref().map_or(String::new(), |r| match r.layer {
            Some(layer) => (4 * layer + r.kernel).to_string(),
            None => "arrival".to_owned(),
        });
        let mut table = Table::new(["neuron", "x", "y", "a", "token", "round"]);
        let s = &machine.state;
        (0..machine.system.n()).for_each(|i| table.cells(&[&i, &s.x[i], &s.y[i], &s.a[i], &token, &round]));
        Some(table.finish())
    }
}
