//! Right sides of products, laid out as the tiles read them: in panels of a few vectors' width, one row of k
//! after the other. Laid out once, one serves any number of left sides.

use std::{cell::RefCell, ops::Range};

use pulp::Arch;

use super::{
    matrix::{Panel, View, filled},
    tile::{self, Given, Strip},
    transpose,
};

/// Rows of a panel that are taken at a time: with them, a panel stays in the cache next to the processor.
const DEPTH: usize = 128;
/// Values of a cache line. What tiles read begins with one.
const LINE: usize = 16;

/// A matrix `(K, N)` in blocks of [`DEPTH`] rows, a block in panels of `width` columns.
#[derive(Debug)]
pub struct Packed {
    values: Vec<f32>,
    /// Where the first panel begins.
    from: usize,
    k: usize,
    n: usize,
    width: usize,
}

impl Packed {
    pub fn new(b: View) -> Self {
        let (k, n) = (b.rows(), b.cols());
        let width = width_for(n);
        let wide = n.next_multiple_of(width);
        let mut from = 0;
        // a line to begin with, and one that the last vector may reach into
        let values = filled(k * wide + 2 * LINE, |values| {
            from = to_line(values);
            let (before, rest) = values.split_at_mut(from);
            let (panels, after) = rest.split_at_mut(k * wide);
            before.fill(0.0);
            after.fill(0.0);
            for p in (0..k).step_by(DEPTH) {
                let depth = DEPTH.min(k - p);
                for (j, panel) in panels[p * wide..][..depth * wide].chunks_exact_mut(depth * width).enumerate() {
                    lay_out(panel, b.part(p, j * width, depth, width.min(n - j * width)), width);
                }
            }
        });
        Self { values, from, k, n, width }
    }

    /// Rows and columns.
    pub fn sizes(&self) -> [usize; 2] {
        [self.k, self.n]
    }

    /// dst = scale a b. dst row-major of `a.rows * b.cols` values (or more, untouched).
    ///
    /// # Panics
    /// When the sizes do not fit.
    pub fn product(&self, dst: &mut [f32], a: View, scale: f32) {
        self.part(dst, a, 0..self.k, 0..self.n, scale);
    }

    /// As [`Packed::product`] with some rows of the right side and some columns.
    ///
    /// # Panics
    /// When the sizes do not fit.
    pub fn part(&self, dst: &mut [f32], a: View, rows: Range<usize>, cols: Range<usize>, scale: f32) {
        self.strips(dst, a, (rows, cols), scale, Start::From([None; 2]));
    }

    /// As [`Packed::part`], to rows of a panel from `row` on.
    ///
    /// # Panics
    /// When the sizes do not fit.
    pub fn part_of_panel(&self, to: &mut Panel, row: usize, a: View, rows: Range<usize>, cols: Range<usize>) {
        let (at, step) = to.place(row, a.rows(), cols.len());
        // SAFETY: the panel has that place, and is the only way to it.
        unsafe { self.strips_at(at, step, a, (rows, cols), 1.0, Start::From([None; 2])) }
    }

    /// dst = a b [+ bias] [+ rest]: bias `(b.cols)`, rest like dst.
    ///
    /// # Panics
    /// When the sizes do not fit.
    pub fn onto(&self, dst: &mut [f32], a: View, bias: Option<&[f32]>, rest: Option<&[f32]>) {
        let n = self.n;
        assert!(bias.is_none_or(|b| b.len() == n) && rest.is_none_or(|r| r.len() >= a.rows() * n), "{n} columns");
        let given = [rest.map(|r| (r.as_ptr(), n)), bias.map(|b| (b.as_ptr(), 0))];
        self.strips(dst, a, (0..self.k, 0..n), 1.0, Start::From(given));
    }

    /// dst += a b.
    ///
    /// # Panics
    /// When the sizes do not fit.
    pub fn added(&self, dst: &mut [f32], a: View) {
        self.strips(dst, a, (0..self.k, 0..self.n), 1.0, Start::Added);
    }

    /// What `start` gives must hold `a.rows` rows, at its steps, of as many values as there are columns.
    fn strips(&self, dst: &mut [f32], a: View, (rows, cols): (Range<usize>, Range<usize>), scale: f32, start: Start) {
        let (m, n) = (a.rows(), cols.len());
        assert!(dst.len() >= m * n, "{m} x {n} sums into {} values", dst.len());
        // SAFETY: dst holds them, and its exclusive borrow keeps it apart from both sides.
        unsafe { self.strips_at(dst.as_mut_ptr(), n, a, (rows, cols), scale, start) }
    }

