//! A BDH as the public code's state dict: its names, its buffer of frequencies, and as metadata what does not follow
//! from shapes. Writing files is left to the caller.

use super::{
    import_state_dict::{self, FREQUENCIES, NAMES},
    merge::side_by_side,
    spec::BdhSpec,
};
use crate::models::prelude::*;

/// The name of the training window in the file's metadata: nanoGPT's, as those of the sizes are.
const WINDOW: &str = "block_size";

/// Tensors by name, and words for the file's metadata.
pub struct StateDict {
    /// The tensors by their names in the public code.
    pub tensors: Vec<(String, Tensor)>,
    /// Pairs of key and value for the file's metadata.
    pub metadata: Vec<(String, String)>,
}

impl StateDict {
    /// This, with the length of the windows in which the model was trained, tokens, where it is known.
    pub fn with_window(mut self, window: Option<usize>) -> Self {
        self.metadata.extend(window.map(|tokens| (WINDOW.to_owned(), tokens.to_string())));
        self
    }
}

impl BdhSpec {
    /// This, with the sizes of the file that its weights come from, if there is one, and twice as many
    /// neurons if it is twofold.
    pub fn resolved(&self) -> Result<BdhSpec> {
        let spec = match &self.weights {
            Some(path) => import_state_dict::open(path, self)?.spec,
            None => self.clone(),
        };
        if spec.twofold { side_by_side(["the first", "the second"], &spec, &spec) } else { Ok(spec) }
    }
}

/// The state dict of a model of these sizes; `weights` may hold more than it needs. An error names a
/// weight that is missing.
pub fn export_state_dict(spec: &BdhSpec, weights: &[(String, Tensor)]) -> Result<StateDict> {
    let mut tensors = vec![];
    for name in NAMES[0] {
        let Some((_, value)) = weights.iter().find(|(n, _)| n == name) else {
            candle_core::bail!("the weights lack the tensor `{name}`")
        };
        tensors.push((name.to_owned(), value.detach()));
    }
    let turns: Vec<f32> = spec.shape().turns_per_token().into_iter().flat_map(|f| [f, f]).collect();
    let n = turns.len();
    tensors.push((FREQUENCIES.to_owned(), Tensor::from_vec(turns, (1, 1, 1, n), &Device::Cpu)?));
    let words = |key: &str, value: String| (key.to_owned(), value);
    let mut metadata = vec![
        words("n_layer", spec.layers.to_string()),
        words("n_head", spec.heads.to_string()),
        words("n_embd", spec.d_model.to_string()),
        words("position", spec.position.id().to_owned()),
        words("form", spec.form.id().to_owned()),
    ];
    if !spec.provenance.is_empty() {
        let parts: Vec<String> = spec.provenance.iter().map(usize::to_string).collect();
        metadata.push(words("provenance", parts.join(" ")));
    }
    Ok(StateDict { tensors, metadata })
}
