//! An axis of a chart.

use super::scale::Scale;

/// An axis: its words with unit, and what it must show.
#[derive(Debug, Clone, Default)]
pub struct Axis {
    /// For example "step", "loss (nats per token)".
    pub label: String,
    /// The initial scale, until the user switches it with a click on the axis.
    pub scale: Scale,
    /// Values that are visible whatever the data are.
    pub include: Vec<f64>,
    /// Fixed ends, when data should not move them.
    pub fixed: Option<[f64; 2]>,
    pub integer_ticks: bool,
    /// Counts training steps: what happened in the run is marked on it.
    pub counts_steps: bool,
    /// The label is not written beside the axis, because a title above the chart or a chart below it has it.
    pub has_hidden_label: bool,
    /// Room beside the outermost values of an x axis, a share of the distance between them: for signs that would be cut at
    /// the edge. A y axis has a margin of its own, whatever this is.
    pub margin: f64,
}

impl Axis {
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    pub fn steps() -> Self {
        Self { counts_steps: true, integer_ticks: true, ..Self::new("step") }
    }

    pub fn log(self) -> Self {
        Self { scale: Scale::Log, ..self }
    }

    pub fn include(mut self, values: &[f64]) -> Self {
        self.include.extend_from_slice(values);
        self
    }

    pub fn fixed(self, from: f64, to: f64) -> Self {
        Self { fixed: Some([from, to]), ..self }
    }

    pub fn margin(self, share: f64) -> Self {
        Self { margin: share, ..self }
    }

    pub fn integer_ticks(self) -> Self {
        Self { integer_ticks: true, ..self }
    }

    /// Leaves the label out of the drawing; it still names the axis for tooltips and for charts that share its range.
    pub fn hide_label(self) -> Self {
        Self { has_hidden_label: true, ..self }
    }
}
