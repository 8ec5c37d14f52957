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
        corpus: CorpusSettings { vocab: 256 },
        train: TrainSettings { steps: 400, lr: 3e-3, batch: 8, window: 128 },
        probe: ProbeSettings,
        run: RunSettings { eval_every: 25, eval_windows: 16, checkpoint_every: 200 },
    }

    pub struct ModelSettings in "model" {
        /// Channels of every token, and of each of a block's three traces.
        d_model: usize = 128 => "Width", range(8..=1024), symbol("D"), unit("channels");
        /// Units of each block's feed-forward layer.
        hidden: usize = 512 => "Units", range(8..=8192), symbol("F"), unit("units");
        /// Units that are kept for a token; all others are set to zero. The paper keeps 6% of them.
        kept: usize = 31 => "Kept units", range(1..=8192), symbol("k"), unit("units");
        /// Blocks of traces, prediction and sparse feed-forward layer.
        layers: usize = 2 => "Blocks", range(1..=32), symbol("L");
        /// Heads of the softmax attention predictor. Must divide the width where that is compared.
        heads: usize = 4 => "Heads", range(1..=64), symbol("H");
    }

    /// The staircase: each step adds one mechanism to the one before.
    pub struct MechanismSettings in "mechanism" {
        /// The paper's model: traces with the same coefficients (0.5, 0.1, 0.02) in every channel, a static predictor.
        fixed: bool = true => "Fixed traces";
        /// Every channel of every trace learns its coefficient.
        learned: bool = false => "+ learned coefficients";
        /// The coefficient is a sigmoid of the token's state: the input decides what is kept.
        gated: bool = true => "+ input-dependent gate";
        /// The predictor looks values of the input up by linear attention whose past decays.
        linear: bool = false => "+ linear attention";
        /// The predictor looks them up by softmax attention, which forgets nothing.
        softmax: bool = true => "Softmax attention";
    }

    /// The ablation: the fixed traces with another predictor.
    pub struct PredictorSettings in "predictor" {
        /// Linear attention over the past, whose values are slow traces: nothing that the traces have lost comes back. The paper's takes its values from the input, below.
        linear_traces: bool = false => "Linear, from traces";
        /// Linear attention whose values are the tokens' own states, as in the paper's equation.
        linear_input: bool = false => "Linear, from input";
        /// Softmax attention over the past, whose values are slow traces. The paper's looks the current token up too, below.
        softmax_traces: bool = false => "Softmax, from traces";
        /// Softmax attention whose values are the tokens' own states.
        softmax_input: bool = false => "Softmax, from input";
        /// Softmax attention over the past and the current token, whose queries, keys and values are learned maps of slow traces: the paper's.
        softmax_full: bool = false => "Softmax, full causal";
    }

    /// Further models to compare.
    pub struct CompareSettings in "compare" {
        /// Fixed traces with more units, until they have as many parameters as the largest model beside them: what size alone gives.
        as_large: bool = false => "Fixed, as large";
        /// A transformer without traces (GPT, ALiBi) of as many parameters as the largest model of the staircase, counted with `corpus.vocab` tokens, on the same batches; width and layers follow from that count.
        transformer: bool = false => "Transformer";
        /// Tokens that a token of the transformer sees, itself among them: a window that slides along a long text. It limits training too. 0 sees the whole text. The paper's has 1,024.
        window: usize = 0 => "Attention window", range(0..=8192), unit("tokens");
    }

    /// The same question over depth: transformers of many thin layers that differ in how a layer reads those before it.
    pub struct DepthSettings in "depth" {
        /// Every layer reads the sum of the embedding and of what all layers before added: the residual stream, fixed as an average of time is.
        fixed: bool = false => "Fixed residual";
        /// Every layer learns a number for each one before it, 1 at the start.
        learned: bool = false => "Learned residual";
        /// Attention residuals: softmax over the layers before, token by token, by a learned query of the layer that reads.
        attention: bool = false => "Attention residual";
        /// Layers of these transformers.
        layers: usize = 12 => "Layers", range(2..=48), symbol("L");
        /// Their width. Must be a multiple of the heads.
        d_model: usize = 48 => "Width", range(8..=1024), symbol("D"), unit("channels");
        /// Their attention heads.
        heads: usize = 3 => "Heads", range(1..=64), symbol("H");
    }

    pub struct VariantSettings in "variants" {
        /// Repeats every variant with further seeds, of weights and batches. Curves then show mean and spread.
        seeds: u64 = 1 => "Seeds", range(1..=8);
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
