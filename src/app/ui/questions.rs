//! The questions of one page: which were put, with what arguments, and when one is due again.
//!
//! All views of a page share one book, so that two tiles that want the same answer ask once.

use std::{collections::HashMap, sync::Arc};

use super::mirror::Mirror;
use crate::telemetry::{Args, QuestionState, RunInfo, RunState};

/// How old an answer may be before its question is put again. A question whose arguments have changed, or that is
/// put to the weights of another step, is always put again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Asked only where nothing was measured at the shown step, and only while nothing trains: for what the schedule
    /// brings by itself.
    IfMissing,
    /// Asked again so many training steps later, and once training pauses, of the model at that step.
    Steps(u64),
    /// Asked again whenever the schedule has measured the same channel anew.
    WithSchedule,
    /// Asked again whenever the answer with this number, which it goes with, was asked for later than itself:
    /// for what belongs to another answer.
    FollowsAnswer(u64),
}

/// The last question put to one probe.
#[derive(Debug, Clone)]
struct LastQuestion {
    request: u64,
    args: Args,
    /// The step whose weights were asked; `None`: the newest.
    at: Option<u64>,
    /// Newest step of the run then.
    step: u64,
    /// Live settings that had been changed then.
    changes: usize,
    /// Newest scheduled measurement of the channel then.
    scheduled: Option<u64>,
}

/// When a question is put, for [`Questions::is_due`] and [`Questions::put`].
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionTime {
    /// The step whose weights are asked; `None`: the newest, which the view follows.
    pub at: Option<u64>,
    /// Step of the newest scheduled measurement of the channel.
    pub scheduled: Option<u64>,
    /// The measurement of this channel belongs to the shown step and to the settings in force.
    pub is_measured: bool,
}

