//! Asks the program that trains a run elsewhere, Orrery or another: lists the questions that it allows with their
//! arguments and the outcome of the last one, and asks questions about the weights that it has saved.

use std::collections::BTreeMap;

use crate::{
    labs::foreign::{
        self,
        asks::{self, ScaleLrArgs},
    },
    telemetry::{FOREIGN, FollowedState, Question},
    ui::{
        run::EXAMPLE_CANNOT_BE_ASKED,
        views::{logged::LargeChannel, prelude::*},
    },
};

/// Seconds after which a hint tells what may delay an answer.
const HINT_DELAY: f64 = 10.0;
/// The reasons that may keep the program from an answer: another one, and a run of Orrery's own.
const WAIT_REASONS: [&str; 2] = [
    ", and it has not answered: it looks for questions once a step, so its steps are long or it no longer runs",
    ", and it has not answered: it answers once the action is done, so its steps are long or it no longer runs",
];
/// The questions that a run of Orrery itself may allow.
const OWN_QUESTIONS: [&str; 3] = [asks::PAUSE, asks::SAVE, asks::SCALE_LR];
/// The largest width of the fields, points.
const MAX_FIELD: f32 = 420.0;

#[derive(Default)]
pub struct ProgramQuestions {
    /// The run that `rows` belong to.
    run: RunNumber,
    rows: BTreeMap<String, Row>,
    weights: Weights,
}

/// The text typed for a question, and the last question that was sent.
#[derive(Default)]
struct Row {
    /// Its text, or its arguments as [`PAIRS`].
    typed: String,
    scale_lr: ScaleLrArgs,
    /// Why what is typed was not sent.
    mistake: Option<String>,
    sent: Option<SentQuestion>,
}

#[derive(Clone, Copy)]
struct SentQuestion {
    request: u64,
    /// The window's clock when it was sent, seconds.
    since: f64,
    /// The time of day when it was sent.
    at: jiff::civil::Time,
}

impl SentQuestion {
    /// `now` is the window's clock, seconds.
    fn new(request: u64, now: f64) -> Self {
        Self { request, since: now, at: jiff::Zoned::now().time() }
    }
}

/// The fields of a question.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Empty,
    Factor,
    Text,
    /// Arguments that only the program knows.
    Pairs,
}

impl Form {
    fn new(ask: &str) -> Self {
        match asks::knobs_of(ask) {
            Some(knobs) if knobs.is_empty() => Self::Empty,
            Some(_) if ask == asks::SCALE_LR => Self::Factor,
            Some(knobs) if knobs.iter().any(|knob| knob.key == "text") => Self::Text,
            _ => Self::Pairs,
        }
    }
}

/// The questions that the program allows, in its order: of Orrery's own runs commands alone; who may pause may resume.
fn allowed(info: &RunInfo) -> Vec<&str> {
    let is_taken = |ask: &&str| info.lab == FOREIGN || asks::is_command(ask);
    let mut all: Vec<&str> = info.asks.iter().map(String::as_str).filter(is_taken).collect();
    if let Some(place) = all.iter().position(|ask| *ask == asks::PAUSE)
        && !all.contains(&asks::RESUME)
    {
        all.insert(place + 1, asks::RESUME);
    }
    all
}

/// The title of a question by its effect; a question that only the program knows is shown by its name.
fn title(ask: &str) -> &str {
    match ask {
        asks::PAUSE => "Pause the training",
        asks::RESUME => "Go on after a pause",
        asks::SAVE => "Save the weights",
        asks::SCALE_LR => "Multiply the learning rate",
        asks::ATTENTION => "Attention along a text",
        asks::NEXT_TOKENS => "Next tokens of a text",
        other => other,
    }
}

