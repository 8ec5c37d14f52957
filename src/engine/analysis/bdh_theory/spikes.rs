//! The four rounds of BDH's graph by spikes of 0 and 1 (section 2.1): the product of two variables is an AND gate of their
//! spikes, and an excitatory and an inhibitory circuit are combined by a threshold on the difference of their counts. Also,
//! neurons that integrate and fire.

use rand::{Rng, SeedableRng, seq::index::sample};
use rand_chacha::ChaCha8Rng;

use super::{Curves, norm};
use crate::analysis::{bdh_dynamics::Edge, statistics::difference};

/// An edge between neurons, whose weight is the probability that a spike is transmitted, 0 to 1.
pub type Link = Edge<f64>;

/// A graph of n neurons; in each pair of circuits the excitatory one comes first.
#[derive(Debug, Clone, PartialEq)]
pub struct SpikingGraph {
    /// Number of neurons.
    pub n: usize,
    /// G_s, from the x side to the y side.
    pub synapses: Vec<Link>,
    /// G_x^e and G_x^i.
    pub wires: [Vec<Link>; 2],
    /// G_y^e and G_y^i.
    pub prods: [Vec<Link>; 2],
}

/// The variables of a layer, 0 to 1 each.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// X of each neuron.
    pub x: Vec<f64>,
    /// Y of each neuron.
    pub y: Vec<f64>,
    /// sigma of each synapse.
    pub sigma: Vec<f64>,
}

/// The results of the four rounds of a layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounds {
    /// A after round 4l.
    pub a: Vec<f64>,
    /// sigma after round 4l + 1.
    pub sigma: Vec<f64>,
    /// Y after round 4l + 2.
    pub y: Vec<f64>,
    /// X after round 4l + 3.
    pub x: Vec<f64>,
}

/// The sum that arrives at each neuron over the links.
fn sent(links: &[Link], of: &[f64]) -> Vec<f64> {
    let mut all = vec![0.0; of.len()];
    links.iter().for_each(|l| all[l.to] += l.weight * of[l.from]);
    all
}

/// (excited - inhibited)^+.
fn threshold(excited: &[f64], inhibited: &[f64]) -> Vec<f64> {
    excited.iter().zip(inhibited).map(|(e, i)| (e - i).max(0.0)).collect()
}

impl SpikingGraph {
    /// `degree` edges end at each neuron in every part, whose weights add up to 1.
    pub fn drawn(n: usize, degree: usize, rng: &mut ChaCha8Rng) -> Self {
        let degree = degree.clamp(1, n.max(1));
        let mut part = || -> Vec<Link> {
            let mut links = vec![];
            for to in 0..n {
                let weights: Vec<f64> = (0..degree).map(|_| rng.random::<f64>()).collect();
                let sum = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
                let ends = sample(rng, n, degree).into_iter().zip(weights);
                links.extend(ends.map(|(from, weight)| Link { from, to, weight: weight / sum }));
            }
            links
        };
        let (synapses, wires, prods) = (part(), [part(), part()], [part(), part()]);
        Self { n, synapses, wires, prods }
    }

    /// The exact rounds of table 1 (b), without decay.
    pub fn exact(&self, rates: &Rates) -> Rounds {
        let Rates { x, y, sigma } = rates;
        let mut a = vec![0.0; self.n];
        let mut grown = sigma.clone();
        for ((link, sigma), grown) in self.synapses.iter().zip(sigma).zip(&mut grown) {
            a[link.to] += sigma * x[link.from];
            *grown += link.weight * y[link.to] * x[link.from];
        }
        let [excited, inhibited] = self.prods.each_ref().map(|links| sent(links, &a));
        let y: Vec<f64> = threshold(&excited, &inhibited).iter().zip(x).map(|(drive, x)| drive * x).collect();
        let [excited, inhibited] = self.wires.each_ref().map(|links| sent(links, &y));
        let x = threshold(&excited, &inhibited).iter().zip(x).map(|(drive, x)| x + drive).collect();
        Rounds { a, sigma: grown, y, x }
    }

