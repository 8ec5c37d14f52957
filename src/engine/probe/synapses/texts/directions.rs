//! The loss of marked translations, `<F:en>...<T:es>...` a line, by language and by direction.

use std::collections::BTreeMap;

use crate::{
    corpus::generated::parliament::CODES,
    nn::IGNORE,
    probe::{position_losses::token_losses, prelude::*},
};

/// Languages by their number in [`CODES`]: that of a passage, and that of its translation.
type Direction = (usize, Option<usize>);

#[derive(Clone, Copy)]
enum Mark {
    /// A passage in this language begins.
    From(usize),
    /// Its translation into this language begins.
    To(usize),
    /// The line is over.
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

/// The loss of each direction that the held-out windows have; none where the text has no marks.
pub(super) fn losses(
    model: &dyn SynapseModel,
    corpus: &Corpus,
    windows: &Windows,
    device: &Device,
) -> Result<Vec<DirectionLoss>> {
    let marks = Marks::new(corpus);
    let mut sums: BTreeMap<Direction, (usize, f64)> = BTreeMap::new();
    for (inputs, targets) in windows.inputs.chunks(windows.len).zip(windows.targets.chunks(windows.len)) {
        let directions = marks.directions(targets);
        if directions.iter().all(Option::is_none) {
            continue;
        }
        let nats = token_losses(&model.logits(&one_text(inputs, device)?, &mut Tap::off())?, targets)?;
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
