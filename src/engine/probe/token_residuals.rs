//! The distance of every token's state from the equilibrium of the refining map, pass by pass.

use super::{position_losses::token_losses, tapped::RefiningModel};
use crate::{
    analysis::rank_correlation::{ROTATIONS, shift_test},
    probe::prelude::*,
};

/// Passes after which the residual is taken.
const PASS_COUNTS: [usize; 5] = [0, 1, 2, 4, 8];
/// The number of tokens at which the gate's benefit is compared with the residual.
const TOKENS: usize = 480;
/// The length of the windows that they are read in.
const WINDOW: usize = 64;
/// Windows that are read in one forward pass.
pub(super) const BATCH: usize = 8;
/// Windows that are read at most: a task asks for few tokens of each.
pub(super) const MAX_WINDOWS: usize = 96;

/// Measures the last round.
impl Probe for TokenResidualsArgs {
    type Answer = TokenResiduals;
    type Subject<'m> = &'m mut dyn Trainable;

    fn subject(model: &mut dyn Trainable) -> Option<&mut dyn Trainable> {
        model.capabilities().fixed_point.is_some().then_some(model)
    }

    fn ask(&self, model: &mut dyn Trainable, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let prompt = Prompt::read(cx, &self.text, self.passage, Prompt::DEFAULT_TOKENS)?;
        let (map, round, mut x) = last_round(model, &prompt.tensor(cx.device)?)?;
        let mut residual = vec![];
        for pass in 0..=PASS_COUNTS[PASS_COUNTS.len() - 1] {
            let image = map.refine(&x)?;
            if PASS_COUNTS.contains(&pass) {
                residual.push(by_token(&x, &image)?.into());
            }
            x = image;
        }
        let gate = gate_benefit(model, cx)?;
        let measured = TokenResiduals { round, passes: PASS_COUNTS.to_vec(), residual, gate };
        Ok(Answer::new(measured, format!("{}, y held", prompt.about), prompt.tokens))
    }
}

/// The map of the last round, its number, and the state that it begins to refine. The gate can be shut only in a model
/// that nothing else borrows, so the map is taken again for each reading.
fn last_round<'m>(model: &'m dyn Trainable, tokens: &Tensor) -> Result<(&'m dyn FixedPointModel, usize, Tensor)> {
    let Some(refining) = RefiningModel::from_shared(model) else { bail!("the model's forward pass refines no state") };
    let mut states = refining.round_starts(tokens)?;
    let Some(start) = states.pop() else { bail!("the model's forward pass has no round that refines a state") };
    Ok((refining.map, states.len(), start))
}

/// Measures whether the gate helps at tokens with a small residual; `None` if the model has no gate.
fn gate_benefit(model: &mut dyn Trainable, cx: &ProbeInputs<'_>) -> Result<Option<GateBenefit>> {
    let (streams, coupling) = (model.capabilities().two_timescales, model.capabilities_mut().coupling);
    let (Some(streams), Some(coupling)) = (streams, coupling) else { return Ok(None) };
    let gate = coupling.effective_gate()?;
    let held_out = cx.corpus.held_out(MAX_WINDOWS, WINDOW)?;
    let (mut residuals, mut benefits, mut windows) = (vec![], vec![], 0);
    for batch in cx.batches(&held_out, BATCH) {
        if benefits.len() >= TOKENS {
            break;
        }
        let WindowBatch { tokens, targets } = batch?;
        let (map, _, start) = last_round(coupling, &tokens)?;
        let x = map.refine(&start)?;
        let residual = by_token(&x, &map.refine(&x)?)?;
        let open = token_losses(&coupling.logits(&tokens, &mut Tap::off())?, targets)?;
        let shut = with_gate_shut(coupling, |model| token_losses(&model.logits(&tokens, &mut Tap::off())?, targets))?;
        let benefit: Vec<f64> = shut.iter().zip(&open).map(|(shut, open)| shut - open).collect();
        for at in counted(&benefit, held_out.len, streams.pool) {
            residuals.push(residual[at]);
            benefits.push(benefit[at]);
        }
        windows += tokens.dim(0)?;
    }
    let test = shift_test(&residuals, &benefits, ROTATIONS, &mut ChaCha8Rng::seed_from_u64(cx.seed));
    let (null_mean, null_sd) = test.null;
    let (residual, benefit) = (residuals.into(), benefits.into());
    Ok(Some(GateBenefit { gate, windows, residual, benefit, correlation: test.rho, null_mean, null_sd, p: test.p }))
}

