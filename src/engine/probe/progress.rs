//! The progress of a probe with its answer, and its cancellation.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Answer, IntoPayloads};
use crate::nn::Result;

/// A probe reports here between the pieces of its work.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    report: &'a dyn Fn(f32),
    cancelled: &'a AtomicBool,
    /// The begin and the size of the part of the whole that reports cover.
    from: f32,
    size: f32,
    /// The receiver of partial answers.
    show: Option<&'a dyn Fn(Answer)>,
}

static NEVER_CANCELLED: AtomicBool = AtomicBool::new(false);

impl<'a> Progress<'a> {
    /// `report` receives shares from 0 to 1; `cancelled` ends the work at its next report.
    pub fn new(report: &'a dyn Fn(f32), cancelled: &'a AtomicBool) -> Self {
        Self { report, cancelled, from: 0.0, size: 1.0, show: None }
    }

    /// No receiver: progress is not reported, and nothing is cancelled.
    pub fn none() -> Self {
        Self::new(&|_| (), &NEVER_CANCELLED)
    }

    /// The progress of piece `i` of `n` equal ones.
    pub fn piece(&self, i: usize, n: usize) -> Self {
        let size = self.size / n.max(1) as f32;
        Self { from: self.from + i as f32 * size, size, ..*self }
    }

    /// Shows partial answers, too.
    pub fn showing(self, show: &'a dyn Fn(Answer)) -> Self {
        Self { show: Some(show), ..self }
    }

    /// True if partial answers have a receiver.
    pub fn has_receiver(&self) -> bool {
        self.show.is_some()
    }

    /// Shows the partial answer; the next one takes its place.
    pub fn show(&self, so_far: Answer<impl IntoPayloads>) {
        if let Some(show) = self.show {
            so_far.into_answers().into_iter().for_each(show);
        }
    }

    /// Reports that `done` of `total` is complete.
    ///
    /// # Errors
    /// If the answer is no longer wanted.
    pub fn at(&self, done: usize, total: usize) -> Result<()> {
        ensure!(!self.cancelled.load(Ordering::Relaxed), "cancelled");
        (self.report)(self.from + self.size * (done as f32 / total.max(1) as f32).min(1.0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn pieces_add_up_to_the_whole_and_a_cancelled_one_ends() {
        let (told, cancelled) = (RefCell::new(vec![]), AtomicBool::new(false));
        let report = |share| told.borrow_mut().push(share);
        let progress = Progress::new(&report, &cancelled);
        progress.at(1, 4).unwrap();
        let second = progress.piece(1, 2);
        second.at(0, 4).unwrap();
        second.piece(1, 2).at(0, 3).unwrap();
        second.at(4, 4).unwrap();
        assert_eq!(*told.borrow(), [0.25, 0.5, 0.75, 1.0]);
        cancelled.store(true, Ordering::Relaxed);
        assert!(second.piece(0, 1).at(4, 4).is_err());
        assert_eq!(told.borrow().len(), 4);
    }
}
