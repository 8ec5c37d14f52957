//! The lab's result: whether an opened model can read the run's text, and how far its neurons fall into communities.

use crate::{
    labs::prelude::*,
    telemetry::{
        Measurement,
        measurements::{ModularityAtStep, TrainedBdh},
    },
};

const LOSS: Headline = Headline {
    id: "loss",
    name: "loss",
    unit: "nats",
    about: "Mean loss of the model on held-out windows of the text, nats per token.",
    better: Better::Lower,
    digits: Digits::Decimals(4),
    absent: "the model was not measured yet (`probe.every`)",
    source: measured!(TrainedBdh, |m| m.loss),
};

const GRAPH: &str = "the graph was not measured yet (`probe.every`)";

pub static ALL: &[Headline] = &[
    LOSS,
    Headline {
        id: "frequency_loss",
        name: "loss of frequencies",
        about: "What guessing by the frequencies of the tokens costs on the same windows: a model that has learned \
                from the text stays below.",
        better: Better::Neither,
        source: measured!(TrainedBdh, |m| m.frequency_loss),
        ..LOSS
    },
    Headline { absent: GRAPH, ..common::MODULARITY },
    Headline { absent: GRAPH, ..common::MODULARITY_REWIRED },
];

/// The loss is compared with that of the tokens' frequencies on the same windows. A rewired graph is a single draw, and of
/// the null models often the least modular, so Q is shown beside its Q without a verdict, and it is called one null.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new("loss", "loss", "trained_bdh", Meaning::compared_to("frequency_loss", "frequencies")),
    LargeNumber::new(
        "modularity",
        "modularity Q",
        "graph_modularity",
        Meaning::given("modularity_rewired", "one null (same degrees)"),
    )
    .measured_on("edges", |payload| ModularityAtStep::from_payload(payload).map(|m| m.edges)),
];
