//! Tests corpora through their public interface: generated texts, valid and invalid files, batches, tasks.

use orrery::corpus::{
    Corpus, CorpusError, CorpusSpec, Position, Source, Task, TextSpan, TokenizerSpec, Windows, generated,
};
use proptest::prelude::*;
use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Instant,
};

const BYTES: TokenizerSpec = TokenizerSpec::Byte { vocab: 320 };
const WORDS: TokenizerSpec = TokenizerSpec::Word { max_vocab: 4000 };

fn spec(source: Source, tokenizer: TokenizerSpec) -> CorpusSpec {
    CorpusSpec::new(source, tokenizer)
}

pub fn open_generated(id: &str, tokenizer: TokenizerSpec) -> Corpus {
    Corpus::open(&spec(Source::Generated(id.into()), tokenizer)).unwrap()
}

/// The corpus *facts* with the word tokenizer. Building its vocabulary takes seconds, so tests share it.
fn facts() -> &'static Corpus {
    static OPENED: OnceLock<Corpus> = OnceLock::new();
    OPENED.get_or_init(|| open_generated("facts", WORDS))
}

fn open(path: &Path, tokenizer: TokenizerSpec) -> Result<Corpus, CorpusError> {
    Corpus::open(&spec(Source::File(path.into()), tokenizer))
}

fn refusal(path: &Path) -> String {
    open(path, BYTES).err().map(|e| e.to_string()).unwrap_or_default()
}

fn at(seed: u64, drawn: u64) -> Position {
    Position { seed, drawn }
}

fn prose() -> impl Iterator<Item = &'static generated::Generated> {
    generated::CORPORA.iter().copied().filter(|c| c.is_prose())
}

/// One tokenizer of each kind.
fn every_tokenizer() -> [TokenizerSpec; 4] {
    [BYTES, TokenizerSpec::Char { max_vocab: 120 }, WORDS, TokenizerSpec::Bpe { vocab: 600 }]
}

/// Writes a file of `size` bytes of generated text.
fn file(folder: &Path, size: usize) -> PathBuf {
    let text = generated::by_id("mixture").unwrap().text(3, size.max(1000));
    let path = folder.join("book.txt");
    fs::write(&path, &text[..text.floor_char_boundary(size)]).unwrap();
    path
}

#[test]
#[ignore = "prints pages to read"]
fn show() {
    let id = std::env::var("CORPUS").unwrap_or("mixture".into());
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(7);
    if generated::by_id(&id).unwrap().is_task() {
        let corpus = open_generated(&id, WORDS);
        println!("{}", corpus.describe());
        for i in 0..6 {
            println!("{}\n", corpus.decode(&corpus.passage(i, 129)));
        }
        let now = Instant::now();
        (0..100).for_each(|drawn| drop(corpus.batch(&at(1, drawn), 16, 128).unwrap()));
        println!("a batch of 16 windows of 128: {:?}", now.elapsed() / 100);
        return;
    }
    let now = Instant::now();
    let text = generated::by_id(&id).unwrap().text(seed, generated::SIZE);
    println!("{} bytes in {:?}\n{}", text.len(), now.elapsed(), &text[..text.floor_char_boundary(14000)]);
    println!("{}", open_generated(&id, WORDS).describe());
}

// Generated text

#[test]
fn the_same_seed_gives_the_same_text() {
    for corpus in prose() {
        let text = corpus.text(5, 60_000);
        assert_eq!(text, corpus.text(5, 60_000), "{}", corpus.id);
        assert_ne!(text, corpus.text(6, 60_000), "{}", corpus.id);
    }
}

#[test]
fn the_text_is_large_and_quickly_made() {
    for corpus in prose() {
        let now = Instant::now();
        let text = corpus.text(1, generated::SIZE);
        assert!(text.len() >= 1_000_000 && text.len() < 2_000_000);
        assert!(now.elapsed().as_secs() < 3, "{} took {:?}", corpus.id, now.elapsed());
    }
}

