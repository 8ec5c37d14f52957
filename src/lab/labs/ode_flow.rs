//! The ODE flow lab: a transformer with a flow in its middle, whose control a person holds.
//!
//! **Data flow of a steering run.** The corpus makes windows to order, and the number of a batch
//! says which stage it belongs to ([`Steering`]): below `steer.language_steps` the language with every
//! id a target, from there on prompts whose only targets are where the steering is asked for. The
//! trainer does not depend on it: it gives the model the number of each update
//! ([`crate::models::Trainable::begin_step`]), and the model, which has the same number in its spec, learns
//! the language with u = 0 and everything free in the first stage, and in the second holds all but its
//! field still and turns what the batch asks into `-log P(class)`. Both are pure functions of the step,
//! the unsteered field of the first stage is kept with the weights, and so a resumed run continues exactly.

mod drawing;
mod headlines;
pub mod settings;

use crate::{
    corpus::{
        Corpus, CorpusSpec, Source, Steering,
        generated::steering::{BAD, GOOD},
    },
    labs::prelude::*,
    models::{
        ode_flow::{self, OdeFlowSpec},
        plane::PlaneSpec,
    },
    trainer::RuntimeParam,
};
use settings::{ControlSettings, FieldSettings, ModelSettings, OdeFlowSettings, SteerSettings, Task};

pub static LAB: Lab = Lab {
    id: "ode_flow",
    title: "ODE flow",
    question: "If the middle of a transformer is a flow, can a slider steer what it says, and what does that cost the solver?",
    source: "Continuous-depth transformers: a plain-language guide",
    lesson: include_str!("../../../assets/lessons/ode_flow.md"),
    groups: groups! {
        task = "Task", control = "Control", solver = "Solver", steer = "Steering", field = "Playground", model,
        variants, corpus, train, probe, run
    },
    essentials: keys! {
        control.u0, control.alpha, steer.prompt, solver.method, solver.rtol, task.kind, steer.language_steps, steer.vary
    },
    knobs: OdeFlowSettings::schema,
    presets: presets! {
        "ode_flow", "Steer",
        "A model learns a small language; then its flow alone learns to lead any sentence to good or to bad words. Measured on nouns that steering never used. Under a minute.";
        "ode_flow_published", "Steer, as published",
        "One prompt, and a token for good that is in fact a bare space: the numbers look just as good, and mean nothing. Under a minute.";
        "ode_flow_both", "As published and corrected",
        "Both steerings side by side, of one model that learned one language: the same slider, the same numbers, and what they mean. A minute or two.";
        "ode_flow_train", "Train",
        "The hybrid and a plain transformer as twins on prose: losses, gradients, and the flow's own scale. About a minute."
            => "flow_paths";
        "ode_flow_field", "Playground",
        "Flows in the plane, where everything can be seen, and a small network that learns one of them." => "flow_paths";
        "ode_flow_paper", "At the source's size",
        "Hybrid and baseline at the source's width, layers and vocabulary: 30 million parameters, 500 steps."
            => "flow_paths";
    },
    plan: |config| plan(config, &OdeFlowSettings::read(config)?),
    drawing: drawing::draw,
    panes: panes! {
        0: "steer";
        1: "flow_sweep", "flow_paths", "flow_along";
        1: "flow_solver", "flow_claims", "losses";
        more: "flow_training", "attention", "attention_chain";
    },
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: true,
};

impl ControlSettings {
    fn runtime_params(&self) -> Vec<RuntimeParam> {
        let Self { u0, u1, u2, u3, alpha } = *self;
        [("u0", u0), ("u1", u1), ("u2", u2), ("u3", u3), ("alpha", alpha)]
            .map(|(name, value)| RuntimeParam { name: name.to_owned(), value })
            .into()
    }
}

/// The rows over which the three controls of a steered batch go round.
const MIN_STEERED_BATCH: usize = 3;

impl OdeFlowSettings {
    /// The corpus of a task; steering makes its own. Errors name the key.
    fn corpus_spec(&self) -> Result<CorpusSpec, ConfigError> {
        let spec = self.corpus.spec()?;
        let prompt = match self.task.kind {
            Task::Train => return Ok(spec),
            Task::Field => {
                self.corpus
                    .refuse_own_text("flows in the plane read no text; empty it, or set `task.kind` to train")?;
                refuse_accumulation(&self.train)?;
                return Ok(spec);
            }
            Task::Published => Some(self.steer.prompt.trim().to_owned()),
            Task::Steer | Task::Both => None,
        };
        self.corpus.refuse_own_text("steering makes its own language; empty it, or set `task.kind` to train")?;
        let batch = self.train.batch;
        let why = format_args!(
            "`train.batch` = {batch} is less than {MIN_STEERED_BATCH}: rows of a batch are steered by +1, \u{2212}1 and 0 \
             in turn; make it at least {MIN_STEERED_BATCH}"
        );
        refuse_if(batch < MIN_STEERED_BATCH, TrainSettings::batch.name, why)?;
        let steering = Steering { language_batches: self.steer.language_steps, prompt };
        Ok(CorpusSpec { source: Source::Steering(steering), ..spec })
    }

