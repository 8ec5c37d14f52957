//! Measures cost and error of gradients by the gradient method, against the steps of the solve.

use super::{Columns, FlowInput, SolveParams, Sweep};
use crate::{
    nn::memory,
    ode::{self, Gradient, Method, SolverOptions},
    probe::prelude::*,
};

const STEPS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// The number of steps of the fine solve whose gradients are the reference.
const REFERENCE_STEPS: usize = 96;
const LOSS: &str = "mean square of the end";

/// Distance of the gradients of all weights of the field from the fine ones, relative to them.
pub fn error<'a>(input: &'a FlowInput<'_>, params: &SolveParams) -> Result<Sweep<'a>> {
    let gradients = Gradients::new(input, params)?;
    let fine = gradients.take(Gradient::Backprop, REFERENCE_STEPS)?.0;
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let distance = |way| Ok(norm(&difference(&gradients.take(way, STEPS[i])?.0, &fine)) / norm(&fine));
        Gradient::ALL.into_iter().map(distance).collect()
    };
    Ok(Sweep::new(about(input), STEPS.len(), measure, |columns: &Columns| FlowSweepGradientError {
        progress: columns.progress,
        steps: STEPS.to_vec(),
        methods: curves(columns),
    }))
}

/// Most MiB held between the start of the solve and the end of its backward pass.
pub fn memory<'a>(input: &'a FlowInput<'_>, params: &SolveParams) -> Result<Sweep<'a>> {
    let gradients = Gradients::new(input, params)?;
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let held = |way| Ok(gradients.take(way, STEPS[i])?.1.map_or(f64::NAN, |b| b as f64 / f64::from(1 << 20)));
        Gradient::ALL.into_iter().map(held).collect()
    };
    Ok(Sweep::new(about(input), STEPS.len(), measure, |columns: &Columns| FlowSweepGradientMemory {
        progress: columns.progress,
        steps: STEPS.to_vec(),
        methods: curves(columns),
    }))
}

fn about(input: &FlowInput<'_>) -> String {
    format!("rk4, {LOSS}, {} tokens", input.tokens.len())
}

fn curves(columns: &Columns) -> Vec<GradientCurve> {
    let method = |gradient| match gradient {
        Gradient::Backprop => GradientMethod::Backprop,
        Gradient::Checkpointed => GradientMethod::Checkpointed,
        Gradient::Adjoint => GradientMethod::Adjoint,
    };
    let curve = |(i, gradient)| GradientCurve { method: method(gradient), values: columns.column(i) };
    Gradient::ALL.into_iter().enumerate().map(curve).collect()
}

/// Gradients through the prompt's flow by Runge-Kutta's fourth-order method in equal steps.
struct Gradients<'a> {
    model: &'a dyn LanguageFlow,
    control: FlowControl,
    start: &'a Tensor,
}

impl<'a> Gradients<'a> {
    fn new(input: &'a FlowInput<'_>, params: &SolveParams) -> Result<Self> {
        let Some(model) = input.model() else { bail!("the field of the plane is not trained through a solve") };
        Ok(Self { model, control: params.control, start: &input.start })
    }

    /// The gradients of all weights in a row, and the most bytes held meanwhile where they are counted.
    fn take(&self, way: Gradient, steps: usize) -> Result<(Vec<f64>, Option<u64>)> {
        let (all, most) = memory::peak_bytes(|| -> Result<Vec<f64>> {
            let (field, weights) = self.model.learning_field(self.control)?;
            let options = SolverOptions::fixed(Method::RK4, steps);
            let end = ode::solve_with(way, &field, &weights, self.start, ode::Span::UNIT, &options)?.end;
            let grads = end.sqr()?.mean_all()?.backward()?;
            let gradient = |w: &Tensor| grads.get(w).map_or(Ok(vec![0.0; w.elem_count()]), host::to_f64);
            Ok(weights.iter().map(gradient).collect::<Result<Vec<_>>>()?.concat())
        });
        Ok((all?, most))
    }
}
