//! A number of a model that can be changed while it runs, without touching its weights.

/// A parameter that [`Trainable::set_runtime_param`](super::super::Trainable::set_runtime_param) accepts, as it
/// stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuntimeParam {
    /// The name by which the parameter is set.
    pub name: &'static str,
    /// NaN where the model's own value is in force.
    pub value: f64,
}
