//! The attention maps of one layer and head of all variants beside one another, on one text and one scale, with the
//! difference of two of them and small maps of every head.

mod controls;
mod maps;
mod overview;
mod places;
mod source;

use super::colours;
use crate::ui::views::prelude::*;
use maps::Maps;
use places::Places;
use source::{Column, PromptChoice, members};

#[derive(Default)]
pub struct SideBySide {
    prompt: PromptChoice,
    is_linear: bool,
    minuend: Difference,
    cache: Cache,
    /// All maps share one window, because they show the same queries and keys.
    window: MapState,
    /// The cell under the pointer in the last frame.
    hovered: Option<Cell>,
    /// Chosen by a click or by arrow keys.
    pinned: Option<Cell>,
}

/// The ids of the groups of variants that are subtracted; `None` subtracts the first from the last.
#[derive(Debug, Clone, Default, PartialEq)]
struct Difference {
    is_hidden: bool,
    from: Option<String>,
    less: Option<String>,
}

/// A query and a key of a text, and the number of its positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    positions: usize,
    row: usize,
    col: usize,
}

#[derive(Debug, Clone, PartialEq)]
struct SelectedHead {
    layer: String,
    head: usize,
}

impl SelectedHead {
    /// The selected layer and head if a variant has them, else the first.
    fn from_selection(cx: &ViewCx<'_>, columns: &[Column<'_>]) -> Option<Self> {
        let layers = || columns.iter().flat_map(|c| c.thumbnails);
        let is_selected = |l: &&AttentionLayer| Some(&l.path) == cx.selection.layer.as_ref();
        let layer = layers().find(is_selected).or_else(|| layers().next())?;
        let head = cx.selection.head.filter(|h| *h < layer.heads()).unwrap_or(0);
        Some(Self { layer: layer.path.clone(), head })
    }
}

/// Cells of all kept maps together, at most: 64 MB.
const MAX_CELLS: usize = 16 << 20;

/// The cells of displayed maps, so that a frame without changes copies and uploads nothing: by variant, layer, head and
/// size. Run and step are those of the payload that each was copied from.
#[derive(Debug, Default)]
struct Cache {
    maps: HashMap<String, MapCells>,
    /// The revisions of the two maps that were subtracted, their difference, and its largest magnitude.
    difference: Option<([u64; 2], MapCells, f32)>,
}

fn name_of(column: &Column<'_>, layer: &AttentionLayer, head: usize) -> String {
    format!("{}.{}.h{head}.{}", column.variant, layer.path, layer.positions())
}

impl Cache {
    /// Lets go what belongs to other answers than these, and everything once it has become too much.
    fn follow(&mut self, columns: &[Column<'_>]) {
        self.maps.retain(|_, held| columns.iter().any(|c| held.is_copy_of(&c.sample.payload)));
        let cells: usize = self.maps.values().map(|held| held.cells().data.len()).sum();
        if cells > MAX_CELLS {
            self.maps.clear();
        }
    }

    fn cache_head(&mut self, column: &Column<'_>, layer: &AttentionLayer, head: usize) {
        let Some(matrix) = layer.weights.matrix(head) else { return };
        let name = name_of(column, layer, head);
        self.maps.entry(name.clone()).or_default().cache_attention(&column.sample.payload, &name, matrix);
    }

    fn get(&self, column: &Column<'_>, layer: &AttentionLayer, head: usize) -> Option<&MapCells> {
        self.maps.get(&name_of(column, layer, head))
    }

    /// Makes the difference of the maps of these names, if they are held, unless it is there.
    fn hold_difference(&mut self, names: Option<[String; 2]>) {
        let found = names.and_then(|[from, less]| self.maps.get(&from).zip(self.maps.get(&less)));
        let Some((from, less)) = found else {
            self.difference = None;
            return;
        };
        let numbers = [from.revision(), less.revision()];
        if self.difference.as_ref().is_none_or(|(made_of, ..)| *made_of != numbers) {
            let made = MapCells::difference("difference", from, less);
            self.difference = made.map(|held| (numbers, held.clone(), held.largest()));
        }
    }

    fn has_not_finite(&self) -> bool {
        self.maps.values().any(|held| held.has_not_finite)
    }

    /// The difference that was made last, and its largest magnitude.
    fn difference(&self) -> Option<(&MapCells, f32)> {
        self.difference.as_ref().map(|(_, held, max)| (held, *max))
    }
}

impl SideBySide {
    /// Indices of the variants that are subtracted, and the text for it.
    fn difference(&self, cx: &ViewCx<'_>) -> Option<(usize, usize, String)> {
        let all = members(cx);
        let find = |id: &Option<String>| all.iter().find(|(g, _)| Some(&g.id) == id.as_ref());
        let from = find(&self.minuend.from).or(all.last())?;
        let less = find(&self.minuend.less).or(all.first())?;
        let words = format!("{} \u{2212} {}", from.0.label, less.0.label);
        (!self.minuend.is_hidden && from.1 != less.1).then_some((from.1, less.1, words))
    }

