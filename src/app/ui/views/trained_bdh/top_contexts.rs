//! The passages of a text that drive a neuron or a synapse most, its values' spread, and the tokens it answers to.

use std::cell::Cell;

use super::{choices_ui, neuron_field_ui};
use crate::{
    labs::{
        synapses::settings::ReadingSettings,
        trained_bdh::settings::{ContextSettings, TrainedBdhSettings},
    },
    telemetry::read_neurons,
    ui::{
        views::prelude::*,
        widgets::token_strip::{are_words, narrow_token_width},
    },
};

#[derive(Default)]
pub struct TopContextsView {
    /// The passage that was clicked in this frame.
    clicked: Cell<Option<usize>>,
}

/// Height of the charts at the bottom, points, and the minimum height of a tile that shows them.
const CHARTS_HEIGHT: f32 = 150.0;
const MIN_HEIGHT_WITH_CHARTS: f32 = 270.0;
/// Tokens in the list of those that drive it.
const MAX_TOKENS: usize = 6;

/// Describes how often and how strongly the neuron or synapse fires.
fn verdict(m: &TopContexts) -> String {
    let read = grouped(m.read as u64);
    if m.fires == 0 {
        return format!("{} is above zero at none of {read} tokens.", m.followed);
    }
    let share = 100.0 * m.fires as f64 / m.read.max(1) as f64;
    format!(
        "{} is above zero at {} of {read} tokens ({share:.2}%). Mean {:.4}, greatest {:.3}.",
        m.followed,
        grouped(m.fires as u64),
        m.mean,
        m.greatest
    )
}

/// The number of heads, and of neurons per head, once the model has been measured.
fn sizes(cx: &ViewCx<'_>) -> Option<(usize, usize)> {
    let model = cx.latest::<TrainedBdh>()?;
    Some((model.heads, model.neurons / model.heads.max(1)))
}

impl TopContextsView {
    /// The neuron that is asked about: the one that is selected, else that of the settings.
    fn neuron(cx: &ViewCx<'_>) -> usize {
        let (heads, per_head) = sizes(cx).unwrap_or((usize::MAX >> 32, 1));
        let set = || cx.setting(ContextSettings::neuron.name).map(|v| v.to_string()).unwrap_or_default();
        let read = |text: String| read_neurons(&text, heads, per_head).ok()?.first().copied();
        cx.selection.neuron.map_or_else(|| read(set()).unwrap_or(0), |n| n as usize)
    }

    fn tracked_kind(cx: &ViewCx<'_>) -> FollowedKind {
        cx.config_now().value(ContextSettings::of).unwrap_or(FollowedKind::Y)
    }

    fn args(cx: &ViewCx<'_>) -> TopContextsArgs {
        let args = TrainedBdhSettings::read(&cx.config_now()).unwrap_or_default().context_args();
        match (Self::tracked_kind(cx), cx.selection.get::<Synapse>()) {
            (FollowedKind::Synapse, Some(s)) => {
                TopContextsArgs { layer: s.layer as i64, i: Some(s.i), j: Some(s.j), ..args }
            }
            (FollowedKind::X | FollowedKind::Y, _) if cx.selection.neuron.is_some() => {
                TopContextsArgs { neuron: Self::neuron(cx).to_string(), ..args }
            }
            _ => args,
        }
    }

    fn neuron_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let sizes = sizes(cx);
        let all = sizes.map_or(u32::MAX, |(heads, per_head)| (heads * per_head).max(1) as u32);
        let other = neuron_field_ui(ui, true, Self::neuron(cx) as u32, all - 1, sizes.unwrap_or_default());
        cx.selection.neuron = other.or(cx.selection.neuron);
    }

    fn synapse_ui(ui: &mut Ui, cx: &ViewCx<'_>) {
        let per_head = sizes(cx).map_or(0, |s| s.1);
        let words = match cx.selection.get::<Synapse>() {
            Some(s) => {
                let name = |neuron| neuron_name(neuron, per_head);
                format!("layer {}, y {} \u{2192} x {}", s.layer, name(s.i), name(s.j))
            }
            None => "none in focus: click one in Reading or Concepts".to_owned(),
        };
        note_ui(ui, cx.theme, words);
    }

    fn chart<'a>(cx: &ViewCx<'a>, m: &TopContexts) -> Chart<'a> {
        let x = Axis::new(format!("{} where above zero", m.symbol)).log();
        let mut chart = Chart::new("spread of the values", x, Axis::new("tokens").include(&[0.0]));
        let counts = m.bin_counts.iter().map(|n| *n as f64);
        // the last step ends at the last edge
        let heights = counts.chain(m.bin_counts.last().map(|n| *n as f64));
        let points: Vec<[f64; 2]> = m.bin_edges.iter().zip(heights).map(|(edge, n)| [*edge, n]).collect();
        chart.add(Line::new("tokens", cx.theme.accent, points).stroke(Stroke::Stairs));
        chart.legend = false;
        chart
    }

    fn tokens_ui(ui: &mut Ui, theme: &Theme, m: &TopContexts) {
        note_ui(ui, theme, "share of all activation by token; a line across: its share of the text");
        let bar = |t: &DrivingToken| Bar::new(visible_text(&t.token), theme.accent, t.share).before(t.frequency);
        let bars: Vec<Bar> = m.tokens.iter().take(MAX_TOKENS).map(bar).collect();
        let max = bars.iter().map(|b| b.value.max(b.before.unwrap_or(0.0))).fold(1e-12, f64::max);
        bars_ui(ui, theme, "tokens that drive it", bars, max);
    }

    /// The passage becomes the text that all views read, and its token is selected.
    fn read(cx: &mut ViewCx<'_>, context: &TopContext) {
        cx.set(ReadingSettings::text.name, Value::Text(context.text.clone()));
        let longest = cx.setting(ReadingSettings::longest.name).and_then(|v| v.as_f64()).unwrap_or(0.0);
        if longest < context.tokens.len() as f64 {
            cx.set(ReadingSettings::longest.name, Value::Int(context.tokens.len() as i64));
        }
        cx.selection.token = Some(context.token);
        cx.act(PageAction::ShowView("reading"));
    }
}

