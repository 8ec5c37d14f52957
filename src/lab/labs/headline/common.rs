//! Headline numbers that several labs have.

use super::{Better, Digits, Headline, Source, measured};
use crate::telemetry::{channels, measurements::ModularityAtStep};

pub const LOSS: Headline = Headline {
    id: "held_out_loss",
    name: "held-out loss",
    unit: "nats",
    about: "Cross-entropy of the next token on text that no update saw, nats per token.",
    better: Better::Lower,
    digits: Digits::Decimals(4),
    absent: "no held-out loss was measured yet (`run.eval_every`)",
    source: Source::Scalar { channel: channels::LOSS_HELD_OUT, value: |v| v },
};

pub const PERPLEXITY: Headline = Headline {
    id: "perplexity",
    name: "perplexity",
    unit: "tokens",
    about: "exp of the held-out loss: as many tokens, all as likely, would leave one as unsure.",
    digits: Digits::Decimals(3),
    source: Source::Scalar { channel: channels::LOSS_HELD_OUT, value: f64::exp },
    ..LOSS
};

pub const ACCURACY: Headline = Headline {
    id: "accuracy",
    name: "accuracy",
    unit: "",
    about: "Share of right answers where a held-out text asks, 0 to 1.",
    better: Better::Higher,
    digits: Digits::Decimals(4),
    absent: "the text asks no question",
    source: Source::Scalar { channel: channels::ACCURACY, value: |v| v },
};

/// A race's verdict: the paired difference of losses.
pub const DIFFERENCE_FROM_FIRST: Headline = Headline {
    id: "loss_beside_first",
    name: "loss minus that of the first variant",
    about: "Held-out loss minus that of the run's first variant with the same seed; over seeds with its 95% interval.",
    absent: "there is one variant, and nothing to compare it with",
    source: Source::DifferenceFromFirst { channel: channels::LOSS_HELD_OUT },
    ..LOSS
};

pub const MODULARITY: Headline = Headline {
    id: "modularity",
    name: "Q",
    unit: "",
    about: "Newman's modularity of the strongest entries of G (`graph.matrix`, `graph.sign`) as a graph, at the number of edges of the settings.",
    better: Better::Neither,
    digits: Digits::Decimals(3),
    absent: "the graph was not measured yet (`probe.graph_curve_every`)",
    source: measured!(ModularityAtStep, |m| m.model),
};

pub const MODULARITY_REWIRED: Headline = Headline {
    id: "modularity_rewired",
    name: "Q, degrees kept",
    about: "Modularity of the same graph with its edges rewired and every degree as it was.",
    source: measured!(ModularityAtStep, |m| m.degree_preserving),
    ..MODULARITY
};
