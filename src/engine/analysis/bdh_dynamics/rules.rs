//! BDH as local rules: the "equations of reasoning", arXiv 2509.26507, table 1 (b), four rounds a layer on
//! a graph of neurons (X, Y, A) and synapses (sigma). Nothing here uses a matrix of the whole.
//!
//! Where the paper leaves a choice, equation (6) decides:
//! - sigma fades in round 4l before it is used, which is where equation (6) has U: between two tokens. So the
//!   state after a token is equation (6)'s before its last U.
//! - sigma(i, j) is written by Y(i) and X(j) and read from j to i; table 1 prints one of the two the other
//!   way round (appendix C.1: a = sigma x).
//! - A token arrives as a pulse Y, which the wires of round 4l + 3 carry to X from zero.
//! - Where all layers share one state, it fades in the first layer alone, and so once a token too.

use super::{
    circuit::{Edge, parts},
    dense::Dense,
    drift::Drift,
    number::Number,
};

/// The epsilon of the norms over neurons.
const NORM_EPS: f64 = 1e-5;

/// One of the four rounds, with its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// The title of the round, as table 1 (b) of the paper has it.
    pub title: &'static str,
    /// Values are sent over edges.
    pub communication: &'static str,
    /// Each node or synapse updates by itself.
    pub computation: &'static str,
    /// A sentence that explains the round.
    pub explanation: &'static str,
}

/// The rounds 4l, 4l + 1, 4l + 2 and 4l + 3.
pub static KERNELS: [Kernel; 4] = [
    Kernel {
        title: "Inference from state",
        communication: "X(j), σ(i,j) → A(i)",
        computation: "σ(i,j) ↓ 1−u(i,j)",
        explanation: "Synapses fade by U; then each active neuron j sends its X over its synapses, and A adds it up.",
    },
    Kernel {
        title: "Reweighting of synapse state",
        communication: "Y(i), X(j) → Gₛ(i,j) · σ(i,j)",
        computation: "Y ↓",
        explanation: "A synapse grows where its Y end fired just before its X end: Hebb's rule. Then Y is used up.",
    },
    Kernel {
        title: "Neuron dynamics, inference from parameters",
        communication: "A(i) → Gyᵉ(i,j) · Yᵉ(j),  A(i) → Gyⁱ(i,j) · Yⁱ(j)",
        computation: "(Yᵉ − Yⁱ)⁺, X → Y,  A ↓",
        explanation: "Prods carry A to excite and to inhibit; a neuron that is excited more fires Y, in proportion to its own X.",
    },
    Kernel {
        title: "Inference from parameters",
        communication: "Y(i) → Gxᵉ(i,j) · Xᵉ(j),  Y(i) → Gxⁱ(i,j) · Xⁱ(j)",
        computation: "(Xᵉ − Xⁱ)⁺ → X",
        explanation: "Wires carry Y to excite and to inhibit; where excitation wins, it is added to X.",
    },
];

/// A synapse: state at the pair (y side, x side), written with the weight G_s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Synapse<N> {
    /// The neuron on the y side.
    pub y: usize,
    /// The neuron on the x side.
    pub x: usize,
    /// The weight G_s(y, x) with which the synapse is written.
    pub weight: N,
}

/// The parameters: excitatory and inhibitory wires and prods, none below zero, and the synapses.
#[derive(Debug, Clone, PartialEq)]
pub struct System<N> {
    n: usize,
    layers: usize,
    /// G_x^e and G_x^i.
    pub wires: [Vec<Edge<N>>; 2],
    /// G_y^e and G_y^i.
    pub prods: [Vec<Edge<N>>; 2],
    /// The synapses sorted by y side, then x side; every pair once.
    synapses: Vec<Synapse<N>>,
    drift: Drift,
    /// The share of the synapses with neuron i on their y side that remains after a token, on top of the effect of U.
    /// Neurons beyond those given keep all of it.
    retention: Vec<f64>,
    /// True if A and Y are divided by their root mean square after their rounds, which the paper allows in a remark. That
    /// looks at all neurons at once and is not a local rule. The factor counts as given, so that [`Number::error`]
    /// leaves out its rounding.
    pub norms: bool,
    /// True if all layers read and write one state.
    pub(super) single_state: bool,
    /// The indices of synapses that rotate in pairs, and of those without a partner.
    pairs: Vec<(usize, Option<usize>)>,
}

