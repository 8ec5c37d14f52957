//! Fast weights of a linear predictor: what they add to a prediction, and the precision-gated Hebbian update after every
//! token. It works on slices, whatever is predicted.

use super::arch::kernel;

/// The rule by which fast weights learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HebbianRule {
    /// eta; with 0 nothing is learned, and predictions stay those of the base to the last bit.
    pub rate: f32,
    /// pi_max, the largest precision.
    pub max_precision: f32,
    /// Share of a new squared error in the running variance.
    pub variance_rate: f32,
    /// Added to the variance before it is inverted.
    pub min_variance: f32,
}

/// The fast weights and error variances after the tokens of one text so far, over D channels.
#[derive(Debug, Clone, PartialEq)]
pub struct FastWeightState {
    /// W_fast, transposed: the weights of an input lie side by side, `(D inputs, D outputs)`.
    pub weights: Vec<f32>,
    /// Running variance v of the error by channel, `(D)`; 1 before the first token.
    pub variance: Vec<f32>,
}

impl FastWeightState {
    /// The state before the first token: weights 0, variances 1.
    pub fn new(channels: usize) -> Self {
        Self { weights: vec![0.0; channels * channels], variance: vec![1.0; channels] }
    }
}

kernel! {
    /// The next tokens of one text. For every token in turn: e = x - W_base h - W_fast h; v follows e^2; pi = min(1 / v,
    /// pi_max); W_fast <- W_fast + eta (pi e) h^T, so that a prediction depends only on earlier tokens.
    ///
    /// `errors` `(T, D)` holds x - W_base h and gets e; `inverse_precision` `(T)` gets the mean of 1 / pi over channels.
    pub fn read(
        _,
        rule: HebbianRule,
        inputs: &'a [f32],
        errors: &'a mut [f32],
        inverse_precision: &'a mut [f32],
        state: &'a mut FastWeightState,
    ) {
        let d = state.variance.len();
        let (mut gated, mut predicted) = (vec![0f32; d], vec![0f32; d]);
        for ((h, e), inverse) in inputs.chunks_exact(d).zip(errors.chunks_exact_mut(d)).zip(inverse_precision) {
            if rule.rate != 0.0 {
                predicted.fill(0.0);
                for (h, row) in h.iter().zip(state.weights.chunks_exact(d)) {
                    predicted.iter_mut().zip(row).for_each(|(sum, w)| *sum += h * w);
                }
                e.iter_mut().zip(&predicted).for_each(|(e, p)| *e -= p);
            }
            let mut sum = 0.0;
            for ((v, gated), e) in state.variance.iter_mut().zip(&mut gated).zip(&*e) {
                *v += rule.variance_rate * (e * e - *v);
                let precision = 1.0 / (*v + rule.min_variance);
                // unlike `f32::min`, this keeps what is not a number
                let precision = if precision > rule.max_precision { rule.max_precision } else { precision };
                sum += 1.0 / precision;
                *gated = rule.rate * precision * e;
            }
            *inverse = sum / d as f32;
            if rule.rate != 0.0 {
                for (h, row) in h.iter().zip(state.weights.chunks_exact_mut(d)) {
                    row.iter_mut().zip(&gated).for_each(|(w, g)| *w += h * g);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: HebbianRule = HebbianRule { rate: 0.1, max_precision: 10.0, variance_rate: 0.01, min_variance: 1e-8 };

    /// Two channels, two tokens, by hand.
    #[test]
    fn an_update_is_precision_times_error_times_input() {
        let mut state = FastWeightState::new(2);
        let (inputs, mut errors, mut inverse) = ([1.0, 0.0, 0.6, 0.8], [2.0, 0.5, 2.0, 0.5], [0.0; 2]);
        read(RULE, &inputs, &mut errors, &mut inverse, &mut state);
        // the first token's error is that of the base weights alone
        assert_eq!(errors[..2], [2.0, 0.5]);
        let v = [0.99 + 0.01 * 4.0, 0.99 + 0.01 * 0.25];
        assert!((inverse[0] - (v[0] + v[1]) / 2.0).abs() < 1e-6);
        // W_fast (1, 0)^T = 0.1 e / v, and the second token's input has 0.6 of it
        let e = [2.0 - 0.6 * 0.1 * 2.0 / v[0], 0.5 - 0.6 * 0.1 * 0.5 / v[1]];
        assert!((errors[2] - e[0]).abs() < 1e-6 && (errors[3] - e[1]).abs() < 1e-6, "{errors:?}");
    }

    #[test]
    fn precision_is_bounded_and_no_number_stays_none() {
        let mut state = FastWeightState { variance: vec![1e-6], ..FastWeightState::new(1) };
        let mut inverse = [0.0];
        read(RULE, &[1.0], &mut [0.0], &mut inverse, &mut state);
        assert!((inverse[0] - 0.1).abs() < 1e-6, "pi is at most 10");
        read(RULE, &[1.0], &mut [f32::NAN], &mut inverse, &mut state);
        assert!(inverse[0].is_nan());
    }
}
