//! Single operations of every model family, forward and back, with criterion's statistics:
//! `cargo bench -p orrery-bench --bench ops`. For a table that adds up to a step: `orrery-bench --operations`.

use std::sync::Arc;

use candle_core::{Device, Result, Tensor, Var};
use criterion::{Criterion, criterion_group, criterion_main};
use orrery::nn::fused::{
    attention::{AttentionSpec, attend, attention},
    cross_entropy::head_cross_entropy,
    differential::{halve_queries, normalised_difference},
    ema::ema,
    embedding::embedding,
    evolution::{EvolutionSizes, Scheme, evolve},
    layer::{LayerSpec, LayerStyle, flatten, layer},
    linear::linear,
    linear_attention::{LinearAttentionSpec, linear_attention},
    mlp::{Act, gated_mlp, mlp},
    norm::{layer_norm, rms_norm},
    scaled_add::scaled_add,
    synapses::{Synapses, synaptic_attention},
    top_k::top_k,
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
    let weights = make(&[2 * 128 + 3 * 128 * 128 + 2 * 32 + 2 * 128 * 512]);
    let (style, act) = (LayerStyle::RmsNoBias, Act::Gelu);
    let whole = LayerSpec {
        style,
        eps: 1e-6,
        attention: SPEC,
        qk_norms: true,
        act,
        gated: false,
        hidden: 512,
        evolution: None,
    };
    let ids = Tensor::from_vec((0..1024u32).map(|i| i * 37 % 320).collect::<Vec<_>>(), (4, 256), &Device::Cpu);
    let (table, ids) = (make(&[320, 128]), ids.expect("ids of tokens"));
    let (v, encoders, decoder) = (make(&[8, 128, 64]), make(&[8, 64, 512]), make(&[2048, 64]));
    let (units, rate, scale) = (make(&[8, 256, 512]), make(&[128]), make(&[]));
    let (triple, field, tau) = (make(&[8, 128, 384]), make(&[64, 32]), make(&[4]));
    let sizes = EvolutionSizes { heads: 4, head_dim: 32, scheme: Scheme::Leapfrog, steps: 3 };
    let (halved, strengths) = (AttentionSpec { heads: 8, ..AttentionSpec::plain(128, 4) }, make(&[512, 16]));
    let sources = (0..512 * 16u32).map(|i| i * 37 % 512).collect();
    let synapses = Arc::new(Synapses::new(sources, vec![-0.05; 512]).expect("synapses of neurons"));
    let cases: &[(&str, &dyn Fn() -> Result<Tensor>)] = &[
        ("linear", &|| linear(&x, &square)),
        ("mlp", &|| mlp(&x, &up, &down, Act::Gelu)),
        ("gated mlp", &|| gated_mlp(&x, &pair, &down, Act::Silu)),
        ("rms norm", &|| rms_norm(&x, &d, 1e-6)),
        ("layer norm", &|| layer_norm(&x, Some(&d), Some(&d), 1e-5)),
        ("attention", &|| attention(&qkv, &head, &head, SPEC)),
        ("layer", &|| layer(&x, &flatten(&[&weights])?, whole)),
        ("embedding", &|| embedding(&table, &ids)),
        ("head and loss", &|| head_cross_entropy(&x, &table, &ids)),
        ("scaled add", &|| scaled_add(&x, &x, &scale)),
        ("moving average", &|| ema(&x, &rate, None)),
        ("top 31 of 512", &|| top_k(&units, 31).map(|found| found.selected)),
        ("linear attention", &|| linear_attention(&v, &encoders, &decoder, LinearAttentionSpec::default())),
        ("differential attention", &|| {
            let maps = attend(&halve_queries(&triple, 4)?, None, halved)?;
            normalised_difference(&maps, &tau, 1e-6)
        }),
        ("synapses", &|| synaptic_attention(&units, &units, &strengths, &synapses)),
        ("coupled queries and keys", &|| evolve(&triple, &field, &tau, sizes)),
    ];
    for threads in [1, 2] {
        orrery::nn::set_threads(threads);
        for (name, f) in cases {
            c.bench_function(&format!("{name}, {threads} threads"), |b| {
                b.iter(|| f().and_then(|y| y.backward()).expect("an operation and its way back"));
            });
        }
    }
}

criterion_group!(benches, operations);
criterion_main!(benches);
