//! The claims of the BDH paper's theory, tried on numbers that are drawn from a seed.

use crate::{
    analysis::bdh_theory::{
        block_model, capacity, hashing, integrate_and_fire, l1_amplification, markov, replicator, sparse_state, spikes,
        supermodular,
    },
    probe::prelude::*,
};

impl Probe for BdhTheoryArgs {
    type Answer = BdhTheory;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;
    const MAY_NEED_NO_WEIGHTS: bool = true;

    /// The claims are tried on numbers that are drawn: of the model only its kind counts.
    fn untrained_subject(model: &dyn Trainable) -> Option<&dyn SynapseModel> {
        FromShared::from_shared(model)
    }

    fn ask(&self, _: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let Self { claim, neurons: n } = *self;
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
        let measured = BdhTheory { claim: claim.id().to_owned(), x: found.x.into(), curves };
        Ok(Answer::new(measured, format!("n = {n}, seed {}", cx.seed), vec![]))
    }
}
