//! The settings of the lab Grammar roles.

use crate::{
    config::{TextFile, TreebankFile},
    corpus::TagColumn,
    labs::prelude::*,
    models::spcn::feedforward::FeedforwardRule,
};

settings! {
    pub struct GrammarRolesSettings {
        grammar: GrammarSettings,
        network: NetworkSettings,
        compare: CompareSettings,
        roles: RoleSettings,
        sentences: SentenceSettings,
        train: TrainSettings {
            steps: 100, lr: 1e-3, batch: 20, window: 11, warmup: 20, weight_decay: 0.0, floor: 0.02,
        },
        run: RunSettings { device: "cpu".into(), eval_every: 10, eval_windows: 60, checkpoint_every: 0 },
    }

    pub struct GrammarSettings in "grammar" {
        /// Share of passive sentences. At one half the first word is as often the patient's as the agent's, and nothing but the rest of the sentence tells which.
        passive: f64 = 0.5 => "Passive", range(0.0..=1.0), without(GrammarSettings::treebank);
        /// Share of transitive sentences. The other four structures have what is left in equal shares.
        transitive: f64 = 0.1 => "Transitive", range(0.0..=1.0), without(GrammarSettings::treebank);
        /// How often a noun phrase that may have an adjective has one. Adjectives shift all later words by one.
        adjective: f64 = 0.5 => "Adjectives", range(0.0..=1.0), without(GrammarSettings::treebank);
        /// Sentences of animals, or of a treebank, that the network reads once, and that probes are fitted to. Without a BiGRU the run ends when they are read, whatever Steps says. The paper has 5,000.
        train: usize = 2000 => "Learn from", range(20..=100_000), unit("sentences");
        /// Sentences of each test: one of animals, one of vehicles. A treebank has one test. The paper has 3,000.
        test: usize = 1000 => "Test on", range(10..=100_000), unit("sentences");
        /// A treebank in the form CoNLL-U (Universal Dependencies), whose sentences replace the grammar's; the shares above then do nothing. The seed draws those to learn from and to test, none twice; if there are fewer than asked for, at most a third of them test, and the others are learned from. Sentences longer than the window are left out, and the run says how many. Held-out words outside the vocabulary below take the place of the other vocabulary.
        treebank: TreebankFile = TreebankFile::default() => "Treebank";
        /// The roles of a treebank's words: `upos` parts of speech, or `deprel` relations to the head, without subtypes. Which word is the head is not asked.
        tags: TreebankTags = TreebankTags::Upos => "Tags";
        /// The vocabulary of a treebank: its most frequent words, and one that stands for all others. Bare words without a network are one-hot, so that the time to fit a probe to them grows as the cube of this number.
        words: usize = 1000 => "Vocabulary", range(10..=50_000), unit("words");
        /// Reads the words of a treebank in lower case.
        lowercase: bool = true => "Lower case";
    }

    /// The network of predictive columns. The paper leaves most of it open.
    pub struct NetworkSettings in "network" {
        /// Units of the lowest level; each level above has half of the one below.
        units: usize = 512 => "Lowest level", range(16..=2048), symbol("d"), unit("units");
        /// Levels of each hierarchy. Only the lowest is read for the paper's table; the ones above send predictions down.
        levels: usize = 4 => "Levels", range(1..=4);
        /// Share of a level's units that stay on. The paper names 6% for its language model alone.
        kept: f64 = 0.06 => "Units on", range(0.01..=1.0);
        /// How often all levels are settled for each word.
        sweeps: usize = 3 => "Sweeps", range(1..=16);
        /// Weight of what comes from the level below.
        feedforward: f64 = 1.0 => "From below", range(0.0..=4.0), symbol("α");
        /// Weight of what the level above predicts.
        feedback: f64 = 0.5 => "From above", range(0.0..=4.0), symbol("β");
        /// Weight of the level's own previous state.
        lateral: f64 = 0.3 => "From beside", range(0.0..=4.0), symbol("γ");
        /// How many settled states of earlier words the current error may retrieve. 0 switches this off.
        buffer: usize = 8 => "Episodic buffer", range(0..=64), unit("words");
        /// How many of the best matching states are mixed.
        retrieved: usize = 4 => "Best matches", range(1..=64);
        /// Compare error and states by their angle rather than by their product.
        cosine: bool = false => "Cosine";
        /// The factor of the mixture of matching states.
        gain: f64 = 1.0 => "Gain of the buffer", range(0.0..=4.0);
        /// How fast feedback weights follow errors; 0 learns nothing.
        rate: f64 = 0.01 => "Learning rate", range(0.0..=1.0), symbol("η");
        /// The share that feedback weights lose at each word.
        decay: f64 = 0.001 => "Decay", range(0.0..=0.5), symbol("λ_d");
        /// The smallest precision, the weight of a unit's error.
        precision_min: f64 = 0.1 => "Least precision", range(1e-3..=100.0), log, symbol("π_min");
        /// The largest precision, the weight of a unit's error. The update's gain is the learning rate times its square, and must stay below 2.
        precision_max: f64 = 10.0 => "Largest precision", range(1e-3..=1000.0), log, symbol("π_max");
        /// Precisions of 1 / (d v) rather than 1 / v, for a level of d units.
        precision_per_unit: bool = false => "Precision by width";
        /// The rule by which the feedforward weights of the network learn. The paper's stay as they were drawn; it tried the others, prints none of them, and found that they collapse or gain nothing: their form here is our reading.
        feedforward_rule: FeedforwardRule = FeedforwardRule::Frozen => "Feedforward rule";
        /// How fast feedforward weights follow such a rule, here and in the networks compared with it.
        feedforward_rate: f64 = 0.01 => "Feedforward rate", range(0.0..=1.0);
        /// The slow trace's coefficient as a share of the fast one's.
        slow_share: f64 = 0.15 => "Slow trace", range(0.01..=1.0);
    }

    /// The models that are run beside the network, on the same sentences.
    pub struct CompareSettings in "compare" {
        /// No hierarchy that reads from right to left.
        forward_only: bool = false => "Forward only";
        /// Only the fast trace.
        no_slow_trace: bool = false => "No slow trace";
        /// No episodic buffer (sparse predictive attention).
        no_spa: bool = false => "No SPA";
        /// Neither episodic buffer nor slow trace.
        no_spa_no_slow: bool = false => "No SPA, no slow trace";
        /// Feedback weights stay at 0.
        no_learning: bool = false => "No learning";
        /// One settling sweep a word.
        one_sweep: bool = false => "One sweep";
        /// States are not scaled to length 1. The update's gain grows past 2, and the numbers overflow; the run says when.
        no_unit_norm: bool = false => "No unit norm";
        /// Feedforward weights that learn by Sanger's generalised Hebbian algorithm.
        sanger: bool = false => "Sanger";
        /// Feedforward weights that learn by Foldiak's rule: Hebbian, with inhibition that undoes correlations.
        foldiak: bool = false => "Foldiak";
        /// Feedforward weights that learn by the rule of the feedback weights, at surprising words alone.
        surprise: bool = false => "Surprise-gated PGHU";
        /// Feedforward weights that learn by the forward-forward algorithm; negative sentences are read from the wrong side.
        forward_forward: bool = false => "Forward-forward";
        /// Traces of the words themselves, one-hot, without any network.
        words: bool = true => "No network";
        /// A supervised bidirectional GRU with an embedding that starts at N(0, 1). It goes on until the run's last step.
        bigru: bool = false => "BiGRU";
        /// The same, and words go in one-hot.
        bigru_one_hot: bool = false => "BiGRU, one-hot";
        /// The same, and the embedding starts at N(0, 0.02).
        bigru_small: bool = false => "BiGRU, small start";
        /// Units of each direction of the GRUs.
        bigru_hidden: usize = 256 => "BiGRU units", range(4..=1024);
        /// Width of their embedding.
        bigru_embedding: usize = 64 => "BiGRU embedding", range(4..=1024);
        /// Share of a GRU's states that each of its updates sets to 0, before the roles are read off them. The paper has 0.1.
        bigru_dropout: f64 = 0.1 => "BiGRU dropout", range(0.0..=0.9);
    }

    /// The classifier that reads roles off the features.
    pub struct RoleSettings in "roles" {
        /// Penalty of the ridge regression. It matters as much as the architecture: 10 takes a tenth off the accuracy within.
        lambda: f64 = 0.01 => "Ridge penalty", range(1e-6..=1000.0), log, symbol("λ");
        /// Levels that are read, from the lowest.
        levels: usize = 4 => "Levels read", range(1..=4);
        /// Read level 0 also through random projections to equal dimension, five of each; the table of `orrery study roles` has their mean and spread.
        project: bool = false => "Equal dimension";
        /// Steps between two measurements, besides those at the start and at the end of a pass. 0 never measures by itself.
        every: u64 = 100 => "Measure every", range(0..=1_000_000), unit("steps"), live;
    }

    /// Your own sentences.
    pub struct SentenceSettings in "sentences" {
        /// A text file of sentences in the grammar's words, one per line, whose settling is shown. Nothing is learned from them.
        file: TextFile = TextFile::default() => "Sentences of your own";
    }
}

choices! {
    /// The tags of a treebank that stand for roles.
    pub enum TreebankTags {
        Upos = "upos",
        Deprel = "deprel",
    }
}

impl TreebankTags {
    /// The column that holds them.
    pub fn column(self) -> TagColumn {
        match self {
            Self::Upos => TagColumn::Upos,
            Self::Deprel => TagColumn::Deprel,
        }
    }
}

impl RoleSettings {
    /// The arguments of questions about role accuracy.
    pub fn args(&self) -> RoleAccuracyArgs {
        let Self { lambda, levels, project, .. } = *self;
        RoleAccuracyArgs { lambda, levels: Some(levels), project }
    }
}
