//! Matrix products over plain slices, and the slices that tensors hold.
//!
//! [`product`] runs on the calling thread, for a task of a fused operation; [`by_rows`] and
//! [`over_rows`] are cut into such tasks.

use std::marker::PhantomData;

use candle_core::{CpuStorage, DType, Layout, Result, Storage, Tensor, bail};

use super::{
    packed::{self, Packed},
    pool, transpose,
};

/// A row-major matrix, part of one, or the transpose of either.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_step: usize,
    col_step: usize,
}

impl<'a> View<'a> {
    /// The first `rows * cols` values of `data`.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Self { data: &data[..rows * cols], rows, cols, row_step: cols, col_step: 1 }
    }

    /// Rows and columns at these steps, the first value being the first.
    ///
    /// # Panics
    /// When the last lies behind the data.
    #[cfg(test)]
    pub fn with_steps(data: &'a [f32], [rows, cols]: [usize; 2], [row_step, col_step]: [usize; 2]) -> Self {
        assert!((rows - 1) * row_step + (cols - 1) * col_step < data.len(), "({rows}, {cols}) of {}", data.len());
        Self { data, rows, cols, row_step, col_step }
    }

    pub fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, row_step: self.col_step, col_step: self.row_step, ..self }
    }

    pub fn rows(self) -> usize {
        self.rows
    }

    pub fn cols(self) -> usize {
        self.cols
    }

    /// From one row to the next, and from one column to the next.
    pub fn steps(self) -> [usize; 2] {
        [self.row_step, self.col_step]
    }

    /// From the first on.
    pub fn values(self) -> &'a [f32] {
        self.data
    }

    /// # Panics
    /// When it has none such.
    pub fn at(self, row: usize, col: usize) -> f32 {
        self.data[row * self.row_step + col * self.col_step]
    }

    /// The values of a row whose columns lie side by side.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(self, row: usize) -> &'a [f32] {
        debug_assert_eq!(self.col_step, 1);
        &self.data[row * self.row_step..][..self.cols]
    }

    /// Where a value lies.
    pub fn from(self, row: usize, col: usize) -> *const f32 {
        self.data.as_ptr().wrapping_add(row * self.row_step + col * self.col_step)
    }

    /// `rows` rows from `row` on, `cols` columns of them from `col` on.
    ///
    /// # Panics
    /// When it has fewer.
    pub fn part(self, row: usize, col: usize, rows: usize, cols: usize) -> Self {
        assert!(row + rows <= self.rows && col + cols <= self.cols, "({rows}, {cols}) from ({row}, {col})");
        let from = (row * self.row_step + col * self.col_step).min(self.data.len());
        Self { data: &self.data[from..], rows, cols, ..self }
    }
}

/// dst = scale a b, or dst += scale a b. dst row-major of `a.rows * b.cols` values (or more, untouched).
///
/// # Panics
/// When the sizes do not fit.
pub fn product(dst: &mut [f32], a: View, b: View, scale: f32, add: bool) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert!(k == b.rows && dst.len() >= m * n, "({m}, {k}) x ({}, {n}) into {} values", b.rows, dst.len());
    if k == 0 && !add {
        dst[..m * n].fill(0.0);
    }
    // SAFETY: dst holds at least m rows of n values, and its exclusive borrow keeps it apart from both.
    unsafe { packed::product_at(dst.as_mut_ptr(), n, a, b, scale, add) }
}

/// Some columns of some rows of a matrix, which nobody else writes to.
pub struct Panel<'a> {
    at: *mut f32,
    rows: usize,
    cols: usize,
    step: usize,
    matrix: PhantomData<&'a mut [f32]>,
}

// SAFETY: a panel is the only way to its values while it lives, as `&mut [f32]` would be.
unsafe impl Send for Panel<'_> {}

