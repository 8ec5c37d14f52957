//! Half a layer over slices, piece by piece: a task takes some texts (or, where texts do not meet, some rows) through
//! all of it, so that what lies between is still in the cache when it is read. Kept for the way back is what would
//! take products to form again.
//!
//! Gradients of the weights are sums over the pieces of a group, in order, and then over the groups. Pieces and groups
//! depend on sizes alone, so that no bit depends on how many threads there are.

use super::{
    super::{
        attention::fused as attention,
        matrix::{self, Map, View, filled},
        mlp::fused as mlp,
        norm::Rows,
        pool,
    },
    Body, Half, cut, cut_mut, there,
};

/// About as many rows a piece has: what lies between its products fits into a core's cache.
const PIECE: usize = 128;
/// About as many rows a group of pieces has.
const GROUP: usize = 512;
/// Groups at most: each has sums of its own.
const GROUPS: usize = 8;
/// Values that a task adds up.
const SUMS: usize = 1 << 14;

/// A half with its weights cut to pieces.
struct Parts<'a> {
    half: Half,
    norm: [&'a [f32]; 2],
    qk_norms: Option<[&'a [f32]; 2]>,
    /// In, of `wide` channels, and out, of `inner`.
    maps: [&'a [f32]; 2],
    biases: [Option<&'a [f32]>; 2],
    t: usize,
    d: usize,
    wide: usize,
    inner: usize,
    rows: usize,
    body: Working,
}

enum Working {
    Attention(attention::Op),
    Mlp(mlp::Pass),
}

impl<'a> Parts<'a> {
    fn new(half: Half, [b, t, d]: [usize; 3], weights: &'a [f32], keep: bool) -> Self {
        let [nw, nb, w_in, b_in, q_norm, k_norm, w_out, b_out] = cut(weights, half.sizes(d));
        let body = match half.body {
            Body::Attention { spec, normed } => Working::Attention(attention::Op::new(spec, t, normed, keep)),
            Body::Mlp { act, gated, hidden } => {
                Working::Mlp(mlp::Pass::of(mlp::Kind { act, gated }, [d, hidden, d]))
            }
        };
        Self {
            half,
            norm: [nw, nb],
            qk_norms: there(q_norm).map(|q| [q, k_norm]),
            maps: [w_in, w_out],
            biases: [there(b_in), there(b_out)],
            t,
            d,
            wide: w_in.len() / d,
            inner: w_out.len() / d,
            rows: b * t,
            body,
        }
    }

    /// Rows that go together: of a text, where they meet.
    fn unit(&self) -> usize {
        match self.body {
            Working::Attention(_) => self.t,
            Working::Mlp(_) => 1,
        }
    }

    /// Rows of a piece; the last may have fewer.
    fn piece(&self) -> usize {
        let unit = self.unit();
        ((PIECE + unit / 2) / unit).max(1) * unit
    }

    /// Values that this many rows keep: of attention what the map in gave, the result, and what it asks for itself;
    /// of an MLP what the map in gave.
    fn kept(&self, rows: usize) -> usize {
        match &self.body {
            Working::Attention(op) => rows * (self.wide + self.inner) + rows / self.t * op.kept(),
            Working::Mlp(_) => rows * self.wide,
        }
    }

    /// Runs all pieces: side by side, or, if they are long and too few for that, one after the other on all threads.
    fn each<I: Iterator + Send>(&self, pieces: I, work: impl Fn(I::Item) + Sync + Send) {
        let n = self.rows.div_ceil(self.piece());
        if n < pool::threads() && self.piece() > 2 * PIECE {
            pieces.for_each(work);
        } else {
            pool::share(n, pieces, work);
        }
    }

    fn rows(&self) -> Rows {
        self.half.norm()
    }
}

/// The way forward.
pub struct Forth<'a> {
    parts: Parts<'a>,
    maps: [Map<'a>; 2],
    keep: bool,
}

impl<'a> Forth<'a> {
    /// Shape B, T, D; `keep` what the way back needs.
    pub fn new(half: Half, shape: [usize; 3], weights: &'a [f32], keep: bool) -> Self {
        let parts = Parts::new(half, shape, weights, keep);
        let ([w_in, w_out], [b_in, b_out]) = (parts.maps, parts.biases);
        let map_in = Map::of(View::new(w_in, parts.wide, parts.d).t(), b_in, parts.rows);
        let map_out = Map::of(View::new(w_out, parts.d, parts.inner).t(), b_out, parts.rows);
        Self { parts, maps: [map_in, map_out], keep }
    }

    /// Values that are kept.
    pub fn kept(&self) -> usize {
        if self.keep { self.parts.kept(self.parts.rows) } else { 0 }
    }

    /// y <- the half of x, both `(B, T, D)`; `kept` of [`Forth::kept`] values.
    pub fn all(&self, x: &[f32], y: &mut [f32], kept: &mut [f32]) {
        let p = &self.parts;
        let rows = p.piece();
        let pieces = x.chunks(rows * p.d).zip(y.chunks_mut(rows * p.d));
        if self.keep {
            p.each(pieces.zip(kept.chunks_mut(p.kept(rows))), |((x, y), kept)| self.piece(x, y, kept));
        } else {
            p.each(pieces, |(x, y)| drop(filled(p.kept(x.len() / p.d), |room| self.piece(x, y, room))));
        }
    }

    fn piece(&self, x: &[f32], y: &mut [f32], kept: &mut [f32]) {
        let p = &self.parts;
        let h = p.rows().forward(x, p.norm);
        let rest = p.half.residual.then_some(x);
        match &p.body {
            Working::Attention(op) => {
                let n = x.len() / p.d;
                let (qkv, kept) = kept.split_at_mut(n * p.wide);
                let (found, kept) = kept.split_at_mut(n * p.inner);
                self.maps[0].by_rows(qkv, &h, None);
                op.go(attention::Given { qkv, norms: p.qk_norms }, kept, found);
                self.maps[1].by_rows(y, found, rest);
            }
            Working::Mlp(pass) => pass.forward(&h, &self.maps, rest, kept, y),
        }
    }
}

/// The way back.
pub struct Back<'a> {
    parts: Parts<'a>,
    maps: [Map<'a>; 2],
}

/// A piece: x, the gradient of the result, what was kept.
type Piece<'p> = [&'p [f32]; 3];

/// What a piece leaves for the gradients of the weights.
struct Left {
    h: Vec<f32>,
    /// The gradient of what the map in gave.
    dwide: Vec<f32>,
    /// What the map out read, unless it was kept.
    inner: Vec<f32>,
    /// Gradients of the norm's weight and bias, and of the QK norms.
    norm: [Vec<f32>; 2],
    qk_norms: Vec<f32>,
}

impl<'a> Back<'a> {
    /// Shape B, T, D.
    pub fn new(half: Half, shape: [usize; 3], weights: &'a [f32]) -> Self {
        let parts = Parts::new(half, shape, weights, true);
        let [w_in, w_out] = parts.maps;
        let map_in = Map::of(View::new(w_in, parts.wide, parts.d), None, parts.rows);
        let map_out = Map::of(View::new(w_out, parts.d, parts.inner), None, parts.rows);
        Self { parts, maps: [map_in, map_out] }
    }

    /// dx, and dw if anybody wants it, from x, the gradient of the result, and what was kept.
    pub fn all(&self, [x, g, kept]: [&[f32]; 3], dx: &mut [f32], dw: Option<&mut [f32]>) {
        let p = &self.parts;
        let rows = p.piece();
        let given = x.chunks(rows * p.d).zip(g.chunks(rows * p.d)).zip(kept.chunks(p.kept(rows)));
        let given: Vec<Piece> = given.map(|((x, g), kept)| [x, g, kept]).collect();
        let places = dx.chunks_mut(rows * p.d);
        let Some(dw) = dw else { return p.each(given.into_iter().zip(places), |(given, dx)| drop(self.piece(given, dx))) };

        let groups = (p.rows / GROUP).clamp(1, GROUPS);
        let of_group = given.len().div_ceil(groups);
        let groups = given.len().div_ceil(of_group);
        let size = dw.len();
        let more = filled((groups - 1) * size, |more| {
            let sums = [&mut *dw].into_iter().chain(more.chunks_exact_mut(size));
            if pool::threads() <= groups {
                let mut places = places;
                let groups: Vec<_> = sums
                    .zip(given.chunks(of_group))
                    .map(|(sum, given)| (sum, given, places.by_ref().take(given.len()).collect::<Vec<_>>()))
                    .collect();
                pool::share(groups.len(), groups.into_iter(), |(sum, given, places)| {
                    for (at, (given, dx)) in given.iter().zip(places).enumerate() {
                        self.add(sum, &[(*given, self.piece(*given, dx))], at > 0);
                    }
                });
            } else {
                let mut left: Vec<Option<Left>> = given.iter().map(|_| None).collect();
                p.each(given.iter().zip(places).zip(&mut left), |((given, dx), left)| *left = Some(self.piece(*given, dx)));
                let left: Vec<_> = given.into_iter().zip(left.into_iter().flatten()).collect();
                sums.zip(left.chunks(of_group)).for_each(|(sum, left)| self.add(sum, left, false));
            }
        });
        pool::run_on(dw, SUMS, |i, dw| {
            for more in more.chunks_exact(size) {
                dw.iter_mut().zip(&more[i * SUMS..]).for_each(|(sum, more)| *sum += more);
            }
        });
    }

    /// dx of a piece.
    fn piece(&self, [x, g, kept]: Piece, dx: &mut [f32]) -> Left {
        let p = &self.parts;
        let n = x.len() / p.d;
        let (mut inner, mut qk_norms) = (vec![], vec![]);
        let dwide = filled(n * p.wide, |dwide| match &p.body {
            Working::Attention(op) => {
                let (qkv, kept) = kept.split_at(n * p.wide);
                let (y, kept) = kept.split_at(n * p.inner);
                let dy = filled(n * p.inner, |dy| self.maps[1].by_rows(dy, g, None));
                qk_norms = op.back(attention::Given { qkv, norms: p.qk_norms }, kept, [y, &dy], dwide);
            }
            Working::Mlp(pass) => inner = filled(n * p.inner, |inner| pass.back(g, &self.maps[1], kept, [inner, dwide])),
        });
        let dh = filled(n * p.d, |dh| self.maps[0].by_rows(dh, &dwide, None));
        let norm = p.rows().back(dx, [x, &dh], p.norm[0], p.half.residual.then_some(g));
        Left { h: p.rows().forward(x, p.norm), dwide, inner, norm, qk_norms }
    }

    /// dw <- what pieces add to the gradients of the weights, in order, or += it.
    fn add(&self, dw: &mut [f32], pieces: &[(Piece, Left)], add: bool) {
        let p = &self.parts;
        let [dnw, dnb, dw_in, db_in, dq_norm, dk_norm, dw_out, db_out] = cut_mut(dw, p.half.sizes(p.d));
        let out: Vec<_> = pieces
            .iter()
            .map(|([x, g, kept], left)| {
                let n = x.len() / p.d;
                let inner = if left.inner.is_empty() { &kept[n * p.wide..][..n * p.inner] } else { &left.inner[..] };
                [*g, inner]
            })
            .collect();
        let into: Vec<_> = pieces.iter().map(|(_, left)| [&left.dwide[..], &left.h]).collect();
        matrix::over_pieces(dw_out, [p.d, p.inner], &out, add);
        matrix::over_pieces(dw_in, [p.wide, p.d], &into, add);
        for (at, ([_, g, _], left)) in pieces.iter().enumerate() {
            let set = |to: &mut [f32], from: &[f32]| match add || at > 0 {
                true => to.iter_mut().zip(from).for_each(|(to, from)| *to += from),
                false => to.copy_from_slice(&from[..to.len()]),
            };
            set(dnw, &left.norm[0]);
            set(dnb, &left.norm[1]);
            set(dq_norm, &left.qk_norms);
            set(dk_norm, left.qk_norms.get(dq_norm.len()..).unwrap_or_default());
            if !db_in.is_empty() {
                set(db_in, &matrix::column_sums(&left.dwide, p.wide));
                set(db_out, &matrix::column_sums(g, p.d));
            }
        }
    }
}
