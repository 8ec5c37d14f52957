//! Repulsion through a pyramid of cells: what is near is summed cell by cell, what is far by ever
//! larger cells (the interaction lists of a fast multipole method, with masses alone). Cells are
//! summed in whole numbers, so that the order in which nodes come to them changes nothing.

use super::{MASS_QUANTUM, bounds};

/// All cells of all levels, coarsest first.
pub struct Pyramid {
    levels: u32,
    /// Centre of mass and mass.
    cells: Vec<[f32; 3]>,
    /// Finest cell of each node.
    node_cells: Vec<[u32; 2]>,
}

/// The coarsest level that is used has 4 x 4 cells: in any coarser one all cells touch.
const MIN_LEVEL: u32 = 2;

/// The index of the first cell of a level: 16 + 64 + .. cells lie before it.
fn first_cell(level: u32) -> usize {
    ((1usize << (2 * level)) - (1 << (2 * MIN_LEVEL))) / 3
}

/// Parts that a cell's side is divided into, so that no sum exceeds 32 bits.
pub fn parts(masses: &[f32]) -> f32 {
    let total: f64 = masses.iter().map(|m| f64::from(m / MASS_QUANTUM)).sum();
    let bits = (31.0 - total.max(1.0).log2().ceil()).clamp(0.0, 12.0);
    2f32.powi(bits as i32)
}

/// A square around the box: its corner and the side of a finest cell.
pub fn square(bounds: [f32; 4], levels: u32) -> ([f32; 2], f32) {
    let extent = (bounds[2] - bounds[0]).max(bounds[3] - bounds[1]).max(1e-3);
    ([bounds[0], bounds[1]], extent / (1u32 << levels) as f32)
}

impl Pyramid {
    pub fn new(levels: u32, places: &[[f32; 2]], masses: &[f32]) -> Self {
        let (origin, size) = square(bounds(places), levels);
        let (side, parts) = (1u32 << levels, parts(masses));
        let mut sums = vec![[0u32; 3]; (side * side) as usize];
        let mut node_cells = Vec::with_capacity(places.len());
        for (p, m) in places.iter().zip(masses) {
            let mut home = [0u32; 2];
            let mut inside = [0u32; 2];
            for k in 0..2 {
                let at = (p[k] - origin[k]) / size;
                home[k] = (at.max(0.0) as u32).min(side - 1);
                inside[k] = ((at - home[k] as f32).clamp(0.0, 1.0) * parts) as u32;
            }
            let units = (m / MASS_QUANTUM + 0.5) as u32;
            let sum = &mut sums[(home[1] * side + home[0]) as usize];
            *sum = [sum[0] + units, sum[1] + units * inside[0], sum[2] + units * inside[1]];
            node_cells.push(home);
        }
        let finest = first_cell(levels);
        let mut cells = vec![[0f32; 3]; finest + sums.len()];
        for (c, [units, sx, sy]) in sums.iter().enumerate().filter(|(_, s)| s[0] > 0) {
            let at =
                |s: u32, cell: u32, k: usize| origin[k] + size * (cell as f32 + s as f32 / (*units as f32 * parts));
            let (cx, cy) = (c as u32 % side, c as u32 / side);
            cells[finest + c] = [at(*sx, cx, 0), at(*sy, cy, 1), *units as f32 * MASS_QUANTUM];
        }
        let mut pyramid = Self { levels, cells, node_cells };
        (MIN_LEVEL..levels).rev().for_each(|level| pyramid.sum_children(level));
        pyramid
    }

    /// Computes each cell of a level as the sum of the four below it.
    fn sum_children(&mut self, level: u32) {
        let (side, below) = (1usize << level, first_cell(level + 1));
        for c in 0..side * side {
            let corner = below + (c / side) * 4 * side + (c % side) * 2;
            let mut sum = [0f32; 3];
            for child in [corner, corner + 1, corner + 2 * side, corner + 2 * side + 1] {
                let [x, y, m] = self.cells[child];
                sum = [sum[0] + x * m, sum[1] + y * m, sum[2] + m];
            }
            let weight = if sum[2] > 0.0 { 1.0 / sum[2] } else { 0.0 };
            self.cells[first_cell(level) + c] = [sum[0] * weight, sum[1] * weight, sum[2]];
        }
    }

