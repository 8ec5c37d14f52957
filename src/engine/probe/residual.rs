//! The distance of the fast state from equilibrium: |x - Post(x)| / |x| against passes, by method, each
//! round's slow state held.

use super::tapped::RefiningModel;
use crate::{
    nn::fixed_point::{Anderson, relative_distance},
    probe::prelude::*,
};

const PASSES: usize = 8;

/// Measures passes 0..=8: plain passes and Anderson acceleration of each round; with the learned projector, its residual
/// without any pass; with an equilibrium solve, that of the equation which it solves
/// (see `SolvedEquation`).
///
/// A line of plain passes also falls because |x| grows from pass to pass; it need not converge.
impl Probe for ResidualArgs {
    type Answer = Residual;
    type Subject<'m> = RefiningModel<'m>;

    fn ask(&self, model: RefiningModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let windows = cx.corpus.held_out(self.windows, self.window)?;
        let tokens = Tensor::from_slice(&windows.inputs, (windows.rows, windows.len), cx.device)?;
        let mut curves = Vec::new();
        let injected = model.injections(&tokens)?;
        for (round, (x0, injected)) in model.round_starts(&tokens)?.iter().zip(&injected).enumerate() {
            add_round_curves(model.map, round, x0, injected, &mut curves)?;
        }
        let about = format!("{} held-out windows of {} tokens, y held within a round", windows.rows, windows.len);
        Ok(Answer::new(Residual { curves }, about, vec![]))
    }
}

/// `x0` is the state `(B, T, D)` that the round begins to refine, `injected` what was injected into it.
fn add_round_curves(
    model: &dyn FixedPointModel,
    round: usize,
    x0: &Tensor,
    injected: &Tensor,
    curves: &mut Vec<ResidualCurve>,
) -> Result<()> {
    let mut push = |method, residual: Vec<f64>| curves.push(ResidualCurve { method, round, residual: residual.into() });
    let post = |x: &Tensor| model.refine(x);
    let passes = residuals(x0, &post, |_, image| Ok(image.clone()))?;
    if model.has_learned_projector() {
        push(ResidualMethod::LearnedProjector, vec![passes[0]; PASSES + 1]);
    }
    push(ResidualMethod::Passes, passes);
    let mut anderson = Anderson::default();
    push(ResidualMethod::Anderson, residuals(x0, &post, |x, image| anderson.next(x, image))?);
    let mut anderson = Anderson::default();
    let next = |x: &Tensor, image: &Tensor| anderson.next(x, image);
    match model.equation() {
        None => {}
        Some(SolvedEquation::BackwardEuler) => {
            let anchored = |x: &Tensor| (x0 + model.refine(x)?)? - x;
            push(ResidualMethod::BackwardEuler, residuals(x0, &anchored, next)?);
        }
        Some(SolvedEquation::Forced) => {
            let forced = |x: &Tensor| model.refine(x)? + injected;
            push(ResidualMethod::Deq, residuals(x0, &forced, next)?);
        }
    }
    Ok(())
}

/// |x - G(x)| / |x| for the iterates 0..=[`PASSES`].
fn residuals(
    x0: &Tensor,
    map: &dyn Fn(&Tensor) -> Result<Tensor>,
    mut next: impl FnMut(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Vec<f64>> {
    let mut x = x0.clone();
    let mut found = Vec::with_capacity(PASSES + 1);
    for _ in 0..=PASSES {
        let image = map(&x)?;
        found.push(relative_distance(&x, &image)?);
        x = next(&x, &image)?;
    }
    Ok(found)
}