    /// The rounds with rates estimated from this many spikes of each variable in each round: the number of spikes that
    /// arrived over the number sent. A round uses the rates that the previous round counted.
    pub fn spiking(&self, rates: &Rates, spikes: usize, rng: &mut ChaCha8Rng) -> Rounds {
        let Rates { x, y, sigma } = rates;
        let count = spikes.max(1) as f64;
        let (mut a, mut grown) = (vec![0.0; self.n], vec![0.0; sigma.len()]);
        for _ in 0..spikes.max(1) {
            let (x, y) = (sample_spikes(x, rng), sample_spikes(y, rng));
            for (k, link) in self.synapses.iter().enumerate() {
                // each edge draws once for a spike to A and once for the growth of its state
                let (passes, is_kept) = (rng.random::<f64>() < sigma[k], rng.random::<f64>() < link.weight);
                a[link.to] += f64::from(u8::from(x[link.from] && passes));
                grown[k] += f64::from(u8::from(x[link.from] && y[link.to] && is_kept));
            }
        }
        a.iter_mut().for_each(|a| *a /= count);
        let sigma = sigma.iter().zip(&grown).map(|(sigma, grown)| sigma + grown / count).collect();
        let drive = sampled_input(&self.prods, &a, spikes, rng);
        let mut y = vec![0.0; self.n];
        for _ in 0..spikes.max(1) {
            let both = sample_spikes(&drive, rng).into_iter().zip(sample_spikes(x, rng));
            y.iter_mut().zip(both).for_each(|(y, (a, b))| *y += f64::from(u8::from(a && b)) / count);
        }
        let drive = sampled_input(&self.wires, &y, spikes, rng);
        let x = x.iter().zip(&drive).map(|(x, drive)| x + drive).collect();
        Rounds { a, sigma, y, x }
    }
}

/// Draws whether each variable spikes, with its rate as the probability.
fn sample_spikes(rates: &[f64], rng: &mut ChaCha8Rng) -> Vec<bool> {
    rates.iter().map(|rate| rng.random::<f64>() < *rate).collect()
}

/// The input above the threshold that an excitatory and an inhibitory circuit give each neuron, estimated from `spikes`
/// draws.
fn sampled_input(circuits: &[Vec<Link>; 2], rates: &[f64], spikes: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let count = spikes.max(1) as f64;
    let mut sums = [vec![0.0; rates.len()], vec![0.0; rates.len()]];
    for _ in 0..spikes.max(1) {
        let spikes = sample_spikes(rates, rng);
        for (links, sum) in circuits.iter().zip(&mut sums) {
            for link in links.iter().filter(|link| spikes[link.from]) {
                sum[link.to] += f64::from(u8::from(rng.random::<f64>() < link.weight));
            }
        }
    }
    threshold(&sums[0], &sums[1]).into_iter().map(|drive| drive / count).collect()
}

/// Edges of a neuron in each part.
const DEGREE: usize = 8;
/// Largest power of 4 of spikes in a round.
const MAX_POWER: u32 = 6;

/// |found - exact| / |exact|.
fn error(found: &[f64], exact: &[f64]) -> f64 {
    norm(&difference(found, exact)) / norm(exact).max(f64::MIN_POSITIVE)
}

/// Errors of the four rounds by spikes over how many there are in a round: 1, 4, 16, up to 4,096.
pub fn spikes(n: usize, seed: u64) -> Curves {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let graph = SpikingGraph::drawn(n, DEGREE, &mut rng);
    // half of the neurons are silent, and synapses of a neuron let at most one spike pass
    let mut active = |count: usize, most: f64| -> Vec<f64> {
        (0..count).map(|_| if rng.random_bool(0.5) { most * rng.random::<f64>() } else { 0.0 }).collect()
    };
    let (x, y) = (active(n, 1.0), active(n, 1.0));
    let sigma = active(graph.synapses.len(), 1.0 / DEGREE as f64);
    let rates = Rates { x, y, sigma };
    let exact = graph.exact(&rates);
    let grown = |rounds: &Rounds| difference(&rounds.sigma, &rates.sigma);
    let (mut x, mut errors) = (vec![], [vec![], vec![], vec![], vec![]]);
    for power in 0..=MAX_POWER {
        let count = 4usize.pow(power);
        let found = graph.spiking(&rates, count, &mut rng);
        x.push(count as f64);
        let now = [
            error(&found.a, &exact.a),
            error(&grown(&found), &grown(&exact)),
            error(&found.y, &exact.y),
            error(&found.x, &exact.x),
        ];
        errors.iter_mut().zip(now).for_each(|(curve, value)| curve.push(value));
    }
    let names = ["A, through synapses", "\u{3c3}, by AND gates", "Y, above the threshold", "X, above the threshold"];
    Curves::new(x, names.into_iter().zip(errors))
}

/// The potential at which a neuron fires, in inputs of 1.
const THRESHOLD: f64 = 4.0;

/// Inhibitory input per step of the neurons in [`integrate_and_fire`], 0 to 1.
const INHIBITION: f64 = 0.4;
/// The share of its potential that leaks away from a neuron in a step.
const LEAK_SHARE: f64 = 0.02;

