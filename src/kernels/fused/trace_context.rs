//! The context of a SPEN block in one operation: three moving averages of its input, the error of a prediction from the
//! slowest, and a linear map of all four, added to the input. Between separate operations, candle sums the gradient of
//! the input over its five uses, each in passes over memory, and copies the four into one matrix.

use std::sync::OnceLock;

use super::{
    ema, linear,
    unit_rows::{self, RowGradient, directions},
};
use crate::{
    fused::prelude::*,
    matmul::{self, LinearWeight},
    matrix::View,
};

/// y = x + \[h^0, h^1, h^2, e\] C^T with the traces h^k_t = (1 - a_k) h^k_{t-1} + a_k x_t, h^k_{-1} = 0, and the error
/// e = x - u(h^2) P^T, where u is [`unit_rows`](unit_rows::unit_rows). x `(B, T, D)`, P = `predictor` `(D, D)`,
/// C = `maps` `(D, 4D)`, a = `rates` -> y `(B, T, D)`, with the bits of the separate operations [`ema`](ema::ema),
/// `unit_rows` and [`linear`](linear::linear).
pub fn trace_context(x: &Tensor, predictor: &Tensor, maps: &Tensor, rates: [f64; 3]) -> Result<Tensor> {
    let (_, tokens, width) = x.dims3()?;
    if predictor.dims() != [width, width] || maps.dims() != [width, 4 * width] {
        bail!("traces of {:?} do not fit a predictor {:?} and maps {:?}", x.shape(), predictor.shape(), maps.shape());
    }
    let op = TraceContext { rates: rates.map(|a| a as f32), tokens, width, saved_for_backward: OnceLock::new() };
    apply_fused([&x.contiguous()?, predictor, maps], op, |[x, predictor, maps]| reference(x, predictor, maps, rates))
}

/// The reference form in plain candle, with the arguments of [`trace_context`].
pub fn reference(x: &Tensor, predictor: &Tensor, maps: &Tensor, rates: [f64; 3]) -> Result<Tensor> {
    let d = x.dim(D::Minus1)?;
    let trace = |a: f64| ema::reference(x, &Tensor::full(a as f32, d, x.device())?.to_dtype(x.dtype())?, None);
    let (fast, medium, slow) = (trace(rates[0])?, trace(rates[1])?, trace(rates[2])?);
    let error = (x - linear::reference(&unit_rows::reference(&slow)?, predictor)?)?;
    let read = Tensor::cat(&[&fast, &medium, &slow, &error], D::Minus1)?; // (B,T,4D)
    x + linear::reference(&read, maps)?
}

struct TraceContext {
    rates: [f32; 3],
    tokens: usize,
    width: usize,
    /// The traces and the error, `(N, 4D)`.
    saved_for_backward: OnceLock<Vec<f32>>,
}

kernel! {
    /// Writes the traces of one text x `(T, D)` into the first three quarters of the rows of `read` `(T, 4D)`.
    fn traces(_, read: &'a mut [f32], x: &'a [f32], rates: [f32; 3], d: usize) {
        let start = vec![0f32; 3 * d];
        for (t, x) in x.chunks_exact(d).enumerate() {
            let (done, rest) = read.split_at_mut(4 * t * d);
            let before = if t == 0 { &start[..] } else { &done[4 * (t - 1) * d..] };
            for (k, &a) in rates.iter().enumerate() {
                for ((h, &x), &before) in rest[k * d..][..d].iter_mut().zip(x).zip(&before[k * d..]) {
                    *h = (1.0 - a) * before + a * x;
                }
            }
        }
    }
}

/// What the gradient of the input of one text is computed from: the gradients of the result, of the error and of the
/// direction, the last with its sign reversed, `(T, D)` each; that of the traces `(T, 3D)`; what was read, `(T, 4D)`.
struct TextGradients<'a> {
    result: &'a [f32],
    error: &'a [f32],
    minus_direction: &'a [f32],
    traces: &'a [f32],
    read: &'a [f32],
}

