//! Vectors with few nonzero entries, and the products with them: a matrix times such a vector is a sum of few columns.

use pulp::Simd;

use crate::{
    arch::{arch, kernel},
    buffers::build_vec,
    matmul::LinearWeight,
    matrix::View,
    packed::DEPTH,
    reduce::TASK_ROWS,
    simd::unrolled,
    threads, transpose,
};

/// The entries that are not zero, by ascending index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sparse {
    /// The indices of the entries.
    pub units: Vec<u32>,
    /// The values of the entries.
    pub values: Vec<f32>,
}

impl Sparse {
    /// Becomes zero everywhere.
    pub fn clear(&mut self) {
        self.units.clear();
        self.values.clear();
    }

    /// The entries with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.units.iter().zip(&self.values).map(|(u, v)| (*u as usize, *v))
    }

    /// Euclidean length.
    pub fn norm(&self) -> f32 {
        self.values.iter().map(|v| v * v).sum::<f32>().sqrt()
    }

    /// out <- out + scale self.
    pub fn add_to(&self, out: &mut [f32], scale: f32) {
        self.iter().for_each(|(unit, value)| out[unit] += scale * value);
    }

    /// Sets this to the k largest positive entries of `u`, of equal ones the first. NaN counts as large, so that it is seen
    /// and not lost.
    pub fn select(&mut self, u: &[f32], k: usize, keys: &mut Vec<u32>) {
        self.clear();
        if k == 0 {
            return;
        }
        keys.clear();
        keys.extend(u.iter().map(|v| ordered(*v)));
        let least = if k < u.len() { *keys.select_nth_unstable(u.len() - k).1 } else { 0 };
        let above = u.iter().filter(|v| ordered(**v) > least).count();
        let mut ties = k.min(u.len()) - above;
        for (unit, &value) in u.iter().enumerate() {
            let key = ordered(value);
            if key < least {
                continue;
            }
            if key == least {
                if ties == 0 {
                    continue;
                }
                ties -= 1;
            }
            if value > 0.0 || value.is_nan() {
                self.units.push(unit as u32);
                self.values.push(value);
            }
        }
    }
}

/// out `(d)` <- out + scale W x, with column j of W in `columns[j d..]`. Columns are added one after another, so that
/// the result has the same bits however wide the processor's vectors are.
pub fn add_columns(out: &mut [f32], columns: &[f32], x: &Sparse, scale: f32) {
    arch().dispatch(|| {
        let d = out.len();
        let mut entries = x.iter();
        let column = |unit: usize| &columns[unit * d..][..d];
        while let Some((a, va)) = entries.next() {
            // two at a time: `out` is read and written half as often
            match entries.next() {
                Some((b, vb)) => {
                    let (va, vb) = (scale * va, scale * vb);
                    for ((o, wa), wb) in out.iter_mut().zip(column(a)).zip(column(b)) {
                        *o = (*o + va * wa) + vb * wb;
                    }
                }
                None => axpy(out, scale * va, column(a)),
            }
        }
    });
}

/// out <- out + a x.
#[inline(always)]
pub fn axpy(out: &mut [f32], a: f32, x: &[f32]) {
    out.iter_mut().zip(x).for_each(|(o, x)| *o += a * x);
}

/// An integer that orders as the value does, because integers select faster; NaN is above or below all.
#[inline(always)]
pub fn ordered(x: f32) -> u32 {
    let bits = x.to_bits();
    bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 }
}

/// The column and the value of an entry of a sparse row.
pub type Entry = (u32, f32);

/// The same entries by column: those of each of `k` columns with their rows, which ascend.
pub fn by_column(rows: &[&[Entry]], k: usize) -> Vec<Vec<Entry>> {
    let mut columns = vec![vec![]; k];
    for (r, row) in rows.iter().enumerate() {
        row.iter().for_each(|&(col, value)| columns[col as usize].push((r as u32, value)));
    }
    columns
}

