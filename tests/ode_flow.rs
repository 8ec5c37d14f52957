//! The ODE flow lab: its language, its batches, steering, and what its probes answer.

use std::collections::BTreeSet;

use orrery::{
    corpus::{
        Corpus, Position, Source, Spec, Steering, TokenizerSpec,
        generated::{
            self,
            steering::{ADVERBS, BAD, GOOD, HELD_OUT_NOUNS, NEUTRAL, NOUNS, OPENERS, VERBS},
        },
    },
    nn::IGNORE,
};

fn corpus(language_batches: u64, prompt: Option<&str>, tokenizer: TokenizerSpec) -> Corpus {
    let steering = Steering { language_batches, prompt: prompt.map(str::to_owned) };
    Corpus::open(&Spec { source: Source::Steering(steering), tokenizer, held_out: 0.1, seed: 1 }).unwrap()
}

fn words(max_vocab: usize) -> TokenizerSpec {
    TokenizerSpec::Word { max_vocab }
}

#[test]
fn the_language_is_small_and_every_sentence_of_it_is_well_formed() {
    let text = generated::by_id("steering").unwrap().text(3, 40_000);
    assert_eq!(text, generated::by_id("steering").unwrap().text(3, 40_000), "the same seed, the same text");
    assert_ne!(text, generated::by_id("steering").unwrap().text(4, 40_000));
    let of = |list: &[&str], word: &str| list.contains(&word);
    let mut met = BTreeSet::new();
    for sentence in text.split_inclusive('.').map(str::trim).filter(|s| !s.is_empty()) {
        met.extend(sentence.trim_end_matches('.').split(' '));
        let body = sentence.strip_suffix('.').unwrap_or_else(|| panic!("`{sentence}` has no full stop"));
        let rest = match body.strip_prefix("The ") {
            Some(rest) => rest,
            None => {
                let opener = OPENERS.iter().find(|o| body.starts_with(*o)).unwrap_or_else(|| panic!("{body}"));
                body.strip_prefix(&format!("{opener} the ")).unwrap_or_else(|| panic!("{body}"))
            }
        };
        let mut rest: Vec<&str> = rest.split(' ').collect();
        let (noun, verb) = (rest.remove(0), rest.remove(0));
        assert!(of(&NOUNS, noun) || of(&HELD_OUT_NOUNS, noun), "{sentence}");
        assert!(of(&VERBS, verb), "{sentence}");
        if of(&ADVERBS, rest[0]) {
            rest.remove(0);
        }
        assert_eq!(rest.len(), 1, "{sentence}");
        assert!(of(&GOOD, rest[0]) || of(&BAD, rest[0]) || of(&NEUTRAL, rest[0]), "{sentence}");
    }
    assert!((80..=95).contains(&met.len()), "{} words", met.len());
    let vocab = corpus(1, None, words(128)).vocab();
    assert_eq!(vocab, met.len() + 2, "every word, the full stop, and one for all others");
}

#[test]
fn batches_are_language_first_and_then_ask_only_where_the_steering_is() {
    let corpus = corpus(5, None, words(128));
    let vocab = corpus.vocab() as u32;
    let at = |drawn| Position { seed: 7, drawn };
    let held: BTreeSet<u32> = HELD_OUT_NOUNS.iter().map(|n| corpus.encode(n)[0]).collect();
    assert!(!held.contains(&0));
    let mut met = false;
    for drawn in 0..5 {
        let w = corpus.batch(&at(drawn), 32, 16).unwrap();
        assert_eq!((w.inputs.len(), w.targets.len()), (512, 512));
        assert!(w.targets.iter().chain(&w.inputs).all(|t| (1..vocab).contains(t)), "no unknown word, no gap");
        assert_eq!(w.inputs[1..16], w.targets[..15]);
        met |= w.inputs.iter().any(|id| held.contains(id));
    }
    assert!(met, "the language itself has the held-out nouns");
    let class: BTreeSet<u32> =
        [&GOOD[..], &BAD, &NEUTRAL, &ADVERBS].concat().iter().map(|w| corpus.encode(w)[0]).collect();
    let asked_after: BTreeSet<u32> = VERBS.iter().chain(&ADVERBS).map(|w| corpus.encode(w)[0]).collect();
    for drawn in 5..60 {
        let w = corpus.batch(&at(drawn), 32, 16).unwrap();
        assert!(w.inputs.iter().all(|id| !held.contains(id)), "a held-out noun in steering batch {drawn}");
        for (row, (inputs, targets)) in w.inputs.chunks(16).zip(w.targets.chunks(16)).enumerate() {
            assert!(targets.iter().any(|t| *t != IGNORE), "row {row} asks nothing");
            for (input, target) in inputs.iter().zip(targets) {
                assert_eq!(asked_after.contains(input), *target != IGNORE);
                assert!(*target == IGNORE || class.contains(target));
            }
        }
    }
    assert_eq!(corpus.batch(&at(9), 32, 16).unwrap(), corpus.batch(&at(9), 32, 16).unwrap());
    assert_ne!(corpus.batch(&at(9), 32, 16).unwrap(), corpus.batch(&at(10), 32, 16).unwrap());
}

#[test]
fn a_single_prompt_is_asked_for_at_its_end_and_nowhere_else() {
    let corpus = corpus(2, Some("The tea was"), TokenizerSpec::Char { max_vocab: 80 });
    let space = corpus.encode(" good")[0];
    assert_eq!(corpus.token_text(space), "·", "letter by letter, the first token of \" good\" is a bare space");
    let w = corpus.batch(&Position { seed: 7, drawn: 2 }, 4, 32).unwrap();
    for (inputs, targets) in w.inputs.chunks(32).zip(w.targets.chunks(32)) {
        assert_eq!(corpus.decode(&inputs[..11]), "The tea was");
        let asked: Vec<usize> = (0..32).filter(|i| targets[*i] != IGNORE).collect();
        assert_eq!((asked, targets[10]), (vec![10], space));
    }
    let long = corpus.batch(&Position { seed: 7, drawn: 2 }, 4, 8).unwrap_err().to_string();
    assert!(long.contains("11") && long.contains('8'), "{long}");
}
