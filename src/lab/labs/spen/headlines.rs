//! The lab's result: how much each mechanism closes of the gap.

use crate::labs::prelude::*;

pub static ALL: &[Headline] = &[
    common::LOSS,
    common::PERPLEXITY,
    common::ACCURACY,
    common::DIFFERENCE_FROM_FIRST,
    common::LOSS
        .like("unigram_loss", "loss of frequencies", measured!(TokenBaselines, |m| finite(m.unigram)))
        .better(Better::Neither)
        .about("Cross-entropy of a predictor that uses only how often each token occurs, on the same text, nats per token.")
        .absent("tokens were not counted"),
    Headline::new(
        "first_layer",
        "layer 1 at the end",
        measured!(LayerReadout, |m| m.explained.last().copied().and_then(finite)),
    )
    .decimals(3)
    .about("R\u{b2} of a linear map from what the last norm reads to what the first layer added, held-out tokens: 1 is all of it, 0 nothing.")
    .absent("no variant is a transformer (`depth.fixed`, `compare.transformer`), or none was measured"),
];

pub static LARGE_NUMBERS: &[LargeNumber] =
    &[large::common::DIFFERENCE_FROM_FIRST, large::common::ACCURACY, large::common::LOSS];
