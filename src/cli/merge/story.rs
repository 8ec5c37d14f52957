//! The story of a merge: a base, two children tuned from it on texts of their own, the merged model; the
//! loss of each on every text, and what each writes.

use std::path::PathBuf;

use clap::Args;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::{
    super::{export, failure::Failure, headless},
    parent, usage, write,
};
use crate::{
    config::Config,
    corpus::{Corpus, Windows},
    labs::{self, Lab, common},
    models::{
        Model,
        bdh::{Bdh, BdhSpec, State},
    },
    nn::{Batch, Device, Result as Numbers, Tap, Tensor, host},
    store::tensors,
};

#[derive(Args)]
pub struct StoryArgs {
    /// A setting of the base alone
    #[arg(long, value_name = "KEY=VALUE", default_value = "corpus.source=mixture")]
    base: Vec<String>,
    /// A setting of the first child alone
    #[arg(long, value_name = "KEY=VALUE", default_value = "corpus.source=harbour")]
    a: Vec<String>,
    /// A setting of the second child alone
    #[arg(long, value_name = "KEY=VALUE", default_value = "corpus.source=observatory")]
    b: Vec<String>,
    /// A setting of all three runs
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Updates of the base, and of each child
    #[arg(long, default_value_t = 600)]
    steps: u64,
    #[arg(long, default_value_t = 300)]
    tune: u64,
    /// Held-out windows of each text
    #[arg(long, default_value_t = 32)]
    windows: usize,
    /// Tokens that each model writes after a prompt of each text
    #[arg(long, default_value_t = 120)]
    write: usize,
    /// Where runs, weights and story.json go
    #[arg(long, value_name = "DIR", default_value = "merge-story")]
    out: PathBuf,
}

/// What story.json holds.
#[derive(Serialize)]
struct Story {
    /// What each of the three runs trained on; their settings are in its run folder.
    texts: Vec<Text>,
    models: Vec<Told>,
    merging: Vec<String>,
}

#[derive(Serialize)]
struct Text {
    name: String,
    corpus: String,
    prompt: String,
}

#[derive(Serialize)]
struct Told {
    name: String,
    file: PathBuf,
    neurons: usize,
    /// Held-out nats a token, by text.
    loss: Vec<f64>,
    /// What follows the prompt, by text.
    writes: Vec<String>,
}

const LAB: &str = "synapses";
/// Tokens of a prompt.
const PROMPT: usize = 40;
/// Rows evaluated at once.
const ROWS: usize = 8;
const TEMPERATURE: f64 = 0.7;

pub fn run(args: &StoryArgs) -> Result<(), Failure> {
    let lab = labs::find(LAB).ok_or_else(|| Failure::run("this build has no lab of BDH"))?;
    let told = |what: &str| eprintln!("\n== {what}");
    let file = |name: &str| args.out.join(format!("{name}.safetensors"));
    let configs = [
        config(lab, args, &args.base, args.steps, None)?,
        config(lab, args, &args.a, args.tune, Some(file("base")))?,
        config(lab, args, &args.b, args.tune, Some(file("base")))?,
    ];
    std::fs::create_dir_all(&args.out)
        .map_err(|e| Failure::usage(format!("{} cannot be made: {e}", args.out.display())))?;
    let names = ["base", "a", "b"];
    for (name, config) in names.iter().zip(&configs) {
        told(&format!("{name}: {}", config.text("corpus.source")));
        let run = headless::train(lab, config, &args.out.join("runs"), false)?;
        let model = parent(&run, "bdh", None)?;
        let out = export::outward_of(&model.spec, &model.weights)?;
        tensors::write_with(&file(name), &out.tensors, &out.metadata).map_err(|e| Failure::run(e.to_string()))?;
    }
    told("merged");
    let merged = write(&parent(&file("a"), "bdh", None)?, &parent(&file("b"), "bdh", None)?, &file("merged"))?;
    merged.told.iter().for_each(|line| eprintln!("{line}"));

    let story = compare(args, &configs, &names, merged.told)?;
    let text = serde_json::to_string_pretty(&story).map_err(|e| Failure::run(e.to_string()))?;
    let path = args.out.join("story.json");
    std::fs::write(&path, text).map_err(|e| Failure::run(format!("{} cannot be written: {e}", path.display())))?;
    println!("{}\n\n{}", table(&story), path.display());
    Ok(())
}

/// The lab's default with the settings of all, then those of one.
fn config(lab: &Lab, args: &StoryArgs, own: &[String], steps: u64, from: Option<PathBuf>) -> Result<Config, Failure> {
    let (knobs, mut config) = ((lab.knobs)(), lab.config(None)?);
    for pair in args.set.iter().chain(own) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::usage(format!("`{pair}` has no `=`; write key=value")));
        };
        config.set_text(&knobs, key.trim(), value)?;
    }
    config.set_text(&knobs, "train.steps", &steps.to_string())?;
    if let Some(path) = from {
        config.set_text(&knobs, "model.checkpoint", &path.to_string_lossy())?;
    }
    (lab.plan)(&config)?;
    Ok(config)
}

