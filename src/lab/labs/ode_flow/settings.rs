//! The settings of the ODE flow lab.

use crate::{
    labs::prelude::*,
    models::capabilities::PlanarField,
    ode::{Gradient, Method, Policy},
};

settings! {
    pub struct OdeFlowSettings {
        task: TaskSettings,
        control: ControlSettings,
        solver: SolverSettings,
        steer: SteerSettings,
        field: FieldSettings,
        model: ModelSettings,
        variants: VariantSettings,
        corpus: CorpusSettings { tokenizer: TokenKind::Word, vocab: 128 },
        train: TrainSettings { steps: 1100, lr: 3e-3, batch: 24, window: 16, weight_decay: 0.01 },
        probe: ProbeSettings,
        run: RunSettings { checkpoint_every: 275 },
    }

    pub struct TaskSettings in "task" {
        /// Steer: many prompts, classes of words. Published: one prompt and a bare space, as the source did it. Both: the two side by side. Train: twins on text. Field: flows in the plane, no words.
        kind: Task = Task::Steer => "Task";
    }

    /// The control of the flow while a person holds it. A run begins with each as the model's parameter of the same
    /// name, for what is measured by schedule.
    pub struct ControlSettings in "control" {
        /// The control that is trained: +1 leads to good words, -1 to bad ones, 0 leaves the model alone. In the playground a wind from the left.
        u0: f64 = 0.0 => "Control u₀", range(-2.0..=2.0), in_views;
        /// Enters the flow like the first, but is not trained to mean anything. In the playground a wind from below.
        u1: f64 = 0.0 => "Control u₁", range(-2.0..=2.0), in_views;
        /// Untrained, as the second. The flow has four controls in all.
        u2: f64 = 0.0 => "Control u₂", range(-2.0..=2.0), in_views;
        /// Untrained, as the second. The flow has four controls in all.
        u3: f64 = 0.0 => "Control u₃", range(-2.0..=2.0), in_views;
        /// Multiplies the learned scale of the flow. 0 stops the flow: the layers before and after are then joined directly.
        alpha: f64 = 1.0 => "Flow strength", range(0.0..=4.0), in_views, symbol("×α");
    }

    /// The solver of the flow when it is looked at; training has its own steps.
    pub struct SolverSettings in "solver" {
        /// How the flow is followed when you look at it. Adaptive methods, which are listed first, choose their steps; the others take as many as you set. Training uses Euler steps.
        method: Method = Method::DOPRI5 => "Solver", in_views;
        /// Interpolate oversteps the end and reads the state off a curve, as the source's solver does; clip cuts the last step short. Evaluation counts of the two are not comparable.
        policy: Policy = Policy::Interpolate => "Last step", in_views;
        /// The error that an adaptive solver may make in a step: relative to the state, plus an absolute part. Smaller is finer and costs more evaluations.
        rtol: f64 = 1e-3 => "Relative tolerance", range(1e-8..=1.0), log, in_views, symbol("rtol");
        /// The error that an adaptive solver may make in a step: relative to the state, plus an absolute part. Smaller is finer and costs more evaluations.
        atol: f64 = 1e-3 => "Absolute tolerance", range(1e-8..=1.0), log, in_views, symbol("atol");
        /// Steps of a solver that does not choose its own. The model was trained with the number under Model.
        steps: usize = 4 => "Fixed steps", range(1..=256), in_views, symbol("m"), unit("steps");
    }

    /// The prompt, and the training of steering.
    pub struct SteerSettings in "steer" {
        /// The words that flow. Type your own from the language; with the task Published it is also the one prompt that is trained on, from the next reset.
        prompt: String = "The tea was".into() => "Prompt", in_views;
        /// Whose path the field is drawn around, counted from 0. -1 follows the last word, where the next one is decided.
        token: i64 = -1 => "Followed token", range(-1..=1023), in_views;
        /// Updates that learn the language with no control, before anything is steered. All later ones train the flow alone.
        language_steps: u64 = 300 => "Language steps", range(1..=1_000_000), unit("updates");
        /// Steer in one Euler step fewer to two more than the model's, in turn, so that what is learned is a flow and not that number of steps. Published steers always in the same.
        vary: bool = true => "Vary the steps";
        /// Keeps every prediction that is not to be steered near the unsteered model's, by a KL term in the loss. The source describes no such term: switch it off to steer by the two classes alone.
        kl: bool = true => "Hold the rest";
    }

    /// The playground's fields in the plane.
    pub struct FieldSettings in "field" {
        /// Which flow in the plane is shown: one of three given by formulas, or the network that learns one of them.
        kind: PlanarField = PlanarField::VanDerPol => "Field", in_views;
        /// Which of the written fields the network learns, from its arrows at random points.
        target: PlanarField = PlanarField::VanDerPol
            => "Learned field", only([PlanarField::VanDerPol, PlanarField::Spiral, PlanarField::Linear]);
        /// Width of each of the network's two layers. A narrow network bends little; a wide one learns the field more closely.
        hidden: usize = 64 => "Hidden units", range(2..=1024), unit("units");
        /// How long the points of the plane are carried, in the field's own time, which stands for the depth 0 to 1.
        time: f64 = 6.0 => "Time", range(0.1..=100.0);
    }

    pub struct ModelSettings in "model" {
        /// Channels of every token, in the layers and in the flow. Must be a multiple of the heads.
        d_model: usize = 128 => "Width", range(8..=1024), symbol("D"), unit("channels");
        /// Attention heads, of D / H channels each. The flow's attention has as many as the layers'.
        heads: usize = 4 => "Heads", range(1..=32), symbol("H");
        /// Plain transformer layers before the flow. The source has two.
        pre: usize = 1 => "Layers before", range(0..=8);
        /// Plain transformer layers after the flow. The source has two.
        post: usize = 1 => "Layers after", range(0..=8);
        /// Steps of the flow in training. The flow's weights are the same in all of them.
        steps: usize = 4 => "Euler steps", range(1..=64), unit("steps");
        /// How gradients pass through the flow in training. Backprop keeps every operation, checkpointed a state a step with the same gradients; the adjoint keeps the end alone, solves backwards and errs by its steps.
        gradient: Gradient = Gradient::Backprop => "Gradients";
    }

    /// The models that are compared.
    pub struct VariantSettings in "variants" {
        /// The model with a flow in its middle. Counts for the task Train; the others have just it.
        hybrid: bool = true => "Hybrid";
        /// A plain transformer with two layers in the flow's place: same seed, same batches. For the task Train.
        baseline: bool = true => "Baseline";
    }
}

