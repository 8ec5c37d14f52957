//! The spectral gap of each topology by the number of states: why a bridge makes a chain slow.

use crate::{
    analysis::generator::{Topology, TopologySettings, classes, closed_classes, spectrum},
    probe::prelude::*,
};

const SIZES: [usize; 8] = [4, 6, 8, 12, 16, 24, 32, 48];
/// Generators drawn of each topology and size.
const DRAWS: u64 = 4;

impl Probe for GapBySizeArgs {
    type Answer = GapBySize;
    type Subject<'m> = &'m dyn StationaryMap;

    fn ask(&self, _: &dyn StationaryMap, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let gap = |topology: Topology, states: usize, draw: u64| {
            let a = TopologySettings { topology, states, sparsity: 0.0 }.draw(cx.seed.wrapping_add(draw)).ok()?;
            let closed = closed_classes(&classes(&a));
            (closed == 1).then(|| spectrum(&a, closed)).flatten().map(|s| s.gap)
        };
        let mean = |topology: Topology, states: usize| {
            let gaps = (0..DRAWS).map(|draw| gap(topology, states, draw).unwrap_or(f64::NAN));
            gaps.sum::<f64>() / DRAWS as f64
        };
        let name = |topology: Topology| match topology {
            Topology::Random => "random",
            Topology::Ring => "ring",
            Topology::BirthDeath => "birth-death",
            Topology::TwoClusters => "two clusters",
        };
        let topologies = Topology::ALL
            .into_iter()
            .map(|t| TopologyGaps { name: name(t).into(), gaps: SIZES.iter().map(|n| mean(t, *n)).collect() })
            .collect();
        let measured = GapBySize { sizes: SIZES.to_vec(), topologies };
        Ok(Answer::new(measured, format!("mean of {DRAWS} draws at y = 0"), vec![]))
    }
}
