//! The order of the rows of the table.

use std::cmp::Ordering;

use super::RunRow;

/// The order of runs by a column, a setting or a headline number; pinned runs come before all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub key: String,
    pub descending: bool,
}

impl Default for Order {
    /// The newest run comes first.
    fn default() -> Self {
        Self { key: "began".to_owned(), descending: true }
    }
}

impl Order {
    /// Parses a key to sort by; `steps` sorts in rising order, `-steps` in falling order.
    pub fn parse(text: &str) -> Self {
        let (key, descending) = text.strip_prefix('-').map_or((text, false), |key| (key, true));
        Self { key: key.to_owned(), descending }
    }

    /// Sorts by a column; a second click reverses the order.
    pub fn click(&mut self, key: &str) {
        self.descending = if self.key == key { !self.descending } else { key == "began" };
        key.clone_into(&mut self.key);
    }

    /// True if some row has the key that it sorts by.
    pub fn is_known<'a>(&self, mut rows: impl Iterator<Item = &'a RunRow>) -> bool {
        matches!(self.key.as_str(), "began" | "name" | "lab" | "preset" | "state" | "folder" | "changed")
            || rows.any(|r| r.numbers(&self.key).is_some() || r.last_setting(&self.key).is_some())
    }

    pub fn sort(&self, rows: &mut [&RunRow]) {
        // Keys are made once for each row, not once for each comparison.
        let mut keyed: Vec<(SortKey, &RunRow)> = rows.iter().map(|row| (self.key_of(row), *row)).collect();
        keyed.sort_by(|(a, x), (b, y)| {
            let pinned = y.note.pinned.cmp(&x.note.pinned);
            pinned
                .then_with(|| a.compare(b, self.descending))
                .then_with(|| (y.began, &y.folder).cmp(&(x.began, &x.folder)))
        });
        rows.iter_mut().zip(keyed).for_each(|(place, (_, row))| *place = row);
    }

    fn key_of(&self, row: &RunRow) -> SortKey {
        match self.key.as_str() {
            "began" => SortKey::Number(row.began as f64),
            "name" => SortKey::Text(row.title().to_lowercase()),
            "folder" => SortKey::Text(row.folder.clone()),
            "lab" => SortKey::Text(format!("{} {}", row.lab, row.preset)),
            "preset" => SortKey::Text(row.preset.clone()),
            "state" => SortKey::Text(row.state_label()),
            "changed" => {
                let last_values = row.changed_or_moved().into_iter().map(|(key, last)| format!("{key} {last}"));
                SortKey::Text(last_values.collect::<Vec<_>>().join(", "))
            }
            key => match row.sort_number(key) {
                Some(number) => SortKey::Number(number),
                None => row.last_setting(key).map_or(SortKey::None, |value| SortKey::Text(value.to_string())),
            },
        }
    }
}

/// The value by which a row of a table is sorted.
pub(in crate::experiments) enum SortKey {
    Number(f64),
    Text(String),
    /// The row has no such value, and is sorted last in either direction.
    None,
}

impl SortKey {
    pub(in crate::experiments) fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let rising = match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
            (Self::None, Self::None) => return Ordering::Equal,
            (Self::None, _) => return Ordering::Greater,
            (_, Self::None) => return Ordering::Less,
        };
        if descending { rising.reverse() } else { rising }
    }
}