kernel! {
    /// dx_t = g_t + de_t + sum over k of a_k c^k_t, where c^k_t = dh^k_t + (1 - a_k) c^k_{t+1} and dh^2 includes the
    /// gradient that comes through the direction.
    fn input_gradient(simd, dx: &'a mut [f32], text: TextGradients<'a>, rates: [f32; 3], d: usize) {
        let mut carry = vec![0f32; 3 * d];
        for (t, dx) in dx.chunks_exact_mut(d).enumerate().rev() {
            let (slow, du) = (&text.read[(4 * t + 2) * d..][..d], &text.minus_direction[t * d..][..d]);
            let RowGradient { along, length } = RowGradient::new(simd, slow, du);
            for ((c, du), h) in carry[2 * d..].iter_mut().zip(du).zip(slow) {
                *c -= (du - along * h) / length;
            }
            for ((dx, g), de) in dx.iter_mut().zip(&text.result[t * d..]).zip(&text.error[t * d..]) {
                *dx = g + de;
            }
            for (k, &a) in rates.iter().enumerate() {
                let dh = &text.traces[(3 * t + k) * d..][..d];
                for ((dx, c), dh) in dx.iter_mut().zip(&mut carry[k * d..]).zip(dh) {
                    let now = *c + dh;
                    *dx += a * now;
                    *c = (1.0 - a) * now;
                }
            }
        }
    }
}

impl FusedOp<3> for TraceContext {
    const NAME: &'static str = "trace context";

    fn forward(&self, [x, predictor, maps]: [&[f32]; 3], [shape, ..]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let (t, d, rates, n) = (self.tokens, self.width, self.rates, x.len() / self.width);
        let each = matmul::task_rows(n);
        let predictor = LinearWeight::new(View::new(predictor, d, d).t(), None, n);
        let maps = LinearWeight::new(View::new(maps, d, 4 * d).t(), None, n);
        let [y, read] = build_vecs([n * d, n * 4 * d], |[y, read]| {
            threads::run_chunks(read, t * 4 * d, |i, read| traces(read, &x[i * t * d..][..t * d], rates, d));
            threads::run_all_chunks([y, read], [each * d, each * 4 * d], |i, [y, read]| {
                let (rows, x) = (y.len() / d, &x[i * each * d..]);
                let directions = directions(View::new(read, rows, 4 * d).submatrix(0, 2 * d, rows, d));
                predictor.matmul_into(y, View::new(&directions, rows, d), None);
                let by_row = read.chunks_exact_mut(4 * d).zip(x.chunks_exact(d)).zip(y.chunks_exact(d));
                arch().dispatch(|| {
                    for ((read, x), predicted) in by_row {
                        read[3 * d..].iter_mut().zip(x).zip(predicted).for_each(|((e, x), p)| *e = x - p);
                    }
                });
                // x is added after the product and not within its chain of sums, as the separate operations do it
                maps.matmul_into(y, View::new(read, rows, 4 * d), None);
                arch().dispatch(|| y.iter_mut().zip(x).for_each(|(y, x)| *y += x));
            });
        });
        let _ = self.saved_for_backward.set(read); // an operation's forward runs only once
        Ok((y, shape.clone()))
    }

    fn backward(&self, [x, predictor, maps]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let Some(read) = self.saved_for_backward.get() else {
            bail!("the gradient of a trace context was asked for before its value")
        };
        let (rates, d, n, size) = (self.rates, self.width, read.len() / (4 * self.width), self.tokens * self.width);
        storage::read_all(&[predictor, maps, grad], |[w_predictor, w_maps, g]| {
            let of_columns = |from: usize, width: usize| {
                matmul::matmul_rows(g, View::new(w_maps, d, 4 * d).submatrix(0, from, d, width), None)
            };
            // the gradient of the maps does not need the gradient of their input
            let needs_error = x.track_op() || predictor.track_op();
            let derror = if needs_error { of_columns(3 * d, d) } else { vec![] };
            let dpredictor = gradient_if_tracked(predictor, || {
                let directions = directions(View::new(read, n, 4 * d).submatrix(0, 2 * d, n, d));
                let mut minus = matmul::weight_grad(&derror, d, &directions, d);
                minus.iter_mut().for_each(|v| *v = -*v);
                Ok(minus)
            })?;
            let dx = gradient_if_tracked(x, || {
                let minus_direction = matmul::matmul_rows(&derror, View::new(w_predictor, d, d), None);
                let dtraces = of_columns(0, 3 * d);
                Ok(threads::build_chunks(n * d, size, |i, dx| {
                    let text = TextGradients {
                        result: &g[i * size..],
                        error: &derror[i * size..],
                        minus_direction: &minus_direction[i * size..],
                        traces: &dtraces[3 * i * size..],
                        read: &read[4 * i * size..],
                    };
                    input_gradient(dx, text, rates, d);
                }))
            })?;
            Ok([dx, dpredictor, gradient_if_tracked(maps, || Ok(matmul::weight_grad(g, d, read, 4 * d)))?])
        })
    }
}
