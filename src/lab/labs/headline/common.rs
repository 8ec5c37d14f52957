//! Headline numbers that several labs have.

use super::{Better, Headline, Source, measured};
use crate::telemetry::{channels, measurements::ModularityAtStep};

pub const LOSS: Headline = Headline::new("held_out_loss", "held-out loss", Source::scalar(channels::LOSS_HELD_OUT))
    .unit("nats")
    .better(Better::Lower)
    .about("Cross-entropy of the next token on text that no update saw, nats per token.")
    .absent("no held-out loss has been measured yet (`run.eval_every`)");

pub const PERPLEXITY: Headline = LOSS
    .like("perplexity", "perplexity", Source::Scalar { channel: channels::LOSS_HELD_OUT, value: f64::exp })
    .unit("tokens")
    .decimals(3)
    .about("exp of the held-out loss: the number of equally likely tokens that would leave a guess as unsure.");

pub const ACCURACY: Headline = Headline::new("accuracy", "accuracy", Source::scalar(channels::ACCURACY))
    .better(Better::Higher)
    .about("Share of correct answers where a held-out text asks, 0 to 1.")
    .absent("the text asks no question");

/// A race's verdict: the paired difference of losses.
pub const DIFFERENCE_FROM_FIRST: Headline = LOSS
    .like(
        "loss_beside_first",
        "loss minus that of the first variant",
        Source::DifferenceFromFirst { channel: channels::LOSS_HELD_OUT },
    )
    .about("Held-out loss minus that of the run's first variant with the same seed; over seeds with its 95% interval.")
    .absent("there is one variant, and nothing to compare it with");

pub const MODULARITY: Headline = Headline::new("modularity", "Q", measured!(ModularityAtStep, |m| m.model))
    .decimals(3)
    .about("Newman's modularity of the strongest entries of G (`graph.matrix`, `graph.sign`) as a graph, at the number of edges of the settings.")
    .absent("the graph has not been measured yet (`probe.graph_curve_every`)");

pub const MODULARITY_REWIRED: Headline = MODULARITY
    .like("modularity_rewired", "Q, degrees kept", measured!(ModularityAtStep, |m| m.degree_preserving))
    .about("Modularity of the same graph with its edges rewired and every degree as it was.");
