//! The neuron graph of any two matrices of any model: G = A B^T, where row i of A is the vector that neuron i writes
//! and row j of B the vector that neuron j reads.

use super::{Factors, full_graph, null_models};
use crate::{config::Arguments, probe::prelude::*, telemetry::Args};

/// The probes that can be asked of two matrices.
pub const MATRIX_PROBES: [&str; 3] = [NeuronGraphArgs::PROBE, GraphModularityArgs::PROBE, GraphCurveArgs::PROBE];

/// Two matrices with rows of the same length.
pub struct MatrixPair {
    /// A, `(n, D)`.
    pub(super) from: Vec<f32>,
    /// B, `(m, D)`.
    pub(super) to: Vec<f32>,
    /// The length D of the rows of both.
    pub(super) width: usize,
    /// The names of both.
    pub(super) names: [String; 2],
}

impl MatrixPair {
    /// The product of two named matrices. Each is taken by its rows or by its columns, so that the inner dimensions
    /// agree and D is as small as possible: of `c_proj` `(D, n)` and `c_fc` `(n, D)` of an MLP the neurons are its n
    /// hidden units.
    ///
    /// # Errors
    /// If one of them is not a matrix, or no side of one is as long as a side of the other.
    pub fn new(from: (&str, &Tensor), to: (&str, &Tensor)) -> Result<Self> {
        let sides = |(name, tensor): (&str, &Tensor)| match *tensor.dims() {
            [rows, cols] if rows > 0 && cols > 0 => Ok([rows, cols]),
            ref dims => bail!("`{name}` has the shape {dims:?}, and a matrix has two sides"),
        };
        let (a, b) = (sides(from)?, sides(to)?);
        // either matrix may hold its vectors as rows or as columns
        let ways = [(false, false), (false, true), (true, false), (true, true)];
        let length = |sides: [usize; 2], by_columns: bool| if by_columns { sides[0] } else { sides[1] };
        let fitting = ways.into_iter().filter(|(x, y)| length(a, *x) == length(b, *y));
        let Some((x, y)) = fitting.min_by_key(|(x, _)| length(a, *x)) else {
            let ((from, _), (to, _), [rows, cols], [n, m]) = (from, to, a, b);
            bail!(
                "`{from}` is {rows} by {cols} and `{to}` {n} by {m}: no side of one is as long as a side of the other"
            )
        };
        let values = |tensor: &Tensor, by_columns: bool| match by_columns {
            true => host::to_f32(&tensor.t()?.contiguous()?),
            false => host::to_f32(tensor),
        };
        let names = [from.0.to_owned(), to.0.to_owned()];
        Ok(Self { from: values(from.1, x)?, to: values(to.1, y)?, width: length(a, x), names })
    }
}

/// Reads arguments and refuses those that only a model has. `graph`: those of the graph among them.
fn read<A: Arguments>(args: &Args, graph: fn(&A) -> &NeuronGraphArgs) -> Result<A> {
    let read = A::from_args(args).map_err(|e| Error::Msg(e.to_string()))?;
    let NeuronGraphArgs { matrix, from_head, to_head, .. } = graph(&read);
    if *matrix != Matrix::X || from_head + to_head > 0 {
        bail!("two matrices have one product and no heads: leave out `matrix`, `from_head` and `to_head`")
    }
    Ok(read)
}

