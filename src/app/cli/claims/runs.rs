//! The runs of claims: a rule becomes a sweep, whose folder is the truth; what has ended in it is not made again.

use std::process::Command;

use super::{
    super::sweep::{
        folder::{LOGS, SPEC, SweepFolder},
        lock::lock_sweep,
    },
    RunArgs,
    files::{Source, known_claim, write, write_changed},
    numbers::{EndedRuns, NumbersCache},
};
use crate::{
    cli::prelude::*,
    experiments::{
        claims::{claim::Claim, ledger::Ledger, result::ClaimResult, rule::Rule},
        sweep::{Seeds, Sweep, SweepFile},
    },
};

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let source = Source::new(args.from.from.as_deref(), args.from.results.as_deref());
    let mut ledger = source.ledger()?;
    let mut claims: Vec<(Claim, Rule)> = vec![];
    for what in &args.what {
        // a claim that is named twice, or with its paper, is run once
        let is_new = |(claim, _): &(Claim, Rule)| claims.iter().all(|(known, _)| known.id != claim.id);
        let new: Vec<_> = selected_claims(&ledger, what)?.into_iter().filter(is_new).collect();
        claims.extend(new);
    }
    let results = source.results();
    output::check_folder(&results, &[])?;
    let commit = commit(source.folder());
    if commit.is_none() {
        notice!("results will name no commit: git finds none for {}", source.folder().display());
    }
    let mut failed = vec![];
    for (claim, rule) in &claims {
        match make_runs(claim, rule, args, commit.as_deref()) {
            // made elsewhere: there is nothing to read yet
            Ok(None) => {}
            // A result is written at once, so that an interrupted command keeps what it has made.
            Ok(Some(result)) => {
                let result = ledger.judged(&result);
                let judged = ledger.judge(&result);
                let verdict = judged.as_ref().map_or(result.verdict, |judged| judged.verdict);
                let lacking = judged.and_then(|judged| judged.lacking_seeds_label(rule));
                let reason = lacking.map_or(String::new(), |words| format!(", as {words}"));
                ledger.results.insert(claim.id.clone(), result.clone());
                let path = write(&result, &results)?;
                let scale = claim.tier.scale_label();
                print_line!("{}: {}, {scale}{reason} ({})", claim.id, verdict.label(), path_label(&path))?;
            }
            // a failed run does not affect the other claims, whereas an interruption ends the command
            Err(failure) if failure.code == 1 => failed.push(format!("{}: {}", claim.id, failure.message)),
            Err(failure) => return Err(failure),
        }
    }
    // another claim's p moves Holm's correction of the whole paper; read again, as another process may have written too
    let ledger = source.ledger()?;
    write_changed(&ledger, &ledger, &results)?;
    let Some(last) = failed.pop() else { return Ok(()) };
    failed.iter().for_each(|words| notice!("{words}"));
    Err(Failure::run(last))
}

/// The claim of this id, or every claim of this paper that has a rule and needs nothing that this machine may lack.
fn selected_claims(ledger: &Ledger, what: &str) -> Result<Vec<(Claim, Rule)>, Failure> {
    let ruled = |claim: &Claim| claim.rule.clone().map(|rule| (claim.clone(), rule));
    if let Some(paper) = ledger.papers.iter().find(|paper| paper.id == what) {
        let here = paper.file.claims.iter().filter(|claim| claim.needs.is_none());
        return Ok(here.filter_map(ruled).collect());
    }
    let rows = ledger.rows();
    let row = known_claim(&rows, what)?;
    let none = || usage!("{} has no rule to run: {}", row.claim.id, row.standing.label());
    Ok(vec![ruled(row.claim).ok_or_else(none)?])
}

/// Makes the runs that a rule asks for, as far as they have not ended, and reads them; `None` where others make them.
fn make_runs(claim: &Claim, rule: &Rule, args: &RunArgs, commit: Option<&str>) -> Result<Option<ClaimResult>, Failure> {
    let wrong = |why: String| usage!("the claim {} {why}", claim.id);
    let count = args.seeds.unwrap_or(rule.seeds);
    let seeds = seeds_of(rule, args.first_seed, count).map_err(wrong)?;
    let asked = if args.first_seed.is_some() { Seeds::Each(seeds.clone()) } else { Seeds::Count(count) };
    let file = with_known_seeds(rule.sweep(asked).map_err(wrong)?, &seeds, &args.out)?;
    let text = file.to_toml().map_err(wrong)?;
    let sweep = SweepFolder::from_text(&text, &args.out.join("claim.toml"), &args.out)?;
    // held until they are read: a result of the runs that another process is making would lack seeds
    let _lock = args.make.lock(&sweep)?;
    let states = sweep.states()?;
    let asked: Vec<usize> = (0..states.len()).filter(|i| seeds.contains(&states[*i].task.seed)).collect();
    let waiting: Vec<usize> = asked.iter().copied().filter(|i| states[*i].is_pending()).collect();
    let time = claim.time_label().filter(|_| !waiting.is_empty());
    let time = time.map_or(String::new(), |time| format!("; all of them take {time}"));
    notice!("{} ({}): {} runs, {} to make{time}", claim.id, sweep.path.display(), asked.len(), waiting.len());
    if !waiting.is_empty() {
        let Some(failed) = args.make.make(&sweep, &waiting)? else { return Ok(None) };
        if failed > 0 {
            notice!("{failed} runs failed and say nothing about the claim: {}", sweep.path.join(LOGS).display());
        }
    }
    let ended = EndedRuns::read(rule, &sweep, &seeds, &sweep.states()?, &NumbersCache::default())?;
    let result = ended.into_result(&claim.id, rule, commit.map(str::to_owned));
    Ok(Some(ClaimResult { terms: claim.term_hashes(), ..result }.with_digest()))
}

