//! Adaptation and forgetting (appendices E and F of arXiv 2604.08556): the model reads its own text, a foreign text,
//! and its own text again. A model with fast weights learns while it reads; for other models a copy is fine-tuned on
//! the foreign text, window by window.

use std::ops::Range;

use super::{
    fast_weights::numbers,
    streams::{StreamReader, StreamSizes, StreamTexts, TokenCosts, nats, perplexity_added},
};
use crate::{
    nn::{AdamW, optimiser::AdamWSpec},
    probe::{prelude::*, subject::copy_of},
};

/// Rates of fast weights, and learning rates; the paper's are among them.
const RATES: [f64; 3] = [1e-4, 1e-3, 1e-2];
const LEARNING_RATES: [f64; 3] = [5e-5, 3e-4, 1e-3];
/// The limit of precisions that the paper ended with.
const MAX_PRECISION: f64 = 1.0;

impl Probe for AdaptationArgs {
    type Answer = Adaptation;
    type Subject<'m> = &'m dyn Trainable;
    const IS_SLOW: bool = true;

    /// A model that can read the texts: with fast weights, or as one whose copy is fine-tuned.
    fn subject(model: &mut dyn Trainable) -> Option<&dyn Trainable> {
        let able = model.capabilities();
        (able.token_model.is_some() && able.recovery.is_none()).then_some(model)
    }

    fn ask(&self, model: &dyn Trainable, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let able = model.capabilities();
        let window = self.window.min(able.positions.unwrap_or(usize::MAX));
        let min_len = 5 * window;
        let sizes = StreamSizes { rows: self.streams, len: (5 * self.tokens / 2).max(min_len), min_len, foreign: 1 };
        let texts = StreamTexts::new(cx.corpus, sizes)?;
        let [own, foreign] = &texts.texts[..] else {
            return Err(Error::Msg(format!("There is no foreign text to learn from. {}", texts.notes.join(" "))));
        };
        let learner = Learner {
            model,
            reader: StreamReader { texts: &texts, device: cx.device },
            phases: Phases::new(texts.len, window),
            window,
            cx,
        };
        let has_fast_weights = able.fast_weights.is_some() && able.streaming.is_some();
        let (method, usual) = if has_fast_weights { ("fast weights", RATES) } else { ("fine-tuning", LEARNING_RATES) };
        let rates = numbers(&self.rates, "rates", &usual)?;
        let all = rates.len() + 1;
        let read = |rate: Option<f64>, progress: Progress<'_>| match has_fast_weights {
            true => learner.streamed(rate, progress),
            false => learner.fine_tuned(rate, progress),
        };
        let plain = read(None, cx.progress.piece(0, all))?;
        let setting = |(i, rate): (usize, &f64)| -> Result<AdaptationSetting> {
            let learned = read(Some(*rate), cx.progress.piece(i + 1, all))?;
            Ok(AdaptationSetting {
                rate: *rate,
                adaptation: saved(&plain.foreign, &learned.foreign),
                forgetting: perplexity_added(&plain.own, &learned.own),
            })
        };
        let found = Adaptation {
            method: method.to_owned(),
            own: own.name.clone(),
            foreign: foreign.name.clone(),
            streams: texts.rows,
            own_tokens: learner.phases.after.len(),
            foreign_tokens: learner.phases.foreign.end,
            foreign_perplexity: mean(&plain.foreign).exp(),
            own_perplexity: mean(&plain.own).exp(),
            settings: rates.iter().enumerate().map(setting).collect::<Result<_>>()?,
            notes: texts.notes.clone(),
        };
        let about = format!("{method}, {} of {}", texts.about(), foreign.name);
        Ok(Answer::new(found, about, vec![]))
    }
}

/// Stretches of the streams, in whole windows: the own text's first two fifths, all of the foreign one, and the own text's last
/// two fifths.
#[derive(Clone)]
struct Phases {
    before: Range<usize>,
    foreign: Range<usize>,
    after: Range<usize>,
}

impl Phases {
    fn new(len: usize, window: usize) -> Self {
        let fifth = (len / (5 * window)).max(1) * window;
        Self { before: 0..2 * fifth, foreign: 0..5 * fifth, after: 3 * fifth..5 * fifth }
    }
}

/// Mean nats per token of each stream, over the parts that count.
struct Costs {
    /// The costs of the last quarter of the foreign text.
    foreign: Vec<f64>,
    /// The costs of the model's own text that follows.
    own: Vec<f64>,
}

impl Costs {
    fn new(foreign: &TokenCosts, own: &TokenCosts) -> Self {
        let last = foreign.len - foreign.len / 4;
        Self { foreign: foreign.nats.chunks(foreign.len).map(|row| mean(&row[last..])).collect(), own: own.by_stream() }
    }
}

