//! Inverted dropout whose draws are a pure function of a number, so that a resumed run draws them again.

use candle_core::{Result, Tensor};

use super::kernels::threads;
use crate::random::{hash, scramble};

/// The dropout masks of one update.
#[derive(Debug, Clone, Copy)]
pub struct Dropout {
    /// Share of the values that become 0, in 0..1; the others grow by 1 / (1 - share).
    pub share: f64,
    /// The seed of the draws: other numbers, other values.
    pub seed: u64,
}

impl Dropout {
    /// The masks of an update of a model with this seed: other ones in each update, and the same whenever one is computed
    /// again. `None` where nothing is dropped.
    pub fn for_update(share: f64, seed: u64, update: u64) -> Option<Self> {
        let seed = hash("dropout") ^ seed.rotate_left(32) ^ update;
        (share > 0.0).then_some(Self { share, seed })
    }

    /// Drops values of `x`, of any shape. Tensors of one update with different `place` have independent masks.
    pub fn apply(&self, x: &Tensor, place: u64) -> Result<Tensor> {
        if self.share <= 0.0 {
            return Ok(x.clone());
        }
        let kept = (1.0 / (1.0 - self.share)) as f32;
        let threshold = (self.share * 2f64.powi(32)) as u32;
        let begin = scramble(self.seed ^ scramble(place));
        let mut mask = vec![0f32; x.elem_count()];
        threads::run_chunks(&mut mask, threads::CHUNK, |chunk, mask| {
            // each random number provides two draws
            let first = (chunk * threads::CHUNK / 2) as u64;
            for (i, pair) in mask.chunks_mut(2).enumerate() {
                let bits = scramble(begin.wrapping_add(first + i as u64));
                for (value, draw) in pair.iter_mut().zip([bits as u32, (bits >> 32) as u32]) {
                    *value = if draw >= threshold { kept } else { 0.0 };
                }
            }
        });
        x * Tensor::from_vec(mask, x.shape(), x.device())?
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;
    use crate::nn::host;

    fn ones(n: usize) -> Result<Tensor> {
        Tensor::ones(n, DType::F32, &Device::Cpu)
    }

    #[test]
    fn a_share_is_dropped_and_the_mean_stays() -> Result<()> {
        for share in [0.1, 0.5, 0.9] {
            let out = host::to_f64(&Dropout { share, seed: 5 }.apply(&ones(200_001)?, 0)?)?;
            let dropped = out.iter().filter(|v| **v == 0.0).count() as f64 / out.len() as f64;
            assert!((dropped - share).abs() < 0.005, "{dropped} of {share}");
            let mean = out.iter().sum::<f64>() / out.len() as f64;
            assert!((mean - 1.0).abs() < 0.03, "{mean}");
            // neighbours are dropped independently: both of two as often as chance has it
            let both = out.windows(2).filter(|w| w[0] == 0.0 && w[1] == 0.0).count() as f64 / out.len() as f64;
            assert!((both - share * share).abs() < 0.006, "{both} of {}", share * share);
        }
        Ok(())
    }

    #[test]
    fn the_same_numbers_draw_the_same_and_others_do_not() -> Result<()> {
        let draw = |seed, place| host::to_f32(&Dropout { share: 0.3, seed }.apply(&ones(999)?, place)?);
        assert_eq!(draw(1, 2)?, draw(1, 2)?);
        assert_ne!(draw(1, 2)?, draw(1, 3)?);
        assert_ne!(draw(1, 2)?, draw(2, 2)?);
        assert_ne!(draw(1, 2)?, draw(2, 1)?);
        assert!(Dropout { share: 0.0, seed: 1 }.apply(&ones(9)?, 0)?.sum_all()?.to_scalar::<f32>()? == 9.0);
        Ok(())
    }
}
