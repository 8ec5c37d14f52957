//! The transpose of a row-major matrix, in squares that stay in registers: packing a transposed right side would
//! otherwise gather it value by value.

use pulp::{Simd, WithSimd};

use super::arch::arch;

/// Side of a square.
const SIDE: usize = 16;

/// Transposes x, `rows` rows of `cols` values that begin `step` values apart, into out: `cols` rows of `rows` values that
/// begin `to` values apart.
pub fn transpose(x: &[f32], [rows, cols]: [usize; 2], step: usize, out: &mut [f32], to: usize) {
    arch().dispatch(Transpose { x, rows, cols, step, out, to });
}

struct Transpose<'a> {
    x: &'a [f32],
    rows: usize,
    cols: usize,
    step: usize,
    out: &'a mut [f32],
    to: usize,
}

impl WithSimd for Transpose<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Transpose { x, rows, cols, step, out, to } = self;
        let (square_rows, square_cols) = (rows / SIDE * SIDE, cols / SIDE * SIDE);
        for r in (0..square_rows).step_by(SIDE) {
            for c in (0..square_cols).step_by(SIDE) {
                square(&x[r * step + c..], step, &mut out[c * to + r..], to);
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

/// Transposes one square; rows of x begin `step` values apart, those of out `to`.
#[inline(always)]
fn square(x: &[f32], step: usize, out: &mut [f32], to: usize) {
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

#[cfg(test)]
mod tests {
    use super::transpose;

    #[test]
    fn every_value_finds_its_place() {
        for (rows, cols, step) in [(1, 1, 1), (16, 16, 16), (33, 50, 70), (48, 7, 7), (5, 40, 41)] {
            let x: Vec<f32> = (0..rows * step).map(|i| i as f32).collect();
            let (to, mut found) = (rows + 2, vec![f32::NAN; cols * (rows + 2)]);
            transpose(&x, [rows, cols], step, &mut found, to);
            for r in 0..rows {
                for c in 0..cols {
                    assert_eq!(found[c * to + r], x[r * step + c], "({r}, {c}) of {rows} x {cols}");
                }
            }
        }
    }
}
