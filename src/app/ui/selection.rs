//! The selection of a page, shared by all its views. A view that selects more than the axes that every view shares
//! keeps it in a slot of its own type, so that the page depends on no view.

use std::{any::Any, any::TypeId, collections::BTreeMap, fmt::Debug};

/// The selected places, in all views at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Position on the current token axis.
    pub token: Option<usize>,
    pub head: Option<usize>,
    pub layer: Option<String>,
    /// A neuron of the graph, by its number in the model.
    pub neuron: Option<u32>,
    /// Index of the variant in focus (asked by one-variant views).
    pub variant: usize,
    pub(super) slots: BTreeMap<TypeId, Box<dyn AnySlot>>,
}

/// A value that views keep in the selection, at most one of each type.
pub trait Slot: Any + Debug + Clone + PartialEq {
    /// The noun for it in the name of a step that can be undone; `None` if choosing it is no such step.
    const STEP: Option<&'static str> = None;

    /// The value as the name of the undo step shows it.
    fn label(&self) -> String {
        String::new()
    }
}

pub(super) trait AnySlot: Any + Debug {
    fn cloned(&self) -> Box<dyn AnySlot>;
    fn equals(&self, other: &dyn AnySlot) -> bool;
    fn step(&self) -> Option<&'static str>;
    fn step_label(&self) -> String;
}

impl<T: Slot> AnySlot for T {
    fn cloned(&self) -> Box<dyn AnySlot> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn AnySlot) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }

    fn step(&self) -> Option<&'static str> {
        T::STEP
    }

    fn step_label(&self) -> String {
        self.label()
    }
}

impl PartialEq for dyn AnySlot {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl Clone for Box<dyn AnySlot> {
    fn clone(&self) -> Self {
        (**self).cloned()
    }
}

impl Selection {
    pub fn get<T: Slot>(&self) -> Option<&T> {
        (&**self.slots.get(&TypeId::of::<T>())? as &dyn Any).downcast_ref()
    }

    pub fn set<T: Slot>(&mut self, value: T) {
        self.slots.insert(TypeId::of::<T>(), Box::new(value));
    }

    pub fn clear<T: Slot>(&mut self) {
        self.slots.remove(&TypeId::of::<T>());
    }

    /// Changes the value in a slot, beginning with the default where there is none.
    pub fn update<T: Slot + Default, R>(&mut self, change: impl FnOnce(&mut T) -> R) -> R {
        let mut value = self.get::<T>().cloned().unwrap_or_default();
        let result = change(&mut value);
        self.set(value);
        result
    }

    /// The first slot in which a selection differs from this one: its noun, and its value before and after.
    pub(super) fn slot_step(&self, after: &Self) -> Option<SlotStep> {
        self.slots.keys().chain(after.slots.keys()).find_map(|key| {
            let (was, is) = (self.slots.get(key), after.slots.get(key));
            let noun = was.or(is)?.step()?;
            let label = |slot: Option<&Box<dyn AnySlot>>| slot.map(|slot| slot.step_label());
            (was != is).then(|| SlotStep { noun, before: label(was), after: label(is) })
        })
    }

    /// Keeps what is selected now in the slots whose change cannot be undone.
    pub(super) fn keep_slots_of(&mut self, now: &Self) {
        self.slots.retain(|_, slot| slot.step().is_some());
        let kept = now.slots.iter().filter(|(_, slot)| slot.step().is_none());
        self.slots.extend(kept.map(|(key, slot)| (*key, slot.clone())));
    }
}

pub(super) struct SlotStep {
    pub noun: &'static str,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Synapse(u32);

    impl Slot for Synapse {
        const STEP: Option<&'static str> = Some("synapse");

        fn label(&self) -> String {
            self.0.to_string()
        }
    }

    #[derive(Debug, Clone, Default, PartialEq)]
    struct Text(String);

    impl Slot for Text {}

    #[test]
    fn a_slot_holds_one_value_of_its_type() {
        let mut selection = Selection::default();
        selection.set(Synapse(3));
        selection.update(|text: &mut Text| text.0.push('a'));
        selection.update(|text: &mut Text| text.0.push('b'));
        assert_eq!((selection.get(), selection.get()), (Some(&Synapse(3)), Some(&Text("ab".into()))));
        selection.clear::<Synapse>();
        assert_eq!(selection.get::<Synapse>(), None);
    }

    #[test]
    fn only_slots_that_name_a_step_can_be_undone() {
        let mut before = Selection::default();
        before.set(Text("old".into()));
        let mut after = before.clone();
        after.set(Text("new".into()));
        assert!(before.slot_step(&after).is_none());
        after.set(Synapse(7));
        let step = before.slot_step(&after).unwrap();
        assert_eq!((step.noun, step.before, step.after.as_deref()), ("synapse", None, Some("7")));
        before.keep_slots_of(&after);
        assert_eq!((before.get(), before.get::<Synapse>()), (Some(&Text("new".into())), None));
    }
}
