//! The field itself in the plane that paths are drawn in: arrows for the particles.

use super::{
    FlowInput,
    basis::{Basis, states_at},
    linspace,
};
use crate::probe::prelude::*;

/// The margin of the shown plane around the paths, as a share of their extent.
const MARGIN: f64 = 0.5;
/// Half the side of the square shown in a playground.
const HALF_PLAYGROUND: f64 = 3.2;

/// The followed token's state is moved over the plane through where it is at that depth; all other tokens
/// stay on their paths. What the velocity has outside the plane is not shown.
impl Probe for FlowFieldArgs {
    type Answer = FlowField;
    type Subject<'m> = FlowModel<'m>;

    fn ask(&self, model: FlowModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (input, params) = FlowInput::from_args(model, &self.flow, cx)?;
        let (tau, n) = (self.tau, self.cells);
        let rhs = input.rhs(params.control)?;
        let basis = Basis::new(&input, &params)?;
        let state = if tau > 0.0 {
            let (_, mut states, _) = states_at(&input, &rhs, &[0.0, tau], &params.options)?;
            states.pop().unwrap_or_else(|| input.start.clone())
        } else {
            input.start.clone()
        };
        let row = host::rows_f64(&state)?.swap_remove(input.token);
        let here = basis.project(&row);
        let extent = extent(&input, &basis, &here);
        let FieldExtent { x0, x1, y0, y1 } = extent;
        let mut offsets = vec![];
        for y in linspace(y0, y1, n) {
            offsets.extend(linspace(x0, x1, n).iter().map(|x| basis.offset([x - here[0], y - here[1]])));
        }
        let velocities = velocities(&input, &rhs, tau, &state, &offsets)?;
        let (dx, dy): (Vec<f32>, Vec<f32>) =
            velocities.iter().map(|v| basis.along(v)).map(|[x, y]| (x as f32, y as f32)).unzip();
        let grid = |data| Array::new([n, n], data);
        let field = FlowField { tau, at: [here[0], here[1]], extent, dx: grid(dx)?, dy: grid(dy)? };
        let about = format!("{}, token {}, τ = {tau}, {}", input.describe(), input.token, params.describe());
        Ok(Answer::new(field, about, input.tokens))
    }
}

/// A square around the followed token's paths.
fn extent(input: &FlowInput<'_>, basis: &Basis, here: &[f64]) -> FieldExtent {
    if input.planar_field().is_some() {
        return FieldExtent { x0: -HALF_PLAYGROUND, x1: HALF_PLAYGROUND, y0: -HALF_PLAYGROUND, y1: HALF_PLAYGROUND };
    }
    let (low, high): (Vec<f64>, Vec<f64>) =
        basis.reach.iter().zip(here).map(|((low, high), at)| (low.min(*at), high.max(*at))).unzip();
    let half = (0..2).map(|i| 0.5 * (high[i] - low[i])).fold(1e-6, f64::max) * (1.0 + 2.0 * MARGIN);
    let middle = |i: usize| 0.5 * (low[i] + high[i]);
    FieldExtent { x0: middle(0) - half, x1: middle(0) + half, y0: middle(1) - half, y1: middle(1) + half }
}

/// The followed row's velocity with each of these offsets added to it.
fn velocities(
    input: &FlowInput<'_>,
    rhs: &super::Rhs<'_>,
    tau: f64,
    state: &Tensor,
    offsets: &[Vec<f64>],
) -> Result<Vec<Vec<f64>>> {
    let dims = offsets.first().map_or(0, Vec::len);
    let flat: Vec<f64> = offsets.iter().flatten().copied().collect();
    let device = state.device();
    if input.planar_field().is_some() {
        let row = state.narrow(0, input.token, 1)?; // (1, 2)
        let moved = Tensor::from_vec(flat, (offsets.len(), dims), device)?.to_dtype(state.dtype())?;
        let all = rhs(tau, &moved.broadcast_add(&row)?)?; // (cells, 2)
        return host::rows_f64(&all);
    }
    // Attention is causal: tokens after the followed one play no part.
    let t = input.token + 1;
    let before = state.narrow(1, 0, t)?.broadcast_as((offsets.len(), t, dims))?.contiguous()?; // (cells, t, D)
    let moved = Tensor::from_vec(flat, (offsets.len(), 1, dims), device)?.to_dtype(state.dtype())?;
    let own = (before.narrow(1, input.token, 1)? + moved)?;
    let all = if input.token == 0 { own } else { Tensor::cat(&[&before.narrow(1, 0, input.token)?, &own], 1)? };
    let velocity = rhs(tau, &all)?.narrow(1, input.token, 1)?;
    host::rows_f64(&velocity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        models::ode_flow::{OdeFlow, OdeFlowSpec},
        probe::flow::{FlowTarget, embedded},
    };

    #[test]
    fn velocities_are_the_fields_and_leave_the_future_out() -> Result<()> {
        let spec = OdeFlowSpec { d_model: 8, heads: 2, pre: 1, post: 1, ..OdeFlowSpec::default() };
        let model = OdeFlow::new(&spec, 11, 3, &Device::Cpu)?;
        for (_, var) in model.params().iter() {
            var.set(&(var.as_tensor() * 3.0)?.detach())?;
        }
        let flow: &dyn LanguageFlow = &model;
        let start = embedded(flow, &[3, 1, 4, 1, 5], &Device::Cpu)?; // (1, 5, 8)
        let (target, token, tau) = (FlowTarget::Language(flow), 2, 0.25);
        let (ids, tokens, prompt) = (vec![], vec![], String::new());
        let input = FlowInput { target, start: start.clone(), ids, tokens, prompt, token };
        let rhs = input.rhs(FlowControl { u: [1.0, 0.0, 0.0, 0.0], ..FlowControl::default() })?;
        let offsets = [vec![0.0; 8], (0..8).map(|i| 0.1 * f64::from(i)).collect()];
        let found = velocities(&input, &rhs, tau, &start, &offsets)?;
        assert_ne!(found[0], found[1]);
        let part = |from, len, times: f64| -> Result<Tensor> { start.narrow(1, from, len)? * times };
        for (offset, found) in offsets.iter().zip(&found) {
            let moved = Tensor::new(offset.as_slice(), &Device::Cpu)?.to_dtype(start.dtype())?;
            let own = part(token, 1, 1.0)?.broadcast_add(&moved)?;
            let whole = Tensor::cat(&[part(0, token, 1.0)?, own, part(token + 1, 2, 1.0)?], 1)?;
            let expected = host::rows_f64(&rhs(tau, &whole)?)?.swap_remove(token);
            let size = expected.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            let off = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-4 * size, "{found:?} {expected:?}");
        }
        let future = Tensor::cat(&[part(0, token + 1, 1.0)?, part(token + 1, 2, 3.0)?], 1)?;
        assert_eq!(velocities(&input, &rhs, tau, &future, &offsets)?, found);
        let past = Tensor::cat(&[part(0, token, 3.0)?, part(token, 3, 1.0)?], 1)?;
        assert_ne!(velocities(&input, &rhs, tau, &past, &offsets)?, found);
        Ok(())
    }
}