/// All variables of the system.
#[derive(Debug, Clone, PartialEq)]
pub struct State<N> {
    /// The variable X of every neuron, `(n)`.
    pub x: Vec<N>,
    /// The variable Y of every neuron, `(n)`.
    pub y: Vec<N>,
    /// The variable A of every neuron, `(n)`.
    pub a: Vec<N>,
    /// Counters: X^e, X^i, Y^e, Y^i.
    excitation: [Vec<N>; 2],
    inhibition: [Vec<N>; 2],
    /// sigma_l at each synapse, for each layer, or the one of all layers.
    pub sigma: Vec<Vec<N>>,
    /// The round to come: 4 `layer` + `kernel`. `layer` is the number of layers when the token is done.
    pub layer: usize,
    /// The number of the next round within the layer, 0 to 3.
    pub kernel: usize,
}

/// The result of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The layer of the round; `None` if a token arrived.
    pub layer: Option<usize>,
    /// The number of the round within its layer, 0 to 3.
    pub kernel: usize,
    /// Neurons whose variable changed: A, Y, Y, X in the four rounds.
    pub nodes: Vec<usize>,
    /// The indices of synapses whose state changed.
    pub synapses: Vec<usize>,
}

/// The value that one edge carries in a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// The neuron that the value leaves.
    pub from: usize,
    /// The neuron that the value reaches.
    pub to: usize,
    /// Below zero: it inhibits, or the state is negative.
    pub amount: f64,
}

impl<N: Number> System<N> {
    /// Creates the system. `synapses` that rotate with a partner get that partner, with weight 0, if it is not among
    /// them. Edges must lie within `n` neurons; others are left out.
    pub fn new(
        n: usize,
        layers: usize,
        wires: [Vec<Edge<N>>; 2],
        prods: [Vec<Edge<N>>; 2],
        mut synapses: Vec<Synapse<N>>,
        drift: Drift,
    ) -> Self {
        let inside = |mut parts: [Vec<Edge<N>>; 2]| {
            parts.iter_mut().for_each(|p| p.retain(|e| e.from < n && e.to < n));
            parts
        };
        synapses.retain(|s| s.y < n && s.x < n);
        let partners: Vec<Synapse<N>> = synapses
            .iter()
            .filter_map(|s| drift.partner(s.x).map(|x| Synapse { x, weight: N::ZERO, ..*s }))
            .filter(|s| s.x < n)
            .collect();
        synapses.extend(partners);
        // the sort is stable, so that of two synapses between the same neurons the first one is kept
        synapses.sort_by_key(|s| (s.y, s.x));
        synapses.dedup_by_key(|s| (s.y, s.x));
        let mut pairs = vec![];
        let mut k = 0;
        while k < synapses.len() {
            let s = synapses[k];
            let second = synapses.get(k + 1).is_some_and(|t| s.x.is_multiple_of(2) && (t.y, t.x) == (s.y, s.x + 1));
            pairs.push((k, second.then_some(k + 1)));
            k += 1 + usize::from(second);
        }
        let (wires, prods) = (inside(wires), inside(prods));
        Self { n, layers, wires, prods, synapses, drift, retention: vec![], norms: false, single_state: false, pairs }
    }

    /// The index in [`State::sigma`] of the state that a layer reads and writes.
    pub fn state_of(&self, layer: usize) -> usize {
        if self.single_state { 0 } else { layer }
    }

    /// Returns true if the state of a layer fades in its first round.
    fn has_decay(&self, layer: usize) -> bool {
        !self.single_state || layer == 0
    }

    /// A synapse's state times its share in `retention`; exactly the state where that is all.
    fn decayed(&self, y: usize, sigma: N) -> N {
        self.retention.get(y).map_or(sigma, |retention| N::exact(*retention) * sigma)
    }

    /// Divides `values` by their norm, if the system has norms.
    fn normed(&self, values: &mut [N]) {
        if self.norms {
            let mean = values.iter().map(|v| v.value() * v.value()).sum::<f64>() / values.len().max(1) as f64;
            let factor = N::exact((mean + NORM_EPS).sqrt().recip());
            values.iter_mut().for_each(|v| *v = factor * *v);
        }
    }

    /// Returns a synapse of weight 1 for every pair of neurons: G_s = 1, as in BDH-GPU.
    pub fn complete(n: usize) -> Vec<Synapse<N>> {
        (0..n * n).map(|k| Synapse { y: k / n, x: k % n, weight: N::exact(1.0) }).collect()
    }

    /// Returns the number of neurons n.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns the number of layers.
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// Returns the synapses, ordered by y side and then by x side.
    pub fn synapses(&self) -> &[Synapse<N>] {
        &self.synapses
    }

    /// Returns the state before the first token, in which all variables are 0.
    pub fn initial_state(&self) -> State<N> {
        let zeros = || vec![N::ZERO; self.n];
        State {
            x: zeros(),
            y: zeros(),
            a: zeros(),
            excitation: [zeros(), zeros()],
            inhibition: [zeros(), zeros()],
            sigma: vec![vec![N::ZERO; self.synapses.len()]; if self.single_state { 1 } else { self.layers }],
            layer: self.layers,
            kernel: 0,
        }
    }