#[test]
fn the_prose_is_well_formed() {
    for corpus in prose() {
        let text = corpus.text(11, 400_000);
        assert!(text.is_ascii(), "{} is not plain", corpus.id);
        assert!(!text.contains(['{', '}', '[', ']', '|', '@', '^', '~', '$']), "{} shows its notation", corpus.id);
        assert!(!text.contains("missing}"), "{} lacks a word list", corpus.id);
        for paragraph in text.split("\n\n") {
            check_paragraph(corpus.id, paragraph.trim_end());
        }
    }
}

fn check_paragraph(id: &str, paragraph: &str) {
    let here = || format!("{id}: {paragraph}");
    if paragraph == "* * *" {
        return;
    }
    assert!(!paragraph.contains("  ") && !paragraph.contains(" ,") && !paragraph.contains(" ."), "{}", here());
    assert!(!paragraph.contains("..") && !paragraph.contains(",,") && !paragraph.contains("the the"), "{}", here());
    assert_eq!(paragraph.matches('"').count() % 2, 0, "quotes: {}", here());
    let first = paragraph.trim_start_matches('"').chars().next();
    assert!(first.is_some_and(char::is_uppercase), "first letter: {}", here());
    let letter = paragraph.lines().count() == 1 && paragraph.len() < 60;
    assert!(letter || paragraph.ends_with(['.', '?', '!', '"']), "end: {}", here());
    let bytes = paragraph.as_bytes();
    for (i, pair) in bytes.windows(3).enumerate() {
        // in direct speech a quotation mark follows the punctuation, and then a lower-case word may follow
        if matches!(pair[0], b'.' | b'?' | b'!') && pair[1] == b' ' {
            assert!(!pair[2].is_ascii_lowercase(), "capital at {i}: {}", here());
        }
    }
    let words: Vec<&str> = paragraph.split([' ', '\n']).filter(|w| !w.is_empty()).collect();
    for pair in words.windows(2) {
        let vowel = pair[1].starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']);
        // the article depends on the sound: these words have a silent h or begin with the sound of y or w
        let by_sound = match pair[1].to_ascii_lowercase().as_str() {
            w if w.starts_with("hour") || w.starts_with("honest") => true,
            w if w.starts_with("one") || w.starts_with("use") || w.starts_with("uni") => false,
            _ => vowel,
        };
        match pair[0].to_ascii_lowercase().as_str() {
            "a" => assert!(!by_sound, "a {}: {}", pair[1], here()),
            "an" => assert!(by_sound, "an {}: {}", pair[1], here()),
            _ => assert!(!pair[0].eq_ignore_ascii_case(pair[1]) || pair[0].len() < 2, "twice: {}", here()),
        }
    }
}

#[test]
fn a_page_does_not_repeat_itself() {
    for corpus in prose() {
        let text = corpus.text(2, 300_000);
        for (number, page) in text.split("* * *").enumerate() {
            let sentences: Vec<&str> =
                page.split_inclusive(['.', '?', '!']).map(str::trim).filter(|s| s.len() > 20).collect();
            let different: HashSet<&&str> = sentences.iter().collect();
            assert_eq!(sentences.len(), different.len(), "{} page {number}", corpus.id);
        }
    }
}

/// A person has the same keepsake and the same first name throughout a page.
#[test]
fn facts_of_a_page_last() {
    let text = generated::by_id("harbour").unwrap().text(4, 200_000);
    let keepsakes = [
        "brass whistle",
        "silver watch",
        "bone-handled knife",
        "small telescope",
        "tin compass",
        "red notebook",
        "ivory pipe",
    ];
    let mut recalled = 0;
    for page in text.split("* * *") {
        let named: Vec<&&str> = keepsakes.iter().filter(|k| page.contains(**k)).collect();
        assert!(named.len() <= 1, "{named:?} in {page}");
        recalled += usize::from(named.len() == 1 && page.matches(*named[0]).count() > 1);
    }
    assert!(recalled > 20, "facts are hardly recalled: {recalled}");
}

// Tokenisers