/// The seeds of a rule's runs: this many, from the first on, which is the preset's unless one is given.
pub(super) fn seeds_of(rule: &Rule, first: Option<u64>, count: u64) -> Result<Vec<u64>, String> {
    let first = first.map_or_else(|| rule.first_run().map(|config| config.seed), Ok)?;
    Ok((first..first.saturating_add(count)).collect())
}

/// The sweep of a rule with the seeds of its folder under `out`, as far as there is one. Seeds that the folder lacks are added to it,
/// after those that it has, so that no run is made again.
pub(super) fn with_known_seeds(file: SweepFile, seeds: &[u64], out: &Path) -> Result<SweepFile, Failure> {
    let file = with_known_folder(file, out);
    let name = file.name.clone().unwrap_or_default();
    let lacking =
        |sweep: &Sweep| -> Vec<u64> { seeds.iter().copied().filter(|seed| !sweep.seeds.contains(seed)).collect() };
    let Some((known, sweep)) = known_sweep(&file, &name, out) else { return Ok(file) };
    if lacking(&sweep.sweep).is_empty() {
        return Ok(known);
    }
    // the numbers of runs that are under way are those of the seeds that are there
    let _lock = lock_sweep(&sweep.path)?;
    // another process may have added seeds before it let go of the lock
    let Some((known, sweep)) = known_sweep(&file, &name, out) else { return Ok(file) };
    let all = sweep.sweep.seeds.iter().copied().chain(lacking(&sweep.sweep)).collect();
    let file = SweepFile { seeds: Some(Seeds::Each(all)), ..known };
    if let Some(base) = sweep.sweep.points.first() {
        Sweep::new(&file, sweep.sweep.lab, base).map_err(|e| Failure::usage(e.to_string()))?;
    }
    let text = file.to_toml().map_err(Failure::usage)?;
    let spec = sweep.path.join(SPEC);
    files::replace(&spec, text.as_bytes()).map_err(|e| output::write_failure(&spec, &e))?;
    Ok(file)
}

/// The sweep with the name of the folder under `out` that has its runs: its own name, or that of an older folder, whose
/// name also depended on the seeds. Among several of these, the one with the most seeds is taken.
pub(super) fn with_known_folder(file: SweepFile, out: &Path) -> SweepFile {
    if file.name.as_ref().is_some_and(|name| is_sweep(&out.join(name))) {
        return file;
    }
    let prefix = format!("{}-", file.base);
    let entries = files::entries(out).into_iter().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let known = names.filter(|name| name.starts_with(&prefix)).filter_map(|name| known_sweep(&file, &name, out));
    let most = known.max_by_key(|(known, sweep)| (sweep.sweep.seeds.len(), known.name.clone()));
    match most {
        Some((known, _)) => SweepFile { name: known.name, ..file },
        None => file,
    }
}

/// The specification of the folder `name` under `out`, and its sweep, if it differs from `file` only in its seeds.
fn known_sweep(file: &SweepFile, name: &str, out: &Path) -> Option<(SweepFile, SweepFolder)> {
    let text = files::read_text_inside(&out.join(name), SPEC, store::MAX_CONFIG).ok()?;
    let known = SweepFile::parse(&text).ok()?;
    if known != (SweepFile { name: Some(name.to_owned()), seeds: known.seeds.clone(), ..file.clone() }) {
        return None;
    }
    // fails if another version wrote the sweep and its base settings no longer fit
    let sweep = SweepFolder::from_text(&text, &out.join("claim.toml"), out).ok()?;
    Some((known, sweep))
}

/// The commit of the repository that a folder is in; `None` without git.
fn commit(folder: &Path) -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let commit = text.trim();
    (output.status.success() && commit.len() == 40).then(|| commit.to_owned())
}
