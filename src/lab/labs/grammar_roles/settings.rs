//! The settings of the lab Grammar roles.

use crate::{
    config::{TextFile, TreebankFile},
    corpus::TagColumn,
    labs::prelude::*,
    models::spcn::feedforward::FeedforwardRule,
    telemetry::measurements::RoleAccuracyArgs,
};

settings! {
    pub struct GrammarRolesSettings {
        grammar: GrammarSettings,
        network: NetworkSettings,
        compare: CompareSettings,
        roles: RoleSettings,
        sentences: SentenceSettings,
        train: TrainSettings = TrainSettings {
            steps: 100,
            lr: 1e-3,
            batch: 20,
            window: 11,
            warmup: 20,
            weight_decay: 0.0,
            floor: 0.02,
            ..TrainSettings::default()
        },
        run: RunSettings = RunSettings {
            device: "cpu".into(),
            eval_every: 10,
            eval_windows: 60,
            checkpoint_every: 0,
            ..RunSettings::default()
        },
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

settings! {
    pub struct GrammarSettings in "grammar" {
        /// Share of passive sentences. At one half the first word is as often the patient's as the agent's, and nothing but the rest of the sentence tells which.
        #[knob("Passive", range(0.0..=1.0), without(GrammarSettings::treebank))]
        passive: f64 = 0.5,
        /// Share of transitive sentences. The other four structures have what is left in equal shares.
        #[knob("Transitive", range(0.0..=1.0), without(GrammarSettings::treebank))]
        transitive: f64 = 0.1,
        /// How often a noun phrase that may have an adjective has one. Adjectives shift all later words by one.
        #[knob("Adjectives", range(0.0..=1.0), without(GrammarSettings::treebank))]
        adjective: f64 = 0.5,
        /// Sentences of animals, or of a treebank, that the network reads once, and that probes are fitted to. Without a BiGRU the run ends when they are read, whatever Steps says. The paper has 5,000.
        #[knob("Learn from", range(20..=100_000), unit("sentences"))]
        train: usize = 2000,
        /// Sentences of each test: one of animals, one of vehicles. A treebank has one test. The paper has 3,000.
        #[knob("Test on", range(10..=100_000), unit("sentences"))]
        test: usize = 1000,
        /// A treebank in the form CoNLL-U (Universal Dependencies), whose sentences stand in place of the grammar's; the shares above then do nothing. The seed draws those to learn from and to test, none twice; if there are fewer than asked for, at most a third of them test, and the others are learned from. Sentences longer than the window are left out, and the run says how many. In place of another vocabulary stand held-out words outside of the one below.
        #[knob("Treebank")]
        treebank: TreebankFile = TreebankFile::default(),
        /// The roles of a treebank's words: `upos` parts of speech, or `deprel` relations to the head, without subtypes. Which word is the head is not asked.
        #[knob("Tags")]
        tags: TreebankTags = TreebankTags::Upos,
        /// The vocabulary of a treebank: its most frequent words, and one that stands for all others. Bare words without a network are one-hot, so that the time to fit a probe to them grows as the cube of this number.
        #[knob("Vocabulary", range(10..=50_000), unit("words"))]
        words: usize = 1000,
        /// Reads the words of a treebank in lower case.
        #[knob("Lower case")]
        lowercase: bool = true,
    }
}

settings! {
    /// The network of predictive columns. The paper leaves most of it open.
    pub struct NetworkSettings in "network" {
        /// Units of the lowest level; each level above has half of the one below.
        #[knob("Lowest level", range(16..=2048), symbol("d"), unit("units"))]
        units: usize = 512,
        /// Levels of each hierarchy. Only the lowest is read for the paper's table; the ones above send predictions down.
        #[knob("Levels", range(1..=4))]
        levels: usize = 4,
        /// Share of a level's units that stay on. The paper names 6% for its language model alone.
        #[knob("Units on", range(0.01..=1.0))]
        kept: f64 = 0.06,
        /// How often all levels are settled for each word.
        #[knob("Sweeps", range(1..=16))]
        sweeps: usize = 3,
        /// Weight of what comes from the level below.
        #[knob("From below", range(0.0..=4.0), symbol("α"))]
        feedforward: f64 = 1.0,
        /// Weight of what the level above predicts.
        #[knob("From above", range(0.0..=4.0), symbol("β"))]
        feedback: f64 = 0.5,
        /// Weight of the level's own state of the moment before.
        #[knob("From beside", range(0.0..=4.0), symbol("γ"))]
        lateral: f64 = 0.3,
        /// Settled states of earlier words that the present error may call back. 0 switches this off.
        #[knob("Episodic buffer", range(0..=64), unit("words"))]
        buffer: usize = 8,
        /// How many of the best matching states are mixed.
        #[knob("Best matches", range(1..=64))]
        retrieved: usize = 4,
        /// Compare error and states by their angle rather than by their product.
        #[knob("Cosine")]
        cosine: bool = false,
        /// The factor of the mixture of matching states.
        #[knob("Gain of the buffer", range(0.0..=4.0))]
        gain: f64 = 1.0,
        /// How fast feedback weights follow errors; 0 learns nothing.
        #[knob("Learning rate", range(0.0..=1.0), symbol("η"))]
        rate: f64 = 0.01,
        /// The share that feedback weights lose at each word.
        #[knob("Decay", range(0.0..=0.5), symbol("λ_d"))]
        decay: f64 = 0.001,
        /// The smallest precision, the weight of a unit's error.
        #[knob("Least precision", range(1e-3..=100.0), log, symbol("π_min"))]
        precision_min: f64 = 0.1,
        /// The largest precision, the weight of a unit's error. The update's gain is the learning rate times its square, and must stay below 2.
        #[knob("Largest precision", range(1e-3..=1000.0), log, symbol("π_max"))]
        precision_max: f64 = 10.0,
        /// Precisions of 1 / (d v) rather than 1 / v, for a level of d units.
        #[knob("Precision by width")]
        precision_per_unit: bool = false,
        /// The rule by which the feedforward weights of the network learn. The paper's stay as they were drawn; it tried the others, prints none of them, and found that they collapse or gain nothing: their form here is our reading.
        #[knob("Feedforward rule")]
        feedforward_rule: FeedforwardRule = FeedforwardRule::Frozen,
        /// How fast feedforward weights follow such a rule, here and in the networks beside.
        #[knob("Feedforward rate", range(0.0..=1.0))]
        feedforward_rate: f64 = 0.01,
        /// The slow trace's coefficient as a share of the fast one's.
        #[knob("Slow trace", range(0.01..=1.0))]
        slow_share: f64 = 0.15,
    }
}

settings! {
    /// The models that are run beside the network, on the same sentences.
    pub struct CompareSettings in "compare" {
        /// No hierarchy that reads from right to left.
        #[knob("Forward only")]
        forward_only: bool = false,
        /// Only the fast trace.
        #[knob("No slow trace")]
        no_slow_trace: bool = false,
        /// No episodic buffer (sparse predictive attention).
        #[knob("No SPA")]
        no_spa: bool = false,
        /// Neither episodic buffer nor slow trace.
        #[knob("No SPA, no slow trace")]
        no_spa_no_slow: bool = false,
        /// Feedback weights stay at 0.
        #[knob("No learning")]
        no_learning: bool = false,
        /// One settling sweep a word.
        #[knob("One sweep")]
        one_sweep: bool = false,
        /// States are not scaled to length 1. The update's gain grows past 2, and the numbers overflow; the run says when.
        #[knob("No unit norm")]
        no_unit_norm: bool = false,
        /// Feedforward weights that learn by Sanger's generalised Hebbian algorithm.
        #[knob("Sanger")]
        sanger: bool = false,
        /// Feedforward weights that learn by Foldiak's rule: Hebbian, with inhibition that undoes correlations.
        #[knob("Foldiak")]
        foldiak: bool = false,
        /// Feedforward weights that learn by the rule of the feedback weights, at surprising words alone.
        #[knob("Surprise-gated PGHU")]
        surprise: bool = false,
        /// Feedforward weights that learn by the forward-forward algorithm; negative sentences are read from the wrong side.
        #[knob("Forward-forward")]
        forward_forward: bool = false,
        /// Traces of the words themselves, one-hot, without any network.
        #[knob("No network")]
        words: bool = true,
        /// A supervised bidirectional GRU with an embedding that starts at N(0, 1). It goes on until the run's last step.
        #[knob("BiGRU")]
        bigru: bool = false,
        /// The same, and words go in one-hot.
        #[knob("BiGRU, one-hot")]
        bigru_one_hot: bool = false,
        /// The same, and the embedding starts at N(0, 0.02).
        #[knob("BiGRU, small start")]
        bigru_small: bool = false,
        /// Units of each direction of the GRUs.
        #[knob("BiGRU units", range(4..=1024))]
        bigru_hidden: usize = 256,
        /// Width of their embedding.
        #[knob("BiGRU embedding", range(4..=1024))]
        bigru_embedding: usize = 64,
        /// Share of a GRU's states that each of its updates sets to 0, before the roles are read off them. The paper has 0.1.
        #[knob("BiGRU dropout", range(0.0..=0.9))]
        bigru_dropout: f64 = 0.1,
    }
}

settings! {
    /// The classifier that reads roles off the features.
    pub struct RoleSettings in "roles" {
        /// Penalty of the ridge regression. It matters as much as the architecture: 10 takes a tenth off the accuracy within.
        #[knob("Ridge penalty", range(1e-6..=1000.0), log, symbol("λ"))]
        lambda: f64 = 0.01,
        /// Levels that are read, from the lowest.
        #[knob("Levels read", range(1..=4))]
        levels: usize = 4,
        /// Read level 0 also through random projections to equal dimension, five of each; the table of `orrery study roles` has their mean and spread.
        #[knob("Equal dimension")]
        project: bool = false,
        /// Steps between two measurements, besides those at the start and at the end of a pass. 0 never measures by itself.
        #[knob("Measure every", range(0..=1_000_000), unit("steps"), live)]
        every: u64 = 100,
    }
}

impl RoleSettings {
    /// The arguments of questions about role accuracy.
    pub fn args(&self) -> RoleAccuracyArgs {
        let Self { lambda, levels, project, .. } = *self;
        RoleAccuracyArgs { lambda, levels: Some(levels), project }
    }
}

settings! {
    /// Sentences of one's own.
    pub struct SentenceSettings in "sentences" {
        /// A text file of sentences in the grammar's words, one per line, whose settling is shown. Nothing is learned from them.
        #[knob("Sentences of your own")]
        file: TextFile = TextFile::default(),
    }
}
