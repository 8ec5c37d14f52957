//! The context of a view in a frame: the run at a step, the settings, the selection, and the actions that it adds.

use std::{borrow::Cow, ops::Deref};

use eframe::egui::{Button, Color32, Ui};

use super::ViewEntry;
use crate::{
    config::{Arguments, Config, Knob, Value},
    labs::{TrainSettings, restrictions::Restrictions},
    telemetry::{Args, FOREIGN, Measurement, Question, QuestionState, RunState, Sample, VariantInfo},
    ui::{
        action::{Action, Actions, OpenAction, RunAction, SettingAction},
        mirror::Mirror,
        plot::{Axis, Chart, ChartState},
        questions::{Freshness, Key, QuestionTime, Questions},
        run::EXAMPLE_CANNOT_BE_ASKED,
        seed_series::variant_colour,
        selection::Selection,
        theme::Theme,
        widgets::{choice_menu::choice_menu, notes::note_ui},
    },
};

/// Gives a view the data of one frame, and takes the actions and questions that it issues.
pub struct ViewCx<'a> {
    pub mirror: &'a Mirror,
    /// The step shown: the newest, or where the scrubber stands.
    pub step: u64,
    /// True when `step` follows the run.
    pub follow: bool,
    pub config: &'a Config,
    pub knobs: &'a [Knob],
    /// The settings of the preset, which controls are compared with and reset to.
    pub preset: &'a Config,
    /// The restrictions of the page: a locked setting stays as it is, whatever a view sets.
    pub restrictions: &'a Restrictions,
    pub theme: &'a Theme,
    pub selection: &'a mut Selection,
    /// Actions that the view requests; the page performs them after the frame.
    pub actions: &'a mut Actions,
    /// The questions that the page has asked, with their times.
    pub questions: &'a mut Questions,
    pub all_views: &'static [ViewEntry],
    /// Reduced motion is wanted.
    pub still: bool,
    /// False in an exported picture, which has no buttons.
    pub has_controls: bool,
}

impl<'a> ViewCx<'a> {
    /// Asks for something to be done after the frame.
    pub fn act<A: Into<Action>>(&mut self, action: A) {
        self.actions.push(action);
    }

    /// The title of a view; its id if there is no such view.
    pub fn title_of(&self, view: &'static str) -> &'static str {
        self.all_views.iter().find(|entry| entry.id == view).map_or(view, |entry| entry.title)
    }

    /// Opens the claim that was clicked in a chart.
    pub fn open_asked_claim(&mut self, chart: &mut ChartState) {
        if let Some(claim) = chart.asked_claim.take() {
            self.act(OpenAction::Claim(claim.to_owned()));
        }
    }

    /// The latest measurement at or before the shown step, of the variant in focus if it has one, else of the first
    /// that has; an answer to a question where nothing came by schedule, or where a live setting was changed since.
    pub fn latest<M: Measurement>(&self) -> Option<Measured<'a, M>> {
        let scheduled = self.in_focus(|v| self.mirror.sample_at(v, M::CHANNEL, self.step));
        let answer = self.in_focus(|v| self.mirror.answer(v, M::CHANNEL).filter(|s| self.is_known(s)));
        let is_outdated = scheduled.is_none_or(|(_, s)| !self.matches_live_settings(s));
        let is_newer = |s: &Sample| is_outdated && (scheduled.is_none() || self.matches_live_settings(s));
        let newer = answer.filter(|(_, s)| is_newer(s) || self.is_asked_by_hand::<M>(s));
        newer.or(scheduled).and_then(Measured::new)
    }

    /// True for the newest answer of a program elsewhere, asked by hand, until put aside ([`ViewCx::dismiss_answer`]).
    fn is_asked_by_hand<M: Measurement>(&self, sample: &Sample) -> bool {
        let is_put = |key| sample.request.is_some() && self.questions.request(key) == sample.request;
        self.is_trained_elsewhere() && keys_of::<M>(self.selection.variant).into_iter().any(is_put)
    }

