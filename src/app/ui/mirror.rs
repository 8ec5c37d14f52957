//! The interface's copy of a run, with its history.
//!
//! Every channel keeps its past (thinned if need be), so that a view asked for step s shows what was known at s.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use crate::telemetry::{Channel, Event, FOREIGN, FollowedState, Level, QuestionState, RunInfo, RunState, Sample};

pub use super::curve::Curve;
use super::{identity::RunNumber, pinned::PinnedRun};

/// The state of a run as its events so far describe it.
#[derive(Debug, Default)]
pub struct Mirror {
    /// Differs from run to run, so that a view knows whose data it keeps.
    pub run: RunNumber,
    pub info: Option<Arc<RunInfo>>,
    pub state: Option<RunState>,
    /// The run is the recorded example of a lab, which has no weights that could be asked.
    pub is_example: bool,
    /// A run was begun and has not reported yet.
    pub is_preparing: bool,
    /// Newest finished step. A run that is resumed goes back to its checkpoint.
    pub step: u64,
    /// Wall-clock seconds of training so far.
    pub wall_secs: f64,
    scalars: HashMap<(usize, Channel), Curve>,
    /// Scheduled samples, ascending steps.
    samples: HashMap<(usize, Channel), Vec<Sample>>,
    /// The newest answer to an asked question.
    answers: HashMap<(usize, Channel), Sample>,
    /// The changes of live settings that the record has, because something was made with them.
    pub changes: Vec<SettingChange>,
    /// The live settings that were set since, each with its last value.
    waiting_changes: Vec<SettingChange>,
    /// The number of values that live settings were given, also those that nothing was made with.
    pub set_count: usize,
    pub notices: Vec<(Level, String)>,
    pub checkpoints: Vec<u64>,
    /// The number of changes before the newest checkpoint.
    checkpointed_changes: Option<usize>,
    /// Steps whose weights can be asked, ascending.
    pub snapshots: Arc<Vec<u64>>,
    /// The progress of answers, by the questions' numbers.
    questions: BTreeMap<u64, QuestionState>,
    /// The highest number of a question that anybody has asked this run, recorded ones among them.
    pub last_request: u64,
    /// Grows with every event.
    pub revision: u64,
    /// An earlier run whose curves stay visible.
    pinned: Option<PinnedRun>,
    /// The curves of this run stay visible behind those of later runs.
    pub is_pinned: bool,
    /// The channels whose measurements were read; `None` where nobody wants to know.
    reads: Option<Mutex<BTreeSet<Channel>>>,
}

/// The step of a change, the key of the live setting, and its new value.
pub type SettingChange = (u64, String, crate::config::Value);

/// The most samples that a channel keeps; beyond it every second old one is dropped.
const KEPT_SAMPLES: usize = 256;

/// The maximum number of questions whose state is kept; a page asks fewer at a time.
const KEPT_QUESTIONS: usize = 4096;

impl Mirror {
    pub fn apply(&mut self, event: Event) {
        self.revision += 1;
        match event {
            Event::Started(info) => {
                let notices = std::mem::take(&mut self.notices);
                let (revision, pinned, is_example) = (self.revision, self.take_pinned(), self.is_example);
                *self = Self { info: Some(info), notices, revision, pinned, is_example, ..Self::default() };
            }
            Event::Described(info) => self.info = Some(info),
            Event::State(s) => self.state = Some(s),
            Event::Step(s) => {
                self.step = self.step.max(s.step);
                self.wall_secs = self.wall_secs.max(s.wall_secs);
                let is_foreign = self.is_foreign();
                for (channel, value) in s.scalars {
                    let curve = self.scalars.entry((s.variant, channel)).or_default();
                    // a run of Orrery's own goes back in its steps only where it is resumed
                    if is_foreign { curve.insert(s.step, value) } else { curve.push(s.step, value) }
                }
            }
            Event::Sample(s) | Event::Partial(s) => self.apply_sample(s),
            Event::Question { request, state } => {
                self.questions.insert(request, state);
                if self.questions.len() > KEPT_QUESTIONS {
                    self.questions.pop_first();
                }
            }
            Event::Snapshots(steps) => self.snapshots = steps,
            Event::Folder(path) => {
                if let Some(info) = &mut self.info {
                    Arc::make_mut(info).folder = Some(path);
                }
            }
            Event::Checkpoint { step } => {
                self.checkpoints.push(step);
                self.checkpointed_changes = Some(self.changes.len());
            }
            Event::Resumed { step, wall_secs } => self.go_back_to(step, wall_secs),
            Event::Set { step, key, value } => {
                self.set_count += 1;
                self.waiting_changes.retain(|(_, waiting, _)| *waiting != key);
                self.waiting_changes.push((step, key, value));
            }
            Event::Changed { step, key, value } => {
                let is_counted = self.waiting_changes.iter().any(|(_, waiting, of)| *waiting == key && *of == value);
                self.set_count += usize::from(!is_counted);
                self.waiting_changes.retain(|(_, waiting, _)| *waiting != key);
                self.changes.push((step, key, value));
            }
            Event::Notice { level, text } => self.notices.push((level, text)),
        }
    }

