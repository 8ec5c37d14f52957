//! One hierarchy of predictive columns that reads a sentence in one direction (arXiv 2604.08556, section 3): settling,
//! the precision-gated Hebbian update of the feedback weights, and traces. Plain slices.
//!
//! The paper leaves these choices open; here they are, level l from 0 (below) up, all in 32 bits:
//! - A sweep goes through the levels bottom-up, in place. Within it, level l sees the new state of level l - 1, the old
//!   one of level l + 1 and its own old one. Level 0 has the word's column of its feedforward weights as input.
//! - States are carried from word to word; states, traces and episodic buffer are zero at a sentence's start.
//! - The query of the buffer is the precision-weighted error before the level's update, pi (x - W_fb x(l+1)); the softmax
//!   over the best scores has temperature 1, and of equal scores the older state is better.
//! - After settling the error r is taken with the settled state above; precisions follow it before they gate the update.
//! - A state is divided by its length after the units are chosen (`unit_norm`), which equation (1) does not have.
//! - A level keeps 6% of its units; drawn weights have a variance of one over their inputs; running variances begin at 1 and
//!   follow the squared error by .01.
//! - While a network is frozen, neither feedback weights nor precisions change.

use super::{
    feedforward::{self, FeedforwardRule, Surprise},
    spec::SpcnSpec,
};
use crate::nn::kernels::sparse::{Sparse, add_columns, axpy};

/// Share of the new squared error in the running variance.
const VARIANCE_RATE: f32 = 0.01;

/// The weights and running variances of one level of `units` units over `inputs` inputs, columns one after another.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    pub units: usize,
    /// The number of units that are kept.
    pub active: usize,
    /// Coefficient of the fast trace, and of the slow one.
    pub traces: [f32; 2],
    /// The feedforward weights `(inputs, units)`, frozen unless a rule is chosen for them.
    pub feedforward: Vec<f32>,
    /// The frozen lateral weights `(units, units)`.
    pub lateral: Vec<f32>,
    /// `(units above, units)`, learned; empty at the top.
    pub feedback: Vec<f32>,
    /// v `(units)`; empty at the top, whose precision is 1.
    pub variance: Vec<f32>,
    /// Learned inhibition between units `(units, units)`; empty if no rule uses it.
    pub inhibition: Vec<f32>,
    /// The running mean of a word's surprise, if a rule uses it.
    pub surprise: f32,
    /// pi `(units)`, from v; a [`Hierarchy`] fills it in.
    pub precision: Vec<f32>,
}

/// The levels, from below.
#[derive(Debug, Clone, PartialEq)]
pub struct Hierarchy {
    /// The rules by which it settles and learns, whose numbers are used in 32 bits.
    pub spec: SpcnSpec,
    levels: Vec<Level>,
    /// Feedback weights are the stored ones times this: decay multiplies one number rather than all.
    scale: f32,
}

/// The state of one level while a sentence is read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LevelState {
    /// x, the settled state.
    pub x: Sparse,
    /// x as a dense vector.
    pub dense: Vec<f32>,
    /// xhat = W_fb x(l+1), what the level above predicts.
    pub predicted: Vec<f32>,
    /// tau, the fast trace and the slow one.
    pub traces: [Vec<f32>; 2],
    /// The length of x before it was scaled to 1.
    length: f32,
    /// Settled states of the words before, the oldest first.
    buffer: Vec<Sparse>,
}

/// The state of a hierarchy while it reads a sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub levels: Vec<LevelState>,
    /// u, the drive of a level; it has the size of the widest one.
    drive: Vec<f32>,
    keys: Vec<u32>,
    scores: Vec<(f32, usize)>,
}

impl Hierarchy {
    pub fn new(spec: SpcnSpec, mut levels: Vec<Level>) -> Self {
        for level in &mut levels {
            level.precision = match level.variance.is_empty() {
                true => vec![1.0; level.units],
                false => level.variance.iter().map(|v| precision(&spec, *v, level.units)).collect(),
            };
        }
        Self { spec, levels, scale: 1.0 }
    }

    /// The levels with their present weights.
    pub fn levels(&mut self) -> &[Level] {
        self.apply_scale();
        &self.levels
    }

    /// Returns the state at a sentence's start, in which nothing was read.
    pub fn start(&self) -> State {
        let widest = self.levels.iter().map(|l| l.units).max().unwrap_or_default();
        let levels = self.levels.iter().map(|l| LevelState::new(l.units)).collect();
        State { levels, drive: vec![0.0; widest], ..State::default() }
    }

