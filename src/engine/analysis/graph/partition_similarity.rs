//! The similarity of two partitions of the same things.

use std::collections::BTreeMap;

use crate::analysis::statistics::entropy;

/// Normalised mutual information, I(A; B) / ((H(A) + H(B)) / 2), in 0..1: 1 for the same partition under
/// other names, about 0 for unrelated ones (a little above for small samples). 1 when neither divides
/// anything; `None` when the lengths differ. Danon et al., J. Stat. Mech. (2005) P09008, equation 2.
pub fn nmi(a: &[u32], b: &[u32]) -> Option<f64> {
    if a.len() != b.len() {
        return None;
    }
    let n = a.len() as f64;
    let (mut both, mut one, mut other) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (x, y) in a.iter().zip(b) {
        *both.entry((*x, *y)).or_insert(0.0) += 1.0;
        *one.entry(*x).or_insert(0.0) += 1.0;
        *other.entry(*y).or_insert(0.0) += 1.0;
    }
    let [ha, hb] = [&one, &other].map(|counts| entropy(counts.values().map(|c: &f64| c / n)));
    if ha + hb <= 0.0 {
        return Some(1.0);
    }
    let shared: f64 = both.iter().map(|((x, y), c): (_, &f64)| c / n * (c * n / (one[x] * other[y])).ln()).sum();
    Some((2.0 * shared / (ha + hb)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutual_information_ignores_label_names_and_is_0_if_unrelated() {
        assert!((nmi(&[0, 0, 1, 1, 2], &[7, 7, 3, 3, 1]).unwrap() - 1.0).abs() < 1e-12);
        assert!(nmi(&[0, 0, 1, 1], &[0, 1, 0, 1]).unwrap() < 1e-12);
        assert_eq!(nmi(&[0], &[]), None);
        assert_eq!(nmi(&[1, 1], &[4, 4]), Some(1.0));
        // scikit-learn's normalized_mutual_info_score of the same labels
        let got = nmi(&[0, 0, 0, 1, 1, 1], &[0, 0, 1, 1, 2, 2]).unwrap();
        assert!((got - 0.515_803_742_979_715).abs() < 1e-9, "{got}");
    }
}
