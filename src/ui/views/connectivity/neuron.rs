//! One neuron of the graph: whom it raises and lowers most, who does so to it, which tokens make it
//! fire and towards which tokens it writes. A partner is picked by a click.

use eframe::egui::{
    Align2, DragValue, FontId, Pos2, Rect, RichText, ScrollArea, Sense, Ui, WidgetInfo, accesskit::Role, pos2, vec2,
};

use super::{args, fact, part, sample};
use crate::{
    config::Value,
    telemetry::{Payload, Sample, channels},
    ui::{
        plot::{empty_ui, quote},
        theme,
        views::{View, ViewCx},
    },
};

/// The lists: part of the answer, and heading.
const PARTNERS: [(&str, &str, &str); 2] = [
    ("to", "acts on", "Entries of its row of G: how much its y raises (warm) or lowers (cool) each partner."),
    ("from", "is acted on by", "Entries of its column of G: whose y raises (warm) or lowers (cool) it most."),
];
const TOKENS: [(&str, &str, &str, &str); 2] = [
    ("reads", "read_scores", "fires for", "Tokens whose embedding gives it most in the first layer."),
    ("writes", "write_scores", "writes towards", "Tokens whose logits its row of E raises most, norms left out."),
];
const ROW: f32 = 18.0;
/// What the scroll bar takes, which lies over what scrolls.
const BAR: f32 = 12.0;

/// View `graph_neuron`.
#[derive(Default)]
pub struct Neuron;

/// A row of a list.
struct Row {
    label: String,
    value: f64,
    /// The neuron it stands for.
    neuron: Option<u32>,
}

impl Neuron {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// What was told: of the neuron in focus where somebody asked.
    fn told<'a>(cx: &ViewCx<'a>) -> Option<&'a Sample> {
        let answer = cx.mirror.answer(cx.selection.variant, channels::GRAPH_NEURON).filter(|_| cx.follow);
        answer.or_else(|| cx.sample(channels::GRAPH_NEURON).map(|(_, s)| s))
    }

    /// Asks when another neuron is picked and when the model has moved on by a scheduled measurement.
    fn ask(cx: &mut ViewCx<'_>) {
        let step = super::newest(cx).unwrap_or_default();
        let Some(neuron) = cx.selection.neuron.filter(|_| cx.can_ask()) else { return };
        if cx.selection.connectivity.neuron != Some((neuron, step)) {
            cx.selection.connectivity.neuron = Some((neuron, step));
            let mut args = args(cx.config);
            args.insert("neuron".to_owned(), Value::Int(i64::from(neuron)));
            cx.ask("graph_neuron", Some(cx.selection.variant), args);
        }
    }

    fn rows(cx: &ViewCx<'_>, name: &str) -> Vec<Row> {
        let told = Self::told(cx);
        let Some(series) = part(told, name) else { return vec![] };
        let line =
            |name: &str| series.lines.iter().find(|l| l.name == name).map(|l| l.y.as_slice()).unwrap_or_default();
        let label = |i: usize, x: f64| match line("head").get(i) {
            Some(head) => format!("{x:.0} h{head:.0}"),
            None => format!("{x:.0}"),
        };
        let row = |(i, (x, v)): (usize, (&f64, &f64))| Row { label: label(i, *x), value: *v, neuron: Some(*x as u32) };
        series.x.iter().zip(line("entry")).enumerate().map(row).collect()
    }

    fn tokens(cx: &ViewCx<'_>, words: &str, scores: &str) -> Vec<Row> {
        let told = Self::told(cx);
        let Some(Payload::Text(words)) = told.and_then(|s| s.payload.part(words)) else { return vec![] };
        let scores = part(told, scores).and_then(|s| s.lines.first()).map(|l| l.y.clone()).unwrap_or_default();
        let row = |(word, value): (&String, f64)| Row { label: visible(word), value, neuron: None };
        words.iter().zip(scores).map(row).collect()
    }

    fn head_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let told = Self::told(cx);
        let mut neuron = fact(told, "neuron").unwrap_or_default() as u32;
        let most = cx.config.get("model.neurons").and_then(Value::as_f64).unwrap_or(1e6) as u32;
        ui.horizontal_wrapped(|ui| {
            let label = ui.label("neuron").on_hover_text("Its number in the model, over all heads.").id;
            let drag = DragValue::new(&mut neuron).range(0..=most.saturating_sub(1)).speed(0.2);
            if ui.add_enabled(cx.can_ask(), drag).labelled_by(label).changed() {
                cx.selection.neuron = Some(neuron);
            }
            let mut words = vec![];
            words.extend(fact(told, "head").map(|h| format!("head {h:.0}")));
            words.extend(fact(told, "octave").map(|o| format!("RoPE octave {o:.0} of 16")));
            words.extend(Self::in_graph(cx, neuron));
            let words = words.join(" \u{b7} ");
            ui.label(RichText::new(words).font(theme::numbers()).color(cx.theme.secondary));
        });
    }

    /// What the graph says of it: community and edges.
    fn in_graph(cx: &ViewCx<'_>, neuron: u32) -> Option<String> {
        let neurons = part(sample(cx, channels::GRAPH_NEURONS), "neurons")?;
        let Some(at) = neurons.x.iter().position(|x| *x as u32 == neuron) else {
            return Some("no edges at this threshold".to_owned());
        };
        let get = |name: &str| neurons.lines.iter().find(|l| l.name == name)?.y.get(at).copied();
        Some(format!("community {:.0} \u{b7} {:.0} edges in, {:.0} out", get("community")?, get("in")?, get("out")?))
    }

    /// A list with a bar a row; gives the neuron that was clicked.
    fn list_ui(ui: &mut Ui, cx: &ViewCx<'_>, heading: &str, about: &str, rows: &[Row]) -> Option<u32> {
        let mut picked = None;
        ui.label(RichText::new(heading).size(theme::SMALL).color(cx.theme.secondary)).on_hover_text(about);
        let most = rows.iter().map(|r| r.value.abs()).fold(f64::MIN_POSITIVE, f64::max);
        let wide = ui.available_width();
        for row in rows {
            let sense = if row.neuron.is_some() { Sense::click() } else { Sense::hover() };
            let (rect, response) = ui.allocate_exact_size(vec2(wide, ROW), sense);
            if response.hovered() && row.neuron.is_some() {
                ui.painter().rect_filled(rect, 2.0, cx.theme.line);
            }
            let tone = if row.value < 0.0 { cx.theme.cool } else { cx.theme.warm };
            let words_wide = (wide * 0.4).min(76.0);
            let room = (wide - words_wide - 60.0).max(12.0);
            let from = rect.left() + words_wide;
            let bar = Rect::from_min_size(
                pos2(from, rect.center().y - 4.0),
                vec2((room as f64 * row.value.abs() / most) as f32, 8.0),
            );
            ui.painter().rect_filled(bar, 1.0, tone);
            let text = |at: Pos2, align, words: &str, colour| {
                ui.painter().text(at, align, words, FontId::monospace(theme::SMALL), colour);
            };
            text(rect.left_center(), Align2::LEFT_CENTER, &row.label, cx.theme.text);
            let value = format!("{:+.3}", row.value);
            text(rect.right_center(), Align2::RIGHT_CENTER, &value, cx.theme.secondary);
            let name = format!("{heading} {}: {value}", row.label);
            match row.neuron {
                Some(neuron) => {
                    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
                    if response.on_hover_text("Click to look at this neuron.").clicked() {
                        picked = Some(neuron);
                    }
                }
                None => response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &name)),
            }
        }
        picked
    }
}

