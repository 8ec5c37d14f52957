//! Networks that settle on the words of a sentence, and the grammatical roles that are read from them.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// A sentence, settled word by word. Its words are the sample's tokens; all arrays have them in the order of the sentence,
    /// whichever way it was read.
    pub struct Settling in "grammar_roles.settling" answers SettlingArgs {
        /// Roles of the words; empty for a sentence that the user typed.
        pub roles: Vec<String>,
        /// True if it was read from the right.
        pub from_right: bool,
        /// Settling sweeps of each word.
        pub sweeps: usize,
        /// The levels, the lowest first.
        pub levels: Vec<SettlingLevel>,
    }

    /// The settling of one level.
    pub struct SettlingLevel {
        /// The number of units of the level.
        pub units: usize,
        /// x after each sweep, `(words x sweeps, units)`: the rows of a word's sweeps follow one another.
        pub states: Array,
        /// x - W_fb x(l+1) once settled, `(words, units)`.
        pub errors: Array,
        /// The fast trace, `(words, units)`.
        pub fast: Array,
        /// The slow trace, `(words, units)`.
        pub slow: Array,
        /// pi, `(1, units)`.
        pub precision: Array,
        /// Root mean square of W_fb in blocks of units above (rows) and units (columns); no rows at the top.
        pub feedback: Array,
    }

    /// Right answers by role, for each of a model's representations.
    pub struct RoleAccuracy in "grammar_roles.accuracy" answers RoleAccuracyArgs {
        /// Names of the roles, in the order of all counts below.
        pub roles: Vec<String>,
        /// True if a role belongs to a relative clause or to the verb behind it.
        pub deep: Vec<bool>,
        /// Sentences that probes are fitted to.
        pub train_sentences: usize,
        /// One for every kind of features that roles are read from, or the tagger's own answers.
        pub representations: Vec<RoleRepresentation>,
        /// The effective rank of the feedforward weights of each level that is read, lowest first: exp of the entropy of the singular
        /// values, mean over directions. Empty of a tagger, and of traces without a network.
        #[serde(default)]
        pub ranks: Numbers,
    }

    /// The vectors that roles are read from.
    pub struct RoleRepresentation {
        /// The kind of features.
        pub features: RoleFeatures,
        /// Level of the hierarchy, from 0.
        pub level: usize,
        /// Features that the probe reads.
        pub dims: usize,
        /// True if they are a random projection to that many dimensions. Each draw of a projection is a representation
        /// of its own.
        pub projected: bool,
        /// False where features are not finite numbers and nothing can be fitted; counts are then 0.
        pub finite: bool,
        /// Test sentences of the vocabulary that was learned from.
        pub within: RoleCounts,
        /// Those of them that do not occur among the training sentences.
        pub within_new: RoleCounts,
        /// Sentences of the other vocabulary; of a treebank, the words of `within` that are outside of its vocabulary.
        pub transfer: RoleCounts,
        /// Shares of right answers within, in transfer, and within at deep roles.
        pub shares: Numbers,
    }

    /// Words by role, and how many of them were named correctly.
    #[derive(Default, Eq)]
    pub struct RoleCounts {
        /// Words that were named correctly.
        pub right: Vec<u32>,
        /// All words that have the role.
        pub of: Vec<u32>,
    }
}

choices! {
    /// Sentences that can be settled on.
    pub enum SettlingSet {
        /// Held-out sentences.
        Within = "within",
        /// Sentences of the other vocabulary.
        Transfer = "transfer",
        /// Training sentences.
        Train = "train",
        /// Those of a file; held-out ones where there is no file.
        Own = "own",
    }
}

/// Kinds of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleFeatures {
    /// The current activation of the units.
    Activation,
    /// The traces of the units.
    Traces,
    /// Activation and traces.
    Both,
    /// None: a supervised tagger names the roles itself.
    Tags,
}

