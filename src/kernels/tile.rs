//! The innermost loop of every matrix product: six rows of the left side times one panel of the right side, with all
//! sums in registers. A value is one chain of fused multiply-adds in the order of k, whatever its place in a tile and
//! however wide a vector is, so that neither the cut into tasks nor the processor changes a bit.
//!
//! It knows pointers and steps; `packed` knows the layout.

use pulp::{Arch, Simd, WithSimd};

use super::{arch::arch, simd as vector};

/// Rows of a tile.
const ROWS: usize = 6;

/// Vectors in a row of a tile: with [`ROWS`] rows their sums fill the registers, of which processors with vectors of
/// eight values have 16 and the others 32.
const fn vectors<S: Simd>() -> usize {
    if S::F32_LANES == 8 { 2 } else { 4 }
}

/// Columns of a panel on this processor.
pub fn width() -> usize {
    width_of(arch())
}

fn width_of(arch: Arch) -> usize {
    struct Width;

    impl WithSimd for Width {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES * vectors::<S>()
        }
    }

    arch.dispatch(Width)
}

/// `rows` rows of a product with one panel: to = scale a b + addends.
#[derive(Clone, Copy)]
pub struct Strip {
    pub rows: usize,
    /// Terms of each sum.
    pub k: usize,
    pub a: *const f32,
    /// Distance from one row of a to the next, and from one column to the next, in values.
    pub a_steps: [usize; 2],
    /// `k` rows, read in whole vectors.
    pub b: *const f32,
    /// Distance from one row of b to the next.
    pub b_step: usize,
    pub to: *mut f32,
    /// Distance from one row of the result to the next.
    pub step: usize,
    /// Columns that are written, at most [`width`].
    pub cols: usize,
    pub scale: f32,
    pub addends: [Addend; 2],
}

/// Rows that are added to the product, and the distance from one to the next (0: one row for all). They may be the
/// result's own memory.
pub type Addend = Option<(*const f32, usize)>;

impl Strip {
    /// # Safety
    /// `a` must be readable at `rows` rows of `k` columns, `b` at `k` rows of `cols` values rounded up to whole vectors, the
    /// addends at `rows` rows of `cols` values, and `to` must be writable at as many, which nothing else reads or writes
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
}

/// Made by [`Strip::run_on`] alone, on whose contract it relies.
struct Run(Strip);

impl WithSimd for Run {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let across = self.0.cols.div_ceil(S::F32_LANES);
        // SAFETY: only `Strip::run_on` makes a `Run`, and its contract is that of `strip`; `cols` values of a row lie in
        // `across` vectors, at most `vectors` of them.
        unsafe {
            if vectors::<S>() == 2 {
                match across {
                    1 => strip::<S, 1>(simd, self.0),
                    _ => strip::<S, 2>(simd, self.0),
                }
            } else {
                match across {
                    1 => strip::<S, 1>(simd, self.0),
                    2 => strip::<S, 2>(simd, self.0),
                    3 => strip::<S, 3>(simd, self.0),
                    _ => strip::<S, 4>(simd, self.0),
                }
            }
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
            s.a = s.a.wrapping_add(ROWS * s.a_steps[0]);
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
    let ([row_step, col_step], scale) = (s.a_steps, simd.splat_f32s(s.scale));
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
                let left = simd.splat_f32s(*a.add(r * row_step));
                for j in 0..W {
                    sums[r][j] = simd.mul_add_f32s(left, right[j], sums[r][j]);
                }
            }
            (a, b) = (a.wrapping_add(col_step), b.wrapping_add(s.b_step));
        }
        // rows are named by constants: sums indexed by a number the compiler does not know would leave the registers
        let edge = Edge { lanes, full: s.cols / lanes, last: s.cols % lanes };
        macro_rules! rows {
            ($row:ident: $($r:literal)*) => {{ $(if $r < R { s.$row::<S, W>(simd, sums[$r % R], $r, scale, edge); })* }};
        }
        match (s.addends, s.cols == W * lanes) {
            ([None, None], true) => rows!(plain: 0 1 2 3 4 5),
            ([Some(_), None], true) => rows!(added: 0 1 2 3 4 5),
            _ => rows!(any: 0 1 2 3 4 5),
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

/// How a row of sums is stored.
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
    unsafe fn any<S: Simd, const W: usize>(self, simd: S, sums: [S::f32s; W], r: usize, scale: S::f32s, edge: Edge) {
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

/// The end of a row of a tile: `full` whole vectors of `lanes` values, and `last` values of another.
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
    use super::*;
    use crate::arch::available;

    #[test]
    fn every_code_path_gives_the_same_bits() {
        const STEP: usize = 64;
        let wave = |i: usize| (i as f32 * 0.7).sin();
        for (rows, k, n) in [(1, 1, 1), (6, 9, 16), (8, 33, 31), (13, 128, 64)] {
            let a: Vec<f32> = (0..rows * k).map(wave).collect();
            // the last vector of a panel may reach behind its columns
            let b: Vec<f32> = (0..(k + 1) * STEP).map(|i| wave(i * i)).collect();
            let bias: Vec<f32> = (0..n).map(wave).collect();
            let product = |arch: Arch| {
                let mut out = vec![0f32; rows * n];
                for j in (0..n).step_by(width_of(arch)) {
                    let strip = Strip {
                        rows,
                        k,
                        a: a.as_ptr(),
                        a_steps: [k, 1],
                        b: b[j..].as_ptr(),
                        b_step: STEP,
                        to: out[j..].as_mut_ptr(),
                        step: n,
                        cols: width_of(arch).min(n - j),
                        scale: 0.37,
                        addends: [Some((bias[j..].as_ptr(), 0)), None],
                    };
                    // SAFETY: `a` has `rows` rows of `k` values, `b` has a row more than `k`, and `out` and `bias` have
                    // the columns that are written.
                    unsafe { strip.run_on(arch) }
                }
                out.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            let all: Vec<_> = available().into_iter().map(|(name, arch)| (name, product(arch))).collect();
            all.iter().for_each(|(name, found)| assert_eq!(*found, all[0].1, "{name}: {rows} x {k} x {n}"));
        }
    }
}
