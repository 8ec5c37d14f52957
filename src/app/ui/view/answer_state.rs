//! The state of a panel that shows the answer to a question, and the text for it.

use eframe::egui::Ui;

use super::{
    ViewCx,
    context::keys_of,
    needs::{needs_in, needs_of},
};
use crate::{
    config::Arguments,
    labs::{
        examples,
        foreign::{self, asks},
    },
    telemetry::{Args, Measurement, QuestionState, RunState, Sample},
    ui::{plot::empty_ui, questions::Key, run::EXAMPLE_CANNOT_BE_ASKED},
};

/// Seconds for which the answer to an earlier question is shown without a note, so that a dragged control does not flicker.
const NOTE_DELAY: f64 = 0.3;

/// The state of a panel that shows the answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerState<'a> {
    /// Nothing can be shown, and nothing is being asked.
    Absent(Absence<'a>),
    Asked(OpenQuestion),
    Refused(&'a str),
    Answered(ShownAnswer<'a>),
}

/// The reason why a view has nothing to show and waits for no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Absence<'a> {
    NoRun,
    Preparing,
    /// The run ended with this error; `is_unmade` if it ended before its models were built.
    Failed {
        message: &'a str,
        is_unmade: bool,
    },
    /// The run has no models to ask, and its record lacks the measurement.
    Unrecorded,
    /// The run has not begun to train.
    Untrained,
    /// The first measurement was made at this step, after the shown one.
    Later(u64),
    /// The models had no answer; the schedule asks them again at the step `next`, if there is one.
    Inapplicable {
        next: Option<u64>,
    },
    /// The run's schedule will measure at this step.
    Scheduled(u64),
    /// The view asks as soon as the run pauses.
    WhenPaused,
    /// The view asks only when the user wants it.
    OnDemand,
}

/// A question that has neither been answered nor refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenQuestion {
    /// The step whose model is asked.
    pub step: u64,
    /// Seconds since it was asked.
    pub since: f64,
    /// The fraction of the answer that has been computed, if known.
    pub share: Option<f32>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShownAnswer<'a> {
    pub variant: usize,
    /// The answer with its step, its text and its request.
    pub sample: &'a Sample,
    /// The reason why the controls ask another question by now; `None` if this is the answer to theirs.
    pub outdated: Option<Outdated<'a>>,
}

/// The reason why the answer shown does not belong to the current question, the one that the controls are set to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outdated<'a> {
    /// The current question is only asked when a button is clicked.
    Unasked,
    Asked(OpenQuestion),
    Refused(&'a str),
    /// The models have no answer to the current question.
    Inapplicable,
    /// The run has no models to ask.
    CannotAsk,
    /// The page shows the lab's recorded example, which has no models to ask.
    Example,
}

impl OpenQuestion {
    /// For example "of step 40, 3 s ago, 40% done".
    fn label(&self) -> String {
        let since = if self.since < 1.0 { String::new() } else { format!(", {:.0} s ago", self.since) };
        let share = self.share.map_or(String::new(), |share| format!(", {:.0}% done", 100.0 * share));
        format!("of step {}{since}{share}", self.step)
    }
}

impl ShownAnswer<'_> {
    /// Says which question the answer belongs to, and the state of the controls' own question; `None` if both are the
    /// same. A tile shows its first line, which is short over an example, where every control leads here.
    pub fn note(&self) -> Option<String> {
        let Sample { step, about, request, .. } = self.sample;
        let what =
            if request.is_some() { "the answer to an earlier question" } else { "what the run measured by itself" };
        let own = format!("Shown is {what}: step {step} \u{b7} {about}");
        Some(match self.outdated? {
            Outdated::Unasked => format!("Not asked with these settings yet. {own}"),
            Outdated::Asked(question) => format!("This question is asked {}. {own}", question.label()),
            Outdated::Refused(why) => format!("Refused: {}. {own}", why.trim_end_matches('.').replace('\n', " ")),
            Outdated::Inapplicable => format!("The variant in focus has no answer to this question. {own}"),
            Outdated::CannotAsk => format!("The models of this run cannot be asked. {own}"),
            Outdated::Example => format!("{EXAMPLE_CANNOT_BE_ASKED}\n{own}"),
        })
    }
}

