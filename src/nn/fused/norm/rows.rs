//! Norms of rows and their way back, over slices, in the processor's widest vectors. The first slice
//! says how many rows; the others may be longer.

use pulp::{Arch, Simd, WithSimd};

use super::{
    super::{
        lanes,
        places::{Placewise, Plus, Times, TimesPlus, over},
    },
    Kind,
};

/// y <- x / sqrt(mean(x^2) + eps) w, or (x - mean) / sqrt(var + eps) w + b, rows as wide as w. weights: w, b.
pub fn forward(kind: Kind, y: &mut [f32], x: &[f32], weights: [&[f32]; 2], eps: f32) {
    Arch::new().dispatch(Forward { kind, y, x, weights, eps });
}

struct Forward<'a> {
    kind: Kind,
    y: &'a mut [f32],
    x: &'a [f32],
    weights: [&'a [f32]; 2],
    eps: f32,
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let d = self.weights[0].len();
        let size = TOGETHER * d;
        let (mut known, mut hats) = ([Hat::default(); TOGETHER], vec![0f32; size]);
        for (y, x) in self.y.chunks_mut(size).zip(self.x.chunks(size)) {
            for (hat, x) in known.iter_mut().zip(x.chunks_exact(d)) {
                *hat = Hat::of(simd, self.kind, x, self.eps);
            }
            for (hat, (hats, x)) in known.iter().zip(hats.chunks_exact_mut(d).zip(x.chunks_exact(d))) {
                over::<S, _, _, _, 1>(simd, [x], [hats], *hat);
            }
            results(simd, self.kind, y, &hats, self.weights);
        }
    }
}

/// y <- hat w [+ b], by rows.
#[inline(always)]
fn results<S: Simd>(simd: S, kind: Kind, y: &mut [f32], hats: &[f32], [w, b]: [&[f32]; 2]) {
    for (y, hats) in y.chunks_exact_mut(w.len()).zip(hats.chunks_exact(w.len())) {
        match kind {
            Kind::Rms => over::<S, _, _, _, 1>(simd, [hats, w], [y], Times),
            Kind::Layer => over::<S, _, _, _, 1>(simd, [hats, w, b], [y], TimesPlus),
        }
    }
}

/// Rows that are worked on together, one step of all after the other: each of a row's sums has to wait for the one
/// before.
const TOGETHER: usize = 16;

/// What is given on the way back: x, the gradient of the result, w and b; and, if dx is not all, what it is added to.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub x: &'a [f32],
    pub g: &'a [f32],
    pub weights: [&'a [f32]; 2],
    pub rest: Option<&'a [f32]>,
}

/// What is found: dx and, if there is room for it, the result again, which are written; dw and db, which are added to.
/// RMSNorm has no bias and leaves db.
pub struct Found<'a> {
    pub dx: &'a mut [f32],
    pub y: &'a mut [f32],
    pub dw: &'a mut [f32],
    pub db: &'a mut [f32],
}

pub fn back(kind: Kind, found: Found, given: Given, eps: f32) {
    Arch::new().dispatch(Back { kind, found, given, eps });
}

struct Back<'a> {
    kind: Kind,
    found: Found<'a>,
    given: Given<'a>,
    eps: f32,
}

