//! The claims of the BDH paper's theory, tried on numbers that are drawn from a seed.

use crate::{
    analysis::bdh_theory::{
        block_model, capacity, hashing, integrate_and_fire, l1_amplification, markov, replicator, sparse_state, spikes,
        supermodular,
    },
    probe::prelude::*,
};

pub struct BdhTheory;

impl Probe for BdhTheory {
    type Answer = measurements::BdhTheory;
    type Subject<'m> = &'m dyn SynapseModel;
    const TAKES_LONG: bool = true;

    fn ask(_: &dyn SynapseModel, args: &BdhTheoryArgs, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let BdhTheoryArgs { claim, neurons: n } = *args;
        let found = match claim {
            TheoryClaim::Markov => markov(n, cx.seed),
            TheoryClaim::Blocks => block_model(n, cx.seed),
            TheoryClaim::Supermodular => supermodular(n, cx.seed),
            TheoryClaim::Capacity => capacity(n, cx.seed),
            TheoryClaim::Hashing => hashing(n, cx.seed),
            TheoryClaim::L1 => l1_amplification(n),
            TheoryClaim::SparseState => sparse_state(n, cx.seed),
            TheoryClaim::Replicator => replicator(n),
            TheoryClaim::Spikes => spikes(n, cx.seed),
            TheoryClaim::Fire => integrate_and_fire(n, cx.seed),
        };
        let curve = |c: crate::analysis::bdh_theory::Curve| TheoryCurve { name: c.name, y: c.values.into() };
        let curves = found.curves.into_iter().map(curve).collect();
        let measured = measurements::BdhTheory { claim: claim.id().to_owned(), x: found.x.into(), curves };
        Ok(Answer::new(measured, format!("n = {n}, seed {}", cx.seed), vec![]))
    }
}
