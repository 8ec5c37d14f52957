//! Sizes and switches of a network of predictive columns. It builds nothing.

use super::{DIRECTIONS, feedforward::FeedforwardRule};
use crate::models::prelude::*;

/// Sizes of one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelSpec {
    /// The number of units of the level.
    pub units: usize,
    /// k, units that are kept.
    pub active: usize,
    /// a, the coefficient of the fast trace.
    pub fast: f64,
}

impl LevelSpec {
    /// A level of `units` units that keeps `active` of them, with the coefficient of its fast trace.
    pub const fn new(units: usize, active: usize, fast: f64) -> Self {
        Self { units, active, fast }
    }
}

defaults! {
    /// The default is the preset that comes closest to the paper's table.
    pub struct SpcnSpec {
        /// False: the state is the word itself, one-hot, and nothing settles or learns, which shows the share of traces
        /// alone.
        pub network: bool = true,
        /// The levels, lowest first.
        pub levels: Vec<LevelSpec> = vec![
            LevelSpec::new(512, 31, 0.5),
            LevelSpec::new(256, 15, 0.2),
            LevelSpec::new(128, 8, 0.1),
            LevelSpec::new(64, 4, 0.05),
        ],
        /// True if a second hierarchy reads from right to left.
        pub backward: bool = true,
        /// True if there is a slow trace in addition to the fast one.
        pub slow_trace: bool = true,
        /// The slow coefficient as a share of the fast one.
        pub slow_share: f64 = 0.15,
        /// The number of settling sweeps per word.
        pub sweeps: usize = 3,
        /// The weight of the pathway from below.
        pub feedforward: f64 = 1.0,
        /// The weight of the pathway from above.
        pub feedback: f64 = 0.5,
        /// The weight of the pathway within a level.
        pub lateral: f64 = 0.3,
        /// Settled states in the episodic buffer; 0 is not a sparse predictive attention (SPA).
        pub buffer: usize = 8,
        /// The number of states that are mixed.
        pub retrieved: usize = 4,
        /// True if the buffer is queried by cosine rather than dot product.
        pub cosine: bool = false,
        /// The factor on the retrieved mixture.
        pub gain: f64 = 1.0,
        /// True if the kept activations of a level are scaled to unit length.
        pub unit_norm: bool = true,
        /// eta of the feedback weights; at 0 they follow no error, and still decay.
        pub rate: f64 = 0.01,
        /// The decay of feedback weights at each word.
        pub decay: f64 = 0.001,
        /// The bounds of precisions.
        pub precision: [f64; 2] = [0.1, 10.0],
        /// Precisions are 1 / (d v) rather than 1 / v.
        pub precision_per_unit: bool = false,
        /// The rule by which feedforward weights learn.
        pub feedforward_rule: FeedforwardRule = FeedforwardRule::Frozen,
        /// eta of that rule.
        pub feedforward_rate: f64 = 0.01,
    }
}

impl SpcnSpec {
    /// More kept units, relative precisions and a weak episodic buffer asked by cosine: how another trial filled what the
    /// paper leaves open.
    pub fn second() -> Self {
        Self {
            levels: vec![
                LevelSpec::new(512, 51, 0.5),
                LevelSpec::new(256, 26, 0.2),
                LevelSpec::new(128, 13, 0.1),
                LevelSpec::new(64, 6, 0.05),
            ],
            cosine: true,
            gain: 0.3,
            precision_per_unit: true,
            ..Self::default()
        }
    }

    pub(super) fn directions(&self) -> &'static [&'static str] {
        if self.backward { &DIRECTIONS } else { &DIRECTIONS[..1] }
    }

    /// Coefficients of the fast and the slow trace of a level.
    pub(super) fn traces(&self, level: usize) -> [f32; 2] {
        let fast = self.levels.get(level).map_or(0.0, |l| l.fast);
        [fast as f32, (self.slow_share * fast) as f32]
    }

    /// Errors name the size that does not fit, and sizes that would.
    pub(super) fn check(&self) -> Result<()> {
        let is_whole = !self.levels.is_empty() && self.sweeps > 0;
        ensure!(is_whole, "a network of predictive columns needs at least one level and one settling sweep");
        for (l, LevelSpec { units, active, fast }) in self.levels.iter().enumerate() {
            let fits = (1..=*units).contains(active);
            ensure!(fits, "level {l} has {units} units, so {active} cannot be kept; keep 1 to {units}");
            let fits = *fast > 0.0 && *fast <= 1.0;
            ensure!(fits, "the trace of level {l} has the coefficient {fast}; it must be above 0 and at most 1");
        }
        let [min, max] = self.precision;
        if !(min > 0.0 && max >= min && max.is_finite()) {
            candle_core::bail!(
                "precisions from {min} to {max} are not a valid range; the smallest must be above 0 and the largest no \
                 smaller"
            );
        }
        let (held, read) = (self.buffer, self.retrieved);
        ensure!(
            held == 0 || read > 0,
            "{held} states are buffered and none is retrieved; retrieve at least 1, or buffer 0"
        );
        Ok(())
    }

    /// Numbers of one direction that are drawn or learned.
    fn weights(&self, vocab: f64) -> f64 {
        let units = || self.levels.iter().map(|l| l.units as f64);
        let inputs = std::iter::once(vocab).chain(units());
        let frozen: f64 = units().zip(inputs).map(|(d, inputs)| d * (d + inputs)).sum();
        let learned: f64 = units().zip(units().skip(1)).map(|(d, above)| d * above).sum();
        let inhibition: f64 = match self.feedforward_rule {
            FeedforwardRule::Foldiak => units().map(|d| d * d).sum(),
            _ => 0.0,
        };
        if self.network { frozen + learned + inhibition } else { 0.0 }
    }
}

impl FamilySpec for SpcnSpec {
    /// An update works on copies of the weights; a batch of sentences is small compared with them.
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let weights = self.weights(step.vocab) * self.directions().len() as f64;
        StepMemory { weights, shared: 0.0, activations: 4.0 * step.positions() }
    }

    fn tiny() -> Self {
        Self {
            levels: vec![LevelSpec::new(24, 4, 0.5), LevelSpec::new(12, 2, 0.2), LevelSpec::new(8, 2, 0.1)],
            ..Self::default()
        }
    }
}
