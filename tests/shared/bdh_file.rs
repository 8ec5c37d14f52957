//! Writes a BDH as a checkpoint file, for tests that open it.

use std::path::Path;

use orrery::{
    models::{
        Trainable,
        bdh::{Bdh, export_state_dict},
    },
    store::tensors,
};

/// Writes the weights and sizes of a model.
pub fn write_bdh(path: &Path, model: &Bdh) {
    let weights: Vec<_> = model.params().iter().map(|(n, v)| (n.to_owned(), v.as_tensor().clone())).collect();
    let out = export_state_dict(model.sizes(), &weights).unwrap();
    tensors::write(path, &out.tensors, &out.metadata).unwrap();
}
