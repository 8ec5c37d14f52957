//! `orrery-bench --curves --vs-torch PYTHON SCRIPT`: what a training step takes, in time and in memory, as the text, the
//! model's width or the batch grows, here and in PyTorch, one after the other.

use std::{fmt::Write as _, path::Path};

use orrery::{
    cli::Failure,
    ui::{
        plot::{Axis, Chart, ChartState, Line},
        theme::Theme,
        view,
    },
};

use super::{
    BenchArgs,
    case::{Case, CaseTiming, Sizes},
    peer,
};

/// The families whose cost is drawn, by their case, and how the picture names them.
const FAMILIES: [(&str, &str); 4] =
    [("fast_slow", "fast-slow"), ("bdh", "BDH"), ("qk_standard", "coupled"), ("spen", "EMA")];

/// A size that grows, while the others stay.
struct Curve {
    label: &'static str,
    sizes: &'static [usize],
    at: fn(usize) -> Sizes,
}

const CURVES: [Curve; 3] = [
    Curve {
        label: "tokens T of one sequence",
        sizes: &[128, 256, 512, 1024, 2048, 4096],
        at: |n| Sizes { tokens: Some(n), width: None, batch: Some(1) },
    },
    Curve {
        label: "width D, one sequence of 128 tokens",
        sizes: &[64, 128, 256, 512, 768],
        at: |n| Sizes { tokens: Some(128), width: Some(n), batch: Some(1) },
    },
    Curve {
        label: "sequences B of a step",
        sizes: &[1, 4, 16, 64],
        at: |n| Sizes { tokens: None, width: None, batch: Some(n) },
    },
];

type Quantity = fn(&CaseTiming) -> f64;

/// The two quantities of a step that are drawn, by the labels of their axes.
const QUANTITIES: [(&str, Quantity); 2] = [
    ("milliseconds a step", |found| found.ms_median),
    ("peak memory, MiB", |found| found.peak_mib.unwrap_or(f64::NAN)),
];

/// What a step of one family costs on both sides, at each size of a curve.
struct Costs {
    family: &'static str,
    sizes: Vec<usize>,
    here: Vec<CaseTiming>,
    there: Vec<CaseTiming>,
}

/// Prints a table for each curve; with `picture`, draws all of them there as SVG.
///
/// # Errors
/// If a side fails, or the picture cannot be written.
pub fn report(args: &BenchArgs, python: &str, script: &str, picture: Option<&Path>) -> Result<(), Failure> {
    let sides =
        peer::Sides { python, script, threads: args.threads(), steps: args.steps, warm: 1, compile: args.compile };
    println!("{} threads, {} steps per point after one that is not timed", args.threads(), args.steps);
    let mut charts = vec![];
    for curve in &CURVES {
        println!("\n| {} | case | ms | PyTorch | ratio | MiB | PyTorch | ratio | exponent | PyTorch |", curve.label);
        println!("|{}", " --- |".repeat(10));
        let mut all = vec![];
        for (name, family) in FAMILIES.into_iter().filter(|(name, _)| args.case.as_deref().is_none_or(|c| c == *name)) {
            let costs = measured(&sides, Case::named(name)?, family, curve)?;
            print!("{}", table(&costs));
            all.push(costs);
        }
        charts.push(all);
    }
    let Some(path) = picture else { return Ok(()) };
    let Some(svg) = drawn(&charts) else { return Ok(()) };
    std::fs::write(path, svg).map_err(|e| Failure::run(format!("`{}` could not be written: {e}", path.display())))
}

fn measured(sides: &peer::Sides<'_>, case: &Case, family: &'static str, curve: &Curve) -> Result<Costs, Failure> {
    let mut costs = Costs { family, sizes: vec![], here: vec![], there: vec![] };
    for &size in curve.sizes {
        let sizes = (curve.at)(size);
        costs.sizes.push(size);
        costs.here.push(sides.ours(case.name, sizes)?);
        costs.there.push(sides.theirs(case.name, sizes)?);
    }
    Ok(costs)
}

/// A row for each size. The exponent is that by which the time grows from the size before.
fn table(costs: &Costs) -> String {
    let mut rows = String::new();
    for (i, size) in costs.sizes.iter().enumerate() {
        let (here, there) = (&costs.here[i], &costs.there[i]);
        let grows = |side: &[CaseTiming]| match i.checked_sub(1) {
            Some(before) => format!("{:.2}", exponent([costs.sizes[before], *size], [&side[before], &side[i]])),
            None => String::new(),
        };
        let [mib, their_mib] = [here, there].map(|found| found.peak_mib.unwrap_or(f64::NAN));
        let _ = writeln!(
            rows,
            "| {size} | {} | {:.1} | {:.1} | {:.2} | {mib:.0} | {their_mib:.0} | {:.2} | {} | {} |",
            here.case,
            here.ms_median,
            there.ms_median,
            here.ms_median / there.ms_median,
            mib / their_mib,
            grows(&costs.here),
            grows(&costs.there),
        );
    }
    rows
}

/// p of time ~ size^p between two sizes.
fn exponent([from, to]: [usize; 2], [before, after]: [&CaseTiming; 2]) -> f64 {
    (after.ms_median / before.ms_median).ln() / (to as f64 / from as f64).ln()
}

/// A row of two charts for each curve, time beside memory; PyTorch is dashed.
fn drawn(curves: &[Vec<Costs>]) -> Option<String> {
    const ROOM: [f32; 2] = [656.0, 416.0];
    let theme = Theme::light();
    let mut drawings = vec![];
    for (row, (curve, all)) in CURVES.iter().zip(curves).enumerate() {
        for (column, (label, quantity)) in QUANTITIES.into_iter().enumerate() {
            let mut chart =
                Chart::new(format!("{label} by {}", curve.label), Axis::new(curve.label).log(), Axis::new(label).log());
            for (i, costs) in all.iter().enumerate() {
                let points = |side: &[CaseTiming]| -> Vec<[f64; 2]> {
                    costs.sizes.iter().zip(side).map(|(size, found)| [*size as f64, quantity(found)]).collect()
                };
                let colour = theme.series(i);
                chart.add(Line::new(costs.family, colour, points(&costs.here)).dots());
                chart
                    .add(Line::new(format!("{}, PyTorch", costs.family), colour, points(&costs.there)).dots().dashed());
            }
            let at = eframe::egui::pos2(column as f32 * ROOM[0], row as f32 * ROOM[1]);
            drawings.push((at, chart.svg(&ChartState::default(), &theme)?));
        }
    }
    view::joined("What a training step costs by size", drawings, &theme)
}
