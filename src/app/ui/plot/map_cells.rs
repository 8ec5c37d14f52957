//! Holds the cells of a matrix that is drawn as a map, copied once for the graphics card.

use std::sync::Arc;

use super::scale::value_label;
use crate::{
    gpu::heatmap::{Cells, NOT_FINITE},
    telemetry::{MatrixView, Payload},
    ui::identity::unique,
};

/// The name of the sign of cells whose values are not finite.
pub(super) const NOT_FINITE_LABEL: &str = "NaN or infinite";

/// The cells of one matrix, copied once for the GPU and held until another payload comes.
#[derive(Debug, Clone, Default)]
pub struct MapCells {
    payload: Option<Arc<Payload>>,
    pub(super) part: String,
    pub(super) cells: Arc<Cells>,
    pub has_not_finite: bool,
    /// No other cells have it: what the card holds outlives the view.
    revision: u64,
}

impl MapCells {
    /// Copies a matrix of `source`, which `part` names among its matrices, unless it is cached already. A value that is
    /// not finite has a look of its own.
    pub fn cache_matrix(&mut self, source: &Arc<Payload>, part: &str, matrix: MatrixView<'_>) {
        if !self.holds(source, part) {
            self.copy(source, part, matrix, |_, _| false);
        }
    }

    /// Like [`MapCells::cache_matrix`] for weights of queries (rows) on keys (columns). A later key without weight is
    /// masked, and drawn as missing; so is a key at a distance at which no query has a weight, as beyond a window. Any
    /// other weight of 0 is a rounded one.
    pub fn cache_attention(&mut self, source: &Arc<Payload>, part: &str, matrix: MatrixView<'_>) {
        if self.holds(source, part) {
            return;
        }
        let cols = matrix.cols.max(1);
        let distance = |i: usize| (i / cols).checked_sub(i % cols);
        let mut has_weight = vec![false; matrix.rows];
        let nonzero = matrix.data.iter().enumerate().filter(|(_, v)| **v != 0.0);
        nonzero.filter_map(|(i, _)| distance(i)).for_each(|d| has_weight[d] = true);
        self.copy(source, part, matrix, |i, v| v == 0.0 && distance(i).is_none_or(|d| !has_weight[d]));
    }

    fn holds(&self, source: &Arc<Payload>, part: &str) -> bool {
        self.part == part && self.is_copy_of(source)
    }

    fn copy(
        &mut self,
        source: &Arc<Payload>,
        part: &str,
        matrix: MatrixView<'_>,
        is_masked: impl Fn(usize, f32) -> bool,
    ) {
        let drawn = |(i, v): (usize, &f32)| match v.is_finite() {
            _ if is_masked(i, *v) => f32::NAN,
            true => *v,
            false => NOT_FINITE,
        };
        let data = matrix.data.iter().enumerate().map(drawn).collect();
        let cells = Cells { rows: matrix.rows, cols: matrix.cols, data };
        *self = Self { payload: Some(source.clone()), ..Self::new(part, cells) };
    }

    fn new(part: &str, cells: Cells) -> Self {
        let has_not_finite = cells.data.contains(&NOT_FINITE);
        Self { payload: None, part: part.to_owned(), cells: Arc::new(cells), has_not_finite, revision: unique() }
    }

    /// Cell by cell `from` less `less`. A value that is missing in one of them counts as zero there, and one that is
    /// missing in both is missing. `None` where the two differ in size.
    pub fn difference(part: &str, from: &Self, less: &Self) -> Option<Self> {
        let (a, b) = (&*from.cells, &*less.cells);
        if (a.rows, a.cols) != (b.rows, b.cols) {
            return None;
        }
        let value = |v: f32| if v.is_nan() { 0.0 } else { v };
        let less = |(a, b): (&f32, &f32)| match () {
            () if a.is_infinite() || b.is_infinite() => NOT_FINITE,
            () if a.is_nan() && b.is_nan() => f32::NAN,
            () => value(*a) - value(*b),
        };
        let data = a.data.iter().zip(&b.data).map(less).collect();
        Some(Self::new(part, Cells { rows: a.rows, cols: a.cols, data }))
    }