    fn cache_maps(&mut self, overview: &Column<'_>, sheet: &Maps<'_, '_>) {
        let Maps { columns, chosen, difference, .. } = sheet;
        self.cache.follow(columns);
        for layer in overview.thumbnails {
            (0..layer.heads()).for_each(|head| self.cache.cache_head(overview, layer, head));
        }
        for column in *columns {
            if let Some(layer) = column.layer(&chosen.layer) {
                self.cache.cache_head(column, layer, chosen.head);
            }
        }
        let name = |variant: &usize| {
            let column = columns.iter().find(|c| c.variant == *variant)?;
            Some(name_of(column, column.layer(&chosen.layer)?, chosen.head))
        };
        let names = difference.as_ref().and_then(|(from, less, _)| Some([name(from)?, name(less)?]));
        self.cache.hold_difference(names);
    }

    fn shown_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, columns: &[Column<'_>], chosen: &SelectedHead) {
        let focus = cx.selection.variant;
        let Some(overview) = columns.iter().find(|c| c.variant == focus).or(columns.first()) else { return };
        // all maps share one scale, which has negative colours as soon as one of the maps may be negative
        let is_differential = is_differential(columns);
        let colours = colours::weight_colours(is_differential, self.is_linear, ColourMap::default(), cx.theme);
        let sheet = Maps { columns, chosen, colours, difference: self.difference(cx) };
        self.cache_maps(overview, &sheet);
        let (rect, _) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
        let count = columns.len() + usize::from(sheet.difference.is_some());
        let names = overview::names_width(ui, overview.thumbnails);
        let places = Places::new(rect, overview.thumbnails.len(), overview.heads(), names, count);
        let scope = |ui: &mut Ui, rect: Rect| ui.new_child(UiBuilder::new().max_rect(rect));
        self.overview_ui(&mut scope(ui, places.overview), cx, overview, &sheet);
        self.maps_ui(ui, cx, &sheet, &places.slots);
        self.footer_ui(&scope(ui, places.foot), cx, &sheet);
    }
}

/// True where one of the columns may hold negative weights.
fn is_differential(columns: &[Column<'_>]) -> bool {
    columns.iter().any(|c| c.thumbnails.iter().any(|l| l.is_differential))
}

impl View for SideBySide {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let chosen = SelectedHead::from_selection(cx, &self.prompt.columns(cx));
        self.prompt.ask(cx, chosen.as_ref().map(|c| c.layer.as_str()));
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let columns = self.prompt.columns(cx);
        if !groups(cx.mirror).is_empty() {
            cx.controls_ui(ui, |ui, cx| self.controls_ui(ui, cx, &columns));
        }
        match SelectedHead::from_selection(cx, &columns) {
            Some(chosen) => self.shown_ui(ui, cx, &columns, &chosen),
            None => cx.nothing_ui(ui, &self.prompt.empty_reason(cx)),
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let columns = self.prompt.columns(cx);
        let Some((first, chosen)) = columns.first().zip(SelectedHead::from_selection(cx, &columns)) else {
            return "maps of every variant on one text".to_owned();
        };
        let has_seeds = groups(cx.mirror).iter().any(|g| g.members.len() > 1);
        let seed = cx.mirror.variants().get(first.variant).filter(|_| has_seeds);
        let seed = seed.map_or(String::new(), |v| format!(" \u{b7} seed {}", v.seed));
        let SelectedHead { layer, head } = chosen;
        format!("step {} \u{b7} {layer} head {head}{seed} \u{b7} {}", first.sample.step, first.sample.about)
    }

    /// The large maps, cell by cell, one column per variant.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let columns = self.prompt.columns(cx);
        let chosen = SelectedHead::from_selection(cx, &columns)?;
        let maps: Vec<_> =
            columns.iter().filter_map(|c| Some((c, c.layer(&chosen.layer)?.weights.matrix(chosen.head)?))).collect();
        let size = maps.first().map(|(_, m)| m.rows)?;
        let label = |c: &Column<'_>| cx.mirror.variant_label(c.variant);
        let names = ["layer", "head", "query", "key"].into_iter().chain(maps.iter().map(|(c, _)| label(c)));
        let mut table = Table::new(names);
        for (query, key) in (0..size).flat_map(|q| (0..size).map(move |k| (q, k))) {
            let weight = |m: &MatrixView<'_>| m.data.get(query * m.cols + key).copied().filter(|_| m.rows == size);
            let weights: Vec<Option<f32>> = maps.iter().map(|(_, m)| weight(m)).collect();
            if weights.iter().any(|w| w.is_some_and(|w| w != 0.0)) {
                let place = [chosen.layer.clone(), chosen.head.to_string(), query.to_string(), key.to_string()];
                table.row(place.into_iter().chain(weights.into_iter().map(optional_field)));
            }
        }
        Some(table.finish())
    }
}
