//! One sublayer on some rows: [residual +] f(norm(x)), f being attention or an MLP with its two linear maps.

use std::{borrow::Cow, sync::OnceLock};

use super::{
    super::{
        attention::cpu as attention,
        evolution::rows::Kernel,
        mlp::cpu as mlp,
        norm::{NormKind, RowNorm},
    },
    LayerSpec, LayerStyle, WeightSizes, non_empty,
};
use crate::{
    buffers::{build_vec, split, split_mut},
    matmul::{self, LinearWeight},
    matrix::View,
    packed::Packed,
    reduce, threads,
};

pub struct Sublayer<'a> {
    norm: RowNorm,
    norm_weights: [&'a [f32]; 2],
    qk_norms: Option<[&'a [f32]; 2]>,
    /// Input projection `(projection_width, D)` and output projection `(D, inner)`.
    maps: [&'a [f32]; 2],
    biases: [Option<&'a [f32]>; 2],
    sizes: WeightSizes,
    d: usize,
    /// Rows of the input projection: of queries, keys and values together, or of gate and up.
    projection_width: usize,
    inner: usize,
    body: Body,
}

enum Body {
    /// Attention over texts of this many tokens, after the evolution of queries and keys, if there is one.
    Attention(attention::Op, usize, Option<Box<Kernel>>),
    Mlp(mlp::MlpKernel),
}

/// The projections of both sublayers, packed for forward and for backward when first needed.
#[derive(Debug, Default)]
pub struct PackedWeights {
    forward: OnceLock<Vec<Packed>>,
    backward: OnceLock<Vec<Packed>>,
}

impl PackedWeights {
    /// Weights for the forward pass: `(D, projection_width)` and `(inner, D)` of each sublayer, with their biases.
    pub fn forward<'a>(&'a self, sublayers: &[Sublayer<'a>; 2]) -> [[LinearWeight<'a>; 2]; 2] {
        let packed = self.forward.get_or_init(|| pack_all(sublayers, View::t));
        [0, 1].map(|i| [0, 1].map(|j| LinearWeight::from_packed(&packed[2 * i + j], sublayers[i].biases[j])))
    }

    /// Weights for the backward pass: `(projection_width, D)` and `(D, inner)` of each sublayer.
    pub fn backward<'a>(&'a self, sublayers: &[Sublayer<'a>; 2]) -> [[LinearWeight<'a>; 2]; 2] {
        let packed = self.backward.get_or_init(|| pack_all(sublayers, |view| view));
        [0, 1].map(|i| [0, 1].map(|j| LinearWeight::from_packed(&packed[2 * i + j], None)))
    }
}

/// Packs input and output projection of the first and of the second sublayer; `orient` transposes them or not.
fn pack_all<'a>(sublayers: &[Sublayer<'a>; 2], orient: fn(View<'a>) -> View<'a>) -> Vec<Packed> {
    let views: Vec<_> = sublayers
        .iter()
        .flat_map(|h| [View::new(h.maps[0], h.projection_width, h.d), View::new(h.maps[1], h.d, h.inner)])
        .map(orient)
        .collect();
    threads::map(views.len(), |i| Packed::new(views[i]))
}

/// The inputs of the weight gradients that the backward of some rows leaves.
pub struct WeightGradInputs<'a> {
    /// The gradient of the result.
    g: Cow<'a, [f32]>,
    /// The input of the output projection.
    inner: Cow<'a, [f32]>,
    /// The input of the input projection, and the gradient of its output.
    h: Vec<f32>,
    dproj: Vec<f32>,
    /// Gradients of the norm weight and bias, and of the QK norms.
    norm: [Vec<f32>; 2],
    qk_norms: Vec<f32>,
    /// Gradients of the evolution's f and tau.
    evolution: Vec<f32>,
}

impl WeightGradInputs<'_> {
    pub fn into_owned(self) -> WeightGradInputs<'static> {
        WeightGradInputs { g: self.g.into_owned().into(), inner: self.inner.into_owned().into(), ..self }
    }
}

impl<'a> Sublayer<'a> {
    /// A sublayer for inputs of shape B, T, D; `needs_backward`: whether forward saves the inputs of backward.
    pub fn attention(spec: &LayerSpec, [_, t, d]: [usize; 3], weights: &'a [f32], needs_backward: bool) -> Self {
        let op = attention::Op::new(spec.attention, t, spec.qk_norms, needs_backward);
        let sizes = spec.sizes(d)[0];
        let [_, _, _, _, _, _, f, tau, _, _] = split(weights, sizes);
        let evolution = spec.evolution.map(|evolution| Box::new(Kernel::new(evolution, f, tau, needs_backward)));
        Self::new(spec, sizes, d, weights, Body::Attention(op, t, evolution))
    }

    pub fn mlp(spec: &LayerSpec, [_, _, d]: [usize; 3], weights: &'a [f32]) -> Self {
        let kernel = mlp::MlpKernel::from_sizes(mlp::MlpForm { act: spec.act, gated: spec.gated }, [d, spec.hidden, d]);
        Self::new(spec, spec.sizes(d)[1], d, weights, Body::Mlp(kernel))
    }

    fn new(spec: &LayerSpec, sizes: WeightSizes, d: usize, weights: &'a [f32], body: Body) -> Self {
        let [nw, nb, w_in, b_in, q_norm, k_norm, _, _, w_out, b_out] = split(weights, sizes);
        let kind = match spec.style {
            LayerStyle::RmsNoBias => NormKind::Rms,
            LayerStyle::LayerNormBias => NormKind::Layer,
        };
        Self {
            norm: RowNorm { kind, eps: spec.eps as f32 },
            norm_weights: [nw, nb],
            qk_norms: non_empty(q_norm).map(|q| [q, k_norm]),
            maps: [w_in, w_out],
            biases: [non_empty(b_in), non_empty(b_out)],
            sizes,
            d,
            projection_width: w_in.len() / d,
            inner: w_out.len() / d,
            body,
        }
    }

