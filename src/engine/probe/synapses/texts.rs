//! A model on every text of its run: the held-out loss, by language and by direction of translations where the text has marks of
//! them, and the continuation of a prompt.

use std::collections::BTreeMap;

use crate::{
    corpus::generated::parliament::{AUXILIARY, CODES},
    nn::IGNORE,
    probe::{position_losses::token_losses, prelude::*},
};

/// Tokens of a prompt.
const PROMPT: usize = 40;
/// Rows of a batch.
const ROWS: usize = 8;
const TEMPERATURE: f64 = 0.7;

impl Probe for TextLossesArgs {
    type Answer = TextLosses;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (count, len) = (self.windows, self.window);
        let corpora = if cx.texts.is_empty() { std::slice::from_ref(cx.corpus) } else { cx.texts };
        let mut texts = vec![];
        for (i, corpus) in corpora.iter().enumerate() {
            cx.progress.at(i, corpora.len())?;
            let windows = corpus.held_out(count, len)?;
            let prompt = corpus.passage(1, PROMPT);
            texts.push(TextLoss {
                name: corpus.name().split(" (").next().unwrap_or_default().to_owned(),
                loss: loss(model, &windows, ROWS)?,
                continuation: corpus.decode(&continuation(model, &prompt, self.write)?),
                prompt: corpus.decode(&prompt),
                directions: direction_losses(model, corpus, &windows)?,
            });
        }
        let mut measured = TextLosses { texts, auxiliary: vec![] };
        let prompts = if self.write > 0 { measured.prompts_into_english(&AUXILIARY.sentence) } else { vec![] };
        for prompt in prompts {
            let written = continuation(model, &cx.corpus.encode(&prompt), self.write)?;
            let (english, continuation) = (AUXILIARY.english.clone(), cx.corpus.decode(&written));
            measured.auxiliary.push(AuxiliarySample { prompt, english, continuation });
        }
        let about = format!("{count} held-out windows of {len} tokens a text");
        Ok(Answer::new(measured, about, vec![]))
    }
}

/// The mean loss in nats per token, computed in batches of at most `batch_rows` rows.
pub(super) fn loss(model: &dyn SynapseModel, w: &Windows, batch_rows: usize) -> Result<f64> {
    let mut sum = 0.0;
    for from in (0..w.rows).step_by(batch_rows) {
        let rows = batch_rows.min(w.rows - from);
        let span = from * w.len..(from + rows) * w.len;
        let batch = Batch::from_ids(&w.inputs[span.clone()], &w.targets[span], rows, w.len, model.params().device())?;
        sum += host::scalar(&model.evaluate(&batch)?)? * rows as f64;
    }
    Ok(sum / w.rows.max(1) as f64)
}

/// The tokens that the model writes after the prompt; the same draws for every model.
fn continuation(model: &dyn SynapseModel, prompt: &[u32], tokens: usize) -> Result<Vec<u32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let device = model.params().device();
    let mut state = State::empty(model.shape(), 1, device)?;
    let (mut fresh, mut written) = (prompt.to_vec(), vec![]);
    while written.len() < tokens && !fresh.is_empty() {
        let logits = model.read(&text_batch(&fresh, device)?, &mut state, &mut Tap::off())?; // (1,T,V)
        let next = draw(&last_row(&logits)?, TEMPERATURE, &mut rng);
        written.push(next);
        fresh = vec![next];
    }
    Ok(written)
}

/// Languages by their number in [`CODES`]: that of a passage, and that of its translation.
type Direction = (usize, Option<usize>);

#[derive(Clone, Copy)]
enum Mark {
    /// A passage in this language begins.
    From(usize),
    /// Its translation into this language begins.
    To(usize),
    /// The line has ended.
    End,
}

/// Marks as ids, for tokenisers that keep them apart from the text around them.
struct Marks(Vec<(Vec<u32>, Mark)>);

