//! The tokens and passages of a text that drive a neuron or a synapse most (top activating contexts).
//!
//! The text is read in windows that follow one another, each from an empty state, so that its values depend on its own tokens
//! alone and a passage that is read by itself reproduces them. At a window's first token y is 0 by construction, since
//! nothing comes before it. Memory does not grow with the text: only the greatest values, a histogram and a count per token are kept.

mod search;
mod tally;

pub use search::{ContextSearch, TrackedActivation, search};
pub use tally::ActivationTally;
use tally::{FoundWindow, TokenTally, bin_edge};

use crate::{corpus::TextSpan, probe::prelude::*, telemetry::read_neurons};

/// The number of tokens in the list of those that drive it.
const TOKENS: usize = 12;
/// The limit of the tokens of all passages together.
const MAX_SHOWN: usize = 1 << 16;

impl Probe for TopContextsArgs {
    type Answer = TopContexts;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let Self { tokens, window, top, .. } = *self;
        let (span, what) = match self.span {
            SpanKind::Training => (TextSpan::Training, "training part"),
            SpanKind::Whole => (TextSpan::Whole, "whole"),
            SpanKind::HeldOut => (TextSpan::HeldOut, "held-out part"),
        };
        let (shape, most) = (model.shape(), if tokens == 0 { usize::MAX } else { tokens });
        let how = ContextSearch {
            followed: tracked_activation(self, shape)?,
            window,
            top: top.min(MAX_SHOWN / window),
            max_tokens: most,
        };
        let bytes = cx.corpus.span_bytes(span);
        ensure!(bytes > 0, "{} is made window by window and has no running text: choose a text", cx.corpus.name());
        let (read, total) = (std::cell::Cell::new((0usize, 0usize)), |(from, ids): (usize, usize)| {
            (bytes as f64 * ids as f64 / from.max(1) as f64) as usize
        });
        let mut next = || {
            let (from, ids) = read.get();
            let chunk = cx.corpus.chunk(span, from)?;
            Ok(chunk.map(|chunk| {
                read.set((chunk.end, ids + chunk.ids.len()));
                chunk.ids
            }))
        };
        let mut report = |done: usize| cx.progress.at(done, total(read.get()).min(most));
        let tally = search(model, &how, &mut next, &mut report)?;
        let texts = ShownText {
            tokens: &|ids| cx.corpus.token_texts(ids),
            decode: &|ids| cx.corpus.decode(ids),
            encode: &|text| cx.corpus.encode(text),
        };
        let is_cut = tally.read >= most && tally.read < total(read.get());
        let measured = top_contexts(&tally, &how, shape.per_head(), &texts, is_cut);
        let about = format!(
            "{}{} tokens of the {what} of {}, in windows of {window}",
            if is_cut { "the first " } else { "all " },
            tally.read,
            cx.corpus.name()
        );
        Ok(Answer::new(measured, about, vec![]))
    }
}

/// The activation that the arguments ask for.
fn tracked_activation(args: &TopContextsArgs, shape: &SynapseShape) -> Result<TrackedActivation> {
    let layer = usize::try_from(args.layer).ok();
    let part = match args.of {
        FollowedKind::X => NeuronActivation::X,
        FollowedKind::Y => NeuronActivation::Y,
        FollowedKind::Synapse => {
            let (Some(layer), Some(i), Some(j)) = (layer, args.i, args.j) else {
                bail!("no synapse is chosen: pick one in Reading or Concepts, or give layer, i and j")
            };
            return Ok(TrackedActivation::Synapse(Synapse { layer, i, j }));
        }
    };
    let named = read_neurons(&args.neuron, shape.heads, shape.per_head()).map_err(Error::Msg)?;
    let [neuron] = named[..] else {
        bail!("one neuron is followed at a time: select one in the graph, or write head:index, such as 0:12")
    };
    Ok(TrackedActivation::Neuron { neuron, part, layer })
}

/// Converts ids to shown text.
pub struct ShownText<'a> {
    /// The function that gives the text of each id.
    pub tokens: &'a dyn Fn(&[u32]) -> Vec<String>,
    /// The function that gives the text of all ids together.
    pub decode: &'a dyn Fn(&[u32]) -> String,
    /// The function that gives the ids of a text.
    pub encode: &'a dyn Fn(&str) -> Vec<u32>,
}

/// The measurement of a search. `is_cut`: the text continues after what was read.
pub fn top_contexts(
    tally: &ActivationTally,
    how: &ContextSearch,
    per_head: usize,
    shown: &ShownText<'_>,
    is_cut: bool,
) -> TopContexts {
    let context = |found: &FoundWindow| {
        let text = (shown.decode)(&found.ids);
        TopContext {
            value: f64::from(found.value),
            layer: found.layer,
            position: found.from + found.token,
            token: found.token,
            tokens: (shown.tokens)(&found.ids),
            values: found.values.iter().map(|v| f64::from(*v)).collect(),
            is_exact: (shown.encode)(&text) == found.ids,
            text,
        }
    };
    let read = tally.read.max(1) as f64;
    let driving = |(id, token): &(u32, TokenTally)| DrivingToken {
        token: (shown.tokens)(&[*id]).concat(),
        share: token.sum / tally.sum.max(f64::MIN_POSITIVE),
        frequency: token.count as f64 / read,
        fires: token.fires as f64 / token.count.max(1) as f64,
    };
    let (symbol, neuron) = match how.followed {
        TrackedActivation::Neuron { neuron, part: NeuronActivation::X, .. } => ("x", Some(neuron)),
        TrackedActivation::Neuron { neuron, part: NeuronActivation::Y, .. } => ("y", Some(neuron)),
        TrackedActivation::Synapse(_) => ("y x", None),
    };
    let (bin_edges, bin_counts) = histogram(&tally.bins);
    TopContexts {
        followed: how.followed.label(per_head),
        symbol: symbol.to_owned(),
        neuron,
        read: tally.read,
        is_cut,
        window: how.window,
        fires: tally.fires,
        mean: tally.sum / read,
        greatest: f64::from(tally.greatest),
        bin_edges: bin_edges.into(),
        bin_counts,
        contexts: tally.windows.iter().map(context).collect(),
        tokens: tally.tokens().iter().take(TOKENS).map(driving).collect(),
    }
}

/// Edges and counts of the bins from the first to the last that is not empty.
fn histogram(bins: &[u64]) -> (Vec<f64>, Vec<u64>) {
    let Some(first) = bins.iter().position(|n| *n > 0) else { return (vec![], vec![]) };
    let last = bins.iter().rposition(|n| *n > 0).unwrap_or(first);
    ((first..=last + 1).map(bin_edge).collect(), bins[first..=last].to_vec())
}
