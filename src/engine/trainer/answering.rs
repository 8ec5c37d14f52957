//! Answers questions while the run trains: threads with models of their own, which take on the weights that a question
//! is put to. So a question never stops the training, however long its answer takes, and the past can be asked as the
//! present.
//!
//! Questions that take long have a thread of their own, so that a slider never waits for a search. The newest question
//! of a kind replaces a waiting one.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{
    Plan, RunError,
    asking::ProbeRequest,
    listeners::Listeners,
    snapshots::{Snapshot, WeightsSource},
    thread::{STACK_BYTES, guard},
};
use crate::{
    corpus::Corpus,
    models::Trainable,
    nn::{Device, kernels::threads::lock},
    probe::{self, Progress},
    store::{VariantWeights, snapshots},
    telemetry::{Event, Question, QuestionState},
};

/// The data from which the models of a run are built, and the listeners to its events, shared with the worker.
#[derive(Clone)]
pub(super) struct SharedRun {
    pub plan: Arc<Plan>,
    pub texts: Arc<[Corpus]>,
    pub device: Device,
    pub listeners: Arc<Listeners>,
}

pub(super) struct AnswerJob {
    pub question: Question,
    /// Indices of the variants that are asked, each with the step of its weights.
    pub variants: Vec<(usize, u64)>,
    pub weights: WeightsSource,
}

pub(super) struct Answering {
    shared_run: SharedRun,
    /// A thread for quick questions and one for slow ones.
    threads: [Option<AnswerThread>; 2],
}

/// One thread and its queue. The thread ends when this is dropped.
struct AnswerThread(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// True if the answer that is being computed is no longer wanted.
    cancelled: AtomicBool,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<AnswerJob>,
    current: Option<u64>,
    is_closed: bool,
}

impl Answering {
    pub fn new(shared_run: SharedRun) -> Self {
        Self { shared_run, threads: [None, None] }
    }

    /// Submits a question; its samples and states are emitted as they are produced.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn submit(&mut self, job: AnswerJob) -> Result<(), RunError> {
        let is_slow = probe::find(&job.question.probe).is_some_and(|p| p.is_slow);
        let thread = &mut self.threads[usize::from(is_slow)];
        let thread = match thread {
            Some(thread) => thread,
            None => thread.insert(AnswerThread::open(self.shared_run.clone())?),
        };
        thread.submit(job);
        Ok(())
    }

    /// The answer with this number is no longer wanted.
    pub fn cancel(&self, request: u64) {
        let dropped = self.threads.iter().flatten().any(|thread| thread.cancel(request));
        if dropped {
            self.shared_run.listeners.emit(Event::Question { request, state: QuestionState::Cancelled });
        }
    }
}

impl AnswerThread {
    fn open(shared_run: SharedRun) -> Result<Self, RunError> {
        let shared = Arc::new(Shared::default());
        let thread = Self(shared.clone());
        std::thread::Builder::new()
            .name("answers".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || Responder { shared_run, cache: ModelCache::default() }.work(&shared))
            .map_err(RunError::Thread)?;
        Ok(thread)
    }

    fn submit(&self, job: AnswerJob) {
        let mut queue = lock(&self.0.queue);
        let is_same = |q: &Question| q.probe == job.question.probe && q.variant == job.question.variant;
        match queue.waiting.iter_mut().find(|waiting| is_same(&waiting.question)) {
            Some(waiting) => *waiting = job,
            None => queue.waiting.push_back(job),
        }
        self.0.changed.notify_one();
    }

    /// Drops a waiting question; returns true if it was waiting. One that is being answered reports its own end.
    fn cancel(&self, request: u64) -> bool {
        let mut queue = lock(&self.0.queue);
        if queue.current == Some(request) {
            self.0.cancelled.store(true, Ordering::Relaxed);
        }
        let before = queue.waiting.len();
        queue.waiting.retain(|job| job.question.request != request);
        queue.waiting.len() < before
    }
}

impl Drop for AnswerThread {
    fn drop(&mut self) {
        lock(&self.0.queue).is_closed = true;
        self.0.cancelled.store(true, Ordering::Relaxed);
        self.0.changed.notify_one();
    }
}

/// A thread without questions for this long drops its models; the next question builds them again.
const MODEL_IDLE_TIME: Duration = Duration::from_secs(20);

enum NextJob {
    Question(AnswerJob),
    /// No question came within the limit.
    Nothing,
    Closed,
}

impl Shared {
    /// Waits for the next question, for at most `limit` if there is one.
    fn next(&self, limit: Option<Duration>) -> NextJob {
        let mut queue = lock(&self.queue);
        queue.current = None;
        loop {
            if queue.is_closed {
                return NextJob::Closed;
            }
            if let Some(job) = queue.waiting.pop_front() {
                queue.current = Some(job.question.request);
                self.cancelled.store(false, Ordering::Relaxed);
                return NextJob::Question(job);
            }
            let Some(limit) = limit else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (held, timed) = self.changed.wait_timeout(queue, limit).unwrap_or_else(PoisonError::into_inner);
            if timed.timed_out() && held.waiting.is_empty() && !held.is_closed {
                return NextJob::Nothing;
            }
            queue = held;
        }
    }
}

/// A model and the weights that were applied to it.
type ModelOfStep = (Box<dyn Trainable>, Option<Arc<VariantWeights>>);

/// The data that a thread keeps from one question to the next.
#[derive(Default)]
struct ModelCache {
    /// The models by variant, each with the weights that it holds.
    models: HashMap<usize, ModelOfStep>,
    /// The weights last read from a file.
    loaded: Option<(PathBuf, Snapshot)>,
}

