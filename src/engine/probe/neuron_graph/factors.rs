//! The two thin factors of G, or of the synapses after a text, on the host, row-major: for the whole graph or between
//! two heads.

use super::matrices::MatrixPair;
use crate::{
    analysis::graph::{
        Edge, null_models,
        product::{EntryDistribution, Product, Sign, TopEntries},
    },
    nn::fused::linear_attention::LinearAttentionSpec,
    probe::{prelude::*, synapses::firing},
};

/// G = a b^T between some neurons and some others.
pub(super) struct Factors {
    /// E, (rows, D); of synapses y, (rows, T)
    a: Vec<f32>,
    /// D_x or D_y by neuron, (cols, D); of synapses x, (cols, T)
    b: Vec<f32>,
    width: usize,
    /// The model's number of the first row and the first column.
    first: (usize, usize),
    same: bool,
    pub shape: SynapseShape,
    /// A description of G.
    pub description: String,
}

impl Factors {
    /// # Errors
    /// A head that the model lacks, and those of reading the text.
    pub fn new(model: &dyn SynapseModel, args: &NeuronGraphArgs, cx: &ProbeInputs<'_>) -> Result<Self> {
        match args.matrix {
            Matrix::Sigma => Self::of_model(model, args, synapse_factors(model, args, cx)?),
            Matrix::X | Matrix::Y => Self::from_weights(model, args),
        }
    }

    /// `factors`: those of the whole graph, and their width.
    fn of_model(
        model: &dyn SynapseModel,
        args: &NeuronGraphArgs,
        (a, b, width): (Vec<f32>, Vec<f32>, usize),
    ) -> Result<Self> {
        let (shape, description) = (model.shape().clone(), args.matrix.sentence(args.tokens));
        let whole = Self { a, b, width, first: (0, 0), same: true, shape, description };
        match args.heads() {
            None => Ok(whole),
            Some((from, to)) => whole.between(from, to),
        }
    }

    /// # Errors
    /// A head that the model lacks.
    pub fn from_weights(model: &dyn SynapseModel, args: &NeuronGraphArgs) -> Result<Self> {
        let weight = |name: &str| model.params().detached(name);
        let name = if args.matrix == Matrix::Y { "encoder_v" } else { "encoder" };
        let (encoder, decoder) = (weight(name)?, weight("decoder")?); // (nh, D, N), (n, D)
        let (a, b) = (host::to_f32(&decoder)?, host::to_f32(&encoder.transpose(1, 2)?)?);
        Self::of_model(model, args, (a, b, model.shape().d_model))
    }

    /// The factors of any two matrices.
    pub fn from_matrices(pair: &MatrixPair) -> Self {
        let MatrixPair { from: a, to: b, width, names: [from, to] } = pair;
        let (rows, cols) = (a.len() / width, b.len() / width);
        let same = rows == cols;
        let (neurons, first) = if same { (rows, 0) } else { (rows + cols, rows) };
        let attention = LinearAttentionSpec { rotary: false, ..LinearAttentionSpec::default() };
        let shape = SynapseShape { d_model: *width, heads: 1, neurons, attention, ..SynapseShape::default() };
        let description = format!("G from {from} to {to}");
        Self { a: a.clone(), b: b.clone(), width: *width, first: (0, first), same, shape, description }
    }

    /// The graph of these arguments, for `about`.
    pub fn about(&self, args: &NeuronGraphArgs) -> String {
        let heads = args.heads().map_or(String::new(), |(a, b)| format!(", head {} to head {}", a + 1, b + 1));
        let sign = match args.sign {
            Sign::Excitatory => "excitatory",
            Sign::Inhibitory => "inhibitory",
            Sign::Both => "excitatory and inhibitory",
        };
        format!("{}{heads}, {sign}", self.description)
    }