    /// True if the cells were copied from this payload.
    pub fn is_copy_of(&self, source: &Arc<Payload>) -> bool {
        self.payload.as_ref().is_some_and(|p| Arc::ptr_eq(p, source))
    }

    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The value of a cell; NaN where it has none, and [`NOT_FINITE`] where it is not a finite number.
    pub fn value(&self, row: usize, col: usize) -> f32 {
        let is_inside = row < self.cells.rows && col < self.cells.cols;
        if is_inside { self.cells.data[row * self.cells.cols + col] } else { f32::NAN }
    }

    /// The value of a cell as text.
    pub fn label(&self, row: usize, col: usize) -> String {
        match self.value(row, col) {
            v if v.is_nan() => "masked".to_owned(),
            v if v.is_infinite() => NOT_FINITE_LABEL.to_owned(),
            v => value_label(f64::from(v)),
        }
    }

    /// Like [`MapCells::label`] where small weights were rounded to 0, as in the recorded examples: each of them is less than
    /// the least that was not.
    pub fn rounded_label(&self, row: usize, col: usize) -> String {
        let sizes = self.cells.data.iter().map(|v| v.abs()).filter(|v| *v > 0.0 && v.is_finite());
        match sizes.reduce(f32::min).filter(|_| self.value(row, col) == 0.0) {
            Some(least) => format!("< {}", value_label(f64::from(least))),
            None => self.label(row, col),
        }
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

    fn row_cells(data: &[f32]) -> MapCells {
        let mut held = MapCells::default();
        let payload = Arc::new(Payload::Unknown(0.into()));
        held.cache_attention(&payload, "", MatrixView { rows: 1, cols: data.len(), data });
        held
    }

    #[test]
    fn cells_are_copied_once_for_a_payload() {
        let matrix = MatrixView { rows: 1, cols: 2, data: &[1.0, 2.0] };
        let payload = Arc::new(Payload::Unknown(0.into()));
        let mut held = MapCells::default();
        held.cache_matrix(&payload, "", matrix);
        let first = held.revision;
        held.cache_matrix(&payload, "", matrix);
        assert_eq!(held.revision, first);
        assert!(held.value(0, 1) == 2.0 && held.value(0, 2).is_nan());
        held.cache_matrix(&Arc::new((*payload).clone()), "", matrix);
        assert!(held.revision > first);
    }

    #[test]
    fn keys_that_no_query_sees_are_masked() {
        let mut held = MapCells::default();
        // a window of two keys, and a weight that is rounded to 0
        let matrix = MatrixView { rows: 3, cols: 3, data: &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.5] };
        held.cache_attention(&Arc::new(Payload::Unknown(0.into())), "", matrix);
        assert_eq!([(0, 1), (1, 0), (2, 0)].map(|(q, k)| held.label(q, k)), ["masked", "0", "masked"]);
        let rounded = [(0, 1), (1, 0), (2, 1)].map(|(q, k)| held.rounded_label(q, k));
        assert_eq!(rounded, ["masked".to_owned(), format!("< {}", held.label(2, 1)), held.label(2, 1)]);
    }

    #[test]
    fn a_difference_is_the_first_less_the_second() {
        let (a, b) = (row_cells(&[0.5, 0.25, 0.0, 0.0]), row_cells(&[0.75, 0.0, 0.5, 0.0]));
        let difference = MapCells::difference("a - b", &a, &b).unwrap();
        assert_eq!(difference.cells().data[..3], [-0.25, 0.25, -0.5]);
        assert!(difference.value(0, 3).is_nan(), "masked in both");
        assert_eq!(difference.largest(), 0.5);
        assert!(difference.revision() > b.revision());
        assert!(MapCells::difference("", &a, &row_cells(&[1.0])).is_none(), "of other sizes");
    }

    #[test]
    fn a_value_that_is_not_finite_is_not_a_masked_one() {
        let (whole, broken) = (row_cells(&[0.5, 0.0, 0.25]), row_cells(&[f32::NAN, 0.0, f32::NEG_INFINITY]));
        assert!(broken.has_not_finite && !whole.has_not_finite);
        assert_eq!([0, 1, 2].map(|col| broken.label(0, col)), [NOT_FINITE_LABEL, "masked", NOT_FINITE_LABEL]);
        assert_eq!(broken.largest(), 0.0);
        let difference = MapCells::difference("", &whole, &broken).unwrap();
        assert_eq!([0, 1].map(|col| difference.label(0, col)), [NOT_FINITE_LABEL, "masked"]);
        assert!(difference.has_not_finite);
    }
}
