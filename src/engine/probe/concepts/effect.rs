//! Tests what a search found: whether an intervention changes what follows sentences with the concept, and nothing else.
//! Sentences are those of the confirmation, which no synapse was chosen by.

use super::{
    super::synapses::{ForwardPass, MatchedNull, missing_names, read_rows, request},
    ConceptQuestion, LEVEL, PRESETS, given,
    question::extent,
};
use crate::{
    corpus::generated::parliament::labelled::{Sentence, SplitSide, follow_ups, sentences},
    probe::prelude::*,
};

/// The number of sentences read at once.
const ROWS: usize = 8;

/// A sentence with its continuation.
struct FollowUp {
    ids: Vec<u32>,
    /// The position where the follow-up begins.
    from: usize,
    has_concept: bool,
}

/// Returns no answer if the arguments change nothing.
impl Probe for ConceptEffectArgs {
    type Answer = Option<ConceptEffect>;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;

    fn missing(&self) -> Option<&'static str> {
        missing_names(&self.change)
    }

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let asked = request(&self.change, model.shape())?;
        if asked.is_empty() {
            return Ok(Answer::default());
        }
        let (concept, rows, follows) = followed(cx, model, self)?;
        // each reading with its number among all passes over the rows
        let losses = |change: Option<&Intervention>, number: usize| {
            losses(model, &rows, change, cx.progress.piece(number, self.draws + 3))
        };
        let before = losses(None, 0)?;
        let own = difference(&losses(Some(&asked.change), 1)?, &before);
        let texts: Vec<&[u32]> = rows.iter().map(|r| r.ids.as_slice()).collect();
        let null = MatchedNull::new(model, &texts, &asked.change)?;
        let mut rng = ChaCha8Rng::seed_from_u64(cx.seed ^ 0x636f_6e63);
        let mut drawn = vec![];
        for draw in 0..self.draws {
            let Some((target, _)) = null.draw(&asked.change.target, &mut rng) else { break };
            let change = Intervention { target, ..asked.change.clone() };
            drawn.push(difference(&losses(Some(&change), draw + 3)?, &before));
        }
        let text = |FollowUp { ids, from, .. }: &FollowUp| {
            format!("{} | {}", cx.corpus.decode(&ids[..*from]), cx.corpus.decode(&ids[*from..]))
        };
        let side = |with: bool| ConceptSide {
            sentences: rows.iter().filter(|r| r.has_concept == with).map(text).collect(),
            loss: side_values(&rows, &before, with).into(),
            change: side_values(&rows, &own, with).into(),
            null_draws: drawn.iter().map(|d| mean(&side_values(&rows, d, with))).collect::<Vec<_>>().into(),
        };
        let mut measured = ConceptEffect {
            concept,
            names: asked.names(model.shape().per_head()).concat(),
            action: asked.description,
            follows,
            with: side(true),
            without: side(false),
            ..ConceptEffect::default()
        };
        fill_verdict(&mut measured, cx.seed);
        let about = format!(
            "{}, {} sentences with it and {} without that took no part in the search",
            measured.concept,
            measured.with.loss.len(),
            measured.without.loss.len()
        );
        Ok(Answer::new(Some(measured), about, vec![]))
    }
}

/// The mean loss of the continuation of each row, with the model unchanged or under a change, nats per token.
fn losses(
    model: &dyn SynapseModel,
    rows: &[FollowUp],
    change: Option<&Intervention>,
    progress: Progress<'_>,
) -> Result<Vec<f64>> {
    let mut all = vec![];
    for part in rows.chunks(ROWS) {
        progress.at(all.len(), rows.len())?;
        let ids: Vec<&[u32]> = part.iter().map(|r| r.ids.as_slice()).collect();
        let log_probs = read_rows(model, &ids, change)?; // (B, T, V)
        for (k, row) in part.iter().enumerate() {
            // The output at position s predicts token s + 1.
            let followed = &row.ids[row.from..];
            let places = log_probs.get(k)?.narrow(0, row.from - 1, followed.len())?;
            all.push(mean(&nats_at(&places, followed)?));
        }
    }
    Ok(all)
}

