//! The stages of merging: a base, two children that take over its weights and continue with texts of their own, and the
//! merged model, which takes over both, side by side.
//!
//! All four are variants of one run, each with its own part of the steps, so that everything that can be
//! asked of a model can be asked of each; the worker trains, hands weights down and tells, and the window
//! only shows what came. The command `merge-story` is this plan without a window.

use super::bdh::{BdhSettings, CarrySettings, ComparedSettings, Training};
use crate::{
    config::{CheckpointFile, TextFile},
    labs::prelude::*,
    models::bdh::BdhSpec,
};

/// The variants' ids, in order.
pub const IDS: [&str; 4] = ["base", "child_a", "child_b", "merged"];
const LABELS: [&str; 4] = ["base", "child A", "child B", "merged"];

settings! {
    /// The merging of two children of the model.
    pub struct MergingSettings in "merging" {
        /// After the last step of the base, two copies of it train for this many more updates, each on a text of its own, and are then merged into one. 0 trains one model and merges nothing.
        tune: u64 = 0 => "Tune two children", range(0..=10_000_000), unit("updates");
        /// The text that the first child goes on with. The base reads what the section Text says. A file, below, takes its place.
        text_a: GeneratedCorpus = GeneratedCorpus::by_id("parliament_en_fr")
            => "Child A reads", without(ChildFiles::file_a);
        /// The text that the second child goes on with. A file, below, takes its place.
        text_b: GeneratedCorpus = GeneratedCorpus::by_id("parliament_en_de")
            => "Child B reads", without(ChildFiles::file_b);
        /// The learning rate of the children, and of the merged model, as a share of the base's. The further children go, the less the average of their embeddings is either's.
        lr: f64 = 0.5 => "Children's rate", range(0.001..=1.0);
        /// Updates of the merged model, on all three texts in turn. 0 leaves it as the merging made it, which is what the paper asks about.
        after: u64 = 0 => "Tune the merged", range(0..=10_000_000), unit("updates");
        /// How many tokens each model writes after a prompt of each text, and after a sentence in a language that none has learned, whenever its losses are measured. 0 writes nothing.
        write: usize = 100 => "Samples", range(0..=4096), unit("tokens");
        /// Without children: a second trained BDH (.safetensors, .pt, .pth) of the same width, heads and layers. The view Merging puts both side by side and compares their losses; `orrery model merge` writes the file.
        checkpoint: CheckpointFile = CheckpointFile::default() => "Merge with", in_views;
    }

    /// The children's own texts. They come after `corpus.file`, so that a dropped file is taken for that one.
    pub struct ChildFiles in "merging" {
        /// A text file of your own for the first child.
        file_a: TextFile = TextFile::default() => "File of child A";
        /// A text file of your own for the second child.
        file_b: TextFile = TextFile::default() => "File of child B";
    }
}

/// The settings of a run with children.
pub struct Merging<'a> {
    pub settings: &'a MergingSettings,
    pub files: &'a ChildFiles,
    pub training: Training<'a>,
    /// The settings of compared models, which merging does not support.
    pub beside: &'a ComparedSettings,
}

impl Merging<'_> {
    /// # Errors
    /// If a setting is on that merging does not support; the message names the one to switch off.
    fn check(&self) -> Result<(), ConfigError> {
        let Training { model, corpus, carry, .. } = &self.training;
        for (key, on, why) in [
            (CarrySettings::carry.name, carry.carry > 0, "a carried state belongs to one text"),
            (ComparedSettings::baseline.name, self.beside.baseline, "a Transformer cannot be merged"),
            (ComparedSettings::cache.name, self.beside.cache > 0, "a Transformer cannot be merged"),
            (ComparedSettings::dropout.name, self.beside.dropout > 0.0, "a Transformer cannot be merged"),
            (ComparedSettings::no_bptt.name, self.beside.no_bptt, "its stages are those of one model"),
            (ComparedSettings::gated.name, self.beside.gated, "its stages are those of one model"),
            (ComparedSettings::normfree.name, self.beside.normfree, "its stages are those of one model"),
            (ComparedSettings::seeds.name, self.beside.seeds > 1, "its stages are those of one seed"),
            (
                BdhSettings::gated.name,
                model.gated,
                "a gate weighs what all neurons of a head write, so gates cannot be merged",
            ),
        ] {
            let why =
                format_args!("`{key}` is on and `merging.tune` asks for children, but {why}; switch one of them off");
            refuse_if(on, key, why)?;
        }
        corpus.check_shared_tokens("merged models must read the same tokens")
    }

    fn variants(&self) -> Result<Vec<Variant>, ConfigError> {
        let one = self.training.spec()?;
        let specs = [one.clone(), one.clone(), one.clone(), BdhSpec { twofold: true, ..one }];
        let named = IDS.into_iter().zip(LABELS).zip(specs);
        Ok(named.map(|((id, label), spec)| Variant::new(id, label, ModelSpec::Bdh(spec))).collect())
    }

    /// Returns the plan of the four variants with their stages, and the probes that are scheduled. Errors name the key.
    pub fn plan(&self, probes: Vec<ProbeSchedule>) -> Result<Plan, ConfigError> {
        self.check()?;
        let (s, corpus) = (self.settings, self.training.corpus);
        let plan = self.training.plan(&self.variants()?, probes)?;
        let base = plan.steps;
        let born = base + s.tune;
        let steps = born + s.after;
        let part = |from, until, init_from: &[usize], texts: &[usize], lr_share| Stage {
            from,
            until,
            init_from: init_from.to_vec(),
            texts: texts.to_vec(),
            lr_share,
        };
        Ok(Plan {
            steps,
            more_texts: vec![
                corpus.spec_of(s.text_a, &self.files.file_a)?,
                corpus.spec_of(s.text_b, &self.files.file_b)?,
            ],
            stages: vec![
                part(0, base, &[], &[0], 1.0),
                part(base, born, &[0], &[1], s.lr),
                part(base, born, &[0], &[2], s.lr),
                part(born, steps, &[1, 2], &[0, 1, 2], s.lr),
            ],
            ..plan
        })
    }
}
