//! The parts that the labs of BDH share: the model's settings, their way into a spec, and a plan of one model that
//! trains on text.

use crate::{
    config::CheckpointFile,
    labs::prelude::*,
    models::{
        Carry,
        bdh::{BdhSpec, Form, Position},
        gpt::AlibiGptSpec,
    },
};

settings! {
    /// Sizes and switches of a BDH.
    pub struct BdhSettings in "model" {
        /// Neurons of all heads together. The model grows in this direction alone: every weight matrix has one side of this length.
        neurons: usize = 2048 => "Neurons", range(8..=1_048_576), symbol("n"), unit("neurons");
        /// Channels between two layers of neurons. It bounds the rank of the graph between neurons.
        d_model: usize = 64 => "Width", range(4..=4096), symbol("D"), unit("channels");
        /// The neurons are split evenly among them; a synapse ends in one of them and may begin in any. Twice as many must divide the neurons.
        heads: usize = 4 => "Heads", range(1..=64), symbol("H");
        /// How many layers a token passes through. All layers share one set of weights, so this adds no weights; training keeps what each pass saves.
        layers: usize = 4 => "Layers", range(1..=64), symbol("L");
        /// The effect of time on a synapse: rope turns it (pairs of neurons at many speeds), alibi lets it fade, both does both.
        position: Position = Position::Rope => "Time", symbol("U");
        /// The public code (v keeps a residual), equations (4) and (8) of the paper (x does), both residuals, as some other codes have it, final_norm, the code's with one norm at the end, or normfree, equation (7) without any norm.
        form: Form = Form::Code => "Form";
        /// Standard deviation of every weight before training. With norms it hardly matters; without any, sizes scale with its fifth power in every layer, and vanish or explode.
        init_std: f64 = 0.02 => "Initial weights", range(1e-4..=1.0), log;
        /// Share of y that each update sets to 0 at random, while training only; what is left grows to make up for it. The public code trains with 0.1; a corpus that is never seen twice needs none.
        dropout: f64 = 0.0 => "Dropout", range(0.0..=0.9);
        /// On: learning reaches what earlier tokens have written. Off is training without backpropagation through time.
        through_past: bool = true => "Gradients through the past";
        /// A trained BDH to begin from: .safetensors, .pt or .pth, of the public PyTorch code, of `orrery export` or of `orrery model merge`. The sizes are then the file's; layers above count only if the file does not say them.
        checkpoint: CheckpointFile = CheckpointFile::default() => "Checkpoint";
        /// BDH-GPU': each head weighs what it writes, and the logits are a learned mean of all layers. The paper names it in one sentence; this is our reading of it.
        gated: bool = false => "Gates (experimental)";
    }

    /// Carrying a state over batches; the settings are among those of training.
    pub struct CarrySettings in "train" {
        /// Each batch continues where the one before ended, and carries the state of every row on, for this many updates; then both start afresh. Gradients stay within a batch. 0 reads every window by itself. Held-out windows always begin without a past. A step takes longer with it.
        carry: u64 = 0 => "Carry the state", range(0..=4096), unit("updates");
    }

    /// The models that it is compared with.
    pub struct ComparedSettings in "variants" {
        /// A GPT with ALiBi of as many parameters, counted with `corpus.vocab` tokens, learns from the same batches. It takes part of the time of each step.
        baseline: bool = false => "Transformer beside it";
        /// The transformer carries the keys and values of this many tokens, the last ones, from batch to batch, first in, first out, and a token sees at most this many: they are to it what the state is to BDH. Needs `train.carry`; 0 carries none. Held-out windows begin without it. The paper's transformer has 4,096, which a whole batch sees besides itself. A step takes longer with it.
        cache: usize = 0 => "Keys and values it carries", range(0..=8192), unit("tokens");
        /// Share of the transformer's embedding, and of what its attention and MLP add, that each update sets to 0 at random, while training only. The paper takes the best of a few at each size, from 0.002 to 0.15; 0.01 at 25 million parameters.
        dropout: f64 = 0.0 => "Transformer's dropout", range(0.0..=0.9);
        /// The same BDH trained without backpropagation through time: gradients stop at the keys and values that earlier tokens have written, so that a step needs no memory of the past beyond the state.
        no_bptt: bool = false => "Without BPTT beside it";
        /// The same BDH with gates (BDH-GPU'): the form that the paper finds level with a transformer, in our reading of its one sentence.
        gated: bool = false => "With gates beside it";
        /// The same BDH without any norm (BDH-Normfree, equation 7), from the same initial weights. The paper says that it generally does not train. x adds up from layer to layer as with `model.form` = paper, whose model differs from this one in nothing but the norms.
        normfree: bool = false => "Without norms beside it";
        /// Repeats every model with further seeds, of weights and batches. Curves then show mean and spread.
        seeds: u64 = 1 => "Seeds", range(1..=8);
    }
}

impl BdhSettings {
    /// The model, which carries no state from batch to batch. Errors name the key.
    pub fn spec(&self) -> Result<BdhSpec, ConfigError> {
        let (n, heads) = (self.neurons, self.heads);
        let what = format!("an even multiple of `model.heads` = {heads}");
        check_multiple(Self::neurons.name, n, 2 * heads, &what)?;
        Ok(BdhSpec {
            d_model: self.d_model,
            heads,
            neurons: n,
            layers: self.layers,
            position: self.position,
            form: self.form,
            init_std: self.init_std,
            dropout: self.dropout,
            through_past: self.through_past,
            gated: self.gated,
            weights: self.checkpoint.path(),
            ..BdhSpec::default()
        })
    }
}

