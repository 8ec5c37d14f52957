//! One attention matrix read as a step of a Markov chain: its limit when it is applied repeatedly, and whether its
//! positions can be lumped into blocks.

use super::tapped::AttendingModel;
use crate::{
    analysis::markov_chain::{
        MarkovChain,
        lumping::{Partition, with_shuffled_rows},
        min_mixing_time, stochasticity,
    },
    probe::prelude::*,
};

/// The length in tokens below which a held-out passage is not halved again, for a model with few learned positions.
const MIN_PASSAGE_TOKENS: usize = 8;
/// Draws of each null model.
const DRAWS: usize = 40;
/// Rounds of the search for better blocks.
const SEARCH_ROUNDS: usize = 4;
/// Rows of 32-bit softmax weights sum to 1 up to rounding, far within this.
const TOLERANCE: f64 = 1e-4;

/// If the weights do not form a Markov chain, a note says so.
impl Probe for AttentionChainArgs {
    type Answer = AttentionChain;
    type Subject<'m> = AttendingModel<'m>;

    fn ask(&self, model: AttendingModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let is_typed = !self.text.is_empty();
        let mut longest = Prompt::limit(&self.text);
        // a held-out passage may be longer than a model has learned positions for
        while !is_typed && longest > MIN_PASSAGE_TOKENS && model.positions.is_some_and(|most| longest > most) {
            longest /= 2;
        }
        let prompt = Prompt::read(cx, &self.text, self.passage, longest)?;
        let takes_first = self.layer.trim().is_empty();
        let Some(layer) = model.layers.iter().find(|l| takes_first || l.path == self.layer) else {
            let paths: Vec<&str> = model.layers.iter().map(|l| l.path.as_str()).collect();
            bail!("there is no attention in `{}`; choose one of {}", self.layer, paths.join(", "));
        };
        let layers = std::slice::from_ref(layer);
        let found = model.weights(&prompt.tensor(cx.device)?, layers)?;
        let Some((_, weights)) = found.first() else {
            bail!("the layer `{}` gave no weights along this text", layer.path)
        };
        let (_, heads, n, _) = weights.dims4()?;
        let head = self.head.min(heads.saturating_sub(1));
        let width = self.width.min(n.max(1));
        let values = host::to_f32(&weights.narrow(0, 0, 1)?.narrow(1, head, 1)?.contiguous()?)?;
        let mut p: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
        let first_sees_nothing = !layer.attends_to_self && p.iter().take(n).all(|w| *w == 0.0);
        if first_sees_nothing && n > 0 {
            // a walk that reaches the first token stays there
            p[0] = 1.0;
        }
        let (check, chain) = (stochasticity(n, &p), MarkovChain::new(n, &p, TOLERANCE));
        let measured = AttentionChain {
            path: layer.path.clone(),
            head,
            heads,
            layers: model.layers.iter().map(|l| l.path.clone()).collect(),
            tokens_per_position: layer.tokens_per_position,
            is_typed,
            first_sees_nothing,
            weights: Array::new([n, n], values)?,
            row_sum_error: check.row_sum_error,
            smallest: check.smallest,
            problem: chain.as_ref().err().map(|e| match layer.is_differential {
                true => format!("differential weights may be negative: {e}"),
                false => e.to_string(),
            }),
            chain: chain.ok().map(|chain| properties(&chain, layer, width, cx.seed)),
        };
        Ok(Answer::new(measured, prompt.about, prompt.tokens))
    }
}

fn properties(chain: &MarkovChain, layer: &AttentionLayer, width: usize, seed: u64) -> ChainProperties {
    let mut stationary = chain.stationary();
    let moduli = chain.moduli().unwrap_or_default();
    let quasi = chain.quasi_stationary();
    ChainProperties {
        is_causal: chain.is_triangular(),
        closed_classes: stationary.len(),
        mixing_time: chain.mixing_time(),
        min_mixing_time: moduli.get(1).map_or(0.0, |m| min_mixing_time(*m)),
        moduli: moduli.into(),
        row_entropy: chain.row_entropies().into(),
        uniform_entropy: (0..chain.states()).map(|t| layer.uniform_row_entropy(t)).collect(),
        steps_to_absorption: chain.steps_to_absorption().into(),
        survival: quasi.as_ref().map_or(f64::NAN, |q| q.survival),
        quasi_stationary: quasi.map(|q| q.distribution.into()),
        stationary: stationary.pop().filter(|_| stationary.is_empty()).map(Into::into),
        lumping: lumping(chain, width, seed),
    }
}