impl Panel<'_> {
    /// Where a part of it that begins with a row's first value lies, and from one row to the next.
    ///
    /// # Panics
    /// When it has no such part.
    pub fn place(&mut self, row: usize, rows: usize, cols: usize) -> (*mut f32, usize) {
        assert!(row + rows <= self.rows && cols <= self.cols, "({rows}, {cols}) from row {row} of {}", self.rows);
        (self.at.wrapping_add(row * self.step), self.step)
    }

    /// Its rows from `row` on += a b.
    ///
    /// # Panics
    /// When it has fewer rows, or less wide ones.
    pub fn add_product(&mut self, row: usize, a: View, b: View) {
        assert_eq!(a.cols, b.rows);
        let (at, step) = self.place(row, a.rows, b.cols);
        // SAFETY: the place is there, and `&mut self` keeps others from it.
        unsafe { packed::product_at(at, step, a, b, 1.0, true) }
    }

    pub fn clear(&mut self) {
        (0..self.rows).for_each(|r| self.row(r).fill(0.0));
    }

    /// # Panics
    /// When it has fewer rows.
    pub fn row(&mut self, r: usize) -> &mut [f32] {
        assert!(r < self.rows, "row {r} of {}", self.rows);
        // SAFETY: the row is within the panel's matrix, and `&mut self` keeps others from it.
        unsafe { std::slice::from_raw_parts_mut(self.at.add(r * self.step), self.cols) }
    }
}

/// Cuts `data` into matrices of `rows` rows, and each into panels of these widths, which make up a whole
/// row: the panels of the first matrix, those of the second, and so on.
///
/// # Panics
/// When it does not hold whole matrices.
pub fn panels<'a>(data: &'a mut [f32], rows: usize, widths: &[usize]) -> Vec<Panel<'a>> {
    let step = widths.iter().sum::<usize>();
    assert!(data.len().is_multiple_of(rows * step), "{} values are no matrices of {rows} x {step}", data.len());
    let mut panels = Vec::with_capacity(data.len() / (rows * step) * widths.len());
    for matrix in data.chunks_exact_mut(rows * step) {
        let (start, mut from) = (matrix.as_mut_ptr(), 0);
        for &cols in widths {
            // columns of one matrix that no other panel has
            panels.push(Panel { at: start.wrapping_add(from), rows, cols, step, matrix: PhantomData });
            from += cols;
        }
    }
    panels
}

/// Rows whose sum one task makes, in an operation that adds rows up.
pub const ROWS: usize = 128;

/// How many of `n` rows a task takes through products: few enough for what it makes of them to stay in the
/// cache, and for every thread to have some when one is held up.
pub fn task_rows(n: usize) -> usize {
    const MOST: usize = 128;
    const LEAST: usize = 64;
    let wanted = match pool::threads() {
        1 => 1,
        threads => 2 * threads,
    };
    let tasks = n.div_ceil(MOST).max(wanted.min(n / LEAST)).max(1);
    n.div_ceil(tasks).max(1)
}

/// A linear map `(I, O)`, perhaps with a bias `(O)`, and how rows go through it. Which way is a matter of how many rows
/// there are in all, not of tasks; products by themselves have the same bits, what they are added to is added later
/// where rows are few.
pub struct Map<'a> {
    laid: Laid<'a>,
    bias: Option<&'a [f32]>,
}

