//! BDH-GPU (arXiv 2509.26507, appendix E): layers that share one set of weights, two layers of sparse
//! positive neurons each, and linear attention whose state is the strength of synapses.

mod export_state_dict;
mod facts;
pub mod import_state_dict;
mod intervention;
pub mod merge;
mod net;
mod spec;
mod token_reader;

pub use self::{
    export_state_dict::{StateDict, export_state_dict},
    spec::{BdhSpec, Form, Position},
    token_reader::TokenReader,
};

use std::path::PathBuf;

use self::net::{BdhNet, ForwardChange};
use super::carry::CARRIED_PREFIX;
use crate::{models::prelude::*, nn::fused::linear::linear_transposed};

impl FamilySpec for BdhSpec {
    fn memory(&self, step: &StepSizes) -> StepMemory {
        // the sizes come from the checkpoint, if there is one; an unreadable file is refused where it is opened
        self.resolved().unwrap_or_else(|_| self.clone()).step_memory(step)
    }

    fn tiny() -> Self {
        Self { d_model: 8, heads: 2, neurons: 32, layers: 2, ..Self::default() }
    }

    fn check_files(&self) -> Result<()> {
        // the values too: a damaged or non-finite one is the file's fault and not the run's
        if let Some(path) = &self.weights {
            import_state_dict::open(path, self)?.load(&Device::Cpu)?;
        }
        self.resolved().map(drop)
    }

    fn files(&self) -> Vec<&Path> {
        self.weights.as_deref().into_iter().collect()
    }

    fn vocab_of_file(&self) -> Option<usize> {
        Some(import_state_dict::open(self.weights.as_deref()?, self).ok()?.vocab)
    }
}

/// Taps: `layers.l.x`, `layers.l.y` `(B, nh, T, N)`, `layers.l.v` `(B, T, D)`.
pub struct Bdh {
    spec: BdhSpec,
    shape: SynapseShape,
    params: Params,
    net: BdhNet,
    inference_net: BdhNet,
    notes: Vec<String>,
    /// The metadata stored with the weights, if they came from a file.
    facts: Option<CheckpointFacts>,
    /// The state that each row has read before the next batch, by layer: buffers among `params`, so that checkpoints
    /// hold them. Empty where nothing is carried.
    carried: Vec<Tensor>, // (rows, nh, N, D)
    /// The number of updates since the carried state was empty.
    since: u64,
    /// The seed of the initial weights and of dropout.
    seed: u64,
    /// The update that the next loss is for.
    update: u64,
}

impl Bdh {
    /// Weights are drawn from `seed`, or are those of the file that `spec` names, and so are the sizes
    /// then; errors name the size or tensor that does not fit.
    pub fn new(spec: &BdhSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        if spec.twofold {
            return Self::drawn(spec.resolved()?, vocab, Params::new(seed, device, DType::F32), seed);
        }
        let Some(path) = &spec.weights else {
            return Self::drawn(spec.clone(), vocab, Params::new(seed, device, DType::F32), seed);
        };
        let file = import_state_dict::open(path, spec)?;
        if file.vocab != vocab {
            bail!(
                "the checkpoint `{}` knows {} tokens and this corpus has {vocab}: choose the tokens it was trained on (`corpus.tokenizer`; with characters, `sorted_char` and the text or list that it was trained on as `corpus.vocabulary_file`)",
                path.display(),
                file.vocab
            )
        }
        let model = Self::with_weights(&file.spec, vocab, &file.load(device)?, seed, device)?;
        Ok(Self { notes: file.notes, facts: Some(file.facts), ..model })
    }