/// The reason why nobody answers questions about this run; `None` if somebody does.
fn why_unanswered(cx: &ViewCx<'_>, info: &RunInfo) -> Option<&'static str> {
    if cx.is_trained_elsewhere() {
        let words = "The script of this run allows no questions. In Python, orrery_log.init(.., allow=[\"attention\"]) \
                     allows one.";
        return (info.asks.is_empty() && cx.mirror.snapshots.is_empty()).then_some(words);
    }
    if cx.mirror.is_followed() {
        let words = "This run allows no questions while it trains: `orrery run` and `orrery resume` take --allow \
                     pause,save,scale_lr.";
        return allowed(info).is_empty().then_some(words);
    }
    Some(match &cx.mirror.state {
        _ if cx.mirror.is_example => EXAMPLE_CANNOT_BE_ASKED,
        Some(RunState::Stopped | RunState::Failed { .. }) => "This run has ended, and nobody is there to answer.",
        _ => "The models of this run are here: its views ask them themselves.",
    })
}

/// The text for what a run of Orrery's own does not allow, and what would allow it; `None` where it allows everything.
fn not_allowed(info: &RunInfo) -> Option<String> {
    let lacking: Vec<&str> = OWN_QUESTIONS.into_iter().filter(|ask| !asks::is_allowed(&info.asks, ask)).collect();
    let (all, allow) = (lacking.join(", "), lacking.join(","));
    let words = || format!("Not allowed: {all}. `orrery run` and `orrery resume` take --allow {allow}.");
    (!lacking.is_empty()).then(words)
}

/// How arguments are typed: a `;` in quotes separates nothing.
const PAIRS: &str = "key=value; key=\"a; b\"";

/// [`PAIRS`] as arguments. Errors: a part that is no such pair, and a quote that is not closed.
fn pairs(typed: &str) -> Result<Args, String> {
    let mistake = |part: &str, what: &str| format!("`{}` has no {what}; write {PAIRS}", part.trim());
    let pair = |pair: &str| -> Result<(String, Value), String> {
        let (key, text) = pair.split_once('=').ok_or_else(|| mistake(pair, "`=`"))?;
        if key.trim().is_empty() {
            return Err(mistake(pair, "key"));
        }
        Ok((key.trim().to_owned(), asks::typed_value(text)))
    };
    let mut is_quoted = false;
    let separates = |c: char| {
        is_quoted ^= c == '"';
        c == ';' && !is_quoted
    };
    let parts: Vec<&str> = typed.split(separates).collect();
    if is_quoted {
        return Err(mistake(parts.last().copied().unwrap_or(typed), "closing quote"));
    }
    parts.into_iter().filter(|part| !part.trim().is_empty()).map(pair).collect()
}

impl Row {
    fn can_be_asked(&self, form: Form) -> bool {
        form != Form::Text || !self.typed.trim().is_empty()
    }

    fn args(&self, form: Form) -> Result<Args, String> {
        Ok(match form {
            Form::Empty => Args::new(),
            Form::Factor => self.scale_lr.to_args(),
            Form::Text => Args::from([("text".to_owned(), Value::Text(self.typed.clone()))]),
            Form::Pairs => pairs(&self.typed)?,
        })
    }

    /// Asks the question, if its arguments can be read. A question that a view also asks is asked in the view's way, so
    /// that the view shows its progress.
    fn ask(&mut self, cx: &mut ViewCx<'_>, ask: &str, form: Form, now: f64) {
        let args = match self.args(form) {
            Ok(args) => args,
            Err(mistake) => return self.mistake = Some(mistake),
        };
        let (variant, text) = (Some(cx.selection.variant), self.typed.clone());
        let request = match ask {
            asks::ATTENTION => cx.ask_now::<AttentionMaps>(variant, &AttentionMapsArgs { text, ..Default::default() }),
            asks::NEXT_TOKENS => cx.ask_now::<NextTokens>(None, &NextTokensArgs { text, ..Default::default() }),
            _ => {
                let request = cx.questions.next_number();
                // a command is done now, whatever step is shown
                let at = cx.at().filter(|_| !asks::is_command(ask));
                let probe = ask.to_owned();
                cx.act(RunAction::Ask(Question { request, probe, variant: None, args, at }));
                request
            }
        };
        (self.mistake, self.sent) = (None, Some(SentQuestion::new(request, now)));
    }

    /// The fields; true if the question is put by the keyboard.
    fn fields_ui(&mut self, ui: &mut Ui, ask: &str, form: Form) -> bool {
        let pairs_hint = format!("arguments, if it takes any: {PAIRS}");
        let hint = match form {
            Form::Empty => return false,
            Form::Factor => {
                let field = DragValue::new(&mut self.scale_lr.factor).range(1e-6..=100.0).speed(0.01).prefix("factor ");
                let field = ui.add(field).on_hover_text("Every learning rate is multiplied by it.");
                field.widget_info(|| WidgetInfo::labeled(Role::SpinButton, true, format!("factor of {ask}")));
                return false;
            }
            Form::Text => "a text for the model to read",
            Form::Pairs => pairs_hint.as_str(),
        };
        let field = ui.scope(|ui| {
            ui.set_max_width(ui.available_width().min(MAX_FIELD));
            text_line(ui, &mut self.typed, &format!("arguments of {ask}"), hint)
        });
        if field.inner.changed() {
            self.mistake = None;
        }
        field.inner.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter)) && self.can_be_asked(form)
    }

    /// The name of the question, its fields, and its state. It is disabled with the reason `why_not`.
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, ask: &str, why_not: Option<&str>) {
        let (form, now) = (Form::new(ask), ui.input(|i| i.time));
        let mut is_asked = false;
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new(title(ask)).strong());
            if title(ask) != ask {
                note_ui(ui, cx.theme, ask);
            }
            cx.controls_ui(ui, |ui, cx| {
                let can = why_not.is_none() && self.can_be_asked(form);
                let button = ui.add_enabled(can, Button::new("Ask"));
                button.widget_info(|| WidgetInfo::labeled(Role::Button, can, format!("Ask {ask}")));
                let button = button.on_disabled_hover_text(why_not.unwrap_or("Type a text first."));
                is_asked = button.on_hover_text("The program answers between two of its steps.").clicked();
                self.answer_buttons_ui(ui, cx, ask);
            });
        });
        cx.controls_ui(ui, |ui, _| is_asked |= self.fields_ui(ui, ask, form));
        if is_asked {
            self.ask(cx, ask, form, now);
        }
        if let Some(mistake) = &self.mistake {
            wrapped_ui(ui, format!("Not asked: {mistake}"), cx.theme.warm);
        } else if let Some(sent) = self.sent {
            outcome_ui(ui, cx, sent, &program(cx), WAIT_REASONS[usize::from(!cx.is_trained_elsewhere())]);
        }
        ui.add_space(6.0);
    }

    /// Shows the answer, puts it aside, or withdraws the question.
    fn answer_buttons_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, ask: &str) {
        let Some(sent) = self.sent else { return };
        withdraw_ui(ui, cx, sent, "The program is no longer asked.");
        let answer = cx.mirror.answer_to(sent.request);
        let Some(sample) = answer.filter(|sample| words_of(sample).is_none()) else { return };
        if ui.button("Show").on_hover_text("Opens the view that shows the answer.").clicked() {
            let view = foreign::view_of(sample.channel.as_str());
            if view == foreign::LOGGED {
                cx.selection.set(LargeChannel(sample.channel.clone()));
            }
            cx.act(PageAction::ShowView(view));
        }
        if ask == asks::ATTENTION && !cx.mirror.samples(sample.variant, AttentionMaps::CHANNEL).is_empty() {
            let tip = "Shows again what the run has logged by itself.";
            if ui.button("Put aside").on_hover_text(tip).clicked() {
                cx.dismiss_answer::<AttentionMaps>(sample.variant);
                self.sent = None;
            }
        }
    }
}