fn compare(args: &StoryArgs, configs: &[Config], names: &[&str], merging: Vec<String>) -> Result<Story, Failure> {
    let words = |e: crate::corpus::CorpusError| Failure::usage(e.0);
    let mut texts: Vec<(String, Corpus, Windows)> = vec![];
    for (name, config) in names.iter().zip(configs) {
        let corpus = Corpus::open(&common::corpus_spec(config)?).map_err(words)?;
        let held_out = corpus.held_out(args.windows, config.usize("train.window")).map_err(words)?;
        texts.push(((*name).to_owned(), corpus, held_out));
    }
    let mut models = vec![];
    for name in names.iter().chain(&["merged"]) {
        let file = args.out.join(format!("{name}.safetensors"));
        let spec = BdhSpec { weights: Some(file.clone()), ..BdhSpec::default() };
        let vocab = texts.first().map_or(0, |t| t.1.vocab());
        let model = Bdh::new(&spec, vocab, 0, &Device::Cpu).map_err(usage)?;
        let each = |f: &dyn Fn(&Corpus, &Windows) -> Numbers<f64>| {
            texts.iter().map(|(_, c, w)| f(c, w)).collect::<Numbers<Vec<f64>>>().map_err(usage)
        };
        models.push(Told {
            name: (*name).to_owned(),
            neurons: model.spec().neurons,
            loss: each(&|_, w| loss(&model, w))?,
            writes: texts
                .iter()
                .map(|(_, c, _)| writes(&model, c, args.write))
                .collect::<Numbers<_>>()
                .map_err(usage)?,
            file,
        });
    }
    let texts = texts.into_iter().map(|(name, corpus, _)| Text {
        name,
        prompt: corpus.decode(&prompt(&corpus)),
        corpus: corpus.describe(),
    });
    Ok(Story { texts: texts.collect(), models, merging })
}

/// Mean held-out nats a token.
fn loss(model: &Bdh, w: &Windows) -> Numbers<f64> {
    let mut sum = 0.0;
    for from in (0..w.rows).step_by(ROWS) {
        let rows = ROWS.min(w.rows - from);
        let span = from * w.len..(from + rows) * w.len;
        let batch = Batch::from_ids(&w.inputs[span.clone()], &w.targets[span], rows, w.len, &Device::Cpu)?;
        sum += host::scalar(&model.evaluate(&batch)?)? * rows as f64;
    }
    Ok(sum / w.rows.max(1) as f64)
}

fn prompt(corpus: &Corpus) -> Vec<u32> {
    corpus.passage(1, PROMPT)
}

/// What the model writes after the text's prompt; the same draws for every model.
fn writes(model: &Bdh, corpus: &Corpus, tokens: usize) -> Numbers<String> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut state = State::empty(model.spec(), 1, &Device::Cpu)?;
    let (mut fresh, mut written) = (prompt(corpus), vec![]);
    if fresh.is_empty() {
        return Ok(String::new());
    }
    for _ in 0..tokens {
        let ids = Tensor::from_slice(&fresh, (1, fresh.len()), &Device::Cpu)?;
        let logits = model.read(&ids, &mut state, &mut Tap::off())?; // (1,T,V)
        let last = host::to_f64(&logits.narrow(1, fresh.len() - 1, 1)?)?;
        let next = draw(&last, rng.random());
        written.push(next);
        fresh = vec![next];
    }
    Ok(corpus.decode(&written))
}

/// The id that `at` (0..1) falls on under softmax(logits / temperature).
fn draw(logits: &[f64], at: f64) -> u32 {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|l| ((l - most) / TEMPERATURE).exp()).collect();
    let mut left = at * weights.iter().sum::<f64>();
    let found = weights.iter().position(|w| {
        left -= w;
        left < 0.0
    });
    found.unwrap_or(weights.len().saturating_sub(1)) as u32
}

fn table(story: &Story) -> String {
    let mut lines = vec![format!("{:<28}", "held-out loss (nats) on")];
    for text in &story.texts {
        lines[0].push_str(&format!("{:>22}", short(&text.corpus)));
    }
    for model in &story.models {
        let name = format!("{}, {} neurons", model.name, model.neurons);
        let cells: String = model.loss.iter().map(|l| format!("{l:>22.4}")).collect();
        lines.push(format!("{name:<28}{cells}"));
    }
    for (i, text) in story.texts.iter().enumerate() {
        lines.push(format!("\n{} | {}", short(&text.corpus), one_line(&text.prompt)));
        lines.extend(story.models.iter().map(|m| format!("  {:<8}| {}", m.name, one_line(&m.writes[i]))));
    }
    lines.join("\n")
}

/// The corpus's name without its size.
fn short(corpus: &str) -> String {
    corpus.split([',', '(']).next().unwrap_or(corpus).trim().to_owned()
}

fn one_line(text: &str) -> String {
    text.replace('\n', "⏎")
}
