//! Correlation of the blocks' input with its own past, and what the traces keep of that past.

use super::tapped::TraceModel;
use crate::probe::prelude::*;

impl Probe for AutocorrelationArgs {
    type Answer = Autocorrelation;
    type Subject<'m> = TraceModel<'m>;

    fn ask(&self, subject: TraceModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (model, sizes) = subject;
        let held_out = cx.corpus.held_out(self.windows, self.window)?;
        let (rows, len) = (held_out.rows, held_out.len);
        let lags = self.lags.min(len / 2);
        let tokens = Tensor::from_slice(&held_out.inputs, (rows, len), cx.device)?;
        let mut tap = Tap::on(&["blocks."]);
        model.logits(&tokens, &mut tap)?;
        let values = |block: usize, part: &str| host::to_f32(tap.require(&sizes.tap_path(block, part))?);
        let of_block = |block: usize| -> Result<BlockAutocorrelation> {
            let kept = |trace: &str| -> Result<Vec<f64>> {
                Ok(retention(&values(block, &format!("rate_{trace}"))?, [rows, len, sizes.channels], lags))
            };
            let [fast, medium, slow] = TraceBlocks::TRACES;
            Ok(BlockAutocorrelation {
                path: TraceBlocks::path(block),
                input: correlations(&values(block, "input")?, [rows, len, sizes.channels], lags).into(),
                retention: [kept(fast)?.into(), kept(medium)?.into(), kept(slow)?.into()],
            })
        };
        let blocks = (0..sizes.blocks).map(of_block).collect::<Result<Vec<_>>>()?;
        let noise = 1.96 / ((rows * len) as f64).sqrt();
        let measured = Autocorrelation { noise, tokens: rows * len, blocks };
        Ok(Answer::new(measured, format!("{rows} held-out windows of {len} tokens"), vec![]))
    }
}

/// x `(rows, len, channels)` -> by lag 0..=lags: the covariance of each channel with itself, summed over channels, over
/// that at lag 0. Means are over all rows, so that what a row has throughout counts as correlation.
fn correlations(x: &[f32], [rows, len, channels]: [usize; 3], lags: usize) -> Vec<f64> {
    let mut means = vec![0.0f64; channels];
    for token in x.chunks(channels) {
        means.iter_mut().zip(token).for_each(|(mean, v)| *mean += f64::from(*v));
    }
    means.iter_mut().for_each(|mean| *mean /= (rows * len) as f64);
    let token = |row: usize, at: usize| &x[(row * len + at) * channels..][..channels];
    let covariance = |lag: usize| -> f64 {
        let mut sum = 0.0;
        for row in 0..rows {
            for at in lag..len {
                let pair = token(row, at).iter().zip(token(row, at - lag)).zip(&means);
                sum += pair.map(|((a, b), mean)| (f64::from(*a) - mean) * (f64::from(*b) - mean)).sum::<f64>();
            }
        }
        sum / (rows * (len - lag)) as f64
    };
    let variance = covariance(0);
    (0..=lags).map(|lag| covariance(lag) / variance).collect()
}

/// Coefficients a `(channels)` or `(rows, len, channels)` -> by lag 0..=lags: the mean over channels and places of the
/// product of 1 - a over as many tokens that follow.
fn retention(a: &[f32], [rows, len, channels]: [usize; 3], lags: usize) -> Vec<f64> {
    if a.len() == channels {
        let mean = |lag: usize| a.iter().map(|a| (1.0 - f64::from(*a)).powi(lag as i32)).sum::<f64>() / channels as f64;
        return (0..=lags).map(mean).collect();
    }
    let (mut sums, mut counts) = (vec![0.0f64; lags + 1], vec![0usize; lags + 1]);
    for row in 0..rows {
        for channel in 0..channels {
            for from in 0..len {
                let mut left = 1.0;
                for lag in 0..=lags.min(len - 1 - from) {
                    if lag > 0 {
                        left *= 1.0 - f64::from(a[(row * len + from + lag) * channels + channel]);
                    }
                    sums[lag] += left;
                    counts[lag] += 1;
                }
            }
        }
    }
    sums.iter().zip(counts).map(|(sum, count)| sum / count as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alternating_channel_has_lag_one_correlation_minus_one() {
        let x: Vec<f32> = (0..200).flat_map(|t| [if t % 2 == 0 { 1.0 } else { -1.0 }, 5.0]).collect();
        let found = correlations(&x, [2, 100, 2], 2);
        assert!((found[0] - 1.0).abs() < 1e-9 && (found[1] + 1.0).abs() < 1e-9 && (found[2] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn noise_has_nothing_to_do_with_its_past() {
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1u64 << 24) as f32
        };
        let x: Vec<f32> = (0..4 * 500).map(|_| noise()).collect();
        let found = correlations(&x, [4, 500, 1], 8);
        assert!(found[1..].iter().all(|r| r.abs() < 0.1), "{found:?}");
    }

    #[test]
    fn a_constant_coefficient_decays_alike_however_it_is_given() {
        let (a, sizes) = (0.1f32, [2, 20, 3]);
        let fixed = retention(&[a; 3], sizes, 5);
        let given = retention(&vec![a; 2 * 20 * 3], sizes, 5);
        for (lag, (x, y)) in fixed.iter().zip(&given).enumerate() {
            let expected = (1.0 - f64::from(a)).powi(lag as i32);
            assert!((x - expected).abs() < 1e-12 && (y - expected).abs() < 1e-12, "lag {lag}: {x} {y}");
        }
    }
}