#[test]
fn every_tokenizer_reads_the_default_text_and_writes_it_back() {
    let text = generated::by_id("mixture").unwrap().text(1, 20_000);
    for tokenizer in every_tokenizer() {
        let corpus = open_generated("mixture", tokenizer.clone());
        let ids = corpus.encode(&text);
        assert_eq!(corpus.decode(&ids).trim_end(), text.trim_end(), "{tokenizer:?}");
        assert!(ids.iter().all(|&id| (id as usize) < corpus.vocab()), "{tokenizer:?}");
        assert!(ids.iter().all(|&id| !corpus.token_text(id).trim().is_empty()), "{tokenizer:?}");
        assert_eq!(corpus.encode(&text), open_generated("mixture", tokenizer).encode(&text));
    }
}

#[test]
fn a_tokenizer_json_is_read_and_a_broken_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("tokenizer.json");
    fs::write(
        &good,
        r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
        "pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,
        "model":{"type":"WordLevel","vocab":{"<unk>":0,"the":1,"harbour":2,".":5},"unk_token":"<unk>"}}"#,
    )
    .unwrap();
    let corpus = open_generated("harbour", TokenizerSpec::HuggingFace(good));
    assert_eq!(corpus.encode("the harbour zebra."), [1, 2, 0, 5]);
    assert_eq!(corpus.vocab(), 6);
    assert_eq!(corpus.token_text(2), "harbour");
    assert_eq!(corpus.batch(&at(1, 0), 2, 16).unwrap().inputs.len(), 32);
    let broken = folder.path().join("broken.json");
    fs::write(&broken, "{\"version\": 1").unwrap();
    let source = Source::Generated("harbour".into());
    // a run says what it will hold before it reads the file
    let memory = |tokenizer| spec(source.clone(), tokenizer).memory();
    let bytes = memory(TokenizerSpec::Byte { vocab: 256 });
    assert_eq!(memory(TokenizerSpec::HuggingFace(broken.clone())), bytes + 48 * 13);
    let error = |path: &Path| {
        Corpus::open(&spec(source.clone(), TokenizerSpec::HuggingFace(path.into()))).err().unwrap().to_string()
    };
    assert!(error(&broken).contains("broken.json is not a valid Hugging Face tokenizer.json"), "{}", error(&broken));
    let none = folder.path().join("none.json");
    assert!(error(&none).contains("none.json does not exist"), "{}", error(&none));
}

#[test]
fn characters_are_numbered_by_code_point_over_the_whole_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.txt");
    // the last character occurs only in the held-out part, and the end of a chunk of the file falls inside a character
    let text = format!("{}\u{1F600}", "bca\u{e9} \n".repeat(300_000));
    fs::write(&path, &text).unwrap();
    let corpus = open(&path, TokenizerSpec::SortedChar { max_vocab: 7 }).unwrap();
    assert_eq!((corpus.vocab(), corpus.encode("\n abc\u{e9}\u{1F600}")), (7, vec![0, 1, 2, 3, 4, 5, 6]));
    assert_eq!(corpus.batch(&at(1, 0), 2, 16).unwrap().inputs.len(), 32);
    let unknown = corpus.try_encode("ab\nz").unwrap_err().to_string();
    assert!(unknown.contains("'z' (U+007A), character 4 of the text (line 2)"), "{unknown}");
    assert!(corpus.encode("abz").is_empty(), "never another id");
    assert!(open_generated("harbour", TokenizerSpec::SortedChar { max_vocab: 256 }).vocab() > 20);
    let few = open(&path, TokenizerSpec::SortedChar { max_vocab: 6 }).err().unwrap().to_string();
    assert!(few.contains("7 distinct characters") && few.contains("corpus.vocab"), "{few}");
}