/// out `(N, n)` = a b: a `(N, k)` as the entries of its rows by ascending column, b `(k, n)`. A sum is the chain of the
/// dense product without the terms that are zero, which change no bit but the sign of a sum that underflows to zero. The
/// product is dense where b is not finite, since zero times infinity is not a number, and where it is as fast.
///
/// # Panics
/// If the sizes do not fit.
pub fn matmul(out: &mut [f32], rows: &[&[Entry]], b: View) {
    let (k, n) = (b.rows(), b.cols());
    assert_eq!(out.len(), rows.len() * n);
    let entries: usize = rows.iter().map(|row| row.len()).sum();
    // fewer entries than b has rows do not repay its transpose, and tiles are as fast where a quarter is not zero
    let is_sparse = entries >= k && entries <= rows.len() * k / 4;
    // every value is read, which the compiler vectorises, as it would not a search for the first
    if !is_sparse || !b.values().iter().fold(true, |finite, v| finite & v.is_finite()) {
        let mut a = vec![0f32; rows.len() * k];
        for (a, row) in a.chunks_exact_mut(k).zip(rows) {
            row.iter().for_each(|&(col, value)| a[col as usize] = value);
        }
        return LinearWeight::new(b, None, rows.len()).matmul_rows(out, &a, None);
    }
    let transposed;
    let b = match b.strides() {
        [_, 1] => b,
        [_, step] => {
            transposed = build_vec(k * n, |to| transpose::transpose(b.values(), [n, k], step, to, n));
            View::new(&transposed, k, n)
        }
    };
    threads::run_chunks(out, TASK_ROWS * n, |task, out| {
        let rows = &rows[task * TASK_ROWS..][..out.len() / n];
        multiply(out, rows, b);
    });
}

