//! The progress of a lesson: the current step, the guesses, and the results of the step's checks.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    identity::{KeyedCache, RunNumber},
    mirror::Mirror,
    session::LessonProgress,
    widgets::number,
};
use crate::{
    config::{Applies, Knob},
    labs::{
        Lab,
        lesson::{Check, Lesson, LessonStep},
    },
    telemetry::{FollowedState, RunState, Sample},
};

type RunRevision = (RunNumber, u64);

/// The user's progress through a lab's lesson.
#[derive(Default)]
pub struct LessonState {
    pub lesson: Lesson,
    lab: Option<&'static Lab>,
    /// The reason why it could not be read.
    pub problem: Option<String>,
    /// The step that is followed, from 0.
    pub current: Option<usize>,
    /// Only the controls that the step needs are shown.
    pub is_focused: bool,
    /// A guess is being drawn on the step's chart.
    pub is_drawing: bool,
    /// The guesses that the reader has drawn, by step: points on the step's chart.
    pub guesses: BTreeMap<usize, Vec<[f64; 2]>>,
    /// The guesses that the reader has typed, by step, where a step has no chart to draw on.
    pub written: BTreeMap<usize, String>,
    /// A guess that is being written.
    pub draft: String,
    /// Steps whose answer the reader has asked for without a guess.
    pub asked: BTreeSet<usize>,
    /// The text after the steps is unfolded, though not every step is answered.
    pub shows_rest: bool,
    /// The run on the page when the current step was taken.
    pub taken: Option<RunAtStep>,
    /// The run as it was left, where an undone step brought it and the current step back.
    brought_back: Option<LeftRun>,
    /// Settings of the current step that are set once the reader has guessed, or has run the lab.
    pub waiting: BTreeMap<String, toml::Value>,
    /// The step of the run that is shown once the reader has guessed.
    pub waiting_scrub: Option<u64>,
    pub scroll_to: Option<usize>,
    /// The outcomes of the current step's checks, by the run, its revision, the step of the lesson and whether settings wait.
    judged: KeyedCache<(Option<RunRevision>, usize, bool), Option<Vec<Outcome>>>,
}

/// A run when a step of the lesson was taken over it.
#[derive(Debug, Clone, Copy)]
pub struct RunAtStep {
    run: RunNumber,
    step: u64,
    /// It trained then and has not paused since, so that the reader has begun none of its steps for the lesson's.
    trains_on: bool,
}

impl From<&Mirror> for RunAtStep {
    fn from(mirror: &Mirror) -> Self {
        Self { run: mirror.run, step: mirror.step, trains_on: is_training(mirror) }
    }
}

fn is_training(mirror: &Mirror) -> bool {
    matches!(mirror.state, Some(RunState::Running | RunState::Followed(FollowedState::Running)))
}

/// The state of a run when the reader left its step of the lesson for another.
#[derive(Debug, Clone, Copy, Default)]
struct LeftRun {
    /// The value of [`LessonState::has_run_since`] when the run was left.
    has_run: bool,
    step: u64,
}