/// The tokens of windows of `len` tokens whose change of the loss counts. Those of the first block do not, since the
/// slow path gives no input yet, nor does a next token without a loss.
pub(super) fn counted(changes: &[f64], len: usize, pool: usize) -> impl Iterator<Item = usize> {
    (0..changes.len()).filter(move |at| at % len >= pool && changes[*at].is_finite())
}

/// Reads a model with its gate shut, and restores the gate even if reading fails.
pub(super) fn with_gate_shut<T>(
    coupling: &mut dyn CouplingModel,
    read: impl FnOnce(&dyn CouplingModel) -> Result<T>,
) -> Result<T> {
    let settings = coupling.coupling_settings();
    coupling.set_coupling_settings(CouplingSettings { gate: Some(0.0), ..settings });
    let found = read(coupling);
    coupling.set_coupling_settings(settings);
    found
}

/// |a - b| / |a| of every token `(B T)`; a, b `(B, T, D)`.
pub(super) fn by_token(a: &Tensor, b: &Tensor) -> Result<Vec<f64>> {
    let norms = |t: &Tensor| -> Result<Vec<f64>> { host::to_f64(&t.sqr()?.sum(2)?.sqrt()?) };
    let (off, size) = (norms(&(a - b)?)?, norms(a)?);
    Ok(off.iter().zip(size).map(|(off, size)| off / size.max(f64::MIN_POSITIVE)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::fast_slow::FastSlowSpec;

    /// The benefit of a gate of this size; the settings that the model was given are restored afterwards.
    fn benefit(gate: f64) -> Result<GateBenefit> {
        let spec = ModelSpec::FastSlow(FastSlowSpec { d_model: 16, ..FastSlowSpec::default() });
        let (mut model, corpus) = testing::model(&spec)?;
        let settings = |m: &dyn CouplingModel| CouplingSettings { gate: Some(gate), ..m.coupling_settings() };
        let coupling = model.capabilities_mut().coupling.expect("a gate");
        let given = settings(coupling);
        coupling.set_coupling_settings(given);
        let found: TokenResiduals = testing::measured(model.as_mut(), &corpus, &[])?;
        assert_eq!(model.capabilities().coupling.map(CouplingModel::coupling_settings), Some(given));
        Ok(found.gate.expect("a gate"))
    }

    #[test]
    fn a_shut_gate_helps_nowhere_and_an_open_one_somewhere() -> Result<()> {
        let shut = benefit(0.0)?;
        assert!(shut.benefit.iter().all(|b| *b == 0.0) && shut.correlation.is_nan() && shut.p.is_nan());
        let open = benefit(0.8)?;
        assert_eq!((open.windows, open.benefit.len(), open.residual.len()), (8, 480, 480), "without the first blocks");
        assert!(open.benefit.iter().any(|b| *b > 0.0) && open.benefit.iter().any(|b| *b < 0.0));
        assert!(open.correlation.abs() <= 1.0 && open.p > 0.0 && open.p <= 1.0 && (open.gate - 0.8).abs() < 1e-6);
        Ok(())
    }

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
        let m = TokenResiduals { round: 0, passes: vec![0, 1], residual, gate: None };
        assert!((m.after(0, None) - 0.01).abs() < 1e-12);
        assert_eq!(m.after(1, Some(1)), 0.2);
        assert!(m.after(1, Some(2)).is_nan() && m.after(2, None).is_nan());
    }
}
