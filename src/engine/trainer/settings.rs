//! The settings that any training run has: `train.*` and `run.*`. Labs give them their own defaults.
//!
//! The keys of those that act while a run continues ([`TrainSettings::lr`], [`RunSettings::eval_every`],
//! [`RunSettings::checkpoint_every`]) are what [`super::Run::set`] compares with.

use super::{Decay, Optimisation, Schedule};
use crate::{
    config::settings,
    nn::optimiser::{AdamWSpec, ClipRule},
};

settings! {
    /// How long, how fast and on how much at a time a model learns.
    pub struct TrainSettings in "train" {
        /// How many updates the run makes. The learning rate's decay ends at the last one. 0 makes none: the models are only measured.
        steps: u64 = 600 => "Steps", range(0..=10_000_000), unit("updates");
        /// Windows of text in one update. All variants see the same ones.
        batch: usize = 4 => "Batch", range(1..=1024), symbol("B"), unit("windows");
        /// Batches whose gradients are summed to one update, as if they were one batch as large as all of them, in the memory of one. With 4, an update reads 4 B windows.
        accumulate: usize = 1 => "Accumulate", range(1..=256), unit("batches");
        /// Length of a training window. Attention sees at most this far back, unless a state is carried from window to window.
        window: usize = 128 => "Window", range(4..=8192), symbol("T"), unit("tokens");
        /// Peak step size of AdamW. Acts on the running model at the next update; warm-up and decay scale it.
        lr: f64 = 1e-3 => "Learning rate", range(1e-6..=1.0), log, live, symbol("η");
        /// Updates over which the learning rate rises from zero. It keeps the first steps from being too large.
        warmup: u64 = 20 => "Warm-up", range(0..=1_000_000), unit("updates");
        /// The learning rate at the last step, as a share of the peak. 1 keeps it constant after warm-up.
        floor: f64 = 0.1 => "Final rate", range(0.0..=1.0);
        /// How the rate falls from its peak to its final value: along half a cosine, or a straight line.
        schedule: Decay = Decay::Cosine => "Decay";
        /// Decoupled decay of every weight at each update, times the learning rate. AdamW's.
        weight_decay: f64 = 0.1 => "Weight decay", range(0.0..=1.0), symbol("λ");
        /// How long AdamW remembers the gradient. 0.9 is about ten updates.
        beta1: f64 = 0.9 => "Momentum", range(0.0..=0.9999), symbol("β₁");
        /// How long AdamW remembers the squared gradient. 0.95 is about twenty updates.
        beta2: f64 = 0.95 => "Second moment", range(0.0..=0.99999), symbol("β₂");
        /// Gradients whose norm is larger than this are scaled down to it. 0 switches clipping off.
        clip: f64 = 1.0 => "Clip norm", range(0.0..=1000.0);
        /// zclip also shortens a gradient whose norm is an outlier among those before it (z-score above 2.5 after 25 updates). The clip norm above still holds; 0 there leaves zclip alone.
        clip_rule: ClipRule = ClipRule::Norm => "Clip rule";
    }

    /// Where a run computes, and how often it measures and saves itself.
    pub struct RunSettings in "run" {
        /// Where the model computes: auto, cpu, cuda:0 or metal. `auto` takes the fastest that this build and machine have.
        device: String = "auto".into() => "Device";
        /// Worker threads. 0 takes all cores but one, which is left to the interface.
        threads: usize = 0 => "Threads", range(0..=256);
        /// Steps between measurements of the held-out loss. 0 measures it only at the start and the end.
        eval_every: u64 = 100 => "Held-out every", range(0..=1_000_000), unit("steps"), live;
        /// How many held-out windows one measurement uses. More are steadier and slower.
        eval_windows: usize = 8 => "Held-out windows", range(1..=4096), unit("windows");
        /// Steps between checkpoints, from which a run can be resumed exactly. 0 keeps only the last state.
        checkpoint_every: u64 = 200 => "Checkpoint every", range(0..=1_000_000), unit("steps"), live;
    }
}

impl TrainSettings {
    /// The refusal of an update from several batches, of a model whose gradients cannot be summed.
    pub fn refused_sum(accumulate: usize, why: &str) -> String {
        format!("`{}` = {accumulate} must be 1: {why}", Self::accumulate.name)
    }

    /// AdamW and its schedule.
    pub fn optimisation(&self) -> Optimisation {
        let Self { lr, warmup, floor, schedule: decay, beta1, beta2, weight_decay, clip, clip_rule, .. } = *self;
        Optimisation {
            adamw: AdamWSpec { beta1, beta2, eps: 1e-8, weight_decay, clip, clip_rule },
            schedule: Schedule { lr, warmup, floor, decay },
        }
    }
}
