//! Exponential moving averages along time, with coefficients by channel or by channel and time.

use crate::{fused::prelude::*, reduce};

/// h_t = (1 - a_t) h_{t-1} + a_t x_t. x `(B, T, D)`, a `(D)` or as x, `start` `(B, D)` is h_{-1}, zero
/// if `None` -> `(B, T, D)`. To continue, start at the last row.
pub fn ema(x: &Tensor, a: &Tensor, start: Option<&Tensor>) -> Result<Tensor> {
    let (b, t, d) = x.dims3()?;
    if a.dims() != [d] && a.dims() != [b, t, d] {
        bail!("an average over {:?} cannot use coefficients of shape {:?}", x.shape(), a.shape());
    }
    let zero = match start {
        Some(start) if start.dims() != [b, d] => {
            bail!("an average over {:?} cannot begin at values of shape {:?}", x.shape(), start.shape())
        }
        Some(start) => start.contiguous()?,
        None => Tensor::zeros((b, d), x.dtype(), x.device())?,
    };
    apply_fused([&x.contiguous()?, &a.contiguous()?, &zero], EmaOp, |[x, a, _]| reference(x, a, start))
}

/// Computes the sums by doubling: after the step of size s, row t has summed the last 2s inputs.
pub fn reference(x: &Tensor, a: &Tensor, start: Option<&Tensor>) -> Result<Tensor> {
    let t = x.dim(1)?;
    let later = |y: &Tensor, by: usize| y.narrow(1, 0, t - by)?.pad_with_zeros(1, by, 0);
    let mut decay = a.affine(-1.0, 1.0)?; // (D) or (B,T,D)
    let mut h = x.broadcast_mul(a)?;
    if let Some(start) = start {
        let first = if decay.rank() == 1 { decay.clone() } else { decay.narrow(1, 0, 1)?.squeeze(1)? }; // (D) or (B,D)
        let left = start.broadcast_mul(&first)?.unsqueeze(1)?; // (B,1,D)
        h = (h + left.pad_with_zeros(1, 0, t - 1)?)?;
    }
    let mut by = 1;
    while by < t {
        h = (&h + later(&h, by)?.broadcast_mul(&decay)?)?;
        decay = if decay.rank() == 1 { decay.sqr()? } else { (&decay * later(&decay, by)?)? };
        by *= 2;
    }
    Ok(h)
}

struct EmaOp;

struct EmaRow<'a> {
    x: &'a [f32],     // (T, D)
    a: &'a [f32],     // (D) or (T, D)
    start: &'a [f32], // (D)
}

impl<'a> EmaRow<'a> {
    fn new(i: usize, (t, d): (usize, usize), [x, a, start]: [&'a [f32]; 3]) -> Self {
        let a = if a.len() == d { a } else { &a[i * t * d..][..t * d] };
        Self { x: &x[i * t * d..][..t * d], a, start: &start[i * d..][..d] }
    }

    /// Returns the coefficients at time t, which are the same at all times where only one row was given.
    #[inline(always)]
    fn at(&self, t: usize) -> &'a [f32] {
        let d = self.start.len();
        if self.a.len() == d { self.a } else { &self.a[t * d..][..d] }
    }
}

kernel! {
    fn forward(_, row: EmaRow<'a>, out: &'a mut [f32]) {
        let d = row.start.len();
        for (t, x) in row.x.chunks_exact(d).enumerate() {
            let (done, rest) = out.split_at_mut(t * d);
            let before = if t == 0 { row.start } else { &done[(t - 1) * d..] };
            for (((h, &x), &a), &before) in rest[..d].iter_mut().zip(x).zip(row.at(t)).zip(before) {
                *h = (1.0 - a) * before + a * x;
            }
        }
    }
}

kernel! {
    /// With c_t = g_t + (1 - a_{t+1}) c_{t+1}: dx_t = a_t c_t, da_t = c_t (x_t - h_{t-1}). `out`: dx; da of this
    /// batch row, accumulated over time where coefficients are by channel; dstart.
    fn backward(_, row: EmaRow<'a>, h: &'a [f32], grad: &'a [f32], out: [&'a mut [f32]; 3]) {
        let ([dx, da, carry], d) = (out, row.start.len());
        carry.fill(0.0);
        for t in (0..dx.len() / d).rev() {
            let (a, here) = (row.at(t), t * d..(t + 1) * d);
            let before = if t == 0 { row.start } else { &h[(t - 1) * d..][..d] };
            let (x, g, dx) = (&row.x[here.clone()], &grad[here.clone()], &mut dx[here.clone()]);
            let da = if da.len() == d { &mut *da } else { &mut da[here] };
            for (((((c, g), dx), da), (x, a)), before) in
                carry.iter_mut().zip(g).zip(dx).zip(da).zip(x.iter().zip(a)).zip(before)
            {
                let now = *c + g;
                *dx = a * now;
                *da += now * (x - before);
                *c = (1.0 - a) * now;
            }
        }
    }
}

impl FusedOp<3> for EmaOp {
    const NAME: &'static str = "ema";

    fn forward(&self, given: [&[f32]; 3], [shape, ..]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let (_, t, d) = shape.dims3()?;
        let task = |i: usize, out: &mut [f32]| forward(EmaRow::new(i, (t, d), given), out);
        let out = threads::build_chunks(given[0].len(), t * d, task);
        Ok((out, shape.clone()))
    }

    fn backward(&self, [x, a, start]: [&Tensor; 3], h: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let (b, t, d) = x.dims3()?;
        let own = a.rank() == 3;
        let width = if own { t * d } else { d };
        let mut dstart = vec![0f32; b * d];
        let mut da = vec![0f32; b * width];
        let dx = storage::read_all(&[grad, h, x, a, start], |[grad, h, x, a, start]| {
            Ok(build_vec(x.len(), |dx| {
                threads::run_all_chunks([dx, &mut da, &mut dstart], [t * d, width, d], |i, out| {
                    let (row, here) = (EmaRow::new(i, (t, d), [x, a, start]), i * t * d..(i + 1) * t * d);
                    backward(row, &h[here.clone()], &grad[here], out);
                });
            }))
        })?;
        let da = if own { da } else { reduce::sum_rows(&da, d) };
        gradients_like([dx, da, dstart], [x, a, start])
    }
}
