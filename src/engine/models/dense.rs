//! The dense decoders that fast-slow is measured against.

use crate::{
    models::prelude::*,
    nn::{
        attention::{GroupedQueryAttention, GroupedQuerySpec},
        block::{LlamaBlockSpec, llama_block},
        mlp::MlpKind,
    },
};

/// The gated MLP's activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatedAct {
    /// The gate is SiLU (SwiGLU).
    #[default]
    Swiglu,
    /// The gate is GELU (GEGLU).
    Geglu,
}

defaults! {
    /// Sizes. The default is the larger baseline: 1,025,408 parameters at a vocabulary of 320.
    pub struct DenseSpec {
        /// The width of the residual stream.
        pub d_model: usize = 128,
        /// The number of layers.
        pub layers: usize = 4,
        /// The number of query heads.
        pub heads: usize = 4,
        /// The number of key and value heads; it divides `heads`.
        pub kv_heads: usize = 2,
        /// Width of the gated MLP.
        pub hidden: usize = 512,
        /// The activation of the gated MLP.
        pub act: GatedAct = GatedAct::Swiglu,
        /// Query t sees keys t-window+1..=t; `None` sees the whole past.
        pub window: Option<usize> = None,
    }
}

impl DenseSpec {
    /// The smaller baseline: 584,736 parameters at a vocabulary of 320.
    pub fn small() -> Self {
        Self { d_model: 96, hidden: 384, act: GatedAct::Geglu, ..Self::default() }
    }
}

impl FamilySpec for DenseSpec {
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let block = BlockSizes::llama(self.d_model, self.heads, self.kv_heads, self.hidden);
        let (d, layers, n) = (self.d_model as f64, self.layers as f64, step.positions());
        StepMemory {
            weights: step.vocab * d + layers * block.weights() + d,
            shared: layers * block.weights(),
            activations: layers * block.saved(n, step.tokens)
                + block.backward(n)
                + step_memory::head(self.d_model, step),
        }
    }

    fn tiny() -> Self {
        Self { d_model: 16, layers: 2, hidden: 32, window: Some(3), ..Self::default() }
    }
}

#[derive(Clone)]
struct DenseDecoder {
    embed: Tensor, // (V, D)
    layers: Vec<Block>,
    norm: Tensor, // (D)
}

impl DenseDecoder {
    /// The net for a training step, whose accumulator, if there is one, takes the weights of the blocks.
    fn with_shared_weights(&self, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        Ok(Self { layers: block::with_shared_weights(&self.layers, accumulator)?, ..self.clone() })
    }

    /// tokens `(B, T)` -> normalised `(B, T, D)`
    fn encode(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let x = block::run(&self.layers, &embedding(&self.embed, tokens)?, tap, None)?;
        tap.offer("final", || Ok(x.clone()))?;
        rms_norm(&x, &self.norm, EPS)
    }

    fn cross_entropy(&self, batch: &Batch) -> Result<Tensor> {
        head_cross_entropy(&self.encode(&batch.tokens, &mut Tap::off())?, &self.embed, &batch.targets)
    }
}

/// A decoder with gated MLPs and a tied head. Taps: `layers.i.attn.weights`, `final`.
pub struct Dense {
    spec: DenseSpec,
    params: Params,
    net: DenseDecoder,
    inference_net: DenseDecoder,
}

impl Dense {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &DenseSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let mut p = Params::new(seed, device, DType::F32);
        let DenseSpec { d_model, heads, kv_heads, window, hidden, .. } = *spec;
        let (writers, qk_norms, rotary) = (2 * spec.layers, true, true);
        let mlp = MlpKind::Gated(match spec.act {
            GatedAct::Swiglu => Act::Silu,
            GatedAct::Geglu => Act::Gelu,
        });
        let sizes = LlamaBlockSpec { d_model, hidden, mlp, writers };
        let attention = GroupedQuerySpec { d_model, heads, kv_heads, window, qk_norms, rotary, writers };
        let block = |p: &mut Params, i: usize| {
            llama_block(p, &format!("layers.{i}"), &sizes, |p, path| {
                Ok(Arc::new(GroupedQueryAttention::new(p, path, &attention)?))
            })
        };
        let (net, inference_net) = p.build_twice(|p| {
            Ok(DenseDecoder {
                embed: p.normal("embed.weight", (vocab, d_model), EMBEDDING_STD)?,
                layers: (0..spec.layers).map(|i| block(p, i)).collect::<Result<_>>()?,
                norm: p.ones("norm.weight", d_model)?,
            })
        })?;
        Ok(Self { spec: spec.clone(), params: p, net, inference_net })
    }
}

impl Trainable for Dense {
    params_and_spec!(Dense);

    fn loss_into(&self, batch: &Batch, accumulator: Option<&GradAccumulator>) -> Result<Loss> {
        Ok(self.net.with_shared_weights(accumulator)?.cross_entropy(batch)?.into())
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.inference_net.cross_entropy(batch)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let attention_layers = AttentionLayer::stack("layers", self.spec.layers, self.spec.window);
        Capabilities { token_model: Some(self), attention_layers, ..Capabilities::default() }
    }
}

impl Model for Dense {
    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        linear(&self.inference_net.encode(tokens, tap)?, &self.inference_net.embed)
    }
}