choices! {
    pub enum Task {
        /// Many prompts, classes of words.
        Steer = "steer",
        /// One prompt and a bare space.
        Published = "published",
        /// The two side by side.
        Both = "both",
        /// Twins on text.
        Train = "train",
        /// Flows in the plane.
        Field = "field",
    }
}

schedules! {
    pub struct ProbeSettings {
        flow: "Flow every" = 25,
        flow_sweep: "Class sweep every" = 275,
    }
}

impl OdeFlowSettings {
    /// The arguments of every scheduled probe of the flow.
    pub fn args(&self) -> FlowArgs {
        let SolverSettings { method, policy, rtol, atol, steps } = self.solver;
        // A model of prose reads a passage of its text until the user types a prompt.
        let is_typed = self.steer.prompt != SteerSettings::default().prompt;
        let prompt = match self.task.kind {
            Task::Field => None,
            Task::Train if !is_typed => None,
            _ => Some(self.steer.prompt.clone()),
        };
        let field = (self.task.kind == Task::Field).then_some(self.field.kind);
        FlowArgs { method, policy, rtol, atol, steps, prompt, token: self.steer.token, field, ..FlowArgs::default() }
    }

    /// The arguments of a view's questions, including the control. `None` if the settings are another lab's.
    pub fn args_with_control(config: &Config) -> Option<FlowArgs> {
        let settings = Self::read(config).ok()?;
        let ControlSettings { u0, u1, u2, u3, alpha } = settings.control;
        let [u0, u1, u2, u3, alpha] = [u0, u1, u2, u3, alpha].map(Some);
        Some(FlowArgs { u0, u1, u2, u3, alpha, ..settings.args() })
    }
}
