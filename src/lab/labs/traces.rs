//! The Traces lab (arXiv 2604.08556): how much of a word remains in a fixed-coefficient trace, and how well a reader
//! can still name it.

mod headlines;

use crate::{
    labs::prelude::*,
    models::recover::{ReaderInput, RecoverSpec},
};

pub static LAB: Lab = Lab {
    id: "traces",
    title: "Traces",
    question: "A trace forgets every word at the same rate. How far back can anyone still read from it?",
    source: "EMA is not all you need, arXiv 2604.08556",
    lesson: include_str!("../../../assets/lessons/traces.md"),
    groups: groups! { traces = "Traces", recoverability = "Recoverability", corpus, train, run },
    essentials: keys! {
        traces.sentence, traces.swap_word, traces.alpha_fast, traces.alpha_medium, traces.alpha_slow,
        recoverability.bits, recoverability.past, corpus.source
    },
    knobs: TracesLabSettings::schema,
    presets: presets! {
        "traces", "Random symbols",
        "Sixteen letters in no order: nothing to guess, only to remember. The clean picture. Half a minute.";
        "traces_text", "Prose",
        "The same readers on generated prose, letter by letter: spelling helps a little, and only nearby. Half a minute.";
        "traces_bits", "A trace of 6 bits",
        "Each unit of a trace is read with 64 levels: what is below one level is gone for every reader. Half a minute.";
    },
    plan: |config| plan(config, &TracesLabSettings::read(config)?),
    drawing: draw,
    panes: panes! {
        0: "trace_strips", "word_swap";
        1: "recoverability", "losses";
        1: "trace_decay";
    },
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: false,
};

const SENTENCE: &str = "the keeper of the old light found a small brass key under the stairs and kept it in his \
                        coat for years before anyone asked which door it would open";

settings! {
    pub struct TracesLabSettings {
        traces: TraceSettings,
        recoverability: RecoverabilitySettings,
        corpus: CorpusSettings { source: GeneratedCorpus::by_id("symbols"), tokenizer: TokenKind::Char, vocab: 64 },
        train: TrainSettings { steps: 600, lr: 0.01, batch: 4, window: 128, weight_decay: 0.0, floor: 0.05 },
        run: RunSettings,
    }

    /// Three traces, the sentence that they run along, and the codes of its words.
    pub struct TraceSettings in "traces" {
        /// Share of the new word in the trace at each step; the rest is what was there before. Curves and strips follow at once; readers take it when training starts anew.
        alpha_fast: f64 = 0.5 => "Fast", range(0.001..=0.9), log, symbol("α_f");
        /// Share of the new word in the trace at each step; the rest is what was there before. Curves and strips follow at once; readers take it when training starts anew.
        alpha_medium: f64 = 0.1 => "Medium", range(0.001..=0.9), log, symbol("α_m");
        /// Share of the new word in the trace at each step; the rest is what was there before. Curves and strips follow at once; readers take it when training starts anew.
        alpha_slow: f64 = 0.02 => "Slow", range(0.001..=0.9), log, symbol("α_s");
        /// The words that the strips run along. Type your own; the same word always has the same code and colour.
        sentence: String = SENTENCE.into() => "Sentence", in_views;
        /// Which word of the sentence is replaced, counted from 1. Click a word in the view to choose it.
        swap_word: usize = 5 => "Word to swap", range(1..=1000), in_views;
        /// The word that takes its place. The two sentences differ in nothing else.
        swap_to: String = "new".into() => "Swap it for", in_views;
        /// Length of a word's random code, and of a trace. More units keep more words apart.
        code_dim: usize = 64 => "Code units", range(8..=1024), symbol("C"), unit("units");
        /// How many units of a code are on. Few make words nearly unlike one another; many make them overlap.
        code_active: usize = 6 => "Units on", range(1..=64), unit("units");
    }

    /// The readers of the traces, and how they are measured.
    pub struct RecoverabilitySettings in "recoverability" {
        /// How many steps back the readers are asked to name, in tokens. The window must be longer than the furthest.
        distances: String = "1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64".into() => "Distances", symbol("k");
        /// Width of a reader's hidden layer for each trace that it reads. A wider reader reads better, but never more than the trace holds.
        hidden: usize = 128 => "Hidden units", range(8..=2048), symbol("H");
        /// Reads each unit of a trace with this many bits, as a real memory would. 0 reads the full 32-bit number.
        bits: u32 = 0 => "Bits a unit", range(0..=16), unit("bits");
        /// Adds a reader that may look at the traces of every earlier position, not only the current one. It escapes the limit because it keeps the whole past.
        past: bool = true => "Reader of all past traces";
        /// Steps between two measurements on held-out text. 0 never measures by itself.
        every: u64 = 50 => "Measure every", range(0..=1_000_000), unit("steps"), live;
        /// How many held-out windows accuracy is measured on. More make the band narrower and the measurement slower.
        windows: usize = 24 => "Held-out windows", range(1..=1024), unit("windows");
    }
}

