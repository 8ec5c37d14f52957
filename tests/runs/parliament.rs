//! Tests the multilingual parliament corpus: its grammar, the alignment of its languages, and the split of its
//! sentences for the search for concepts.

use orrery::corpus::generated::{
    self,
    parliament::{
        CODES, Class, Extent,
        labelled::{Sentence, SplitSide, follow_ups, sentences},
    },
};
use std::collections::{BTreeMap, BTreeSet};

const CONCEPTS: [Class; 2] = [Class::Currency, Class::Country];

/// The whole corpora leave Portuguese out, so that extents of every language are tested too.
const EVERY_LANGUAGE: Extent = Extent { languages: CODES.len(), ..Extent::WHOLE };
const EVERY_LANGUAGE_NAIVE: Extent = Extent { languages: CODES.len(), ..Extent::NAIVE };
const EXTENTS: [Extent; 4] = [Extent::WHOLE, Extent::NAIVE, EVERY_LANGUAGE, EVERY_LANGUAGE_NAIVE];

fn text(extent: &Extent, seed: u64) -> String {
    generated::part_of_parliament(seed, generated::SIZE, extent)
}

/// Both halves of a line, each with its language and its text.
fn halves(line: &str) -> [(&str, &str); 2] {
    let (from, to) = line.strip_prefix("<F:").unwrap().split_once("<T:").unwrap();
    [from.split_once('>').unwrap(), to.split_once('>').unwrap()]
}

#[test]
#[ignore = "prints sentences to read"]
fn show() {
    for extent in EXTENTS {
        println!("{}", text(&extent, 5).lines().take(40).collect::<Vec<_>>().join("\n"));
    }
    for s in sentences(Class::Country, &Extent::WHOLE).iter().filter(|s| s.part == SplitSide::BothNew).step_by(7) {
        println!("{} {} {} {}", s.text, s.class.name(), s.entity, s.has_concept);
    }
}

#[test]
fn pairs_are_aligned_in_two_languages() {
    for extent in EXTENTS {
        let text = text(&extent, 1);
        assert!(text.len() >= generated::SIZE);
        assert_eq!(text, self::text(&extent, 1));
        assert_ne!(text, self::text(&extent, 2));
        // every sentence has exactly one translation into each language, in both directions
        let mut said: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
        let mut pairs = BTreeSet::new();
        for line in text.lines() {
            let [(from, a), (to, b)] = halves(line);
            assert!(CODES.contains(&from) && CODES.contains(&to) && from != to, "{line}");
            let count = |said: &str| said.matches(['.', '?']).count();
            assert_eq!(count(a), count(b), "{line}");
            // a text is a sentence with a follow-up; lists and naive sentences have no follow-up
            let alone = extent.naive || line.contains(" and ") || line.contains(" et ");
            assert!(count(a) == 1 || (count(a) == 2 && !alone), "{line}");
            said.entry((from, to, a)).or_default().insert(b);
            said.entry((to, from, b)).or_default().insert(a);
            pairs.insert((from, to));
        }
        assert_eq!(pairs.len(), extent.languages * (extent.languages - 1));
        for (key, translations) in said {
            assert_eq!(translations.len(), 1, "{key:?} {translations:?}");
        }
    }
}

#[test]
fn the_writing_is_clean() {
    for extent in EXTENTS {
        for line in text(&extent, 3).lines() {
            for (_, said) in halves(line) {
                let first = said.trim_start_matches('¿').chars().next().unwrap();
                assert!(first.is_uppercase() && said.ends_with(['.', '?']), "{line}");
                let bad = ["  ", "{", "}", "(", ")", "|", " .", "+", "/", "0"];
                assert!(!bad.iter().any(|b| said.contains(b)), "{line}");
            }
        }
    }
}

