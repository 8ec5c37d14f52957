//! Describes an opened BDH and tests whether it can read the run's text.

use crate::probe::prelude::*;

impl Probe for TrainedBdhArgs {
    type Answer = TrainedBdh;
    type Subject<'m> = &'m dyn SynapseModel;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let windows = cx.corpus.held_out(self.windows, self.window)?;
        let mut loss = 0.0;
        for row in 0..windows.rows {
            cx.progress.at(row, windows.rows)?;
            let span = row * windows.len..(row + 1) * windows.len;
            let (inputs, targets) = (&windows.inputs[span.clone()], &windows.targets[span]);
            let batch = Batch::from_ids(inputs, targets, 1, windows.len, cx.device)?;
            loss += host::scalar(&model.evaluate(&batch)?)? / windows.rows as f64;
        }
        let (shape, layers_unsaid) = (model.shape(), !model.layers_are_known());
        let measured = TrainedBdh {
            neurons: shape.neurons,
            heads: shape.heads,
            d_model: shape.d_model,
            layers: shape.layers,
            layers_unsaid,
            vocab: cx.corpus.vocab(),
            parameters: shape.parameters(cx.corpus.vocab()),
            position: shape.position.to_owned(),
            form: shape.form.to_owned(),
            notes: model.notes().to_vec(),
            tokens: cx.corpus.describe(),
            loss,
            frequency_loss: frequency_loss(&windows.targets),
            read: windows.rows * windows.len,
        };
        let about = format!("{} held-out windows of {} tokens", windows.rows, windows.len);
        Ok(Answer::new(measured, about, vec![]))
    }
}

/// Entropy of the tokens' frequencies, nats: the mean of -ln of each token's share of all.
fn frequency_loss(ids: &[u32]) -> f64 {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    let all = ids.len().max(1) as f64;
    let mut shares: Vec<f64> = ids.chunk_by(|a, b| a == b).map(|same| same.len() as f64 / all).collect();
    // added up from the smallest on, whatever the ids are
    shares.sort_by(f64::total_cmp);
    entropy(shares.into_iter())
}

#[cfg(test)]
mod tests {
    use super::frequency_loss;

    #[test]
    fn guessing_by_frequency_costs_the_entropy_of_the_frequencies() {
        assert!((frequency_loss(&[1, 2, 3, 4]) - 4f64.ln()).abs() < 1e-12);
        assert_eq!(frequency_loss(&[7, 7, 7]), 0.0);
    }
}
