//! How far the state of every token of a text is from the equilibrium of its refining map, pass by pass. It does not know
//! whether the forward pass makes as many.

use super::{Finding, Probe, ProbeContext, prompt::Prompt, tapped::round_starts};
use crate::{
    models::Model,
    nn::{Result, Tensor, host},
    telemetry::measurements,
};

/// Arguments: `text` (else a held-out passage). Makes a [`measurements::TokenResiduals`] of the last round.
pub struct TokenResiduals;

/// Longest text, that of the attention maps, so that a token is the same one there.
const LONGEST: usize = 48;
/// Passes after which the residual is taken.
const PASSES: [usize; 5] = [0, 1, 2, 4, 8];

impl Probe for TokenResiduals {
    fn id(&self) -> &'static str {
        "token_residuals"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.fixed_point().is_some()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let Some(model) = cx.model.fixed_point() else {
            candle_core::bail!("residuals need a model whose forward pass refines a state")
        };
        let prompt = Prompt::of(cx, LONGEST)?;
        let states = round_starts(cx.model, model, &prompt.tensor(cx)?)?;
        let Some(start) = states.last() else {
            candle_core::bail!("the model's forward pass has no round that refines a state")
        };
        let (mut x, mut residual) = (start.clone(), vec![]);
        for pass in 0..=PASSES[PASSES.len() - 1] {
            let image = model.refine(&x)?;
            if PASSES.contains(&pass) {
                residual.push(by_token(&x, &image)?.into());
            }
            x = image;
        }
        let measured = measurements::TokenResiduals { round: states.len() - 1, passes: PASSES.to_vec(), residual };
        Ok(vec![Finding::new(measured, format!("{}, y held", prompt.about), prompt.tokens)])
    }
}

/// |a - b| / |a| of every token; a, b `(1, T, D)`.
fn by_token(a: &Tensor, b: &Tensor) -> Result<Vec<f64>> {
    let norms = |t: &Tensor| -> Result<Vec<f64>> { host::to_f64(&t.sqr()?.sum(2)?.sqrt()?) };
    let (off, size) = (norms(&(a - b)?)?, norms(a)?);
    Ok(off.iter().zip(size).map(|(off, size)| off / size.max(f64::MIN_POSITIVE)).collect())
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    #[test]
    fn each_token_has_its_own_distance() -> Result<()> {
        let a = Tensor::new(&[[[3.0f64, 4.0], [0.0, 2.0], [0.0, 0.0]]], &Device::Cpu)?;
        let b = Tensor::new(&[[[3.0f64, 4.0], [0.0, 1.0], [0.0, 0.0]]], &Device::Cpu)?;
        assert_eq!(by_token(&a, &b)?, [0.0, 0.5, 0.0]);
        Ok(())
    }

    #[test]
    fn the_mean_is_geometric_and_a_token_may_be_missing() {
        let residual = vec![vec![0.1, 0.001].into(), vec![0.2, 0.2].into()];
        let m = measurements::TokenResiduals { round: 0, passes: vec![0, 1], residual };
        assert!((m.after(0, None) - 0.01).abs() < 1e-12);
        assert_eq!(m.after(1, Some(1)), 0.2);
        assert!(m.after(1, Some(2)).is_nan() && m.after(2, None).is_nan());
    }
}
