//! A text read token by token: what the synapse in focus holds after each, and the graph of those that
//! gained most.

use std::fmt::Write as _;

use eframe::egui::{RichText, TextEdit, Ui, WidgetInfo, accesskit::Role, vec2};

use super::{
    Synapse, part, points,
    pulse::{Edge, Node, pulse_ui},
};
use crate::{
    config::Value,
    telemetry::{Args, Payload, RunState, Sample, Series, channels},
    ui::{
        plot::{Axis, Chart, ChartState, Line, Mark as Sign, Stroke, quote},
        theme::{self, GRID},
        views::{View, ViewCx},
        widgets::{
            playhead::Playhead,
            token_strip::{Mark, token_strip_ui},
        },
    },
};

/// View `reading`.
#[derive(Default)]
pub struct Reading {
    state: ChartState,
    playhead: Playhead,
    /// The text while it is typed.
    typed: Option<String>,
    /// What was asked last, and at which step.
    asked: Option<(Args, u64)>,
}

/// Seconds a token takes while playing.
const PACE: f64 = 0.12;
/// Tokens shown at once around the cursor.
const PAGE: usize = 280;
/// A token at which a synapse gains this share of its largest gain has a star.
const STAR: f64 = 0.5;
/// Updates after which a running model is asked again.
const AGAIN: u64 = 25;

/// What is shown: the sample and the synapse in focus within it.
#[derive(Clone, Copy)]
struct Shown<'a> {
    sample: &'a Sample,
    sigma: &'a Series,
    layer: usize,
    focus: usize,
}

impl<'a> Shown<'a> {
    fn of(cx: &ViewCx<'a>) -> Option<Self> {
        let sample = match (cx.answer(channels::READING), cx.sample(channels::READING)) {
            (Some((_, answer)), Some((_, told))) if cx.follow && answer.step >= told.step => answer,
            (_, Some((_, told))) => told,
            (Some((_, answer)), None) => answer,
            (None, None) => return None,
        };
        let sigma = part(&sample.payload, "sigma")?;
        let layer = match sample.payload.part("layer") {
            Some(Payload::Scalar(l)) => *l as usize,
            _ => 1,
        };
        let wanted = cx.selection.synapse.filter(|s| s.layer == layer).map(|s| format!("{}>{}", s.i, s.j));
        let focus = wanted.and_then(|w| sigma.lines.iter().position(|l| l.name == w)).unwrap_or(0);
        Some(Self { sample, sigma, layer, focus })
    }

    fn synapse(&self, line: usize) -> Option<Synapse> {
        let (i, j) = self.sigma.lines.get(line)?.name.split_once('>')?;
        Some(Synapse { layer: self.layer, i: i.parse().ok()?, j: j.parse().ok()? })
    }

    fn values(&self) -> &'a [f64] {
        self.sigma.lines.get(self.focus).map_or(&[], |l| l.y.as_slice())
    }

    /// What y and x bring to the synapse at each token, whatever the rotation.
    fn gains(&self) -> Vec<f64> {
        let Some(s) = self.synapse(self.focus) else { return vec![] };
        let of = |name: &str, n: usize| {
            let lines = part(&self.sample.payload, name).map_or(&[][..], |p| &p.lines);
            lines.iter().find(|l| l.name == n.to_string()).map_or(&[][..], |l| l.y.as_slice())
        };
        of("y", s.i).iter().zip(of("x", s.j)).map(|(y, x)| y * x).collect()
    }
}

impl Reading {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// Asks when the text, the synapse or the model has changed.
    fn ask(&mut self, cx: &mut ViewCx<'_>) {
        if !cx.can_ask() || cx.mirror.variants().is_empty() {
            return;
        }
        let mut args = Args::new();
        for (key, arg) in
            [("text", "text"), ("layer", "layer"), ("rotated", "rotated"), ("rank", "rank"), ("longest", "longest")]
        {
            if let Some(value) = cx.config.get(&format!("reading.{key}")) {
                args.insert(arg.to_owned(), value.clone());
            }
        }
        if let Some(s) = cx.selection.synapse {
            args.insert("layer".into(), Value::Int(s.layer as i64));
            args.insert("i".into(), Value::Int(s.i as i64));
            args.insert("j".into(), Value::Int(s.j as i64));
        }
        let newest = cx.mirror.step;
        let running = matches!(cx.mirror.state, Some(RunState::Running));
        let due = match &self.asked {
            None => true,
            Some((before, at)) => *before != args || newest < *at || newest >= *at + if running { AGAIN } else { 1 },
        };
        if due {
            self.asked = Some((args.clone(), newest));
            cx.ask("reading", Some(cx.selection.variant), args);
        }
    }

