//! The computation graph of the SPEN family, over a whole text or from where an earlier part ended.

use super::{
    COEFFICIENTS, SpenSpec, TraceGate,
    predictor::{Prediction, PredictorPast},
};
use crate::{
    models::prelude::*,
    nn::{
        fused::{
            activation::activation, ema::ema, linear::linear_biased, sparse_mlp::sparse_mlp, top_k::top_k,
            trace_context::trace_context, unit_rows::unit_rows,
        },
        kernels::{
            fast_weights::{FastWeightState, HebbianRule, read},
            threads,
        },
        layers::{input_proj, residual_out_proj},
    },
};

/// Share of a new squared error in its running variance, and what is added to it: those of the grammar network.
const EMA_RATE: f32 = 0.01;
const MIN_VARIANCE: f32 = 1e-8;

/// Blocks without attention, a tied head.
#[derive(Clone)]
pub(super) struct SpenNet {
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
        self.fast.as_ref().map(|fast| fast.inverse_precision.as_slice())
    }
}

pub(super) struct Encoded {
    /// The normalised input, `(B, T, D)`.
    pub x: Tensor,
    /// The load-balancing loss, summed over blocks.
    pub balance: Tensor,
}

impl SpenNet {
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

    /// Like [`SpenNet::start`], where every static predictor continues learning.
    pub(super) fn start_with_fast_weights(&self, rule: &FastWeightRule) -> Vec<BlockState> {
        let fast = |block: &Block| block.prediction.trained_map().map(|map| FastWeights::new(rule, map));
        self.blocks.iter().map(|block| BlockState { fast: fast(block), ..BlockState::default() }).collect()
    }

