//! Grammar roles (arXiv 2604.08556, sections 3 and 4): can a network that learns without labels and gradients tell who does
//! what to whom, and what of that does the network add to traces of the bare words? A treebank may take the place of the
//! grammar, as the paper plans in its section 8; its tags are then the roles.
//!
//! The networks make one pass over the training sentences, one batch per step, and then stay as they are: their stage ends
//! there. Supervised taggers beside them continue to the run's last step, pass after pass.

mod headlines;
pub mod settings;

use crate::{
    analysis::ema,
    corpus::{self, GrammarRoles, Source, TokenizerSpec, Treebank, generated::grammar_roles::Grammar},
    labs::prelude::*,
    models::{
        bigru::{BiGruSpec, WordInput},
        spcn::{LevelSpec, SpcnSpec, feedforward::FeedforwardRule},
    },
};
use settings::{CompareSettings, GrammarRolesSettings, GrammarSettings, NetworkSettings, RoleSettings};

pub static LAB: Lab = Lab {
    id: "grammar_roles",
    title: "Grammar roles",
    question: "Can a network that learns without labels tell who does what to whom, and is a network needed at all?",
    source: "EMA is not all you need, arXiv 2604.08556, \u{a7}3\u{2013}4",
    lesson: include_str!("../../../assets/lessons/grammar_roles.md"),
    groups: groups! {
        grammar = "Grammar", network = "Network", compare = "Beside it", roles = "Probes", sentences = "Your sentences",
        train, run
    },
    essentials: keys! {
        grammar.passive, grammar.adjective, network.sweeps, network.kept, compare.words, compare.no_slow_trace,
        compare.bigru, train.steps
    },
    knobs: GrammarRolesSettings::schema,
    presets: presets! {
        "grammar_roles", "Live", "The network reads 2,000 sentences once, beside traces of the bare words.";
        "grammar_roles_ablations", "Every switch",
        "The network beside itself without one direction, the slow trace, the buffer, learning, sweeps or unit norm.";
        "grammar_roles_bigru", "Supervised taggers",
        "Three bidirectional GRUs that are told the roles, one of them started badly, on the same axes.";
        "grammar_roles_hebbian", "Hebbian rules",
        "Four rules for the feedforward weights, which the paper gave up, beside the random ones: accuracy and effective rank.";
        "grammar_roles_second", "Other choices",
        "Where the paper leaves something open, another choice: more units on, relative precisions, a weak buffer.";
        "grammar_roles_paper", "As many as in the paper", "5,000 sentences to learn from and 3,000 in each test.";
    },
    plan: |config| plan(config, &GrammarRolesSettings::read(config)?),
    drawing: draw,
    panes: &[Pane::tall("settling"), Pane::tile("role_accuracy", 0)],
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: true,
};

/// A row that holds any sentence of the grammar has no use for more words, and few sentences of a treebank are longer.
const MAX_WINDOW: usize = 64;
/// Words of a vocabulary that can be read one-hot: six features each, whose products take about a gigabyte.
const MAX_ONE_HOT: usize = 2000;
/// Coefficients of the fast traces, level by level (the paper's).
const FAST_COEFFICIENTS: [f64; 4] = [0.5, 0.2, 0.1, 0.05];

/// The network of these settings. Errors name the key.
fn network(s: &NetworkSettings) -> Result<SpcnSpec, ConfigError> {
    let level = |(l, fast): (usize, f64)| {
        let units = s.units >> l;
        LevelSpec { units, active: ((s.kept * units as f64).round() as usize).clamp(1, units.max(1)), fast }
    };
    let (min, max) = (s.precision_min, s.precision_max);
    let why = format_args!(
        "`network.precision_max` = {max} is less than `network.precision_min` = {min}; raise it or lower the other"
    );
    refuse_if(max < min, NetworkSettings::precision_max.name, why)?;
    Ok(SpcnSpec {
        levels: FAST_COEFFICIENTS.into_iter().enumerate().take(s.levels).map(level).collect(),
        slow_share: s.slow_share,
        sweeps: s.sweeps,
        feedforward: s.feedforward,
        feedback: s.feedback,
        lateral: s.lateral,
        buffer: s.buffer,
        retrieved: s.retrieved,
        cosine: s.cosine,
        gain: s.gain,
        rate: s.rate,
        decay: s.decay,
        precision: [min, max],
        precision_per_unit: s.precision_per_unit,
        feedforward_rule: s.feedforward_rule,
        feedforward_rate: s.feedforward_rate,
        ..SpcnSpec::default()
    })
}

