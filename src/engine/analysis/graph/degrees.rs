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

/// A bin of a degree distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DegreeBin {
    /// First and last degree of the bin.
    pub from: u32,
    /// The largest degree of the bin.
    pub to: u32,
    /// The geometric mean of the bin's ends, where its density is drawn on a logarithmic axis.
    pub middle: f64,
    /// Share of the counted nodes a unit of degree.
    pub density: f64,
}

/// Bins whose widths grow by `ratio`, over the degrees of 1 and more (nodes without arcs are left out of
/// the share as well); empty bins are dropped.
pub fn log_bins(degrees: &[u32], ratio: f64) -> Vec<DegreeBin> {
    let mut sorted: Vec<u32> = degrees.iter().copied().filter(|d| *d > 0).collect();
    sorted.sort_unstable();
    let Some(&most) = sorted.last() else { return vec![] };
    let total = sorted.len() as f64;
    let (mut bins, mut from) = (vec![], 1u32);
    while from <= most {
        let next = ((f64::from(from) * ratio.max(1.0)).floor() as u32).max(from + 1);
        let count = sorted.partition_point(|d| *d < next) - sorted.partition_point(|d| *d < from);
        if count > 0 {
            let to = next - 1;
            let middle = (f64::from(from) * f64::from(to)).sqrt();
            bins.push(DegreeBin { from, to, middle, density: count as f64 / total / f64::from(next - from) });
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
        let values: Vec<u32> = (0..500).map(|i| i * i % 97).collect();
        let bins = log_bins(&values, 1.5);
        let share: f64 = bins.iter().map(|b| b.density * f64::from(b.to - b.from + 1)).sum();
        assert!((share - 1.0).abs() < 1e-12);
        assert!(bins.windows(2).all(|w| w[0].to < w[1].from));
        assert!(log_bins(&[0, 0], 1.5).is_empty());
    }
}
