//! The transpose of a row-major matrix, in squares that stay in registers: packing a transposed right side would
//! otherwise gather it value by value.

use pulp::{Arch, Simd, WithSimd};

use super::arch::arch;

/// The number of f32 values in a cache line.
const LINE: usize = 16;

/// A transpose of squares. It is a trait because a closure would not always be compiled for the instruction set.
trait Square {
    /// Side of a square.
    const SIDE: usize;

    /// Transposes one square; rows of x begin `step` values apart, those of out `to`.
    fn transpose(&self, x: &[f32], step: usize, out: &mut [f32], to: usize);
}

/// Transposes x, `rows` rows of `cols` values that begin `step` values apart, into out: `cols` rows of `rows` values that
/// begin `to` values apart.
pub fn transpose(x: &[f32], [rows, cols]: [usize; 2], step: usize, out: &mut [f32], to: usize) {
    Transpose { x, rows, cols, step, out, to }.run_on(arch());
}

struct Transpose<'a> {
    x: &'a [f32],
    rows: usize,
    cols: usize,
    step: usize,
    out: &'a mut [f32],
    to: usize,
}

impl Transpose<'_> {
    fn run_on(self, arch: Arch) {
        match arch {
            #[cfg(target_arch = "x86_64")]
            Arch::V3(simd) => simd.vectorize(x86::Shuffled { all: self, avx: simd.avx }),
            // the compiler's AVX-512 code for 16 x 16 squares takes four times as long
            #[cfg(target_arch = "x86_64")]
            Arch::V4(simd) => simd.vectorize(x86::Shuffled { all: self, avx: simd.avx }),
            arch => arch.dispatch(self),
        }
    }

    /// Transposes in squares, and the rest value by value.
    #[inline(always)]
    fn blocked<Q: Square>(self, square: Q) {
        let side = Q::SIDE;
        let Transpose { x, rows, cols, step, out, to } = self;
        let (square_rows, square_cols) = (rows / side * side, cols / side * side);
        // smaller squares together fill cache lines of both sides
        let around = side.max(LINE);
        for (row, col) in
            (0..square_rows).step_by(around).flat_map(|r| (0..square_cols).step_by(around).map(move |c| (r, c)))
        {
            for r in (row..square_rows.min(row + around)).step_by(side) {
                for c in (col..square_cols.min(col + around)).step_by(side) {
                    square.transpose(&x[r * step + c..], step, &mut out[c * to + r..], to);
                }
            }
        }
        let mut rest = |rs: std::ops::Range<usize>, cs: std::ops::Range<usize>| {
            for r in rs {
                for c in cs.clone() {
                    out[c * to + r] = x[r * step + c];
                }
            }
        };
        rest(0..square_rows, square_cols..cols);
        rest(square_rows..rows, 0..cols);
    }
}

impl WithSimd for Transpose<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.blocked(Compiled);
    }
}

/// Transposes squares by plain loops, which the compiler vectorises.
struct Compiled;

impl Square for Compiled {
    const SIDE: usize = 16;

    #[inline(always)]
    fn transpose(&self, x: &[f32], step: usize, out: &mut [f32], to: usize) {
        const SIDE: usize = Compiled::SIDE;
        let mut read = [[0f32; SIDE]; SIDE];
        for (r, row) in read.iter_mut().enumerate() {
            row.copy_from_slice(&x[r * step..][..SIDE]);
        }
        let mut transposed = [[0f32; SIDE]; SIDE];
        for (r, row) in read.iter().enumerate() {
            for (c, v) in row.iter().enumerate() {
                transposed[c][r] = *v;
            }
        }
        for (c, row) in transposed.iter().enumerate() {
            out[c * to..][..SIDE].copy_from_slice(row);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128, __m256};

    use pulp::{NullaryFnOnce, core_arch::x86::Avx};

    use super::{Square, Transpose};

    pub struct Shuffled<'a> {
        pub all: Transpose<'a>,
        pub avx: Avx,
    }

    impl NullaryFnOnce for Shuffled<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            self.all.blocked(Shuffles(self.avx));
        }
    }

    struct Shuffles(Avx);

    impl Shuffles {
        /// Loads four values at `low` into the lower half of a vector, and four at `high` into the upper half.
        ///
        /// # Safety
        /// Both must be readable.
        #[inline(always)]
        unsafe fn pair(&self, low: *const f32, high: *const f32) -> __m256 {
            // SAFETY: the contract; unaligned.
            let [low, high] =
                unsafe { [low.cast::<__m128>().read_unaligned(), high.cast::<__m128>().read_unaligned()] };
            self.0._mm256_insertf128_ps::<1>(self.0._mm256_castps128_ps256(low), high)
        }

        /// Returns four columns of eight rows; each argument holds four values of row r and four of row r + 4.
        #[inline(always)]
        fn columns(&self, [a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
            let avx = self.0;
            let [ab, cd] = [avx._mm256_unpacklo_ps(a, b), avx._mm256_unpacklo_ps(c, d)];
            let [ab_high, cd_high] = [avx._mm256_unpackhi_ps(a, b), avx._mm256_unpackhi_ps(c, d)];
            [
                avx._mm256_shuffle_ps::<0b01_00_01_00>(ab, cd),
                avx._mm256_shuffle_ps::<0b11_10_11_10>(ab, cd),
                avx._mm256_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high),
                avx._mm256_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high),
            ]
        }
    }

    impl Square for Shuffles {
        const SIDE: usize = 8;

        #[inline(always)]
        fn transpose(&self, x: &[f32], step: usize, out: &mut [f32], to: usize) {
            assert!(7 * step + 8 <= x.len() && 7 * to + 8 <= out.len());
            for half in [0, 4] {
                let (x, out) = (x[half..].as_ptr(), out[half * to..].as_mut_ptr());
                // SAFETY: x has eight rows of eight values (checked above), of which these are columns half..half + 4.
                let pairs = unsafe {
                    [
                        self.pair(x, x.add(4 * step)),
                        self.pair(x.add(step), x.add(5 * step)),
                        self.pair(x.add(2 * step), x.add(6 * step)),
                        self.pair(x.add(3 * step), x.add(7 * step)),
                    ]
                };
                for (i, column) in self.columns(pairs).into_iter().enumerate() {
                    // SAFETY: out has eight rows of eight values (checked above), of which this is half + i; unaligned.
                    unsafe { out.add(i * to).cast::<__m256>().write_unaligned(column) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::available;

    #[test]
    fn every_value_finds_its_place_on_every_code_path() {
        for (rows, cols, step) in
            [(1, 1, 1), (8, 8, 8), (16, 16, 16), (33, 50, 70), (48, 7, 7), (5, 40, 41), (15, 23, 30)]
        {
            let x: Vec<f32> = (0..rows * step).map(|i| i as f32).collect();
            for (name, arch) in available() {
                let (to, mut found) = (rows + 2, vec![f32::NAN; cols * (rows + 2)]);
                Transpose { x: &x, rows, cols, step, out: &mut found, to }.run_on(arch);
                for r in 0..rows {
                    for c in 0..cols {
                        assert_eq!(found[c * to + r], x[r * step + c], "{name}: ({r}, {c}) of {rows} x {cols}");
                    }
                    assert!((0..cols).all(|c| found[c * to + rows].is_nan()), "{name}: values behind {rows} x {cols}");
                }
            }
        }
    }
}