    /// The part of the whole graph between the neurons of one head and those of another, counted from 0.
    ///
    /// # Errors
    /// A head that the model lacks.
    pub fn between(&self, from: usize, to: usize) -> Result<Self> {
        let largest = from.max(to);
        ensure!(largest < self.shape.heads, "the model has {} heads, not {}", self.shape.heads, largest + 1);
        let (per_head, width) = (self.shape.per_head(), self.width);
        let of_head = |rows: &[f32], head: usize| rows[head * per_head * width..][..per_head * width].to_vec();
        let (a, b, first) = (of_head(&self.a, from), of_head(&self.b, to), (from * per_head, to * per_head));
        let (shape, description) = (self.shape.clone(), self.description.clone());
        Ok(Self { a, b, width, first, same: from == to, shape, description })
    }

    /// Random factors in the same positions: all of one norm, or each with its own norm if `keep_norms`.
    pub fn random(&self, keep_norms: bool, seed: u64) -> Self {
        let draw = |given: &[f32], seed: u64| match keep_norms {
            true => null_models::norm_matched(given, self.width, seed),
            false => null_models::factor(given.len() / self.width, self.width, seed),
        };
        let (a, b) = (draw(&self.a, seed), draw(&self.b, seed ^ 0x5eed));
        Self { a, b, shape: self.shape.clone(), description: self.description.clone(), ..*self }
    }

    pub fn product(&self) -> Result<Product<'_>> {
        match Product::new(&self.a, &self.b, self.width, self.same) {
            Some(product) => Ok(product),
            None => bail!("factors of {} and {} values are not rows of {}", self.a.len(), self.b.len(), self.width),
        }
    }

    /// The number of neurons that can carry edges.
    pub fn neurons(&self) -> usize {
        let (rows, cols) = (self.a.len() / self.width, self.b.len() / self.width);
        if self.same { rows } else { rows + cols }
    }

    /// G(n, m): `m` pairs drawn from the pairs that G has.
    pub fn uniform(&self, m: usize, seed: u64) -> Vec<Edge> {
        let (rows, cols) = (self.a.len() / self.width, self.b.len() / self.width);
        let drawn =
            if self.same { null_models::uniform(rows, m, seed) } else { null_models::between(rows, cols, m, seed) };
        let numbered = |(i, j, w): Edge| {
            let (i, j) = self.number(i, j);
            (i, j, w)
        };
        drawn.into_iter().map(numbered).collect()
    }

    /// Row i of the whole graph's G: the effect of y_i on every neuron.
    pub fn effects_of(&self, i: usize) -> Vec<f32> {
        matvec(&self.b, &self.a[i * self.width..][..self.width])
    }

    /// Column j of the whole graph's G: the effect of every neuron on neuron j.
    pub fn effects_on(&self, j: usize) -> Vec<f32> {
        matvec(&self.a, &self.b[j * self.width..][..self.width])
    }

    /// The neuron whose row of E has the largest norm.
    pub fn max_row_norm_neuron(&self) -> usize {
        let square = |row: &[f32]| row.iter().map(|v| v * v).sum::<f32>();
        let rows = self.a.chunks_exact(self.width).map(square).enumerate();
        rows.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(i, _)| i)
    }

    /// The model's numbers of a row and a column.
    fn number(&self, i: u32, j: u32) -> (u32, u32) {
        (i + self.first.0 as u32, j + self.first.1 as u32)
    }

    /// The requested edges, by the numbers of the model's neurons.
    pub fn edges(&self, args: &NeuronGraphArgs, spread: &EntryDistribution) -> Result<TopEntries> {
        let (product, beta) = (self.product()?, args.beta as f32);
        let found = match beta > 0.0 {
            true => product.entries_above(beta, super::MAX_EDGES, args.sign, spread),
            false => product.strongest(args.edges, args.sign, spread),
        };
        Ok(self.numbered(found))
    }

    /// The `m` strongest, numbered as the model's neurons.
    pub fn strongest(&self, m: usize, sign: Sign, spread: &EntryDistribution) -> Result<TopEntries> {
        Ok(self.numbered(self.product()?.strongest(m, sign, spread)))
    }

    fn numbered(&self, mut found: TopEntries) -> TopEntries {
        found.edges.iter_mut().for_each(|(i, j, _)| (*i, *j) = self.number(*i, *j));
        found
    }

    /// The octave of a neuron's RoPE frequency below the fastest: a turn of neuron j takes
    /// 2 pi 65536^(2 floor(j/2) / N) tokens, if no other frequencies were carried over by a merge. `None`
    /// for models whose neurons do not turn.
    pub fn octave(&self, neuron: usize) -> Option<u32> {
        let n = self.shape.per_head().max(1);
        let pair = neuron % n / 2;
        match &self.shape.attention.frequencies {
            _ if !self.shape.attention.rotary => None,
            None => Some((16.0 * (pair * 2) as f64 / n as f64) as u32),
            Some(all) => {
                let fastest = all.iter().copied().fold(0f32, f32::max);
                // whole octaves may be a rounding short
                let below = f64::from(fastest / all.get(pair)?).log2();
                Some((below + 1e-4) as u32)
            }
        }
    }

    pub fn head(&self, neuron: usize) -> u32 {
        (neuron / self.shape.per_head().max(1)) as u32
    }

    /// `2:153`: head and place in the head, both from 0 as in the tensors.
    pub fn label(&self, neuron: usize) -> String {
        neuron_name(neuron, self.shape.per_head().max(1))
    }
}

