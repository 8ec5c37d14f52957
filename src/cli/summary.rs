//! Where a run ended, as a small table for the terminal: the last value of what was measured, for
//! each variant, or mean and standard deviation over its seeds. It does not know what a lab is about.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use crate::{
    analysis::statistics::mean_sd,
    store::{Reader, StoreError},
    telemetry::{Event, RunInfo, channels},
};

/// A column: a channel and its heading.
struct Column {
    channel: &'static str,
    heading: &'static str,
    /// A gate may open to either side; its size is what seeds can agree on.
    size_only: bool,
}

const COLUMNS: &[Column] = &[
    Column { channel: channels::LOSS_HELD_OUT, heading: "held-out loss (nats)", size_only: false },
    Column { channel: channels::ACCURACY, heading: "accuracy", size_only: false },
    Column { channel: channels::GATE, heading: "|tanh γ|", size_only: true },
];

/// The table of a run folder; empty if nothing of it was measured.
pub fn table(folder: &Path) -> Result<String, StoreError> {
    let reader = Reader::open(folder)?;
    let Some(info) = reader.info() else { return Ok(String::new()) };
    let mut last: HashMap<(usize, &str), f64> = HashMap::new();
    reader.read_through(|event| {
        let Event::Step(stats) = event else { return };
        for (channel, value) in &stats.scalars {
            if let Some(c) = COLUMNS.iter().find(|c| c.channel == channel.as_str()) {
                last.insert((stats.variant, c.channel), if c.size_only { value.abs() } else { *value });
            }
        }
    })?;
    Ok(words(&info, &last))
}

fn words(info: &RunInfo, last: &HashMap<(usize, &str), f64>) -> String {
    let columns: Vec<&Column> = COLUMNS.iter().filter(|c| last.keys().any(|(_, name)| *name == c.channel)).collect();
    if columns.is_empty() {
        return String::new();
    }
    let mut groups: Vec<&str> = info.variants.iter().map(|v| v.group.as_str()).collect();
    let mut seen = HashSet::new();
    groups.retain(|g| seen.insert(*g));

    let headings: String = columns.iter().map(|c| format!("{:>24}", c.heading)).collect();
    let mut rows = vec![("at the last step".to_owned(), headings)];
    for group in groups {
        let members: Vec<usize> = (0..info.variants.len()).filter(|&v| info.variants[v].group == group).collect();
        let name = match members.as_slice() {
            [one] => info.variants[*one].label.clone(),
            many => format!("{group}, {} seeds", many.len()),
        };
        let values =
            |c: &Column| -> Vec<f64> { members.iter().filter_map(|v| last.get(&(*v, c.channel)).copied()).collect() };
        rows.push((name, columns.iter().map(|c| format!("{:>24}", cell(&values(c)))).collect()));
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let lines: Vec<String> = rows.into_iter().map(|(name, cells)| format!("{name:<width$}{cells}")).collect();
    lines.join("\n")
}

fn cell(values: &[f64]) -> String {
    match values {
        [] => "-".to_owned(),
        [one] => format!("{one:.4}"),
        many => {
            let (mean, sd) = mean_sd(many);
            format!("{mean:.4} ± {sd:.4}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_become_mean_and_spread_and_gaps_a_dash() {
        assert_eq!(cell(&[]), "-");
        assert_eq!(cell(&[0.25]), "0.2500");
        assert_eq!(cell(&[1.0, 3.0]), "2.0000 ± 1.4142");
    }
}
