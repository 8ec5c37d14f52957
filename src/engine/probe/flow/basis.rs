//! The plane or space that paths are drawn in. It belongs to the prompt, not to the control: moving a
//! slider moves the paths, not the axes.

use super::{FlowInput, SolveParams};
use crate::{
    analysis::pca::{self, PrincipalComponent},
    ode::{self, Method, SolverOptions},
    probe::prelude::*,
};

/// The controls whose paths span the basis, and the depths at which they are sampled.
const CONTROLS: [f64; 3] = [-1.0, 0.0, 1.0];
const STEPS: usize = 4;

/// Up to three directions with a common origin.
pub struct Basis {
    pub components: Vec<PrincipalComponent>,
    origin: Vec<f64>,
    /// Lowest and highest of the followed token's coordinates over all controls, by direction.
    pub reach: Vec<(f64, f64)>,
}

impl Basis {
    /// The first three principal components of the displacements H(tau) - H(0) of all tokens, at u0 in
    /// {-1, 0, 1} (the other controls as asked) and four depths. Of displacements, because the tokens
    /// themselves lie far apart and would take the axes. In the plane: its own axes.
    pub fn new(input: &FlowInput<'_>, params: &SolveParams) -> Result<Self> {
        let starts = host::rows_f64(&input.start)?;
        let dims = starts.first().map_or(0, Vec::len);
        let options = SolverOptions { keep_states: true, ..SolverOptions::fixed(Method::EULER, STEPS) };
        let (mut moved, mut followed) = (vec![], vec![starts[input.token].clone()]);
        for u0 in CONTROLS {
            let rhs = input.rhs(params.control_at_u0(u0))?;
            let solution = ode::solve(&rhs, &input.start, ode::Span::UNIT, &options)?;
            for (_, state) in &solution.states[1..] {
                let rows = host::rows_f64(state)?;
                followed.push(rows[input.token].clone());
                moved.extend(rows.iter().zip(&starts).map(|(h, s)| difference(h, s)));
            }
        }
        let (components, origin) = if input.planar_field().is_some() {
            (axes(dims), vec![0.0; dims])
        } else {
            let refs: Vec<Vec<f32>> = moved.iter().map(|r| r.iter().map(|v| *v as f32).collect()).collect();
            let mean = pca::mean(&refs.iter().map(Vec::as_slice).collect::<Vec<_>>(), dims);
            let centred: Vec<Vec<f64>> = moved.iter().map(|r| difference(r, &mean)).collect();
            let mut found = pca::components(&centred, dims, 3);
            // a flow that does not move has no directions of its own
            let still = axes(dims).into_iter().map(|axis| PrincipalComponent { explained_variance: 0.0, ..axis });
            found.extend(still.take(dims.min(3).saturating_sub(found.len())));
            (found, mean_row(&starts))
        };
        let mut basis = Self { components, origin, reach: vec![] };
        let seen: Vec<Vec<f64>> = followed.iter().map(|h| basis.project(h)).collect();
        basis.reach = (0..basis.components.len())
            .map(|i| seen.iter().fold((f64::MAX, f64::MIN), |(low, high), p| (low.min(p[i]), high.max(p[i]))))
            .collect();
        Ok(basis)
    }

    /// Coordinates of a state of one token.
    pub fn project(&self, row: &[f64]) -> Vec<f64> {
        let centred = difference(row, &self.origin);
        self.components.iter().map(|c| dot(&centred, &c.direction)).collect()
    }

    /// The state with its first two coordinates moved by this much, as offsets along the directions:
    /// `(D)` values to add.
    pub fn offset(&self, by: [f64; 2]) -> Vec<f64> {
        let mut total = vec![0.0; self.origin.len()];
        for (component, by) in self.components.iter().zip(by) {
            total.iter_mut().zip(&component.direction).for_each(|(t, d)| *t += by * d);
        }
        total
    }

    /// The part of a velocity that lies in the first two directions.
    pub fn along(&self, velocity: &[f64]) -> [f64; 2] {
        let part = |i: usize| self.components.get(i).map_or(0.0, |c| dot(velocity, &c.direction));
        [part(0), part(1)]
    }
}

fn axes(dims: usize) -> Vec<PrincipalComponent> {
    (0..dims.min(3))
        .map(|i| {
            let mut direction = vec![0.0; dims];
            direction[i] = 1.0;
            PrincipalComponent { direction, explained_variance: 1.0 / dims as f64 }
        })
        .collect()
}

/// The states of a solve at these depths, the first being 0.
pub fn states_at(
    input: &FlowInput<'_>,
    rhs: &super::Rhs<'_>,
    times: &[f64],
    options: &SolverOptions,
) -> Result<(ode::Trace, Vec<Tensor>, Tensor)> {
    let solution = ode::solve_at(rhs, &input.start, times.get(1..).unwrap_or_default(), options)?;
    let mut states = vec![input.start.clone()];
    states.extend(solution.states.into_iter().map(|(_, y)| y));
    Ok((solution.trace, states, solution.end))
}
