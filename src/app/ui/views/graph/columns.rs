//! Values of nodes and edges from a file or measured, a list a name: they colour the picture, and the table lists them.

use crate::ui::views::prelude::*;

/// A column of whole numbers is treated as categorical if it has at most this many distinct values.
const MAX_NAMES: usize = 10;

/// A named column of values.
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
    /// A column of counts, one per node.
    pub fn counted(name: &str, counts: &[u32]) -> Self {
        let numbers = counts.iter().map(|c| f64::from(*c)).collect();
        Self { name: name.to_owned(), values: ColumnValues::Numbers(numbers) }
    }

    /// The column of a file, restricted to the items at these places.
    pub fn from_file(column: &GraphColumn, places: &[usize]) -> Self {
        let name = column.name.clone();
        let is_text = matches!(column.of, ColumnType::Text | ColumnType::Json);
        let number = |at: &usize| column.numbers.get(*at).copied().unwrap_or(f64::NAN);
        let numbers: Vec<f64> = if is_text { vec![] } else { places.iter().map(number).collect() };
        let text = |at: usize| match column.of {
            ColumnType::Text | ColumnType::Json => column.texts.get(places[at]).and_then(Option::as_deref),
            ColumnType::Boolean if numbers[at].is_nan() => None,
            _ => Some(if numbers[at] > 0.0 { "true" } else { "false" }),
        };
        let values = match column.of {
            ColumnType::Integer | ColumnType::Float => ColumnValues::Numbers(numbers),
            _ => names(places.len(), text),
        };
        Self { name, values }
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

    /// Minimum and maximum number; `None` where there are none.
    pub fn range(&self) -> Option<[f64; 2]> {
        let ColumnValues::Numbers(numbers) = &self.values else { return None };
        let finite = || numbers.iter().copied().filter(|v| v.is_finite());
        let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        (low <= high).then_some([low, high])
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
fn names<'a>(count: usize, text: impl Fn(usize) -> Option<&'a str>) -> ColumnValues {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    (0..count).filter_map(&text).for_each(|words| *counts.entry(words).or_default() += 1);
    let mut sorted: Vec<(&str, usize)> = counts.into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let places: HashMap<&str, u32> = sorted.iter().zip(0..).map(|((words, _), at)| (*words, at)).collect();
    let groups = (0..count).map(|at| text(at).and_then(|words| places.get(words).copied())).collect();
    ColumnValues::Names { groups, names: sorted.iter().map(|(words, _)| (*words).to_owned()).collect() }
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
