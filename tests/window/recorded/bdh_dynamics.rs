//! The measurements that the probe `bdh_dynamics` would make of a small BDH, with random weights instead of trained
//! ones.

use orrery::telemetry::{
    Array,
    measurements::{
        BdhDynamicsChecks, BdhDynamicsWeights, CheckByToken, ConstructionCheck, GraphSynapses, LikelyToken,
    },
};

/// Reproducible noise, approximately standard normal: the sum of twelve uniform numbers minus six.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut unit = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| unit()).sum::<f64>() - 6.0
    }
}

/// The text that the dynamics read: one character for each of the 24 tokens of a recorded measurement.
pub const TEXT: &str = "the ferry left at dawn, ";

const NEURONS: usize = 48;
const WIDTH: usize = 8;
const LAYERS: usize = 2;
const KEEP: f64 = 0.9;

fn drawn(rows: usize, cols: usize, noise: &mut Noise) -> Array {
    Array::new([rows, cols], (0..rows * cols).map(|_| 0.3 * noise.next() as f32).collect()).unwrap()
}

pub fn weights(step: u64, tokens: usize, rotates: bool) -> BdhDynamicsWeights {
    let mut noise = Noise((step + 41).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let pulses = (0..tokens * NEURONS).map(|_| (noise.next() as f32 - 1.0).max(0.0)).collect();
    let likely = |token: &str, probability| LikelyToken { token: token.to_owned(), probability };
    let predictions = |first: &str| {
        (0..tokens).map(|t| vec![likely(first, t as f64 / 100.0), likely("a", 0.1), likely("t", 0.05)]).collect()
    };
    BdhDynamicsWeights {
        e: drawn(WIDTH, NEURONS, &mut noise),
        d_x: drawn(NEURONS, WIDTH, &mut noise),
        d_y: drawn(NEURONS, WIDTH, &mut noise),
        pulses: Array::new([tokens, NEURONS], pulses).unwrap(),
        layers: LAYERS,
        gain: 0.4,
        keep: KEEP,
        rotates,
        unreached: 0.0,
        agreements: 9,
        model_predictions: predictions("e"),
        rule_predictions: predictions("o"),
        graph: None,
    }
}

/// A graph model, whose edges are trained directly instead of being products of low-rank matrices. Each neuron has
/// three edges of each kind.
pub fn graph_weights(step: u64, tokens: usize) -> BdhDynamicsWeights {
    let mut noise = Noise((step + 43).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut square = |edge: &dyn Fn(usize, usize, f64) -> f64| {
        let entries = (0..NEURONS * NEURONS).map(|k| edge(k / NEURONS, k % NEURONS, noise.next()) as f32).collect();
        Array::new([NEURONS, NEURONS], entries).unwrap()
    };
    let sparse = |i: usize, j: usize, v: f64| if (7 * i + 5 * j).is_multiple_of(16) { v } else { 0.0 };
    BdhDynamicsWeights {
        e: square(&|i, j, _| f64::from(u8::from(i == j))),
        d_x: square(&sparse),
        d_y: square(&sparse),
        graph: Some(GraphSynapses {
            weights: square(&|i, j, v| sparse(i, j, v).abs()),
            keep: (0..NEURONS).map(|i| 0.5 + 0.4 * i as f64 / NEURONS as f64).collect(),
            norms: true,
            single_state: false,
        }),
        gain: 1.0,
        keep: 1.0,
        ..weights(step, tokens, false)
    }
}

/// Rounding errors within their bounds, except that the error of the construction exceeds its bound if `broken`.
pub fn checks(tokens: usize, broken: bool) -> BdhDynamicsChecks {
    let by_token = |k: f64| {
        let error: Vec<f64> = (0..tokens).map(|t| if t == 0 { 0.0 } else { k * 1e-16 * (1.0 + t as f64) }).collect();
        let bound: Vec<f64> = (0..tokens).map(|t| k * 4e-15 * (1.0 + t as f64)).collect();
        let share = error.iter().zip(&bound).map(|(e, b)| e / b).collect();
        CheckByToken { error: error.into(), bound: bound.into(), share }
    };
    let construction = ConstructionCheck {
        error: if broken { 1e-3 } else { 2e-16 },
        bound: 6e-15,
        share: if broken { 1e11 } else { 0.03 },
        excitatory_edges: 768,
        inhibitory_edges: 768,
        allowed_edges: 768,
        pairs: 2304,
    };
    BdhDynamicsChecks {
        rules: by_token(1.0),
        normfree: by_token(3.0),
        attention: by_token(2.0),
        two_steps: by_token(0.5),
        wires: construction.clone(),
        prods: construction,
    }
}
