//! A small network that learns the stationary distribution of a generator from the slow control that sets its rates
//! (arXiv 2606.16730, Corollary 29 and Remark 31). Its batches are controls of its own; the corpus plays no part.

use std::path::PathBuf;

use crate::{
    analysis::generator::{
        self, Control, ControlledGenerator, Generator, MAX_STATES, MatrixKind, Topology, TopologySettings,
    },
    files,
    models::prelude::*,
    nn::layers::SiluMlp,
};

/// Controls of a held-out measurement; an update has as many as its batch has rows.
const HELD_OUT: usize = 512;

/// The source of a generator's rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum RateSource {
    /// The generator is drawn from the seed, see [`TopologySettings`].
    Drawn { topology: Topology, states: usize, sparsity: f64 },
    /// Given, row by row: `rates[to * states + from]`.
    Given { states: usize, rates: Vec<f64> },
    /// The rates are read from a file when the model is built, and kept by the model.
    File { path: PathBuf, holds: MatrixKind },
}

/// The limit of the bytes that are read of a matrix.
const LONGEST_MATRIX: u64 = 1 << 20;

defaults! {
    /// Sizes of the network and the source of its generator.
    pub struct StationarySpec {
        /// The source of the generator's rates.
        pub rates: RateSource = RateSource::Drawn { topology: Topology::Random, states: 12, sparsity: 0.0 },
        /// Numbers of the slow control y.
        pub controls: usize = 2,
        /// The largest tilt of a log rate at a control of 1.
        pub strength: f64 = 1.0,
        /// The network is trained on controls from minus this to this.
        pub range: f64 = 1.0,
        /// Hidden units of each of its two layers.
        pub hidden: usize = 64,
    }
}

impl StationarySpec {
    /// The generator that is controlled: rates and tilts drawn from `seed`.
    ///
    /// # Errors
    /// If a size does not fit, or the rates that are given or in the file are none.
    pub fn generator(&self, seed: u64) -> Result<ControlledGenerator> {
        let base = match &self.rates {
            RateSource::Drawn { topology, states, sparsity } => {
                TopologySettings { topology: *topology, states: *states, sparsity: *sparsity }.draw(seed)
            }
            RateSource::Given { states, rates } => Generator::from_rates(*states, rates.clone()),
            RateSource::File { path, holds } => Ok(read_matrix(path, *holds)?),
        };
        let base = base.map_err(candle_core::Error::wrap)?;
        Ok(ControlledGenerator::new(base, Control { dims: self.controls, strength: self.strength }, seed))
    }

    /// The number of states; if a file sets it, the largest possible number.
    fn states(&self) -> usize {
        match &self.rates {
            RateSource::Drawn { states, .. } | RateSource::Given { states, .. } => *states,
            RateSource::File { .. } => MAX_STATES,
        }
    }
}

/// The generator in a file.
///
/// # Errors
/// They name the file, say what is wrong with it, and where.
pub fn read_matrix(path: &Path, holds: MatrixKind) -> Result<Generator> {
    let refused =
        |why: String| candle_core::Error::Msg(format!("the matrix `{}` cannot be used: {why}", path.display()));
    let text = files::read_text(path, LONGEST_MATRIX).map_err(|e| refused(e.to_string()))?;
    generator::read_matrix(&text, holds).map_err(|e| refused(e.to_string()))
}

impl FamilySpec for StationarySpec {
    /// The controls of an update are the model's own, one for each row of the batch.
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let (h, n, c, points) = (self.hidden as f64, self.states() as f64, self.controls as f64, step.rows);
        let weights = h * (c + 1.0) + h * (h + 1.0) + n * (h + 1.0);
        StepMemory { weights, shared: 0.0, activations: points * (18.0 * h + 8.0 * n) }
    }

    fn tiny() -> Self {
        Self { hidden: 8, ..Self::default() }
    }

    fn check_files(&self) -> Result<()> {
        match &self.rates {
            RateSource::File { path, holds } => read_matrix(path, *holds).map(drop),
            RateSource::Drawn { .. } | RateSource::Given { .. } => Ok(()),
        }
    }

    fn files(&self) -> Vec<&Path> {
        match &self.rates {
            RateSource::File { path, .. } => vec![path],
            RateSource::Drawn { .. } | RateSource::Given { .. } => vec![],
        }
    }
}

