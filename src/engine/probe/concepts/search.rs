//! The search itself: a short list of neurons, a ranking of their pairs, and the confirmation of the first.

use super::{
    question::{ConceptQuestion, ConceptSentence},
    reading::{Scalar, SentenceReader, ShortList},
};
use crate::{
    analysis::{clustered_tests::Clusters, multiple_testing::holm},
    corpus::generated::parliament::labelled::SplitSide,
    probe::prelude::*,
};

/// The parameters of the search, fixed before looking; see [`super`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchParams {
    /// The scalar that a sentence gives for a neuron or a synapse.
    pub scalar: Scalar,
    /// Neurons a side and layer whose pairs are searched.
    pub per_side: usize,
    /// The number of synapses that are confirmed.
    pub confirmed: usize,
    /// The number of standard errors (over nouns) taken off a correlation before it is ranked.
    pub caution: f64,
    /// The number of permutations of clusters, or of draws.
    pub draws: usize,
}

impl Default for SearchParams {
    fn default() -> Self {
        Self { scalar: Scalar::Mean, per_side: 64, confirmed: 10, caution: 1.0, draws: 9999 }
    }
}

/// The strength with which a synapse separates sentences with the concept from others, in one part of the split.
#[derive(Debug, Clone, PartialEq)]
pub struct Strength {
    /// The part of the split.
    pub part: SplitSide,
    /// Rank-biserial correlation over all sentences of the part.
    pub r: f64,
    /// Its 95% interval when nouns are drawn again.
    pub interval: (f64, f64),
    /// One-sided p when nouns are shuffled.
    pub p: f64,
    /// The rank-biserial correlation in each language.
    pub by_language: Vec<f64>,
    /// p of each language, corrected for their number (Holm).
    pub p_by_language: Vec<f64>,
}

/// A synapse of the short list with its tests.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSynapse {
    /// The synapse.
    pub synapse: Synapse,
    /// The strengths in the order of [`SplitSide::ALL`]; parts without sentences are left out.
    pub strengths: Vec<Strength>,
    /// p on new nouns in new frames, corrected for how many synapses were confirmed (Holm).
    pub holm: f64,
    /// Mean scalar of each noun over all its sentences, by number in the question.
    pub by_noun: Vec<f64>,
}

impl FoundSynapse {
    /// Returns the strength in this part of the split, if the part has sentences.
    pub fn strength(&self, part: SplitSide) -> Option<&Strength> {
        self.strengths.iter().find(|s| s.part == part)
    }

    /// The correlation in a part; NaN if it has no sentences.
    pub fn r(&self, part: SplitSide) -> f64 {
        self.strength(part).map_or(f64::NAN, |s| s.r)
    }

    /// The number of languages in which its correlation on new nouns in new frames is significant (corrected p at most
    /// 0.05).
    pub fn significant_languages(&self) -> usize {
        self.strength(SplitSide::BothNew).map_or(0, |s| s.p_by_language.iter().filter(|p| **p <= 0.05).count())
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The number of ranked pairs.
    pub searched: usize,
    /// Neurons N of a head.
    pub per_head: usize,
    /// The synapses in the order of the ranking.
    pub synapses: Vec<FoundSynapse>,
}

impl SearchResult {
    /// The greatest correlation of any confirmed synapse on new nouns in new frames.
    pub fn best_correlation(&self) -> f64 {
        self.synapses.iter().map(|s| s.r(SplitSide::BothNew)).fold(f64::NAN, f64::max)
    }

    /// The correlation of the synapse ranked first.
    pub fn first_correlation(&self) -> f64 {
        self.synapses.first().map_or(f64::NAN, |s| s.r(SplitSide::BothNew))
    }
}

/// A search of one model for the concept of a question.
pub(super) struct Search<'a> {
    pub reader: SentenceReader<'a>,
    pub question: &'a ConceptQuestion,
    pub params: &'a SearchParams,
}

