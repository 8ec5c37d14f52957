//! A language model whose only context are exponential moving averages (SPEN, arXiv 2604.08556), and what it becomes
//! when their coefficients are trained, gated by the input, or the error is that of an attention.

mod net;
mod predictor;

use self::net::{BlockState, SpenNet};
use crate::models::prelude::*;

/// Coefficients a of the three traces, fast to slow: the paper's, and the initial values of learned ones.
pub const COEFFICIENTS: [f64; 3] = [0.5, 0.1, 0.02];

/// The gate that determines how much of a trace a token replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceGate {
    /// The same number for every channel and token, never trained.
    #[default]
    Fixed,
    /// A trained number for each channel.
    Learned,
    /// The sigmoid of a linear map of the token's state.
    InputDependent,
}

/// The form of a block's prediction of its input from earlier tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Predictor {
    /// A linear map of the slow trace's direction.
    #[default]
    Static,
    /// Strictly causal linear attention whose past decays; queries and keys from the slow trace.
    LinearAttention,
    /// Strictly causal softmax attention; queries and keys from the slow trace.
    SoftmaxAttention,
    /// The same, where the current token is looked up too.
    FullSoftmaxAttention,
}

impl Predictor {
    /// True of softmax attention, whether or not the current token is looked up.
    pub fn is_softmax(self) -> bool {
        matches!(self, Self::SoftmaxAttention | Self::FullSoftmaxAttention)
    }
}

/// The values that an attention predictor reads at the tokens that it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictorValues {
    /// The slow trace at the time of that token.
    #[default]
    Traces,
    /// The token's own state.
    Input,
}

defaults! {
    /// Sizes. At width 768, 184 of 3,072 units kept, 12 layers and 50,257 tokens: 130,629,888 parameters.
    pub struct SpenSpec {
        /// The width of the residual stream.
        pub d_model: usize = 128,
        /// The number of units of the feed-forward layer.
        pub hidden: usize = 512,
        /// The number of units that are kept for a token.
        pub kept: usize = 31,
        /// The number of blocks.
        pub layers: usize = 2,
        /// The gate of the traces.
        pub gate: TraceGate = TraceGate::Fixed,
        /// The predictor of the next input.
        pub predictor: Predictor = Predictor::Static,
        /// The values that the predictor reads.
        pub values: PredictorValues = PredictorValues::Traces,
        /// Heads of softmax attention.
        pub heads: usize = 4,
    }
}

impl SpenSpec {
    /// The paper's language model.
    pub fn paper() -> Self {
        Self { d_model: 768, hidden: 3072, kept: 184, layers: 12, heads: 12, ..Self::default() }
    }

    /// Squares of the width that a block's maps hold: four that read the traces and the error, the predictor's, the
    /// gates'.
    fn square_maps(&self) -> usize {
        let predictor = if self.predictor == Predictor::Static { 1 } else { 3 };
        let gates = if self.gate == TraceGate::InputDependent { 3 } else { 0 };
        4 + predictor + gates
    }

    /// Weights of all blocks.
    pub fn block_weights(&self) -> usize {
        let (d, hidden) = (self.d_model, self.hidden);
        let rates = if self.gate == TraceGate::Fixed { 0 } else { 3 * d };
        self.layers * (self.square_maps() * d * d + rates + 2 * d + 2 * d * hidden)
    }

    /// Weights of the whole model, whose head is its embedding.
    pub fn parameters(&self, vocab: usize) -> usize {
        vocab * self.d_model + self.block_weights() + 2 * self.d_model
    }

    /// Floating-point operations of a training step for each token: three times those of the forward pass. An attention
    /// predictor reads half of a window on average.
    pub fn training_flops(&self, vocab: usize, window: usize) -> f64 {
        let (d, hidden) = (self.d_model as f64, self.hidden as f64);
        let maps = self.square_maps() as f64 * d * d + 2.0 * d * hidden;
        let attention = if self.predictor == Predictor::Static { 0.0 } else { d * window as f64 };
        6.0 * (self.layers as f64 * (maps + attention) + vocab as f64 * d)
    }
}

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
        // traces, direction, prediction and error are tensors of their own unless the context is one operation
        let is_fused = self.gate == TraceGate::Fixed && self.predictor == Predictor::Static;
        let states = if is_fused { 12.0 } else { 19.0 };
        let each = states * d + 2.0 * (hidden + self.kept as f64) + attention + gates;
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
    net: SpenNet,
    inference_net: SpenNet,
}

impl Spen {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &SpenSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let mut params = Params::new(seed, device, DType::F32);
        let (net, inference_net) = params.build_twice(|p| SpenNet::new(p, spec, vocab))?;
        Ok(Self { spec: spec.clone(), params, net, inference_net })
    }
}

/// Reads a text part by part. With the static predictor and with linear attention it keeps as much after any number of
/// tokens; softmax attention keeps them all.
struct SpenStream<'a> {
    net: &'a SpenNet,
    states: Vec<BlockState>,
}

impl TextStream for SpenStream<'_> {
    fn read(&mut self, tokens: &Tensor) -> Result<Tensor> {
        linear(&self.net.read(tokens, Some(&mut self.states[..]), &mut Tap::off())?.x, &self.net.embed)
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
        let encoded = self.net.read(&batch.tokens, None, &mut Tap::off())?;
        let cross_entropy = head_cross_entropy(&encoded.x, &self.net.embed, &batch.targets)?;
        let total = (&cross_entropy + (&encoded.balance * BALANCE)?)?;
        Ok(Loss { total, cross_entropy, parts: vec![("loss/balance", encoded.balance.detach())] })
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        let net = &self.inference_net;
        head_cross_entropy(&net.read(&batch.tokens, None, &mut Tap::off())?.x, &net.embed, &batch.targets)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let s = &self.spec;
        let blocks = || AttentionLayer::stack("blocks", s.layers, None);
        let strictly_causal = |layer| AttentionLayer { attends_to_self: false, ..layer };
        let attention_layers = match s.predictor {
            Predictor::SoftmaxAttention => blocks().into_iter().map(strictly_causal).collect(),
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
        linear(&net.read(tokens, None, tap)?.x, &net.embed)
    }
}
