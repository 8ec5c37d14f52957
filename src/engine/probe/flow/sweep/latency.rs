//! The duration of a forward pass with a flow in the middle and with plain layers in its place. The two are measured
//! alternately, so that other load of the machine falls on both.

use std::time::Instant;

use super::{Columns, FlowInput, Sweep};
use crate::probe::prelude::*;

const TIMED_ROUNDS: usize = 20;
/// Passes of each in one turn; the fastest counts.
const PASSES_PER_ROUND: usize = 3;

/// Milliseconds of a pass over one window of as many tokens as the model has positions.
pub fn latency<'a>(input: &'a FlowInput<'_>, model: &'a dyn Trainable, cx: &ProbeInputs<'_>) -> Result<Sweep<'a>> {
    let Some(flow) = input.model() else { bail!("a field of the plane has no baseline to be timed against") };
    let model = model.token_model()?;
    let baseline = flow.baseline().build(cx.corpus.vocab(), cx.seed, cx.device)?;
    let (n, steps) = (flow.positions(), flow.training_steps());
    let ids: Vec<u32> = (0..n).map(|i| (i % cx.corpus.vocab()) as u32).collect();
    let tokens = Tensor::from_vec(ids, (1, n), cx.device)?;
    let pass = move |which: &dyn Model| -> Result<f64> {
        let mut fastest = f64::MAX;
        for _ in 0..PASSES_PER_ROUND {
            let started = Instant::now();
            let logits = which.logits(&tokens, &mut Tap::off())?;
            host::scalar(&logits)?; // waits for the device
            fastest = fastest.min(started.elapsed().as_secs_f64() * 1e3);
        }
        Ok(fastest)
    };
    let measure = move |i: usize| -> Result<Vec<f64>> {
        // the two models take turns at going first
        if i.is_multiple_of(2) {
            let hybrid = pass(model)?;
            Ok(vec![hybrid, pass(baseline.token_model()?)?])
        } else {
            let plain = pass(baseline.token_model()?)?;
            Ok(vec![pass(model)?, plain])
        }
    };
    let about = format!("one window of {n} tokens, {steps} Euler steps against two layers more");
    Ok(Sweep::new(about, TIMED_ROUNDS, measure, |columns: &Columns| FlowSweepLatency {
        progress: columns.progress,
        turns: (1..=TIMED_ROUNDS).collect(),
        hybrid: columns.column(0),
        baseline: columns.column(1),
    }))
}
