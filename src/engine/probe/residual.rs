//! How far the fast state is from equilibrium: |x - Post(x)| / |x| against passes, by method, each
//! round's slow state held.

use super::{Answer, Probe, ProbeInputs, tapped::RefiningModel};
use crate::{
    models::{Trainable, capabilities::FixedPointModel},
    nn::{
        Result, Tensor,
        fixed_point::{Anderson, relative_distance},
    },
    telemetry::measurements::{self, ResidualArgs, ResidualCurve, ResidualMethod},
};

/// Makes a [`measurements::Residual`] over passes 0..=8: plain passes and Anderson acceleration of each round; with the learned projector, its residual
/// without any pass; with an equilibrium solve, that of the equation which it solves
/// (see [`Approach::Deq`](crate::models::fast_slow::Approach::Deq)).
///
/// A line of plain passes also falls because |x| grows from pass to pass; it need not converge.
pub struct Residual;

const PASSES: usize = 8;

impl Probe for Residual {
    type Args = ResidualArgs;
    type Subject<'m> = RefiningModel<'m>;

    fn subject(model: &mut dyn Trainable) -> Option<RefiningModel<'_>> {
        RefiningModel::new(model)
    }

    fn ask(model: RefiningModel<'_>, args: &ResidualArgs, cx: &ProbeInputs<'_>) -> Result<Vec<Answer>> {
        let windows = cx.corpus.held_out(args.windows, args.window).map_err(candle_core::Error::msg)?;
        let tokens = Tensor::from_slice(&windows.inputs, (windows.rows, windows.len), cx.device)?;
        let mut curves = Vec::new();
        for (round, x0) in model.round_starts(&tokens)?.iter().enumerate() {
            add_round_curves(model.map, x0, round, &mut curves)?;
        }
        let about = format!("{} held-out windows of {} tokens, y held within a round", windows.rows, windows.len);
        Ok(vec![Answer::new(measurements::Residual { curves }, about, vec![])])
    }
}

/// x0 `(B, T, D)`: the state of this round after the injection.
fn add_round_curves(
    model: &dyn FixedPointModel,
    x0: &Tensor,
    round: usize,
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
    if model.solves_anchored_equation() {
        let mut anderson = Anderson::default();
        let anchored = |x: &Tensor| (x0 + model.refine(x)?)? - x;
        push(ResidualMethod::Deq, residuals(x0, &anchored, |x, image| anderson.next(x, image))?);
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
