//! The direction of every row: the row divided by its length.

use crate::{fused::prelude::*, matrix::View, reduce::TASK_ROWS};

/// Least length that a row is divided by.
const MIN_LENGTH: f64 = 1e-6;
const MIN_SQUARE: f32 = (MIN_LENGTH * MIN_LENGTH) as f32;

/// x / max(|x|, 1e-6) for every row x. x `(.., D)` -> `(.., D)`.
pub fn unit_rows(x: &Tensor) -> Result<Tensor> {
    let width = x.dim(D::Minus1)?;
    apply_fused([&x.contiguous()?], UnitRows { width }, |[x]| reference(x))
}

/// The reference form in plain candle, with the arguments of [`unit_rows`].
pub fn reference(x: &Tensor) -> Result<Tensor> {
    let length = x.sqr()?.sum_keepdim(D::Minus1)?.maximum(MIN_LENGTH * MIN_LENGTH)?.sqrt()?;
    x.broadcast_div(&length)
}

struct UnitRows {
    width: usize,
}

/// The directions of the rows of x, one after another.
pub(super) fn directions(x: View) -> Vec<f32> {
    let d = x.cols();
    threads::build_chunks(x.rows() * d, TASK_ROWS * d, |i, to| {
        let rows = to.len() / d;
        divide_by_length(to, x.submatrix(i * TASK_ROWS, 0, rows, d));
    })
}

kernel! {
    fn divide_by_length(simd, to: &'a mut [f32], x: View<'a>) {
        for (r, to) in to.chunks_exact_mut(x.cols()).enumerate() {
            let row = x.row(r);
            // unlike `max`, this comparison keeps NaN
            let square = match simd::dot(simd, row, row) {
                square if square < MIN_SQUARE => MIN_SQUARE,
                square => square,
            };
            let length = square.sqrt();
            to.iter_mut().zip(row).for_each(|(to, x)| *to = x / length);
        }
    }
}

/// The gradient of a row x is (g - along x) / length, given the gradient g of its direction.
pub(super) struct RowGradient {
    pub along: f32,
    pub length: f32,
}

impl RowGradient {
    #[inline(always)]
    pub fn new<S: Simd>(simd: S, x: &[f32], g: &[f32]) -> Self {
        let square = simd::dot(simd, x, x);
        if square < MIN_SQUARE {
            return Self { along: 0.0, length: MIN_SQUARE.sqrt() };
        }
        Self { along: simd::dot(simd, x, g) / square, length: square.sqrt() }
    }
}

kernel! {
    fn backward(simd, dx: &'a mut [f32], x: &'a [f32], g: &'a [f32], d: usize) {
        for ((dx, x), g) in dx.chunks_exact_mut(d).zip(x.chunks_exact(d)).zip(g.chunks_exact(d)) {
            let RowGradient { along, length } = RowGradient::new(simd, x, g);
            dx.iter_mut().zip(x).zip(g).for_each(|((dx, x), g)| *dx = (g - along * x) / length);
        }
    }
}

impl FusedOp<1> for UnitRows {
    const NAME: &'static str = "unit-rows";

    fn forward(&self, [x]: [&[f32]; 1], [shape]: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        Ok((directions(View::new(x, x.len() / self.width, self.width)), shape.clone()))
    }

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let d = self.width;
        let dx = storage::read_all(&[x, grad], |[x, g]| {
            Ok(threads::build_chunks(x.len(), TASK_ROWS * d, |i, dx| {
                let here = i * TASK_ROWS * d..;
                backward(dx, &x[here.clone()], &g[here], d);
            }))
        })?;
        gradients_like([dx], [x])
    }
}
