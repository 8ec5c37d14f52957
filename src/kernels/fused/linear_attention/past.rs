//! Linear attention over past tokens as a composition: among the tokens given in the parallel form, and over all before
//! them through a recurrent state, a_t = q_t^T S, then S <- U (S + q_t v_t^T).

use candle_core::{Result, Tensor};

use super::{LinearAttentionSpec, decays, rotate};

/// The product of the query of each token with the key of each token before it, q = k = x turned by position, neither
/// scaled nor normalised: x `(B, H, T, N)` -> `(B, H, T, T)`, exactly 0 where the key is not before the query.
pub fn query_key_products(x: &Tensor, spec: &LinearAttentionSpec) -> Result<Tensor> {
    let q = if spec.rotary { rotate(x, 0, spec)? } else { x.clone() };
    seen(&q, &q, spec)
}

/// q k^T `(B, H, T, T)` of the tokens before each, decayed by how far they are apart.
fn seen(q: &Tensor, k: &Tensor, spec: &LinearAttentionSpec) -> Result<Tensor> {
    let (_, heads, t, _) = q.dims4()?;
    let products = q.matmul(&k.t()?)?;
    if !spec.damped {
        let before = (Tensor::tril2(t, q.dtype(), q.device())? - Tensor::eye(t, q.dtype(), q.device())?)?;
        return products.broadcast_mul(&before);
    }
    let kept = |d: f32, i: usize| if i % t < i / t { d.powi((i / t - i % t) as i32) } else { 0.0 };
    let all: Vec<f32> =
        decays(heads).iter().flat_map(|d| (0..t * t).map(|i| kept(*d, i)).collect::<Vec<_>>()).collect();
    products.broadcast_mul(&Tensor::from_vec(all, (heads, t, t), q.device())?.to_dtype(q.dtype())?)
}

/// x `(B, H, T, N)`, values `(B, 1 or H, T, D)` -> `(B, H, T, D)`, not yet normalised. `before`: a state
/// `(B, H, N, D)` and the number of tokens it summarises; the state after these tokens is returned, detached.
pub fn past(
    x: &Tensor,
    values: &Tensor,
    before: Option<(&Tensor, usize)>,
    spec: &LinearAttentionSpec,
) -> Result<(Tensor, Option<Tensor>)> {
    let (_, heads, t, _) = x.dims4()?;
    let q = if spec.rotary { rotate(x, before.map_or(0, |(_, at)| at), spec)? } else { x.clone() };
    let (k, values) = if spec.through_past { (q.clone(), values.clone()) } else { (q.detach(), values.detach()) };
    let decays = if spec.damped { decays(heads) } else { vec![1.0; heads] };
    let table = |left: &dyn Fn(f32, usize) -> f32, n: usize| {
        let all: Vec<f32> = decays.iter().flat_map(|d| (0..n).map(|i| left(*d, i)).collect::<Vec<_>>()).collect();
        Tensor::from_vec(all, (heads, n), x.device())?.to_dtype(x.dtype())
    };
    let found = seen(&q, &k, spec)?.broadcast_matmul(&values)?; // (B,H,T,D)
    let Some((state, _)) = before else { return Ok((found, None)) };
    // token i lies i tokens after the initial state and T - i tokens before the final one
    let column = |left: &dyn Fn(f32, usize) -> f32| table(left, t)?.reshape((heads, t, 1));
    let of_state = q.broadcast_mul(&column(&|d, i| d.powi(i as i32))?)?.matmul(state)?;
    let keys = k.detach().broadcast_mul(&column(&|d, i| d.powi((t - i) as i32))?)?;
    let fresh = keys.t()?.contiguous()?.broadcast_matmul(&values.detach())?; // (B,H,N,D)
    let kept = match spec.damped {
        true => state.broadcast_mul(&table(&|d, _| d.powi(t as i32), 1)?.reshape((heads, 1, 1))?)?,
        false => state.clone(),
    };
    let after = (kept + fresh)?.detach();
    Ok(((found + of_state)?, Some(after)))
}
