//! One step of a method, and the quartic that interpolates within it. The caller accepts or rejects the step.

use candle_core::{Result, Tensor};

use super::{Tableau, state};

/// A step and everything it computed.
pub struct Step {
    pub y0: Tensor,
    pub y1: Tensor,
    pub h: f64,
    /// Slopes of all stages; empty for a step that the field made itself.
    pub ks: Vec<Tensor>,
}

/// The times of a step.
#[derive(Clone, Copy)]
pub struct StepTimes {
    /// The time at its start.
    pub t: f64,
    /// Its length.
    pub h: f64,
    /// The time at which a stage at node 1 is evaluated.
    pub last: f64,
}

/// Takes a step from y0 with slope k0; `evaluate` is called for each further stage, with its time.
pub fn step<E>(
    tableau: &Tableau,
    StepTimes { t, h, last }: StepTimes,
    y0: &Tensor,
    k0: Tensor,
    mut evaluate: impl FnMut(f64, &Tensor) -> std::result::Result<Tensor, E>,
) -> std::result::Result<Step, E>
where
    E: From<candle_core::Error>,
{
    let mut ks = Vec::with_capacity(tableau.weights.len());
    ks.push(k0);
    let mut newest = None;
    for (&node, row) in tableau.nodes.iter().zip(tableau.rows) {
        let y = state::advance(y0, h, row, &ks)?;
        let at = if node == 1.0 { last } else { t + node * h };
        ks.push(evaluate(at, &y)?);
        newest = Some(y);
    }
    let y1 = match newest {
        Some(y) if tableau.ends_at_result() => y,
        _ => state::advance(y0, h, tableau.weights, &ks)?,
    };
    Ok(Step { y0: y0.clone(), y1, h, ks })
}

impl Step {
    /// The state at fraction x of an adaptive method's step: the quartic through both ends with their
    /// slopes and the middle (Shampine 1986). The last stage stands for the slope at the end.
    pub fn at(&self, x: f64, tableau: &Tableau) -> Result<Tensor> {
        let (Some(f0), Some(f1)) = (self.ks.first(), self.ks.last()) else { return Ok(self.y1.clone()) };
        let (h, y0, y1) = (self.h, &self.y0, &self.y1);
        if tableau.mid.is_empty() {
            return state::weighted(&[(1.0 - x, y0), (x, y1)]);
        }
        let ym = &state::advance(y0, h, tableau.mid, &self.ks)?;
        // y0 + d x + c x^2 + b x^3 + a x^4 with
        //   d = h f0, c = h (f1 - 4 f0) - 11 y0 - 5 y1 + 16 ym,
        //   b = h (5 f0 - 3 f1) + 18 y0 + 14 y1 - 32 ym, a = 2 h (f1 - f0) - 8 (y1 + y0) + 16 ym,
        // gathered by what is multiplied.
        let (x2, x3, x4) = (x * x, x.powi(3), x.powi(4));
        state::weighted(&[
            (1.0 - 11.0 * x2 + 18.0 * x3 - 8.0 * x4, y0),
            (-5.0 * x2 + 14.0 * x3 - 8.0 * x4, y1),
            (16.0 * x2 - 32.0 * x3 + 16.0 * x4, ym),
            (h * (x - 4.0 * x2 + 5.0 * x3 - 2.0 * x4), f0),
            (h * (x2 - 3.0 * x3 + 2.0 * x4), f1),
        ])
    }
}
