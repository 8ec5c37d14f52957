//! Attention maps of every layer and head in a grid, with their entropies, and one of them large.

mod by_layer;
mod chain;
pub(in crate::ui) mod colours;
pub(super) mod head_maps;
mod paper;
mod side_by_side;

use crate::ui::views::prelude::*;
use head_maps::{HeadMap, HeadMaps};

pub use by_layer::AttentionByLayer;
pub use chain::{AttentionChainView, ChainText};
pub use side_by_side::SideBySide;

const NO_MAPS: &str = "No attention maps yet. A run measures them at its start: press Space.";
/// In a tile this many times as high as wide, the large map is below the small ones, where it is larger.
const TALL_RATIO: f32 = 1.2;
/// The share of the height that it has there.
const SHARE_BELOW: f32 = 0.55;
/// Height of the row of controls, and of the text on the head where that has a row of its own, points.
const CONTROLS_HEIGHT: f32 = 32.0;
const TEXT_HEIGHT: f32 = 20.0;
/// Width of the controls beside which the text may stand, points.
const CONTROLS_WIDTH: f32 = 320.0;

#[derive(Default)]
pub struct Attention {
    maps: HeadMaps,
    linear: bool,
    map: ColourMap,
}

/// The map that is shown large: the selected one, or the first if none is selected.
fn chosen_head<'h, 'a>(heads: &'h [HeadMap<'a>], selection: &Selection) -> Option<&'h HeadMap<'a>> {
    heads.iter().find(|h| h.is_selected(selection)).or(heads.first())
}

