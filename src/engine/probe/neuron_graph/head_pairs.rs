//! The distribution of the entries of G between every two heads, compared with random products.

use super::Factors;
use crate::{
    analysis::graph::product::{EntryDistribution, Sign},
    probe::prelude::*,
};

impl Probe for HeadPairsArgs {
    type Answer = HeadPairs;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let heads = model.shape().heads;
        let asked = NeuronGraphArgs { matrix: self.matrix, ..NeuronGraphArgs::default() };
        let whole = Factors::new(model, &asked, cx)?;
        let mut pairs = vec![];
        for from_head in 1..=heads {
            for to_head in 1..=heads {
                cx.progress.at(pairs.len(), heads * heads)?;
                pairs.push(pair(&whole, self, [from_head, to_head], cx.seed)?);
            }
        }
        let about = format!("{}, tails beyond {} standard deviations", whole.description, self.deviations);
        Ok(Answer::new(HeadPairs { heads, pairs }, about, vec![]))
    }
}

/// `heads` are counted from 1.
fn pair(whole: &Factors, args: &HeadPairsArgs, heads: [usize; 2], seed: u64) -> Result<HeadPair> {
    let [from_head, to_head] = heads;
    let factors = whole.between(from_head - 1, to_head - 1)?;
    let entries = factors.product()?.spread();
    let [positive_tail, negative_tail] = tails(&entries, args.deviations);
    let mut random_tail = 0f64;
    for k in 0..args.draws {
        let random = factors.random(true, seed ^ (k as u64 + 1));
        random_tail = tails(&random.product()?.spread(), args.deviations).into_iter().fold(random_tail, f64::max);
    }
    let moments = entries.moments();
    Ok(HeadPair {
        from_head,
        to_head,
        mean: moments.mean,
        standard_deviation: moments.sd,
        skewness: moments.skew,
        kurtosis: moments.kurtosis,
        positive_tail,
        negative_tail,
        random_tail,
        heavy_tail: HeavyTail::new(positive_tail > random_tail, negative_tail > random_tail),
    })
}

/// The shares of entries further than this many standard deviations above and below 0. The limit is that of a bin, at
/// most one part in 128 further out.
fn tails(entries: &EntryDistribution, deviations: f64) -> [f64; 2] {
    let limit = (deviations * entries.moments().sd) as f32;
    [Sign::Excitatory, Sign::Inhibitory].map(|sign| entries.count_above(limit, sign).0 as f64 / entries.n.max(1) as f64)
}
