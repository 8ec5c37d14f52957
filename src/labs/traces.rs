//! The Traces lab (arXiv 2604.08556): what is left of a word in a fixed-coefficient trace, and what a
//! reader can still name from it.

use super::{Lab, Pane, Preset, common};
use crate::{
    config::{Config, ConfigError, Knob, Value},
    models::{
        Spec,
        recover::{Reader, RecoverSpec},
    },
    trainer::{Plan, ProbeSchedule, VariantSpec},
};

pub static LAB: Lab = Lab {
    id: "traces",
    title: "Traces",
    question: "A trace forgets every word at the same rate. How far back can anyone still read from it?",
    source: "EMA is not all you need, arXiv 2604.08556",
    lesson: include_str!("../../assets/lessons/traces.md"),
    groups: &[
        ("traces", "Traces"),
        ("recoverability", "Recoverability"),
        ("corpus", "Text"),
        ("train", "Training"),
        ("run", "Run"),
    ],
    knobs,
    presets: &[
        Preset {
            id: "traces",
            title: "Random symbols",
            about: "Sixteen letters in no order: nothing to guess, only to remember. The clean picture.",
            toml: include_str!("../../configs/traces.toml"),
        },
        Preset {
            id: "traces_text",
            title: "Prose",
            about: "The same readers on generated prose, letter by letter: spelling helps a little, and only nearby.",
            toml: include_str!("../../configs/traces_text.toml"),
        },
        Preset {
            id: "traces_bits",
            title: "A trace of 6 bits",
            about: "Each unit of a trace is read with 64 levels: what is below one level is gone for every reader.",
            toml: include_str!("../../configs/traces_bits.toml"),
        },
    ],
    plan,
    panes: &[
        Pane { view: "trace_strips", column: 0, share: 0.6, tab: false },
        Pane { view: "word_swap", column: 0, share: 0.4, tab: false },
        Pane { view: "trace_decay", column: 1, share: 0.5, tab: false },
        Pane { view: "recoverability", column: 1, share: 0.5, tab: false },
        Pane { view: "losses", column: 1, share: 0.5, tab: true },
    ],
    opens_with_run: false,
};

/// The sentence that the strips begin with.
const SENTENCE: &str = "the keeper of the old light found a small brass key under the stairs and kept it in his \
                        coat for years before anyone asked which door it would open";

fn knobs() -> Vec<Knob> {
    let mut all = trace_knobs();
    all.extend(recoverability_knobs());
    all.extend(common::corpus_knobs().into_iter().map(|k| match k.key {
        "corpus.source" => k.default_to(Value::Text("symbols".into())),
        "corpus.tokenizer" => k.default_to(Value::Text("char".into())),
        "corpus.vocab" => k.default_to(Value::Int(64)),
        _ => k,
    }));
    all.extend(common::training_knobs(600, 0.01, 4, 128).into_iter().map(|k| match k.key {
        "train.weight_decay" => k.default_to(Value::Float(0.0)),
        "train.floor" => k.default_to(Value::Float(0.05)),
        _ => k,
    }));
    all.extend(common::run_knobs(100, 200));
    all
}

fn trace_knobs() -> Vec<Knob> {
    let alpha = |key, label, symbol, default| {
        Knob::float(key, label, default, 0.001, 0.9).log().symbol(symbol).tip(
            "Share of the new word in the trace at each step; the rest is what was there before. Curves and strips follow at once; readers take it when training starts anew.",
        )
    };
    vec![
        alpha("traces.alpha_fast", "Fast", "α_f", 0.5),
        alpha("traces.alpha_medium", "Medium", "α_m", 0.1),
        alpha("traces.alpha_slow", "Slow", "α_s", 0.02),
        Knob::text("traces.sentence", "Sentence", SENTENCE).tip(
            "The words that the strips run along. Type your own; the same word always has the same code and colour.",
        ),
        Knob::int("traces.swap_word", "Word to swap", 5, 1, 1000)
            .tip("Which word of the sentence is replaced, counted from 1. Click a word in the view to choose it."),
        Knob::text("traces.swap_to", "Swap it for", "new")
            .tip("The word that takes its place. The two sentences differ in nothing else."),
        Knob::int("traces.code_dim", "Code units", 64, 8, 1024)
            .symbol("C")
            .unit("units")
            .tip("Length of a word's random code, and of a trace. More units keep more words apart."),
        Knob::int("traces.code_active", "Units on", 6, 1, 64)
            .unit("units")
            .tip("How many units of a code are on. Few make words nearly unlike one another; many make them overlap."),
    ]
}