fn lumping(chain: &MarkovChain, width: usize, seed: u64) -> ChainLumping {
    let blocks = Partition::consecutive(chain.states(), width);
    let error = blocks.error(chain);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<f64> = (0..DRAWS).map(|_| blocks.error(&with_shuffled_rows(chain, &mut rng)).mean).collect();
    let drawn: Vec<f64> = (0..DRAWS).map(|_| blocks.shuffled(&mut rng).error(chain).mean).collect();
    let best = blocks.improved(chain, SEARCH_ROUNDS);
    ChainLumping {
        width,
        mean: error.mean,
        largest: error.largest,
        error: error.of_block.into(),
        shuffled_rows: null_of(&rows),
        random_blocks: null_of(&drawn),
        best_mean: best.error(chain).mean,
        best: best.labels().to_vec(),
    }
}

fn null_of(values: &[f64]) -> NullError {
    let (mean, sd) = mean_sd(values);
    NullError { mean, sd, draws: values.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        models::{fast_slow::FastSlowSpec, gpt::PlainGptSpec},
        probe::testing::{measured, model},
    };

    const DEFAULT: usize = Prompt::DEFAULT_TOKENS;

    fn ask(args: &[(&str, Value)]) -> Result<AttentionChain> {
        ask_model(&ModelSpec::FastSlow(FastSlowSpec { d_model: 16, ..FastSlowSpec::default() }), args)
    }

    fn ask_model(spec: &ModelSpec, args: &[(&str, Value)]) -> Result<AttentionChain> {
        let (mut model, corpus) = model(spec)?;
        measured(model.as_mut(), &corpus, args)
    }

    fn text(words: &str) -> Value {
        Value::Text(words.to_owned())
    }

    #[test]
    fn fast_and_slow_attention_are_causal_chains() -> Result<()> {
        for (layer, positions) in [("pre.0", DEFAULT), ("slow.1.r1", DEFAULT / 4), ("post.0.r1", DEFAULT)] {
            let found = ask(&[("layer", text(layer)), ("head", Value::Int(3))])?;
            assert_eq!((found.path.as_str(), found.head, found.weights.rows()), (layer, 3, positions));
            assert!(found.row_sum_error < 1e-5 && found.smallest == 0.0);
            let chain = found.chain.unwrap();
            assert!(chain.is_causal && chain.closed_classes == 1);
            assert_eq!(chain.stationary.unwrap()[0], 1.0);
            assert!(chain.mixing_time.unwrap() as f64 >= chain.min_mixing_time);
            assert!((chain.moduli[1] - chain.survival).abs() < 1e-12);
            assert!(chain.lumping.best_mean <= chain.lumping.mean);
            assert!(chain.row_entropy.iter().zip(&chain.uniform_entropy).all(|(h, most)| *h <= most + 1e-6));
        }
        Ok(())
    }

    #[test]
    fn a_held_out_passage_has_no_more_tokens_than_learned_positions() {
        let gpt = |positions| ModelSpec::PlainGpt(PlainGptSpec { d_model: 16, heads: 2, layers: 1, positions });
        for (positions, expected) in [(64, DEFAULT), (30, DEFAULT / 2), (24, DEFAULT / 2), (8, DEFAULT / 8)] {
            assert_eq!(ask_model(&gpt(positions), &[]).unwrap().weights.rows(), expected, "{positions}");
        }
        // other errors are shown as they are
        for args in [vec![], vec![("text", text("a text of more than four tokens"))]] {
            let words = ask_model(&gpt(4), &args).unwrap_err().to_string();
            assert!(words.contains("learned positions for 4"), "{words}");
        }
    }

    #[test]
    fn one_token_is_a_chain_of_one_state_and_a_wrong_layer_is_named() {
        let found = ask(&[("text", text("a"))]).unwrap();
        assert!(found.is_typed && found.weights.rows() == 1);
        assert_eq!(found.chain.unwrap().mixing_time, Some(0));
        let words = ask(&[("layer", text("post.7"))]).unwrap_err().to_string();
        assert!(words.contains("post.7") && words.contains("slow.0.r0"), "{words}");
    }
}