    /// A token comes in as the pulse `y0` (up to `n` values): X begins at zero, and the wires bring it its
    /// first value.
    pub fn receive_token(&self, state: &mut State<N>, y0: &[N]) -> Round {
        state.x.fill(N::ZERO);
        state.a.fill(N::ZERO);
        state.y.fill(N::ZERO);
        state.y.iter_mut().zip(y0).for_each(|(y, given)| *y = *given);
        let nodes = self.follow_wires(state);
        (state.layer, state.kernel) = (0, 0);
        Round { layer: None, kernel: 3, nodes, synapses: vec![] }
    }

    /// Returns true if the token has been through all layers.
    pub fn is_done(&self, state: &State<N>) -> bool {
        state.layer >= self.layers
    }

    /// Executes the next round; `None` when the token is done.
    pub fn round(&self, state: &mut State<N>) -> Option<Round> {
        if self.is_done(state) {
            return None;
        }
        let (layer, kernel) = (state.layer, state.kernel);
        let (nodes, synapses) = match kernel {
            0 => self.infer(state),
            1 => self.reweight(state),
            2 => (self.prod(state), vec![]),
            _ => (self.follow_wires(state), vec![]),
        };
        (state.layer, state.kernel) = if kernel == 3 { (layer + 1, 0) } else { (layer, kernel + 1) };
        Some(Round { layer: Some(layer), kernel, nodes, synapses })
    }

    /// Round 4l.
    fn infer(&self, state: &mut State<N>) -> (Vec<usize>, Vec<usize>) {
        let sigma = &mut state.sigma[self.state_of(state.layer)];
        let before = sigma.clone();
        if self.has_decay(state.layer) {
            self.apply_decay(sigma);
        }
        let a = std::mem::replace(&mut state.a, vec![N::ZERO; self.n]);
        self.synapses.iter().zip(sigma.iter()).for_each(|(s, sigma)| state.a[s.y] += *sigma * state.x[s.x]);
        self.normed(&mut state.a);
        (changed(&a, &state.a), changed(&before, sigma))
    }

    /// Multiplies the state of each synapse by the effect of U and by the retention of its neuron.
    fn apply_decay(&self, sigma: &mut [N]) {
        for (first, second) in &self.pairs {
            match second {
                Some(second) => {
                    let pair = (sigma[*first], sigma[*second]);
                    (sigma[*first], sigma[*second]) = self.drift.pair(self.synapses[*first].x, pair);
                }
                None => sigma[*first] = N::exact(self.drift.retention(self.synapses[*first].x)) * sigma[*first],
            }
        }
        self.synapses.iter().zip(sigma.iter_mut()).for_each(|(s, sigma)| *sigma = self.decayed(s.y, *sigma));
    }

    /// Round 4l + 1.
    fn reweight(&self, state: &mut State<N>) -> (Vec<usize>, Vec<usize>) {
        let sigma = &mut state.sigma[self.state_of(state.layer)];
        let before = sigma.clone();
        for (s, sigma) in self.synapses.iter().zip(sigma.iter_mut()) {
            *sigma += s.weight * (state.y[s.y] * state.x[s.x]);
        }
        let y = std::mem::replace(&mut state.y, vec![N::ZERO; self.n]);
        state.excitation[1].fill(N::ZERO);
        state.inhibition[1].fill(N::ZERO);
        (changed(&y, &state.y), changed(&before, sigma))
    }

    /// Round 4l + 2.
    fn prod(&self, state: &mut State<N>) -> Vec<usize> {
        let y = state.y.clone();
        state.send(&self.prods, 1);
        (0..self.n).for_each(|i| {
            state.y[i] += (state.excitation[1][i] - state.inhibition[1][i]).positive() * state.x[i];
        });
        self.normed(&mut state.y);
        state.a.fill(N::ZERO);
        changed(&y, &state.y)
    }

    /// Round 4l + 3.
    fn follow_wires(&self, state: &mut State<N>) -> Vec<usize> {
        let x = state.x.clone();
        state.excitation[0].fill(N::ZERO);
        state.inhibition[0].fill(N::ZERO);
        state.send(&self.wires, 0);
        (0..self.n).for_each(|i| state.x[i] += (state.excitation[0][i] - state.inhibition[0][i]).positive());
        changed(&x, &state.x)
    }

