//! Learning without gradients: a model whose update is a local rule of its own, such as a Hebbian one.

use candle_core::Result;

use crate::nn::Batch;

/// A model that learns from a batch by itself. What it learns lies in its parameters, so that snapshots, checkpoints and
/// resuming are those of any model; nothing that an update depends on may lie elsewhere.
pub trait LocalLearning {
    /// One update: learns from the rows of a batch in their order.
    fn learn(&mut self, batch: &Batch) -> Result<LocalUpdate>;
}

/// The result of an update.
pub struct LocalUpdate {
    /// The value shown as the loss: the mean error of the rule's own prediction.
    pub loss: f64,
    /// Further named scalars, by channel.
    pub scalars: Vec<(&'static str, f64)>,
    /// Why the loss is no finite number, once, when it first is not. A local rule has no optimiser that could refuse the
    /// update, and what it comes to then is a result too: the run goes on and says so.
    pub divergence: Option<String>,
}
