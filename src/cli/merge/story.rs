//! The story of a merge, told in the terminal and as files: the preset `synapses_merging` without a window,
//! its losses and samples as a table, the four models as weights.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;

use super::super::{
    Settings,
    export::{self, Model, outward_of},
    failure::Failure,
    headless, settings,
};
use crate::{
    labs::{
        self,
        merging::{self, MergingSettings},
    },
    models::Spec,
    store::{Reader, tensors},
    telemetry::{Event, Payload, Sample, channels},
};

#[derive(Args)]
pub struct StoryArgs {
    /// A setting, e.g. --set merging.text_a=harbour, --set merging.tune=300
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of weights and batches
    #[arg(long)]
    seed: Option<u64>,
    /// Updates of the base
    #[arg(long)]
    steps: Option<u64>,
    /// Updates of each child
    #[arg(long)]
    tune: Option<u64>,
    /// Where the run, the weights and story.json go
    #[arg(long, value_name = "DIR", default_value = "merge-story")]
    out: PathBuf,
}

/// What story.json holds.
#[derive(Debug, Serialize)]
struct Story {
    /// Settings and curves are there.
    run: PathBuf,
    texts: Vec<String>,
    prompts: Vec<String>,
    models: Vec<Told>,
}

#[derive(Debug, Serialize)]
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
const PRESET: &str = "synapses_merging";

pub fn run(args: &StoryArgs) -> Result<(), Failure> {
    let lab = labs::find(LAB).ok_or_else(|| Failure::run("this build has no lab of BDH"))?;
    let mut config = lab.config(Some(PRESET))?;
    let mut set = args.set.clone();
    set.extend(args.tune.map(|n| format!("merging.tune={n}")));
    let given = Settings { set, seed: args.seed, steps: args.steps, ..Settings::default() };
    settings::apply(&given, lab, &mut config)?;
    if config.value(MergingSettings::tune)? == 0 {
        return Err(Failure::usage("without updates of the children (--tune) there is nothing to merge"));
    }
    std::fs::create_dir_all(&args.out)
        .map_err(|e| Failure::usage(format!("{} cannot be made: {e}", args.out.display())))?;
    let run = headless::train(lab, &config, &args.out.join("runs"), false)?;
    let story = told(&run, &args.out)?;
    let text = serde_json::to_string_pretty(&story).map_err(|e| Failure::run(e.to_string()))?;
    let path = args.out.join("story.json");
    std::fs::write(&path, text).map_err(|e| Failure::run(format!("{} cannot be written: {e}", path.display())))?;
    println!("{}\n\n{}", table(&story), path.display());
    Ok(())
}

/// What the run found, and its models as files in `out`.
fn told(run: &Path, out: &Path) -> Result<Story, Failure> {
    let mut last: BTreeMap<usize, Sample> = BTreeMap::new();
    for event in Reader::open(run).map_err(|e| Failure::run(e.to_string()))? {
        if let Event::Sample(s) = event
            && s.channel.as_str() == channels::SYNAPSES_TEXTS
        {
            last.insert(s.variant, s);
        }
    }
    let mut story = Story { run: run.to_owned(), texts: vec![], prompts: vec![], models: vec![] };
    for (variant, sample) in last {
        let words = |part: &str| match sample.payload.part(part) {
            Some(Payload::Text(all)) => all.clone(),
            _ => vec![],
        };
        let losses = sample.payload.part("losses").and_then(Payload::as_series);
        let name = merging::IDS.get(variant).copied().unwrap_or_default().to_owned();
        let Model { spec, weights } = export::newest(run, Some(&name))?;
        let Spec::Bdh(spec) = spec else { continue };
        let file = out.join(format!("{name}.safetensors"));
        let outward = outward_of(&spec, &weights)?;
        tensors::write_with(&file, &outward.tensors, &outward.metadata).map_err(|e| Failure::run(e.to_string()))?;
        let neurons = spec.resolved().map_err(super::usage)?.neurons;
        let loss = losses.and_then(|s| s.lines.first()).map_or(vec![], |l| l.y.clone());
        (story.texts, story.prompts) = (words("texts"), words("prompts"));
        story.models.push(Told { name, file, neurons, loss, writes: words("writes") });
    }
    Ok(story)
}

fn table(story: &Story) -> String {
    let mut lines = vec![format!("{:<28}", "held-out loss (nats) on")];
    for text in &story.texts {
        lines[0].push_str(&format!("{text:>22}"));
    }
    for model in &story.models {
        let name = format!("{}, {} neurons", model.name, model.neurons);
        let cells: String = model.loss.iter().map(|l| format!("{l:>22.4}")).collect();
        lines.push(format!("{name:<28}{cells}"));
    }
    for (i, (text, prompt)) in story.texts.iter().zip(&story.prompts).enumerate() {
        lines.push(format!("\n{text} | {}", one_line(prompt)));
        let writes = |m: &Told| m.writes.get(i).map(|w| format!("  {:<8}| {}", m.name, one_line(w)));
        lines.extend(story.models.iter().filter_map(writes));
    }
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    text.replace('\n', "⏎")
}