/// Distances in ascending order, each once. Errors: no whole numbers, none at all, or one that the window
/// does not reach.
fn distances(text: &str, window: usize) -> Result<Vec<usize>, ConfigError> {
    let key = RecoverabilitySettings::distances.name;
    let all = whole_numbers(key, text, 0..=4096, "such as `1, 2, 4, 8`")?;
    let Some(&furthest) = all.last() else {
        let why = format!("`{key}` is empty; give at least one distance, such as `1, 2, 4, 8`");
        return Err(ConfigError::inconsistent(key, why));
    };
    let least = furthest + 1;
    let why = format_args!(
        "`train.window` = {window} has no token {furthest} steps back; make it at least {least} or shorten `{key}`"
    );
    refuse_if(window < least, TrainSettings::window.name, why)?;
    Ok(all)
}

fn plan(config: &Config, s: &TracesLabSettings) -> Result<Plan, ConfigError> {
    let (asked, codes) = (&s.recoverability, &s.traces);
    let distances = distances(&asked.distances, s.train.window)?;
    let TraceSettings { code_dim, code_active, .. } = *codes;
    let why = format_args!(
        "`traces.code_active` = {code_active} is more than the {code_dim} units that a code has; lower it or raise `traces.code_dim`"
    );
    refuse_if(code_active > code_dim, TraceSettings::code_active.name, why)?;
    let model = |reader| {
        ModelSpec::Recover(RecoverSpec {
            reader,
            distances: distances.clone(),
            code_dim,
            code_active,
            code_seed: config.seed,
            hidden: asked.hidden,
            bits: asked.bits,
        })
    };
    // in the order that fixes their colours
    let alphas = [codes.alpha_fast, codes.alpha_medium, codes.alpha_slow];
    let single =
        |id: &str, alpha: f64| Variant::new(id, &format!("{id}, α {alpha}"), model(ReaderInput::Single { alpha }));
    let mut variants = vec![single("fast", alphas[0]), single("medium", alphas[1]), single("slow", alphas[2])];
    variants.extend(Variant::switched_on([
        (true, "three", "three traces", model(ReaderInput::Three { alphas })),
        (true, "attention", "attention, three traces", model(ReaderInput::Attention { alphas })),
        (true, "raw", "attention, raw tokens", model(ReaderInput::Raw)),
        (asked.past, "past", "attention, all past traces", model(ReaderInput::AttentionPast { alphas })),
    ]));
    let args = RecoverabilityArgs { windows: asked.windows, window: s.train.window };
    let probes = vec![ask_every(&args, RecoverabilitySettings::every, asked.every)];
    Ok(Experiment::new(config, &s.train, &s.run).plan(s.corpus.spec()?, &variants, probes))
}

/// The gallery's drawing of the traces: what is left of a token after k more, (1 - alpha)^k, at three
/// rates.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let middle = 10f32.powf(-1.7 + 1.1 * canvas.pointer_or(0.5));
    let x = |k: f32| width * k / 64.0;
    let y = |v: f32| height - 2.0 - v * (height - 6.0);
    let alphas = [4.0, 1.0, 0.25].map(|factor: f32| (middle * factor).clamp(0.001, 0.95));
    for (trace, alpha) in alphas.into_iter().enumerate() {
        let points = (0..=64).map(|k| [x(k as f32), y((1.0 - alpha).powi(k))]).collect();
        drawing.path(points, Ink::Trace(trace), 1.5);
    }
    let [fast, medium, slow] = alphas;
    drawing.caption = format!("what is left k tokens later: (1 − α)ᵏ, α = {fast:.2}, {medium:.2}, {slow:.3}");
}