enum Laid<'a> {
    /// Laid out for many rows.
    Packed(Packed),
    Lent(&'a Packed),
    /// A transposed one for few rows, which are laid out instead: laying the map out would take longer than the product.
    AsItLies(View<'a>),
}

impl<'a> Map<'a> {
    /// For `rows` rows in all.
    pub fn of(w: View<'a>, bias: Option<&'a [f32]>, rows: usize) -> Self {
        const FEW: usize = 64;
        let few = rows <= FEW && w.row_step == 1 && w.col_step > 1;
        Self { laid: if few { Laid::AsItLies(w) } else { Laid::Packed(Packed::new(w)) }, bias }
    }

    /// Laid out already.
    pub fn laid_out(w: &'a Packed, bias: Option<&'a [f32]>) -> Self {
        Self { laid: Laid::Lent(w), bias }
    }

    /// I, O.
    fn sizes(&self) -> [usize; 2] {
        match &self.laid {
            Laid::Packed(w) => w.sizes(),
            Laid::Lent(w) => w.sizes(),
            Laid::AsItLies(w) => [w.rows, w.cols],
        }
    }

    /// y `(n, O)` <- x w [+ rest] [+ bias]: x `(n, I)`, rest `(n, O)`. On the calling thread.
    pub fn onto(&self, y: &mut [f32], x: View, rest: Option<&[f32]>) {
        let w = match &self.laid {
            Laid::Packed(w) => return w.onto(y, x, self.bias, rest),
            Laid::Lent(w) => return w.onto(y, x, self.bias, rest),
            Laid::AsItLies(w) => w,
        };
        let (n, o) = (x.rows, w.cols);
        filled(o * n, |across| {
            Packed::new(x.t()).product(across, w.t(), 1.0); // (O, n)
            transpose::turn(across, [o, n], n, y, o);
        });
        if let Some(rest) = rest {
            y.iter_mut().zip(rest).for_each(|(y, r)| *y += r);
        }
        if let Some(bias) = self.bias {
            y.chunks_exact_mut(o).for_each(|y| y.iter_mut().zip(bias).for_each(|(y, b)| *y += b));
        }
    }

    /// As [`Map::onto`], by rows over the pool.
    pub fn by_rows(&self, y: &mut [f32], x: &[f32], rest: Option<&[f32]>) {
        let [i, o] = self.sizes();
        let each = task_rows(y.len() / o);
        pool::run_on(y, each * o, |task, y| {
            let rest = rest.map(|r| &r[task * each * o..][..y.len()]);
            self.onto(y, View::new(&x[task * each * i..], y.len() / o, i), rest);
        });
    }
}

/// x `(N, I)` times w `(I, O)` [+ bias], by rows over the pool: `(N, O)`.
pub fn by_rows(x: &[f32], w: View, bias: Option<&[f32]>) -> Vec<f32> {
    let n = x.len() / w.rows;
    filled(n * w.cols, |y| Map::of(w, bias, n).by_rows(y, x, None))
}

/// A place that several tasks write to, each its own columns.
struct Shared(*mut f32);

// SAFETY: only `over_pieces` makes one, and its tasks write to columns of their own.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    /// A method, so that a closure takes the whole value and not the bare pointer in it.
    fn at(&self, i: usize) -> *mut f32 {
        self.0.wrapping_add(i)
    }
}

/// g^T x, the gradient of a weight `(O, I)`: g `(N, O)`, x `(N, I)`.
pub fn over_rows(g: &[f32], o: usize, x: &[f32], i: usize) -> Vec<f32> {
    filled(o * i, |out| over_pieces(out, [o, i], &[[g, x]], false))
}

/// out `(O, I)` <- the sum of all g^T x, in order, or += it: of each piece g `(N, O)` and x `(N, I)`. Cut along the
/// longer side; whether pieces come in one call or in several makes no difference to any bit.
pub fn over_pieces(out: &mut [f32], [o, i]: [usize; 2], pieces: &[[&[f32]; 2]], add: bool) {
    let rows: usize = pieces.iter().map(|[g, _]| g.len() / o).sum();
    let tasks = if rows * o * i < 1 << 19 { 1 } else { pool::threads() };
    let step = |side: usize| side.div_ceil(tasks).next_multiple_of(16).max(32);
    if o >= i {
        let step = step(o);
        pool::run_on(out, step * i, |task, out| {
            for (at, [g, x]) in pieces.iter().enumerate() {
                let n = g.len() / o;
                let g = View::new(g, n, o).t().part(task * step, 0, out.len() / i, n);
                product(out, g, View::new(x, n, i), 1.0, add || at > 0);
            }
        });
    } else {
        let step = step(i);
        let out = Shared(out.as_mut_ptr());
        pool::run(i.div_ceil(step), |task| {
            let from = task * step;
            for (at, [g, x]) in pieces.iter().enumerate() {
                let n = g.len() / o;
                let (g, x) = (View::new(g, n, o).t(), View::new(x, n, i).part(0, from, n, step.min(i - from)));
                // SAFETY: o rows i apart, of at most i - from values; tasks have disjoint columns.
                unsafe { packed::product_at(out.at(from), i, g, x, 1.0, add || at > 0) }
            }
        });
    }
}