    /// Number of all its weights.
    pub fn len(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Number of values that this many rows save for backward.
    pub fn saved_len(&self, rows: usize) -> usize {
        self.saved_parts(rows).iter().sum()
    }

    /// Lengths of what this many rows save for backward: the output of the input projection, of attention evolved if it
    /// does; of attention alone the result, what the evolution saves, and what attention itself saves.
    fn saved_parts(&self, rows: usize) -> [usize; 4] {
        let projection_width = rows * self.projection_width;
        match &self.body {
            Body::Attention(op, t, evolution) => {
                let of_evolution = evolution.as_ref().map_or(0, |e| e.saved_len(rows));
                [projection_width, rows * self.inner, of_evolution, rows / t * op.saved_len()]
            }
            Body::Mlp(_) => [projection_width, 0, 0, 0],
        }
    }

    /// y = [residual +] f(norm(x)), all `(n, D)`; attention takes complete texts. `saved` has [`Sublayer::saved_len`] values.
    pub fn forward(
        &self,
        maps: &[LinearWeight; 2],
        x: &[f32],
        residual: Option<&[f32]>,
        y: &mut [f32],
        saved: &mut [f32],
    ) {
        let h = self.norm.forward(x, self.norm_weights);
        match &self.body {
            Body::Attention(op, _, evolution) => {
                let [qkv, found, starts, saved] = split_mut(saved, self.saved_parts(x.len() / self.d));
                maps[0].matmul_rows(qkv, &h, None);
                if let Some(evolution) = evolution {
                    evolution.save(qkv, starts);
                    evolution.evolve(qkv);
                }
                op.forward_all(attention::Inputs { qkv, norms: self.qk_norms }, saved, found);
                maps[1].matmul_rows(y, found, residual);
            }
            Body::Mlp(kernel) => kernel.forward(&h, maps, residual, saved, y),
        }
    }

    /// dx = the gradient of x [+ residual], given g, that of the result, and what was saved.
    pub fn backward<'g>(
        &self,
        maps: &[LinearWeight; 2],
        [x, g, saved]: [&'g [f32]; 3],
        residual: Option<&[f32]>,
        dx: &mut [f32],
    ) -> WeightGradInputs<'g> {
        let n = x.len() / self.d;
        let (mut inner, mut qk_norms, mut of_evolution) = (Cow::Borrowed(&[] as &[f32]), vec![], vec![]);
        let dproj = build_vec(n * self.projection_width, |dproj| match &self.body {
            Body::Attention(op, _, evolution) => {
                let [qkv, y, starts, saved] = split(saved, self.saved_parts(n));
                let dy = build_vec(n * self.inner, |dy| maps[1].matmul_rows(dy, g, None));
                qk_norms = op.backward_all(attention::Inputs { qkv, norms: self.qk_norms }, saved, [y, &dy], dproj);
                if let Some(evolution) = evolution {
                    of_evolution = evolution.backward(dproj, starts);
                }
                inner = y.into();
            }
            Body::Mlp(kernel) => {
                inner = build_vec(n * self.inner, |inner| kernel.backward(g, &maps[1], saved, [inner, dproj])).into();
            }
        });
        let dh = build_vec(n * self.d, |dh| maps[0].matmul_rows(dh, &dproj, None));
        let mut norm = [vec![], vec![]];
        let h = build_vec(x.len(), |h| norm = self.norm.backward([dx, h], [x, &dh], self.norm_weights, residual));
        WeightGradInputs { g: g.into(), inner, h, dproj, norm, qk_norms, evolution: of_evolution }
    }

    /// dw becomes the gradients of the weights, summed over `all` in order, or, to accumulate, is added to.
    pub fn weight_grads(&self, dw: &mut [f32], all: &[WeightGradInputs], accumulate: bool) {
        let [dnw, dnb, dw_in, db_in, dq_norm, dk_norm, df, dtau, dw_out, db_out] = split_mut(dw, self.sizes);
        let out: Vec<[&[f32]; 2]> = all.iter().map(|grads_in| [&*grads_in.g, &*grads_in.inner]).collect();
        let into: Vec<[&[f32]; 2]> = all.iter().map(|grads_in| [&grads_in.dproj[..], &grads_in.h]).collect();
        matmul::weight_grad_accumulate(dw_out, [self.d, self.inner], &out, accumulate);
        matmul::weight_grad_accumulate(dw_in, [self.projection_width, self.d], &into, accumulate);
        for (at, grads_in) in all.iter().enumerate() {
            let set = |to: &mut [f32], from: &[f32]| {
                if accumulate || at > 0 {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
                } else {
                    to.copy_from_slice(&from[..to.len()]);
                }
            };
            set(dnw, &grads_in.norm[0]);
            set(dnb, &grads_in.norm[1]);
            set(dq_norm, &grads_in.qk_norms);
            set(dk_norm, grads_in.qk_norms.get(dq_norm.len()..).unwrap_or_default());
            set(df, &grads_in.evolution);
            set(dtau, grads_in.evolution.get(df.len()..).unwrap_or_default());
            if !db_in.is_empty() {
                set(db_in, &reduce::column_sums(&grads_in.dproj, self.projection_width));
                set(db_out, &reduce::column_sums(&grads_in.g, self.d));
            }
        }
    }
}
