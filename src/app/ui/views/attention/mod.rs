//! Attention maps of every layer and head in a grid, with their entropies, and one of them large.

mod by_layer;
mod chain;
pub(in crate::ui) mod colours;
mod paper;
mod side_by_side;
mod statistic;

use crate::{
    analysis::distinct::distinct,
    ui::{
        views::prelude::*,
        widgets::truncated::{shared_beginnings, without_shared},
    },
};

pub use by_layer::AttentionByLayer;
pub use chain::{AttentionChainView, ChainText};
pub use side_by_side::SideBySide;

#[derive(Default)]
pub struct Attention {
    held: HashMap<String, MapCells>,
    window: MapState,
    linear: bool,
    map: ColourMap,
}

/// One map of one layer.
struct Head<'a> {
    layer: &'a AttentionLayer,
    head: usize,
    /// Stands for the map among the maps that are held: `post.0.h2`.
    name: String,
    matrix: MatrixView<'a>,
}

/// The maps in the order of the forward pass.
fn heads(maps: &AttentionMaps) -> Vec<Head<'_>> {
    maps.layers.iter().flat_map(|layer| (0..layer.heads()).filter_map(move |head| map_of(layer, head))).collect()
}

fn map_of(layer: &AttentionLayer, head: usize) -> Option<Head<'_>> {
    let matrix = layer.weights.matrix(head)?;
    Some(Head { layer, head, name: format!("{}.h{head}", layer.path), matrix })
}

/// The one that is shown large: the selected one, else the first.
fn chosen<'h, 'a>(heads: &'h [Head<'a>], selection: &Selection) -> Option<&'h Head<'a>> {
    let is =
        |h: &&Head<'_>| Some(h.layer.path.as_str()) == selection.layer.as_deref() && Some(h.head) == selection.head;
    heads.iter().find(is).or(heads.first())
}

impl Attention {
    fn colours(&self, layer: &AttentionLayer, theme: &Theme) -> Colours {
        colours::weight_colours(layer.is_differential, self.linear, self.map, theme)
    }