impl Attention {
    /// The maps in the order of the forward pass. Under each a bar: its entropy as a share of that of uniform
    /// attention; none where the entropy is not known.
    fn heads<'a>(&self, maps: &'a AttentionMaps, theme: &Theme) -> Vec<HeadMap<'a>> {
        let mut heads = vec![];
        for layer in &maps.layers {
            let colours = colours::weight_colours(layer.is_differential, self.linear, self.map, theme);
            let colour = if layer.tokens_per_position > 1 { theme.slow } else { theme.fast };
            for head in 0..layer.heads() {
                let Some(matrix) = layer.weights.matrix(head) else { continue };
                let [entropy, uniform] = entropies(layer, head);
                let share = if uniform > 0.0 { (entropy / uniform).clamp(0.0, 1.0) as f32 } else { 0.0 };
                let bar = entropy.is_finite().then_some((share, colour));
                let (path, label, tip) = (layer.path.clone(), label(layer, head), head_text(layer, head));
                heads.push(HeadMap { layer: path.clone(), path, head, label, tip, matrix, colours, bar });
            }
        }
        heads
    }

    fn large_ui(&mut self, ui: &mut Ui, heads: &[HeadMap<'_>], sample: &Sample, size: Vec2, cx: &mut ViewCx<'_>) {
        let Some(h) = chosen_head(heads, cx.selection) else { return };
        let Some(held) = self.maps.held.get(&h.label) else { return };
        let coarse = h.matrix.rows < sample.tokens.len();
        let token = |i: usize| position_label(if coarse { &[] } else { &sample.tokens }, 1, i);
        let label = if cx.mirror.is_example { MapCells::rounded_label } else { MapCells::label };
        let describe =
            |row: usize, col: usize| format!("{} attends to {}\n{}", token(row), token(col), label(held, row, col));
        let marked = cx.selection.token.filter(|_| !coarse);
        let map = MapUi { marked, ..MapUi::attention("attention map", held, h.colours, &describe) };
        let clicked = map.show(ui, size, cx.theme, &mut self.maps.window).clicked.filter(|_| !coarse);
        cx.selection.token = clicked.map(|(row, _)| row).or(cx.selection.token);
    }

    fn maps_ui(&mut self, ui: &mut Ui, heads: &[HeadMap<'_>], sample: &Sample, room: Vec2, cx: &mut ViewCx<'_>) {
        let is_below = room.y > TALL_RATIO * room.x;
        let (large, small) = if is_below {
            let high = (SHARE_BELOW * room.y).floor();
            (vec2(room.x, high), vec2(room.x, room.y - high - ui.spacing().item_spacing.y))
        } else {
            let wide = (room.x * 0.5).min(room.y + 56.0).max(120.0);
            (vec2(wide, room.y), vec2(room.x - wide - 8.0, room.y))
        };
        let both_ui = |ui: &mut Ui| {
            let (rect, _) = ui.allocate_exact_size(small, Sense::hover());
            self.maps.grid_ui(ui, heads, chosen_head(heads, cx.selection), rect, cx);
            self.large_ui(ui, heads, sample, large, cx);
        };
        if is_below {
            ui.vertical(both_ui);
        } else {
            ui.horizontal_top(both_ui);
        }
    }

    /// True if the text on the chosen head does not fit beside the controls.
    fn has_text_below(ui: &Ui, heads: &[HeadMap<'_>], selection: &Selection) -> bool {
        let text = chosen_head(heads, selection).map_or(0.0, |h| note_width(ui.painter(), &h.tip));
        ui.available_width() < CONTROLS_WIDTH + text
    }

    fn controls_ui(&mut self, ui: &mut Ui, heads: &[HeadMap<'_>], cx: &mut ViewCx<'_>) {
        let text_ui = |ui: &mut Ui, cx: &ViewCx<'_>| {
            if let Some(h) = chosen_head(heads, cx.selection) {
                ui.add(egui::Label::new(RichText::new(&h.tip).color(cx.theme.secondary).size(12.0)).truncate());
            }
        };
        let is_below = Self::has_text_below(ui, heads, cx.selection);
        ui.horizontal(|ui| {
            cx.back_to_run_ui::<AttentionMaps>(ui);
            for (is_linear, words, tip) in colours::SCALES {
                ui.selectable_value(&mut self.linear, is_linear, words).on_hover_text(tip);
            }
            let maps = [ColourMap::Viridis, ColourMap::Magma, ColourMap::Cividis].map(|map| (map, map.name()));
            choice_menu(ui, self.map.name(), &mut self.map, maps, "Colours of the maps.");
            if let Some(h) = chosen_head(heads, cx.selection) {
                let button = ui.button("As a Markov step").on_hover_text(
                    "Shows this map as a step of a Markov chain: eigenvalues, where walks end and linger, lumping into blocks.",
                );
                if button.clicked() {
                    (cx.selection.layer, cx.selection.head) = (Some(h.path.clone()), Some(h.head));
                    // the maps here show the held-out passage, so that the chain must show it too
                    cx.selection.clear::<ChainText>();
                    cx.act(PageAction::ShowView("attention_chain"));
                }
            }
            if !is_below {
                text_ui(ui, cx);
            }
        });
        if is_below {
            text_ui(ui, cx);
        }
    }
}

/// The accessible name of a head's map.
fn label(layer: &AttentionLayer, head: usize) -> String {
    format!("{} head {head}", layer.path)
}

/// The mean entropy of the rows of a head, and that of uniform attention, nats.
fn entropies(layer: &AttentionLayer, head: usize) -> [f64; 2] {
    [&layer.entropy, &layer.uniform_entropy].map(|of| of.get(head).copied().unwrap_or(f64::NAN))
}

/// The name of a head with its entropy against uniform.
fn entropy_label(layer: &AttentionLayer, head: usize) -> String {
    let [entropy, uniform] = entropies(layer, head);
    format!("{}: entropy {entropy:.2} of {uniform:.2} nats (uniform)", label(layer, head))
}

/// A description of a head: its entropy against uniform, and why a slow map is cheap.
fn head_text(layer: &AttentionLayer, head: usize) -> String {
    let signed = ", of |w| / \u{3a3}|w|: differential weights may be negative";
    let signed = if layer.is_differential { signed } else { "" };
    let cheap = if layer.tokens_per_position > 1 { "; its scores are P\u{b2} fewer than a fast map's" } else { "" };
    format!("{}{signed}{cheap}", entropy_label(layer, head))
}

impl View for Attention {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask_if_missing::<AttentionMaps>();
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let found = cx.latest::<AttentionMaps>().map(|m| (m.sample, self.heads(m.value, cx.theme)));
        let Some((sample, heads)) = found.filter(|(_, h)| !h.is_empty()) else {
            return cx.unmeasured_ui::<AttentionMaps>(ui, NO_MAPS);
        };
        self.maps.cache(&sample.payload, &heads);
        let text = if Self::has_text_below(ui, &heads, cx.selection) { TEXT_HEIGHT } else { 0.0 };
        let room = ui.available_size() - vec2(0.0, cx.height_of_controls(CONTROLS_HEIGHT + text));
        self.maps_ui(ui, &heads, sample, room, cx);
        cx.controls_ui(ui, |ui, cx| self.controls_ui(ui, &heads, cx));
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle_of::<AttentionMaps>("rows attend to columns; bars: entropy, full is uniform")
    }

    /// The large map, cell by cell.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let heads = self.heads(cx.latest::<AttentionMaps>()?.value, cx.theme);
        let h = chosen_head(&heads, cx.selection)?;
        let columns = (0..h.matrix.cols).map(|c| c.to_string());
        let mut table = Table::new(std::iter::once(format!("{}.h{} (row)", h.path, h.head)).chain(columns));
        for (r, row) in h.matrix.data.chunks(h.matrix.cols.max(1)).enumerate() {
            table.row(std::iter::once(r.to_string()).chain(row.iter().map(f32::to_string)));
        }
        Some(table.finish())
    }
}
