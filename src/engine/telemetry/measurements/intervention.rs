//! The effect of an intervention on neurons or synapses on a model's predictions.

use super::LikelyToken;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// A text read twice, as the model is and while chosen neurons or synapses are silenced, scaled or held at a value; and the
    /// same done to random ones that are as active.
    pub struct InterventionEffect in "synapses.intervention" answers InterventionArgs {
        /// Somebody typed the text; else it is a held-out passage.
        pub is_typed: bool,
        /// The changed neurons, `head:index`, counted from 0; none where synapses are changed.
        pub neurons: Vec<String>,
        /// The changed synapses, `layer y>x`: from a neuron of y in the layer before to one of x in this layer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub synapses: Vec<String>,
        /// The change that is made to them, in words.
        pub action: String,
        /// How often the neurons fire as the model is: the share of tokens and layers where y of a neuron is above 0; NaN for
        /// synapses.
        pub firing: f64,
        /// The same of the random neurons.
        pub null_firing: f64,
        /// Mean sigma of the synapses after the text, the sum of y(i) x(j) over its tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub sigma: Option<Number<f64>>,
        /// The same of the random synapses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub null_sigma: Option<Number<f64>>,
        /// -ln p of each token as the model is, nats, `(T)`; NaN at the first.
        pub loss_before: Numbers,
        /// The same with the change, `(T)`.
        pub loss_after: Numbers,
        /// Relative entropy of the next token's distribution as the model is to that with the change, nats, `(T)`.
        pub divergence: Numbers,
        /// The same for random neurons or synapses, mean over draws, `(T)`.
        pub null_divergence: Numbers,
        /// Mean over the text of each draw of random ones, nats.
        pub null_draws: Numbers,
        /// The likeliest tokens after the text as the model is.
        pub before: Vec<LikelyToken>,
        /// The likeliest with the change.
        pub after: Vec<LikelyToken>,
        /// How the text continues as the model is, each token the likeliest.
        pub continuation_before: String,
        /// The same with the change.
        pub continuation_after: String,
    }
}

/// Names that are written out.
const MAX_NAMED: usize = 6;

impl InterventionEffect {
    /// The changed neurons or synapses, the first few by name.
    pub fn names(&self) -> String {
        let all = if self.synapses.is_empty() { &self.neurons } else { &self.synapses };
        match all.len().saturating_sub(MAX_NAMED) {
            0 => all.join(", "),
            more => format!("{} and {more} more", all[..MAX_NAMED].join(", ")),
        }
    }

    /// "neurons" or "synapses".
    pub fn kind(&self) -> &'static str {
        if self.synapses.is_empty() { "neurons" } else { "synapses" }
    }

    /// Mean of the divergence over the text, nats.
    pub fn mean_divergence(&self) -> f64 {
        self.divergence.iter().sum::<f64>() / self.divergence.len().max(1) as f64
    }

    /// Draws of random ones that change the text at least as much.
    pub fn draws_above(&self) -> usize {
        let own = self.mean_divergence();
        self.null_draws.iter().filter(|draw| **draw >= own).count()
    }
}

choices! {
    /// The target of the change.
    pub enum TargetKind {
        /// Activations of neurons.
        Neurons = "neurons",
        /// The strengths of synapses.
        Synapses = "synapses",
    }
}

choices! {
    /// The change of neurons or synapses.
    pub enum ActionKind {
        /// The values are set to 0.
        Silence = "silence",
        /// The values are multiplied by a factor.
        Scale = "scale",
        /// The values are held at a constant.
        Clamp = "clamp",
    }
}

choices! {
    /// The activation that is changed.
    pub enum ChangedPart {
        /// The activation x.
        X = "x",
        /// The activation y.
        Y = "y",
    }
}

arguments! {
    /// A change of neurons or synapses.
    pub struct ChangeArgs asks "intervention" {
        /// Neurons or synapses are changed.
        target: TargetKind = TargetKind::Neurons,
        /// Neurons as head:index, both counted from 0, separated by commas.
        neurons: String = String::new(),
        /// Synapses as layer y>x, separated by commas.
        synapses: String = String::new(),
        /// The activation, or what the synapse holds, becomes 0 (silence), is multiplied by the amount (scale), or is the amount (clamp).
        action: ActionKind = ActionKind::Silence,
        /// Factor of scale, or value of clamp.
        amount: f64 = 0.0,
        /// Activation of neurons: x (the neuron as a key and a query, and with it y) or y (what it writes).
        part: ChangedPart = ChangedPart::X,
        /// Layer of neurons where it is done, counted from 0; every layer if below 0.
        layer: i64 = -1,
    }
}

arguments! {
    /// A text read with and without a change of neurons or synapses.
    pub struct InterventionArgs asks "intervention" with change: ChangeArgs {
        /// Text that is read; a held-out passage if empty.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// Tokens after which reading stops.
        #[range(2..=65_536)]
        longest: usize = 128,
        /// Random sets of neurons or synapses to compare with.
        #[range(0..=1000)]
        draws: usize = 8,
        /// Tokens of the continuations, each the likeliest.
        #[range(0..=4096)]
        length: usize = 24,
    }
}
