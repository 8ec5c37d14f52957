//! What goes through a layer together: some texts, through all of both halves, so that what lies between is still in
//! the cache when it is read. Kept for the way back is what would take products to form again.
//!
//! Gradients of the weights are sums over the pieces of a group, in order, and then over the groups. Pieces and groups
//! depend on sizes alone, so that no bit depends on how many threads there are.

use pulp::Arch;

use super::{
    super::{
        matrix::{self, Map, filled},
        pool,
        scaled::Scaled,
    },
    half::{Half, Left},
};

/// About as many rows a piece has: what lies between its products fits into a core's cache.
const PIECE: usize = 128;
/// About as many rows a group of pieces has.
const GROUP: usize = 512;
/// Groups at most: each has sums of its own.
const GROUPS: usize = 8;

/// A layer's work, one way.
pub struct Pieces<'a> {
    /// B, T, D.
    pub shape: [usize; 3],
    /// Attention and MLP.
    pub halves: [Half<'a>; 2],
    pub maps: [[Map<'a>; 2]; 2],
    /// Without it, the halves follow one another, each added to what it was given.
    pub field: Option<Field<'a>>,
}

/// What makes a slope of a layer, or a step along it.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// Added to each text, or to all.
    pub row: &'a [f32],
    pub scale: f32,
    /// How far x goes along the slope; without it the slope itself is wanted.
    pub length: Option<f32>,
}

/// What the way back is given: x, the gradient of the result, and what was kept.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub x: &'a [f32],
    pub g: &'a [f32],
    pub kept: &'a [f32],
}

/// Of which half.
type Which = usize;

