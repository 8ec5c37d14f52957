//! U: what happens to the state of synapses from one token to the next. Damping (ALiBi), rotation (RoPE),
//! both, or nothing.

use super::number::Number;

/// RoPE's base in BDH: 2^16.
const ROPE_BASE: f64 = 65536.0;

/// U acts on the x side of a row of state: s -> s U. Its blocks are single columns (damping) or pairs of
/// neighbours (rotation), so that it needs no communication beyond a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    /// u(j): share of column j that is left after a token. In \[0, 1\].
    retention: Vec<f64>,
    /// (cos, sin) of the angle by which each pair rotates per token; empty without rotation.
    rotations: Vec<(f64, f64)>,
}

impl Drift {
    /// U = 1 over `n` columns: nothing is forgotten.
    pub fn identity(n: usize) -> Self {
        Self { retention: vec![1.0; n], rotations: vec![] }
    }

    /// All columns keep the share `retention` of themselves: ALiBi, whose weight e^(-m d) of a token d back is
    /// u^d with u = e^-m.
    pub fn damping(n: usize, retention: f64) -> Self {
        Self { retention: vec![retention.clamp(0.0, 1.0); n], rotations: vec![] }
    }

    /// Pair k (columns 2k and 2k + 1) rotates by `angles[k]` radians per token.
    pub fn rotation(n: usize, angles: &[f64]) -> Self {
        let angles = (0..n / 2).map(|k| angles.get(k).copied().unwrap_or(0.0));
        Self { retention: vec![1.0; n], rotations: angles.map(|a| (a.cos(), a.sin())).collect() }
    }

    /// RoPE with BDH's base: pair k rotates by 65536^(-2k/n) radians per token.
    pub fn rope(n: usize) -> Self {
        let angles: Vec<f64> = (0..n / 2).map(|k| ROPE_BASE.powf(-((2 * k) as f64) / n as f64)).collect();
        Self::rotation(n, &angles)
    }

    /// Sets the share of itself that every column keeps per token, in addition to the rotation.
    pub fn with_damping(mut self, retention: f64) -> Self {
        self.retention.fill(retention.clamp(0.0, 1.0));
        self
    }

    /// Returns the number of columns n that U acts on.
    pub fn n(&self) -> usize {
        self.retention.len()
    }

    /// Returns true if U rotates pairs of columns.
    pub fn rotates(&self) -> bool {
        !self.rotations.is_empty()
    }

    /// u(j), the share of column j that is left after a token; without rotation these are all of U.
    pub fn retention(&self, j: usize) -> f64 {
        self.retention.get(j).copied().unwrap_or(1.0)
    }

    /// The column that rotates in a pair with j; `None` if j does not rotate.
    pub fn partner(&self, j: usize) -> Option<usize> {
        (j / 2 < self.rotations.len()).then_some(j ^ 1)
    }

    /// A pair of state at columns j and j + 1 (j even) after a token: (s_j, s_j+1) U.
    pub fn pair<N: Number>(&self, j: usize, (a, b): (N, N)) -> (N, N) {
        let (a, b) = (N::exact(self.retention(j)) * a, N::exact(self.retention(j + 1)) * b);
        match self.rotations.get(j / 2) {
            // This sign makes x_s U^(t-s) x_t the product of both vectors rotated to their positions, as in RoPE.
            Some((cos, sin)) => {
                let (cos, sin) = (N::exact(*cos), N::exact(*sin));
                (cos * a + sin * b, cos * b - sin * a)
            }
            None => (a, b),
        }
    }

    /// A row of state (one value per column) after a token, in place: s U.
    pub fn row<N: Number>(&self, row: &mut [N]) {
        let (pairs, last) = row.as_chunks_mut();
        let unpaired = 2 * pairs.len();
        for (i, [a, b]) in pairs.iter_mut().enumerate() {
            (*a, *b) = self.pair(2 * i, (*a, *b));
        }
        last.iter_mut().for_each(|last| *last = N::exact(self.retention(unpaired)) * *last);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares x_s U^(t-s) . x_t with the product of both vectors rotated to their positions, as in BDH-GPU's code.
        #[test]
        fn turning_the_state_is_rope(
            x in prop::collection::vec(-1.0..1.0f64, 8), q in prop::collection::vec(-1.0..1.0f64, 8),
            s in 0u32..20, gap in 0u32..20,
        ) {
            let n = 8;
            let rope = Drift::rope(n);
            let mut state = x.clone();
            (0..gap).for_each(|_| rope.row(&mut state));
            let by_state: f64 = state.iter().zip(&q).map(|(a, b)| a * b).sum();
            let placed = |v: &[f64], t: u32| -> Vec<f64> {
                (0..n).map(|j| {
                    let turns = 65536f64.powf(-((j / 2 * 2) as f64) / n as f64) / std::f64::consts::TAU;
                    let phase = (f64::from(t) * turns).fract() * std::f64::consts::TAU;
                    let partner = if j % 2 == 0 { -v[j + 1] } else { v[j - 1] };
                    v[j] * phase.cos() + partner * phase.sin()
                }).collect()
            };
            let by_rope: f64 = placed(&x, s).iter().zip(placed(&q, s + gap)).map(|(a, b)| a * b).sum();
            prop_assert!((by_state - by_rope).abs() < 1e-12, "{} {}", by_state, by_rope);
        }

        #[test]
        fn rotation_keeps_lengths_and_damping_shortens_them(
            x in prop::collection::vec(-1.0..1.0f64, 7), retention in 0.0..1.0f64,
        ) {
            let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
            let mut turned = x.clone();
            Drift::rope(7).row(&mut turned);
            prop_assert!((length(&turned) - length(&x)).abs() < 1e-14);
            let mut damped = x.clone();
            Drift::damping(7, retention).row(&mut damped);
            prop_assert!((length(&damped) - retention * retention * length(&x)).abs() < 1e-14);
            let mut both = x.clone();
            Drift::rope(7).with_damping(retention).row(&mut both);
            prop_assert!((length(&both) - retention * retention * length(&x)).abs() < 1e-14);
        }
    }
}
