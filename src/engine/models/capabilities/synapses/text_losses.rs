//! The loss of each token of a text under a model that is not trained meanwhile.

use candle_core::{Result, Tensor};

use super::{ReadingForm, SynapseModel, TextReader};
use crate::nn::{IGNORE, host};

/// The sum over the tokens that were scored.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TextLoss {
    /// Tokens scored: all but the text's first.
    pub tokens: usize,
    /// The bytes of those tokens.
    pub bytes: usize,
    /// The sum of their losses, nats.
    pub nats: f64,
}

impl TextLoss {
    /// All of these ids but the first stand for this many bytes and cost this many nats together.
    pub fn new(ids: &[u32], bytes: usize, nats: f64) -> Self {
        Self { tokens: ids.len().saturating_sub(1), bytes, nats }
    }

    /// Mean cross-entropy; NaN without tokens.
    pub fn nats_per_token(&self) -> f64 {
        self.nats / self.tokens as f64
    }

    /// The loss in bits per byte, comparable between tokenisers; NaN without bytes.
    pub fn bits_per_byte(&self) -> f64 {
        self.nats / std::f64::consts::LN_2 / self.bytes as f64
    }
}

/// -ln p of each target, by logits `(.., V)`.
fn nats(logits: &Tensor, targets: &[u32]) -> Result<Vec<f64>> {
    let values = host::to_f32(logits)?;
    let rows = values.chunks_exact(values.len() / targets.len().max(1));
    let of_row = |(row, target): (&[f32], &u32)| {
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|v| f64::from(v - most).exp()).sum();
        sum.ln() + f64::from(most) - row.get(*target as usize).map_or(f64::NAN, |v| f64::from(*v))
    };
    Ok(rows.zip(targets).map(of_row).collect())
}

impl TextReader<'_> {
    /// The loss of every token but the first, nats; `report` receives the number of tokens read so far.
    pub fn token_losses(&self, ids: &[u32], form: ReadingForm, report: &mut dyn FnMut(usize)) -> Result<Vec<f64>> {
        let mut all = Vec::with_capacity(ids.len());
        self.read(&ids[..ids.len().saturating_sub(1)], form, |read| {
            let end = read.from + read.ids.len();
            all.extend(nats(&read.logits, &ids[read.from + 1..=end])?);
            report(end);
            Ok(())
        })?;
        Ok(all)
    }
}

/// Nats of the targets of one window by models of 1, 2, .. layers, up to the model's number: since layers share their
/// weights, a model of l layers is what this one has come to after l. A target of [`IGNORE`] asks nothing.
pub fn nats_by_depth(model: &dyn SynapseModel, inputs: &[u32], targets: &[u32]) -> Result<Vec<f64>> {
    let layers = model.shape().layers;
    let paths: Vec<String> = (1..layers).map(|l| format!("layers.{l}.v")).collect();
    let read = TextReader::new(model).tapping(paths.clone()).rows(inputs, 1)?;
    let sum = |logits: &Tensor| -> Result<f64> {
        let asked = nats(logits, targets)?.into_iter().zip(targets);
        Ok(asked.filter(|(_, target)| **target != IGNORE).map(|(nats, _)| nats).sum())
    };
    let mut sums = paths.iter().map(|path| sum(&model.head(read.tap.require(path)?)?)).collect::<Result<Vec<f64>>>()?;
    sums.push(sum(&read.logits)?);
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        models::{
            Trainable,
            bdh::{Bdh, BdhSpec},
            capabilities::synapses::text_reader::max_parallel_tokens,
        },
        nn::Device,
    };

    fn model(layers: usize) -> Bdh {
        let spec = BdhSpec { d_model: 16, heads: 2, neurons: 64, layers, ..BdhSpec::default() };
        let model = Bdh::new(&spec, 31, 3, &Device::Cpu).unwrap();
        model.params().iter().for_each(|(_, var)| var.set(&(var.as_tensor() * 8.0).unwrap().detach()).unwrap());
        model
    }

    fn token_losses(model: &Bdh, ids: &[u32], form: ReadingForm) -> Vec<f64> {
        TextReader::new(model).token_losses(ids, form, &mut |_| ()).unwrap()
    }

    fn ids(n: u32) -> Vec<u32> {
        (0..n).map(|i| (i * i * 7 + i / 3) % 31).collect()
    }

    #[test]
    fn a_long_window_is_the_stream() {
        // longer than what the parallel form reads at once
        let (model, ids) = (model(3), ids(2100));
        assert!(max_parallel_tokens(model.shape()) < 2099);
        let streamed = token_losses(&model, &ids, ReadingForm::Streamed);
        let whole = token_losses(&model, &ids, ReadingForm::Windows(2100));
        assert_eq!((streamed.len(), whole.len()), (2099, 2099));
        let off = streamed.iter().zip(&whole).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-3, "{off:e}");
    }

    #[test]
    fn windows_forget_and_score_every_token_once() {
        let (model, ids) = (model(3), ids(100));
        let all = token_losses(&model, &ids, ReadingForm::Windows(24));
        assert_eq!(all.len(), 99);
        for from in [0, 24, 48, 72] {
            let to = (from + 25).min(100);
            let one = token_losses(&model, &ids[from..to], ReadingForm::Streamed);
            let off = one.iter().zip(&all[from..]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-4, "{from}: {off:e}");
        }
        assert!(token_losses(&model, &ids[..1], ReadingForm::Windows(24)).is_empty());
    }

    #[test]
    fn depths_are_models_of_fewer_layers() {
        let ids = ids(300);
        let by_depth = nats_by_depth(&model(4), &ids[..299], &ids[1..]).unwrap();
        for (layers, nats) in (1..).zip(&by_depth) {
            let own: f64 = token_losses(&model(layers), &ids, ReadingForm::Streamed).iter().sum();
            assert!((own - nats).abs() < 1e-3 * own, "{layers}: {own} {nats}");
        }
        assert_eq!(by_depth.len(), 4);
    }
}
