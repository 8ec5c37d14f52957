//! The lab's result: whether the gate opened, and what that is worth.

use crate::labs::prelude::*;

/// |x - Post(x)| / |x| in the last round, where one pass ends.
fn after_one_pass(measured: &Residual) -> Option<f64> {
    let passes = measured.curves.iter().filter(|curve| curve.method == ResidualMethod::Passes);
    passes.max_by_key(|curve| curve.round)?.residual.get(1).copied()
}

pub static ALL: &[Headline] = &[
    common::LOSS,
    common::DIFFERENCE_FROM_FIRST,
    common::ACCURACY,
    Headline::new("residual", "residual after one pass", measured!(Residual, after_one_pass))
        .about("|x - Post(x)| / |x| after one pass of Post in the last round: 0 where one pass reaches the fixed point.")
        .absent("no variant refines a state, or none was measured"),
    Headline::new("slow_memory", "slow memory", Source::scalar(channels::MEMORY_MEDIAN))
        .unit("slow tokens")
        .decimals(2)
        .about("Median effective memory -1 / ln a of a slow path that decays; the block mean alone holds one slow token, P tokens.")
        .absent("the slow path of no variant decays (`variants.gated_linear`, `variants.decay`)"),
    Headline::new("gate_entropy", "entropy behind the gate", measured!(GateEntropy, |m| m.change()))
        .unit("nats")
        .about("Mean entropy of the attention after the last injection, less the same with the gate shut: below 0 the open gate sharpens it.")
        .absent("no variant has a gate, or its entropy was not measured (`probe.gate_entropy_every`)"),
    Headline::new("gate_entropy_loss", "entropy with loss", measured!(GateEntropy, |m| finite(m.with_loss.rho)))
        .decimals(3)
        .about("Rank correlation by token of what the open gate changes in the entropy and in the loss: above 0 the loss falls where attention is sharper.")
        .absent("no gate is open, or its entropy was not measured (`probe.gate_entropy_every`)"),
    Headline::new("gate", "|tanh γ|", Source::Scalar { channel: channels::GATE, value: f64::abs })
        .about("How far the gate is open, |tanh γ|, whichever side it opened to: 0 is shut, 1 wide open.")
        .absent("no variant has a gate"),
];

/// Below the first limit the paper calls a gate closed: its own stay within 0.01 of zero. Below the second the slow stream
/// adds at most a tenth of what it would through a gate wide open.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new("gate", "gate size, |tanh γ|", "gate")
        .in_words(Meaning::Limits { below: &[(0.01, "closed"), (0.1, "slightly open")], otherwise: "open" }),
    large::common::ACCURACY,
    large::common::LOSS,
];