/// The firing rate of a neuron times [`THRESHOLD`], in units of the input per step; `drive` is its excitatory input less
/// its inhibitory one, per step. The potential integrates the input, loses the share `leak` in each step, never falls
/// below 0, and loses [`THRESHOLD`] with each spike. With `rng` the inputs are Bernoulli spikes of these rates.
fn firing_rate(drive: f64, leak: f64, steps: usize, mut rng: Option<&mut ChaCha8Rng>) -> f64 {
    let (mut potential, mut count) = (0.0f64, 0usize);
    for _ in 0..steps {
        let mut input = |rate: f64| match rng.as_deref_mut() {
            Some(rng) => f64::from(u8::from(rng.random::<f64>() < rate)),
            None => rate,
        };
        let (excitation, inhibition) = (input(drive + INHIBITION), input(INHIBITION));
        potential = ((1.0 - leak) * potential + excitation - inhibition).max(0.0);
        if potential >= THRESHOLD {
            potential -= THRESHOLD;
            count += 1;
        }
    }
    THRESHOLD * count as f64 / steps.max(1) as f64
}

/// The rate of an integrate-and-fire neuron over its net input e - i, compared with max(e - i, 0): exact without a
/// leak, shifted with one, and above it near the threshold where the input comes as spikes. Each rate is a mean over 64
/// n steps.
pub fn integrate_and_fire(n: usize, seed: u64) -> Curves {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let drives: Vec<f64> = (-8..=12).map(|k| f64::from(k) * 0.05).collect();
    let steps = 64 * n;
    let rates = |leak| -> Vec<f64> { drives.iter().map(|drive| firing_rate(*drive, leak, steps, None)).collect() };
    let spiking = drives.iter().map(|drive| firing_rate(*drive, 0.0, steps, Some(&mut rng))).collect();
    let curves = [
        ("(e \u{2212} i)\u{207a}".to_owned(), drives.iter().map(|drive| drive.max(0.0)).collect()),
        ("integrate and fire".to_owned(), rates(0.0)),
        (format!("with a leak of {LEAK_SHARE}"), rates(LEAK_SHARE)),
        ("input as spikes".to_owned(), spiking),
    ];
    Curves::new(drives.clone(), curves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_spikes_fall_with_the_root_of_their_number() {
        let found = spikes(200, 3);
        for curve in &found.curves {
            let (first, last) = (curve.values[2], curve.values[6]);
            let slope = (last / first).ln() / 256f64.ln();
            assert!((-0.7..-0.4).contains(&slope), "{}: {first} to {last}, slope {slope}", curve.name);
            assert!(last < 0.3, "{}: {last}", curve.name);
        }
    }

    #[test]
    fn a_gate_of_certain_spikes_is_exact() {
        let link = |from, to| Link { from, to, weight: 1.0 };
        let graph = SpikingGraph {
            n: 3,
            synapses: vec![link(0, 1), link(1, 2)],
            wires: [vec![link(1, 0), link(2, 0)], vec![link(2, 1)]],
            prods: [vec![link(1, 1), link(2, 2)], vec![link(1, 2)]],
        };
        let rates = Rates { x: vec![1.0, 1.0, 0.0], y: vec![0.0, 1.0, 1.0], sigma: vec![1.0, 0.0] };
        let exact = graph.exact(&rates);
        assert_eq!((&exact.a[..], &exact.sigma[..]), (&[0.0, 1.0, 0.0][..], &[2.0, 1.0][..]));
        assert_eq!((&exact.y[..], &exact.x[..]), (&[0.0, 1.0, 0.0][..], &[2.0, 1.0, 0.0][..]));
        assert_eq!(graph.spiking(&rates, 5, &mut ChaCha8Rng::seed_from_u64(1)), exact);
    }

    #[test]
    fn a_neuron_without_leak_fires_as_its_drive_says() {
        let found = integrate_and_fire(64, 5);
        for (k, drive) in found.x.iter().enumerate() {
            let [relu, plain, leaky, spiking] = [0, 1, 2, 3].map(|c| found.curves[c].values[k]);
            assert!((plain - relu).abs() < 2e-3 && leaky <= plain, "{drive}: {relu} {plain} {leaky}");
            assert!(spiking > plain - 0.05, "{drive}: {spiking}");
        }
        let at = |drive: f64| found.x.iter().position(|x| (x - drive).abs() < 1e-9).unwrap();
        assert!(found.curves[3].values[at(0.0)] > 0.05 * found.curves[3].values[at(0.5)], "fluctuations fire at 0");
        assert_eq!(found.curves[2].values[at(0.05)], 0.0, "what comes in leaks away");
    }
}