    /// # Safety
    /// `dst` must have room for `a.rows` rows, `step` values apart, of as many values as there are columns, that nothing
    /// else reads or writes meanwhile; what `start` gives must hold as many.
    unsafe fn strips_at(
        &self,
        dst: *mut f32,
        step: usize,
        a: View,
        (rows, cols): (Range<usize>, Range<usize>),
        scale: f32,
        start: Start,
    ) {
        let (m, k, n) = (a.rows(), rows.len(), cols.len());
        assert!(a.cols() == k && rows.end <= self.k && cols.end <= self.n, "({m}, {}) x ({k}, {n})", a.cols());
        assert!(k > 0, "no terms of {m} x {n} sums");
        let (width, wide) = (self.width, self.n.next_multiple_of(self.width));
        let mut p = rows.start;
        while p < rows.end {
            // the block that p lies in, and what is wanted of it
            let (first, here) = (p / DEPTH * DEPTH, p % DEPTH);
            let (depth, end) = (DEPTH.min(self.k - first), (first + DEPTH).min(rows.end));
            let mut j = cols.start;
            while j < cols.end {
                // of the panel that column j lies in, from there on
                let (panel, left) = (j / width * width, j % width);
                let taken = (width - left).min(cols.end - j);
                let b = &self.values[self.from + first * wide + panel * depth + here * width + left..];
                let from = j - cols.start;
                let to = dst.wrapping_add(from);
                let strip = Strip {
                    rows: m,
                    k: end - p,
                    a: a.from(0, p - rows.start),
                    a_steps: a.steps(),
                    b: b.as_ptr(),
                    b_step: width,
                    to,
                    step,
                    cols: taken,
                    scale,
                    plus: match start {
                        Start::From(given) if p == rows.start => {
                            given.map(|g| g.map(|(at, step)| (at.wrapping_add(from), step)))
                        }
                        _ => [Some((to.cast_const(), step)), None],
                    },
                };
                // SAFETY: a has m rows and k columns, b the rows p..end and a line after them (checked above); dst and
                // what is given have m rows of n values (the contract).
                unsafe { strip.run() }
                j += taken;
            }
            p = end;
        }
    }
}

/// What a product is added to.
#[derive(Clone, Copy)]
enum Start {
    /// What lies there.
    Added,
    From([Given; 2]),
}

/// A product whose right side is used once: it is laid out panel by panel, in room that the thread keeps.
///
/// # Safety
/// `dst` must have room for `a.rows` rows, `step` values apart, of `b.cols` values that nothing else
/// reads or writes meanwhile; a must have as many columns as b has rows.
pub unsafe fn product_at(dst: *mut f32, step: usize, a: View, b: View, scale: f32, add: bool) {
    thread_local! {
        static ROOM: RefCell<Vec<f32>> = const { RefCell::new(vec![]) };
    }
    let (m, n, k) = (a.rows(), b.cols(), b.rows());
    let width = width_for(n);
    ROOM.with_borrow_mut(|room| {
        if room.is_empty() {
            room.resize(DEPTH * tile::width() + LINE, 0.0);
        }
        let from = to_line(room);
        for p in (0..k).step_by(DEPTH) {
            let depth = DEPTH.min(k - p);
            for j in (0..n).step_by(width) {
                let (panel, cols) = (&mut room[from..][..depth * width], width.min(n - j));
                lay_out(panel, b.part(p, j, depth, cols), width);
                let to = dst.wrapping_add(j);
                let strip = Strip {
                    rows: m,
                    k: depth,
                    a: a.from(0, p),
                    a_steps: a.steps(),
                    b: panel.as_ptr(),
                    b_step: width,
                    to,
                    step,
                    cols,
                    scale,
                    plus: [(add || p > 0).then_some((to.cast_const(), step)), None],
                };
                // SAFETY: a has m rows and columns p.., the panel `depth` rows; dst by this function's contract.
                unsafe { strip.run() }
            }
        }
    });
}

/// Of the panels of n columns: no wider than those of a tile, nor than whole cache lines.
fn width_for(n: usize) -> usize {
    tile::width().min(n.next_multiple_of(LINE))
}

/// How many values of `room` lie before the first cache line that begins in it.
fn to_line(room: &[f32]) -> usize {
    room.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE)
}

/// A panel's rows from b `(depth, n)`; zeros after column n.
fn lay_out(panel: &mut [f32], b: View, width: usize) {
    let n = b.cols();
    match b.steps() {
        [_, 1] => {
            // of the widths there mostly are, by what needs no call
            match (width, width == n) {
                (64, true) => copy_rows::<64>(panel, b),
                (32, true) => copy_rows::<32>(panel, b),
                _ => {
                    for (p, row) in panel.chunks_exact_mut(width).enumerate() {
                        row[..n].copy_from_slice(b.row(p));
                        row[n..].fill(0.0);
                    }
                }
            }
        }
        [1, step] => {
            transpose::turn(b.values(), [n, b.rows()], step, panel, width);
            if n < width {
                panel.chunks_exact_mut(width).for_each(|row| row[n..].fill(0.0));
            }
        }
        _ => {
            for (p, row) in panel.chunks_exact_mut(width).enumerate() {
                row.iter_mut().enumerate().for_each(|(j, v)| *v = if j < n { b.at(p, j) } else { 0.0 });
            }
        }
    }
}

