//! Matrices packed as the tiles read the right side of a product: in panels of a few vectors' width, row after row.
//! Packed once, a matrix serves any number of left sides.

use std::{cell::RefCell, ops::Range};

use super::{
    arch::arch,
    buffers::build_vec,
    matrix::{Panel, View},
    tile::{self, Addend, Strip},
    transpose,
};

/// The rows of a panel that are multiplied at a time, so that they stay in the first-level cache.
pub(crate) const DEPTH: usize = 128;
/// Values of a cache line; panels are aligned to it.
const LINE: usize = 16;

/// A matrix `(K, N)` in blocks of [`DEPTH`] rows, a block in panels of `width` columns.
///
/// # Panics
/// Each product with it panics if the sizes do not fit.
#[derive(Debug)]
pub struct Packed {
    values: Vec<f32>,
    /// Index of the first panel's first value.
    start: usize,
    k: usize,
    n: usize,
    width: usize,
}

impl Packed {
    /// Packs b.
    pub fn new(b: View) -> Self {
        let (k, n) = (b.rows(), b.cols());
        let width = panel_width(n);
        let wide = n.next_multiple_of(width);
        let mut start = 0;
        // one line for the alignment, and one that the last vector of the last panel may reach into
        let values = build_vec(k * wide + 2 * LINE, |values| {
            start = line_offset(values);
            let (before, rest) = values.split_at_mut(start);
            let (panels, after) = rest.split_at_mut(k * wide);
            before.fill(0.0);
            after.fill(0.0);
            for p in (0..k).step_by(DEPTH) {
                let depth = DEPTH.min(k - p);
                for (j, panel) in panels[p * wide..][..depth * wide].chunks_exact_mut(depth * width).enumerate() {
                    pack_panel(panel, b.submatrix(p, j * width, depth, width.min(n - j * width)), width);
                }
            }
        });
        Self { values, start, k, n, width }
    }

    /// Rows and columns.
    pub fn sizes(&self) -> [usize; 2] {
        [self.k, self.n]
    }

    /// dst = scale a b, where b is the packed matrix. dst is row-major and has at least `a.rows * b.cols` values; what
    /// follows them stays as it is.
    pub fn matmul(&self, dst: &mut [f32], a: View, scale: f32) {
        self.matmul_part(dst, a, 0..self.k, 0..self.n, scale);
    }

    /// Same as [`Packed::matmul`], with these rows and columns of the packed matrix.
    pub fn matmul_part(&self, dst: &mut [f32], a: View, rows: Range<usize>, cols: Range<usize>, scale: f32) {
        self.strips(dst, a, (rows, cols), scale, Init::Addends([None; 2]));
    }

    /// dst = a b, or, to accumulate, dst += a b, with all rows and these columns of the packed matrix.
    pub fn matmul_part_or_accumulate(&self, dst: &mut [f32], a: View, cols: Range<usize>, accumulate: bool) {
        let init = if accumulate { Init::Accumulate } else { Init::Addends([None; 2]) };
        self.strips(dst, a, (0..self.k, cols), 1.0, init);
    }

    /// Same as [`Packed::matmul_part`], into the rows of a panel from `row` on.
    pub fn matmul_part_into_panel(&self, to: &mut Panel, row: usize, a: View, rows: Range<usize>, cols: Range<usize>) {
        let (at, step) = to.locate(row, a.rows(), cols.len());
        // SAFETY: `locate` has checked that the panel has these rows and columns, and the panel, borrowed exclusively, is
        // the only way to them; there are no addends.
        unsafe { self.strips_at(at, step, a, (rows, cols), 1.0, Init::Addends([None; 2])) }
    }

    /// dst = a b [+ residual] [+ bias]: bias `(b.cols)`, residual like dst.
    pub fn matmul_into(&self, dst: &mut [f32], a: View, bias: Option<&[f32]>, residual: Option<&[f32]>) {
        let n = self.n;
        assert!(bias.is_none_or(|b| b.len() == n) && residual.is_none_or(|r| r.len() >= a.rows() * n), "{n} columns");
        let addends = [residual.map(|r| (r.as_ptr(), n)), bias.map(|b| (b.as_ptr(), 0))];
        self.strips(dst, a, (0..self.k, 0..n), 1.0, Init::Addends(addends));
    }

    /// dst += a b.
    pub fn matmul_accumulate(&self, dst: &mut [f32], a: View) {
        self.strips(dst, a, (0..self.k, 0..self.n), 1.0, Init::Accumulate);
    }

