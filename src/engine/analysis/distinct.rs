//! Removes duplicates from lists of values.

use std::{collections::HashSet, hash::Hash};

/// Returns each value once, in the order of first appearance, in time that grows with their number.
pub fn distinct<T: Eq + Hash + Clone>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = HashSet::new();
    values.into_iter().filter(|value| found.insert(value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_they_appear_first() {
        assert_eq!(distinct(["b", "a", "b", "c", "a"]), ["b", "a", "c"]);
    }
}
