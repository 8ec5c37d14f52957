//! The speed of a flow, the bend of its path and the stretch of distances, along its depth.

use super::{FlowInput, Rhs, basis, linspace};
use crate::probe::prelude::*;

/// The number of sampled depths: 0, 1/16, ... 1.
pub const DEPTHS: usize = 17;
/// Rounds of power iteration at each depth; the vector found at the depth before is the first guess.
const POWER_ITERATIONS: usize = 6;
/// Step of the finite difference of a directional derivative, as a share of the state's size.
const FINITE_DIFFERENCE: f64 = 1e-2;

pub fn depths() -> Vec<f64> {
    linspace(0.0, 1.0, DEPTHS)
}

impl Probe for FlowAlongArgs {
    type Answer = FlowAlong;
    type Subject<'m> = FlowModel<'m>;

    fn ask(&self, model: FlowModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (input, params) = FlowInput::from_args(model, &self.flow, cx)?;
        let rhs = input.rhs(params.control)?;
        let (_, states, _) = basis::states_at(&input, &rhs, &depths(), &params.options)?;
        let motion = Motion::new(&rhs, &states)?;
        let along = FlowAlong { motion: motion.measured(), sigma: sigmas(&rhs, &states)?.into() };
        let about = format!("{}, {}", input.describe(), params.describe());
        Ok(Answer::new(along, about, input.tokens))
    }
}

/// Velocity, curvature and acceleration at each depth.
pub struct Motion {
    /// rms |dH/dtau| over all values of the state.
    pub velocity: Vec<f64>,
    /// |d²H/dtau²| / |dH/dtau|², of the whole state; the second derivative from differences of the
    /// velocity along the path.
    pub curvature: Vec<f64>,
    /// |d²H/dtau²|, whole state.
    pub acceleration: Vec<f64>,
}

impl Motion {
    pub fn new(rhs: &Rhs<'_>, states: &[Tensor]) -> Result<Self> {
        let depths = linspace(0.0, 1.0, states.len());
        let velocities: Vec<Vec<f64>> =
            depths.iter().zip(states).map(|(t, h)| host::to_f64(&rhs(*t, h)?)).collect::<Result<_>>()?;
        let last = states.len().saturating_sub(1);
        let (mut velocity, mut curvature, mut acceleration) = (vec![], vec![], vec![]);
        for i in 0..states.len() {
            let (before, after) = (i.saturating_sub(1), (i + 1).min(last));
            let gap = (depths[after] - depths[before]).max(f64::MIN_POSITIVE);
            let second: f64 =
                velocities[after].iter().zip(&velocities[before]).map(|(a, b)| ((a - b) / gap).powi(2)).sum();
            let squared: f64 = velocities[i].iter().map(|v| v * v).sum();
            velocity.push((squared / velocities[i].len().max(1) as f64).sqrt());
            acceleration.push(second.sqrt());
            curvature.push(if squared > 0.0 { second.sqrt() / squared } else { f64::NAN });
        }
        Ok(Self { velocity, curvature, acceleration })
    }

    /// The mean of |d²H/dtau²| over depth: the curvature of the path itself, whatever the solver.
    pub fn total_acceleration(&self) -> f64 {
        let n = self.acceleration.len();
        if n < 2 {
            return 0.0;
        }
        self.acceleration.windows(2).map(|w| 0.5 * (w[0] + w[1])).sum::<f64>() / (n - 1) as f64
    }

    /// The measured motion of states at [`depths`].
    pub fn measured(self) -> FlowMotion {
        FlowMotion { taus: depths().into(), velocity: self.velocity.into(), curvature: self.curvature.into() }
    }
}

/// The largest singular value of dF/dH at each state, by power iteration on its normal matrix: forwards by
/// a finite difference, back by differentiation.
fn sigmas(rhs: &Rhs<'_>, states: &[Tensor]) -> Result<Vec<f64>> {
    let mut found = vec![];
    let mut guess: Option<Tensor> = None;
    for (t, state) in linspace(0.0, 1.0, states.len()).into_iter().zip(states) {
        let mut direction = match guess.take() {
            Some(g) => g,
            None => unit(&rhs(t, state)?)?,
        };
        let mut sigma = 0.0;
        for _ in 0..POWER_ITERATIONS {
            let pushed = jvp(rhs, t, state, &direction)?;
            sigma = norm(&pushed)?;
            if !(sigma > 0.0 && sigma.is_finite()) {
                break;
            }
            direction = unit(&vjp(rhs, t, state, &pushed)?)?;
        }
        found.push(sigma);
        guess = Some(direction);
    }
    Ok(found)
}

fn norm(x: &Tensor) -> Result<f64> {
    Ok(statistics::norm(&host::to_f64(x)?))
}

/// x divided by its length; a vector of ones if the length is 0.
fn unit(x: &Tensor) -> Result<Tensor> {
    let size = norm(x)?;
    if size > 0.0 && size.is_finite() { x / size } else { x.ones_like()? / (x.elem_count() as f64).sqrt() }
}

/// J d by a central difference.
fn jvp(rhs: &Rhs<'_>, t: f64, state: &Tensor, direction: &Tensor) -> Result<Tensor> {
    let finite_difference = FINITE_DIFFERENCE * norm(state)?.max(1e-3);
    let ahead = rhs(t, &(state + (direction * finite_difference)?)?)?;
    let behind = rhs(t, &(state - (direction * finite_difference)?)?)?;
    (ahead - behind)? / (2.0 * finite_difference)
}

/// J^T g by differentiating g · F(H).
fn vjp(rhs: &Rhs<'_>, t: f64, state: &Tensor, g: &Tensor) -> Result<Tensor> {
    let at = candle_core::Var::from_tensor(state)?;
    let product = (rhs(t, at.as_tensor())? * g.detach())?.sum_all()?;
    let grads = product.backward()?;
    grads.get(at.as_tensor()).map_or_else(|| state.zeros_like(), |g| Ok(g.detach()))
}
