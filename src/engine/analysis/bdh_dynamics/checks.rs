//! The paper's equivalences as computations that can disagree: each computes both sides with a bound on their rounding
//! error, and returns for every token the largest difference with the part that rounding explains.

use super::{
    Bounded, Circuit, Dense, Discrepancy, Drift, Equations, Layer, Normfree, Number, System, Unrolled, Weights, circuit,
};
use crate::analysis::statistics::norm;

/// The weights of a Normfree model as plain numbers, from a trained BDH-GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The trained weights E, D_x and D_y.
    pub weights: Weights<f64>,
    /// The state transition U between two tokens.
    pub drift: Drift,
    /// The number of layers L.
    pub layers: usize,
}

impl Model {
    fn bounded(&self) -> Weights<Bounded> {
        let exact = |m: &Dense<f64>| Dense { rows: m.rows, cols: m.cols, data: exact_inputs(&m.data) };
        let w = &self.weights;
        Weights { e: exact(&w.e), dx: exact(&w.dx), dy: exact(&w.dy) }
    }

    /// The system of local rules that equation (9) makes of it.
    pub fn system<N: Number>(weights: &Weights<N>, drift: &Drift, layers: usize) -> System<N> {
        let n = weights.n();
        let (wires, prods) = (circuit::parts(&weights.gx()), circuit::parts(&weights.gy()));
        System::new(n, layers, wires, prods, System::complete(n), drift.clone())
    }

    fn equations(&self, weights: &Weights<Bounded>) -> Equations<Bounded> {
        let n = weights.n();
        let ones = Dense { rows: n, cols: n, data: vec![Bounded::exact(1.0); n * n] };
        Equations::new(weights.gx(), weights.gy(), ones, self.drift.clone(), self.layers)
    }
}

fn exact_inputs(values: &[f64]) -> Vec<Bounded> {
    values.iter().map(|v| Bounded::exact(*v)).collect()
}

/// Table 1 against equation (6), for each token: X, A and Y in every layer, and sigma.
pub fn rule_discrepancies(model: &Model, pulses: &[Vec<f64>]) -> Vec<Discrepancy> {
    let weights = model.bounded();
    let system = Model::system(&weights, &model.drift, model.layers);
    compare_rules(&system, &mut model.equations(&weights), pulses)
}

/// Compares the rules with the equations for any graphs.
pub fn compare_rules(
    system: &System<Bounded>,
    equations: &mut Equations<Bounded>,
    pulses: &[Vec<f64>],
) -> Vec<Discrepancy> {
    let mut state = system.initial_state();
    let token = |pulse: &Vec<f64>| {
        let wanted = equations.token(&exact_inputs(pulse));
        let mut gap = Discrepancy::default();
        system.receive_token(&mut state, &exact_inputs(pulse));
        while let Some(round) = system.round(&mut state) {
            let Some(layer) = round.layer.and_then(|l| wanted.get(l)) else { continue };
            gap = match round.kernel {
                0 => gap.join(Discrepancy::between(&state.x, &layer.x)).join(Discrepancy::between(&state.a, &layer.a)),
                2 => gap.join(Discrepancy::between(&state.y, &layer.y)),
                _ => gap,
            };
        }
        for (l, sigma) in equations.sigma.iter().enumerate() {
            gap = gap.join(Discrepancy::between(&system.drifted(&state, l).data, &sigma.data));
        }
        gap
    };
    pulses.iter().map(token).collect()
}

/// Equation (6) on G_x = D_x E, G_y = D_y E, G_s = 1 against Normfree's equation (7), for each token: X and Y
/// in every layer, and E sigma against rho. Observation 4.
pub fn normfree_discrepancies(model: &Model, pulses: &[Vec<f64>]) -> Vec<Discrepancy> {
    let weights = model.bounded();
    let mut dense = model.equations(&weights);
    let mut low = Normfree::new(weights.clone(), model.drift.clone(), model.layers);
    let token = |pulse: &Vec<f64>| {
        let (a, b) = (dense.token(&exact_inputs(pulse)), low.token(&exact_inputs(pulse)));
        let mut gap = layers(&a, &b);
        for (sigma, rho) in dense.sigma.iter().zip(&low.rho) {
            gap = gap.join(Discrepancy::between(&weights.e.product(sigma).data, &rho.data));
        }
        gap
    };
    pulses.iter().map(token).collect()
}

