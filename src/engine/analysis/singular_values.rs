//! Singular values of a dense matrix and what they say of its rank. It makes no singular vectors and does not know what
//! the matrix means.
//!
//! A row-by-row form of Golub and Kahan's bidiagonalisation, then their implicit QR iteration (SIAM J. Numer. Anal. B 2
//! (1965) 205; Golub and Reinsch, Numer. Math. 14 (1970) 403). Each of its steps passes once over the matrix, so that one
//! of 512 x 512 takes tens of milliseconds.

use pulp::Arch;

/// Largest first, min(rows, cols) of them; `data`: row by row. The error of each is some units of rounding of the
/// largest. `None` for values that are no numbers, and where `data` does not fill the matrix.
pub fn singular_values<T: Copy + Into<f64>>(rows: usize, cols: usize, data: &[T]) -> Option<Vec<f64>> {
    if data.len() != rows * cols {
        return None;
    }
    let largest = data.iter().fold(0.0f64, |most, v| most.max((*v).into().abs()));
    if !data.iter().all(|v| (*v).into().is_finite()) {
        return None;
    }
    if largest == 0.0 {
        return Some(vec![0.0; rows.min(cols)]);
    }
    // A matrix and its transpose have the same singular values; here no side of it is wider than high.
    let (high, wide) = (rows.max(cols), rows.min(cols));
    let mut matrix = Vec::with_capacity(data.len());
    for i in 0..high {
        let row = (0..wide).map(|j| if rows >= cols { data[i * cols + j] } else { data[j * cols + i] });
        matrix.extend(row.map(|v| v.into() / largest));
    }
    let mut bidiagonal = Bidiagonal::new(wide);
    Arch::new().dispatch(|| bidiagonal.reduce(&mut matrix));
    let mut values = bidiagonal.diagonalise()?;
    values.iter_mut().for_each(|s| *s *= largest);
    values.sort_by(|a, b| b.total_cmp(a));
    Some(values)
}

/// (sum s)^2 / sum s^2: how many equal singular values would make the same; NaN where all are zero.
pub fn effective_rank(values: &[f64]) -> f64 {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), s| (sum + s, squares + s * s));
    if squares > 0.0 { sum * sum / squares } else { f64::NAN }
}

/// s1 / sum s, the share of the largest singular value; NaN where all are zero.
pub fn top_share(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    if sum > 0.0 { values.iter().fold(0.0f64, |most, s| most.max(*s)) / sum } else { f64::NAN }
}

/// A matrix that is zero but for its diagonal and the one above it.
struct Bidiagonal {
    diagonal: Vec<f64>,
    /// `above[k]` stands right of `diagonal[k]`; the last is zero.
    above: Vec<f64>,
}

/// An entry beside those of a matrix whose largest is 1.
const NEGLIGIBLE: f64 = 1e-18;

/// Where a vector x is reflected to: the value that its first entry takes, and 2 / |u|^2 of u = x - that value e1.
struct Reflector {
    first: f64,
    scale: f64,
}

impl Reflector {
    #[inline(always)]
    fn of(first: f64, squares: f64) -> Self {
        let size = squares.sqrt();
        let at = if first < 0.0 { size } else { -size };
        let scale = size * (size + first.abs());
        Self { first: at, scale: if scale > 0.0 { 1.0 / scale } else { 0.0 } }
    }
}

impl Bidiagonal {
    fn new(n: usize) -> Self {
        Self { diagonal: vec![0.0; n], above: vec![0.0; n] }
    }