fn recoverability_knobs() -> Vec<Knob> {
    vec![
        Knob::text("recoverability.distances", "Distances", "1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64").symbol("k").tip(
            "How many steps back the readers are asked to name, in tokens. The window must be longer than the furthest.",
        ),
        Knob::int("recoverability.hidden", "Hidden units", 128, 8, 2048).symbol("H").tip(
            "Width of a reader's hidden layer for each trace that it reads. A wider reader reads better, but never more than the trace holds.",
        ),
        Knob::int("recoverability.bits", "Bits a unit", 0, 0, 16).unit("bits").tip(
            "Reads each unit of a trace with so many bits, as a real memory would. 0 reads the full 32-bit number.",
        ),
        Knob::switch("recoverability.past", "Reader of all past traces", true).tip(
            "Adds a reader that may look at the traces of every earlier position, not only the present one. It escapes the limit because it keeps the whole past.",
        ),
        Knob::int("recoverability.every", "Measure every", 50, 0, 1_000_000).unit("steps").live().tip(
            "Steps between two measurements on held-out text. 0 never measures by itself.",
        ),
        Knob::int("recoverability.windows", "Held-out windows", 24, 1, 1024).unit("windows").tip(
            "On how many held-out windows accuracy is measured. More make the band narrower and the measurement slower.",
        ),
    ]
}

fn distances(c: &Config) -> Result<Vec<usize>, ConfigError> {
    let key = "recoverability.distances";
    let text = c.text(key);
    let mut all = vec![];
    for part in text.split([',', ' ']).filter(|p| !p.is_empty()) {
        match part.parse::<usize>() {
            Ok(k) if k <= 4096 => all.push(k),
            _ => {
                return Err(ConfigError::WrongType {
                    key: key.into(),
                    got: format!("`{part}`"),
                    want: "whole numbers from 0 to 4096 with commas between them, such as `1, 2, 4, 8`".into(),
                });
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    let Some(&furthest) = all.last() else {
        return Err(ConfigError::Inconsistent(format!(
            "`{key}` is empty; give at least one distance, such as `1, 2, 4, 8`"
        )));
    };
    let window = c.usize("train.window");
    if window <= furthest {
        return Err(ConfigError::Inconsistent(format!(
            "`train.window` = {window} has no token {furthest} steps back; make it at least {} or shorten `{key}`",
            furthest + 1
        )));
    }
    Ok(all)
}

/// Readers in the order that fixes their colours: (id, label, what it sees).
fn readers(c: &Config) -> Vec<(&'static str, String, Reader)> {
    let alphas = ["traces.alpha_fast", "traces.alpha_medium", "traces.alpha_slow"].map(|k| c.f64(k));
    let single = |name: &str, alpha: f64| (format!("{name}, α {alpha}"), Reader::Single { alpha });
    let [fast, medium, slow] = [single("fast", alphas[0]), single("medium", alphas[1]), single("slow", alphas[2])];
    let mut all = vec![
        ("fast", fast.0, fast.1),
        ("medium", medium.0, medium.1),
        ("slow", slow.0, slow.1),
        ("three", "three traces".to_owned(), Reader::Three { alphas }),
        ("attention", "attention, three traces".to_owned(), Reader::Attention { alphas }),
        ("raw", "attention, raw tokens".to_owned(), Reader::Raw),
    ];
    if c.bool("recoverability.past") {
        all.push(("past", "attention, all past traces".to_owned(), Reader::AttentionPast { alphas }));
    }
    all
}

fn plan(c: &Config) -> Result<Plan, ConfigError> {
    let distances = distances(c)?;
    let (code_dim, code_active) = (c.usize("traces.code_dim"), c.usize("traces.code_active"));
    if code_active > code_dim {
        return Err(ConfigError::Inconsistent(format!(
            "`traces.code_active` = {code_active} is more than the {code_dim} units that a code has; lower it or raise `traces.code_dim`"
        )));
    }
    let variants = readers(c).into_iter().map(|(id, label, reader)| VariantSpec {
        id: id.to_owned(),
        label,
        group: id.to_owned(),
        seed: c.seed,
        model: Spec::Recover(RecoverSpec {
            reader,
            distances: distances.clone(),
            code_dim,
            code_active,
            code_seed: c.seed,
            hidden: c.usize("recoverability.hidden"),
            bits: c.usize("recoverability.bits") as u32,
        }),
    });
    let whole = |key: &str| Value::Int(c.usize(key) as i64);
    let args = [("windows".to_owned(), whole("recoverability.windows")), ("window".to_owned(), whole("train.window"))];
    let every = c.usize("recoverability.every") as u64;
    let probes = vec![ProbeSchedule { probe: "recoverability".into(), every, args: args.into() }];
    Ok(common::plan(c, common::corpus_spec(c)?, variants.collect(), probes))
}
