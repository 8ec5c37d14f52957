//! One attention matrix as a step of a Markov chain: where walks end, how long they take, whether blocks are states.

mod quantities;

use crate::{
    analysis::generator::{GeneratorError, MAX_STATES},
    ui::{
        picture_order::file_stem,
        views::{prelude::*, task::sentence_ui},
    },
};
use quantities::{Quantity, facts_ui, has_one_closed_class, large_figures, sentence};

/// Higher tiles show every number, points.
const ROOMY_HEIGHT: f32 = 440.0;
/// The maximum number of positions in a block.
const MAX_BLOCK_SIZE: usize = 48;
const EMPTY: &str = "No attention has been read yet. A run answers as soon as it has a model: press Space.";

/// The text along which attention is read, as the user typed it; if it is empty, a held-out passage is read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainText(pub String);

impl Slot for ChainText {}

pub struct AttentionChainView {
    /// Positions that are lumped into a block.
    width: usize,
    quantity: Quantity,
    /// True if every number is shown, not only those of the chosen quantity.
    has_details: bool,
}

/// True where the newest chain, or else the newest attention maps, name this layer.
fn has_layer(cx: &ViewCx<'_>, path: &str) -> bool {
    let maps = || cx.latest::<AttentionMaps>().is_some_and(|m| m.layers.iter().any(|l| l.path == path));
    cx.measured_in_focus::<AttentionChain>().map_or_else(maps, |m| m.layers.iter().any(|l| l == path))
}

impl Default for AttentionChainView {
    fn default() -> Self {
        Self { width: 4, quantity: Quantity::Entropy, has_details: false }
    }
}

impl AttentionChainView {
    fn args(&self, cx: &ViewCx<'_>) -> AttentionChainArgs {
        AttentionChainArgs {
            text: cx.selection.get().map_or(String::new(), |ChainText(text)| text.clone()),
            layer: cx.selection.layer.clone().filter(|path| has_layer(cx, path)).unwrap_or_default(),
            head: cx.selection.head.unwrap_or(0),
            width: self.width,
            ..AttentionChainArgs::default()
        }
    }

    fn empty_words(cx: &ViewCx<'_>) -> String {
        let is_answered = cx.questions.request((AttentionChain::PROBE, None)).is_some();
        let label = cx.mirror.variant_label(cx.selection.variant);
        let is_absent = cx.is_answered_without::<AttentionChain>(cx.selection.variant);
        match is_absent && (is_answered || cx.mirror.variants().len() < 2) {
            true => format!("{label} has no softmax attention, so there is no step of a Markov chain to look at."),
            false => cx.empty_reason::<AttentionChain>(EMPTY),
        }
    }

    fn text_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let ChainText(mut text) = cx.selection.get().cloned().unwrap_or_default();
        let tip = "The text along which the model attends. Empty takes the passage of the attention maps; at most 96 \
                   tokens of a typed text are read.";
        if sentence_ui(ui, cx, &mut text, "text to attend in", tip).changed() {
            cx.selection.set(ChainText(text));
        }
    }

    fn choices_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, m: Measured<'_, AttentionChain>) {
        ui.horizontal_wrapped(|ui| {
            for quantity in Quantity::ALL {
                ui.selectable_value(&mut self.quantity, quantity, quantity.id()).on_hover_text(quantity.tooltip());
            }
            let (mut path, mut head) = (m.path.clone(), m.head);
            let tip = "The layer whose attention is shown. Other views show this one too.";
            if choice_menu(ui, &m.path, &mut path, m.layers.iter().map(|path| (path.clone(), path)), tip) {
                cx.selection.layer = Some(path);
            }
            let heads = (0..m.heads).map(|head| (head, format!("head {head}")));
            let tip = "The head whose attention is shown. Other views show this one too.";
            if choice_menu(ui, &format!("head {}", m.head), &mut head, heads, tip) {
                (cx.selection.layer, cx.selection.head) = (Some(m.path.clone()), Some(head));
            }
            let label = ui.label("P").on_hover_text("Positions that are lumped into one block.").id;
            ui.add(DragValue::new(&mut self.width).range(1..=MAX_BLOCK_SIZE)).labelled_by(label);
            if m.chain.is_some() {
                let states = m.weights.cols();
                let can_open = (2..=MAX_STATES).contains(&states);
                let open = ui.add_enabled(can_open, Button::new("in Equilibrium")).on_hover_text(
                    "Opens the matrix in the lab Equilibrium as a generator, \u{3b1}\u{1d40} \u{2212} I: its flow, its spectrum and \
                     its rates, which can be changed there. The matrix is saved into the export folder first.",
                );
                let wanted = if states > MAX_STATES { "shorter" } else { "longer" };
                let why = format!("{}: type a {wanted} text.", GeneratorError::Size(states));
                if open.on_disabled_hover_text(why).clicked() {
                    let bytes = transitions_csv(m.value).into_bytes();
                    cx.act(FileAction::OpenTransitions { name: file_name(m.value, m.sample.step), bytes, states });
                }
            }
            let save = ui.button("save \u{3b1}").on_hover_text(
                "Writes the matrix into the export folder, a row a line and without a header.",
            );
            if save.clicked() {
                cx.act(FileAction::SaveInExports(file_name(m.value, m.sample.step), matrix_csv(m.value).into_bytes()));
            }
        });
    }
}