/// The step of a lesson that is followed, with all that undo needs to return to it.
pub struct LessonPlace {
    current: Option<usize>,
    is_focused: bool,
    taken: Option<RunAtStep>,
    waiting: BTreeMap<String, toml::Value>,
    waiting_scrub: Option<u64>,
    run: LeftRun,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The check holds, with its sentence and number.
    Holds(String),
    /// The check cannot be decided yet, with what is missing.
    Waits(String),
    /// The run decides the check later: its sentence, which may be half of the answer, and when.
    Due { says: String, when: String },
    /// The check fails, with the value that was found.
    Fails(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundValue {
    pub step: u64,
    pub value: f64,
}

impl LessonState {
    pub fn new(lab: &'static Lab) -> Self {
        let state = Self { lab: Some(lab), ..Self::default() };
        match Lesson::parse(lab.id, lab.lesson) {
            Ok(lesson) => Self { lesson, ..state },
            Err(e) => Self { problem: Some(e.to_string()), ..state },
        }
    }

    pub fn progress(&self) -> LessonProgress {
        LessonProgress {
            step: self.current,
            is_focused: self.is_focused,
            guesses: self.guesses.clone(),
            written: self.written.clone(),
            asked: self.asked.clone(),
        }
    }

    /// Continues as a session has left it. A step that the lesson no longer has is not followed.
    pub fn resume(&mut self, progress: &LessonProgress) {
        let LessonProgress { step, is_focused, guesses, written, asked } = progress.clone();
        (self.guesses, self.written, self.asked) = (guesses, written, asked);
        self.current = step.filter(|i| *i < self.lesson.steps.len());
        self.is_focused = is_focused && self.current.is_some();
        self.scroll_to = self.current;
    }

    pub fn step(&self) -> Option<&LessonStep> {
        self.lesson.steps.get(self.current?)
    }

    pub fn shows(&self, key: &str) -> bool {
        match self.step().filter(|_| self.is_focused) {
            Some(step) => step.does.needed_controls().any(|needed| needed == key),
            None => true,
        }
    }

    /// True if the reader has guessed the answer to the current step's question, or asked for it.
    pub fn has_guess(&self) -> bool {
        self.current.is_some_and(|i| self.has_guess_at(i))
    }

    /// True if the reader has guessed the answer to a step's question, or asked for it.
    pub fn has_guess_at(&self, i: usize) -> bool {
        self.guesses.contains_key(&i) || self.written.contains_key(&i) || self.asked.contains(&i)
    }

    /// True if every step that asks something is answered: what the lesson says after them gives nothing away.
    pub fn is_answered(&self) -> bool {
        let is_answered = |(i, step): (usize, &LessonStep)| step.does.predict.is_none() || self.has_guess_at(i);
        self.lesson.steps.iter().enumerate().all(is_answered)
    }

    /// True if the reader has run the lab since the current step was taken, so that its results are visible anyway. A
    /// run that trained then and has not paused since goes on by itself, and counts for nothing.
    pub fn has_run_since(&self, mirror: &Mirror) -> bool {
        if let Some(left) = self.brought_back {
            return left.has_run || mirror.step > left.step;
        }
        match self.taken.filter(|taken| taken.run == mirror.run) {
            Some(taken) => !taken.trains_on && mirror.step > taken.step,
            None => mirror.step > 0,
        }
    }

    /// True if the current step asks what the reader has neither guessed nor run the lab for.
    pub fn has_open_question(&self, mirror: Option<&Mirror>) -> bool {
        let asks = self.step().is_some_and(|step| step.does.predict.is_some());
        asks && !self.has_guess() && !mirror.is_some_and(|mirror| self.has_run_since(mirror))
    }

    /// Called once a frame: notes when a run that trained as the current step was taken has paused, since from then on it
    /// is the reader who resumes it.
    pub fn watch(&mut self, mirror: &Mirror) {
        if let Some(taken) = &mut self.taken
            && taken.run == mirror.run
            && taken.trains_on
            && !is_training(mirror)
        {
            *taken = RunAtStep::from(mirror);
        }
    }

    /// Notes that another run replaces the one that an undone step may have brought back.
    pub fn note_other_run(&mut self) {
        self.brought_back = None;
    }

    /// The step that is followed and what the run on the page has shown of it.
    pub fn place(&self, mirror: Option<&Mirror>) -> LessonPlace {
        let run = |m: &Mirror| LeftRun { has_run: self.has_run_since(m), step: m.step };
        LessonPlace {
            current: self.current,
            is_focused: self.is_focused,
            taken: self.taken,
            waiting: self.waiting.clone(),
            waiting_scrub: self.waiting_scrub,
            run: mirror.map(run).unwrap_or_default(),
        }
    }

    /// True if the same step is followed as then.
    pub fn is_at(&self, place: &LessonPlace) -> bool {
        self.current == place.current
    }

    /// Follows the step of the lesson that was followed before; `with_run`: the run of then comes back too.
    pub fn return_to(&mut self, place: LessonPlace, with_run: bool) {
        self.scroll_to = place.current.filter(|_| place.current != self.current);
        (self.current, self.is_focused, self.taken) = (place.current, place.is_focused, place.taken);
        (self.waiting, self.waiting_scrub) = (place.waiting, place.waiting_scrub);
        self.is_drawing = false;
        self.draft.clear();
        self.brought_back = with_run.then_some(place.run);
    }

    /// Judges the current step by the run, again when the run has continued.
    pub fn judge(&mut self, mirror: Option<&Mirror>) -> &[Outcome] {
        let Some(current) = self.current else { return &[] };
        let waits = !self.waiting.is_empty();
        let of = (mirror.map(|m| (m.run, m.revision)), current, waits);
        let (steps, lab) = (&self.lesson.steps, self.lab);
        let judged = || steps.get(current).map_or(vec![], |step| judge(step, mirror, lab, waits));
        self.judged.at(of).get_or_insert_with(judged)
    }
}

/// `waits`: settings of the step wait for the reader's guess, and the views ask the model with others until then.
fn judge(step: &LessonStep, mirror: Option<&Mirror>, lab: Option<&Lab>, waits: bool) -> Vec<Outcome> {
    let checks = &step.does.check;
    if let Some(words) = mirror.and_then(|m| other_run(step, m, lab?)) {
        return checks.iter().map(|_| Outcome::Waits(words.clone())).collect();
    }
    let judged = |check: &Check| {
        let outcome = outcome(check, mirror);
        let is_of_others = waits && matches!(outcome, Outcome::Waits(_)) && check.at.or(check.by).is_none();
        if is_of_others { Outcome::Waits("not yet: guess first".into()) } else { outcome }
    };
    checks.iter().map(judged).collect()
}

/// True if another value of this setting makes another model, which a step's checks do not describe.
fn defines_model(knob: &Knob) -> bool {
    knob.applies == Applies::AtReset && !["run", "train"].contains(&knob.group())
}

/// The reason why the shown run is not the one of the step: a setting that applies at a reset differs. `None` if it is
/// the step's.
fn other_run(step: &LessonStep, mirror: &Mirror, lab: &Lab) -> Option<String> {
    let preset = step.does.preset.as_ref()?;
    let run = &mirror.info.as_ref()?.config;
    let again = "click the step's heading, then press Space";
    let words = |why: &str| format!("{}: {again}", if mirror.step == 0 { "not yet" } else { why });
    if run.preset != *preset {
        return Some(words("the run shown is of another preset"));
    }
    let knobs = (lab.knobs)();
    let changed = step.does.settings(lab, run).ok()?.changed_keys(run);
    let other = knobs.iter().find(|knob| defines_model(knob) && changed.iter().any(|key| key == knob.key))?;
    Some(words(&format!("the run shown was made with another \u{201c}{}\u{201d}", other.label)))
}

pub fn outcome(check: &Check, mirror: Option<&Mirror>) -> Outcome {
    let Some(mirror) = mirror else { return Outcome::Waits("not yet: press Space".into()) };
    if let Some(found) = deciding_value(check, mirror).filter(|f| check.holds(f.value)) {
        return Outcome::Holds(check.sentence(Some(found.step), Some(&number::short(found.value))));
    }
    let when = match (check.at, check.by) {
        (Some(at), _) if mirror.step < at => Some(format!("not yet; judged at step {at}")),
        (None, Some(by)) if mirror.step < by => Some(format!("not yet; by step {by} at the latest")),
        _ => None,
    };
    if let Some(when) = when {
        return Outcome::Due { says: check.says.clone(), when };
    }
    let total = mirror.info.as_ref().map(|info| info.total_steps);
    match last_value(check, mirror) {
        Some(_) if mirror.step == 0 && total != Some(0) => Outcome::Waits("not yet: press Space".into()),
        // a condition without a step is on what a whole run has learned
        Some(found) if check.at.or(check.by).is_none() && total.is_some_and(|total| mirror.step < total) => {
            Outcome::Waits(format!("not yet at step {}", found.step))
        }
        Some(found) => {
            let (name, value) = (check.measures.as_deref().unwrap_or("it"), number::short(found.value));
            let wanted = check.condition_text();
            Outcome::Fails(format!("failed at step {}: {name} is {value}, not {wanted}", found.step))
        }
        None => Outcome::Waits("not measured yet".into()),
    }
}

/// The value that decides a check: at the asked step, at the first step at which it holds, or at the newest.
pub fn deciding_value(check: &Check, mirror: &Mirror) -> Option<FoundValue> {
    match (check.at, check.by) {
        (Some(at), _) => values(check, mirror, at, at).last().copied().filter(|f| mirror.step >= at && f.step <= at),
        (None, Some(by)) => values(check, mirror, 0, by).into_iter().find(|f| check.holds(f.value)),
        (None, None) => last_value(check, mirror),
    }
}

fn last_value(check: &Check, mirror: &Mirror) -> Option<FoundValue> {
    values(check, mirror, mirror.step, u64::MAX).last().copied()
}

/// The values from one step to another; for sparse measurements, also the last value before.
fn values(check: &Check, mirror: &Mirror, from: u64, to: u64) -> Vec<FoundValue> {
    let position = |id: &String| mirror.variants().iter().position(|v| v.id == *id);
    let Some(v) = check.variant.as_ref().map_or(Some(0), position) else { return vec![] };
    let channel = check.channel.as_str();
    if let Some(entry) = &check.entry {
        let mut scheduled = mirror.samples(v, channel).iter().filter(|s| s.step <= to);
        let of = |s: &Sample| {
            let other = match &check.minus_entry {
                Some(minus) => entry_of(s, minus)?,
                None => 0.0,
            };
            Some(FoundValue { step: s.step, value: entry_of(s, entry)? - other })
        };
        if check.at.is_none() && check.by.is_some() {
            return scheduled.filter_map(of).collect();
        }
        let answer = mirror.answer(v, channel).filter(|s| check.at.is_none() && s.step <= to);
        return answer.or(scheduled.next_back()).and_then(of).into_iter().collect();
    }
    let Some(curve) = mirror.curve(v, channel) else { return vec![] };
    let from = curve.point_at(from).map_or(from, |(step, _)| step);
    let minus = check.minus.as_ref().and_then(|id| mirror.curve(position(id)?, channel));
    let point = |(step, value): (u64, f64)| {
        let other = match (&check.minus, minus) {
            (Some(_), curve) => curve?.value_at(step)?,
            (None, _) => 0.0,
        };
        Some(FoundValue { step, value: value - other })
    };
    curve.points(from, to).filter_map(point).collect()
}

fn entry_of(sample: &Sample, entry: &str) -> Option<f64> {
    serde_json::to_value(&*sample.payload).ok()?.pointer(entry)?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Event, Measurement, RunInfo, measurements::GapBySize};

    fn mirror(steps: u64) -> Mirror {
        let mut mirror = Mirror::default();
        (1..=steps).for_each(|step| mirror.report(0, step, &[("gate/tanh", step as f64 / 100.0)]));
        mirror
    }

    fn check() -> Check {
        let channel = "gate/tanh".to_owned();
        Check { says: "the gate opened".into(), channel, above: Some(0.5), by: Some(80), ..Check::default() }
    }

    #[test]
    fn a_check_says_where_it_holds_or_what_is_missing() {
        let said = |check: &Check, steps| outcome(check, Some(&mirror(steps)));
        let due = |when: &str| Outcome::Due { says: "the gate opened".into(), when: when.into() };
        assert_eq!(said(&check(), 40), due("not yet; by step 80 at the latest"));
        assert_eq!(said(&check(), 90), Outcome::Holds("the gate opened at step 51 (measured: 0.51)".into()));
        let never = Check { above: Some(2.0), ..check() };
        assert_eq!(said(&never, 90), Outcome::Fails("failed at step 90: it is 0.9, not above 2".into()));
        let at = Check { at: Some(60), by: None, measures: Some("tanh".into()), ..check() };
        assert_eq!(said(&at, 90), Outcome::Holds("the gate opened (tanh at step 60: 0.6)".into()));
        let never = Check { above: Some(2.0), ..at.clone() };
        assert_eq!(said(&never, 90), Outcome::Fails("failed at step 90: tanh is 0.9, not above 2".into()));
        assert_eq!(said(&at, 59), due("not yet; judged at step 60"));
        assert_eq!(outcome(&check(), None), Outcome::Waits("not yet: press Space".into()));
    }

    #[test]
    fn an_entry_is_judged_less_another() {
        let mut run = mirror(10);
        let gaps = GapBySize { sizes: vec![2, 3], topologies: vec![] };
        run.measure(0, GapBySize::CHANNEL, gaps.into_payload(), None);
        let channel = GapBySize::CHANNEL.to_owned();
        let check =
            Check { channel, entry: Some("/sizes/1".into()), at: Some(0), above: Some(0.5), ..Check::default() };
        let value = |check: &Check| deciding_value(check, &run).map(|found| found.value);
        assert_eq!(value(&check), Some(3.0));
        let less = |entry: &str| Check { minus_entry: Some(entry.into()), ..check.clone() };
        assert_eq!(value(&less("/sizes/0")), Some(1.0));
        assert_eq!(value(&less("/sizes/7")), None, "without the other entry there is no difference");
    }

    #[test]
    fn a_check_does_not_fail_before_the_first_step() {
        let mut mirror = Mirror::default();
        mirror.report(0, 0, &[("gate/tanh", 0.0)]);
        for check in [Check { by: None, ..check() }, Check { at: Some(0), by: None, ..check() }] {
            assert_eq!(outcome(&check, Some(&mirror)), Outcome::Waits("not yet: press Space".into()));
        }
    }

    #[test]
    fn a_check_without_a_step_waits_for_the_whole_run() {
        let check = Check { by: None, ..check() };
        let of_run = |total_steps: u64, steps: u64| {
            let mut mirror = mirror(steps);
            mirror.info = Some(std::sync::Arc::new(RunInfo { total_steps, ..RunInfo::default() }));
            outcome(&check, Some(&mirror))
        };
        assert_eq!(of_run(90, 40), Outcome::Waits("not yet at step 40".into()));
        assert_eq!(of_run(40, 40), Outcome::Fails("failed at step 40: it is 0.4, not above 0.5".into()));
        assert_eq!(of_run(90, 60), Outcome::Holds("the gate opened (measured at step 60: 0.6)".into()), "early");
    }

    #[test]
    fn an_answer_waits_for_a_guess_or_for_the_run() {
        let mut run = mirror(40);
        let taken = Some(RunAtStep::from(&run));
        let mut lesson = LessonState { current: Some(1), taken, ..LessonState::default() };
        assert!(!lesson.has_guess() && !lesson.has_run_since(&run), "the run had been there before the step");
        run.report(0, 41, &[]);
        assert!(lesson.has_run_since(&run));
        assert!(lesson.has_run_since(&mirror(1)), "another run has begun");
        let mut later = LessonState { current: Some(2), taken, ..LessonState::default() };
        let left = LessonState { current: Some(1), taken, ..LessonState::default() }.place(Some(&mirror(40)));
        later.return_to(left, true);
        assert!(later.current == Some(1) && later.has_run_since(&mirror(40)), "it had been run before it was left");
        later.return_to(LessonState::default().place(None), false);
        assert_eq!(later.current, None);
        let mut unseen = LessonState { taken: Some(RunAtStep::from(&run)), ..LessonState::default() };
        let place = unseen.place(Some(&run));
        unseen.return_to(place, true);
        assert!(!unseen.has_run_since(&mirror(41)), "its record is opened again: nothing was run since");
        assert!(unseen.has_run_since(&mirror(42)), "it went on");
        lesson.written.insert(1, "0.2".into());
        assert!(lesson.has_guess());
    }

    /// The reader began such a run for something else, and its results come by themselves.
    #[test]
    fn a_run_that_trained_before_the_step_shows_nothing_until_it_is_resumed() {
        let mut run = mirror(40);
        run.apply(Event::State(RunState::Running));
        let taken = Some(RunAtStep::from(&run));
        let mut lesson = LessonState { current: Some(1), taken, ..LessonState::default() };
        run.report(0, 50, &[]);
        lesson.watch(&run);
        assert!(!lesson.has_run_since(&run), "it trains on");
        run.apply(Event::State(RunState::Paused));
        lesson.watch(&run);
        assert!(!lesson.has_run_since(&run), "what it has made meanwhile stays hidden");
        run.apply(Event::State(RunState::Running));
        lesson.watch(&run);
        run.report(0, 51, &[]);
        assert!(lesson.has_run_since(&run), "the reader has resumed it");
    }
}
