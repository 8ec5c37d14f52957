//! Undo and redo as named steps. A step keeps the state before it; undone, it keeps the current one, to be redone.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

/// Returns a number that is greater for each later step or deletion of this process, so that those of several histories
/// can be ordered. A time would not serve, because egui's clock stands still in a hidden window.
fn next_order() -> u64 {
    static NEXT_ID: AtomicU64 = AtomicU64::new(0);
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// A named step with the state before it or, once it is undone, the state after it.
#[derive(Debug)]
struct UndoStep<T> {
    name: String,
    state: T,
    order: u64,
}

impl<T> UndoStep<T> {
    fn new(name: String, state: T) -> Self {
        Self { name, state, order: next_order() }
    }
}

#[derive(Debug, Clone)]
pub struct TrashedRun {
    pub place: PathBuf,
    pub title: String,
    order: u64,
}

impl TrashedRun {
    pub fn new(place: PathBuf, title: String) -> Self {
        Self { place, title, order: next_order() }
    }
}

/// Steps to go back to and forth to. Changes to the same thing in quick succession, or while one button is held (one
/// drag) or one text field has the focus, are one step.
#[derive(Debug, Default)]
pub struct History<T> {
    past: Vec<UndoStep<T>>,
    future: Vec<UndoStep<T>>,
    /// The key and the time (seconds) of the last change.
    last: Option<(String, f64)>,
    /// The time, in seconds, since which a pointer button has been held or a text has been typed.
    held_since: Option<f64>,
}

/// Changes of the same setting that follow within this time are merged into one, seconds.
const MERGE_SECONDS: f64 = 0.6;
const MAX_STEPS: usize = 200;

impl<T> History<T> {
    /// Says since when a button of the pointer is held, or a text is being typed, if that is so.
    pub fn hold(&mut self, since: Option<f64>) {
        self.held_since = since;
    }

    /// Notes that what was `before` was changed at `what`; the step is called `name`.
    pub fn note(&mut self, before: T, what: &str, name: String, now: f64) {
        let is_together = |at: f64| now - at < MERGE_SECONDS || self.held_since.is_some_and(|since| since <= at);
        let is_same = self.last.as_ref().is_some_and(|(of, at)| of == what && is_together(*at));
        self.last = Some((what.to_owned(), now));
        self.future.clear();
        if let Some(step) = self.past.last_mut().filter(|_| is_same) {
            (step.name, step.order) = (name, next_order());
            return;
        }
        self.past.push(UndoStep::new(name, before));
        if self.past.len() > MAX_STEPS {
            self.past.remove(0);
        }
    }

    /// Forgets the last step if it changed nothing in the end. A change that follows is a step of its own.
    pub fn forget_last_if(&mut self, is_nothing: impl FnOnce(&T) -> bool) {
        if self.past.last().is_some_and(|step| is_nothing(&step.state)) {
            self.past.pop();
            self.last = None;
        }
    }

    /// The last step, if it was noted at this time.
    pub fn last_noted_at(&mut self, now: f64) -> Option<&mut T> {
        let is_now = self.last.as_ref().is_some_and(|(_, at)| *at == now);
        self.past.last_mut().filter(|_| is_now).map(|step| &mut step.state)
    }

    /// Undoes the last step of a kind; returns its name. `swap` restores a state and returns the one that it replaces.
    pub fn undo_last(&mut self, is_of_kind: impl Fn(&T) -> bool, swap: impl FnOnce(T) -> T) -> Option<String> {
        let at = self.past.iter().rposition(|step| is_of_kind(&step.state))?;
        let step = self.past.remove(at);
        self.last = None;
        self.future.push(UndoStep::new(step.name.clone(), swap(step.state)));
        Some(step.name)
    }

    pub fn redo(&mut self, swap: impl FnOnce(T) -> T) -> Option<String> {
        let step = self.future.pop()?;
        self.last = None;
        self.past.push(UndoStep::new(step.name.clone(), swap(step.state)));
        Some(step.name)
    }

    /// The last step of a kind, which undo would take back: its name, and the state that would be restored.
    pub fn undoable(&self, is_of_kind: impl Fn(&T) -> bool) -> Option<(&str, &T)> {
        let step = self.past.iter().rev().find(|step| is_of_kind(&step.state))?;
        Some((step.name.as_str(), &step.state))
    }

    pub fn next_undo(&self) -> Option<&str> {
        self.undoable(|_| true).map(|(name, _)| name)
    }

    /// The step that would be redone next: its name, and the state that would be put in place.
    pub fn redoable(&self) -> Option<(&str, &T)> {
        self.future.last().map(|step| (step.name.as_str(), &step.state))
    }

    /// The run that was deleted last, if that was after the last step, so that undo takes it back first.
    pub fn newer_deletion<'t>(&self, trash: &'t [TrashedRun]) -> Option<&'t TrashedRun> {
        trash.last().filter(|run| self.past.last().is_none_or(|step| run.order > step.order))
    }

    /// The labels of undo and redo with their next step: "Undo: seed", "Redo: seed".
    pub fn labels(&self, trash: &[TrashedRun]) -> [Option<String>; 2] {
        let deleted = self.newer_deletion(trash).map(|run| format!("deleted {}", run.title));
        [("Undo", deleted.as_deref().or(self.next_undo())), ("Redo", self.redoable().map(|(name, _)| name))]
            .map(|(verb, step)| step.map(|step| format!("{verb}: {step}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value with its history, changed as controls change it.
    #[derive(Default)]
    struct Changed {
        value: i64,
        history: History<i64>,
    }

    impl Changed {
        fn set(&mut self, value: i64, what: &str, now: f64) {
            self.history.note(self.value, what, format!("{what} {value}"), now);
            self.value = value;
        }

        fn undo(&mut self) -> Option<String> {
            self.history.undo_last(|_| true, |v| std::mem::replace(&mut self.value, v))
        }

        fn redo(&mut self) -> Option<String> {
            self.history.redo(|v| std::mem::replace(&mut self.value, v))
        }
    }

    #[test]
    fn one_drag_is_one_step() {
        let mut c = Changed::default();
        [0.0, 0.1, 0.2].into_iter().enumerate().for_each(|(i, now)| c.set(i as i64 + 1, "lr", now));
        c.set(9, "seed", 0.3);
        assert_eq!((c.undo().as_deref(), c.value), (Some("seed 9"), 3));
        assert_eq!((c.undo().as_deref(), c.value), (Some("lr 3"), 0));
        assert_eq!(c.undo(), None);
        assert_eq!((c.redo().as_deref(), c.value), (Some("lr 3"), 3));
        assert_eq!((c.redo().as_deref(), c.value), (Some("seed 9"), 9));
        assert_eq!(c.redo(), None);
    }

    #[test]
    fn a_drag_that_rests_is_one_step() {
        let mut c = Changed::default();
        c.history.hold(Some(0.0));
        c.set(1, "lr", 0.1);
        c.set(2, "lr", 5.0);
        c.history.hold(None);
        c.set(3, "lr", 9.0);
        assert_eq!((c.undo().as_deref(), c.value), (Some("lr 3"), 2));
        assert_eq!((c.undo().as_deref(), c.value), (Some("lr 2"), 0));
    }

    #[test]
    fn a_new_step_forgets_what_was_undone() {
        let mut c = Changed::default();
        c.set(1, "a", 0.0);
        assert_eq!(c.history.next_undo(), Some("a 1"));
        c.undo();
        assert_eq!(c.history.redoable(), Some(("a 1", &1)));
        c.set(2, "b", 5.0);
        assert_eq!(c.redo(), None);
    }

    #[test]
    fn a_step_is_as_new_as_its_last_change() {
        let mut c = Changed::default();
        c.set(1, "lr", 0.0);
        let deleted = || [TrashedRun::new("trash/a".into(), "a".into())];
        let trash = deleted();
        assert!(c.history.newer_deletion(&trash).is_some());
        c.set(2, "lr", 0.1);
        assert!(c.history.newer_deletion(&trash).is_none(), "a drag that goes on");
        c.undo();
        assert!(c.history.newer_deletion(&trash).is_some(), "no step is left");
        let trash = deleted();
        c.redo();
        assert!(c.history.newer_deletion(&trash).is_none());
    }

    #[test]
    fn the_last_step_of_a_kind_is_undone_alone() {
        let mut h: History<(bool, i64)> = History::default();
        h.note((true, 1), "a", "a".into(), 0.0);
        h.note((false, 2), "b", "b".into(), 1.0);
        assert_eq!(h.undo_last(|s| s.0, |_| (true, 7)).as_deref(), Some("a"));
        assert_eq!(h.next_undo(), Some("b"));
        assert_eq!(h.redo(|s| s).as_deref(), Some("a"));
    }
}
