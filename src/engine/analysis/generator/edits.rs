//! Changes to single rates as text: "3>5=0.4, 5>3=0". States count from 1.

use super::GeneratorError;

/// One changed rate; states count from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateEdit {
    /// The state that the transition leaves, from 0.
    pub from: usize,
    /// The state that the transition enters, from 0.
    pub to: usize,
    /// The new rate, 0 or more.
    pub rate: f64,
}

/// Reads changes, separated by commas or blanks.
///
/// # Errors
/// If a part is none; the message shows it and how it is written.
pub fn read_edits(text: &str) -> Result<Vec<RateEdit>, GeneratorError> {
    let parts = text.split([',', ';', ' ', '\n', '\t']).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let edit = || {
                let (states, rate) = part.split_once('=')?;
                let (from, to) = states.split_once('>')?;
                let state = |words: &str| words.trim().parse::<usize>().ok()?.checked_sub(1);
                Some(RateEdit { from: state(from)?, to: state(to)?, rate: rate.trim().parse().ok()? })
            };
            edit().ok_or_else(|| {
                GeneratorError::Text(format!(
                    "`{part}` changes no rate: write 3>5=0.4 for a rate of 0.4 from state 3 to state 5"
                ))
            })
        })
        .collect()
}

/// Writes edits as text; of two changes of the same rate, the later one is written.
pub fn write_edits(edits: &[RateEdit]) -> String {
    let is_last = |(k, edit): &(usize, &RateEdit)| {
        !edits[k + 1..].iter().any(|later| (later.from, later.to) == (edit.from, edit.to))
    };
    let kept = edits.iter().enumerate().filter(is_last);
    kept.map(|(_, e)| format!("{}>{}={}", e.from + 1, e.to + 1, e.rate)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_were_written() {
        let edits = read_edits("3>5=0.4, 5>3=0;1>2=1e-3").unwrap();
        assert_eq!(edits[0], RateEdit { from: 2, to: 4, rate: 0.4 });
        assert_eq!(read_edits(&write_edits(&edits)).unwrap(), edits);
        assert_eq!(write_edits(&read_edits("1>2=3 1>2=4").unwrap()), "1>2=4");
        assert_eq!(read_edits("  ").unwrap(), []);
        for wrong in ["0>1=2", "1>2", "1=2", "a>b=c", "1>2=x"] {
            assert!(read_edits(wrong).unwrap_err().to_string().contains(wrong), "{wrong}");
        }
    }
}
