//! Vectors of which few entries are not zero, and the products with them: a matrix times such a vector is a sum of few
//! columns.

use crate::{arch::arch, order::ordered};

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
        let least = match k < u.len() {
            true => *keys.select_nth_unstable(u.len() - k).1,
            false => 0,
        };
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
