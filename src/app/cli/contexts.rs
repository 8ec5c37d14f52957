//! `orrery model contexts`: the passages of a text that drive a neuron or a synapse of a trained BDH most.

use super::{
    progress::StepProgress,
    trained::{ReadArgs, grouped},
};
use crate::{
    cli::prelude::*,
    models::capabilities::{NeuronActivation, SynapseModel, SynapseShape},
    probe::contexts::{ContextSearch, ShownText, TrackedActivation, search, top_contexts},
    telemetry::{
        Synapse,
        measurements::{ChangedPart, TopContext, TopContexts},
        read_neurons,
    },
};

#[derive(Args)]
pub struct ContextArgs {
    /// The neuron, as head:index, both counted from 0
    #[arg(long, value_name = "HEAD:INDEX", required_unless_present = "synapse")]
    neuron: Option<String>,
    /// A synapse instead: from y of neuron I in the layer before L to x of neuron J in layer L, such as 2:0:12:1:7
    /// or, by numbers over all heads, 2:12:519
    #[arg(long, value_name = "L:I:J", conflicts_with_all = ["neuron", "part", "layer"])]
    synapse: Option<String>,
    /// Which activation of the neuron
    #[arg(long, value_parser = one_by_id(&ChangedPart::ALL), default_value = "y")]
    part: ChangedPart,
    /// The layer of the neuron's activation, from 0; the greatest of all layers at each token if not given
    #[arg(long)]
    layer: Option<usize>,
    /// How many passages, at most one of each window
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    top: u64,
    /// Tokens of a window; each is read from an empty state
    #[arg(long, value_name = "TOKENS", default_value_t = 128, value_parser = clap::value_parser!(u64).range(2..=65_536))]
    window: u64,
    /// Stop after this many tokens; without it, all are read
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    tokens: Option<u64>,
    /// Write rank, value, layer, position, token and passage into this CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

/// Ids that are handed on at once.
const CHUNK_IDS: usize = 1 << 16;
/// Characters of a passage on a line of the terminal, before its token and after.
const CHARS_BEFORE: usize = 44;
const CHARS_AFTER: usize = 20;

pub fn run(args: &ContextArgs) -> Result<(), Failure> {
    args.read.check_table(args.csv.as_deref())?;
    let (chosen, text) = args.read.open()?;
    let tokenizer = chosen.tokenizer();
    let ids = chosen.encode(&text)?;
    let model = chosen.model()?;
    let max_tokens = args.tokens.map_or(usize::MAX, |n| n as usize);
    let how = ContextSearch {
        followed: tracked_activation(args, model.shape())?,
        window: args.window as usize,
        top: args.top as usize,
        max_tokens,
    };
    how.followed.check(model.shape()).map_err(Failure::wrong)?;
    let found = read(&model, &ids, &how, tokenizer)?;
    chosen.print()?;
    print_line!(
        "{}: {} of {} tokens read ({}), in windows of {} from an empty state",
        path_label(&args.read.text),
        grouped(found.read),
        grouped(ids.len()),
        tokenizer.label(),
        found.window
    )?;
    print(&found)?;
    args.read.write_table(args.csv.as_deref(), || table(&found))
}

fn read(
    model: &dyn SynapseModel,
    ids: &[u32],
    how: &ContextSearch,
    tokenizer: &NamedTokenizer,
) -> Result<TopContexts, Failure> {
    let mut pieces = ids.chunks(CHUNK_IDS);
    let total = ids.len().min(how.max_tokens);
    let mut progress = StepProgress::new("reading, one step per token", total as u64);
    let mut report = |done: usize| {
        progress.step(done as u64);
        Ok(())
    };
    let tally =
        search(model, how, &mut || Ok(pieces.next().map(<[u32]>::to_vec)), &mut report).map_err(Failure::failed)?;
    let shown = ShownText {
        tokens: &|ids| tokenizer.tokenizer.token_texts(ids),
        decode: &|ids| String::from_utf8_lossy(&tokenizer.tokenizer.decode(ids)).into_owned(),
        encode: &|text| tokenizer.tokenizer.encode(text.as_bytes()).unwrap_or_default(),
    };
    Ok(top_contexts(&tally, how, model.shape().per_head(), &shown, tally.read < ids.len()))
}

fn tracked_activation(args: &ContextArgs, shape: &SynapseShape) -> Result<TrackedActivation, Failure> {
    let (heads, per_head) = (shape.heads, shape.per_head());
    let one = |text: &str| match read_neurons(text, heads, per_head).map_err(Failure::usage)?[..] {
        [neuron] => Ok(neuron),
        _ => Err(usage!("`{text}` is not one neuron: write head:index, such as 0:12")),
    };
    let Some(synapse) = &args.synapse else {
        let part = if args.part == ChangedPart::X { NeuronActivation::X } else { NeuronActivation::Y };
        let neuron = one(args.neuron.as_deref().unwrap_or_default())?;
        return Ok(TrackedActivation::Neuron { neuron, part, layer: args.layer });
    };
    let numbers: Option<Vec<usize>> = synapse.split(':').map(|n| n.parse().ok()).collect();
    match numbers.as_deref() {
        Some([layer, i, j]) => Ok(TrackedActivation::Synapse(Synapse { layer: *layer, i: *i, j: *j })),
        Some([layer, head_i, i, head_j, j]) => {
            let (i, j) = (one(&format!("{head_i}:{i}"))?, one(&format!("{head_j}:{j}"))?);
            Ok(TrackedActivation::Synapse(Synapse { layer: *layer, i, j }))
        }
        _ => Err(usage!(
            "`{synapse}` is not a synapse: write the layer and both neurons, such as 2:12:519 or 2:0:12:1:7"
        )),
    }
}

fn print(m: &TopContexts) -> Result<(), Failure> {
    let share = 100.0 * m.fires as f64 / m.read.max(1) as f64;
    print_line!("{}: above zero at {} tokens ({share:.3}%)", m.followed, grouped(m.fires))?;
    print_line!("mean {:.6}, greatest {:.6}", m.mean, m.greatest)?;
    if !m.tokens.is_empty() {
        print_line!("\n{:<12}{:>22}{:>18}{:>18}", "token", "share of activation", "share of text", "above zero at")?;
    }
    for token in &m.tokens {
        let [share, frequency, fires] =
            [token.share, token.frequency, token.fires].map(|v| format!("{:.2}%", 100.0 * v));
        print_line!("{:<12}{share:>22}{frequency:>18}{fires:>18}", one_line(&token.token))?;
    }
    if !m.contexts.is_empty() {
        print_line!("\n{:>10} {:>5} {:>10}  passage", "value", "layer", "position")?;
    }
    m.contexts
        .iter()
        .try_for_each(|c| print_line!("{:>10.4} {:>5} {:>10}  {}", c.value, c.layer, c.position, one_line(&line(c))))
}

/// A passage with its token between bars, in as much as a line holds.
fn line(c: &TopContext) -> String {
    let before: String = c.tokens[..c.token].concat();
    let skipped = before.chars().count().saturating_sub(CHARS_BEFORE);
    let before: String = before.chars().skip(skipped).collect();
    let after: String = c.tokens[c.token + 1..].concat().chars().take(CHARS_AFTER).collect();
    format!("{before:>CHARS_BEFORE$}|{}|{after}", c.tokens[c.token])
}

fn table(m: &TopContexts) -> Table {
    let mut out = Table::new(["rank", "value", "layer", "position", "token", "text"]);
    for (rank, c) in m.contexts.iter().enumerate() {
        out.cells(&[&(rank + 1), &c.value, &c.layer, &c.position, &c.tokens[c.token], &c.text]);
    }
    out
}
