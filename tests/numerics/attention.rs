//! Tests properties that every attention must have: each type in the list of attentions with its options, and each
//! variant of the coupled query-key family with and without rotary embedding.

use std::{collections::BTreeSet, sync::Arc};

use candle_core::{DType, Device, Tensor, Var};
use orrery_lab::{
    models::coupled_qk::{CoupledQkSpec, QkVariant},
    nn::{
        Params, Result, Tap,
        attention::{self, Attention, KeyValueCache, TINY_WIDTH},
        block::Block,
        fused::mlp::Act,
        host,
        layers::Norm,
        mlp::{BiasedMlp, MlpKind, UnbiasedMlp},
    },
};

use crate::op_checks::{check_reference_at, derive, distance, largest, random};

/// A length that exceeds one chunk of a linear attention and every window.
const TOKENS: usize = 19;

type Build = Box<dyn Fn(&mut Params) -> Result<Arc<dyn Attention>>>;

/// A named attention, whose parameters have the prefix `attn`.
struct Case {
    name: String,
    build: Build,
}

impl Case {
    /// Builds the attention with parameters that differ from their initial values, so that no map is zero and all heads
    /// differ.
    fn moved(&self, dtype: DType) -> Result<(Arc<dyn Attention>, Params)> {
        let mut params = Params::new(7, &Device::Cpu, dtype);
        let attention = (self.build)(&mut params)?;
        move_all(&params)?;
        Ok((attention, params))
    }
}

fn move_all(params: &Params) -> Result<()> {
    for (i, (name, var)) in params.iter().enumerate() {
        let by = (random(200 + i as u64, var.dims())?.to_dtype(var.dtype())? * 0.1)?;
        params.load(name, &(var.as_tensor().detach() + by)?)?;
    }
    Ok(())
}

fn cases() -> Vec<Case> {
    let mut all = vec![];
    for tiny in attention::ALL.iter().copied().flatten() {
        all.push(Case { name: tiny.name.to_owned(), build: Box::new(tiny.build) });
    }
    for variant in QkVariant::ALL {
        for rotary in [false, true] {
            let sizes =
                CoupledQkSpec { d_model: TINY_WIDTH, heads: 4, layers: 1, steps: 2, ..CoupledQkSpec::default() };
            let spec = CoupledQkSpec { rotary, variant, ..sizes };
            let positions = if rotary { "rotary" } else { "learned" };
            let build = move |params: &mut Params| spec.attention(params, "attn", 0);
            all.push(Case { name: format!("coupled_qk {}, {positions}", variant.id()), build: Box::new(build) });
        }
    }
    all
}

fn states(dtype: DType) -> Result<Tensor> {
    random(1, &[2, TOKENS, TINY_WIDTH])?.to_dtype(dtype)
}

#[test]
fn names_are_unique() {
    let cases = cases();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "{names:?}");
    assert!(attention::ALL.iter().all(|options| !options.is_empty()), "an attention without a case is not tested");
}

#[test]
fn gradients_agree_with_finite_differences() -> Result<()> {
    for case in cases() {
        println!("{}", case.name);
        let (attention, params) = case.moved(DType::F64)?;
        let mut vars = vec![Var::from_tensor(&states(DType::F64)?)?];
        vars.extend(params.iter().map(|(_, var)| var.clone()));
        check_reference_at(&|v| attention.forward(&v[0], &mut Tap::off(), ""), &vars)?;
    }
    Ok(())
}

/// A block around the attention, with the norms and the MLP with which it can run as one fused operation.
fn block(case: &Case, dtype: DType) -> Result<(Block, Params)> {
    let mut params = Params::new(7, &Device::Cpu, dtype);
    let p = &mut params;
    let attention = (case.build)(p)?;
    let block = if attention.fused().is_some_and(|fused| fused.has_biases) {
        let (norm1, norm2) = (Norm::layer(p, "norm1", TINY_WIDTH)?, Norm::layer(p, "norm2", TINY_WIDTH)?);
        Block::new("block", norm1, attention, norm2, BiasedMlp::new(p, "mlp", TINY_WIDTH, 2)?)
    } else {
        let (norm1, norm2) = (Norm::rms(p, "norm1", TINY_WIDTH)?, Norm::rms(p, "norm2", TINY_WIDTH)?);
        let mlp = UnbiasedMlp::new(p, "mlp", (TINY_WIDTH, 24), MlpKind::Gated(Act::Silu), 2)?;
        Block::new("block", norm1, attention, norm2, mlp)
    };
    move_all(&params)?;
    Ok((block, params))
}