    /// The addends of `init` must hold `a.rows` rows, at their steps, of as many values as there are columns.
    fn strips(&self, dst: &mut [f32], a: View, (rows, cols): (Range<usize>, Range<usize>), scale: f32, init: Init) {
        let (m, n) = (a.rows(), cols.len());
        assert!(dst.len() >= m * n, "{m} x {n} sums into {} values", dst.len());
        // SAFETY: dst holds m rows of n values (checked above) and is borrowed exclusively, so that nothing else reads or
        // writes it; the callers above give addends of slices that they have measured.
        unsafe { self.strips_at(dst.as_mut_ptr(), n, a, (rows, cols), scale, init) }
    }

    /// # Safety
    /// `dst` must be writable at `a.rows` rows, `step` values apart, of as many values as there are columns, which
    /// nothing else reads or writes meanwhile; the addends of `init` must be readable at as many.
    unsafe fn strips_at(
        &self,
        dst: *mut f32,
        step: usize,
        a: View,
        (rows, cols): (Range<usize>, Range<usize>),
        scale: f32,
        init: Init,
    ) {
        let (m, k, n) = (a.rows(), rows.len(), cols.len());
        assert!(a.cols() == k && rows.end <= self.k && cols.end <= self.n, "({m}, {}) x ({k}, {n})", a.cols());
        assert!(k > 0, "no terms of {m} x {n} sums");
        let (width, wide) = (self.width, self.n.next_multiple_of(self.width));
        let mut p = rows.start;
        while p < rows.end {
            // the block of DEPTH rows that holds row p, and the last of its rows that is asked for
            let (first, here) = (p / DEPTH * DEPTH, p % DEPTH);
            let (depth, end) = (DEPTH.min(self.k - first), (first + DEPTH).min(rows.end));
            let mut j = cols.start;
            while j < cols.end {
                // the panel that column j lies in, from that column on, or from a panel's first column all that are asked
                let (panel, left) = (j / width * width, j % width);
                let taken = if left == 0 { cols.end - j } else { (width - left).min(cols.end - j) };
                let b = &self.values[self.start + first * wide + panel * depth + here * width + left..];
                let from = j - cols.start;
                let to = dst.wrapping_add(from);
                let strip = Strip {
                    rows: m,
                    k: end - p,
                    a: a.address(0, p - rows.start),
                    a_strides: a.strides(),
                    b: b.as_ptr(),
                    b_stride: width,
                    panel_stride: depth * width,
                    to,
                    step,
                    cols: taken,
                    scale,
                    addends: match init {
                        Init::Addends(addends) if p == rows.start => {
                            addends.map(|g| g.map(|(at, step)| (at.wrapping_add(from), step)))
                        }
                        _ => [Some((to.cast_const(), step)), None],
                    },
                };
                // SAFETY: a has m rows and k columns, of which those from p - rows.start on are read (checked above); the
                // packed matrix has the rows p..end of panels `depth * width` values apart, which are as wide as a tile
                // where there are several, and, behind its last panel, a line that the last vector may reach
                // into; dst and the addends have m rows of n values (the contract), of which `taken` begin at `from`.
                unsafe { strip.run() }
                j += taken;
            }
            p = end;
        }
    }
}

/// The initial values of the sums of a product.
#[derive(Clone, Copy)]
enum Init {
    /// The values that the destination holds.
    Accumulate,
    /// Other rows, or nothing.
    Addends([Addend; 2]),
}

