//! The step lengths that a coupled model has learned, by layer and head.

use crate::probe::prelude::*;

/// The probe only reads weights and does not run the model.
impl Probe for StepLengthsArgs {
    type Answer = StepLengths;
    type Subject<'m> = &'m dyn QueryKeyDynamics;

    fn subject(model: &mut dyn Trainable) -> Option<&dyn QueryKeyDynamics> {
        let dynamics = model.capabilities().query_key_dynamics?;
        let evolves = (0..dynamics.layers()).any(|layer| matches!(dynamics.layer(layer), Ok(Some(_))));
        evolves.then_some(dynamics)
    }

    fn ask(&self, dynamics: &dyn QueryKeyDynamics, _: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (mut layers, mut steps) = (vec![], 0);
        for layer in 0..dynamics.layers() {
            if let Some(found) = dynamics.layer(layer)? {
                steps = found.steps;
                layers.push(LayerStepLengths { layer, dt: found.dt.into() });
            }
        }
        Ok(Answer::new(StepLengths { layers, steps }, "the model's weights".to_owned(), vec![]))
    }
}
