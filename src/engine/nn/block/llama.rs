//! The block of LLaMA-like models: RMSNorm, grouped-query attention with QK-norms and rotary embedding, an
//! MLP without biases.

use std::sync::Arc;

use candle_core::Result;

use super::Block;
use crate::nn::{
    Params,
    attention::{Attention, GroupedQueryAttention, GroupedQuerySpec},
    layers::Norm,
    mlp::{MlpKind, UnbiasedMlp},
};

/// Sizes of one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LlamaBlockSpec {
    /// Width D of the states.
    pub d_model: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of key and value heads.
    pub kv_heads: usize,
    /// Query t sees keys t-window+1..=t; `None` sees the whole past.
    pub window: Option<usize>,
    /// Hidden units of the MLP.
    pub hidden: usize,
    /// The kind of MLP.
    pub mlp: MlpKind,
    /// The number of times a forward pass adds to the residual stream (two a block).
    pub writers: usize,
}

/// Parameters `<path>.norm1.weight`, `<path>.attn.wq.weight`, and so on. Errors name the size that does not
/// fit.
pub fn llama_block(params: &mut Params, path: &str, s: &LlamaBlockSpec) -> Result<Block> {
    let attention = GroupedQuerySpec {
        d_model: s.d_model,
        heads: s.heads,
        kv_heads: s.kv_heads,
        window: s.window,
        qk_norms: true,
        rotary: true,
        writers: s.writers,
    };
    llama_block_with(params, path, s, |params, path| {
        Ok(Arc::new(GroupedQueryAttention::new(params, path, &attention)?))
    })
}

/// A Llama block around an attention that `make` builds from its path; the heads and window in `s` are not read.
pub fn llama_block_with(
    params: &mut Params,
    path: &str,
    s: &LlamaBlockSpec,
    make: impl FnOnce(&mut Params, &str) -> Result<Arc<dyn Attention>>,
) -> Result<Block> {
    let norm1 = Norm::rms(params, &format!("{path}.norm1"), s.d_model)?;
    let attention = make(params, &format!("{path}.attn"))?;
    let norm2 = Norm::rms(params, &format!("{path}.norm2"), s.d_model)?;
    let mlp = UnbiasedMlp::new(params, &format!("{path}.mlp"), (s.d_model, s.hidden), s.mlp, s.writers)?;
    Ok(Block::new(path, norm1, attention, norm2, mlp))
}