/// dst = scale a b, or, to accumulate, dst += scale a b, for a right side that is used once: it is packed panel by panel
/// in a buffer of the thread's own. For a single row it is read where it lies, if its columns lie side by side.
///
/// # Safety
/// `dst` must be writable at `a.rows` rows, `step` values apart, of `b.cols` values, which nothing else reads or writes
/// meanwhile; a must have as many columns as b has rows.
pub unsafe fn gemm_unchecked(dst: *mut f32, step: usize, a: View, b: View, scale: f32, accumulate: bool) {
    thread_local! {
        static PANELS: RefCell<Vec<f32>> = const { RefCell::new(vec![]) };
    }
    let (m, n, k) = (a.rows(), b.cols(), b.rows());
    let width = panel_width(n);
    if packs_left(a, n) {
        // SAFETY: the contract is the same.
        return unsafe { gemm_left_packed(dst, step, a, b, scale, accumulate) };
    }
    // columns that are not packed, and columns that are packed at a time
    let in_place = if m == 1 && b.strides()[1] == 1 { n / LINE * LINE } else { 0 };
    let packed = if m == 1 && n > width { tile::row_width() } else { width };
    PANELS.with_borrow_mut(|buffer| {
        if buffer.is_empty() {
            buffer.resize(DEPTH * tile::row_width() + LINE, 0.0);
        }
        let start = line_offset(buffer);
        for p in (0..k).step_by(DEPTH) {
            let depth = DEPTH.min(k - p);
            let strip = |j: usize, cols: usize| {
                let to = dst.wrapping_add(j);
                Strip {
                    rows: m,
                    k: depth,
                    a: a.address(0, p),
                    a_strides: a.strides(),
                    b: b.address(p, j),
                    b_stride: b.strides()[0],
                    panel_stride: tile::width(),
                    to,
                    step,
                    cols,
                    scale,
                    addends: [(accumulate || p > 0).then_some((to.cast_const(), step)), None],
                }
            };
            // SAFETY: a has m rows and k columns, of which `depth` begin at p; b has `depth` rows from p on whose first
            // `in_place` columns lie side by side and are whole vectors; dst has m rows of n values (the contract), and is its
            // own addend.
            unsafe { strip(0, in_place).run() }
            for j in (in_place..n).step_by(packed) {
                let cols = packed.min(n - j);
                let panels = &mut buffer[start..][..depth * cols.next_multiple_of(width)];
                for (i, panel) in panels.chunks_exact_mut(depth * width).enumerate() {
                    pack_panel(panel, b.submatrix(p, j + i * width, depth, width.min(cols - i * width)), width);
                }
                let strip =
                    Strip { b: panels.as_ptr(), b_stride: width, panel_stride: depth * width, ..strip(j, cols) };
                // SAFETY: as above for a and dst, of which `cols` columns begin at j; the panels have `depth` rows of `width`
                // values, whole vectors that hold `cols` columns, and are as wide as a tile where there are several.
                unsafe { strip.run() }
            }
        }
    });
}

/// Columns of a left side that lie so far apart, in values, share few sets of the first-level cache.
const CACHE_ALIASING_STRIDE: usize = 1024;

/// True for a transposed left side with columns far apart that is read for several panels. Tiles of 16 columns take too
/// little time for each column for the second-level cache to hide behind.
fn packs_left(a: View, n: usize) -> bool {
    let [row_stride, col_stride] = a.strides();
    row_stride == 1 && col_stride >= CACHE_ALIASING_STRIDE && a.rows() >= LINE && n >= 4 * LINE && tile::width() <= LINE
}

/// [`gemm_unchecked`] with the left side copied to rows, some at a time, in a buffer of the thread's own.
///
/// # Safety
/// That of [`gemm_unchecked`]; the rows of a lie side by side.
unsafe fn gemm_left_packed(dst: *mut f32, step: usize, a: View, b: View, scale: f32, accumulate: bool) {
    /// Rows at a time: few enough for them to stay in the second-level cache.
    const ROWS: usize = 512;
    thread_local! {
        static ROW_BUFFER: RefCell<Vec<f32>> = const { RefCell::new(vec![]) };
    }
    ROW_BUFFER.with_borrow_mut(|buffer| {
        if buffer.is_empty() {
            buffer.resize(ROWS * DEPTH, 0.0);
        }
        for row in (0..a.rows()).step_by(ROWS) {
            for p in (0..b.rows()).step_by(DEPTH) {
                let (rows, depth) = (ROWS.min(a.rows() - row), DEPTH.min(b.rows() - p));
                let columns = a.submatrix(row, p, rows, depth);
                transpose::transpose(columns.values(), [depth, rows], a.strides()[1], buffer, depth);
                let to = dst.wrapping_add(row * step);
                let (a, b) = (View::new(buffer, rows, depth), b.submatrix(p, 0, depth, b.cols()));
                // SAFETY: these rows of dst are among those of the contract; a has as many columns as b has rows.
                unsafe { gemm_unchecked(to, step, a, b, scale, accumulate || p > 0) }
            }
        }
    });
}

/// Columns of a panel of a matrix of n columns: those of a tile, or fewer complete cache lines if they suffice.
fn panel_width(n: usize) -> usize {
    tile::width().min(n.next_multiple_of(LINE))
}

/// The number of values before the first cache line that begins in the buffer.
fn line_offset(buffer: &[f32]) -> usize {
    buffer.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE)
}

