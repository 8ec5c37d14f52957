//! The runs of claims: a rule becomes a sweep, whose folder is the truth; what has ended in it is not made again.

use std::{collections::BTreeSet, path::Path, process::Command, thread};

use super::{
    super::{
        ask,
        failure::Failure,
        output::print_line,
        sweep::{
            folder::{LOGS, SweepFolder, TaskState},
            pool,
        },
        terminal::notice,
    },
    RunArgs,
    files::{self, Source},
};
use crate::{
    config::{Value, nearest},
    experiments::{
        claims::{
            claim::Claim,
            criterion::Verdict,
            ledger::Ledger,
            result::{ClaimResult, Made, PointNumbers, SeedNumbers},
            rule::{OverSteps, Read, Rule},
        },
        series::{self, RunNumbers},
        sweep::Seeds,
    },
    store::Environment,
    telemetry::table,
};

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let source = Source::new(args.from.from.as_deref());
    let mut ledger = source.ledger()?;
    let claims = meant(&ledger, &args.what)?;
    let results = args.results.clone().unwrap_or_else(|| source.results());
    let mut failed = vec![];
    for (claim, rule) in &claims {
        match made(claim, rule, args) {
            // written at once: who is interrupted keeps what was made
            Ok(result) => {
                ledger.results.insert(claim.id.clone(), result.clone());
                let result = ledger.judged(&result);
                let path = files::write(&result, &results)?;
                print_line!("{}: {}, {} ({})", claim.id, result.verdict.label(), claim.tier.scale(), path.display())?;
            }
            // an interrupted process ends, a run that failed leaves the other claims
            Err(failure) if failure.code == 1 => failed.push(format!("{}: {}", claim.id, failure.words)),
            Err(failure) => return Err(failure),
        }
    }
    // another claim's p moves Holm's correction of the whole paper; read anew, as another process may have written too
    if args.results.is_none() && source.is_folder() {
        files::write_verdicts(&source.ledger()?, &results)?;
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::run(failed.join("\n"))) }
}

/// The claim of this id, or those of the paper of this name that have a rule and need nothing that is not here.
fn meant(ledger: &Ledger, what: &str) -> Result<Vec<(Claim, Rule)>, Failure> {
    let ruled = |claim: &Claim| claim.rule.clone().map(|rule| (claim.clone(), rule));
    if let Some(paper) = ledger.papers.iter().find(|paper| paper.id == what) {
        let here = paper.file.claims.iter().filter(|claim| claim.needs.is_none());
        return Ok(here.filter_map(ruled).collect());
    }
    let rows = ledger.rows();
    let row = files::known_claim(&rows, what)?;
    let none = || Failure::usage(format!("{} has no rule to run: {}", row.claim.id, row.standing.label()));
    Ok(vec![ruled(row.claim).ok_or_else(none)?])
}

/// Makes the runs that a rule asks for, as far as they have not ended, and reads them.
fn made(claim: &Claim, rule: &Rule, args: &RunArgs) -> Result<ClaimResult, Failure> {
    let wrong = |why: String| Failure::usage(format!("the claim {} {why}", claim.id));
    let count = args.seeds.unwrap_or(rule.seeds);
    let seeds = match args.first_seed {
        Some(first) => Seeds::Each((first..first.saturating_add(count)).collect()),
        None => Seeds::Count(count),
    };
    let file = rule.sweep(seeds).map_err(wrong)?;
    let text = file.to_toml().map_err(wrong)?;
    let sweep = SweepFolder::from_text(&text, &args.out.join("claim.toml"), &args.out)?;
    let states = sweep.states()?;
    let waiting: Vec<usize> = (0..states.len()).filter(|i| states[*i].is_to_run()).collect();
    notice!("{} ({}): {} runs, {} to make", claim.id, sweep.path.display(), states.len(), waiting.len());
    if !waiting.is_empty() {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let failed = pool::run(&sweep, &waiting, args.jobs.map_or(cores, usize::from))?;
        if failed > 0 {
            notice!("{failed} runs failed and say nothing of the claim: {}", sweep.path.join(LOGS).display());
        }
    }
    read(claim, rule, &sweep)
}

