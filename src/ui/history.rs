//! Undo and redo of control changes. It does not know what is changed.

/// States to go back to and forth to. Changes to the same thing in quick succession (one drag)
/// count as one.
#[derive(Debug)]
pub struct History<T> {
    past: Vec<T>,
    future: Vec<T>,
    /// What was last changed, and when (seconds).
    last: Option<(String, f64)>,
}

/// Changes to the same thing closer than this are one, seconds.
const TOGETHER: f64 = 0.6;
const KEPT: usize = 200;

impl<T> Default for History<T> {
    fn default() -> Self {
        Self { past: vec![], future: vec![], last: None }
    }
}

impl<T: Clone + PartialEq> History<T> {
    /// Notes that `before` is about to be changed at `what`.
    pub fn note(&mut self, before: &T, what: &str, now: f64) {
        let same = self.last.as_ref().is_some_and(|(w, t)| w == what && now - t < TOGETHER);
        self.last = Some((what.to_owned(), now));
        self.future.clear();
        if same || self.past.last() == Some(before) {
            return;
        }
        self.past.push(before.clone());
        if self.past.len() > KEPT {
            self.past.remove(0);
        }
    }

    /// The state before the last change, given the present one.
    pub fn undo(&mut self, present: &T) -> Option<T> {
        let back = self.past.pop()?;
        self.future.push(present.clone());
        self.last = None;
        Some(back)
    }

    pub fn redo(&mut self, present: &T) -> Option<T> {
        let forth = self.future.pop()?;
        self.past.push(present.clone());
        self.last = None;
        Some(forth)
    }

    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_drag_is_one_change() {
        let mut h = History::default();
        h.note(&0, "lr", 0.0);
        h.note(&1, "lr", 0.1);
        h.note(&2, "lr", 0.2);
        h.note(&3, "seed", 0.3);
        assert_eq!(h.undo(&4), Some(3));
        assert_eq!(h.undo(&3), Some(0));
        assert_eq!(h.undo(&0), None);
        assert_eq!(h.redo(&0), Some(3));
        assert_eq!(h.redo(&3), Some(4));
        assert!(!h.can_redo());
    }

    #[test]
    fn a_new_change_forgets_what_was_undone() {
        let mut h = History::default();
        h.note(&0, "a", 0.0);
        assert_eq!(h.undo(&1), Some(0));
        h.note(&0, "b", 5.0);
        assert_eq!(h.redo(&2), None);
    }
}