    fn text_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(Value::Text(set)) = cx.config.get("reading.text") else { return };
        let mut text = self.typed.clone().unwrap_or_else(|| set.clone());
        let edit = TextEdit::singleline(&mut text)
            .desired_width(f32::INFINITY)
            .hint_text("type a text to read; empty for a held-out passage");
        let response = ui.add(edit);
        response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "text to read"));
        if response.changed() {
            cx.settings.push(("reading.text".to_owned(), Value::Text(text.clone())));
            self.typed = Some(text);
        }
        if response.lost_focus() {
            self.typed = None;
        }
    }

    /// A page of tokens about the cursor; each as bright as the synapse gains there.
    fn strip_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, shown: Shown<'_>, cursor: usize) {
        let tokens = &shown.sample.tokens;
        let from = (cursor / PAGE) * PAGE;
        let page = &tokens[from.min(tokens.len())..(from + PAGE).min(tokens.len())];
        let gains = shown.gains();
        let most = gains.iter().copied().fold(1e-12, f64::max);
        let theme = cx.theme;
        let pointed = token_strip_ui(ui, theme, page, |k| {
            let at = from + k;
            let share = gains.get(at).map_or(0.0, |g| (g / most).clamp(0.0, 1.0)) as f32;
            let read = at <= cursor;
            let ground = (read && share > 0.02).then(|| theme.warm.gamma_multiply(0.12 + 0.68 * share));
            Mark { ground, outline: (at == cursor).then_some(theme.accent) }
        });
        if let Some(k) = pointed.clicked {
            cx.selection.token = Some(from + k);
            self.playhead.stop();
        }
    }

    fn chart<'a>(cx: &ViewCx<'a>, shown: Shown<'a>, cursor: usize) -> Chart<'a> {
        let name = shown.sigma.lines.get(shown.focus).map_or("", |l| l.name.as_str());
        let y = Axis::new(format!("\u{3c3}({})", name.replace('>', ", "))).include(&[0.0]);
        let mut chart = Chart::new("the synapse along the text", Axis::new("position (tokens)").whole(), y);
        for (i, line) in shown.sigma.lines.iter().enumerate().filter(|(i, _)| *i != shown.focus) {
            let data = points(shown.sigma, &line.name);
            chart.lines.push(Line::new(format!("other {i}"), cx.theme.secondary, data).faint());
        }
        let own = points(shown.sigma, name);
        let gains = shown.gains();
        let most = gains.iter().copied().fold(1e-12, f64::max);
        let stars: Vec<[f64; 2]> =
            own.iter().zip(&gains).filter(|(_, g)| **g >= STAR * most).map(|(p, _)| *p).collect();
        chart.lines.push(Line::new("in focus", cx.theme.accent, own));
        chart.lines.push(Line::new("gains", cx.theme.warm, stars).stroke(Stroke::Marks(Sign::Cross)));
        chart.marker = Some(cursor as f64);
        chart
    }

    fn graph_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, shown: Shown<'_>, cursor: usize, size: eframe::egui::Vec2) {
        let lines = &shown.sigma.lines;
        let most = lines.iter().flat_map(|l| l.y.iter()).fold(1e-12, |m: f64, v| m.max(v.abs()));
        let side = |name: &str| -> Vec<Node> {
            let all = part(&shown.sample.payload, name).map_or(&[][..], |p| &p.lines);
            let node = |l: &crate::telemetry::Line| {
                let peak = l.y.iter().copied().fold(1e-12, f64::max);
                Some(Node {
                    neuron: l.name.parse().ok()?,
                    fires: (l.y.get(cursor).copied().unwrap_or(0.0) / peak) as f32,
                })
            };
            all.iter().filter_map(node).collect()
        };
        let (ys, xs) = (side("y"), side("x"));
        let edge = |k: usize| {
            let s = shown.synapse(k)?;
            let from = ys.iter().position(|n| n.neuron == s.i)?;
            let to = xs.iter().position(|n| n.neuron == s.j)?;
            let strength = (lines[k].y.get(cursor).copied().unwrap_or(0.0) / most) as f32;
            let gains = ys[from].fires > 0.0 && xs[to].fires > 0.0;
            Some(Edge { from, to, strength, gains, chosen: k == shown.focus })
        };
        let edges: Vec<Edge> = (0..lines.len()).filter_map(edge).collect();
        let names = [format!("y, layer {}", shown.layer - 1), format!("x, layer {}", shown.layer)];
        if let Some(k) = pulse_ui(ui, cx.theme, size, [&names[0], &names[1]], [&ys, &xs], &edges) {
            cx.selection.synapse = shown.synapse(k);
        }
    }

    /// What stands at the cursor, in words.
    fn words_ui(ui: &mut Ui, cx: &ViewCx<'_>, shown: Shown<'_>, cursor: usize) {
        let mut words = String::new();
        if let Some(v) = shown.values().get(cursor) {
            let _ = write!(words, "\u{3c3} {v:.4}");
        }
        let at = |name: &str, line: &str| {
            let series = part(&shown.sample.payload, name)?;
            series.lines.iter().find(|l| l.name == line)?.y.get(cursor).copied()
        };
        if let Some(loss) = at("loss", "loss").filter(|l| l.is_finite()) {
            let _ = write!(words, "   surprise {loss:.2} nats");
        }
        let active: Vec<String> =
            (0..64).map_while(|l| at("active", &format!("y{l}"))).map(|v| format!("{:.1}%", 100.0 * v)).collect();
        if !active.is_empty() {
            let _ = write!(words, "   y fires {} by layer", active.join(" "));
        }
        ui.label(RichText::new(words).font(theme::numbers()).color(cx.theme.secondary));
    }
}

