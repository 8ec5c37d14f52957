//! Following a step of the lesson: it changes the page's settings, its selection, its view and its step, and puts back what
//! of these it does not name, except for the settings of a step without a preset. A step whose
//! settings are not those of the current run begins a new, paused one; it changes none of a run that has begun. What
//! would show the answer to a step's question at once is set when the reader has guessed, or has run the lab.

use super::{
    controls::by_label,
    play::{follow, scrub_to},
    prelude::*,
    undo::{end_lesson, note_lesson},
};
use crate::{
    labs::{
        lesson::StepActions,
        restrictions::{Restrictions, UNRESTRICTED},
    },
    ui::{
        lesson::RunAtStep,
        plot::{self, Guess},
        session::LessonProgress,
    },
};

/// The restrictions that hold for a step: the settings of the one that the page's link opened pass its locks.
fn restrictions_at(page: &Page, i: usize) -> &Restrictions {
    if page.restrictions.opened_step == Some(i) { &UNRESTRICTED } else { &page.restrictions }
}

/// Changes settings for a step, past the locks that do not hold for it.
fn change_for_step(page: &mut Page, i: usize, change: impl FnOnce(&mut Page)) {
    let held = restrictions_at(page, i).locked.clone();
    let locked = std::mem::replace(&mut page.restrictions.locked, held);
    change(page);
    page.restrictions.locked = locked;
}

/// The settings of a step that wait for the reader's guess: what acts in views shows its answer at once. What is locked
/// for the step is never set, and waits for nothing.
fn waiting_settings(page: &Page, i: usize) -> BTreeMap<String, toml::Value> {
    let asks = |does: &&StepActions| does.predict.is_some() && !page.lesson.has_guess_at(i);
    let acts_in_views = |key: &str| page.knobs.iter().any(|k| k.key == key && k.applies == Applies::InViews);
    let does = page.lesson.lesson.steps.get(i).map(|step| &step.does).filter(asks);
    let waits = |key: &str| acts_in_views(key) && !restrictions_at(page, i).locks(key);
    let set = does.into_iter().flat_map(|does| &does.set).filter(|(key, _)| waits(key));
    set.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// True if lessons judge the run. They do not judge an example, which is not the reader's, nor an earlier run that is
/// visible until the new one reports.
pub fn is_judged(run: &Run) -> bool {
    !run.is_example() && (run.replayed_folder().is_some() || run.mirror.state.is_some())
}

/// Follows the lesson as a session has left it; what waited for a guess waits again.
pub fn resume(page: &mut Page, progress: &LessonProgress) {
    page.lesson.resume(progress);
    if let Some(i) = page.lesson.current {
        page.lesson.waiting = waiting_settings(page, i);
    }
}

/// Shows the step of the run that waited for the reader's guess.
fn scrub_waiting(page: &mut Page) {
    if !page.lesson.has_guess() || page.lesson.is_drawing {
        return;
    }
    let newest = page.newest();
    if let Some(at) = page.lesson.waiting_scrub.take().filter(|at| *at < newest) {
        scrub_to(page, at);
    }
}

/// Applies the settings that waited for the reader's guess, or for the run.
fn set_waiting(page: &mut Page, now: f64) {
    let lesson = &page.lesson;
    let has_run = || page.run.as_ref().is_some_and(|run| is_judged(run) && lesson.has_run_since(&run.mirror));
    let may_set = !lesson.waiting.is_empty() && (lesson.has_guess() || has_run());
    let Some(i) = lesson.current.filter(|_| may_set) else { return };
    let does = StepActions { set: std::mem::take(&mut page.lesson.waiting), ..StepActions::default() };
    let mut config = page.config.clone();
    if does.apply_to(&mut config, &page.knobs).is_err() {
        return;
    }
    restrictions_at(page, i).keep_locked(&page.knobs, &mut config, &page.config);
    change_for_step(page, i, |page| {
        for key in config.changed_keys(&page.config) {
            if let Some(value) = config.get(&key) {
                page.change(&key, value.clone(), now);
            }
        }
    });
}

/// The settings with which a step of the lesson begins.
fn settings_of_step(page: &Page, i: usize) -> Result<Config, ConfigError> {
    let Some(step) = page.lesson.lesson.steps.get(i) else { return Ok(page.config.clone()) };
    let (mut does, waiting) = (step.does.clone(), waiting_settings(page, i));
    does.set.retain(|key, _| !waiting.contains_key(key));
    let mut config = does.settings(page.lab, &page.config)?;
    restrictions_at(page, i).keep_locked(&page.knobs, &mut config, &page.config);
    Ok(config)
}

/// The label of a locked setting that has another value than a step of the lesson needs: no run that the reader can
/// begin is then the step's. How and for how long a run is made does not matter to a step.
pub fn locked_setting(page: &Page, i: usize) -> Option<&'static str> {
    let restrictions = restrictions_at(page, i);
    let step = page.lesson.lesson.steps.get(i).filter(|_| !restrictions.locked.is_empty())?;
    let changed = step.does.settings(page.lab, &page.config).ok()?.changed_keys(&page.config);
    let is_locked = |knob: &&Knob| !["run", "train"].contains(&knob.group()) && restrictions.locks(knob.key);
    let mut locked = page.knobs.iter().filter(is_locked);
    locked.find(|knob| changed.iter().any(|key| key == knob.key)).map(|knob| knob.label)
}

