//! Changes of a model other than by gradients: a local learning rule, such as a Hebbian one, and numbers that can be
//! set while it runs.

use candle_core::Result;

use crate::nn::Batch;

/// A model that learns from a batch by itself. What it learns lies in its parameters, so that snapshots, checkpoints and
/// resuming are those of any model; nothing that an update depends on may lie elsewhere.
pub trait LocalLearning {
    /// Makes one update from the rows of a batch in their order.
    fn learn(&mut self, batch: &Batch) -> Result<LocalUpdate>;
}

/// The result of an update.
pub struct LocalUpdate {
    /// The value shown as the loss: the mean error of the rule's own prediction.
    pub loss: f64,
    /// Further named scalars, by channel.
    pub scalars: Vec<(&'static str, f64)>,
    /// The reason why the loss is not finite, given once, when it first happens. A local rule has no optimiser that
    /// could refuse the update, and the outcome is a result too: the run continues and reports it.
    pub divergence: Option<String>,
}

/// A parameter that [`Trainable::set_runtime_param`](super::super::Trainable::set_runtime_param) accepts, as it
/// stands. It changes no weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuntimeParam {
    /// The name by which the parameter is set.
    pub name: &'static str,
    /// NaN where the model's own value is in force.
    pub value: f64,
}