    /// Settles on a word, calling `after_sweep` after each sweep; then the traces take the settled states up.
    pub fn read(&self, state: &mut State, word: usize, after_sweep: &mut dyn FnMut(&State)) {
        for _ in 0..self.spec.sweeps {
            (0..self.levels.len()).for_each(|l| self.settle(state, l, word));
            after_sweep(state);
        }
        for l in 0..self.levels.len() {
            self.predict(state, l);
            state.levels[l].follow(self.levels[l].traces);
        }
    }

    /// Ends a word: its settled states enter the buffers.
    pub fn remember(&self, state: &mut State) {
        let window = self.spec.buffer;
        if window == 0 {
            return;
        }
        for held in &mut state.levels {
            // the oldest state's memory is used for the new one
            let mut newest = if held.buffer.len() < window { Sparse::default() } else { held.buffer.remove(0) };
            newest.clone_from(&held.x);
            held.buffer.push(newest);
        }
    }

    /// xhat of level l from the state above it.
    fn predict(&self, state: &mut State, l: usize) {
        let (below, above) = state.levels.split_at_mut(l + 1);
        let (Some(held), Some(above)) = (below.last_mut(), above.first()) else { return };
        held.predicted.fill(0.0);
        add_columns(&mut held.predicted, &self.levels[l].feedback, &above.x, self.scale);
    }

    /// Settles one level within a sweep.
    fn settle(&self, state: &mut State, l: usize, word: usize) {
        self.predict(state, l);
        let (level, spec) = (&self.levels[l], &self.spec);
        let State { levels, drive, keys, scores } = state;
        let (below, here) = levels.split_at_mut(l);
        let Some(held) = here.first_mut() else { return };
        let u = &mut drive[..level.units];
        u.fill(0.0);
        match below.last() {
            None => axpy(u, spec.feedforward as f32, &level.feedforward[word * level.units..][..level.units]),
            Some(below) => add_columns(u, &level.feedforward, &below.x, spec.feedforward as f32),
        }
        axpy(u, spec.feedback as f32, &held.predicted);
        add_columns(u, &level.lateral, &held.x, spec.lateral as f32);
        if !level.inhibition.is_empty() {
            add_columns(u, &level.inhibition, &held.x, 1.0);
        }
        retrieve(level, held, spec, scores, u);
        held.x.iter().for_each(|(unit, _)| held.dense[unit] = 0.0);
        held.x.select(u, level.active, keys);
        let length = held.x.norm();
        held.length = if spec.unit_norm { length } else { 1.0 };
        if spec.unit_norm && length > 0.0 {
            held.x.values.iter_mut().for_each(|v| *v /= length);
        }
        held.x.iter().for_each(|(unit, value)| held.dense[unit] = value);
    }

    /// Learns from the settled word: precisions follow the errors, then gate the update of the feedback weights
    /// (equations 2 and 3; as printed, the precision enters twice). Feedforward weights follow their rule, if there is one.
    pub fn learn(&mut self, state: &State, word: usize) {
        let (spec, rate) = (&self.spec, self.spec.rate as f32);
        self.scale *= 1.0 - spec.decay as f32;
        for (l, above) in (0..self.levels.len()).zip(state.levels.iter().skip(1)) {
            let (level, held) = (&mut self.levels[l], &state.levels[l]);
            let mut gated = vec![0.0; level.units]; // eta pi (pi r)
            let variances = level.variance.iter_mut().zip(&mut level.precision);
            for (((v, pi), gated), (x, xhat)) in variances.zip(&mut gated).zip(held.dense.iter().zip(&held.predicted)) {
                let r = x - xhat;
                *v += VARIANCE_RATE * (r * r - *v);
                *pi = precision(spec, *v, level.units);
                *gated = rate * *pi * (*pi * r);
            }
            if rate > 0.0 {
                for (unit, value) in above.x.iter() {
                    axpy(&mut level.feedback[unit * level.units..][..level.units], value / self.scale, &gated);
                }
            }
        }
        // stored weights grow as their scale falls: well before they lose digits they are brought back
        if self.scale < 0.5 {
            self.apply_scale();
        }
        self.learn_feedforward(state, word, self.spec.feedforward_rate as f32);
    }

    /// True if its rule also learns from sentences that are read from the wrong side.
    pub fn learns_from_negatives(&self) -> bool {
        self.spec.feedforward_rule == FeedforwardRule::ForwardForward
    }

    /// Learns from a settled word of a negative sentence.
    pub fn learn_negative(&mut self, state: &State, word: usize) {
        self.learn_feedforward(state, word, -(self.spec.feedforward_rate as f32));
    }

