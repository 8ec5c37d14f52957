//! `orrery claims`: the published claims, each with the rule that decides it, and what runs have found.

mod files;
mod numbers;
mod page;
mod runs;
pub mod window;

use clap::Subcommand;
use serde_json::Value;

use self::files::Source;
use super::{summary::laid_out, sweep::MakeArgs};
use crate::{
    cli::prelude::*,
    experiments::{
        claims::{
            entry::ClaimState,
            ledger::{ClaimStanding, Judgement, LedgerRow},
            result::ClaimResult,
            table::summary,
        },
        short_number::short,
    },
};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ClaimsArgs {
    #[command(subcommand)]
    command: Option<ClaimsCommand>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Subcommand)]
enum ClaimsCommand {
    /// List the claims with their verdicts, as `orrery claims` alone does
    List(ListArgs),
    /// Print all that is known about one claim: quote, rule, numbers of each seed, verdict, and what would refute it
    Show(ShowArgs),
    /// Make the runs that the rules of claims, or all rules of a paper, ask for, one after the other, and write their results
    Run(RunArgs),
    /// Derive every verdict again from the stored numbers; the exit code is 1 if a verdict, a rule, its seeds, the terms of a claim
    /// or a page differs
    Check(CheckArgs),
}

/// The claims that are meant.
#[derive(Args)]
struct FromArgs {
    /// A folder of claims (*.toml) with their results (results/*.json); `claims` here where it is one, else those that the
    /// program was built with, with the results that are in claims/results here
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// A folder of further results (*.json), in place of those of the same claims; `run` writes its results there
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

impl FromArgs {
    fn source(&self) -> Result<Source, Failure> {
        match self.results.as_deref().filter(|results| !results.is_dir()) {
            Some(results) => Err(usage!("`{}` is not a folder of results", results.display())),
            None => Ok(Source::new(self.from.as_deref(), self.results.as_deref())),
        }
    }
}

#[derive(Args)]
struct ListArgs {
    /// Only those of this paper, by the name of its file
    #[arg(long)]
    paper: Option<String>,
    /// Only those with this verdict
    #[arg(long, value_parser = one_by_name(&STATE_LABELS))]
    verdict: Option<ClaimState>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write them as one HTML file that opens without a network
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
    #[command(flatten)]
    from: FromArgs,
}

#[derive(Args)]
struct ShowArgs {
    /// The claim's id, such as A1
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: FromArgs,
}

#[derive(Args)]
struct RunArgs {
    /// Ids of claims, or papers by the names of their files
    #[arg(required = true)]
    what: Vec<String>,
    /// Number of seeds, in place of the rule's: existing runs are kept and missing ones are added; needs --results,
    /// because a result with the rule's own seeds is not replaced by one whose number was chosen afterwards
    #[arg(long, requires = "results", value_parser = clap::value_parser!(u64).range(2..=1000))]
    seeds: Option<u64>,
    /// The first seed, where it is not the preset's; needs --results as well
    #[arg(long, requires = "results", value_parser = clap::value_parser!(u64).range(..=crate::config::MAX_SEED))]
    first_seed: Option<u64>,
    #[command(flatten)]
    make: MakeArgs,
    /// Make only the runs that have not finished, which is the default
    #[arg(long)]
    missing: bool,
    /// Where the folders of the runs are made; runs that have ended there are not made again
    #[arg(long, value_name = "DIR", default_value = "sweeps")]
    out: PathBuf,
    #[command(flatten)]
    from: FromArgs,
}

#[derive(Args)]
struct CheckArgs {
    /// Write the verdicts that the stored numbers give now, and the terms of the claims into results that have none; nothing is
    /// written if the numbers of a result were edited
    #[arg(long)]
    write: bool,
    /// Write the terms also where texts of a claim were edited since; the result then says that they were recorded after its runs
    #[arg(long, requires = "write")]
    terms: bool,
    #[command(flatten)]
    from: FromArgs,
}

/// The name and the label of every state: a verdict, or the reason why there is none.
const STATE_LABELS: [(ClaimState, &str, &str); 7] = [
    (ClaimState::Stands, "stands", ""),
    (ClaimState::DoesNotStand, "does-not-stand", ""),
    (ClaimState::CannotBeTold, "cannot-be-told", ""),
    (ClaimState::Outdated, "outdated", "A result of a rule that was edited since"),
    (ClaimState::NotRun, "not-run", "A rule without runs"),
    (ClaimState::Needs, "needs", "Needs what a desktop does not have"),
    (ClaimState::Open, "open", "No rule yet"),
];

pub fn run(args: &ClaimsArgs) -> Result<(), Failure> {
    match &args.command {
        None => list(&args.list),
        Some(ClaimsCommand::List(args)) => list(args),
        Some(ClaimsCommand::Show(args)) => show(args),
        Some(ClaimsCommand::Run(args)) => runs::run(args),
        Some(ClaimsCommand::Check(args)) => check(args),
    }
}

fn list(args: &ListArgs) -> Result<(), Failure> {
    if let Some(path) = &args.html {
        output::check_extension(path, "html", "it is a web page")?;
        output::check_file(path, &[])?;
    }
    let ledger = args.from.source()?.ledger()?;
    if let Some(paper) = &args.paper {
        files::known_paper(&ledger, paper)?;
    }
    let is_meant = |row: &LedgerRow| {
        args.paper.as_ref().is_none_or(|paper| row.paper.id == *paper)
            && args.verdict.is_none_or(|wanted| row.standing.state() == wanted)
    };
    let rows: Vec<LedgerRow> = ledger.rows().into_iter().filter(is_meant).collect();
    if let Some(path) = &args.html {
        output::write(path, page::html(&ledger, &rows).as_bytes(), &[])?;
        return print_line!("{}", path_label(path));
    }
    if args.json {
        let all: Vec<Value> = rows.iter().map(row_json).collect();
        return print_line!("{}", Value::Array(all));
    }
    let head = ["id", "claim", "seeds", "effect [interval]", "stands if", "verdict"].map(str::to_owned).to_vec();
    let line = |row: &LedgerRow| -> Vec<String> {
        let star = if row.claim.starred { " *" } else { "" };
        let id = format!("{}{star}", row.claim.id);
        let verdict = match &row.standing {
            // the reasons for a need are a sentence, which `show` prints
            ClaimStanding::Needs(what) => format!("needs {}", what.split(':').next().unwrap_or(what)),
            standing => standing.verdict_label(row.claim.tier),
        };
        let found = [row.seeds_label(), row.effect_label(), row.region_label(), verdict];
        [id, row.claim.title.clone()].into_iter().chain(found).collect()
    };
    let cells: Vec<Vec<String>> = std::iter::once(head).chain(rows.iter().map(line)).collect();
    let lines = laid_out(&cells, |_| true);
    let (head, lines) = lines.split_at(1);
    head.iter().try_for_each(|line| print_line!("{line}"))?;
    let mut paper = "";
    for (row, line) in rows.iter().zip(lines) {
        if row.paper.id != paper {
            paper = &row.paper.id;
            print_line!("\n{} ({paper})", row.paper.file.title)?;
        }
        print_line!("{line}")?;
    }
    notice!("{}; `orrery claims show ID` says more", summary(&rows));
    Ok(())
}

fn show(args: &ShowArgs) -> Result<(), Failure> {
    let ledger = args.from.source()?.ledger()?;
    let rows = ledger.rows();
    let row = files::known_claim(&rows, &args.id)?;
    if args.json {
        return print_line!("{}", row_json(row));
    }
    let claim = row.claim;
    print_line!("{}: {}", claim.id, claim.title)?;
    print_line!("\n  {}\n  {}, {}", claim.statement(), row.paper.file.title, claim.place)?;
    if let Some(number) = claim.paper_number() {
        print_line!("  the paper's number: {number}")?;
    }
    let entry = ledger.entry(row, &rows);
    let facts: Vec<String> = entry.facts().iter().map(|(name, text)| format!("{name}: {text}")).collect();
    print_line!("\n{}", facts.join("\n"))?;
    if let (Some(rule), Some(judged)) = (&claim.rule, row.standing.judgement()) {
        if let Some(published) = rule.published_on_scale() {
            print_line!("the paper, on this scale: {}", short(published))?;
        }
        print_line!("values: {}", judged.values_label())?;
        judged.curves(rule).iter().try_for_each(|curve| print_line!("{}", curve.label))?;
    }
    entry.command().map_or(Ok(()), |command| print_line!("\n  {command}"))
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let source = args.from.source()?;
    let mut ledger = source.ledger()?;
    if args.write {
        let changed = ledger.clone().with_late_terms(args.terms);
        files::write_changed(&ledger, &changed, &source.results())?;
        if !ledger.replications.is_empty() {
            files::write_changed(&ledger.replicated(), &changed.replicated(), &source.replications())?;
        }
        ledger = source.ledger()?;
    }
    let mut problems = ledger.problems();
    problems.extend(source.outdated_pages(&ledger)?);
    if problems.is_empty() {
        let pages = if source.has_page() { ", and docs/claims.md with the claims" } else { "" };
        let is_late = |result: &&ClaimResult| result.terms.is_empty() || !result.late_terms.is_empty();
        let terms = match ledger.results.values().filter(is_late).count() {
            0 => String::new(),
            n => format!("; the terms of {n} were not recorded with their runs"),
        };
        return print_line!("{} results agree with their numbers, rules and terms{pages}{terms}", ledger.results.len());
    }
    problems.iter().try_for_each(|problem| print_line!("{problem}"))?;
    Err(Failure::run(format!("problems found in the ledger of {} results: {}", ledger.results.len(), problems.len())))
}

/// A row as JSON, for programs.
fn row_json(row: &LedgerRow) -> Value {
    let judged = row.standing.judgement();
    let outcome = judged.and_then(|judged| judged.outcome);
    json!({
        "paper": row.paper.id,
        "claim": row.claim,
        "standing": row.standing.verdict_label(row.claim.tier),
        "scale": row.claim.tier.scale_label(),
        "verdict": judged.map(|judged| judged.verdict),
        "numbers_verdict": judged.map(|judged| judged.numbers_verdict),
        "by_its_numbers_alone": judged.and_then(Judgement::voided_label),
        "effect": outcome.map(|o| o.effect),
        "interval": outcome.map(|o| [o.interval.0, o.interval.1]),
        "p": judged.and_then(|judged| judged.p),
        "values": judged.map(|judged| &judged.values),
        "rule_changed": judged.is_some_and(|judged| judged.is_rule_changed),
    })
}
