//! The lab's result: how much each mechanism closes of the gap.

use crate::{
    labs::prelude::*,
    telemetry::measurements::{LayerReadout, TokenBaselines},
};

pub static ALL: &[Headline] = &[
    common::LOSS,
    common::PERPLEXITY,
    common::ACCURACY,
    common::DIFFERENCE_FROM_FIRST,
    Headline {
        id: "unigram_loss",
        name: "loss of frequencies",
        about: "Cross-entropy of a predictor that knows only how often each token occurs, on the same text, nats per token.",
        better: Better::Neither,
        absent: "tokens were not counted",
        source: measured!(TokenBaselines, |m| Some(m.unigram).filter(|loss| loss.is_finite())),
        ..common::LOSS
    },
    Headline {
        id: "first_layer",
        name: "layer 1 at the end",
        unit: "",
        about: "R\u{b2} of a linear map from what the last norm reads to what the first layer added, held-out tokens: 1 is all of it, 0 nothing.",
        better: Better::Neither,
        digits: Digits::Decimals(3),
        absent: "no variant is a transformer (`depth.fixed`, `compare.transformer`), or none was measured",
        source: measured!(LayerReadout, |m| m.explained.last().copied().filter(|r| r.is_finite())),
    },
];

pub static LARGE_NUMBERS: &[LargeNumber] =
    &[large::common::DIFFERENCE_FROM_FIRST, large::common::ACCURACY, large::common::LOSS];