/// Probe and variant (`None`: all).
pub type Key = (&'static str, Option<usize>);

/// The book of one page.
#[derive(Debug)]
pub struct Questions {
    run: Option<Arc<RunInfo>>,
    put: HashMap<Key, LastQuestion>,
    next_request: u64,
    /// Since when a question has been seen without an answer, seconds of the window's clock.
    open: HashMap<u64, f64>,
    /// Questions that the view being drawn has to do with.
    touched: Vec<Key>,
}

impl Default for Questions {
    fn default() -> Self {
        Self { run: None, put: HashMap::new(), next_request: 1, open: HashMap::new(), touched: vec![] }
    }
}

/// A question that has been without an answer for a noticeable time.
#[derive(Debug, Clone, PartialEq)]
pub struct Unanswered {
    pub request: u64,
    /// Seconds since it was put.
    pub since: f64,
    /// The share of the answer that is done, if known.
    pub share: Option<f32>,
}

impl Questions {
    /// Forgets what was asked of another run. Request numbers go on.
    pub fn follow_run(&mut self, mirror: &Mirror) {
        if !same_run(&self.run, &mirror.info) {
            self.run.clone_from(&mirror.info);
            self.put.clear();
            self.open.clear();
        }
        // what a recorded run was asked keeps its numbers
        self.next_request = self.next_request.max(mirror.last_request + 1);
    }

    /// True if the question is to be put now.
    pub fn is_due(&self, key: Key, args: &Args, freshness: Freshness, mirror: &Mirror, moment: &QuestionTime) -> bool {
        let stands_still = matches!(mirror.state, Some(RunState::Paused | RunState::Finished));
        let put = self.put.get(&key);
        let is_elsewhere = |p: &LastQuestion| p.at != moment.at || p.at.is_none() && p.changes != mirror.changes.len();
        if freshness == Freshness::IfMissing {
            let may_ask = stands_still || moment.at.is_some();
            return may_ask && !moment.is_measured && put.is_none_or(is_elsewhere);
        }
        let Some(put) = put else { return true };
        if put.args != *args || is_elsewhere(put) {
            return true;
        }
        match freshness {
            Freshness::IfMissing => false,
            Freshness::Steps(age) => {
                let age = if stands_still { 1 } else { age };
                moment.at.is_none() && (mirror.step < put.step || mirror.step >= put.step + age)
            }
            Freshness::WithSchedule => moment.at.is_none() && moment.scheduled > put.scheduled,
            Freshness::FollowsAnswer(answer) => answer > put.request,
        }
    }

    /// Notes the question; returns its number.
    pub fn put(&mut self, key: Key, args: Args, mirror: &Mirror, moment: &QuestionTime) -> u64 {
        let request = self.number();
        let QuestionTime { at, scheduled, .. } = *moment;
        let (step, changes) = (mirror.step, mirror.changes.len());
        self.put.insert(key, LastQuestion { request, args, at, step, changes, scheduled });
        request
    }

    /// The number of the question last put.
    pub fn request(&self, key: Key) -> Option<u64> {
        self.put.get(&key).map(|p| p.request)
    }

    /// The arguments of the question last put.
    pub fn args(&self, key: Key) -> Option<&Args> {
        self.put.get(&key).map(|p| &p.args)
    }

    /// True if the answer with this number belongs to the live settings in force.
    pub fn is_of_present_settings(&self, request: u64, mirror: &Mirror) -> bool {
        self.put.values().any(|p| p.request == request && p.changes == mirror.changes.len())
    }

    /// Why the question last put has no answer.
    pub fn refusal<'m>(&self, key: Key, mirror: &'m Mirror) -> Option<&'m str> {
        match mirror.question(self.put.get(&key)?.request)? {
            QuestionState::Refused(words) => Some(words),
            QuestionState::Cancelled => Some("The question was cancelled."),
            QuestionState::Working(_) | QuestionState::Answered => None,
        }
    }

    /// True if the question last put has neither an answer nor a refusal yet; `reached` is the number of the newest
    /// answer that came.
    pub fn is_open(&self, key: Key, reached: u64, mirror: &Mirror) -> bool {
        let Some(request) = self.request(key) else { return false };
        request > reached && !mirror.question(request).is_some_and(is_end)
    }

    /// A number for a question that the user asks once.
    pub fn number(&mut self) -> u64 {
        let number = self.next_request;
        self.next_request += 1;
        number
    }

    /// The number last given to any question; 0 before the first.
    pub fn last_number(&self) -> u64 {
        self.next_request - 1
    }

    /// The view being drawn has to do with this question.
    pub fn touch(&mut self, key: Key) {
        if !self.touched.contains(&key) {
            self.touched.push(key);
        }
    }

    /// The questions that were touched since the last call.
    pub fn take_touched(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.touched)
    }

    /// Those of these questions that have been put and not been answered, the oldest first; `now`: the window's clock.
    pub fn unanswered(&mut self, keys: &[Key], mirror: &Mirror, now: f64) -> Vec<Unanswered> {
        let mut all = vec![];
        let requests: Vec<u64> = keys.iter().filter_map(|key| self.request(*key)).collect();
        for request in requests {
            let state = mirror.question(request);
            if state.is_some_and(is_end) {
                self.open.remove(&request);
                continue;
            }
            let since = now - *self.open.entry(request).or_insert(now);
            let share = state.and_then(|s| if let QuestionState::Working(share) = s { *share } else { None });
            all.push(Unanswered { request, since, share });
        }
        all.sort_by_key(|u| u.request);
        all
    }
}

/// True if nothing more comes of a question.
fn is_end(state: &QuestionState) -> bool {
    !matches!(state, QuestionState::Working(_))
}

