//! The questions of one page: which were put, with what arguments, and when one is due again.
//!
//! All views of a page share one book, so that two tiles that want the same answer ask once. It does not
//! know what is asked, only when.

use std::{collections::HashMap, sync::Arc};

use super::mirror::Mirror;
use crate::telemetry::{Args, RunInfo, RunState};

/// How old an answer may be before its question is put again. A question whose arguments have changed
/// is always put again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Asked once a run, and only while nothing trains and nothing was measured: for what the schedule
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

/// What was put last to one probe.
#[derive(Debug, Clone)]
struct Put {
    request: u64,
    args: Args,
    /// Newest step of the run then.
    step: u64,
    /// Newest scheduled measurement of the channel then.
    scheduled: Option<u64>,
    /// Notices of the run then; a refusal is among the later ones.
    notices: usize,
}

/// When a question is put, for [`Questions::is_due`] and [`Questions::put`].
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// The view shows the newest step, not an earlier one.
    pub follow: bool,
    /// Step of the newest scheduled measurement of the channel.
    pub scheduled: Option<u64>,
    /// Something of this channel can be shown already.
    pub is_measured: bool,
}

/// Probe and variant (`None`: all).
type Key = (&'static str, Option<usize>);

/// The book of one page.
#[derive(Debug)]
pub struct Questions {
    run: Option<Arc<RunInfo>>,
    put: HashMap<Key, Put>,
    next_request: u64,
}

impl Default for Questions {
    fn default() -> Self {
        Self { run: None, put: HashMap::new(), next_request: 1 }
    }
}

impl Questions {
    /// Forgets what was asked of another run. Request numbers go on.
    pub fn follow_run(&mut self, mirror: &Mirror) {
        if !same_run(&self.run, &mirror.info) {
            self.run.clone_from(&mirror.info);
            self.put.clear();
        }
    }

    /// Whether the question is to be put now.
    pub fn is_due(&self, key: Key, args: &Args, freshness: Freshness, mirror: &Mirror, moment: &Moment) -> bool {
        let stands_still = matches!(mirror.state, Some(RunState::Paused | RunState::Finished));
        let Some(put) = self.put.get(&key) else {
            return freshness != Freshness::IfMissing || stands_still && !moment.is_measured;
        };
        match freshness {
            Freshness::IfMissing => false,
            _ if put.args != *args => true,
            Freshness::Steps(most) => {
                let most = if stands_still { 1 } else { most };
                moment.follow && (mirror.step < put.step || mirror.step >= put.step + most)
            }
            Freshness::WithSchedule => moment.scheduled > put.scheduled,
            Freshness::FollowsAnswer(answer) => answer > put.request,
        }
    }

    /// Notes the question; returns its number.
    pub fn put(&mut self, key: Key, args: Args, mirror: &Mirror, scheduled: Option<u64>) -> u64 {
        let request = self.number();
        self.put.insert(key, Put { request, args, step: mirror.step, scheduled, notices: mirror.notices.len() });
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

    /// Why the question last put has no answer: the newest notice since then that names the probe.
    pub fn refusal<'m>(&self, key: Key, mirror: &'m Mirror) -> Option<&'m str> {
        let since = mirror.notices.get(self.put.get(&key)?.notices..)?;
        let name = format!("`{}`", key.0);
        since.iter().rev().map(|(_, text)| text.as_str()).find(|text| text.contains(&name))
    }

    /// A number for a question that is put by hand, and not put again.
    pub fn number(&mut self) -> u64 {
        let number = self.next_request;
        self.next_request += 1;
        number
    }

    /// The number last given to any question; 0 before the first.
    pub fn last_number(&self) -> u64 {
        self.next_request - 1
    }
}