impl View for Reading {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.text_ui(ui, cx);
        self.ask(cx);
        let Some(shown) = Shown::of(cx).filter(|s| !s.sample.tokens.is_empty()) else {
            let words = "A BDH reads this text as soon as there is one: press Space, or open a run or a checkpoint.";
            crate::ui::plot::empty_ui(ui, ui.available_size(), cx.theme, words);
            return;
        };
        let last = shown.sample.tokens.len() - 1;
        let cursor = cx.selection.token.unwrap_or(last).min(last);
        let now = self.playhead.ui(ui, "token", PACE, cursor, last);
        if now != cursor {
            cx.selection.token = Some(now);
        }
        self.strip_ui(ui, cx, shown, now);
        Self::words_ui(ui, cx, shown, now);
        let size = ui.available_size();
        let high = ((size.y - GRID) * 0.45).max(100.0);
        Self::chart(cx, shown, now).show(ui, vec2(size.x, high), cx.theme, &mut self.state);
        Self::graph_ui(ui, cx, shown, now, vec2(size.x, (size.y - GRID - high).max(90.0)));
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match Shown::of(cx) {
            Some(s) => format!("step {} \u{b7} {}", s.sample.step, s.sample.about),
            None => "what synapses hold while a text is read".to_owned(),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let shown = Shown::of(cx)?;
        let names: Vec<String> = shown.sigma.lines.iter().map(|l| quote(&format!("sigma {}", l.name))).collect();
        let mut csv = format!("position,token,{}\n", names.join(","));
        for (t, token) in shown.sample.tokens.iter().enumerate() {
            let values: Vec<String> =
                shown.sigma.lines.iter().map(|l| l.y.get(t).map_or(String::new(), |v| v.to_string())).collect();
            let _ = writeln!(csv, "{t},{},{}", quote(token), values.join(","));
        }
        Some(csv)
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let shown = Shown::of(cx)?;
        let cursor = cx.selection.token.unwrap_or(usize::MAX).min(shown.sample.tokens.len().saturating_sub(1));
        Self::chart(cx, shown, cursor).svg(&self.state, cx.theme)
    }
}