    /// Sum over all others of m_j (x_i - x_j) / (d^2 + s), far ones by their cells.
    pub fn push(&self, i: usize, places: &[[f32; 2]], masses: &[f32], softening: f32) -> [f32; 2] {
        let ([x, y], home) = (places[i], self.node_cells[i]);
        let mut sum = [0f32; 2];
        let mut add = |[cx, cy, m]: [f32; 3]| {
            let (dx, dy) = (x - cx, y - cy);
            let strength = m / (dx * dx + dy * dy + softening);
            sum = [sum[0] + dx * strength, sum[1] + dy * strength];
        };
        for level in MIN_LEVEL..=self.levels {
            let side = 1i32 << level;
            let [hx, hy] = home.map(|h| (h >> (self.levels - level)) as i32);
            let (x0, y0) = ((hx >> 1) * 2 - 2, (hy >> 1) * 2 - 2);
            for cy in y0.max(0)..(y0 + 6).min(side) {
                for cx in x0.max(0)..(x0 + 6).min(side) {
                    let near = (cx - hx).abs() <= 1 && (cy - hy).abs() <= 1;
                    let cell = self.cells[first_cell(level) + (cy * side + cx) as usize];
                    if !near {
                        add(cell);
                    } else if level == self.levels {
                        let own = cx == hx && cy == hy;
                        add(if own { without(cell, places[i], masses[i]) } else { cell });
                    }
                }
            }
        }
        sum
    }

    #[cfg(test)]
    fn mass(&self, level: u32) -> f32 {
        let from = first_cell(level);
        self.cells[from..from + (1 << (2 * level))].iter().map(|c| c[2]).sum()
    }
}

/// Removes the contribution of one node from its own cell.
fn without([x, y, m]: [f32; 3], place: [f32; 2], mass: f32) -> [f32; 3] {
    let left = m - mass;
    if left < 0.5 * MASS_QUANTUM {
        return [0.0; 3];
    }
    [(x * m - place[0] * mass) / left, (y * m - place[1] * mass) / left, left]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::layout::{start, total_repulsion};

    #[test]
    fn every_level_holds_the_whole_mass() {
        let places = start(0..3000u32, 5);
        let masses: Vec<f32> = (0..3000).map(|i| (1 + i % 7) as f32 * 0.25).collect();
        let total: f32 = masses.iter().sum();
        let pyramid = Pyramid::new(7, &places, &masses);
        (MIN_LEVEL..=7).for_each(|level| assert!((pyramid.mass(level) / total - 1.0).abs() < 1e-5, "level {level}"));
    }

    #[test]
    fn the_cells_push_as_all_pairs_do() {
        let places = start(0..2000u32, 9);
        let masses: Vec<f32> = (0..2000).map(|i| (1 + i % 5) as f32 * 0.5).collect();
        let pyramid = Pyramid::new(7, &places, &masses);
        let (mut off, mut all) = (0f64, 0f64);
        for i in 0..2000 {
            let (a, b) = (pyramid.push(i, &places, &masses, 0.01), total_repulsion(i, &places, &masses, 0.01));
            off += f64::from(a[0] - b[0]).powi(2) + f64::from(a[1] - b[1]).powi(2);
            all += f64::from(b[0]).powi(2) + f64::from(b[1]).powi(2);
        }
        let relative = (off / all).sqrt();
        assert!(relative < 0.05, "root mean square error {relative} of the push");
    }

    #[test]
    fn nodes_in_one_place_are_no_trouble() {
        let places = vec![[1.0, 1.0]; 50];
        let pyramid = Pyramid::new(4, &places, &[1.0; 50]);
        let push = pyramid.push(3, &places, &[1.0; 50], 0.01);
        assert!(push[0].abs() < 1e-2 && push[1].abs() < 1e-2, "{push:?}");
    }
}
