//! A model with its optimiser, and one update by gradients: of one batch, or of several whose gradients are summed as if
//! they were one.

use std::sync::Arc;

use candle_core::backprop::GradStore;

use super::{RunError, VariantSpec};
use crate::{
    corpus::Windows,
    models::Trainable,
    nn::{
        AdamW, Batch, Device, IGNORE, Params, Result,
        fused::{GradAccumulator, axpy::axpy},
        host,
        optimiser::AdamWSpec,
    },
    store::VariantWeights,
    telemetry::{Channel, channels},
};

impl VariantSpec {
    /// Its model, with weights drawn from its seed.
    pub(super) fn build(&self, vocab: usize, device: &Device) -> std::result::Result<Box<dyn Trainable>, RunError> {
        let built = self.model.build(vocab, self.seed, device);
        built.map_err(|source| RunError::Model { variant: self.id.clone(), source })
    }
}

/// Finished updates, and the bits of the live parameters: equal ones mean equal answers.
pub type Version = (u64, Vec<u64>);

/// A model with its optimiser.
pub struct Variant {
    pub spec: VariantSpec,
    pub model: Box<dyn Trainable>,
    pub optimiser: AdamW,
    /// The model learns by a rule of its own rather than by gradients.
    pub(super) learns_locally: bool,
    /// The weights last copied, and their version.
    pub(super) copied: Option<(Version, Arc<VariantWeights>)>,
}

impl Variant {
    /// The model with its optimiser, which has no parameters if the model makes no gradient updates.
    pub fn new(
        spec: &VariantSpec,
        mut model: Box<dyn Trainable>,
        adamw: AdamWSpec,
        steps: u64,
    ) -> candle_core::Result<Self> {
        let learns_locally = model.capabilities_mut().local_learning.is_some();
        let optimiser = match learns_locally || steps == 0 {
            true => AdamW::without_moments(adamw),
            false => AdamW::new(model.params(), adamw)?,
        };
        Ok(Self { spec: spec.clone(), model, optimiser, learns_locally, copied: None })
    }
}

pub(super) struct LossChannels {
    pub train: &'static str,
    pub held_out: &'static str,
}

/// Windows that a model reads at once, and their share of the targets of an update.
#[derive(Clone)]
pub(super) struct MicroBatch {
    batch: Batch,
    share: f64,
}

/// Cuts windows into batches of `rows`. The loss is a mean over targets, so that a batch counts by its targets; where there
/// are none at all, by its windows.
pub(super) fn micro_batches(w: &Windows, rows: usize, device: &Device) -> Result<Vec<MicroBatch>> {
    let size = (rows * w.len).max(1);
    let counted = |targets: &[u32]| targets.iter().filter(|t| **t != IGNORE).count() as f64;
    let all = counted(&w.targets);
    let parts = w.inputs.chunks(size).zip(w.targets.chunks(size));
    parts
        .map(|(inputs, targets)| {
            let share = match all {
                0.0 => targets.len() as f64 / w.targets.len() as f64,
                _ => counted(targets) / all,
            };
            Ok(MicroBatch { batch: Batch::from_ids(inputs, targets, inputs.len() / w.len, w.len, device)?, share })
        })
        .collect()
}

/// The gradients of an update and its loss with its parts, of the batches so far.
#[derive(Default)]
struct Sums {
    grads: Option<GradStore>,
    scalars: Vec<WeightedScalar>,
}

/// A mean over the batches that have the number.
struct WeightedScalar {
    channel: Channel,
    sum: f64,
    weight: f64,
}

impl Sums {
    /// sum += share grads, for every parameter that a gradient reached.
    fn add_grads(&mut self, params: &Params, mut grads: GradStore, share: f64) -> Result<()> {
        let Some(sums) = &mut self.grads else {
            for (_, var) in params.iter().filter(|_| share != 1.0) {
                if let Some(grad) = grads.get(var) {
                    let scaled = (grad * share)?;
                    grads.insert(var, scaled);
                }
            }
            self.grads = Some(grads);
            return Ok(());
        };
        for (_, var) in params.iter() {
            let Some(grad) = grads.get(var) else { continue };
            let sum = match sums.get(var) {
                Some(sum) => axpy(sum, grad, share)?,
                None => (grad * share)?,
            };
            sums.insert(var, sum);
        }
        Ok(())
    }

    fn add_scalar(&mut self, channel: &str, value: f64, weight: f64) {
        match self.scalars.iter_mut().find(|s| s.channel.as_str() == channel) {
            Some(found) => {
                found.sum += weight * value;
                found.weight += weight;
            }
            None => self.scalars.push(WeightedScalar { channel: channel.into(), sum: weight * value, weight }),
        }
    }
}

impl Variant {
    /// Losses of labels are not those of tokens, and no view or number compares the two.
    pub(super) fn loss_channels(&self) -> LossChannels {
        match self.model.capabilities().text_classifier {
            Some(_) => LossChannels { train: channels::LABELS_TRAIN, held_out: channels::LABELS_HELD_OUT },
            None => LossChannels { train: channels::LOSS_TRAIN, held_out: channels::LOSS_HELD_OUT },
        }
    }

