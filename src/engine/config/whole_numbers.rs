//! Whole numbers: a text setting that lists some of them, such as the layers that take part.

use std::ops::RangeInclusive;

use super::ConfigError;

/// "1 token", "2 tokens".
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The numbers of a list such as `1, 3, 5`, ascending and each once. Errors: what is not a whole number of the range;
/// `example`, as in "such as `1, 3, 5`", says what to write instead.
pub fn whole_numbers(
    key: &str,
    text: &str,
    range: RangeInclusive<usize>,
    example: &str,
) -> Result<Vec<usize>, ConfigError> {
    let (min, max) = (range.start(), range.end());
    let number = |part: &str| match part.parse() {
        Ok(n) if range.contains(&n) => Ok(n),
        _ => Err(ConfigError::WrongType {
            key: key.to_owned(),
            got: format!("`{part}`"),
            want: format!("whole numbers from {min} to {max}, separated by commas, {example}"),
        }),
    };
    let parts = text.split([',', ' ']).filter(|part| !part.is_empty());
    let mut all = parts.map(number).collect::<Result<Vec<usize>, _>>()?;
    all.sort_unstable();
    all.dedup();
    Ok(all)
}
