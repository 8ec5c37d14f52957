//! How far the fast state is from equilibrium: |x - Post(x)| / |x| against passes, by method, each
//! round's slow state held.

use super::{Finding, Probe, ProbeContext};
use crate::{
    models::{
        Model,
        fast_slow::{Approach, FastSlow},
    },
    nn::{
        Result, Tap, Tensor,
        fixed_point::{Anderson, relative_distance},
    },
    telemetry::{Line, Payload, Series, channels},
};

/// Arguments: `windows` (4), `window` (ids each, 128). Answers a series over passes 0..=8 with lines
/// `passes, round r` and `Anderson(1), round r`; with the learned projector, its residual without any
/// pass; with an equilibrium solve, `DEQ, round r`: |x - x0 - R(x)| / |x|, the equation that it solves
/// (see [`Approach::Deq`]).
///
/// A line of plain passes also falls because |x| grows from pass to pass; it need not converge.
pub struct Residual;

const PASSES: usize = 8;

impl Probe for Residual {
    fn id(&self) -> &'static str {
        "residual"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.as_any().is::<FastSlow>()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let Some(model) = cx.model.as_any().downcast_ref::<FastSlow>() else {
            candle_core::bail!("the equilibrium residual is a question for a fast-slow model")
        };
        let size = |name: &str, usual: usize| {
            cx.args.get(name).and_then(|v| v.as_f64()).map_or(usual, |v| (v as usize).clamp(1, 4096))
        };
        let windows = cx.corpus.held_out(size("windows", 4), size("window", 128)).map_err(candle_core::Error::msg)?;
        let tokens = Tensor::from_slice(&windows.inputs, (windows.rows, windows.len), cx.device)?;
        let mut tap = Tap::on(&["injected."]);
        model.logits(&tokens, &mut tap)?;
        let mut lines = Vec::new();
        for (round, (_, x0)) in tap.found().iter().enumerate() {
            of_round(model, x0, round, &mut lines)?;
        }
        let series = Series {
            x_label: "passes of Post".into(),
            y_label: "|x - Post(x)| / |x|".into(),
            x: (0..=PASSES).map(|i| i as f64).collect(),
            lines,
        };
        let about = format!("{} held-out windows of {} tokens, y held within a round", windows.rows, windows.len);
        Ok(vec![Finding { channel: channels::RESIDUAL, about, tokens: vec![], payload: Payload::Series(series) }])
    }
}

/// x0 `(B, T, D)`: the state of this round after the injection.
fn of_round(model: &FastSlow, x0: &Tensor, round: usize, lines: &mut Vec<Line>) -> Result<()> {
    let post = |x: &Tensor| model.post(x);
    let passes = residuals(x0, &post, |_, image| Ok(image.clone()))?;
    if model.spec().projector_hidden.is_some() {
        lines.push(Line { name: format!("learned projector, round {round}"), y: vec![passes[0]; PASSES + 1] });
    }
    lines.push(Line { name: format!("passes, round {round}"), y: passes });
    let mut anderson = Anderson::default();
    let y = residuals(x0, &post, |x, image| anderson.next(x, image))?;
    lines.push(Line { name: format!("Anderson(1), round {round}"), y });
    if matches!(model.spec().approach, Approach::Deq { .. }) {
        let mut anderson = Anderson::default();
        let anchored = |x: &Tensor| (x0 + model.post(x)?)? - x;
        let y = residuals(x0, &anchored, |x, image| anderson.next(x, image))?;
        lines.push(Line { name: format!("DEQ, round {round}"), y });
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
    let mut told = Vec::with_capacity(PASSES + 1);
    for _ in 0..=PASSES {
        let image = map(&x)?;
        told.push(relative_distance(&x, &image)?);
        x = next(&x, &image)?;
    }
    Ok(told)
}
