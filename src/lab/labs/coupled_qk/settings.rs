//! The settings of the coupled attention lab.

use crate::{config::SentenceFile, labs::prelude::*, models::coupled_qk::EvolvedLayers};

settings! {
    pub struct CoupledQkSettings {
        model: ModelSettings,
        variants: VariantSettings,
        ablation: AblationSettings,
        finetune: FinetuneSettings,
        corpus: CorpusSettings { vocab: 256 },
        train: TrainSettings { steps: 600, lr: 2e-3, batch: 8, window: 128 },
        attention_probe: AttentionSchedules,
        attention: AttentionSettings,
        probe: ProbeSettings,
        run: RunSettings { eval_every: 25, eval_windows: 16, checkpoint_every: 200 },
    }

    /// Sizes of the models, and the evolution of their queries and keys.
    pub struct ModelSettings in "model" {
        /// Steps that queries and keys make together before they are scored. The paper finds 1 to 7 alike.
        evolution_steps: usize = 3 => "Steps of evolution", range(1..=16), symbol("n");
        /// Length of a step when training begins; every head then learns its own. Large steps can overflow.
        dt: f64 = 0.1 => "Step length", range(1e-3..=10.0), log, symbol("Δt");
        /// Layers whose queries and keys evolve. The others score them as they are projected.
        evolved: EvolvedLayers = EvolvedLayers::All => "Evolve in";
        /// Learned positions are added to the first state. Rotary embedding turns queries and keys after they have evolved.
        positions: Positions = Positions::Learned => "Positions";
        /// Channels of every token. Must be a multiple of the heads; of twice the heads for differential attention.
        d_model: usize = 128 => "Width", range(8..=1024), symbol("D"), unit("channels");
        /// Attention heads. Grouped-query attention has a quarter as many for keys and values, so it needs a multiple of four.
        heads: usize = 4 => "Heads", range(1..=32), symbol("H");
        /// Blocks of attention and MLP.
        layers: usize = 4 => "Layers", range(1..=32), symbol("L");
        /// Width of the gated MLP. 0 makes it four times the model's width, as in the paper.
        hidden: usize = 512 => "MLP width", range(0..=8192), unit("channels");
        /// Longest text, in tokens. Learned positions have a parameter vector for each.
        most_positions: usize = 128 => "Most positions", range(4..=8192), symbol("P"), unit("tokens");
        /// A training step keeps only the input and the output of each block and computes the block again in the backward pass: the same gradients in less memory, for about a third more time.
        gradient_checkpointing: bool = false => "Gradient checkpointing";
    }

    /// The ways of scoring that are compared, and the number of seeds.
    pub struct VariantSettings in "variants" {
        /// Queries and keys are scored as they are projected.
        standard: bool = true => "Standard";
        /// A quarter as many heads of keys and values.
        gqa: bool = false => "Grouped-query";
        /// The attention of the second halves of queries and keys is subtracted from that of the first halves.
        diff: bool = false => "Differential";
        /// An MLP moves the queries, and keys stay: the parameters of the coupling without the coupling.
        mlp: bool = true => "MLP on queries";
        /// q + Δt k and k + Δt f(q), both from the old values, n times.
        euler: bool = true => "Coupled, Euler";
        /// Half a step of k, a step of q, half a step of k, n times. It preserves volume and can be run backwards.
        hamiltonian: bool = true => "Coupled, leapfrog";
        /// Coupled steps by Euler's method, then differential attention: what the paper leaves for later.
        diff_euler: bool = false => "Euler + differential";
        /// Coupled steps by leapfrog, then differential attention.
        diff_hamiltonian: bool = false => "Leapfrog + differential";
        /// q + A k and k + B q with two learned matrices, zero before training: the cheapest coupling.
        linear_mixing: bool = false => "Linear mixing";
        /// q + f(k) and k + f(q), one MLP for both: as many parameters as the MLP on queries, with coupling.
        shared_mlp: bool = false => "Shared MLP";
        /// q exp(s(k)) + t(k), then k exp(u(q)) + w(q), n times, linear maps that are zero before training. It can be undone. Our reading of the paper's second version.
        invertible: bool = false => "Invertible coupling";
        /// Repeats every variant with further seeds, of weights and batches. Curves then show mean and spread.
        seeds: u64 = 1 => "Seeds", range(1..=20);
    }

    /// Repeats variants with other evolutions, positions or numbers of updates, beside one another in one run.
    pub struct AblationSettings in "ablation" {
        /// Numbers of steps to compare, such as `1, 3, 5, 7`. Empty: only the number above.
        steps: String = String::new() => "Compare n";
        /// Compares evolution in all layers, in the first half and in the last half.
        layers: bool = false => "Compare layers";
        /// Races every variant twice: with learned positions and with rotary embedding.
        positions: bool = false => "Compare positions";
        /// Adds standard attention that trains for this many times the steps of the others. The paper's 2.4 match the seconds of a coupled model; 1 adds none.
        longer: f64 = 1.0 => "Standard for longer", range(1.0..=4.0), unit("times");
    }

    /// The fine-tuning of every variant on labelled sentences.
    pub struct FinetuneSettings in "finetune" {
        /// After the text, every model trains for this many more updates with a linear classification head at the last token of labelled sentences, as the paper does with GLUE. 0 fine-tunes nothing.
        steps: u64 = 0 => "Fine-tune", range(0..=10_000_000), unit("updates");
        /// The learning rate of fine-tuning as a share of that of the text. It warms up and decays over its own updates.
        lr: f64 = 0.5 => "Fine-tuning rate", range(0.001..=1.0);
        /// Number of labels; the generated opinions have two, good and bad. A file with another number is refused.
        labels: usize = 2 => "Labels", range(2..=64), symbol("K");
        /// Sentences of your own: a label, a tab and a sentence on each line; a group and a tab before the sentence keep it in one part with others of the group. Pairs of sentences, as in GLUE, need a first line that names the columns: sentence1, sentence2, label. They are read one after the other with a separator between, a line break where the tokens have no other. What is longer than the window is cut at its end, of a pair the longer sentence first. Empty: generated opinions.
        file: SentenceFile = SentenceFile::default() => "Labelled sentences";
        /// Adds a classifier of the first variant's kind that has not read the text: what does reading it first give?
        untrained: bool = true => "Without the text";
    }

    /// The windows over which scheduled measurements of attention average.
    pub struct AttentionSettings in "probe" {
        /// Held-out windows that entropy, rank and sink of the attention are averaged over. The paper takes 25 batches.
        attention_windows: usize = 4 => "Attention windows", range(1..=64), unit("windows");
    }
}

choices! {
    /// The encoding of a token's position.
    pub enum Positions {
        Learned = "learned",
        Rotary = "rotary",
    }
}

schedules! {
    /// The schedules by which attention is measured without a view's asking.
    pub struct AttentionSchedules {
        attention_maps: "Attention every" = 100,
        /// Steps between two measurements of entropy, rank and sink by layer. 0 measures only when a view asks.
        attention_statistics: "Attention by layer every" = 100,
    }
}

schedules! {
    pub struct ProbeSettings {
        query_key_paths: "Phase plane every" = 100,
        step_lengths: "Step lengths every" = 10,
        /// Steps between two runs of this probe. 0 runs it only when a view asks. Only texts of associative recall have pairs.
        pair_attention: "Pairs every" = 25,
        next_tokens: "Next tokens every" = 100,
    }
}
