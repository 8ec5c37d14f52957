//! The grammatical roles of words, read off a network's features by ridge regression, or named by a supervised
//! tagger, in the same sentences: within the vocabulary that was learned, in the other one, and at deep roles. A treebank has
//! no other vocabulary; words of its held-out sentences that are outside of the one it has stand in its place.
//!
//! Probes are fitted to the training sentences with the weights as they are at the step: at step 0 to those of a network
//! that has learned nothing.

use std::{collections::HashSet, ops::Range};

use crate::{
    analysis::{
        ridge::{LinearMap, NormalEquations},
        singular_values::{entropy_rank, singular_values},
    },
    corpus::{SentenceSet, Source, TaggedSentence},
    probe::prelude::*,
};

const BATCH_SENTENCES: usize = 128;
/// Draws of a random projection; each is read on its own (the paper's table has five).
const PROJECTIONS: u64 = 5;

/// The model that reads the roles of words.
pub enum RoleReader<'m> {
    /// A ridge regression decodes the roles from the encoder's features.
    Encoder(&'m dyn SentenceEncoder),
    Tagger(&'m dyn SequenceTagger),
}

impl<'m> FromShared<'m> for RoleReader<'m> {
    fn from_shared(model: &'m dyn Trainable) -> Option<Self> {
        let tagger = || model.capabilities().sequence_tagger.map(RoleReader::Tagger);
        model.capabilities().sentence_encoder.map(RoleReader::Encoder).or_else(tagger)
    }
}

impl Probe for RoleAccuracyArgs {
    type Answer = Option<RoleAccuracy>;
    type Subject<'m> = RoleReader<'m>;
    const IS_SLOW: bool = true;

    fn ask(&self, reader: RoleReader<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let Source::GrammarRoles(sets) = cx.corpus.source() else { return Ok(Answer::default()) };
        let (sentences, roles) = (Sentences::new(cx.corpus, sets.treebank.is_some()), sets.roles());
        let (representations, ranks) = match reader {
            RoleReader::Encoder(encoder) => {
                let read = read_features(encoder.freeze()?.as_ref(), &sentences, roles.len(), self, cx)?;
                (read, ranks(encoder, self)?)
            }
            RoleReader::Tagger(tagger) => (vec![read_tags(tagger, &sentences, roles.len())?], vec![]),
        };
        let accuracy = RoleAccuracy {
            roles: roles.into_iter().map(str::to_owned).collect(),
            deep: sets.deep_roles(),
            train_sentences: sentences.train.len(),
            representations,
            ranks: ranks.into(),
        }
        .with_shares();
        let of = if sets.treebank.is_some() { "held-out sentences" } else { "sentences of each test" };
        let about = format!("{} {of}, {} to fit", sets.test, sets.train);
        Ok(Answer::new(Some(accuracy), about, vec![]))
    }
}

struct Sentences {
    train: Vec<TaggedSentence>,
    within: Vec<TaggedSentence>,
    transfer: Vec<TaggedSentence>,
    /// True for each sentence of `within` that does not occur in training.
    is_new: Vec<bool>,
    /// True of a treebank, whose id 0 stands for all words outside of its vocabulary: these are counted as transfer too.
    has_unknown: bool,
}

impl Sentences {
    fn new(corpus: &Corpus, has_unknown: bool) -> Self {
        let (train, within) = (corpus.sentences(SentenceSet::Train), corpus.sentences(SentenceSet::TestWithin));
        let known: HashSet<&[u32]> = train.iter().map(|s| s.words.as_slice()).collect();
        let is_new = within.iter().map(|s| !known.contains(s.words.as_slice())).collect();
        Self { is_new, transfer: corpus.sentences(SentenceSet::TestTransfer), train, within, has_unknown }
    }

    /// Counts the named labels, which are in the order of the words, from the sentence `from` on.
    fn count(&self, set: SentenceSet, from: usize, named: &[u8], into: &mut RoleRepresentation) {
        let sentences = if set == SentenceSet::TestTransfer { &self.transfer } else { &self.within };
        let mut named = named.iter();
        for (i, sentence) in sentences.iter().enumerate().skip(from) {
            for ((word, role), named) in sentence.words.iter().zip(&sentence.roles).zip(&mut named) {
                let (role, is_right) = (usize::from(*role), role == named);
                if self.has_unknown && *word == 0 {
                    into.transfer.add(role, is_right);
                }
                match set {
                    SentenceSet::TestTransfer => into.transfer.add(role, is_right),
                    _ => into.within.add(role, is_right),
                }
                if set == SentenceSet::TestWithin && self.is_new[i] {
                    into.within_new.add(role, is_right);
                }
            }
            if named.len() == 0 {
                return;
            }
        }
    }
}

fn word_ids(sentences: &[TaggedSentence]) -> Vec<&[u32]> {
    sentences.iter().map(|s| s.words.as_slice()).collect()
}

fn representation(features: RoleFeatures, level: usize, dims: usize, roles: usize) -> RoleRepresentation {
    let counts = || RoleCounts::new(roles);
    RoleRepresentation {
        features,
        level,
        dims,
        projected: false,
        finite: true,
        within: counts(),
        within_new: counts(),
        transfer: counts(),
        shares: vec![].into(),
    }
}

fn read_tags(tagger: &dyn SequenceTagger, sentences: &Sentences, roles: usize) -> Result<RoleRepresentation> {
    let mut found = representation(RoleFeatures::Tags, 0, 0, roles);
    for (set, of) in [(SentenceSet::TestWithin, &sentences.within), (SentenceSet::TestTransfer, &sentences.transfer)] {
        sentences.count(set, 0, &tagger.tags(&word_ids(of))?, &mut found);
    }
    Ok(found)
}

