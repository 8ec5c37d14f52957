//! Knobs that every training lab shares: corpus, training, run. And their way into a plan.

use std::path::PathBuf;

use crate::{
    config::{Config, ConfigError, Knob},
    corpus::{Source, Spec, Task, TokenizerSpec},
    nn::optimiser::AdamWSpec,
    trainer::{Optimisation, Plan, ProbeSchedule, Schedule, VariantSpec},
};

/// Generated corpora that a person may choose by name; `corpus.file` overrides.
pub const SOURCES: &[&str] = &[
    "mixture",
    "harbour",
    "garden",
    "observatory",
    "letters",
    "facts",
    "facts_symbols",
    "symbols",
    "steering",
    "repeats",
    "parliament",
    "parliament_naive",
    "parliament_en_es",
    "parliament_en_fr",
    "parliament_en_de",
    "parliament_fr_es",
    "parliament_fr_de",
    "parliament_es_de",
];

/// `corpus.*`
pub fn corpus_knobs() -> Vec<Knob> {
    vec![
        Knob::choice("corpus.source", "Corpus", "mixture", SOURCES).tip(
            "Which generated text to learn from. A file of your own, below, takes its place.",
        ),
        Knob::text("corpus.file", "Text file", "").tip(
            "A text file of your own, of any size: a book, code, a log. Leave it empty to use the generated corpus.",
        ),
        Knob::choice("corpus.tokenizer", "Tokens", "byte", &["byte", "char", "word", "spaced", "bpe", "huggingface"]).tip(
            "What one token is. Bytes need no vocabulary; characters and words are easier to read; spaced has words and the spaces between them; BPE is learned from the text.",
        ),
        Knob::int("corpus.vocab", "Vocabulary", 320, 16, 65536).symbol("V").unit("tokens").tip(
            "Rows of the embedding. Bytes use 256 of them (the paper keeps 320); for characters, words and BPE this is the most there may be.",
        ),
        Knob::text("corpus.tokenizer_file", "tokenizer.json", "").tip(
            "A Hugging Face tokenizer.json, used when Tokens is `huggingface`. The vocabulary is then the file's.",
        ),
        Knob::float("corpus.held_out", "Held out", 0.1, 0.01, 0.5).tip(
            "The last part of the text, never trained on. Held-out losses are measured there; the paper keeps a tenth.",
        ),
        Knob::switch("corpus.answers_only", "Only answers count", false).tip(
            "Train on the positions that ask a question and nothing else. Acts on the fact corpora; prose has no questions.",
        ),
        Knob::int("corpus.spacing", "Question spacing", 0, 0, 4096).unit("tokens").tip(
            "The fewest tokens between a statement of the fact and the next question, in the fact corpora. 0 is the corpus's own: 32 in symbols, 40 in stories.",
        ),
        Knob::int("corpus.seed", "Text seed", 1, 0, i64::MAX).tip(
            "Draws the generated text. Another seed gives other people and other facts, in the same language.",
        ),
    ]
}

/// `train.*`, at the defaults of the given lab.
pub fn training_knobs(steps: i64, lr: f64, batch: i64, window: i64) -> Vec<Knob> {
    vec![
        Knob::int("train.steps", "Steps", steps, 1, 10_000_000)
            .unit("updates")
            .tip("How many updates the run makes. The schedule's cosine ends at the last one."),
        Knob::int("train.batch", "Batch", batch, 1, 1024)
            .symbol("B")
            .unit("windows")
            .tip("Windows of text in one update. All variants see the same ones."),
        Knob::int("train.window", "Window", window, 4, 8192)
            .symbol("T")
            .unit("tokens")
            .tip("Length of a training window. Attention sees at most this far back."),
        Knob::float("train.lr", "Learning rate", lr, 1e-6, 1.0)
            .log()
            .live()
            .symbol("η")
            .tip("Peak step size of AdamW. Acts on the running model at the next update; warm-up and cosine scale it."),
        Knob::int("train.warmup", "Warm-up", 20, 0, 1_000_000)
            .unit("updates")
            .tip("Updates over which the learning rate rises from zero. It keeps the first steps from being wild."),
        Knob::float("train.floor", "Cosine floor", 0.1, 0.0, 1.0)
            .tip("The learning rate at the last step, as a share of the peak. 1 keeps it constant after warm-up."),
        Knob::float("train.weight_decay", "Weight decay", 0.1, 0.0, 1.0)
            .symbol("λ")
            .tip("Decoupled decay of every weight at each update, times the learning rate. AdamW's."),
        Knob::float("train.beta1", "Momentum", 0.9, 0.0, 0.9999)
            .symbol("β₁")
            .tip("How long AdamW remembers the gradient. 0.9 is about ten updates."),
        Knob::float("train.beta2", "Second moment", 0.95, 0.0, 0.99999)
            .symbol("β₂")
            .tip("How long AdamW remembers the squared gradient. 0.95 is about twenty updates."),
        Knob::float("train.clip", "Clip norm", 1.0, 0.0, 1000.0)
            .tip("Gradients longer than this are shortened to it. 0 switches clipping off."),
    ]
}