/// Grammatical errors that the generator could make: missing contractions, wrong elisions, cases and endings.
#[test]
fn articles_contract_and_agree() {
    // enough text that every noun occurs in every frame
    let text: String =
        (4..12).map(|seed| text(&EVERY_LANGUAGE, seed)).chain([self::text(&EVERY_LANGUAGE_NAIVE, 4)]).collect();
    let mut by_language: BTreeMap<&str, String> = BTreeMap::new();
    for (language, said) in text.lines().flat_map(halves) {
        let all = by_language.entry(language).or_default();
        all.push_str(said);
        all.push('\n');
    }
    let [fr, es, de, en, pt] = ["fr", "es", "de", "en", "pt"].map(|code| &by_language[code]);
    for wrong in [" de le ", " de les ", " à le ", " à les ", " le e", " la E", " la I", " la A", "l'H", "l'y", " du a"]
    {
        assert!(!fr.contains(wrong), "French: {wrong}");
    }
    for right in [
        "de l'euro",
        "du dollar",
        "des Pays-Bas",
        "au Portugal",
        "aux oranges",
        "de la Hongrie",
        "à l'Autriche",
        "d'Athènes",
        "de l'orge",
        "Les Pays-Bas restent un cas",
        "Leurs frontières",
        "Les oranges sont à l'ordre du jour.",
    ] {
        assert!(fr.contains(right), "French: {right}");
    }
    for wrong in
        [" de el ", " a el ", "el libra", "la euro", "Países Bajos sigue ", "los Francia", "del Francia", " y I"]
    {
        assert!(!es.contains(wrong), "Spanish: {wrong}");
    }
    for right in [
        "del euro",
        "al dólar",
        "de los Países Bajos",
        "Las patatas siguen",
        "a la libra",
        "de Francia",
        " e Italia",
        " y España",
    ] {
        assert!(es.contains(right), "Spanish: {right}");
    }
    for wrong in
        ["von dem ", "zu dem ", "zu der ", "den Pfund", "das Euro", "über dem ", "mit der Euro", "mit den Euro"]
    {
        assert!(!de.contains(wrong), "German: {wrong}");
    }
    for right in [
        "vom Euro",
        "zur Krone",
        "zum Pfund",
        "mit dem Pfund",
        "über den Dollar",
        "mit den Niederlanden",
        "über die Niederlande ",
        "von der Schweiz",
        "dem Roten Kreuz",
        "das Rote Kreuz",
        "Die Orangen bleiben",
        "Ihr Kurs",
        "Sein Kurs",
        "Ihre Grenzen",
    ] {
        assert!(de.contains(right), "German: {right}");
    }
    for wrong in [
        " de o ",
        " de a ",
        " de os ",
        " de as ",
        " a o ",
        " a a ",
        " a os ",
        " a as ",
        " em o ",
        " em a ",
        " por o ",
        " por a ",
        " por os ",
        " por as ",
        "do libra",
        "da euro",
        "o Portugal",
        "da Viena",
        "Os Países Baixos está ",
    ] {
        assert!(!pt.contains(wrong), "Portuguese: {wrong}");
    }
    for right in [
        "do euro",
        "ao dólar",
        "à libra",
        "às batatas",
        "aos Países Baixos",
        "de Portugal",
        "a Lisboa",
        "no iene",
        "na França",
        "nas laranjas",
        "em Londres",
        "pelo Japão",
        "pelos Países Baixos",
        "por Portugal",
        "pela Cruz Vermelha",
        "As laranjas continuam",
        "Os Países Baixos estão na ordem do dia.",
        " e a Itália",
    ] {
        assert!(pt.contains(right), "Portuguese: {right}");
    }
    assert!(en.contains("The oranges are on") && en.contains("Their stores") && en.contains("The Netherlands is on"));
    // in German, the possessive pronoun agrees with the gender of the currency
    for line in de.lines() {
        if line.contains("Krone") && line.contains("Kurs") {
            assert!(line.contains("Ihr Kurs"), "{line}");
        }
        if line.contains("Euro") && line.contains("Kurs") {
            assert!(line.contains("Sein Kurs"), "{line}");
        }
    }
}

