//! Sizes and switches of BDH-GPU: plain data.

use std::path::PathBuf;

use crate::{models::prelude::*, nn::fused::linear_attention::LinearAttentionSpec};

/// The state transition U: the effect of time on a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Rotary position: pairs of neurons rotate.
    #[default]
    Rope,
    /// ALiBi: traces decay.
    Alibi,
    /// Pairs of neurons rotate and traces decay.
    Both,
    /// Time leaves traces unchanged.
    Nothing,
}

choices! { for Position { Rope = "rope", Alibi = "alibi", Both = "both", Nothing = "nothing" } }

/// The way in which a layer joins its input and the residual stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The public code: x = relu(D_x v), v <- LN(v + LN(E y)).
    #[default]
    Code,
    /// Equations (4) and (8): x <- x + relu(D_x v), v <- LN(E y).
    Paper,
    /// Both residuals, as in some versions of krychu/bdh: x <- x + relu(D_x v), v <- LN(v + LN(E y)).
    Both,
    /// One norm at the end instead of one per layer, as in lucidrains/bdh-cq: x = relu(D_x v), v <- v + LN(E y), and
    /// the head reads LN(v).
    FinalNorm,
    /// Equation (7), BDH-Normfree: no norm anywhere, x <- x + relu(D_x v), v <- E y. A layer is a polynomial of degree
    /// four in its input and five in the weights, so that the size of both decides whether activations vanish or
    /// explode.
    Normfree,
}

choices! { for Form { Code = "code", Paper = "paper", Both = "both", FinalNorm = "final_norm", Normfree = "normfree" } }

impl Form {
    /// True if a layer of this form is one operation, where nothing else asks for several.
    pub(super) fn is_fused(self) -> bool {
        matches!(self, Self::Code | Self::FinalNorm)
    }

    /// True if x is added up over the layers.
    pub(super) fn accumulates_x(self) -> bool {
        matches!(self, Self::Paper | Self::Both | Self::Normfree)
    }
}

defaults! {
    /// The sizes of a model; the defaults are those of the lab. With V = D = 256 and n = 32,768: 25,296,896 parameters.
    pub struct BdhSpec {
        /// The width D of the residual stream.
        pub d_model: usize = 64,
        /// The number of heads, nh.
        pub heads: usize = 4,
        /// The number of neurons of all heads together, n = nh N.
        pub neurons: usize = 2048,
        /// The number of layers, L, which all share one set of weights.
        pub layers: usize = 4,
        /// The state transition U.
        pub position: Position = Position::Rope,
        /// The form of the equations.
        pub form: Form = Form::Code,
        /// True if gradients reach keys and values (backpropagation through time).
        pub through_past: bool = true,
        /// BDH-GPU', our reading of one sentence of appendix B.2: each head weighs what it writes into its
        /// state, and the logits are a learned mean of all layers'. Experimental; adds nh (D + 1) + L weights.
        pub gated: bool = false,
        /// The state that is carried from window to window; `None` begins every window with an empty state.
        pub carry: Option<Carry> = None,
        /// Standard deviation of every weight before training; the public code's is 0.02.
        pub init_std: f64 = INIT_STD,
        /// Share of y that training sets to 0, as in the public code, whose own setting is 0.1; 0 is none.
        pub dropout: f64 = 0.0,
        /// Rotation per token by pair of neurons `(N / 2)`, where it differs from the usual: in a merged model.
        pub frequencies: Option<Arc<[f32]>> = None,
        /// The neurons of each head of a merged model, by the model that they come from, in order.
        #[serde(alias = "heritage")]
        pub provenance: Vec<usize> = vec![],
        /// A checkpoint to begin from ([`super::import_state_dict`]); then the sizes above are the file's.
        pub weights: Option<PathBuf> = None,
        /// True to build two of these side by side, as the target of a merge; weights are drawn.
        pub twofold: bool = false,
    }
}

/// Standard deviation of every initial weight of the public code.
const INIT_STD: f64 = 0.02;

/// Numbers for each neuron and position that a composed layer keeps: about fifteen results of operations, and the
/// gradient of each.
const COMPOSED: f64 = 30.0;

impl BdhSpec {
    /// Returns the number of neurons of a head, N.
    pub fn per_head(&self) -> usize {
        self.neurons / self.heads.max(1)
    }

    /// See [`SynapseShape::parameters`].
    pub fn parameters(&self, vocab: usize) -> usize {
        self.shape().parameters(vocab)
    }

    /// The sizes as probes see them.
    pub fn shape(&self) -> SynapseShape {
        let Self { d_model, heads, neurons, layers, gated, .. } = *self;
        let (position, form, provenance) = (self.position.id(), self.form.id(), self.provenance.clone());
        SynapseShape { d_model, heads, neurons, layers, attention: self.attention(), position, form, gated, provenance }
    }

    /// See [`FamilySpec::memory`](crate::models::FamilySpec::memory). The fused operation of a layer saves x, y before
    /// its gate, attention's result and, for texts no longer than a head has neurons, the scores; where a layer is
    /// composed of operations, each of them saves its own.
    pub(super) fn step_memory(&self, step: &StepSizes) -> StepMemory {
        let (d, h, n, layers) = (self.d_model as f64, self.heads as f64, self.neurons as f64, self.layers as f64);
        let positions = step.positions();
        let pairs = step.rows * h * step.tokens * step.tokens;
        let is_fused = self.form.is_fused() && !self.gated && self.carry.is_none() && self.dropout == 0.0;
        let maps = 3.0 * n * d;
        let carried = self.carry.map_or(0.0, |c| layers * c.rows as f64 * n * d);
        let gates = if self.gated { h * (d + 1.0) + layers } else { 0.0 };
        let scores = if step.tokens <= n / h { pairs / 2.0 } else { 0.0 };
        let (saved, working) = match is_fused {
            true => (positions * (2.0 * n + h * d + 6.0 * d) + scores, positions * 2.0 * n),
            false => (positions * (COMPOSED * n + 4.0 * h * d + 6.0 * d) + 6.0 * pairs, positions * 4.0 * n),
        };
        StepMemory {
            weights: maps + 2.0 * step.vocab * d + gates + carried,
            shared: maps,
            activations: layers * saved + working + carried + step_memory::head(self.d_model, step),
        }
    }

    /// Returns the parameters of the linear attention of each layer.
    pub fn attention(&self) -> LinearAttentionSpec {
        LinearAttentionSpec {
            rotary: matches!(self.position, Position::Rope | Position::Both),
            damped: matches!(self.position, Position::Alibi | Position::Both),
            through_past: self.through_past,
            frequencies: self.frequencies.clone(),
        }
    }

    /// Errors name the size that does not fit.
    pub fn check(&self) -> Result<()> {
        let Self { d_model: d, heads: h, neurons: n, layers, .. } = *self;
        let is_whole = ![d, h, layers, n].contains(&0);
        ensure!(is_whole, "width {d}, heads {h}, neurons {n} and layers {layers} must all be at least 1");
        ensure!((0.0..1.0).contains(&self.dropout), "dropout {} must be at least 0 and less than 1", self.dropout);
        let spread = self.init_std;
        ensure!(spread.is_finite() && spread > 0.0, "initial weights need a standard deviation above 0, not {spread}");
        ensure!(n.is_multiple_of(h), "{n} neurons do not divide among {h} heads; choose a multiple of {h}");
        let turns = !self.attention().rotary || (n / h).is_multiple_of(2);
        ensure!(turns, "{} neurons per head do not turn in pairs; choose an even number", n / h);
        Ok(())
    }
}