/// The product of each row with one vector.
fn matvec(rows: &[f32], v: &[f32]) -> Vec<f32> {
    rows.chunks_exact(v.len()).map(|r| r.iter().zip(v).map(|(a, b)| a * b).sum()).collect()
}

/// The synapses after a text of T tokens, sigma = sum over s < T of y_{s, l-1} x_{s, l}^T U^(T-1-s), as two thin factors: the
/// values of y of one layer and of x of the next, `(n, T)` each, x turned and damped as a query at the last token finds it; and
/// T. This is the paper's equation (16) before the last U, which the next token's query adds.
///
/// # Errors
/// A model of one layer, and those of the model.
fn synapse_factors(
    model: &dyn SynapseModel,
    args: &NeuronGraphArgs,
    cx: &ProbeInputs<'_>,
) -> Result<(Vec<f32>, Vec<f32>, usize)> {
    let shape = model.shape();
    let Some(last) = shape.layers.checked_sub(1).filter(|last| *last > 0) else {
        bail!("synapses run from y of a layer to x of the next, and the model has one layer");
    };
    let layer = args.layer.map_or(last, |l| l.clamp(1, last));
    let ids = Prompt::read(cx, "", 0, args.tokens)?.ids;
    let (n, tokens) = (shape.neurons, ids.len());
    let mut ends = [(); 2].map(|()| vec![0f32; n * tokens]);
    firing::read(model, &ids, |chunk| {
        chunk.for_each_end(layer, |at, end, neuron, value| ends[end][neuron * tokens + at] = value);
        Ok(())
    })?;
    let [y, x] = ends;
    Ok((y, rotated_rows(&x, tokens, |j| Rotation::for_neuron(shape, j)), tokens))
}

/// The rows of x, rotated by the number of tokens since each of them. The two neurons of a pair rotate together.
fn rotated_rows(x: &[f32], tokens: usize, rotation: impl Fn(usize) -> Rotation) -> Vec<f32> {
    let rows: Vec<&[f32]> = x.chunks_exact(tokens).collect();
    let turn = |(j, own): (usize, &&[f32])| -> Vec<f32> {
        let (rotation, partner) = (rotation(j), rows.get(j ^ 1).copied().unwrap_or(own));
        let column = |s: usize| {
            let back = rotation.repeated(tokens - 1 - s);
            back.step(f64::from(own[s]), f64::from(partner[s])).0 as f32
        };
        (0..tokens).map(column).collect()
    };
    rows.iter().enumerate().flat_map(turn).collect()
}
