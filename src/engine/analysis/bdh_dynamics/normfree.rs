//! BDH-Normfree, arXiv 2509.26507, equation (7): the same particles with low-rank wires and a state of
//! `n d` numbers per layer instead of `n n`. And its attention once more without any state, equation (5).

use super::{dense::Dense, drift::Drift, equations::Layer, number::Number};

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
    /// `None` where the shapes do not fit.
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
                let score = super::dense::dot(key, x);
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
