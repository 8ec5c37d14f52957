//! Whether the running variance of a prediction's error tells foreign text from the run's own, window by window, beside the
//! model's own surprise. It does not know how the variance is kept.

use super::{
    reading::{Reader, TokenCosts, mean},
    texts::StreamTexts,
};
use crate::{
    analysis::roc::{self, auroc},
    config::Value,
    models::{Model, capabilities::FastWeightRule},
    nn::Result,
    probe::{Finding, ProbeContext, UntypedProbe},
    telemetry::measurements::{Auroc, Uncertainty, UncertaintyText},
};

/// A variance that follows errors by a hundredth a token still holds this long 5% of where it began.
const SKIPPED: usize = 300;
const FOREIGN: usize = 3;
/// Large enough that no channel's variance is cut off, unless it is asked for.
const MOST_PRECISION: f64 = 1e6;

/// Arguments: `window` (tokens of a window, 50), `streams` (of each text, 16), `tokens` (of each stream, 800; the first 300
/// are not counted), `rate` (eta, 0 for frozen weights) and `most_precision` (pi_max, a million: no limit in practice).
/// Makes an [`Uncertainty`].
pub struct UncertaintyProbe;

impl UntypedProbe for UncertaintyProbe {
    fn id(&self) -> &'static str {
        "uncertainty"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.fast_weights().is_some()
    }

    fn takes_long(&self) -> bool {
        true
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let Some(model) = cx.model.fast_weights() else { return Ok(vec![]) };
        let number = |name: &str, usual: f64| {
            let asked = cx.args.get(name).and_then(Value::as_f64);
            asked.filter(|v| v.is_finite() && *v >= 0.0).unwrap_or(usual)
        };
        let rule = FastWeightRule {
            rate: number("rate", 0.0),
            most_precision: number("most_precision", MOST_PRECISION),
            has_base: true,
        };
        let window = cx.count("window", 50, 5..=1000);
        let least = SKIPPED + window;
        let sizes = (cx.count("streams", 16, 2..=64), cx.count("tokens", 800, least..=20_000));
        let texts = StreamTexts::of(cx, sizes, least, FOREIGN)?;
        let reader = Reader { texts: &texts, device: cx.device };
        let mut read = vec![];
        for i in 0..texts.texts.len() {
            let mut stream = model.stream_with_fast_weights(&rule);
            let costs = reader.read_all(i, stream.as_mut(), cx.progress.piece(i, texts.texts.len()))?;
            read.push(Windows::of(&costs, window));
        }
        let names = texts.texts.iter().map(|t| t.name.clone());
        let found = Uncertainty {
            window,
            streams: texts.rows,
            skipped: SKIPPED,
            rate: rule.rate,
            most_precision: rule.most_precision,
            texts: names.enumerate().map(|(i, name)| of_text(name, &read, i)).collect(),
            notes: texts.notes.clone(),
        };
        Ok(vec![Finding::new(found, texts.about(), vec![])])
    }
}

/// Mean U and mean nats of every window, stream by stream.
struct Windows {
    uncertainty: Vec<Vec<f64>>,
    surprise: Vec<Vec<f64>>,
}

impl Windows {
    fn of(costs: &TokenCosts, window: usize) -> Self {
        let means = |values: &[f64]| -> Vec<Vec<f64>> {
            values.chunks(costs.len).map(|row| row[SKIPPED..].chunks_exact(window).map(mean).collect()).collect()
        };
        Self { uncertainty: means(&costs.uncertainty), surprise: means(&costs.nats) }
    }
}

/// A text against the first; of the first, its later streams against its earlier ones.
fn of_text(name: String, read: &[Windows], i: usize) -> UncertaintyText {
    let of = |values: fn(&Windows) -> &Vec<Vec<f64>>| {
        let (these, own) = (values(&read[i]), values(&read[0]));
        let half = own.len() / 2;
        if i == 0 { auroc(&own[half..], &own[..half]) } else { auroc(these, own) }
    };
    let measured = |roc::Auroc { value, low, high }| Auroc { value, low, high };
    UncertaintyText {
        name,
        uncertainty: read[i].uncertainty.concat().into(),
        surprise: read[i].surprise.concat().into(),
        by_uncertainty: measured(of(|w| &w.uncertainty)),
        by_surprise: measured(of(|w| &w.surprise)),
    }
}