/// Compares the training form, which may be one fused operation for the whole block, with plain operations in f64.
/// Rounding errors of a block's about twenty operations stay far below the bound; a gradient that is not finite exceeds
/// it.
#[test]
fn training_gradients_are_those_in_double_precision() -> Result<()> {
    for case in cases() {
        let gradients = |dtype: DType| -> Result<Vec<(String, Tensor)>> {
            let (block, params) = block(&case, dtype)?;
            let mut vars = vec![Var::from_tensor(&states(dtype)?)?];
            vars.extend(params.iter().map(|(_, var)| var.clone()));
            let names = ["the output", "the states"].into_iter().chain(params.iter().map(|(name, _)| name));
            let names: Vec<String> = names.map(str::to_owned).collect();
            Ok(names.into_iter().zip(derive(&|v| block.forward(&v[0], &mut Tap::off()), &vars)?).collect())
        };
        for ((name, found), (_, wanted)) in gradients(DType::F32)?.iter().zip(&gradients(DType::F64)?) {
            let off = distance(found, wanted)? / largest(host::to_f64(wanted)?).max(1e-3);
            assert!(off < 1e-4, "{}: {name} is {off:e} off", case.name);
        }
    }
    Ok(())
}

/// Causality holds to the last bit, in the training form and in the form that returns its weights.
#[test]
fn later_states_do_not_change_earlier_outputs() -> Result<()> {
    let x = states(DType::F32)?;
    for case in cases() {
        let (attention, _params) = case.moved(DType::F32)?;
        for at in [1, 7, 16, TOKENS - 1] {
            let end = (x.narrow(1, at, TOKENS - at)? * -3.0)?;
            let edited = Tensor::cat(&[&x.narrow(1, 0, at)?, &end], 1)?;
            for tapped in [false, true] {
                let read = |x: &Tensor, from: usize, len: usize| -> Result<Vec<f32>> {
                    let mut tap = if tapped { Tap::on(&["attn"]) } else { Tap::off() };
                    host::to_f32(&attention.forward(x, &mut tap, "attn.weights")?.narrow(1, from, len)?)
                };
                assert_eq!(read(&x, 0, at)?, read(&edited, 0, at)?, "{}: an edit at {at}, tapped: {tapped}", case.name);
                assert_ne!(read(&x, at, 1)?, read(&edited, at, 1)?, "{}: the edit at {at} has no effect", case.name);
            }
        }
    }
    Ok(())
}

/// Reading token by token or in parts, with a cache, gives the same result as reading the whole text at once. An
/// attention that does not support this returns the trait's error message.
#[test]
fn reading_on_is_reading_the_whole() -> Result<()> {
    let x = states(DType::F64)?;
    let mut refused = BTreeSet::new();
    for case in cases() {
        let (attention, _params) = case.moved(DType::F64)?;
        let whole = attention.forward(&x, &mut Tap::off(), "")?;
        for (part, words) in [(1, "whole texts only"), (5, "begins every text anew")] {
            let mut cache = KeyValueCache::default();
            let mut at = 0;
            while at < TOKENS {
                let len = part.min(TOKENS - at);
                let tokens = x.narrow(1, at, len)?;
                let read = match part {
                    1 => attention.read_next(&tokens, &mut cache),
                    _ => attention.forward_after(&tokens, &mut cache, &mut None),
                };
                match read {
                    Ok(y) => {
                        let off = distance(&y, &whole.narrow(1, at, len)?)?;
                        assert!(off < 1e-10, "{}: tokens {at} to {} are {off:e} off", case.name, at + len);
                        at += len;
                    }
                    Err(e) if at == 0 && e.to_string().contains(words) => {
                        refused.insert((case.name.clone(), part));
                        break;
                    }
                    Err(e) => return Err(e),
                }
            }
        }
    }
    let is_refused = |name: &str| refused.iter().any(|(refused, part)| refused.starts_with(name) && *part == 1);
    assert!(!is_refused("coupled_qk") && !is_refused("grouped_query"), "these read token by token: {refused:?}");
    Ok(())
}