/// The network and the models that it is compared with, in the order that fixes their colours; taggers predict one of
/// `tags` tags.
fn variants(s: &GrammarRolesSettings, tags: usize) -> Result<Vec<Variant>, ConfigError> {
    let (full, on) = (network(&s.network)?, &s.compare);
    let changed = |change: fn(&mut SpcnSpec)| {
        let mut spec = full.clone();
        change(&mut spec);
        ModelSpec::Spcn(spec)
    };
    let learning = |feedforward_rule| ModelSpec::Spcn(SpcnSpec { feedforward_rule, ..full.clone() });
    let bigru = |input| {
        let (hidden, dropout) = (on.bigru_hidden, on.bigru_dropout);
        ModelSpec::BiGru(BiGruSpec { input, hidden, tags, dropout })
    };
    let embedding = |std| WordInput::Embedding { width: on.bigru_embedding, std };
    let CompareSettings { no_unit_norm, words, .. } = *on;
    let all = [
        (true, "network", "network", changed(|_| ())),
        (on.forward_only, "forward_only", "forward only", changed(|s| s.backward = false)),
        (on.no_slow_trace, "no_slow_trace", "no slow trace", changed(|s| s.slow_trace = false)),
        (on.no_spa, "no_spa", "no SPA", changed(|s| s.buffer = 0)),
        (
            on.no_spa_no_slow,
            "no_spa_no_slow",
            "no SPA, no slow trace",
            changed(|s| (s.buffer, s.slow_trace) = (0, false)),
        ),
        (on.no_learning, "no_learning", "no learning", changed(|s| s.rate = 0.0)),
        (on.one_sweep, "one_sweep", "one sweep", changed(|s| s.sweeps = 1)),
        (no_unit_norm, "no_unit_norm", "no unit norm", changed(|s| s.unit_norm = false)),
        (on.sanger, "sanger", "Sanger", learning(FeedforwardRule::Sanger)),
        (on.foldiak, "foldiak", "Foldiak", learning(FeedforwardRule::Foldiak)),
        (on.surprise, "surprise", "surprise-gated PGHU", learning(FeedforwardRule::Surprise)),
        (on.forward_forward, "forward_forward", "forward-forward", learning(FeedforwardRule::ForwardForward)),
        (words, "words", "no network", changed(|s| s.network = false)),
        (on.bigru, "bigru", "BiGRU", bigru(embedding(1.0))),
        (on.bigru_one_hot, "bigru_one_hot", "BiGRU, one-hot", bigru(WordInput::OneHot)),
        (on.bigru_small, "bigru_small", "BiGRU, N(0, .02)", bigru(embedding(0.02))),
    ];
    Ok(Variant::switched_on(all))
}