#[test]
fn splits_are_disjoint_and_every_noun_is_in_the_training_text() {
    let text = text(&Extent::WHOLE, 1);
    let spoken: BTreeSet<(&str, &str)> = text
        .lines()
        .flat_map(halves)
        .map(|(language, said)| (language, &said[..said.find(['.', '?']).map_or(0, |at| at + 1)]))
        .collect();
    for concept in CONCEPTS {
        let all = sentences(concept, &Extent::WHOLE);
        let of = |part: SplitSide| all.iter().filter(move |s| s.part == part).collect::<Vec<_>>();
        let nouns = |part: SplitSide| of(part).iter().map(|s| (s.class, s.entity)).collect::<BTreeSet<_>>();
        let frames = |part: SplitSide| of(part).iter().map(|s| s.frame).collect::<BTreeSet<_>>();
        assert!(nouns(SplitSide::Search).is_disjoint(&nouns(SplitSide::BothNew)));
        assert!(frames(SplitSide::Search).is_disjoint(&frames(SplitSide::BothNew)));
        assert!(nouns(SplitSide::Search).is_disjoint(&nouns(SplitSide::NewNouns)));
        assert_eq!(nouns(SplitSide::Search), nouns(SplitSide::NewFrames));
        assert!(frames(SplitSide::NewNouns).is_subset(&frames(SplitSide::Search)));
        assert!(frames(SplitSide::NewFrames).is_subset(&frames(SplitSide::BothNew)));
        assert_eq!((nouns(SplitSide::Search).len(), nouns(SplitSide::BothNew).len()), (24, 24));
        for s in &all {
            let said = s.text.split_once('>').unwrap().1;
            let known = spoken.contains(&(CODES[s.language], said));
            // frames for confirmation and the search's fresh frames must not occur in the training text
            assert_eq!(s.is_new_frame, s.frame >= 24);
            if s.is_new_frame || matches!(s.part, SplitSide::NewFrames | SplitSide::BothNew) {
                assert!(!known, "{said}");
            }
        }
        let seen = of(SplitSide::NewNouns).iter().filter(|s| spoken.contains(&(CODES[s.language], tail(s)))).count();
        assert!(seen * 10 > of(SplitSide::NewNouns).len() * 5, "few sentences of trained frames occur: {seen}");
    }
    // every noun of every class occurs often enough in every language to be learned
    let of_every_language = self::text(&EVERY_LANGUAGE, 1);
    for (language, code) in CODES.iter().enumerate() {
        let text = if language < Extent::WHOLE.languages { &text } else { &of_every_language };
        let said: Vec<&str> = text.lines().flat_map(halves).filter(|(l, _)| l == code).map(|(_, said)| said).collect();
        for class in Class::ALL {
            for entity in 0..Extent::WHOLE.entities(class) {
                let name = generated::parliament::name(language, class, entity);
                let count = said.iter().filter(|said| said.contains(name)).count();
                assert!(count >= 12, "{name} ({code}) occurs {count} times");
            }
        }
    }
}

fn tail(s: &Sentence) -> &str {
    s.text.split_once('>').unwrap().1
}

/// A smaller corpus: fewer languages, kinds, nouns, frames and follow-ups, and no lists.
const PART: Extent =
    Extent { languages: 3, kinds: 3, nouns: 16, frames: 10, follow_ups: 3, listing: 0.0, ..Extent::WHOLE };

