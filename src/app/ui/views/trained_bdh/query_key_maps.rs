//! Products of queries and keys of every layer and head along the text that is read: small maps of all, one of them
//! large, and the keys that the selected token answers to.

use super::{TEXT_CONTROL, reading_settings, text_ui};
use crate::ui::views::{
    attention::{
        colours,
        head_maps::{HeadMap, HeadMaps},
    },
    prelude::*,
};

#[derive(Default)]
pub struct QueryKeyMapsView {
    maps: HeadMaps,
}

/// The strip of tokens is at most so high, points.
const MAX_STRIP_HEIGHT: f32 = 84.0;

/// The maps in the order of the forward pass, each with a scale of its own around zero: what turns may be negative.
fn heads<'a>(maps: &'a QueryKeyMaps, theme: &Theme) -> Vec<HeadMap<'a>> {
    let mut heads = vec![];
    for (l, of_layer) in maps.layers.iter().enumerate() {
        for head in 0..of_layer.products.rows() {
            let Some(matrix) = of_layer.products.matrix(head) else { continue };
            let greatest = of_layer.greatest.get(head).copied().unwrap_or(0.0) as f32;
            let colours = colours::around_zero(greatest.max(f32::MIN_POSITIVE), theme);
            let (path, layer, label) = (format!("layers.{l}"), format!("layer {l}"), format!("layer {l} head {head}"));
            heads.push(HeadMap { path, layer, head, tip: label.clone(), label, matrix, colours, bar: None });
        }
    }
    heads
}

/// The map that is shown large: the selected one, else the last layer's first head.
fn chosen_head<'h, 'a>(heads: &'h [HeadMap<'a>], selection: &Selection) -> Option<&'h HeadMap<'a>> {
    let last = heads.last()?;
    heads.iter().find(|h| h.is_selected(selection)).or_else(|| heads.iter().find(|h| h.path == last.path))
}

impl QueryKeyMapsView {
    fn large_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, heads: &[HeadMap<'_>], tokens: &[String], size: Vec2) {
        let Some(h) = chosen_head(heads, cx.selection) else { return };
        let Some(held) = self.maps.held.get(&h.label) else { return };
        let token = |i: usize| {
            let text = tokens.get(i).map_or(String::new(), |t| visible_text(t));
            format!("{i} \u{201c}{text}\u{201d}")
        };
        let describe = |row: usize, col: usize| match row > col {
            true => format!("{} asks, {} answers\n{}", token(row), token(col), held.label(row, col)),
            false => format!("{} is not before {}", token(col), token(row)),
        };
        let map = MapUi::attention("products of queries and keys", held, h.colours, &describe);
        let map = MapUi { marked: cx.selection.token, ..map };
        if let Some((row, _)) = map.show(ui, size, cx.theme, &mut self.maps.window).clicked {
            cx.selection.token = Some(row);
        }
    }

    /// The text; each token before the selected one as bright as its key answers.
    fn strip_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, heads: &[HeadMap<'_>], tokens: &[String]) {
        let Some(HeadMap { matrix, .. }) = chosen_head(heads, cx.selection) else { return };
        let last = tokens.len().saturating_sub(1);
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
            .max_height(MAX_STRIP_HEIGHT)
            .show(ui, |ui| token_strip_ui(ui, theme, tokens, mark).clicked)
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
        cx.controls_ui(ui, text_ui);
        let Some(m) = cx.answered::<QueryKeyMaps>().filter(|m| !m.layers.is_empty()) else {
            return cx.unmeasured_ui::<QueryKeyMaps>(ui, "Nothing has been read yet: open a model, and type a text.");
        };
        let (heads, tokens) = (heads(m.value, cx.theme), &m.sample.tokens);
        self.maps.cache(&m.sample.payload, &heads);
        Self::strip_ui(ui, cx, &heads, tokens);
        let words = chosen_head(&heads, cx.selection)
            .map_or(String::new(), |h| format!("{}; each map has a scale of its own", h.label));
        note_ui(ui, cx.theme, words);
        let room = ui.available_size();
        let large = (room.x * 0.5).min(room.y + 56.0).max(120.0);
        let (rect, _) = ui.allocate_exact_size(room, Sense::hover());
        let (left, right) = rect.split_left_right_at_x(rect.right() - large);
        self.maps.grid_ui(ui, &heads, chosen_head(&heads, cx.selection), left.with_max_x(left.right() - 8.0), cx);
        let mut inner = ui.new_child(UiBuilder::new().max_rect(right).id_salt("large map"));
        self.large_ui(&mut inner, cx, &heads, tokens, right.size());
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
        let heads = heads(m.value, cx.theme);
        let HeadMap { path, head, matrix, .. } = chosen_head(&heads, cx.selection)?;
        let layer = path.trim_start_matches("layers.");
        let mut table = Table::new(["layer", "head", "query", "query_token", "key", "key_token", "product"]);
        let token = |t: usize| m.sample.tokens.get(t).cloned().unwrap_or_default();
        for query in 0..matrix.rows {
            for key in 0..query.min(matrix.cols) {
                let product = matrix.data[query * matrix.cols + key];
                table.cells(&[&layer, head, &query, &token(query), &key, &token(key), &product]);
            }
        }
        Some(table.finish())
    }
}
