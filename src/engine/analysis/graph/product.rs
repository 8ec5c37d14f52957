//! The entries of a product of two thin factors, G = A B^T, seen tile by tile: how they are spread, and the largest of
//! them as edges. G itself is never whole in memory.
//!
//! Entries fall into bins by the upper half of their bits, 128 bins an octave of either sign: one pass
//! serves every threshold, whatever the scale, and nothing has to be known beforehand.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::{
    analysis::dense::{Strided, Update, multiply},
    config::choices,
};

/// `G[i, j] = a[i] . b[j]`: effect of i on j. Factors `(rows, width)` and `(cols, width)`, row-major.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a> {
    a: &'a [f32],
    b: &'a [f32],
    width: usize,
    /// True if i and j index the same nodes: G[i, i] is then left out everywhere.
    same: bool,
}

choices! {
    /// The sign of the entries that make edges.
    #[derive(Default)]
    pub enum Sign {
        /// An edge where G > beta.
        #[default]
        Excitatory = "excitatory",
        /// An edge where G < -beta.
        Inhibitory = "inhibitory",
        /// An edge where |G| > beta.
        Both = "both",
    }
}

/// The largest entries of G, which become edges.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TopEntries {
    /// The smallest size among them; every entry of G with a larger size is an edge too.
    pub beta: f32,
    /// (from, to, entry), by from and then to.
    pub edges: Vec<(u32, u32, f32)>,
}

/// Rows and columns of a tile: 256 KiB of entries per thread.
const TILE: usize = 256;
const BINS: usize = 1 << 16;

impl Sign {
    /// The size of an entry that is compared with beta.
    fn size(self, g: f32) -> f32 {
        match self {
            Sign::Excitatory => g,
            Sign::Inhibitory => -g,
            Sign::Both => g.abs(),
        }
    }
}

impl<'a> Product<'a> {
    /// `None` when the factors are not whole rows of `width`, or `same` and unequal in number.
    pub fn new(a: &'a [f32], b: &'a [f32], width: usize, same: bool) -> Option<Self> {
        let whole = width > 0 && a.len().is_multiple_of(width) && b.len().is_multiple_of(width);
        (whole && (!same || a.len() == b.len())).then_some(Self { a, b, width, same })
    }

    /// Returns the number of rows of G, those of A.
    pub fn rows(&self) -> usize {
        self.a.len() / self.width
    }

    /// Returns the number of columns of G, the rows of B.
    pub fn cols(&self) -> usize {
        self.b.len() / self.width
    }

    /// The number of entries that count.
    pub fn entries(&self) -> u64 {
        let all = self.rows() as u64 * self.cols() as u64;
        if self.same { all - self.rows() as u64 } else { all }
    }

    /// Calls `each` with (row, first column, entries) for every stretch of entries in the `block`-th
    /// `TILE` rows.
    fn stretches(&self, block: usize, mut each: impl FnMut(usize, usize, &[f32])) {
        let (from, w) = (block * TILE, self.width);
        let rows = TILE.min(self.rows() - from);
        let mut tile = vec![0f32; TILE * TILE];
        for left in (0..self.cols()).step_by(TILE) {
            let cols = TILE.min(self.cols() - left);
            let (a, b) = (&self.a[from * w..][..rows * w], &self.b[left * w..][..cols * w]);
            // SAFETY: the tile holds `rows` rows of `cols` values, a and b as many rows of w values.
            unsafe {
                let out = Strided::rows(tile.as_mut_ptr(), cols);
                let (a, b) = (Strided::rows(a.as_ptr(), w), Strided::rows(b.as_ptr(), w).transposed());
                multiply(out, a, b, [rows, w, cols], Update::Replace);
            }
            for (r, row) in tile[..rows * cols].chunks_exact(cols).enumerate() {
                let i = from + r;
                if self.same && (left..left + cols).contains(&i) {
                    each(i, left, &row[..i - left]);
                    each(i, i + 1, &row[i + 1 - left..]);
                } else {
                    each(i, left, row);
                }
            }
        }
    }

    fn blocks(&self) -> usize {
        self.rows().div_ceil(TILE)
    }

