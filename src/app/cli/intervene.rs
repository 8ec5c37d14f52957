//! `orrery model intervene`: what a text costs a trained BDH while neurons or synapses are changed, beside random ones.

use super::{
    progress::StepProgress,
    trained::{ReadArgs, grouped},
};
use crate::{
    analysis::statistics::finite_mean,
    cli::prelude::*,
    models::capabilities::SynapseModel,
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
    #[arg(long, required_if_eq_any = [("action", "scale"), ("action", "clamp")])]
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
    let shown = std::cell::RefCell::new(StepProgress::new("reading", PROGRESS_STEPS));
    let report = |share: f32| shown.borrow_mut().step((f64::from(share) * PROGRESS_STEPS as f64) as u64);
    let cancelled = std::sync::atomic::AtomicBool::new(false);
    let progress = Progress::new(&report, &cancelled);
    let found = effect(&model, &ids, &asked, options, progress).map_err(Failure::wrong)?;
    drop(shown);
    chosen.print()?;
    print_line!("{}: {} tokens ({})", path_label(&args.read.text), grouped(ids.len()), tokenizer.label())?;
    print(&found, &asked, tokenizer, model.shape().per_head(), args.seed)?;
    args.read.write_table(args.csv.as_deref(), || per_token(tokenizer, &ids, &found))
}

const PROGRESS_STEPS: u64 = 1000;
/// Names that are written out.
const MAX_NAMED: usize = 12;

fn print(
    found: &Effect,
    asked: &Request,
    tokenizer: &NamedTokenizer,
    per_head: usize,
    seed: u64,
) -> Result<(), Failure> {
    let names = asked.names(per_head).concat();
    let more = names.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = names.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    print_line!("{named}{more}: {}", asked.description)?;
    if found.sigma.is_nan() {
        let percent = |share: f64| format!("{:.2}% of tokens and layers", 100.0 * share);
        print_line!("they fire at {}; the random ones at {}", percent(found.firing), percent(found.null_firing))?;
    } else {
        print_line!("sigma after the text {:.6}; of the random ones {:.6}", found.sigma, found.null_sigma)?;
    }
    print_line!("{}", loss_change(&found.before.loss, &found.after.loss))?;
    print_line!("{}", effect_and_random(&found.divergence, &found.null_draws, seed))?;
    let text = |ids: &[u32]| format!("{:?}", String::from_utf8_lossy(&tokenizer.tokenizer.decode(ids)));
    if !found.before.continuation.is_empty() {
        print_line!("goes on as it is        {}", text(&found.before.continuation))?;
        print_line!("goes on with the change {}", text(&found.after.continuation))?;
    }
    Ok(())
}

/// The loss of the text without and with the change.
fn loss_change(before: &[f64], after: &[f64]) -> String {
    match (finite_mean(before), finite_mean(after)) {
        (Some(before), Some(after)) => {
            format!("loss {before:.6} nats per token, with the change {after:.6} ({:+.6})", after - before)
        }
        (Some(before), None) => format!("loss {before:.6} nats per token, with the change not finite"),
        (None, _) => "no token has a finite loss".to_owned(),
    }
}

/// The line in place of a comparison with random sets.
const NO_RANDOM_SETS: &str =
    "no random sets to compare with: none were asked for, or too few others of the same heads are left";

/// How far the next token's distribution moves, and how many random sets reach as far.
fn effect_and_random(divergence: &[f64], null_draws: &[f64], seed: u64) -> String {
    let Some(own) = finite_mean(divergence) else {
        return "the relative entropy of the next token is finite at no token".to_owned();
    };
    let random = match finite_mean(null_draws) {
        Some(mean) => {
            let draws = null_draws.len();
            let at_least = null_draws.iter().filter(|d| **d >= own).count();
            let sets = format!("of {draws} random sets as active (seed {seed})");
            format!("{sets} {mean:.6e} nats on average; {at_least} of {draws} reach as far")
        }
        None if null_draws.is_empty() => NO_RANDOM_SETS.to_owned(),
        None => "no random set has a finite relative entropy".to_owned(),
    };
    format!("mean relative entropy of the next token {own:.6e} nats\n{random}")
}

/// Every token with its place from 0; the first has no loss. The last column is the mean over random sets.
fn per_token(tokenizer: &NamedTokenizer, ids: &[u32], found: &Effect) -> Table {
    let lists = [
        ("loss_before", &found.before.loss[..]),
        ("loss_after", &found.after.loss[..]),
        ("divergence", &found.divergence[..]),
        ("divergence_random", &found.null_divergence[..]),
    ];
    Table::per_token(ids.iter().map(|id| tokenizer.tokenizer.token_text(*id)), &lists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_skip_the_first_token_and_no_mean_is_printed_as_nan() {
        let (before, divergence) = ([f64::NAN, 1.0, 2.0], [0.5, 1.5]);
        let change = "loss 1.500000 nats per token, with the change 2.500000 (+1.000000)";
        assert_eq!(loss_change(&before, &[f64::NAN, 2.0, 3.0]), change);
        let random = "of 2 random sets as active (seed 7) 1.500000e0 nats on average; 1 of 2 reach as far";
        let own = "mean relative entropy of the next token 1.000000e0 nats";
        assert_eq!(effect_and_random(&divergence, &[0.5, 2.5], 7), format!("{own}\n{random}"));
        let endless = loss_change(&before, &[f64::NAN, f64::INFINITY, f64::NAN]);
        let words = [endless, effect_and_random(&[f64::NAN; 2], &[], 7)];
        assert!(words.iter().all(|words| words.contains("finite") && !words.contains("NaN")), "{words:?}");
        assert!(effect_and_random(&divergence, &[], 7).ends_with(NO_RANDOM_SETS));
    }
}
