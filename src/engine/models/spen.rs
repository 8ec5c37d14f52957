//! A language model whose only context are exponential moving averages (SPEN, arXiv 2604.08556), and what it becomes
//! when their coefficients are trained, gated by the input, or the error is that of an attention.

mod fast_weights;
mod net;
mod predictor;
mod spec;
mod traces;

pub use spec::{COEFFICIENTS, Predictor, PredictorValues, SpenSpec, TraceGate};

use self::net::{BlockState, Net};
use super::capabilities::{FastWeightModel, FastWeightRule, StreamingModel, TextStream, TraceBlocks};
use crate::models::prelude::*;

/// Weight of the load-balancing loss.
const BALANCE: f64 = 0.01;

impl FamilySpec for SpenSpec {
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let (d, hidden, layers, n) = (self.d_model as f64, self.hidden as f64, self.layers as f64, step.positions());
        let attention = match self.predictor {
            Predictor::Static => 0.0,
            Predictor::LinearAttention => 6.0 * d + 4.0 * step.tokens,
            Predictor::SoftmaxAttention | Predictor::FullSoftmaxAttention => {
                10.0 * d + 6.0 * self.heads as f64 * step.tokens
            }
        };
        let gates = if self.gate == TraceGate::InputDependent { 9.0 * d } else { 0.0 };
        let each = 20.0 * d + 2.0 * (hidden + self.kept as f64) + attention + gates;
        StepMemory {
            weights: self.parameters(step.vocab as usize) as f64,
            shared: 0.0,
            activations: layers * n * each + n * (6.0 * d + hidden) + step_memory::head(self.d_model, step),
        }
    }

    fn flops_per_token(&self, vocab: usize, window: usize) -> Option<f64> {
        Some(self.training_flops(vocab, window))
    }

    fn tiny() -> Self {
        Self {
            d_model: 16,
            hidden: 32,
            kept: 5,
            gate: TraceGate::InputDependent,
            predictor: Predictor::LinearAttention,
            values: PredictorValues::Input,
            ..Self::default()
        }
    }
}

/// The language model. Taps: those of [`TraceBlocks`], `final`, and `blocks.i.attn.weights` of softmax attention.
pub struct Spen {
    spec: SpenSpec,
    params: Params,
    net: Net,
    inference_net: Net,
}

impl Spen {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &SpenSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let mut params = Params::new(seed, device, DType::F32);
        let (net, inference_net) = params.build_twice(|p| Net::new(p, spec, vocab))?;
        Ok(Self { spec: spec.clone(), params, net, inference_net })
    }
}

/// Reads a text part by part. With the static predictor and with linear attention it keeps as much after any number of
/// tokens; softmax attention keeps them all.
struct SpenStream<'a> {
    net: &'a Net,
    states: Vec<BlockState>,
}

impl TextStream for SpenStream<'_> {
    fn read(&mut self, tokens: &Tensor) -> Result<Tensor> {
        linear(&self.net.read(tokens, &mut self.states, &mut Tap::off())?.x, &self.net.embed)
    }

    fn uncertainty(&self) -> Vec<f32> {
        let blocks: Vec<&[f32]> = self.states.iter().filter_map(BlockState::inverse_precision).collect();
        let tokens = blocks.first().map_or(0, |of| of.len());
        (0..tokens).map(|t| blocks.iter().map(|of| of[t]).sum::<f32>() / blocks.len() as f32).collect()
    }
}

impl StreamingModel for Spen {
    fn stream(&self) -> Box<dyn TextStream + '_> {
        let net = &self.inference_net;
        Box::new(SpenStream { net, states: net.start() })
    }

    fn keeps_all_tokens(&self) -> bool {
        self.spec.predictor.is_softmax()
    }

    fn slowest_rate(&self) -> Option<f64> {
        (self.spec.gate == TraceGate::Fixed).then_some(COEFFICIENTS[2])
    }
}

impl FastWeightModel for Spen {
    fn stream_with_fast_weights(&self, rule: &FastWeightRule) -> Box<dyn TextStream + '_> {
        let net = &self.inference_net;
        Box::new(SpenStream { net, states: net.start_with_fast_weights(rule) })
    }
}

impl Trainable for Spen {
    params_and_spec!(Spen);

    fn loss_into(&self, batch: &Batch, _: Option<&GradAccumulator>) -> Result<Loss> {
        let encoded = self.net.read(&batch.tokens, &mut self.net.start(), &mut Tap::off())?;
        let cross_entropy = head_cross_entropy(&encoded.x, &self.net.embed, &batch.targets)?;
        let total = (&cross_entropy + (&encoded.balance * BALANCE)?)?;
        Ok(Loss { total, cross_entropy, parts: vec![("loss/balance", encoded.balance.detach())] })
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        let net = &self.inference_net;
        head_cross_entropy(&net.read(&batch.tokens, &mut net.start(), &mut Tap::off())?.x, &net.embed, &batch.targets)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let s = &self.spec;
        let blocks = || AttentionLayer::stack("blocks", s.layers, None);
        let attention_layers = match s.predictor {
            Predictor::SoftmaxAttention => blocks().into_iter().map(AttentionLayer::strictly_causal).collect(),
            Predictor::FullSoftmaxAttention => blocks(),
            Predictor::Static | Predictor::LinearAttention => vec![],
        };
        let fast_weights: Option<&dyn FastWeightModel> =
            if s.predictor == Predictor::Static { Some(self) } else { None };
        Capabilities {
            token_model: Some(self),
            attention_layers,
            trace_blocks: Some(TraceBlocks { blocks: s.layers, channels: s.d_model, units: s.hidden, kept: s.kept }),
            streaming: Some(self),
            fast_weights,
            ..Capabilities::default()
        }
    }
}

impl Model for Spen {
    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let net = &self.inference_net;
        linear(&net.read(tokens, &mut net.start(), tap)?.x, &net.embed)
    }
}
