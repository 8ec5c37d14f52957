//! The logit lens: the head, applied to the state after every layer.

use candle_core::{D, bail};

use crate::{
    probe::prelude::*,
    telemetry::measurements::{LogitLens, LogitLensArgs},
};

/// Makes a [`LogitLens`].
pub struct LogitLensProbe;

impl Probe for LogitLensProbe {
    type Args = LogitLensArgs;
    type Subject<'m> = &'m dyn SynapseModel;

    fn subject(model: &mut dyn Trainable) -> Option<&dyn SynapseModel> {
        // the gates' logits are a mean over layers, of which no single one is the last
        model.capabilities().synapses.filter(|m| !m.shape().gated)
    }

    fn ask(model: &dyn SynapseModel, args: &LogitLensArgs, cx: &ProbeInputs<'_>) -> Result<Vec<Answer>> {
        let prompt = Prompt::read(cx, &args.text, args.passage, args.longest)?;
        let (layers, positions) = (model.shape().layers, prompt.ids.len());
        let mut tap = Tap::on(&["layers."]);
        let last = model.logits(&prompt.tensor(cx.device)?, &mut tap)?; // (1, T, V)
        let (mut likely, mut top, mut next, mut entropy, mut loss) = (vec![], vec![], vec![], vec![], vec![]);
        for row in 0..=layers {
            cx.progress.at(row, layers + 1)?;
            let logits = match tap.get(&format!("layers.{row}.v")) {
                Some(v) => model.head(v)?,
                None if row == layers => last.clone(),
                None => bail!("the model offers no activation `layers.{row}.v`"),
            };
            let logits = logits.squeeze(0)?; // (T, V)
            let log_probs = candle_nn::ops::log_softmax(&logits, D::Minus1)?;
            let each = (log_probs.exp()? * &log_probs)?.sum(D::Minus1)?.neg()?; // (T)
            entropy.extend(host::to_f32(&each)?);
            let mut of_next = next_log_probs(&log_probs, &prompt.ids, cx)?;
            loss.push(-of_next.iter().sum::<f64>() / of_next.len().max(1) as f64);
            of_next.push(f64::NAN);
            next.extend(of_next.iter().map(|l| l.exp() as f32));
            for position in 0..positions {
                let tokens = likely_tokens(&host::to_f32(&logits.get(position)?)?, cx.corpus, args.count);
                top.push(tokens.first().map_or(f32::NAN, |t| t.probability as f32));
                likely.push(tokens);
            }
        }
        let array = |values: Vec<f32>| Array::new([layers + 1, positions], values);
        let measured = LogitLens {
            is_typed: !args.text.is_empty(),
            layers,
            top: array(top)?,
            next: array(next)?,
            entropy: array(entropy)?,
            likely,
            loss: loss.into(),
        };
        Ok(vec![Answer::new(measured, prompt.about, prompt.tokens)])
    }
}

/// ln p of each token given those before it; one fewer than there are tokens.
fn next_log_probs(log_probs: &Tensor, ids: &[u32], cx: &ProbeInputs<'_>) -> Result<Vec<f64>> {
    let Some((_, targets)) = ids.split_first().filter(|(_, targets)| !targets.is_empty()) else { return Ok(vec![]) };
    let targets = Tensor::from_slice(targets, (targets.len(), 1), cx.device)?;
    host::to_f64(&log_probs.narrow(0, 0, ids.len() - 1)?.gather(&targets, 1)?)
}