/// y `(N, c)` -> scores `(N, n)`
struct StationaryNet(SiluMlp);

impl StationaryNet {
    fn new(params: &mut Params, sizes: [usize; 3]) -> Result<Self> {
        // The first biases spread over the range of y, so that the units do not all bend at its middle.
        Ok(StationaryNet(SiluMlp::new(params, sizes, [1.0, 0.1, 0.02])?))
    }

    /// y `(N, c)` -> log phi `(N, n)`
    fn log_distribution(&self, y: &Tensor) -> Result<Tensor> {
        let scores = self.0.forward(y)?; // (N, n)
        scores.broadcast_sub(&scores.log_sum_exp(D::Minus1)?.unsqueeze(D::Minus1)?)
    }
}

/// Relative entropy of the softmax of `scores` to the distribution `p`, nats.
fn relative_entropy(p: &[f64], scores: &[f64]) -> f64 {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let log_sum = top + scores.iter().map(|s| (s - top).exp()).sum::<f64>().ln();
    p.iter().zip(scores).filter(|(p, _)| **p > 0.0).map(|(p, s)| p * (p.ln() - s + log_sum)).sum()
}

/// The network with the generator that it learns.
pub struct Stationary {
    spec: StationarySpec,
    seed: u64,
    step: u64,
    generator: ControlledGenerator,
    params: Params,
    net: StationaryNet,
    inference_net: StationaryNet,
    notes: Vec<String>,
}

impl Stationary {
    /// Rates, tilts and weights are drawn from `seed`.
    ///
    /// # Errors
    /// If a size does not fit, or the rates that are given or in the file are none.
    pub fn new(spec: &StationarySpec, _vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let fits = spec.hidden > 0 && spec.controls > 0 && spec.range > 0.0 && spec.range.is_finite();
        ensure!(fits, "a learned stationary distribution needs hidden units, a control and a range above 0");
        let generator = spec.generator(seed)?;
        let mut spec = spec.clone();
        if let RateSource::File { .. } = spec.rates {
            let base = generator.base();
            spec.rates = RateSource::Given { states: base.len(), rates: base.matrix().to_vec() };
        }
        let sizes = [spec.controls, spec.hidden, generator.base().len()];
        let mut params = Params::new(seed, device, DType::F32);
        let (net, inference_net) = params.build_twice(|p| StationaryNet::new(p, sizes))?;
        let closed = generator::closed_classes(&generator::classes(generator.base()));
        let notes = match closed {
            0 | 1 => vec![],
            _ => vec![format!(
                "the generator is reducible, with {closed} closed classes: there is no one stationary distribution, and \
                 the network learns where the uniform distribution ends"
            )],
        };
        Ok(Self { spec, seed, step: 0, generator, params, net, inference_net, notes })
    }

