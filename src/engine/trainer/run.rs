//! The state of one run: corpus, device, models and their optimisers. One update, one evaluation,
//! one question at a time; the worker decides when to do which.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use super::{
    Plan, RunError, RunSettings, Stage, TrainSettings,
    asking::ProbeRequest,
    inputs,
    thread::guard,
    tokens,
    variant::{MicroBatch, Variant, micro_batches, only_batch},
};
use crate::{
    config::Value,
    corpus::{Corpus, Position, Source, Windows},
    models::Trainable,
    nn::{AdamW, Batch, Device, IGNORE, Tap, device, host},
    probe::Progress,
    store::VariantWeights,
    telemetry::{Args, Channel, Event, InputFile, Level, RunInfo, Sample, StepStats, VariantInfo, channels},
};

/// A run: everything that a step needs.
pub struct Run {
    /// The plan of the run.
    pub plan: Plan,
    /// The corpora, the run's own first.
    pub texts: Arc<[Corpus]>,
    /// The device of the models' weights.
    pub device: Device,
    /// The models with their optimisers.
    pub variants: Vec<Variant>,
    /// The number of finished updates.
    pub step: u64,
    /// Seconds spent training, over all sittings.
    pub wall_secs: f64,
    /// Live settings changed since the start, by key; they outlive a resume.
    pub changed: BTreeMap<String, Value>,
    /// The files that are read, identified when the run was opened.
    pub inputs: Vec<InputFile>,
    /// The held-out windows of each text.
    held_out: Vec<Windows>,
    /// Batches of the current step, by text and seed.
    batches: Vec<((usize, u64), Vec<MicroBatch>)>,
    /// Notices about the current step.
    notes: Vec<String>,
    /// A notice, if the tokens of a trained model were chosen automatically.
    pub chosen_tokens: Option<String>,
}

impl Run {
    /// Opens the corpus and device and builds every variant.
    pub fn open(mut plan: Plan) -> Result<Self, RunError> {
        let device = device::open(&plan.device).map_err(RunError::Plan)?;
        let chosen_tokens = tokens::fit(&mut plan)?;
        let inputs = inputs::identify(&plan)?;
        let texts = plan.texts().map(Corpus::open).collect::<Result<Arc<[_]>, _>>()?;
        let fewer = match (&plan.corpus.source, texts.first().map(Corpus::source)) {
            (Source::GrammarRoles(asked), Some(Source::GrammarRoles(found))) if found.train < asked.train => {
                Some(found.train)
            }
            _ => None,
        };
        if let Some(sentences) = fewer {
            let update = plan.windows_per_update();
            let why = || {
                format!(
                    "an update reads {update} sentences, and the treebank has {sentences} to learn from; lower `train.batch` or `train.accumulate`"
                )
            };
            ensure!(update <= sentences, RunError::Plan(why()));
            plan.end_after_pass(sentences);
        }
        let vocab = texts.first().map_or(0, Corpus::vocab);
        if let Some(other) = texts.iter().find(|t| t.vocab() != vocab) {
            let words = format!("{} has {} tokens and the run's own text {vocab}", other.describe(), other.vocab());
            return Err(RunError::Plan(format!("{words}; texts of one run must be read in the same ones")));
        }
        let held_out =
            texts.iter().map(|t| t.held_out(plan.eval_windows, plan.window)).collect::<Result<Vec<_>, _>>()?;
        let mut variants = plan
            .variants
            .iter()
            .map(|spec| Ok(Variant::new(spec, spec.build(vocab, &device)?, plan.optimisation.adamw, plan.steps)?))
            .collect::<Result<Vec<_>, RunError>>()?;
        for param in &plan.runtime_params {
            for v in &mut variants {
                // a model may lack this parameter
                let _: bool = v.model.set_runtime_param(&param.name, param.value);
            }
        }
        ensure!(!variants.is_empty(), RunError::Plan("no model is switched on; switch on at least one variant".into()));
        check_accumulation(&plan, &variants)?;
        Ok(Self {
            plan,
            texts,
            device,
            variants,
            step: 0,
            wall_secs: 0.0,
            changed: BTreeMap::new(),
            inputs,
            held_out,
            batches: vec![],
            notes: vec![],
            chosen_tokens,
        })
    }

    /// Returns the run's own corpus.
    pub fn corpus(&self) -> &Corpus {
        &self.texts[0]
    }

    /// Sentences about the choices and inferences that were made when the texts and models were opened.
    pub fn opening_notes(&self) -> Vec<String> {
        let of_texts = self.texts.iter().filter_map(Corpus::omission);
        let of_models = self.variants.iter().flat_map(|v| v.model.notes().iter().cloned());
        self.chosen_tokens.iter().cloned().chain(of_texts).chain(of_models).collect()
    }