#[test]
fn a_vocabulary_file_fixes_the_ids_and_refuses_what_it_has_not() {
    let folder = tempfile::tempdir().unwrap();
    let (book, list) = (folder.path().join("book.txt"), folder.path().join("list.json"));
    fs::write(&book, "abc ab\n".repeat(2000)).unwrap();
    fs::write(&list, r#"{"stoi": {"c": 0, "b": 1, "a": 2, " ": 4, "\n": 5, "q": 9}}"#).unwrap();
    let corpus = open(&book, TokenizerSpec::Characters(list.clone())).unwrap();
    assert_eq!((corpus.vocab(), corpus.encode("cab q\n")), (10, vec![0, 2, 1, 4, 9, 5]));
    assert_eq!(corpus.decode(&[0, 2, 1]), "cab");
    fs::write(&book, "abc ab\n".repeat(2000) + "abd\n").unwrap();
    let refused = open(&book, TokenizerSpec::Characters(list)).err().unwrap().to_string();
    for part in ["book.txt", "'d' (U+0064)", "line 2001", "vocabulary of 6", "remove it from the text"] {
        assert!(refused.contains(part), "`{part}`: {refused}");
    }
}

/// Nobody can edit a generated text. It is read without what a given vocabulary lacks, unless that is most of it, and says so.
#[test]
fn a_generated_text_is_read_as_far_as_the_vocabulary_goes() {
    let folder = tempfile::tempdir().unwrap();
    let list = |name: &str, characters: &str| {
        let path = folder.path().join(name);
        let characters: Vec<String> = characters.chars().map(String::from).collect();
        fs::write(&path, serde_json::to_string(&characters).unwrap()).unwrap();
        TokenizerSpec::Characters(path)
    };
    let letters: String = ('a'..='z').chain([' ', '.', '\n']).collect();
    let corpus = open_generated("mixture", list("letters.json", &letters));
    let note = corpus.omission().unwrap();
    for part in ["mixture (generated) is read without", "'\"'", "a text of your own"] {
        assert!(note.contains(part), "`{part}`: {note}");
    }
    assert!(corpus.describe().starts_with("mixture (generated) without "), "{}", corpus.describe());
    // what is left is the text in its order, and the held-out part is cut where that of the whole text is
    let whole = open_generated("mixture", BYTES);
    assert_eq!(whole.omission(), None);
    let text = generated::by_id("mixture").unwrap().text(1, generated::SIZE);
    let kept = |text: &str| text.chars().filter(|c| letters.contains(*c)).collect::<String>();
    let beginning = corpus.decode(&corpus.chunk(TextSpan::Whole, 0).unwrap().unwrap().ids);
    assert!(beginning.len() > 1000 && kept(&text).starts_with(&beginning));
    let training = whole.span_bytes(TextSpan::Training);
    assert_eq!(corpus.span_bytes(TextSpan::Training), kept(&text[..training]).len());
    assert_eq!(corpus.span_bytes(TextSpan::HeldOut), kept(&text[training..]).len());
    assert_eq!(corpus.batch(&at(1, 0), 2, 16).unwrap().inputs.len(), 32);

    let refused = |id: &str, tokenizer: TokenizerSpec| {
        let refused = Corpus::open(&spec(Source::Generated(id.into()), tokenizer)).err().unwrap().to_string();
        for part in [id, "a text of your own (`corpus.file`"] {
            assert!(refused.contains(part), "`{part}`: {refused}");
        }
    };
    refused("mixture", list("digits.json", "0123456789"));
    // windows that ask for facts would ask for others
    refused("facts_symbols", list("letters.json", &letters));
}

// Splits and batches

#[test]
fn training_and_held_out_do_not_overlap() {
    // every line of the file is unique, so that an overlap of the two parts is detected
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.txt");
    let digits = |i: u32| format!("{i:05}").chars().map(|c| format!(" {c}")).collect::<String>();
    let text: String = (0..20_000).map(|i| format!("line{} of this file\n", digits(i))).collect();
    fs::write(&path, &text).unwrap();
    for tokenizer in every_tokenizer() {
        let corpus = open(&path, tokenizer.clone()).unwrap();
        let numbers = |windows: &Windows| -> HashSet<u32> {
            let text: String = (0..windows.rows)
                .map(|r| corpus.decode(&windows.inputs[r * windows.len..(r + 1) * windows.len]) + "line")
                .collect();
            let number = |t: &str| t.chars().filter(char::is_ascii_digit).collect::<String>();
            let lines = text.split("line").skip(1).map(number);
            lines.filter(|n: &String| n.len() == 5).filter_map(|n| n.parse().ok()).collect()
        };
        let held = numbers(&corpus.held_out(10_000, 64).unwrap());
        let mut train = HashSet::new();
        for drawn in 0..200 {
            train.extend(numbers(&corpus.batch(&at(9, drawn), 16, 64).unwrap()));
        }
        assert!(train.is_disjoint(&held), "{tokenizer:?}");
        assert!(train.len() > 5000 && held.len() > 500, "{tokenizer:?}: {} {}", train.len(), held.len());
        assert!(held.iter().min() > train.iter().max());
        for index in 0..20 {
            let passage = corpus.passage(index, 40);
            let windows = Windows { rows: 1, len: passage.len(), targets: vec![], inputs: passage, answers: None };
            assert!(numbers(&windows).is_disjoint(&train));
        }
    }
}

#[test]
fn a_batch_depends_on_its_position_alone() {
    for tokenizer in every_tokenizer() {
        let corpus = open_generated("mixture", tokenizer.clone());
        let other = open_generated("mixture", tokenizer.clone());
        let later = corpus.batch(&at(3, 41), 4, 64).unwrap();
        corpus.batch(&at(3, 2), 4, 64).unwrap();
        corpus.held_out(3, 32).unwrap();
        assert_eq!(corpus.batch(&at(3, 41), 4, 64).unwrap(), later, "{tokenizer:?}");
        assert_eq!(other.batch(&at(3, 41), 4, 64).unwrap(), later, "{tokenizer:?}");
        assert_ne!(corpus.batch(&at(4, 41), 4, 64).unwrap(), later, "{tokenizer:?}");
        assert_ne!(corpus.batch(&at(3, 42), 4, 64).unwrap(), later, "{tokenizer:?}");
        assert_eq!((later.inputs.len(), later.targets.len()), (256, 256));
        assert_eq!(later.inputs[1..64], later.targets[..63]);
    }
}

#[test]
fn an_epoch_covers_the_training_part_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.txt");
    let text: String = (0..3000).map(|i| format!("{i:04}")).collect();
    fs::write(&path, &text).unwrap();
    let corpus = open(&path, BYTES).unwrap();
    // 337 windows of 32 ids fit into the 10,800 bytes of training text; the random phase costs one of them
    let (rows, windows) = (4, 336);
    let mut starts: Vec<usize> = vec![];
    for drawn in 0..windows / rows {
        let batch = corpus.batch(&at(1, drawn as u64), rows, 31).unwrap();
        for row in 0..rows {
            let shown = corpus.decode(&batch.inputs[row * 31..(row + 1) * 31]);
            starts.push(
                text.match_indices(&shown).map(|(i, _)| i).find(|i| i % 4 == text.find(&shown).unwrap() % 4).unwrap(),
            );
        }
    }
    let order = starts.clone();
    starts.sort_unstable();
    assert!(starts.windows(2).all(|w| w[1] == w[0] + 32), "windows overlap or are missing");
    assert_ne!(order, starts, "the order is not shuffled");
    let phase = |epoch: u64| {
        let batch = corpus.batch(&at(1, epoch * (windows / rows) as u64), rows, 31).unwrap();
        text.find(&corpus.decode(&batch.inputs[..31])).unwrap() % 32
    };
    assert!((1..6).any(|epoch| phase(epoch) != phase(0)), "every epoch cuts at the same places");
}

