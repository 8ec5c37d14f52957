//! Area under the ROC curve with an interval where values come in clusters, such as the windows of one text.

use super::{rank_test::MannWhitney, statistics::wilson};

/// An area under the ROC curve with its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Auroc {
    /// The chance that a value of the first sample is above one of the second; half of equal ones count.
    pub value: f64,
    /// The lower end of the 95% interval.
    pub low: f64,
    /// The upper end of the 95% interval.
    pub high: f64,
}

/// The AUROC of two samples, each given cluster by cluster: values of one cluster may depend on one another. NaN where
/// a sample is empty or a value is not finite.
///
/// The variance is that of DeLong, DeLong and Clarke-Pearson (Biometrics 44 (1988) 837) over sums by cluster (Obuchowski,
/// Biometrics 53 (1997) 567, for clusters of one sample each). Where it is 0, since all pairs agree, it says nothing, and
/// the interval is Wilson's for as many agreeing trials as the smaller sample has clusters.
pub fn auroc(above: &[Vec<f64>], below: &[Vec<f64>]) -> Auroc {
    let (a, b) = (above.concat(), below.concat());
    let is_finite = a.iter().chain(&b).all(|v| v.is_finite());
    if a.is_empty() || b.is_empty() || !is_finite {
        return Auroc { value: f64::NAN, low: f64::NAN, high: f64::NAN };
    }
    let value = MannWhitney::new(&a, &b).auc();
    let of_above = variance_of_mean(above, value, |v| MannWhitney::new(&[v], &b).auc());
    let of_below = variance_of_mean(below, value, |v| MannWhitney::new(&a, &[v]).auc());
    let sd = (of_above + of_below).sqrt();
    if sd > 0.0 {
        return Auroc { value, low: (value - 1.96 * sd).max(0.0), high: (value + 1.96 * sd).min(1.0) };
    }
    let clusters = above.len().min(below.len()) as f64;
    let (low, high) = wilson(value * clusters, clusters);
    Auroc { value, low, high }
}

/// Variance of the mean of a component over values in clusters; infinite for one cluster.
fn variance_of_mean(clusters: &[Vec<f64>], mean: f64, component: impl Fn(f64) -> f64) -> f64 {
    let clusters: Vec<&Vec<f64>> = clusters.iter().filter(|c| !c.is_empty()).collect();
    let n = clusters.len() as f64;
    let values: usize = clusters.iter().map(|c| c.len()).sum();
    let sums = clusters.iter().map(|c| c.iter().map(|v| component(*v) - mean).sum::<f64>().powi(2));
    let squares: f64 = sums.sum();
    if n < 2.0 { f64::INFINITY } else { n / (n - 1.0) * squares / (values as f64).powi(2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single_clusters(values: &[f64]) -> Vec<Vec<f64>> {
        values.iter().map(|v| vec![*v]).collect()
    }

    /// Counted by hand, of (3, 2, 2) against (1, 2) the 3 exceeds both, and each 2 exceeds one and equals the other.
    #[test]
    fn equal_values_count_half() {
        let found = auroc(&single_clusters(&[3.0, 2.0, 2.0]), &single_clusters(&[1.0, 2.0]));
        assert!((found.value - 5.0 / 6.0).abs() < 1e-12, "{found:?}");
        // DeLong: components (1, 3/4, 3/4) and (1, 2/3), variances 1/48 and 1/18, over 3 and 2
        let sd = (1.0 / 48.0 / 3.0 + 1.0 / 18.0 / 2.0f64).sqrt();
        assert!((found.low - (5.0 / 6.0 - 1.96 * sd)).abs() < 1e-12 && found.high == 1.0, "{found:?}");
    }

    #[test]
    fn copies_of_a_value_in_its_cluster_tell_nothing_new() {
        let (a, b) = ([0.3, 0.9, 0.5, 0.7], [0.1, 0.6, 0.4]);
        let copies = |values: &[f64]| -> Vec<Vec<f64>> { values.iter().map(|v| vec![*v; 5]).collect() };
        let (once, often) = (auroc(&single_clusters(&a), &single_clusters(&b)), auroc(&copies(&a), &copies(&b)));
        assert!((once.low - often.low).abs() < 1e-12 && (once.value - often.value).abs() < 1e-12);
        // taken for independent they would
        let loose = auroc(&single_clusters(&copies(&a).concat()), &single_clusters(&copies(&b).concat()));
        assert!(loose.low > once.low + 0.05, "{loose:?} {once:?}");
    }

    #[test]
    fn samples_that_do_not_overlap_are_still_samples() {
        let apart = auroc(&single_clusters(&[4.0, 5.0, 6.0]), &single_clusters(&[1.0, 2.0]));
        assert_eq!((apart.value, apart.high), (1.0, 1.0));
        assert!(apart.low > 0.2 && apart.low < 0.5, "{apart:?}");
        let one = auroc(&single_clusters(&[4.0]), &single_clusters(&[1.0, 2.0]));
        assert!(one.low <= 0.5, "one text tells little: {one:?}");
    }

    #[test]
    fn empty_or_non_finite_samples_have_no_auroc() {
        for (a, b) in [(vec![], vec![1.0]), (vec![f64::NAN], vec![1.0]), (vec![f64::INFINITY], vec![1.0])] {
            assert!(auroc(&single_clusters(&a), &single_clusters(&b)).value.is_nan());
        }
    }
}
