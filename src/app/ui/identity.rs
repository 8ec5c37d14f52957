//! Data kept between frames: numbers that are unique in this process, and a cache that is emptied for another key.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that nothing else of this process has. It is never 0.
pub fn unique() -> u64 {
    static LAST_ID: AtomicU64 = AtomicU64::new(0);
    LAST_ID.fetch_add(1, Ordering::Relaxed) + 1
}

/// The number of a run: every run that is begun, opened or replayed has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunNumber(u64);

impl Default for RunNumber {
    fn default() -> Self {
        Self(unique())
    }
}

/// The identity of data that only grow. A copy has another one, since the two may grow apart.
#[derive(Debug)]
pub struct DataId(u64);

impl DataId {
    pub fn number(&self) -> u64 {
        self.0
    }
}

impl Default for DataId {
    fn default() -> Self {
        Self(unique())
    }
}

impl Clone for DataId {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// A value computed for a key, and again for another one, so that nothing of one run or step is shown for another.
#[derive(Debug, Clone)]
pub struct KeyedCache<K, T> {
    key: Option<K>,
    value: T,
}

impl<K, T: Default> Default for KeyedCache<K, T> {
    fn default() -> Self {
        Self { key: None, value: T::default() }
    }
}

impl<K: PartialEq, T: Default> KeyedCache<K, T> {
    /// The value for `key`, empty at first.
    pub fn at(&mut self, key: K) -> &mut T {
        if self.key.as_ref() != Some(&key) {
            *self = Self { key: Some(key), value: T::default() };
        }
        &mut self.value
    }

    /// The value for `key`, if that is the last key asked for.
    pub fn get(&self, key: &K) -> Option<&T> {
        (self.key.as_ref() == Some(key)).then_some(&self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_key_begins_anew() {
        let mut kept: KeyedCache<(RunNumber, u64), Vec<u64>> = KeyedCache::default();
        let (a, b) = (RunNumber::default(), RunNumber::default());
        kept.at((a, 1)).push(7);
        assert_eq!(kept.at((a, 1)), &[7]);
        assert_eq!(kept.get(&(b, 1)), None);
        assert!(kept.at((b, 1)).is_empty());
        assert!(kept.at((a, 1)).is_empty(), "only the last is kept");
    }
}
