//! `orrery report`: a run or a sweep as one HTML file that opens from a mail, without a network and without Orrery. It draws
//! with the window's views and computes nothing of its own.

mod curves;
pub mod page;
mod pictures;
mod sweep_figures;
mod sweep_page;

use super::{damage::PartialArgs, figures, settings::recorded, sweep::folder::SPEC};
use crate::{cli::prelude::*, experiments::headline_values::HeadlineReader};
use curves::Curves;
use pictures::Pictures;

/// The size of an attachment that mail servers accept, bytes.
const MAX_BYTES: usize = 10 << 20;
/// The numbers of steps at which the scrubber stops, tried in turn until the file is small enough.
const SCRUBBER_STOPS: [usize; 4] = [12, 6, 3, 1];

#[derive(Args)]
pub struct ReportArgs {
    /// A run folder, a log of another tool (docs/runs.md), or the folder of a sweep
    pub(in crate::cli) run: PathBuf,
    /// Further runs, which are refused
    #[arg(hide = true)]
    pub(in crate::cli) others: Vec<PathBuf>,
    /// The HTML file to write
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    partial: PartialArgs,
}

pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    if !args.others.is_empty() {
        let all: Vec<String> = std::iter::once(&args.run).chain(&args.others).map(quoted).collect();
        let (given, all) = (all.len(), all.join(" "));
        let instead = format!("runs beside each other: orrery compare {all} --out DIR");
        return Err(usage!("a report is of one run or sweep, and {given} are given; {instead}"));
    }
    output::check_extension(&args.out, "html", "a report is a web page")?;
    output::check_file(&args.out, &[&args.run])?;
    if args.run.join(SPEC).is_file() {
        return sweep_page::write(&args.run, &args.out, args.partial);
    }
    let (lab, config) = recorded(&args.run)?;
    let reader = Reader::open(&args.run).map_err(Failure::wrong)?;
    let (mut mirror, mut curves) = (Mirror::default(), Curves::default());
    let mut reading = reader.info().map(|info| HeadlineReader::new(lab, &info));
    let each = |event: Event| {
        curves.event(&event);
        if let Some(reading) = &mut reading {
            reading.event(&event);
        }
        mirror.apply(event);
    };
    let lost = reader.read_through(each).map_err(Failure::failed)?;
    args.partial.check(&args.run, &lost)?;
    let found = reading.as_ref().map(HeadlineReader::newest_values).unwrap_or_default();
    let theme = Theme::light();
    let (machines, note) = (store::machines(&args.run), figures::note_of(&args.run));
    let report = page::Report {
        lab,
        config: &config,
        mirror: &mirror,
        found: &found,
        note: &note,
        machines: &machines,
        lost: &lost,
    };
    let curves = curves.data(&mirror, &theme);
    let page = |steps| -> Result<String, Failure> {
        let pictures = Pictures::draw((lab, &config), &mirror, &theme, steps)?;
        Ok(report.html(&curves, &pictures))
    };
    write(SCRUBBER_STOPS.into_iter().map(page), &args.out, &args.run)
}

/// Writes the first of pages, which become smaller, that a mail takes, or else the last one.
fn write(pages: impl Iterator<Item = Result<String, Failure>>, out: &Path, input: &Path) -> Result<(), Failure> {
    let mut html = String::new();
    for page in pages {
        html = page?;
        if html.len() <= MAX_BYTES {
            break;
        }
    }
    if html.len() > MAX_BYTES {
        notice!("the report has {:.1} MB, more than some mail servers accept", html.len() as f64 / 1e6);
    }
    output::write(out, html.as_bytes(), &[input])?;
    print_line!("{}", path_label(out))
}
