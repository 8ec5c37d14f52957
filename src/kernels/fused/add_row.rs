//! x + r, with one row r for all tokens of a text, or of all texts.

use crate::{fused::prelude::*, reduce::sum_rows};

/// x `(B, T, D)`, row `(B or 1, 1, D)` -> `(B, T, D)`.
pub fn add_row(x: &Tensor, row: &Tensor) -> Result<Tensor> {
    apply_fused([&x.contiguous()?, &row.contiguous()?], AddRow, |[x, row]| reference(x, row))
}

/// The reference form in plain candle, with the arguments of [`add_row`].
pub fn reference(x: &Tensor, row: &Tensor) -> Result<Tensor> {
    x.broadcast_add(row)
}

/// Checks that a row fits states `(B, T, D)`; returns the number of rows, 1 or B.
pub(super) fn check(states: &Shape, row: &Shape) -> Result<usize> {
    let ((b, _, d), (texts, one, width)) = (states.dims3()?, row.dims3()?);
    if one != 1 || width != d || (texts != 1 && texts != b) {
        bail!("a row {row:?} for states {states:?}");
    }
    Ok(texts)
}

/// y = x + row for every token of a text.
pub(super) fn add_to_text(y: &mut [f32], x: &[f32], row: &[f32]) {
    let tokens = y.chunks_exact_mut(row.len()).zip(x.chunks_exact(row.len()));
    let add = |(y, x): (&mut [f32], &[f32])| y.iter_mut().zip(x).zip(row).for_each(|((y, x), r)| *y = x + r);
    arch().dispatch(|| tokens.for_each(add));
}

struct AddRow;

impl FusedOp<2> for AddRow {
    const NAME: &'static str = "add-row";

    fn forward(&self, [x, rows]: [&[f32]; 2], [states, row]: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        let (_, t, d) = states.dims3()?;
        let texts = check(states, row)?;
        let y = threads::build_chunks(x.len(), t * d, |text, y| {
            let row = &rows[if texts == 1 { 0 } else { text * d }..][..d];
            add_to_text(y, &x[text * t * d..], row);
        });
        Ok((y, states.clone()))
    }

    fn backward(&self, [x, row]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let (b, t, d) = x.dims3()?;
        let drow = storage::read(grad, |g| {
            let mut sums = vec![0f32; b * d];
            threads::run_chunks(&mut sums, d, |text, sum| {
                let tokens = g[text * t * d..][..t * d].chunks_exact(d);
                let add = |g: &[f32]| sum.iter_mut().zip(g).for_each(|(s, g)| *s += g);
                arch().dispatch(|| tokens.for_each(add));
            });
            Ok(if row.dim(0)? == b { sums } else { sum_rows(&sums, d) })
        })?;
        Ok([Some(grad.clone()), Some(tensor_like(row, drow)?)])
    }
}