/// A token one can see.
fn visible(token: &str) -> String {
    match token {
        " " => "\u{2423}".to_owned(),
        "\n" => "\u{23ce}".to_owned(),
        "\t" => "\u{21e5}".to_owned(),
        t => t.replace('\n', "\u{23ce}"),
    }
}

impl View for Neuron {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        Self::ask(cx);
        if Self::told(cx).is_none() {
            let words = "No neuron has been looked at yet. Pick one in the neuron graph; a run of that lab shows one \
                         before the first step.";
            empty_ui(ui, ui.available_size(), cx.theme, words);
            return;
        }
        ui.spacing_mut().item_spacing.y = 2.0;
        Self::head_ui(ui, cx);
        let columns = if ui.available_width() > 720.0 { 4 } else { 2 };
        let mut picked = None;
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            ui.set_width(ui.available_width() - BAR);
            ui.spacing_mut().item_spacing.x = 20.0;
            ui.columns(columns, |ui| {
                for (k, (name, heading, about)) in PARTNERS.iter().enumerate() {
                    picked = picked.or(Self::list_ui(&mut ui[k], cx, heading, about, &Self::rows(cx, name)));
                }
                for (k, (words, scores, heading, about)) in TOKENS.iter().enumerate() {
                    let rows = Self::tokens(cx, words, scores);
                    Self::list_ui(&mut ui[(2 + k) % columns], cx, heading, about, &rows);
                }
            });
        });
        if picked.is_some() && cx.can_ask() {
            cx.selection.neuron = picked;
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match Self::told(cx) {
            Some(s) => format!("step {} \u{b7} {}", s.step, s.about),
            None => "strongest partners, and tokens".to_owned(),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::told(cx)?;
        let mut out = "list,name,value\n".to_owned();
        let partners = PARTNERS.iter().map(|(name, heading, _)| (*heading, Self::rows(cx, name)));
        let tokens = TOKENS.iter().map(|(words, scores, heading, _)| (*heading, Self::tokens(cx, words, scores)));
        for (heading, rows) in partners.chain(tokens) {
            for row in rows {
                out.push_str(&format!("{heading},{},{}\n", quote(&row.label), row.value));
            }
        }
        Some(out)
    }
}
