//! `orrery study concepts`: trains models of several seeds, searches them and as many untrained ones for a
//! synapse that stands for a concept, and prints what held. The window's probe, over seeds.

use super::{
    Settings, damage,
    output::JsonArgs,
    process::on_large_stack,
    settings::{self, ResolvedName},
    trained_run::{no_checkpoint, skipped_checkpoints},
};
use crate::{
    cli::prelude::*,
    config::Setting,
    corpus::generated::parliament::{Class, labelled::SplitSide},
    experiments::seeds::mean_spread,
    labs::corpus::{CorpusSettings, GeneratedCorpus},
    probe::concepts::{self, ConceptQuestion, ConceptVerdict, PAPER, PRESETS, Scalar, SearchParams, SearchResult},
    store::checkpoint,
    telemetry::StepStats,
    trainer::Run,
};

#[derive(Args)]
pub struct ConceptArgs {
    /// A preset or config file of the Synapses lab
    #[arg(long, default_value = "synapses")]
    preset: String,
    /// The concept to look for: currency or country
    #[arg(long, default_value = "currency")]
    concept: String,
    /// Seeds of the trained models; as many models with random weights are searched for comparison
    #[arg(long, value_delimiter = ',', default_value = "1,2,3")]
    seeds: Vec<u64>,
    /// Take these trained runs (folders of `orrery run`) rather than train
    #[arg(long, value_delimiter = ',', value_name = "FOLDERS", conflicts_with_all = ["seeds", "preset"])]
    runs: Vec<PathBuf>,
    /// Leave the confirmation half alone and split the search half once more: for choosing a procedure
    #[arg(long)]
    rehearse: bool,
    /// How a sentence's synapse becomes one number; a rehearsal takes several
    #[arg(long, value_delimiter = ',', value_parser = one_by_id(&Scalar::ALL))]
    scalar: Vec<Scalar>,
    /// Neurons a side and layer whose pairs are searched
    #[arg(long, value_name = "K")]
    per_side: Option<usize>,
    /// Standard errors taken off before ranking; a rehearsal takes several
    #[arg(long, value_delimiter = ',')]
    caution: Vec<f64>,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    set: Settings,
}

pub fn run(args: &ConceptArgs) -> Result<(), Failure> {
    let procedures = procedures(args)?;
    args.json.check(&[])?;
    settings::check_seeds(&args.seeds)?;
    on_large_stack(["the search", "the search"], || search(args, &procedures))
}

/// A trained model with its corpus; its last held-out loss; and what to call it.
struct Trained {
    run: Run,
    loss: f64,
    name: String,
}

struct SearchedModel {
    name: String,
    seed: u64,
    loss: f64,
    /// The shares of sentences, in known frames and in new ones, that expect the noun's class. `None` in a rehearsal.
    class_shares: Option<[f64; 2]>,
}

/// The models, each trained or opened once it is asked for.
fn models(args: &ConceptArgs) -> Result<Box<dyn Iterator<Item = Result<Trained, Failure>> + '_>, Failure> {
    if !args.runs.is_empty() {
        ensure!(args.set.is_empty(), "a trained run already has its settings; leave out --set, --steps and the like");
        return Ok(Box::new(args.runs.iter().map(|folder| opened(folder))));
    }
    let ResolvedName::Config(lab, mut config) = settings::resolve(&args.preset)? else {
        return Err(usage!("`{}` is neither a preset nor a config", args.preset));
    };
    settings::apply(&args.set, lab, &mut config)?;
    Ok(Box::new(args.seeds.iter().map(move |seed| {
        config.seed = *seed;
        train(lab, &config)
    })))
}

fn procedures(args: &ConceptArgs) -> Result<Vec<SearchParams>, Failure> {
    let default = SearchParams::default();
    let scalars = if args.scalar.is_empty() { vec![default.scalar] } else { args.scalar.clone() };
    let cautions = if args.caution.is_empty() { vec![default.caution] } else { args.caution.clone() };
    let per_side = args.per_side.unwrap_or(default.per_side).max(1);
    let all: Vec<SearchParams> = scalars
        .iter()
        .flat_map(|&scalar| cautions.iter().map(move |&caution| SearchParams { scalar, caution, per_side, ..default }))
        .collect();
    ensure!(all.len() <= 1 || args.rehearse, "one procedure is confirmed, once; to compare several use --rehearse");
    Ok(all)
}

