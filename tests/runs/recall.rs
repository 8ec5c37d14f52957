//! Tests the batches of associative recall: complete examples, correct answers, chance level, refused settings.

use std::collections::HashSet;

use orrery::{
    config::Value,
    corpus::{self, Corpus, Position, Source, TokenizerSpec, Windows},
    models::{ModelSpec, dense::DenseSpec},
    nn::Device,
    probe::{self, ProbeInputs},
    telemetry::{Args, Measurement, measurements::PairAttention},
};

const LEVELS: [(&str, usize, usize); 3] = [("mqar_easy", 4, 64), ("mqar_medium", 8, 128), ("mqar_hard", 16, 256)];
const CHARS: TokenizerSpec = TokenizerSpec::Char { max_vocab: 64 };

fn open(id: &str, tokenizer: TokenizerSpec) -> Corpus {
    Corpus::open(&corpus::CorpusSpec::new(Source::Generated(id.into()), tokenizer)).unwrap()
}

fn batch(corpus: &Corpus, drawn: u64, rows: usize, len: usize) -> Windows {
    corpus.batch(&Position { seed: 7, drawn }, rows, len).unwrap()
}

#[test]
fn every_window_is_one_whole_example_with_right_answers() {
    for (id, pairs, len) in LEVELS {
        for tokenizer in [CHARS, TokenizerSpec::Word { max_vocab: 64 }, TokenizerSpec::Byte { vocab: 256 }] {
            let corpus = open(id, tokenizer);
            for windows in [batch(&corpus, 5, 32, len), corpus.held_out(32, len).unwrap()] {
                assert_eq!((windows.rows, windows.inputs.len()), (32, 32 * len));
                (0..32).for_each(|row| check_row(&corpus, &windows, row, pairs));
            }
        }
        let corpus = open(id, CHARS);
        assert_eq!((corpus.vocab(), corpus.chance_accuracy()), (64, Some(1.0 / pairs as f64)));
        assert!(corpus.describe().contains(&format!("{pairs} pairs")), "{}", corpus.describe());
    }
}

/// Checks a row: the pairs come first, each key is queried exactly once, only queries have a scored target, and the
/// target is the key's value.
fn check_row(corpus: &Corpus, windows: &Windows, row: usize, pairs: usize) {
    let span = row * windows.len..(row + 1) * windows.len;
    let (inputs, targets) = (&windows.inputs[span.clone()], &windows.targets[span.clone()]);
    let marks = &windows.answers.as_ref().unwrap()[span];
    let shown = corpus.decode(inputs);
    let told: Vec<(u32, u32)> = (0..pairs).map(|i| (inputs[2 * i], inputs[2 * i + 1])).collect();
    let mut asked = HashSet::new();
    for i in 0..windows.len {
        assert_eq!(targets[i] != u32::MAX, marks[i], "`{shown}`");
        if marks[i] {
            assert!(told.contains(&(inputs[i], targets[i])), "{i} of `{shown}`");
            assert_eq!(inputs.get(i + 1), Some(&targets[i]), "the answer is cut off: `{shown}`");
            assert!(asked.insert(inputs[i]), "asked for twice: `{shown}`");
        }
    }
    assert_eq!(asked.len(), pairs, "`{shown}`");
}

#[test]
fn training_and_held_out_examples_are_distinct_and_pure() {
    for (id, _, len) in LEVELS {
        let (a, b) = (open(id, CHARS), open(id, CHARS));
        assert_eq!(batch(&a, 9, 4, len), batch(&b, 9, 4, len));
        assert_ne!(batch(&a, 9, 4, len), batch(&a, 10, 4, len));
        let rows = |w: &Windows| -> HashSet<Vec<u32>> { w.inputs.chunks(w.len).map(<[u32]>::to_vec).collect() };
        let held = rows(&a.held_out(200, len).unwrap());
        assert_eq!(held.len(), 200);
        assert!((0..50).all(|drawn| rows(&batch(&a, drawn, 16, len)).is_disjoint(&held)));
    }
}

#[test]
fn a_passage_reads_as_pairs_and_questions() {
    let corpus = open("mqar_easy", CHARS);
    let text = corpus.decode(&corpus.passage(0, 64));
    assert_eq!(text.len(), 64);
    assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.'), "{text}");
    let pair = &text[..2];
    assert_eq!(text.matches(pair).count(), 2, "{text}");
}

#[test]
fn too_short_a_window_and_too_small_a_vocabulary_say_so() {
    let corpus = open("mqar_hard", CHARS);
    let error = corpus.batch(&Position { seed: 1, drawn: 0 }, 2, 63).unwrap_err().to_string();
    assert!(error.contains("16 pairs") && error.contains("at least 64"), "{error}");
    let tokenizer = TokenizerSpec::Char { max_vocab: 40 };
    let spec = corpus::CorpusSpec::new(Source::Generated("mqar_easy".into()), tokenizer);
    let error = Corpus::open(&spec).err().unwrap().to_string();
    assert!(error.contains("vocabulary of 64"), "{error}");
}

#[test]
fn attention_to_pairs_is_measured_by_layer_and_head() -> Result<(), Box<dyn std::error::Error>> {
    let corpus = open("mqar_medium", CHARS);
    let mut model = ModelSpec::Dense(DenseSpec { d_model: 16, layers: 2, hidden: 32, ..DenseSpec::default() }).build(
        corpus.vocab(),
        3,
        &Device::Cpu,
    )?;
    let probe = probe::find("pair_attention").ok_or("no such probe")?;
    let args = Args::from([("window".to_owned(), Value::Int(64)), ("examples".to_owned(), Value::Int(6))]);
    let mut findings = (probe.ask)(model.as_mut(), &args, &ProbeInputs::standalone(&corpus, &Device::Cpu))?;
    let finding = findings.pop().ok_or("no answer")?;
    assert_eq!(finding.about, "48 questions of 6 held-out examples");
    let found = PairAttention::from_payload(&finding.payload).ok_or("another measurement")?;
    assert_eq!((found.questions, found.layers.len()), (48, model.capabilities().attention_layers.len()));
    for layer in &found.layers {
        assert!(layer.uniform > 1.0 / 64.0 && layer.uniform < 1.0 / 16.0, "{layer:?}");
        // an untrained model attends to these positions about as much as to all others
        let all = layer.to_value.iter().chain(layer.to_key.iter());
        assert!(all.clone().count() > 0 && all.into_iter().all(|w| *w > 0.0 && *w < 4.0 * layer.uniform), "{layer:?}");
    }
    let prose = open("harbour", TokenizerSpec::Byte { vocab: 320 });
    let nothing = (probe.ask)(model.as_mut(), &args, &ProbeInputs::standalone(&prose, &Device::Cpu))?;
    assert!(nothing.is_empty(), "prose asks nothing");
    Ok(())
}
