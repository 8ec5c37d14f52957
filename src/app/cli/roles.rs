//! `orrery study roles`: trains the networks and baselines of the lab Grammar roles over several seeds and prints how often
//! each names a word's role, with mean and spread over the seeds.

use super::{
    output::JsonArgs,
    process::{cores, on_large_stack},
    settings::{check_seeds, pair_of},
};
use crate::{
    analysis::statistics::{mean_sd, wilson},
    cli::prelude::*,
    config::Settings,
    labs::grammar_roles::{self, settings::GrammarRolesSettings},
    telemetry::{
        Measurement,
        measurements::{RoleAccuracy, RoleCounts, RoleFeatures, RoleRepresentation},
    },
    trainer::Run,
};

#[derive(Args)]
pub struct RoleArgs {
    /// Seeds; each draws its own sentences, weights and projections
    #[arg(long, value_delimiter = ',', default_value = "1,2,3")]
    seeds: Vec<u64>,
    /// Training sentences; half as many in each test, at most 3,000
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(20..=100_000))]
    sentences: u64,
    /// Also train every ablation of the network
    #[arg(long)]
    ablations: bool,
    /// Also train the three supervised GRUs, for this many passes over the sentences
    #[arg(long, value_name = "PASSES")]
    bigru: Option<u64>,
    /// The second preset: more units on, relative precisions, a weak buffer asked by cosine, fewer adjectives
    #[arg(long)]
    second: bool,
    /// A setting of the lab, e.g. --set network.sweeps=1
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    json: JsonArgs,
}

/// Presets whose settings a switch adds.
const ABLATIONS_PRESET: &str = "grammar_roles_ablations";
const BIGRU_PRESET: &str = "grammar_roles_bigru";
const SECOND_PRESET: &str = "grammar_roles_second";
/// Roles whose transfer the paper names.
const PAPER_ROLES: [&str; 4] = ["det_agent", "verb_rel", "noun_agent", "noun_patient"];

struct ModelAnswer {
    seed: u64,
    label: String,
    /// The sentences that it read, and how many of a treebank were left out.
    corpus: String,
    accuracy: RoleAccuracy,
}

pub fn run(args: &RoleArgs) -> Result<(), Failure> {
    args.json.check(&[])?;
    check_seeds(&args.seeds)?;
    let work = || args.seeds.iter().map(|seed| one_seed(args, *seed)).collect::<Result<Vec<_>, _>>();
    let answers = on_large_stack(["the table's thread", "the table"], work)?;
    let answers: Vec<ModelAnswer> = answers.into_iter().flatten().collect();
    output::print(table(&answers).as_bytes())?;
    let counts =
        |a: &ModelAnswer| json!({ "seed": a.seed, "model": a.label, "corpus": a.corpus, "accuracy": a.accuracy });
    args.json.write(&answers.iter().map(counts).collect::<Vec<_>>(), &[])
}

/// The settings in which a preset differs from the lab's defaults, by key. Numbers of the table itself come after them.
fn changed_by(preset: &str) -> Result<Vec<(String, String)>, Failure> {
    let (usual, changed) = (grammar_roles::config(&[], 0)?, grammar_roles::LAB.config(Some(preset))?);
    let keys = (grammar_roles::LAB.knobs)().into_iter().map(|knob| knob.key);
    let differing = keys.filter(|key| usual.get(key) != changed.get(key));
    Ok(differing.filter_map(|key| changed.get(key).map(|value| (key.to_string(), value.to_string()))).collect())
}

fn config(args: &RoleArgs, seed: u64) -> Result<Config, Failure> {
    let pass = args.sentences / 20;
    let steps = pass * args.bigru.unwrap_or(1).max(1);
    let numbers = [
        ("grammar.train", args.sentences.to_string()),
        ("grammar.test", (args.sentences / 2).clamp(10, 3000).to_string()),
        ("train.steps", steps.max(1).to_string()),
        ("roles.project", "true".to_owned()),
    ];
    let switches =
        [(ABLATIONS_PRESET, args.ablations), (BIGRU_PRESET, args.bigru.is_some()), (SECOND_PRESET, args.second)];
    let mut added = vec![];
    for (preset, _) in switches.into_iter().filter(|(_, is_on)| *is_on) {
        added.extend(changed_by(preset)?);
    }
    let added = added.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut settings: Vec<(&str, &str)> =
        added.chain(numbers.iter().map(|(key, value)| (*key, value.as_str()))).collect();
    for pair in &args.set {
        settings.push(pair_of(pair)?);
    }
    Ok(grammar_roles::config(&settings, seed)?)
}