kernel! {
    /// out = a b; the columns of b lie side by side.
    fn multiply(simd, out: &'a mut [f32], rows: &'a [&'a [Entry]], b: View<'a>) {
        /// Vectors that are summed at a time: enough chains for the processor, and few enough for its registers.
        const VECTORS_PER_SUM: usize = 8;
        let (n, mut from) = (b.cols(), 0);
        out.fill(0.0);
        while n - from >= VECTORS_PER_SUM * S::F32_LANES {
            add_vectors::<S, VECTORS_PER_SUM>(simd, out, rows, b, from);
            from += VECTORS_PER_SUM * S::F32_LANES;
        }
        while n - from >= S::F32_LANES {
            add_vectors::<S, 1>(simd, out, rows, b, from);
            from += S::F32_LANES;
        }
        for at in from..n {
            for (out, row) in out.chunks_exact_mut(n).zip(rows) {
                for block in row.chunk_by(in_one_block) {
                    let mut sum = 0f32;
                    for &(col, value) in block {
                        sum = value.mul_add(b.row(col as usize)[at], sum);
                    }
                    out[at] += sum;
                }
            }
        }
    }
}

/// Adds the product to `V` vectors of each row of out, from column `from` on.
#[inline(always)]
fn add_vectors<S: Simd, const V: usize>(simd: S, out: &mut [f32], rows: &[&[Entry]], b: View, from: usize) {
    let cols = from..from + V * S::F32_LANES;
    for (out, row) in out.chunks_exact_mut(b.cols()).zip(rows) {
        let (out, _) = S::as_mut_simd_f32s(&mut out[cols.clone()]);
        for block in row.chunk_by(in_one_block) {
            let mut sums = [simd.splat_f32s(0.0); V];
            for &(col, value) in block {
                let (right, _) = S::as_simd_f32s(&b.row(col as usize)[cols.clone()]);
                let left = simd.splat_f32s(value);
                sums = unrolled::<S, V>(simd, |v| simd.mul_add_f32s(left, right[v], sums[v]));
            }
            for (out, sum) in out.iter_mut().zip(&sums) {
                *out = simd.add_f32s(*out, *sum);
            }
        }
    }
}

/// True of entries whose terms the dense product adds up before it adds them to the sum of the terms before.
fn in_one_block(a: &Entry, b: &Entry) -> bool {
    a.0 as usize / DEPTH == b.0 as usize / DEPTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_in_the_order_of_the_values() {
        let values = [f32::NEG_INFINITY, -2.5, -f32::MIN_POSITIVE, -0.0, 0.0, 1e-30, 1.0, f32::INFINITY];
        assert!(values.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
    }

    #[test]
    fn the_k_largest_are_kept_and_the_first_of_equals() {
        let mut x = Sparse::default();
        let mut keys = vec![];
        x.select(&[0.5, -1.0, 2.0, 0.5, 0.5, 0.1], 3, &mut keys);
        assert_eq!((x.units.as_slice(), x.values.as_slice()), ([0, 2, 3].as_slice(), [0.5, 2.0, 0.5].as_slice()));
        x.select(&[-1.0, -2.0, 3.0, 0.0], 3, &mut keys);
        assert_eq!(x.units, [2], "what is not above zero is left out");
        x.select(&[1.0, f32::NAN, 2.0], 2, &mut keys);
        assert_eq!(x.units, [1, 2], "no number is not lost");
        x.select(&[1.0, 2.0], 5, &mut keys);
        assert_eq!(x.units, [0, 1]);
    }

    #[test]
    fn a_product_is_the_sum_of_its_columns() {
        let x = Sparse { units: vec![0, 2, 3], values: vec![1.0, 2.0, -1.0] };
        let columns = [1.0, 10.0, 5.0, 5.0, 3.0, 30.0, 2.0, 20.0];
        let mut out = [100.0, 0.0];
        add_columns(&mut out, &columns, &x, 0.5);
        assert_eq!(out, [100.0 + 0.5 * (1.0 + 6.0 - 2.0), 0.5 * (10.0 + 60.0 - 20.0)]);
    }

    /// The bits of the product of `rows` sparse rows, and those of the dense one.
    fn products([rows, k, n]: [usize; 3], kept: usize, change_b: impl Fn(&mut [f32])) -> [Vec<u32>; 2] {
        let some = |len: usize, by: f32| -> Vec<f32> { (0..len).map(|i| (i as f32 * by).sin()).collect() };
        let (values, mut w) = (some(rows * kept, 0.7), some(n * k, 1.3));
        change_b(&mut w);
        // columns a fixed distance apart, from another one on in each row
        let col = |at: usize| (at % kept * (k / kept) + at / kept % (k / kept)) as u32;
        let entries: Vec<Entry> = values.into_iter().enumerate().map(|(at, v)| (col(at), v)).collect();
        let mut a = vec![0f32; rows * k];
        entries.iter().enumerate().for_each(|(at, &(col, value))| a[at / kept * k + col as usize] = value);
        let (by_row, b) = (entries.chunks(kept).collect::<Vec<_>>(), View::new(&w, n, k).t());
        let mut found = vec![f32::NAN; rows * n];
        matmul(&mut found, &by_row, b);
        let again = by_column(&by_row, k);
        let again: Vec<_> = again.iter().map(Vec::as_slice).collect();
        let again = by_column(&again, rows);
        assert!(again.iter().zip(&by_row).all(|(again, row)| again == row));
        [found, crate::matmul::matmul_rows(&a, b, None)].map(|v| v.into_iter().map(f32::to_bits).collect())
    }

    #[test]
    fn products_have_the_bits_of_dense_ones() {
        // sparse, among them some with several blocks of terms and columns beyond whole vectors; few entries; many
        for (sizes, kept) in [
            ([40, 300, 128], 17),
            ([300, 512, 67], 31),
            ([33, 20, 1], 2),
            ([7, 5, 9], 1),
            ([2, 300, 40], 17),
            ([40, 30, 40], 20),
        ] {
            let [found, wanted] = products(sizes, kept, |_| ());
            assert!(found == wanted, "{sizes:?}, {kept} kept");
        }
    }

    #[test]
    fn zeros_times_infinity_are_not_left_out() {
        let [found, wanted] = products([40, 300, 128], 17, |b| b[299] = f32::INFINITY);
        assert!(found == wanted && found.iter().any(|v| f32::from_bits(*v).is_nan()));
    }
}