    fn apply_sample(&mut self, s: Sample) {
        let key = (s.variant, s.channel.clone());
        if let Some(request) = s.request {
            self.last_request = self.last_request.max(request);
            // one that comes late does not take the place of the answer to a later question
            if self.answers.get(&key).is_none_or(|kept| kept.request <= s.request) {
                self.answers.insert(key, s);
            }
            return;
        }
        let is_foreign = self.is_foreign();
        let kept = self.samples.entry(key).or_default();
        let place = kept.partition_point(|k| k.step < s.step);
        if is_foreign {
            let replaced = usize::from(kept.get(place).is_some_and(|k| k.step == s.step));
            kept.splice(place..place + replaced, [s]);
        } else {
            kept.truncate(place);
            kept.push(s);
        }
        if kept.len() > KEPT_SAMPLES {
            let newest_half = kept.len() / 2;
            let mut i = 0;
            kept.retain(|_| {
                i += 1;
                i > newest_half || i % 2 == 1
            });
        }
    }

    /// Forgets what was reported of later steps, because the run makes them again from here, and the changes of settings that
    /// its newest checkpoint does not hold: those with which it goes on are reported next.
    fn go_back_to(&mut self, step: u64, wall_secs: f64) {
        (self.step, self.wall_secs) = (step, wall_secs);
        self.scalars.values_mut().for_each(|curve| curve.cut_after(step));
        self.scalars.retain(|_, curve| !curve.is_empty());
        self.samples.values_mut().for_each(|kept| kept.retain(|sample| sample.step <= step));
        self.samples.retain(|_, kept| !kept.is_empty());
        self.answers.retain(|_, answer| answer.step <= step);
        self.checkpoints.retain(|at| *at <= step);
        let is_kept = |(at, ..): &SettingChange| *at <= step;
        let kept_of_first = |n: usize| self.changes.iter().take(n).filter(|change| is_kept(change)).count();
        self.checkpointed_changes = self.checkpointed_changes.map(kept_of_first);
        self.changes.retain(is_kept);
        self.changes.truncate(self.checkpointed_changes.unwrap_or(usize::MAX));
        self.waiting_changes.clear();
    }

    /// True if the newest checkpoint holds the newest step with the settings in force, so that there is none to write.
    pub fn is_checkpointed(&self) -> bool {
        let has_changes = !self.waiting_changes.is_empty() || self.checkpointed_changes != Some(self.changes.len());
        self.checkpoints.last() == Some(&self.step) && !has_changes
    }

    /// The step at which a live setting was set last.
    pub fn last_set_step(&self) -> Option<u64> {
        self.waiting_changes.last().or(self.changes.last()).map(|(step, ..)| *step)
    }

    /// The last value that a live setting was given; `None` where it is that of the run's begin.
    pub fn set_value(&self, key: &str) -> Option<&crate::config::Value> {
        let mut newest_first = self.changes.iter().chain(&self.waiting_changes).rev();
        newest_first.find(|(_, of, _)| of == key).map(|(.., value)| value)
    }

    /// The state of the question with this number; `None` before anything was reported of it.
    pub fn question(&self, request: u64) -> Option<&QuestionState> {
        self.questions.get(&request)
    }

