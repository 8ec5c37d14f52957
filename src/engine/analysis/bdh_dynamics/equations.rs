//! The state-space equations of BDH, arXiv 2509.26507, equation (6), for one token after another:
//!
//! ```text
//! sigma_{t,l} = (sigma_{t-1,l} + (y_{t,l-1} x_{t,l}^T) . G_s) U
//! x_{t,l}     = x_{t,l-1} + ((G_x^e - G_x^i) y_{t,l-1})^+
//! y_{t,l}     = ((G_y^e - G_y^i) sigma_{t-1,l} x_{t,l})^+ . x_{t,l}
//! ```
//!
//! A token arrives as a pulse y_{t,0} >= 0, with x_{t,0} = 0. Layers l = 1 ..= L are counted from 0 here.
//! BDH-Normfree, equation (7), is the same particles with low-rank wires and a state of `n d` numbers per layer instead
//! of `n n`; and its attention once more without any state, equation (5).

use super::{
    dense::{Dense, dot},
    drift::Drift,
    number::Number,
};

/// The values that one layer computed for one token.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer<N> {
    /// x_{t,l}, `n` values, none below zero.
    pub x: Vec<N>,
    /// a_{t,l} = sigma_{t-1,l} x_{t,l}: `n` values (`d` where the state is compressed).
    pub a: Vec<N>,
    /// y_{t,l}, `n` values, none below zero.
    pub y: Vec<N>,
}

/// Equation (6) and its state.
#[derive(Debug, Clone, PartialEq)]
pub struct Equations<N> {
    gx: Dense<N>,
    gy: Dense<N>,
    gs: Dense<N>,
    drift: Drift,
    /// sigma_{t-1,l} of each layer, `(n, n)`: row i is the y side, column j the x side.
    pub sigma: Vec<Dense<N>>,
}

impl<N: Number> Equations<N> {
    /// G_x = G_x^e - G_x^i and G_y likewise, G_s, all `(n, n)`; the state begins at zero.
    pub fn new(gx: Dense<N>, gy: Dense<N>, gs: Dense<N>, drift: Drift, layers: usize) -> Self {
        let n = gx.rows;
        Self { gx, gy, gs, drift, sigma: vec![Dense::zeros(n, n); layers] }
    }

    /// Reads a token that arrives as the pulse `y0` (`n` values).
    pub fn token(&mut self, y0: &[N]) -> Vec<Layer<N>> {
        let mut x = vec![N::ZERO; self.gx.rows];
        let mut y = y0.to_vec();
        let mut all = vec![];
        for sigma in &mut self.sigma {
            x.iter_mut().zip(self.gx.times(&y)).for_each(|(x, wires)| *x += wires.positive());
            let a = sigma.times(&x); // (n): sigma is still that of the token before
            for (i, y) in y.iter().enumerate() {
                let mask = self.gs.row(i);
                sigma.row_mut(i).iter_mut().zip(&x).zip(mask).for_each(|((s, x), g)| *s += *g * (*y * *x));
                self.drift.row(sigma.row_mut(i));
            }
            y = self.gy.times(&a).iter().zip(&x).map(|(prods, x)| prods.positive() * *x).collect();
            all.push(Layer { x: x.clone(), a, y: y.clone() });
        }
        all
    }
}

/// E `(d, n)`, D_x and D_y `(n, d)`: what BDH-GPU trains.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights<N> {
    /// E, the matrix from neurons to the residual stream, `(d, n)`.
    pub e: Dense<N>,
    /// D_x, the matrix from the residual stream to x, `(n, d)`.
    pub dx: Dense<N>,
    /// D_y, the matrix from attention's output to y, `(n, d)`.
    pub dy: Dense<N>,
}

impl<N: Number> Weights<N> {
    /// Returns `None` if the shapes do not fit.
    pub fn new(e: Dense<N>, dx: Dense<N>, dy: Dense<N>) -> Option<Self> {
        let (d, n) = (e.rows, e.cols);
        let fits = [&dx, &dy].iter().all(|m| (m.rows, m.cols) == (n, d));
        fits.then_some(Self { e, dx, dy })
    }