#[test]
fn passages_begin_at_sentences() {
    for tokenizer in every_tokenizer() {
        let corpus = open_generated("mixture", tokenizer.clone());
        let mut seen = HashSet::new();
        for index in 0..30 {
            let ids = corpus.passage(index, 80);
            assert_eq!(ids.len(), 80);
            let text = corpus.decode(&ids);
            let first = text.trim_start_matches('"').chars().next().unwrap();
            assert!(index == 0 || first.is_uppercase(), "{tokenizer:?} {index}: {text}");
            seen.insert(text);
        }
        assert!(seen.len() > 20, "{tokenizer:?}: passages repeat");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_file_of_text_gives_windows_of_the_asked_shape(len in 1usize..90, rows in 1usize..6, drawn: u64, seed: u64, which in 0usize..4) {
        static OPENED: OnceLock<Vec<Corpus>> = OnceLock::new();
        let all = OPENED.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let path = file(folder.path(), 9000);
            every_tokenizer().into_iter().map(|t| open(&path, t).unwrap()).collect()
        });
        let batch = all[which].batch(&at(seed, drawn), rows, len).unwrap();
        prop_assert_eq!((batch.rows, batch.len, batch.inputs.len()), (rows, len, rows * len));
        prop_assert!(batch.inputs.iter().chain(&batch.targets).all(|&id| (id as usize) < all[which].vocab()));
        prop_assert!(all[which].held_out(3, len).unwrap().rows >= 1);
    }
}

