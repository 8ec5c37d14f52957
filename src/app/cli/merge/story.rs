//! `orrery study merge-story`: `synapses_merging` without a window, its losses and samples, and four models' weights.

use serde::Serialize;

use super::super::{
    Settings, headless, settings,
    trained_run::{self, Model, state_dict_of},
};
use crate::{
    cli::prelude::*,
    labs::merging::{self, MergingSettings},
    telemetry::measurements::TextLosses,
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

/// The content of `story.json`.
#[derive(Debug, Serialize)]
struct Story {
    /// The run folder, with settings and curves.
    run: PathBuf,
    texts: Vec<String>,
    /// The text of each prompt, or that it is in a language that no model has learned.
    labels: Vec<String>,
    prompts: Vec<String>,
    models: Vec<StoryModel>,
}

#[derive(Debug, Serialize)]
struct StoryModel {
    name: String,
    file: PathBuf,
    neurons: usize,
    /// Held-out nats per token, by text.
    loss: Vec<f64>,
    /// Held-out nats per token of translations, by direction.
    translations: BTreeMap<String, f64>,
    /// The continuation that the model wrote after each prompt.
    writes: Vec<String>,
}

const LAB: &str = "synapses";
const MERGING_PRESET: &str = "synapses_merging";

pub fn run(args: &StoryArgs) -> Result<(), Failure> {
    let lab = labs::find(LAB).ok_or_else(|| Failure::run("this build has no lab of BDH"))?;
    let mut config = lab.config(Some(MERGING_PRESET))?;
    let mut set = args.set.clone();
    set.extend(args.tune.map(|n| format!("merging.tune={n}")));
    let given = Settings { set, seed: args.seed, steps: args.steps, ..Settings::default() };
    settings::apply(&given, lab, &mut config)?;
    let tune = config.value(MergingSettings::tune)?;
    ensure!(tune > 0, "without updates of the children (--tune) there is nothing to merge");
    output::make_folder(&args.out).map_err(|failure| Failure::usage(failure.message))?;
    let run = headless::train(lab, &config, &args.out.join("runs"), headless::RunOptions::without_figures())?;
    let story = collect(&run, &args.out)?;
    let path = args.out.join("story.json");
    output::write_json(&path, &story, &[])?;
    print_line!("{}\n\n{}", table(&story), path_label(&path))
}

/// The newest measurement of each model of the run; writes the models as files into `out`.
fn collect(run: &Path, out: &Path) -> Result<Story, Failure> {
    let mut newest: BTreeMap<usize, TextLosses> = BTreeMap::new();
    for event in Reader::open(run).map_err(Failure::failed)? {
        if let Event::Sample(s) = event
            && let Some(measured) = s.measurement::<TextLosses>()
        {
            newest.insert(s.variant, measured.clone());
        }
    }
    let mut story = Story { run: run.to_owned(), texts: vec![], labels: vec![], prompts: vec![], models: vec![] };
    for (variant, measured) in newest {
        let translations = measured.translations().into_iter().collect();
        let name = merging::IDS.get(variant).copied().unwrap_or_default().to_owned();
        let Model { spec, weights, window } = trained_run::newest_weights(run, Some(&name))?;
        let ModelSpec::Bdh(spec) = spec else { continue };
        let file = out.join(format!("{name}.safetensors"));
        let state_dict = state_dict_of(&spec, &weights)?.with_window(window);
        tensors::write(&file, &state_dict.tensors, &state_dict.metadata).map_err(Failure::failed)?;
        let neurons = spec.resolved().map_err(Failure::wrong)?.neurons;
        let (loss, samples) = (measured.texts.iter().map(|t| t.loss).collect(), measured.samples());
        let writes = samples.iter().map(|s| s.continuation.to_owned()).collect();
        story.texts = measured.texts.iter().map(|t| t.name.clone()).collect();
        (story.labels, story.prompts) = samples.into_iter().map(|s| (s.label, s.prompt.to_owned())).unzip();
        story.models.push(StoryModel { name, file, neurons, loss, translations, writes });
    }
    Ok(story)
}

fn table(story: &Story) -> String {
    let mut lines = vec![format!("{:<28}", "held-out loss (nats) on")];
    story.texts.iter().for_each(|text| lines[0].push_str(&format!("{text:>22}")));
    for model in &story.models {
        let name = format!("{}, {} neurons", model.name, model.neurons);
        let cells: String = model.loss.iter().map(|l| format!("{l:>22.4}")).collect();
        lines.push(format!("{name:<28}{cells}"));
    }
    if let Some(first) = story.models.first().filter(|m| !m.translations.is_empty()) {
        let names = story.models.iter().map(|m| format!("{:>12}", m.name));
        lines.push(format!("\n{:<28}{}", "of translations", names.collect::<String>()));
        for direction in first.translations.keys() {
            let loss = |m: &StoryModel| m.translations.get(direction).copied().unwrap_or(f64::NAN);
            let cells: String = story.models.iter().map(|m| format!("{:>12.4}", loss(m))).collect();
            lines.push(format!("{direction:<28}{cells}"));
        }
    }
    for (i, (label, prompt)) in story.labels.iter().zip(&story.prompts).enumerate() {
        lines.push(format!("\n{label} | {}", one_line(prompt)));
        let writes = |m: &StoryModel| m.writes.get(i).map(|w| format!("  {:<8}| {}", m.name, one_line(w)));
        lines.extend(story.models.iter().filter_map(writes));
    }
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    text.replace('\n', "⏎")
}