fn copy_rows<const N: usize>(panel: &mut [f32], b: View) {
    let (panel, _) = panel.as_chunks_mut::<N>();
    Arch::new().dispatch(|| panel.iter_mut().enumerate().for_each(|(p, row)| row.copy_from_slice(&b.row(p)[..N])));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A matrix `(rows, cols)` as it lies: by rows, by columns, or with other values between all of them.
    fn lying(values: &[f32], rows: usize, cols: usize, way: usize) -> (Vec<f32>, [usize; 2]) {
        let steps = [[cols + 3, 1], [1, rows + 2], [2 * cols, 2]][way];
        let mut all = vec![f32::NAN; rows * steps[0] + cols * steps[1]];
        for r in 0..rows {
            for c in 0..cols {
                all[r * steps[0] + c * steps[1]] = values[r * cols + c];
            }
        }
        (all, steps)
    }

    fn some(n: usize, seed: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 7 + seed * 13) as f32 * 0.37).sin()).collect()
    }

    /// The sum in f64, and the sum of absolute values, which bounds its rounding.
    fn exact(a: &[f32], b: &[f32], [i, j, k, n]: [usize; 4]) -> [f64; 2] {
        let terms = (0..k).map(|p| f64::from(a[i * k + p]) * f64::from(b[p * n + j]));
        terms.fold([0.0; 2], |[sum, size], t| [sum + t, size + t.abs()])
    }

    fn view(v: &(Vec<f32>, [usize; 2]), rows: usize, cols: usize) -> View<'_> {
        View::with_steps(&v.0, [rows, cols], v.1)
    }

    proptest! {
        #[test]
        fn products_are_sums_however_the_sides_lie(
            (m, k, n) in (1usize..40, 1usize..300, 1usize..200), ways in (0usize..3, 0usize..3), add: bool,
        ) {
            let (a, b, was) = (some(m * k, 1), some(k * n, 2), some(m * n, 3));
            let (la, lb) = (lying(&a, m, k, ways.0), lying(&b, k, n, ways.1));
            let (va, vb) = (view(&la, m, k), view(&lb, k, n));
            let mut found = was.clone();
            // SAFETY: found has m rows of n values, and the sizes fit.
            unsafe { product_at(found.as_mut_ptr(), n, va, vb, 0.5, add) };
            let packed = Packed::new(vb);
            let mut again = vec![f32::NAN; m * n];
            packed.product(&mut again, va, 0.5);
            let mut onto = vec![f32::NAN; m * n];
            let bias = some(n, 4);
            packed.onto(&mut onto, va, Some(&bias), Some(&was));
            for i in 0..m {
                for (j, bias) in bias.iter().enumerate() {
                    let [sum, size] = exact(&a, &b, [i, j, k, n]);
                    let at = i * n + j;
                    // rounding of a chain of k terms and two more
                    let close = (k + 3) as f64 * 6e-8 * (size + 2.0);
                    let more = if add { f64::from(was[at]) } else { 0.0 };
                    prop_assert!((f64::from(found[at]) - 0.5 * sum - more).abs() < close, "({i}, {j}): {}", found[at]);
                    prop_assert!((f64::from(again[at]) - 0.5 * sum).abs() < close, "({i}, {j}): {}", again[at]);
                    let sum = sum + f64::from(was[at]) + f64::from(*bias);
                    prop_assert!((f64::from(onto[at]) - sum).abs() < close, "({i}, {j}): {}", onto[at]);
                }
            }
        }

        #[test]
        fn a_part_is_what_a_matrix_of_its_own_gives(
            (m, k, n) in (1usize..20, 2usize..400, 1usize..300), share in (0usize..100, 0usize..100, 0usize..100),
        ) {
            let (from, to) = (share.0 * (k - 1) / 100, share.1 * n / 100);
            let rows = from..from + 1 + share.2 * (k - from - 1) / 100;
            let cols = to.min(n - 1)..n;
            let (a, b) = (some(m * rows.len(), 1), some(k * n, 2));
            let a = View::new(&a, m, rows.len());
            let all = View::new(&b, k, n);
            let mut found = vec![f32::NAN; m * cols.len()];
            Packed::new(all).part(&mut found, a, rows.clone(), cols.clone(), 1.0);
            let own = Packed::new(all.part(rows.start, cols.start, rows.len(), cols.len()));
            let mut wanted = vec![f32::NAN; found.len()];
            own.product(&mut wanted, a, 1.0);
            for (f, w) in found.iter().zip(&wanted) {
                prop_assert!((f - w).abs() < 1e-4, "{f}, not {w}");
            }
        }

        /// What tasks rely on: where a row is cut off the others makes no difference.
        #[test]
        fn a_row_has_the_same_bits_among_any_others((m, k, n) in (1usize..30, 1usize..300, 1usize..200)) {
            let (a, b) = (some(m * k, 1), some(k * n, 2));
            let packed = Packed::new(View::new(&b, k, n));
            let mut all = vec![f32::NAN; m * n];
            packed.product(&mut all, View::new(&a, m, k), 1.0);
            for (a, all) in a.chunks_exact(k).zip(all.chunks_exact(n)) {
                let mut one = vec![f32::NAN; n];
                packed.product(&mut one, View::new(a, 1, k), 1.0);
                prop_assert!(one.iter().zip(all).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }
}