    /// The values that the next round will carry, edge by edge; for a token that arrives as `y0`, those of its wires.
    pub fn flows(&self, state: &State<N>, y0: Option<&[N]>) -> Vec<Flow> {
        let over = |parts: &[Vec<Edge<N>>; 2], source: &[N]| -> Vec<Flow> {
            let signed = parts.iter().zip([1.0, -1.0]).flat_map(|(part, sign)| part.iter().map(move |e| (e, sign)));
            let amount = |e: &Edge<N>| e.weight.value() * source.get(e.from).map_or(0.0, |v| v.value());
            signed.map(|(e, sign)| Flow { from: e.from, to: e.to, amount: sign * amount(e) }).collect()
        };
        let synaptic = |amount: &dyn Fn(&Synapse<N>) -> f64, forwards: bool| -> Vec<Flow> {
            let flow = |s: &Synapse<N>| {
                let (from, to) = if forwards { (s.x, s.y) } else { (s.y, s.x) };
                Flow { from, to, amount: amount(s) }
            };
            self.synapses.iter().map(flow).collect()
        };
        let mut flows = match (y0, state.kernel) {
            (Some(y0), _) => over(&self.wires, y0),
            (None, _) if self.is_done(state) => vec![],
            (None, 0) => {
                let sigma = self.drifted(state, state.layer);
                synaptic(&|s| sigma.at(s.y, s.x).value() * state.x[s.x].value(), true)
            }
            (None, 1) => synaptic(&|s| s.weight.value() * state.y[s.y].value() * state.x[s.x].value(), false),
            // A may be below zero if the state rotates; it then inhibits instead of exciting, and the reverse
            (None, 2) => over(&self.prods, &state.a),
            (None, _) => over(&self.wires, &state.y),
        };
        flows.retain(|f| f.amount != 0.0);
        flows
    }

    /// The matrix `(n, n)` that the layer will read: sigma_l U, and what neurons keep of it, which equation (6) calls
    /// sigma_{t,l} once token t is read.
    pub fn drifted(&self, state: &State<N>, layer: usize) -> Dense<N> {
        let (mut all, fades) = (Dense::zeros(self.n, self.n), self.has_decay(layer));
        for (s, sigma) in self.synapses.iter().zip(&state.sigma[self.state_of(layer)]) {
            all.row_mut(s.y)[s.x] = if fades { self.decayed(s.y, *sigma) } else { *sigma };
        }
        if fades {
            (0..self.n).for_each(|i| self.drift.row(all.row_mut(i)));
        }
        all
    }
}

impl<N: Number> State<N> {
    /// Sends Y over wires to the counters of X (0), or A over prods to those of Y (1), edge by edge.
    fn send(&mut self, [excite, inhibit]: &[Vec<Edge<N>>; 2], counter: usize) {
        let source = if counter == 0 { &self.y } else { &self.a };
        for (edges, target) in [(excite, &mut self.excitation[counter]), (inhibit, &mut self.inhibition[counter])] {
            edges.iter().for_each(|e| target[e.to] += e.weight * source[e.from]);
        }
    }
}

fn changed<N: Number>(before: &[N], after: &[N]) -> Vec<usize> {
    (0..after.len()).filter(|i| before.get(*i).is_none_or(|b| b.value() != after[*i].value())).collect()
}

/// The synapses G_s of a graph that was trained edge by edge, where BDH-GPU has one of weight 1 for every pair, with the
/// rule for their state.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedSynapses {
    /// G_s `(n, n)`, row the y side, at least 0; 0 is not a synapse.
    pub weights: Dense<f64>,
    /// The share of neuron i's synapses that a token leaves, `(n)`.
    pub retention: Vec<f64>,
    /// True if A and Y are divided by their root mean square over neurons.
    pub norms: bool,
    /// True if all layers share one state.
    pub single_state: bool,
}

impl TrainedSynapses {
    /// The local rules on the circuits G_x and G_y `(n, n)` and these synapses; `None` where sizes do not fit.
    pub fn system(&self, [gx, gy]: [&Dense<f64>; 2], drift: &Drift, layers: usize) -> Option<System<f64>> {
        let n = self.retention.len();
        if n == 0 || [gx, gy, &self.weights].iter().any(|m| (m.rows, m.cols) != (n, n)) || drift.n() != n {
            return None;
        }
        let synapse = |(k, weight): (usize, &f64)| Synapse { y: k / n, x: k % n, weight: *weight };
        let synapses = self.weights.data.iter().enumerate().filter(|(_, w)| **w > 0.0).map(synapse).collect();
        let mut system = System::new(n, layers, parts(gx), parts(gy), synapses, drift.clone());
        (system.retention, system.norms, system.single_state) = (self.retention.clone(), self.norms, self.single_state);
        Some(system)
    }
}