/// Trains all models of a seed and asks each at the end of its stage.
fn one_seed(args: &RoleArgs, seed: u64) -> Result<Vec<ModelAnswer>, Failure> {
    let config = config(args, seed)?;
    let mut plan = grammar_roles::plan(&config, &GrammarRolesSettings::read(&config)?)?;
    // no window is open, so that training may use every core
    plan.threads = if plan.threads == 0 { cores() } else { plan.threads };
    nn::set_threads(trainer::threads_of(&plan));
    let mut run = Run::open(plan)?;
    let probe = run.plan.probes[0].clone();
    let mut answers = vec![];
    let mut learned = vec![0.0; run.variants.len()];
    while run.step < run.plan.steps {
        for (i, secs) in learned.iter_mut().enumerate() {
            if run.plan.stage(i).trains_at(run.step + 1) {
                let began = Instant::now();
                run.update(i).map_err(Failure::failed)?;
                *secs += began.elapsed().as_secs_f64();
            }
        }
        run.finish_step().map_err(Failure::failed)?.iter().for_each(|note| notice!("seed {seed}: {note}"));
        let ended: Vec<usize> = (0..learned.len()).filter(|i| run.plan.stage(*i).until == run.step).collect();
        for i in ended {
            let began = Instant::now();
            let samples = run.ask(i, &probe.probe, &probe.args).map_err(Failure::failed)?;
            let label = run.variants[i].spec.label.clone();
            notice!(
                "seed {seed}: {label}, {:.1} s to learn, {:.1} s to ask",
                learned[i],
                began.elapsed().as_secs_f64()
            );
            let accuracy = samples.iter().find_map(|s| RoleAccuracy::from_payload(&s.payload)).cloned();
            let corpus = run.corpus().describe();
            answers.extend(accuracy.map(|accuracy| ModelAnswer { seed, label, corpus, accuracy }));
        }
    }
    Ok(answers)
}

/// The rows of one representation of one model, over seeds.
struct RepresentationRow<'a> {
    name: String,
    seeds: Vec<(&'a RoleAccuracy, &'a RoleRepresentation)>,
}

fn rows(answers: &[ModelAnswer]) -> Vec<RepresentationRow<'_>> {
    let mut rows: Vec<RepresentationRow<'_>> = vec![];
    for ModelAnswer { label, accuracy, .. } in answers {
        for found in &accuracy.representations {
            let name = format!("{label}{}", describe(found));
            match rows.iter_mut().find(|r| r.name == name) {
                Some(row) => row.seeds.push((accuracy, found)),
                None => rows.push(RepresentationRow { name, seeds: vec![(accuracy, found)] }),
            }
        }
    }
    rows
}

/// "L0 traces (2048)", or nothing of what a supervised tagger names.
fn describe(found: &RoleRepresentation) -> String {
    let what = match found.features {
        RoleFeatures::Activation => "activation",
        RoleFeatures::Traces => "traces",
        RoleFeatures::Both => "both",
        RoleFeatures::Tags => return String::new(),
    };
    let to = if found.projected { " to" } else { "" };
    format!(", L{} {what}{to} {}", found.level, found.dims)
}

fn cell(values: &[f64]) -> String {
    match values {
        values if values.iter().any(|v| !v.is_finite()) => "NaN".to_owned(),
        [one] => format!("{one:.3}"),
        many => {
            let (mean, sd) = mean_sd(many);
            format!("{mean:.3} ± {sd:.3}")
        }
    }
}

