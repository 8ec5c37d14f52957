//! Golden hashes of all generated texts, so that no change of the data or of the code alters an existing corpus, and
//! with it the runs that were trained on it, unnoticed. They also check that a writer fills every slot of its
//! templates.

use super::*;
use crate::corpus::generated::{
    grammar_roles::Grammar,
    parliament::{
        Class,
        labelled::{follow_ups, sentences},
    },
    template::{Expand, Lexicon},
    theme::{Beat, GARDEN, HARBOUR, KITCHEN, LETTERS, OBSERVATORY},
};
use sha2::{Digest, Sha256};

/// The second is long enough to meet nearly every template.
const SEEDS_AND_SIZES: [(u64, usize); 2] = [(1, 20_000), (7, 400_000)];

const HASHES: &[(&str, &str)] = &[
    ("mixture", "718991d55047648e"),
    ("harbour", "23de92195bc15e23"),
    ("garden", "81fd2b569bc3b91b"),
    ("observatory", "38b7e8f8ea8d4601"),
    ("kitchen", "11e4db202ba60f9e"),
    ("letters", "5b18ddf588d1a84b"),
    ("domains", "5c02f7db94102bc3"),
    ("facts", "1562d287f6f0f224"),
    ("facts_symbols", "fc21202b7a797869"),
    ("mqar_easy", "98bb688e538376cc"),
    ("mqar_medium", "d5fe4fc07d23a193"),
    ("mqar_hard", "772c52d5eb86de6d"),
    ("repeat_after_me", "73a4a20cdfe174d5"),
    ("chains", "aecab5af7926176e"),
    ("symbols", "332e22c38390db29"),
    ("steering", "9d5f9d3e4209575e"),
    ("repeats", "745c0bd3513f9a80"),
    ("grammar_roles", "486821fb661ada8c"),
    ("parliament", "c53197cc4285f955"),
    ("parliament_naive", "324c1b3db5bbcc56"),
    ("parliament_en_es", "71fd1653073f63d2"),
    ("parliament_en_fr", "71a23f109d5536a5"),
    ("parliament_en_de", "32f6c6b554e59931"),
    ("parliament_fr_es", "378d191e45ea917f"),
    ("parliament_fr_de", "28061ec12bd12e7a"),
    ("parliament_es_de", "2daf79ad31954a05"),
    ("parliament_en_pt", "ddfd5638200e7b7b"),
    ("parliament_fr_pt", "f1825e4d747124f7"),
    ("parliament_es_pt", "e4d2f8b616ea2ea4"),
    ("parliament_de_pt", "8953c79937d2c9e5"),
    ("parts of domains", "a56abb281bcf466f"),
    ("part of parliament", "2f83632ab1c438d7"),
    ("parliament in five languages", "2459d1d18d0cdc74"),
    ("questions about the parliament", "ba1ac54818ff8532"),
    ("sentences with roles", "e173d25f48d321a0"),
    ("every word of steering", "4900208d92109d3a"),
];

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Running text at every seed and size; windows and examples of several lengths where it is a task.
fn generated_text(corpus: &Generated) -> String {
    let words = |text: &str| text.split_whitespace().count();
    if let Some(style) = corpus.facts() {
        let lengths = (0..200).map(|i| (100 + i, 20 + i as u64));
        return lengths
            .map(|(len, seed)| format!("{:?}", story::window(style, &mut rng(seed), (len, 36), &words)))
            .collect();
    }
    if let Some(recall) = corpus.recall() {
        let len = |i| recall.min_len() + 3 * i as usize;
        let learned: String = (0..50).map(|i| format!("{:?}", recall.example(&mut rng(i), len(i)))).collect();
        let mut held_out: String =
            (0..50).map(|i| format!("{:?}", recall.held_out_example(&mut rng(i), len(i)))).collect();
        if held_out == learned {
            held_out.clear();
        }
        return format!("{}{learned}{held_out}", recall.all_symbols_text());
    }
    SEEDS_AND_SIZES.map(|(seed, size)| corpus.text(seed, size)).concat()
}

