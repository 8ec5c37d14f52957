//! Half a layer on some rows: [rest +] f(norm(x)), f being attention or an MLP with both their maps.

use std::{borrow::Cow, sync::OnceLock};

use super::{
    super::{
        attention::fused as attention,
        matrix::{self, Map, View, filled},
        mlp::fused as mlp,
        norm::{Kind, Rows},
        packed::Packed,
        pool,
    },
    LayerSpec, Sizes, Style, cut, cut_mut, there,
};

pub struct Half<'a> {
    norm: Rows,
    norm_weights: [&'a [f32]; 2],
    qk_norms: Option<[&'a [f32]; 2]>,
    /// In, `(wide, D)`, and out, `(D, inner)`.
    maps: [&'a [f32]; 2],
    biases: [Option<&'a [f32]>; 2],
    sizes: Sizes,
    d: usize,
    wide: usize,
    inner: usize,
    body: Body,
}

enum Body {
    /// Of texts of this many tokens.
    Attention(attention::Op, usize),
    Mlp(mlp::Pass),
}

/// The maps of both halves, laid out for the way forward and for the way back when either is asked for.
#[derive(Debug, Default)]
pub struct Packs {
    forth: OnceLock<Vec<Packed>>,
    back: OnceLock<Vec<Packed>>,
}

impl Packs {
    /// `(D, wide)` and `(inner, D)` of each half, with their biases.
    pub fn forth<'a>(&'a self, halves: &[Half<'a>; 2]) -> [[Map<'a>; 2]; 2] {
        let packs = self.forth.get_or_init(|| laid_out(halves, View::t));
        [0, 1].map(|i| [0, 1].map(|j| Map::laid_out(&packs[2 * i + j], halves[i].biases[j])))
    }

    /// `(wide, D)` and `(D, inner)`.
    pub fn back<'a>(&'a self, halves: &[Half<'a>; 2]) -> [[Map<'a>; 2]; 2] {
        let packs = self.back.get_or_init(|| laid_out(halves, |view| view));
        [0, 1].map(|i| [0, 1].map(|j| Map::laid_out(&packs[2 * i + j], None)))
    }
}

/// In and out of the first half, in and out of the second; `(wide, D)` and `(D, inner)` as `way` turns them.
fn laid_out<'a>(halves: &[Half<'a>; 2], way: fn(View<'a>) -> View<'a>) -> Vec<Packed> {
    let views: Vec<_> = halves
        .iter()
        .flat_map(|h| [View::new(h.maps[0], h.wide, h.d), View::new(h.maps[1], h.d, h.inner)])
        .map(way)
        .collect();
    let mut packs: Vec<Option<Packed>> = views.iter().map(|_| None).collect();
    pool::run_on(&mut packs, 1, |i, pack| pack[0] = Some(Packed::new(views[i])));
    packs.into_iter().flatten().collect()
}

/// What the way back of some rows leaves for the gradients of the weights.
pub struct Left<'a> {
    /// The gradient of the result.
    g: Cow<'a, [f32]>,
    /// What the map out read.
    inner: Cow<'a, [f32]>,
    /// What the map in read, and the gradient of what it gave.
    h: Vec<f32>,
    dwide: Vec<f32>,
    /// Gradients of the norm's weight and bias, and of the QK norms.
    norm: [Vec<f32>; 2],
    qk_norms: Vec<f32>,
}

impl Left<'_> {
    pub fn into_owned(self) -> Left<'static> {
        Left { g: self.g.into_owned().into(), inner: self.inner.into_owned().into(), ..self }
    }
}

impl<'a> Half<'a> {
    /// Shape B, T, D; `keep` what the way back needs.
    pub fn attention(spec: &LayerSpec, [_, t, d]: [usize; 3], weights: &'a [f32], keep: bool) -> Self {
        let op = attention::Op::new(spec.attention, t, spec.qk_norms, keep);
        Self::new(spec, spec.sizes(d)[0], d, weights, Body::Attention(op, t))
    }

    pub fn mlp(spec: &LayerSpec, [_, _, d]: [usize; 3], weights: &'a [f32]) -> Self {
        let pass = mlp::Pass::of(mlp::Kind { act: spec.act, gated: spec.gated }, [d, spec.hidden, d]);
        Self::new(spec, spec.sizes(d)[1], d, weights, Body::Mlp(pass))
    }