impl Absence<'_> {
    /// The text in the place of the picture: `hint` where no run has begun, `demand` where nothing asks by itself.
    fn sentence(&self, cx: &ViewCx<'_>, probe: &str, hint: &str, demand: &str) -> String {
        match self {
            Self::NoRun | Self::Untrained => hint.to_owned(),
            Self::Preparing => "The run is being prepared: its models are built first.".to_owned(),
            Self::Failed { message, is_unmade: true } => format!("No run could be made: {message}"),
            Self::Failed { message, is_unmade: false } => format!("The run failed: {message}"),
            Self::Unrecorded if cx.mirror.is_example => {
                // a live run could not answer either if its models lack what the probe needs
                let needs = cx.needs(probe);
                let blank = if needs.is_empty() { "" } else { " " };
                format!("The example has no record of this. {needs}{blank}{EXAMPLE_CANNOT_BE_ASKED}")
            }
            Self::Unrecorded if !cx.has_controls || cx.is_trained_elsewhere() => {
                let allowed = cx.mirror.info.as_ref().map_or(&[][..], |info| &info.asks);
                let is_answered = cx.is_trained_elsewhere() && cx.mirror.why_nobody_answers().is_none();
                match cx.has_controls && is_answered && asks::is_allowed(allowed, asks::protocol_name(probe)) {
                    true => "This run has no record of it: ask its program in the view Questions.".to_owned(),
                    false => format!("This run has no record of it.{}", cx.where_logged()),
                }
            }
            Self::Unrecorded if cx.mirror.is_followed() => {
                "This run has no record of it. Its models can be asked from its newest checkpoint once the process that \
                 trains it has ended."
                    .to_owned()
            }
            Self::Unrecorded => {
                "This run has no record of it, and its models cannot be asked. Press R to begin a new run with these \
                 settings."
                    .to_owned()
            }
            Self::Later(first) => format!(
                "Measured at step {first}; step {} is shown, and nothing was measured before it. Press F to follow the \
                 run.",
                cx.step
            ),
            Self::Inapplicable { next } => {
                let again = next.map_or(String::new(), |next| format!(" They are asked again at step {next}."));
                format!("This does not apply to the models of this run. {}{again}", cx.needs(probe))
            }
            Self::Scheduled(0) => "Measuring; this can take a while before the first step.".to_owned(),
            Self::Scheduled(next) => format!("The run measures this at step {next}."),
            Self::WhenPaused => {
                let needs = cx.needs(probe);
                format!("Once the run is paused or has ended, its models are asked, if this applies to them. {needs}")
            }
            Self::OnDemand => demand.to_owned(),
        }
    }
}

