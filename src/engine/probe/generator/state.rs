//! A generator at a control: its rates, its classes with their stationary distributions, its spectrum.

use super::{ControlledModel, GeneratorQuery};
use crate::{
    analysis::generator::{classes, closed_classes, spectrum},
    probe::prelude::*,
};

impl Probe for GeneratorArgs {
    type Answer = GeneratorState;
    type Subject<'m> = ControlledModel<'m>;
    const MAY_NEED_NO_WEIGHTS: bool = true;

    fn untrained_subject(model: &dyn Trainable) -> Option<ControlledModel<'_>> {
        ControlledModel::untrained(model)
    }

    fn ask(&self, model: ControlledModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let asked = GeneratorQuery::new(model, self, cx)?;
        let (a, n) = (&asked.generator, asked.generator.len());
        let classes = classes(a);
        let closed = closed_classes(&classes);
        let Some(spectrum) = spectrum(a, closed) else {
            bail!("the eigenvalues of this generator were not found: bring its rates nearer to each other");
        };
        let predicted = match asked.map.filter(|_| !asked.is_changed()) {
            None => vec![],
            Some(map) => map.predict(std::slice::from_ref(&asked.control))?.pop().unwrap_or_default(),
        };
        let matrix = a.matrix().iter().map(|v| *v as f32).collect();
        let state = GeneratorState {
            control: asked.control.clone().into(),
            is_edited: asked.is_changed(),
            matrix: Array::new([n, n], matrix)?,
            step_bound: a.step_bound(),
            classes: classes
                .into_iter()
                .map(|c| StateClass { states: c.states, stationary: c.stationary.unwrap_or_default().into() })
                .collect(),
            eigenvalues: spectrum.eigenvalues.iter().flatten().copied().collect(),
            gap: spectrum.gap,
            predicted: predicted.into(),
            range: asked.map.map_or(f64::NAN, |map| map.range()),
        };
        Ok(Answer::new(state, asked.about(), vec![]))
    }
}
