//! Fine-tuning as in the paper's section 3.4: when the models have read their text, each continues with a
//! classification head on labelled sentences. The order of the variants and of their stages follows from the settings
//! alone.

use super::settings::{AblationSettings, CoupledQkSettings, FinetuneSettings};
use crate::{
    corpus::{CorpusSpec, Labels, Source, generated::opinions},
    labs::prelude::*,
    models::coupled_qk::CoupledQkSpec,
};

/// The ending of the ids of variants that classify.
const SUFFIX: &str = "_labels";
/// The id of a classifier that has read no text before; no variant is called `new`.
const UNTRAINED: &str = "new_labels";

/// Refuses settings that cannot be combined with fine-tuning.
pub(super) fn check(s: &CoupledQkSettings) -> Result<(), ConfigError> {
    let FinetuneSettings { steps, labels, ref file, .. } = s.finetune;
    if steps == 0 {
        return Ok(());
    }
    let why = "`ablation.longer` gives one variant more updates, behind which `finetune.steps` would begin; switch one of them off";
    refuse_if(s.ablation.longer > 1.0, AblationSettings::longer.name, why)?;
    let (key, n) = (FinetuneSettings::labels.name, opinions::LABELS.len());
    let why = format_args!(
        "`{key}` = {labels}, and the generated opinions have {n} labels; set it to {n} or name a `finetune.file`"
    );
    refuse_if(file.path().is_none() && labels != n, key, why)?;
    s.corpus.check_shared_tokens("the models classify in the tokens of the text that they have read")
}

/// A classifier for every variant that is raced, and one of the first kind that has read nothing.
pub(super) fn classifiers(s: &CoupledQkSettings, raced: &[Variant]) -> Vec<Variant> {
    if s.finetune.steps == 0 {
        return vec![];
    }
    let with_head = |model: &ModelSpec| match model {
        ModelSpec::CoupledQk(spec) => {
            Some(ModelSpec::CoupledQk(CoupledQkSpec { classes: Some(s.finetune.labels), ..spec.clone() }))
        }
        _ => None,
    };
    let of_variant = |v: &Variant| {
        Some(Variant::new(format!("{}{SUFFIX}", v.id), &format!("{}, labels", v.label), with_head(&v.model)?))
    };
    let untrained = raced.first().filter(|_| s.finetune.untrained).and_then(|first| {
        Some(Variant::new(UNTRAINED, &format!("{} without the text, labels", first.label), with_head(&first.model)?))
    });
    raced.iter().filter_map(of_variant).chain(untrained).collect()
}

/// The plan in which classifiers begin where the others end, each with the weights of its own variant and seed.
pub(super) fn with_finetuning(plan: Plan, s: &CoupledQkSettings) -> Result<Plan, ConfigError> {
    let FinetuneSettings { steps, lr, labels, ref file, .. } = s.finetune;
    if steps == 0 {
        return Ok(plan);
    }
    let (read, end) = (plan.steps, plan.steps + steps);
    let stages = plan.variants.iter().map(|v| {
        let Some(group) = v.group.strip_suffix(SUFFIX) else {
            return Stage::only(read);
        };
        let init_from = plan.variants.iter().position(|p| p.group == group && p.seed == v.seed).into_iter().collect();
        Stage { from: read, until: end, init_from, texts: vec![1], lr_share: lr }
    });
    let source = Source::Labels(Labels { own: file.path(), classes: labels });
    let stages = stages.collect();
    let more_texts = vec![CorpusSpec { source, ..s.corpus.spec()? }];
    Ok(Plan { steps: end, stages, more_texts, ..plan })
}