    /// Builds the model with these weights, by the public code's names; missing ones are drawn from `seed`. Errors name
    /// the weight that does not fit.
    fn with_weights(
        spec: &BdhSpec,
        vocab: usize,
        weights: &[(&'static str, Tensor)],
        seed: u64,
        device: &Device,
    ) -> Result<Self> {
        let mut params = Params::new(seed, device, DType::F32);
        params.set_initial_values(weights.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let model = Self::drawn(spec.clone(), vocab, params, seed)?;
        for (name, value) in weights {
            match model.params.get(name) {
                Some(var) if var.shape() == value.shape() => {}
                _ => model.params.load(name, value)?,
            }
        }
        Ok(model)
    }

    fn drawn(spec: BdhSpec, vocab: usize, mut params: Params, seed: u64) -> Result<Self> {
        spec.check()?;
        let (net, inference_net) = params.build_twice(|p| BdhNet::new(p, &spec, vocab))?;
        let mut carried = vec![];
        if let Some(Carry { rows, .. }) = spec.carry {
            let shape = (rows, spec.heads, spec.per_head(), spec.d_model);
            for layer in 0..spec.layers {
                carried.push(params.zeros(&format!("{CARRIED_PREFIX}{layer}"), shape)?);
            }
            params.register_buffers(CARRIED_PREFIX);
        }
        Ok(Self {
            shape: spec.shape(),
            spec,
            params,
            net,
            inference_net,
            notes: vec![],
            facts: None,
            carried,
            since: 0,
            seed,
            update: 0,
        })
    }

    /// The sizes of the model; if the weights were loaded, those of the file.
    pub fn sizes(&self) -> &BdhSpec {
        &self.spec
    }

    /// The size V of the vocabulary.
    fn vocab(&self) -> usize {
        self.inference_net.lm_head.dim(1).unwrap_or(0)
    }

    fn dropout(&self) -> ForwardChange {
        let dropout = Dropout::for_update(self.spec.dropout, self.seed, self.update);
        dropout.map_or(ForwardChange::Nothing, ForwardChange::Drop)
    }

    fn cross_entropy(&self, net: &BdhNet, batch: &Batch, change: &ForwardChange) -> Result<Tensor> {
        let v = net.encode(&batch.tokens, &mut Tap::off(), None, change)?;
        head_cross_entropy(&v, &net.lm_head.t()?.contiguous()?, &batch.targets)
    }

    /// The loss of a batch whose rows continue where the last batch ended, whose state it reads; the state after it is
    /// what the next will read. Gradients end at the batch's beginning.
    fn continued_loss(&self, batch: &Batch) -> Result<Tensor> {
        let (rows, t) = batch.tokens.dims2()?;
        self.spec.carry.map_or(Ok(()), |carry| carry.check_rows(rows))?;
        // Copies: `remember` below writes into the carried state, and backward needs the state that this batch has
        // read.
        let layers = self.carried.iter().map(|t| t.detach().copy()).collect::<Result<_>>()?;
        let mut state = State { layers, at: self.since as usize * t, traces: vec![] };
        let v = self.net.encode(&batch.tokens, &mut Tap::off(), Some(&mut state), &self.dropout())?;
        let loss = head_cross_entropy(&v, &self.net.lm_head.t()?.contiguous()?, &batch.targets)?;
        self.remember(&state.layers)?;
        Ok(loss)
    }

    fn remember(&self, layers: &[Tensor]) -> Result<()> {
        for (layer, value) in layers.iter().enumerate() {
            self.params.load(&format!("{CARRIED_PREFIX}{layer}"), value)?;
        }
        Ok(())
    }
}

/// A trained BDH in a file; its weights are on the device. They are read once, and models of any depth can be built from
/// them, because the layers share their weights.
pub struct Checkpoint {
    /// The path of the file.
    pub path: PathBuf,
    /// The sizes of the file; `layers` is meaningless if no file gives their number.
    pub spec: BdhSpec,
    /// The size V of the vocabulary.
    pub vocab: usize,
    /// What the checkpoint and the files beside it say about the model.
    pub facts: CheckpointFacts,
    /// Notes on values that were inferred or differ here.
    pub notes: Vec<String>,
    weights: Vec<(&'static str, Tensor)>,
    device: Device,
}

impl Checkpoint {
    /// Reads the file at `path`. Form and position, which a file does not state, are taken from `asked`.
    ///
    /// # Errors
    /// If it is not a checkpoint of a BDH, or a value in it is not a number; the message names the tensor.
    pub fn open(path: &Path, asked: &BdhSpec, device: &Device) -> Result<Self> {
        let found = import_state_dict::open(path, asked)?;
        let weights = found.load(device)?;
        let unsaid = found.facts.layers.is_none();
        Ok(Self {
            path: path.to_owned(),
            vocab: found.vocab,
            // the first note is that the layers are taken from settings, which here they are not
            notes: found.notes[usize::from(unsaid)..].to_vec(),
            facts: found.facts,
            spec: found.spec,
            weights,
            device: device.clone(),
        })
    }

    /// The model with this many layers.
    ///
    /// # Errors
    /// If the sizes are impossible or the device has no room.
    pub fn model(&self, layers: usize) -> Result<Bdh> {
        let spec = BdhSpec { layers, weights: None, ..self.spec.clone() };
        Bdh::with_weights(&spec, self.vocab, &self.weights, 0, &self.device)
    }
}

impl Trainable for Bdh {
    params_and_spec!(Bdh);

    fn begin_step(&mut self, step: u64) -> Result<()> {
        self.update = step;
        let Some(carry) = self.spec.carry else { return Ok(()) };
        self.since = carry.since(step);
        if self.since == 0 {
            self.remember(&self.carried.iter().map(Tensor::zeros_like).collect::<Result<Vec<_>>>()?)?;
        }
        Ok(())
    }

    fn loss_into(&self, batch: &Batch, _: Option<&GradAccumulator>) -> Result<Loss> {
        let cross_entropy = match self.spec.carry {
            Some(_) => self.continued_loss(batch)?,
            None => self.cross_entropy(&self.net, batch, &self.dropout())?,
        };
        Ok(cross_entropy.into())
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.cross_entropy(&self.inference_net, batch, &ForwardChange::Nothing)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn load_from(&self, sources: &[&dyn Trainable]) -> Result<Vec<String>> {
        let parent = |name: &str, of: &dyn Trainable| match of.spec() {
            ModelSpec::Bdh(spec) => Ok(merge::Parent { name: name.to_owned(), spec, weights: weights(of) }),
            _ => bail!("a BDH takes over from one BDH or from two"),
        };
        let (weights, notes) = match sources {
            [one] => (parent("the first", *one)?.weights, vec![]),
            [a, b] => {
                let merged = merge::merge(&parent("the first", *a)?, &parent("the second", *b)?)?;
                let (own, made) = (self.spec.neurons, merged.spec.neurons);
                let fits = own == made && self.spec.frequencies == merged.spec.frequencies;
                ensure!(fits, "{own} neurons cannot take over the {made} of both parents");
                (merged.weights, merged.notes)
            }
            _ => bail!("a BDH takes over from one BDH or from two"),
        };
        weights.iter().try_for_each(|(name, value)| self.params.load(name, value))?;
        Ok(notes)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { token_model: Some(self), synapses: Some(self), ..Capabilities::default() }
    }
}

impl Model for Bdh {
    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        linear_transposed(
            &self.inference_net.encode(tokens, tap, None, &ForwardChange::Nothing)?,
            &self.inference_net.lm_head,
        )
    }
}

impl SynapseModel for Bdh {
    fn shape(&self) -> &SynapseShape {
        &self.shape
    }

    fn checkpoint(&self) -> Option<&CheckpointFacts> {
        self.facts.as_ref()
    }

    fn read(&self, tokens: &Tensor, state: &mut State, tap: &mut Tap) -> Result<Tensor> {
        let v = self.inference_net.encode(tokens, tap, Some(state), &ForwardChange::Nothing)?;
        linear_transposed(&v, &self.inference_net.lm_head)
    }

    fn read_changed(&self, tokens: &Tensor, state: &mut State, change: &Intervention) -> Result<Tensor> {
        let change = ForwardChange::Edit(change.edit(&self.shape, self.params.device())?);
        let v = self.inference_net.encode(tokens, &mut Tap::off(), Some(state), &change)?;
        linear_transposed(&v, &self.inference_net.lm_head)
    }

    fn head(&self, v: &Tensor) -> Result<Tensor> {
        linear_transposed(&self.inference_net.normed(v)?, &self.inference_net.lm_head)
    }

    fn token_recurrence(&self, state: &State) -> Result<Option<Box<dyn TokenRecurrence>>> {
        Ok(TokenReader::after(self, state)?.map(|reader| Box::new(reader) as Box<dyn TokenRecurrence>))
    }

    fn with_layers(&self, layers: usize) -> Result<Box<dyn SynapseModel>> {
        let spec = BdhSpec { layers, carry: None, ..self.spec.clone() };
        let model = Self::new(&spec, self.vocab(), self.seed, self.params.device())?;
        for (name, _) in model.params.iter() {
            if let Some(value) = self.params.get(name) {
                model.params.load(name, value.as_tensor())?;
            }
        }
        Ok(Box::new(model))
    }

    fn merged_with(&self, checkpoint: &Path) -> Result<MergedModels> {
        let device = self.params.device();
        let name = checkpoint.file_stem().unwrap_or(checkpoint.as_os_str()).to_string_lossy().into_owned();
        let own = merge::Parent { name: "this model".into(), spec: self.spec.clone(), weights: weights(self) };
        let file = import_state_dict::open(checkpoint, &self.spec)?;
        let loaded = file.load(device)?.into_iter().map(|(n, t)| (n.to_owned(), t)).collect();
        let other = merge::Parent { name: name.clone(), spec: file.spec.clone(), weights: loaded };
        let merged = merge::merge(&own, &other)?;
        let build = |spec: &BdhSpec, weights: &[(String, Tensor)]| -> Result<Box<dyn SynapseModel>> {
            let model = Self::new(spec, self.vocab(), 0, device)?;
            let mut trained = weights.iter().filter(|(n, _)| !n.starts_with(CARRIED_PREFIX));
            trained.try_for_each(|(n, t)| model.params.load(n, t))?;
            Ok(Box::new(model))
        };
        Ok(MergedModels {
            name,
            other: build(&other.spec, &other.weights)?,
            merged: build(&merged.spec, &merged.weights)?,
            notes: merged.notes,
        })
    }
}

/// Returns the weights by name, without the carried state, which is not a weight but lies among the parameters.
fn weights(of: &dyn Trainable) -> Vec<(String, Tensor)> {
    let own = of.params().iter().filter(|(n, _)| !n.starts_with(CARRIED_PREFIX));
    own.map(|(n, v)| (n.to_owned(), v.as_tensor().detach())).collect()
}
