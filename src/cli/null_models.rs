//! Modularity of a run's graph of neurons against its null models, as a table for the terminal: the last
//! measurement, and the first one's model for comparison. Empty for runs that measured none.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use crate::{
    store::{Reader, StoreError},
    telemetry::{Event, Sample, Series, channels},
};

pub fn table(folder: &Path) -> Result<String, StoreError> {
    let reader = Reader::open(folder)?;
    let Some(info) = reader.info() else { return Ok(String::new()) };
    let mut found: BTreeMap<usize, (Sample, Sample)> = BTreeMap::new();
    for event in reader {
        let Event::Sample(sample) = event else { continue };
        if sample.channel.as_str() == channels::GRAPH_MODULARITY {
            let first = found.get(&sample.variant).map_or_else(|| sample.clone(), |(first, _)| first.clone());
            found.insert(sample.variant, (first, sample));
        }
    }
    let mut out = String::new();
    for (variant, (first, last)) in &found {
        let label = info.variants.get(*variant).map_or("", |v| v.label.as_str());
        if let Some(series) = last.payload.as_series() {
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(&words(label, last, series, first));
        }
    }
    Ok(out)
}

fn words(label: &str, last: &Sample, series: &Series, first: &Sample) -> String {
    let row = |name: &str, values: &[f64], digits: usize| {
        let cells: String = values.iter().map(|v| format!("{v:>9.digits$}")).collect();
        format!("{name:<26}{cells}")
    };
    let mut out = format!("{label}: modularity Q, {}\n", last.about);
    out.push_str(&row("edges", &series.x, 0));
    for line in series.lines.iter().filter(|l| l.name != "carrying") {
        let name = if line.name == "model" { format!("this model, step {}", last.step) } else { line.name.clone() };
        // writing to a string does not fail
        let _ = write!(out, "\n{}", row(&name, &line.y, 3));
    }
    let of = |s: &Series, name: &str| s.lines.iter().find(|l| l.name == name).map(|l| l.y.clone());
    let before = first.payload.as_series().filter(|_| first.step < last.step).and_then(|s| of(s, "model"));
    if let Some(before) = before {
        let _ = write!(out, "\n{}", row(&format!("this model, step {}", first.step), &before, 3));
    }
    if let Some(carrying) = of(series, "carrying") {
        let _ = write!(out, "\n{}", row("share of neurons in use", &carrying, 3));
    }
    out
}
