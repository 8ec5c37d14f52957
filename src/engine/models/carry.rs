//! The state of a model that outlives a batch, so that batches which continue one another are read as one text.

use candle_core::Result;
use serde::{Deserialize, Serialize};

/// The prefix of carried states among the parameters; the layer follows.
pub(super) const CARRIED_PREFIX: &str = "carried.";

/// The state that outlives a batch, and when it is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carry {
    /// Rows of a batch; each has a state of its own.
    pub rows: usize,
    /// Updates after which the state is empty again.
    pub every: u64,
}

impl Carry {
    /// Updates since the state was empty, before the update of this number. Updates are counted from 1.
    pub(super) fn since(&self, update: u64) -> u64 {
        update.saturating_sub(1) % self.every.max(1)
    }

    /// Errors: a batch of other rows than the state's.
    pub(super) fn check_rows(&self, rows: usize) -> Result<()> {
        let own = self.rows;
        ensure!(own == rows, "a batch of {rows} rows cannot go on with the state of {own}; `train.batch` must stay");
        Ok(())
    }
}
