//! One question put to one model of a run. It does not know whose thread it is on, or whether the model trains.

use std::sync::Arc;

use super::{Plan, RunError};
use crate::{
    corpus::Corpus,
    models::Trainable,
    nn::Device,
    probe::{self, Finding, ProbeContext, Progress},
    telemetry::{Args, Sample},
};

/// What a probe may look at beside the model.
pub(super) struct Context<'a> {
    pub plan: &'a Plan,
    pub texts: &'a [Corpus],
    pub device: &'a Device,
}

/// A probe with what it is request.
pub(super) struct ProbeRequest<'a> {
    /// Index of the variant that the model is.
    pub variant: usize,
    /// The step that its weights are of.
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
        let unknown = || RunError::Refused(format!("there is no probe `{}`", request.probe));
        let probe = probe::find(request.probe).ok_or_else(unknown)?;
        if !probe.applies(model) {
            return Ok(vec![]);
        }
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
        let of = Asked { step: request.step, variant: request.variant, request: request.request };
        let untyped = || RunError::Refused(format!("the probe `{}` answered with no measurement", probe.id()));
        probe.ask(&mut context)?.into_iter().map(|f| of.sample(f).ok_or_else(untyped)).collect()
    }
}

/// What an answer is of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub step: u64,
    pub variant: usize,
    pub request: Option<u64>,
}

impl Asked {
    /// `None` for a finding that is no measurement.
    pub fn sample(self, f: Finding) -> Option<Sample> {
        Some(Sample {
            step: f.step.unwrap_or(self.step),
            variant: self.variant,
            channel: f.payload.channel()?.into(),
            about: f.about,
            tokens: f.tokens,
            request: self.request,
            payload: Arc::new(f.payload),
        })
    }
}
