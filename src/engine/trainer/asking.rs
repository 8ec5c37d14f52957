//! One question put to one model of a run.

use std::sync::Arc;

use super::{Plan, RunError};
use crate::{
    corpus::Corpus,
    models::Trainable,
    nn::Device,
    probe::{self, Answer, ProbeContext, Progress},
    telemetry::{Args, Sample},
};

pub(super) struct Context<'a> {
    pub plan: &'a Plan,
    pub texts: &'a [Corpus],
    pub device: &'a Device,
}

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
}

impl Context<'_> {
    /// The answer, as samples; none if the probe does not apply to this model.
    ///
    /// # Errors
    /// If there is no such probe, or it refuses.
    pub fn ask(&self, model: &mut dyn Trainable, request: &ProbeRequest<'_>) -> Result<Vec<Sample>, RunError> {
        let unknown = || RunError::Refused(probe::unknown(request.probe));
        let probe = probe::find(request.probe).ok_or_else(unknown)?;
        let text = self.plan.stage(request.variant).texts[0];
        let mut context = ProbeContext {
            model,
            step: request.step,
            corpus: &self.texts[text],
            texts: self.texts,
            device: self.device,
            seed: self.plan.config.seed,
            args: request.args,
            progress: request.progress,
        };
        let of = SampleOrigin { step: request.step, variant: request.variant, request: request.request };
        let untyped = || RunError::Refused(format!("the probe `{}` answered with no measurement", probe.id()));
        probe.ask(&mut context)?.into_iter().map(|f| of.sample(f).ok_or_else(untyped)).collect()
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SampleOrigin {
    pub step: u64,
    pub variant: usize,
    pub request: Option<u64>,
}

impl SampleOrigin {
    /// Turns an answer into a sample; `None` for an answer that is not a measurement.
    pub fn sample(self, answer: Answer) -> Option<Sample> {
        Some(Sample {
            step: answer.step.unwrap_or(self.step),
            variant: self.variant,
            channel: answer.payload.channel()?.into(),
            about: answer.about,
            tokens: answer.tokens,
            request: self.request,
            payload: Arc::new(answer.payload),
        })
    }
}
