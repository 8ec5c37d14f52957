//! Products of queries and keys of every layer and head along the text that is read: small maps of all, one of them
//! large, and the keys that the selected token answers to.

use super::{TEXT_CONTROL, reading_settings, text_ui};
use crate::ui::views::{
    attention::{Grid, colours},
    prelude::*,
};

#[derive(Default)]
pub struct QueryKeyMapsView {
    held: HashMap<Place, MapCells>,
    window: MapState,
    typed: Option<String>,
}

/// The strip of tokens is at most so high, points.
const STRIP: f32 = 84.0;

/// The layer and head of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    layer: usize,
    head: usize,
}

impl Place {
    fn path(self) -> String {
        format!("layers.{}", self.layer)
    }

    fn label(self) -> String {
        format!("layer {} head {}", self.layer, self.head)
    }
}

fn places(maps: &QueryKeyMaps) -> Vec<Place> {
    let heads = |layer: usize| (0..maps.layers[layer].products.rows()).map(move |head| Place { layer, head });
    (0..maps.layers.len()).flat_map(heads).collect()
}

fn matrix(maps: &QueryKeyMaps, at: Place) -> Option<MatrixView<'_>> {
    maps.layers.get(at.layer)?.products.matrix(at.head)
}

/// The map that is shown large: the selected one, else the last layer's first head.
fn chosen(maps: &QueryKeyMaps, selection: &Selection) -> Option<Place> {
    let all = places(maps);
    let is = |p: &&Place| Some(p.path()) == selection.layer && Some(p.head) == selection.head;
    let last = || all.iter().find(|p| p.layer + 1 == maps.layers.len());
    all.iter().find(is).or_else(last).copied()
}

impl QueryKeyMapsView {
    /// A map's own scale, around zero: what turns may be negative.
    fn colours(maps: &QueryKeyMaps, at: Place, theme: &Theme) -> Colours {
        let greatest = maps.layers.get(at.layer).and_then(|l| l.greatest.get(at.head)).copied().unwrap_or(0.0);
        colours::around_zero((greatest as f32).max(f32::MIN_POSITIVE), theme)
    }

    fn cache_maps(&mut self, payload: &Arc<Payload>, maps: &QueryKeyMaps) {
        let all = places(maps);
        self.held.retain(|at, _| all.contains(at));
        for at in all {
            let Some(matrix) = matrix(maps, at) else { continue };
            // exactly zero: the key is not before the query
            self.held.entry(at).or_default().cache_matrix(payload, &at.label(), matrix, |v| v != 0.0);
        }
    }

    /// Small maps, one column per layer and one row per head, or turned.
    fn grid_ui(&self, ui: &mut Ui, cx: &mut ViewCx<'_>, maps: &QueryKeyMaps, rect: Rect) {
        let all = places(maps);
        let heads = all.iter().map(|p| p.head + 1).max().unwrap_or(1);
        let grid = Grid::new(rect, maps.layers.len(), heads);
        let picked = chosen(maps, cx.selection);
        let painter = ui.painter_at(rect.expand(2.0));
        for layer in 0..maps.layers.len() {
            let (at, align) = grid.layer_name(layer);
            painter.text(at, align, format!("layer {layer}"), theme::small(), cx.theme.secondary);
        }
        for at in all {
            let map = Rect::from_min_size(grid.cell(at.layer, at.head).min, Vec2::splat(grid.side));
            if let Some(held) = self.held.get(&at) {
                paint_map(ui, map, held, Self::colours(maps, at, cx.theme), cx.theme, None);
            }
            let response = ui.interact(map, ui.scope_id().with(("map", at)), Sense::click());
            response.widget_info(|| WidgetInfo::labeled(Role::Button, true, at.label()));
            let edge = match (picked == Some(at), response.hovered()) {
                (true, _) => Some(egui::Stroke::new(2.0, cx.theme.accent)),
                (_, true) => Some(egui::Stroke::new(1.0, cx.theme.text)),
                _ => None,
            };
            if let Some(edge) = edge {
                painter.rect_stroke(map, 2.0, edge, StrokeKind::Outside);
            }
            if response.on_hover_text(at.label()).clicked() {
                cx.selection.layer = Some(at.path());
                cx.selection.head = Some(at.head);
            }
        }
    }

