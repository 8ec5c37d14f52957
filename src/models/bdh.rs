//! BDH-GPU (arXiv 2509.26507, appendix E): layers that share one set of weights, two layers of sparse
//! positive neurons each, and linear attention whose state is the strength of synapses.

pub mod foreign;
mod net;
mod outward;
mod spec;
mod state;

use std::any::Any;

use candle_core::{DType, Device, Result, Tensor, bail};

pub use self::{
    outward::{Outward, outward},
    spec::{BdhSpec, Carry, Form, Position},
    state::State,
};

use self::net::Net;
use super::{Loss, Model};
use crate::nn::{
    Batch, Params, Tap,
    fused::{cross_entropy::head_cross_entropy, linear::mapped},
};

/// Taps: `layers.l.x`, `layers.l.y` `(B, nh, T, N)`, `layers.l.v` `(B, T, D)`.
pub struct Bdh {
    spec: BdhSpec,
    params: Params,
    net: Net,
    still: Net,
    remarks: Vec<String>,
}

impl Bdh {
    /// Weights are drawn from `seed`, or are those of the file that `spec` names, and so are the sizes
    /// then; errors name the size or tensor that does not fit.
    pub fn new(spec: &BdhSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let Some(path) = &spec.weights else { return Self::drawn(spec.clone(), vocab, seed, device) };
        let file = foreign::open(path, spec)?;
        if file.vocab != vocab {
            bail!(
                "the checkpoint `{}` knows {} tokens and this corpus has {vocab}: choose the tokens it was trained on (`corpus.tokenizer`; with bytes, `corpus.vocab` = {})",
                path.display(),
                file.vocab,
                file.vocab.max(256)
            )
        }
        let model = Self::drawn(file.spec.clone(), vocab, seed, device)?;
        for (name, value) in file.load(device)? {
            model.params.load(name, &value)?;
        }
        Ok(Self { remarks: file.remarks, ..model })
    }

    fn drawn(spec: BdhSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        spec.check()?;
        let mut params = Params::new(seed, device, DType::F32);
        let net = Net::new(&mut params, &spec, vocab)?;
        let still = net.detach();
        Ok(Self { spec, params, net, still, remarks: vec![] })
    }

    /// With the sizes of the file, where the weights came from one.
    pub fn spec(&self) -> &BdhSpec {
        &self.spec
    }

    /// Reads a chunk of tokens `(B, T)` after all that `state` has read, and takes it in: logits
    /// `(B, T, V)`. Taps as everywhere.
    pub fn read(&self, tokens: &Tensor, state: &mut State, tap: &mut Tap) -> Result<Tensor> {
        mapped(&self.still.encode(tokens, tap, Some(state))?, &self.still.lm_head)
    }

    fn cross_entropy(&self, net: &Net, batch: &Batch) -> Result<Tensor> {
        let v = net.encode(&batch.tokens, &mut Tap::off(), None)?;
        head_cross_entropy(&v, &net.lm_head.t()?.contiguous()?, &batch.targets)
    }
}

impl Model for Bdh {
    fn params(&self) -> &Params {
        &self.params
    }

    fn loss(&self, batch: &Batch) -> Result<Loss> {
        let cross_entropy = self.cross_entropy(&self.net, batch)?;
        Ok(Loss { total: cross_entropy.clone(), cross_entropy, parts: vec![] })
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.cross_entropy(&self.still, batch)
    }

    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        mapped(&self.still.encode(tokens, tap, None)?, &self.still.lm_head)
    }

    fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