/// True if two descriptions are of one run (or of none).
pub fn same_run(a: &Option<Arc<RunInfo>>, b: &Option<Arc<RunInfo>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Value,
        telemetry::{Event, StepStats},
    };

    const KEY: Key = ("flow", Some(0));

    fn at(step: u64, state: RunState) -> Mirror {
        let mut mirror = Mirror::default();
        mirror.apply(Event::Step(StepStats { step, variant: 0, scalars: vec![], wall_secs: 0.0 }));
        mirror.apply(Event::State(state));
        mirror
    }

    fn moment(scheduled: Option<u64>) -> QuestionTime {
        QuestionTime { at: None, scheduled, is_measured: scheduled.is_some() }
    }

    fn moment_at(at: u64) -> QuestionTime {
        QuestionTime { at: Some(at), ..moment(None) }
    }

    fn args(u0: f64) -> Args {
        Args::from([("u0".to_owned(), Value::Float(u0))])
    }

    #[test]
    fn an_answer_ages_with_training_and_not_while_scrubbed() {
        let mut q = Questions::default();
        let fresh = Freshness::Steps(25);
        let running = |step| at(step, RunState::Running);
        assert!(q.is_due(KEY, &args(0.0), fresh, &running(100), &moment(None)));
        q.put(KEY, args(0.0), &running(100), &moment(None));
        assert!(!q.is_due(KEY, &args(0.0), fresh, &running(124), &moment(None)));
        assert!(q.is_due(KEY, &args(0.0), fresh, &running(125), &moment(None)));
        assert!(q.is_due(KEY, &args(0.0), fresh, &running(99), &moment(None)), "the run began again");
        assert!(q.is_due(KEY, &args(0.0), fresh, &running(100), &moment_at(40)), "other weights");
        q.put(KEY, args(0.0), &running(100), &moment_at(40));
        assert!(!q.is_due(KEY, &args(0.0), fresh, &running(999), &moment_at(40)), "the past does not age");
        assert!(q.is_due(KEY, &args(1.0), fresh, &running(100), &moment_at(40)), "another question");
        assert!(q.is_due(KEY, &args(0.0), fresh, &at(100, RunState::Paused), &moment(None)), "back to the newest");
        q.put(KEY, args(0.0), &running(100), &moment(None));
        assert!(q.is_due(KEY, &args(0.0), fresh, &at(101, RunState::Paused), &moment(None)), "paused a step later");
        assert!(!q.is_due(KEY, &args(0.0), fresh, &at(100, RunState::Paused), &moment(None)));
    }

    #[test]
    fn a_live_change_asks_for_another_answer_of_the_newest_model() {
        let mut q = Questions::default();
        let mut mirror = at(100, RunState::Finished);
        let due = |q: &Questions, m: &Mirror, f, moment: &QuestionTime| q.is_due(KEY, &args(0.0), f, m, moment);
        q.put(KEY, args(0.0), &mirror, &moment(None));
        mirror.apply(Event::Changed { step: 100, key: "model.gate".into(), value: Value::Float(1.0) });
        assert!(due(&q, &mirror, Freshness::Steps(25), &moment(None)));
        assert!(due(&q, &mirror, Freshness::IfMissing, &moment(None)));
        let request = q.put(KEY, args(0.0), &mirror, &moment(None));
        assert!(q.is_of_present_settings(request, &mirror) && !q.is_of_present_settings(request - 1, &mirror));
        assert!(!due(&q, &mirror, Freshness::IfMissing, &moment(None)));
        q.put(KEY, args(0.0), &mirror, &moment_at(40));
        mirror.apply(Event::Changed { step: 100, key: "model.gate".into(), value: Value::Float(2.0) });
        assert!(!due(&q, &mirror, Freshness::Steps(25), &moment_at(40)), "the past had its own setting");
    }

    #[test]
    fn what_the_schedule_brings_is_asked_once_and_only_where_it_is_missing() {
        let mut q = Questions::default();
        let due =
            |q: &Questions, state, m: &QuestionTime| q.is_due(KEY, &args(0.0), Freshness::IfMissing, &at(5, state), m);
        assert!(!due(&q, RunState::Running, &moment(None)), "the schedule will bring it");
        assert!(!due(&q, RunState::Paused, &moment(Some(0))));
        assert!(due(&q, RunState::Paused, &moment(None)));
        q.put(KEY, args(0.0), &at(5, RunState::Paused), &moment(None));
        assert!(!due(&q, RunState::Paused, &moment(None)));
        assert!(due(&q, RunState::Running, &moment_at(2)), "nothing will bring the past");
    }

    #[test]
    fn a_scheduled_measurement_asks_for_another_answer() {
        let mut q = Questions::default();
        let mirror = at(50, RunState::Running);
        q.put(KEY, args(0.0), &mirror, &moment(Some(25)));
        let due = |m: &QuestionTime| q.is_due(KEY, &args(0.0), Freshness::WithSchedule, &mirror, m);
        assert!(!due(&moment(Some(25))) && due(&moment(Some(50))));
    }

    #[test]
    fn a_refusal_is_of_the_question_last_put() {
        let mut q = Questions::default();
        let mut mirror = at(5, RunState::Paused);
        let refused = |request| Event::Question { request, state: QuestionState::Refused("no text".into()) };
        assert_eq!(q.refusal(KEY, &mirror), None, "nothing was asked");
        let first = q.put(KEY, args(0.0), &mirror, &moment(None));
        assert!(q.is_open(KEY, 0, &mirror));
        mirror.apply(refused(first));
        assert_eq!(q.refusal(KEY, &mirror), Some("no text"));
        assert!(!q.is_open(KEY, 0, &mirror));
        q.put(KEY, args(0.0), &mirror, &moment(None));
        assert_eq!(q.refusal(KEY, &mirror), None, "it was asked again");
        assert!(q.is_open(KEY, first, &mirror));
    }

    #[test]
    fn an_open_question_says_for_how_long_and_how_far() {
        let mut q = Questions::default();
        let mut mirror = at(5, RunState::Paused);
        let request = q.put(KEY, args(0.0), &mirror, &moment(None));
        q.touch(KEY);
        let keys = q.take_touched();
        assert_eq!(q.unanswered(&keys, &mirror, 10.0), [Unanswered { request, since: 0.0, share: None }]);
        mirror.apply(Event::Question { request, state: QuestionState::Working(Some(0.25)) });
        assert_eq!(q.unanswered(&keys, &mirror, 12.0), [Unanswered { request, since: 2.0, share: Some(0.25) }]);
        mirror.apply(Event::Question { request, state: QuestionState::Answered });
        assert!(q.unanswered(&keys, &mirror, 13.0).is_empty());
    }

    #[test]
    fn a_question_that_follows_an_answer_is_put_again_after_the_next_one() {
        let mut q = Questions::default();
        let mirror = at(50, RunState::Running);
        let follower: Key = ("flow_field", Some(0));
        let answered = q.put(KEY, args(0.0), &mirror, &moment(None));
        let due = |q: &Questions, u0: f64, answer: u64| {
            q.is_due(follower, &args(u0), Freshness::FollowsAnswer(answer), &at(999, RunState::Running), &moment(None))
        };
        assert!(due(&q, 0.0, answered));
        q.put(follower, args(0.0), &mirror, &moment(None));
        assert!(!due(&q, 0.0, answered), "its age plays no part");
        assert!(due(&q, 1.0, answered), "other arguments");
        let next = q.put(KEY, args(1.0), &mirror, &moment(None));
        assert!(!due(&q, 0.0, answered), "the next answer has not come");
        assert!(due(&q, 0.0, next));
    }

    #[test]
    fn numbers_go_on_over_runs() {
        let mut q = Questions::default();
        let mut mirror = Mirror::default();
        assert_eq!(q.put(KEY, args(0.0), &mirror, &moment(None)), 1);
        assert_eq!(q.number(), 2);
        assert_eq!((q.last_number(), q.request(KEY)), (2, Some(1)));
        mirror.last_request = 40;
        q.follow_run(&mirror);
        assert_eq!(q.number(), 41, "a recorded question keeps its number");
    }
}
