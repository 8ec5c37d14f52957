//! Asks one model of a run one question.

use super::{Plan, RunError};
use crate::{
    corpus::Corpus,
    models::Trainable,
    nn::Device,
    probe::{self, Answer, ProbeInputs, Progress},
    telemetry::{Args, Sample},
};

pub(super) struct ProbeRequest<'a> {
    /// Index of the variant that the model is.
    pub variant: usize,
    /// The step at which its weights were taken.
    pub step: u64,
    /// Id of the probe.
    pub probe: &'a str,
    pub args: &'a Args,
    pub request: Option<u64>,
    pub progress: Progress<'a>,
    /// The receiver of partial answers.
    pub show: Option<&'a dyn Fn(Sample)>,
}

impl ProbeRequest<'_> {
    /// The answer of the model in a run, as samples; none if the probe does not apply to it.
    ///
    /// # Errors
    /// If there is no such probe, or it refuses.
    pub fn ask(
        &self,
        model: &mut dyn Trainable,
        plan: &Plan,
        texts: &[Corpus],
        device: &Device,
    ) -> Result<Vec<Sample>, RunError> {
        let unknown = || RunError::Refused(probe::unknown(self.probe));
        let probe = probe::find(self.probe).ok_or_else(unknown)?;
        let sample = |answer: Answer| answer.into_sample(self.step, self.variant, self.request);
        let show = |so_far: Answer| {
            if let (Some(show), Some(so_far)) = (self.show, sample(so_far)) {
                show(so_far);
            }
        };
        let inputs = ProbeInputs {
            step: self.step,
            corpus: &texts[plan.stage(self.variant).texts[0]],
            texts,
            device,
            seed: plan.config.seed,
            progress: if self.show.is_some() { self.progress.showing(&show) } else { self.progress },
        };
        let untyped = || RunError::Refused(format!("the probe `{}` answered with no measurement", probe.id));
        (probe.ask)(model, self.args, &inputs)?.into_iter().map(|answer| sample(answer).ok_or_else(untyped)).collect()
    }
}
