//! A scalar over steps, with a min/max pyramid so that a million points draw smoothly.

/// Ascending steps and their values.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    steps: Vec<u64>,
    values: Vec<f64>,
}

impl Curve {
    /// Appends; a step at or before the last one replaces what is there from it on (a resumed run).
    pub fn push(&mut self, step: u64, value: f64) {
        if self.steps.last().is_some_and(|last| *last >= step) {
            let keep = self.steps.partition_point(|s| *s < step);
            self.steps.truncate(keep);
            self.values.truncate(keep);
        }
        self.steps.push(step);
        self.values.push(value);
    }

    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