fn check(s: &GrammarRolesSettings) -> Result<(), ConfigError> {
    let GrammarSettings { passive, transitive, train, words, .. } = s.grammar;
    let is_treebank = s.grammar.treebank.path().is_some();
    let why = format_args!(
        "`grammar.passive` = {passive} and `grammar.transitive` = {transitive} are more than all sentences; lower one of them"
    );
    refuse_if(!is_treebank && passive + transitive > 1.0, GrammarSettings::passive.name, why)?;
    let TrainSettings { batch, window, accumulate, .. } = s.train;
    let why = format_args!(
        "`train.batch` = {batch} by `train.accumulate` = {accumulate} is more than `grammar.train` = {train} sentences; make it at most {train}"
    );
    refuse_if(batch * accumulate > train, TrainSettings::batch.name, why)?;
    let (key, longest) = (TrainSettings::window.name, corpus::generated::grammar_roles::MAX_SENTENCE);
    let why = match is_treebank {
        true => "more words than a sentence may have here".to_owned(),
        false => format!("mostly empty: sentences have at most {longest} words"),
    };
    let why = format_args!("`{key}` = {window} is {why}; make it at most {MAX_WINDOW}");
    refuse_if(window > MAX_WINDOW, key, why)?;
    let why =
        format_args!("`{key}` = {window} has no room for a sentence of {longest} words; make it at least {longest}");
    refuse_if(!is_treebank && window < longest, key, why)?;
    let key = GrammarSettings::words.name;
    let why = format_args!(
        "`{key}` = {words} are more words than can be read one-hot; make it at most {MAX_ONE_HOT}, or switch off `compare.words` and `compare.bigru_one_hot`"
    );
    let is_one_hot = s.compare.words || s.compare.bigru_one_hot;
    refuse_if(is_treebank && is_one_hot && words > MAX_ONE_HOT, key, why)
}

/// The run of these settings. Errors name the key to change.
pub fn plan(config: &Config, s: &GrammarRolesSettings) -> Result<Plan, ConfigError> {
    check(s)?;
    let GrammarSettings { passive, transitive, adjective, train, test, tags, words, lowercase, .. } = s.grammar;
    let (tags, longest) = (tags.column(), s.train.window);
    let treebank = s.grammar.treebank.path().map(|path| Treebank { path, tags, lowercase, longest });
    let is_treebank = treebank.is_some();
    let tokenizer =
        if is_treebank { TokenizerSpec::Whitespace { max_vocab: words } } else { GrammarRoles::tokenizer() };
    let sets = GrammarRoles {
        grammar: Grammar { passive, transitive, adjective },
        train,
        test,
        seed: config.seed,
        own: s.sentences.file.path(),
        treebank,
    };
    let variants = variants(s, sets.roles().len())?;
    let text =
        corpus::CorpusSpec { seed: config.seed, ..corpus::CorpusSpec::new(Source::GrammarRoles(sets), tokenizer) };
    let probes = vec![ask_every(&s.roles.args(), RoleSettings::every, s.roles.every)];
    let mut plan = Experiment::new(config, &s.train, &s.run).plan(text, &variants, probes);
    plan.end_after_pass(train);
    Ok(plan)
}

/// The default settings, as a config.
pub fn config(settings: &[(&str, &str)], seed: u64) -> Result<Config, ConfigError> {
    let mut config = LAB.defaults_with(settings)?;
    config.seed = seed;
    Ok(config)
}

/// "the cat that sees a dog hides", and which phrase each word belongs to.
const WORDS: [(&str, usize); 7] =
    [("the", 0), ("cat", 0), ("that", 1), ("sees", 1), ("a", 2), ("dog", 2), ("hides", 3)];
const N_UNITS: usize = 24;
const N_ACTIVE: usize = 6;

/// The gallery's drawing of grammar roles: a sentence read to the pointer's place, a sparse code for every word, and what
/// is left of each in a fast trace.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let read = ((canvas.pointer_or(0.8) * WORDS.len() as f32) as usize).min(WORDS.len() - 1);
    let (column, row) = (width / WORDS.len() as f32, (height - 4.0) / N_UNITS as f32);
    for (i, (word, group)) in WORDS.iter().enumerate() {
        let left = ema::retention(FAST_COEFFICIENTS[0], read.saturating_sub(i) as f64) as f32;
        let opacity = if i > read { 0.08 } else { 0.2 + 0.8 * left };
        for unit in ema::sparse_code(7, ema::word_id(word), N_UNITS, N_ACTIVE) {
            let y = 2.0 + row * (unit as f32 + 0.5);
            let x = column * i as f32 + 4.0;
            drawing.path(vec![[x, y], [x + column - 8.0, y]], Ink::Group(*group).with_opacity(opacity), 0.7 * row);
        }
    }
    drawing.caption = format!("a trace after “{}”: who did it?", WORDS[read].0);
}