impl Search<'_> {
    pub(super) fn run(&self, progress: Progress<'_>) -> Result<SearchResult> {
        let Self { reader, question, params } = self;
        let items: Vec<&ConceptSentence> = question.items_in(SplitSide::Search).collect();
        let sides = self.shortlist(&items, progress.piece(0, 4))?;
        let values = reader.pairs(&items, &sides, params.scalar, progress.piece(1, 4))?;
        let ranking = progress.piece(2, 4);
        let strata = Strata::new(question, &items);
        let mut ranked: Vec<(f64, Synapse)> = vec![];
        for (i, (ShortList { layer, y: ys, x: xs }, values)) in sides.iter().zip(&values).enumerate() {
            let size = ys.len() * xs.len();
            for pair in 0..size {
                if pair % 64 == 0 {
                    ranking.piece(i, sides.len()).at(pair, size)?;
                }
                let of_pair: Vec<f64> = (0..items.len()).map(|s| f64::from(values[s * size + pair])).collect();
                let synapse = Synapse { layer: *layer, i: ys[pair / xs.len()], j: xs[pair % xs.len()] };
                ranked.push((strata.score(&of_pair, params.caution), synapse));
            }
        }
        let searched = ranked.len();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let chosen = limit_per_neuron(&ranked, params.confirmed);
        let per_head = reader.model.shape().per_head();
        Ok(SearchResult { searched, per_head, synapses: self.confirm(&chosen, progress.piece(3, 4))? })
    }

    /// Keeps the most selective y and x of each layer.
    fn shortlist(&self, items: &[&ConceptSentence], progress: Progress<'_>) -> Result<Vec<ShortList>> {
        let Self { reader, question, params } = self;
        let (n, layers) = (reader.model.shape().neurons, reader.model.shape().layers);
        let languages = question.languages.len().max(1);
        // [layer][side][neuron * languages + language]
        let side = vec![ConceptMoments::default(); n * languages];
        let mut moments = vec![[side.clone(), side]; layers];
        reader.neurons(items, progress, |i, layer, y, x| {
            for (side, values) in moments[layer].iter_mut().zip([y, x]) {
                for (neuron, v) in values.iter().enumerate() {
                    side[neuron * languages + items[i].language].add(items[i].has_concept, *v);
                }
            }
        })?;
        let most = |side: &[ConceptMoments]| -> Vec<usize> {
            let of_neuron = |m: &[ConceptMoments]| statistics::mean_of(m.iter().map(ConceptMoments::selectivity));
            let mean: Vec<f64> = side.chunks(languages).map(of_neuron).collect();
            statistics::largest(&mean, params.per_side)
        };
        let list = |layer: usize| ShortList { layer, y: most(&moments[layer][0]), x: most(&moments[layer][1]) };
        Ok((1..layers).map(list).collect())
    }

    fn confirm(&self, chosen: &[Synapse], progress: Progress<'_>) -> Result<Vec<FoundSynapse>> {
        let Self { reader, question, params } = self;
        let items: Vec<&ConceptSentence> = question.items.iter().collect();
        let values = reader.synapses(&items, chosen, params.scalar, progress.piece(0, 2))?;
        let mut synapses = vec![];
        for (i, (&synapse, values)) in chosen.iter().zip(&values).enumerate() {
            progress.piece(1, 2).at(i, chosen.len())?;
            let strengths = SplitSide::ALL.iter().filter_map(|&part| self.strength(&items, values, part)).collect();
            synapses.push(FoundSynapse { synapse, strengths, holm: 1.0, by_noun: by_noun(question, &items, values) });
        }
        let p: Vec<f64> = synapses.iter().map(|s| s.strength(SplitSide::BothNew).map_or(1.0, |s| s.p)).collect();
        synapses.iter_mut().zip(holm(&p)).for_each(|(s, p)| s.holm = p);
        Ok(synapses)
    }

    fn strength(&self, items: &[&ConceptSentence], values: &[f64], part: SplitSide) -> Option<Strength> {
        let Self { question: q, params, .. } = self;
        let values_in = |language: Option<usize>| -> Vec<(f64, &ConceptSentence)> {
            let chosen = |i: &&ConceptSentence| i.part == part && language.is_none_or(|l| i.language == l);
            values.iter().copied().zip(items.iter().copied()).filter(|(_, i)| chosen(i)).collect()
        };
        let all = values_in(None);
        if all.is_empty() {
            return None;
        }
        // Only nouns of this part take part in the shuffle.
        let clusters = |some: &[(f64, &ConceptSentence)]| {
            let mut nouns: Vec<usize> = some.iter().map(|(_, i)| i.noun).collect();
            nouns.sort_unstable();
            nouns.dedup();
            let at: Vec<usize> = some.iter().map(|(_, i)| nouns.partition_point(|n| *n < i.noun)).collect();
            let with: Vec<bool> = nouns.iter().map(|n| q.nouns[*n].has_concept).collect();
            Clusters::new(&some.iter().map(|s| s.0).collect::<Vec<_>>(), &at, &with)
        };
        let pooled = clusters(&all);
        // The seeds are fixed: the same question has the same answer.
        let languages: Vec<Clusters> = (0..q.languages.len()).map(|l| clusters(&values_in(Some(l)))).collect();
        let confirms = part == SplitSide::BothNew;
        let p_of = |c: &Clusters, seed: u64| if confirms { c.permutation_p(params.draws, seed) } else { f64::NAN };
        let p: Vec<f64> = languages.iter().enumerate().map(|(l, c)| p_of(c, 3 + l as u64)).collect();
        Some(Strength {
            part,
            r: pooled.rank_biserial(),
            interval: if confirms { pooled.bootstrap(params.draws.min(1999), 1) } else { (f64::NAN, f64::NAN) },
            p: p_of(&pooled, 2),
            by_language: languages.iter().map(Clusters::rank_biserial).collect(),
            p_by_language: if confirms { holm(&p) } else { p },
        })
    }
}

