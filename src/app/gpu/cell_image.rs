//! A heatmap as an image in memory, for drawings, which have no graphics card.

use std::ops::Range;

use super::heatmap::Heatmap;

/// The pixels of a heatmap: one a cell, or fewer where cells are smaller than half a point.
#[derive(Debug, Clone, PartialEq)]
pub struct CellImage {
    /// Red, green, blue and alpha of each pixel, rows from the top.
    pub rgba: Vec<u8>,
    /// Width and height, pixels.
    pub size: [usize; 2],
    /// Left, top, right and bottom of the part that it shows, in whole cells: the visible part, or a little more.
    pub window: [f32; 4],
    /// Column and row of each pixel with a value that is not a finite number. It has the colour of the hatching.
    pub not_finite: Vec<[usize; 2]>,
}

impl Heatmap {
    /// The visible part as an image for this many points; `None` of cells that [`Heatmap::shape`] refuses as empty. A
    /// pixel of several cells has the colour of their mean, as in the shader.
    pub fn image(&self, points: [f32; 2]) -> Option<CellImage> {
        let (rows, cols) = (self.cells.rows, self.cells.cols);
        let [left, top, right, bottom] = self.window;
        let [columns, lines] = [whole_cells(left, right, cols)?, whole_cells(top, bottom, rows)?];
        if self.cells.data.len() != rows * cols {
            return None;
        }
        let pixels = |cells: usize, points: f32| cells.min((2.0 * points).ceil().max(1.0) as usize);
        let size = [pixels(columns.len(), points[0]), pixels(lines.len(), points[1])];
        let (mut rgba, mut not_finite) = (Vec::with_capacity(4 * size[0] * size[1]), vec![]);
        for y in 0..size[1] {
            for x in 0..size[0] {
                let (of_columns, of_rows) = (part(&columns, x, size[0]), part(&lines, y, size[1]));
                let colour = self.colour_of(of_columns, of_rows).unwrap_or_else(|| {
                    not_finite.push([x, y]);
                    self.not_finite
                });
                rgba.extend(colour);
                rgba.push(255);
            }
        }
        let window = [columns.start, lines.start, columns.end, lines.end].map(|cell| cell as f32);
        Some(CellImage { rgba, size, window, not_finite })
    }

    /// The colour of the mean of these columns and rows; `None` if one of their values is not a finite number.
    fn colour_of(&self, columns: Range<usize>, rows: Range<usize>) -> Option<[u8; 3]> {
        let (mut sum, mut count) = (0.0, 0.0);
        for row in rows {
            for v in &self.cells.data[row * self.cells.cols..][columns.clone()] {
                if v.is_infinite() {
                    return None;
                }
                if !v.is_nan() && (!self.log || *v >= 0.0) {
                    sum += v;
                    count += 1.0;
                }
            }
        }
        if count == 0.0 {
            return Some(self.missing);
        }
        let (mean, [low, high]) = (sum / count, self.span());
        let v = if self.log { mean.ln() } else { mean };
        Some(self.map.at((v - low) / (high - low)))
    }
}

/// The cells, of `count`, that lie at least in part between two places; `None` if there are none.
fn whole_cells(from: f32, to: f32, count: usize) -> Option<Range<usize>> {
    let (start, end) = (from.max(0.0) as usize, (to.ceil().max(0.0) as usize).min(count));
    (start < end).then_some(start..end)
}

/// The `nth` of `count` parts of a range, none of them empty.
fn part(all: &Range<usize>, nth: usize, count: usize) -> Range<usize> {
    let edge = |k: usize| all.start + k * all.len() / count;
    edge(nth)..edge(nth + 1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::gpu::{
        colour::ColourMap,
        heatmap::{Cells, NOT_FINITE},
    };

    fn heatmap(rows: usize, cols: usize, data: Vec<f32>) -> Heatmap {
        Heatmap {
            key: 0,
            revision: 0,
            cells: Arc::new(Cells { rows, cols, data }),
            map: ColourMap::Viridis,
            range: [0.0, 1.0],
            log: false,
            window: [0.0, 0.0, cols as f32, rows as f32],
            missing: [1, 2, 3],
            not_finite: [4, 5, 6],
        }
    }

    fn pixel(image: &CellImage, x: usize, y: usize) -> [u8; 3] {
        std::array::from_fn(|k| image.rgba[4 * (y * image.size[0] + x) + k])
    }

    #[test]
    fn a_pixel_is_a_cell_or_the_mean_of_several() {
        let map = heatmap(2, 3, vec![0.0, 1.0, f32::NAN, NOT_FINITE, 0.5, 0.0]);
        let image = map.image([100.0, 100.0]).unwrap();
        assert_eq!((image.size, image.window), ([3, 2], [0.0, 0.0, 3.0, 2.0]));
        let viridis = |t: f32| ColourMap::Viridis.at(t);
        assert_eq!([0, 1, 2].map(|x| pixel(&image, x, 0)), [viridis(0.0), viridis(1.0), [1, 2, 3]]);
        assert_eq!([0, 1, 2].map(|x| pixel(&image, x, 1)), [[4, 5, 6], viridis(0.5), viridis(0.0)]);
        assert_eq!(image.not_finite, [[0, 1]]);

        let many = heatmap(1, 400, (0..400).map(|at| if at % 2 == 0 { 0.25 } else { 0.75 }).collect());
        let image = many.image([100.0, 10.0]).unwrap();
        assert_eq!((image.size, pixel(&image, 7, 0)), ([200, 1], viridis(0.5)));
    }

    #[test]
    fn a_part_of_a_map_is_shown_in_whole_cells() {
        let map = Heatmap { window: [0.5, 1.0, 1.5, 2.0], ..heatmap(2, 3, vec![0.0, 0.0, 0.0, 1.0, 0.0, 1.0]) };
        let image = map.image([100.0, 100.0]).unwrap();
        assert_eq!((image.size, image.window), ([2, 1], [0.0, 1.0, 2.0, 2.0]));
        assert_eq!([pixel(&image, 0, 0), pixel(&image, 1, 0)], [1.0, 0.0].map(|t| ColourMap::Viridis.at(t)));
        assert_eq!(heatmap(0, 0, vec![]).image([9.0, 9.0]), None);
        let beside = Heatmap { window: [5.0, 0.0, 6.0, 1.0], ..heatmap(1, 1, vec![0.0]) };
        assert_eq!(beside.image([9.0, 9.0]), None);
    }
}
