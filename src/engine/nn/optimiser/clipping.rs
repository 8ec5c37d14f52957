//! ZClip (Kumar et al. 2025, arXiv 2504.02507): a gradient is scaled down if its norm is an outlier among the previous
//! ones.

use candle_core::{Device, Result, Tensor, bail};

use crate::{config::choices, nn::host};

/// The rule by which the norm of a gradient is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClipRule {
    /// Clips by a fixed norm alone.
    #[default]
    Norm,
    /// Also clips by the z-score of the norm among earlier ones.
    ZClip,
}

choices! { for ClipRule { Norm = "norm", ZClip = "zclip" } }

/// Decay of the running mean and variance of the norm in one step.
const DECAY: f64 = 0.97;
/// The z-score from which a norm is an outlier.
const THRESHOLD: f64 = 2.5;
/// Norms that are only collected; mean and variance begin as theirs.
const WARM_UP: usize = 25;
/// Added to the standard deviation, against division by zero.
const EPS: f64 = 1e-6;

/// The norms so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ZClip {
    /// Running mean and variance; absent while norms are collected.
    moments: Option<[f64; 2]>,
    warm_up_norms: Vec<f64>,
}

impl ZClip {
    /// The limit of a gradient of this norm, which joins the norms so far: of an outlier of z-score z > 2.5, with mean m
    /// and standard deviation s of the norms before it, m + 2.5 s (2.5 / z); `None` of any other.
    pub fn limit(&mut self, norm: f64) -> Option<f64> {
        let Some([mean, variance]) = self.moments else {
            self.collect(norm);
            return None;
        };
        let sd = variance.sqrt();
        let z = (norm - mean) / (sd + EPS);
        let limit = (z > THRESHOLD && sd > EPS).then(|| mean + THRESHOLD * sd * THRESHOLD / z);
        let counted = limit.unwrap_or(norm);
        let next = DECAY * mean + (1.0 - DECAY) * counted;
        self.moments = Some([next, DECAY * variance + (1.0 - DECAY) * (counted - next).powi(2)]);
        limit
    }

    fn collect(&mut self, norm: f64) {
        self.warm_up_norms.push(norm);
        if self.warm_up_norms.len() == WARM_UP {
            let mean = self.warm_up_norms.iter().sum::<f64>() / WARM_UP as f64;
            let variance = self.warm_up_norms.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / WARM_UP as f64;
            self.moments = Some([mean, variance]);
            self.warm_up_norms.clear();
        }
    }

    /// The state for a checkpoint: mean and variance, or, while norms are collected, 0 and -1 and those norms: a
    /// checkpoint refuses values that are not numbers.
    pub fn state(&self) -> Result<Tensor> {
        let moments = self.moments.unwrap_or([0.0, -1.0]);
        let values: Vec<f64> = moments.into_iter().chain(self.warm_up_norms.iter().copied()).collect();
        Tensor::from_vec(values.clone(), values.len(), &Device::Cpu)
    }

    /// Restores what [`ZClip::state`] gave; an error if the tensor holds something else.
    pub fn from_state(state: &Tensor) -> Result<Self> {
        match host::to_f64(state)?.as_slice() {
            [mean, variance] if mean.is_finite() && *variance >= 0.0 => {
                Ok(Self { moments: Some([*mean, *variance]), warm_up_norms: vec![] })
            }
            [_, variance, warm_up_norms @ ..] if *variance < 0.0 && warm_up_norms.len() < WARM_UP => {
                Ok(Self { moments: None, warm_up_norms: warm_up_norms.to_vec() })
            }
            other => bail!("{} numbers are not a state of ZClip", other.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_short_gradients_are_no_outliers() {
        let mut zclip = ZClip { moments: Some([1.0, 0.01]), warm_up_norms: vec![] };
        assert_eq!([1.2, 0.1].map(|norm| zclip.limit(norm)), [None; 2]);
    }

    #[test]
    fn states_are_restored() -> Result<()> {
        let mut zclip = ZClip::default();
        for i in 0..40 {
            let state = zclip.state()?;
            assert_eq!(ZClip::from_state(&state)?, zclip, "after {i} norms");
            assert!(host::to_f64(&state)?.iter().all(|v| v.is_finite()), "a checkpoint takes numbers alone");
            zclip.limit(1.0 + f64::from(i % 5));
        }
        assert!(ZClip::from_state(&Tensor::zeros(40, candle_core::DType::F64, &Device::Cpu)?).is_err());
        Ok(())
    }
}
