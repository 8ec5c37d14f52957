//! The lesson of a lab: its question, its page of text, and its steps, each with its guess, its button and what the run
//! says to it.

use crate::{
    labs::lesson::{Check, LessonLink, LessonStep},
    ui::{
        lesson::Outcome,
        page::lesson::{is_judged, locked_setting, opened_model},
        panels::prelude::*,
        theme::BOLD,
        widgets::{markdown::markdown_ui, typed::text_field},
    },
};

pub fn lesson_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    ui.label(RichText::new(page.lab.question).text_style(theme::title_style()));
    note_ui(ui, shell.theme, page.lab.source);
    if let Some(problem) = &page.lesson.problem {
        ui.add(Label::new(RichText::new(format!("! {problem}")).color(shell.theme.error)).wrap());
        return text_ui(ui, shell, page.lab.lesson);
    }
    let lesson = page.lesson.lesson.clone();
    ui.push_id("before", |ui| text_ui(ui, shell, &lesson.before));
    for (i, step) in lesson.steps.iter().enumerate() {
        ui.push_id(("step", i), |ui| step_ui(ui, shell, page, i, step));
        ui.add_space(4.0);
    }
    if !page.restrictions.hides_answers && !lesson.after.trim().is_empty() {
        after_ui(ui, shell, page, &lesson.after);
    }
}

/// The current step alone, for presenter mode.
pub fn presented_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    let Some((i, step)) = page.lesson.current.zip(page.lesson.step().cloned()) else { return };
    ScrollArea::vertical().id_salt(("presented", i)).auto_shrink([false, false]).show(ui, |ui| {
        Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 8, bottom: 16 }).show(ui, |ui| {
            step_ui(ui, shell, page, i, &step);
            let steps = page.lesson.lesson.steps.len();
            let words = format!("{} of {steps}. Page Down and Page Up turn, ] folds.", i + 1);
            note_ui(ui, shell.theme, words);
        });
    });
}

const AFTER_STEPS: &str = "After the steps";

/// The text after the steps says what they find: it is folded until the reader has answered them all, or unfolds it.
fn after_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, after: &str) {
    if !page.lesson.is_answered() {
        let shows_rest = page.lesson.shows_rest;
        let sign = if shows_rest { "\u{25be}" } else { "\u{25b8}" };
        let words = small_text(format!("{sign} {AFTER_STEPS}"), shell.theme.secondary);
        let fold = ui.add(Button::new(words).frame(false));
        fold.widget_info(|| WidgetInfo::selected(Role::Button, true, shows_rest, AFTER_STEPS));
        let tip = "It gives answers away, and is folded until every step is answered.";
        page.lesson.shows_rest ^= fold.on_hover_text(tip).clicked();
        if !shows_rest {
            return;
        }
    }
    ui.push_id("after", |ui| text_ui(ui, shell, after));
    claims_ui(ui, shell, page.lab, after);
}

/// Draws a text of the lesson, in which the id of a claim leads to it.
fn text_ui(ui: &mut Ui, shell: &mut Shell<'_>, text: &str) {
    if let Some(id) = markdown_ui(ui, shell.theme, text) {
        shell.act(OpenAction::Claim(id));
    }
}

/// A link to all claims of the lab, where the lesson names some.
fn claims_ui(ui: &mut Ui, shell: &mut Shell<'_>, lab: &Lab, after: &str) {
    if after.contains("## On the page Claims") {
        let link = ui.link("all claims of this lab").on_hover_text("The claims that this lab can decide.");
        shell.on_click(link, OpenAction::Claims(format!("lab:{}", lab.id)));
    }
}