// Files

#[test]
fn files_that_are_not_text_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, bytes: &[u8]| {
        fs::write(at(name), bytes).unwrap();
        refusal(&at(name))
    };
    let noise: Vec<u8> = (0..4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let utf16: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain("Some text".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    for (said, words) in [
        (refusal(&at("none.txt")), "does not exist"),
        (refusal(folder.path()), "is a folder"),
        (write("empty.txt", b""), "is empty"),
        (write("mark.txt", &[0xEF, 0xBB, 0xBF]), "is empty except for"),
        (write("noise.bin", &noise), "is binary"),
        (write("controls.bin", &[1, 2, 3, b'a', b'b', 4, 5, 6]), "control characters"),
        (write("wide.txt", &utf16), "UTF-16"),
        (write("blank.txt", b" \n \n\n   "), "only spaces"),
        (write("one.txt", &[b'a'; 5000]), "one symbol only"),
    ] {
        assert!(said.contains(words), "wanted `{words}`, got `{said}`");
        assert!(said.contains(": ") && said.ends_with('.'), "no next step in `{said}`");
        assert!(said.contains(&folder.path().display().to_string()), "no path in `{said}`");
    }
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_refused_with_an_explanation() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), 2000);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    let said = refusal(&path);
    assert!(said.contains("cannot be read with your permissions") && said.contains("chmod"), "{said}");
}

#[test]
fn a_text_shorter_than_a_window_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), 1500);
    let corpus = open(&path, BYTES).unwrap();
    let error = corpus.batch(&at(1, 0), 4, 2000).unwrap_err().to_string();
    assert!(error.contains("book.txt is too short") && error.contains("needs 2001"), "{error}");
    let error = corpus.held_out(4, 512).unwrap_err().to_string();
    assert!(error.contains("held-out part") && error.contains("shorter window"), "{error}");
    assert_eq!(corpus.batch(&at(1, 0), 4, 512).unwrap().rows, 4);
}

/// With a given length, only the beginning of a file or a generated text is read, and no character is cut.
#[test]
fn a_text_of_a_given_length_ends_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.txt");
    fs::write(&path, "aß€😀".repeat(400) + &"z".repeat(4000)).unwrap();
    let bytes = |source: Source, length| {
        let corpus = Corpus::open(&CorpusSpec { length: Some(length), ..spec(source, BYTES) }).unwrap();
        let ids = corpus.chunk(TextSpan::Whole, 0).unwrap().unwrap().ids;
        String::from_utf8(ids.into_iter().map(|id| u8::try_from(id).unwrap()).collect()).unwrap()
    };
    let all = fs::read_to_string(&path).unwrap();
    for length in 2000..2010 {
        assert_eq!(bytes(Source::File(path.clone()), length), all[..all.floor_char_boundary(length)]);
    }
    assert_eq!(bytes(Source::File(path), 1_000_000), all);
    let mixture = generated::by_id("mixture").unwrap().text(1, generated::SIZE);
    assert_eq!(bytes(Source::Generated("mixture".into()), 9_000), mixture[..mixture.floor_char_boundary(9_000)]);
}

