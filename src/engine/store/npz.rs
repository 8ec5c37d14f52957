//! Named tensors as an `.npz` file for NumPy. The format is candle's; this gives the file its name when it is whole.

use std::path::Path;

use candle_core::Tensor;

use super::error::{At, StoreError};
use crate::{
    files::{self, folder_beside, memory::size},
    nn::host,
};

/// A zip without its 64-bit extension holds no larger part.
const LARGEST_PART: u64 = u32::MAX as u64;

/// Writes `name.npy` for each tensor, uncompressed, dated 1980 so that equal tensors give equal bytes; replaces a file
/// that is there by a whole one.
///
/// # Errors
/// If a tensor is larger than 4 GiB, or the system refuses.
pub fn write(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), StoreError> {
    let shown = path.display();
    let broken = |e: &dyn std::fmt::Display| StoreError::new(format!("cannot write `{shown}`: {e}"));
    let mut on_host = vec![];
    for (name, tensor) in tensors {
        let bytes = (tensor.elem_count() as u64).saturating_mul(tensor.dtype().size_in_bytes() as u64);
        if bytes + 1024 > LARGEST_PART {
            let words =
                format!("`{name}` has {}, and an .npz holds at most 4 GiB of each: write .safetensors", size(bytes));
            return Err(broken(&words));
        }
        on_host.push((name.as_str(), host::to_cpu(tensor).map_err(|e| broken(&e))?));
    }
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = folder_beside(folder, ".writing-").at("write", path)?;
    let whole = beside.path().join("whole.npz");
    Tensor::write_npz(&on_host, &whole).map_err(|e| broken(&e))?;
    files::rename_whole(&whole, path).at("write", path)
}