/// A smaller corpus contains nothing outside its extent and every sentence that the search asks about. Sentences that
/// are held out of the whole corpus are held out of it too.
#[test]
fn a_smaller_corpus_has_only_sentences_of_its_extent() {
    for (id, extent) in [("parliament", Extent::WHOLE), ("parliament_naive", Extent::NAIVE)] {
        let corpus = generated::by_id(id).unwrap();
        assert_eq!(generated::part_of_parliament(1, 20_000, &extent), corpus.text(1, 20_000));
    }
    let text = generated::part_of_parliament(1, 3 * generated::SIZE, &PART);
    let said: BTreeSet<&str> = text.lines().flat_map(halves).map(|(_, said)| said).collect();
    let languages: BTreeSet<&str> = text.lines().flat_map(halves).map(|(language, _)| language).collect();
    assert_eq!(languages, BTreeSet::from(["en", "fr", "es"]));
    // 16 nouns of 3 kinds in 10 frames with 3 follow-ups, in each of 3 languages
    assert_eq!(said.len(), 3 * 16 * 10 * 3 * 3);
    let whole = sentences(Class::Currency, &Extent::WHOLE);
    let fresh = |s: &&Sentence| s.is_new_frame || matches!(s.part, SplitSide::NewFrames | SplitSide::BothNew);
    let held_out: BTreeSet<&str> = whole.iter().filter(fresh).map(tail).collect();
    for concept in CONCEPTS {
        let all = sentences(concept, &PART);
        assert!(all.iter().all(|s| s.language < 3 && s.entity < 16 && (s.class as usize) < 3));
        for s in &all {
            let known = said.iter().any(|said| said.starts_with(tail(s)));
            let is_new = s.is_new_frame || matches!(s.part, SplitSide::NewFrames | SplitSide::BothNew);
            assert_eq!(known, !is_new, "{}", s.text);
        }
        if concept == Class::Currency {
            let frames = |s: &[Sentence]| s.iter().filter(fresh).map(|s| s.frame).collect::<BTreeSet<_>>();
            assert_eq!(frames(&all), frames(&whole));
            assert!(all.iter().filter(|s| s.has_concept && fresh(s)).all(|s| held_out.contains(tail(s))));
        }
        let nouns = |part: SplitSide, with: bool| {
            all.iter()
                .filter(|s| s.part == part && s.has_concept == with)
                .map(|s| (s.class, s.entity))
                .collect::<BTreeSet<_>>()
        };
        for with in [true, false] {
            assert_eq!((nouns(SplitSide::Search, with).len(), nouns(SplitSide::BothNew, with).len()), (8, 8));
        }
        for s in all.iter().filter(|s| s.part == SplitSide::BothNew).step_by(11) {
            let next = follow_ups(s, &PART);
            assert_eq!(
                next.iter().map(|(class, said)| (*class, said.len())).collect::<Vec<_>>(),
                [(Class::Currency, 3), (Class::Country, 3), (Class::Goods, 3)]
            );
            let own = &next[s.class as usize].1;
            let heard = text.lines().flat_map(halves).any(|(_, said)| said.ends_with(own[0].as_str()));
            assert!(heard, "{} {own:?}", s.text);
        }
    }
}

/// The concept cannot be inferred from the frame, because each frame and language has equally many sentences with and
/// without it. Length and capital letters differ only slightly.
#[test]
fn sentences_with_and_without_a_concept_are_balanced() {
    let few_nouns = Extent { nouns: 12, ..EVERY_LANGUAGE };
    for (concept, extent) in CONCEPTS.iter().flat_map(|&c| [EVERY_LANGUAGE, few_nouns, PART].map(|e| (c, e))) {
        // with fewer nouns, the mean lengths differ more in some language
        let apart = if extent == EVERY_LANGUAGE { 3.0 } else { 4.0 };
        let all = sentences(concept, &extent);
        let mut balance: BTreeMap<(SplitSide, usize, usize), i64> = BTreeMap::new();
        for s in &all {
            *balance.entry((s.part, s.language, s.frame)).or_default() += if s.has_concept { 1 } else { -1 };
            assert_eq!(s.has_concept, s.class == concept);
        }
        assert!(balance.values().all(|b| *b == 0));
        for part in SplitSide::ALL {
            for (language, code) in CODES.iter().take(extent.languages).enumerate() {
                let mean = |with: bool| {
                    let lengths: Vec<f64> = all
                        .iter()
                        .filter(|s| s.part == part && s.language == language && s.has_concept == with)
                        .map(|s| s.text.len() as f64)
                        .collect();
                    lengths.iter().sum::<f64>() / lengths.len() as f64
                };
                let (with, without) = (mean(true), mean(false));
                println!("{concept:?} {part:?} {code} {with:.1} {without:.1}");
                assert!((with - without).abs() < apart, "{concept:?} {part:?} {code}: {with} {without}");
            }
        }
    }
}

/// In the naive corpus, the frame alone determines the concept. The corpus exists to show this mistake.
#[test]
fn naive_frames_belong_to_one_class() {
    for concept in CONCEPTS {
        let all = sentences(concept, &Extent::NAIVE);
        let frames =
            |with: bool| all.iter().filter(|s| s.has_concept == with).map(|s| s.frame).collect::<BTreeSet<_>>();
        assert!(frames(true).is_disjoint(&frames(false)));
        let frames = |part: SplitSide| all.iter().filter(|s| s.part == part).map(|s| s.frame).collect::<BTreeSet<_>>();
        assert!(frames(SplitSide::Search).is_disjoint(&frames(SplitSide::BothNew)));
        let text = text(&Extent::NAIVE, 1);
        assert!(all.iter().filter(|s| s.part == SplitSide::BothNew).all(|s| !text.contains(tail(s))));
    }
}
