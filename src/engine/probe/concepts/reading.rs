//! Reads sentences and gives values of neurons and synapses: sums over a sentence, taken on the device, so that the
//! full sigma is never formed.

use super::question::ConceptSentence;
use crate::{config::choices, probe::prelude::*};

/// The largest number of values that the activations of one kind and layer may have in a batch.
const MAX_BATCH_VALUES: usize = 1 << 22;

choices! {
    /// The scalar that a synapse is reduced to over a sentence; sigma(i,j) = sum_s y_{s,l-1}(i) x_{s,l}(j), over
    /// the sentence (bdh.md, Reading mode; raw, without the turn of RoPE).
    pub enum Scalar {
        /// The value at the sentence's end, divided by its tokens.
        Mean = "mean",
        /// The value at the sentence's end.
        Sum = "sum",
        /// Its largest change at one token.
        Peak = "peak",
    }
}

/// The short list of a layer: neurons y of the layer before, neurons x of this one.
pub(super) struct ShortList {
    pub layer: usize,
    pub y: Vec<usize>,
    pub x: Vec<usize>,
}

/// A batch of sentences that was read: which, their mask, and the activations.
struct ReadBatch<'t> {
    which: &'t [usize],
    mask: Tensor,     // (B,T,1)
    tokens: Vec<f32>, // (B)
    tap: Tap,
    neurons: usize,
}

impl ReadBatch<'_> {
    /// `(B, T, n)`, zero after the sentence's end; only the given neurons if any are given.
    fn activations(&self, kind: &str, layer: usize, of: Option<&[usize]>) -> Result<Tensor> {
        let path = format!("layers.{layer}.{kind}");
        let found = self.tap.require(&path)?;
        let (b, _, t, _) = found.dims4()?;
        let mut all = found.transpose(1, 2)?.reshape((b, t, self.neurons))?;
        if let Some(of) = of {
            let of: Vec<u32> = of.iter().map(|&i| i as u32).collect();
            all = all.index_select(&Tensor::from_slice(&of, of.len(), all.device())?, 2)?;
        }
        all.broadcast_mul(&self.mask)
    }
}

pub(super) struct SentenceReader<'a> {
    pub model: &'a dyn SynapseModel,
    pub device: &'a Device,
}