/// The numbers that a rule reads, of the runs that have ended.
fn read(claim: &Claim, rule: &Rule, sweep: &SweepFolder) -> Result<ClaimResult, Failure> {
    let states = sweep.states()?;
    let (mut seeds, mut missing, mut seconds) = (vec![], vec![], 0.0);
    for seed in &sweep.sweep.seeds {
        let of_seed: Vec<&TaskState> = states.iter().filter(|state| state.task.seed == *seed).collect();
        let mut points = vec![];
        for state in &of_seed {
            let Some(row) = state.finished() else { continue };
            let run = series::read(&row.path, |_| true).map_err(Failure::wrong)?;
            seconds += run.times.last().map_or(0.0, |(_, at)| *at);
            let config = sweep.sweep.config(state.task);
            let at = rule.over.as_ref().and_then(|over| config.get(&over.key)).and_then(Value::as_f64);
            if let (Some(probe), Some(along)) = (&rule.ask, &rule.along) {
                points.extend(along_field(&row.path, probe, rule, along)?);
                continue;
            }
            let value = |key: &str, group: &str| match &rule.ask {
                Some(probe) => Ok(mean(&answered(&row.path, probe, rule, key, group)?)),
                None => Ok(recorded(&run, rule, key, group)),
            };
            points.extend(numbers(rule, value)?.map(|numbers| PointNumbers { at, ..numbers }));
        }
        let expected = if rule.along.is_some() { points.len() } else { of_seed.len() };
        if points.len() == expected && !points.is_empty() {
            seeds.push(SeedNumbers { seed: *seed, points });
        } else {
            missing.push(*seed);
        }
    }
    let here = Environment::here();
    let minutes = (seconds / 6.0).round() / 10.0;
    let made = Made { version: here.orrery, commit: commit(), cpu: here.cpu, cores: here.cores, minutes };
    // judged later, with the other claims of its paper
    let (verdict, effect, interval, p) = (Verdict::CannotBeTold, None, None, None);
    Ok(ClaimResult { claim: claim.id.clone(), rule: rule.hash(), verdict, effect, interval, p, seeds, missing, made })
}

/// The number of a rule, and the one beside it; `None` where a run has none, or one that is not finite.
fn numbers(
    rule: &Rule,
    value: impl Fn(&str, &str) -> Result<Option<f64>, Failure>,
) -> Result<Option<PointNumbers>, Failure> {
    let (first, second) = rule.numbers().map_err(Failure::usage)?;
    // of several variants the largest, and none where one of them has none
    let largest = |read: &Read| {
        let values: Vec<Option<f64>> = read.groups.iter().map(|group| value(read.key, group)).collect::<Result<_, _>>()?;
        let finite: Option<Vec<f64>> = values.into_iter().map(|v| v.filter(|v| v.is_finite())).collect();
        Ok::<_, Failure>(finite.and_then(|values| values.into_iter().reduce(f64::max)))
    };
    let Some(number) = largest(&first)? else { return Ok(None) };
    let Some(second) = second else { return Ok(Some(PointNumbers { at: None, number, beside: None })) };
    Ok(largest(&second)?.map(|beside| PointNumbers { at: None, number, beside: Some(beside) }))
}

/// A number of a run, at its end, at a step, or over its steps.
fn recorded(run: &RunNumbers, rule: &Rule, key: &str, group: &str) -> Option<f64> {
    let series = run.numbers.iter().find(|s| s.key == key && s.group == group)?;
    let values = series.points.iter().map(|point| point[1]);
    match rule.over_steps {
        Some(OverSteps::Median) => {
            let mut sorted: Vec<f64> = values.collect();
            sorted.sort_by(f64::total_cmp);
            sorted.get(sorted.len() / 2).copied()
        }
        Some(OverSteps::Every) => {
            let counted = rule.counted?;
            values.clone().find(|value| !counted.contains(*value)).or_else(|| values.last())
        }
        None => match rule.at {
            Some(step) => series.points.iter().find(|[at, ..]| *at == step as f64).map(|point| point[1]),
            None => values.last(),
        },
    }
}

/// The values of a field of a probe's answer along those of another.
fn along_field(run: &Path, probe: &str, rule: &Rule, along: &str) -> Result<Vec<PointNumbers>, Failure> {
    let (read, _) = rule.numbers().map_err(Failure::usage)?;
    let mut points = vec![];
    for group in &read.groups {
        let (numbers, along) = (answered(run, probe, rule, read.key, group)?, answered(run, probe, rule, along, group)?);
        if numbers.len() != along.len() {
            let (n, m) = (numbers.len(), along.len());
            return Err(Failure::run(format!("the answer of `{probe}` has {n} values of {} along {m}", read.key)));
        }
        let pairs = numbers.into_iter().zip(along).filter(|(number, at)| number.is_finite() && at.is_finite());
        points.extend(pairs.map(|(number, at)| PointNumbers { at: Some(at), number, beside: None }));
    }
    Ok(points)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The values of a field of a probe's answer whose place begins as it is asked.
fn answered(run: &Path, probe: &str, rule: &Rule, key: &str, group: &str) -> Result<Vec<f64>, Failure> {
    let (field, place) = key.split_once('@').unwrap_or((key, ""));
    let places: Vec<&str> = place.split_whitespace().collect();
    let (mut values, mut fields) = (vec![], BTreeSet::new());
    for sample in ask::answer(run, probe, &rule.args, group)? {
        for cell in table::cells(&sample.payload).map_err(Failure::failed)? {
            let is_meant = places.iter().zip(&cell.index).filter(|(asked, i)| **asked == i.to_string()).count();
            if cell.field == field && is_meant == places.len() {
                values.extend(cell.value.parse::<f64>().ok());
            }
            fields.insert(cell.field);
        }
    }
    if !fields.contains(field) {
        let near = nearest(field, fields.iter().map(String::as_str));
        let meant = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(Failure::run(format!("the answer of `{probe}` has no field `{field}`{meant}")));
    }
    Ok(values)
}

/// The commit of the folder here, where git tells it.
fn commit() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(Path::new(".")).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let commit = text.trim();
    (output.status.success() && commit.len() == 40).then(|| commit.to_owned())
}
