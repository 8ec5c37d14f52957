//! `orrery model find-concept`: searches a trained BDH, and untrained models of the same size, for a synapse that
//! separates one label of a file of sentences, or one built-in concept, from the others. It prints the results on
//! held-out sentences.

use std::cell::RefCell;

use super::{
    interrupt,
    output::JsonArgs,
    progress::StepProgress,
    trained::{self, TrainedArgs, grouped},
};
use crate::{
    cli::prelude::*,
    corpus::{CorpusError, LabelledLines, generated::parliament::labelled::SplitSide},
    models::Trainable,
    probe::concepts::{self, ConceptQuestion, ConceptVerdict, FoundSynapse, PRESETS, SearchParams, SearchResult},
    telemetry::neuron_name,
};

#[derive(Args)]
pub struct FindConceptArgs {
    /// A trained BDH (.safetensors, .pt, .pth)
    checkpoint: PathBuf,
    /// A file of sentences, one a line: label, tab, sentence; or label, tab, group, tab, sentence where several are about one
    /// thing; lines that begin with # are left out. Or a built-in set, of the lab Synapses: currency, country (in English,
    /// French, Spanish and German), currency_naive, country_naive
    sentences: PathBuf,
    /// The label in the file that is the concept, as opposed to all others; the file's first if not given
    #[arg(long, value_name = "LABEL")]
    concept: Option<String>,
    /// How many untrained models are searched too
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=16))]
    random: u64,
    /// Seed of the untrained models
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Neurons a side and layer whose pairs are searched
    #[arg(long, value_name = "K", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1024))]
    per_side: u64,
    /// Layers of a file that does not say how many it has; if not given, 1 to 12 are tried on the sentences
    #[arg(long, value_name = "N", value_parser = trained::layers)]
    layers: Option<usize>,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    trained: TrainedArgs,
}

/// Number of progress reports of a search.
const PROGRESS_STEPS: u64 = 1000;

pub fn run(args: &FindConceptArgs) -> Result<(), Failure> {
    let inputs: [&Path; 2] = [&args.checkpoint, &args.sentences];
    args.json.check(&inputs)?;
    let sentences = Sentences::new(args)?;
    let checkpoint = args.trained.open(&args.checkpoint, args.layers)?;
    let chosen = args.trained.choose(checkpoint, sentences.text().as_bytes(), args.layers)?;
    let tokenizer = chosen.tokenizer();
    let question = sentences.question(&|sentence| tokenizer.tokenizer.encode(sentence.as_bytes()))?;
    let model = chosen.model()?;
    chosen.print()?;
    print_line!("{}: {} sentences ({})", sentences.name(), grouped(question.items.len()), tokenizer.label())?;
    print_line!("{}", question.describe())?;
    let params = SearchParams { per_side: args.per_side as usize, ..SearchParams::default() };
    let mut searched = Searches::new(&question, &params, 1 + args.random as usize);
    let found = searched.search(&model)?;
    let mut random = vec![];
    for k in 0..args.random {
        let device = model.params().device();
        let untrained = concepts::random(&model, chosen.checkpoint.vocab, args.seed.wrapping_add(k), device);
        random.push(searched.search(untrained.map_err(Failure::failed)?.as_ref())?);
    }
    let verdict = ConceptVerdict::new(&question, &found, &random);
    print(&found, &verdict)?;
    args.json.write(&json(&question, &found, &random, &verdict), &inputs)
}

enum Sentences {
    /// A file, and the label that is the concept.
    File(LabelledLines, String),
    /// The id of a preset.
    BuiltIn(&'static str),
}

impl Sentences {
    /// A file of that name goes before a set of that name.
    fn new(args: &FindConceptArgs) -> Result<Self, Failure> {
        let ids = PRESETS.map(|preset| preset.0);
        let named = ids.into_iter().find(|id| args.sentences.to_str() == Some(id));
        match named.filter(|_| !args.sentences.exists()) {
            Some(id) if args.concept.is_some() => Err(usage!(
                "`{id}` is a built-in set of one concept: leave out --concept, or give a file of labelled sentences"
            )),
            Some(id) => Ok(Self::BuiltIn(id)),
            None => {
                let lines = LabelledLines::read(&args.sentences).map_err(|e| {
                    Failure::wrong(e).with(format!(" (built-in sets are {})", ids.join(", ")), !args.sentences.exists())
                })?;
                let label = lines.concept(args.concept.as_deref()).map_err(Failure::wrong)?.to_owned();
                Ok(Self::File(lines, label))
            }
        }
    }