/// The number of layers of the BDH that a lab makes of these settings. It is that of the checkpoint which they name, where
/// the file says one, so that the file is opened.
pub fn layers(lab: &Lab, config: &Config) -> Option<usize> {
    let plan = (lab.plan)(config).ok()?;
    let ModelSpec::Bdh(spec) = &plan.variants.first()?.model else { return None };
    Some(spec.resolved().ok()?.layers)
}

/// The defaults of `train.*` in the labs of BDH.
pub fn train_settings() -> TrainSettings {
    TrainSettings { steps: 600, lr: 4e-3, batch: 8, window: 128, ..TrainSettings::default() }
}

/// The defaults of `corpus.*` with the bytes of this generated text.
pub fn corpus_settings(source: &str) -> CorpusSettings {
    CorpusSettings { source: GeneratedCorpus::by_id(source), vocab: 256, ..CorpusSettings::default() }
}

/// The settings of a training that every lab of a BDH has.
pub struct Training<'a> {
    pub model: &'a BdhSettings,
    pub corpus: &'a CorpusSettings,
    pub carry: &'a CarrySettings,
    pub experiment: Experiment<'a>,
}

impl Training<'_> {
    /// The model, with the state that it carries. Errors name the key.
    pub fn spec(&self) -> Result<BdhSpec, ConfigError> {
        Ok(BdhSpec { carry: self.carried(), ..self.model.spec()? })
    }

    fn carried(&self) -> Option<Carry> {
        match self.carry.carry {
            0 => None,
            every => Some(Carry { rows: self.experiment.train.batch, every }),
        }
    }

    /// The one variant `bdh`.
    pub fn variant(&self) -> Result<Variant, ConfigError> {
        Ok(Variant::new("bdh", "BDH", ModelSpec::Bdh(self.spec()?)))
    }

    /// The changed forms of the model that are switched on. Errors name the key.
    pub fn changed(&self, beside: &ComparedSettings) -> Result<Vec<Variant>, ConfigError> {
        let (model, spec) = (self.model, self.spec()?);
        let why = "`variants.no_bptt` is the model without gradients through the past, and `model.through_past` has \
                   switched them off already; switch one of them back";
        refuse_if(beside.no_bptt && !model.through_past, ComparedSettings::no_bptt.name, why)?;
        let why =
            "`variants.gated` is the model with gates, and `model.gated` has them already; switch one of them off";
        refuse_if(beside.gated && model.gated, ComparedSettings::gated.name, why)?;
        let why = "`variants.normfree` is the model without norms, and `model.form` = normfree has none already; switch \
                   one of them back";
        refuse_if(beside.normfree && model.form == Form::Normfree, ComparedSettings::normfree.name, why)?;
        let no_bptt = BdhSpec { through_past: false, ..spec.clone() };
        let gated = BdhSpec { gated: true, ..spec.clone() };
        let normfree = BdhSpec { form: Form::Normfree, ..spec };
        Ok(Variant::switched_on([
            (beside.no_bptt, "no_bptt", "BDH without BPTT", ModelSpec::Bdh(no_bptt)),
            (beside.gated, "gated", "BDH-GPU'", ModelSpec::Bdh(gated)),
            (beside.normfree, "normfree", "BDH without norms", ModelSpec::Bdh(normfree)),
        ]))
    }

    /// A Transformer with as many parameters as the model, which may carry keys and values of the last tokens; `None` where
    /// it is switched off. Errors name the key.
    pub fn baseline(&self, beside: &ComparedSettings) -> Result<Option<Variant>, ConfigError> {
        let (key, cache) = (ComparedSettings::cache.name, beside.cache);
        let refuse_cache = |lacks: bool, why: &str| {
            refuse_if(cache > 0 && lacks, key, format_args!("`{key}` = {cache} {why}, or set `{key}` to 0"))
        };
        let why = "is that of the transformer beside the model, which `variants.baseline` = false leaves out; switch \
                   `variants.baseline` on";
        refuse_cache(!beside.baseline, why)?;
        let why = "carries keys and values from batch to batch, and `train.carry` = 0 starts every window afresh; set \
                   `train.carry`";
        refuse_cache(self.carry.carry == 0, why)?;
        if !beside.baseline {
            let why = "`variants.dropout` is that of the transformer beside the model, which `variants.baseline` = false leaves out; switch `variants.baseline` on, or set `variants.dropout` to 0";
            refuse_if(beside.dropout > 0.0, ComparedSettings::dropout.name, why)?;
            return Ok(None);
        }
        let why = "`variants.baseline` is as large as `model.*` says, and `model.checkpoint` brings sizes of its own; switch one of them off";
        refuse_if(self.model.checkpoint.path().is_some(), BdhSettings::checkpoint.name, why)?;
        let vocab = self.corpus.vocab;
        let model = transformer_of_size(self.spec()?.parameters(vocab), vocab, ComparedSettings::baseline.name)?;
        let (window, carry) = if cache > 0 { (Some(cache), self.carried()) } else { (None, None) };
        let model = ModelSpec::AlibiGpt(AlibiGptSpec { window, carry, dropout: beside.dropout, ..model });
        Ok(Some(Variant::new("alibi_gpt", "GPT with ALiBi", model)))
    }

    /// These variants on the corpus of `corpus.*`.
    pub fn plan(&self, variants: &[Variant], probes: Vec<ProbeSchedule>) -> Result<Plan, ConfigError> {
        let plan = self.experiment.plan(self.corpus.spec()?, variants, probes);
        Ok(Plan { tbptt_steps: self.carry.carry, ..plan })
    }
}