fn layers(a: &[Layer<Bounded>], b: &[Layer<Bounded>]) -> Discrepancy {
    let both = a.iter().zip(b);
    both.fold(Discrepancy::default(), |gap, (a, b)| {
        gap.join(Discrepancy::between(&a.x, &b.x)).join(Discrepancy::between(&a.y, &b.y))
    })
}

/// Compares the state of equation (7) with the sum over all past tokens of equations (4) and (5), for each token.
pub fn state_is_attention(model: &Model, pulses: &[Vec<f64>]) -> Vec<Discrepancy> {
    let weights = model.bounded();
    let mut state = Normfree::new(weights.clone(), model.drift.clone(), model.layers);
    let mut past = Unrolled::new(weights, model.drift.clone(), model.layers);
    let token = |pulse: &Vec<f64>| {
        let (a, b) = (state.token(&exact_inputs(pulse)), past.token(&exact_inputs(pulse)));
        let answers =
            a.iter().zip(&b).fold(Discrepancy::default(), |gap, (a, b)| gap.join(Discrepancy::between(&a.a, &b.a)));
        answers.join(layers(&a, &b))
    };
    pulses.iter().map(token).collect()
}

/// The result of checking Claim 3's construction.
#[derive(Debug, Clone, PartialEq)]
pub struct SquareCheck {
    /// H^e^2\[V\] - H^i^2\[V\] against D E, entry by entry.
    pub construction: Discrepancy,
    /// The number of edges of H^e and of H^i.
    pub edges: [usize; 2],
    /// The largest number of edges that the claim allows, 2 n d.
    pub allowed: usize,
}

/// Claim 3 for G_x = D_x E and G_y = D_y E.
pub fn squares(model: &Model) -> [SquareCheck; 2] {
    let w = model.bounded();
    [&w.dx, &w.dy].map(|d| {
        let [excite, inhibit] = circuit::circuits(d, &w.e);
        let (plus, minus) = (excite.square(), inhibit.square());
        let difference: Vec<Bounded> = plus.data.iter().zip(&minus.data).map(|(p, m)| *p - *m).collect();
        SquareCheck {
            construction: Discrepancy::between(&difference, &d.product(&w.e).data),
            edges: [excite.edges.len(), inhibit.edges.len()],
            // E' has at most n d entries above zero, and so has each of D^e and D^i.
            allowed: 2 * w.n() * w.d(),
        }
    })
}

/// Two steps of H^e and H^i against one of G = D E, for each token's pulse (wires) and answer (prods).
pub fn two_step_discrepancies(model: &Model, pulses: &[Vec<f64>]) -> Vec<Discrepancy> {
    let w = model.bounded();
    let (wires, prods) = (circuit::circuits(&w.dx, &w.e), circuit::circuits(&w.dy, &w.e));
    let (gx, gy) = (w.gx(), w.gy());
    let both = |[plus, minus]: &[Circuit<Bounded>; 2], z: &[Bounded]| -> Vec<Bounded> {
        plus.propagate(z).iter().zip(minus.propagate(z)).map(|(p, m)| *p - m).collect()
    };
    let token = |pulse: &Vec<f64>| {
        let z = exact_inputs(pulse);
        Discrepancy::between(&both(&wires, &z), &gx.times(&z))
            .join(Discrepancy::between(&both(&prods, &z), &gy.times(&z)))
    };
    pulses.iter().map(token).collect()
}

/// The gain on D_y that stands in for the LayerNorms: with it the last layer answers the text, on average over
/// its tokens, with an E y as long as what came in. Without norms a model trained with them would die out or
/// blow up by the third power in each layer. `None` where no gain does it.
pub fn gain(model: &Model, pulses: &[Vec<f64>]) -> Option<f64> {
    let came: f64 = pulses.iter().map(|p| norm(&model.weights.e.times(p))).sum();
    let answered = |log_gain: f64| {
        let mut weights = model.weights.clone();
        weights.dy.data.iter_mut().for_each(|v| *v *= log_gain.exp());
        let mut normfree = Normfree::new(weights, model.drift.clone(), model.layers);
        let last = |p: &Vec<f64>| normfree.token(p).pop().map_or(0.0, |l| norm(&model.weights.e.times(&l.y)));
        pulses.iter().map(last).sum::<f64>()
    };
    // Answers grow with the gain; what overflows is too long.
    let too_long = |log_gain: f64| {
        let a = answered(log_gain);
        !a.is_finite() || a > came
    };
    let (mut low, mut high) = (-40.0f64, 40.0f64);
    if came == 0.0 || too_long(low) || !too_long(high) {
        return None;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if too_long(middle) { high = middle } else { low = middle }
    }
    Some(low.exp())
}