    /// Updates the feedforward weights, level by level. The rule reads settled states, so that the order of levels does
    /// not matter.
    fn learn_feedforward(&mut self, state: &State, word: usize, rate: f32) {
        let (rule, decay) = (self.spec.feedforward_rule, self.spec.decay as f32);
        if rule == FeedforwardRule::Frozen || rate == 0.0 {
            return;
        }
        let one_hot = Sparse { units: vec![word as u32], values: vec![1.0] };
        for (l, (level, held)) in self.levels.iter_mut().zip(&state.levels).enumerate() {
            let input = if l == 0 { &one_hot } else { &state.levels[l - 1].x };
            let (units, active, weights) = (level.units, level.active, &mut level.feedforward);
            match rule {
                FeedforwardRule::Frozen => {}
                FeedforwardRule::Sanger => feedforward::sanger(weights, units, [input, &held.x], rate),
                FeedforwardRule::Foldiak => {
                    feedforward::foldiak(weights, &mut level.inhibition, [units, active], [input, &held.x], rate);
                }
                FeedforwardRule::Surprise => {
                    let errors: Vec<f32> = held.dense.iter().zip(&held.predicted).map(|(x, xhat)| x - xhat).collect();
                    let surprise = Surprise { errors: &errors, precision: &level.precision, rate, decay };
                    feedforward::surprise_gated(weights, &mut level.surprise, input, &surprise);
                }
                FeedforwardRule::ForwardForward => {
                    feedforward::forward_forward(weights, units, [input, &held.x], held.length, rate);
                }
            }
        }
    }

    fn apply_scale(&mut self) {
        let scale = std::mem::replace(&mut self.scale, 1.0);
        if scale != 1.0 {
            self.levels.iter_mut().flat_map(|l| &mut l.feedback).for_each(|w| *w *= scale);
        }
    }

    /// Sum of the squared errors of what level 0 was predicted to be.
    pub fn error(&self, state: &State) -> f64 {
        let Some(held) = state.levels.first() else { return 0.0 };
        held.dense.iter().zip(&held.predicted).map(|(x, xhat)| f64::from((x - xhat) * (x - xhat))).sum()
    }
}

impl LevelState {
    fn new(units: usize) -> Self {
        let zeros = || vec![0.0; units];
        Self { dense: zeros(), predicted: zeros(), traces: [zeros(), zeros()], ..Self::default() }
    }

    /// tau <- tau + a (x - tau), of both traces.
    fn follow(&mut self, coefficients: [f32; 2]) {
        for (trace, a) in self.traces.iter_mut().zip(coefficients) {
            trace.iter_mut().zip(&self.dense).for_each(|(tau, x)| *tau += a * (x - *tau));
        }
    }
}

impl State {
    /// A single level whose units are words.
    pub fn from_vocab(vocab: usize) -> Self {
        Self { levels: vec![LevelState::new(vocab)], ..Self::default() }
    }

    /// Sets the input to a word, encoded one-hot.
    pub fn take_word(&mut self, word: usize, traces: [f32; 2]) {
        for held in &mut self.levels {
            held.dense.fill(0.0);
            held.dense[word] = 1.0;
            held.follow(traces);
        }
    }
}

/// pi, the inverse of the running variance of the error of `units` units.
fn precision(spec: &SpcnSpec, variance: f32, units: usize) -> f32 {
    let v = if spec.precision_per_unit { variance * units as f32 } else { variance };
    let [min, max] = spec.precision.map(|bound| bound as f32);
    (1.0 / (v + 1e-8)).clamp(min, max)
}

/// Adds c, the mixture of the buffered states that are most like the precision-weighted error, to the drive.
fn retrieve(level: &Level, held: &LevelState, spec: &SpcnSpec, scores: &mut Vec<(f32, usize)>, u: &mut [f32]) {
    if held.buffer.is_empty() {
        return;
    }
    let query = |unit: usize| level.precision[unit] * (held.dense[unit] - held.predicted[unit]);
    let length = |q: f32| if q > 0.0 { q.sqrt() } else { 1.0 };
    let query_length = match spec.cosine {
        true => length((0..level.units).map(|unit| query(unit) * query(unit)).sum()),
        false => 1.0,
    };
    scores.clear();
    scores.extend(held.buffer.iter().enumerate().map(|(i, b)| {
        let dot: f32 = b.iter().map(|(unit, value)| query(unit) * value).sum();
        let own = if spec.cosine { query_length * length(b.values.iter().map(|v| v * v).sum()) } else { 1.0 };
        (dot / own, i)
    }));
    // the sort is stable: the older of two states with equal scores stays first
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    scores.truncate(spec.retrieved);
    let Some(&(most, _)) = scores.first() else { return };
    scores.iter_mut().for_each(|(score, _)| *score = (*score - most).exp());
    let sum: f32 = scores.iter().map(|(weight, _)| weight).sum();
    scores.iter().for_each(|&(weight, i)| held.buffer[i].add_to(u, spec.gain as f32 * weight / sum));
}
