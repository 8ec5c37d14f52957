//! Attention weights of one run less those of another, cell by cell.

use eframe::egui::Ui;

use super::Pair;
use crate::{
    telemetry::measurements::{AttentionLayer, AttentionMaps},
    ui::{
        plot::{
            map::{MapState, MapUi},
            map_cells::MapCells,
            value_label,
        },
        table::{Table, optional_field},
        theme::Theme,
        views::{
            Selection,
            attention::colours::{around_zero, rounded_up},
        },
        widgets::token_strip::position_label,
    },
};

/// One head's map of two runs along the same text.
#[derive(Debug, Clone)]
pub struct AttentionDifference {
    about: String,
    /// The label of the layer and head.
    place: String,
    maps: [MapCells; 2],
    /// The second map minus the first; cells masked in both are missing.
    difference: MapCells,
    /// The value at the ends of the colour scale.
    max: f32,
    tokens: Vec<String>,
    tokens_per_position: usize,
}

impl AttentionDifference {
    pub(super) fn new(pair: Pair<'_, AttentionMaps>, selection: &Selection) -> Result<Self, String> {
        pair.check_text("attention maps")?;
        let [a, b] = pair.values;
        let in_b = |layer: &AttentionLayer| b.layers.iter().find(|l| l.path == layer.path);
        let is_selected = |l: &&AttentionLayer| Some(&l.path) == selection.layer.as_ref();
        let chosen = a.layers.iter().find(is_selected).filter(|l| in_b(l).is_some());
        let first = chosen.or_else(|| a.layers.iter().find(|l| in_b(l).is_some()));
        let Some((first, second)) = first.and_then(|l| Some((l, in_b(l)?))) else {
            return Err("No difference: the two models have no layer of attention with the same name.".to_owned());
        };
        let head = selection.head.filter(|h| *h < first.heads().min(second.heads())).unwrap_or(0);
        let place = format!("{} head {head}", first.path);
        let held = |layer: &AttentionLayer, i: usize| {
            let mut held = MapCells::default();
            let matrix = layer.weights.matrix(head)?;
            held.cache_attention(&pair.samples[i].payload, &format!("{place} {i}"), matrix);
            Some(held)
        };
        let maps = held(first, 0).zip(held(second, 1)).ok_or_else(|| format!("No difference: {place} has no map."))?;
        let difference = MapCells::difference("difference", &maps.1, &maps.0)
            .ok_or_else(|| format!("No difference: the maps of {place} differ in size."))?;
        Ok(Self {
            about: pair.steps_label(),
            place,
            max: rounded_up(difference.largest()),
            difference,
            maps: [maps.0, maps.1],
            tokens: pair.samples[0].tokens.clone(),
            tokens_per_position: first.tokens_per_position,
        })
    }

    pub(super) fn subtitle(&self) -> String {
        let Self { about, place, max, .. } = self;
        let largest = value_label(f64::from(self.difference.largest()));
        format!("{about} \u{b7} {place} \u{b7} largest |difference| {largest}, colours \u{b1}{max}")
    }

    fn position(&self, at: usize) -> String {
        position_label(&self.tokens, self.tokens_per_position, at)
    }

    pub(super) fn ui(&self, ui: &mut Ui, names: [&str; 2], theme: &Theme, state: &mut MapState) {
        let describe = |row: usize, col: usize| {
            let [a, b, less] = [&self.maps[0], &self.maps[1], &self.difference].map(|map| map.label(row, col));
            let (query, key) = (self.position(row), self.position(col));
            format!("{query} attends to {key}\n{}: {a}\n{}: {b}\ndifference: {less}", names[0], names[1])
        };
        let colours = around_zero(self.max, theme);
        let map = MapUi::attention("difference of attention", &self.difference, colours, &describe);
        map.show(ui, ui.available_size(), theme, state);
    }

    pub(super) fn csv(&self, names: [&str; 2]) -> String {
        let mut table = Table::new(["query", "key", names[0], names[1], "difference"]);
        let (rows, cols) = (self.difference.cells().rows, self.difference.cells().cols);
        for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
            let less = self.difference.value(row, col);
            if !less.is_nan() {
                let values = [&self.maps[0], &self.maps[1], &self.difference].map(|map| map.value(row, col));
                let values = values.map(|value| optional_field(value.is_finite().then_some(value)));
                table.row([row.to_string(), col.to_string()].into_iter().chain(values));
            }
        }
        table.finish()
    }
}
