//! Tests the questions to a trained BDH that reads a text: products of queries and keys are compared with direct
//! arithmetic on recorded x, and continuations with the output of `orrery model generate`.

use std::{f64::consts::TAU, fs, path::Path};

use candle_core::Device;
use orrery::{
    config::Value,
    corpus::{Corpus, CorpusSpec, Source, TokenizerSpec},
    models::{
        Trainable,
        bdh::{Bdh, BdhSpec, Position},
        capabilities::{Recording, record},
    },
    nn::host,
    probe::{self, ProbeInputs},
    telemetry::{
        Args, Measurement,
        measurements::{QueryKeyMaps, SynapseReading},
    },
};

use crate::{
    bdh_file::write_bdh,
    command::{command, done, expect_exit, stderr_of},
};

const HEADS: usize = 2;
const PER_HEAD: usize = 16;

fn model(position: Position) -> Bdh {
    let spec =
        BdhSpec { d_model: 12, heads: HEADS, neurons: HEADS * PER_HEAD, layers: 3, position, ..BdhSpec::default() };
    let model = Bdh::new(&spec, 256, 3, &Device::Cpu).unwrap();
    for (_, var) in model.params().iter() {
        var.set(&(var.as_tensor() * 6.0).unwrap().detach()).unwrap();
    }
    model
}

fn corpus(folder: &Path) -> Corpus {
    let path = folder.join("text.txt");
    fs::write(&path, "The tide turned, and the harbour filled again.\n".repeat(40)).unwrap();
    let tokenizer = TokenizerSpec::Byte { vocab: 256 };
    Corpus::open(&CorpusSpec { held_out: 0.2, ..CorpusSpec::new(Source::File(path), tokenizer) }).unwrap()
}

fn ask<M: Measurement>(model: &mut dyn Trainable, corpus: &Corpus, args: &[(&str, Value)]) -> (M, Vec<String>) {
    let args: Args = args.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let inputs = ProbeInputs::standalone(corpus, &Device::Cpu);
    let found = (probe::find(M::PROBE).unwrap().ask)(model, &args, &inputs).unwrap();
    (M::from_payload(&found[0].payload).unwrap().clone(), found[0].tokens.clone())
}

fn text(t: &str) -> Value {
    Value::Text(t.to_owned())
}

/// x with the paper's rotary embedding of position `at`: each pair of neurons is rotated by its own angle.
fn rope_rotated(x: &[f64], at: usize) -> Vec<f64> {
    let pairs = x.chunks(2).enumerate().flat_map(|(pair, v)| {
        let cycles = 65536f64.powf(-((2 * pair) as f64) / PER_HEAD as f64) / TAU;
        let (sin, cos) = ((at as f64 * cycles).fract() * TAU).sin_cos();
        [v[0] * cos - v[1] * sin, v[1] * cos + v[0] * sin]
    });
    pairs.collect()
}

#[test]
fn products_are_those_of_recorded_x() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path());
    let read = "the harbour filled";
    let ids = corpus.encode(read);
    for (position, is_rotated) in [(Position::Rope, true), (Position::Rope, false), (Position::Alibi, true)] {
        let mut model = model(position);
        let args = [("text", text(read)), ("rotated", Value::Switch(is_rotated))];
        let (maps, tokens): (QueryKeyMaps, _) = ask(&mut model, &corpus, &args);
        assert_eq!((maps.is_rotated, maps.layers.len(), tokens.len()), (is_rotated, 3, ids.len()));
        let all = record(&model, &ids, &Recording { x: true, ..Recording::default() }).unwrap();
        for (layer, found) in maps.layers.iter().enumerate() {
            let x = host::to_f64(&all.iter().find(|(n, _)| *n == format!("layers.{layer}.x")).unwrap().1).unwrap();
            for head in 0..HEADS {
                let row = |t: usize| &x[(head * ids.len() + t) * PER_HEAD..][..PER_HEAD];
                let greatest = found.greatest[head];
                let mut most = 0f64;
                for query in 0..ids.len() {
                    for key in 0..ids.len() {
                        let (q, k) = match (position, is_rotated) {
                            (Position::Rope, true) => (rope_rotated(row(query), query), rope_rotated(row(key), key)),
                            _ => (row(query).to_vec(), row(key).to_vec()),
                        };
                        let dot: f64 = q.iter().zip(&k).map(|(a, b)| a * b).sum();
                        let slope = 2f64.powf(-8.0 * (head + 1) as f64 / HEADS as f64);
                        let wanted = match (key < query, position) {
                            (false, _) => 0.0,
                            (true, Position::Alibi) => dot * (-slope * (query - key) as f64).exp(),
                            (true, _) => dot,
                        };
                        most = most.max(wanted.abs());
                        let value = f64::from(found.products.at(&[head, query, key]).unwrap());
                        // the products are stored in half precision, whose significand has 11 bits
                        assert!(
                            (value - wanted).abs() < 1e-3 * greatest + 1e-12,
                            "{layer} {head} {query} {key}: {value} {wanted}"
                        );
                    }
                }
                assert!(most > 0.0 && (greatest - most).abs() < 1e-4 * most, "{greatest} {most}");
            }
        }
    }
}