impl RoleCounts {
    /// Creates counts of 0 for this many roles.
    pub fn new(roles: usize) -> Self {
        Self { right: vec![0; roles], of: vec![0; roles] }
    }

    /// Counts a word of this role, named correctly or not.
    pub fn add(&mut self, role: usize, is_right: bool) {
        self.right[role] += u32::from(is_right);
        self.of[role] += 1;
    }

    /// Correct answers and words over the roles that satisfy the predicate.
    pub fn sum(&self, holds: impl Fn(usize) -> bool) -> (f64, f64) {
        let roles = (0..self.of.len()).filter(|r| holds(*r));
        roles.fold((0.0, 0.0), |(right, of), r| (right + f64::from(self.right[r]), of + f64::from(self.of[r])))
    }

    /// The share of words that have the most common role; NaN without words.
    pub fn majority(&self) -> f64 {
        f64::from(self.of.iter().copied().max().unwrap_or(0)) / self.sum(|_| true).1
    }

    /// Share of correct answers over the roles that satisfy the predicate; NaN without words.
    pub fn share(&self, holds: impl Fn(usize) -> bool) -> f64 {
        let (right, of) = self.sum(holds);
        right / of
    }
}

impl RoleAccuracy {
    /// The answers from these features of the lowest level, if they were asked for.
    pub fn by_features(&self, features: RoleFeatures) -> Option<&RoleRepresentation> {
        self.representations.iter().find(|r| r.features == features && r.level == 0 && !r.projected)
    }

    /// Returns true if the roles are the tags of a treebank, which are never deep.
    pub fn has_treebank_tags(&self) -> bool {
        !self.deep.contains(&true)
    }

    /// The names of the two tests. A treebank has words outside of the vocabulary in place of another vocabulary.
    pub fn tests(&self) -> [&'static str; 2] {
        ["within", if self.has_treebank_tags() { "unknown words" } else { "transfer" }]
    }

    /// Shares of right answers within the vocabulary, in the other one, and within at deep roles.
    pub fn accuracies(&self, of: &RoleRepresentation) -> [f64; 3] {
        [of.within.share(|_| true), of.transfer.share(|_| true), of.within.share(|r| self.deep[r])]
    }

    /// Computes every representation's shares from its counts.
    pub fn with_shares(mut self) -> Self {
        let shares: Vec<_> = self.representations.iter().map(|r| self.accuracies(r).to_vec()).collect();
        self.representations.iter_mut().zip(shares).for_each(|(of, shares)| of.shares = shares.into());
        self
    }
}

arguments! {
    /// How the levels settle on a sentence.
    pub struct SettlingArgs asks "settling" {
        /// A sentence of known words; empty for one of the set.
        text: String = String::new();
        /// Set that the sentence is taken from.
        set: SettlingSet = SettlingSet::Within;
        /// Place of the sentence in its set.
        sentence: usize = 0;
        /// Reads the sentence from the right.
        from_right: bool = false;
    }

    /// How often a word's grammatical role is named.
    pub struct RoleAccuracyArgs asks "role_accuracy" {
        /// Ridge penalty.
        lambda: f64 = 0.01;
        /// Levels that are read, from below; otherwise all.
        levels: Option<usize> = None;
        /// Features of level 0 are also read projected to equal dimension, by five random projections each.
        project: bool = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_over_the_chosen_roles() {
        let mut counts = RoleCounts::new(2);
        [(0, true), (0, false), (1, true)].into_iter().for_each(|(role, is_right)| counts.add(role, is_right));
        assert_eq!((counts.share(|_| true), counts.share(|r| r == 0), counts.share(|r| r == 1)), (2.0 / 3.0, 0.5, 1.0));
        assert_eq!(counts.majority(), 2.0 / 3.0);
        assert!(RoleCounts::new(2).share(|_| true).is_nan() && RoleCounts::new(2).majority().is_nan());
    }
}
