//! The layer of GPT-2: affine LayerNorm before attention and before a GELU MLP, biases everywhere, one
//! product for queries, keys and values, no rotation. `layers` has the block with RMSNorm instead.
//!
//! Initial weights as in `layers`; biases are zero.

use candle_core::{Result, Tensor};

use super::{
    Params, Tap,
    fused::{
        add_row::add_row,
        attention::{AttentionSpec, plain, plain_alibi, plain_alibi_reference, plain_reference},
        axpy::axpy,
        layer::{self, FlatWeights, LayerSpec, Style, flatten, layer, slope, step},
        linear::linear_biased,
        mlp::{self, Act, BiasedWeights},
        norm::layer_norm,
        scaled_add::scaled_add,
    },
    layers::{input_proj, residual_out_proj},
};

/// Of every LayerNorm, PyTorch's.
pub const EPS: f64 = 1e-5;

/// An affine LayerNorm.
#[derive(Debug, Clone)]
pub struct Norm {
    weight: Tensor, // (D)
    bias: Tensor,   // (D)
}

impl Norm {
    /// Parameters `<path>.weight`, `<path>.bias`.
    pub fn new(params: &mut Params, path: &str, d_model: usize) -> Result<Self> {
        Ok(Self {
            weight: params.ones(&format!("{path}.weight"), d_model)?,
            bias: params.zeros(&format!("{path}.bias"), d_model)?,
        })
    }

    /// `(.., D)` -> `(.., D)`
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        layer_norm(x, Some(&self.weight), Some(&self.bias), EPS)
    }

    pub fn detach(&self) -> Self {
        Self { weight: self.weight.detach(), bias: self.bias.detach() }
    }
}

/// A linear map with a bias.
#[derive(Debug, Clone)]
pub struct Affine {
    weight: Tensor, // (O, I)
    bias: Tensor,   // (O)
}

impl Affine {
    /// Reads the residual stream. Parameters `<path>.weight`, `<path>.bias`.
    pub fn input_proj(params: &mut Params, path: &str, outputs: usize, inputs: usize) -> Result<Self> {
        let weight = input_proj(params, &format!("{path}.weight"), outputs, inputs)?;
        Ok(Self { weight, bias: params.zeros(&format!("{path}.bias"), outputs)? })
    }

    /// Adds to the residual stream, as one of `writers`.
    pub fn residual_out_proj(params: &mut Params, path: &str, shape: (usize, usize), writers: usize) -> Result<Self> {
        let weight = residual_out_proj(params, &format!("{path}.weight"), shape, writers)?;
        Ok(Self { weight, bias: params.zeros(&format!("{path}.bias"), shape.0)? })
    }

    /// `(.., I)` -> `(.., O)`
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        linear_biased(x, &self.weight, &self.bias)
    }

    pub fn detach(&self) -> Self {
        Self { weight: self.weight.detach(), bias: self.bias.detach() }
    }
}

/// ln1, attention, ln2, MLP: one after the other with residuals, or side by side as a field.
#[derive(Debug, Clone)]
pub struct Layer {
    path: String,
    ln1: Norm,
    qkv: Affine,  // (3 D, D)
    proj: Affine, // (D, D)
    heads: usize,
    /// Whether scores fall with distance (ALiBi).
    alibi: bool,
    ln2: Norm,
    mlp: BiasedWeights,
    /// The weights as they are trained, if they were gathered.
    gathered: Option<FlatWeights>,
}

impl Layer {
    /// Parameters `<path>.ln1.*`, `<path>.attn.{qkv,proj}.*`, `<path>.ln2.*`, `<path>.mlp.{up,down}.*`.
    /// `writers`: how many times a forward pass adds to the residual stream, two a layer.
    pub fn new(params: &mut Params, path: &str, d_model: usize, heads: usize, writers: usize) -> Result<Self> {
        if heads == 0 || !d_model.is_multiple_of(heads) {
            candle_core::bail!("d_model {d_model} must be a multiple of heads {heads}");
        }
        let d = d_model;
        let at = |name: &str| format!("{path}.{name}");
        Ok(Self {
            path: path.to_owned(),
            ln1: Norm::new(params, &at("ln1"), d)?,
            qkv: Affine::input_proj(params, &at("attn.qkv"), 3 * d, d)?,
            proj: Affine::residual_out_proj(params, &at("attn.proj"), (d, d), writers)?,
            heads,
            alibi: false,
            ln2: Norm::new(params, &at("ln2"), d)?,
            mlp: {
                let up = Affine::input_proj(params, &at("mlp.up"), 4 * d, d)?;
                let down = Affine::residual_out_proj(params, &at("mlp.down"), (d, 4 * d), writers)?;
                BiasedWeights { up: up.weight, up_bias: up.bias, down: down.weight, down_bias: down.bias }
            },
            gathered: None,
        })
    }

    /// The same with ALiBi, for models without positions.
    pub fn with_alibi(self) -> Self {
        Self { alibi: true, ..self }
    }

