//! Attention as a part of a block: what every variant offers, with one variant per file. A new variant is one file with an
//! [`Attention`] in it and a line in the list of all attentions, over which tests loop; the block that it is plugged into
//! does not change.

mod cache;
mod differential;
mod evolution;
mod gated_linear;
mod grouped_query;
mod packed;
mod projections;

use std::sync::Arc;

use candle_core::{Result, Tensor, bail};

pub use cache::KeyValueCache;
pub use differential::DifferentialSpec;
pub use evolution::{Evolution, EvolutionSpec};
pub use gated_linear::{DecayKind, GatedLinearSpec, effective_memory};
pub use grouped_query::GroupedQuerySpec;

use super::{
    Params, Tap,
    fused::{
        attention::{self, AttentionSpec, ScoreBias},
        evolution::EvolutionSizes,
    },
};

/// Declares the list of all attentions, one `module::Type` a line, where each type has a `TINY`: its options at the sizes
/// of tests.
macro_rules! attentions {
    ($($module:ident::$attention:ident),+ $(,)?) => {
        $(pub use $module::$attention;)+
        $(impl ListedAttention for $attention {})+

        /// All attentions, each with its options at the sizes of tests.
        pub const ALL: &[&[TinyAttention]] = &[$($attention::TINY),+];
    };
}

attentions! {
    packed::PackedAttention,
    grouped_query::GroupedQueryAttention,
    differential::DifferentialAttention,
    gated_linear::GatedLinearAttention,
}

/// Marks an attention that is in [`ALL`]. The list implements it, so that an attention of this crate that is not tested
/// does not compile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is missing from the list of attentions",
    note = "add it to `attentions!` in src/engine/nn/attention/mod.rs"
)]
pub trait ListedAttention {}

/// The width D of [`TinyAttention`].
pub const TINY_WIDTH: usize = 16;

/// An attention at the sizes of tests.
#[derive(Clone, Copy)]
pub struct TinyAttention {
    /// The attention and the options that it has, such as `packed, ALiBi`.
    pub name: &'static str,
    /// Builds the attention with parameters whose names begin with `attn`.
    pub build: fn(&mut Params) -> Result<Arc<dyn Attention>>,
}

impl TinyAttention {
    /// An attention of this name, made by `build`.
    pub const fn new(name: &'static str, build: fn(&mut Params) -> Result<Arc<dyn Attention>>) -> Self {
        Self { name, build }
    }
}

/// Errors: a window of 0.
fn check_window(window: Option<usize>) -> Result<()> {
    ensure!(window != Some(0), "an attention window of 0 sees nothing; use 1 or more, or none");
    Ok(())
}

/// [`attention::attend`]; where the tap wants the weights at `path`, it is offered what `offered` makes of them.
fn attend(
    qkv: &Tensor,
    norms: Option<[&Tensor; 2]>,
    spec: AttentionSpec,
    tap: &mut Tap,
    path: &str,
    offered: impl FnOnce(Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if !tap.wants(path) {
        return attention::attend(qkv, norms, spec);
    }
    let (y, weights) = attention::reference(qkv, norms, spec)?;
    tap.offer(path, || offered(weights))?;
    Ok(y)
}

/// Causal attention from a normalised state to what is added to the residual stream.
pub trait Attention: ListedAttention + std::fmt::Debug + Send + Sync {
    /// x `(B, T, D)` -> `(B, T, D)`. Offers the weights `(B, H, T, T)` to the tap at `path`, if it has weights that sum
    /// to 1; where the tap wants them, they are computed even if the output does not need them as a tensor.
    fn forward(&self, x: &Tensor, tap: &mut Tap, path: &str) -> Result<Tensor>;

    /// The next token of a text whose earlier ones are in the cache, without gradients: x `(B, 1, D)` -> `(B, 1, D)`. An
    /// error of a variant that cannot read so.
    fn read_next(&self, _x: &Tensor, _cache: &mut KeyValueCache) -> Result<Tensor> {
        bail!("this attention reads whole texts only")
    }

    /// Same as [`Attention::forward`], for the tokens after those in the cache, which takes them in; gradients end at
    /// what it held, and the bias of the scores, which is made where there is none yet. An error of a variant that
    /// cannot continue so.
    fn forward_after(&self, _x: &Tensor, _cache: &mut KeyValueCache, _bias: &mut Option<ScoreBias>) -> Result<Tensor> {
        bail!("this attention begins every text anew")
    }

    /// The evolution of queries and keys before they are scored, if there is one.
    fn evolution(&self) -> Option<&Evolution> {
        None
    }

    /// The inputs of the fused block operation for this attention; `None` for a variant that the operation does not
    /// support, whose block then is several operations.
    fn fused(&self) -> Option<FusedAttention<'_>> {
        None
    }
}

/// The attention weights and options in the form that [`fused::layer`](super::fused::layer) takes.
pub struct FusedAttention<'a> {
    /// Sizes and switches of the attention.
    pub spec: AttentionSpec,
    /// True if queries and keys are normalised.
    pub qk_norms: bool,
    /// The evolution of queries and keys, if there is one.
    pub evolution: Option<EvolutionSizes>,
    /// True if the linear maps have biases.
    pub has_biases: bool,
    /// Weights in the order of [`LayerSpec`](super::fused::layer::LayerSpec).
    pub weights: Vec<&'a Tensor>,
}