    fn cache_maps(&mut self, payload: &Arc<Payload>, heads: &[Head<'_>]) {
        self.held.retain(|name, _| heads.iter().any(|h| h.name == *name));
        for h in heads {
            // Weights that are exactly zero are masked: the future, or beyond the window.
            self.held.entry(h.name.clone()).or_default().cache_matrix(payload, &h.name, h.matrix, |v| v != 0.0);
        }
    }

    /// Small maps, one column per layer and one row per head (or turned, if they are larger so).
    fn grid_ui(&self, ui: &mut Ui, heads: &[Head<'_>], rect: Rect, cx: &mut ViewCx<'_>) {
        let layers = distinct(heads.iter().map(|h| h.layer.path.as_str()));
        let max = heads.iter().map(|h| h.head + 1).max().unwrap_or(1);
        let grid = Grid::new(rect, layers.len(), max);
        let picked = chosen(heads, cx.selection).map(|h| (h.layer.path.as_str(), h.head));
        let painter = ui.painter_at(rect.expand(2.0));
        for (i, shared) in shared_beginnings(&layers, b".").into_iter().enumerate() {
            let (at, align) = grid.layer_name(i);
            let name = without_shared(&painter, layers[i], shared, &theme::small(), grid.name_width());
            painter.text(at, align, name, theme::small(), cx.theme.secondary);
        }
        for h in heads {
            let Some(layer) = layers.iter().position(|l| *l == h.layer.path) else { continue };
            let cell = grid.cell(layer, h.head);
            let map = Rect::from_min_size(cell.min, Vec2::splat(grid.side));
            if let Some(held) = self.held.get(&h.name) {
                paint_map(ui, map, held, self.colours(h.layer, cx.theme), cx.theme, None);
            }
            entropy_bar(&painter, map, h, cx.theme);
            let response = head_button_ui(ui, cx, h.layer, h.head, cell);
            if picked == Some((h.layer.path.as_str(), h.head)) {
                painter.rect_stroke(map, 2.0, egui::Stroke::new(2.0, cx.theme.accent), StrokeKind::Outside);
            } else if response.hovered() {
                painter.rect_stroke(map, 2.0, egui::Stroke::new(1.0, cx.theme.text), StrokeKind::Outside);
            }
            response.on_hover_text(head_text(h));
        }
    }

    fn large_ui(&mut self, ui: &mut Ui, heads: &[Head<'_>], sample: &Sample, size: Vec2, cx: &mut ViewCx<'_>) {
        let Some(h) = chosen(heads, cx.selection) else { return };
        let Some(held) = self.held.get(&h.name) else { return };
        let coarse = h.matrix.rows < sample.tokens.len();
        let token = |i: usize| position_label(if coarse { &[] } else { &sample.tokens }, 1, i);
        let describe =
            |row: usize, col: usize| format!("{} attends to {}\n{}", token(row), token(col), held.label(row, col));
        let map = MapUi::attention("attention map", held, self.colours(h.layer, cx.theme), &describe);
        let map = MapUi { marked: cx.selection.token.filter(|_| !coarse), ..map };
        let pointed = map.show(ui, size, cx.theme, &mut self.window);
        if let Some((row, _)) = pointed.clicked
            && !coarse
        {
            cx.selection.token = Some(row);
        }
    }

    fn controls_ui(&mut self, ui: &mut Ui, heads: &[Head<'_>], cx: &mut ViewCx<'_>) {
        ui.horizontal(|ui| {
            cx.back_to_run_ui::<AttentionMaps>(ui);
            for (is_linear, words, tip) in colours::SCALES {
                ui.selectable_value(&mut self.linear, is_linear, words).on_hover_text(tip);
            }
            let maps = [ColourMap::Viridis, ColourMap::Magma, ColourMap::Cividis].map(|map| (map, map.name()));
            choice_menu(ui, self.map.name(), &mut self.map, maps, "Colours of the maps.");
            if let Some(h) = chosen(heads, cx.selection) {
                let button = ui.button("As a Markov step").on_hover_text(
                    "Shows this map as a step of a Markov chain: eigenvalues, where walks end and linger, lumping into blocks.",
                );
                if button.clicked() {
                    (cx.selection.layer, cx.selection.head) = (Some(h.layer.path.clone()), Some(h.head));
                    // the maps here show the held-out passage, so that the chain must show it too
                    cx.selection.clear::<ChainText>();
                    cx.act(PageAction::ShowView("attention_chain"));
                }
                let words = RichText::new(head_text(h)).color(cx.theme.secondary).size(12.0);
                ui.add(egui::Label::new(words).truncate());
            }
        });
    }
}

/// A small map as a button that selects its head.
fn head_button_ui(ui: &Ui, cx: &mut ViewCx<'_>, layer: &AttentionLayer, head: usize, place: Rect) -> Response {
    let response = ui.interact(place, ui.scope_id().with((&layer.path, head)), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("{} head {head}", layer.path)));
    if response.clicked() {
        (cx.selection.layer, cx.selection.head) = (Some(layer.path.clone()), Some(head));
    }
    response
}

/// The mean entropy of the rows of a head, and that of uniform attention, nats.
fn entropies(layer: &AttentionLayer, head: usize) -> [f64; 2] {
    [&layer.entropy, &layer.uniform_entropy].map(|of| of.get(head).copied().unwrap_or(f64::NAN))
}

/// The name of a head with its entropy against uniform.
fn entropy_label(layer: &AttentionLayer, head: usize) -> String {
    let [entropy, uniform] = entropies(layer, head);
    format!("{} head {head}: entropy {entropy:.2} of {uniform:.2} nats (uniform)", layer.path)
}

/// A description of a head: its entropy against uniform, and why a slow map is cheap.
fn head_text(h: &Head<'_>) -> String {
    let entropy = entropy_label(h.layer, h.head);
    let entropy = match h.layer.is_differential {
        true => format!("{entropy}, of |w| / \u{3a3}|w|: differential weights may be negative"),
        false => entropy,
    };
    let cheap = if h.layer.tokens_per_position > 1 { "; its scores are P\u{b2} fewer than a fast map's" } else { "" };
    format!("{entropy}{cheap}")
}

/// Draws a bar under a map: its entropy as a share of that of uniform attention; none where the entropy is not known.
fn entropy_bar(painter: &egui::Painter, map: Rect, h: &Head<'_>, theme: &Theme) {
    let [entropy, uniform] = entropies(h.layer, h.head);
    if !entropy.is_finite() {
        return;
    }
    let share = if uniform > 0.0 { (entropy / uniform).clamp(0.0, 1.0) as f32 } else { 0.0 };
    let track = Rect::from_min_size(pos2(map.left(), map.bottom() + 3.0), vec2(map.width(), 3.0));
    painter.rect_filled(track, 1.0, theme.line);
    let colour = if h.layer.tokens_per_position > 1 { theme.slow } else { theme.fast };
    painter.rect_filled(Rect::from_min_size(track.min, vec2(track.width() * share, 3.0)), 1.0, colour);
}

/// The layout of the small maps.
pub(super) struct Grid {
    corner: egui::Pos2,
    /// The side of a map, points.
    pub side: f32,
    /// Layers run to the right (with their names above) or down (names to the left).
    across: bool,
}

const GAP: f32 = 12.0;
const NAME_WIDTH: f32 = 58.0;
/// Between a name to the left of its maps and the first of them.
const NAME_GAP: f32 = 6.0;
const NAME_HEIGHT: f32 = 18.0;

impl Grid {
    pub fn new(rect: Rect, layers: usize, heads: usize) -> Self {
        let (l, h) = (layers.max(1) as f32, heads.max(1) as f32);
        let across = (rect.width() / l - GAP).min((rect.height() - NAME_HEIGHT) / h - GAP);
        let down = ((rect.width() - NAME_WIDTH) / h - GAP).min(rect.height() / l - GAP);
        let (side, is_across) =
            if across >= down && across + GAP > NAME_WIDTH { (across, true) } else { (down, false) };
        let corner = rect.min + if is_across { vec2(0.0, NAME_HEIGHT) } else { vec2(NAME_WIDTH, 0.0) };
        Self { corner, side: side.clamp(8.0, 220.0).floor(), across: is_across }
    }

    pub fn cell(&self, layer: usize, head: usize) -> Rect {
        let (l, h) = (layer as f32 * (self.side + GAP), head as f32 * (self.side + GAP));
        let at = self.corner + if self.across { vec2(l, h) } else { vec2(h, l) };
        Rect::from_min_size(at, vec2(self.side, self.side + 6.0))
    }

    pub fn layer_name(&self, layer: usize) -> (egui::Pos2, Align2) {
        let cell = self.cell(layer, 0);
        match self.across {
            true => (pos2(cell.left(), self.corner.y - 3.0), Align2::LEFT_BOTTOM),
            false => (pos2(self.corner.x - NAME_GAP, cell.top() + self.side / 2.0), Align2::RIGHT_CENTER),
        }
    }

    /// The room for the name of a layer, points.
    fn name_width(&self) -> f32 {
        if self.across { self.side } else { NAME_WIDTH - NAME_GAP }
    }
}

impl View for Attention {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask_if_missing::<AttentionMaps>();
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let found = cx.latest::<AttentionMaps>().map(|m| (m.sample, heads(m.value)));
        let Some((sample, heads)) = found.filter(|(_, h)| !h.is_empty()) else {
            let words = "No attention maps yet. A run measures them at its start: press Space.";
            return cx.unmeasured_ui::<AttentionMaps>(ui, words);
        };
        self.cache_maps(&sample.payload, &heads);
        let room = ui.available_size() - vec2(0.0, cx.height_of_controls(32.0));
        let large = (room.x * 0.5).min(room.y + 56.0).max(120.0);
        ui.horizontal_top(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(room.x - large - 8.0, room.y), Sense::hover());
            self.grid_ui(ui, &heads, rect, cx);
            self.large_ui(ui, &heads, sample, vec2(large, room.y), cx);
        });
        cx.controls_ui(ui, |ui, cx| self.controls_ui(ui, &heads, cx));
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle_of::<AttentionMaps>("rows attend to columns; bars: entropy, full is uniform")
    }

    /// The large map, cell by cell.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let heads = heads(cx.latest::<AttentionMaps>()?.value);
        let h = chosen(&heads, cx.selection)?;
        let columns = (0..h.matrix.cols).map(|c| c.to_string());
        let mut table = Table::new(std::iter::once(format!("{} (row)", h.name)).chain(columns));
        for (r, row) in h.matrix.data.chunks(h.matrix.cols.max(1)).enumerate() {
            table.row(std::iter::once(r.to_string()).chain(row.iter().map(f32::to_string)));
        }
        Some(table.finish())
    }
}