    /// For the slopes of a step, all of this scale: with the weights laid out once.
    pub fn gathered(&self, scale: &Tensor) -> Result<Self> {
        Ok(Self { gathered: Some(self.gather(Some(scale))?.with_shared_packing()), ..self.clone() })
    }

    /// x += Attn(LN1 x); x += MLP(LN2 x). `(B, T, D)` -> `(B, T, D)`. Offers `<path>.attn.weights`,
    /// `(B, H, T, T)`.
    pub fn forward(&self, x: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        if self.learns(x, tap) {
            return layer(x, &self.gather(None)?, self.spec()?);
        }
        let x = (x + self.attention(x, tap)?)?;
        &x + self.transition(&x)?
    }

    /// scale (Attn(LN1 x') + MLP(LN2 x')) with x' = x + row, what a field makes of a state. x `(B, T, D)`, row
    /// `(B or 1, 1, D)`, scale `()` -> `(B, T, D)`. Offers as [`Layer::forward`].
    pub fn slope(&self, x: &Tensor, row: &Tensor, scale: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        if self.learns(x, tap) {
            return slope(x, row, &self.scaled(scale)?, self.spec()?);
        }
        let x = add_row(x, row)?;
        scaled_add(&self.attention(&x, tap)?, &self.transition(&x)?, scale)
    }

    /// x + h [`Layer::slope`].
    pub fn step(&self, x: &Tensor, row: &Tensor, scale: &Tensor, h: f64) -> Result<Tensor> {
        if self.learns(x, &Tap::off()) {
            return step(x, row, &self.scaled(scale)?, self.spec()?, h);
        }
        axpy(x, &self.slope(x, row, scale, &mut Tap::off())?, h)
    }

    /// The weights with this scale, gathered now if they were not.
    fn scaled(&self, scale: &Tensor) -> Result<FlatWeights> {
        match &self.gathered {
            Some(gathered) => Ok(gathered.clone()),
            None => self.gather(Some(scale)),
        }
    }

    /// Whether the way back will be asked for, so that a layer is worth one operation.
    fn learns(&self, x: &Tensor, tap: &Tap) -> bool {
        !tap.is_on() && layer::suits(x) && (x.track_op() || self.qkv.weight.track_op())
    }

    /// The weights in the order of [`LayerSpec`], and what comes after them.
    fn gather(&self, end: Option<&Tensor>) -> Result<FlatWeights> {
        let BiasedWeights { up, up_bias, down, down_bias } = &self.mlp;
        let (ln1, ln2, qkv, proj) = (&self.ln1, &self.ln2, &self.qkv, &self.proj);
        let attention = [&ln1.weight, &ln1.bias, &qkv.weight, &qkv.bias, &proj.weight, &proj.bias];
        let mlp = [&ln2.weight, &ln2.bias, up, up_bias, down, down_bias];
        flatten(&attention.into_iter().chain(mlp).chain(end).collect::<Vec<_>>())
    }

    fn spec(&self) -> Result<LayerSpec> {
        let d_model = self.ln1.weight.dims1()?;
        Ok(LayerSpec {
            style: Style::LayerNormBias,
            eps: EPS,
            attention: AttentionSpec { alibi: self.alibi, ..AttentionSpec::plain(d_model, self.heads) },
            qk_norms: false,
            act: Act::Gelu,
            gated: false,
            hidden: self.mlp.up.dim(0)?,
        })
    }

    fn attention(&self, x: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let qkv = self.qkv.forward(&self.ln1.forward(x)?)?; // (B,T,3D)
        let path = if tap.is_on() { format!("{}.attn.weights", self.path) } else { String::new() };
        let y = if tap.wants(&path) {
            let found = if self.alibi { plain_alibi_reference } else { plain_reference };
            let (y, weights) = found(&qkv, self.heads)?;
            tap.offer(&path, || Ok(weights))?;
            y
        } else if self.alibi {
            plain_alibi(&qkv, self.heads)?
        } else {
            plain(&qkv, self.heads)?
        };
        self.proj.forward(&y)
    }

    fn transition(&self, x: &Tensor) -> Result<Tensor> {
        mlp::biased_mlp(&self.ln2.forward(x)?, &self.mlp, Act::Gelu)
    }

    /// The same weights (shared, so they follow training) with no part in gradients.
    pub fn detach(&self) -> Self {
        let BiasedWeights { up, up_bias, down, down_bias } = &self.mlp;
        Self {
            path: self.path.clone(),
            ln1: self.ln1.detach(),
            qkv: self.qkv.detach(),
            proj: self.proj.detach(),
            heads: self.heads,
            alibi: self.alibi,
            ln2: self.ln2.detach(),
            mlp: BiasedWeights {
                up: up.detach(),
                up_bias: up_bias.detach(),
                down: down.detach(),
                down_bias: down_bias.detach(),
            },
            gathered: None,
        }
    }
}
