//! The questions of one page: which were put, with what arguments, and when one is due again.
//!
//! All views of a page share one book, so that two tiles that want the same answer ask once.

use std::collections::{BTreeMap, HashMap};

use super::{identity::RunNumber, mirror::Mirror};
use crate::{
    labs::{self, ProbeSchedule},
    telemetry::{Args, QuestionState, RunInfo, RunState},
};

/// How old an answer may be before its question is put again. A question whose arguments have changed, or that is
/// put to the weights of another step, is always put again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Asked only where the schedule has measured nothing at the shown step, and only while nothing trains.
    IfMissing,
    /// Asked again after this many training steps, and when training pauses, of the model at that step.
    Steps(u64),
    /// Asked again whenever the schedule has measured the same channel again.
    WithSchedule,
    /// Asked again whenever the answer with this number, to which it belongs, was asked for later than itself.
    FollowsAnswer(u64),
}

impl Freshness {
    pub const OFTEN: Self = Self::Steps(25);
    /// Asked again after 50 training steps: the model reads more for it, or it changes little.
    pub const SELDOM: Self = Self::Steps(50);
}

#[derive(Debug, Clone)]
struct LastQuestion {
    request: u64,
    args: Args,
    /// The step whose weights were asked; `None`: the newest.
    at: Option<u64>,
    /// The newest step of the run when the question was asked.
    step: u64,
    /// The number of values that live settings had been given by then.
    set_count: usize,
    /// Newest scheduled measurement of the channel then.
    scheduled: Option<u64>,
    /// The window's clock when this question was put, or the unanswered one that it replaced.
    since: f64,
    /// True if the same question, with the same arguments and live settings, has been answered for another step.
    repeats_answered: bool,
}

/// When a question is put, for [`Questions::is_due`] and [`Questions::register`].
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionTime {
    /// The step whose weights are asked; `None`: the newest, which the view follows.
    pub at: Option<u64>,
    /// The step of the newest scheduled measurement of the channel.
    pub scheduled: Option<u64>,
    /// The measurement of this channel belongs to the shown step and to the settings in force.
    pub is_measured: bool,
}

