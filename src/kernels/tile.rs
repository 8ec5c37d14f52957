//! The innermost loop of every matrix product: six rows of the left side times one panel of the right side, or a single row
//! times several panels, with all sums in registers. A value is one chain of fused multiply-adds in the order of k, whatever its place in a tile and
//! however wide a vector is, so that neither the cut into tasks nor the processor changes a bit.
//!
//! This module takes pointers and strides; the layout is that of `packed`.

use pulp::{Arch, Simd, WithSimd};

use super::{arch::arch, simd as vector};

/// Rows of a tile.
const ROWS: usize = 6;

/// Vectors in a row of a tile: with [`ROWS`] rows their sums fill the registers: processors with vectors of eight
/// values have 16, the others 32.
const fn vectors<S: Simd>() -> usize {
    if S::F32_LANES == 8 { 2 } else { 4 }
}

/// The vectors of a tile of a single row, which lie in several panels. A multiply-add waits for the previous one of its
/// chain, and this many independent chains keep the processor busy meanwhile.
const ROW_VECTORS: usize = 8;

/// Columns of a panel on this processor.
pub fn width() -> usize {
    widths(arch())[0]
}

/// Columns of a tile of a single row on this processor, a number of panels.
pub fn row_width() -> usize {
    widths(arch())[1]
}

/// Columns of a tile of [`ROWS`] rows, and of one of a single row.
fn widths(arch: Arch) -> [usize; 2] {
    struct Widths;

    impl WithSimd for Widths {
        type Output = [usize; 2];

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> [usize; 2] {
            [S::F32_LANES * vectors::<S>(), S::F32_LANES * ROW_VECTORS]
        }
    }

    arch.dispatch(Widths)
}

/// `rows` rows of a product with some panels, which are all as wide as [`width`] but the last: to = scale a b + addends.
#[derive(Clone, Copy)]
pub struct Strip {
    pub rows: usize,
    /// The number of terms of each sum.
    pub k: usize,
    pub a: *const f32,
    /// Distance from one row of a to the next, and from one column to the next, in values.
    pub a_strides: [usize; 2],
    /// `k` rows of the first panel, read in whole vectors.
    pub b: *const f32,
    /// Distance from one row of a panel to the next.
    pub b_stride: usize,
    /// Distance from one panel to the next.
    pub panel_stride: usize,
    pub to: *mut f32,
    /// Distance from one row of the result to the next.
    pub step: usize,
    /// Columns that are written, of all panels.
    pub cols: usize,
    pub scale: f32,
    pub addends: [Addend; 2],
}

/// Rows that are added to the product, and the distance from one to the next (0: one row for all). They may be the
/// result's own memory.
pub type Addend = Option<(*const f32, usize)>;

impl Strip {
    /// # Safety
    /// `a` must be readable at `rows` rows of `k` columns, the panels of `b` at `k` rows of their columns, which are `cols`
    /// together, rounded up to whole vectors, the addends at `rows` rows of `cols` values, and `to` must be writable at as many, which nothing else reads or writes
    /// meanwhile.
    pub unsafe fn run(self) {
        // SAFETY: the contract is the same.
        unsafe { self.run_on(arch()) }
    }

    /// # Safety
    /// That of [`Strip::run`], with the vectors and the [`width`] of this code path.
    unsafe fn run_on(self, arch: Arch) {
        if self.rows > 0 && self.cols > 0 {
            arch.dispatch(Run(self));
        }
    }

    /// The same task without the first columns of the result and of the addends.
    #[inline(always)]
    fn skip_columns(self, cols: usize) -> Self {
        let addends = self.addends.map(|addend| addend.map(|(at, step)| (at.wrapping_add(cols), step)));
        Self { to: self.to.wrapping_add(cols), addends, ..self }
    }

    /// The same operand without the first panels, each `width` columns wide; the last may be narrower.
    #[inline(always)]
    fn skip_panels(self, panels: usize, width: usize) -> Self {
        let (b, cols) = (self.b.wrapping_add(panels * self.panel_stride), self.cols.saturating_sub(panels * width));
        Self { b, cols, ..self.skip_columns(panels * width) }
    }
}

/// Only [`Strip::run_on`] constructs it, because it relies on that function's contract.
struct Run(Strip);

impl WithSimd for Run {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(mut s) = self;
        let width = S::F32_LANES * vectors::<S>();
        // SAFETY: only `Strip::run_on` makes a `Run`, and its contract is that of `panel` and, for one row, of `row`; each
        // takes no more columns than are left.
        unsafe {
            if s.rows == 1 {
                while s.cols >= S::F32_LANES * ROW_VECTORS {
                    if const { vectors::<S>() == 2 } {
                        row::<S, 2, 4>(simd, s)
                    } else {
                        row::<S, 4, 2>(simd, s)
                    }
                    s = s.skip_panels(ROW_VECTORS / vectors::<S>(), width);
                }
                if const { vectors::<S>() == 2 } && s.cols >= 2 * width {
                    row::<S, 2, 2>(simd, s);
                    s = s.skip_panels(2, width);
                }
            }
            while s.cols > 0 {
                panel(simd, Strip { cols: s.cols.min(width), ..s });
                s = s.skip_panels(1, width);
            }
        }
    }
}