    /// The tokens that the control leads to. As published they are the first tokens of " good" and of "bad":
    /// letter by letter a bare space and a b, by words and spaces a bare space and the word.
    fn steering(&self, spec: &CorpusSpec, published: bool) -> Result<ode_flow::Steering, ConfigError> {
        let corpus = Corpus::open(spec).map_err(|e| ConfigError::unusable(CorpusSettings::tokenizer.name, e))?;
        let (plus, minus) = if published {
            let first = |text: &str| corpus.encode(text).first().copied().into_iter().collect::<Vec<u32>>();
            (first(" good"), first("bad"))
        } else {
            let whole = |words: &[&str]| -> Vec<u32> {
                words.iter().map(|w| corpus.encode(w)).filter(|ids| ids.len() == 1).flatten().collect()
            };
            (whole(&GOOD), whole(&BAD))
        };
        let is_whole = |ids: &[u32]| !ids.is_empty() && !ids.contains(&0);
        let why = "the steering task needs tokens that are whole words: set `corpus.tokenizer` to word (for both: spaced) and `corpus.vocab` to at least 96, or choose the task published with the tokeniser char";
        refuse_if(!is_whole(&plus) || !is_whole(&minus), CorpusSettings::tokenizer.name, why)?;
        // Beside another variant it has the other's batches, and so its prompt with it.
        let own = published && self.task.kind == Task::Both;
        let prompt = own.then(|| corpus.encode(self.steer.prompt.trim()));
        let is_wrong = prompt.as_ref().is_some_and(|p| p.is_empty() || p.len() > self.train.window);
        let why = "`steer.prompt` has no tokens or more than `train.window`: type a few words of the language";
        refuse_if(is_wrong, SteerSettings::prompt.name, why)?;
        let SteerSettings { language_steps, vary, kl, .. } = self.steer;
        Ok(ode_flow::Steering { language_steps, plus, minus, prompt, vary: vary && !published, kl })
    }

    fn hybrid_spec(&self, steering: Option<ode_flow::Steering>) -> Result<OdeFlowSpec, ConfigError> {
        let ModelSettings { d_model, heads, pre, post, steps, gradient } = self.model;
        check_multiple(ModelSettings::d_model.name, d_model, heads, &format!("a multiple of `model.heads` = {heads}"))?;
        let positions = self.train.window;
        Ok(OdeFlowSpec { d_model, heads, pre, post, positions, steps, gradient, steering, ..OdeFlowSpec::default() })
    }

    fn steered(&self, corpus: &CorpusSpec, published: bool) -> Result<ModelSpec, ConfigError> {
        Ok(ModelSpec::OdeFlow(self.hybrid_spec(Some(self.steering(corpus, published)?))?))
    }

    fn variants(&self, corpus: &CorpusSpec) -> Result<Vec<Variant>, ConfigError> {
        Ok(match self.task.kind {
            Task::Field => {
                let FieldSettings { kind, target, hidden, time } = self.field;
                vec![Variant::new("network", "network", ModelSpec::Plane(PlaneSpec { kind, target, hidden, time }))]
            }
            Task::Train => {
                let hybrid = self.hybrid_spec(None)?;
                let baseline = ModelSpec::PlainGpt(hybrid.baseline());
                Variant::switched_on([
                    (self.variants.hybrid, "hybrid", "hybrid", ModelSpec::OdeFlow(hybrid)),
                    (self.variants.baseline, "baseline", "baseline", baseline),
                ])
            }
            Task::Both => vec![
                Variant::new("published", "as published", self.steered(corpus, true)?),
                Variant::new("corrected", "corrected", self.steered(corpus, false)?),
            ],
            task @ (Task::Steer | Task::Published) => {
                vec![Variant::new("hybrid", "hybrid", self.steered(corpus, task == Task::Published)?)]
            }
        })
    }

    fn probes(&self) -> Vec<ProbeSchedule> {
        let args = self.args();
        let flow = self.probe.flow.ask(&args);
        let published = match self.task.kind {
            Task::Train | Task::Field => return vec![flow],
            Task::Published => true,
            Task::Steer | Task::Both => false,
        };
        let every = self.probe.flow_sweep;
        let sweep = FlowSweepArgs { flow: args.clone(), kind: FlowSweepKind::Class, ..FlowSweepArgs::default() };
        let claims = FlowClaimsArgs { flow: args, published };
        vec![flow, every.ask(&sweep), every.ask(&claims)]
    }
}

fn plan(config: &Config, s: &OdeFlowSettings) -> Result<Plan, ConfigError> {
    let corpus = s.corpus_spec()?;
    let variants = s.variants(&corpus)?;
    let plan = Experiment::new(config, &s.train, &s.run).plan(corpus, &variants, s.probes());
    Ok(Plan { runtime_params: s.control.runtime_params(), ..plan })
}
