//! Fewer points that look the same: extremes by column, envelopes of bands, stairs, and the neighbours outside a window.

use crate::ui::{curve::Curve, plot::geometry::share_of};

/// Up to this many points per column are all drawn; more are thinned.
const MAX_POINTS_PER_COLUMN: usize = 4;

/// Thins points that are more than [`MAX_POINTS_PER_COLUMN`] a column to the first, the lowest, the highest and the
/// last of each column (Jugel et al. 2014, M4), between which a line is drawn alike. Gaps stay.
pub(super) fn extremes(points: Vec<[f64; 2]>, columns: usize, ends: [f64; 2]) -> Vec<[f64; 2]> {
    if points.len() <= MAX_POINTS_PER_COLUMN * columns {
        return points;
    }
    let is_gap = |p: &[f64; 2]| !(p[0].is_finite() && p[1].is_finite());
    let column = |p: &[f64; 2]| (share_of(p[0], ends).clamp(-1.0, 2.0) * columns as f64).floor() as i64;
    let mut out = vec![];
    for group in points.chunk_by(|a, b| is_gap(a) == is_gap(b) && (is_gap(a) || column(a) == column(b))) {
        let Some(first) = group.first().filter(|p| !is_gap(p)) else {
            out.push([f64::NAN; 2]);
            continue;
        };
        let by_height = |a: &(usize, &[f64; 2]), b: &(usize, &[f64; 2])| a.1[1].total_cmp(&b.1[1]);
        let lowest = group.iter().enumerate().min_by(by_height);
        let highest = group.iter().enumerate().max_by(by_height);
        let mut kept = vec![(0, first)];
        kept.extend(lowest.into_iter().chain(highest).chain(group.iter().enumerate().next_back()));
        kept.sort_by_key(|k| k.0);
        kept.dedup_by_key(|k| k.0);
        out.extend(kept.into_iter().map(|k| *k.1));
    }
    out
}

/// Thins more than [`MAX_POINTS_PER_COLUMN`] columns (x, low, high) per drawn one to the range at its first and last x.
/// Gaps stay.
pub(super) fn envelope(shares: &[[f64; 3]], columns: usize) -> Vec<[f64; 3]> {
    if shares.len() <= MAX_POINTS_PER_COLUMN * columns {
        return shares.to_vec();
    }
    let is_gap = |c: &[f64; 3]| c.iter().any(|v| v.is_nan());
    let column = |c: &[f64; 3]| (c[0].clamp(-1.0, 2.0) * columns as f64).floor() as i64;
    let mut out = vec![];
    for group in shares.chunk_by(|a, b| is_gap(a) == is_gap(b) && (is_gap(a) || column(a) == column(b))) {
        let low = group.iter().map(|c| c[1]).fold(f64::INFINITY, f64::min);
        let high = group.iter().map(|c| c[2]).fold(f64::NEG_INFINITY, f64::max);
        let (first, last) = (group[0], group[group.len() - 1]);
        if is_gap(&first) { out.push([f64::NAN; 3]) } else { out.extend([[first[0], low, high], [last[0], low, high]]) }
    }
    out
}

/// A range that also takes in the neighbours outside, so that lines run to the edge.
pub(super) fn with_neighbours(curve: &Curve, from: f64, to: f64) -> (u64, u64) {
    let from = from.max(0.0).ceil() as u64;
    let to = to.max(0.0).floor() as u64;
    let before = from.checked_sub(1).and_then(|f| curve.point_at(f)).map_or(from, |p| p.0);
    let after = curve.points(to.saturating_add(1), u64::MAX).next().map_or(to, |p| p.0);
    (before, after)
}

/// Each value holds until the next x.
pub(super) fn stairs(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let corner = |i: usize, y: f64| points.get(i + 1).map(|next| [next[0], y]);
    points.iter().enumerate().flat_map(|(i, p)| [Some(*p), corner(i, p[1])]).flatten().collect()
}