    /// All of them, to choose tokens and layers by.
    fn text(&self) -> String {
        match self {
            Self::File(lines, _) => lines.lines.iter().flat_map(|l| [l.sentence.as_str(), "\n"]).collect(),
            // Plain letters first: a model that lacks a language's letters is still asked in the others.
            Self::BuiltIn(id) => concepts::english_sentences(id),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::File(lines, _) => lines.name.clone(),
            Self::BuiltIn(id) => format!("built-in sentences `{id}`"),
        }
    }

    fn question(&self, encode: &dyn Fn(&str) -> Result<Vec<u32>, CorpusError>) -> Result<ConceptQuestion, Failure> {
        match self {
            Self::File(lines, label) => ConceptQuestion::from_lines(lines, label, encode).map_err(Failure::usage),
            Self::BuiltIn(id) => {
                let (question, out) = ConceptQuestion::built_in(id, encode)
                    .ok_or_else(|| usage!("there is no built-in set `{id}`"))?
                    .map_err(Failure::wrong)?;
                if !out.is_empty() {
                    notice!("note: {} are left out: the model's tokens lack some of their letters", out.join(", "));
                }
                Ok(question)
            }
        }
    }
}

/// The searches of several models, with the progress of all of them together.
struct Searches<'a> {
    question: &'a ConceptQuestion,
    params: &'a SearchParams,
    /// The number of models that have been searched.
    finished: usize,
    total: usize,
    progress: RefCell<StepProgress>,
    cancelled: Arc<AtomicBool>,
}

impl<'a> Searches<'a> {
    fn new(question: &'a ConceptQuestion, params: &'a SearchParams, total: usize) -> Self {
        let progress = StepProgress::new("searching", PROGRESS_STEPS).into();
        Self { question, params, finished: 0, total, progress, cancelled: interrupt::cancel_flag() }
    }

    fn search(&mut self, model: &dyn Trainable) -> Result<SearchResult, Failure> {
        let report = |share: f32| self.progress.borrow_mut().step((share * PROGRESS_STEPS as f32) as u64);
        let progress = Progress::new(&report, &self.cancelled).piece(self.finished, self.total);
        let device = model.params().device();
        let found = concepts::find(model, self.question, self.params, device, progress);
        if self.cancelled.load(Ordering::Relaxed) {
            let (finished, total) = (self.finished, self.total);
            return Err(Failure::interrupted(format!(
                "the search was stopped after {finished} of {total} models: no verdict, and nothing was written"
            )));
        }
        let found = found.map_err(Failure::wrong)?;
        self.finished += 1;
        if self.finished == self.total {
            self.progress.borrow_mut().step(PROGRESS_STEPS);
        }
        Ok(found)
    }
}

/// The synapses of the search with what they reach on sentences that took no part in it, and the verdict.
fn print(found: &SearchResult, verdict: &ConceptVerdict) -> Result<(), Failure> {
    print_line!("{} pairs searched; the first, confirmed once:", grouped(found.searched))?;
    print_line!(" layer          y          x   search       new sentences, 95%   p, Holm")?;
    let name = |neuron| neuron_name(neuron, found.per_head);
    for (k, s) in found.synapses.iter().enumerate() {
        let (low, high) = s.strength(SplitSide::BothNew).map_or((f64::NAN, f64::NAN), |b| b.interval);
        print_line!(
            "{:>6} {:>10} {:>10} {:>8.2} {:>24} {:>9.4}{}",
            s.synapse.layer,
            name(s.synapse.i),
            name(s.synapse.j),
            s.r(SplitSide::Search),
            format!("{:.2} ({low:.2}..{high:.2})", s.r(SplitSide::BothNew)),
            s.holm,
            if verdict.confirmed.contains(&k) { "  confirmed" } else { "" }
        )?;
    }
    print_line!("best of any synapse of the untrained models on new sentences: {:.2}", verdict.random)?;
    print_line!("{}", verdict.text)
}

fn json(
    question: &ConceptQuestion,
    found: &SearchResult,
    random: &[SearchResult],
    verdict: &ConceptVerdict,
) -> serde_json::Value {
    let synapse = |(k, s): (usize, &FoundSynapse)| {
        let new = s.strength(SplitSide::BothNew);
        json!({
            "layer": s.synapse.layer, "y": s.synapse.i, "x": s.synapse.j, "search": s.r(SplitSide::Search),
            "new": s.r(SplitSide::BothNew), "interval": new.map(|n| [n.interval.0, n.interval.1]),
            "p": new.map(|n| n.p), "holm": s.holm, "confirmed": verdict.confirmed.contains(&k),
        })
    };
    let of_random = |r: &SearchResult| json!({ "first": r.first_correlation(), "best": r.best_correlation() });
    json!({
        "concept": question.concept, "question": question.describe(), "searched": found.searched,
        "synapses": found.synapses.iter().enumerate().map(synapse).collect::<Vec<_>>(),
        "random": random.iter().map(of_random).collect::<Vec<_>>(), "verdict": verdict.text,
    })
}