    /// The distribution of the entries.
    pub fn spread(&self) -> EntryDistribution {
        let counts = Mutex::new(vec![0u64; BINS]);
        // sums of blocks are added in their order, so that threads do not change them
        let sums: Vec<[f64; 4]> = (0..self.blocks())
            .into_par_iter()
            .map(|block| {
                let mut local = vec![0u32; BINS];
                let mut sums = [0.0; 4];
                self.stretches(block, |_, _, entries| {
                    entries.iter().for_each(|g| local[bin(*g)] += 1);
                    let part = powers(entries);
                    sums.iter_mut().zip(part).for_each(|(s, p)| *s += p);
                });
                let mut counts = counts.lock().unwrap_or_else(|e| e.into_inner());
                counts.iter_mut().zip(local).for_each(|(c, l)| *c += u64::from(l));
                sums
            })
            .collect();
        let total = sums.iter().fold([0.0; 4], |t, s| [t[0] + s[0], t[1] + s[1], t[2] + s[2], t[3] + s[3]]);
        let counts = counts.into_inner().unwrap_or_else(|e| e.into_inner());
        EntryDistribution { counts, powers: total, n: self.entries() }
    }

    /// The `m` largest entries above 0, by size and then by place, or all there are. `spread` is this
    /// product's: it says where to begin. Memory is a few times `m`, whatever the entries are.
    pub fn strongest(&self, m: usize, sign: Sign, spread: &EntryDistribution) -> TopEntries {
        // one loop per sign, so that the search for the few entries above the threshold is vectorised
        match sign {
            Sign::Excitatory => self.largest(m, |g| g, spread.floor(m as u64, sign)),
            Sign::Inhibitory => self.largest(m, |g| -g, spread.floor(m as u64, sign)),
            Sign::Both => self.largest(m, f32::abs, spread.floor(m as u64, sign)),
        }
    }

    fn largest(&self, m: usize, size: impl Fn(f32) -> f32 + Sync, floor: f32) -> TopEntries {
        const CHUNK: usize = 64;
        let found = Mutex::new(vec![]);
        (0..self.blocks()).into_par_iter().for_each(|block| {
            let (mut local, mut floor): (Vec<(f32, u32, u32, f32)>, f32) = (vec![], floor);
            self.stretches(block, |i, left, entries| {
                for (k, part) in entries.chunks(CHUNK).enumerate() {
                    if part.iter().fold(false, |any, g| any | (size(*g) >= floor)) {
                        let places = (left + k * CHUNK) as u32..;
                        let wanted = part.iter().zip(places).filter(|(g, _)| size(**g) >= floor && size(**g) > 0.0);
                        local.extend(wanted.map(|(g, j)| (size(*g), i as u32, j, *g)));
                    }
                }
                if local.len() > 2 * m + 1024 {
                    floor = keep_largest(&mut local, m).unwrap_or(floor);
                }
            });
            keep_largest(&mut local, m);
            let mut found = found.lock().unwrap_or_else(|e| e.into_inner());
            found.append(&mut local);
            if found.len() > 2 * m + 1024 {
                keep_largest(&mut found, m);
            }
        });
        let mut found = found.into_inner().unwrap_or_else(|e| e.into_inner());
        keep_largest(&mut found, m);
        let beta = found.iter().map(|e| e.0).fold(f32::INFINITY, f32::min);
        let mut edges: Vec<_> = found.into_iter().map(|(_, i, j, g)| (i, j, g)).collect();
        edges.sort_unstable_by_key(|(i, j, _)| (*i, *j));
        TopEntries { beta: if edges.is_empty() { 0.0 } else { beta }, edges }
    }

    /// The entries larger than `beta`, but no more than the `most` largest.
    pub fn entries_above(&self, beta: f32, most: usize, sign: Sign, spread: &EntryDistribution) -> TopEntries {
        let m = (spread.count_above(beta, sign).1 as usize).min(most);
        let mut all = self.strongest(m, sign, spread);
        all.edges.retain(|(_, _, g)| sign.size(*g) > beta);
        TopEntries { beta, ..all }
    }
}

/// Only the first `m` by falling size, then by place; returns the smallest size kept.
fn keep_largest(found: &mut Vec<(f32, u32, u32, f32)>, m: usize) -> Option<f32> {
    if found.len() > m && m > 0 {
        found.select_nth_unstable_by(m - 1, |a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    }
    found.truncate(m);
    (m > 0 && found.len() == m).then(|| found[m - 1].0)
}

/// Sums of the first four powers, eight at a time so that they stay in registers.
fn powers(entries: &[f32]) -> [f64; 4] {
    let mut sums = [[0f64; 8]; 4];
    let mut add = |lane: usize, g: f32| {
        let g = f64::from(g);
        let square = g * g;
        sums.iter_mut().zip([g, square, square * g, square * square]).for_each(|(s, p)| s[lane] += p);
    };
    let (chunks, rest) = entries.as_chunks::<8>();
    rest.iter().for_each(|g| add(0, *g));
    for chunk in chunks {
        chunk.iter().enumerate().for_each(|(lane, g)| add(lane, *g));
    }
    sums.map(|s| s.iter().sum())
}

/// Order-preserving: a larger number never has a smaller bin.
fn bin(g: f32) -> usize {
    let bits = g.to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    (ordered >> 16) as usize
}

fn bin_start(bin: usize) -> f32 {
    let ordered = (bin as u32) << 16;
    f32::from_bits(if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered })
}

