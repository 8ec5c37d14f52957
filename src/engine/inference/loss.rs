//! What each token of a text costs a model that is not trained meanwhile.

use super::NamedTokenizer;
use crate::{
    models::{
        Model,
        bdh::{Bdh, BdhSpec, State, SynapseModel, stretch},
    },
    nn::{Result, Tap, Tensor, host},
};

/// How a text is read that may be longer than what the model was trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingForm {
    /// As one text: every token sees all that came before it. A short text is read by the parallel form, a longer one by the
    /// exact recurrence.
    Streamed,
    /// In windows of so many tokens by the parallel form, each from an empty state. A window predicts the token after
    /// each of its own, the first of the next window included, so that every token but the text's first is scored once.
    Windows(usize),
}

impl ReadingForm {
    /// In words.
    pub fn words(self) -> String {
        match self {
            Self::Streamed => "as one stream, every token after all before it".to_owned(),
            Self::Windows(n) => format!(
                "in windows of {n} tokens by the parallel form, each from an empty state and without the others' past"
            ),
        }
    }
}

/// The sum over the tokens that were scored.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TextLoss {
    /// Tokens scored: all but the text's first.
    pub tokens: usize,
    /// Bytes that those stand for.
    pub bytes: usize,
    /// Nats of all of them.
    pub nats: f64,
}

impl TextLoss {
    /// Of a text with these ids, all but the first of which cost so many nats together.
    pub fn of(tokenizer: &NamedTokenizer, ids: &[u32], text: &[u8], nats: f64) -> Self {
        let first = tokenizer.tokenizer.decode(&ids[..ids.len().min(1)]).len();
        Self { tokens: ids.len().saturating_sub(1), bytes: text.len().saturating_sub(first), nats }
    }

    /// Mean cross-entropy; NaN of nothing.
    pub fn nats_per_token(&self) -> f64 {
        self.nats / self.tokens as f64
    }

    /// Comparable between tokenisers; NaN of nothing.
    pub fn bits_per_byte(&self) -> f64 {
        self.nats / std::f64::consts::LN_2 / self.bytes as f64
    }
}

/// Activations of one kind, neurons times tokens, that the parallel form may hold at once.
const ACTIVATIONS: usize = 1 << 25;
/// Tokens at which the recurrent form takes no longer than the parallel one.
const LONGEST_AT_ONCE: usize = 2048;

/// Tokens of the longest text that the parallel form reads whole: there it is the faster one, with the same result.
fn longest_at_once(spec: &BdhSpec) -> usize {
    (ACTIVATIONS / spec.neurons.max(1)).min(LONGEST_AT_ONCE)
}

/// Calls `each` with the first token's place, the logits `(rows, T, V)` and the tap of every stretch of all ids but
/// the last.
fn read(
    model: &Bdh,
    ids: &[u32],
    form: ReadingForm,
    paths: &[&str],
    mut each: impl FnMut(usize, &Tensor, &Tap) -> Result<()>,
) -> Result<()> {
    let device = model.params().device();
    let last = ids.len().saturating_sub(1);
    let tap = || if paths.is_empty() { Tap::off() } else { Tap::on(paths) };
    let mut from = 0;
    match form {
        ReadingForm::Streamed if last > 0 && last <= longest_at_once(model.spec()) => {
            let (tokens, mut tap) = (Tensor::from_slice(&ids[..last], (1, last), device)?, tap());
            let logits = model.logits(&tokens, &mut tap)?;
            each(0, &logits, &tap)?;
        }
        ReadingForm::Streamed => {
            let mut state = State::empty(model.spec(), 1, device)?;
            while from < last {
                let n = stretch(model.spec()).min(last - from);
                let (tokens, mut tap) = (Tensor::from_slice(&ids[from..from + n], (1, n), device)?, tap());
                let logits = model.read(&tokens, &mut state, &mut tap)?;
                each(from, &logits, &tap)?;
                from += n;
            }
        }
        ReadingForm::Windows(window) => {
            let window = window.max(1);
            let rows = (stretch(model.spec()) / window).max(1);
            while from < last {
                // the last window is as long as the text has tokens left
                let (rows, n) = match (last - from) / window {
                    0 => (1, last - from),
                    whole => (rows.min(whole), window),
                };
                let stretch = &ids[from..from + rows * n];
                let (tokens, mut tap) = (Tensor::from_slice(stretch, (rows, n), device)?, tap());
                let logits = model.logits(&tokens, &mut tap)?;
                each(from, &logits, &tap)?;
                from += rows * n;
            }
        }
    }
    Ok(())
}

