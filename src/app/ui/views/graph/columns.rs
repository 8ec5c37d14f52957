//! Values of nodes and edges from a file or measured, a list a name: they colour the picture, and the table lists them.

use std::{cmp::Reverse, collections::BTreeMap};

use crate::ui::views::prelude::*;

/// A column of whole numbers is treated as categorical if it has at most this many distinct values.
const MAX_NAMES: usize = 10;

#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub name: String,
    pub values: ColumnValues,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// A number for each row; NaN where there is none.
    Numbers(Vec<f64>),
    /// Categories: `groups` are indices into `names`, which begin with the most frequent.
    Names { groups: Vec<Option<u32>>, names: Vec<String> },
}

impl Column {
    pub fn counted(name: &str, counts: &[u32]) -> Self {
        let numbers = counts.iter().map(|c| f64::from(*c)).collect();
        Self { name: name.to_owned(), values: ColumnValues::Numbers(numbers) }
    }

    /// The column of a file, restricted to the items at these places.
    pub fn from_file(column: &GraphColumn, places: &[usize]) -> Self {
        let number = |at: usize| column.numbers.get(at).copied().unwrap_or(f64::NAN);
        let values = match column.of {
            ColumnType::Integer | ColumnType::Float => {
                ColumnValues::Numbers(places.iter().map(|at| number(*at)).collect())
            }
            ColumnType::Boolean => names(places, |at| match number(at) {
                v if v.is_nan() => None,
                v => Some(if v > 0.0 { "true" } else { "false" }),
            }),
            ColumnType::Text | ColumnType::Json => names(places, |at| column.texts.get(at)?.as_deref()),
        };
        Self { name: column.name.clone(), values }
    }

    /// The number of an item; NaN where there is none.
    pub fn number(&self, at: usize) -> f64 {
        let ColumnValues::Numbers(numbers) = &self.values else { return f64::NAN };
        numbers.get(at).copied().unwrap_or(f64::NAN)
    }

    /// The value of an item as text; empty where there is none.
    pub fn text(&self, at: usize) -> String {
        match &self.values {
            ColumnValues::Numbers(_) => match self.number(at) {
                v if v.is_nan() => String::new(),
                v if v.fract() == 0.0 && v.abs() < 1e15 => format!("{v}"),
                v => value_label(v),
            },
            ColumnValues::Names { groups, names } => {
                let place = groups.get(at).copied().flatten();
                place.and_then(|place| names.get(place as usize)).cloned().unwrap_or_default()
            }
        }
    }

    pub fn range(&self) -> Option<[f64; 2]> {
        let ColumnValues::Numbers(numbers) = &self.values else { return None };
        finite_range(numbers.iter().copied())
    }

    /// The column as named groups; `None` unless it holds texts, or whole numbers with few different values.
    pub fn groups(&self) -> Option<(Vec<Option<u32>>, Vec<String>)> {
        match &self.values {
            ColumnValues::Names { groups, names } => Some((groups.clone(), names.clone())),
            ColumnValues::Numbers(numbers) => {
                let mut different: Vec<f64> = vec![];
                for v in numbers.iter().copied().filter(|v| v.is_finite()) {
                    let is_new = !different.contains(&v);
                    if v.fract() != 0.0 || v.abs() > 1e9 || is_new && different.len() == MAX_NAMES {
                        return None;
                    }
                    if is_new {
                        different.push(v);
                    }
                }
                different.sort_by(f64::total_cmp);
                let place = |v: &f64| different.iter().position(|d| d == v).map(|at| at as u32);
                let words = different.iter().map(|v| format!("{v}")).collect();
                (!different.is_empty()).then(|| (numbers.iter().map(place).collect(), words))
            }
        }
    }
}

/// Texts as places among their different ones, the most frequent first.
fn names<'a>(places: &[usize], text: impl Fn(usize) -> Option<&'a str>) -> ColumnValues {
    let names = by_count(places.iter().filter_map(|at| text(*at)));
    let indices: HashMap<&str, u32> = names.iter().zip(0..).map(|((name, _), index)| (*name, index)).collect();
    let groups = places.iter().map(|at| indices.get(text(*at)?).copied()).collect();
    ColumnValues::Names { groups, names: names.iter().map(|(name, _)| (*name).to_owned()).collect() }
}

/// Each value with its number of occurrences, the most frequent first, and of equally frequent ones the smaller.
pub fn by_count<T: Ord>(values: impl Iterator<Item = T>) -> Vec<(T, usize)> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let mut sorted: Vec<(T, usize)> = counts.into_iter().collect();
    sorted.sort_by_key(|(_, count)| Reverse(*count));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_named_by_frequency_and_few_whole_numbers_are_groups() {
        let texts = ["b", "a", "b"].map(|t| Some(t.to_owned())).into_iter().chain([None]).collect();
        let column = GraphColumn { name: "kind".into(), of: ColumnType::Text, numbers: vec![].into(), texts };
        let column = Column::from_file(&column, &[0, 1, 2, 3]);
        let (groups, names) = column.groups().unwrap();
        assert_eq!((groups, names), (vec![Some(0), Some(1), Some(0), None], vec!["b".to_owned(), "a".to_owned()]));
        let numbers = |v: &[f64]| Column { name: "n".into(), values: ColumnValues::Numbers(v.to_vec()) };
        let (groups, names) = numbers(&[3.0, -1.0, f64::NAN]).groups().unwrap();
        assert_eq!((groups, names), (vec![Some(1), Some(0), None], vec!["-1".to_owned(), "3".to_owned()]));
        assert_eq!(numbers(&[0.5, 1.0]).groups(), None);
        assert_eq!(numbers(&[0.5, f64::NAN, -1.0]).range(), Some([-1.0, 0.5]));
        assert_eq!((column.text(3), numbers(&[12.0]).text(0)), (String::new(), "12".to_owned()));
    }
}