/// Draws a step. The whole row of its heading is a button, and the current step is shown in full.
fn step_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, i: usize, step: &LessonStep) {
    let is_current = page.lesson.current == Some(i);
    let theme = shell.theme.clone();
    let edge = if is_current { theme.accent } else { theme.line };
    let margin = Margin { left: 10, right: 10, top: 6, bottom: 8 };
    let shown = bordered(Color32::TRANSPARENT, edge, margin).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 6.0;
        let family = egui::FontFamily::Name(BOLD.into());
        let words = format!("{}  {}", i + 1, step.title);
        let title = RichText::new(&words).font(FontId::new(theme::BODY, family)).color(theme.accent);
        let heading = ui.add(Button::new(title).frame(false).wrap().sense(Sense::hover()));
        heading.widget_info(|| WidgetInfo::labeled(Role::Label, true, &words));
        if is_current {
            followed_ui(ui, shell, page, i, step);
        }
        heading.rect.bottom()
    });
    let frame = shown.response.rect;
    let bottom = if is_current { shown.inner } else { frame.bottom() };
    let row = Rect::from_min_max(frame.min, pos2(frame.right(), bottom));
    let link = ui.interact(row, ui.scope_id().with("row"), Sense::click());
    link.widget_info(|| WidgetInfo::selected(Role::Link, true, is_current, format!("Step {}: {}", i + 1, step.title)));
    if link.hovered() || link.has_focus() {
        ui.painter().rect_stroke(frame, theme::CORNER, Stroke::new(1.0, theme.accent), StrokeKind::Inside);
    }
    let link = link.on_hover_cursor(CursorIcon::PointingHand);
    shell.on_click(link.on_hover_text(describe_settings(shell, page, i, step)), LessonAction::Step(i));
    if page.lesson.scroll_to == Some(i) {
        shown.response.scroll_to_me_animation(Some(Align::TOP), egui::style::ScrollAnimation::none());
        page.lesson.scroll_to = None;
    }
}

/// The question, the text and the outcomes of the current step. Nothing reveals the answer before the reader has
/// guessed, asked for it, or run the lab since.
fn followed_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, i: usize, step: &LessonStep) {
    let mirror = page.run.as_ref().filter(|run| is_judged(run)).map(|run| &run.mirror);
    let mut outcomes = page.lesson.judge(mirror).to_vec();
    let locked = locked_setting(page, i);
    if let Some(label) = locked {
        let words = format!("\u{201c}{label}\u{201d} is locked by the link, so that this step is not judged");
        outcomes = vec![Outcome::Waits(words)];
    }
    let opened = opened_model(page, i);
    if opened.is_some() {
        outcomes.clear();
    }
    let is_decided = !outcomes.iter().any(is_open);
    let has_guess = page.lesson.has_guess();
    let may_show = has_guess || mirror.is_some_and(|m| page.lesson.has_run_since(m));
    let is_told = has_guess || may_show && is_decided;
    let hides_answers = page.restrictions.hides_answers;
    let is_answered = is_told && !hides_answers;
    if hides_answers {
        outcomes.iter_mut().for_each(hide_words);
    }
    predict_ui(ui, shell, page, step, is_answered);
    if let Some(key) = opened {
        let words = format!(
            "This step is about a model of random weights. \u{201c}{}\u{201d} names a trained one, which the step does \
             not judge.",
            label(page, key)
        );
        wrapped_ui(ui, words, shell.theme.secondary);
    }
    text_ui(ui, shell, &step.text);
    let hidden = quoted(page, step.does.needed_controls().filter(|key| page.restrictions.hides(key)));
    // what the text asks the reader to move; what the step itself sets is named where it is judged
    let by_hand = step.does.controls.iter().map(String::as_str);
    let fixed = quoted(page, by_hand.filter(|key| page.restrictions.locks(key) && !page.restrictions.hides(key)));
    for (does, controls) in [("hides", hidden), ("locks", fixed)] {
        if !controls.is_empty() {
            let words = format!("The link that this page was opened with {does} {controls}.");
            wrapped_ui(ui, words, shell.theme.secondary);
        }
    }
    let guess = page.lesson.written.get(&i).map(String::as_str);
    outcomes_ui(ui, shell, outcomes, may_show, step.does.predict.is_some().then_some(guess));
    let by_eye = step.does.predict.as_ref().and_then(|predict| predict.by_eye.as_ref());
    if let Some(how) = by_eye.filter(|_| opened.is_none() && locked.is_none()) {
        wrapped_ui(ui, format!("Judge this one yourself: {how}."), shell.theme.secondary);
    }
    if is_answered {
        ui.push_id("answer", |ui| text_ui(ui, shell, &step.answer));
    } else if is_told && !step.answer.is_empty() {
        wrapped_ui(ui, "The link that this page was opened with hides the answer.", shell.theme.secondary);
    }
    footer_ui(ui, shell, page, i, step, is_answered && is_decided);
}

/// The label of a setting; its key if the page has no such setting.
fn label<'a>(page: &Page, key: &'a str) -> &'a str {
    page.knobs.iter().find(|knob| knob.key == key).map_or(key, |knob| knob.label)
}

