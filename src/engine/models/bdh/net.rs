//! The forward pass: a fused path for plain layers, and a composed one for gates, the paper's form, states and taps.

use super::{
    intervention::{ActivationEdit, AttentionInput, LayerOutput},
    spec::{BdhSpec, Form},
};
use crate::{
    models::prelude::*,
    nn::fused::{
        linear::linear_transposed,
        linear_attention::{linear_attention, past},
        norm::layer_norm,
    },
};

/// The epsilon of every norm.
const EPS: f64 = 1e-5;

/// LN without weights.
pub(super) fn ln(x: &Tensor) -> Result<Tensor> {
    layer_norm(x, None, None, EPS)
}

/// The weights that only BDH-GPU' has.
struct Gates {
    weight: Tensor, // (nh, D)
    bias: Tensor,   // (nh)
    merge: Tensor,  // (L)
}

/// The values that layers pass on in addition to v.
#[derive(Default)]
struct LayerCarry {
    /// The x of the layer before, in the forms that add it up.
    x: Option<Tensor>, // (B, nh, T, N)
    /// The output of the layer before, where a synapse from it is changed.
    written: Option<LayerOutput>,
}

/// A change of activations during the forward pass.
pub(super) enum ForwardChange {
    Nothing,
    /// Some of y is dropped, while training.
    Drop(Dropout),
    /// An edit of neurons or synapses.
    Edit(ActivationEdit),
}

impl ForwardChange {
    /// True if a synapse that ends in this layer is changed.
    fn has_edit_from(&self, layer: usize) -> bool {
        matches!(self, Self::Edit(ActivationEdit::Synapses(edit)) if edit.changes_layer(layer))
    }
}

/// The weights, one set for all layers, named as in the public code.
pub(super) struct BdhNet {
    pub(super) spec: BdhSpec,
    embed: Tensor,              // (V, D)
    encoder: Tensor,            // (nh, D, N), D_x
    encoder_v: Tensor,          // (nh, D, N), D_y
    decoder: Tensor,            // (n, D), E
    pub(super) lm_head: Tensor, // (D, V)
    gates: Option<Gates>,
}

impl BdhNet {
    pub(super) fn new(p: &mut Params, spec: &BdhSpec, vocab: usize) -> Result<Self> {
        let (d, h, n, std) = (spec.d_model, spec.heads, spec.per_head(), spec.init_std);
        Ok(Self {
            spec: spec.clone(),
            embed: p.normal("embed.weight", (vocab, d), std)?,
            encoder: p.normal("encoder", (h, d, n), std)?,
            encoder_v: p.normal("encoder_v", (h, d, n), std)?,
            decoder: p.normal("decoder", (h * n, d), std)?,
            lm_head: p.normal("lm_head", (d, vocab), std)?,
            gates: match spec.gated {
                true => Some(Gates {
                    weight: p.normal("gate.weight", (h, d), std)?,
                    // open by three quarters
                    bias: p.constant("gate.bias", h, 1.0)?,
                    merge: p.zeros("merge", spec.layers)?,
                }),
                false => None,
            },
        })
    }

    /// tokens `(B, T)` -> `(B, T, D)`, what the head reads. Offers `layers.l.x`, `layers.l.y`
    /// `(B, nh, T, N)` and `layers.l.v` `(B, T, D)`, the layer's input. A given state is read and then
    /// written to, without gradients through it. What `change` drops from y or does to neurons, every later weight sees.
    pub(super) fn encode(
        &self,
        tokens: &Tensor,
        tap: &mut Tap,
        mut state: Option<&mut State>,
        change: &ForwardChange,
    ) -> Result<Tensor> {
        let mut v = self.norm(&embedding(&self.embed, tokens)?)?; // (B,T,D)
        let mut carried = LayerCarry::default();
        let mut merged: Option<Tensor> = None;
        let mut encoders = None; // (2 nh, D, N), for all layers
        for layer in 0..self.spec.layers {
            tap.offer(&format!("layers.{layer}.v"), || Ok(v.clone()))?;
            // the one operation keeps its x and y to itself, and a change wants them
            let mut wrote = None;
            let read = if matches!(change, ForwardChange::Nothing) && self.fuses(layer, tap, state.is_some()) {
                let both = match encoders.take() {
                    Some(both) => both,
                    None => Tensor::cat(&[&self.encoder, &self.encoder_v], 0)?,
                };
                linear_attention(&v, encoders.insert(both), &self.decoder, self.spec.attention())?
            } else {
                let y = self.composed(layer, &v, &mut carried, tap, state.as_deref_mut(), change)?; // (B,T,n)
                let y = match change {
                    ForwardChange::Drop(drop) => drop.apply(&y, layer as u64)?,
                    ForwardChange::Nothing | ForwardChange::Edit(_) => y,
                };
                let read = linear_transposed(&y, &self.decoder)?;
                wrote = change.has_edit_from(layer + 1).then_some(y);
                read
            }; // (B,T,D)
            let sum = match self.spec.form {
                Form::Code | Form::Both | Form::FinalNorm => (&v + ln(&read)?)?,
                Form::Paper | Form::Normfree => read.clone(),
            };
            v = if self.spec.form == Form::FinalNorm { sum.clone() } else { self.norm(&sum)? };
            carried.written = wrote.map(|y| LayerOutput::new(y, &read, &sum, self.spec.form, EPS)).transpose()?;
            if let Some(gates) = &self.gates {
                let share = candle_nn::ops::softmax(&gates.merge, D::Minus1)?.narrow(0, layer, 1)?;
                let part = v.broadcast_mul(&share)?;
                merged = Some(match merged {
                    Some(sum) => (sum + part)?,
                    None => part,
                });
            }
        }
        if let Some(state) = state {
            state.at += tokens.dim(1)?;
        }
        self.normed(&merged.unwrap_or(v))
    }

