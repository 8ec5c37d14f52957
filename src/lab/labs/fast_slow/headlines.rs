//! The lab's result: whether the gate opened, and what that is worth.

use crate::{
    labs::headline::{
        Better, Digits, Headline, Source,
        common::{ACCURACY, LOSS},
    },
    telemetry::channels,
};

pub static ALL: &[Headline] = &[
    LOSS,
    ACCURACY,
    Headline {
        id: "gate",
        name: "|tanh γ|",
        unit: "",
        about: "Opening of the gate at the end, whichever side it opened to: 0 is shut, 1 wide open.",
        better: Better::Neither,
        digits: Digits::Decimals(4),
        absent: "no variant has a gate",
        source: Source::Scalar { channel: channels::GATE, value: f64::abs },
    },
];