/// The entries of a product by size.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryDistribution {
    counts: Vec<u64>,
    powers: [f64; 4],
    /// The number of entries.
    pub n: u64,
}

/// Mean, standard deviation, third and fourth standardised moments (a normal distribution has 0 and 3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// The skewness, the third standardised moment.
    pub skew: f64,
    /// The kurtosis, the fourth standardised moment.
    pub kurtosis: f64,
}

impl EntryDistribution {
    /// Returns the moments; they are NaN without entries, and skewness and kurtosis also if all entries are equal.
    pub fn moments(&self) -> Moments {
        let n = self.n as f64;
        let [mean, b, c, d] = self.powers.map(|s| s / n);
        let var = b - mean * mean;
        let third = c - 3.0 * mean * b + 2.0 * mean.powi(3);
        let fourth = d - 4.0 * mean * c + 6.0 * mean * mean * b - 3.0 * mean.powi(4);
        Moments { mean, sd: var.max(0.0).sqrt(), skew: third / var.powf(1.5), kurtosis: fourth / (var * var) }
    }

    /// Entries of a bin's size and of its mirror's, as `sign` counts them.
    fn counted(&self, bin: usize, sign: Sign) -> u64 {
        let mirror = BINS - 1 - bin;
        match sign {
            Sign::Excitatory => self.counts[bin],
            Sign::Inhibitory => self.counts[mirror],
            Sign::Both => self.counts[bin] + self.counts[mirror],
        }
    }

    /// A size that at least `m` entries reach, close below the m-th; 0 when there are fewer.
    fn floor(&self, m: u64, sign: Sign) -> f32 {
        let mut seen = 0;
        for bin in (BINS / 2..BINS).rev() {
            seen += self.counted(bin, sign);
            if seen >= m && seen > 0 {
                return bin_start(bin);
            }
        }
        0.0
    }

    /// (at least, at most) this many entries are larger than `beta` >= 0; the two differ by one bin.
    pub fn count_above(&self, beta: f32, sign: Sign) -> (u64, u64) {
        let at = bin(beta.max(0.0));
        let surely: u64 = (at + 1..BINS).map(|b| self.counted(b, sign)).sum();
        (surely, surely + self.counted(at, sign))
    }

    /// Counts in `bins` equal steps from -reach to reach; what is outside goes to the ends. A bin of the
    /// fine grid is shared out over the steps that it lies in.
    pub fn histogram(&self, reach: f32, bins: usize) -> Vec<f64> {
        let mut steps = vec![0.0; bins];
        if bins == 0 || reach <= 0.0 {
            return steps;
        }
        let scale = bins as f64 / (2.0 * f64::from(reach));
        let place = |g: f32| ((f64::from(g) + f64::from(reach)) * scale).clamp(0.0, bins as f64);
        for (i, count) in self.counts.iter().enumerate().filter(|(_, c)| **c > 0) {
            let edge = |b: usize| if b < BINS { bin_start(b) } else { f32::INFINITY };
            let (low, high) = (edge(i), edge(i + 1));
            let (low, high) = if low <= high { (place(low), place(high)) } else { (place(high), place(low)) };
            if high <= low {
                steps[(low as usize).min(bins - 1)] += *count as f64;
                continue;
            }
            let mut from = low;
            while from < high {
                let to = (from.floor() + 1.0).min(high);
                steps[(from as usize).min(bins - 1)] += *count as f64 * (to - from) / (high - low);
                from = to;
            }
        }
        steps
    }