#[test]
fn settings_out_of_range_are_refused_in_words() {
    let open = |held_out, id: &str| {
        let source = Source::Generated(id.into());
        Corpus::open(&CorpusSpec { held_out, ..CorpusSpec::new(source, BYTES) }).err().unwrap().to_string()
    };
    for held_out in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(open(held_out, "mixture").contains("held-out fraction"));
    }
    let said = open(0.1, "nope");
    assert!(said.contains("`nope`") && said.contains("mixture") && said.contains("facts"), "{said}");
}

#[test]
fn a_gigantic_binary_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.txt");
    let huge = fs::File::create(&path).unwrap();
    if huge.set_len(3 << 30).is_err() {
        println!("skipped: no sparse files here");
        return;
    }
    let now = Instant::now();
    let said = refusal(&path);
    assert!(said.contains("is binary") && now.elapsed().as_secs() < 2, "{said} after {:?}", now.elapsed());
}

#[test]
fn latin1_and_broken_utf8_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin1.txt");
    let text = "Fr\u{fc}h am Morgen \u{f6}ffnete die K\u{f6}chin das Fenster. ".repeat(200);
    fs::write(&path, text.chars().map(|c| u32::from(c) as u8).collect::<Vec<u8>>()).unwrap();
    for tokenizer in every_tokenizer() {
        let corpus = open(&path, tokenizer).unwrap();
        assert!(corpus.describe().contains("Latin-1"), "{}", corpus.describe());
        assert!(corpus.decode(&corpus.passage(0, 120)).contains("K\u{f6}chin"));
        assert_eq!(corpus.decode(&corpus.encode("\u{f6}ffnete")), "\u{f6}ffnete");
    }
    let path = folder.path().join("broken.txt");
    let mut bytes = text.repeat(2).into_bytes();
    bytes[5000] = 0xFF;
    fs::write(&path, bytes).unwrap();
    let corpus = open(&path, TokenizerSpec::Char { max_vocab: 90 }).unwrap();
    assert!(!corpus.describe().contains("Latin-1"), "{}", corpus.describe());
    assert_eq!(corpus.batch(&at(1, 0), 4, 64).unwrap().rows, 4);
}

#[test]
fn a_file_cut_while_open_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), 300_000);
    let corpus = open(&path, BYTES).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    let error = corpus.batch(&at(1, 0), 4, 64).unwrap_err().to_string();
    assert!(error.contains("has become shorter"), "{error}");
    assert!(corpus.passage(0, 10).is_empty());
}

// Tasks

#[test]
fn every_answer_repeats_the_fact_at_the_required_distance() {
    let spaced = |id: &str, spacing| Source::Task(Task { id: id.into(), spacing, answers_only: true });
    let opened = |source| Corpus::open(&spec(source, WORDS)).unwrap();
    for (corpus, spacing, len) in [
        (&open_generated("facts_symbols", WORDS), 32, 128),
        (facts(), 36, 128),
        (&opened(spaced("facts_symbols", 12)), 12, 64),
        (&opened(spaced("facts", 64)), 64, 200),
    ] {
        let mut asked_last = 0;
        for windows in [corpus.batch(&at(1, 5), 64, len).unwrap(), corpus.held_out(64, len).unwrap()] {
            assert_eq!(windows.rows, 64);
            for row in 0..windows.rows {
                let inputs = &windows.inputs[row * len..(row + 1) * len];
                assert!(!inputs.contains(&0), "an unknown word in `{}`", corpus.decode(inputs));
                asked_last += usize::from(check_row(corpus, &windows, row, spacing) + 3 >= len);
            }
        }
        if corpus.describe().starts_with("facts (") {
            assert!(asked_last > 100, "the last sentence rarely asks: {asked_last} of 128");
        }
    }
}