    /// Shows what the run has logged of `M` in place of the answer that a variant gave.
    pub fn dismiss_answer<M: Measurement>(&mut self, variant: usize) {
        let focus = self.selection.variant;
        [Some(focus), Some(variant), None].into_iter().for_each(|of| self.questions.forget((M::PROBE, of)));
    }

    /// Where an answer is shown in place of what the run has logged of `M`: says so, and has a button that goes back.
    pub fn back_to_run_ui<M: Measurement>(&mut self, ui: &mut Ui) {
        let Some(shown) = self.latest::<M>().filter(|shown| self.is_asked_by_hand::<M>(shown.sample)) else { return };
        if self.mirror.samples(shown.variant, M::CHANNEL).is_empty() {
            return;
        }
        note_ui(ui, self.theme, "An answer is shown.");
        let button = ui.button("Back to the run").on_hover_text("Shows again what the run has logged by itself.");
        if button.clicked() {
            self.dismiss_answer::<M>(shown.variant);
        }
    }

    /// True for a sample taken at or before the shown step.
    fn is_known(&self, sample: &Sample) -> bool {
        self.follow || sample.step <= self.step
    }

    /// True while no live setting was changed since the sample was taken, or since the question was asked that it
    /// answers. At a past step it is always true, because only the newest step has live settings.
    pub(super) fn matches_live_settings(&self, sample: &Sample) -> bool {
        let changed = self.at().is_none() && self.mirror.last_set_step().is_some_and(|step| step >= sample.step);
        !changed || sample.request.is_some_and(|r| self.questions.matches_live_settings(r, self.mirror))
    }

    /// The step whose weights are asked: the newest kept at or before the shown one; `None` for the newest step's.
    pub fn at(&self) -> Option<u64> {
        let is_past = !self.follow && self.step < self.mirror.step;
        is_past.then(|| self.mirror.snapshot_at(self.step).unwrap_or(self.step))
    }

