//! The lab's result: whether an opened model can read the run's text, and how far its neurons fall into communities.

use crate::labs::prelude::*;

const LOSS: Headline = Headline::new("loss", "loss", measured!(TrainedBdh, |m| m.loss))
    .unit("nats")
    .better(Better::Lower)
    .about("Mean loss of the model on held-out windows of the text, nats per token.")
    .absent("the model has not been measured yet (`probe.every`)");

const NO_GRAPH: &str = "the graph has not been measured yet (`probe.every`)";

pub static ALL: &[Headline] = &[
    LOSS,
    LOSS.like("frequency_loss", "loss of frequencies", measured!(TrainedBdh, |m| m.frequency_loss))
        .better(Better::Neither)
        .about(
            "What guessing by the frequencies of the tokens costs on the same windows: a model that has learned \
                from the text stays below.",
        ),
    common::MODULARITY.absent(NO_GRAPH),
    common::MODULARITY_REWIRED.absent(NO_GRAPH),
];

/// The loss is compared with that of the tokens' frequencies on the same windows. A rewired graph is a single draw, and of
/// the null models often the least modular, so Q is shown beside its Q without a verdict, and it is called one null.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new("loss", "loss", "trained_bdh").compared_to("frequency_loss", "frequencies"),
    LargeNumber::new("modularity", "modularity Q", "graph_modularity")
        .given("modularity_rewired", "one null (same degrees)")
        .measured_on("edges", |payload| ModularityAtStep::from_payload(payload).map(|m| m.edges)),
];