fn withdraw_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, sent: SentQuestion, tip: &str) {
    if matches!(cx.mirror.question(sent.request), None | Some(QuestionState::Working(_))) {
        ui.ctx().request_repaint_after_secs(0.5);
        if ui.button("Withdraw").on_hover_text(tip).clicked() {
            cx.act(RunAction::Cancel(sent.request));
        }
    }
}

/// The text of an answer that holds only text.
fn words_of(sample: &Sample) -> Option<&str> {
    match &*sample.payload {
        Payload::Unknown(json) if json.get("kind").is_some_and(|kind| kind == "text") => json.get("text")?.as_str(),
        _ => None,
    }
}

fn program(cx: &ViewCx<'_>) -> String {
    match cx.mirror.info.as_ref().map_or("", |info| info.config.preset.as_str()) {
        _ if !cx.is_trained_elsewhere() => "the process that trains this run".to_owned(),
        "" => "the program of this run".to_owned(),
        name => format!("the program of \u{201c}{name}\u{201d}"),
    }
}

/// The outcome of a question to `who`, in a sentence. `wait_reasons` are added if an answer takes long.
fn outcome_ui(ui: &mut Ui, cx: &ViewCx<'_>, sent: SentQuestion, who: &str, wait_reasons: &str) {
    let mut colour = cx.theme.secondary;
    let words = match cx.mirror.question(sent.request) {
        Some(QuestionState::Refused(words)) => {
            colour = cx.theme.warm;
            format!("Refused: {words}")
        }
        Some(QuestionState::Cancelled) => "The question was withdrawn.".to_owned(),
        Some(QuestionState::Answered) => {
            let answer = cx.mirror.answer_to(sent.request);
            let step = answer.map_or(String::new(), |sample| format!(" for step {}", sample.step));
            match answer.and_then(words_of).unwrap_or_default() {
                "" => format!("Answered{step}."),
                words => format!("Answered{step}: {words}"),
            }
        }
        None | Some(QuestionState::Working(_)) => {
            let since = (ui.input(|i| i.time) - sent.since).max(0.0);
            let reasons = if since < HINT_DELAY { "" } else { wait_reasons };
            format!("Asked {who} at {}, {since:.0} s ago{reasons}.", sent.at.strftime("%H:%M:%S"))
        }
    };
    wrapped_ui(ui, words, colour);
}