    /// True for a run that another program has written.
    fn is_foreign(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.lab == FOREIGN)
    }

    /// True for a run of another program that answers questions, or keeps weights that can be asked.
    pub fn can_be_asked_elsewhere(&self) -> bool {
        let has_asks = self.info.as_ref().is_some_and(|info| !info.asks.is_empty());
        self.is_foreign() && (has_asks || !self.snapshots.is_empty())
    }

    /// The reason why no program answers questions about a run that is trained elsewhere; `None` where one may.
    pub fn why_nobody_answers(&self) -> Option<&'static str> {
        match self.state {
            Some(RunState::Followed(FollowedState::Killed { was_left_here: true })) => {
                Some("The program that trained this run was killed, so it cannot answer.")
            }
            Some(RunState::Followed(FollowedState::Finished | FollowedState::Stopped) | RunState::Failed { .. }) => {
                Some("The run has ended, so no program can answer.")
            }
            _ => None,
        }
    }

    /// True for a run of Orrery's own that another process trains: its models are there, and it is asked over its folder.
    pub fn is_followed(&self) -> bool {
        matches!(self.state, Some(RunState::Followed(_))) && self.info.is_some() && !self.is_foreign()
    }

    /// The changes of live settings with which a recorded run continues: those before its newest checkpoint, or all.
    pub fn changes_to_resume_with(&self) -> &[SettingChange] {
        self.checkpointed_changes.and_then(|n| self.changes.get(..n)).unwrap_or(&self.changes)
    }

    /// The newest step at or before `step` whose weights can be asked.
    pub fn snapshot_at(&self, step: u64) -> Option<u64> {
        self.snapshots[..self.snapshots.partition_point(|s| *s <= step)].last().copied()
    }

    /// The earlier run whose curves are drawn behind this one's; never this run itself, opened again from its folder.
    pub fn pinned(&self) -> Option<&PinnedRun> {
        let folder = self.info.as_ref().and_then(|info| info.folder.as_ref());
        self.pinned.as_ref().filter(|pinned| folder.is_none() || pinned.info.folder.as_ref() != folder)
    }

    /// Keeps this run visible behind those that follow it, in place of one pinned before. False without a curve.
    pub fn pin(&mut self) -> bool {
        let has_curves = self.info.is_some() && !self.scalars.is_empty();
        if has_curves {
            (self.is_pinned, self.pinned) = (true, None);
        }
        has_curves
    }

    /// Keeps no run visible, neither this one nor an earlier one.
    pub fn unpin(&mut self) {
        (self.is_pinned, self.pinned) = (false, None);
    }

    /// Takes over the pinned run from the mirror of the run that this one follows.
    pub fn follow_pinned(&mut self, earlier: &mut Self) {
        self.pinned = earlier.take_pinned();
    }

    /// The run to pin when another follows: this one if it is pinned, with its curves.
    fn take_pinned(&mut self) -> Option<PinnedRun> {
        match &self.info {
            Some(info) if self.is_pinned => {
                Some(PinnedRun::new(self.run, info.clone(), std::mem::take(&mut self.scalars)))
            }
            _ => self.pinned.take(),
        }
    }

    /// The label of a variant; empty where the run has no such one.
    pub fn variant_label(&self, variant: usize) -> &str {
        self.variants().get(variant).map_or("", |v| v.label.as_str())
    }

    pub fn variants(&self) -> &[crate::telemetry::VariantInfo] {
        self.info.as_ref().map_or(&[], |i| &i.variants)
    }

    /// A scalar channel of one variant.
    pub fn curve(&self, variant: usize, channel: &str) -> Option<&Curve> {
        self.scalars.get(&(variant, Channel::new(channel)))
    }

    /// The newest scheduled sample taken at or before `step`.
    pub fn sample_at(&self, variant: usize, channel: &str, step: u64) -> Option<&Sample> {
        let kept = self.samples(variant, channel);
        kept[..kept.partition_point(|s| s.step <= step)].last()
    }

    /// The scheduled samples that are kept, oldest first.
    pub fn samples(&self, variant: usize, channel: &str) -> &[Sample] {
        let key = (variant, Channel::new(channel));
        self.note_read(&key.1);
        self.samples.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Notes from now on which channels' measurements are read: a view shows no measurement that it did not read.
    pub fn begin_noting_reads(&mut self) {
        self.reads = Some(Mutex::default());
    }

    /// The channels whose measurements were read since the last call.
    pub fn take_reads(&self) -> BTreeSet<Channel> {
        // only the thread that draws reads measurements, so that the lock is never held by another
        let reads = self.reads.as_ref().and_then(|reads| reads.try_lock().ok());
        reads.map(|mut reads| std::mem::take(&mut *reads)).unwrap_or_default()
    }

    fn note_read(&self, channel: &Channel) {
        if let Some(Ok(mut reads)) = self.reads.as_ref().map(Mutex::try_lock) {
            reads.insert(channel.clone());
        }
    }

    /// True if any variant has a number at a step.
    pub fn has_numbers(&self) -> bool {
        !self.scalars.is_empty()
    }

    /// Every channel that has a number or a measurement, in the order of their names.
    pub fn channels(&self) -> BTreeSet<&Channel> {
        self.scalars.keys().chain(self.samples.keys()).map(|(_, channel)| channel).collect()
    }

    /// Every channel that has a scheduled sample, with the variants that have it.
    pub fn sample_channels(&self) -> BTreeMap<Channel, Vec<usize>> {
        with_variants(self.samples.keys())
    }

    /// Steps at which anything was measured by schedule.
    pub fn sampled_steps(&self) -> BTreeSet<u64> {
        self.samples.values().flatten().map(|sample| sample.step).collect()
    }

    /// The newest answer to an asked question.
    pub fn answer(&self, variant: usize, channel: &str) -> Option<&Sample> {
        let key = (variant, Channel::new(channel));
        self.note_read(&key.1);
        self.answers.get(&key)
    }

    /// Every channel that has an answer to a question, with the variants that answered.
    pub fn answer_channels(&self) -> BTreeMap<Channel, Vec<usize>> {
        with_variants(self.answers.keys())
    }

    /// The answer to the question with this number, unless one of the same channel came after it.
    pub fn answer_to(&self, request: u64) -> Option<&Sample> {
        let answer = self.answers.values().find(|sample| sample.request == Some(request));
        answer.inspect(|sample| self.note_read(&sample.channel))
    }

    /// Every scalar channel present, with the variants that have it.
    pub fn scalar_channels(&self) -> BTreeMap<Channel, Vec<usize>> {
        with_variants(self.scalars.keys())
    }
}