/// The share by which perplexity is lower with `changed` than with `plain`.
fn saved(plain: &[f64], changed: &[f64]) -> ShareWithInterval {
    let ShareWithInterval { mean, low, high } = perplexity_added(plain, changed);
    ShareWithInterval { mean: -mean, low: -high, high: -low }
}

/// The indices of the texts of [`StreamTexts`].
const OWN_TEXT_INDEX: usize = 0;
const FOREIGN: usize = 1;

struct Learner<'a> {
    model: &'a dyn Trainable,
    reader: StreamReader<'a>,
    phases: Phases,
    window: usize,
    cx: &'a ProbeInputs<'a>,
}

impl Learner<'_> {
    /// Reads by one stream, whose fast weights learn at this rate; without a rate there are none.
    fn streamed(&self, rate: Option<f64>, progress: Progress<'_>) -> Result<Costs> {
        let able = self.model.capabilities();
        let (Some(learning), Some(plain)) = (able.fast_weights, able.streaming) else {
            return Err(Error::Msg("this model has no fast weights".to_owned()));
        };
        let rule = |rate| FastWeightRule { rate, max_precision: MAX_PRECISION, has_base: true };
        let mut stream: Box<dyn TextStream + '_> = match rate {
            Some(rate) => learning.stream_with_fast_weights(&rule(rate)),
            None => plain.stream(),
        };
        let Phases { before, foreign, after } = self.phases.clone();
        self.reader.read(OWN_TEXT_INDEX, before, stream.as_mut(), progress.piece(0, 3))?;
        let foreign = self.reader.read(FOREIGN, foreign, stream.as_mut(), progress.piece(1, 3))?;
        let own = self.reader.read(OWN_TEXT_INDEX, after, stream.as_mut(), progress.piece(2, 3))?;
        Ok(Costs::new(&foreign, &own))
    }

    /// The costs of a copy of the model that reads each window of the foreign text and then learns from it at `rate`.
    fn fine_tuned(&self, rate: Option<f64>, progress: Progress<'_>) -> Result<Costs> {
        let mut copy = copy_of(self.model, 0, self.cx)?;
        let Phases { foreign, after, .. } = self.phases.clone();
        let foreign = self.windows(copy.as_mut(), FOREIGN, foreign, rate, progress.piece(0, 2))?;
        let own = self.windows(copy.as_mut(), OWN_TEXT_INDEX, after, None, progress.piece(1, 2))?;
        Ok(Costs::new(&foreign, &own))
    }

    fn windows(
        &self,
        model: &mut dyn Trainable,
        text: usize,
        span: Range<usize>,
        rate: Option<f64>,
        progress: Progress<'_>,
    ) -> Result<TokenCosts> {
        let (rows, window) = (self.reader.texts.rows, self.window);
        let mut costs = TokenCosts::unread(rows, span.len());
        let spec = AdamWSpec { weight_decay: 0.0, ..AdamWSpec::default() };
        let mut adam = rate.map(|_| AdamW::new(model.params(), spec)).transpose()?;
        for (step, begin) in (1..).zip(span.clone().step_by(window)) {
            progress.at(begin - span.start, span.len())?;
            let [inputs, targets] = self.reader.part(text, begin..begin + window);
            let batch = Batch::from_ids(&inputs, &targets, rows, window, self.reader.device)?;
            let logits = model.token_model()?.logits(&batch.tokens, &mut Tap::off())?;
            costs.write(begin - span.start, &nats(&logits, &targets)?);
            if let (Some(adam), Some(rate)) = (&mut adam, rate) {
                model.begin_step(step)?;
                let grads = model.loss(&batch)?.total.backward()?;
                adam.step(model.params(), &grads, rate)?;
            }
        }
        Ok(costs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_perplexity() {
        let (plain, changed) = ([2.0, 3.0], [2.0 + 2f64.ln(), 3.0 + 2f64.ln()]);
        assert!((perplexity_added(&plain, &changed).mean - 1.0).abs() < 1e-12);
        let saved = saved(&changed, &plain);
        assert!((saved.mean - 0.5).abs() < 1e-12 && saved.low <= saved.mean && saved.mean <= saved.high, "{saved:?}");
        assert!(perplexity_added(&[1.0], &[1.0]).low.is_nan(), "one stream has no interval");
    }

    #[test]
    fn phases_are_whole_windows() {
        let phases = Phases::new(5010, 64);
        assert_eq!((phases.before, phases.foreign, phases.after), (0..1920, 0..4800, 2880..4800));
        let phases = Phases::new(40, 8);
        assert_eq!((phases.before, phases.foreign, phases.after), (0..16, 0..40, 24..40));
    }
}