/// The question for the neuron graph of any two weight matrices that another program has saved of its model: their names,
/// and the question that was put last.
#[derive(Default)]
struct Weights {
    from: String,
    to: String,
    sent: Option<(SentQuestion, &'static [&'static str])>,
}

/// The channels of the answers whose views are offered.
const GRAPH_CHANNELS: &[&str] = &[NeuronGraph::CHANNEL, EntryHistogram::CHANNEL];
const NULL_MODEL_CHANNELS: &[&str] = &[GraphModularity::CHANNEL];

impl Weights {
    fn args(&self) -> Args {
        let name = |key: &str, name: &str| (key.to_owned(), Value::Text(name.trim().to_owned()));
        Args::from([name(asks::FROM, &self.from), name(asks::TO, &self.to)])
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let steps = &cx.mirror.snapshots;
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return };
        let words = match steps.len() {
            1 => format!("The weights of step {first} are kept."),
            n => format!("The weights of {n} steps are kept, from {first} to {last}."),
        };
        ui.label(RichText::new("weights").strong());
        wrapped_ui(ui, words, cx.theme.secondary);
        cx.controls_ui(ui, |ui, cx| self.question_ui(ui, cx));
    }

    fn question_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.scope(|ui| {
            ui.set_max_width(ui.available_width().min(MAX_FIELD));
            let hint = "what neurons write by, such as h.0.mlp.2.weight";
            text_line(ui, &mut self.from, "matrix that neurons write by", hint);
            let hint = "what neurons read by, such as h.0.mlp.0.weight";
            text_line(ui, &mut self.to, "matrix that neurons read by", hint);
        });
        let (variant, now) = (Some(cx.selection.variant), ui.input(|i| i.time));
        let can_ask = !self.from.trim().is_empty() && !self.to.trim().is_empty();
        ui.horizontal_wrapped(|ui| {
            let button = |ui: &mut Ui, name: &str, tip: &str| {
                let button = ui.add_enabled(can_ask, Button::new(name));
                button.widget_info(|| WidgetInfo::labeled(Role::Button, can_ask, name));
                button.on_hover_text(tip).clicked()
            };
            let tip = "The graph of the strongest entries of their product at the step shown, with its communities.";
            if button(ui, "Draw as a graph", tip) {
                let request = cx.ask_with::<NeuronGraph>(variant, self.args());
                self.sent = Some((SentQuestion::new(request, now), GRAPH_CHANNELS));
            }
            let tip = "Newman's Q of that graph by its number of edges, beside random graphs. It may take minutes.";
            if button(ui, "Compare with null models", tip) {
                let request = cx.ask_with::<GraphModularity>(variant, self.args());
                self.sent = Some((SentQuestion::new(request, now), NULL_MODEL_CHANNELS));
            }
            self.answer_buttons_ui(ui, cx);
        });
        if let Some((sent, _)) = self.sent {
            outcome_ui(ui, cx, sent, "the kept weights", "");
        }
    }

    /// Opens the views of the answer, or withdraws the question.
    fn answer_buttons_ui(&self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some((sent, channels)) = self.sent else { return };
        withdraw_ui(ui, cx, sent, "The answer is no longer wanted.");
        if cx.mirror.answer_to(sent.request).is_none() {
            return;
        }
        for channel in channels {
            let view = foreign::view_of(channel);
            if ui.button(format!("Show {}", cx.title_of(view))).clicked() {
                cx.act(PageAction::ShowView(view));
            }
        }
    }
}