const EMPTY: &str = "Which passages drive a neuron most? Select one in the graph, or name one above, and press Find.";

impl PanelView for TopContextsView {
    const SPACING: Vec2 = vec2(8.0, 4.0);

    fn controls(&self) -> &'static [&'static str] {
        const { &[ContextSettings::of.name] }
    }

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let (variant, shown) = (Some(cx.selection.variant), cx.answered::<TopContexts>().map(|m| m.sample));
        cx.shows_question::<TopContexts>(variant, &Self::args(cx), shown);
    }

    /// The passages, how the values are spread, and the tokens.
    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some(m) = cx.answered::<TopContexts>().map(|m| m.value).filter(|m| m.fires > 0) else { return vec![] };
        let theme = cx.theme;
        let passages = Panel::canvas("passages", move |ui, size| {
            let area = ScrollArea::vertical().id_salt("passages").auto_shrink([false, false]).max_height(size.y);
            let shown = area.show(ui, |ui| ui.scope(|ui| passages_ui(ui, theme, &m.contexts))).inner;
            self.clicked.set(shown.inner);
            shown.response
        });
        let tokens = Panel::canvas("tokens that drive it", move |ui, size| {
            ui.allocate_ui(size, |ui| ui.vertical(|ui| Self::tokens_ui(ui, theme, m))).response
        });
        vec![passages, Panel::new(Self::chart(cx, m), 0.5), tokens]
    }

    /// The reason why there are no passages; none where the verdict says it.
    fn empty_reason(&self, cx: &ViewCx<'_>) -> String {
        match cx.answered::<TopContexts>() {
            Some(_) => String::new(),
            None => cx.empty_reason_before_asking::<TopContexts>(EMPTY, EMPTY),
        }
    }

    fn arrange(&self, _ui: &Ui, _cx: &ViewCx<'_>, room: Vec2, _panels: &[Panel<'_>], _alone: usize) -> Placement {
        let below = if room.y > MIN_HEIGHT_WITH_CHARTS { CHARTS_HEIGHT } else { 0.0 };
        let mut groups = vec![(vec2(room.x, room.y - below - Self::SPACING.y), 1, Placement::Alone(0))];
        if below > 0.0 {
            let half = vec2(((room.x - 12.0) / 2.0).max(120.0), below);
            groups.push((vec2(room.x, below), 2, Placement::Row(vec![half; 2])));
        }
        Placement::Groups { is_row: false, groups }
    }

    /// Chooses the neuron or synapse that is followed, and shows the button that starts a reading.
    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if cx.config.value(ContextSettings::of).is_err() {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            let followed = Self::tracked_kind(cx);
            choices_ui(ui, cx, ContextSettings::of, followed, |kind| match kind {
                FollowedKind::Y => "What the neuron writes: the sparser of its two activations.",
                FollowedKind::X => "The neuron as a key and a query.",
                FollowedKind::Synapse => "What each token adds to the synapse in focus, y(i) x(j).",
            });
            match Self::tracked_kind(cx) {
                FollowedKind::Synapse => Self::synapse_ui(ui, cx),
                FollowedKind::X | FollowedKind::Y => Self::neuron_ui(ui, cx),
            }
            let is_chosen = Self::tracked_kind(cx) != FollowedKind::Synapse || cx.selection.get::<Synapse>().is_some();
            let tip = "Reads the text of the settings (Top contexts: which part of it, and how much) and keeps the passages \
                       with the greatest values. The page can be used meanwhile.";
            cx.ask_button::<TopContexts>(ui, Button::new("Find"), is_chosen, tip, Self::args);
        });
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(m) = cx.answered::<TopContexts>() {
            ui.label(RichText::new(verdict(m.value)).size(theme::SMALL));
        }
    }

    fn canvas_pointed(&mut self, cx: &mut ViewCx<'_>, _on: &Response) {
        if let (Some(k), Some(m)) = (self.clicked.take(), cx.answered::<TopContexts>()) {
            Self::read(cx, &m.value.contexts[k]);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.answered_subtitle::<TopContexts>("", "the passages of a text that drive a neuron most")
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let m: Measured<'_, TopContexts> = cx.answered()?;
        let mut table = Table::new(["rank", "value", "layer", "position", "token", "passage"]);
        for (rank, c) in m.contexts.iter().enumerate() {
            let token = c.tokens.get(c.token).map_or("", String::as_str);
            // line breaks are shown as signs, so that a passage stays on one line
            table.cells(&[&(rank + 1), &c.value, &c.layer, &c.position, &token, &c.tokens.concat()]);
        }
        Some(table)
    }
}

