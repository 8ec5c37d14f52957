//! Tests how well the running variance of a prediction's error distinguishes foreign text from the run's own, window by
//! window, compared with the model's own surprise.

use super::streams::{StreamReader, StreamSizes, StreamTexts, TokenCosts};
use crate::{
    analysis::roc::{self, auroc},
    probe::prelude::*,
};

/// The tokens at the beginning that are not counted: a running variance that takes 1% of each new error still contains 5% of
/// its initial value after this many.
const SKIPPED_TOKENS: usize = 300;
const FOREIGN: usize = 3;
/// Tokens of the longest stream.
const MAX_TOKENS: usize = 20_000;

impl Probe for UncertaintyArgs {
    type Answer = Uncertainty;
    type Subject<'m> = &'m dyn FastWeightModel;
    const IS_SLOW: bool = true;

    fn ask(&self, model: &dyn FastWeightModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let &Self { window, streams, tokens, rate, most_precision: max_precision } = self;
        let rule = FastWeightRule { rate, max_precision, has_base: true };
        let min_len = SKIPPED_TOKENS + window;
        let len = tokens.clamp(min_len, MAX_TOKENS);
        let texts = StreamTexts::new(cx.corpus, StreamSizes { rows: streams, len, min_len, foreign: FOREIGN })?;
        let reader = StreamReader { texts: &texts, device: cx.device };
        let mut read = vec![];
        for i in 0..texts.texts.len() {
            let mut stream = model.stream_with_fast_weights(&rule);
            let costs = reader.read_all(i, stream.as_mut(), cx.progress.piece(i, texts.texts.len()))?;
            read.push(WindowMeans::new(&costs, window));
        }
        let names = texts.texts.iter().map(|t| t.name.clone());
        let found = Uncertainty {
            window,
            streams: texts.rows,
            skipped: SKIPPED_TOKENS,
            rate: rule.rate,
            max_precision: rule.max_precision,
            texts: names.enumerate().map(|(i, name)| compare_text(name, &read, i)).collect(),
            notes: texts.notes.clone(),
        };
        Ok(Answer::new(found, texts.about(), vec![]))
    }
}

/// Mean U and mean nats of every window, stream by stream.
struct WindowMeans {
    uncertainty: Vec<Vec<f64>>,
    surprise: Vec<Vec<f64>>,
}

impl WindowMeans {
    fn new(costs: &TokenCosts, window: usize) -> Self {
        let means = |values: &[f64]| -> Vec<Vec<f64>> {
            values.chunks(costs.len).map(|row| row[SKIPPED_TOKENS..].chunks_exact(window).map(mean).collect()).collect()
        };
        Self { uncertainty: means(&costs.uncertainty), surprise: means(&costs.nats) }
    }
}

/// A text against the first; of the first, its later streams against its earlier ones.
fn compare_text(name: String, read: &[WindowMeans], i: usize) -> UncertaintyText {
    let separation = |values: fn(&WindowMeans) -> &Vec<Vec<f64>>| {
        let (these, own) = (values(&read[i]), values(&read[0]));
        let half = own.len() / 2;
        if i == 0 { auroc(&own[half..], &own[..half]) } else { auroc(these, own) }
    };
    let measured = |roc::Auroc { value, low, high }| Auroc { value, low, high };
    UncertaintyText {
        name,
        uncertainty: read[i].uncertainty.concat().into(),
        surprise: read[i].surprise.concat().into(),
        by_uncertainty: measured(separation(|w| &w.uncertainty)),
        by_surprise: measured(separation(|w| &w.surprise)),
    }
}
