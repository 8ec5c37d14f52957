//! Gradients by the adjoint equation (Chen et al. 2018, Neural Ordinary Differential Equations,
//! algorithm 1): a = dL/dy obeys da/dt = -a^T df/dy, weights get -int a^T df/dw dt from the end to the
//! start, and y is computed again on the way. Nothing of the way there is kept but its end.

use std::result;

use candle_core::{Result, Tensor, Var};

use super::{
    SharedField, Solution, SolveError, SolverOptions, Span,
    solve::Solver,
    state::ErrorScope,
    vjp::{self, check, gradients},
};
use crate::nn::vjp::{Vjp, attach};

/// Same as [`solve`](fn@super::solve), with gradients for the start and for `weights`, the variables that the field reads.
/// Both ways use `options`; of an adaptive method's step in the backward solve, y, a and every weight's gradient meet
/// the tolerance each on its own.
///
/// # Errors
/// Those of [`solve`](fn@super::solve); a weight that is not a variable is an error of the field.
pub fn adjoint(
    field: &SharedField,
    weights: &[Tensor],
    y0: &Tensor,
    span: Span,
    options: &SolverOptions,
) -> result::Result<Solution, SolveError> {
    check(weights, y0, span.start)?;
    let still = vjp::detached(field);
    let mut solver = Solver::new(&still, options);
    let solution = solver.run_span(&y0.detach(), span, options.keep_states)?;
    let back = AdjointVjp {
        field: field.clone(),
        weights: weights.to_vec(),
        end: solution.end.clone(),
        span,
        options: SolverOptions { keep_states: false, ..options.clone() },
    };
    let end = attach(&solution.end, y0, weights, back).map_err(|e| solver.failed(e, span.start))?;
    Ok(Solution { end, ..solution })
}

struct AdjointVjp {
    field: SharedField,
    weights: Vec<Tensor>,
    end: Tensor,
    span: Span,
    options: SolverOptions,
}

impl AdjointVjp {
    /// The lengths of the parts of the flat state: y, a, and each weight's gradient.
    fn parts(&self) -> Vec<usize> {
        let n = self.end.elem_count();
        [n, n].into_iter().chain(self.weights.iter().map(Tensor::elem_count)).collect()
    }

    /// d(y, a, g)/ds at t = end - s: (-f, a^T df/dy, a^T df/dw).
    fn at(&self, s: f64, flat: &Tensor) -> Result<Tensor> {
        let n = self.end.elem_count();
        let part = |i: usize| flat.narrow(0, i * n, n)?.contiguous()?.reshape(self.end.shape());
        let y = Var::from_tensor(&part(0)?)?;
        let f = self.field.at(self.span.end - s, &y)?;
        ensure!(f.shape() == self.end.shape(), "the field gave {:?} for a state {:?}", f.shape(), self.end.shape());
        let found = gradients(&[(&f, &part(1)?)], &[&y], &self.weights)?;
        let mut pieces = vec![f.detach().neg()?.flatten_all()?];
        for g in found {
            pieces.push(g.flatten_all()?);
        }
        Tensor::cat(&pieces, 0)
    }
}

impl Vjp for AdjointVjp {
    fn vjp(&self, end: &Tensor) -> Result<(Tensor, Vec<Tensor>)> {
        let parts = self.parts();
        let rest = parts[2..].iter().sum::<usize>();
        let mut flat = vec![self.end.flatten_all()?, end.flatten_all()?];
        if rest > 0 {
            flat.push(Tensor::zeros(rest, end.dtype(), end.device())?);
        }
        let start = Tensor::cat(&flat, 0)?;
        let law = |s: f64, flat: &Tensor| self.at(s, flat);
        let mut solver = Solver::scoped(&law, &self.options, ErrorScope::Parts(parts.clone()));
        let length = self.span.end - self.span.start;
        let found = solver.run_span(&start, Span { start: 0.0, end: length }, false)?.end;
        let mut at = parts[0];
        let mut take = |like: &Tensor| -> Result<Tensor> {
            let piece = found.narrow(0, at, like.elem_count())?.contiguous()?.reshape(like.shape())?;
            at += like.elem_count();
            Ok(piece)
        };
        let dy = take(&self.end)?;
        Ok((dy, self.weights.iter().map(take).collect::<Result<_>>()?))
    }
}