fn search(args: &ConceptArgs, procedures: &[SearchParams]) -> Result<(), Failure> {
    let wrong = |e: candle_core::Error| Failure::run(format!("the search failed: {e}"));
    // Model by model: the result of each procedure in the trained one and in a random one.
    let mut results: Vec<Vec<(SearchResult, SearchResult)>> = vec![];
    let mut named = vec![];
    let mut asked_question = None;
    for model in models(args)? {
        let Trained { run, loss, name } = model?;
        let config = &run.plan.config;
        let naive =
            config.get(CorpusSettings::source.name) == Some(&GeneratedCorpus::by_id("parliament_naive").to_value());
        let id = format!("{}{}", args.concept, if naive { "_naive" } else { "" });
        let question = match asked_question.take() {
            Some(question) => question,
            None => ConceptQuestion::preset(&id, run.corpus(), args.rehearse)
                .ok_or_else(|| usage!("there is no concept `{}`; choose currency or country", args.concept))?,
        };
        let model = run.variants[0].model.as_ref();
        let random = concepts::random(model, run.corpus().vocab(), config.seed, &run.device).map_err(wrong)?;
        let mut of_model = vec![];
        for how in procedures {
            let one = |model| concepts::find(model, &question, how, &run.device, Progress::none()).map_err(wrong);
            of_model.push((one(model)?, one(random.as_ref())?));
        }
        results.push(of_model);
        let class = PRESETS.iter().find(|p| p.0 == id).map_or(Class::Currency, |p| p.1);
        let class_shares = match args.rehearse {
            // A rehearsal leaves the confirming sentences unread.
            true => None,
            false => Some(concepts::follow_up_accuracy(model, run.corpus(), class).map_err(wrong)?),
        };
        named.push(SearchedModel { name, seed: config.seed, loss, class_shares });
        asked_question = Some(question);
    }
    let Some(question) = asked_question else { return Err(Failure::usage("there is no model: name seeds or runs")) };
    print_line!("{}{}", question.describe(), if args.rehearse { " (rehearsal inside the search half)" } else { "" })?;
    let mut all = vec![];
    for (k, how) in procedures.iter().enumerate() {
        let SearchParams { scalar, per_side, caution, .. } = how;
        print_line!("\nscalar {}, {per_side} neurons a side and layer, caution {caution}", scalar.id())?;
        let trained: Vec<&SearchResult> = results.iter().map(|r| &r[k].0).collect();
        let random: Vec<SearchResult> = results.iter().map(|r| r[k].1.clone()).collect();
        all.push(table(&question, &named, &trained, &random)?);
    }
    args.json.write(&json!({ "question": question.describe(), "procedures": all }), &[])
}

fn train(lab: &Lab, config: &Config) -> Result<Trained, Failure> {
    let plan = (lab.plan)(config)?;
    nn::set_threads(trainer::threads_of(&plan));
    let (steps, seed) = (plan.steps, config.seed);
    let mut run = Run::open(plan)?;
    while run.step < steps {
        let stats = run.update(0).map_err(Failure::failed)?;
        run.finish_step().map_err(Failure::failed)?;
        if run.step.is_multiple_of(100) || run.step == steps {
            let loss = scalar_value(&stats, channels::LOSS_TRAIN);
            notice!("seed {seed}: step {} of {steps}, loss {loss:.3}, {:.0} s", run.step, stats.wall_secs);
        }
    }
    finish_run(run, format!("seed {seed}"))
}

/// A run folder at its last checkpoint.
fn opened(folder: &Path) -> Result<Trained, Failure> {
    let (info, lost) = store::run_info(folder).map_err(Failure::wrong)?;
    let (lab, config) = settings::recorded_in(&info, folder)?;
    damage::report(folder, &Damage(lost));
    let plan = (lab.plan)(&config)?;
    nn::set_threads(trainer::threads_of(&plan));
    let mut run = Run::open(plan)?;
    let loaded = checkpoint::load(folder, &run.device).map_err(Failure::wrong)?;
    let loaded = loaded.ok_or_else(|| no_checkpoint(folder))?;
    damage::report(folder, &skipped_checkpoints(&loaded));
    run.restore(&loaded.checkpoint).map_err(Failure::failed)?;
    let name = format!("seed {}, step {}", config.seed, run.step);
    finish_run(run, name)
}