    /// Reads tokens `(B, T)` that follow the text that `states`, one per block, have read; without states, whole texts,
    /// and nothing is kept.
    pub(super) fn read(
        &self,
        tokens: &Tensor,
        mut states: Option<&mut [BlockState]>,
        tap: &mut Tap,
    ) -> Result<Encoded> {
        let mut x = embedding(&self.embed, tokens)?;
        let mut losses = vec![];
        for (i, block) in self.blocks.iter().enumerate() {
            let state = states.as_deref_mut().map(|states| &mut states[i]);
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
    /// [`TraceBlocks`].
    fn forward(&self, x: &Tensor, state: Option<&mut BlockState>, tap: &mut Tap) -> Result<(Tensor, Tensor)> {
        let context = match (self.prediction.trained_map(), state) {
            (Some(predictor), None) if self.traces.are_fixed() && !tap.is_on() => {
                trace_context(x, predictor, &Tensor::cat(&self.context, 1)?, COEFFICIENTS)?
            }
            (_, state) => self.separate_context(x, state.unwrap_or(&mut BlockState::default()), tap)?,
        };
        let normed = self.norm.forward(&context)?;
        tap.offer(&format!("{}.units", self.path), || {
            let z = activation(&linear(&normed, &self.up)?, Act::Gelu)?; // (B,T,F)
            Ok(top_k(&z, self.kept)?.selected)
        })?;
        sparse_mlp(&normed, &self.up, &self.down, x, self.kept)
    }

    /// The context `(B, T, D)` of [`trace_context`] by separate operations, with any gate and predictor and after what
    /// `state` has read.
    fn separate_context(&self, x: &Tensor, state: &mut BlockState, tap: &mut Tap) -> Result<Tensor> {
        let traces = self.traces.forward(x, state.traces.as_ref(), &self.path, tap)?;
        let [fast, medium, slow] = &traces;
        let (error, past) = match &mut state.fast {
            Some(fast) => (fast.error(&unit_rows(slow)?, x)?, None),
            None => {
                let (prediction, past) =
                    self.prediction.forward(slow, x, state.past.take(), (&self.path, &mut *tap))?;
                ((x - prediction)?, past)
            }
        };
        let read = Tensor::cat(&[fast, medium, slow, &error], D::Minus1)?; // (B,T,4D)
        for (name, value) in [("input", x), ("fast", fast), ("medium", medium), ("slow", slow), ("error", &error)] {
            tap.offer(&format!("{}.{name}", self.path), || Ok(value.clone()))?;
        }
        let last = x.dim(1)?.saturating_sub(1);
        let [fast, medium, slow] = traces.map(|h| h.narrow(1, last, 1)?.squeeze(1));
        *state = BlockState { traces: Some([fast?, medium?, slow?]), past, fast: state.fast.take() };
        x + linear(&read, &Tensor::cat(&self.context, 1)?)?
    }
}

/// The three exponential moving averages of a block's input: h_t = (1 - a) h_{t-1} + a x_t, once for each coefficient, fast to slow.
#[derive(Debug, Clone)]
struct Traces {
    rates: [Rate; 3],
}

#[derive(Debug, Clone)]
enum Rate {
    Fixed(Tensor),   // (D)
    Learned(Tensor), // logit (D)
    InputDependent { weight: Tensor, bias: Tensor },
}

impl Traces {
    /// Learned rates are initialised to the fixed coefficients. Their parameters are
    /// `<path>.rate_{fast,medium,slow}.{weight,bias}`, for those rates that the gate has.
    pub fn new(params: &mut Params, path: &str, d_model: usize, gate: TraceGate) -> Result<Self> {
        let mut rate = |name: &str, a: f64| -> Result<Rate> {
            let logit = (a / (1.0 - a)).ln();
            let bias = format!("{path}.rate_{name}.bias");
            Ok(match gate {
                TraceGate::Fixed => Rate::Fixed(Tensor::full(a, d_model, params.device())?.to_dtype(params.dtype())?),
                TraceGate::Learned => Rate::Learned(params.constant(&bias, d_model, logit)?),
                TraceGate::InputDependent => Rate::InputDependent {
                    weight: params.zeros(&format!("{path}.rate_{name}.weight"), (d_model, d_model))?,
                    bias: params.constant(&bias, d_model, logit)?,
                },
            })
        };
        let [fast, medium, slow] = COEFFICIENTS;
        Ok(Self { rates: [rate("fast", fast)?, rate("medium", medium)?, rate("slow", slow)?] })
    }

    /// Returns true if they are those of [`COEFFICIENTS`] and never trained.
    fn are_fixed(&self) -> bool {
        self.rates.iter().all(|rate| matches!(rate, Rate::Fixed(_)))
    }

    /// x `(B, T, D)`, after what was read before: the last row of each trace `(B, D)`, if there is one -> the traces
    /// `(B, T, D)`. Offers the coefficients.
    pub fn forward(&self, x: &Tensor, before: Option<&[Tensor; 3]>, path: &str, tap: &mut Tap) -> Result<[Tensor; 3]> {
        let mut trace = |i: usize| {
            let a = match &self.rates[i] {
                Rate::Fixed(a) => a.clone(),
                Rate::Learned(logit) => candle_nn::ops::sigmoid(logit)?,
                Rate::InputDependent { weight, bias } => candle_nn::ops::sigmoid(&linear_biased(x, weight, bias)?)?,
            };
            tap.offer(&format!("{path}.rate_{}", TraceBlocks::TRACES[i]), || Ok(a.clone()))?;
            ema(x, &a, before.map(|before| &before[i]))
        };
        Ok([trace(0)?, trace(1)?, trace(2)?])
    }
}

/// Fast weights of one block, for each text that is read at once, that a static predictor learns while it reads (PGHU at
/// inference): W_base h + W_fast h predicts, and the precision-gated error of every token changes W_fast.
#[derive(Debug, Clone)]
struct FastWeights {
    rule: HebbianRule,
    /// W_base `(D, D)`; `None` for zero.
    base: Option<Tensor>,
    texts: Vec<FastWeightState>,
    /// Mean of 1 / pi over channels at every token of the last call, `(B, T)`.
    inverse_precision: Vec<f32>,
}

impl FastWeights {
    /// Fast weights for a predictor with these trained weights `(D, D)`.
    pub fn new(rule: &FastWeightRule, trained: &Tensor) -> Self {
        let rule_of_block = HebbianRule {
            rate: rule.rate as f32,
            max_precision: rule.max_precision as f32,
            variance_rate: EMA_RATE,
            min_variance: MIN_VARIANCE,
        };
        let base = rule.has_base.then(|| trained.clone());
        Self { rule: rule_of_block, base, texts: vec![], inverse_precision: vec![] }
    }

    /// The error of the prediction from the slow trace's direction, both `(B, T, D)`; W_fast learns from it.
    pub fn error(&mut self, direction: &Tensor, x: &Tensor) -> Result<Tensor> {
        let (b, t, d) = x.dims3()?;
        self.texts.resize_with(b, || FastWeightState::new(d));
        let left = match &self.base {
            Some(base) => (x - linear(direction, base)?)?,
            None => x.clone(),
        };
        let (inputs, mut errors) = (host::to_f32(direction)?, host::to_f32(&left)?);
        self.inverse_precision = vec![0.0; b * t];
        let rule = self.rule;
        let (of_text, tokens) = ((t * d).max(1), t.max(1));
        let texts = self.texts.iter_mut().zip(inputs.chunks_exact(of_text)).zip(errors.chunks_exact_mut(of_text));
        let texts = texts.zip(self.inverse_precision.chunks_exact_mut(tokens));
        threads::for_each(b, texts, |(((state, inputs), errors), inverse)| read(rule, inputs, errors, inverse, state));
        Tensor::from_vec(errors, (b, t, d), x.device())?.to_dtype(x.dtype())
    }
}
