//! Single operations of the fast-slow step, forward and back, with criterion's statistics:
//! `cargo bench --bench ops`. For a table that adds up to a step: `orrery bench --operations`.

use candle_core::{Device, Result, Tensor, Var};
use criterion::{Criterion, criterion_group, criterion_main};
use orrery::nn::fused::{
    attention::{AttentionSpec, attention},
    linear::linear,
    mlp::{Act, gated, mlp},
    norm::{layer_norm, rms_norm},
    set_threads,
};

const SPEC: AttentionSpec =
    AttentionSpec { heads: 4, kv_heads: 2, head_dim: 32, theta: Some(1e4), window: None, eps: 1e-6, alibi: false };

fn values(shape: &[usize]) -> Result<Var> {
    let values: Vec<f32> =
        (0..shape.iter().product::<usize>()).map(|i| ((i * 7919) % 1009) as f32 / 5000.0 - 0.1).collect();
    Var::from_vec(values, shape, &Device::Cpu)
}

fn operations(c: &mut Criterion) {
    let make = |shape: &[usize]| values(shape).expect("values of a shape");
    let (x, qkv, d, head) = (make(&[4, 256, 128]), make(&[4, 256, 256]), make(&[128]), make(&[32]));
    let (square, up, pair, down) = (make(&[128, 128]), make(&[512, 128]), make(&[1024, 128]), make(&[128, 512]));
    let cases: [(&str, &dyn Fn() -> Result<Tensor>); 6] = [
        ("linear", &|| linear(&x, &square)),
        ("mlp", &|| mlp(&x, &up, &down, Act::Gelu)),
        ("gated mlp", &|| gated(&x, &pair, &down, Act::Silu)),
        ("rms norm", &|| rms_norm(&x, &d, 1e-6)),
        ("layer norm", &|| layer_norm(&x, Some(&d), Some(&d), 1e-5)),
        ("attention", &|| attention(&qkv, &head, &head, SPEC)),
    ];
    for threads in [1, 2] {
        set_threads(threads);
        for (name, f) in &cases {
            c.bench_function(&format!("{name}, {threads} threads"), |b| {
                b.iter(|| f().and_then(|y| y.backward()).expect("an operation and its way back"));
            });
        }
    }
}

criterion_group!(benches, operations);
criterion_main!(benches);