/// The labels of settings, in quotation marks.
fn quoted<'k>(page: &Page, keys: impl Iterator<Item = &'k str>) -> String {
    let labels: Vec<String> = keys.map(|key| format!("\u{201c}{}\u{201d}", label(page, key))).collect();
    labels.join(", ")
}

/// Describes the changes that a click on the step makes, by the names that are on screen. The step of the run that it
/// shows may be the answer.
fn describe_settings(shell: &Shell<'_>, page: &Page, i: usize, step: &LessonStep) -> String {
    let does = &step.does;
    let is_answered = does.predict.is_none() || page.lesson.has_guess_at(i);
    let preset = |id| shell.lists.preset_title(page.lab.id, id);
    let view = |id: &String| shell.lists.view(id).map_or(id.clone(), |v| v.title.to_owned());
    let mut parts: Vec<String> = vec![];
    parts.extend(does.preset.iter().map(|id| format!("the preset \u{201c}{}\u{201d} (opened files stay)", preset(id))));
    parts.extend(does.set.iter().map(|(key, value)| format!("{} = {value}", label(page, key))));
    parts.extend(does.token.map(|t| format!("token {t}")));
    parts.extend(does.neuron.map(|n| format!("neuron {n}")));
    parts.extend(does.view.iter().map(|id| format!("the view {}", view(id))));
    parts.extend(does.scrub.filter(|_| is_answered).map(|s| format!("step {s}")));
    if parts.is_empty() { "Follow this step.".into() } else { format!("Sets {}.", parts.join(", ")) }
}

/// Asks the reader for a guess before the result is seen.
fn predict_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, step: &LessonStep, is_answered: bool) {
    let (Some(predict), Some(i)) = (&step.does.predict, page.lesson.current) else { return };
    let theme = shell.theme;
    let heading = if is_answered { "Asked" } else { "First guess" };
    ui.scope(|ui| text_ui(ui, shell, &format!("{heading}: {}", predict.ask)));
    let waiting = &page.lesson.waiting;
    if !waiting.is_empty() {
        let set: Vec<String> = waiting.iter().map(|(key, value)| format!("{} = {value}", label(page, key))).collect();
        wrapped_ui(ui, format!("Once you have guessed, the step sets {}.", set.join(", ")), theme.secondary);
    }
    ui.horizontal_wrapped(|ui| {
        match predict.chart {
            // a guess after the answer would not be one, and the chart shows the answer
            Some(_) if is_answered && !page.lesson.guesses.contains_key(&i) => page.lesson.is_drawing = false,
            Some(_) => draw_ui(ui, page, i),
            None => write_ui(ui, theme, page, i),
        }
        let words = "Shows the answer, as far as the run has it, without a guess.";
        let may_ask = !is_answered && !page.restrictions.hides_answers;
        if may_ask && ui.small_button("Show the answer").on_hover_text(words).clicked() {
            page.lesson.asked.insert(i);
        }
    });
}

fn draw_ui(ui: &mut Ui, page: &mut Page, i: usize) {
    let is_drawing = page.lesson.is_drawing;
    let words = if is_drawing { "Done" } else { "Draw it" };
    let draw = ui.add(Button::new(words).selected(is_drawing));
    if draw.on_hover_text("Draw with the mouse, on the chart, what you expect; the run is laid over it.").clicked() {
        page.lesson.is_drawing = !is_drawing;
    }
    if page.lesson.guesses.contains_key(&i) && ui.button("Clear").clicked() {
        page.lesson.guesses.remove(&i);
    }
}

fn write_ui(ui: &mut Ui, theme: &Theme, page: &mut Page, i: usize) {
    if let Some(guess) = page.lesson.written.get(&i) {
        ui.add(Label::new(RichText::new(format!("Your guess: {guess}")).color(theme.accent)).wrap());
        if ui.small_button("Clear").clicked() {
            page.lesson.written.remove(&i);
        }
        return;
    }
    let edit = TextEdit::singleline(&mut page.lesson.draft).hint_text("your guess, then Enter").desired_width(168.0);
    let field = text_field(ui, edit, "your guess");
    let is_entered = field.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
    let guess = page.lesson.draft.trim().to_owned();
    if is_entered && !guess.is_empty() {
        page.lesson.written.insert(i, guess);
        page.lesson.draft.clear();
    }
}