    fn large_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, m: &Measured<'_, QueryKeyMaps>, size: Vec2) {
        let Some(at) = chosen(m.value, cx.selection) else { return };
        let Some(held) = self.held.get(&at) else { return };
        let token = |i: usize| {
            let text = m.sample.tokens.get(i).map_or(String::new(), |t| visible_text(t));
            format!("{i} \u{201c}{text}\u{201d}")
        };
        let describe = |row: usize, col: usize| match row > col {
            true => format!("{} asks, {} answers\n{}", token(row), token(col), held.label(row, col)),
            false => format!("{} is not before {}", token(col), token(row)),
        };
        let colours = Self::colours(m.value, at, cx.theme);
        let map = MapUi::attention("products of queries and keys", held, colours, &describe);
        let map = MapUi { marked: cx.selection.token, ..map };
        if let Some((row, _)) = map.show(ui, size, cx.theme, &mut self.window).clicked {
            cx.selection.token = Some(row);
        }
    }

    /// The text; each token before the selected one as bright as its key answers.
    fn strip_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, m: &Measured<'_, QueryKeyMaps>) {
        let Some(matrix) = chosen(m.value, cx.selection).and_then(|at| matrix(m.value, at)) else { return };
        let last = m.sample.tokens.len().saturating_sub(1);
        let query = cx.selection.token.unwrap_or(last).min(last);
        let row = matrix.data.get(query * matrix.cols..(query + 1) * matrix.cols).unwrap_or_default();
        let max = row.iter().fold(1e-12f32, |max, v| max.max(v.abs()));
        let theme = cx.theme;
        let mark = |t: usize| {
            let value = row.get(t).copied().unwrap_or(0.0) / max;
            let tone = if value < 0.0 { theme.cool } else { theme.warm };
            TokenMark::heat(tone, share(value.abs()), 0.08, 0.62, (t == query).then_some(theme.accent))
        };
        let clicked = ScrollArea::vertical()
            .id_salt("tokens of the map")
            .max_height(STRIP)
            .show(ui, |ui| token_strip_ui(ui, theme, &m.sample.tokens, mark).clicked)
            .inner;
        cx.selection.token = clicked.or(cx.selection.token);
    }
}

impl View for QueryKeyMapsView {
    fn controls(&self) -> &'static [&'static str] {
        TEXT_CONTROL
    }

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let args = reading_settings(cx).map(|s| s.query_key_maps_args()).unwrap_or_default();
        cx.ask::<QueryKeyMaps>(Some(cx.selection.variant), &args, Freshness::OFTEN);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing.y = 4.0;
        cx.controls_ui(ui, |ui, cx| text_ui(ui, cx, &mut self.typed));
        let Some(m) = cx.answered::<QueryKeyMaps>().filter(|m| !m.layers.is_empty()) else {
            return cx.unmeasured_ui::<QueryKeyMaps>(ui, "Nothing was read yet: open a model, and type a text.");
        };
        self.cache_maps(&m.sample.payload, m.value);
        Self::strip_ui(ui, cx, &m);
        let words = chosen(m.value, cx.selection)
            .map_or(String::new(), |at| format!("{}; each map has a scale of its own", at.label()));
        note_ui(ui, cx.theme, words);
        let room = ui.available_size();
        let large = (room.x * 0.5).min(room.y + 56.0).max(120.0);
        let (rect, _) = ui.allocate_exact_size(room, Sense::hover());
        let (left, right) = rect.split_left_right_at_x(rect.right() - large);
        self.grid_ui(ui, cx, m.value, left.with_max_x(left.right() - 8.0));
        let mut inner = ui.new_child(UiBuilder::new().max_rect(right).id_salt("large map"));
        self.large_ui(&mut inner, cx, &m, right.size());
        if m.value.layers.iter().all(|l| l.greatest.iter().all(|g| *g == 0.0)) {
            let at = right.center();
            ui.painter().text(at, Align2::CENTER_CENTER, "no neuron fires twice", theme::small(), cx.theme.secondary);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.answered_subtitle::<QueryKeyMaps>("rows ask, columns answer", "which tokens' neurons answer to which")
    }

    /// The large map, cell by cell.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let m = cx.answered::<QueryKeyMaps>()?;
        let at = chosen(m.value, cx.selection)?;
        let matrix = matrix(m.value, at)?;
        let mut table = Table::new(["layer", "head", "query", "query_token", "key", "key_token", "product"]);
        let token = |t: usize| m.sample.tokens.get(t).cloned().unwrap_or_default();
        for query in 0..matrix.rows {
            for key in 0..query.min(matrix.cols) {
                let product = matrix.data[query * matrix.cols + key];
                table.cells(&[&at.layer, &at.head, &query, &token(query), &key, &token(key), &product]);
            }
        }
        Some(table.finish())
    }
}
