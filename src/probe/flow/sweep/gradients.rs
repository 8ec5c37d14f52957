//! What gradients cost and how far off they are, by the way they are taken, against the steps of the solve.

use super::{Course, Drive, Sweep, columns};
use crate::{
    models::capabilities::FlowControl,
    nn::{Result, Tensor, host, memory},
    ode::{self, Gradient, Method, Options},
};

const STEPS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Steps of the solve whose gradients count as the flow's own.
const FINE: usize = 96;
/// Weighs the end into one number.
const LOSS: &str = "mean square of the end";

/// Which column of both is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Most MiB held between the start of the solve and the end of its way back.
    Memory,
    /// Distance of the gradients of all weights of the field from the fine ones, relative to them.
    Error,
}

/// Gradients through the prompt's flow by Runge-Kutta's fourth-order method in equal steps.
pub fn gradients<'a>(course: &'a Course<'_>, drive: &Drive, what: What) -> Result<Sweep<'a>> {
    let Some(model) = course.model() else {
        candle_core::bail!("the field of the plane is not trained through a solve")
    };
    let control = FlowControl { u: drive.u, alpha: drive.alpha };
    let found = move |way: Gradient, steps: usize| -> Result<(Vec<f64>, Option<u64>)> {
        let (all, most) = memory::most_held(|| -> Result<Vec<f64>> {
            let (field, weights) = model.learning_field(control)?;
            let options = Options::fixed(Method::Rk4, steps);
            let end = ode::solve_with(way, &field, &weights, &course.start, (0.0, 1.0), &options)?.end;
            let grads = end.sqr()?.mean_all()?.backward()?;
            let of = |w: &Tensor| grads.get(w).map_or(Ok(vec![0.0; w.elem_count()]), host::to_f64);
            Ok(weights.iter().map(of).collect::<Result<Vec<_>>>()?.concat())
        });
        Ok((all?, most))
    };
    let fine = match what {
        What::Error => found(Gradient::Backprop, FINE)?.0,
        What::Memory => vec![],
    };
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let each = Gradient::ALL.into_iter().map(|way| {
            let (grads, most) = found(way, STEPS[i])?;
            Ok(match what {
                What::Memory => most.map_or(f64::NAN, |b| b as f64 / f64::from(1 << 20)),
                What::Error => distance(&grads, &fine),
            })
        });
        each.collect()
    };
    let y = match what {
        What::Memory => "most memory held (MiB)",
        What::Error => "relative distance of the gradients",
    };
    Ok(Sweep {
        about: format!("rk4, {LOSS}, {} tokens", course.tokens.len()),
        labels: ("steps m", y),
        x: STEPS.iter().map(|m| *m as f64).collect(),
        measure: Box::new(measure),
        lines: columns(Gradient::ALL.map(|g| g.id().to_owned()).to_vec()),
    })
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied())
}