    /// One update by gradients, which leads to `step`. Batches without a target are left out. Errors: the loss or the
    /// gradient is not finite.
    pub(super) fn gradient_update(
        &mut self,
        batches: &[MicroBatch],
        lr: f64,
        step: u64,
    ) -> std::result::Result<Vec<(Channel, f64)>, RunError> {
        let (variant, advice) = (self.spec.id.clone(), self.model.advice_on_divergence());
        let diverged = |what, value| RunError::Diverged { what, variant: variant.clone(), value, step, advice };
        let mut sums = Sums::default();
        for MicroBatch { batch, share } in batches.iter().filter(|b| b.share > 0.0) {
            let accumulator = GradAccumulator::default();
            let loss = self.model.accumulated_loss(batch, &accumulator)?;
            let cross_entropy = host::scalar(&loss.cross_entropy)?;
            ensure!(cross_entropy.is_finite(), diverged("loss", cross_entropy));
            sums.add_scalar(self.loss_channels().train, cross_entropy, *share);
            for (name, part) in &loss.parts {
                sums.add_scalar(name, host::scalar(part)?, *share);
            }
            let grads = accumulator.backward(&loss.total)?;
            drop(loss); // the forward graph lives until here
            sums.add_grads(self.model.params(), grads, *share)?;
        }
        let Sums { grads: Some(grads), scalars } = sums else {
            return Err(RunError::Plan(format!("the batch of step {step} has no windows")));
        };
        let mut scalars: Vec<(Channel, f64)> = scalars.into_iter().map(|s| (s.channel, s.sum / s.weight)).collect();
        let norm = self.optimiser.step(self.model.params(), &grads, lr)?;
        ensure!(norm.is_finite(), diverged("gradient", norm));
        scalars.push((channels::GRAD_NORM.into(), norm));
        scalars.push((channels::LEARNING_RATE.into(), lr));
        self.model.scalars(Some(&grads))?.into_iter().for_each(|(name, value)| scalars.push((name.into(), value)));
        Ok(scalars)
    }
}

/// The batch of an update that is read at once, where a model learns by a rule of its own.
pub(super) fn only_batch(batches: &[MicroBatch]) -> std::result::Result<&Batch, RunError> {
    match batches {
        [only] => Ok(&only.batch),
        _ => Err(RunError::Plan("a model that learns by a rule of its own reads one batch an update".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{
        ModelSpec,
        coupled_qk::{CoupledQkSpec, QkVariant},
    };

    const VOCAB: u32 = 11;

    /// Six windows in which some positions have a target, not equally many in each.
    fn windows() -> Windows {
        let (rows, len) = (6, 8);
        let inputs: Vec<u32> = (0..rows * len).map(|i| (i * 7 % 11) as u32).collect();
        let target = |i: usize| if i % 5 < i / 16 { IGNORE } else { (i * 3) as u32 % VOCAB };
        Windows { rows, len, targets: (0..rows * len).map(target).collect(), inputs, answers: None }
    }

    fn variant(qk: QkVariant) -> Variant {
        let sizes =
            CoupledQkSpec { d_model: 16, hidden: 24, layers: 2, positions: 8, variant: qk, ..CoupledQkSpec::default() };
        let model = ModelSpec::CoupledQk(sizes);
        let spec = VariantSpec { id: "a".into(), label: "a".into(), group: "a".into(), seed: 3, model };
        let built = spec.model.build(VOCAB as usize, 3, &Device::Cpu).unwrap();
        Variant::new(&spec, built, AdamWSpec::default(), 1).unwrap()
    }

    /// The numbers of an update in batches of this many rows, and the weights after it.
    fn updated(qk: QkVariant, rows: usize) -> (Vec<(Channel, f64)>, Vec<f32>) {
        let mut variant = variant(qk);
        let batches = micro_batches(&windows(), rows, &Device::Cpu).unwrap();
        assert_eq!(batches.len(), 6usize.div_ceil(rows));
        let scalars = variant.gradient_update(&batches, 1e-2, 1).unwrap();
        let weights = variant.model.params().iter().flat_map(|(_, var)| host::to_f32(var).unwrap()).collect();
        (scalars, weights)
    }

    #[test]
    fn several_batches_are_one_large_batch_to_rounding() {
        for qk in [QkVariant::Standard, QkVariant::Euler, QkVariant::Invertible, QkVariant::Diff] {
            let (whole, start) = (updated(qk, 6), variant(qk));
            for rows in [1, 2, 4] {
                let (scalars, weights) = updated(qk, rows);
                for ((name, a), (_, b)) in scalars.iter().zip(&whole.0) {
                    assert!((a - b).abs() < 1e-5 * b.abs().max(1.0), "{qk:?}, {rows} rows, {name}: {a} and {b}");
                }
                let apart = weights.iter().zip(&whole.1).filter(|(a, b)| (*a - *b).abs() > 1e-4).count();
                // a first step of AdamW is lr times the sign of the gradient, which rounding turns where it is zero
                assert!(
                    apart * 200 < weights.len(),
                    "{qk:?}, {rows} rows: {apart} of {} weights differ",
                    weights.len()
                );
            }
            let first = start.model.params().iter().next().map(|(_, var)| host::to_f32(var).unwrap()).unwrap();
            assert_ne!(first, whole.1[..first.len()], "the update moves the weights");
        }
    }

    #[test]
    fn a_batch_counts_by_its_targets() {
        let mut w = windows();
        let shares =
            |w: &Windows| -> Vec<f64> { micro_batches(w, 2, &Device::Cpu).unwrap().iter().map(|b| b.share).collect() };
        let counted = |rows: &[u32]| rows.iter().filter(|t| **t != IGNORE).count();
        let all = counted(&w.targets) as f64;
        let wanted: Vec<f64> = w.targets.chunks(16).map(|rows| counted(rows) as f64 / all).collect();
        assert_eq!(shares(&w), wanted);
        assert!(wanted[0] > wanted[2], "{wanted:?}");
        w.targets.fill(IGNORE);
        assert_eq!(shares(&w), [1.0 / 3.0; 3]);
    }
}