fn finish_run(mut run: Run, name: String) -> Result<Trained, Failure> {
    let loss = scalar_value(&run.evaluate(0).map_err(Failure::failed)?, channels::LOSS_HELD_OUT);
    Ok(Trained { run, loss, name })
}

fn scalar_value(stats: &StepStats, channel: &str) -> f64 {
    stats.scalars.iter().find(|s| s.0.as_str() == channel).map_or(f64::NAN, |s| s.1)
}

fn table(
    question: &ConceptQuestion,
    named: &[SearchedModel],
    trained: &[&SearchResult],
    random: &[SearchResult],
) -> Result<serde_json::Value, Failure> {
    let codes: String = question.languages.iter().map(|c| format!("{c:>6}")).collect();
    print_line!(
        "model                loss      knows layer     y     x  search  nouns  frames         both new, 95% \
         p, Holm{codes}"
    )?;
    let mut rows = vec![];
    for (searched, f) in named.iter().zip(trained) {
        print_synapses(&searched.name, Some(searched), f, &mut rows)?;
    }
    for (searched, f) in named.iter().zip(random) {
        print_synapses(&format!("random {}", searched.seed), None, f, &mut rows)?;
    }
    let verdicts: Vec<ConceptVerdict> = trained.iter().map(|f| ConceptVerdict::new(question, f, random)).collect();
    let firsts: Vec<f64> = trained.iter().map(|f| f.first_correlation()).collect();
    let (mean, sd) = mean_spread(&firsts);
    let spread = sd.map_or(String::new(), |sd| format!(" +- {sd:.2}"));
    print_line!(
        "first of the ranking on both new: {mean:.2}{spread} over {}, best of any random synapse {:.2} (paper {PAPER}: one model, no random weights beside)",
        counted(firsts.len(), "model"),
        verdicts.first().map_or(f64::NAN, |v| v.random)
    )?;
    named.iter().zip(&verdicts).try_for_each(|(searched, v)| print_line!("{}: {}", searched.name, v.text))?;
    Ok(json!({ "rows": rows, "verdicts": verdicts.iter().map(|v| v.text.clone()).collect::<Vec<_>>() }))
}

/// The first three synapses of a model, and all of them as JSON.
fn print_synapses(
    name: &str,
    trained: Option<&SearchedModel>,
    result: &SearchResult,
    rows: &mut Vec<serde_json::Value>,
) -> Result<(), Failure> {
    for (rank, s) in result.synapses.iter().enumerate() {
        let both = s.strength(SplitSide::BothNew);
        let (low, high) = both.map_or((f64::NAN, f64::NAN), |b| b.interval);
        let strengths: serde_json::Map<String, serde_json::Value> = s
            .strengths
            .iter()
            .map(|t| (t.part.name().to_owned(), json!({ "r": t.r, "by_language": t.by_language })))
            .collect();
        rows.push(json!({
            "model": name, "rank": rank + 1, "layer": s.synapse.layer, "y": s.synapse.i, "x": s.synapse.j,
            "loss": trained.map(|t| t.loss), "knows": trained.map(|t| t.class_shares),
            "strengths": strengths, "interval": [low, high], "holm": s.holm,
            "p_by_language": both.map(|b| b.p_by_language.clone()), "searched": result.searched,
        }));
        if rank < 3 {
            let by_language = both.iter().flat_map(|b| &b.by_language);
            let shown: String = by_language.map(|r| format!("{r:>6.2}")).collect();
            let first = |words: String| if rank == 0 { words } else { String::new() };
            let shares = trained.and_then(|t| t.class_shares);
            print_line!(
                "{:<20}{:>5}{:>11}{:>6}{:>6}{:>6}{:>8.2}{:>7.2}{:>8.2}{:>22}{:>8.4}{shown}",
                first(name.to_owned()),
                first(trained.map_or(String::new(), |t| format!("{:.3}", t.loss))),
                first(shares.map_or(String::new(), |[old, new]| format!("{old:.2} {new:.2}"))),
                s.synapse.layer,
                s.synapse.i,
                s.synapse.j,
                s.r(SplitSide::Search),
                s.r(SplitSide::NewNouns),
                s.r(SplitSide::NewFrames),
                format!("{:.2} ({low:.2}..{high:.2})", s.r(SplitSide::BothNew)),
                s.holm,
            )?;
        }
    }
    print_line!("{:<20}best of {} on both new: {:.2}", "", result.synapses.len(), result.best_correlation())
}
