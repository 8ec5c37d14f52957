//! Products with the weight of a linear map and gradients of such weights, cut into tasks for all threads.

use super::{
    buffers::build_vec,
    matrix::{self, View},
    packed::{Packed, gemm},
    threads, transpose,
};

/// The number of the `n` rows that a task multiplies: few enough for what it makes of them to stay in the cache, and
/// for every thread to have some when another is held up.
pub fn task_rows(n: usize) -> usize {
    const MAX_ROWS: usize = 128;
    const MIN_ROWS: usize = 64;
    let wanted = match threads::count() {
        1 => 1,
        threads => 2 * threads,
    };
    let tasks = n.div_ceil(MAX_ROWS).max(wanted.min(n / MIN_ROWS)).max(1);
    n.div_ceil(tasks).max(1)
}

/// The weight `(I, O)` of a linear map, perhaps with a bias `(O)`, stored as the number of rows to multiply suggests.
/// The product alone has the same bits either way; bias and residual are added after it where rows are few, and within
/// its chain of sums where they are many.
pub struct LinearWeight<'a> {
    stored: Stored<'a>,
    bias: Option<&'a [f32]>,
}

enum Stored<'a> {
    /// Packed for many rows.
    Packed(Packed),
    Borrowed(&'a Packed),
    /// A transposed view for few rows, from [`MIN_PACKED_ROWS`] on these are packed instead: packing the weight would take
    /// longer than the product. Any view for a single row.
    Unpacked(View<'a>),
}

/// Fewer rows would leave most of a vector empty.
const MIN_PACKED_ROWS: usize = 8;

impl<'a> LinearWeight<'a> {
    /// The weight, stored as suits products with `rows` rows over all calls.
    pub fn new(w: View<'a>, bias: Option<&'a [f32]>, rows: usize) -> Self {
        const FEW_ROWS: usize = 64;
        let unpacked = rows == 1 || rows <= FEW_ROWS && w.strides()[0] == 1 && w.strides()[1] > 1;
        Self { stored: if unpacked { Stored::Unpacked(w) } else { Stored::Packed(Packed::new(w)) }, bias }
    }

    /// The product with a weight that is packed already.
    pub fn from_packed(w: &'a Packed, bias: Option<&'a [f32]>) -> Self {
        Self { stored: Stored::Borrowed(w), bias }
    }

    /// The input size I and the output size O.
    fn sizes(&self) -> [usize; 2] {
        match &self.stored {
            Stored::Packed(w) => w.sizes(),
            Stored::Borrowed(w) => w.sizes(),
            Stored::Unpacked(w) => [w.rows(), w.cols()],
        }
    }

    /// y `(n, O)` <- x w [+ rest] [+ bias]: x `(n, I)`, rest `(n, O)`. Runs on the calling thread.
    pub fn matmul_into(&self, y: &mut [f32], x: View, rest: Option<&[f32]>) {
        let w = match &self.stored {
            Stored::Packed(w) => return w.matmul_into(y, x, self.bias, rest),
            Stored::Borrowed(w) => return w.matmul_into(y, x, self.bias, rest),
            Stored::Unpacked(w) => w,
        };
        let (n, o) = (x.rows(), w.cols());
        if n < MIN_PACKED_ROWS || w.strides()[0] != 1 {
            gemm(y, x, *w, 1.0, false);
        } else {
            let y_t = build_vec(o * n, |y_t| Packed::new(x.t()).matmul(y_t, w.t(), 1.0)); // (O, n)
            transpose::transpose(&y_t, [o, n], n, y, o);
        }
        if let Some(rest) = rest {
            y.iter_mut().zip(rest).for_each(|(y, r)| *y += r);
        }
        if let Some(bias) = self.bias {
            y.chunks_exact_mut(o).for_each(|y| y.iter_mut().zip(bias).for_each(|(y, b)| *y += b));
        }
    }

    /// Same as [`LinearWeight::matmul_into`], with the rows shared among all threads.
    pub fn matmul_rows(&self, y: &mut [f32], x: &[f32], rest: Option<&[f32]>) {
        let [i, o] = self.sizes();
        let each = task_rows(y.len() / o);
        threads::run_chunks(y, each * o, |task, y| {
            let rest = rest.map(|r| &r[task * each * o..][..y.len()]);
            self.matmul_into(y, View::new(&x[task * each * i..], y.len() / o, i), rest);
        });
    }
}

/// x `(N, I)` times w `(I, O)` [+ bias], with the rows shared among all threads: `(N, O)`.
pub fn matmul_rows(x: &[f32], w: View, bias: Option<&[f32]>) -> Vec<f32> {
    let n = x.len() / w.rows();
    build_vec(n * w.cols(), |y| LinearWeight::new(w, bias, n).matmul_rows(y, x, None))
}

/// g^T x, the gradient of a weight `(O, I)`: g `(N, O)`, x `(N, I)`.
pub fn weight_grad(g: &[f32], o: usize, x: &[f32], i: usize) -> Vec<f32> {
    build_vec(o * i, |out| weight_grad_accumulate(out, [o, i], &[[g, x]], false))
}

/// out `(O, I)` becomes the sum of all g^T x in order, or, to accumulate, is added to: of each pair g `(N, O)` and
/// x `(N, I)`. It is cut along its longer side; whether pairs come in one call or in several makes no difference to any
/// bit.
pub fn weight_grad_accumulate(out: &mut [f32], [o, i]: [usize; 2], pairs: &[[&[f32]; 2]], accumulate: bool) {
    let rows: usize = pairs.iter().map(|[g, _]| g.len() / o).sum();
    let tasks = if rows * o * i < 1 << 19 { 1 } else { threads::count() };
    let step = |side: usize| side.div_ceil(tasks).next_multiple_of(16).max(32);
    if o >= i {
        let step = step(o);
        threads::run_chunks(out, step * i, |task, out| {
            for (at, [g, x]) in pairs.iter().enumerate() {
                let n = g.len() / o;
                let g = View::new(g, n, o).t().submatrix(task * step, 0, out.len() / i, n);
                gemm(out, g, View::new(x, n, i), 1.0, accumulate || at > 0);
            }
        });
    } else {
        let step = step(i);
        let widths: Vec<usize> = (0..i).step_by(step).map(|from| step.min(i - from)).collect();
        let panels = matrix::panels(out, o, &widths);
        threads::for_each(widths.len(), panels.into_iter().enumerate(), |(task, mut panel)| {
            for (at, [g, x]) in pairs.iter().enumerate() {
                let n = g.len() / o;
                let x = View::new(x, n, i).submatrix(0, task * step, n, widths[task]);
                panel.gemm(0, View::new(g, n, o).t(), x, accumulate || at > 0);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_those_of_many() {
        let some = |n: usize, by: f32| -> Vec<f32> { (0..n).map(|i| (i as f32 * by).sin()).collect() };
        for (n, i, o) in [
            (1, 5, 7),
            (1, 300, 64),
            (1, 129, 333),
            (2, 40, 50),
            (7, 130, 65),
            (8, 20, 33),
            (17, 128, 130),
            (64, 131, 16),
            (3, 1, 1),
            (5, 16, 1),
        ] {
            let (x, w, bias, rest) = (some(n * i, 0.37), some(o * i, 0.71), some(o, 1.3), some(n * o, 1.7));
            let by_rows: Vec<f32> = (0..i * o).map(|at| w[at % o * i + at / o]).collect();
            let (w, by_rows) = (View::new(&w, o, i).t(), View::new(&by_rows, i, o));
            let go = |stored: Stored, bias: Option<&[f32]>, rest: Option<&[f32]>| {
                let mut y = vec![f32::NAN; n * o];
                LinearWeight { stored, bias }.matmul_into(&mut y, View::new(&x, n, i), rest);
                y
            };
            for (bias, rest) in
                [(None, None), (Some(&bias[..]), None), (None, Some(&rest[..])), (Some(&bias), Some(&rest))]
            {
                let wanted = go(Stored::Packed(Packed::new(w)), bias, rest);
                // a single row may have any layout of the weight
                for w in [Some(w), (n == 1).then_some(by_rows)].into_iter().flatten() {
                    for (unpacked, many) in go(Stored::Unpacked(w), bias, rest).iter().zip(&wanted) {
                        let alone = bias.is_none() && rest.is_none();
                        assert!((unpacked - many).abs() <= if alone { 0.0 } else { 1e-5 }, "({n}, {i}) x ({i}, {o})");
                    }
                }
            }
        }
    }
}