    /// The size that all but a share of the entries stay below.
    pub fn upper_quantile(&self, share: f64) -> f32 {
        self.floor((self.n as f64 * share).ceil().max(1.0) as u64, Sign::Both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::graph::null_models;

    fn plain(a: &[f32], b: &[f32], w: usize) -> Vec<f32> {
        let dot =
            |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>() as f32;
        a.chunks(w).flat_map(|x| b.chunks(w).map(move |y| dot(x, y))).collect()
    }

    #[test]
    fn bins_keep_the_order() {
        let mut values: Vec<f32> =
            vec![-1e30, -3.0, -2.99, -1e-3, -1e-40, -0.0, 0.0, 1e-40, 1e-3, 0.5, 0.504, 3.0, 1e30];
        values.sort_by(f32::total_cmp);
        assert!(values.windows(2).all(|w| bin(w[0]) <= bin(w[1])));
        for v in values.into_iter().filter(|v| *v > 0.0) {
            assert!(bin_start(bin(v)) <= v && v < bin_start(bin(v) + 1), "{v}");
            assert_eq!(bin(-v), BINS - 1 - bin(v), "the mirror's bin");
        }
    }

    /// Sizes that are not a multiple of a tile, whole and between two sets.
    #[test]
    fn tiles_say_what_the_whole_product_says() {
        for (rows, cols, same) in [(300, 300, true), (270, 515, false), (3, 2, false)] {
            let w = 7;
            let (a, b) = (null_models::factor(rows, w, 1), null_models::factor(cols, w, 2));
            let p = Product::new(&a, &b, w, same).unwrap();
            let whole: Vec<(u32, u32, f32)> = plain(&a, &b, w)
                .into_iter()
                .enumerate()
                .map(|(k, g)| ((k / cols) as u32, (k % cols) as u32, g))
                .filter(|(i, j, _)| !same || i != j)
                .collect();
            let spread = p.spread();
            assert_eq!((spread.n, spread.counts.iter().sum::<u64>()), (whole.len() as u64, whole.len() as u64));
            let n = whole.len() as f64;
            let mean = whole.iter().map(|e| f64::from(e.2)).sum::<f64>() / n;
            let central = |k: i32| whole.iter().map(|e| (f64::from(e.2) - mean).powi(k)).sum::<f64>() / n;
            let m = spread.moments();
            assert!((m.mean - mean).abs() < 1e-5 && (m.sd - central(2).sqrt()).abs() < 1e-4);
            assert!((m.skew - central(3) / central(2).powf(1.5)).abs() < 1e-3);
            assert!((m.kurtosis - central(4) / central(2).powi(2)).abs() < 1e-3);
            for sign in [Sign::Excitatory, Sign::Inhibitory, Sign::Both] {
                let mut sizes: Vec<f32> = whole.iter().map(|e| sign.size(e.2)).filter(|s| *s > 0.0).collect();
                sizes.sort_by(|a, b| b.total_cmp(a));
                for m in [1, 2, 40, 100_000].map(|m: usize| m.min(sizes.len())) {
                    let top = p.strongest(m, sign, &spread);
                    assert_eq!(top.edges.len(), m);
                    assert!((top.beta - sizes[m - 1]).abs() < 1e-5, "{} {}", top.beta, sizes[m - 1]);
                    assert!(top.edges.windows(2).all(|e| (e[0].0, e[0].1) < (e[1].0, e[1].1)));
                    for (i, j, g) in &top.edges {
                        assert!(sign.size(*g) >= top.beta && (!same || i != j));
                        assert!((whole.iter().find(|e| (e.0, e.1) == (*i, *j)).unwrap().2 - g).abs() < 1e-5);
                        if m > 40 {
                            break;
                        }
                    }
                }
                let beta = sizes[sizes.len() / 3] + 1e-4;
                let count = sizes.iter().filter(|s| **s > beta).count();
                assert_eq!(p.entries_above(beta, usize::MAX, sign, &spread).edges.len(), count);
                let (low, high) = spread.count_above(beta, sign);
                assert!(low as usize <= count && count <= high as usize);
            }
            let histogram = spread.histogram(spread.upper_quantile(0.001), 50);
            assert!((histogram.iter().sum::<f64>() - n).abs() < 1e-6 * n);
        }
    }

    /// All entries alike: nothing to choose by but the place, and no more is kept than asked for.
    #[test]
    fn ties_go_by_place() {
        let ones = vec![1f32; 600];
        let p = Product::new(&ones, &ones, 1, true).unwrap();
        let top = p.strongest(5, Sign::Excitatory, &p.spread());
        assert_eq!(top.edges.iter().map(|e| (e.0, e.1)).collect::<Vec<_>>(), [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]);
        assert!(p.strongest(5, Sign::Inhibitory, &p.spread()).edges.is_empty());
        let zeros = vec![0f32; 600];
        let p = Product::new(&zeros, &zeros, 1, true).unwrap();
        assert!(p.strongest(5, Sign::Both, &p.spread()).edges.is_empty());
        assert!(Product::new(&ones, &ones[1..], 7, false).is_none());
        assert!(Product::new(&[], &[], 3, true).is_some_and(|p| p.spread().n == 0));
    }
}