    /// Returns the number of neurons n.
    pub fn n(&self) -> usize {
        self.e.cols
    }

    /// Returns the width d of the residual stream.
    pub fn d(&self) -> usize {
        self.e.rows
    }

    /// G_x = D_x E, equation (9): `(n, n)`, entry (i, j) the effect of y_j on x_i.
    pub fn gx(&self) -> Dense<N> {
        self.dx.product(&self.e)
    }

    /// G_y = D_y E, equation (9).
    pub fn gy(&self) -> Dense<N> {
        self.dy.product(&self.e)
    }

    /// Reads a token that arrives as the pulse `y0` (`n` values), one state per layer. `attend` gives a `(d)` of the layer's x
    /// `(n)` and writes v = E y `(d)` into its state.
    fn token<S>(&self, y0: &[N], states: &mut [S], attend: impl Fn(&mut S, &[N], Vec<N>) -> Vec<N>) -> Vec<Layer<N>> {
        let mut x = vec![N::ZERO; self.n()];
        let mut y = y0.to_vec();
        let mut all = vec![];
        for state in states {
            let v = self.e.times(&y); // (d)
            x.iter_mut().zip(self.dx.times(&v)).for_each(|(x, wires)| *x += wires.positive());
            let a = attend(state, &x, v);
            y = self.dy.times(&a).iter().zip(&x).map(|(prods, x)| prods.positive() * *x).collect();
            all.push(Layer { x: x.clone(), a, y: y.clone() });
        }
        all
    }
}

/// Equation (7) with the state rho = E sigma.
#[derive(Debug, Clone, PartialEq)]
pub struct Normfree<N> {
    weights: Weights<N>,
    drift: Drift,
    /// rho_{t-1,l} of each layer, `(d, n)`.
    pub rho: Vec<Dense<N>>,
}

impl<N: Number> Normfree<N> {
    /// Creates a model of `layers` layers with an empty state.
    pub fn new(weights: Weights<N>, drift: Drift, layers: usize) -> Self {
        let rho = vec![Dense::zeros(weights.d(), weights.n()); layers];
        Self { weights, drift, rho }
    }

    /// Reads a token that arrives as the pulse `y0` (`n` values). `a` of a layer has `d` values.
    pub fn token(&mut self, y0: &[N]) -> Vec<Layer<N>> {
        self.weights.token(y0, &mut self.rho, |rho, x, v| {
            let a = rho.times(x); // (d)
            for (i, v) in v.iter().enumerate() {
                rho.row_mut(i).iter_mut().zip(x).for_each(|(r, x)| *r += *v * *x);
                self.drift.row(rho.row_mut(i));
            }
            a
        })
    }
}

/// A past token as attention without a state keeps it: its value v = E y `(d)`, its key x U^(t-s) `(n)`.
type PastToken<N> = (Vec<N>, Vec<N>);

/// The same model with the attention of equations (4) and (5): every past token is kept by itself, and
/// a_t is the sum over them of v_s x_s^T U^(t-s) x_t.
#[derive(Debug, Clone, PartialEq)]
pub struct Unrolled<N> {
    weights: Weights<N>,
    drift: Drift,
    past: Vec<Vec<PastToken<N>>>,
}

impl<N: Number> Unrolled<N> {
    /// Creates a model of `layers` layers that has read no token.
    pub fn new(weights: Weights<N>, drift: Drift, layers: usize) -> Self {
        Self { weights, drift, past: vec![vec![]; layers] }
    }

    /// Same as [`Normfree::token`].
    pub fn token(&mut self, y0: &[N]) -> Vec<Layer<N>> {
        self.weights.token(y0, &mut self.past, |past, x, v| {
            let mut a = vec![N::ZERO; v.len()];
            for (value, key) in past.iter_mut() {
                let score = dot(key, x);
                a.iter_mut().zip(value.iter()).for_each(|(a, v)| *a += *v * score);
                self.drift.row(key);
            }
            let mut key = x.to_vec();
            self.drift.row(&mut key);
            past.push((v, key));
            a
        })
    }
}