    /// The description of the variants for a legend and a run folder.
    pub fn info(&self, threads: usize, folder: Option<String>) -> RunInfo {
        let info = RunInfo {
            lab: self.plan.config.lab.clone(),
            config: self.plan.config.clone(),
            variants: self
                .variants
                .iter()
                .map(|v| VariantInfo {
                    id: v.spec.id.clone(),
                    label: v.spec.label.clone(),
                    group: v.spec.group.clone(),
                    seed: v.spec.seed,
                    params: v.model.params().count(),
                })
                .collect(),
            total_steps: self.plan.steps,
            device: device::name(&self.device),
            threads,
            corpus: self.text_names(),
            vocab: self.corpus().vocab(),
            tokens_per_step: self.plan.windows_per_update() * self.plan.window,
            folder,
            inputs: self.inputs.clone(),
            stages: self.plan.stage_starts(),
            asks: vec![],
        };
        match self.variants.iter().any(|v| v.model.reads_text()) {
            true => info,
            false => RunInfo { corpus: String::new(), vocab: 0, tokens_per_step: 0, ..info },
        }
    }

    /// One update of variant `i` towards step `self.step + 1`. The caller moves `self.step` on when
    /// every variant has made it.
    pub fn update(&mut self, i: usize) -> Result<StepStats, RunError> {
        let started = Instant::now();
        let step = self.step + 1;
        let stage = self.plan.stage(i);
        let own = step - stage.from;
        let text = stage.texts[own as usize % stage.texts.len()];
        let batches = self.batches(text, self.variants[i].spec.seed)?;
        let variant = &mut self.variants[i];
        let share = stage.lr_share;
        let lr = self.plan.optimisation.schedule.at(own, stage.until - stage.from) * share;
        variant.model.begin_step(own)?;
        let mut scalars = match variant.model.capabilities_mut().local_learning {
            Some(rule) => {
                let update = rule.learn(only_batch(&batches)?)?;
                variant.optimiser.step += 1;
                let label = &variant.spec.label;
                self.notes.extend(update.divergence.map(|why| format!("{label}, step {step}: {why}")));
                local_scalars(update.loss, update.scalars)
            }
            None => variant.gradient_update(&batches, lr, step)?,
        };
        let secs = started.elapsed().as_secs_f64();
        self.wall_secs += secs;
        scalars.push((channels::STEP_MS.into(), secs * 1e3));
        Ok(StepStats { step, variant: i, scalars, wall_secs: self.wall_secs })
    }

    /// Called when every variant has made its update. A stage that begins now takes over its weights; returns
    /// notices about that.
    pub fn finish_step(&mut self) -> Result<Vec<String>, RunError> {
        self.step += 1;
        self.batches.clear();
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(self.init_stages()?);
        Ok(notes)
    }

    fn batches(&mut self, text: usize, seed: u64) -> Result<Vec<MicroBatch>, RunError> {
        if let Some((_, batches)) = self.batches.iter().find(|(of, _)| *of == (text, seed)) {
            return Ok(batches.clone());
        }
        let at = Position { seed, drawn: self.step };
        let (rows, len) = (self.plan.windows_per_update(), self.plan.window);
        let w = match self.plan.tbptt_steps {
            0 => self.texts[text].batch(&at, rows, len)?,
            every => self.texts[text].batch_along(&at, rows, len, every)?,
        };
        let batches = micro_batches(&w, self.plan.batch, &self.device)?;
        self.batches.push(((text, seed), batches.clone()));
        Ok(batches)
    }

