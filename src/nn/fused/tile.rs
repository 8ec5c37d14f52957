//! The innermost loop of every product: six rows of the left side times one panel of the right, whose sums
//! stay in registers. A value is one chain of fused multiplications and additions in the order of k, whatever
//! its place in a tile and however wide a vector is, so that neither tasks nor processors change it.
//!
//! It knows pointers and steps; `packed` knows what lies where.

use pulp::{Arch, Simd, WithSimd};

use super::lanes;

/// Rows of a tile.
const ROWS: usize = 6;

/// Vectors a row of a tile has: with [`ROWS`] rows their sums fill the registers, of which processors with
/// vectors of eight have 16 and the others 32.
const fn vectors<S: Simd>() -> usize {
    if S::F32_LANES == 8 { 2 } else { 4 }
}

/// Columns of a panel on this processor.
pub fn width() -> usize {
    struct Width;

    impl WithSimd for Width {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES * vectors::<S>()
        }
    }

    Arch::new().dispatch(Width)
}

/// `rows` rows of a product with one panel: to <- scale a b + what is given.
#[derive(Clone, Copy)]
pub struct Strip {
    pub rows: usize,
    /// Length of the sums.
    pub k: usize,
    pub a: *const f32,
    /// From one row of a to the next, and from one column to the next.
    pub a_steps: [usize; 2],
    /// `k` rows at such a step, read by whole vectors.
    pub b: *const f32,
    pub b_step: usize,
    pub to: *mut f32,
    /// From one row of the result to the next.
    pub step: usize,
    /// Columns that are written, at most [`width`].
    pub cols: usize,
    pub scale: f32,
    pub plus: [Given; 2],
}

/// Rows that a product is added to, at such a step (0: one row for all of them); it may be the result's own place.
pub type Given = Option<(*const f32, usize)>;

impl Strip {
    /// # Safety
    /// `a` must be readable at all its rows and columns, `b` at k rows of `cols` values in whole vectors, what is given at `rows` rows of
    /// `cols` values, and `to` writable at as many that nothing else reads or writes meanwhile.
    pub unsafe fn run(self) {
        if self.rows > 0 && self.cols > 0 {
            Arch::new().dispatch(Run(self));
        }
    }
}

/// Made by [`Strip::run`] alone, whose contract it relies on.
struct Run(Strip);

impl WithSimd for Run {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let across = self.0.cols.div_ceil(S::F32_LANES);
        // SAFETY: the contract of `Strip::run`; a panel is as wide as `vectors` says.
        unsafe {
            if vectors::<S>() == 2 {
                match across {
                    1 => down::<S, 1>(simd, self.0),
                    _ => down::<S, 2>(simd, self.0),
                }
            } else {
                match across {
                    1 => down::<S, 1>(simd, self.0),
                    2 => down::<S, 2>(simd, self.0),
                    3 => down::<S, 3>(simd, self.0),
                    _ => down::<S, 4>(simd, self.0),
                }
            }
        }
    }
}