    /// The newest answer to a question of this page, if it was known at the shown step; where none was asked (a run opened
    /// from its folder, a picture), what the run measured by itself, or else the recorded answer, whose question is not
    /// known. While another answer is on its way, the one before stays in view, with its own step.
    pub fn answered<M: Measurement>(&self) -> Option<Measured<'a, M>> {
        self.shown_sample::<M>().and_then(Measured::new)
    }

    /// The [`sample_subtitle`] of [`ViewCx::answered`].
    pub fn answered_subtitle<M: Measurement>(&self, what: &str, otherwise: &str) -> String {
        sample_subtitle(self.answered::<M>().map(|m| m.sample), what, otherwise)
    }

    /// The sample of [`ViewCx::answered`], with its variant.
    pub(super) fn shown_sample<M: Measurement>(&self) -> Option<(usize, &'a Sample)> {
        self.in_focus(|v| self.shown_answer::<M>(v).filter(|_| self.has_asked::<M>(v)))
            .or_else(|| self.in_focus(|v| self.mirror.sample_at(v, M::CHANNEL, self.step)))
            .or_else(|| self.in_focus(|v| self.shown_answer::<M>(v)))
    }

    /// True if the page has asked the variant, or all variants, for an `M`.
    fn has_asked<M: Measurement>(&self, variant: usize) -> bool {
        keys_of::<M>(variant).into_iter().any(|key| self.questions.is_asked(key))
    }

    fn shown_answer<M: Measurement>(&self, variant: usize) -> Option<&'a Sample> {
        let answer = self.mirror.answer(variant, M::CHANNEL)?;
        let is_between = || keys_of::<M>(variant).into_iter().any(|(_, of)| self.is_waiting_for::<M>(of));
        (self.is_known(answer) || is_between()).then_some(answer)
    }

    /// The settings that the run shown was begun with; without a run those of the controls.
    pub fn run_config(&self) -> &'a Config {
        self.mirror.info.as_ref().map_or(self.config, |info| &info.config)
    }

    /// The latest scheduled measurement of one variant at or before the shown step.
    pub fn scheduled<M: Measurement>(&self, variant: usize) -> Option<Measured<'a, M>> {
        self.mirror.sample_at(variant, M::CHANNEL, self.step).and_then(|sample| Measured::new((variant, sample)))
    }

    /// The newest answer of one variant, if it takes precedence over the scheduled measurement ([`ViewCx::answered`]).
    pub fn answer_of<M: Measurement>(&self, variant: usize) -> Option<Measured<'a, M>> {
        let is_wanted = self.has_asked::<M>(variant) || self.scheduled::<M>(variant).is_none();
        let answer = self.shown_answer::<M>(variant).filter(|_| is_wanted);
        answer.and_then(|sample| Measured::new((variant, sample)))
    }

    /// Both sources of a variant's measurement at the shown step: the answer to a question, then the scheduled one.
    pub fn measurement_sources<M: Measurement>(
        &self,
        variant: usize,
    ) -> impl Iterator<Item = Measured<'a, M>> + use<'a, M> {
        let answer = self.answer_of::<M>(variant).filter(|m| m.sample.step <= self.step);
        answer.into_iter().chain(self.scheduled::<M>(variant))
    }

    /// The newest measurement of a variant at the shown step that `fits`; of two at the same step the answer.
    pub fn measured<M: Measurement>(&self, variant: usize, fits: impl Fn(&M) -> bool) -> Option<Measured<'a, M>> {
        let newer = |a: Measured<'a, M>, b: Measured<'a, M>| if b.sample.step > a.sample.step { b } else { a };
        self.measurement_sources::<M>(variant).filter(|m| fits(m.value)).reduce(newer)
    }

    /// [`ViewCx::measured`] whatever it holds.
    pub fn newest<M: Measurement>(&self, variant: usize) -> Option<Measured<'a, M>> {
        self.measured(variant, |_| true)
    }

    /// [`ViewCx::newest`] of the variant in focus if it has it, else of the first that has.
    pub fn measured_in_focus<M: Measurement>(&self) -> Option<Measured<'a, M>> {
        self.in_focus(|variant| self.newest(variant)).map(|(_, m)| m)
    }

    /// Asks for an `M` with these arguments whenever its answer is due (see [`Freshness`]) and a model is there to
    /// answer. `variant`: `None` for all. Every view that shows `M` calls this in each frame; only the first one asks.
    pub fn ask<M: Measurement>(&mut self, variant: Option<usize>, args: &M::Args, freshness: Freshness) {
        let (key, args) = ((M::PROBE, variant), args.to_args());
        self.questions.touch(key);
        let may_ask = self.can_ask() || self.is_computed(M::PROBE);
        if self.is_recorded_question::<M>(&args) {
            self.questions.forget(key);
        } else if may_ask && self.questions.is_due(key, &args, freshness, self.mirror, &self.moment::<M>(variant)) {
            self.ask_with::<M>(variant, args.clone());
        }
        self.compare_args::<M>(key, args);
    }

    /// Asks the variant in focus for an `M` with the default arguments if there is none yet.
    pub fn ask_if_missing<M: Measurement>(&mut self) {
        self.ask::<M>(Some(self.selection.variant), &M::Args::default(), Freshness::IfMissing);
    }

    /// Returns true if the question of `M` was never put so, or its answer is no longer fresh.
    pub fn is_due<M: Measurement>(&self, variant: Option<usize>, args: &M::Args, freshness: Freshness) -> bool {
        let (key, time) = ((M::PROBE, variant), self.moment::<M>(variant));
        self.questions.is_due(key, &args.to_args(), freshness, self.mirror, &time)
    }

    fn moment<M: Measurement>(&self, variant: Option<usize>) -> QuestionTime {
        // an answer that was asked for at another step does not replace what is missing at this one
        let is_of_shown = |sample: &Sample| sample.request.is_none() || sample.step == self.step;
        let is_measured =
            self.latest::<M>().is_some_and(|m| self.matches_live_settings(m.sample) && is_of_shown(m.sample));
        QuestionTime { at: self.at(), scheduled: self.newest_scheduled::<M>(variant), is_measured }
    }

    /// Asks for an `M` now, of the weights of the shown step; returns the question's number.
    pub fn ask_now<M: Measurement>(&mut self, variant: Option<usize>, args: &M::Args) -> u64 {
        self.ask_with::<M>(variant, args.to_args())
    }

    /// A button that asks the variant in focus for an `M` now. It is disabled if `is_enabled` is false, and, with the
    /// reason in its tooltip, while the answer is on its way or no model can be asked.
    pub fn ask_button<M: Measurement>(
        &mut self,
        ui: &mut Ui,
        button: Button<'_>,
        is_enabled: bool,
        tip: &str,
        args: impl FnOnce(&Self) -> M::Args,
    ) {
        let variant = Some(self.selection.variant);
        let is_waiting = self.is_waiting_for::<M>(variant);
        let why_not = match () {
            () if is_waiting => "It was asked; the answer is on its way.",
            () if self.can_ask() || self.is_computed(M::PROBE) => "",
            () if self.mirror.is_example => EXAMPLE_CANNOT_BE_ASKED,
            () => "There is no model here that can be asked.",
        };
        let button = ui.add_enabled(is_enabled && why_not.is_empty(), button).on_hover_text(tip);
        if button.on_disabled_hover_text(format!("{tip}\n{why_not}").trim_end()).clicked() {
            let args = args(self);
            self.ask_now::<M>(variant, &args);
        }
    }

    /// Asks like [`ViewCx::ask_now`], with arguments beside those of the probe.
    pub fn ask_with<M: Measurement>(&mut self, variant: Option<usize>, args: Args) -> u64 {
        let (key, moment) = ((M::PROBE, variant), self.moment::<M>(variant));
        self.questions.touch(key);
        let request = self.questions.register(key, args.clone(), self.mirror, &moment);
        let question = Question { request, probe: M::PROBE.to_owned(), variant, args, at: moment.at };
        self.act(RunAction::Ask(question));
        request
    }

    /// The answer to the question of `M` that was put last is no longer wanted.
    pub fn cancel<M: Measurement>(&mut self, variant: Option<usize>) {
        if let Some(request) = self.questions.request((M::PROBE, variant)) {
            self.act(RunAction::Cancel(request));
        }
    }

    /// True while the question of `M` has neither been answered nor refused.
    pub fn is_waiting_for<M: Measurement>(&self, variant: Option<usize>) -> bool {
        let answer = match variant {
            Some(v) => self.mirror.answer(v, M::CHANNEL),
            None => self.in_focus(|v| self.mirror.answer(v, M::CHANNEL)).map(|(_, s)| s),
        };
        let reached = answer.and_then(|s| s.request).unwrap_or(0);
        let is_answered = self.is_answered() || self.is_computed(M::PROBE);
        is_answered && self.questions.is_open((M::PROBE, variant), reached, self.mirror)
    }

    /// True if the question of `M` to a variant was answered with nothing: its model has no such thing.
    pub fn is_answered_without<M: Measurement>(&self, variant: usize) -> bool {
        let asked = self.questions.request((M::PROBE, Some(variant)));
        let is_answered = asked.is_some_and(|r| matches!(self.mirror.question(r), Some(QuestionState::Answered)));
        is_answered && self.mirror.answer(variant, M::CHANNEL).is_none()
    }

    /// The reason why the question of `M` that was last put has no answer, in the run's words.
    pub fn refusal_of<M: Measurement>(&self, variant: Option<usize>) -> Option<&'a str> {
        self.questions.refusal((M::PROBE, variant), self.mirror)
    }

    /// Everything that one variant's schedule has measured, with its step, oldest first.
    pub fn history<M: Measurement>(&self, variant: usize) -> Vec<(u64, &'a M)> {
        self.mirror.samples(variant, M::CHANNEL).iter().filter_map(|s| Some((s.step, s.measurement()?))).collect()
    }

    /// [`ViewCx::history`] of the variant in focus if it has one, else of the first that has.
    pub fn history_in_focus<M: Measurement>(&self) -> Option<(usize, Vec<(u64, &'a M)>)> {
        self.in_focus(|variant| Some(self.history::<M>(variant)).filter(|history| !history.is_empty()))
    }

    /// The [`ViewCx::history`] of each variant that has one.
    pub fn histories<M: Measurement>(&self) -> impl Iterator<Item = (&'a VariantInfo, Color32, Vec<(u64, &'a M)>)> {
        self.each_variant(move |variant| Some(self.history::<M>(variant)).filter(|history| !history.is_empty()))
    }

    /// Iterates over the variants for which `find` returns something, with their colours.
    pub fn each_variant<T>(
        &self,
        find: impl Fn(usize) -> Option<T>,
    ) -> impl Iterator<Item = (&'a VariantInfo, Color32, T)> {
        let (mirror, theme): (&'a Mirror, &'a Theme) = (self.mirror, self.theme);
        let all = mirror.variants().iter().enumerate();
        all.filter_map(move |(v, info)| Some((info, variant_colour(mirror, v, theme), find(v)?)))
    }

    /// Sets a setting as a control does, so that [`ViewCx::setting`] has it at once, unless the page's link keeps it.
    pub fn set(&mut self, key: &str, value: Value) {
        if !self.is_restricted(&[key]) && self.setting(key).as_ref() != Some(&value) {
            self.act(SettingAction::Change(key.to_owned(), value));
        }
    }

    /// The value of a setting, also if it was only set in this frame.
    pub fn setting(&self, key: &str) -> Option<Value> {
        let set = self.changes().rev().find(|(k, _)| *k == key).map(|(_, value)| value);
        set.or_else(|| self.config.get(key)).cloned()
    }

    /// The settings that were set in this frame, and that the page will change.
    fn changes(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> {
        self.actions.changes().filter(|(key, _)| !self.restrictions.locks(key))
    }

    /// All settings, with those that were set in this frame.
    pub fn config_now(&self) -> Cow<'_, Config> {
        let mut config = Cow::Borrowed(self.config);
        for (key, value) in self.changes() {
            // the control itself reports a value that it refuses
            let _ = config.to_mut().set(self.knobs, key, value.clone());
        }
        config
    }

    /// True where one of these settings differs from the value that the run began with.
    pub fn differs_from_run(&self, keys: &[&str]) -> bool {
        let Some(info) = &self.mirror.info else { return false };
        keys.iter().any(|key| {
            let (now, then) = (self.config.get(key), info.config.get(key));
            now.is_some() && then.is_some() && now != then
        })
    }

    fn newest_scheduled<M: Measurement>(&self, variant: Option<usize>) -> Option<u64> {
        let variants = variant.map_or(0..self.mirror.variants().len(), |v| v..v + 1);
        variants.filter_map(|v| self.mirror.samples(v, M::CHANNEL).last()).map(|s| s.step).max()
    }

    /// The variant in focus and what is found of it; where nothing is, those of the first that has something.
    pub fn in_focus<T>(&self, find: impl Fn(usize) -> Option<T>) -> Option<(usize, T)> {
        let focus = self.selection.variant;
        let others = (0..self.mirror.variants().len()).filter(|v| *v != focus);
        std::iter::once(focus).chain(others).find_map(|v| Some((v, find(v)?)))
    }

    /// A menu that brings a variant into focus, where a run has several.
    pub fn variants_ui(&mut self, ui: &mut Ui, tip: &str) {
        let variants @ [_, _, ..] = self.mirror.variants() else { return };
        let label = self.mirror.variant_label(self.selection.variant);
        let choices = variants.iter().map(|variant| variant.label.as_str()).enumerate();
        choice_menu(ui, label, &mut self.selection.variant, choices, tip);
    }

    /// The length of the run's training windows, tokens, if its lab has that setting.
    pub fn training_window(&self) -> Option<usize> {
        self.run_config().value(TrainSettings::window).ok()
    }

    /// True where a model can answer questions that views put by themselves.
    pub fn can_ask(&self) -> bool {
        matches!(self.mirror.state, Some(RunState::Paused | RunState::Running | RunState::Finished))
    }

    /// True if questions can be answered: by a model in this process, by the program that trains the run, or from the
    /// weights that it saved.
    pub fn is_answered(&self) -> bool {
        self.can_ask() || self.mirror.can_be_asked_elsewhere()
    }

    pub fn is_trained_elsewhere(&self) -> bool {
        self.mirror.info.as_ref().is_some_and(|info| info.lab == FOREIGN)
    }

    /// The subtitle of a view of the latest `M`: its step, its variant, `what`, and the text it was measured on.
    pub fn subtitle_of<M: Measurement>(&self, what: &str) -> String {
        self.latest::<M>().map_or_else(|| what.to_owned(), |m| m.subtitle(self, &format!("{what} \u{b7} ")))
    }

    /// The label of a variant and a dot, or nothing if there is only one variant.
    pub fn variant_prefix(&self, variant: usize) -> String {
        let label = self.mirror.variants().get(variant).filter(|_| self.mirror.variants().len() > 1);
        label.map_or(String::new(), |v| format!("{} \u{b7} ", v.label))
    }

    /// A chart over the steps of training from 0, on which the shown step is marked.
    pub fn training_chart<'c>(&self, name: impl Into<String>, y: Axis) -> Chart<'c> {
        let mut chart = Chart::new(name, Axis::steps().include(&[0.0]), y);
        chart.marker = self.marker();
        chart
    }

    /// The step that a chart over steps marks; `None` while it follows the run.
    pub fn marker(&self) -> Option<f64> {
        (!self.follow).then_some(self.step as f64)
    }

    /// A subtitle: what is measured, on which corpus, at the shown step.
    pub fn subtitle(&self, what: &str) -> String {
        self.subtitle_at(self.step, what)
    }

    /// A subtitle: what is measured, on which corpus, at this step.
    pub fn subtitle_at(&self, step: u64, what: &str) -> String {
        match &self.mirror.info {
            Some(info) if info.corpus.is_empty() => format!("step {step} \u{b7} {what}"),
            Some(info) => format!("step {step} \u{b7} {what} \u{b7} {}", info.corpus),
            None => what.to_owned(),
        }
    }
}

