//! Modularity of a run's graph of neurons against its null models, as a table for the terminal: the last
//! measurement, and the first one's model for comparison. Empty for runs that measured none.

use crate::{cli::prelude::*, telemetry::measurements::GraphModularity};

/// One measurement of a variant.
#[derive(Clone)]
struct Measured {
    step: u64,
    about: String,
    modularity: GraphModularity,
}

pub fn table(folder: &Path) -> Result<String, StoreError> {
    let reader = Reader::open(folder)?;
    let Some(info) = reader.info() else { return Ok(String::new()) };
    let mut found: BTreeMap<usize, (Measured, Measured)> = BTreeMap::new();
    // damage is reported where the run is drawn or listed
    let _ = reader.read_through(|event| {
        let Event::Sample(sample) = event else { return };
        let Some(measured) = sample.measurement::<GraphModularity>() else { return };
        let last = Measured { step: sample.step, about: sample.about.clone(), modularity: measured.clone() };
        let first = found.get(&sample.variant).map_or_else(|| last.clone(), |(first, _)| first.clone());
        found.insert(sample.variant, (first, last));
    })?;
    let label = |variant: usize| info.variants.get(variant).map_or("", |v| v.label.as_str());
    let lines = found.iter().map(|(variant, (first, last))| line(label(*variant), last, first));
    Ok(lines.collect::<Vec<_>>().join("\n\n"))
}

fn line(label: &str, last: &Measured, first: &Measured) -> String {
    let row = |name: &str, values: &[f64], digits: usize| {
        let cells: String = values.iter().map(|v| format!("{v:>9.digits$}")).collect();
        format!("{name:<26}{cells}")
    };
    let found = &last.modularity;
    let edges: Vec<f64> = found.edges.iter().map(|m| *m as f64).collect();
    let mut out = format!("{}: modularity Q, {}\n", one_line(label), one_line(&last.about));
    out.push_str(&row("edges", &edges, 0));
    let this_model = format!("this model, step {}", last.step);
    for (name, values) in [
        (this_model.as_str(), &found.model),
        ("degree-preserving", &found.degree_preserving),
        ("low rank, same norms", &found.low_rank_same_norms),
        ("low rank", &found.low_rank),
        ("G(n, m)", &found.uniform),
    ] {
        // writing to a string does not fail
        let _ = write!(out, "\n{}", row(name, values, 3));
    }
    if first.step < last.step {
        let _ = write!(out, "\n{}", row(&format!("this model, step {}", first.step), &first.modularity.model, 3));
    }
    let _ = write!(out, "\n{}", row("share of neurons in use", &found.carrying, 3));
    out
}