/// -ln p of each target, by logits `(.., V)`.
fn nats(logits: &Tensor, targets: &[u32]) -> Result<Vec<f64>> {
    let values = host::to_f32(logits)?;
    let rows = values.chunks_exact(values.len() / targets.len().max(1));
    Ok(rows.zip(targets).map(|(row, target)| nats_of(row, *target)).collect())
}

fn nats_of(logits: &[f32], target: u32) -> f64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|v| f64::from(v - most).exp()).sum();
    sum.ln() + f64::from(most) - logits.get(target as usize).map_or(f64::NAN, |v| f64::from(*v))
}

/// Nats of every token but the first; `told` learns how many have been read.
///
/// # Errors
/// If the device fails.
pub fn token_losses(model: &Bdh, ids: &[u32], form: ReadingForm, told: &mut dyn FnMut(usize)) -> Result<Vec<f64>> {
    let mut all = Vec::with_capacity(ids.len());
    read(model, ids, form, &[], |from, logits, _| {
        let n = logits.dim(0)? * logits.dim(1)?;
        all.extend(nats(logits, &ids[from + 1..=from + n])?);
        told(from + n);
        Ok(())
    })?;
    Ok(all)
}

/// Nats of all tokens but the first by models of 1, 2, .. layers, up to the model's number: since layers share their
/// weights, a model of l layers is what this one has come to after l.
pub(super) fn nats_by_depth(model: &Bdh, ids: &[u32], form: ReadingForm) -> Result<Vec<f64>> {
    let layers = model.spec().layers;
    let Some(head) = model.params().get("lm_head") else { candle_core::bail!("the model has no weight `lm_head`") };
    let paths: Vec<String> = (1..layers).map(|l| format!("layers.{l}.v")).collect();
    let wanted: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut sums = vec![0.0; layers];
    read(model, ids, form, &wanted, |from, logits, tap| {
        let (rows, n, _) = logits.dims3()?;
        let targets = &ids[from + 1..=from + rows * n];
        for (sum, path) in sums.iter_mut().zip(&paths) {
            let Some(v) = tap.get(path) else { candle_core::bail!("the model does not offer `{path}`") };
            let v = v.reshape((rows * n, ()))?; // (rows T, D)
            *sum += nats(&v.matmul(head)?, targets)?.iter().sum::<f64>();
        }
        sums[layers - 1] += nats(logits, targets)?.iter().sum::<f64>();
        Ok(())
    })?;
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Device;

    fn model(layers: usize) -> Bdh {
        let spec = BdhSpec { d_model: 16, heads: 2, neurons: 64, layers, ..BdhSpec::default() };
        let model = Bdh::new(&spec, 31, 3, &Device::Cpu).unwrap();
        for (_, var) in model.params().iter() {
            var.set(&(var.as_tensor() * 8.0).unwrap().detach()).unwrap();
        }
        model
    }

    fn ids(n: u32) -> Vec<u32> {
        (0..n).map(|i| (i * i * 7 + i / 3) % 31).collect()
    }

    #[test]
    fn a_long_window_is_the_stream() {
        // longer than what the parallel form reads at once
        let (model, ids) = (model(3), ids(2100));
        assert!(longest_at_once(model.spec()) < 2099);
        let streamed = token_losses(&model, &ids, ReadingForm::Streamed, &mut |_| ()).unwrap();
        let whole = token_losses(&model, &ids, ReadingForm::Windows(2100), &mut |_| ()).unwrap();
        assert_eq!((streamed.len(), whole.len()), (2099, 2099));
        let off = streamed.iter().zip(&whole).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-3, "{off:e}");
    }

    #[test]
    fn windows_forget_and_score_every_token_once() {
        let (model, ids) = (model(3), ids(100));
        let all = token_losses(&model, &ids, ReadingForm::Windows(24), &mut |_| ()).unwrap();
        assert_eq!(all.len(), 99);
        for from in [0, 24, 48, 72] {
            let to = (from + 25).min(100);
            let one = token_losses(&model, &ids[from..to], ReadingForm::Streamed, &mut |_| ()).unwrap();
            let off = one.iter().zip(&all[from..]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-4, "{from}: {off:e}");
        }
        assert!(token_losses(&model, &ids[..1], ReadingForm::Windows(24), &mut |_| ()).unwrap().is_empty());
    }

    #[test]
    fn depths_are_models_of_fewer_layers() {
        for form in [ReadingForm::Streamed, ReadingForm::Windows(40)] {
            let by_depth = nats_by_depth(&model(4), &ids(300), form).unwrap();
            for (layers, nats) in (1..).zip(&by_depth) {
                let own: f64 = token_losses(&model(layers), &ids(300), form, &mut |_| ()).unwrap().iter().sum();
                assert!((own - nats).abs() < 1e-3 * own, "{layers}: {own} {nats}");
            }
            assert_eq!(by_depth.len(), 4);
        }
    }
}
