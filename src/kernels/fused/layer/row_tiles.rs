//! The tiles of rows that go through a layer together: a few complete texts pass both sublayers while their intermediate
//! values are in the cache. Saved for backward is what would take products to recompute.
//!
//! Gradients of the weights are summed over the tiles of a group, in order, and then over the groups. Tiles and groups
//! depend on sizes alone, so that no bit depends on the number of threads.

use super::{
    super::{add_row::add_to_text, scaled_add::scale_backward},
    sublayer::{Sublayer, WeightGradInputs},
};
use crate::{
    arch::arch,
    buffers::{build_vec, split, split_mut},
    matmul::LinearWeight,
    reduce, threads,
};

/// The approximate number of rows in a tile, whose intermediate values fit into the cache of a core.
const TILE_ROWS: usize = 128;
/// Rows of a group of tiles, roughly.
const GROUP_ROWS: usize = 512;
/// Largest number of groups; each has its own sums.
const MAX_GROUPS: usize = 8;

pub struct RowTiles<'a> {
    /// B, T, D.
    pub shape: [usize; 3],
    /// Attention and MLP.
    pub sublayers: [Sublayer<'a>; 2],
    pub maps: [[LinearWeight<'a>; 2]; 2],
    /// `None`: both sublayers one after the other, each with a residual connection.
    pub field: Option<Field<'a>>,
}

/// Makes the slope of a vector field of the layer, or an Euler step along it.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// The row that is added to every token: one for each text, or one for all.
    pub row: &'a [f32],
    pub scale: f32,
    /// Length of the step; `None`: the slope itself.
    pub length: Option<f32>,
}

/// Inputs of backward: x, the gradient of the result, and what was saved.
#[derive(Clone, Copy)]
pub struct BackwardInputs<'a> {
    pub x: &'a [f32],
    pub g: &'a [f32],
    pub saved: &'a [f32],
}

/// 0 for attention, 1 for the MLP.
type SublayerIndex = usize;

