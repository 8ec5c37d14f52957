//! The synapses after a text, sigma = sum over s < T of y_{s, l-1} x_{s, l}^T U^(T-1-s), as two thin factors: one row per
//! neuron, one column per token. This is the paper's equation (16) before the last U, which the next token's query adds.

use crate::probe::{prelude::*, synapses::firing};

/// The values of y of one layer and of x of the next at each of T tokens of a text, `(n, T)` each, x turned and damped as a
/// query at the last token finds it; and T.
///
/// # Errors
/// A model of one layer, and those of the model.
pub(super) fn synapse_factors(
    model: &dyn SynapseModel,
    args: &NeuronGraphArgs,
    cx: &ProbeInputs<'_>,
) -> Result<(Vec<f32>, Vec<f32>, usize)> {
    let shape = model.shape();
    let Some(last) = shape.layers.checked_sub(1).filter(|last| *last > 0) else {
        bail!("synapses run from y of a layer to x of the next, and the model has one layer");
    };
    let layer = args.layer.map_or(last, |l| l.clamp(1, last));
    let ids = Prompt::read(cx, "", 0, args.tokens)?.ids;
    let (n, tokens) = (shape.neurons, ids.len());
    let (mut y, mut x) = (vec![0f32; n * tokens], vec![0f32; n * tokens]);
    firing::read(model, &ids, |chunk| {
        for (at, ends) in chunk.synapse_ends(layer) {
            for (out, row) in [&mut y, &mut x].into_iter().zip(ends) {
                row.enumerate().for_each(|(i, v)| out[i * tokens + at] = v);
            }
        }
        Ok(())
    })?;
    Ok((y, turned(&x, tokens, |j| Rotation::for_neuron(shape, j)), tokens))
}

/// The rows of x after this many tokens as each column lies back. The two neurons of a pair turn together.
fn turned(x: &[f32], tokens: usize, rotation: impl Fn(usize) -> Rotation) -> Vec<f32> {
    let rows: Vec<&[f32]> = x.chunks_exact(tokens).collect();
    let turn = |(j, own): (usize, &&[f32])| -> Vec<f32> {
        let (rotation, partner) = (rotation(j), rows.get(j ^ 1).copied().unwrap_or(own));
        let column = |s: usize| {
            let back = rotation.repeated(tokens - 1 - s);
            back.step(f64::from(own[s]), f64::from(partner[s])).0 as f32
        };
        (0..tokens).map(column).collect()
    };
    rows.iter().enumerate().flat_map(turn).collect()
}