/// The answers of one of [`MATRIX_PROBES`] about two matrices.
///
/// # Errors
/// Another probe, arguments that it does not have or that only a model has, and an answer that is no longer wanted.
pub fn ask_matrices(
    probe: &str,
    pair: &MatrixPair,
    args: &Args,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Vec<Answer>> {
    let factors = Factors::from_matrices(pair);
    match probe {
        NeuronGraphArgs::PROBE => {
            let args = read::<NeuronGraphArgs>(args, |args| args)?;
            Ok(full_graph::answer(factors, args, seed)?.into_answers())
        }
        GraphModularityArgs::PROBE => {
            let args = read::<GraphModularityArgs>(args, |args| &args.graph)?;
            Ok(null_models::answer(&factors, &args, seed, progress)?.into_answers())
        }
        GraphCurveArgs::PROBE => {
            let args = read::<GraphCurveArgs>(args, |args| &args.graph)?;
            Ok(null_models::at_step(&factors, &args.graph, seed)?.into_answers())
        }
        _ => bail!("`{probe}` cannot be asked of two matrices; {} can", MATRIX_PROBES.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        models::bdh::{Bdh, BdhSpec},
        probe::neuron_graph::neuron_graph,
        telemetry::Measurement,
    };

    fn matrix(rows: usize, cols: usize) -> Tensor {
        let values: Vec<f32> = (0..rows * cols).map(|i| ((i * 37 + 11) % 23) as f32 - 11.0).collect();
        Tensor::from_vec(values, (rows, cols), &Device::Cpu).unwrap()
    }

    /// A pair of matrices with these rows and columns.
    fn pair(a: [usize; 2], b: [usize; 2]) -> Result<MatrixPair> {
        MatrixPair::new(("a", &matrix(a[0], a[1])), ("b", &matrix(b[0], b[1])))
    }

    fn graph(answers: &[Answer]) -> NeuronGraph {
        let found = answers.iter().find_map(|answer| NeuronGraph::from_payload(&answer.payload));
        found.cloned().expect("the graph is among the answers")
    }

    #[test]
    fn matrices_of_a_model_give_the_graph_of_the_model() {
        let spec = BdhSpec { d_model: 8, heads: 1, neurons: 64, layers: 1, ..BdhSpec::default() };
        let model = Bdh::new(&spec, 16, 3, &Device::Cpu).unwrap();
        let weight = |name: &str| model.params().get(name).unwrap().as_tensor().detach();
        let (decoder, encoder) = (weight("decoder"), weight("encoder").squeeze(0).unwrap());
        assert_eq!((decoder.dims(), encoder.dims()), (&[64, 8][..], &[8, 64][..]));
        let pair = MatrixPair::new(("decoder", &decoder), ("encoder", &encoder)).unwrap();
        let args = NeuronGraphArgs { edges: 100, ..NeuronGraphArgs::default() };
        let capabilities = model.capabilities();
        let (own, _) = neuron_graph(capabilities.synapses.unwrap(), &args, 5).unwrap();
        let answers = ask_matrices("neuron_graph", &pair, &args.to_args(), 5, Progress::none()).unwrap();
        assert!(answers[0].about.starts_with("G from decoder to encoder, excitatory"), "{}", answers[0].about);
        let named = graph(&answers);
        assert_eq!((&named.neurons, &named.edges, &named.core), (&own.neurons, &own.edges, &own.core));
    }

    #[test]
    fn matrices_are_taken_by_their_longer_side() {
        let width = |a: [usize; 2], b: [usize; 2]| {
            pair(a, b).map(|pair| (pair.width, pair.from.len() / pair.width, pair.to.len() / pair.width))
        };
        assert_eq!(width([3, 12], [12, 3]).unwrap(), (3, 12, 12));
        assert_eq!(width([4, 4], [4, 4]).unwrap(), (4, 4, 4));
        assert_eq!(width([5, 7], [9, 7]).unwrap(), (7, 5, 9));
        let words = width([3, 4], [5, 6]).unwrap_err().to_string();
        assert!(words.contains("`a` is 3 by 4 and `b` 5 by 6"), "{words}");
        let flat = matrix(1, 6).flatten_all().unwrap();
        assert!(MatrixPair::new(("a", &flat), ("b", &matrix(2, 6))).is_err());
    }

    #[test]
    fn two_sets_of_neurons_are_numbered_apart() {
        let pair = pair([5, 7], [9, 7]).unwrap();
        let args = NeuronGraphArgs { edges: 10, ..NeuronGraphArgs::default() };
        let graph = graph(&ask_matrices("neuron_graph", &pair, &args.to_args(), 5, Progress::none()).unwrap());
        assert!(graph.neurons.iter().any(|n| *n < 5) && graph.neurons.iter().all(|n| *n < 14));
        let summary = graph.summary.unwrap();
        assert_eq!((summary.neurons, summary.entries), (14, 45));
    }

    #[test]
    fn questions_that_need_a_model_are_refused_for_matrices() {
        let pair = pair([6, 3], [6, 3]).unwrap();
        let ask = |probe: &str, args: &NeuronGraphArgs| {
            ask_matrices(probe, &pair, &args.to_args(), 1, Progress::none()).err().map(|e| e.to_string())
        };
        let heads = NeuronGraphArgs { from_head: 1, to_head: 1, ..NeuronGraphArgs::default() };
        assert!(ask("neuron_graph", &heads).is_some_and(|words| words.contains("no heads")));
        assert!(ask("graph_neuron", &NeuronGraphArgs::default()).is_some_and(|words| words.contains("can")));
        let modularity = GraphModularityArgs::default().to_args();
        assert_eq!(ask_matrices("graph_modularity", &pair, &modularity, 1, Progress::none()).unwrap().len(), 1);
    }
}
