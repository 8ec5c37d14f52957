//! Fast weights that continue learning while a model reads: a sweep over their learning rate and the limit of
//! precisions, and what remains of the model without the trained weights.

use super::streams::{StreamReader, StreamSizes, StreamTexts, TokenCosts, perplexity_added};
use crate::probe::prelude::*;

/// The swept values of eta. Table 5 of the paper has 1e-3 as the default, and 1e-4 and 1e-5 as tuned values.
const SWEPT_RATES: [f64; 4] = [1e-5, 1e-4, 1e-3, 1e-2];
/// The swept values of pi_max. Table 5 of the paper has 100 as the default and 1 with both tuned rates.
const PI_MAX: [f64; 3] = [1.0, 10.0, 100.0];
/// Settings that are measured with W_base = 0: one that learns nothing, and the larger of the paper's two tuned rates.
const ZERO_BASE_SETTINGS: [(f64, f64); 2] = [(0.0, 1.0), (1e-4, 1.0)];
const FOREIGN: usize = 1;
const MIN_TOKENS: usize = 50;
const MAX_VALUES: usize = 8;

/// A model whose fast weights learn, and its reader without them.
type LearningReader<'m> = (&'m dyn FastWeightModel, &'m dyn StreamingModel);

impl Probe for FastWeightsArgs {
    type Answer = FastWeights;
    type Subject<'m> = LearningReader<'m>;
    const IS_SLOW: bool = true;

    fn ask(&self, subject: LearningReader<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (model, plain) = subject;
        let (rates, limits) = (numbers(&self.rates, "rates", &SWEPT_RATES)?, numbers(&self.limits, "limits", &PI_MAX)?);
        let sizes = StreamSizes { rows: self.streams, len: self.tokens, min_len: MIN_TOKENS, foreign: FOREIGN };
        let texts = StreamTexts::new(cx.corpus, sizes)?;
        let reader = StreamReader { texts: &texts, device: cx.device };
        let (n, all) = (texts.texts.len(), rates.len() * limits.len() + ZERO_BASE_SETTINGS.len() + 1);
        let mut baseline: Vec<TokenCosts> = vec![];
        for text in 0..n {
            baseline.push(reader.read_all(text, plain.stream().as_mut(), cx.progress.piece(text, all * n))?);
        }
        let measured = |i: usize, (rate, max_precision): (f64, f64), has_base: bool| -> Result<FastWeightSetting> {
            let (progress, mut columns) = (cx.progress.piece(i + 1, all), <[Vec<f64>; 4]>::default());
            for (text, baseline) in baseline.iter().enumerate() {
                let mut stream = model.stream_with_fast_weights(&FastWeightRule { rate, max_precision, has_base });
                let costs = reader.read_all(text, stream.as_mut(), progress.piece(text, n))?;
                let change = perplexity_added(&baseline.by_stream(), &costs.by_stream());
                let values = [costs.perplexity(), change.mean, change.low, change.high];
                columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            }
            let [perplexity, change, change_low, change_high] = columns.map(Into::into);
            Ok(FastWeightSetting { rate, max_precision, perplexity, change, change_low, change_high })
        };
        let grid = rates.iter().flat_map(|rate| limits.iter().map(move |limit| (*rate, *limit)));
        let sweep = grid.enumerate().map(|(i, at)| measured(i, at, true)).collect::<Result<Vec<_>>>()?;
        let without_base = (sweep.len()..).zip(ZERO_BASE_SETTINGS).map(|(i, at)| measured(i, at, false));
        let without_base = without_base.collect::<Result<Vec<_>>>()?;
        let found = FastWeights {
            texts: texts.texts.iter().map(|t| t.name.clone()).collect(),
            streams: texts.rows,
            tokens: texts.len,
            baseline: baseline.iter().map(TokenCosts::perplexity).collect(),
            rates: rates.into(),
            limits: limits.into(),
            sweep,
            without_base,
            notes: texts.notes.clone(),
        };
        Ok(Answer::new(found, texts.about(), vec![]))
    }
}

/// Parses an argument of positive numbers, which are returned in ascending order; the defaults if it is blank.
pub(super) fn numbers(given: &str, name: &str, usual: &[f64]) -> Result<Vec<f64>> {
    if given.trim().is_empty() {
        return Ok(usual.to_vec());
    }
    let values: Option<Vec<f64>> = given.split(',').map(|v| v.trim().parse().ok()).collect();
    let is_fit = |v: &f64| v.is_finite() && *v > 0.0;
    match values {
        Some(mut values) if values.len() <= MAX_VALUES && values.iter().all(is_fit) => {
            values.sort_by(f64::total_cmp);
            values.dedup();
            Ok(values)
        }
        _ => bail!("`{given}` is not a list of {name}: give up to {MAX_VALUES} positive numbers, separated by commas"),
    }
}