fn with_variants<'a>(keys: impl Iterator<Item = &'a (usize, Channel)>) -> BTreeMap<Channel, Vec<usize>> {
    let mut all: BTreeMap<Channel, Vec<usize>> = BTreeMap::new();
    for (variant, channel) in keys {
        all.entry(channel.clone()).or_default().push(*variant);
    }
    all.values_mut().for_each(|v| v.sort_unstable());
    all
}

/// Helpers with which tests report events as a run would.
#[cfg(test)]
impl Mirror {
    pub fn begun(info: RunInfo) -> Self {
        let mut mirror = Self::default();
        mirror.apply(Event::Started(info.into()));
        mirror
    }

    /// Reports a step of a variant with these scalars, which took a second.
    pub fn report(&mut self, variant: usize, step: u64, scalars: &[(&str, f64)]) {
        let scalars = scalars.iter().map(|(channel, value)| (Channel::new(channel), *value)).collect();
        self.apply(Event::Step(crate::telemetry::StepStats { step, variant, scalars, wall_secs: step as f64 }));
    }

    /// Reports a measurement of the first variant, or the answer to a question.
    pub fn measure(&mut self, step: u64, channel: &str, payload: crate::telemetry::Payload, request: Option<u64>) {
        let (channel, about, payload) = (Channel::new(channel), String::new(), Arc::new(payload));
        self.apply(Event::Sample(Sample { step, variant: 0, channel, about, tokens: vec![], request, payload }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Value,
        telemetry::{Payload, channels},
    };

    fn sample(mirror: &mut Mirror, step: u64, request: Option<u64>) {
        mirror.measure(step, "a/b", Payload::Unknown(step.into()), request);
    }

    fn change(step: u64) -> Event {
        Event::Changed { step, key: "train.lr".into(), value: Value::Float(0.02) }
    }

    /// A replay whose record ends at step 171 and whose last checkpoint is of step 100.
    fn interrupted() -> Mirror {
        let mut mirror = Mirror::begun(RunInfo::default());
        for at in 1..=171_u64 {
            mirror.report(0, at, &[(channels::LOSS_TRAIN, at as f64)]);
            if at.is_multiple_of(50) {
                mirror.report(0, at, &[(channels::LOSS_HELD_OUT, at as f64)]);
                sample(&mut mirror, at, None);
            }
            if at == 60 || at == 130 {
                mirror.apply(change(at));
            }
            if at == 100 {
                mirror.apply(Event::Checkpoint { step: at });
                mirror.apply(change(at)); // lost in the kill: no checkpoint holds it
            }
        }
        mirror.report(0, 150, &[("seen/late", 1.0)]);
        sample(&mut mirror, 171, Some(3));
        mirror.apply(Event::State(RunState::Paused));
        mirror
    }

    #[test]
    fn a_run_that_goes_on_is_at_the_step_of_its_checkpoint() {
        let mut mirror = interrupted();
        assert_eq!(mirror.step, 171);
        mirror.apply(Event::Resumed { step: 100, wall_secs: 90.0 });
        assert_eq!(mirror.changes.iter().map(|(at, ..)| *at).collect::<Vec<_>>(), [60]);
        // a control that was moved while the replay was looked at
        mirror.apply(change(100));
        assert_eq!((mirror.step, mirror.wall_secs), (100, 90.0));
        let last = |mirror: &Mirror, channel: &str| mirror.curve(0, channel).and_then(Curve::last_step);
        assert_eq!(last(&mirror, channels::LOSS_TRAIN), Some(100));
        assert_eq!(last(&mirror, channels::LOSS_HELD_OUT), Some(100), "that of step 150 is not made yet");
        assert!(mirror.curve(0, "seen/late").is_none());
        assert_eq!(mirror.samples(0, "a/b").iter().map(|s| s.step).collect::<Vec<_>>(), [50, 100]);
        assert!(mirror.answer(0, "a/b").is_none(), "its weights are gone");
        assert_eq!(mirror.changes.iter().map(|(at, ..)| *at).collect::<Vec<_>>(), [60, 100]);
        assert_eq!(mirror.changes_to_resume_with().len(), 1);
        mirror.report(0, 101, &[(channels::LOSS_TRAIN, 1.0)]);
        assert_eq!((mirror.step, last(&mirror, channels::LOSS_TRAIN)), (101, Some(101)));
    }

    #[test]
    fn the_changes_of_a_drag_are_those_of_the_record() {
        let mut mirror = Mirror::default();
        let set = |key: &str, value| Event::Set { step: 4, key: key.into(), value: Value::Float(value) };
        [0.1, 0.2, 0.3].into_iter().for_each(|value| mirror.apply(set("train.lr", value)));
        mirror.apply(set("model.gate", 1.0));
        assert!(mirror.changes.is_empty(), "nothing was made with them");
        assert_eq!((mirror.set_count, mirror.last_set_step()), (4, Some(4)));
        assert_eq!(mirror.set_value("train.lr"), Some(&Value::Float(0.3)));
        let recorded = (4, "train.lr".to_owned(), Value::Float(0.3));
        let (step, key, value) = recorded.clone();
        mirror.apply(Event::Changed { step, key, value });
        assert_eq!(mirror.changes, [recorded]);
        assert_eq!(mirror.set_count, 4, "no value is counted twice");
        assert_eq!(mirror.set_value("model.gate"), Some(&Value::Float(1.0)));
    }

    #[test]
    fn a_checkpoint_holds_the_newest_step_until_a_step_or_a_change_follows() {
        let mut mirror = Mirror::default();
        mirror.report(0, 4, &[]);
        assert!(!mirror.is_checkpointed());
        mirror.apply(Event::Checkpoint { step: 4 });
        assert!(mirror.is_checkpointed());
        mirror.apply(change(4));
        assert!(!mirror.is_checkpointed());
        mirror.apply(Event::Checkpoint { step: 4 });
        assert!(mirror.is_checkpointed());
        mirror.apply(Event::Set { step: 4, key: "train.lr".into(), value: Value::Float(0.01) });
        assert!(!mirror.is_checkpointed());
        mirror.apply(Event::Changed { step: 4, key: "train.lr".into(), value: Value::Float(0.01) });
        mirror.apply(Event::Checkpoint { step: 4 });
        assert!(mirror.is_checkpointed());
        mirror.report(0, 5, &[]);
        assert!(!mirror.is_checkpointed());
    }
}