/// Leaves only whether a check has been measured.
fn hide_words(outcome: &mut Outcome) {
    match outcome {
        Outcome::Holds(_) | Outcome::Fails(_) => *outcome = Outcome::Waits(HIDDEN_OUTCOME.into()),
        Outcome::Due { says, .. } => *says = UNNAMED_CHECK.into(),
        Outcome::Waits(_) => {}
    }
}

const HIDDEN_OUTCOME: &str = "measured; the link hides what was found";
/// Stands for the sentence of a check that may not be read yet.
const UNNAMED_CHECK: &str = "what this step looks for";

fn is_open(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Waits(_) | Outcome::Due { .. })
}

/// Shows how the run bears out the step; what it found waits for a guess unless it `may_show`. `asked`: the step asks
/// for a guess, which this is in words. Then no sign is before what was found: it would seem to judge the guess.
fn outcomes_ui(
    ui: &mut Ui,
    shell: &Shell<'_>,
    mut outcomes: Vec<Outcome>,
    may_show: bool,
    asked: Option<Option<&str>>,
) {
    let theme = shell.theme;
    for outcome in &mut outcomes {
        match outcome {
            Outcome::Due { says, when } if may_show => *outcome = Outcome::Waits(format!("{says}: {when}")),
            Outcome::Due { when, .. } => *outcome = Outcome::Waits(format!("{UNNAMED_CHECK}: {when}")),
            Outcome::Holds(_) | Outcome::Fails(_) if !may_show => {
                *outcome = Outcome::Waits("the run has the answer: guess first".into());
            }
            Outcome::Holds(_) | Outcome::Fails(_) | Outcome::Waits(_) => {}
        }
    }
    outcomes.dedup();
    if let (Some(guess), true) = (asked, !outcomes.iter().all(is_open)) {
        let guess = guess.map_or(String::new(), |guess| format!("You guessed \u{201c}{guess}\u{201d}. "));
        wrapped_ui(ui, format!("{guess}The run says:"), theme.secondary);
    }
    let [holds, fails] = if asked.is_some() { ["\u{2013}"; 2] } else { ["\u{2713}", "\u{2717}"] };
    for outcome in &outcomes {
        let (sign, words, colour) = match outcome {
            Outcome::Holds(words) => (holds, words, theme.text),
            Outcome::Waits(words) | Outcome::Due { when: words, .. } => ("\u{2026}", words, theme.secondary),
            Outcome::Fails(words) => (fails, words, theme.error),
        };
        let label = ui.add(Label::new(RichText::new(format!("{sign}  {words}")).color(colour)).wrap());
        label.widget_info(|| WidgetInfo::labeled(Role::Status, true, format!("Check: {words}")));
    }
}

/// The numbers of our run with their command, once the reader's own are seen; the step's link, and its controls alone.
fn footer_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, i: usize, step: &LessonStep, is_seen: bool) {
    let theme = shell.theme.clone();
    if let Some(command) = step.does.command.as_ref().filter(|_| is_seen) {
        let said: Vec<String> = step.does.check.iter().filter_map(describe_result).collect();
        let found = if said.is_empty() { String::new() } else { format!("In our run: {}. ", said.join("; ")) };
        wrapped_ui(ui, format!("{found}Reproduce with"), theme.secondary);
        let command = format!("orrery {command}");
        let code = RichText::new(&command).font(theme::numbers()).color(theme.secondary);
        let button = ui.add(Button::new(code).frame(false).wrap()).on_hover_text("Copy the command");
        shell.on_click(button, MessageAction::CopyText(command));
    }
    ui.horizontal_wrapped(|ui| {
        let link = LessonLink { restrictions: page.restrictions.clone(), ..LessonLink::new(page.lab.id, i + 1) };
        let link = link.to_string();
        let about = format!("{link}\nPasted, or typed after Ctrl O, it opens this step.");
        shell.on_click(ui.small_button("Copy link").on_hover_text(about), MessageAction::CopyText(link));
        let words = if page.lesson.is_focused { "Show all controls" } else { "Only its controls" };
        let has_controls = step.does.needed_controls().any(|key| !page.restrictions.hides(key));
        if has_controls && ui.small_button(words).clicked() {
            page.lesson.is_focused = !page.lesson.is_focused;
        }
    });
}

/// The sentence of a check with the number that its command gives.
fn describe_result(check: &Check) -> Option<String> {
    let gives = check.gives?;
    let value = gives.value.map(|value| value.to_string());
    Some(check.sentence(gives.step, value.as_deref()))
}
