//! Operations that the fast-slow step does not have, each at the sizes of the family that has it (those
//! of the peer script), beside its reference form: the same mathematics as a composition of candle's own
//! operations.

use candle_core::{DType, Device, Result, Tensor, Var};

use super::timing::{milliseconds, values};
use orrery::nn::fused::{
    adamw::{self, Coefficients, Slot},
    balance::{self, balance},
    ema::{self, ema},
    evolution::{self, EvolutionSizes, Scheme, evolve},
    linear,
    linear_attention::{self, LinearAttentionSpec, linear_attention},
    top_k::{self, top_k},
    trace_context::{self, trace_context},
};

type Form<'a> = &'a dyn Fn() -> Result<Tensor>;

pub fn report() -> Result<()> {
    println!("{:<28}{:>14}{:>18}{:>10}", "other operations, and back", "ms", "reference ms", "ratio");
    update()?;
    averages()?;
    evolutions()?;
    neurons()
}

fn print_time(name: &str, ms: f64, reference: f64) {
    println!("{name:<28}{ms:>14.3}{reference:>18.3}{:>10.2}", ms / reference);
}

fn row(name: &str, fused: Form, reference: Form) -> Result<()> {
    let time = |form: Form| milliseconds(&mut || form()?.backward().map(drop));
    print_time(name, time(fused)?, time(reference)?);
    Ok(())
}

/// Eight blocks' worth of parameters, 0.79 million.
fn update() -> Result<()> {
    let rule =
        Coefficients { beta1: 0.9, beta2: 0.999, eps: 1e-8, decay_factor: 0.999, rate: 1e-4, root: 0.5, scale: 0.9 };
    let sizes = [16_384, 8192, 8192, 65_536, 128, 128, 32];
    let sizes: Vec<usize> = std::iter::repeat_n(sizes, 8).flatten().collect();
    let vars = sizes.iter().map(|&n| Ok([values(&[n])?, values(&[n])?, Var::zeros(n, DType::F32, &Device::Cpu)?]));
    let vars = vars.collect::<Result<Vec<_>>>()?;
    let slots: Vec<Slot> = vars
        .iter()
        .map(|[weights, mean, square]| Ok(Slot { weights, mean, square, grad: weights.as_tensor().copy()? }))
        .collect::<Result<_>>()?;
    let grads: Vec<&Tensor> = slots.iter().map(|s| &s.grad).collect();
    let mut fused = || adamw::global_norm(&grads).and_then(|_| adamw::update(&slots, &rule));
    let ms = milliseconds(&mut fused)?;
    let mut reference = || {
        let squares = grads.iter().map(|g| g.sqr()?.sum_all()).collect::<Result<Vec<_>>>()?;
        Tensor::stack(&squares, 0)?.sum_all()?.sqrt()?;
        adamw::reference(&slots, &rule)
    };
    print_time("AdamW, 0.79 M weights", ms, milliseconds(&mut reference)?);
    Ok(())
}

fn averages() -> Result<()> {
    let (x, a, z) = (values(&[8, 256, 128])?, values(&[128])?, values(&[8, 256, 512])?);
    row("moving average", &|| ema(&x, &a, None), &|| ema::reference(&x, &a, None))?;
    let (predictor, maps, rates) = (values(&[128, 128])?, values(&[128, 512])?, [0.5, 0.1, 0.02]);
    row("trace context", &|| trace_context(&x, &predictor, &maps, rates), &|| {
        trace_context::reference(&x, &predictor, &maps, rates)
    })?;
    row("31 of 512", &|| top_k(&z, 31).map(|f| f.selected), &|| top_k::reference(&z, 31).map(|f| f.selected))?;
    let counts = top_k(&z, 31)?.counts;
    row("balance of 512", &|| balance(&z, &counts, 31), &|| balance::reference(&z, &counts, 31))
}

fn evolutions() -> Result<()> {
    let (qkv, f, tau) = (values(&[8, 128, 384])?, values(&[64, 32])?, values(&[4])?);
    for (name, scheme) in [("coupled, Euler", Scheme::Euler), ("coupled, leapfrog", Scheme::Leapfrog)] {
        let spec = EvolutionSizes { heads: 4, head_dim: 32, scheme, steps: 3 };
        row(name, &|| evolve(&qkv, &f, &tau, spec), &|| evolution::reference(&qkv, &f, &tau, spec))?;
    }
    Ok(())
}

fn neurons() -> Result<()> {
    let (v, encoders, decoder) = (values(&[8, 128, 64])?, values(&[8, 64, 512])?, values(&[2048, 64])?);
    let spec = LinearAttentionSpec::default();
    row("linear attention", &|| linear_attention(&v, &encoders, &decoder, spec.clone()), &|| {
        let (e, ev) = (encoders.narrow(0, 0, 4)?, encoders.narrow(0, 4, 4)?);
        let y = linear_attention::reference(&v, &e, &ev, spec.clone())?.packed()?;
        linear::reference(&y, &decoder.t()?)
    })
}