    fn new(spec: &LayerSpec, sizes: Sizes, d: usize, weights: &'a [f32], body: Body) -> Self {
        let [nw, nb, w_in, b_in, q_norm, k_norm, w_out, b_out] = cut(weights, sizes);
        let kind = match spec.style {
            Style::Bare => Kind::Rms,
            Style::Biased => Kind::Layer,
        };
        Self {
            norm: Rows { kind, eps: spec.eps as f32 },
            norm_weights: [nw, nb],
            qk_norms: there(q_norm).map(|q| [q, k_norm]),
            maps: [w_in, w_out],
            biases: [there(b_in), there(b_out)],
            sizes,
            d,
            wide: w_in.len() / d,
            inner: w_out.len() / d,
            body,
        }
    }

    /// All its weights.
    pub fn len(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Values that this many rows keep: of attention what the map in gave, the result, and what it asks for itself;
    /// of an MLP what the map in gave.
    pub fn kept(&self, rows: usize) -> usize {
        match &self.body {
            Body::Attention(op, t) => rows * (self.wide + self.inner) + rows / t * op.kept(),
            Body::Mlp(_) => rows * self.wide,
        }
    }

    /// y <- [rest +] f(norm(x)), all `(n, D)`; attention takes whole texts. `kept` as [`Half::kept`] says.
    pub fn forward(&self, maps: &[Map; 2], x: &[f32], rest: Option<&[f32]>, y: &mut [f32], kept: &mut [f32]) {
        let h = self.norm.forward(x, self.norm_weights);
        match &self.body {
            Body::Attention(op, _) => {
                let n = x.len() / self.d;
                let (qkv, kept) = kept.split_at_mut(n * self.wide);
                let (found, kept) = kept.split_at_mut(n * self.inner);
                maps[0].by_rows(qkv, &h, None);
                op.go(attention::Given { qkv, norms: self.qk_norms }, kept, found);
                maps[1].by_rows(y, found, rest);
            }
            Body::Mlp(pass) => pass.forward(&h, maps, rest, kept, y),
        }
    }

    /// dx <- the gradient of x [+ rest] from g, that of the result, and what was kept.
    pub fn back<'g>(
        &self,
        maps: &[Map; 2],
        [x, g, kept]: [&'g [f32]; 3],
        rest: Option<&[f32]>,
        dx: &mut [f32],
    ) -> Left<'g> {
        let n = x.len() / self.d;
        let (mut inner, mut qk_norms) = (Cow::Borrowed(&[] as &[f32]), vec![]);
        let dwide = filled(n * self.wide, |dwide| match &self.body {
            Body::Attention(op, _) => {
                let (qkv, kept) = kept.split_at(n * self.wide);
                let (y, kept) = kept.split_at(n * self.inner);
                let dy = filled(n * self.inner, |dy| maps[1].by_rows(dy, g, None));
                qk_norms = op.back(attention::Given { qkv, norms: self.qk_norms }, kept, [y, &dy], dwide);
                inner = y.into();
            }
            Body::Mlp(pass) => {
                inner = filled(n * self.inner, |inner| pass.back(g, &maps[1], kept, [inner, dwide])).into();
            }
        });
        let dh = filled(n * self.d, |dh| maps[0].by_rows(dh, &dwide, None));
        let mut norm = [vec![], vec![]];
        let h = filled(x.len(), |h| norm = self.norm.back([dx, h], [x, &dh], self.norm_weights, rest));
        Left { g: g.into(), inner, h, dwide, norm, qk_norms }
    }

    /// dw <- what rows add to the gradients of the weights, in order, or += it.
    pub fn add(&self, dw: &mut [f32], all: &[Left], add: bool) {
        let [dnw, dnb, dw_in, db_in, dq_norm, dk_norm, dw_out, db_out] = cut_mut(dw, self.sizes);
        let out: Vec<[&[f32]; 2]> = all.iter().map(|left| [&*left.g, &*left.inner]).collect();
        let into: Vec<[&[f32]; 2]> = all.iter().map(|left| [&left.dwide[..], &left.h]).collect();
        matrix::over_pieces(dw_out, [self.d, self.inner], &out, add);
        matrix::over_pieces(dw_in, [self.wide, self.d], &into, add);
        for (at, left) in all.iter().enumerate() {
            let set = |to: &mut [f32], from: &[f32]| {
                if add || at > 0 {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
                } else {
                    to.copy_from_slice(&from[..to.len()]);
                }
            };
            set(dnw, &left.norm[0]);
            set(dnb, &left.norm[1]);
            set(dq_norm, &left.qk_norms);
            set(dk_norm, left.qk_norms.get(dq_norm.len()..).unwrap_or_default());
            if !db_in.is_empty() {
                set(db_in, &matrix::column_sums(&left.dwide, self.wide));
                set(db_out, &matrix::column_sums(&left.g, self.d));
            }
        }
    }
}
