//! Estimates the effect of merging with another model: held-out losses of this model, of the other and of the merged
//! one, on every text of the run.

use std::path::Path;

use super::texts::loss;
use crate::{
    corpus::{BYTES, CorpusError, CorpusSpec, Source, TokenizerSpec},
    probe::prelude::*,
};

/// Generated texts on which losses are measured in addition to the run's own, where tokens are bytes.
const TEXTS: [&str; 4] = ["harbour", "garden", "observatory", "letters"];

impl Probe for MergingArgs {
    type Answer = Option<Merging>;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;

    fn missing(&self) -> Option<&'static str> {
        self.with.trim().is_empty().then_some("name the checkpoint of another model: --set with=FILE")
    }

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let with = self.with.trim();
        if with.is_empty() {
            return Ok(Answer::default());
        }
        let (count, len) = (self.windows, self.window);
        let MergedModels { name, other, merged, notes } = model.merged_with(Path::new(with))?;
        let texts = texts(cx.corpus, count, len)?;
        let losses = |name: &str, model: &dyn SynapseModel| -> Result<ModelLosses> {
            let of_text = |w: &Windows| loss(model, w, w.rows.max(1)).map(|nats| nats as f32);
            let losses = texts.iter().map(|(_, windows)| of_text(windows)).collect::<Result<Vec<_>>>()?.into();
            Ok(ModelLosses { name: name.to_owned(), neurons: model.shape().neurons, losses })
        };
        let merging = Merging {
            this: losses("this", model)?,
            other: losses(&name, other.as_ref())?,
            merged: losses("merged", merged.as_ref())?,
            notes,
            texts: texts.iter().map(|t| t.0.clone()).collect(),
        };
        let about = format!("{count} held-out windows of {len} tokens a text");
        Ok(Answer::new(Some(merging), about, vec![]))
    }
}

/// Names and held-out windows of the texts; the run's own comes first.
fn texts(corpus: &Corpus, count: usize, len: usize) -> std::result::Result<Vec<(String, Windows)>, CorpusError> {
    let about = corpus.describe();
    let own = about.split([',', '(']).next().unwrap_or_default().trim().to_owned();
    let mut all = vec![(own.clone(), corpus.held_out(count, len)?)];
    if corpus.vocab() != BYTES || !about.ends_with("bytes") {
        return Ok(all);
    }
    for id in TEXTS.iter().filter(|id| **id != own) {
        let spec = CorpusSpec::new(Source::Generated((*id).to_owned()), TokenizerSpec::Byte { vocab: BYTES });
        all.push(((*id).to_owned(), Corpus::open(&spec)?.held_out(count, len)?));
    }
    Ok(all)
}