impl Pieces<'_> {
    /// Texts of a piece; the last may have fewer.
    fn texts(&self) -> usize {
        let t = self.shape[1];
        ((PIECE + t / 2) / t).max(1)
    }

    /// Rows of a piece.
    fn rows(&self) -> usize {
        self.texts() * self.shape[1]
    }

    /// Values that `n` rows keep: those of the attention; what lies between the halves, or their sum, `(n, D)`; those
    /// of the MLP.
    fn parts(&self, n: usize) -> [usize; 3] {
        [self.halves[0].kept(n), n * self.shape[2], self.halves[1].kept(n)]
    }

    /// Values that are kept.
    pub fn kept(&self) -> usize {
        self.parts(self.shape[0] * self.shape[1]).iter().sum()
    }

    /// Runs all pieces: side by side, or, if they are long and too few for that, one after the other on all threads.
    fn each<I: Iterator + Send>(&self, pieces: I, work: impl Fn(I::Item) + Sync + Send) {
        let n = self.shape[0].div_ceil(self.texts());
        if n < pool::threads() && self.rows() > 2 * PIECE {
            pieces.for_each(work)
        } else {
            pool::share(n, pieces, work)
        }
    }

    /// x, y `(B, T, D)`; `kept` of [`Pieces::kept`] values, if the way back will be asked for.
    pub fn forward(&self, x: &[f32], y: &mut [f32], kept: Option<&mut [f32]>) {
        let (size, each) = (self.rows() * self.shape[2], self.parts(self.rows()).iter().sum());
        let pieces = x.chunks(size).zip(y.chunks_mut(size)).enumerate();
        match kept {
            Some(kept) => {
                self.each(pieces.zip(kept.chunks_mut(each)), |((i, (x, y)), kept)| self.forward_piece(i, x, y, kept));
            }
            None => self.each(pieces, |(i, (x, y))| {
                let size = self.parts(x.len() / self.shape[2]).iter().sum();
                drop(filled(size, |room| self.forward_piece(i, x, y, room)));
            }),
        }
    }

    fn forward_piece(&self, i: usize, x: &[f32], y: &mut [f32], kept: &mut [f32]) {
        let ([attention, mlp], [attention_maps, mlp_maps]) = (&self.halves, &self.maps);
        let [first, between, _] = self.parts(x.len() / self.shape[2]);
        let (first, rest) = kept.split_at_mut(first);
        let (between, last) = rest.split_at_mut(between);
        let Some(field) = self.field else {
            attention.forward(attention_maps, x, Some(x), between, first);
            mlp.forward(mlp_maps, between, Some(between), y, last);
            return;
        };
        let moved = self.shifted(i, x, field.row);
        attention.forward(attention_maps, &moved, None, y, first);
        mlp.forward(mlp_maps, &moved, Some(y), between, last);
        let sum = &*between;
        Arch::new().dispatch(|| match field.length {
            Some(h) => y.iter_mut().zip(x).zip(sum).for_each(|((y, x), sum)| *y = x + h * (field.scale * sum)),
            None => y.iter_mut().zip(sum).for_each(|(y, sum)| *y = field.scale * sum),
        });
    }

    /// x of piece i with the row added that its text has, or all.
    fn shifted(&self, i: usize, x: &[f32], rows: &[f32]) -> Vec<f32> {
        let [b, t, d] = self.shape;
        filled(x.len(), |y| {
            for (text, (y, x)) in y.chunks_exact_mut(t * d).zip(x.chunks_exact(t * d)).enumerate() {
                let text = if rows.len() == b * d { i * self.texts() + text } else { 0 };
                let row = &rows[text * d..][..d];
                Arch::new().dispatch(|| {
                    for (y, x) in y.chunks_exact_mut(d).zip(x.chunks_exact(d)) {
                        y.iter_mut().zip(x).zip(row).for_each(|((y, x), r)| *y = x + r);
                    }
                });
            }
        })
    }

    /// dx, and dw if anybody wants it, which is written or, if `dw` says so, added to; returns the gradient of the
    /// field's row.
    pub fn back(&self, given: Given, dx: &mut [f32], dw: Option<(&mut [f32], bool)>) -> Vec<f32> {
        let ([b, t, d], rows) = (self.shape, self.rows());
        let each = self.parts(rows).iter().sum();
        let mut drow = vec![0f32; if self.field.is_some() { b * d } else { 0 }];
        let pieces = given.x.chunks(rows * d).zip(given.g.chunks(rows * d)).zip(given.kept.chunks(each));
        let mut places: Vec<&mut [f32]> = drow.chunks_mut(self.texts() * d).collect();
        places.resize_with(b.div_ceil(self.texts()), || &mut []);
        let places = dx.chunks_mut(rows * d).zip(places);
        let all = pieces.zip(places).enumerate().map(|(i, (((x, g), kept), (dx, drow)))| Piece {
            i,
            given: Given { x, g, kept },
            dx,
            drow,
        });
        match dw {
            None => self.each(all, |piece| {
                self.back_piece(piece, &mut |_, _| {});
            }),
            Some(dw) => self.back_weights(all.collect(), b * t, dw),
        }
        match self.field {
            Some(field) if field.row.len() < drow.len() => matrix::total(&drow, d),
            _ => drow,
        }
    }

    fn back_weights(&self, pieces: Vec<Piece>, rows: usize, (dw, begun): (&mut [f32], bool)) {
        let of_group = pieces.len().div_ceil((rows / GROUP).clamp(1, GROUPS));
        let groups = pieces.len().div_ceil(of_group);
        let size = dw.len();
        let more = filled((groups - 1) * size, |more| {
            let first = Sums::new(self, &mut *dw, begun);
            let sums = [first].into_iter().chain(more.chunks_exact_mut(size).map(|more| Sums::new(self, more, false)));
            let mut pieces = pieces.into_iter();
            let groups: Vec<_> = sums.map(|sum| (sum, pieces.by_ref().take(of_group).collect::<Vec<_>>())).collect();
            if pool::threads() <= groups.len() {
                pool::share(groups.len(), groups.into_iter(), |(mut sums, pieces)| {
                    for piece in pieces {
                        let scale = self.back_piece(piece, &mut |which, left| sums.add(which, &[left]));
                        sums.add_scale(scale);
                    }
                });
            } else {
                self.back_groups(groups);
            }
        });
        pool::run_on(dw, pool::PIECE, |i, dw| {
            for more in more.chunks_exact(size) {
                dw.iter_mut().zip(&more[i * pool::PIECE..]).for_each(|(sum, more)| *sum += more);
            }
        });
    }

    /// All pieces first, and then what they leave: for more threads than groups.
    fn back_groups(&self, groups: Vec<(Sums, Vec<Piece>)>) {
        type Found = (Vec<(Which, Left<'static>)>, f32);
        let (mut sums, mut pieces, mut sizes) = (vec![], vec![], vec![]);
        for (sum, of_group) in groups {
            sums.push(sum);
            sizes.push(of_group.len());
            pieces.extend(of_group);
        }
        let mut found: Vec<Found> = pieces.iter().map(|_| (vec![], 0.0)).collect();
        self.each(pieces.into_iter().zip(&mut found), |(piece, (left, scale))| {
            *scale = self.back_piece(piece, &mut |which, part| left.push((which, part.into_owned())));
        });
        let mut found = found.into_iter();
        for (mut sums, n) in sums.into_iter().zip(sizes) {
            let mut of_halves = [vec![], vec![]];
            for (left, scale) in found.by_ref().take(n) {
                left.into_iter().for_each(|(which, left)| of_halves[which].push(left));
                sums.add_scale(scale);
            }
            of_halves.iter().enumerate().for_each(|(which, all)| sums.add(which, all));
        }
    }

    /// dx and drow; what is left for the weights goes to `done`, half by half. Returns the gradient of the scale.
    fn back_piece(&self, piece: Piece, done: &mut dyn FnMut(Which, Left)) -> f32 {
        let Piece { i, given: Given { x, g, kept }, dx, drow } = piece;
        let [_, t, d] = self.shape;
        let (attention, attention_maps) = (&self.halves[0], &self.maps[0]);
        let [first, between, _] = self.parts(x.len() / d);
        let (first, rest) = kept.split_at(first);
        let (between, last) = rest.split_at(between);
        let Some(field) = self.field else {
            let dbetween = filled(x.len(), |dbetween| self.back_mlp([between, g, last], Some(g), dbetween, done));
            let left = attention.back(attention_maps, [x, &dbetween, first], Some(&dbetween), dx);
            done(0, left);
            return 0.0;
        };
        let (x, length) = (self.shifted(i, x, field.row), field.length.unwrap_or(1.0));
        let mut along = 0.0;
        let scaled = filled(g.len(), |to| {
            along = Arch::new().dispatch(Scaled { to, g, scale: length * field.scale, sums: [between] });
        });
        let of_mlp = filled(x.len(), |of_mlp| self.back_mlp([&x, &scaled, last], None, of_mlp, done));
        done(0, attention.back(attention_maps, [&x, &scaled, first], Some(&of_mlp), dx));
        for (drow, dx) in drow.chunks_exact_mut(d).zip(dx.chunks_exact(t * d)) {
            drow.copy_from_slice(&matrix::column_sums(dx, d));
        }
        if field.length.is_some() {
            Arch::new().dispatch(|| dx.iter_mut().zip(g).for_each(|(dx, g)| *dx += g));
        }
        length * along
    }

    /// The MLP's way back: rows do not meet in it, so that long texts go through in parts.
    fn back_mlp(
        &self,
        [x, g, kept]: [&[f32]; 3],
        rest: Option<&[f32]>,
        dx: &mut [f32],
        done: &mut dyn FnMut(Which, Left),
    ) {
        let (mlp, maps, d) = (&self.halves[1], &self.maps[1], self.shape[2]);
        let n = (x.len() / d).div_ceil((x.len() / d).div_ceil(PIECE + PIECE / 2));
        let parts = x.chunks(n * d).zip(g.chunks(n * d)).zip(kept.chunks(mlp.kept(n))).zip(dx.chunks_mut(n * d));
        let back = |i: usize, (((x, g), kept), dx): (((_, _), _), &mut [f32])| {
            mlp.back(maps, [x, g, kept], rest.map(|r| &r[i * n * d..][..dx.len()]), dx)
        };
        if pool::threads() == 1 {
            parts.enumerate().for_each(|(i, part)| done(1, back(i, part)));
            return;
        }
        let parts: Vec<_> = parts.collect();
        let mut found: Vec<Option<Left>> = parts.iter().map(|_| None).collect();
        pool::share(parts.len(), parts.into_iter().zip(&mut found).enumerate(), |(i, (part, found))| {
            *found = Some(back(i, part));
        });
        found.into_iter().flatten().for_each(|left| done(1, left));
    }
}

/// A piece on the way back, and the places of its gradients.
struct Piece<'a> {
    i: usize,
    given: Given<'a>,
    dx: &'a mut [f32],
    /// Of the field's row by text.
    drow: &'a mut [f32],
}

/// A group's gradients of the weights.
struct Sums<'a> {
    halves: &'a [Half<'a>; 2],
    parts: [&'a mut [f32]; 2],
    scale: &'a mut [f32],
    /// Whether a half's are begun.
    begun: [bool; 2],
}

impl<'a> Sums<'a> {
    fn new(pieces: &'a Pieces<'a>, dw: &'a mut [f32], begun: bool) -> Self {
        let [attention, mlp] = &pieces.halves;
        let (first, rest) = dw.split_at_mut(attention.len());
        let (second, scale) = rest.split_at_mut(mlp.len());
        if !begun {
            scale.fill(0.0);
        }
        Self { halves: &pieces.halves, parts: [first, second], scale, begun: [begun; 2] }
    }

    fn add(&mut self, which: Which, left: &[Left]) {
        self.halves[which].add(self.parts[which], left, self.begun[which]);
        self.begun[which] = true;
    }

    fn add_scale(&mut self, more: f32) {
        self.scale.iter_mut().for_each(|scale| *scale += more);
    }
}