/// Copies b `(depth, n)` into a panel, with zeros after column n.
fn pack_panel(panel: &mut [f32], b: View, width: usize) {
    let n = b.cols();
    match b.strides() {
        [_, 1] => {
            // the usual widths as constants, so that a row is copied without a call
            match (width, width == n) {
                (64, true) => copy_rows::<64>(panel, b),
                (32, true) => copy_rows::<32>(panel, b),
                (16, true) => copy_rows::<16>(panel, b),
                _ => {
                    for (p, row) in panel.chunks_exact_mut(width).enumerate() {
                        row[..n].copy_from_slice(b.row(p));
                        row[n..].fill(0.0);
                    }
                }
            }
        }
        [1, step] => {
            transpose::transpose(b.values(), [n, b.rows()], step, panel, width);
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
    arch().dispatch(|| panel.iter_mut().enumerate().for_each(|(p, row)| row.copy_from_slice(&b.row(p)[..N])));
}

/// dst = scale a b, or, to accumulate, dst += scale a b. dst is row-major and has at least `a.rows * b.cols` values;
/// what follows them stays as it is.
///
/// # Panics
/// If the sizes do not fit.
pub fn gemm(dst: &mut [f32], a: View, b: View, scale: f32, accumulate: bool) {
    let (m, n, k) = (a.rows(), b.cols(), a.cols());
    assert!(k == b.rows() && dst.len() >= m * n, "({m}, {k}) x ({}, {n}) into {} values", b.rows(), dst.len());
    if k == 0 && !accumulate {
        dst[..m * n].fill(0.0);
    }
    // SAFETY: dst holds m rows of n values (checked above), and as it is borrowed exclusively nothing else reads or
    // writes it, neither side among them; the sides agree in k (checked above).
    unsafe { gemm_unchecked(dst.as_mut_ptr(), n, a, b, scale, accumulate) }
}

impl Panel<'_> {
    /// Its rows from `row` on become a b, or, to accumulate, a b is added to them.
    ///
    /// # Panics
    /// If it has fewer rows or columns than the product.
    pub fn gemm(&mut self, row: usize, a: View, b: View, accumulate: bool) {
        assert_eq!(a.cols(), b.rows());
        let (at, step) = self.locate(row, a.rows(), b.cols());
        // SAFETY: `locate` has checked that the panel has these rows and columns; `&mut self` keeps others from them.
        unsafe { gemm_unchecked(at, step, a, b, 1.0, accumulate) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A matrix `(rows, cols)` in one of three layouts: row-major, column-major, or with other values between all of
    /// its own.
    fn strided(values: &[f32], rows: usize, cols: usize, layout: usize) -> (Vec<f32>, [usize; 2]) {
        let steps = [[cols + 3, 1], [1, rows + 2], [2 * cols, 2]][layout];
        let mut all = vec![f32::NAN; rows * steps[0] + cols * steps[1]];
        for r in 0..rows {
            for c in 0..cols {
                all[r * steps[0] + c * steps[1]] = values[r * cols + c];
            }
        }
        (all, steps)
    }

    fn test_values(n: usize, seed: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 7 + seed * 13) as f32 * 0.37).sin()).collect()
    }

    /// Returns the sum in f64 and the sum of absolute values, which bounds its rounding error.
    fn exact(a: &[f32], b: &[f32], [i, j, k, n]: [usize; 4]) -> [f64; 2] {
        let terms = (0..k).map(|p| f64::from(a[i * k + p]) * f64::from(b[p * n + j]));
        terms.fold([0.0; 2], |[sum, size], t| [sum + t, size + t.abs()])
    }

    fn view(v: &(Vec<f32>, [usize; 2]), rows: usize, cols: usize) -> View<'_> {
        View::with_strides(&v.0, [rows, cols], v.1)
    }

    proptest! {
        #[test]
        fn products_are_sums_in_every_layout(
            (m, k, n) in (1usize..40, 1usize..300, 1usize..200), layouts in (0usize..3, 0usize..3), add: bool,
        ) {
            let (a, b, was) = (test_values(m * k, 1), test_values(k * n, 2), test_values(m * n, 3));
            let (la, lb) = (strided(&a, m, k, layouts.0), strided(&b, k, n, layouts.1));
            let (va, vb) = (view(&la, m, k), view(&lb, k, n));
            let mut found = was.clone();
            // SAFETY: `found` has m rows of n values and is borrowed exclusively; a is (m, k) and b (k, n).
            unsafe { gemm_unchecked(found.as_mut_ptr(), n, va, vb, 0.5, add) };
            let packed = Packed::new(vb);
            let mut again = vec![f32::NAN; m * n];
            packed.matmul(&mut again, va, 0.5);
            let mut matmul_into = vec![f32::NAN; m * n];
            let bias = test_values(n, 4);
            packed.matmul_into(&mut matmul_into, va, Some(&bias), Some(&was));
            for i in 0..m {
                for (j, bias) in bias.iter().enumerate() {
                    let [sum, size] = exact(&a, &b, [i, j, k, n]);
                    let at = i * n + j;
                    // the bound covers the rounding of a chain of k terms and of two more operations
                    let close = (k + 3) as f64 * 6e-8 * (size + 2.0);
                    let more = if add { f64::from(was[at]) } else { 0.0 };
                    prop_assert!((f64::from(found[at]) - 0.5 * sum - more).abs() < close, "({i}, {j}): {}", found[at]);
                    prop_assert!((f64::from(again[at]) - 0.5 * sum).abs() < close, "({i}, {j}): {}", again[at]);
                    let sum = sum + f64::from(was[at]) + f64::from(*bias);
                    prop_assert!((f64::from(matmul_into[at]) - sum).abs() < close, "({i}, {j}): {}", matmul_into[at]);
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
            let (a, b) = (test_values(m * rows.len(), 1), test_values(k * n, 2));
            let a = View::new(&a, m, rows.len());
            let all = View::new(&b, k, n);
            let mut found = vec![f32::NAN; m * cols.len()];
            Packed::new(all).matmul_part(&mut found, a, rows.clone(), cols.clone(), 1.0);
            let own = Packed::new(all.submatrix(rows.start, cols.start, rows.len(), cols.len()));
            let mut wanted = vec![f32::NAN; found.len()];
            own.matmul(&mut wanted, a, 1.0);
            for (f, w) in found.iter().zip(&wanted) {
                prop_assert!((f - w).abs() < 1e-4, "{f}, not {w}");
            }
        }

        /// Columns of a left side that lie far apart are copied, on some code paths.
        #[test]
        fn a_transposed_left_side_gives_the_bits_of_its_rows(
            (m, k, n) in (1usize..600, 1usize..200, 1usize..100), far: bool, accumulate: bool,
        ) {
            let (a, b) = (test_values(m * k, 1), test_values(k * n, 2));
            let b = View::new(&b, k, n);
            let step = if far { CACHE_ALIASING_STRIDE } else { m };
            let mut columns = vec![f32::NAN; k * step];
            for (p, column) in columns.chunks_exact_mut(step).enumerate() {
                (0..m).for_each(|i| column[i] = a[i * k + p]);
            }
            let [mut wanted, mut found] = [test_values(m * n, 3), test_values(m * n, 3)];
            gemm(&mut wanted, View::new(&a, m, k), b, 0.5, accumulate);
            gemm(&mut found, View::with_strides(&columns, [m, k], [1, step]), b, 0.5, accumulate);
            prop_assert!(found.iter().zip(&wanted).all(|(f, w)| f.to_bits() == w.to_bits()));
        }

        /// Tasks rely on it: a row has the same bits whichever rows are multiplied with it, packed or not.
        #[test]
        fn a_row_has_the_same_bits_among_any_others((m, k, n) in (1usize..30, 1usize..300, 1usize..400)) {
            let (a, b) = (test_values(m * k, 1), test_values(k * n, 2));
            let packed = Packed::new(View::new(&b, k, n));
            let layouts = [0, 1, 2].map(|layout| strided(&b, k, n, layout));
            let mut all = vec![f32::NAN; m * n];
            packed.matmul(&mut all, View::new(&a, m, k), 1.0);
            for (a, all) in a.chunks_exact(k).zip(all.chunks_exact(n)) {
                let mut one = vec![f32::NAN; n];
                packed.matmul(&mut one, View::new(a, 1, k), 1.0);
                let same = |one: &[f32]| one.iter().zip(all).all(|(a, b)| a.to_bits() == b.to_bits());
                prop_assert!(same(&one));
                for b in &layouts {
                    one.fill(f32::NAN);
                    gemm(&mut one, View::new(a, 1, k), view(b, k, n), 1.0, false);
                    prop_assert!(same(&one), "unpacked");
                }
            }
        }
    }
}