    /// LN, or nothing in the form without norms.
    fn norm(&self, x: &Tensor) -> Result<Tensor> {
        if self.spec.form == Form::Normfree { Ok(x.clone()) } else { ln(x) }
    }

    /// The head's input from v: its norm in the form that has one at its end alone.
    pub(super) fn normed(&self, v: &Tensor) -> Result<Tensor> {
        if self.spec.form == Form::FinalNorm { ln(v) } else { Ok(v.clone()) }
    }

    /// True if the fused operation gives all that is wanted of this layer.
    fn fuses(&self, layer: usize, tap: &Tap, carries: bool) -> bool {
        let looked_at = tap.is_on() && ["x", "y"].iter().any(|part| tap.wants(&format!("layers.{layer}.{part}")));
        self.spec.form.is_fused() && self.gates.is_none() && !carries && !looked_at
    }

    /// v `(B, T, D)` and what the layer before hands on -> y `(B, T, n)`.
    fn composed(
        &self,
        layer: usize,
        v: &Tensor,
        carried: &mut LayerCarry,
        tap: &mut Tap,
        mut state: Option<&mut State>,
        change: &ForwardChange,
    ) -> Result<Tensor> {
        let (b, t, d) = v.dims3()?;
        let alone = v.unsqueeze(1)?; // (B,1,T,D)
        let mut x = alone.broadcast_matmul(&self.encoder.unsqueeze(0)?)?.relu()?; // (B,nh,T,N)
        if self.spec.form.accumulates_x() {
            if let Some(before) = carried.x.take() {
                x = (x + before)?;
            }
            carried.x = Some(x.clone());
        }
        if let ForwardChange::Edit(edit) = change {
            x = edit.activation(NeuronActivation::X, layer, x)?;
        }
        let open = match &self.gates {
            // (B,T,D) x (nh,D) -> (B,nh,T,1)
            Some(g) => {
                let open = v.reshape((b * t, d))?.matmul(&g.weight.t()?)?.broadcast_add(&g.bias)?;
                let open = candle_nn::ops::sigmoid(&open)?.reshape((b, t, self.spec.heads))?;
                Some(open.transpose(1, 2)?.unsqueeze(3)?)
            }
            None => None,
        };
        let values = match &open {
            Some(open) => alone.broadcast_mul(open)?,
            None => alone,
        };
        let before = state.as_ref().map(|s| (&s.layers[layer], s.at));
        let (mut a, after) = past(&x, &values, before, &self.spec.attention())?;
        if let (ForwardChange::Edit(ActivationEdit::Synapses(edit)), Some(written)) = (change, &carried.written) {
            let is_centred = self.spec.form != Form::Normfree;
            let attended = AttentionInput { x: &x, open: open.as_ref(), decoder: &self.decoder, is_centred };
            let mut none = vec![];
            let traces = state.as_mut().map_or(&mut none, |s| &mut s.traces);
            a = edit.attention(layer, a, written, &attended, traces)?;
        }
        if let (Some(state), Some(after)) = (state, after) {
            state.layers[layer] = after;
        }
        let a = self.norm(&a)?; // (B,nh,T,D)
        let mut y = (a.broadcast_matmul(&self.encoder_v.unsqueeze(0)?)?.relu()? * &x)?; // (B,nh,T,N)
        if let ForwardChange::Edit(edit) = change {
            y = edit.activation(NeuronActivation::Y, layer, y)?;
        }
        tap.offer(&format!("layers.{layer}.x"), || Ok(x))?;
        tap.offer(&format!("layers.{layer}.y"), || Ok(y.clone()))?;
        y.transpose(1, 2)?.reshape((b, t, self.spec.neurons))
    }
}