    /// Householder reflections from the left and from the right in turn. `a` `(rows, n)` is used up.
    #[inline(always)]
    fn reduce(&mut self, a: &mut [f64]) {
        let n = self.diagonal.len();
        // x^T A with the column x that is reflected next; its own entry is |x|^2
        let mut products = vec![0.0; n];
        for row in a.chunks_exact(n) {
            axpy(row[0], row, &mut products);
        }
        let (mut left, mut right) = (vec![0.0; n], vec![0.0; n]);
        for k in 0..n {
            let (head, below) = a[k * n..].split_at_mut(n);
            let column = Reflector::of(head[k], products[k]);
            self.diagonal[k] = column.first;
            // u^T A, with u = x - first e1
            for ((l, p), h) in left[k..].iter_mut().zip(&products[k..]).zip(&head[k..]) {
                *l = column.scale * (p - column.first * h);
            }
            if k + 1 == n {
                break;
            }
            axpy(-(head[k] - column.first), &left[k + 1..], &mut head[k + 1..]);
            let squares = dot(&head[k + 1..], &head[k + 1..]);
            let row = Reflector::of(head[k + 1], squares);
            self.above[k] = row.first;
            right[k + 1..].copy_from_slice(&head[k + 1..]);
            right[k + 1] -= row.first;
            products[k + 1..].fill(0.0);
            for a in below.chunks_exact_mut(n) {
                let u = a[k];
                let a = &mut a[k + 1..];
                axpy(-u, &left[k + 1..], a);
                let z = row.scale * dot(a, &right[k + 1..]);
                axpy(-z, &right[k + 1..], a);
                axpy(a[0], a, &mut products[k + 1..]);
            }
        }
    }

    /// The implicit QR iteration with shifts, without vectors. `None` if it does not converge.
    fn diagonalise(mut self) -> Option<Vec<f64>> {
        /// Rounds for a value; two or three are usual.
        const ROUNDS: usize = 60;
        let mut open = self.diagonal.len();
        let mut rounds = ROUNDS * open;
        while open > 0 {
            let from = self.begins(open);
            if from + 1 == open {
                open -= 1;
                continue;
            }
            rounds = rounds.checked_sub(1)?;
            match (from..open).rev().find(|k| self.diagonal[*k].abs() <= f64::EPSILON * self.size(*k) + NEGLIGIBLE) {
                Some(zero) => self.deflate(zero, from, open),
                None => self.sweep(from, open),
            }
        }
        Some(self.diagonal.iter().map(|s| s.abs()).collect())
    }

    /// Where the last block that does not fall apart begins, of those that end before `open`.
    fn begins(&mut self, open: usize) -> usize {
        for k in (0..open - 1).rev() {
            let beside = self.diagonal[k].abs() + self.diagonal[k + 1].abs();
            if self.above[k].abs() <= f64::EPSILON * beside + NEGLIGIBLE {
                self.above[k] = 0.0;
                return k + 1;
            }
        }
        0
    }

    /// Size of the entries around a diagonal one.
    fn size(&self, k: usize) -> f64 {
        self.above[k].abs() + if k > 0 { self.above[k - 1].abs() } else { 0.0 }
    }

    /// A zero on the diagonal: rotations clear the entries right of it and above it, so that the block falls apart.
    fn deflate(&mut self, zero: usize, from: usize, open: usize) {
        self.diagonal[zero] = 0.0;
        let mut f = std::mem::take(&mut self.above[zero]);
        for j in zero + 1..open {
            let (c, s, size) = rotation(self.diagonal[j], f);
            self.diagonal[j] = size;
            f = -s * self.above[j];
            self.above[j] *= c;
        }
        if zero == from {
            return;
        }
        let mut f = std::mem::take(&mut self.above[zero - 1]);
        for j in (from..zero).rev() {
            let (c, s, size) = rotation(self.diagonal[j], f);
            self.diagonal[j] = size;
            if j > from {
                f = -s * self.above[j - 1];
                self.above[j - 1] *= c;
            }
        }
    }

    /// One QR step over a block, with the shift that the last two rows and columns give.
    fn sweep(&mut self, from: usize, open: usize) {
        let (d, e) = (&mut self.diagonal, &mut self.above);
        let (last, before, corner) = (d[open - 1], d[open - 2], e[open - 2]);
        let b = ((before + last) * (before - last) + corner * corner) / 2.0;
        let c = (last * corner).powi(2);
        let root = (b * b + c).sqrt();
        let shift = if c == 0.0 && b == 0.0 { 0.0 } else { c / (b + if b < 0.0 { -root } else { root }) };
        let mut f = (d[from] + last) * (d[from] - last) + shift;
        let mut g = d[from] * e[from];
        for j in from..open - 1 {
            let (c, s, size) = rotation(f, g);
            if j > from {
                e[j - 1] = size;
            }
            f = c * d[j] + s * e[j];
            e[j] = c * e[j] - s * d[j];
            g = s * d[j + 1];
            d[j + 1] *= c;
            let (c, s, size) = rotation(f, g);
            d[j] = size;
            f = c * e[j] + s * d[j + 1];
            d[j + 1] = c * d[j + 1] - s * e[j];
            g = s * e[j + 1];
            e[j + 1] *= c;
        }
        e[open - 2] = f;
    }
}