impl ModelCache {
    /// Waits for the next question, and drops the models if none comes for `rest`; `None` at the end.
    fn next(&mut self, shared: &Shared, rest: Duration) -> Option<AnswerJob> {
        loop {
            let is_empty = self.models.is_empty() && self.loaded.is_none();
            match shared.next((!is_empty).then_some(rest)) {
                NextJob::Question(job) => return Some(job),
                NextJob::Nothing => *self = Self::default(),
                NextJob::Closed => return None,
            }
        }
    }
}

struct Responder {
    shared_run: SharedRun,
    cache: ModelCache,
}

impl Responder {
    fn work(mut self, shared: &Shared) {
        while let Some(job) = self.cache.next(shared, MODEL_IDLE_TIME) {
            let request = job.question.request;
            let result = guard(|| self.answer(&job, shared));
            if result.is_err() {
                // a probe that failed may have left its changes in the model, so the weights are loaded again
                self.cache.models.values_mut().for_each(|(_, applied)| *applied = None);
            }
            let state = match result {
                _ if shared.cancelled.load(Ordering::Relaxed) => QuestionState::Cancelled,
                Ok(()) => QuestionState::Answered,
                Err(e) => QuestionState::Refused(e.to_string()),
            };
            self.shared_run.listeners.emit_answer(Event::Question { request, state });
        }
    }

    fn answer(&mut self, job: &AnswerJob, shared: &Shared) -> Result<(), RunError> {
        let Question { request, probe, args, .. } = &job.question;
        let listeners = Arc::clone(&self.shared_run.listeners);
        let working = |share| {
            listeners.emit_answer(Event::Question { request: *request, state: QuestionState::Working(Some(share)) });
        };
        let show = |so_far| listeners.emit_answer(Event::Partial(so_far));
        let progress = Progress::new(&working, &shared.cancelled);
        let snapshot = self.snapshot(&job.weights)?;
        for (piece, (variant, step)) in job.variants.iter().enumerate() {
            let Some(weights) = snapshot.get(*variant).and_then(Clone::clone) else { continue };
            let model = Self::model(&mut self.cache.models, &self.shared_run, *variant, weights)?;
            let request = ProbeRequest {
                variant: *variant,
                step: *step,
                probe,
                args,
                request: Some(*request),
                progress: progress.piece(piece, job.variants.len()),
                show: Some(&show),
            };
            let SharedRun { plan, texts, device, .. } = &self.shared_run;
            let samples = request.ask(model, plan, texts, device)?;
            samples.into_iter().for_each(|sample| listeners.emit_answer(Event::Sample(sample)));
        }
        Ok(())
    }

    /// The weights of each variant; what a file holds is read once.
    fn snapshot(&mut self, source: &WeightsSource) -> Result<Snapshot, RunError> {
        let (run, path) = match source {
            WeightsSource::Memory(snapshot) => return Ok(snapshot.clone()),
            WeightsSource::Disk { run, path } => (run, path),
        };
        if let Some((_, snapshot)) = self.cache.loaded.as_ref().filter(|(of, _)| of == path) {
            return Ok(snapshot.clone());
        }
        let mut weights = snapshots::read(run, path, &self.shared_run.device)?;
        let take = |id: &String| {
            let at = weights.iter().position(|w| w.variant == *id)?;
            Some(Arc::new(weights.swap_remove(at)))
        };
        let snapshot: Snapshot = self.shared_run.plan.variants.iter().map(|v| &v.id).map(take).collect();
        self.cache.loaded = Some((path.clone(), snapshot.clone()));
        Ok(snapshot)
    }

    fn model<'m>(
        models: &'m mut HashMap<usize, ModelOfStep>,
        shared_run: &SharedRun,
        variant: usize,
        weights: Arc<VariantWeights>,
    ) -> Result<&'m mut dyn Trainable, RunError> {
        let (model, applied) = match models.entry(variant) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let spec = &shared_run.plan.variants[variant];
                let vocab = shared_run.texts.first().map_or(0, Corpus::vocab);
                place.insert((spec.build(vocab, &shared_run.device)?, None))
            }
        };
        if applied.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &weights)) {
            // if it fails halfway, the model's weights belong to no step
            *applied = None;
            weights.apply_to(model.as_mut())?;
            *applied = Some(weights);
        }
        Ok(model.as_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Args;

    fn job(request: u64) -> AnswerJob {
        let question = Question { request, probe: "causality".into(), variant: None, args: Args::new(), at: None };
        AnswerJob { question, variants: vec![], weights: WeightsSource::Memory(vec![]) }
    }

    /// True if a thread still holds its loaded models when a question arrives after this long.
    fn is_kept(rest: Duration, question_after: Duration) -> bool {
        let thread = AnswerThread(Arc::default());
        let shared = Arc::clone(&thread.0);
        let mut cache = ModelCache { models: HashMap::new(), loaded: Some((PathBuf::from("of a step"), vec![])) };
        let waiting = std::thread::spawn(move || {
            let next = cache.next(&shared, rest).map(|job| job.question.request);
            (next, cache.loaded.is_some())
        });
        std::thread::sleep(question_after);
        thread.submit(job(7));
        let (next, is_kept) = waiting.join().unwrap();
        assert_eq!(next, Some(7));
        is_kept
    }

    #[test]
    fn models_are_dropped_after_a_while_without_questions() {
        assert!(!is_kept(Duration::from_millis(1), Duration::from_millis(200)));
        assert!(is_kept(Duration::from_secs(60), Duration::ZERO), "the next question finds them");
    }

    #[test]
    fn a_thread_ends_when_it_is_dropped() {
        let thread = AnswerThread(Arc::default());
        let shared = Arc::clone(&thread.0);
        drop(thread);
        assert!(ModelCache::default().next(&shared, MODEL_IDLE_TIME).is_none());
    }
}
