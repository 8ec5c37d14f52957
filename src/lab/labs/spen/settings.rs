//! The settings of the EMA language model's lab.

use crate::labs::prelude::*;

settings! {
    pub struct SpenSettings {
        model: ModelSettings,
        mechanism: MechanismSettings,
        predictor: PredictorSettings,
        compare: CompareSettings,
        depth: DepthSettings,
        variants: VariantSettings,
        corpus: CorpusSettings = CorpusSettings { vocab: 256, ..CorpusSettings::default() },
        train: TrainSettings =
            TrainSettings { steps: 400, lr: 3e-3, batch: 8, window: 128, ..TrainSettings::default() },
        probe: ProbeSettings,
        run: RunSettings = RunSettings { eval_every: 25, eval_windows: 16, checkpoint_every: 200, ..RunSettings::default() },
    }
}

settings! {
    pub struct ModelSettings in "model" {
        /// Channels of every token, and of each of a block's three traces.
        #[knob("Width", range(8..=1024), symbol("D"), unit("channels"))]
        d_model: usize = 128,
        /// Units of each block's feed-forward layer.
        #[knob("Units", range(8..=8192), symbol("F"), unit("units"))]
        hidden: usize = 512,
        /// Units that are kept for a token; all others are set to zero. The paper keeps 6% of them.
        #[knob("Kept units", range(1..=8192), symbol("k"), unit("units"))]
        kept: usize = 31,
        /// Blocks of traces, prediction and sparse feed-forward layer.
        #[knob("Blocks", range(1..=32), symbol("L"))]
        layers: usize = 2,
        /// Heads of the softmax attention predictor. Must divide the width where that is compared.
        #[knob("Heads", range(1..=64), symbol("H"))]
        heads: usize = 4,
    }
}

settings! {
    /// The staircase: each step adds one mechanism to the one before.
    pub struct MechanismSettings in "mechanism" {
        /// The paper's model: traces with the same coefficients (0.5, 0.1, 0.02) in every channel, a static predictor.
        #[knob("Fixed traces")]
        fixed: bool = true,
        /// Every channel of every trace learns its coefficient.
        #[knob("+ learned coefficients")]
        learned: bool = false,
        /// The coefficient is a sigmoid of the token's state: the input decides what is kept.
        #[knob("+ input-dependent gate")]
        gated: bool = true,
        /// The predictor looks values of the input up by linear attention whose past decays.
        #[knob("+ linear attention")]
        linear: bool = false,
        /// The predictor looks them up by softmax attention, which forgets nothing.
        #[knob("Softmax attention")]
        softmax: bool = true,
    }
}

settings! {
    /// The ablation: the fixed traces with another predictor.
    pub struct PredictorSettings in "predictor" {
        /// Linear attention over the past, whose values are slow traces: nothing that the traces have lost comes back. The paper's takes its values from the input, below.
        #[knob("Linear, from traces")]
        linear_traces: bool = false,
        /// Linear attention whose values are the tokens' own states, as in the paper's equation.
        #[knob("Linear, from input")]
        linear_input: bool = false,
        /// Softmax attention over the past, whose values are slow traces. The paper's looks the present token up too, below.
        #[knob("Softmax, from traces")]
        softmax_traces: bool = false,
        /// Softmax attention whose values are the tokens' own states.
        #[knob("Softmax, from input")]
        softmax_input: bool = false,
        /// Softmax attention over the past and the present token, whose queries, keys and values are learned maps of slow traces: the paper's.
        #[knob("Softmax, full causal")]
        softmax_full: bool = false,
    }
}

settings! {
    /// Further models to compare.
    pub struct CompareSettings in "compare" {
        /// Fixed traces with more units, until they have as many parameters as the largest model beside them: what size alone gives.
        #[knob("Fixed, as large")]
        as_large: bool = false,
        /// A transformer without traces (GPT, ALiBi) of as many parameters as the largest model of the staircase, counted with `corpus.vocab` tokens, on the same batches; width and layers follow from that count.
        #[knob("Transformer")]
        transformer: bool = false,
        /// Tokens that a token of the transformer sees, itself among them: a window that slides along a long text. It limits training too. 0 sees the whole text. The paper's has 1,024.
        #[knob("Attention window", range(0..=8192), unit("tokens"))]
        window: usize = 0,
    }
}

settings! {
    /// The same question over depth: transformers of many thin layers that differ in how a layer reads those before it.
    pub struct DepthSettings in "depth" {
        /// Every layer reads the sum of the embedding and of what all layers before added: the residual stream, fixed as an average of time is.
        #[knob("Fixed residual")]
        fixed: bool = false,
        /// Every layer learns a number for each one before it, 1 at the start.
        #[knob("Learned residual")]
        learned: bool = false,
        /// Attention residuals: softmax over the layers before, token by token, by a learned query of the layer that reads.
        #[knob("Attention residual")]
        attention: bool = false,
        /// Layers of these transformers.
        #[knob("Layers", range(2..=48), symbol("L"))]
        layers: usize = 12,
        /// Their width. Must be a multiple of the heads.
        #[knob("Width", range(8..=1024), symbol("D"), unit("channels"))]
        d_model: usize = 48,
        /// Their attention heads.
        #[knob("Heads", range(1..=64), symbol("H"))]
        heads: usize = 3,
    }
}

settings! {
    pub struct VariantSettings in "variants" {
        /// Repeats every variant with further seeds, of weights and batches. Curves then show mean and spread.
        #[knob("Seeds", range(1..=8))]
        seeds: u64 = 1,
    }
}

schedules! {
    pub struct ProbeSettings {
        /// Steps between two readings of a passage: error, traces and continuation. 0 measures only when a view asks.
        trace_reading: "Reading every" = 200,
        /// Steps between two counts of how often each unit is kept. 0 measures only when a view asks.
        unit_usage: "Unit usage every" = 100,
        /// Steps between two measurements of how the blocks' input correlates with its own past. 0 measures only when a view asks.
        autocorrelation: "Autocorrelation every" = 200,
        /// Steps between two measurements of the loss at each position of a long text. 0 measures only when a view asks.
        position_losses: "Loss by position every" = 400,
        /// Steps between two measurements of what later layers still read of the first, in the transformers over depth. 0 measures only when a view asks.
        layer_readout: "Layer readout every" = 100,
    }
}
