//! Questions that wait for the worker. The newest replaces a waiting one of the same kind.

use std::collections::VecDeque;

use crate::telemetry::Question;

#[derive(Default)]
pub(super) struct Questions(VecDeque<Question>);

impl Questions {
    /// Queues it in place of a waiting question with the same probe and variant.
    pub fn put(&mut self, question: Question) {
        match self.0.iter_mut().find(|q| q.probe == question.probe && q.variant == question.variant) {
            Some(waiting) => *waiting = question,
            None => self.0.push_back(question),
        }
    }

    pub fn next(&mut self) -> Option<Question> {
        self.0.pop_front()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(request: u64, probe: &str, variant: Option<usize>) -> Question {
        Question { request, probe: probe.into(), variant, args: Default::default() }
    }

    #[test]
    fn the_newest_of_a_kind_waits_and_kinds_keep_their_turn() {
        let mut q = Questions::default();
        q.put(question(1, "causality", Some(0)));
        q.put(question(2, "staircase", None));
        q.put(question(3, "causality", Some(0)));
        q.put(question(4, "causality", Some(1)));
        let order: Vec<u64> = std::iter::from_fn(|| q.next()).map(|q| q.request).collect();
        assert_eq!(order, [3, 2, 4]);
    }
}