/// One panel.
///
/// # Safety
/// That of [`Strip::run`]; there are at most [`width`] columns.
#[inline(always)]
unsafe fn panel<S: Simd>(simd: S, s: Strip) {
    let across = s.cols.div_ceil(S::F32_LANES);
    // SAFETY: the contract; `cols` values of a row lie in `across` vectors, at most `vectors` of them.
    unsafe {
        if const { vectors::<S>() == 2 } {
            match across {
                1 => call_strip::<S, 1>(simd, s),
                _ => call_strip::<S, 2>(simd, s),
            }
        } else {
            match across {
                1 => call_strip::<S, 1>(simd, s),
                2 => call_strip::<S, 2>(simd, s),
                3 => call_strip::<S, 3>(simd, s),
                _ => call_strip::<S, 4>(simd, s),
            }
        }
    }
}

/// A strip `W` vectors wide.
struct StripTask<const W: usize>(Strip);

impl<const W: usize> WithSimd for StripTask<W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: only `call_strip` makes a `StripTask`, and its contract is that of `strip`.
        unsafe { strip::<S, W>(simd, self.0) }
    }
}

/// Calls [`strip`] as a function of its own for each width. With the tiles of all widths in one function, a compiler
/// takes minutes for it.
///
/// # Safety
/// That of [`Strip::run`]; the columns fill `W` vectors, the last perhaps in part.
#[inline(never)]
unsafe fn call_strip<S: Simd, const W: usize>(simd: S, s: Strip) {
    simd.vectorize(StripTask::<W>(s));
}

/// One row of `P` panels of `W` vectors each.
///
/// # Safety
/// That of [`Strip::run`]; there must be as many columns.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "loops that the compiler unrolls even where it hardly optimises")]
unsafe fn row<S: Simd, const W: usize, const P: usize>(simd: S, s: Strip) {
    let (lanes, scale) = (S::F32_LANES, simd.splat_f32s(s.scale));
    let mut sums = [[simd.splat_f32s(0.0); W]; P];
    let (mut a, mut b) = (s.a, s.b);
    // SAFETY: Column p < k of a, row p of each panel with its W vectors, and the columns of all panels in the result and in
    // the addends are within what the contract covers; vectors are read and written unaligned.
    unsafe {
        for _ in 0..s.k {
            let left = simd.splat_f32s(*a);
            for q in 0..P {
                for j in 0..W {
                    let right = b.add(q * s.panel_stride + j * lanes).cast::<S::f32s>().read_unaligned();
                    sums[q][j] = simd.mul_add_f32s(left, right, sums[q][j]);
                }
            }
            (a, b) = (a.wrapping_add(s.a_strides[1]), b.wrapping_add(s.b_stride));
        }
        let edge = Edge { lanes, full: W, last: 0 };
        let mut s = s;
        macro_rules! panels {
            ($row:ident) => {
                for q in 0..P {
                    s.$row::<S, W>(simd, sums[q], 0, scale, edge);
                    s = s.skip_columns(W * lanes);
                }
            };
        }
        match s.addends {
            [None, None] => panels!(plain),
            [Some(_), None] => panels!(added),
            _ => panels!(masked),
        }
    }
}

/// All rows, of `W` vectors each.
///
/// # Safety
/// That of [`Strip::run`].
#[inline(always)]
unsafe fn strip<S: Simd, const W: usize>(simd: S, mut s: Strip) {
    // SAFETY: each tile has at most as many rows as are left of the strip, and the pointers move on by those rows.
    unsafe {
        while s.rows >= ROWS {
            tile::<S, W, ROWS>(simd, s);
            s.rows -= ROWS;
            s.a = s.a.wrapping_add(ROWS * s.a_strides[0]);
            s.to = s.to.wrapping_add(ROWS * s.step);
            s.addends = s.addends.map(|addend| addend.map(|(at, step)| (at.wrapping_add(ROWS * step), step)));
        }
        match s.rows {
            1 => tile::<S, W, 1>(simd, s),
            2 => tile::<S, W, 2>(simd, s),
            3 => tile::<S, W, 3>(simd, s),
            4 => tile::<S, W, 4>(simd, s),
            5 => tile::<S, W, 5>(simd, s),
            _ => {}
        }
    }
}