impl SentenceReader<'_> {
    /// Calls `f` with batches of sentences of about equal length.
    fn each(
        &self,
        items: &[&ConceptSentence],
        progress: Progress<'_>,
        mut f: impl FnMut(&ReadBatch<'_>) -> Result<()>,
    ) -> Result<()> {
        let shape = self.model.shape();
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|&i| items[i].ids.len());
        let paths = (0..shape.layers).flat_map(|l| [format!("layers.{l}.x"), format!("layers.{l}.y")]);
        let reader = TextReader::new(self.model).tapping(paths);
        let mut rest = &order[..];
        while let Some(&first) = rest.first() {
            progress.at(order.len() - rest.len(), order.len())?;
            let room = (MAX_BATCH_VALUES / shape.neurons.max(1) / items[first].ids.len().max(1)).clamp(1, 32);
            let (which, after) = rest.split_at(room.min(rest.len()));
            rest = after;
            let texts: Vec<&[u32]> = which.iter().map(|&i| items[i].ids.as_slice()).collect();
            let (ids, t) = padded(&texts);
            let tokens: Vec<f32> = texts.iter().map(|text| text.len() as f32).collect();
            let is_read = |text: &&[u32], s: usize| f32::from(u8::from(s < text.len()));
            let mask: Vec<f32> = texts.iter().flat_map(|text| (0..t).map(move |s| is_read(text, s))).collect();
            let tap = reader.rows(&ids, which.len())?.tap;
            let mask = Tensor::from_slice(&mask, (which.len(), t, 1), self.device)?;
            f(&ReadBatch { which, mask, tokens, tap, neurons: shape.neurons })?;
        }
        Ok(())
    }

    /// Mean activity over each sentence, given to `f` as (sentence, layer l, y of layer l - 1, x of layer l),
    /// `(n)` each.
    pub fn neurons(
        &self,
        items: &[&ConceptSentence],
        progress: Progress<'_>,
        mut f: impl FnMut(usize, usize, &[f32], &[f32]),
    ) -> Result<()> {
        let n = self.model.shape().neurons;
        self.each(items, progress, |read| {
            for layer in 1..self.model.shape().layers {
                let mean = |kind: &str, layer: usize| -> Result<Vec<f32>> {
                    host::to_f32(&read.activations(kind, layer, None)?.sum(1)?) // (B,n)
                };
                let (y, x) = (mean("y", layer - 1)?, mean("x", layer)?);
                for (k, &i) in read.which.iter().enumerate() {
                    let per_token =
                        |v: &[f32]| -> Vec<f32> { v[k * n..(k + 1) * n].iter().map(|v| v / read.tokens[k]).collect() };
                    f(i, layer, &per_token(&y), &per_token(&x));
                }
            }
            Ok(())
        })
    }

    /// Every pair of the given neurons of a layer, `(sentence, ys, xs)` row-major: one list per layer.
    pub fn pairs(
        &self,
        items: &[&ConceptSentence],
        sides: &[ShortList],
        scalar: Scalar,
        progress: Progress<'_>,
    ) -> Result<Vec<Vec<f32>>> {
        let mut all: Vec<Vec<f32>> = sides.iter().map(|s| vec![0.0; items.len() * s.y.len() * s.x.len()]).collect();
        self.each(items, progress, |read| {
            for (ShortList { layer, y: ys, x: xs }, all) in sides.iter().zip(&mut all) {
                let y = read.activations("y", layer - 1, Some(ys))?; // (B,T,K)
                let x = read.activations("x", *layer, Some(xs))?;
                let size = ys.len() * xs.len();
                for (k, &i) in read.which.iter().enumerate() {
                    let (y, x) = (y.get(k)?, x.get(k)?); // (T,K)
                    let found = match scalar {
                        Scalar::Peak => y.unsqueeze(2)?.broadcast_mul(&x.unsqueeze(1)?)?.max(0)?,
                        _ => y.t()?.contiguous()?.matmul(&x)?,
                    }; // (K,K)
                    let per = if scalar == Scalar::Mean { read.tokens[k] } else { 1.0 };
                    let to = &mut all[i * size..(i + 1) * size];
                    to.iter_mut().zip(host::to_f32(&found)?).for_each(|(to, v)| *to = v / per);
                }
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// The given synapses, `(synapse, sentence)`: a list each.
    pub fn synapses(
        &self,
        items: &[&ConceptSentence],
        synapses: &[Synapse],
        scalar: Scalar,
        progress: Progress<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        let mut all = vec![vec![0.0; items.len()]; synapses.len()];
        self.each(items, progress, |read| {
            for layer in 1..self.model.shape().layers {
                let here: Vec<usize> = (0..synapses.len()).filter(|&k| synapses[k].layer == layer).collect();
                if here.is_empty() {
                    continue;
                }
                let neurons = |f: fn(&Synapse) -> usize| here.iter().map(|&k| f(&synapses[k])).collect::<Vec<_>>();
                let y = read.activations("y", layer - 1, Some(&neurons(|p| p.i)))?; // (B,T,K)
                let steps = (y * read.activations("x", layer, Some(&neurons(|p| p.j)))?)?;
                let found = match scalar {
                    Scalar::Peak => steps.max(1)?,
                    _ => steps.sum(1)?,
                }; // (B,K)
                for (row, found) in host::to_f32(&found)?.chunks(here.len()).enumerate() {
                    let per = if scalar == Scalar::Mean { read.tokens[row] } else { 1.0 };
                    here.iter().zip(found).for_each(|(&k, v)| all[k][read.which[row]] = f64::from(v / per));
                }
            }
            Ok(())
        })?;
        Ok(all)
    }
}
