//! The lab's result: whether the gate opened, and what that is worth.

use crate::{
    labs::prelude::*,
    telemetry::measurements::{GateEntropy, Residual, ResidualMethod},
};

/// |x - Post(x)| / |x| in the last round, where one pass ends.
fn after_one_pass(measured: &Residual) -> Option<f64> {
    let passes = measured.curves.iter().filter(|curve| curve.method == ResidualMethod::Passes);
    passes.max_by_key(|curve| curve.round)?.residual.get(1).copied()
}

pub static ALL: &[Headline] = &[
    common::LOSS,
    common::DIFFERENCE_FROM_FIRST,
    common::ACCURACY,
    Headline {
        id: "residual",
        name: "residual after one pass",
        unit: "",
        about: "|x - Post(x)| / |x| after one pass of Post in the last round: 0 where one pass reaches the fixed point.",
        better: Better::Neither,
        digits: Digits::Decimals(4),
        absent: "no variant refines a state, or none was measured",
        source: measured!(Residual, after_one_pass),
    },
    Headline {
        id: "slow_memory",
        name: "slow memory",
        unit: "slow tokens",
        about: "Median effective memory -1 / ln a of a slow path that decays; the block mean alone holds one slow token, P tokens.",
        better: Better::Neither,
        digits: Digits::Decimals(2),
        absent: "the slow path of no variant decays (`variants.gated_linear`, `variants.decay`)",
        source: Source::Scalar { channel: channels::MEMORY_MEDIAN, value: |v| v },
    },
    Headline {
        id: "gate_entropy",
        name: "entropy behind the gate",
        unit: "nats",
        about: "Mean entropy of the attention after the last injection, less the same with the gate shut: below 0 the open gate sharpens it.",
        better: Better::Neither,
        digits: Digits::Decimals(4),
        absent: "no variant has a gate, or its entropy was not measured (`probe.gate_entropy_every`)",
        source: measured!(GateEntropy, |m| m.change()),
    },
    Headline {
        id: "gate_entropy_loss",
        name: "entropy with loss",
        unit: "",
        about: "Rank correlation by token of what the open gate changes in the entropy and in the loss: above 0 the loss falls where attention is sharper.",
        better: Better::Neither,
        digits: Digits::Decimals(3),
        absent: "no gate is open, or its entropy was not measured (`probe.gate_entropy_every`)",
        source: measured!(GateEntropy, |m| Some(m.with_loss.rho).filter(|rho| rho.is_finite())),
    },
    Headline {
        id: "gate",
        name: "|tanh γ|",
        unit: "",
        about: "How far the gate is open, |tanh γ|, whichever side it opened to: 0 is shut, 1 wide open.",
        better: Better::Neither,
        digits: Digits::Decimals(4),
        absent: "no variant has a gate",
        source: Source::Scalar { channel: channels::GATE, value: f64::abs },
    },
];

/// Below the first limit the paper calls a gate closed: its own stay within 0.01 of zero. Below the second the slow stream
/// adds at most a tenth of what it would through a gate wide open.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new(
        "gate",
        "gate size, |tanh γ|",
        "gate",
        Meaning::Limits { below: &[(0.01, "closed"), (0.1, "slightly open")], otherwise: "open" },
    ),
    large::common::ACCURACY,
    large::common::LOSS,
];