    /// Held-out loss (nats per token) of variant `i` on what it reads, and the accuracy at the positions that answer a
    /// question where the corpus has any.
    pub fn evaluate(&mut self, i: usize) -> Result<StepStats, RunError> {
        let model = &self.variants[i].model;
        let mut losses = vec![];
        let (mut right, mut asked) = (0usize, 0usize);
        let windows = self.plan.stage(i).texts.into_iter().map(|text| &self.held_out[text]);
        for (w, rows) in windows.flat_map(|w| chunks(w.rows, self.plan.batch).map(move |rows| (w, rows))) {
            let span = rows.start * w.len..rows.end * w.len;
            let (inputs, targets) = (&w.inputs[span.clone()], &w.targets[span.clone()]);
            let batch = Batch::from_ids(inputs, targets, rows.len(), w.len, &self.device)?;
            let counted = targets.iter().filter(|t| **t != IGNORE).count();
            losses.push((host::scalar(&model.evaluate(&batch)?)?, counted as f64));
            let Some(answers) = &w.answers else { continue };
            let able = model.capabilities();
            let logits = match (able.token_model, able.text_classifier) {
                (Some(model), _) => Some(model.logits(&batch.tokens, &mut Tap::off())?),
                (None, Some(classifier)) => Some(classifier.class_logits(&batch.tokens)?),
                (None, None) => None,
            };
            if let Some(logits) = logits {
                let guesses = host::to_u32(&logits.argmax(candle_core::D::Minus1)?)?;
                for ((guess, target), _) in guesses.iter().zip(targets).zip(&answers[span]).filter(|(_, a)| **a) {
                    asked += 1;
                    right += usize::from(guess == target);
                }
            }
        }
        let weight: f64 = losses.iter().map(|(_, n)| n).sum();
        let mean = losses.iter().map(|(l, n)| l * n).sum::<f64>() / weight.max(1.0);
        let mut scalars = vec![(Channel::new(self.variants[i].loss_channels().held_out), mean)];
        if asked > 0 {
            scalars.push((channels::ACCURACY.into(), right as f64 / asked as f64));
        }
        let stage = self.plan.stage(i);
        if self.step == stage.from && asked > 0 {
            scalars.push((channels::ANSWERS.into(), asked as f64));
            let guess = stage.texts.first().and_then(|text| self.texts[*text].chance_accuracy());
            scalars.extend(guess.map(|g| (channels::GUESS.into(), g)));
        }
        if self.step == 0 {
            scalars.extend(model.scalars(None)?.into_iter().map(|(n, v)| (Channel::new(n), v)));
        }
        Ok(StepStats { step: self.step, variant: i, scalars, wall_secs: self.wall_secs })
    }

    /// The held-out loss at the end of a variant is its result.
    ///
    /// # Errors
    /// If this evaluation is the variant's last and its loss is not finite. For a model with its own learning rule such
    /// a loss is a valid result, which was reported when it occurred.
    pub fn check_last_evaluation(&self, stats: &StepStats) -> Result<(), RunError> {
        if self.variants[stats.variant].learns_locally {
            return Ok(());
        }
        let held_out = self.variants[stats.variant].loss_channels().held_out;
        let loss = stats.scalars.iter().find(|(c, _)| c.as_str() == held_out).map(|(_, v)| *v);
        match loss.filter(|v| !v.is_finite() && stats.step >= self.plan.stage(stats.variant).until) {
            None => Ok(()),
            Some(value) => Err(RunError::Diverged {
                what: "held-out loss",
                variant: self.variants[stats.variant].spec.id.clone(),
                value,
                step: stats.step,
                advice: "A smaller learning rate usually helps",
            }),
        }
    }

    /// Asks variant `i` one scheduled question. Returns `Ok(vec![])` if the probe does not apply to it, and an error if
    /// it has yet to take over its weights.
    pub fn ask(&mut self, i: usize, id: &str, args: &Args) -> Result<Vec<Sample>, RunError> {
        let step = self.step_of(i);
        self.begun_stage(i, self.step)?;
        let progress = Progress::none();
        let request = ProbeRequest { variant: i, step, probe: id, args, request: None, progress, show: None };
        request.ask(self.variants[i].model.as_mut(), &self.plan, &self.texts, &self.device)
    }

    /// Returns the samples of [`Run::ask`] as events. A probe that fails becomes a notice, so that the run continues.
    pub(super) fn ask_events(&mut self, i: usize, probe: &str, args: &Args) -> Vec<Event> {
        match guard(|| self.ask(i, probe, args)) {
            Ok(samples) => samples.into_iter().map(Event::Sample).collect(),
            Err(e) => {
                let text = format!("the probe `{probe}` could not answer: {e}");
                vec![Event::Notice { level: Level::Warning, text }]
            }
        }
    }

    /// The stage of variant `i`, which must have begun by this step.
    pub(super) fn begun_stage(&self, i: usize, step: u64) -> Result<Stage, RunError> {
        let (stage, label) = (self.plan.stage(i), &self.variants[i].spec.label);
        match stage.from > step {
            true => Err(RunError::Refused(format!("{label} begins at step {}", stage.from))),
            false => Ok(stage),
        }
    }

    /// Gives every variant the weights that were kept of it, so that the next question is put to these. Training does
    /// not continue from here: the optimiser keeps its own state.
    ///
    /// # Errors
    /// If weights of a variant are missing or do not fit it.
    pub fn load_weights(&mut self, kept: &[VariantWeights]) -> Result<(), RunError> {
        for (i, v) in self.variants.iter_mut().enumerate() {
            let missing = || RunError::Refused(format!("no weights of the variant `{}` were kept", v.spec.id));
            let weights = kept.iter().find(|k| k.variant == v.spec.id).ok_or_else(missing)?;
            weights.apply_to(v.model.as_mut())?;
            self.step = weights.step;
            v.optimiser.step = weights.step.saturating_sub(self.plan.stage(i).from);
        }
        Ok(())
    }

