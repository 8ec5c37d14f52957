//! Holds the cells of a matrix that is drawn as a map, copied once for the graphics card.

use std::sync::Arc;

use crate::{
    gpu::heatmap::Cells,
    telemetry::{MatrixView, Payload},
    ui::identity::unique,
};

/// The cells of one matrix, copied once for the GPU and held until another payload comes.
#[derive(Debug, Clone, Default)]
pub struct MapCells {
    payload: Option<Arc<Payload>>,
    pub(super) part: String,
    pub(super) cells: Arc<Cells>,
    /// No other cells have it: what the card holds outlives the view.
    revision: u64,
}

impl MapCells {
    /// Copies a matrix of `source`, which `part` names among its matrices, unless it is cached already. `has_value`
    /// decides which cells have a value; the others are drawn as missing.
    pub fn hold(&mut self, source: &Arc<Payload>, part: &str, matrix: MatrixView<'_>, has_value: impl Fn(f32) -> bool) {
        if self.part == part && self.is_of(source) {
            return;
        }
        let data = matrix.data.iter().map(|v| if has_value(*v) { *v } else { f32::NAN }).collect();
        self.cells = Arc::new(Cells { rows: matrix.rows, cols: matrix.cols, data });
        self.payload = Some(source.clone());
        self.part = part.to_owned();
        self.revision = unique();
    }

    /// Cell by cell `from` less `less`. A value that is missing in one of them counts as zero there, and one that is
    /// missing in both is missing. `None` where the two differ in size.
    pub fn difference(part: &str, from: &Self, less: &Self) -> Option<Self> {
        let (a, b) = (&*from.cells, &*less.cells);
        if (a.rows, a.cols) != (b.rows, b.cols) {
            return None;
        }
        let value = |v: f32| if v.is_nan() { 0.0 } else { v };
        let less = |(a, b): (&f32, &f32)| if a.is_nan() && b.is_nan() { f32::NAN } else { value(*a) - value(*b) };
        let data = a.data.iter().zip(&b.data).map(less).collect();
        let cells = Arc::new(Cells { rows: a.rows, cols: a.cols, data });
        Some(Self { payload: None, part: part.to_owned(), cells, revision: unique() })
    }

    /// True if the cells were copied from this payload.
    pub fn is_of(&self, source: &Arc<Payload>) -> bool {
        self.payload.as_ref().is_some_and(|p| Arc::ptr_eq(p, source))
    }

    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The value of a cell; NaN where it has none.
    pub fn value(&self, row: usize, col: usize) -> f32 {
        let is_inside = row < self.cells.rows && col < self.cells.cols;
        if is_inside { self.cells.data[row * self.cells.cols + col] } else { f32::NAN }
    }

    /// The largest magnitude; 0 where no cell has a value.
    pub fn largest(&self) -> f32 {
        self.cells.data.iter().filter(|v| v.is_finite()).fold(0.0, |max, v| v.abs().max(max))
    }

    /// A number that other cells do not have.
    pub fn revision(&self) -> u64 {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(data: &[f32]) -> MapCells {
        let mut held = MapCells::default();
        let payload = Arc::new(Payload::Unknown(0.into()));
        held.hold(&payload, "", MatrixView { rows: 1, cols: data.len(), data }, |v| v != 0.0);
        held
    }

    #[test]
    fn cells_are_copied_once_for_a_payload() {
        let matrix = MatrixView { rows: 1, cols: 2, data: &[1.0, 2.0] };
        let payload = Arc::new(Payload::Unknown(0.into()));
        let mut held = MapCells::default();
        held.hold(&payload, "", matrix, |v| v < 2.0);
        let first = held.revision;
        held.hold(&payload, "", matrix, |_| true);
        assert_eq!(held.revision, first);
        assert!(held.value(0, 1).is_nan() && held.value(0, 2).is_nan());
        held.hold(&Arc::new((*payload).clone()), "", matrix, |_| true);
        assert!(held.revision > first);
    }

    #[test]
    fn a_difference_is_the_first_less_the_second() {
        let (a, b) = (held(&[0.5, 0.25, 0.0, 0.0]), held(&[0.75, 0.0, 0.5, 0.0]));
        let difference = MapCells::difference("a - b", &a, &b).unwrap();
        assert_eq!(difference.cells().data[..3], [-0.25, 0.25, -0.5]);
        assert!(difference.value(0, 3).is_nan(), "masked in both");
        assert_eq!(difference.largest(), 0.5);
        assert!(difference.revision() > b.revision());
        assert!(MapCells::difference("", &a, &held(&[1.0])).is_none(), "of other sizes");
    }
}