/// Height of a passage, and size of its text, points.
const ROW_HEIGHT: f32 = 20.0;
const FONT_SIZE: f32 = 12.0;
/// Room between two passages, points.
const PASSAGE_GAP: f32 = 1.0;
/// Width of the value at the left, points.
const VALUE_WIDTH: f32 = 58.0;
/// Start of the token, as a share of the width that the value leaves.
const TOKEN_START: f32 = 0.62;

/// Draws passages one under another with the token that counts in one column (a concordance), tokens as bright as values;
/// returns the one that was clicked.
fn passages_ui(ui: &mut Ui, theme: &Theme, contexts: &[TopContext]) -> Option<usize> {
    ui.spacing_mut().item_spacing.y = PASSAGE_GAP;
    let max = contexts.iter().map(|c| c.value).fold(1e-12, f64::max);
    let mut clicked = None;
    for (k, context) in contexts.iter().enumerate() {
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW_HEIGHT), Sense::click());
        if !ui.is_rect_visible(rect) {
            continue;
        }
        let painter = ui.painter_at(rect);
        if response.hovered() {
            painter.rect_filled(rect, 2.0, theme.raised);
        }
        passage_painted(&painter, theme, rect, context, max);
        let token = context.tokens.get(context.token).map_or(String::new(), |t| visible_text(t));
        response.widget_info(|| {
            let words = format!("passage {}: {:.3} at {token}, position {}", k + 1, context.value, context.position);
            WidgetInfo::labeled(Role::Button, true, words)
        });
        let exact =
            if context.is_exact { "" } else { "\nIts first character is cut: read by itself, values differ a little." };
        let tip = format!(
            "{:.4} at \u{201c}{token}\u{201d}, layer {}, token {} of the text.\nClick to read this passage in all views.{exact}",
            context.value, context.layer, context.position
        );
        if response.on_hover_text(tip).clicked() {
            clicked = Some(k);
        }
    }
    clicked
}

fn passage_painted(painter: &Painter, theme: &Theme, rect: Rect, context: &TopContext, max: f64) {
    let (value, font) = (theme::numbers(), FontId::monospace(FONT_SIZE));
    let at = pos2(rect.left() + VALUE_WIDTH - 10.0, rect.center().y);
    painter.text(at, Align2::RIGHT_CENTER, format!("{:.3}", context.value), value, theme.text);
    let room = Rect::from_min_max(pos2(rect.left() + VALUE_WIDTH, rect.top()), rect.max);
    let advance = painter.layout_no_wrap("m".to_owned(), font.clone(), theme.text).size().x;
    let gap = if are_words(&context.tokens) { 0.7 * advance } else { 0.0 };
    let wide = |t: usize| match context.tokens[t].chars().count() {
        0 => narrow_token_width(advance),
        n => advance * n as f32,
    };
    let drawn = |t: usize, left: f32| {
        let place = Rect::from_min_size(pos2(left, rect.top() + 1.0), vec2(wide(t), ROW_HEIGHT - 2.0));
        let share = share((context.values.get(t).copied().unwrap_or(0.0) / max) as f32);
        if share > 0.02 {
            painter.rect_filled(place, 0.0, theme.accent.gamma_multiply(0.1 + 0.6 * share));
        }
        let shown = visible_text(&context.tokens[t]);
        let colour =
            if shown.trim_matches(['\u{b7}', '\u{b6}', '\u{ac}']).is_empty() { theme.secondary } else { theme.text };
        painter.text(place.left_center(), Align2::LEFT_CENTER, shown, font.clone(), colour);
        if t == context.token {
            painter.rect_stroke(place.expand2(vec2(1.0, 0.0)), 2.0, Pen::new(1.5, theme.text), StrokeKind::Inside);
        }
    };
    let middle = room.left() + TOKEN_START * room.width();
    let mut right = middle;
    for t in context.token..context.tokens.len() {
        if right + wide(t) > room.right() {
            break;
        }
        drawn(t, right);
        right += wide(t) + gap;
    }
    let mut left = middle;
    for t in (0..context.token).rev() {
        left -= wide(t) + gap;
        if left < room.left() {
            break;
        }
        drawn(t, left);
    }
}
