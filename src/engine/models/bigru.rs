//! A bidirectional GRU that is trained to tag every word of a sentence: the supervised baseline of the paper on
//! exponential moving averages (arXiv 2604.08556, section 4 and appendix A).

use crate::{models::prelude::*, nn::gru::BiGru as Layer};

/// The encoding of a word at the input.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum WordInput {
    /// A learned vector of this width, normal with this standard deviation at first.
    Embedding { width: usize, std: f64 },
    /// The word itself.
    OneHot,
}

defaults! {
    /// Sizes of a bidirectional GRU.
    pub struct BiGruSpec {
        /// The encoding of words at the input.
        pub input: WordInput = WordInput::Embedding { width: 64, std: 1.0 },
        /// Units of each direction.
        pub hidden: usize = 256,
        /// The number of tags.
        pub tags: usize = 20,
        /// Share of the states before the head that training sets to 0.
        pub dropout: f64 = 0.0,
    }
}

impl BiGruSpec {
    fn width(&self, vocab: usize) -> usize {
        match self.input {
            WordInput::Embedding { width, .. } => width,
            WordInput::OneHot => vocab,
        }
    }
}

impl FamilySpec for BiGruSpec {
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let (h, tags) = (self.hidden as f64, self.tags as f64);
        let (embedded, e) = match self.input {
            WordInput::Embedding { width, .. } => (step.vocab * width as f64, width as f64),
            WordInput::OneHot => (0.0, step.vocab),
        };
        let weights = embedded + 2.0 * 3.0 * h * (e + h + 2.0) + tags * 2.0 * h;
        // the mask, and the values that it lets pass
        let dropped = if self.dropout > 0.0 { 4.0 * h } else { 0.0 };
        // the gates, their inputs and their gradients at every position and direction
        let each = 4.0 * e + 2.0 * 34.0 * h + 8.0 * h + dropped;
        StepMemory { weights, shared: 0.0, activations: step.positions() * each }
    }

    fn tiny() -> Self {
        Self { input: WordInput::Embedding { width: 6, std: 1.0 }, hidden: 8, tags: 23, dropout: 0.0 }
    }
}

#[derive(Clone)]
struct BiGruNet {
    /// The embedding of the words, `(V, E)`.
    words: Tensor,
    gru: Layer,
    /// The map from the states of both directions to scores, `(tags, 2H)`.
    head: Tensor,
}

impl BiGruNet {
    fn new(params: &mut Params, spec: &BiGruSpec, vocab: usize) -> Result<Self> {
        let words = match spec.input {
            WordInput::Embedding { width, std } => params.normal("embed.weight", (vocab, width), std)?,
            WordInput::OneHot => Tensor::eye(vocab, DType::F32, params.device())?,
        };
        let gru = Layer::new(params, "gru", spec.width(vocab), spec.hidden)?;
        let head =
            params.normal("head.weight", (spec.tags, 2 * spec.hidden), 1.0 / (2.0 * spec.hidden as f64).sqrt())?;
        Ok(Self { words, gru, head })
    }

    /// tokens `(B, T)`, counts `(B, T, 1)` -> `(B, T, 2H)`
    fn encode(&self, tokens: &Tensor, counts: &Tensor) -> Result<Tensor> {
        self.gru.forward(&embedding(&self.words, tokens)?, counts)
    }

    fn cross_entropy(&self, batch: &Batch, dropout: Option<Dropout>) -> Result<Tensor> {
        let counts = batch.targets.ne(IGNORE)?.to_dtype(DType::F32)?.unsqueeze(2)?;
        let states = self.encode(&batch.tokens, &counts)?;
        let states = if let Some(dropout) = dropout { dropout.apply(&states, 0)? } else { states };
        head_cross_entropy(&states, &self.head, &batch.targets)
    }
}

/// Reads both ways and names a tag.
pub struct BiGru {
    spec: BiGruSpec,
    params: Params,
    net: BiGruNet,
    inference_net: BiGruNet,
    /// The seed of the initial weights and of dropout.
    seed: u64,
    /// The number of the current update.
    update: u64,
}