/// Probe and variant (`None`: all).
pub type Key = (&'static str, Option<usize>);

#[derive(Debug, Clone, Default)]
pub struct Questions {
    /// The run that they were put to.
    run: RunNumber,
    last: HashMap<Key, LastQuestion>,
    /// The number last given to any question; 0 before the first.
    pub last_request: u64,
    /// Since when a question has been seen without an answer, seconds of the window's clock.
    open: HashMap<u64, f64>,
    /// The questions on which the view being drawn depends.
    pub touched: Vec<Key>,
    /// The arguments of the newest questions, by their numbers.
    args: BTreeMap<u64, Args>,
    /// The arguments that the controls of the views show, asked or not: the initial and the current ones.
    controls: HashMap<Key, [Args; 2]>,
    schedule: Vec<ProbeSchedule>,
    /// The window's clock, seconds.
    pub now: f64,
    /// The reason why the view being drawn shows the answer to a question other than that of its controls.
    pub outdated: Option<String>,
    /// Questions are registered here, but none is sent.
    is_unasked: bool,
}

/// The number of questions whose arguments are kept.
const MAX_ARGS: usize = 256;

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
    /// The questions of a view that draws a recorded run for a picture: they are registered, and none is sent.
    pub fn for_record() -> Self {
        Self { is_unasked: true, ..Self::default() }
    }

    /// True if the question was put to the run, so that its newest answer is the one that is wanted.
    pub fn is_asked(&self, key: Key) -> bool {
        !self.is_unasked && self.last.contains_key(&key)
    }

    /// Forgets what was asked of another run. Request numbers continue.
    pub fn follow_run(&mut self, mirror: &Mirror) {
        if self.run != mirror.run {
            self.run = mirror.run;
            self.last.clear();
            self.open.clear();
            self.args.clear();
            self.controls.clear();
            self.schedule = mirror.info.as_deref().map_or(vec![], schedule_of);
        }
        // the questions of a recorded run keep their numbers
        self.last_request = self.last_request.max(mirror.last_request);
    }

    pub fn is_due(&self, key: Key, args: &Args, freshness: Freshness, mirror: &Mirror, moment: &QuestionTime) -> bool {
        let stands_still = matches!(mirror.state, Some(RunState::Paused | RunState::Finished));
        let last = self.last.get(&key);
        let is_elsewhere = |p: &LastQuestion| p.at != moment.at || p.at.is_none() && p.set_count != mirror.set_count;
        if freshness == Freshness::IfMissing {
            let may_ask = stands_still || moment.at.is_some();
            return may_ask && !moment.is_measured && last.is_none_or(is_elsewhere);
        }
        let Some(last) = last else { return true };
        if last.args != *args || is_elsewhere(last) {
            return true;
        }
        match freshness {
            Freshness::IfMissing => false,
            Freshness::Steps(age) => {
                let age = if stands_still { 1 } else { age };
                moment.at.is_none() && (mirror.step < last.step || mirror.step >= last.step + age)
            }
            Freshness::WithSchedule => moment.at.is_none() && moment.scheduled > last.scheduled,
            Freshness::FollowsAnswer(answer) => answer > last.request,
        }
    }

    /// Registers the question as sent; returns its number.
    pub fn register(&mut self, key: Key, args: Args, mirror: &Mirror, moment: &QuestionTime) -> u64 {
        let request = self.next_number();
        let QuestionTime { at, scheduled, .. } = *moment;
        let (step, set_count) = (mirror.step, mirror.set_count);
        let replaced = self.last.get(&key).filter(|p| !mirror.question(p.request).is_some_and(is_end));
        let since = replaced.map_or(self.now, |p| p.since);
        let repeats_answered = self.last.get(&key).is_some_and(|p| {
            let is_answered = mirror.question(p.request) == Some(&QuestionState::Answered);
            p.args == args && p.set_count == set_count && (is_answered || p.repeats_answered)
        });
        self.args.insert(request, args.clone());
        if self.args.len() > MAX_ARGS {
            self.args.pop_first();
        }
        let question = LastQuestion { request, args, at, step, set_count, scheduled, since, repeats_answered };
        self.last.insert(key, question);
        request
    }

    /// Forgets the last question to a probe, so that a measurement of the run itself is shown in place of its answer.
    pub fn forget(&mut self, key: Key) {
        self.last.remove(&key);
    }

    /// Seconds for which the question last put, with those that it replaced, has been without an answer.
    pub fn waiting_time(&self, key: Key) -> f64 {
        self.last.get(&key).map_or(0.0, |p| (self.now - p.since).max(0.0))
    }

    /// The arguments of the question with this number; `None` for one that this page did not put.
    pub fn args_of(&self, request: u64) -> Option<&Args> {
        self.args.get(&request)
    }

    /// Notes the arguments that the controls of a view show.
    pub fn show_args(&mut self, key: Key, args: Args) {
        let [_, now] = self.controls.entry(key).or_insert_with(|| [args.clone(), Args::default()]);
        *now = args;
    }

    /// The arguments that the controls show: the initial and the current ones.
    pub fn shown_args(&self, key: Key) -> Option<[&Args; 2]> {
        self.controls.get(&key).map(<[Args; 2]>::each_ref)
    }

    /// The arguments with which the run's schedule asks a probe.
    pub fn scheduled_args(&self, probe: &str) -> impl Iterator<Item = &Args> {
        self.schedule.iter().filter(move |s| s.probe == probe && s.every > 0).map(|s| &s.args)
    }

    /// The step at which the run's schedule asks a probe next, if it does.
    pub fn next_scheduled(&self, probe: &str, mirror: &Mirror) -> Option<u64> {
        let total = mirror.info.as_ref().map_or(0, |info| info.total_steps);
        let interval = |s: &ProbeSchedule| {
            mirror.set_value(&s.interval_key).and_then(|value| value.as_f64()).map_or(s.every, |v| v.max(0.0) as u64)
        };
        let every = self.schedule.iter().filter(|s| s.probe == probe).map(interval).filter(|n| *n > 0).min()?;
        let next = if mirror.step == 0 { 0 } else { (mirror.step / every + 1) * every };
        Some(next.min(total)).filter(|next| *next > mirror.step || *next == 0)
    }

    /// Notes why the view being drawn shows the answer to a question other than that of its controls.
    pub fn note_outdated(&mut self, words: String) {
        self.outdated.get_or_insert(words);
    }

    pub fn request(&self, key: Key) -> Option<u64> {
        self.last.get(&key).map(|p| p.request)
    }

    pub fn args(&self, key: Key) -> Option<&Args> {
        self.last.get(&key).map(|p| &p.args)
    }

    /// True if the question last put has been answered before, with the same arguments and live settings.
    pub fn repeats_answered(&self, key: Key) -> bool {
        self.last.get(&key).is_some_and(|p| p.repeats_answered)
    }

    /// True if the answer with this number belongs to the live settings in force.
    pub fn matches_live_settings(&self, request: u64, mirror: &Mirror) -> bool {
        self.last.values().any(|p| p.request == request && p.set_count == mirror.set_count)
    }

    /// The reason why the question last put has no answer.
    pub fn refusal<'m>(&self, key: Key, mirror: &'m Mirror) -> Option<&'m str> {
        match mirror.question(self.last.get(&key)?.request)? {
            QuestionState::Refused(words) => Some(words),
            QuestionState::Cancelled => Some("The question was cancelled."),
            QuestionState::Working(_) | QuestionState::Answered => None,
        }
    }

    /// True if the question last put has no answer or refusal yet; `reached` is the number of the newest answer.
    pub fn is_open(&self, key: Key, reached: u64, mirror: &Mirror) -> bool {
        let Some(request) = self.request(key) else { return false };
        request > reached && !mirror.question(request).is_some_and(is_end)
    }

    /// A number for a question that the user asks once.
    pub fn next_number(&mut self) -> u64 {
        self.last_request += 1;
        self.last_request
    }

    /// Marks the question as one on which the view being drawn depends.
    pub fn touch(&mut self, key: Key) {
        if !self.touched.contains(&key) {
            self.touched.push(key);
        }
    }

    /// Those of these questions that have been asked but not answered, the oldest first; `now`: the window's clock.
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

/// The questions that a run of these settings asks by itself; none where they cannot be planned any more.
fn schedule_of(info: &RunInfo) -> Vec<ProbeSchedule> {
    let plan = labs::find(&info.lab).and_then(|lab| (lab.plan)(&info.config).ok());
    plan.map_or(vec![], |plan| plan.probes)
}

/// True if a question has reached its last state.
fn is_end(state: &QuestionState) -> bool {
    !matches!(state, QuestionState::Working(_))
}

#[cfg(test)]
mod tests;