fn side_values(rows: &[FollowUp], values: &[f64], with: bool) -> Vec<f64> {
    rows.iter().zip(values).filter(|(r, _)| r.has_concept == with).map(|(_, v)| *v).collect()
}

/// The concept's name, its sentences with their continuations, and a description of these.
fn followed(
    cx: &ProbeInputs<'_>,
    model: &dyn SynapseModel,
    args: &ConceptEffectArgs,
) -> Result<(String, Vec<FollowUp>, String)> {
    let (count, length) = (args.sentences, args.length);
    let question = match (given(args.with.as_deref()), given(args.without.as_deref())) {
        (None, None) => {
            let id = given(args.preset.as_deref()).unwrap_or("currency");
            let known = PRESETS.iter().find(|p| p.0 == id);
            let Some(&(_, class, naive)) = known else { bail!("there is no concept `{id}`") };
            if !naive {
                let extent = extent(cx.corpus, false);
                let all = sentences(class, &extent);
                let rows = select_evenly(all.iter().filter(|s| s.part == SplitSide::BothNew), |s| s.has_concept, count)
                    .into_iter()
                    .enumerate()
                    .filter_map(|(k, s)| with_follow_up(cx.corpus, s, k, &follow_ups(s, &extent)))
                    .collect();
                return Ok((class.name().to_owned(), rows, "the text's own follow-up".to_owned()));
            }
            ConceptQuestion::preset(id, cx.corpus, false)
                .ok_or_else(|| Error::Msg(format!("there is no concept `{id}`")))?
        }
        (with, without) => {
            ConceptQuestion::from_lists(with.unwrap_or_default(), without.unwrap_or_default(), cx.corpus)
                .map_err(Error::Msg)?
        }
    };
    let mut rows = vec![];
    for item in select_evenly(question.items_in(SplitSide::BothNew), |i| i.has_concept, count) {
        let said = ForwardPass::run(model, &item.ids, None, length, cx.progress)?.continuation;
        let ids = [item.ids.as_slice(), &said].concat();
        if !said.is_empty() {
            rows.push(FollowUp { from: item.ids.len(), ids, has_concept: item.has_concept });
        }
    }
    let follows = format!("the {length} tokens that the model itself says, each the likeliest");
    Ok((question.concept, rows, follows))
}

/// The sentence with one of the follow-ups of its own class.
fn with_follow_up(
    corpus: &Corpus,
    sentence: &Sentence,
    k: usize,
    all: &[(crate::corpus::generated::parliament::Class, Vec<String>)],
) -> Option<FollowUp> {
    let own = &all.iter().find(|(class, _)| *class == sentence.class)?.1;
    let follow_up = own.get(k % own.len().max(1))?;
    let from = corpus.encode(&sentence.text).len();
    let ids = corpus.encode(&format!("{} {follow_up}", sentence.text));
    (from > 0 && ids.len() > from).then_some(FollowUp { ids, from, has_concept: sentence.has_concept })
}

/// Chooses at most `count` items of each side, spread evenly over all.
fn select_evenly<T>(all: impl Iterator<Item = T>, is_with: impl Fn(&T) -> bool, count: usize) -> Vec<T> {
    let (with, without): (Vec<T>, Vec<T>) = all.partition(is_with);
    let some = |side: Vec<T>| {
        let n = side.len();
        let is_taken = move |k: usize| n <= count || (k * count) / n != ((k + 1) * count) / n;
        side.into_iter().enumerate().filter(move |(k, _)| is_taken(*k)).map(|(_, v)| v)
    };
    some(with).chain(some(without)).collect()
}

