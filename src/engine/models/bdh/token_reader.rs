//! A model that reads one token after another and changes its own copy of the state in place. It implements the public
//! code's form on the CPU; other forms are read by [`SynapseModel::read`].

use super::{Bdh, Form};
use crate::{models::prelude::*, nn::fused::linear_attention::Recurrence};

/// The epsilon of every norm.
const EPS: f32 = 1e-5;

/// A reader of one token after another, which keeps the state of every layer.
pub struct TokenReader {
    recurrence: Recurrence,
    embed: Tensor,     // (V, D)
    lm_head: Vec<f32>, // (D, V)
    /// The state of each layer, `(nh, N, D)`.
    layers: Vec<Vec<f32>>,
    at: usize,
}

impl TokenReader {
    /// Continues after the tokens that `state`, of one row, has read; `None` for an unsupported form or device.
    pub fn after(model: &Bdh, state: &State) -> Result<Option<Self>> {
        let spec = model.sizes();
        let weight = |name: &str| model.params().detached(name);
        if spec.form != Form::Code || spec.gated || !model.params().device().is_cpu() {
            return Ok(None);
        }
        let (encoder, encoder_v, decoder) = (weight("encoder")?, weight("encoder_v")?, weight("decoder")?);
        let Some(recurrence) = Recurrence::new(&encoder, &encoder_v, &decoder, spec.attention())? else {
            return Ok(None);
        };
        Ok(Some(Self {
            recurrence,
            embed: weight("embed.weight")?,
            lm_head: host::to_f32(&weight("lm_head")?)?,
            layers: state.layers.iter().map(host::to_f32).collect::<Result<_>>()?,
            at: state.at,
        }))
    }
}

impl TokenRecurrence for TokenReader {
    fn read(&mut self, id: u32) -> Result<Vec<f32>> {
        let rotation = self.recurrence.rotation(self.at);
        let mut v = host::to_f32(&self.embed.get(id as usize)?)?;
        normalise(&mut v);
        for state in &mut self.layers {
            let mut read = self.recurrence.step(&v, state, (&rotation.0, &rotation.1))?;
            normalise(&mut read);
            v.iter_mut().zip(&read).for_each(|(v, read)| *v += read);
            normalise(&mut v);
        }
        self.at += 1;
        let mut logits = vec![0f32; self.lm_head.len() / v.len().max(1)];
        for (v, row) in v.iter().zip(self.lm_head.chunks_exact(logits.len().max(1))) {
            logits.iter_mut().zip(row).for_each(|(logit, w)| *logit += v * w);
        }
        Ok(logits)
    }
}

/// LN without weights.
fn normalise(v: &mut [f32]) {
    let n = v.len().max(1) as f32;
    let mean = v.iter().sum::<f32>() / n;
    let variance = v.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / n;
    let by = 1.0 / (variance + EPS).sqrt();
    v.iter_mut().for_each(|x| *x = (*x - mean) * by);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::bdh::{BdhSpec, Position};

    #[test]
    fn tokens_have_the_logits_of_the_reading_in_stretches() {
        let sizes = BdhSpec { d_model: 16, heads: 2, neurons: 128, layers: 3, ..BdhSpec::default() };
        for position in [Position::Rope, Position::Alibi, Position::Both, Position::Nothing] {
            let model = Bdh::new(&BdhSpec { position, ..sizes.clone() }, 31, 3, &Device::Cpu).unwrap();
            model.params().iter().for_each(|(_, var)| var.set(&(var.as_tensor() * 8.0).unwrap().detach()).unwrap());
            let ids: Vec<u32> = (0..60).map(|i| (i * i * 7 + i / 3) % 31).collect();
            let mut state = State::empty(model.shape(), 1, &Device::Cpu).unwrap();
            let prompt = Tensor::from_slice(&ids[..20], (1, 20), &Device::Cpu).unwrap();
            model.read(&prompt, &mut state, &mut Tap::off()).unwrap();
            let mut reader = TokenReader::after(&model, &state).unwrap().unwrap();
            for id in &ids[20..] {
                let token = Tensor::from_slice(&[*id], (1, 1), &Device::Cpu).unwrap();
                let wanted = host::to_f32(&model.read(&token, &mut state, &mut Tap::off()).unwrap()).unwrap();
                let found = reader.read(*id).unwrap();
                let off = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(found.len() == 31 && off < 1e-3, "{position:?}: {off:e}");
            }
            assert!(reader.read(31).is_err());
        }
        let paper = BdhSpec { form: Form::Paper, ..sizes };
        let model = Bdh::new(&paper, 31, 3, &Device::Cpu).unwrap();
        let state = State::empty(model.shape(), 1, &Device::Cpu).unwrap();
        assert!(TokenReader::after(&model, &state).unwrap().is_none());
    }
}