/// The effective rank of the feedforward weights of each level that is read, mean over directions; NaN of what is not a
/// number.
fn ranks(encoder: &dyn SentenceEncoder, args: &RoleAccuracyArgs) -> Result<Vec<f64>> {
    let read = args.levels.unwrap_or(usize::MAX).max(1);
    let mut by_level: Vec<Vec<f64>> = vec![];
    for FeedforwardWeights { level, units, values } in encoder.feedforward_weights()? {
        if level >= read {
            continue;
        }
        let found = singular_values(values.len() / units.max(1), units, &values);
        by_level.resize(by_level.len().max(level + 1), vec![]);
        by_level[level].push(found.map_or(f64::NAN, |values| entropy_rank(&values)));
    }
    Ok(by_level.iter().map(|ranks| mean(ranks)).collect())
}

struct FittedProbe {
    map: Option<LinearMap>,
    found: RoleRepresentation,
}

fn read_features(
    encoder: &dyn FrozenEncoder,
    sentences: &Sentences,
    roles: usize,
    args: &RoleAccuracyArgs,
    cx: &ProbeInputs<'_>,
) -> Result<Vec<RoleRepresentation>> {
    let read = args.levels.unwrap_or(usize::MAX).max(1);
    let levels: Vec<LevelFeatures> = encoder.levels().into_iter().take(read).collect();
    let total = sentences.train.len() + sentences.within.len() + sentences.transfer.len();
    let mut equations: Vec<NormalEquations> = levels.iter().map(|l| NormalEquations::new(l.width, roles)).collect();
    for (i, chunk) in sentences.train.chunks(BATCH_SENTENCES).enumerate() {
        cx.progress.at(i * BATCH_SENTENCES, total)?;
        let labels: Vec<u8> = chunk.iter().flat_map(|s| s.roles.iter().copied()).collect();
        for (equations, features) in equations.iter_mut().zip(encoder.encode(&word_ids(chunk))) {
            equations.add(&features, &labels);
        }
    }
    let fitted = |(l, (level, sums)): (usize, (&LevelFeatures, &NormalEquations))| {
        let mut readings = fit(l, level, sums, args.lambda);
        if args.project && l == 0 {
            readings.extend(fit_projected(level, sums, args.lambda, cx.seed));
        }
        readings
    };
    let mut readings: Vec<Vec<FittedProbe>> = levels.iter().zip(&equations).enumerate().map(fitted).collect();
    drop(equations);
    let mut done = sentences.train.len();
    for (set, of) in [(SentenceSet::TestWithin, &sentences.within), (SentenceSet::TestTransfer, &sentences.transfer)] {
        for (i, chunk) in of.chunks(BATCH_SENTENCES).enumerate() {
            cx.progress.at(done, total)?;
            done += chunk.len();
            for ((features, level), readings) in encoder.encode(&word_ids(chunk)).iter().zip(&levels).zip(&mut readings)
            {
                for FittedProbe { map, found } in readings {
                    let Some(map) = map else { continue };
                    sentences.count(set, i * BATCH_SENTENCES, &map.labels(features, level.width), found);
                }
            }
        }
    }
    Ok(readings.into_iter().flatten().map(|r| r.found).collect())
}

/// The kinds of features of a level, and where they stand.
fn parts(level: &LevelFeatures) -> [(RoleFeatures, Range<usize>); 3] {
    [
        (RoleFeatures::Activation, level.activation.clone()),
        (RoleFeatures::Traces, level.traces.clone()),
        (RoleFeatures::Both, 0..level.width),
    ]
}

fn reading(map: Option<LinearMap>, found: RoleRepresentation) -> FittedProbe {
    FittedProbe { found: RoleRepresentation { finite: map.is_some(), ..found }, map }
}

/// The maps of a level: each kind of features.
fn fit(l: usize, level: &LevelFeatures, sums: &NormalEquations, lambda: f64) -> Vec<FittedProbe> {
    let fit_part = |(features, part): &(RoleFeatures, Range<usize>)| {
        let map = sums.solve(std::slice::from_ref(part), lambda);
        reading(map, representation(*features, l, part.len(), sums.classes()))
    };
    parts(level).iter().map(fit_part).collect()
}

/// The maps of the lowest level's features, projected to equal dimension: for each dimension as many as there are draws.
fn fit_projected(level: &LevelFeatures, sums: &NormalEquations, lambda: f64, seed: u64) -> Vec<FittedProbe> {
    let (parts, equal) = (parts(level), level.activation.len());
    let projections = [(0, equal), (1, equal), (1, equal / 2)];
    let draws = |(which, dims): (usize, usize)| (0..PROJECTIONS).map(move |draw| (which, dims, draw));
    let fit_projection = |(which, dims, draw): (usize, usize, u64)| {
        let (features, part): &(RoleFeatures, Range<usize>) = &parts[which];
        let projection = gaussian(seed ^ dims as u64 ^ (draw << 32), part.len(), dims);
        let map = sums.solve_projected(std::slice::from_ref(part), &projection, lambda);
        reading(map, RoleRepresentation { projected: true, ..representation(*features, 0, dims, sums.classes()) })
    };
    projections.into_iter().filter(|(_, dims)| *dims > 0).flat_map(draws).map(fit_projection).collect()
}

/// P `(features, dims)` with independent normal entries of variance 1 / dims.
fn gaussian(seed: u64, features: usize, dims: usize) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let std = 1.0 / (dims as f64).sqrt();
    let pairs = (0..(features * dims).div_ceil(2)).flat_map(|_| {
        // Box and Muller, from draws in (0, 1]
        let r = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt() * std;
        let angle = std::f64::consts::TAU * rng.random::<f64>();
        [(r * angle.sin()) as f32, (r * angle.cos()) as f32]
    });
    pairs.take(features * dims).collect()
}
