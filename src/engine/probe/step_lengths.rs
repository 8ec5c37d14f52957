//! The step lengths that a coupled model has learned, by layer and head.

use super::{Finding, ProbeContext, UntypedProbe};
use crate::{
    models::Model,
    nn::Result,
    telemetry::measurements::{self, LayerStepLengths},
};

/// Makes a [`measurements::StepLengths`]; no arguments. It reads weights alone and runs no model.
pub struct StepLengths;

impl UntypedProbe for StepLengths {
    fn id(&self) -> &'static str {
        "step_lengths"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        let evolves = |dynamics: &dyn crate::models::capabilities::QueryKeyDynamics| {
            (0..dynamics.layers()).any(|layer| matches!(dynamics.layer(layer), Ok(Some(_))))
        };
        model.query_key_dynamics().is_some_and(evolves)
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let Some(dynamics) = cx.model.query_key_dynamics() else {
            candle_core::bail!("step lengths need a model whose queries and keys evolve")
        };
        let (mut layers, mut steps) = (vec![], 0);
        for layer in 0..dynamics.layers() {
            if let Some(found) = dynamics.layer(layer)? {
                steps = found.steps;
                layers.push(LayerStepLengths { layer, dt: found.dt.into() });
            }
        }
        Ok(vec![Finding::new(measurements::StepLengths { layers, steps }, "the model's weights".to_owned(), vec![])])
    }
}