impl BiGru {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &BiGruSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let is_empty = [spec.hidden, spec.tags, spec.width(vocab)].contains(&0);
        ensure!(!is_empty, "a tagger needs hidden units, tags, and an embedding that is not empty");
        ensure!((0.0..1.0).contains(&spec.dropout), "dropout {} must be at least 0 and less than 1", spec.dropout);
        let mut params = Params::new(seed, device, DType::F32);
        let (net, inference_net) = params.build_twice(|p| BiGruNet::new(p, spec, vocab))?;
        Ok(Self { spec: spec.clone(), params, net, inference_net, seed, update: 0 })
    }

    fn dropout(&self) -> Option<Dropout> {
        Dropout::for_update(self.spec.dropout, self.seed, self.update)
    }
}

impl Trainable for BiGru {
    params_and_spec!(BiGru);

    fn begin_step(&mut self, step: u64) -> Result<()> {
        self.update = step;
        Ok(())
    }

    fn loss_into(&self, batch: &Batch, _: Option<&GradAccumulator>) -> Result<Loss> {
        Ok(self.net.cross_entropy(batch, self.dropout())?.into())
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.inference_net.cross_entropy(batch, None)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { token_model: Some(self), sequence_tagger: Some(self), ..Capabilities::default() }
    }
}

impl Model for BiGru {
    /// Scores of the tags, all places counted.
    fn logits(&self, tokens: &Tensor, _: &mut Tap) -> Result<Tensor> {
        let counts = tokens.ones_like()?.to_dtype(DType::F32)?.unsqueeze(2)?;
        linear(&self.inference_net.encode(tokens, &counts)?, &self.inference_net.head)
    }
}

const BATCH_SENTENCES: usize = 256;

impl SequenceTagger for BiGru {
    fn tags(&self, sentences: &[&[u32]]) -> Result<Vec<u8>> {
        let device = self.params.device();
        let mut tags = vec![];
        for chunk in sentences.chunks(BATCH_SENTENCES) {
            let len = chunk.iter().map(|s| s.len()).max().unwrap_or_default();
            if len == 0 {
                continue;
            }
            let at = |s: &[u32], i: usize| s.get(i).copied();
            let words: Vec<u32> = chunk.iter().flat_map(|s| (0..len).map(|i| at(s, i).unwrap_or(0))).collect();
            let counted: Vec<f32> =
                chunk.iter().flat_map(|s| (0..len).map(|i| if i < s.len() { 1.0 } else { 0.0 })).collect();
            let tokens = Tensor::from_vec(words, (chunk.len(), len), device)?;
            let counts = Tensor::from_vec(counted, (chunk.len(), len, 1), device)?;
            let scores = linear(&self.inference_net.encode(&tokens, &counts)?, &self.inference_net.head)?;
            let best = host::to_u32(&scores.argmax(candle_core::D::Minus1)?)?; // (B, T)
            for (sentence, row) in chunk.iter().zip(best.chunks(len)) {
                tags.extend(row[..sentence.len()].iter().map(|tag| *tag as u8));
            }
        }
        Ok(tags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(dropout: f64) -> Result<(Vec<f64>, f64)> {
        let spec = BiGruSpec { dropout, ..BiGruSpec::tiny() };
        let mut model = BiGru::new(&spec, 9, 3, &Device::Cpu)?;
        let batch = Batch::from_ids(&[1, 5, 2, 8, 0, 3], &[4, 1, 2, 22, 7, 0], 2, 3, &Device::Cpu)?;
        let mut found = vec![];
        for step in [1, 2, 1] {
            model.begin_step(step)?;
            found.push(host::scalar(&model.loss(&batch)?.total)?);
        }
        Ok((found, host::scalar(&model.evaluate(&batch)?)?))
    }

    #[test]
    fn dropout_draws_anew_each_update_and_not_in_evaluation() -> Result<()> {
        let ((plain, evaluated), (dropped, same)) = (losses(0.0)?, losses(0.5)?);
        assert!(plain[0] == plain[1] && evaluated == same, "{plain:?}, {evaluated} is not {same}");
        assert!(dropped[0] != dropped[1] && dropped[0] == dropped[2] && dropped[0] != plain[0], "{dropped:?}");
        assert!(losses(1.0).is_err_and(|e| e.to_string().contains("dropout 1")));
        Ok(())
    }
}