/// `run.*`
pub fn run_knobs(eval_every: i64, checkpoint_every: i64) -> Vec<Knob> {
    vec![
        Knob::text("run.device", "Device", "auto").tip(
            "Where the model computes: auto, cpu, cuda:0 or metal. `auto` takes the fastest that this build and machine have.",
        ),
        Knob::int("run.threads", "Threads", 0, 0, 256).tip(
            "Worker threads. 0 takes all cores but one, which is left to the interface.",
        ),
        Knob::int("run.eval_every", "Held-out every", eval_every, 0, 1_000_000).unit("steps").live().tip(
            "Steps between measurements of the held-out loss. 0 measures it only at the start and the end.",
        ),
        Knob::int("run.eval_windows", "Held-out windows", 8, 1, 4096).unit("windows").tip(
            "How many held-out windows one measurement uses. More are steadier and slower.",
        ),
        Knob::int("run.checkpoint_every", "Checkpoint every", checkpoint_every, 0, 1_000_000).unit("steps").live().tip(
            "Steps between checkpoints, from which a run can be resumed exactly. 0 keeps only the last state.",
        ),
    ]
}

/// The corpus that `corpus.*` names. Paths starting with `~/` are the home folder's.
pub fn corpus_spec(c: &Config) -> Result<Spec, ConfigError> {
    text_spec(c, c.text("corpus.source"), c.text("corpus.file"))
}

/// This generated text, or this file if one is named, read as `corpus.*` says.
pub fn text_spec(c: &Config, source: &str, file: &str) -> Result<Spec, ConfigError> {
    let file = file.trim();
    let source = match (file.is_empty(), source) {
        (false, _) => Source::File(PathBuf::from(file)),
        (true, id @ ("facts" | "facts_symbols")) => Source::Task(Task {
            id: id.to_owned(),
            spacing: c.usize("corpus.spacing"),
            answers_only: c.bool("corpus.answers_only"),
        }),
        (true, id) => Source::Generated(id.to_owned()),
    };
    let vocab = c.usize("corpus.vocab");
    let tokenizer = match c.text("corpus.tokenizer") {
        "byte" if vocab < 256 => {
            return Err(ConfigError::OutOfRange {
                key: "corpus.vocab".into(),
                got: format!("`{vocab}`"),
                want: "at least 256 when `corpus.tokenizer` is byte".into(),
            });
        }
        "byte" => TokenizerSpec::Byte { vocab },
        "char" => TokenizerSpec::Char { max_vocab: vocab },
        "bpe" => TokenizerSpec::Bpe { vocab },
        "word" => TokenizerSpec::Word { max_vocab: vocab },
        "spaced" => TokenizerSpec::Spaced { max_vocab: vocab },
        _ => {
            let path = c.text("corpus.tokenizer_file").trim();
            if path.is_empty() {
                return Err(ConfigError::Inconsistent(
                    "`corpus.tokenizer` is huggingface but `corpus.tokenizer_file` is empty; give the path of a tokenizer.json".into(),
                ));
            }
            TokenizerSpec::HuggingFace(PathBuf::from(path))
        }
    };
    Ok(Spec { source, tokenizer, held_out: c.f64("corpus.held_out"), seed: c.usize("corpus.seed") as u64 })
}

/// AdamW and its schedule from `train.*`.
pub fn optimisation(c: &Config) -> Optimisation {
    Optimisation {
        adamw: AdamWSpec {
            beta1: c.f64("train.beta1"),
            beta2: c.f64("train.beta2"),
            eps: 1e-8,
            weight_decay: c.f64("train.weight_decay"),
            clip: c.f64("train.clip"),
        },
        schedule: Schedule {
            lr: c.f64("train.lr"),
            warmup: c.usize("train.warmup") as u64,
            floor: c.f64("train.floor"),
        },
    }
}

/// `probe.<id>_every`: how often a probe is asked by itself.
pub fn every_knob(key: &'static str, label: &'static str, default: i64, tip: &'static str) -> Knob {
    Knob::int(key, label, default, 0, 1_000_000).unit("steps").live().tip(tip)
}

/// These variants on this corpus, by `train.*` and `run.*`.
pub fn plan(c: &Config, corpus: Spec, variants: Vec<VariantSpec>, probes: Vec<ProbeSchedule>) -> Plan {
    Plan {
        config: c.clone(),
        corpus,
        more_texts: vec![],
        parts: vec![],
        batch: c.usize("train.batch"),
        window: c.usize("train.window"),
        along: 0,
        steps: c.usize("train.steps") as u64,
        optimisation: optimisation(c),
        variants,
        probes,
        asks_with: String::new(),
        eval_every: c.usize("run.eval_every") as u64,
        eval_windows: c.usize("run.eval_windows"),
        checkpoint_every: c.usize("run.checkpoint_every") as u64,
        device: c.text("run.device").to_owned(),
        threads: c.usize("run.threads"),
    }
}
