//! The computation graph of the SPEN family, over a whole text or from where an earlier part ended.

use super::{
    fast_weights::FastWeights,
    predictor::{Prediction, PredictorPast, unit},
    spec::SpenSpec,
    traces::Traces,
};
use crate::{
    models::{capabilities::FastWeightRule, prelude::*},
    nn::{
        fused::{activation::activation, sparse_mlp::sparse_mlp, top_k::top_k},
        layers::{input_proj, residual_out_proj},
    },
};

/// Blocks without attention, a tied head.
#[derive(Clone)]
pub(super) struct Net {
    pub(super) embed: Tensor, // (V, D)
    blocks: Vec<Block>,
    norm: Norm,
}

/// The state of a block after the tokens that were read; empty before the first.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockState {
    traces: Option<[Tensor; 3]>, // (B, D) each
    past: Option<PredictorPast>,
    fast: Option<FastWeights>,
}

impl BlockState {
    /// Mean of 1 / pi over channels at every token that was read last, `(B, T)`, if the block has fast weights.
    pub(super) fn inverse_precision(&self) -> Option<&[f32]> {
        self.fast.as_ref().map(FastWeights::inverse_precision)
    }
}

pub(super) struct Encoded {
    /// The normalised input, `(B, T, D)`.
    pub x: Tensor,
    /// The load-balancing loss, summed over blocks.
    pub balance: Tensor,
}

impl Net {
    pub(super) fn new(p: &mut Params, spec: &SpenSpec, vocab: usize) -> Result<Self> {
        let (kept, all) = (spec.kept, spec.hidden);
        ensure!((1..=all).contains(&kept), "{kept} of {all} units cannot be kept: give a number from 1 to {all}");
        Ok(Self {
            embed: p.normal("embed.weight", (vocab, spec.d_model), EMBEDDING_STD)?,
            blocks: (0..spec.layers).map(|i| Block::new(p, &format!("blocks.{i}"), spec)).collect::<Result<_>>()?,
            norm: Norm::layer(p, "ln", spec.d_model)?,
        })
    }

    /// The state of every block before the first token.
    pub(super) fn start(&self) -> Vec<BlockState> {
        vec![BlockState::default(); self.blocks.len()]
    }

    /// Like [`Net::start`], where every static predictor continues learning.
    pub(super) fn start_with_fast_weights(&self, rule: &FastWeightRule) -> Vec<BlockState> {
        let fast = |block: &Block| block.prediction.trained_map().map(|map| FastWeights::new(rule, map));
        self.blocks.iter().map(|block| BlockState { fast: fast(block), ..BlockState::default() }).collect()
    }

    /// Reads tokens `(B, T)` that follow the text that `states`, one per block, have read.
    pub(super) fn read(&self, tokens: &Tensor, states: &mut [BlockState], tap: &mut Tap) -> Result<Encoded> {
        let mut x = embedding(&self.embed, tokens)?;
        let mut losses = vec![];
        for (block, state) in self.blocks.iter().zip(states) {
            let (next, loss) = block.forward(&x, state, tap)?;
            x = next;
            losses.push(loss);
        }
        tap.offer("final", || Ok(x.clone()))?;
        Ok(Encoded { x: self.norm.forward(&x)?, balance: Tensor::stack(&losses, 0)?.sum_all()? })
    }
}

/// Traces, prediction, its error, and a sparse feed-forward layer, added to the input.
#[derive(Debug, Clone)]
struct Block {
    path: String,
    traces: Traces,
    prediction: Prediction,
    context: [Tensor; 4], // weights of the traces and the error, (D, D) each
    norm: Norm,
    up: Tensor,   // (F, D)
    down: Tensor, // (D, F)
    kept: usize,
}

impl Block {
    /// Parameters `<path>.{pred,wf,wm,ws,we,up,down}.weight`, `<path>.ln.{weight,bias}`, and those of the gate.
    fn new(p: &mut Params, path: &str, spec: &SpenSpec) -> Result<Self> {
        let (d, hidden) = (spec.d_model, spec.hidden);
        let prediction = Prediction::new(p, path, spec)?;
        let mut map = |name: &str| input_proj(p, &format!("{path}.{name}.weight"), d, d);
        Ok(Self {
            path: path.to_owned(),
            prediction,
            context: [map("wf")?, map("wm")?, map("ws")?, map("we")?],
            norm: Norm::layer(p, &format!("{path}.ln"), d)?,
            up: input_proj(p, &format!("{path}.up.weight"), hidden, d)?,
            down: residual_out_proj(p, &format!("{path}.down.weight"), (d, hidden), spec.layers)?,
            traces: Traces::new(p, path, d, spec.gate)?,
            kept: spec.kept,
        })
    }

    /// x `(B, T, D)` -> `(B, T, D)`, and the load-balancing loss. Offers the taps of
    /// [`TraceBlocks`](crate::models::capabilities::TraceBlocks).
    fn forward(&self, x: &Tensor, state: &mut BlockState, tap: &mut Tap) -> Result<(Tensor, Tensor)> {
        let traces = self.traces.forward(x, state.traces.as_ref(), &self.path, tap)?;
        let [fast, medium, slow] = &traces;
        let (error, past) = match &mut state.fast {
            Some(fast) => (fast.error(&unit(slow)?, x)?, None),
            None => {
                let (prediction, past) =
                    self.prediction.forward(slow, x, state.past.take(), (&self.path, &mut *tap))?;
                ((x - prediction)?, past)
            }
        };
        let read = Tensor::cat(&[fast, medium, slow, &error], D::Minus1)?; // (B,T,4D)
        let context = (x + linear(&read, &Tensor::cat(&self.context, 1)?)?)?;
        let normed = self.norm.forward(&context)?;
        let (y, balance) = sparse_mlp(&normed, &self.up, &self.down, self.kept)?;
        for (name, value) in [("input", x), ("fast", fast), ("medium", medium), ("slow", slow), ("error", &error)] {
            tap.offer(&format!("{}.{name}", self.path), || Ok(value.clone()))?;
        }
        tap.offer(&format!("{}.units", self.path), || {
            let z = activation(&linear(&normed, &self.up)?, Act::Gelu)?; // (B,T,F)
            Ok(top_k(&z, self.kept)?.selected)
        })?;
        let last = x.dim(1)?.saturating_sub(1);
        let [fast, medium, slow] = traces.map(|h| h.narrow(1, last, 1)?.squeeze(1));
        *state = BlockState { traces: Some([fast?, medium?, slow?]), past, fast: state.fast.take() };
        Ok(((x + y)?, balance))
    }
}
