//! The state-space equations of BDH, arXiv 2509.26507, equation (6), for one token after another:
//!
//! ```text
//! sigma_{t,l} = (sigma_{t-1,l} + (y_{t,l-1} x_{t,l}^T) . G_s) U
//! x_{t,l}     = x_{t,l-1} + ((G_x^e - G_x^i) y_{t,l-1})^+
//! y_{t,l}     = ((G_y^e - G_y^i) sigma_{t-1,l} x_{t,l})^+ . x_{t,l}
//! ```
//!
//! A token arrives as a pulse y_{t,0} >= 0, with x_{t,0} = 0. Layers l = 1 ..= L are counted from 0 here.

use super::{dense::Dense, drift::Drift, number::Number};

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
