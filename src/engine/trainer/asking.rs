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
    /// The receiver of partial answers.
    pub show: Option<&'a dyn Fn(Sample)>,
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
        // an answer that is not a measurement becomes no sample
        let sample = |answer: Answer| {
            Some(Sample {
                step: answer.step.unwrap_or(request.step),
                variant: request.variant,
                channel: answer.payload.channel()?.into(),
                about: answer.about,
                tokens: answer.tokens,
                request: request.request,
                payload: Arc::new(answer.payload),
            })
        };
        let show = |so_far: Answer| {
            if let (Some(show), Some(so_far)) = (request.show, sample(so_far)) {
                show(so_far);
            }
        };
        let mut context = ProbeContext {
            model,
            step: request.step,
            corpus: &self.texts[text],
            texts: self.texts,
            device: self.device,
            seed: self.plan.config.seed,
            args: request.args,
            progress: if request.show.is_some() { request.progress.showing(&show) } else { request.progress },
        };
        let untyped = || RunError::Refused(format!("the probe `{}` answered with no measurement", probe.id));
        probe.ask(&mut context)?.into_iter().map(|answer| sample(answer).ok_or_else(untyped)).collect()
    }
}