    /// Finished updates of variant `i`, counted as the run counts: between two variants of a step they differ.
    pub fn step_of(&self, i: usize) -> u64 {
        let stage = self.plan.stage(i);
        if stage.is_active_at(self.step) { stage.from + self.variants[i].optimiser.step } else { self.step }
    }

    /// Applies a live setting: those of training here, schedules of probes and arguments of scheduled
    /// questions where the plan says that a setting is that, all others as a parameter
    /// (`coupling_scale` for `model.coupling_scale`) of every model that has it. Errors: no number, or a
    /// setting that nothing in this run has.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), RunError> {
        let refused = |words: String| Err(RunError::Refused(words));
        let (group, name) = key.split_once('.').unwrap_or(("", key));
        let number = match value {
            Value::Switch(b) => f64::from(u8::from(*b)),
            v => v.as_f64().unwrap_or(f64::NAN),
        };
        let every = number.max(0.0) as u64;
        if !group.is_empty() && group == self.plan.probe_args_group {
            for schedule in self.plan.probes.iter_mut().filter(|s| s.args.contains_key(name)) {
                schedule.args.insert(name.to_owned(), value.clone());
            }
        } else if !number.is_finite() {
            return refused(format!("`{key}` = `{value}` is not a number; the run keeps its setting"));
        } else if key == TrainSettings::lr.name {
            if number <= 0.0 {
                return refused("the learning rate must be above 0; the run keeps its setting".into());
            }
            self.plan.optimisation.schedule.lr = number;
        } else if key == RunSettings::eval_every.name {
            self.plan.eval_every = every;
        } else if key == RunSettings::checkpoint_every.name {
            self.plan.checkpoint_every = every;
        } else {
            let mut is_known = false;
            for schedule in self.plan.probes.iter_mut().filter(|s| s.interval_key == key) {
                (schedule.every, is_known) = (every, true);
            }
            for variant in &mut self.variants {
                is_known |= variant.model.set_runtime_param(name, number);
            }
            if !is_known {
                let words = format!("no model or probe of this run has a live setting `{key}`");
                return refused(format!("{words}; it applies at the next reset"));
            }
        }
        self.changed.insert(key.to_owned(), value.clone());
        Ok(())
    }

    /// Loads the weights of variants that begin at this step from their parents, with a fresh optimiser;
    /// returns notes on what was done.
    fn init_stages(&mut self) -> Result<Vec<String>, RunError> {
        let mut notes = vec![];
        for i in 0..self.variants.len() {
            let stage = self.plan.stage(i);
            if stage.from != self.step || stage.init_from.is_empty() {
                continue;
            }
            let child = &self.variants[i];
            let parents: Vec<&dyn Trainable> =
                stage.init_from.iter().map(|&p| self.variants[p].model.as_ref()).collect();
            let lines = child.model.load_from(&parents)?;
            notes.extend(lines.into_iter().map(|line| format!("{}: {line}", child.spec.label)));
            self.variants[i].optimiser = AdamW::new(self.variants[i].model.params(), self.plan.optimisation.adamw)?;
        }
        Ok(notes)
    }

    /// The names of the texts: the run's own corpus, and the others.
    fn text_names(&self) -> String {
        match &self.texts[..] {
            [] => String::new(),
            [one] => one.describe(),
            [first, others @ ..] => {
                let names: Vec<&str> = others.iter().map(Corpus::name).collect();
                format!("{}, then {}", first.name(), names.join(" and "))
            }
        }
    }
}

/// Errors: gradients of several batches are to be summed where there are none, or where a state continues from batch to
/// batch.
fn check_accumulation(plan: &Plan, variants: &[Variant]) -> Result<(), RunError> {
    let refused = |why: &str| Err(RunError::Plan(TrainSettings::refused_sum(plan.accumulate, why)));
    match variants.iter().find(|v| v.learns_locally) {
        _ if plan.accumulate <= 1 => Ok(()),
        Some(v) => refused(&format!("{} learns by a rule of its own and has no gradients to sum", v.spec.label)),
        None if plan.tbptt_steps > 0 => refused("a state is carried from batch to batch; make `train.batch` larger"),
        None => Ok(()),
    }
}

/// The scalars of an update by a model's own rule.
fn local_scalars(loss: f64, more: Vec<(&'static str, f64)>) -> Vec<(Channel, f64)> {
    let more = more.into_iter().map(|(name, value)| (name.into(), value));
    std::iter::once((channels::LOSS_TRAIN.into(), loss)).chain(more).collect()
}

fn chunks(rows: usize, size: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let size = size.max(1);
    (0..rows).step_by(size).map(move |start| start..(start + size).min(rows))
}
