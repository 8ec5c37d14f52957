//! How sparse a BDH is: the share of x and of y that fires, by layer, beside the same model with random
//! weights.

use super::{
    firing::{self, Activation},
    random, synapses_of,
};
use crate::{
    probe::prelude::*,
    telemetry::measurements::{ActivityArgs, FiringShare, LayerActivity},
};

/// Makes a [`measurements::Activity`]; position 0 of a window, where y is zero by construction, is left out.
pub struct Activity;

impl Probe for Activity {
    type Args = ActivityArgs;
    type Subject<'m> = &'m dyn SynapseModel;

    fn ask(model: &dyn SynapseModel, args: &ActivityArgs, cx: &ProbeInputs<'_>) -> Result<Vec<Answer>> {
        let windows = cx.corpus.held_out(args.windows, args.window)?;
        let trained = shares(model, &windows.inputs, windows.len, cx)?;
        let random = random(model, cx)?;
        let random_weights = shares(synapses_of(random.as_ref())?, &windows.inputs, windows.len, cx)?;
        let layers = trained.into_iter().zip(random_weights);
        let layers = layers.map(|(trained, random_weights)| LayerActivity { trained, random_weights }).collect();
        let about =
            format!("{} held-out windows of {} tokens, the first token of each left out", windows.rows, windows.len);
        Ok(vec![Answer::new(measurements::Activity { layers }, about, vec![])])
    }
}

/// Mean shares of x and of y above zero, one entry a layer. `ids`: windows of `len` tokens.
fn shares(model: &dyn SynapseModel, ids: &[u32], len: usize, cx: &ProbeInputs<'_>) -> Result<Vec<FiringShare>> {
    let mut sums = vec![FiringShare { x: 0.0, y: 0.0 }; model.shape().layers];
    let mut counted = 0usize;
    for row in ids.chunks(len) {
        firing::read(model, row, cx.device, |chunk| {
            for token in 0..chunk.tokens {
                if chunk.from + token == 0 {
                    continue;
                }
                counted += 1;
                for (sum, layer) in sums.iter_mut().zip(&chunk.layers) {
                    sum.x += layer.active(Activation::X, token);
                    sum.y += layer.active(Activation::Y, token);
                }
            }
            Ok(())
        })?;
    }
    let tokens = counted.max(1) as f64;
    Ok(sums.into_iter().map(|s| FiringShare { x: s.x / tokens, y: s.y / tokens }).collect())
}