/// Whether two descriptions are of one run (or of none).
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
        telemetry::{Event, Level, StepStats},
    };

    const KEY: Key = ("flow", Some(0));

    fn at(step: u64, state: RunState) -> Mirror {
        let mut mirror = Mirror::default();
        mirror.apply(Event::Step(StepStats { step, variant: 0, scalars: vec![], wall_secs: 0.0 }));
        mirror.apply(Event::State(state));
        mirror
    }

    fn moment(scheduled: Option<u64>) -> Moment {
        Moment { follow: true, scheduled, is_measured: scheduled.is_some() }
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
        q.put(KEY, args(0.0), &running(100), None);
        assert!(!q.is_due(KEY, &args(0.0), fresh, &running(124), &moment(None)));
        assert!(q.is_due(KEY, &args(0.0), fresh, &running(125), &moment(None)));
        assert!(q.is_due(KEY, &args(0.0), fresh, &running(99), &moment(None)), "the run began again");
        let scrubbed = Moment { follow: false, ..moment(None) };
        assert!(!q.is_due(KEY, &args(0.0), fresh, &running(999), &scrubbed));
        assert!(q.is_due(KEY, &args(1.0), fresh, &running(100), &scrubbed), "another question");
        assert!(q.is_due(KEY, &args(0.0), fresh, &at(101, RunState::Paused), &moment(None)), "paused a step later");
        assert!(!q.is_due(KEY, &args(0.0), fresh, &at(100, RunState::Paused), &moment(None)));
    }

    #[test]
    fn what_the_schedule_brings_is_asked_once_and_only_where_it_is_missing() {
        let mut q = Questions::default();
        let due = |q: &Questions, state, m: &Moment| q.is_due(KEY, &args(0.0), Freshness::IfMissing, &at(5, state), m);
        assert!(!due(&q, RunState::Running, &moment(None)), "the schedule will bring it");
        assert!(!due(&q, RunState::Paused, &moment(Some(0))));
        assert!(due(&q, RunState::Paused, &moment(None)));
        q.put(KEY, args(0.0), &at(5, RunState::Paused), None);
        assert!(!due(&q, RunState::Paused, &moment(None)));
    }

    #[test]
    fn a_scheduled_measurement_asks_for_another_answer() {
        let mut q = Questions::default();
        let mirror = at(50, RunState::Running);
        q.put(KEY, args(0.0), &mirror, Some(25));
        let due = |m: &Moment| q.is_due(KEY, &args(0.0), Freshness::WithSchedule, &mirror, m);
        assert!(!due(&moment(Some(25))) && due(&moment(Some(50))));
    }

    #[test]
    fn a_refusal_is_of_the_question_last_put() {
        let mut q = Questions::default();
        let mut mirror = at(5, RunState::Paused);
        let notice = |text: &str| Event::Notice { level: Level::Warning, text: text.to_owned() };
        mirror.apply(notice("`flow` failed long ago"));
        assert_eq!(q.refusal(KEY, &mirror), None, "nothing was asked");
        q.put(KEY, args(0.0), &mirror, None);
        mirror.apply(notice("`other` failed"));
        assert_eq!(q.refusal(KEY, &mirror), None);
        mirror.apply(notice("`flow` has no text"));
        assert_eq!(q.refusal(KEY, &mirror), Some("`flow` has no text"));
        q.put(KEY, args(0.0), &mirror, None);
        assert_eq!(q.refusal(KEY, &mirror), None, "it was asked again");
    }

    #[test]
    fn a_question_that_follows_an_answer_is_put_again_after_the_next_one() {
        let mut q = Questions::default();
        let mirror = at(50, RunState::Running);
        let follower: Key = ("flow_field", Some(0));
        let answered = q.put(KEY, args(0.0), &mirror, None);
        let due = |q: &Questions, u0: f64, answer: u64| {
            q.is_due(follower, &args(u0), Freshness::FollowsAnswer(answer), &at(999, RunState::Running), &moment(None))
        };
        assert!(due(&q, 0.0, answered));
        q.put(follower, args(0.0), &mirror, None);
        assert!(!due(&q, 0.0, answered), "its age plays no part");
        assert!(due(&q, 1.0, answered), "other arguments");
        let next = q.put(KEY, args(1.0), &mirror, None);
        assert!(!due(&q, 0.0, answered), "the next answer has not come");
        assert!(due(&q, 0.0, next));
    }

    #[test]
    fn numbers_go_on_over_runs() {
        let mut q = Questions::default();
        let mirror = Mirror::default();
        assert_eq!(q.put(KEY, args(0.0), &mirror, None), 1);
        assert_eq!(q.number(), 2);
        assert_eq!((q.last_number(), q.request(KEY)), (2, Some(1)));
    }
}
