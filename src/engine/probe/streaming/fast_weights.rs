//! Fast weights that go on learning while a model reads: a sweep over their learning rate and the limit of precisions,
//! and what remains of the model without the trained weights.

use super::{
    reading::{StreamReader, TokenCosts, perplexity_added},
    texts::{StreamSizes, StreamTexts},
};
use crate::{
    models::capabilities::{FastWeightModel, FastWeightRule, StreamingModel},
    probe::prelude::*,
    telemetry::measurements::{FastWeightSetting, FastWeights, FastWeightsArgs},
};

/// The swept values of eta. Table 5 of the paper has 1e-3 as the default, and 1e-4 and 1e-5 as tuned values.
const RATES: [f64; 4] = [1e-5, 1e-4, 1e-3, 1e-2];
/// The swept values of pi_max. Table 5 of the paper has 100 as the default and 1 with both tuned rates.
const LIMITS: [f64; 3] = [1.0, 10.0, 100.0];
/// Settings that are measured with W_base = 0: one that learns nothing, and the larger of the paper's two tuned rates.
const WITHOUT_BASE: [(f64, f64); 2] = [(0.0, 1.0), (1e-4, 1.0)];
const FOREIGN: usize = 1;
const MIN_TOKENS: usize = 50;
const MAX_VALUES: usize = 8;

/// Makes a [`FastWeights`].
pub struct FastWeightSweep;

/// A model whose fast weights learn, and its reader without them.
type LearningReader<'m> = (&'m dyn FastWeightModel, &'m dyn StreamingModel);

impl Probe for FastWeightSweep {
    type Args = FastWeightsArgs;
    type Subject<'m> = LearningReader<'m>;
    const TAKES_LONG: bool = true;

    fn ask((model, plain): LearningReader<'_>, args: &FastWeightsArgs, cx: &ProbeInputs<'_>) -> Result<Vec<Answer>> {
        let (rates, limits) = (numbers(&args.rates, "rates", &RATES)?, numbers(&args.limits, "limits", &LIMITS)?);
        let sizes = StreamSizes { rows: args.streams, len: args.tokens, least: MIN_TOKENS, foreign: FOREIGN };
        let texts = StreamTexts::new(cx.corpus, sizes)?;
        let reader = StreamReader { texts: &texts, device: cx.device };
        let (n, all) = (texts.texts.len(), rates.len() * limits.len() + WITHOUT_BASE.len() + 1);
        let mut baseline: Vec<TokenCosts> = vec![];
        for text in 0..n {
            baseline.push(reader.read_all(text, plain.stream().as_mut(), cx.progress.piece(text, all * n))?);
        }
        let sweep = RuleSweep { reader: &reader, model, baseline: &baseline };
        let progress = |i: usize| cx.progress.piece(i + 1, all);
        let grid = rates.iter().flat_map(|rate| limits.iter().map(move |limit| (*rate, *limit)));
        let rule = |(rate, max_precision), has_base| FastWeightRule { rate, max_precision, has_base };
        let with_base =
            grid.enumerate().map(|(i, at)| sweep.measure(&rule(at, true), progress(i))).collect::<Result<Vec<_>>>()?;
        let from = with_base.len();
        let without_base = WITHOUT_BASE.into_iter().enumerate();
        let without_base = without_base
            .map(|(i, at)| sweep.measure(&rule(at, false), progress(from + i)))
            .collect::<Result<Vec<_>>>()?;
        let found = FastWeights {
            texts: texts.texts.iter().map(|t| t.name.clone()).collect(),
            streams: texts.rows,
            tokens: texts.len,
            baseline: baseline.iter().map(TokenCosts::perplexity).collect(),
            rates: rates.into(),
            limits: limits.into(),
            sweep: with_base,
            without_base,
            notes: texts.notes.clone(),
        };
        Ok(vec![Answer::new(found, texts.about(), vec![])])
    }
}

/// Positive numbers of an argument, ascending; the usual ones where it is blank.
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
        _ => candle_core::bail!(
            "`{given}` is not a list of {name}: give up to {MAX_VALUES} positive numbers, separated by commas"
        ),
    }
}

struct RuleSweep<'a> {
    reader: &'a StreamReader<'a>,
    model: &'a dyn FastWeightModel,
    /// The costs of each text without fast weights.
    baseline: &'a [TokenCosts],
}

impl RuleSweep<'_> {
    /// Measures all texts with one rule.
    fn measure(&self, rule: &FastWeightRule, progress: Progress<'_>) -> Result<FastWeightSetting> {
        let mut found = FastWeightSetting {
            rate: rule.rate,
            max_precision: rule.max_precision,
            perplexity: vec![].into(),
            change: vec![].into(),
            change_low: vec![].into(),
            change_high: vec![].into(),
        };
        for (text, baseline) in self.baseline.iter().enumerate() {
            let mut stream = self.model.stream_with_fast_weights(rule);
            let costs = self.reader.read_all(text, stream.as_mut(), progress.piece(text, self.baseline.len()))?;
            let change = perplexity_added(&baseline.by_stream(), &costs.by_stream());
            found.perplexity.0.push(costs.perplexity());
            found.change.0.push(change.mean);
            found.change_low.0.push(change.low);
            found.change_high.0.push(change.high);
        }
        Ok(found)
    }
}
