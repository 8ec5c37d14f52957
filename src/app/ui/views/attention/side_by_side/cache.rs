//! Caches the cells of displayed maps, so that a frame without changes copies and uploads nothing.

use super::source::Column;
use crate::ui::views::prelude::*;

/// Cells of all kept maps together, at most: 64 MB.
const MAX_CELLS: usize = 16 << 20;

/// Maps by variant, layer, head and size. Run and step are those of the payload that each was copied from.
#[derive(Debug, Default)]
pub struct Cache {
    maps: HashMap<String, MapCells>,
    /// The revisions of the two maps that were subtracted, their difference, and its largest magnitude.
    difference: Option<([u64; 2], MapCells, f32)>,
}

/// The name by which a map is held.
pub fn name_of(column: &Column<'_>, layer: &AttentionLayer, head: usize) -> String {
    format!("{}.{}.h{head}.{}", column.variant, layer.path, layer.positions())
}

impl Cache {
    /// Lets go what belongs to other answers than these, and everything once it has become too much.
    pub fn follow(&mut self, columns: &[Column<'_>]) {
        self.maps.retain(|_, held| columns.iter().any(|c| held.is_copy_of(&c.sample.payload)));
        let cells: usize = self.maps.values().map(|held| held.cells().data.len()).sum();
        if cells > MAX_CELLS {
            self.maps.clear();
        }
    }

    /// Copies the map of a head, unless it is there.
    pub fn cache_head(&mut self, column: &Column<'_>, layer: &AttentionLayer, head: usize) {
        let Some(matrix) = layer.weights.matrix(head) else { return };
        let name = name_of(column, layer, head);
        // Weights that are exactly zero are masked: the future, or beyond the window.
        self.maps.entry(name.clone()).or_default().cache_matrix(&column.sample.payload, &name, matrix, |v| v != 0.0);
    }

    pub fn get(&self, column: &Column<'_>, layer: &AttentionLayer, head: usize) -> Option<&MapCells> {
        self.maps.get(&name_of(column, layer, head))
    }

    /// Makes the difference of the maps of these names, if they are held, unless it is there.
    pub fn hold_difference(&mut self, names: Option<[String; 2]>) {
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

    /// True if a map of these answers has a cell that is not finite.
    pub fn has_not_finite(&self) -> bool {
        self.maps.values().any(|held| held.has_not_finite)
    }

    /// The difference that was made last, and its largest magnitude.
    pub fn difference(&self) -> Option<(&MapCells, f32)> {
        self.difference.as_ref().map(|(_, held, max)| (held, *max))
    }
}