/// The first of a ranking with no neuron of a side more than twice: ten synapses of one neuron would be one
/// finding.
fn limit_per_neuron(ranked: &[(f64, Synapse)], count: usize) -> Vec<Synapse> {
    let mut taken: Vec<Synapse> = vec![];
    for (_, synapse) in ranked {
        let shared = |same: fn(&Synapse, &Synapse) -> bool| taken.iter().filter(|t| same(t, synapse)).count();
        let same_y = shared(|a, b| (a.layer, a.i) == (b.layer, b.i));
        let same_x = shared(|a, b| (a.layer, a.j) == (b.layer, b.j));
        if same_y < 2 && same_x < 2 {
            taken.push(*synapse);
        }
        if taken.len() == count {
            break;
        }
    }
    taken
}

/// Sums of a neuron over the sentences of one language, with and without the concept.
#[derive(Clone, Copy, Default)]
struct ConceptMoments {
    n: [f64; 2],
    sum: [f64; 2],
    squares: [f64; 2],
}

impl ConceptMoments {
    fn add(&mut self, has_concept: bool, v: f32) {
        let (side, v) = (usize::from(has_concept), f64::from(v));
        self.n[side] += 1.0;
        self.sum[side] += v;
        self.squares[side] += v * v;
    }

    /// Difference of means over the pooled standard deviation.
    fn selectivity(&self) -> f64 {
        let mean = |s: usize| self.sum[s] / self.n[s].max(1.0);
        let variance = |s: usize| (self.squares[s] / self.n[s].max(1.0) - mean(s).powi(2)).max(0.0);
        let spread = ((variance(0) + variance(1)) / 2.0).sqrt();
        if spread < 1e-9 { 0.0 } else { (mean(1) - mean(0)) / spread }
    }
}

/// Sentences by language, ready to be ranked within each.
struct Strata {
    /// (sentence, noun, with) of each language.
    languages: Vec<Vec<(usize, usize, bool)>>,
    nouns: usize,
}

impl Strata {
    fn new(question: &ConceptQuestion, items: &[&ConceptSentence]) -> Self {
        let mut languages = vec![vec![]; question.languages.len()];
        items.iter().enumerate().for_each(|(i, item)| languages[item.language].push((i, item.noun, item.has_concept)));
        Self { languages, nouns: question.nouns.len() }
    }

    /// Rank-biserial correlation within languages, averaged over nouns, less `caution` standard errors over
    /// nouns of either side (DeLong's placements, clustered).
    fn score(&self, values: &[f64], caution: f64) -> f64 {
        // Sum and number of placements of each noun, with sides apart.
        let mut placed = vec![(0.0, 0.0); self.nouns];
        let mut with_side = vec![false; self.nouns];
        for stratum in &self.languages {
            let mut sides = [vec![], vec![]];
            stratum.iter().for_each(|&(i, _, with)| sides[usize::from(with)].push(values[i]));
            sides.iter_mut().for_each(|s| s.sort_unstable_by(f64::total_cmp));
            for &(i, noun, with) in stratum {
                let others = &sides[usize::from(!with)];
                if others.is_empty() {
                    continue;
                }
                let (v, n) = (values[i], others.len() as f64);
                let below = others.partition_point(|o| *o < v) + others.partition_point(|o| *o <= v);
                let placement = below as f64 / n - 1.0;
                placed[noun].0 += if with { placement } else { -placement };
                placed[noun].1 += 1.0;
                with_side[noun] = with;
            }
        }
        let (mut sum, mut error) = (0.0, 0.0);
        for side in [false, true] {
            let means: Vec<f64> = placed
                .iter()
                .zip(&with_side)
                .filter(|((_, n), with)| *n > 0.0 && **with == side)
                .map(|((s, n), _)| s / n)
                .collect();
            let (mean, sd) = statistics::mean_sd(&means);
            if means.is_empty() {
                return -1.0;
            }
            sum += mean / 2.0;
            error += sd * sd / means.len() as f64;
        }
        sum - caution * error.sqrt()
    }
}

fn by_noun(question: &ConceptQuestion, items: &[&ConceptSentence], values: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); question.nouns.len()];
    for (v, item) in values.iter().zip(items) {
        sums[item.noun].0 += v;
        sums[item.noun].1 += 1.0;
    }
    sums.iter().map(|(s, n)| if *n > 0.0 { s / n } else { f64::NAN }).collect()
}
