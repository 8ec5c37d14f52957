//! A text that the model continues writing, shown while it is written.

use std::time::{Duration, Instant};

use super::ReadingQuery;
use crate::probe::prelude::*;

impl ReadingQuery<'_> {
    /// Returns the ids of the text and of the model's continuation, and shows the continuation while it is generated.
    pub(super) fn continued_ids(&self) -> Result<Vec<u32>> {
        let (given, write) = (self.passage.ids.len(), self.args.write);
        let mut ids = self.passage.ids.clone();
        if write == 0 {
            return Ok(ids);
        }
        let sampling = Sampling { temperature: self.args.temperature, seed: self.cx.seed };
        let mut shown = WrittenSoFar::default();
        let mut wanted = Ok(());
        let known = self.cx.corpus.decodable_vocab();
        generate(self.model, &self.passage.ids, write, sampling, known, &mut |id| {
            ids.push(id);
            let written = ids.len() - given;
            wanted = self.cx.progress.at(written, write).and_then(|()| match written < write {
                true => shown.show(self, &ids),
                false => Ok(()),
            });
            wanted.is_ok()
        })?;
        wanted.map(|()| ids)
    }
}

/// The interval at which partial texts are shown.
const DISPLAY_INTERVAL: Duration = Duration::from_millis(100);
/// The share of the time that reading a partial text may take, or the text would wait for it.
const READING_SHARE: f64 = 0.25;

/// The part of a text that is shown while it is written: every token, and the values of synapses when it was last read.
#[derive(Default)]
struct WrittenSoFar {
    shown: Option<Instant>,
    /// The last reading, its time and its duration.
    read: Option<(SynapseReading, Instant, Duration)>,
}

impl WrittenSoFar {
    /// The first token at once and without a reading, which takes longer than to write it.
    fn show(&mut self, question: &ReadingQuery<'_>, ids: &[u32]) -> Result<()> {
        if !question.cx.progress.has_receiver() || self.shown.is_some_and(|at| at.elapsed() < DISPLAY_INTERVAL) {
            return Ok(());
        }
        let is_due = |(_, at, took): &(_, Instant, Duration)| {
            took.as_secs_f64() < READING_SHARE * (at.elapsed().as_secs_f64() + took.as_secs_f64())
        };
        if self.shown.is_some() && self.read.as_ref().is_none_or(is_due) {
            let began = Instant::now();
            let reading = question.read(ids)?;
            self.read = Some((reading, Instant::now(), began.elapsed()));
        }
        let reading = match &self.read {
            Some((reading, ..)) => reading.clone(),
            None => SynapseReading {
                layer: question.layer,
                per_head: question.model.shape().per_head(),
                temperature: question.args.temperature,
                ..SynapseReading::default()
            },
        };
        let written = ids.len() - question.passage.ids.len();
        self.shown = Some(Instant::now());
        question.cx.progress.show(question.answer(SynapseReading { written, ..reading }, ids));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_shown_before_its_end() -> Result<()> {
        use std::{cell::RefCell, sync::atomic::AtomicBool};

        use crate::{
            models::bdh::{Bdh, BdhSpec},
            telemetry::Measurement,
        };
        let corpus = testing::prose()?;
        let sizes = BdhSpec { heads: 2, neurons: 64, d_model: 16, layers: 3, ..BdhSpec::default() };
        let model = Bdh::new(&sizes, corpus.vocab(), 3, &Device::Cpu)?;
        let args = ReadingArgs { text: "the tide".into(), write: 4000, ..ReadingArgs::default() };
        let (shown, never) = (RefCell::new(vec![]), AtomicBool::new(false));
        let report = |_| ();
        let show = |so_far: Answer| {
            let reading = SynapseReading::from_payload(&so_far.payload).cloned().unwrap();
            shown.borrow_mut().push((reading, so_far.tokens));
            // a slow listener also gets the next token, however fast the model generates
            if shown.borrow().len() <= 2 {
                std::thread::sleep(DISPLAY_INTERVAL);
            }
        };
        let progress = Progress::new(&report, &never).showing(&show);
        let cx = ProbeInputs::standalone(&corpus, &Device::Cpu);
        let whole = args.ask(&model, &ProbeInputs { progress, ..cx })?;
        let unseen = args.ask(&model, &cx)?;
        assert_eq!(unseen.tokens, whole.tokens, "who looks changes nothing");
        let shown = shown.into_inner();
        assert!((3..200).contains(&shown.len()), "{} times", shown.len());
        let (first, tokens) = &shown[0];
        assert_eq!((first.written, tokens.len(), first.synapses.len()), (1, 9, 0), "the first token at once");
        assert!(shown.windows(2).all(|w| w[0].1.len() < w[1].1.len()), "each shows more than the one before");
        assert!(shown.iter().all(|(reading, tokens)| tokens.len() == 8 + reading.written));
        assert!(shown.iter().all(|(_, tokens)| tokens[..] == whole.tokens[..tokens.len()]), "what comes stays");
        assert!(shown[1..].iter().all(|(reading, _)| !reading.synapses.is_empty()), "sigma moves with the text");
        Ok(())
    }
}