/// (1 + hits) / (1 + draws); NaN without draws.
fn share_at_least(own: f64, draws: impl ExactSizeIterator<Item = f64>) -> f64 {
    let all = draws.len();
    let hits = draws.filter(|d| *d >= own).count();
    if all == 0 { f64::NAN } else { (1 + hits) as f64 / (1 + all) as f64 }
}

/// Fills in the shares and the verdict; `seed` is that of the random targets.
fn fill_verdict(m: &mut ConceptEffect, seed: u64) {
    let (with, without) = (m.with.mean_change(), m.without.mean_change());
    m.p_with = share_at_least(with, m.with.null_draws.iter().copied());
    m.p_without = share_at_least(without.abs(), m.without.null_draws.iter().map(|d| d.abs()));
    let pairs = m.with.null_draws.iter().zip(m.without.null_draws.iter());
    let differences: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
    m.p_difference = share_at_least(with - without, differences.into_iter());
    let draws = m.with.null_draws.len();
    let numbers = format!(
        "Loss of what follows: {} nats per token with the concept (p {:.3}), {} without it (p {:.3}); the difference has p {:.3} \
         among {draws} random ones as active (seed {seed}).",
        signed(with),
        m.p_with,
        signed(without),
        m.p_without,
        m.p_difference
    );
    let raises = with > 0.0 && m.p_with <= LEVEL && m.p_difference <= LEVEL;
    m.confirmed = raises && m.p_without > LEVEL;
    m.verdict = match (draws, raises, m.confirmed) {
        (0, ..) => format!("Not tested: there are too few others as active to compare with. {numbers}"),
        (_, _, true) => format!("It is used for the concept, and for nothing else that was looked at. {numbers}"),
        (_, true, false) => format!("It is used for the concept, but not for that alone. {numbers}"),
        _ => format!("Nothing found: what follows the concept is told as well without it. {numbers}"),
    };
}

/// Formats a change with its sign: "+2.98e-8", "0".
fn signed(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:+.2e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(with: f64, without: f64) -> ConceptEffect {
        let side = |change: f64| ConceptSide {
            sentences: vec!["a | b".to_owned(); 2],
            loss: vec![1.0, 1.0].into(),
            change: vec![change; 2].into(),
            null_draws: (0..39).map(|k| 0.001 * f64::from(k % 7 - 3)).collect::<Vec<_>>().into(),
        };
        let mut m = ConceptEffect {
            concept: "currency".into(),
            names: vec!["2 0:1>0:2".into()],
            with: side(with),
            without: side(without),
            ..ConceptEffect::default()
        };
        fill_verdict(&mut m, 7);
        m
    }

    #[test]
    fn only_what_changes_the_concept_alone_is_confirmed() {
        let alone = effect(0.1, 0.0);
        assert!(alone.confirmed && (alone.p_with - 1.0 / 40.0).abs() < 1e-12, "{}", alone.verdict);
        assert!(alone.verdict.ends_with("among 39 random ones as active (seed 7)."), "{}", alone.verdict);
        let broad = effect(0.1, 0.02);
        assert!(!broad.confirmed && broad.verdict.contains("not for that alone"), "{}", broad.verdict);
        for (with, without) in [(0.0, 0.0), (0.1, 0.1), (-0.1, 0.0)] {
            let none = effect(with, without);
            assert!(!none.confirmed && none.verdict.starts_with("Nothing found"), "{}", none.verdict);
        }
    }

    #[test]
    fn both_sides_are_taken_evenly() {
        let taken = select_evenly((0..100).map(|k| (k, k % 2 == 0)), |v| v.1, 5);
        assert_eq!(taken.iter().filter(|v| v.1).count(), 5);
        assert_eq!(taken.len(), 10);
        assert!(taken[0].0 < 20 && taken[4].0 > 80, "{taken:?}");
        assert_eq!(select_evenly(0..3, |_| true, 5), [0, 1, 2]);
    }
}
