//! Parts that the backward passes of solves share.

use std::sync::Arc;

use candle_core::{Result, Tensor, Var, bail};

use super::{Field, SharedField, SolveError, SolveFailure, Trace};

/// Errors early, and by name, on what no backward pass could serve.
pub fn check(weights: &[Tensor], y0: &Tensor, t0: f64) -> std::result::Result<(), SolveError> {
    let fail = |what: String| Err(SolveError { reason: SolveFailure::Field(what), t: t0, trace: Trace::default() });
    for (i, w) in weights.iter().enumerate() {
        if !w.is_variable() {
            return fail(format!("weight {i} {:?} is not a variable, so no gradient can be given to it", w.shape()));
        }
        if w.dtype() != y0.dtype() {
            return fail(format!("weight {i} is of {:?}, the state of {:?}", w.dtype(), y0.dtype()));
        }
    }
    Ok(())
}

/// Wraps a field so that only its values remain; the graph that computed them is dropped at once.
pub fn detached(field: &SharedField) -> impl Field + use<> {
    let field = Arc::clone(field);
    move |t: f64, y: &Tensor| -> Result<Tensor> { Ok(field.at(t, y)?.detach()) }
}

/// Returns the gradients of sum(outputs_i * along_i) with respect to leaves and weights, zero where there are none.
pub fn gradients(outputs: &[(&Tensor, &Tensor)], leaves: &[&Var], weights: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut total: Option<Tensor> = None;
    for (value, along) in outputs {
        let part = (*value * along.detach())?.sum_all()?;
        total = Some(match total {
            None => part,
            Some(t) => (t + part)?,
        });
    }
    let Some(total) = total else { bail!("a backward pass from no gradient") };
    let grads = total.backward()?;
    let of = |t: &Tensor| grads.get(t).map_or_else(|| t.zeros_like(), |g| Ok(g.detach()));
    leaves.iter().map(|v| of(v.as_tensor())).chain(weights.iter().map(of)).collect()
}