/// Cosine, sine and length of (f, g).
fn rotation(f: f64, g: f64) -> (f64, f64, f64) {
    let size = (f * f + g * g).sqrt();
    if size > 0.0 { (f / size, g / size, size) } else { (1.0, 0.0, 0.0) }
}

/// y += a x.
#[inline(always)]
fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

/// In eight sums, which a compiler keeps in registers.
#[inline(always)]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        sums.iter_mut().zip(x).zip(y).for_each(|((s, x), y)| *s += x * y);
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], want: &[f64]) {
        assert_eq!(found.len(), want.len());
        let most = want.first().copied().unwrap_or(0.0);
        assert!(found.iter().zip(want).all(|(f, w)| (f - w).abs() <= 1e-13 * most), "{found:?} are not {want:?}");
    }

    #[test]
    fn of_a_rotated_diagonal_are_its_entries() {
        let (c, s) = (0.6, 0.8);
        let rotated = [3.0 * c, -0.5 * s, 0.0, 3.0 * s, 0.5 * c, 0.0, 0.0, 0.0, -7.0];
        close(&singular_values(3, 3, &rotated).unwrap(), &[7.0, 3.0, 0.5]);
    }

    #[test]
    fn of_a_transpose_are_the_same() {
        let tall: Vec<f64> = (0..35).map(|i| f64::from((i * i * 7 + 3 * i) % 23) - 11.0).collect();
        let wide: Vec<f64> = (0..35).map(|k| tall[k % 7 * 5 + k / 7]).collect();
        close(&singular_values(5, 7, &wide).unwrap(), &singular_values(7, 5, &tall).unwrap());
    }

    #[test]
    fn of_a_matrix_of_ones_is_one() {
        let n = 40;
        let found = singular_values(n, n, &vec![1f32; n * n]).unwrap();
        assert!((found[0] - n as f64).abs() < 1e-11 && found[1..].iter().all(|s| *s < 1e-12), "{found:?}");
        assert!((effective_rank(&found) - 1.0).abs() < 1e-11 && (top_share(&found) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn of_a_matrix_with_zeros_on_its_diagonal_add_up() {
        // nilpotent: ones above the diagonal, singular values 1, 1, 1, 0
        let mut shift = [0.0; 16];
        (0..3).for_each(|i| shift[i * 5 + 1] = 1.0);
        close(&singular_values(4, 4, &shift).unwrap(), &[1.0, 1.0, 1.0, 0.0]);
        // the sum of squares is that of the entries
        let n = 61;
        let data: Vec<f64> =
            (0..n * n).map(|i| if i % n > i / n { 0.0 } else { ((i * 31 % 97) as f64).sin() }).collect();
        let squares: f64 = singular_values(n, n, &data).unwrap().iter().map(|s| s * s).sum();
        let entries: f64 = data.iter().map(|v| v * v).sum();
        assert!((squares / entries - 1.0).abs() < 1e-13);
    }

    #[test]
    fn what_has_none_is_refused() {
        assert_eq!(singular_values(2, 2, &[1.0, f64::NAN, 0.0, 1.0]), None);
        assert_eq!(singular_values(2, 2, &[1.0, 0.0, 1.0]), None);
        assert_eq!(singular_values::<f32>(0, 0, &[]), Some(vec![]));
        assert_eq!(singular_values(2, 3, &[0f32; 6]), Some(vec![0.0; 2]));
        assert!(effective_rank(&[0.0]).is_nan() && top_share(&[]).is_nan());
    }
}
