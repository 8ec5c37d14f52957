//! The degrees of nodes, the arcs that leave and enter each, and how they are spread.

use super::Edge;

/// Arcs out of and into each of `nodes`.
pub fn degrees(nodes: usize, edges: &[Edge]) -> (Vec<u32>, Vec<u32>) {
    let (mut out, mut into) = (vec![0; nodes], vec![0; nodes]);
    for &(a, b, _) in edges {
        if let (Some(o), Some(i)) = (out.get_mut(a as usize), into.get_mut(b as usize)) {
            *o += 1;
            *i += 1;
        }
    }
    (out, into)
}

/// Bins whose widths grow by `ratio`, over the degrees of 1 and more (nodes without arcs are left out of
/// the share as well): the geometric mean of a bin's ends, where it is drawn on a logarithmic axis, and the share of
/// the counted nodes a unit of degree. Empty bins are dropped.
pub fn log_bins(degrees: &[u32], ratio: f64) -> Vec<(f64, f64)> {
    let mut sorted: Vec<u32> = degrees.iter().copied().filter(|d| *d > 0).collect();
    sorted.sort_unstable();
    let Some(&most) = sorted.last() else { return vec![] };
    let total = sorted.len() as f64;
    let (mut bins, mut from) = (vec![], 1u32);
    while from <= most {
        let next = ((f64::from(from) * ratio.max(1.0)).floor() as u32).max(from + 1);
        let count = sorted.partition_point(|d| *d < next) - sorted.partition_point(|d| *d < from);
        if count > 0 {
            let middle = (f64::from(from) * f64::from(next - 1)).sqrt();
            bins.push((middle, count as f64 / total / f64::from(next - from)));
        }
        from = next;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_every_node_that_has_arcs() {
        let edges = [(0, 1, 1.0), (0, 2, 1.0), (2, 1, 1.0)];
        assert_eq!(degrees(4, &edges), (vec![2, 0, 1, 0], vec![0, 2, 1, 0]));
        // the first bins are one degree wide, however small the ratio; 9 to 12 are one bin
        let bins = [(1.0, 0.25), (2.0, 0.125), (3.0, 0.125), (108f64.sqrt(), 0.125)];
        assert_eq!(log_bins(&[3, 1, 0, 1, 12, 9, 10, 2, 12], 1.5), bins);
        assert!(log_bins(&[0, 0], 1.5).is_empty());
    }
}