impl<'a> ViewCx<'a> {
    /// The state of a panel that shows the answer to a question of `M`.
    pub fn state_of<M: Measurement>(&self) -> AnswerState<'a> {
        let key = self.newest_key::<M>();
        if let Some((variant, sample)) = self.shown_sample::<M>() {
            let outdated = key.and_then(|key| self.outdated(key, sample));
            return AnswerState::Answered(ShownAnswer { variant, sample, outdated });
        }
        self.question_state::<M>().unwrap_or_else(|| AnswerState::Absent(self.absence::<M>()))
    }

    /// Explains why no `M` is shown: it was refused, is being asked, will be measured or cannot be. Before a run this is
    /// `hint`.
    pub fn empty_reason<M: Measurement>(&self, hint: &str) -> String {
        self.empty_reason_before_asking::<M>(hint, &format!("This run does not measure this. {}", self.needs(M::PROBE)))
    }

    /// Describes the models that a probe can measure, and how to get one.
    fn needs(&self, probe: &str) -> String {
        let is_scheduled = self.questions.scheduled_args(probe).next().is_some();
        let info = self.mirror.info.as_deref().filter(|_| !is_scheduled);
        info.map_or_else(|| needs_of(probe).to_owned(), |info| needs_in(&info.lab, probe))
    }

    /// Fills a view's room with the reason why nothing of `M` is shown, as [`ViewCx::empty_reason`].
    pub fn unmeasured_ui<M: Measurement>(&self, ui: &mut Ui, hint: &str) {
        self.nothing_ui(ui, &self.empty_reason::<M>(hint));
    }

    /// Fills a view with the reason why nothing is shown.
    pub fn nothing_ui(&self, ui: &mut Ui, words: &str) {
        empty_ui(ui, ui.available_size(), self.theme, words);
    }

    /// Like [`ViewCx::empty_reason`], for a view with a button that asks, which `demand` mentions.
    pub fn empty_reason_before_asking<M: Measurement>(&self, hint: &str, demand: &str) -> String {
        match self.question_state::<M>() {
            Some(AnswerState::Refused(words)) => words.to_owned(),
            Some(AnswerState::Asked(question)) => format!("Asking the model of step {}.", question.step),
            // a measurement that the view does not show, though there is one
            _ if self.shown_sample::<M>().is_some() => {
                format!("Nothing of this was measured at step {} or before it.", self.step)
            }
            _ => self.absence::<M>().sentence(self, M::PROBE, hint, demand),
        }
    }

    /// The state of the question of `M` that was last put, while it is open or once it was refused.
    pub fn question_state<M: Measurement>(&self) -> Option<AnswerState<'a>> {
        let key = self.newest_key::<M>()?;
        let refusal = self.questions.refusal(key, self.mirror).map(AnswerState::Refused);
        // a picture of a record asks nobody, so that no answer is awaited
        let is_open = self.questions.is_asked(key) && !self.repeats_unanswerable::<M>();
        let open = || self.open_question(key).filter(|_| is_open);
        refusal.or_else(|| open().map(AnswerState::Asked))
    }

    /// True if the question last put is one that the models had no answer to when it was asked of another step: no other is
    /// expected, so that words do not change with each step while a run is played back.
    fn repeats_unanswerable<M: Measurement>(&self) -> bool {
        let mirror = self.mirror;
        let is_known = |v| !mirror.samples(v, M::CHANNEL).is_empty() || mirror.answer(v, M::CHANNEL).is_some();
        self.newest_key::<M>().is_some_and(|key| self.questions.repeats_answered(key))
            && !(0..mirror.variants().len()).any(is_known)
    }

    /// Says that the view shows no answer at all, so that none is marked as the answer to another question.
    pub fn shows_nothing(&mut self) {
        self.questions.outdated = None;
    }

    /// The message of an empty chart over training: `hint` before a run, `absent` if a run reported no such number.
    pub fn no_curve_reason(&self, hint: &str, absent: &str) -> String {
        match self.run_absence() {
            // a record has all curves of its run, even if its models cannot be asked
            Some(Absence::Unrecorded) if self.mirror.step > 0 => format!("{absent}{}", self.where_logged()),
            Some(absence) => absence.sentence(self, "", hint, absent),
            None if self.mirror.step == 0 => "The run has begun; its first numbers will appear shortly.".to_owned(),
            None => absent.to_owned(),
        }
    }

    /// Names *Logged*, where a view finds nothing in another program's run: it shows what no view was made for. A picture has no
    /// view beside it, so that it names channels too; to collect them in each frame would take too long.
    fn where_logged(&self) -> String {
        const MAX_NAMED: usize = 12;
        let title = self.title_of(foreign::LOGGED);
        if !self.is_trained_elsewhere() || !self.mirror.has_numbers() {
            return String::new();
        }
        if self.has_controls {
            return format!(" The view {title} shows what the program logged under other names.");
        }
        let channels = self.mirror.channels();
        let named: Vec<&str> = channels.iter().take(MAX_NAMED).map(|channel| channel.as_str()).collect();
        let more = match channels.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(" It logged {}{more}: see the view {title} ({}).", named.join(", "), foreign::LOGGED)
    }

    /// The reason why the run has nothing to show in any view; `None` if it has something.
    fn run_absence(&self) -> Option<Absence<'a>> {
        let mirror = self.mirror;
        match &mirror.state {
            _ if !self.has_controls && mirror.info.is_some() => Some(Absence::Unrecorded),
            None if mirror.is_preparing || mirror.info.is_some() => Some(Absence::Preparing),
            None => Some(Absence::NoRun),
            Some(RunState::Failed { message }) => Some(Absence::Failed { message, is_unmade: mirror.info.is_none() }),
            Some(RunState::Stopped | RunState::Followed(_)) => Some(Absence::Unrecorded),
            Some(RunState::Paused) if mirror.step == 0 => Some(Absence::Untrained),
            Some(RunState::Paused | RunState::Running | RunState::Finished) => None,
        }
    }

    fn absence<M: Measurement>(&self) -> Absence<'a> {
        let mirror = self.mirror;
        let of_variant = |v| {
            let scheduled = mirror.samples(v, M::CHANNEL).first();
            let samples = [scheduled, mirror.answer(v, M::CHANNEL)].into_iter().flatten();
            samples.map(|s| s.step).filter(|step| *step > self.step).min()
        };
        if let Some(first) = (0..mirror.variants().len()).filter_map(of_variant).min() {
            return Absence::Later(first);
        }
        let key = self.newest_key::<M>();
        let answered = key.and_then(|key| mirror.question(self.questions.request(key)?));
        let next = self.questions.next_scheduled(M::PROBE, mirror).filter(|_| mirror.state != Some(RunState::Finished));
        let is_answered = matches!(answered, Some(QuestionState::Answered)) || self.repeats_unanswerable::<M>();
        let is_scheduled = self.questions.scheduled_args(M::PROBE).next().is_some();
        match self.run_absence() {
            // the schedule of a lab asks what its trained models can answer
            Some(Absence::Untrained) if is_answered && !is_scheduled => Absence::Inapplicable { next: None },
            Some(absence) => absence,
            None if is_answered || is_scheduled && mirror.step > 0 => Absence::Inapplicable { next },
            None => match next {
                Some(next) => Absence::Scheduled(next),
                None if mirror.state == Some(RunState::Running) && self.asks_by_itself::<M>() => Absence::WhenPaused,
                None => Absence::OnDemand,
            },
        }
    }

    /// True if the view being drawn puts the question in every frame in which it is due.
    fn asks_by_itself<M: Measurement>(&self) -> bool {
        keys_of::<M>(self.selection.variant).into_iter().any(|key| self.questions.touched.contains(&key))
    }

    /// The question to the variant in focus or to all that was put last; none where neither was.
    fn newest_key<M: Measurement>(&self) -> Option<Key> {
        let keys = keys_of::<M>(self.selection.variant);
        let asked = keys.into_iter().filter_map(|key| Some((self.questions.request(key)?, key)));
        let newest = asked.max_by_key(|(request, _)| *request).map(|(_, key)| key);
        newest.or_else(|| keys.into_iter().find(|key| self.questions.shown_args(*key).is_some()))
    }

    /// True if the page shows the lab's recorded example and the probe may need no weights: then it is answered by models with
    /// the example's settings.
    pub(super) fn is_computed(&self, probe: &str) -> bool {
        self.mirror.is_example && self.mirror.state == Some(RunState::Stopped) && examples::may_answer(probe)
    }

    /// True if the example's record has the answer to this question, and it has to be asked for others alone.
    pub(super) fn is_recorded_question<M: Measurement>(&self, args: &Args) -> bool {
        self.is_computed(M::PROBE)
            && self.questions.scheduled_args(M::PROBE).any(|recorded| recorded == args)
            && self.in_focus(|v| self.mirror.sample_at(v, M::CHANNEL, self.step)).is_some()
    }

    /// The question last put under this key, while it is open.
    fn open_question(&self, key: Key) -> Option<OpenQuestion> {
        let request = self.questions.request(key).filter(|_| self.is_answered() || self.is_computed(key.0))?;
        let share = match self.mirror.question(request) {
            Some(QuestionState::Working(share)) => *share,
            Some(_) => return None,
            None => None,
        };
        Some(OpenQuestion { step: self.at().unwrap_or(self.step), since: self.questions.waiting_time(key), share })
    }

    /// The reason why the sample is not the answer to the question that the controls show.
    fn outdated(&self, key: Key, sample: &Sample) -> Option<Outdated<'a>> {
        let [first, now] = self.questions.shown_args(key)?;
        let put = self.questions.request(key);
        let is_newest = sample.request.is_some() && put.is_some() && sample.request >= put;
        if is_newest && self.is_answered() {
            return None;
        }
        let is_same = self.args_of_sample(key.0, sample).any(|args| args == now);
        if let Some(words) = self.questions.refusal(key, self.mirror) {
            let is_cancelled = put.and_then(|r| self.mirror.question(r)) == Some(&QuestionState::Cancelled);
            return (!is_cancelled || !is_same).then_some(Outdated::Refused(words));
        }
        let has_ended =
            matches!(self.mirror.state, Some(RunState::Stopped | RunState::Followed(_) | RunState::Failed { .. }));
        match self.open_question(key) {
            Some(_) if is_same && self.matches_live_settings(sample) => None,
            // The sample was measured with other arguments, or with live settings that have changed since.
            Some(question) => (question.since >= NOTE_DELAY).then_some(Outdated::Asked(question)),
            None if is_same => None,
            None if has_ended && self.mirror.is_example => (now != first).then_some(Outdated::Example),
            None if has_ended => (now != first).then_some(Outdated::CannotAsk),
            None => self.is_known_to_differ(sample, now).then_some(Outdated::Inapplicable),
        }
    }

    /// Like [`ViewCx::outdated`] for a question that a button puts, perhaps not with the controls' arguments.
    fn outdated_by_hand(&self, key: Key, sample: &Sample) -> Option<Outdated<'a>> {
        let [first, now] = self.questions.shown_args(key)?;
        if !self.can_ask() || self.questions.args(key) == Some(now) {
            return self.outdated(key, sample);
        }
        let is_same = self.args_of_sample(key.0, sample).any(|args| args == now);
        // the run itself measures with its live settings as they are then
        let is_measured_since = self.mirror.last_set_step().is_some_and(|step| step < sample.step);
        let differs = self.is_known_to_differ(sample, now) || now != first && !is_measured_since;
        (!is_same && differs).then_some(Outdated::Unasked)
    }

    /// The arguments that a sample may have been asked with.
    fn args_of_sample<'s>(&'s self, probe: &'s str, sample: &Sample) -> impl Iterator<Item = &'s Args> {
        let asked = sample.request.and_then(|request| self.questions.args_of(request));
        let scheduled = sample.request.is_none().then(|| self.questions.scheduled_args(probe));
        asked.into_iter().chain(scheduled.into_iter().flatten())
    }

    fn is_known_to_differ(&self, sample: &Sample, args: &Args) -> bool {
        sample.request.and_then(|request| self.questions.args_of(request)).is_some_and(|own| own != args)
    }

    /// Notes the question of `M` that a button of the view would put to a variant (`None`: all), and why the `shown`
    /// sample does not answer it. A view with such a button calls this in every frame, others [`ViewCx::ask`].
    pub fn shows_question<M: Measurement>(&mut self, variant: Option<usize>, args: &M::Args, shown: Option<&Sample>) {
        let key = (M::PROBE, variant);
        self.questions.show_args(key, args.to_args());
        if let Some(sample) = shown {
            let outdated = self.outdated_by_hand(key, sample);
            self.note_outdated(&ShownAnswer { variant: sample.variant, sample, outdated });
        }
    }

    /// Notes the arguments that the controls of a view show, and why the answer that it shows is to others.
    pub(super) fn compare_args<M: Measurement>(&mut self, key: Key, args: Args) {
        self.questions.show_args(key, args);
        if let AnswerState::Answered(shown) = self.state_of::<M>() {
            self.note_outdated(&shown);
        }
    }

    fn note_outdated(&mut self, shown: &ShownAnswer<'_>) {
        if let Some(words) = shown.note() {
            self.questions.note_outdated(words);
        }
    }
}
