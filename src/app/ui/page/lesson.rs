//! Following a step of the lesson: it changes the page's settings, its selection, its view and its step. A step whose
//! settings are not those of the present run begins a new, paused one; it changes none of a run that has begun.

use eframe::egui::Context;

use super::{Page, play::scrub_to};
use crate::{
    config::{Applies, Config, ConfigError},
    ui::{
        host::Host,
        plot::{self, Guess},
        session::preset_of,
    },
};

/// The settings with which a step of the lesson begins.
fn settings_of_step(page: &Page, i: usize) -> Result<Config, ConfigError> {
    let Some(step) = page.lesson.lesson.steps.get(i) else { return Ok(page.config.clone()) };
    let mut config = step.does.settings(page.lab, &page.config)?;
    page.restrictions.keep_locked(&page.knobs, &mut config, &page.config);
    Ok(config)
}

/// True if a step begins another run than the present one.
pub fn step_begins_run(page: &Page, i: usize) -> bool {
    let Ok(config) = settings_of_step(page, i) else { return false };
    let Some(launched) = page.launched.as_ref().filter(|_| page.run.is_some()) else { return true };
    let acts_in_views = |key: &String| page.knobs.iter().any(|k| k.key == key && k.applies == Applies::InViews);
    config.seed != launched.seed
        || config.preset != launched.preset
        || !config.changed_keys(launched).iter().all(acts_in_views)
}

/// Follows a step of the lesson.
pub fn take_step(page: &mut Page, i: usize, host: &mut dyn Host, ctx: &Context) -> Result<(), String> {
    let Some(step) = page.lesson.lesson.steps.get(i).cloned() else {
        let n = page.lesson.lesson.steps.len();
        return Err(format!("The lesson of {} has {n} steps; there is no step {}.", page.lab.title, i + 1));
    };
    let now = ctx.input(|i| i.time);
    let config = settings_of_step(page, i).map_err(|e| page.by_label(&e.to_string()))?;
    let begins = step_begins_run(page, i) && (step.does.preset.is_some() || !step.does.set.is_empty());
    let is_other = page.config != config;
    page.lesson.current = Some(i);
    page.lesson.sought = Some(i);
    page.lesson.is_drawing = false;
    page.lesson.draft.clear();
    page.lesson.taken = page.run.as_ref().map(|run| (run.mirror.run, run.mirror.step));
    if is_other {
        page.take_everything(config, None, format!("lesson step {}", i + 1), now);
        page.preset = preset_of(page.lab, &page.knobs, &page.config);
    }
    if begins {
        page.launch(host, ctx);
    }
    let does = &step.does;
    if let Some(view) = &does.view {
        if does.preset.is_some() {
            page.tiling.renew(view);
        }
        page.tiling.show(view);
    }
    page.selection.token = does.token.or(page.selection.token);
    page.selection.neuron = does.neuron.or(page.selection.neuron);
    if let Some(at) = does.scrub.filter(|at| *at < page.newest()) {
        scrub_to(page, at);
    }
    // A control that the step changes is shown where it stands.
    page.sought = does
        .controls
        .first()
        .or(does.set.keys().next())
        .and_then(|key| page.knobs.iter().map(|k| k.key).find(|known| known == key));
    Ok(())
}

/// Says on which chart the step's guess is, before the views are drawn.
pub fn share_guess(page: &Page, ctx: &Context) {
    let guess = || {
        let predict = page.lesson.step()?.does.predict.as_ref()?;
        let points = page.lesson.guesses.get(&page.lesson.current?).cloned().unwrap_or_default();
        let is_drawing = page.lesson.is_drawing;
        let chart = predict.chart.clone().filter(|_| is_drawing || !points.is_empty())?;
        Some(Guess { chart, x: predict.x, y: predict.y, is_drawing, points })
    };
    plot::set_guess(ctx, guess());
}

/// Takes what was drawn.
pub fn take_guess(page: &mut Page, ctx: &Context) {
    if let (Some(i), Some(guess)) = (page.lesson.current, plot::guess(ctx))
        && guess.is_drawing
        && !guess.points.is_empty()
    {
        page.lesson.guesses.insert(i, guess.points);
    }
}