impl ProgramQuestions {
    /// The reason why a question would have no effect now: nobody answers it, or the training is already in the state
    /// that it asks for.
    fn why_not(&self, cx: &ViewCx<'_>, ask: &str) -> Option<&'static str> {
        let is_paused = cx.mirror.state == Some(RunState::Followed(FollowedState::Paused));
        let nobody = cx.mirror.why_nobody_answers();
        match ask {
            _ if nobody.is_some() => nobody,
            asks::PAUSE if is_paused => Some("The training is paused."),
            asks::RESUME if !is_paused && !self.has_paused(cx) => Some("The training is not paused."),
            _ => None,
        }
    }

    /// True if a pause was answered and nobody asked to resume since: a program may wait without recording it.
    fn has_paused(&self, cx: &ViewCx<'_>) -> bool {
        let sent = |ask: &str| self.rows.get(ask).and_then(|row| row.sent).map(|sent| sent.request);
        let is_answered = |request: &u64| matches!(cx.mirror.question(*request), Some(QuestionState::Answered));
        sent(asks::PAUSE).filter(is_answered) > sent(asks::RESUME)
    }
}

impl View for ProgramQuestions {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(info) = cx.mirror.info.clone() else {
            return cx.nothing_ui(ui, "Open a run that another program trains: here it is asked.");
        };
        if let Some(words) = why_unanswered(cx, &info) {
            return cx.nothing_ui(ui, words);
        }
        if !cx.has_controls {
            return cx.nothing_ui(ui, "Questions are put in the window; what is answered is in other views.");
        }
        if self.run != cx.mirror.run {
            self.run = cx.mirror.run;
            self.rows.values_mut().for_each(|row| (row.mistake, row.sent) = (None, None));
            self.weights.sent = None;
        }
        if let Some(words) = cx.mirror.why_nobody_answers() {
            wrapped_ui(ui, words, cx.theme.secondary);
        }
        for ask in allowed(&info) {
            let why_not = self.why_not(cx, ask);
            let row = self.rows.entry(ask.to_owned()).or_default();
            ui.push_id(ask, |ui| row.ui(ui, cx, ask, why_not));
        }
        if cx.is_trained_elsewhere() {
            self.weights.ui(ui, cx);
        } else if let Some(words) = not_allowed(&info) {
            wrapped_ui(ui, words, cx.theme.secondary);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match cx.is_trained_elsewhere() {
            true => "to the program that trains this run, which answers between two steps".to_owned(),
            false if cx.mirror.is_followed() => "to the process that trains this run".to_owned(),
            false => String::new(),
        }
    }

    fn csv(&self, _: &ViewCx<'_>) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_allows_pause_is_offered_resume() {
        let allowing = |lab: &str, asks: &[&str]| {
            let asks = asks.iter().copied().map(String::from).collect();
            RunInfo { lab: lab.to_owned(), asks, ..RunInfo::default() }
        };
        let info = allowing(FOREIGN, &["save", "pause", "lesson"]);
        assert_eq!(allowed(&info), ["save", "pause", "resume", "lesson"]);
        assert_eq!(allowed(&allowing(FOREIGN, &["resume", "pause"])), ["resume", "pause"]);
        let own = allowing("fast_slow", &["save", "lesson"]);
        assert_eq!(allowed(&own), ["save"], "it takes commands alone");
        let words = not_allowed(&own).expect("some are not allowed");
        assert!(words.contains("pause, scale_lr") && words.contains("--allow pause,scale_lr"), "{words}");
        assert_eq!(not_allowed(&allowing("fast_slow", &OWN_QUESTIONS)), None);
    }

    #[test]
    fn every_question_has_its_fields() {
        let forms = ["pause", "scale_lr", "attention", "next_tokens", "lesson"].map(Form::new);
        assert!(forms == [Form::Empty, Form::Factor, Form::Text, Form::Text, Form::Pairs]);
        let args = pairs("text= the ferry ; count=3; rate=nan; ").expect("they are pairs");
        let texts = |key: &str| args.get(key).cloned();
        assert_eq!((texts("text"), texts("count")), (Some(Value::Text("the ferry".into())), Some(Value::Int(3))));
        assert_eq!((texts("rate"), args.len()), (Some(Value::Text("nan".into())), 3));
        for (typed, part) in [("layer 7", "layer 7"), ("layer=7; x", "x"), ("text=a; b", "b")] {
            let mistake = pairs(typed).expect_err("a part is not a pair");
            assert!(mistake.starts_with(&format!("`{part}` has no `=`")), "{mistake}");
        }
        assert!(pairs("=1").is_err_and(|mistake| mistake.contains("has no key")));
        let quoted = pairs("text=\"the ferry; it \"\"left\"\"\"; count=\"3\"; inches=5").expect("they are three pairs");
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        assert_eq!(quoted.get("text").cloned(), text("the ferry; it \"left\""));
        assert_eq!((quoted.get("count").cloned(), quoted.len()), (text("3"), 3));
        assert!(pairs("inches=5\"; x=1").is_err_and(|mistake| mistake.contains("has no closing quote")));
        assert_eq!(pairs(""), Ok(Args::new()));
    }
}