/// Adds rows of d values up, in order.
pub fn total(rows: &[f32], d: usize) -> Vec<f32> {
    let mut sum = vec![0f32; d];
    for row in rows.chunks_exact(d) {
        sum.iter_mut().zip(row).for_each(|(s, v)| *s += v);
    }
    sum
}

/// out, pieces of `size` values, each the sum in order of as many equal parts as lie in its share of `parts`.
pub fn totals(out: &mut [f32], size: usize, parts: &[f32]) {
    let share = parts.len() / (out.len() / size);
    pool::run_on(out, size, |i, out| {
        let (first, more) = parts[i * share..][..share].split_at(size);
        out.copy_from_slice(first);
        for part in more.chunks_exact(size) {
            out.iter_mut().zip(part).for_each(|(a, b)| *a += b);
        }
    });
}

/// Sums over the rows of g `(N, width)`, each over [`ROWS`] rows at a time and then in order.
pub fn column_sums(g: &[f32], width: usize) -> Vec<f32> {
    let mut partial = vec![0f32; g.len().div_ceil(ROWS * width) * width];
    let add = |sum: &mut [f32], row: &[f32]| sum.iter_mut().zip(row).for_each(|(s, v)| *s += v);
    pool::run_on(&mut partial, width, |i, sum| {
        let rows = &g[i * ROWS * width..g.len().min((i + 1) * ROWS * width)];
        pulp::Arch::new().dispatch(|| rows.chunks_exact(width).for_each(|row| add(sum, row)));
    });
    total(&partial, width)
}

/// A new vector that `write` fills. It must write every value, and before it reads it: the memory is
/// not cleared first, which would cost as much as a small operation.
pub fn filled(len: usize, write: impl FnOnce(&mut [f32])) -> Vec<f32> {
    let mut v: Vec<f32> = Vec::with_capacity(len);
    // SAFETY: room for `len` values is there, any bits are an f32, and the callers, all in this
    // module's parent, write every value before any is read.
    unsafe {
        write(std::slice::from_raw_parts_mut(v.as_mut_ptr(), len));
        v.set_len(len);
    }
    v
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

/// As [`read`] of several.
pub fn read_all<R, const N: usize>(tensors: &[&Tensor; N], f: impl FnOnce([&[f32]; N]) -> Result<R>) -> Result<R> {
    let tensors = tensors.iter().map(|t| t.contiguous()).collect::<Result<Vec<_>>>()?;
    let held: Vec<_> = tensors.iter().map(Tensor::storage_and_layout).collect();
    let mut found = [&[] as &[f32]; N];
    for (found, (storage, layout)) in found.iter_mut().zip(&held) {
        *found = match &**storage {
            Storage::Cpu(storage) => values(storage, layout)?,
            _ => bail!("a fused operation was given a tensor that left host memory"),
        };
    }
    f(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_those_of_many() {
        let some = |n: usize, by: f32| -> Vec<f32> { (0..n).map(|i| (i as f32 * by).sin()).collect() };
        for (n, i, o) in [(1, 5, 7), (1, 300, 64), (17, 128, 130), (64, 131, 16), (3, 1, 1), (5, 16, 1)] {
            let (x, w, bias, rest) = (some(n * i, 0.37), some(o * i, 0.71), some(o, 1.3), some(n * o, 1.7));
            let w = View::new(&w, o, i).t();
            let go = |laid: Laid, bias: Option<&[f32]>, rest: Option<&[f32]>| {
                let mut y = vec![f32::NAN; n * o];
                Map { laid, bias }.onto(&mut y, View::new(&x, n, i), rest);
                y
            };
            for (bias, rest) in
                [(None, None), (Some(&bias[..]), None), (None, Some(&rest[..])), (Some(&bias), Some(&rest))]
            {
                let wanted = go(Laid::Packed(Packed::new(w)), bias, rest);
                for (few, many) in go(Laid::AsItLies(w), bias, rest).iter().zip(&wanted) {
                    let alone = bias.is_none() && rest.is_none();
                    assert!((few - many).abs() <= if alone { 0.0 } else { 1e-5 }, "({n}, {i}) x ({i}, {o})");
                }
            }
        }
    }
}