impl RowTiles<'_> {
    /// Texts of a tile; the last may have fewer.
    fn texts(&self) -> usize {
        let t = self.shape[1];
        ((TILE_ROWS + t / 2) / t).max(1)
    }

    fn rows(&self) -> usize {
        self.texts() * self.shape[1]
    }

    /// Lengths of what `n` rows save: that of attention; the value between the sublayers, or their sum, `(n, D)`; that of
    /// the MLP.
    fn saved_parts(&self, n: usize) -> [usize; 3] {
        [self.sublayers[0].saved_len(n), n * self.shape[2], self.sublayers[1].saved_len(n)]
    }

    /// Number of values that are saved.
    pub fn saved_len(&self) -> usize {
        self.saved_parts(self.shape[0] * self.shape[1]).iter().sum()
    }

    /// Runs all tiles: concurrently, or, if they are long and fewer than the threads, one after the other with all threads
    /// in each.
    fn for_each_tile<I: Iterator + Send>(&self, tiles: I, work: impl Fn(I::Item) + Sync + Send) {
        let n = self.shape[0].div_ceil(self.texts());
        if n < threads::count() && self.rows() > 2 * TILE_ROWS {
            tiles.for_each(work)
        } else {
            threads::for_each(n, tiles, work)
        }
    }

    /// x, y `(B, T, D)`; `saved` has [`RowTiles::saved_len`] values, if backward will follow.
    pub fn forward(&self, x: &[f32], y: &mut [f32], saved: Option<&mut [f32]>) {
        let (size, each) = (self.rows() * self.shape[2], self.saved_parts(self.rows()).iter().sum());
        let tiles = x.chunks(size).zip(y.chunks_mut(size)).enumerate();
        match saved {
            Some(saved) => {
                let tiles = tiles.zip(saved.chunks_mut(each));
                self.for_each_tile(tiles, |((i, (x, y)), saved)| self.forward_tile(i, x, y, saved));
            }
            None => self.for_each_tile(tiles, |(i, (x, y))| {
                let size = self.saved_parts(x.len() / self.shape[2]).iter().sum();
                drop(build_vec(size, |room| self.forward_tile(i, x, y, room)));
            }),
        }
    }

    fn forward_tile(&self, i: usize, x: &[f32], y: &mut [f32], saved: &mut [f32]) {
        let ([attention, mlp], [attention_maps, mlp_maps]) = (&self.sublayers, &self.maps);
        let [first, between, last] = split_mut(saved, self.saved_parts(x.len() / self.shape[2]));
        let Some(field) = self.field else {
            attention.forward(attention_maps, x, Some(x), between, first);
            mlp.forward(mlp_maps, between, Some(between), y, last);
            return;
        };
        let shifted = self.with_row(i, x, field.row);
        attention.forward(attention_maps, &shifted, None, y, first);
        mlp.forward(mlp_maps, &shifted, Some(y), between, last);
        let sum = &*between;
        arch().dispatch(|| match field.length {
            Some(h) => y.iter_mut().zip(x).zip(sum).for_each(|((y, x), sum)| *y = x + h * (field.scale * sum)),
            None => y.iter_mut().zip(sum).for_each(|(y, sum)| *y = field.scale * sum),
        });
    }

    /// x of tile i with the row added.
    fn with_row(&self, i: usize, x: &[f32], rows: &[f32]) -> Vec<f32> {
        let [b, t, d] = self.shape;
        build_vec(x.len(), |y| {
            for (text, (y, x)) in y.chunks_exact_mut(t * d).zip(x.chunks_exact(t * d)).enumerate() {
                let text = if rows.len() == b * d { i * self.texts() + text } else { 0 };
                add_to_text(y, x, &rows[text * d..][..d]);
            }
        })
    }

    /// Writes dx and, if it is wanted, dw, which is accumulated if its flag says so; returns the gradient of the field's
    /// row.
    pub fn backward(&self, given: BackwardInputs, dx: &mut [f32], dw: Option<(&mut [f32], bool)>) -> Vec<f32> {
        let ([b, t, d], rows) = (self.shape, self.rows());
        let each = self.saved_parts(rows).iter().sum();
        let mut drow = vec![0f32; if self.field.is_some() { b * d } else { 0 }];
        let tiles = given.x.chunks(rows * d).zip(given.g.chunks(rows * d)).zip(given.saved.chunks(each));
        let mut outputs: Vec<&mut [f32]> = drow.chunks_mut(self.texts() * d).collect();
        outputs.resize_with(b.div_ceil(self.texts()), || &mut []);
        let outputs = dx.chunks_mut(rows * d).zip(outputs);
        let all = tiles.zip(outputs).enumerate().map(|(i, (((x, g), saved), (dx, drow)))| RowTile {
            i,
            given: BackwardInputs { x, g, saved },
            dx,
            drow,
        });
        match dw {
            None => self.for_each_tile(all, |tile| {
                self.backward_tile(tile, &mut |_, _| {});
            }),
            Some(dw) => self.backward_weights(all.collect(), b * t, dw),
        }
        match self.field {
            Some(field) if field.row.len() < drow.len() => reduce::sum_rows(&drow, d),
            _ => drow,
        }
    }

    fn backward_weights(&self, tiles: Vec<RowTile>, rows: usize, (dw, begun): (&mut [f32], bool)) {
        let of_group = tiles.len().div_ceil((rows / GROUP_ROWS).clamp(1, MAX_GROUPS));
        let groups = tiles.len().div_ceil(of_group);
        let size = dw.len();
        let more = build_vec((groups - 1) * size, |more| {
            let first = Sums::new(self, &mut *dw, begun);
            let sums = [first].into_iter().chain(more.chunks_exact_mut(size).map(|more| Sums::new(self, more, false)));
            let mut tiles = tiles.into_iter();
            let groups: Vec<_> = sums.map(|sum| (sum, tiles.by_ref().take(of_group).collect::<Vec<_>>())).collect();
            if threads::count() <= groups.len() {
                threads::for_each(groups.len(), groups.into_iter(), |(mut sums, tiles)| {
                    for tile in tiles {
                        let scale = self.backward_tile(tile, &mut |index, grads_in| sums.add(index, &[grads_in]));
                        sums.add_scale(scale);
                    }
                });
            } else {
                self.backward_groups(groups);
            }
        });
        threads::run_chunks(dw, threads::CHUNK, |i, dw| {
            for more in more.chunks_exact(size) {
                dw.iter_mut().zip(&more[i * threads::CHUNK..]).for_each(|(sum, more)| *sum += more);
            }
        });
    }

    /// The schedule for more threads than groups: the backward of all tiles, then the gradients of the weights.
    fn backward_groups(&self, groups: Vec<(Sums, Vec<RowTile>)>) {
        type TileGradients = (Vec<(SublayerIndex, WeightGradInputs<'static>)>, f32);
        let (mut sums, mut tiles, mut sizes) = (vec![], vec![], vec![]);
        for (sum, of_group) in groups {
            sums.push(sum);
            sizes.push(of_group.len());
            tiles.extend(of_group);
        }
        let mut found: Vec<TileGradients> = tiles.iter().map(|_| (vec![], 0.0)).collect();
        self.for_each_tile(tiles.into_iter().zip(&mut found), |(tile, (grads_in, scale))| {
            *scale = self.backward_tile(tile, &mut |index, part| grads_in.push((index, part.into_owned())));
        });
        let mut found = found.into_iter();
        for (mut sums, n) in sums.into_iter().zip(sizes) {
            let mut by_sublayer = [vec![], vec![]];
            for (grads_in, scale) in found.by_ref().take(n) {
                grads_in.into_iter().for_each(|(index, grads_in)| by_sublayer[index].push(grads_in));
                sums.add_scale(scale);
            }
            by_sublayer.iter().enumerate().for_each(|(index, all)| sums.add(index, all));
        }
    }

    /// Writes dx and drow of a tile; calls `done` with the inputs of the weight gradients of each sublayer. Returns the
    /// gradient of the scale.
    fn backward_tile(&self, tile: RowTile, done: &mut dyn FnMut(SublayerIndex, WeightGradInputs)) -> f32 {
        let RowTile { i, given: BackwardInputs { x, g, saved }, dx, drow } = tile;
        let [_, t, d] = self.shape;
        let (attention, attention_maps) = (&self.sublayers[0], &self.maps[0]);
        let [first, between, last] = split(saved, self.saved_parts(x.len() / d));
        let Some(field) = self.field else {
            let dbetween =
                build_vec(x.len(), |dbetween| self.backward_mlp([between, g, last], Some(g), dbetween, done));
            let grads_in = attention.backward(attention_maps, [x, &dbetween, first], Some(&dbetween), dx);
            done(0, grads_in);
            return 0.0;
        };
        let (x, length) = (self.with_row(i, x, field.row), field.length.unwrap_or(1.0));
        let mut along = 0.0;
        let scaled = build_vec(g.len(), |to| {
            along = scale_backward(to, g, length * field.scale, &[between]);
        });
        let of_mlp = build_vec(x.len(), |of_mlp| self.backward_mlp([&x, &scaled, last], None, of_mlp, done));
        done(0, attention.backward(attention_maps, [&x, &scaled, first], Some(&of_mlp), dx));
        for (drow, dx) in drow.chunks_exact_mut(d).zip(dx.chunks_exact(t * d)) {
            drow.copy_from_slice(&reduce::column_sums(dx, d));
        }
        if field.length.is_some() {
            arch().dispatch(|| dx.iter_mut().zip(g).for_each(|(dx, g)| *dx += g));
        }
        length * along
    }

    /// The backward of the MLP. It treats each row by itself, so that long texts are cut into parts.
    fn backward_mlp(
        &self,
        [x, g, saved]: [&[f32]; 3],
        rest: Option<&[f32]>,
        dx: &mut [f32],
        done: &mut dyn FnMut(SublayerIndex, WeightGradInputs),
    ) {
        let (mlp, maps, d) = (&self.sublayers[1], &self.maps[1], self.shape[2]);
        let n = (x.len() / d).div_ceil((x.len() / d).div_ceil(TILE_ROWS + TILE_ROWS / 2));
        let parts = x.chunks(n * d).zip(g.chunks(n * d)).zip(saved.chunks(mlp.saved_len(n))).zip(dx.chunks_mut(n * d));
        let back = |i: usize, (((x, g), saved), dx): (((_, _), _), &mut [f32])| {
            mlp.backward(maps, [x, g, saved], rest.map(|r| &r[i * n * d..][..dx.len()]), dx)
        };
        if threads::count() == 1 {
            parts.enumerate().for_each(|(i, part)| done(1, back(i, part)));
            return;
        }
        let parts: Vec<_> = parts.collect();
        let mut found: Vec<Option<WeightGradInputs>> = parts.iter().map(|_| None).collect();
        threads::for_each(parts.len(), parts.into_iter().zip(&mut found).enumerate(), |(i, (part, found))| {
            *found = Some(back(i, part));
        });
        found.into_iter().flatten().for_each(|grads_in| done(1, grads_in));
    }
}

/// A tile in backward, with the memory for its gradients.
struct RowTile<'a> {
    i: usize,
    given: BackwardInputs<'a>,
    dx: &'a mut [f32],
    /// Gradient of the field's row, by text.
    drow: &'a mut [f32],
}

/// Gradients of the weights, summed over a group.
struct Sums<'a> {
    sublayers: &'a [Sublayer<'a>; 2],
    parts: [&'a mut [f32]; 2],
    scale: &'a mut [f32],
    /// True where the gradients of a sublayer have been written, so that more are accumulated.
    begun: [bool; 2],
}

impl<'a> Sums<'a> {
    fn new(tiles: &'a RowTiles<'a>, dw: &'a mut [f32], begun: bool) -> Self {
        let [attention, mlp] = &tiles.sublayers;
        let (first, rest) = dw.split_at_mut(attention.len());
        let (second, scale) = rest.split_at_mut(mlp.len());
        if !begun {
            scale.fill(0.0);
        }
        Self { sublayers: &tiles.sublayers, parts: [first, second], scale, begun: [begun; 2] }
    }

    fn add(&mut self, index: SublayerIndex, grads_in: &[WeightGradInputs]) {
        self.sublayers[index].weight_grads(self.parts[index], grads_in, self.begun[index]);
        self.begun[index] = true;
    }

    fn add_scale(&mut self, more: f32) {
        self.scale.iter_mut().for_each(|scale| *scale += more);
    }
}