/// Everything that is asked of a model about the parliament.
fn all_questions(extent: &Extent) -> String {
    let mut out = String::new();
    for concept in &Class::ALL[..extent.kinds] {
        for sentence in sentences(*concept, extent) {
            out.push_str(&format!("{sentence:?}{:?}", follow_ups(&sentence, extent)));
        }
    }
    // the hashes are older than the names of these two fields
    out.replace("is_new_frame: ", "fresh: ").replace("has_concept: ", "with: ")
}

fn roles() -> String {
    let mut rng = rng(5);
    let vocabularies = [grammar_roles::Vocabulary::Animals, grammar_roles::Vocabulary::Vehicles];
    let drawn = (0..500).map(|i| format!("{:?}", Grammar::default().sentence(vocabularies[i % 2], &mut rng)));
    format!("{:?}{}", grammar_roles::words(), drawn.collect::<String>())
}

#[test]
fn generated_bytes_stay_as_they_were() {
    assert_eq!(SIZE, 1_400_000, "every run that was recorded read so much of a text");
    let part = Extent { languages: 3, kinds: 4, nouns: 10, frames: 9, follow_ups: 2, listing: 0.3, naive: false };
    let mut all: Vec<(String, String)> = CORPORA.iter().map(|c| (c.id.to_owned(), generated_text(c))).collect();
    let parts =
        (1..=domains::MAX_DOMAINS).map(|n| domains::text(3, 20_000, n) + &domains::single_domain(4, 30_000, n - 1));
    all.push(("parts of domains".into(), parts.collect()));
    all.push(("part of parliament".into(), part_of_parliament(2, 50_000, &part) + &all_questions(&part)));
    let five = Extent { languages: 5, ..Extent::WHOLE };
    all.push(("parliament in five languages".into(), part_of_parliament(2, 50_000, &five)));
    all.push(("questions about the parliament".into(), all_questions(&Extent::WHOLE) + &all_questions(&Extent::NAIVE)));
    all.push(("sentences with roles".into(), roles()));
    all.push(("every word of steering".into(), steering::every_word()));
    let hash = |text: &str| Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>();
    let found: Vec<(String, String)> = all.into_iter().map(|(name, text)| (name, hash(&text))).collect();
    let known: Vec<(String, String)> = HASHES.iter().map(|(name, hash)| ((*name).into(), (*hash).into())).collect();
    assert!(found == known, "these are the hashes now: {found:#?}");
}

/// Meets every slot of a template, and refuses one that nothing fills.
struct Checker<'a> {
    words: &'a Lexicon,
    people: bool,
}

impl Checker<'_> {
    fn check<'t>(&mut self, templates: impl IntoIterator<Item = &'t String>) {
        for template in templates {
            assert_eq!(template.matches('[').count(), template.matches(']').count(), "{template}");
            self.expand(&template.replace(['[', ']', '|'], " "), &mut String::new());
        }
    }
}

impl Expand for Checker<'_> {
    fn slot(&mut self, slot: &str, _: &mut String) {
        if let Some(form) = slot.strip_prefix(['A', 'B']).filter(|_| self.people) {
            let known = ["", "?", ".full", ".role", ".he", ".him", ".his", ".himself"];
            return assert!(known.contains(&form), "{slot}");
        }
        let list = slot.strip_prefix('$').map_or(slot, |fact| fact.split('/').next().unwrap_or(fact));
        assert!(!self.words.list(list).is_empty(), "{slot}");
    }

    fn choose(&mut self, _: usize) -> usize {
        0
    }
}

#[test]
fn every_slot_of_prose_is_filled() {
    for theme in [&HARBOUR, &GARDEN, &OBSERVATORY, &KITCHEN, &LETTERS] {
        let mut checker = Checker { words: &theme.words, people: true };
        checker.check([&theme.open, &theme.meet, &theme.ambient, &theme.close].into_iter().flatten());
        checker.check(theme.greeting.iter().chain(&theme.signature));
        for beat in theme.plots.iter().flat_map(|plot| &plot.beats) {
            if let Beat::Pool(pool) = beat {
                assert!(!pool.is_empty());
                checker.check(pool);
            }
        }
    }
    for scene in &story::DATA.scenes {
        let mut checker = Checker { words: &story::DATA.words, people: false };
        checker.check(scene.ask.iter().chain(&scene.filler));
        checker.check(&scene.fact.iter().map(|fact| fact.replace("{name}", "")).collect::<Vec<_>>());
    }
}
