//! `orrery model intervene`: what a text costs a trained BDH while neurons or synapses are changed, beside random ones.

use super::{
    choice::one_by_id,
    progress::StepProgress,
    trained::{ReadArgs, grouped},
};
use crate::{
    cli::prelude::*,
    models::{Trainable, capabilities::SynapseModel},
    probe::synapses::{Effect, EffectOptions, Request, effect, request},
    telemetry::measurements::{ActionKind, ChangeArgs, ChangedPart, TargetKind},
};

#[derive(Args)]
pub struct InterveneArgs {
    /// Neurons to change, as head:index from 0, separated by commas: 0:12,2:517
    #[arg(long, required_unless_present = "synapse", conflicts_with = "synapse")]
    neurons: Option<String>,
    /// A synapse to change, as layer:i:j: from y of neuron i in the layer before to x of neuron j in this layer, numbers
    /// over all heads; or 2:0:517:3:33, with heads. May be given several times
    #[arg(long, value_name = "L:I:J")]
    synapse: Vec<String>,
    /// The change of the activation, or of the value that the synapse holds
    #[arg(long, value_parser = one_by_id(&ActionKind::ALL), default_value = "silence")]
    action: ActionKind,
    /// The factor of scale, or the value of clamp
    #[arg(long, required_if_eq_any = [("action", "scale"), ("action", "clamp")], allow_negative_numbers = true)]
    amount: Option<f64>,
    /// For neurons: x (the neuron as key and query, and with it y) or y (what it writes)
    #[arg(long, value_parser = one_by_id(&ChangedPart::ALL), conflicts_with = "synapse")]
    part: Option<ChangedPart>,
    /// For neurons: the one layer where it is done, from 0; every layer if not given
    #[arg(long, conflicts_with = "synapse")]
    layer: Option<u32>,
    /// Random sets of neurons or synapses to compare with
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(0..=1000))]
    draws: u64,
    /// Seed of the random sets
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Tokens of the continuations, each the likeliest
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u64).range(0..=4096))]
    tokens: u64,
    /// Write losses and relative entropies of every token into this CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

impl InterveneArgs {
    /// The change as the probe takes it.
    fn change(&self) -> ChangeArgs {
        ChangeArgs {
            target: if self.synapse.is_empty() { TargetKind::Neurons } else { TargetKind::Synapses },
            neurons: self.neurons.clone().unwrap_or_default(),
            synapses: self.synapse.join(","),
            action: self.action,
            amount: self.amount.unwrap_or(0.0),
            part: self.part.unwrap_or(ChangedPart::X),
            layer: self.layer.map_or(-1, i64::from),
        }
    }
}

/// An intervention that names nothing is a mistake.
const NO_TARGET: &str = "no neuron or synapse is named: --neurons 0:12,2:517 or --synapse 2:517:1569";

pub fn run(args: &InterveneArgs) -> Result<(), Failure> {
    args.read.check_table(args.csv.as_deref())?;
    let (chosen, text) = args.read.open()?;
    let tokenizer = chosen.tokenizer();
    let ids = chosen.encode_to_score(&text, &args.read.text)?;
    let model = chosen.model()?;
    let asked = request(&args.change(), model.shape()).map_err(Failure::wrong)?;
    ensure!(!asked.is_empty(), "{NO_TARGET}");
    let options = EffectOptions { draws: args.draws as usize, length: args.tokens as usize, seed: args.seed };
    let shown = std::cell::RefCell::new(StepProgress::new("reading", STEPS));
    let report = |share: f32| shown.borrow_mut().step((f64::from(share) * STEPS as f64) as u64);
    let cancelled = std::sync::atomic::AtomicBool::new(false);
    let progress = Progress::new(&report, &cancelled);
    let found = effect(&model, &ids, &asked, options, model.params().device(), progress).map_err(Failure::wrong)?;
    drop(shown);
    chosen.print()?;
    print_line!("{}: {} tokens ({})", args.read.text.display(), grouped(ids.len()), tokenizer.label())?;
    print(&found, &asked, tokenizer, model.shape().per_head())?;
    args.read.write_table(args.csv.as_deref(), || per_token(tokenizer, &ids, &found))
}

/// Steps of the progress bar.
const STEPS: u64 = 1000;
/// Names that are written out.
const NAMED: usize = 12;

/// Mean of what is a number.
fn mean(values: &[f64]) -> f64 {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    finite.iter().sum::<f64>() / finite.len() as f64
}

fn print(found: &Effect, asked: &Request, tokenizer: &NamedTokenizer, per_head: usize) -> Result<(), Failure> {
    let names = [asked.neuron_names(per_head), asked.synapse_names(per_head)].concat();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    print_line!("{}{more}: {}", names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", "), asked.description)?;
    if found.sigma.is_nan() {
        let percent = |share: f64| format!("{:.2}% of tokens and layers", 100.0 * share);
        print_line!("they fire at {}; the random ones at {}", percent(found.firing), percent(found.null_firing))?;
    } else {
        print_line!("sigma after the text {:.6}; of the random ones {:.6}", found.sigma, found.null_sigma)?;
    }
    let (before, after) = (mean(&found.loss_before), mean(&found.loss_after));
    print_line!("loss {before:.6} nats per token, with the change {after:.6} ({:+.6})", after - before)?;
    let own = mean(&found.divergence);
    print_line!("mean relative entropy of the next token {own:.6e} nats")?;
    match found.null_draws.len() {
        0 => print_line!(
            "no random sets to compare with: none were asked for, or too few others of the same heads are left"
        )?,
        draws => {
            let at_least = found.null_draws.iter().filter(|d| **d >= own).count();
            print_line!(
                "of {draws} random sets as active {:.6e} nats on average; {at_least} of {draws} reach as far",
                mean(&found.null_draws)
            )?;
        }
    }
    let text = |ids: &[u32]| format!("{:?}", String::from_utf8_lossy(&tokenizer.tokenizer.decode(ids)));
    if !found.continuation_before.is_empty() {
        print_line!("goes on as it is        {}", text(&found.continuation_before))?;
        print_line!("goes on with the change {}", text(&found.continuation_after))?;
    }
    Ok(())
}

/// Every token with its place from 0; the first has no loss. The last column is the mean over random sets.
fn per_token(tokenizer: &NamedTokenizer, ids: &[u32], found: &Effect) -> Table {
    let lists = [
        ("loss_before", &found.loss_before[..]),
        ("loss_after", &found.loss_after[..]),
        ("divergence", &found.divergence[..]),
        ("divergence_random", &found.null_divergence[..]),
    ];
    Table::per_token(ids.iter().map(|id| tokenizer.tokenizer.token_text(*id)), &lists)
}