/// All rows, `W` vectors wide.
///
/// # Safety
/// That of [`Strip::run`].
#[inline(always)]
unsafe fn down<S: Simd, const W: usize>(simd: S, mut s: Strip) {
    // SAFETY: each tile takes rows that the strip has.
    unsafe {
        while s.rows >= ROWS {
            tile::<S, W, ROWS>(simd, s);
            s.rows -= ROWS;
            s.a = s.a.wrapping_add(ROWS * s.a_steps[0]);
            s.to = s.to.wrapping_add(ROWS * s.step);
            s.plus = s.plus.map(|given| given.map(|(at, step)| (at.wrapping_add(ROWS * step), step)));
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

/// The first `R` rows, `W` vectors wide.
///
/// # Safety
/// That of [`Strip::run`], of which there must be so many rows.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "loops that the compiler unrolls even where it hardly optimises")]
unsafe fn tile<S: Simd, const W: usize, const R: usize>(simd: S, s: Strip) {
    let lanes = S::F32_LANES;
    let ([row_step, col_step], scale) = (s.a_steps, simd.splat_f32s(s.scale));
    let mut sums = [[simd.splat_f32s(0.0); W]; R];
    let (mut a, mut b) = (s.a, s.b);
    // what the sums are added to is wanted when they are done
    if let Some((at, step)) = s.plus[0] {
        for r in 0..R {
            for j in 0..W {
                lanes::ask_for(at.wrapping_add(r * step + j * lanes));
            }
        }
    }
    // SAFETY: within the rows and columns that the contract speaks of; a vector may lie anywhere.
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
        // by constant numbers alone: sums that are indexed by what the compiler does not know leave the registers
        let edge = Edge { lanes, full: s.cols / lanes, last: s.cols % lanes };
        macro_rules! rows {
            ($row:ident: $($r:literal)*) => {{ $(if $r < R { s.$row::<S, W>(simd, sums[$r % R], $r, scale, edge); })* }};
        }
        match (s.plus, s.cols == W * lanes) {
            ([None, None], true) => rows!(plain: 0 1 2 3 4 5),
            ([Some(_), None], true) => rows!(added: 0 1 2 3 4 5),
            _ => rows!(any: 0 1 2 3 4 5),
        }
    }
}

/// Does this for each of up to four vectors of a row, by constant numbers.
macro_rules! across {
    ($w:ident, $j:ident => $what:expr) => {
        across!($w, $j => $what; 0 1 2 3)
    };
    ($w:ident, $j:ident => $what:expr; $($number:literal)*) => {{
        $(if $number < $w {
            let $j = $number % $w;
            $what
        })*
    }};
}

/// What becomes of a row of sums.
impl Strip {
    /// # Safety
    /// That of [`Strip::run`]; the row is of whole vectors and nothing is given.
    #[inline(always)]
    unsafe fn plain<S: Simd, const W: usize>(self, simd: S, sums: [S::f32s; W], r: usize, scale: S::f32s, _: Edge) {
        // SAFETY: the contract.
        unsafe {
            let to = self.to.add(r * self.step).cast::<S::f32s>();
            across!(W, j => to.add(j).write_unaligned(simd.mul_f32s(sums[j], scale)));
        }
    }

    /// # Safety
    /// As [`Strip::plain`], and the first of what may be given is.
    #[inline(always)]
    unsafe fn added<S: Simd, const W: usize>(self, simd: S, sums: [S::f32s; W], r: usize, scale: S::f32s, _: Edge) {
        let Some((at, step)) = self.plus[0] else { return };
        // SAFETY: the contract.
        unsafe {
            let at = at.add(r * step).cast::<S::f32s>();
            let to = self.to.add(r * self.step).cast::<S::f32s>();
            across!(W, j => to.add(j).write_unaligned(simd.mul_add_f32s(sums[j], scale, at.add(j).read_unaligned())));
        }
    }

    /// # Safety
    /// That of [`Strip::run`].
    #[inline(always)]
    unsafe fn any<S: Simd, const W: usize>(self, simd: S, sums: [S::f32s; W], r: usize, scale: S::f32s, edge: Edge) {
        // SAFETY: the contract.
        unsafe {
            let [first, second] = self.plus;
            let to = self.to.add(r * self.step);
            across!(W, j => {
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

/// Where a row of a tile ends: after so many whole vectors, and some values of another.
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
    /// The row must be readable up to the edge, and j no further.
    #[inline(always)]
    unsafe fn load<S: Simd>(self, simd: S, row: *const f32, j: usize) -> S::f32s {
        // SAFETY: the contract.
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
    /// As [`Edge::load`], writable.
    #[inline(always)]
    unsafe fn store<S: Simd>(self, simd: S, row: *mut f32, j: usize, v: S::f32s) {
        // SAFETY: the contract.
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
