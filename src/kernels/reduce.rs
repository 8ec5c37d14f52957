//! Sums over rows, cut and ordered by sizes alone, so that no bit depends on the number of threads.

use super::{arch::arch, threads};

/// Rows that one task adds up.
pub const TASK_ROWS: usize = 128;

/// The sum of rows of `d` values, in order: `(d)`.
pub fn sum_rows(rows: &[f32], d: usize) -> Vec<f32> {
    let mut sum = vec![0f32; d];
    rows.chunks_exact(d).for_each(|row| add(&mut sum, row));
    sum
}

/// `out` is cut into chunks of `size` values and `parts` into as many equal shares; each chunk becomes the sum, in
/// order, of its share's parts of `size` values.
pub fn sum_parts(out: &mut [f32], size: usize, parts: &[f32]) {
    let share = parts.len() / (out.len() / size);
    threads::run_chunks(out, size, |i, out| {
        let (first, more) = parts[i * share..][..share].split_at(size);
        out.copy_from_slice(first);
        more.chunks_exact(size).for_each(|part| add(out, part));
    });
}

/// Sums over the rows of g `(N, width)`: of [`TASK_ROWS`] rows at a time, and then of these sums in order.
pub fn column_sums(g: &[f32], width: usize) -> Vec<f32> {
    let mut partial = vec![0f32; g.len().div_ceil(TASK_ROWS * width) * width];
    threads::run_chunks(&mut partial, width, |i, sum| {
        let rows = &g[i * TASK_ROWS * width..g.len().min((i + 1) * TASK_ROWS * width)];
        arch().dispatch(|| rows.chunks_exact(width).for_each(|row| add(sum, row)));
    });
    sum_rows(&partial, width)
}

#[inline(always)]
fn add(sum: &mut [f32], row: &[f32]) {
    sum.iter_mut().zip(row).for_each(|(s, v)| *s += v);
}
