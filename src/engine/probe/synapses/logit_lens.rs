//! The logit lens: the head, applied to the state after every layer.

use crate::probe::prelude::*;

impl Probe for LogitLensArgs {
    type Answer = LogitLens;
    type Subject<'m> = &'m dyn SynapseModel;

    fn subject(model: &mut dyn Trainable) -> Option<&dyn SynapseModel> {
        // with gates the logits are a mean over layers, so that no single layer is the last
        model.capabilities().synapses.filter(|m| !m.shape().gated)
    }

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let prompt = Prompt::read(cx, &self.text, self.passage, self.longest)?;
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
            let of_next = next_token_losses(&log_probs, &prompt.ids)?;
            // a text of one token has nothing that follows
            loss.push(mean(&of_next));
            next.extend(of_next.iter().map(|nats| (-nats).exp() as f32).chain([f32::NAN]));
            for position in 0..positions {
                let tokens = likely_tokens(&host::to_f32(&logits.get(position)?)?, cx.corpus, self.count);
                top.push(tokens.first().map_or(f32::NAN, |t| t.probability as f32));
                likely.push(tokens);
            }
        }
        let array = |values: Vec<f32>| Array::new([layers + 1, positions], values);
        let measured = LogitLens {
            is_typed: !self.text.is_empty(),
            layers,
            top: array(top)?,
            next: array(next)?,
            entropy: array(entropy)?,
            likely,
            loss: loss.into(),
        };
        Ok(Answer::new(measured, prompt.about, prompt.tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::bdh::BdhSpec;

    #[test]
    fn a_text_of_one_token_has_no_loss() -> Result<()> {
        let spec = ModelSpec::Bdh(BdhSpec { d_model: 8, heads: 1, neurons: 8, layers: 2, ..BdhSpec::default() });
        let (mut model, corpus) = testing::model(&spec)?;
        let losses = |model: &mut dyn Trainable, text: &str| -> Result<Vec<f64>> {
            let args = [("text", Value::Text(text.to_owned()))];
            Ok(testing::measured::<LogitLens>(model, &corpus, &args)?.loss.0)
        };
        // after each of two layers, and at the end
        let (one, two) = (losses(model.as_mut(), "a")?, losses(model.as_mut(), "ab")?);
        assert!(one.len() == 3 && one.iter().all(|loss| loss.is_nan()), "{one:?}");
        assert!(two.len() == 3 && two.iter().all(|loss| *loss > 0.0), "{two:?}");
        Ok(())
    }
}