impl WithSimd for Back<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { kind, found: Found { dx, y, dw, db }, given, eps } = self;
        let w = given.weights[0];
        let (d, size) = (w.len(), TOGETHER * w.len());
        let mut hats = vec![0f32; size];
        let mut known = [(Hat::default(), Through::default()); TOGETHER];
        for (i, dx) in dx.chunks_mut(size).enumerate() {
            let at = i * size..i * size + dx.len();
            let (x, g) = (&given.x[at.clone()], &given.g[at.clone()]);
            for ((hat, _), x) in known.iter_mut().zip(x.chunks_exact(d)) {
                *hat = Hat::of(simd, kind, x, eps);
            }
            let rows =
                dx.chunks_exact_mut(d).zip(hats.chunks_exact_mut(d)).zip(x.chunks_exact(d).zip(g.chunks_exact(d)));
            for ((hat, through), ((dx, hats), (x, g))) in known.iter_mut().zip(rows) {
                over::<S, _, _, _, 1>(simd, [x], [hats], *hat);
                over::<S, _, _, _, 1>(simd, [g, w], [dx], Times);
                let mean = match kind {
                    Kind::Rms => 0.0,
                    Kind::Layer => lanes::sum(simd, dx) / d as f32,
                };
                *through = Through { mean, pull: lanes::dot(simd, dx, hats) / d as f32, inv: hat.inv };
            }
            for ((_, through), ((dx, hats), g)) in
                known.iter().zip(dx.chunks_exact_mut(d).zip(hats.chunks_exact(d)).zip(g.chunks_exact(d)))
            {
                match kind {
                    Kind::Rms => over::<S, _, _, _, 1>(simd, [hats, g], [dx, &mut *dw], *through),
                    Kind::Layer => over::<S, _, _, _, 1>(simd, [hats, g], [dx, &mut *dw, &mut *db], *through),
                }
            }
            if let Some(rest) = given.rest {
                over::<S, _, _, _, 1>(simd, [&rest[at.clone()]], [dx], Plus);
            }
            if let Some(y) = y.get_mut(at) {
                results(simd, kind, y, &hats, given.weights);
            }
        }
    }
}

/// [x] -> [(x - mean) inv], where RMSNorm has no mean.
#[derive(Clone, Copy, Default)]
struct Hat {
    mean: f32,
    inv: f32,
}

impl Hat {
    /// The variance is of the differences, so that a large mean costs no digits.
    #[inline(always)]
    fn of<S: Simd>(simd: S, kind: Kind, x: &[f32], eps: f32) -> Self {
        let d = x.len() as f32;
        let mean = match kind {
            Kind::Rms => 0.0,
            Kind::Layer => lanes::sum(simd, x) / d,
        };
        Self { mean, inv: 1.0 / (lanes::squares_from(simd, x, mean) / d + eps).sqrt() }
    }
}

impl Placewise<1, 1> for Hat {
    #[inline(always)]
    fn at<S: Simd, const U: usize>(self, simd: S, [x]: [[S::f32s; U]; 1], _: [[S::f32s; U]; 1]) -> [[S::f32s; U]; 1] {
        let (mean, inv) = (simd.splat_f32s(self.mean), simd.splat_f32s(self.inv));
        [lanes::abreast::<S, U>(simd, |u| simd.mul_f32s(simd.sub_f32s(x[u], mean), inv))]
    }
}

/// [hat, g], in place with h = g w: [h, dw] -> [(h - mean - hat pull) inv, dw + g hat], and [.., db] -> [.., db + g]
#[derive(Clone, Copy, Default)]
struct Through {
    /// Of h, where a mean was taken away.
    mean: f32,
    /// The mean of h hat.
    pull: f32,
    inv: f32,
}

impl Placewise<2, 2> for Through {
    #[inline(always)]
    fn at<S: Simd, const U: usize>(
        self,
        simd: S,
        [hat, g]: [[S::f32s; U]; 2],
        [h, dw]: [[S::f32s; U]; 2],
    ) -> [[S::f32s; U]; 2] {
        let (pull, inv) = (simd.splat_f32s(-self.pull), simd.splat_f32s(self.inv));
        let h = lanes::abreast::<S, U>(simd, |u| simd.sub_f32s(h[u], simd.splat_f32s(self.mean)));
        [
            lanes::abreast::<S, U>(simd, |u| simd.mul_f32s(simd.mul_add_f32s(hat[u], pull, h[u]), inv)),
            lanes::abreast::<S, U>(simd, |u| simd.mul_add_f32s(g[u], hat[u], dw[u])),
        ]
    }
}

impl Placewise<2, 3> for Through {
    #[inline(always)]
    fn at<S: Simd, const U: usize>(
        self,
        simd: S,
        given: [[S::f32s; U]; 2],
        [h, dw, db]: [[S::f32s; U]; 3],
    ) -> [[S::f32s; U]; 3] {
        let [dx, dw] = self.at(simd, given, [h, dw]);
        [dx, dw, lanes::abreast::<S, U>(simd, |u| simd.add_f32s(db[u], given[1][u]))]
    }
}
