//! Tests the search for top activating contexts: it finds the same contexts as a direct pass over every window, it can
//! be stopped, and the command line gives the same results.

use std::{
    cell::Cell,
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use candle_core::Device;
use orrery::{
    config::Value,
    corpus::{Corpus, CorpusSpec, Source, TokenizerSpec},
    models::{
        Trainable,
        bdh::{Bdh, BdhSpec},
        capabilities::{Recording, record},
    },
    nn::host,
    probe::{self, ProbeInputs, Progress},
    telemetry::{Args, Measurement, measurements::TopContexts},
};

use crate::{
    bdh_file::write_bdh,
    command::{done, expect_exit},
};

const WINDOW: usize = 48;
const HEADS: usize = 2;
const PER_HEAD: usize = 24;
const LAYERS: usize = 3;

fn spec() -> BdhSpec {
    BdhSpec { d_model: 12, heads: HEADS, neurons: HEADS * PER_HEAD, layers: LAYERS, ..BdhSpec::default() }
}

fn model() -> Bdh {
    let model = Bdh::new(&spec(), 256, 3, &Device::Cpu).unwrap();
    for (_, var) in model.params().iter() {
        var.set(&(var.as_tensor() * 6.0).unwrap().detach()).unwrap();
    }
    model
}

fn text() -> String {
    (0..130)
        .map(|i| format!("the {} of \u{e9}t\u{e9} costs {} pence\n", ["tide", "rope", "bread"][i % 3], i * 37 % 91))
        .collect()
}

fn corpus(folder: &Path, text: &str) -> Corpus {
    let path = folder.join("text.txt");
    fs::write(&path, text).unwrap();
    let tokenizer = TokenizerSpec::Byte { vocab: 256 };
    Corpus::open(&CorpusSpec { held_out: 0.2, ..CorpusSpec::new(Source::File(path), tokenizer) }).unwrap()
}

fn args(more: &[(&str, Value)]) -> Args {
    let usual = [("span", Value::Text("whole".into())), ("window", Value::Int(WINDOW as i64)), ("top", Value::Int(7))];
    usual.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn ask(model: &mut dyn Trainable, corpus: &Corpus, args: &Args) -> Result<TopContexts, String> {
    let inputs = ProbeInputs::standalone(corpus, &Device::Cpu);
    let found = (probe::find("top_contexts").unwrap().ask)(model, args, &inputs).map_err(|e| e.to_string())?;
    TopContexts::from_payload(&found[0].payload).cloned().ok_or_else(|| "no answer".to_owned())
}

/// x and y of one window by layer, neuron and token, computed with the recurrent form.
struct Activations {
    x: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
    tokens: usize,
}

impl Activations {
    fn new(model: &Bdh, ids: &[u32]) -> Self {
        let all = record(model, ids, &Recording { x: true, y: true, ..Recording::default() }).unwrap();
        let of = |part: &str| -> Vec<Vec<f64>> {
            let named = |l: usize| all.iter().find(|(n, _)| *n == format!("layers.{l}.{part}")).unwrap().1.clone();
            (0..LAYERS).map(|l| host::to_f64(&named(l)).unwrap()).collect()
        };
        Self { x: of("x"), y: of("y"), tokens: ids.len() }
    }

    fn at(&self, values: &[Vec<f64>], layer: usize, neuron: usize, token: usize) -> f64 {
        values[layer][(neuron / PER_HEAD * self.tokens + token) * PER_HEAD + neuron % PER_HEAD]
    }
}

/// The largest value of each window with its position in the text, in descending order; the number of positive values;
/// and the sum of all values.
fn plain_pass(model: &Bdh, ids: &[u32], value: impl Fn(&Activations, usize) -> f64) -> (Vec<(f64, usize)>, usize, f64) {
    let (mut best, mut fires, mut sum) = (vec![], 0, 0.0);
    for (w, window) in ids.chunks(WINDOW).enumerate() {
        let plain = Activations::new(model, window);
        let values: Vec<f64> = (0..window.len()).map(|t| value(&plain, t)).collect();
        fires += values.iter().filter(|v| **v > 0.0).count();
        sum += values.iter().sum::<f64>();
        let most = values.iter().enumerate().fold((0.0, 0), |m, (t, v)| if *v > m.0 { (*v, t) } else { m });
        best.push((most.0, w * WINDOW + most.1));
    }
    best.sort_by(|a, b| b.0.total_cmp(&a.0));
    (best, fires, sum)
}

#[test]
fn top_contexts_are_those_of_a_plain_forward_pass() {
    let folder = tempfile::tempdir().unwrap();
    let (mut model, corpus) = (model(), corpus(folder.path(), &text()));
    let ids = corpus.encode(&text());
    let neuron = PER_HEAD + 5;
    let int = |n: usize| Value::Int(n as i64);
    let named = |of: &str| args(&[("of", Value::Text(of.into())), ("neuron", Value::Text("1:5".into()))]);
    let one_layer = |of: &str| [named(of), args(&[("layer", int(1))])].into_iter().flatten().collect::<Args>();
    let synapse = args(&[("of", Value::Text("synapse".into())), ("layer", int(2)), ("i", int(3)), ("j", int(neuron))]);
    let most = move |p: &Activations, v: &[Vec<f64>], t| (0..LAYERS).map(|l| p.at(v, l, neuron, t)).fold(0.0, f64::max);
    type ValueOf = Box<dyn Fn(&Activations, usize) -> f64>;
    let cases: [(&str, Args, ValueOf); 4] = [
        ("y of neuron 1:5, greatest of all layers", named("y"), Box::new(move |p, t| most(p, &p.y, t))),
        ("x of neuron 1:5, layer 1", one_layer("x"), Box::new(move |p, t| p.at(&p.x, 1, neuron, t))),
        ("y of neuron 1:5, layer 1", one_layer("y"), Box::new(move |p, t| p.at(&p.y, 1, neuron, t))),
        (
            "synapse from y 0:3 of layer 1 to x 1:5 of layer 2",
            synapse,
            Box::new(move |p, t| p.at(&p.y, 1, 3, t) * p.at(&p.x, 2, neuron, t)),
        ),
    ];
    for (words, args, value) in cases {
        let found = ask(&mut model, &corpus, &args).unwrap();
        let (wanted, fires, sum) = plain_pass(&model, &ids, value);
        assert_eq!(found.followed, words);
        assert_eq!((found.read, found.fires, found.is_cut), (ids.len(), fires, false), "{words}");
        assert!(fires > 20, "{words}: a test of a silent neuron says nothing");
        assert!((found.mean - sum / ids.len() as f64).abs() < 1e-5 * found.mean, "{words}");
        assert_eq!(found.bin_counts.iter().sum::<u64>(), fires as u64);
        assert_eq!(found.contexts.len(), 7);
        for (rank, (c, (value, _))) in found.contexts.iter().zip(&wanted).enumerate() {
            assert!((c.value - value).abs() < 1e-4 * value, "{words} {rank}: {} {value}", c.value);
            // windows whose values differ less than the rounding error may be in either order
            let near: Vec<usize> =
                wanted.iter().filter(|(v, _)| (v - value).abs() < 1e-4 * value).map(|w| w.1).collect();
            assert!(near.contains(&c.position), "{words} {rank}: {} {near:?}", c.position);
            assert_eq!(c.position % WINDOW, c.token);
            assert_eq!(c.values[c.token], c.value);
            assert_eq!(c.tokens.len(), c.values.len());
        }
        let share: f64 = found.tokens.iter().map(|t| t.share).sum();
        assert!(share > 0.3 && share < 1.0 + 1e-9, "{share}");
        assert!(found.tokens.is_sorted_by(|a, b| a.share >= b.share));
    }
}

#[test]
fn a_passage_read_by_itself_gives_its_values_again() {
    let folder = tempfile::tempdir().unwrap();
    let (mut model, corpus) = (model(), corpus(folder.path(), &text()));
    let found =
        ask(&mut model, &corpus, &args(&[("neuron", Value::Text("0:7".into())), ("layer", Value::Int(2))])).unwrap();
    let exact = found.contexts.iter().find(|c| c.is_exact).unwrap();
    let plain = Activations::new(&model, &corpus.encode(&exact.text));
    for (t, value) in exact.values.iter().enumerate() {
        assert!((plain.at(&plain.y, 2, 7, t) - value).abs() < 1e-4, "{t}");
    }
}

#[test]
fn pieces_of_a_long_text_do_not_show() {
    let folder = tempfile::tempdir().unwrap();
    // the text is longer than one chunk of 64 KiB, whose end lies inside a window
    let long = text().repeat(16);
    let (mut model, corpus) = (model(), corpus(folder.path(), &long));
    let mut first = |tokens: usize| {
        let tokens = Value::Int(tokens as i64);
        ask(&mut model, &corpus, &args(&[("neuron", Value::Text("1:5".into())), ("tokens", tokens)])).unwrap()
    };
    let before = (65_536 / WINDOW - 1) * WINDOW;
    let (whole, part, cut) = (first(0), first(before), first(1000));
    let most = |p: &Activations, t| (0..LAYERS).map(|l| p.at(&p.y, l, PER_HEAD + 5, t)).fold(0.0, f64::max);
    let (_, fires, _) = plain_pass(&model, &corpus.encode(&long)[before..], most);
    assert!(fires > 20);
    assert_eq!((whole.read, whole.fires - part.fires), (long.len(), fires));
    assert_eq!((cut.read, cut.is_cut), (1000, true));
    assert!(cut.contexts.iter().all(|c| c.position < 1000));
}

#[test]
fn a_text_shorter_than_a_window_is_one_window() {
    let folder = tempfile::tempdir().unwrap();
    let short = "the tide turned again";
    let (mut model, corpus) = (model(), corpus(folder.path(), short));
    let asked =
        args(&[("neuron", Value::Text("1:5".into())), ("of", Value::Text("x".into())), ("window", Value::Int(4096))]);
    let found = ask(&mut model, &corpus, &asked).unwrap();
    assert_eq!(found.read, short.len());
    assert_eq!(found.contexts.len(), 1);
    assert_eq!(found.contexts[0].text, short);
}

#[test]
fn the_context_search_can_be_cancelled_and_refuses_invalid_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let (mut model, corpus) = (model(), corpus(folder.path(), &text().repeat(20)));
    let asked = args(&[("neuron", Value::Text("0:1".into())), ("tokens", Value::Int(0))]);
    let (cancelled, told) = (AtomicBool::new(false), Cell::new(0));
    let report = |share: f32| {
        assert!((0.0..=1.0).contains(&share));
        told.set(told.get() + 1);
        cancelled.store(told.get() == 2, Ordering::Relaxed);
    };
    let progress = Progress::new(&report, &cancelled);
    let inputs = ProbeInputs { progress, ..ProbeInputs::standalone(&corpus, &Device::Cpu) };
    let error = (probe::find("top_contexts").unwrap().ask)(&mut model, &asked, &inputs).err().unwrap();
    assert!(error.to_string().contains("cancelled"), "{error}");
    assert_eq!(told.get(), 2, "nothing is read after it");
    let text = |t: &str| Value::Text(t.to_owned());
    for (more, words) in [
        (vec![("neuron", text("2:0"))], "2 heads of 24 neurons"),
        (vec![("neuron", text("0:1, 0:2"))], "one neuron is followed at a time"),
        (vec![("neuron", text("0:1")), ("layer", Value::Int(3))], "layers 0 to 2"),
        (vec![("of", text("synapse"))], "no synapse is chosen"),
        (
            vec![("of", text("synapse")), ("layer", Value::Int(0)), ("i", Value::Int(1)), ("j", Value::Int(1))],
            "layer 0",
        ),
    ] {
        let error = ask(&mut model, &corpus, &args(&more)).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn model_contexts_prints_the_contexts_of_the_probe() {
    let folder = tempfile::tempdir().unwrap();
    let (mut model, corpus) = (model(), corpus(folder.path(), &text()));
    write_bdh(&folder.path().join("model.safetensors"), &model);
    let usual = "model contexts model.safetensors text.txt --tokenizer byte --window 48 --top 7";
    let greatest = "y of neuron 1:5, greatest of all layers: above zero at";
    expect_exit(folder.path(), &format!("{usual} --neuron 1:5 --csv a.csv"), 0, &[greatest]);
    let found = ask(&mut model, &corpus, &args(&[("neuron", Value::Text("1:5".into()))])).unwrap();
    let bytes = fs::read(folder.path().join("a.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = csv::Reader::from_reader(&bytes[..]).records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 7);
    for (row, c) in rows.iter().zip(&found.contexts) {
        assert_eq!((row[3].parse::<usize>().unwrap(), &row[5]), (c.position, c.text.as_str()));
        assert!((row[1].parse::<f64>().unwrap() - c.value).abs() < 1e-6 * c.value);
    }
    done(folder.path(), &format!("{usual} --neuron 1:5 --csv b.csv"));
    assert_eq!(bytes, fs::read(folder.path().join("b.csv")).unwrap(), "equal input, equal bytes");
    let synapse = "synapse from y 0:3 of layer 1 to x 1:5 of layer 2";
    expect_exit(folder.path(), &format!("{usual} --synapse 2:0:3:1:5"), 0, &[synapse]);
    for (more, words) in [
        ("", "--neuron"),
        ("--neuron 5:0", "2 heads of 24 neurons"),
        ("--synapse 2:3", "not a synapse"),
        ("--synapse 9:1:2", "layers 0 to 2"),
        ("--neuron 0:1 --layer 8", "layers 0 to 2"),
        ("--neuron 0:1 --csv text.txt", "text.txt is an input"),
    ] {
        let said = expect_exit(folder.path(), &format!("{usual} {more}"), 2, &[words]);
        assert!(!said.contains("panicked"), "{more}: {said}");
    }
}