/// The path of a layer in somebody else's run may be any text.
fn file_name(m: &AttentionChain, step: u64) -> String {
    file_stem(&format!("attention-{}-h{}-step{step}.csv", m.path, m.head))
}

/// The chain, one row per line; it stays on a first position that sees nothing.
fn transitions_csv(m: &AttentionChain) -> String {
    let alpha = matrix_csv(m);
    if !m.first_sees_nothing {
        return alpha;
    }
    let stays: Vec<&str> = (0..m.weights.cols()).map(|col| if col == 0 { "1" } else { "0" }).collect();
    let rest = alpha.split_once('\n').map_or("", |(_, rest)| rest);
    format!("{}\n{rest}", stays.join(","))
}

/// alpha, one row per line.
fn matrix_csv(m: &AttentionChain) -> String {
    let line = |row: &[f32]| row.iter().map(f32::to_string).collect::<Vec<_>>().join(",") + "\n";
    m.weights.data().chunks(m.weights.cols().max(1)).map(line).collect()
}

impl PanelView for AttentionChainView {
    const SPACING: Vec2 = vec2(8.0, 4.0);

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let args = self.args(cx);
        cx.ask::<AttentionChain>(Some(cx.selection.variant), &args, Freshness::SELDOM);
        if cx.is_answered_without::<AttentionChain>(cx.selection.variant) && cx.mirror.variants().len() > 1 {
            // some other variant may have what this one lacks
            cx.ask::<AttentionChain>(None, &args, Freshness::SELDOM);
        }
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let m = cx.measured_in_focus::<AttentionChain>();
        let chart = self.quantity.chart(cx, m);
        Panel::single(if m.is_some() { chart } else { chart.empty(Self::empty_words(cx)) })
    }

    /// Gives the chart a minimum size, because the text about a chain can take up all the space.
    fn arrange(&self, _ui: &Ui, cx: &ViewCx<'_>, room: Vec2, _panels: &[Panel<'_>], _alone: usize) -> Placement {
        match cx.measured_in_focus::<AttentionChain>() {
            Some(_) => Placement::Column(vec![room.max(vec2(140.0, 100.0))]),
            None => Placement::Alone(0),
        }
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let height = ui.available_height();
        if cx.mirror.info.is_some() {
            cx.controls_ui(ui, Self::text_ui);
        }
        let Some(m) = cx.measured_in_focus::<AttentionChain>() else { return };
        cx.controls_ui(ui, |ui, cx| self.choices_ui(ui, cx, m));
        large_figures_ui(ui, cx.theme, &large_figures(m.value, self.quantity), Sense::hover());
        if has_one_closed_class(m.value) && cx.shows_controls() {
            fold_ui(ui, cx.theme, "Details", &mut self.has_details);
        }
        // a picture has nothing to open, and unusual facts about a chain are always shown
        if self.has_details || !cx.shows_controls() || !has_one_closed_class(m.value) {
            wrapped_ui(ui, sentence(m.value), cx.theme.text);
        }
        if self.has_details || !has_one_closed_class(m.value) {
            // A low tile has room for what goes with the chart.
            let only = (height < ROOMY_HEIGHT).then_some(self.quantity);
            ui.scope(|ui| facts_ui(ui, cx.theme, m.value, only));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match cx.measured_in_focus::<AttentionChain>() {
            Some(m) => m.subtitle(cx, &format!("{} head {} \u{b7} ", m.path, m.head)),
            None => "an attention matrix applied again and again".to_owned(),
        }
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let m = cx.measured_in_focus::<AttentionChain>()?;
        let chain = m.chain.as_ref()?;
        let columns = ["position", "token", "entropy", "uniform_entropy", "stationary", "quasi_stationary"];
        let mut table = Table::new(columns.into_iter().chain(["steps_to_absorption", "block", "best_block"]));
        let is_fine = m.tokens_per_position == 1;
        for t in 0..m.weights.rows() {
            let number = |numbers: Option<&Vec<f64>>| optional_field(numbers.and_then(|n| n.get(t)));
            let token = m.sample.tokens.get(t).filter(|_| is_fine).cloned().unwrap_or_default();
            table.row([
                t.to_string(),
                token,
                number(Some(&chain.row_entropy)),
                number(Some(&chain.uniform_entropy)),
                number(chain.stationary.as_deref()),
                number(chain.quasi_stationary.as_deref()),
                number(Some(&chain.steps_to_absorption)),
                (t / chain.lumping.width.max(1)).to_string(),
                optional_field(chain.lumping.best.get(t)),
            ]);
        }
        Some(table)
    }
}
