//! The few numbers of a measurement that are drawn over training, as scalars by channel: what a table of scalars, or
//! TensorBoard, can show beside the losses.

use crate::telemetry::{
    Channel, Measurement, Sample,
    measurements::{Activity, LayerActivity, ModularityAtStep},
};

/// The scalars of scheduled measurements; an answer to a question is not part of a curve.
pub(super) fn sample_scalars(sample: &Sample) -> Vec<(Channel, f64)> {
    if sample.request.is_some() {
        return vec![];
    }
    if let Some(activity) = sample.measurement::<Activity>() {
        return activity_scalars(activity);
    }
    match sample.measurement::<ModularityAtStep>() {
        Some(found) => [
            ("modularity", found.model),
            ("modularity/degree_preserving", found.degree_preserving),
            ("carrying", found.carrying),
            ("edges", found.edges as f64),
        ]
        .map(|(name, value)| (Channel::new(format!("{}/{name}", ModularityAtStep::CHANNEL)), value))
        .into(),
        None => vec![],
    }
}

/// Shares of neurons above zero by layer, from 0.
fn activity_scalars(activity: &Activity) -> Vec<(Channel, f64)> {
    let layer = |(layer, LayerActivity { trained, random_weights, .. }): (usize, &LayerActivity)| {
        [
            (format!("x/{layer}"), trained.x),
            (format!("y/{layer}"), trained.y),
            (format!("x/{layer}/random_weights"), random_weights.x),
            (format!("y/{layer}/random_weights"), random_weights.y),
        ]
        .map(|(name, value)| (Channel::new(format!("{}/{name}", Activity::CHANNEL)), value))
    };
    activity.layers.iter().enumerate().flat_map(layer).collect()
}