/// The keys of the questions for an `M` to a variant, and to all.
pub(super) fn keys_of<M: Measurement>(variant: usize) -> [Key; 2] {
    [Some(variant), None].map(|of| (M::PROBE, of))
}

/// The step of a sample, `what`, and the data that it was measured on; `otherwise` where there is none.
pub fn sample_subtitle(sample: Option<&Sample>, what: &str, otherwise: &str) -> String {
    let Some(Sample { step, about, .. }) = sample else { return otherwise.to_owned() };
    let dot = if what.is_empty() { "" } else { " \u{b7} " };
    format!("step {step}{dot}{what} \u{b7} {about}")
}

#[derive(Debug, PartialEq)]
pub struct Measured<'a, M> {
    pub variant: usize,
    /// Step, text, tokens and request.
    pub sample: &'a Sample,
    pub value: &'a M,
}

impl<M> Clone for Measured<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Measured<'_, M> {}

impl<'a, M: Measurement> Measured<'a, M> {
    fn new((variant, sample): (usize, &'a Sample)) -> Option<Self> {
        sample.measurement().map(|value| Self { variant, sample, value })
    }

    /// The step, the variant, `what`, and the data that it was measured on.
    pub fn subtitle(&self, cx: &ViewCx<'_>, what: &str) -> String {
        format!("step {} \u{b7} {}{what}{}", self.sample.step, cx.variant_prefix(self.variant), self.sample.about)
    }
}

impl<M> Deref for Measured<'_, M> {
    type Target = M;

    fn deref(&self) -> &M {
        self.value
    }
}
