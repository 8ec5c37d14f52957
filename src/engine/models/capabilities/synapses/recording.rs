//! Records the activity of neurons while a text is read: x and y of every token, the synapses that they write, and the
//! logits.

use super::{ReadTokens, SynapseModel, SynapseShape, TextReader, stretch};
use crate::{
    files::{check_memory, memory::size},
    nn::{Error, Tensor},
};

/// The reason why activations are not recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The layers are not there, or the tensors would be too large.
    #[error("{0}")]
    Refused(String),
    /// The device, or memory.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// The values that a recording keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// `layers.l.x` `(nh, T, N)`.
    pub x: bool,
    /// `layers.l.y` `(nh, T, N)`.
    pub y: bool,
    /// `layers.l.sigma` `(nh, N, N)` after the text: within each head, entry (i, j) is the sum over tokens of y(i) of
    /// the layer before times x(j), without rotation. The first layer has none, since no y comes before it.
    pub sigma: bool,
    /// `logits` `(T, V)`.
    pub logits: bool,
    /// The layers to record, counted from 0; empty for all.
    pub layers: Vec<usize>,
}

/// Tensors with their names, sorted by name.
pub type Activations = Vec<(String, Tensor)>;

/// The largest number of bytes that one recording may keep.
const MAX_BYTES: u64 = 16 << 30;

impl Recording {
    fn layers(&self, shape: &SynapseShape) -> Result<Vec<usize>, RecordingError> {
        if let Some(none) = self.layers.iter().find(|l| **l >= shape.layers) {
            let words = format!("there is no layer {none}: the model has layers 0 to {}", shape.layers - 1);
            return Err(RecordingError::Refused(words));
        }
        let mut layers = if self.layers.is_empty() { (0..shape.layers).collect() } else { self.layers.clone() };
        layers.sort_unstable();
        layers.dedup();
        Ok(layers)
    }

    /// Bytes of all tensors for a text of this many tokens.
    pub fn bytes(&self, shape: &SynapseShape, vocab: usize, tokens: usize) -> Result<u64, RecordingError> {
        let layers = self.layers(shape)?;
        let (n, t, per_head) = (shape.neurons as u64, tokens as u64, shape.per_head() as u64);
        let rows = (u64::from(self.x) + u64::from(self.y)) * layers.len() as u64;
        let sigmas = if self.sigma { layers.iter().filter(|l| **l > 0).count() as u64 } else { 0 };
        let logits = if self.logits { t.saturating_mul(vocab as u64) } else { 0 };
        let values = rows.saturating_mul(n).saturating_mul(t);
        let values = values.saturating_add(sigmas.saturating_mul(n).saturating_mul(per_head)).saturating_add(logits);
        Ok(values.saturating_add(t).saturating_mul(4))
    }
}

/// Reads the text as one stream and keeps what is wanted, and `tokens` `(T)`.
///
/// # Errors
/// If a layer is not there, or all of it does not fit into memory; the message says how large it would be.
pub fn record(model: &dyn SynapseModel, ids: &[u32], wanted: &Recording) -> Result<Activations, RecordingError> {
    let shape = model.shape();
    let (device, layers) = (model.params().device(), wanted.layers(shape)?);
    let vocab = model.params().get("lm_head").map_or(0, |w| w.dims().last().copied().unwrap_or(0));
    check_size(wanted.bytes(shape, vocab, ids.len())?)?;
    let mut paths: Vec<String> = layers.iter().map(|l| format!("layers.{l}.")).collect();
    if wanted.sigma {
        paths.extend(layers.iter().filter(|l| **l > 0).map(|l| format!("layers.{}.y", l - 1)));
    }
    let mut kept = RecordedTensors::default();
    TextReader::new(model).tapping(paths).stream(ids, stretch(shape), |read| {
        layers.iter().try_for_each(|layer| kept.layer(*layer, &read, wanted))?;
        if wanted.logits {
            kept.append("logits".to_owned(), read.logits.squeeze(0)?);
        }
        Ok(())
    })?;
    let mut all = kept.joined()?;
    all.push(("tokens".to_owned(), Tensor::from_slice(ids, ids.len(), device)?));
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all)
}

/// Errors: this many bytes are more than is held at once, or than memory has.
fn check_size(bytes: u64) -> Result<(), RecordingError> {
    // parts are joined, and a file's bytes are made of them
    let free = check_memory(bytes.saturating_mul(2));
    if bytes <= MAX_BYTES && free.is_ok() {
        return Ok(());
    }
    let why = free.err().map_or_else(|| format!("the most is {}", size(MAX_BYTES)), |e| e.to_string());
    Err(RecordingError::Refused(format!(
        "these activations would be {} ({why}): ask for fewer layers, leave out sigma, or give a shorter text",
        size(bytes)
    )))
}

#[derive(Default)]
struct RecordedTensors {
    /// Recorded tensors by path, to be joined along the tokens.
    parts: Vec<(String, Vec<Tensor>)>,
    sigmas: Activations,
}

impl RecordedTensors {
    fn append(&mut self, name: String, part: Tensor) {
        match self.parts.iter_mut().find(|(n, _)| *n == name) {
            Some((_, all)) => all.push(part),
            None => self.parts.push((name, vec![part])),
        }
    }

    /// Records the requested activations of a layer.
    fn layer(&mut self, layer: usize, read: &ReadTokens<'_>, wanted: &Recording) -> Result<(), Error> {
        let value = |path: &str| read.tap.require(path)?.squeeze(0); // (nh, T, N)
        let [x, y] = ["x", "y"].map(|what| format!("layers.{layer}.{what}"));
        if wanted.sigma && layer > 0 {
            let before = value(&format!("layers.{}.y", layer - 1))?.transpose(1, 2)?.contiguous()?; // (nh, N, T)
            let gained = before.matmul(&value(&x)?)?; // (nh, N, N)
            let name = format!("layers.{layer}.sigma");
            match self.sigmas.iter_mut().find(|(n, _)| *n == name) {
                Some((_, sigma)) => *sigma = (&*sigma + gained)?,
                None => self.sigmas.push((name, gained)),
            }
        }
        for path in [(x, wanted.x), (y, wanted.y)].into_iter().filter_map(|(path, on)| on.then_some(path)) {
            let found = value(&path)?;
            self.append(path, found);
        }
        Ok(())
    }

    fn joined(self) -> Result<Activations, Error> {
        let mut all = self.sigmas;
        for (name, parts) in self.parts {
            let tokens = if name == "logits" { 0 } else { 1 };
            all.push((name, Tensor::cat(&parts, tokens)?));
        }
        Ok(all)
    }
}