/// The first `R` rows, of `W` vectors each.
///
/// # Safety
/// That of [`Strip::run`]; the strip must have at least `R` rows.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "loops that the compiler unrolls even where it hardly optimises")]
unsafe fn tile<S: Simd, const W: usize, const R: usize>(simd: S, s: Strip) {
    let lanes = S::F32_LANES;
    let ([row_stride, col_stride], scale) = (s.a_strides, simd.splat_f32s(s.scale));
    let mut sums = [[simd.splat_f32s(0.0); W]; R];
    let (mut a, mut b) = (s.a, s.b);
    // the addends are needed when the sums are done
    if let Some((at, step)) = s.addends[0] {
        for r in 0..R {
            for j in 0..W {
                vector::prefetch(at.wrapping_add(r * step + j * lanes));
            }
        }
    }
    // SAFETY: Row r < R and column p < k of a, row p of b with its W vectors, and row r of the result and of the addends
    // are within what the contract of `Strip::run` covers; vectors are read and written unaligned.
    unsafe {
        for _ in 0..s.k {
            let mut right = [simd.splat_f32s(0.0); W];
            for j in 0..W {
                right[j] = b.add(j * lanes).cast::<S::f32s>().read_unaligned();
            }
            for r in 0..R {
                let left = simd.splat_f32s(*a.add(r * row_stride));
                for j in 0..W {
                    sums[r][j] = simd.mul_add_f32s(left, right[j], sums[r][j]);
                }
            }
            (a, b) = (a.wrapping_add(col_stride), b.wrapping_add(s.b_stride));
        }
        // rows are named by constants: sums indexed by a number the compiler does not know would leave the registers
        let edge = Edge { lanes, full: s.cols / lanes, last: s.cols % lanes };
        macro_rules! rows {
            ($row:ident: $($r:literal)*) => {{ $(if $r < R { s.$row::<S, W>(simd, sums[$r % R], $r, scale, edge); })* }};
        }
        match (s.addends, s.cols == W * lanes) {
            ([None, None], true) => rows!(plain: 0 1 2 3 4 5),
            ([Some(_), None], true) => rows!(added: 0 1 2 3 4 5),
            _ => rows!(masked: 0 1 2 3 4 5),
        }
    }
}

/// Repeats an expression for each of up to four vectors of a row, with constant indices.
macro_rules! each_vector {
    ($w:ident, $j:ident => $what:expr) => {
        each_vector!($w, $j => $what; 0 1 2 3)
    };
    ($w:ident, $j:ident => $what:expr; $($number:literal)*) => {{
        $(if $number < $w {
            let $j = $number % $w;
            $what
        })*
    }};
}

/// The way in which a row of sums is stored.
impl Strip {
    /// # Safety
    /// That of [`Strip::run`]; the row consists of whole vectors and there are no addends.
    #[inline(always)]
    unsafe fn plain<S: Simd, const W: usize>(self, simd: S, sums: [S::f32s; W], r: usize, scale: S::f32s, _: Edge) {
        // SAFETY: row r of the result has W whole vectors that may be written (the contract).
        unsafe {
            let to = self.to.add(r * self.step).cast::<S::f32s>();
            each_vector!(W, j => to.add(j).write_unaligned(simd.mul_f32s(sums[j], scale)));
        }
    }

    /// # Safety
    /// Same as [`Strip::plain`], but with the first addend alone.
    #[inline(always)]
    unsafe fn added<S: Simd, const W: usize>(self, simd: S, sums: [S::f32s; W], r: usize, scale: S::f32s, _: Edge) {
        let Some((at, step)) = self.addends[0] else { return };
        // SAFETY: row r of the result and of the first addend have W whole vectors that may be written and read (the
        // contract).
        unsafe {
            let at = at.add(r * step).cast::<S::f32s>();
            let to = self.to.add(r * self.step).cast::<S::f32s>();
            each_vector!(W, j => to.add(j).write_unaligned(simd.mul_add_f32s(sums[j], scale, at.add(j).read_unaligned())));
        }
    }

    /// # Safety
    /// That of [`Strip::run`].
    #[inline(always)]
    unsafe fn masked<S: Simd, const W: usize>(self, simd: S, sums: [S::f32s; W], r: usize, scale: S::f32s, edge: Edge) {
        // SAFETY: row r of the result and of the addends have `cols` values (the contract), and `edge` ends there.
        unsafe {
            let [first, second] = self.addends;
            let to = self.to.add(r * self.step);
            each_vector!(W, j => {
                let mut v = simd.mul_f32s(sums[j], scale);
                if let Some((at, step)) = first {
                    v = simd.mul_add_f32s(sums[j], scale, edge.load(simd, at.add(r * step), j));
                }
                if let Some((at, step)) = second {
                    v = simd.add_f32s(v, edge.load(simd, at.add(r * step), j));
                }
                edge.store(simd, to, j, v);
            });
        }
    }
}

