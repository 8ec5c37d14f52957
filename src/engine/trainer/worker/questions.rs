//! The worker's handling of questions: it finds the weights for each and hands both to the answering threads. It keeps
//! the snapshots of the weights. It answers only scheduled probes itself.

use std::sync::Arc;

use super::Worker;
use crate::{
    store::Writer,
    telemetry::{Event, Level, Question, QuestionState},
    trainer::{RunError, answering::AnswerJob, snapshots::WeightsSource},
};

impl Worker {
    pub(super) fn submit(&mut self, question: Question) {
        let request = question.request;
        let submitted = self.job(question).and_then(|job| self.answering.submit(job));
        if let Err(e) = submitted {
            self.listeners.emit(Event::Question { request, state: QuestionState::Refused(e.to_string()) });
        }
    }

    /// The question with the weights that it is put to: of the variants asked, as they are or as they were.
    fn job(&mut self, question: Question) -> Result<AnswerJob, RunError> {
        let n = self.run.variants.len();
        let all: Vec<usize> = match question.variant {
            Some(i) if i < n => vec![i],
            Some(i) => return Err(RunError::Refused(format!("this run has no variant {i}"))),
            None => (0..n).collect(),
        };
        let at = question.at.filter(|at| *at < self.run.step);
        let (step, weights) = match at {
            Some(at) => self.snapshots.at(at).ok_or_else(|| {
                RunError::Refused(format!("no weights are kept of step {at} or before it: only a checkpoint later is"))
            })?,
            None => (self.run.step, WeightsSource::Memory(vec![None; n])),
        };
        let has_begun = |i: &usize| self.run.plan.stage(*i).from <= step;
        let begun: Vec<usize> = all.iter().copied().filter(has_begun).collect();
        if let (true, Some(i)) = (begun.is_empty(), all.first()) {
            self.run.begun_stage(*i, step)?;
        }
        if at.is_some() {
            let variants = begun.into_iter().map(|i| (i, step)).collect();
            return Ok(AnswerJob { question, variants, weights });
        }
        let mut now = vec![None; n];
        for &i in &begun {
            now[i] = Some(self.run.weights(i)?);
        }
        let variants = begun.into_iter().map(|i| (i, self.run.step_of(i))).collect();
        Ok(AnswerJob { question, variants, weights: WeightsSource::Memory(now) })
    }

    /// Finds the steps of this run's past that can be asked about, where there is a folder that has some.
    pub(super) fn find_snapshots(&mut self) {
        let replayed = self.options.replayed.clone();
        let folder = replayed.or_else(|| self.options.writer.as_ref().and_then(Writer::folder));
        if let Some(folder) = folder {
            self.snapshots.set_folder(&folder);
            self.listeners.emit(Event::Snapshots(Arc::new(self.snapshots.steps())));
        }
    }

    /// Keeps the current weights, if they are to be kept. What cannot be kept is not worth a run.
    pub(super) fn keep_snapshot(&mut self) {
        let step = self.run.step;
        if !self.snapshots.is_due(step) {
            return;
        }
        let kept = self.run.all_weights().and_then(|all| self.snapshots.keep(step, all).map_err(RunError::from));
        if let Err(e) = kept {
            let text = format!("{e}. The run goes on; a replay of it can be asked about fewer of its steps");
            self.listeners.notice(Level::Warning, text);
        }
        self.listeners.emit(Event::Snapshots(Arc::new(self.snapshots.steps())));
    }
}
