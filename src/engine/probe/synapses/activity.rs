//! The sparsity of a BDH: the share of x and of y that fires, by layer, compared with the same model with random
//! weights; and the size of their values.

use super::{firing, read_random};
use crate::probe::prelude::*;

/// Position 0 of a window, where y is zero by construction, is left out.
impl Probe for ActivityArgs {
    type Answer = Activity;
    type Subject<'m> = &'m dyn SynapseModel;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let windows = cx.corpus.held_out(self.windows, self.window)?;
        let trained = read(model, &windows.inputs, windows.len)?;
        let random_weights = read_random(model, cx, |random| read(random, &windows.inputs, windows.len))?;
        let layers = trained
            .into_iter()
            .zip(random_weights)
            .map(|((trained, size), (random_weights, _))| LayerActivity { trained, random_weights, size: Some(size) });
        let about =
            format!("{} held-out windows of {} tokens, the first token of each left out", windows.rows, windows.len);
        Ok(Answer::new(Activity { layers: layers.collect() }, about, vec![]))
    }
}

/// The share that fires in each layer, and how strongly: means over tokens of the shares of x and of y above zero, and
/// their root mean squares. `ids`: windows of `len` tokens.
fn read(model: &dyn SynapseModel, ids: &[u32], len: usize) -> Result<Vec<(FiringShare, ActivitySize)>> {
    let shape = model.shape();
    // shares, and sums of squares, of x and of y
    let mut sums = vec![([0.0; 2], [0.0; 2]); shape.layers];
    let mut counted = 0usize;
    for row in ids.chunks(len) {
        firing::read(model, row, |chunk| {
            for token in 0..chunk.tokens {
                if chunk.from + token == 0 {
                    continue;
                }
                counted += 1;
                for ((shares, squares), layer) in sums.iter_mut().zip(&chunk.layers) {
                    for (i, which) in [NeuronActivation::X, NeuronActivation::Y].into_iter().enumerate() {
                        shares[i] += layer.active(which, token);
                        squares[i] += layer.row(which, token).map(|v| f64::from(v).powi(2)).sum::<f64>();
                    }
                }
            }
            Ok(())
        })?;
    }
    let tokens = counted.max(1) as f64;
    let rms = |sum: f64| (sum / (tokens * shape.neurons as f64)).sqrt();
    let reading = |([x, y], [x_squares, y_squares]): ([f64; 2], [f64; 2])| {
        (FiringShare { x: x / tokens, y: y / tokens }, ActivitySize { x: rms(x_squares), y: rms(y_squares) })
    };
    Ok(sums.into_iter().map(reading).collect())
}
