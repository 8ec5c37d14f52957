//! Solves of differential equations, timed, alone or with torchdiffeq in turn: one solve here, one
//! there, again and again, so that what else the machine does falls on both.

use std::time::Instant;

use candle_core::{DType, Device, Result, Tensor};
use serde::Deserialize;

use super::{BenchArgs, case::median, line_peer::LinePeer};
use orrery::{
    cli::Failure,
    nn::{
        fused::mlp::{Act, mlp},
        host,
    },
    ode::{Field, Method, SolverOptions, Span, solve},
};

/// Field, method, and its steps or its tolerance, as the peer reads them.
const CASES: &[(&str, Method, &str)] = &[
    ("van_der_pol", Method::DOPRI5, "1e-5"),
    ("van_der_pol", Method::BOSH3, "1e-4"),
    ("van_der_pol", Method::ADAPTIVE_HEUN, "1e-3"),
    ("van_der_pol", Method::RK4, "1024"),
    ("mlp_64x64", Method::DOPRI5, "1e-5"),
    ("mlp_64x64", Method::BOSH3, "1e-4"),
    ("mlp_64x64", Method::ADAPTIVE_HEUN, "1e-3"),
    ("mlp_64x64", Method::RK4, "64"),
    ("mlp_64x64", Method::EULER, "256"),
    ("mlp_1024x128", Method::DOPRI5, "1e-5"),
    ("mlp_1024x128", Method::BOSH3, "1e-4"),
    ("mlp_1024x128", Method::RK4, "16"),
];

/// One solve.
#[derive(Debug, Clone, Copy, Deserialize)]
struct SolveTiming {
    ms: f64,
    nfe: usize,
    /// Mean of the end state.
    end: f64,
}

/// sin(0.7 k + seed) / sqrt(columns), row by row.
fn weight(rows: usize, columns: usize, seed: f64) -> Result<Tensor> {
    let size = (columns as f64).sqrt();
    let values: Vec<f32> = (0..rows * columns).map(|k| ((0.7 * k as f64 + seed).sin() / size) as f32).collect();
    Tensor::from_vec(values, (rows, columns), &Device::Cpu)
}

/// Field, start and end time.
fn problem(name: &str) -> Result<(Box<dyn Field>, Tensor, f64)> {
    let net = |rows: usize, width: usize, hidden: usize| -> Result<(Box<dyn Field>, Tensor, f64)> {
        let (up, down) = (weight(hidden, width, 1.0)?, (weight(width, hidden, 2.0)? * 3.0)?);
        let field = move |_: f64, y: &Tensor| mlp(y, &up, &down, Act::Silu);
        Ok((Box::new(field), (weight(rows, width, 3.0)? * 2.0)?, 2.0))
    };
    match name {
        "mlp_64x64" => net(64, 64, 128),
        "mlp_1024x128" => net(1024, 128, 512),
        _ => {
            let field = |_: f64, y: &Tensor| {
                let (a, b) = (y.get(0)?, y.get(1)?);
                let pull = ((((1.0 - (&a * &a)?)? * 5.0)? * &b)? - &a)?;
                Tensor::stack(&[&b, &pull], 0)
            };
            Ok((Box::new(field), Tensor::new(&[2f64, 0.0], &Device::Cpu)?, 15.0))
        }
    }
}

fn one(name: &str, method: Method, setting: &str) -> std::result::Result<SolveTiming, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::run(format!("{name} by {method}: {e}"));
    let number: f64 = setting.parse().map_err(|e| failed(&e))?;
    let options = if method.is_adaptive() {
        SolverOptions { method, rtol: number, atol: number, max_attempts: 1_000_000, ..SolverOptions::default() }
    } else {
        SolverOptions::fixed(method, number as usize)
    };
    let (field, y0, t1) = problem(name).map_err(|e| failed(&e))?;
    let began = Instant::now();
    let solution = solve(field.as_ref(), &y0, Span { start: 0.0, end: t1 }, &options).map_err(|e| failed(&e))?;
    let ms = began.elapsed().as_secs_f64() * 1e3;
    let mean = |t: &Tensor| host::scalar(&t.to_dtype(DType::F64)?.mean_all()?);
    Ok(SolveTiming { ms, nfe: solution.trace.nfe, end: mean(&solution.end).map_err(|e| failed(&e))? })
}

fn middle(found: &[SolveTiming]) -> f64 {
    median(&found.iter().map(|f| f.ms).collect::<Vec<_>>())
}

/// Prints for each field and method the medians of `args.steps` solves on each side and their ratio.
pub fn report(args: &BenchArgs, mut peer: Option<LinePeer>) -> std::result::Result<(), Failure> {
    println!("{} threads, {} solves a case, in turn", args.threads(), args.steps);
    for (name, method, setting) in CASES {
        let case = format!("{name}:{method}:{setting}");
        let (mut here, mut there) = (vec![], vec![]);
        // the first is not counted
        for round in 0..=args.steps {
            let ours = one(name, *method, setting)?;
            let theirs = peer.as_mut().map(|p| p.ask::<SolveTiming>(&case)).transpose()?;
            if round > 0 {
                here.push(ours);
                there.extend(theirs);
            }
        }
        let ours = here[0];
        print!("{case:<32}{:>8.2} ms {:>5} evaluations", middle(&here), ours.nfe);
        if let Some(theirs) = there.first() {
            let ratio = middle(&here) / middle(&there);
            print!("; torchdiffeq {:>8.2} ms {:>5}; ratio {ratio:.3}", middle(&there), theirs.nfe);
            print!("; ends {:.0e} apart", (ours.end - theirs.end).abs());
        }
        println!();
    }
    Ok(())
}