#[test]
fn the_continuation_equals_that_of_model_generate() {
    let folder = tempfile::tempdir().unwrap();
    let (mut model, corpus) = (model(Position::Rope), corpus(folder.path()));
    let args = |write: i64, temperature: f64| {
        vec![("text", text("the tide")), ("write", Value::Int(write)), ("temperature", Value::Float(temperature))]
    };
    let (reading, tokens): (SynapseReading, _) = ask(&mut model, &corpus, &args(40, 0.0));
    assert_eq!((reading.written, reading.temperature, tokens.len()), (40, 0.0, 48));
    for values in reading.synapses.iter().map(|s| &s.sigma).chain([&reading.loss]) {
        assert_eq!(values.len(), 48);
    }
    // the model wrote the likeliest tokens, so their loss is below that of uniform guessing
    assert!(reading.loss[8..].iter().all(|l| *l < 256f64.ln() + 1e-3), "{:?}", reading.loss);
    write_bdh(&folder.path().join("model.safetensors"), &model);
    let output = command(folder.path(), ["model", "generate", "model.safetensors", "the tide", "--tokens", "40"])
        .args(["--temperature", "0", "--tokenizer", "byte"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr_of(&output));
    let ids: Vec<u32> = output.stdout[..48].iter().map(|b| u32::from(*b)).collect();
    assert_eq!(tokens, corpus.token_texts(&ids), "{:?}", String::from_utf8_lossy(&output.stdout));
    let (warm, other): (SynapseReading, _) = ask(&mut model, &corpus, &args(40, 1.5));
    assert_eq!((warm.written, other[..8].to_vec()), (40, tokens[..8].to_vec()));
    assert_ne!(other, tokens);
    assert_eq!(ask::<SynapseReading>(&mut model, &corpus, &args(40, 1.5)).1, other, "drawn from the run's seed");
    let (none, tokens): (SynapseReading, _) = ask(&mut model, &corpus, &args(0, 0.0));
    assert_eq!((none.written, tokens.len()), (0, 8));
}

#[test]
fn characters_of_several_bytes_are_shown_as_characters() {
    let folder = tempfile::tempdir().unwrap();
    let (mut model, corpus) = (model(Position::Rope), corpus(folder.path()));
    let (_, tokens): (SynapseReading, _) = ask(&mut model, &corpus, &[("text", text("\u{e9}t\u{e9} \u{20ac}"))]);
    assert_eq!(tokens, ["\u{e9}", "", "t", "\u{e9}", "", "\u{b7}", "\u{20ac}", "", ""]);
    // if the length limit cuts a character, the bytes that remain of it are shown
    let args = [("text", text("\u{e9}t\u{20ac}")), ("longest", Value::Int(4))];
    let (_, tokens): (SynapseReading, _) = ask(&mut model, &corpus, &args);
    assert_eq!(tokens, ["\u{e9}", "", "t", "\\xe2"]);
}

/// Sentences with two labels; only those labelled "money" contain a `$`.
fn sets() -> String {
    let line = |i: usize| format!("money\ta{}$ is {i}\nfood\ta{} is {i}\n", "c".repeat(i % 3), "c".repeat(1 + i % 3));
    (0..24).map(line).collect()
}

#[test]
fn any_checkpoint_is_searched_with_sentences_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    saved(folder.path());
    fs::write(folder.path().join("sets.tsv"), sets()).unwrap();
    fs::write(folder.path().join("one.tsv"), "a\tb\n".repeat(30)).unwrap();
    fs::write(folder.path().join("few.tsv"), "a\tb\nc\td\n").unwrap();
    fs::write(folder.path().join("latin.tsv"), b"a\tb\nc\t\xe9t\xe9\n").unwrap();
    let usual = "model find-concept model.safetensors sets.tsv --tokenizer byte --per-side 8 --random 2";
    let parts = [
        "\u{201c}food\u{201d} against money: searched with 12 + 12 sentences, confirmed with 12 + 12",
        "128 pairs searched",
        "of 2 random models",
        "on sentences that took no part in the search",
    ];
    let said = expect_exit(folder.path(), &format!("{usual} --concept food --json a.json"), 0, &parts);
    assert!(!said.contains("language"), "{said}");
    let json: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join("a.json")).unwrap()).unwrap();
    assert_eq!((json["concept"].as_str(), json["random"].as_array().map(Vec::len)), (Some("food"), Some(2)));
    assert!(said.contains(json["verdict"].as_str().unwrap()));
    done(folder.path(), &format!("{usual} --concept food --json b.json"));
    let bytes = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(bytes("a.json"), bytes("b.json"), "equal input, equal bytes");
    for (words, part) in [
        ("model.safetensors sets.tsv --concept snow", "choose one of money, food"),
        ("model.safetensors one.tsv", "has one label, `a`"),
        ("model.safetensors few.tsv", "at least 10 are needed"),
        ("model.safetensors latin.tsv", "Line 2 of latin.tsv is not UTF-8"),
        ("model.safetensors none.tsv", "does not exist"),
        ("sets.tsv sets.tsv", "sets.tsv"),
        ("model.safetensors sets.tsv --json sets.tsv", "is an input"),
    ] {
        let said = expect_exit(folder.path(), &format!("model find-concept {words}"), 2, &[part]);
        assert!(!said.contains("panicked"), "{words}: {said}");
    }
}