fn table(answers: &[ModelAnswer]) -> String {
    let rows = rows(answers);
    let width = rows.iter().map(|r| r.name.chars().count()).max().unwrap_or_default();
    let [within, other] = answers.first().map_or(["within", "transfer"], |a| a.accuracy.tests());
    let corpora = distinct(answers.iter().map(|a| &a.corpus));
    let mut out: String = corpora.into_iter().map(|corpus| format!("{corpus}\n")).collect();
    let names = ["roles named correctly", "deep", "within, new"];
    out.push_str(&format!("{:<width$}{within:>16}{other:>16}{:>16}{:>16}\n", names[0], names[1], names[2]));
    let column = |row: &RepresentationRow<'_>, of: &dyn Fn(&RoleAccuracy, &RoleRepresentation) -> f64| {
        let values: Vec<f64> = row.seeds.iter().map(|(a, r)| of(a, r)).collect();
        let has_no_words = values.iter().all(|v| v.is_nan()) && row.seeds.iter().all(|(_, r)| r.finite);
        format!("{:>16}", if has_no_words { "-".to_owned() } else { cell(&values) })
    };
    for row in &rows {
        out.push_str(&format!("{:<width$}", row.name));
        (0..3).for_each(|i| out.push_str(&column(row, &|a, r| a.accuracies(r)[i])));
        out.push_str(&column(row, &|_, r| r.within_new.share(|_| true)));
        out.push('\n');
    }
    // every row has the same words
    if let Some(row) = rows.iter().find(|row| row.seeds.iter().all(|(_, r)| r.finite)) {
        // the most common role among words outside the vocabulary differs from that among all words
        let [within, other] = [column(row, &|_, r| r.within.majority()), column(row, &|_, r| r.transfer.majority())];
        out.push_str(&format!("{:<width$}{within}{other}\n", "most common role"));
        let words = |of: &dyn Fn(&RoleAccuracy, &RoleRepresentation) -> (f64, f64)| {
            let counts = || row.seeds.iter().map(|(a, r)| of(a, r).1);
            let (low, high) = (counts().fold(f64::INFINITY, f64::min), counts().fold(0.0, f64::max));
            format!("{:>16}", if low < high { format!("{low}..{high}") } else { low.to_string() })
        };
        out.push_str(&format!("{:<width$}", "words"));
        out.push_str(&words(&|_, r| r.within.sum(|_| true)));
        out.push_str(&words(&|_, r| r.transfer.sum(|_| true)));
        out.push_str(&words(&|a, r| r.within.sum(|role| a.deep[role])));
        out.push_str(&words(&|_, r| r.within_new.sum(|_| true)));
        out.push('\n');
    }
    // a treebank has none of the roles that the paper names, nor any that is deep
    if !answers.iter().any(|a| a.accuracy.has_treebank_tags()) {
        out.push_str(&transfer_by_role(&rows, width));
    }
    out
}

/// The transfer of the roles that the paper names, over all seeds, with the 95% Wilson interval.
fn transfer_by_role(rows: &[RepresentationRow<'_>], width: usize) -> String {
    let headings: String = PAPER_ROLES.iter().map(|name| format!("{name:>32}")).collect();
    let mut out = format!("\n{:<width$}{headings}\n", "transfer by role, 95%");
    for row in rows.iter().filter(|r| r.seeds.iter().all(|(_, f)| f.finite)) {
        let Some((first, found)) = row.seeds.first() else { continue };
        if found.level > 0 || found.projected || matches!(found.features, RoleFeatures::Activation) {
            continue;
        }
        out.push_str(&format!("{:<width$}", row.name));
        for name in PAPER_ROLES {
            let Some(role) = first.roles.iter().position(|r| r == name) else { continue };
            let sums = row.seeds.iter().map(|(_, f)| RoleCounts::sum(&f.transfer, |r| r == role));
            let (right, of) = sums.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
            let (low, high) = wilson(right, of);
            out.push_str(&format!("{:>32}", format!("{:.3} of {of} ({low:.3}..{high:.3})", right / of)));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_once_which_sentences_were_read() {
        let answer = |seed| ModelAnswer {
            seed,
            label: "network".to_owned(),
            corpus: "own.conllu, left out: 2 longer".to_owned(),
            accuracy: RoleAccuracy {
                roles: vec!["X".into()],
                deep: vec![false],
                train_sentences: 1,
                representations: vec![],
                ranks: vec![].into(),
            },
        };
        let table = table(&[answer(1), answer(2)]);
        assert_eq!(table.matches("left out").count(), 1, "{table}");
        assert!(table.contains("unknown words"), "{table}");
    }
}
