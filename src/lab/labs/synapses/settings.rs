//! The settings of the Synapses lab.

use crate::{
    config::SentenceFile,
    corpus::generated::parliament::{CODES, Extent},
    labs::{
        bdh::{BdhSettings, CarrySettings, ComparedSettings, corpus_settings, train_settings},
        merging::{ChildFiles, MergingSettings},
        prelude::*,
    },
};

settings! {
    pub struct SynapsesSettings {
        reading: ReadingSettings,
        concepts: ConceptSettings,
        model: BdhSettings,
        variants: ComparedSettings,
        merging: MergingSettings,
        corpus: CorpusSettings = corpus_settings("parliament"),
        child_files: ChildFiles,
        parliament: ParliamentSettings,
        train: TrainSettings = train_settings(),
        carry: CarrySettings,
        run: RunSettings,
        probe: ProbeSettings,
    }

    /// The text that is read, and the synapses followed in it; also arguments of the probe `reading`.
    pub struct ReadingSettings in "reading" {
        /// The text that the model reads, token by token. Type your own; empty reads a passage that was held out of training.
        text: String = String::new() => "Text", in_views;
        /// Synapses run from y of the layer before to x of this one. A layer that the model lacks is its last.
        layer: usize = 2 => "Layer", range(1..=63), in_views;
        /// Rotates what was written by its age, as the model's attention does. Off only adds up what y and x contributed, which never falls.
        rotated: bool = true => "As the model sees it", in_views;
        /// Which synapses are followed: those with the largest gain at a single token, or those strongest at the end.
        rank: SynapseRank = SynapseRank::Sudden => "Show synapses", in_views;
        /// Tokens after which reading stops. Only the numbers that are shown take more memory for a longer text.
        longest: usize = 256 => "Longest text", range(8..=100_000), in_views, unit("tokens");
        /// How many tokens the model writes after the text; they are read like it, and marked. 0 writes none.
        write: usize = 0 => "Write on", range(0..=2000), in_views, unit("tokens");
        /// Randomness of what the model writes: 0 always takes the likeliest token; 1 draws as the model's probabilities say.
        temperature: f64 = 0.0 => "Temperature", range(0.0..=5.0), in_views;
    }

    /// Your own sentences for the search for a concept.
    pub struct ConceptSettings in "concepts" {
        /// A text file with a label, a tab and a sentence on each line (or label, tab, group, tab, sentence where several are about one thing). In the view Concepts choose *file*; at least ten sentences have the concept, and ten another label.
        sentences: SentenceFile = SentenceFile::default() => "Sentences", in_views;
        /// The label that is the concept, as opposed to all others. Empty takes the first of the file.
        label: String = String::new() => "Label", in_views;
    }

    /// The share of the parliament in the text; other corpora have none of it.
    pub struct ParliamentSettings in "parliament" {
        /// How many languages, in the order English, French, Spanish, German, Portuguese. Applies only to the corpus `parliament`.
        languages: usize = WHOLE.languages => "Languages", range(2..=CODES.len());
        /// How many kinds of nouns, in the order currencies, countries, goods, cities, institutions. Applies only to the corpus `parliament`.
        kinds: usize = WHOLE.kinds => "Kinds of nouns", range(3..=WHOLE.kinds);
        /// Half of them are used to search and half to confirm. There are 16 cities and 12 institutions at most. Applies only to the corpus `parliament`.
        nouns: usize = WHOLE.nouns => "Nouns a kind", range(8..=WHOLE.nouns);
        /// Sentences that fit any noun. Those used to confirm a search are others, which occur in no training text. Applies only to the corpus `parliament`.
        frames: usize = WHOLE.frames => "Frames", range(1..=WHOLE.frames);
        /// Sentences that may follow a noun of a kind. They are what a model gains by knowing the kind. Applies only to the corpus `parliament`.
        follow_ups: usize = WHOLE.follow_ups => "What follows", range(1..=WHOLE.follow_ups);
        /// How often a pair lists three nouns of a kind rather than saying something about one. Applies only to the corpus `parliament`.
        listing: f64 = WHOLE.listing => "Lists", range(0.0..=1.0);
    }
}

const WHOLE: Extent = Extent::WHOLE;

schedules! {
    pub struct ProbeSettings {
        activity: "Sparsity every" = 25,
        reading: "Reading every" = 100,
        surprise: "Surprise every" = 0,
        texts: "Texts of a merging every" = 100,
    }
}