impl Marks {
    fn new(corpus: &Corpus) -> Self {
        let marks = CODES
            .iter()
            .enumerate()
            .flat_map(|(i, code)| [(format!("<F:{code}>"), Mark::From(i)), (format!("<T:{code}>"), Mark::To(i))]);
        let ends = std::iter::once(("\n".to_owned(), Mark::End));
        let ids = |(text, mark): (String, Mark)| (corpus.encode(&text), mark);
        Self(marks.chain(ends).map(ids).filter(|(ids, _)| !ids.is_empty()).collect())
    }

    /// The direction of each target of a row; `None` for marks, for what is before the first one of the row, and for
    /// translations of a passage that began before it.
    fn directions(&self, targets: &[u32]) -> Vec<Option<Direction>> {
        let mut found = vec![None; targets.len()];
        let mut now: Option<Direction> = None;
        for i in 0..targets.len() {
            found[i] = now;
            let ends_here = |(ids, _): &&(Vec<u32>, Mark)| targets[..=i].ends_with(ids);
            let Some((ids, mark)) = self.0.iter().find(ends_here) else { continue };
            found[i + 1 - ids.len()..=i].fill(None);
            now = match *mark {
                Mark::From(language) => Some((language, None)),
                Mark::To(language) => now.map(|(from, _)| (from, Some(language))),
                Mark::End => None,
            };
        }
        found
    }
}

/// The loss of each direction of marked translations, `<F:en>...<T:es>...` a line, that the held-out windows have; none where
/// the text has no marks.
fn direction_losses(model: &dyn SynapseModel, corpus: &Corpus, windows: &Windows) -> Result<Vec<DirectionLoss>> {
    let marks = Marks::new(corpus);
    let mut sums: BTreeMap<Direction, (usize, f64)> = BTreeMap::new();
    for (inputs, targets) in windows.inputs.chunks(windows.len).zip(windows.targets.chunks(windows.len)) {
        let directions = marks.directions(targets);
        if directions.iter().all(Option::is_none) {
            continue;
        }
        let batch = text_batch(inputs, model.params().device())?;
        let nats = token_losses(&model.logits(&batch, &mut Tap::off())?, targets)?;
        for ((direction, nats), _) in directions.iter().zip(nats).zip(targets).filter(|(_, t)| **t != IGNORE) {
            if let Some(direction) = direction {
                let (tokens, sum) = sums.entry(*direction).or_default();
                *tokens += 1;
                *sum += nats;
            }
        }
    }
    let code = |i: usize| CODES.get(i).copied().unwrap_or_default().to_owned();
    let loss = |((from, to), (tokens, sum)): (Direction, (usize, f64))| DirectionLoss {
        from: code(from),
        to: to.map(code),
        tokens,
        loss: sum / tokens as f64,
    };
    Ok(sums.into_iter().map(loss).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<u32> {
        text.bytes().map(u32::from).collect()
    }

    #[test]
    fn tokens_belong_to_the_marks_before_them() {
        let mark = |(text, mark): (&str, Mark)| (ids(text), mark);
        let all = [
            ("<F:en>", Mark::From(0)),
            ("<F:fr>", Mark::From(1)),
            ("<T:en>", Mark::To(0)),
            ("<T:fr>", Mark::To(1)),
            ("\n", Mark::End),
        ];
        let marks = Marks(all.map(mark).to_vec());
        let text = "xy<T:en>lost\n<F:en>ab<T:fr>cde\n<F:fr>g";
        let directions = marks.directions(&ids(text));
        let of = |letters: &str| {
            let at = text.find(letters).unwrap();
            directions[at..at + letters.len()].to_vec()
        };
        assert!(of("xy<T:en>lost\n<F:en>").iter().all(Option::is_none), "its passage began before the row");
        assert_eq!(of("ab"), [Some((0, None)); 2]);
        assert!(of("<T:fr>").iter().all(Option::is_none), "marks are not scored");
        assert_eq!(of("cde"), [Some((0, Some(1))); 3]);
        assert_eq!(of("g"), [Some((1, None))]);
        assert!(marks.directions(&ids("plain text")).iter().all(Option::is_none));
    }
}