/// Checks one row of a task in which only answers are scored, and returns the position of its last answer.
fn check_row(corpus: &Corpus, windows: &Windows, row: usize, spacing: usize) -> usize {
    let (from, len) = (row * windows.len, windows.len);
    let (inputs, targets) = (&windows.inputs[from..from + len], &windows.targets[from..from + len]);
    let marks = &windows.answers.as_ref().unwrap()[from..from + len];
    let answers: Vec<usize> = (0..len).filter(|&i| marks[i]).collect();
    let shown = corpus.decode(inputs);
    assert!(!answers.is_empty(), "nothing is asked in `{shown}`");
    let fact = targets[answers[0]];
    let stated = inputs.iter().position(|&id| id == fact).unwrap();
    assert!(stated < 16, "not stated in the first sentence: `{shown}`");
    let question = corpus.encode("?")[0];
    let mut last = stated;
    for i in 0..len {
        assert_eq!(targets[i] != u32::MAX, marks[i]);
        if marks[i] {
            assert_eq!(inputs[i], question, "`{shown}`");
            assert_eq!(targets[i], fact, "the answer changes: `{shown}`");
            assert!(i - last >= spacing, "{} tokens only: `{shown}`", i - last);
            last = i + 1;
        } else {
            // the fact occurs nowhere else
            assert!(inputs[i] != fact || i == stated || marks[i - 1], "`{shown}`");
        }
    }
    last - 1
}

#[test]
fn answers_of_the_facts_task_are_evenly_distributed() {
    let corpus = open_generated("facts_symbols", WORDS);
    let windows = corpus.held_out(2000, 64).unwrap();
    let answers = windows.answers.as_ref().unwrap();
    let mut counts = std::collections::HashMap::new();
    windows.targets.iter().zip(answers).filter(|(_, a)| **a).for_each(|(t, _)| *counts.entry(*t).or_insert(0) += 1);
    assert_eq!(counts.len(), 10);
    assert!(counts.values().all(|&n| (140..270).contains(&n)), "{counts:?}");
}

#[test]
fn tasks_can_ask_for_every_token_and_read_bytes() {
    let task = |tokenizer, answers_only| {
        let source = Source::Task(Task { id: "facts".into(), spacing: 0, answers_only });
        Corpus::open(&spec(source, tokenizer)).unwrap()
    };
    let all = task(WORDS, false).batch(&at(2, 3), 8, 128).unwrap();
    assert!(all.targets.iter().all(|&t| t != u32::MAX));
    assert_eq!(all.inputs[1..128], all.targets[..127]);
    let answers_only = task(WORDS, true);
    let only = answers_only.batch(&at(2, 3), 8, 128).unwrap();
    assert_eq!((&all.inputs, &all.answers), (&only.inputs, &only.answers));
    let bytes = task(BYTES, true);
    let windows = bytes.batch(&at(2, 3), 4, 256).unwrap();
    let asked: Vec<u32> = windows.targets[..256].iter().copied().filter(|&t| t != u32::MAX).collect();
    let story = bytes.decode(&windows.inputs[..256]);
    let name = bytes.decode(&asked);
    assert!(
        ["Anna", "Bruno", "Clara", "David", "Edith", "Felix", "Greta", "Hugo", "Ines", "Jonas"]
            .iter()
            .any(|n| name.starts_with(n)),
        "{name}: {story}"
    );
    let error = answers_only.batch(&at(1, 0), 4, 30).unwrap_err().to_string();
    assert!(error.contains("no room for a question") && error.contains("at least"), "{error}");
}

#[test]
fn task_batches_are_pure_and_held_out_ones_differ() {
    for (a, id) in [(facts(), "facts"), (&open_generated("facts_symbols", WORDS), "facts_symbols")] {
        let b = open_generated(id, WORDS);
        assert_eq!(a.batch(&at(7, 9), 4, 100).unwrap(), b.batch(&at(7, 9), 4, 100).unwrap());
        assert_ne!(a.batch(&at(7, 9), 4, 100).unwrap(), a.batch(&at(7, 10), 4, 100).unwrap());
        let rows = |w: &Windows| -> HashSet<Vec<u32>> { w.inputs.chunks(w.len).map(<[u32]>::to_vec).collect() };
        let held = rows(&a.held_out(100, 100).unwrap());
        assert_eq!(held.len(), 100);
        assert!((0..20).all(|d| rows(&a.batch(&at(7, d), 16, 100).unwrap()).is_disjoint(&held)));
    }
}
