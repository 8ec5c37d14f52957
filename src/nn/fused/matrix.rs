//! Matrix products over plain slices, on the calling thread, and the slices that tensors hold.
//!
//! A task of a fused operation calls this; how tasks are spread is [`pool`](super::pool)'s matter.

use candle_core::{CpuStorage, DType, Layout, Result, Storage, Tensor, bail};

/// A row-major matrix, or the transpose of one.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    transposed: bool,
}

impl<'a> View<'a> {
    /// The first `rows * cols` values of `data`.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Self { data: &data[..rows * cols], rows, cols, transposed: false }
    }

    pub fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, transposed: !self.transposed, ..self }
    }

    /// Steps from column to column and from row to row.
    fn steps(&self) -> (isize, isize) {
        if self.transposed { (self.rows as isize, 1) } else { (1, self.cols as isize) }
    }
}

/// dst = scale a b, or dst += scale a b. dst row-major of `a.rows * b.cols` values (or more, untouched).
///
/// # Panics
/// When the sizes do not fit.
pub fn product(dst: &mut [f32], a: View, b: View, scale: f32, add: bool) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert!(k == b.rows && dst.len() >= m * n, "({m}, {k}) x ({}, {n}) into {} values", b.rows, dst.len());
    let ((a_col, a_row), (b_col, b_row)) = (a.steps(), b.steps());
    // SAFETY: a view holds exactly rows * cols values with the steps given, dst at least m * n, and
    // the exclusive borrow of dst keeps it apart from both.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            dst.as_mut_ptr(),
            1,
            n as isize,
            add,
            a.data.as_ptr(),
            a_col,
            a_row,
            b.data.as_ptr(),
            b_col,
            b_row,
            1.0,
            scale,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Whether a fused CPU form can read all of these: f32, in host memory, row-major, not empty.
pub fn readable(tensors: &[&Tensor]) -> bool {
    tensors
        .iter()
        .all(|t| t.device().is_cpu() && t.dtype() == DType::F32 && t.layout().is_contiguous() && t.elem_count() > 0)
}

/// The values of a row-major argument.
pub fn values<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(&storage.as_slice::<f32>()?[from..to]),
        None => bail!("a fused operation was given a tensor that is not row-major: call contiguous() first"),
    }
}

/// Calls `f` with the values of an f32 tensor in host memory, row-major.
pub fn read<R>(t: &Tensor, f: impl FnOnce(&[f32]) -> Result<R>) -> Result<R> {
    let t = t.contiguous()?;
    let (storage, layout) = t.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => f(values(storage, layout)?),
        _ => bail!("a fused operation was asked to go back over a tensor that left host memory"),
    }
}
