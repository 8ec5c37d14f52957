//! A mixture of unigrams: each document is drawn from one of K distributions of tokens (Nigam et al. 2000), fitted by
//! expectation maximisation. The loss that it saves on a document measures how much its domain predicts of it.

use std::collections::BTreeMap;

use rand::{Rng, seq::IndexedRandom};

use super::statistics::softmax;

/// The counts of a document's tokens, by token.
pub type Counts = BTreeMap<u32, f64>;

/// Tokens of the text's own distribution that are added to the counts of every component.
const PRIOR_TOKENS: f64 = 50.0;
/// Rounds of expectation maximisation, and the number of fits; the likeliest is kept.
const EM_ITERATIONS: usize = 25;
const RESTARTS: usize = 3;

/// Counts each token of a document.
pub fn counts(document: &[u32]) -> Counts {
    let mut counts = Counts::new();
    document.iter().for_each(|token| *counts.entry(*token).or_default() += 1.0);
    counts
}

/// K distributions over the same tokens, with their shares.
#[derive(Debug, Clone)]
pub struct UnigramMixture {
    /// ln of each component's share.
    log_shares: Vec<f64>,
    /// ln p of each token, by component.
    log_p: Vec<Vec<f64>>,
}

impl UnigramMixture {
    /// The likeliest of a few fits, each begun with a document that is drawn and those that are least like it.
    pub fn fit(documents: &[Counts], vocab: usize, components: usize, rng: &mut impl Rng) -> Self {
        let components = components.clamp(1, documents.len().max(1));
        let whole = total(documents.iter().map(|document| (1.0, document)), vocab);
        let text = smoothed(&whole, &vec![1.0 / vocab.max(1) as f64; vocab], vocab as f64);
        if components == 1 {
            return Self { log_shares: vec![0.0], log_p: vec![logarithms(&text)] };
        }
        let mut fitted = || {
            let found = Self::fit_once(documents, &text, components, rng);
            (documents.iter().map(|document| found.log_likelihood(document)).sum::<f64>(), found)
        };
        let mut best = fitted();
        for _ in 1..RESTARTS {
            let next = fitted();
            best = if next.0 > best.0 { next } else { best };
        }
        best.1
    }

    fn fit_once(documents: &[Counts], text: &[f64], components: usize, rng: &mut impl Rng) -> Self {
        let vocab = text.len();
        let component = |counts: &[f64]| logarithms(&smoothed(counts, text, PRIOR_TOKENS));
        let mut mixture = Self { log_shares: vec![], log_p: vec![] };
        let mut seed = documents.choose(rng);
        while let Some(document) = seed.filter(|_| mixture.log_p.len() < components) {
            mixture.log_p.push(component(&total([(1.0, document)], vocab)));
            mixture.log_shares.push(-(components as f64).ln());
            // the document that the components so far fit worst
            seed = documents.iter().min_by(|a, b| mixture.fit_per_token(a).total_cmp(&mixture.fit_per_token(b)));
        }
        for _ in 0..EM_ITERATIONS {
            let shares: Vec<Vec<f64>> = documents.iter().map(|document| softmax(&mixture.joint(document))).collect();
            for k in 0..components {
                let of_component: f64 = shares.iter().map(|share| share[k]).sum();
                // the weight of one document is added, so that no component vanishes
                let share = (of_component + 1.0) / (documents.len() + components) as f64;
                mixture.log_shares[k] = share.ln();
                let weighted = shares.iter().zip(documents).map(|(share, document)| (share[k], document));
                mixture.log_p[k] = component(&total(weighted, vocab));
            }
        }
        mixture
    }

    /// ln p of a document whose component is not known.
    pub fn log_likelihood(&self, document: &Counts) -> f64 {
        let each = self.joint(document);
        let top = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        top + each.iter().map(|l| (l - top).exp()).sum::<f64>().ln()
    }

    /// ln p of a document and of each component.
    fn joint(&self, document: &Counts) -> Vec<f64> {
        let of_component = |log_p: &Vec<f64>| -> f64 {
            document.iter().map(|(token, count)| count * log_p.get(*token as usize).copied().unwrap_or(f64::NAN)).sum()
        };
        self.log_p.iter().zip(&self.log_shares).map(|(log_p, share)| share + of_component(log_p)).collect()
    }

    /// The largest ln p of a document under any component, by token.
    fn fit_per_token(&self, document: &Counts) -> f64 {
        let best = self.joint(document).into_iter().fold(f64::NEG_INFINITY, f64::max);
        best / document.values().sum::<f64>()
    }
}

/// Loss of these documents under the mixture, nats per token.
pub fn loss(mixture: &UnigramMixture, documents: &[Counts]) -> f64 {
    let tokens: f64 = documents.iter().flat_map(|document| document.values()).sum();
    -documents.iter().map(|document| mixture.log_likelihood(document)).sum::<f64>() / tokens
}

/// Weighted counts over documents, by token.
fn total<'a>(documents: impl IntoIterator<Item = (f64, &'a Counts)>, vocab: usize) -> Vec<f64> {
    let mut counts = vec![0.0; vocab];
    for (weight, document) in documents {
        for (token, count) in document {
            if let Some(sum) = counts.get_mut(*token as usize) {
                *sum += weight * count;
            }
        }
    }
    counts
}

/// Shares of the counts with this many tokens of a prior added.
fn smoothed(counts: &[f64], prior: &[f64], strength: f64) -> Vec<f64> {
    let sum = counts.iter().sum::<f64>() + strength;
    counts.iter().zip(prior).map(|(count, prior)| (count + strength * prior) / sum).collect()
}

fn logarithms(shares: &[f64]) -> Vec<f64> {
    shares.iter().map(|share| share.ln()).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const VOCAB: usize = 24;

    /// Documents of 60 tokens, each with the tokens of one of this many domains.
    fn documents(domains: u32, count: usize, seed: u64) -> Vec<Counts> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let own = VOCAB as u32 / domains;
        (0..count as u32)
            .map(|at| {
                let first = at % domains * own;
                counts(&(0..60).map(|_| first + rng.random_range(0..own)).collect::<Vec<_>>())
            })
            .collect()
    }

    fn losses(domains: u32) -> Vec<f64> {
        let (train, test) = (documents(domains, 80, 1), documents(domains, 80, 2));
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        [1, 2, 4].map(|k| loss(&UnigramMixture::fit(&train, VOCAB, k, &mut rng), &test)).to_vec()
    }

    /// With D domains that have tokens of their own, naming the domain saves ln D a token, less ln D once a document.
    #[test]
    fn a_mixture_saves_what_the_domain_tells() {
        for domains in [2u32, 4] {
            let found = losses(domains);
            let saved = f64::from(domains).ln() * (1.0 - 1.0 / 60.0);
            let best = found.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((found[0] - (VOCAB as f64).ln()).abs() < 0.01, "{found:?}");
            assert!((found[0] - best - saved).abs() < 0.05, "{domains}: {found:?}, {saved}");
        }
    }

    #[test]
    fn a_mixture_does_not_lower_the_loss_of_one_domain() {
        let found = losses(1);
        assert!(found[1..].iter().all(|loss| *loss > found[0] - 0.005), "{found:?}");
    }

    #[test]
    fn every_distribution_adds_up_to_one() {
        let mixture = UnigramMixture::fit(&documents(4, 40, 5), VOCAB, 4, &mut ChaCha8Rng::seed_from_u64(1));
        for log_p in mixture.log_p.iter().chain([&mixture.log_shares]) {
            assert!((log_p.iter().map(|l| l.exp()).sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
