//! The transformer of the coupled query-key paper (arXiv 2604.01683): one net, and many ways to score its
//! attention.

mod net;
mod spec;

pub use spec::{CoupledQkSpec, EvolvedLayers, QkVariant};

use self::net::{CLASS_HEAD, CoupledQkNet};
use super::DEFAULT_ADVICE;
use crate::{
    models::prelude::*,
    nn::attention::{Evolution, KeyValueCache},
};

impl FamilySpec for CoupledQkSpec {
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let block = self.block_sizes();
        let (d, n) = (self.d_model as f64, step.positions());
        let positions = if self.rotary { 0.0 } else { self.positions as f64 };
        let classes = self.classes.unwrap_or(0) as f64;
        let outputs = StepSizes { vocab: self.classes.map_or(step.vocab, |k| k as f64), ..*step };
        StepMemory {
            weights: (step.vocab + positions + 1.0 + classes) * d + self.blocks_weights() as f64,
            shared: self.fused_weights() as f64,
            activations: self.saved_activations(n, step.tokens)
                + block.backward(n)
                + step_memory::head(self.d_model, &outputs),
        }
    }

    fn flops_per_token(&self, vocab: usize, window: usize) -> Option<f64> {
        Some(self.training_flops(vocab, window))
    }

    fn tiny() -> Self {
        Self {
            d_model: 16,
            layers: 2,
            hidden: 32,
            positions: 24,
            variant: QkVariant::Hamiltonian,
            steps: 2,
            ..Self::default()
        }
    }
}

/// A decoder with learned or rotary positions and a tied head, or one that classifies whole texts. Taps:
/// `layers.i.attn.weights`, queries and keys before (`layers.i.attn.q0`, `k0`) and after the evolution (`q`, `k`),
/// `(B, H, T, d)`, and `final`.
pub struct CoupledQk {
    spec: CoupledQkSpec,
    params: Params,
    net: CoupledQkNet,
    inference_net: CoupledQkNet,
}

impl CoupledQk {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &CoupledQkSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let mut params = Params::new(seed, device, DType::F32);
        let (net, inference_net) = params.build_twice(|p| CoupledQkNet::new(p, spec, vocab))?;
        Ok(Self { spec: spec.clone(), params, net, inference_net })
    }

    /// A text that is read token by token.
    pub fn stream(&self) -> CoupledQkStream<'_> {
        CoupledQkStream { net: &self.inference_net, caches: vec![KeyValueCache::default(); self.spec.layers] }
    }

    /// The states before the head, `(B, T, D)`, of a training step.
    fn states(&self, net: &CoupledQkNet, batch: &Batch, accumulator: Option<&GradAccumulator>) -> Result<Tensor> {
        match accumulator.filter(|_| self.spec.gradient_checkpointing) {
            Some(accumulator) => {
                let variables: Vec<_> = self.params.iter().map(|(_, var)| var.as_tensor().clone()).collect();
                net.encode_recomputed(&batch.tokens, &variables, accumulator)
            }
            None => net.encode(&batch.tokens, &mut Tap::off()),
        }
    }
}

/// Reads a text token by token, with the keys and values of those before.
pub struct CoupledQkStream<'a> {
    net: &'a CoupledQkNet,
    caches: Vec<KeyValueCache>,
}

impl CoupledQkStream<'_> {
    /// The next token of each text, u32 `(B, 1)` -> logits `(B, 1, V)`, as if the whole text had been read at once. An
    /// error says when the model has no positions left.
    pub fn read(&mut self, token: &Tensor) -> Result<Tensor> {
        linear(&self.net.read_next(token, &mut self.caches)?, self.net.head())
    }
}

impl Trainable for CoupledQk {
    params_and_spec!(CoupledQk);

    fn loss_into(&self, batch: &Batch, accumulator: Option<&GradAccumulator>) -> Result<Loss> {
        let net = self.net.with_shared_weights(accumulator)?;
        Ok(head_cross_entropy(&self.states(&net, batch, accumulator)?, net.head(), &batch.targets)?.into())
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        let net = &self.inference_net;
        head_cross_entropy(&self.states(net, batch, None)?, net.head(), &batch.targets)
    }

    fn advice_on_divergence(&self) -> &'static str {
        match self.spec.variant.has_steps() {
            true => "Shorter or fewer steps of queries and keys, or a smaller learning rate, usually help",
            false => DEFAULT_ADVICE,
        }
    }

    /// A classifier that continues from a language model keeps its own head, as drawn.
    fn load_from(&self, sources: &[&dyn Trainable]) -> Result<Vec<String>> {
        let &[source] = sources else { bail!("a transformer takes over from one transformer") };
        let heads = [self.params.get(CLASS_HEAD), source.params().get(CLASS_HEAD)];
        for (name, _) in self.params.iter() {
            match source.params().get(name) {
                Some(value) => self.params.load(name, value.as_tensor())?,
                None if name == CLASS_HEAD => {}
                None => bail!("the model that it takes over from has no parameter `{name}`"),
            }
        }
        Ok(match heads {
            [Some(head), None] => {
                vec![format!("the head of {} classes is drawn, all else is taken over", head.dim(0)?)]
            }
            _ => vec![],
        })
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let is_differential = self.spec.variant.is_differential();
        let layers = AttentionLayer::stack("layers", self.spec.layers, None).into_iter();
        let attention_layers = layers.map(|layer| AttentionLayer { is_differential, ..layer }).collect();
        Capabilities {
            // a classifier's logits are not those of tokens
            token_model: self.spec.classes.is_none().then_some(self as &dyn Model),
            text_classifier: self.spec.classes.is_some().then_some(self as &dyn TextClassifier),
            attention_layers,
            positions: (!self.spec.rotary).then_some(self.spec.positions),
            query_key_dynamics: Some(self),
            ..Capabilities::default()
        }
    }
}

impl Model for CoupledQk {
    /// A classifier gives the logits of its classes.
    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        linear(&self.inference_net.encode(tokens, tap)?, self.inference_net.head())
    }
}

impl TextClassifier for CoupledQk {
    fn classes(&self) -> usize {
        self.spec.classes.unwrap_or(0)
    }

    fn class_logits(&self, tokens: &Tensor) -> Result<Tensor> {
        self.logits(tokens, &mut Tap::off())
    }
}

impl QueryKeyDynamics for CoupledQk {
    fn layers(&self) -> usize {
        self.spec.layers
    }

    fn layer(&self, layer: usize) -> Result<Option<LayerDynamics>> {
        let Some(block) = self.inference_net.layers.get(layer) else {
            bail!("there is no layer {layer}, only {}", self.spec.layers)
        };
        let Some((spec, [first, second, tau])) = block.evolution().and_then(Evolution::coupled) else {
            return Ok(None);
        };
        Ok(Some(LayerDynamics {
            first: host::to_f32(first)?,
            second: host::to_f32(second)?,
            head_dim: spec.head_dim,
            dt: host::to_f64(tau)?.into_iter().map(f64::exp).collect(),
            steps: spec.steps,
            scheme: spec.scheme,
        }))
    }
}
