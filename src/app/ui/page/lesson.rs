//! What following a step of the lesson does to the page: its settings, its selection, its view, its step. A step that
//! only changes what a run takes live changes that; any other begins a new, paused run.

use eframe::egui::Context;

use super::{Page, preset_of};
use crate::{
    config::{Applies, Config, ConfigError},
    labs::RunSettings,
    ui::{
        host::Host,
        plot::{self, Guess},
    },
};

impl Page {
    /// The settings with which a step of the lesson begins.
    fn settings_of_step(&self, i: usize) -> Result<Config, ConfigError> {
        let Some(step) = self.lesson.lesson.steps.get(i) else { return Ok(self.config.clone()) };
        let mut config = match &step.does.preset {
            Some(preset) => self.lab.config(Some(preset))?,
            None => self.config.clone(),
        };
        let own = [RunSettings::device.name, RunSettings::threads.name].map(|key| (key, self.config.get(key).cloned()));
        for (key, value) in own {
            if let Some(value) = value {
                config.set(&self.knobs, key, value)?;
            }
        }
        step.does.put_into(&mut config, &self.knobs)?;
        Ok(config)
    }

    /// Whether a step begins another run than the one that is there.
    pub fn step_begins_run(&self, i: usize) -> bool {
        let Ok(config) = self.settings_of_step(i) else { return false };
        let Some(launched) = self.launched.as_ref().filter(|_| self.run.is_some()) else { return true };
        let is_live = |key: &String| self.knobs.iter().any(|k| k.key == key && k.applies != Applies::AtReset);
        config.seed != launched.seed
            || config.preset != launched.preset
            || !config.changed_keys(launched).iter().all(is_live)
    }

    /// Follows a step of the lesson.
    pub fn take_step(&mut self, i: usize, host: &mut dyn Host, ctx: &Context) -> Result<(), String> {
        let Some(step) = self.lesson.lesson.steps.get(i).cloned() else {
            let n = self.lesson.lesson.steps.len();
            return Err(format!("The lesson of {} has {n} steps; there is no step {}.", self.lab.title, i + 1));
        };
        let now = ctx.input(|i| i.time);
        let config = self.settings_of_step(i).map_err(|e| self.by_label(&e.to_string()))?;
        let begins = self.step_begins_run(i) && (step.does.preset.is_some() || !step.does.set.is_empty());
        let is_other = self.config != config;
        self.lesson.current = Some(i);
        self.lesson.is_drawing = false;
        if is_other {
            self.take_everything(config, None, format!("lesson step {}", i + 1), now);
            self.preset = preset_of(self.lab, &self.knobs, &self.config);
        }
        if begins {
            self.launch(host, ctx);
        }
        let does = &step.does;
        if let Some(view) = &does.view {
            self.tiling.show(view);
        }
        self.selection.token = does.token.or(self.selection.token);
        self.selection.neuron = does.neuron.or(self.selection.neuron);
        if let Some(at) = does.scrub.filter(|at| *at < self.newest()) {
            self.scrub_to(at);
        }
        // A control that the step changes is shown where it stands.
        self.sought = does
            .controls
            .first()
            .or(does.set.keys().next())
            .and_then(|key| self.knobs.iter().map(|k| k.key).find(|known| known == key));
        Ok(())
    }

    /// Says on which chart the step's guess is, before the views are drawn.
    pub fn lend_guess(&self, ctx: &Context) {
        let guess = || {
            let predict = self.lesson.step()?.does.predict.as_ref()?;
            let points = self.lesson.guesses.get(&self.lesson.current?).cloned().unwrap_or_default();
            let is_drawing = self.lesson.is_drawing;
            let chart = predict.chart.clone().filter(|_| is_drawing || !points.is_empty())?;
            Some(Guess { chart, x: predict.x, y: predict.y, is_drawing, points })
        };
        plot::set_guess(ctx, guess());
    }

    /// Takes what was drawn.
    pub fn take_guess(&mut self, ctx: &Context) {
        if let (Some(i), Some(guess)) = (self.lesson.current, plot::guess(ctx))
            && guess.is_drawing
            && !guess.points.is_empty()
        {
            self.lesson.guesses.insert(i, guess.points);
        }
    }
}
