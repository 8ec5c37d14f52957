//! A block of queries against the keys that it attends to.

use std::ops::Range;

/// Queries start..start+len against keys lo..hi.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) lo: usize,
    pub(super) hi: usize,
    pub(super) window: usize,
}

impl Block {
    /// Columns of the block's scores that its row r (of any head) attends to.
    pub(super) fn seen(&self, r: usize) -> Range<usize> {
        let at = self.start + r % self.len;
        (at + 1).saturating_sub(self.window) - self.lo..at + 1 - self.lo
    }
}
