//! The second stage of a steering run: the field alone learns, for a control of +1 and -1 to lead to
//! one class of tokens and the other, for 0 to change nothing.

use super::{
    OdeFlowSpec,
    net::{FieldNet, OdeFlowNet},
};
use crate::{models::prelude::*, ode::SolverOptions};

/// The prefixes of the field of the first stage, which is kept, and of the trained field.
const BASE_PREFIX: &str = "before.";
const FIELD_PREFIX: &str = "field.";

/// If the number of steps varies, each update adds the next of these values to it.
const STEP_OFFSETS: [isize; 4] = [0, 2, -1, 1];

/// The values of u0 of a batch's rows, repeated in this order.
const U0_VALUES: [f64; 3] = [1.0, -1.0, 0.0];

/// Follows a field from states at tau = 0 `(B, T, D)` at controls `(B, 4)` to tau = 1.
pub type Carry<'a> = &'a dyn Fn(&Tensor, &Tensor, &SolverOptions) -> Result<Tensor>;

/// The loss of the second stage: the unsteered field that it is compared with, and the classes to steer to.
pub struct SteeringObjective {
    pub spec: Steering,
    base_field: FieldNet,
    /// True if the current update belongs to the second stage.
    pub is_steering_stage: bool,
    step: u64,
}

impl SteeringObjective {
    /// Registers the first stage's field as a buffer, so that checkpoints contain it.
    pub fn new(params: &mut Params, spec: &OdeFlowSpec, steering: &Steering, vocab: usize) -> Result<Self> {
        ensure!(!steering.plus.is_empty() && !steering.minus.is_empty(), "a class to steer to has no tokens");
        for id in steering.plus.iter().chain(&steering.minus) {
            ensure!((*id as usize) < vocab, "the token {id} of a class is not one of the {vocab} of the vocabulary");
        }
        let base_field = FieldNet::buffer(params, BASE_PREFIX.trim_end_matches('.'), spec)?;
        Ok(Self { spec: steering.clone(), base_field, is_steering_stage: false, step: 0 })
    }

    /// Prepares update `step`: sets the stage, freezes weights, and at the turn copies the field.
    pub fn begin_step(&mut self, params: &mut Params, step: u64) -> Result<()> {
        let last = self.spec.language_steps;
        if step == last + 1 {
            for (name, value) in params.iter().filter(|(n, _)| n.starts_with(FIELD_PREFIX)) {
                params.load(&format!("{BASE_PREFIX}{}", &name[FIELD_PREFIX.len()..]), value.as_tensor())?;
            }
        }
        let is_steering_stage = step > last;
        if step == last + 1 || is_steering_stage != self.is_steering_stage {
            params.freeze_where(|name| is_steering_stage && !name.starts_with(FIELD_PREFIX));
        }
        (self.is_steering_stage, self.step) = (is_steering_stage, step);
        Ok(())
    }

    /// -log P(class+) for u0 = +1 and -log P(class-) for -1, means over the asked positions of their
    /// rows; KL(unsteered || steered), a mean over all other positions of those rows and every one of u0 = 0:
    /// nothing is to change but what is asked for. The sum of the three, or of the first two without the KL term.
    /// `carry` follows the field that learns, `inference_net` has all else.
    pub fn loss(
        &self,
        carry: Carry<'_>,
        inference_net: &OdeFlowNet,
        batch: &Batch,
        options: &SolverOptions,
    ) -> Result<Loss> {
        let own = self.spec.prompt.as_deref().map(|ids| single_prompt_batch(ids, batch.tokens.device())).transpose()?;
        let batch = own.as_ref().unwrap_or(batch);
        let (b, t) = batch.tokens.dims2()?;
        let device = batch.tokens.device();
        let turn = |row: usize| U0_VALUES[row % U0_VALUES.len()];
        let u: Vec<f32> = (0..b).flat_map(|row| [turn(row) as f32, 0.0, 0.0, 0.0]).collect();
        let u = Tensor::from_vec(u, (b, CONTROLS), device)?;
        let start = inference_net.start(&batch.tokens, &mut Tap::off())?; // (B, T, D)
        let asked = answer_mask(&batch.targets, t)?;
        let select = |holds: &dyn Fn(usize, bool) -> bool| -> Vec<u32> {
            (0..b * t).filter(|&i| holds(i / t, asked[i])).map(|i| i as u32).collect()
        };

        let varied = STEP_OFFSETS[(self.step % STEP_OFFSETS.len() as u64) as usize];
        let steps = if self.spec.vary { options.steps.saturating_add_signed(varied).max(1) } else { options.steps };
        let followed = SolverOptions { steps, ..options.clone() };
        let logp = log_probabilities(inference_net, &carry(&start, &u, &followed)?)?; // (B T, V)
        let mut parts = vec![];
        let mut total = Tensor::zeros((), start.dtype(), device)?;
        for (name, wanted, ids) in [("steer/plus", 1.0, &self.spec.plus), ("steer/minus", -1.0, &self.spec.minus)] {
            let positions = select(&|row, asked| asked && turn(row) == wanted);
            if positions.is_empty() {
                continue;
            }
            let logp = logp.index_select(&Tensor::new(positions, device)?, 0)?;
            let logp = logp.index_select(&Tensor::new(ids.as_slice(), device)?, 1)?.log_sum_exp(D::Minus1)?;
            parts.push((name, logp.detach().exp()?.mean_all()?));
            total = (total - logp.mean_all()?)?;
        }
        let rest = select(&|row, asked| !asked || turn(row) == 0.0);
        if self.spec.kl && !rest.is_empty() {
            let rest = Tensor::new(rest, device)?;
            let unsteered = self.base_field.transport(&start, &u.zeros_like()?, 1.0, options)?;
            let wanted = log_probabilities(inference_net, &unsteered)?.index_select(&rest, 0)?.detach();
            let kl = (wanted.exp()? * (wanted - logp.index_select(&rest, 0)?)?)?.sum(D::Minus1)?.mean_all()?;
            parts.push(("steer/kl", kl.detach()));
            total = (total + kl)?;
        }
        Ok(Loss { cross_entropy: total.detach(), total, parts })
    }
}

/// A batch of one prompt once for each control, asked for the word after its end.
fn single_prompt_batch(ids: &[u32], device: &Device) -> Result<Batch> {
    let mut targets = vec![IGNORE; ids.len()];
    match targets.last_mut() {
        Some(last) => *last = 0,
        None => candle_core::bail!("the one prompt to steer at has no tokens"),
    }
    Batch::from_ids(&ids.repeat(U0_VALUES.len()), &targets.repeat(U0_VALUES.len()), U0_VALUES.len(), ids.len(), device)
}

/// A mask of the positions `(B T)` that ask for a word.
fn answer_mask(targets: &Tensor, t: usize) -> Result<Vec<bool>> {
    let asked: Vec<bool> = host::to_u32(targets)?.into_iter().map(|target| target != IGNORE).collect();
    let asks = asked.contains(&true);
    ensure!(asks, "a steering batch of windows of {t} tokens asks for no word; make the window longer");
    Ok(asked)
}

/// log P at every position of a state `(B, T, D)`: `(B T, V)`.
fn log_probabilities(inference_net: &OdeFlowNet, end: &Tensor) -> Result<Tensor> {
    let logits = inference_net.logits(&inference_net.read(end, &mut Tap::off())?)?;
    let v = logits.dim(D::Minus1)?;
    candle_nn::ops::log_softmax(&logits.reshape(((), v))?, D::Minus1)
}
