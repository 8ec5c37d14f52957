//! Reads a text in windows and tallies one activation of it.

use super::tally::ActivationTally;
use crate::probe::prelude::*;

/// The activation that is followed through the text. Neuron i of head h has number h N + i.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackedActivation {
    /// A neuron's activation in one layer, or the greatest of all layers.
    Neuron {
        /// The number of the neuron.
        neuron: usize,
        /// The activation, x or y.
        part: NeuronActivation,
        /// The layer, from 0; `None` takes the greatest value of all layers.
        layer: Option<usize>,
    },
    /// The amount that a token adds to the synapse (i, j): y(i) of layer l - 1 times x(j) of layer l.
    Synapse(Synapse),
}

/// The options of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextSearch {
    /// The activation that is followed.
    pub followed: TrackedActivation,
    /// Tokens of a window; each is read from an empty state.
    pub window: usize,
    /// The number of windows that are kept.
    pub top: usize,
    /// Reading ends after this many tokens.
    pub max_tokens: usize,
}

/// The largest number of values that an activation of one layer may have in a batch.
const MAX_BATCH_VALUES: usize = 1 << 22;
/// The largest number of windows that are read in one batch.
const ROWS: usize = 32;

impl TrackedActivation {
    /// # Errors
    /// If the model has no such neuron or layer.
    pub fn check(self, shape: &SynapseShape) -> Result<()> {
        let (n, layers) = (shape.neurons, shape.layers);
        let is_neuron = |i: usize| match i < n {
            true => Ok(()),
            false => bail!("there is no neuron {i}: the model has {n}, counted from 0"),
        };
        match self {
            Self::Neuron { neuron, layer, .. } => {
                if let Some(layer) = layer.filter(|l| *l >= layers) {
                    bail!("there is no layer {layer}: the model has layers 0 to {}", layers - 1)
                }
                is_neuron(neuron)
            }
            Self::Synapse(Synapse { layer, i, j }) => {
                ensure!(
                    (1..layers).contains(&layer),
                    "no synapse ends in layer {layer}: synapses join a layer to the one before, and the model has \
                     layers 0 to {}",
                    layers - 1
                );
                is_neuron(i).and_then(|()| is_neuron(j))
            }
        }
    }

    /// A description: "y of neuron 0:12, greatest of all layers".
    pub fn label(self, per_head: usize) -> String {
        let name = |neuron| neuron_name(neuron, per_head);
        match self {
            Self::Neuron { neuron, part, layer } => {
                let part = if part == NeuronActivation::X { "x" } else { "y" };
                let of = layer.map_or("greatest of all layers".to_owned(), |l| format!("layer {l}"));
                format!("{part} of neuron {}, {of}", name(neuron))
            }
            Self::Synapse(Synapse { layer, i, j }) => {
                format!("synapse from y {} of layer {} to x {} of layer {layer}", name(i), layer - 1, name(j))
            }
        }
    }

    /// The products of activations, layer by layer; the greatest is measured.
    fn products(self, layers: usize) -> Vec<Vec<Factor>> {
        match self {
            Self::Neuron { neuron, part, layer } => {
                let of = layer.map_or(0..layers, |l| l..l + 1);
                of.map(|layer| vec![Factor { layer, part, neuron }]).collect()
            }
            Self::Synapse(Synapse { layer, i, j }) => {
                let y = Factor { layer: layer - 1, part: NeuronActivation::Y, neuron: i };
                vec![vec![Factor { layer, part: NeuronActivation::X, neuron: j }, y]]
            }
        }
    }
}

struct Factor {
    layer: usize,
    part: NeuronActivation,
    neuron: usize,
}

impl Factor {
    fn path(&self) -> String {
        format!("layers.{}.{}", self.layer, if self.part == NeuronActivation::X { "x" } else { "y" })
    }

    /// Its value at every token of every row, `(B T)`.
    fn column(&self, read: &ReadTokens<'_>, per_head: usize) -> Result<Tensor> {
        let found = read.tap.require(&self.path())?;
        let (head, index) = (self.neuron / per_head, self.neuron % per_head);
        found.narrow(1, head, 1)?.narrow(3, index, 1)?.contiguous()?.flatten_all()
    }
}

/// A window's values, and the layers that they belong to.
type Values = (Vec<f32>, Vec<usize>);

/// Reads windows of equal length side by side, each from an empty state.
fn values(model: &dyn SynapseModel, rows: &[&[u32]], followed: TrackedActivation) -> Result<Vec<Values>> {
    let t = rows.first().map_or(0, |row| row.len());
    let products = followed.products(model.shape().layers);
    let paths: Vec<String> = products.iter().flatten().map(Factor::path).collect();
    let ids = rows.concat();
    let read = TextReader::new(model).tapping(paths).rows(&ids, rows.len())?;
    let per_head = model.shape().per_head();
    let (mut all, mut layers) = (vec![0f32; rows.len() * t], vec![0; rows.len() * t]);
    for factors in &products {
        let Some((first, others)) = factors.split_first() else { continue };
        let mut found = first.column(&read, per_head)?;
        for factor in others {
            found = (found * factor.column(&read, per_head)?)?;
        }
        for ((value, of), new) in all.iter_mut().zip(&mut layers).zip(host::to_f32(&found)?) {
            if new > *value {
                (*value, *of) = (new, first.layer);
            }
        }
    }
    Ok(all.chunks(t).zip(layers.chunks(t)).map(|(v, l)| (v.to_vec(), l.to_vec())).collect())
}

/// Reads what `next` gives, piece by piece until it gives nothing, in windows that follow one another; the last may be
/// shorter. `report` learns after each batch how many tokens were read, and may end the search.
///
/// # Errors
/// If there is no such neuron; those of `next`, of `report` and of the device.
pub fn search(
    model: &dyn SynapseModel,
    how: &ContextSearch,
    next: &mut dyn FnMut() -> Result<Option<Vec<u32>>>,
    report: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<ActivationTally> {
    how.followed.check(model.shape())?;
    let window = how.window.max(1);
    let rows = (MAX_BATCH_VALUES / model.shape().neurons.max(1) / window).clamp(1, ROWS);
    let mut tally = ActivationTally::new(how.top.max(1));
    let (mut waiting, mut taken, mut is_over) = (vec![], 0, false);
    while !is_over {
        match next()?.filter(|_| taken < how.max_tokens) {
            Some(ids) => {
                let room = (how.max_tokens - taken).min(ids.len());
                taken += room;
                waiting.extend_from_slice(&ids[..room]);
            }
            None => is_over = true,
        }
        let mut done = 0;
        while waiting.len() - done >= window * rows || (is_over && done < waiting.len()) {
            let left = &waiting[done..];
            let whole = (left.len() / window).min(rows);
            let batch: Vec<&[u32]> = match whole {
                0 => vec![left],
                n => left[..n * window].chunks(window).collect(),
            };
            for (ids, (values, layers)) in batch.iter().zip(values(model, &batch, how.followed)?) {
                tally.add(ids, &values, &layers);
            }
            done += batch.iter().map(|row| row.len()).sum::<usize>();
            report(tally.read)?;
        }
        waiting.drain(..done);
    }
    Ok(tally)
}
