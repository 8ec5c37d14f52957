//! The attention maps of one layer and head of all variants beside one another, on one text and one scale, with the
//! difference of two of them and small maps of every head.

mod cache;
mod controls;
mod maps;
mod overview;
mod places;
mod source;

use super::colours;
use crate::ui::views::prelude::*;
use cache::{Cache, name_of};
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

/// The layer and head whose maps are shown.
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

    /// Copies what this frame shows, unless it is there.
    fn cache_maps(
        &mut self,
        columns: &[Column<'_>],
        overview: &Column<'_>,
        chosen: &SelectedHead,
        subtracted: Option<[usize; 2]>,
    ) {
        self.cache.follow(columns);
        for layer in overview.thumbnails {
            (0..layer.heads()).for_each(|head| self.cache.cache_head(overview, layer, head));
        }
        for column in columns {
            if let Some(layer) = column.layer(&chosen.layer) {
                self.cache.cache_head(column, layer, chosen.head);
            }
        }
        let name = |variant: usize| {
            let column = columns.iter().find(|c| c.variant == variant)?;
            Some(name_of(column, column.layer(&chosen.layer)?, chosen.head))
        };
        self.cache.hold_difference(subtracted.and_then(|[from, less]| Some([name(from)?, name(less)?])));
    }

    fn shown_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, columns: &[Column<'_>], chosen: &SelectedHead) {
        let focus = cx.selection.variant;
        let Some(overview) = columns.iter().find(|c| c.variant == focus).or(columns.first()) else { return };
        let difference = self.difference(cx);
        self.cache_maps(columns, overview, chosen, difference.as_ref().map(|(from, less, _)| [*from, *less]));
        let (rect, _) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
        let count = columns.len() + usize::from(difference.is_some());
        let names = overview::names_width(ui, overview.thumbnails);
        let places = Places::new(rect, overview.thumbnails.len(), overview.heads(), names, count);
        // all maps share one scale, which has negative colours as soon as one of the maps may be negative
        let is_differential = is_differential(columns);
        let colours = colours::weight_colours(is_differential, self.is_linear, ColourMap::default(), cx.theme);
        let scope = |ui: &mut Ui, rect: Rect| ui.new_child(UiBuilder::new().max_rect(rect));
        self.overview_ui(&mut scope(ui, places.overview), cx, overview, chosen, colours);
        let sheet = maps::Maps { columns, chosen, colours, difference };
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
            None => cx.nothing_ui(ui, &self.prompt.why_nothing(cx)),
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