    /// Controls, `(N, c)`, and the distribution that each of them sets, row by row.
    fn targets(&self, draw: u64, controls: usize) -> Result<(Tensor, Vec<f64>)> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ draw.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let (c, range) = (self.spec.controls, self.spec.range);
        let (mut ys, mut wanted) = (vec![], vec![]);
        for _ in 0..controls {
            let y: Vec<f64> = (0..c).map(|_| rng.random_range(-range..=range)).collect();
            wanted.extend(self.generator.uniform_limit(&y).map_err(candle_core::Error::wrap)?);
            ys.extend(y.into_iter().map(|v| v as f32));
        }
        Ok((Tensor::from_vec(ys, (controls, c), self.params.device())?, wanted))
    }

    /// Mean relative entropy of the network's distribution to the true one, nats. The logarithms are subtracted entry by entry:
    /// the difference of two entropies would be no more than their rounding.
    fn error(&self, draw: u64, controls: usize) -> Result<Tensor> {
        let (y, wanted) = self.targets(draw, controls)?;
        let entries = |value: fn(f64) -> f64| {
            let values: Vec<f32> = wanted.iter().map(|p| value(*p) as f32).collect();
            Tensor::from_vec(values, (controls, wanted.len() / controls.max(1)), self.params.device())
        };
        let log_wanted = entries(|p| if p > 0.0 { p.ln() } else { 0.0 })?;
        let log_ratio = (log_wanted - self.net.log_distribution(&y)?)?;
        (entries(|p| p)? * log_ratio)?.sum_all()?.affine(1.0 / controls as f64, 0.0)
    }
}

impl Trainable for Stationary {
    params_and_spec!(Stationary);

    fn begin_step(&mut self, step: u64) -> Result<()> {
        self.step = step;
        Ok(())
    }

    /// The relative entropy on this update's controls, nats; reported as the loss.
    fn loss_into(&self, batch: &Batch, _: Option<&GradAccumulator>) -> Result<Loss> {
        Ok(self.error(self.step, batch.tokens.dim(0)?)?.into())
    }

    /// The error on held-out controls, which no update draws.
    fn evaluate(&self, _: &Batch) -> Result<Tensor> {
        let (y, wanted) = self.targets(u64::MAX, HELD_OUT)?;
        let scores = host::rows_f64(&self.inference_net.0.forward(&y)?)?;
        let rows = wanted.chunks(self.generator.base().len()).zip(&scores);
        let sum: f64 = rows.map(|(p, scores)| relative_entropy(p, scores)).sum();
        Tensor::new((sum / HELD_OUT as f64) as f32, &Device::Cpu)
    }

    fn reads_text(&self) -> bool {
        false
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { stationary_map: Some(self), ..Capabilities::default() }
    }
}

impl StationaryMap for Stationary {
    fn generator(&self) -> &ControlledGenerator {
        &self.generator
    }

    fn range(&self) -> f64 {
        self.spec.range
    }

    fn predict(&self, ys: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        if ys.is_empty() {
            return Ok(vec![]);
        }
        let (c, n) = (self.spec.controls, self.generator.base().len());
        let flat: Vec<f32> = ys.iter().flatten().map(|v| *v as f32).collect();
        let y = Tensor::from_vec(flat, (ys.len(), c), self.params.device())?;
        let log = host::to_f64(&self.inference_net.log_distribution(&y)?)?;
        Ok(log.chunks(n).map(|row| row.iter().map(|l| l.exp()).collect()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_entropy_is_exact_below_f32_rounding() {
        let p = [0.25, 0.5, 0.25, 0.0];
        let exact: Vec<f64> = p.iter().map(|p: &f64| p.max(1e-300).ln()).collect();
        assert!(relative_entropy(&p, &exact).abs() < 1e-15);
        let near = [exact[0] + 1e-5, exact[1], exact[2] - 1e-5, exact[3]];
        let error = relative_entropy(&p, &near);
        assert!((error - 2.5e-11).abs() < 1e-13, "half of the variance of the logarithms: {error}");
    }

    #[test]
    fn the_loss_of_an_update_is_that_of_a_measurement() {
        let model = Stationary::new(&StationarySpec::tiny(), 0, 7, &Device::Cpu).unwrap();
        let batch = Batch::from_ids(&[0], &[0], 1, 1, &Device::Cpu).unwrap();
        let losses = [model.error(u64::MAX, HELD_OUT), model.evaluate(&batch)];
        let [update, measured] = losses.map(|loss| host::scalar(&loss.unwrap()).unwrap());
        assert!((update - measured).abs() < 1e-5 * measured, "{update} {measured}");
    }
}