/// The layout of a row whose length is not a multiple of a vector: `full` whole vectors of `lanes` values, then `last`
/// values in a partial one.
#[derive(Clone, Copy)]
struct Edge {
    lanes: usize,
    full: usize,
    last: usize,
}

impl Edge {
    /// Vector j of a row.
    ///
    /// # Safety
    /// The row must be readable up to its end, and vector j must begin before it.
    #[inline(always)]
    unsafe fn load<S: Simd>(self, simd: S, row: *const f32, j: usize) -> S::f32s {
        // SAFETY: a vector before `full` lies in the row as a whole; of the one after, `last` values do (the contract).
        unsafe {
            let at = row.add(j * self.lanes);
            if j < self.full {
                at.cast::<S::f32s>().read_unaligned()
            } else {
                simd.partial_load_f32s(std::slice::from_raw_parts(at, self.last))
            }
        }
    }

    /// # Safety
    /// Same as [`Edge::load`], but writable.
    #[inline(always)]
    unsafe fn store<S: Simd>(self, simd: S, row: *mut f32, j: usize, v: S::f32s) {
        // SAFETY: as in `load`; the row is writable and nothing else reads it (the contract).
        unsafe {
            let at = row.add(j * self.lanes);
            if j < self.full {
                at.cast::<S::f32s>().write_unaligned(v);
            } else {
                simd.partial_store_f32s(std::slice::from_raw_parts_mut(at, self.last), v);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arch::available;

    /// Holds the factors of a product (rows, k) x (k, n) and its addends: a residual `(rows, n)` and a bias `(n)`.
    struct Sides {
        sizes: [usize; 3],
        a: Vec<f32>,
        b: Vec<f32>,
        addends: [Vec<f32>; 2],
    }

    const SCALE: f32 = 0.37;

    impl Sides {
        fn new([rows, k, n]: [usize; 3]) -> Self {
            let wave = |len: usize, by: f32| (0..len).map(|i| (i as f32 * by).sin()).collect::<Vec<_>>();
            // the last vector of a panel may reach behind its columns
            let b = wave((k + 1) * n.next_multiple_of(16), 1.3);
            Self { sizes: [rows, k, n], a: wave(rows * k, 0.7), b, addends: [wave(rows * n, 0.3), wave(n, 2.1)] }
        }

        /// The bits of these rows of the product, with the first addends.
        fn product(&self, arch: Arch, rows: std::ops::Range<usize>, addends: usize) -> Vec<u32> {
            let [all, k, n] = self.sizes;
            assert!(rows.end <= all);
            let mut out = vec![0f32; rows.len() * n];
            let residual = (addends > 0).then(|| (self.addends[0][rows.start * n..].as_ptr(), n));
            let strip = Strip {
                rows: rows.len(),
                k,
                a: self.a[rows.start * k..].as_ptr(),
                a_strides: [k, 1],
                b: self.b.as_ptr(),
                b_stride: n.next_multiple_of(16),
                panel_stride: widths(arch)[0],
                to: out.as_mut_ptr(),
                step: n,
                cols: n,
                scale: SCALE,
                addends: [residual, (addends > 1).then(|| (self.addends[1].as_ptr(), 0))],
            };
            // SAFETY: `a` and the residual have these rows, `b` has a row more than `k`, of whole vectors, and `out` and the
            // bias have the columns that are written.
            unsafe { strip.run_on(arch) }
            out.into_iter().map(f32::to_bits).collect()
        }

        /// Returns the bits of the same product, computed by plain loops.
        fn plain(&self, addends: usize) -> Vec<u32> {
            let [rows, k, n] = self.sizes;
            let value = |r: usize, j: usize| {
                let step = n.next_multiple_of(16);
                let sum = (0..k).fold(0f32, |sum, p| self.a[r * k + p].mul_add(self.b[p * step + j], sum));
                match addends {
                    0 => sum * SCALE,
                    1 => sum.mul_add(SCALE, self.addends[0][r * n + j]),
                    _ => sum.mul_add(SCALE, self.addends[0][r * n + j]) + self.addends[1][j],
                }
            };
            (0..rows * n).map(|i| value(i / n, i % n).to_bits()).collect()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// A row alone is computed by different tiles than a row among many.
        #[test]
        fn one_row_is_that_of_many_and_of_plain_loops_on_every_code_path(
            (rows, k, n) in (1usize..15, 1usize..140, 1usize..420), addends in 0usize..3,
        ) {
            let sides = Sides::new([rows, k, n]);
            let wanted = sides.plain(addends);
            for (name, arch) in available() {
                prop_assert!(sides.product(arch, 0..rows, addends) == wanted, "{name}: {rows} rows");
                for r in 0..rows {
                    let one = sides.product(arch, r..r + 1, addends);
                    prop_assert!(one == wanted[r * n..][..n], "{name}: row {r} of {rows}");
                }
            }
        }
    }
}