/// The key of the setting that names a trained model, where a step is about one of random weights: what the step asks and
/// answers is then not of the model that is open, which is that of the judged run whatever the controls name since.
pub fn opened_model(page: &Page, i: usize) -> Option<&'static str> {
    page.lesson.lesson.steps.get(i).filter(|step| step.does.random_weights)?;
    let judged = page.run.as_ref().filter(|run| is_judged(run)).and_then(|run| run.mirror.info.as_ref());
    let config = judged.map_or(&page.config, |info| &info.config);
    let names_file = |key: &&str| config.get(key).is_some_and(|path| !path.to_string().trim().is_empty());
    page.file_key(FileKind::Checkpoint).filter(names_file)
}

/// The selection with which a step begins: what it names, and the variant of its first check that names one. All else is
/// as on a page that was just opened, except for what cannot be undone, such as typed texts.
fn selection_of_step(page: &Page, does: &StepActions) -> Selection {
    let checked = does.check.iter().find_map(|check| check.variant.as_deref());
    let place = |id: &str| (page.lab.plan)(&page.config).ok()?.variants.iter().position(|v| v.id == id);
    let variant = checked.and_then(place).unwrap_or(0);
    let mut selection = Selection { token: does.token, neuron: does.neuron, variant, ..Selection::default() };
    selection.keep_slots_of(&page.selection);
    selection
}

/// True if a step begins a run other than the current one, which may be the example of the lab. A step that sets
/// nothing looks at the run that is there.
pub fn step_begins_run(page: &Page, i: usize) -> bool {
    let sets = |does: &StepActions| does.preset.is_some() || !does.set.is_empty();
    if page.lesson.lesson.steps.get(i).is_some_and(|step| !sets(&step.does)) {
        return false;
    }
    let Ok(config) = settings_of_step(page, i) else { return false };
    let Some(launched) = page.launched.as_ref().filter(|_| page.run.is_some()) else { return true };
    let acts_in_views = |key: &String| page.knobs.iter().any(|k| k.key == key && k.applies == Applies::InViews);
    config.seed != launched.seed
        || config.preset != launched.preset
        || !config.changed_keys(launched).iter().all(acts_in_views)
}

pub fn take_step(page: &mut Page, i: usize, host: &mut dyn Host, ctx: &Context) -> Result<(), String> {
    let Some(step) = page.lesson.lesson.steps.get(i).cloned() else {
        let n = page.lesson.lesson.steps.len();
        return Err(format!("The lesson of {} has {n} steps; there is no step {}.", page.lab.title, i + 1));
    };
    let now = ctx.input(|i| i.time);
    let config = settings_of_step(page, i).map_err(|e| by_label(page, &e.to_string()))?;
    let begins = step_begins_run(page, i);
    let (is_other, name) = (page.config != config, format!("lesson step {}", i + 1));
    // a step that is taken again as it stands keeps what the reader has seen, drawn and written
    let is_again = page.lesson.current == Some(i) && !is_other && !begins;
    note_lesson(page, &name, is_other);
    page.lesson.scroll_to = Some(i);
    if !is_again {
        page.lesson.note_other_run();
        page.lesson.current = Some(i);
        page.lesson.is_drawing = false;
        page.lesson.draft.clear();
        page.lesson.waiting = waiting_settings(page, i);
        page.lesson.taken = page.run.as_ref().map(|run| RunAtStep::from(&run.mirror));
    }
    if is_other {
        change_for_step(page, i, |page| page.take_everything(config, None, name, now));
        page.preset = preset_of(page.lab, &page.knobs, &page.config);
    }
    if begins {
        page.launch(host, ctx);
    }
    let does = &step.does;
    if let Some(view) = &does.view {
        if does.preset.is_some() && !is_again {
            page.tiling.renew(view);
        }
        page.tiling.show(view);
    }
    page.selection = selection_of_step(page, does);
    let at = does.scrub.filter(|at| !begins && *at < page.newest());
    // at that step the views show the answer
    let awaits_guess = does.predict.is_some() && !page.lesson.has_guess_at(i);
    page.lesson.waiting_scrub = at.filter(|_| awaits_guess);
    match at.filter(|_| !awaits_guess) {
        Some(at) => scrub_to(page, at),
        None => follow(page),
    }
    // A control that the step changes is shown in its place.
    page.scroll_to = does
        .controls
        .first()
        .or(does.set.keys().next())
        .and_then(|key| page.knobs.iter().map(|k| k.key).find(|known| known == key));
    end_lesson(page);
    Ok(())
}

/// Tells the charts, before the views are drawn, which of them shows the guess of the step and whether marks of claims
/// are hidden.
pub fn share_guess(page: &Page, ctx: &Context) {
    let judged = page.run.as_ref().filter(|run| is_judged(run)).map(|run| &run.mirror);
    // what the paper found could answer the question that is open
    let has_open_question = page.lesson.is_drawing || page.lesson.has_open_question(judged);
    plot::hide_claims(ctx, page.restrictions.hides_answers || has_open_question);
    let guess = || {
        let predict = page.lesson.step()?.does.predict.as_ref()?;
        let points = page.lesson.guesses.get(&page.lesson.current?).cloned().unwrap_or_default();
        let is_drawing = page.lesson.is_drawing;
        let chart = predict.chart.clone().filter(|_| is_drawing || !points.is_empty())?;
        Some(Guess { chart, x: predict.x, y: predict.y, is_drawing, points })
    };
    plot::set_guess(ctx, guess());
}

/// Stores the guess that the reader drew, and applies what waited for one.
pub fn take_guess(page: &mut Page, ctx: &Context) {
    if let Some(run) = &page.run {
        page.lesson.watch(&run.mirror);
    }
    if let (Some(i), Some(guess)) = (page.lesson.current, plot::guess(ctx))
        && guess.is_drawing
        && !guess.points.is_empty()
    {
        page.lesson.guesses.insert(i, guess.points);
    }
    set_waiting(page, ctx.input(|i| i.time));
    scrub_waiting(page);
}
