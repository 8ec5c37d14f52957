//! Where a step's time goes: each operation of the fast-slow step alone, at its sizes, times how
//! often a step does it. What autograd adds between operations is the difference to the whole.

use candle_core::{Device, Result, Tensor, Var};

use super::{
    case::{CASES, WARM},
    families,
    timing::{milliseconds, values},
};
use orrery::nn::{
    fused::{
        attention::{AttentionSpec, attention},
        cross_entropy::head_cross_entropy,
        embedding::embedding,
        layer::{LayerSpec, LayerStyle, flatten, layer},
        linear::linear,
        mlp::{Act, mlp},
    },
    kernels,
    layers::{EPS, THETA},
};

const D: usize = 128;
const HIDDEN: usize = 512;
const VOCAB: usize = 320;
const B: usize = 4;
/// Tokens, and blocks of four tokens.
const LENGTHS: [(usize, &str); 2] = [(256, "tokens"), (64, "blocks")];

/// How often a step of the default model does an operation, over tokens and over blocks.
const BLOCKS: [usize; 2] = [3, 4];

struct Row {
    name: String,
    /// Alone what is also within the row before; not added up.
    within: bool,
    count: usize,
    forward: f64,
    both: f64,
    /// Operations of the products in both directions.
    gflop: f64,
}

pub fn report() -> Result<()> {
    let peak = peak()?;
    println!("{} threads; a matrix product reaches {peak:.0} GFLOP/s", kernels::threads::count());
    let mut rows = vec![];
    for ((t, what), blocks) in LENGTHS.into_iter().zip(BLOCKS) {
        rows.extend(of_blocks(t, what, blocks)?);
    }
    rows.extend(of_ends()?);
    println!(
        "{:<28}{:>6}{:>12}{:>14}{:>12}{:>10}",
        "operation", "times", "forward ms", "and back ms", "a step ms", "of peak"
    );
    for r in &rows {
        let share =
            if r.gflop > 0.0 { format!("{:.0}%", 100.0 * r.gflop / r.both * 1e3 / peak) } else { String::new() };
        println!(
            "{:<28}{:>6}{:>12.3}{:>14.3}{:>12.2}{:>10}",
            format!("{}{}", if r.within { "  " } else { "" }, r.name),
            r.count,
            r.forward,
            r.both,
            r.both * r.count as f64,
            share
        );
    }
    let sum: f64 = rows.iter().filter(|r| !r.within).map(|r| r.both * r.count as f64).sum();
    let whole = CASES[0].measure(WARM, 20)?;
    let rest = whole.ms_median - sum;
    println!("{:<28}{:>44.2}", "sum", sum);
    println!("{:<28}{:>44.2}", "sums, optimiser, the rest", rest);
    println!(
        "{:<28}{:>44.2}{:>10}",
        "whole step",
        whole.ms_median,
        format!("{:.0}%", 100.0 * whole.gflop / whole.ms_median * 1e3 / peak)
    );
    families::report()
}

fn of_blocks(t: usize, what: &str, blocks: usize) -> Result<Vec<Row>> {
    let x = values(&[B, t, D])?;
    let n = (B * t) as f64 * 1e-9;
    let spec =
        AttentionSpec { heads: 4, kv_heads: 2, head_dim: 32, theta: Some(THETA), window: None, eps: EPS, alibi: false };
    let (style, act) = (LayerStyle::RmsNoBias, Act::Gelu);
    let whole = LayerSpec {
        style,
        eps: EPS,
        attention: spec,
        qk_norms: true,
        evolution: None,
        act,
        gated: false,
        hidden: HIDDEN,
    };

    let (maps, seen) = (6.0 * n * (3 * D * D) as f64, 6.0 * n * (t * D) as f64);
    let both = 6.0 * n * (2 * D * HIDDEN) as f64;
    let weights = values(&[2 * D + 3 * D * D + 2 * 32 + 2 * D * HIDDEN])?;
    let (packed, head) = (values(&[B, t, 2 * D])?, values(&[32])?);
    let (up, down) = (values(&[HIDDEN, D])?, values(&[D, HIDDEN])?);
    let name = |name: &str| format!("{name}, {what}");
    let within = |row: Row| Row { within: true, ..row };
    Ok(vec![
        row(name("layer"), blocks, &[&x, &weights], maps + seen + both, &|| layer(&x, &flatten(&[&weights])?, whole))?,
        within(row(name("attention"), blocks, &[&packed, &head], seen, &|| attention(&packed, &head, &head, spec))?),
        within(row(name("MLP"), blocks, &[&x, &up, &down], both, &|| mlp(&x, &up, &down, act))?),
    ])
}

fn of_ends() -> Result<Vec<Row>> {
    let t = LENGTHS[0].0;
    let ids = |n: usize| (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) % VOCAB as u32).collect::<Vec<_>>();
    let ids = Tensor::from_vec(ids(B * t), (B, t), &Device::Cpu)?;
    let (x, head) = (values(&[B, t, D])?, values(&[VOCAB, D])?);
    let gflop = 6e-9 * (B * t * VOCAB * D) as f64;
    Ok(vec![
        row("embedding".to_owned(), 1, &[&head], 0.0, &|| embedding(&head, &ids))?,
        row("head and its loss".to_owned(), 1, &[&x, &head], gflop, &|| head_cross_entropy(&x, &head, &ids))?,
    ])
}

fn row(name: String, count: usize, vars: &[&Var], gflop: f64, f: &dyn Fn() -> Result<Tensor>) -> Result<Row> {
    let forward = milliseconds(&mut || f().map(drop))?;
    let both = milliseconds(&mut || {
        let grads = f()?.backward()?;
        if vars.iter().any(|v| grads.get(v).is_none()) {
            candle_core::bail!("an operation lost a gradient");
        }
        Ok(())
    })?;
    Ok(Row { name, within: false, count, forward, both, gflop })
}

/// The best of some products that fill caches well, by rows over all threads.
fn peak() -> Result<f64> {
    let mut best = 0f64;
    for (n, i, o) in [(1024, 128, 512), (1024, 480, 480), (1536, 384, 384), (1024, 256, 1040)] {
        let (x, w) = (values(&[n, i])?.as_tensor().detach(), values(&[o, i])?.as_tensor().detach());
        let ms = milliseconds(&mut || linear(&x, &w).map(drop))?;
        best = best.max(2e-6 * (n * i * o) as f64 / ms);
    }
    Ok(best)
}