/// Saves the model of these tests into a folder.
fn saved(folder: &Path) {
    write_bdh(&folder.join("model.safetensors"), &model(Position::Rope));
}

#[test]
fn any_checkpoint_is_searched_with_the_built_in_sentences() {
    let folder = tempfile::tempdir().unwrap();
    saved(folder.path());
    let usual = "model find-concept model.safetensors currency_naive --per-side 4 --random 1";
    let parts = ["built-in sentences `currency_naive`", "currency, naive corpus: searched with", "of 1 random models"];
    let said = expect_exit(folder.path(), &format!("{usual} --tokenizer byte --json a.json"), 0, &parts);
    assert!(!said.contains("are left out"), "bytes say every letter: {said}");
    let json: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join("a.json")).unwrap()).unwrap();
    assert_eq!(json["concept"].as_str(), Some("currency, naive corpus"));
    // a file takes precedence over a built-in set of the same name
    fs::write(folder.path().join("currency"), sets()).unwrap();
    let words = "model find-concept model.safetensors currency --tokenizer byte --per-side 4 --random 1";
    expect_exit(folder.path(), words, 0, &["\u{201c}money\u{201d} against food"]);
    for (words, part) in [
        ("model.safetensors country --concept x", "leave out --concept"),
        ("model.safetensors nothing", "built-in sets are currency, country"),
    ] {
        expect_exit(folder.path(), &format!("model find-concept {words}"), 2, &[part]);
    }
}

#[test]
fn languages_with_unknown_letters_are_left_out() {
    use orrery::{
        corpus::{LabelledLines, TextTokenizer},
        probe::concepts::ConceptQuestion,
    };
    let bytes = TextTokenizer::open(&TokenizerSpec::Byte { vocab: 256 }, "").unwrap();
    let refused = || LabelledLines::read(Path::new("no such file")).unwrap_err();
    let plain = |text: &str| match text.is_ascii() {
        true => bytes.encode(text.as_bytes()),
        false => Err(refused()),
    };
    let (question, out) = ConceptQuestion::built_in("currency", &plain).unwrap().unwrap();
    assert!(question.languages.contains(&"en".to_owned()) && out.contains(&"fr"), "{out:?}");
    assert_eq!(question.languages.len() + out.len(), 4);
    assert!(question.items.iter().all(|i| i.language < question.languages.len() && !i.ids.is_empty()));
    let none = |_: &str| Err(refused());
    assert!(ConceptQuestion::built_in("currency", &none).unwrap().is_err());
    assert!(ConceptQuestion::built_in("snow", &plain).is_none());
}

/// Ctrl-C ends a long search with a message and its own exit code, and without an output file.
#[cfg(unix)]
#[test]
fn a_search_is_stopped_by_the_keyboard() {
    use std::{
        io::{BufRead as _, BufReader, Read as _},
        process::{Command, Stdio},
    };
    let folder = tempfile::tempdir().unwrap();
    saved(folder.path());
    let words = "model find-concept model.safetensors currency --tokenizer byte --random 16 --json a.json";
    let mut child =
        command(folder.path(), words.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().expect("the question is told").unwrap().contains("searched with") {}
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("the search was stopped after") && !said.contains("panicked"), "{said}");
    assert!(!folder.path().join("a.json").exists());
}
