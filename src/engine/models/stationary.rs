//! A small network that learns the stationary distribution of a generator from the slow control that sets its rates
//! (arXiv 2606.16730, Corollary 29 and Remark 31). Its batches are controls of its own; the corpus plays no part.

use std::path::{Path, PathBuf};

use candle_core::D;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::capabilities::StationaryMap;
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
pub enum RateSource {
    /// The generator is drawn from the seed.
    Drawn {
        /// The law by which states are joined.
        topology: Topology,
        /// The number of states.
        states: usize,
        /// The share of the ordered pairs without a rate, for a random topology.
        sparsity: f64,
    },
    /// Given, row by row: `rates[to * states + from]`.
    Given {
        /// The number of states.
        states: usize,
        /// The rates row by row, `states * states` values.
        rates: Vec<f64>,
    },
    /// The rates are read from a file when the model is built, and kept by the model.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The kind of matrix that the file holds.
        holds: MatrixKind,
    },
}

/// The limit of the bytes that are read of a matrix.
const LONGEST_MATRIX: u64 = 1 << 20;

/// Sizes of the network and the source of its generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StationarySpec {
    /// The source of the generator's rates.
    pub rates: RateSource,
    /// Numbers of the slow control y.
    pub controls: usize,
    /// The largest tilt of a log rate at a control of 1.
    pub strength: f64,
    /// The network is trained on controls from minus this to this.
    pub range: f64,
    /// Hidden units of each of its two layers.
    pub hidden: usize,
}

impl Default for StationarySpec {
    fn default() -> Self {
        let rates = RateSource::Drawn { topology: Topology::Random, states: 12, sparsity: 0.0 };
        Self { rates, controls: 2, strength: 1.0, range: 1.0, hidden: 64 }
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

    /// The number of states; the largest possible one where a file gives it.
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
struct Net(SiluMlp);

impl Net {
    fn new(params: &mut Params, sizes: [usize; 3]) -> Result<Self> {
        // The first biases spread over the range of y, so that the units do not all bend at its middle.
        Ok(Net(SiluMlp::new(params, sizes, [1.0, 0.1, 0.02])?))
    }

    /// y `(N, c)` -> log phi `(N, n)`
    fn log_distribution(&self, y: &Tensor) -> Result<Tensor> {
        let scores = self.0.forward(y)?; // (N, n)
        scores.broadcast_sub(&scores.log_sum_exp(D::Minus1)?.unsqueeze(D::Minus1)?)
    }
}

/// The network with the generator that it learns.
pub struct Stationary {
    spec: StationarySpec,
    seed: u64,
    step: u64,
    generator: ControlledGenerator,
    params: Params,
    net: Net,
    inference_net: Net,
    notes: Vec<String>,
}

impl Stationary {
    /// Rates, tilts and weights are drawn from `seed`.
    ///
    /// # Errors
    /// If a size does not fit, or the rates that are given or in the file are none.
    pub fn new(spec: &StationarySpec, _vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        if spec.hidden == 0 || spec.controls == 0 || !(spec.range > 0.0 && spec.range.is_finite()) {
            candle_core::bail!("a learned stationary distribution needs hidden units, a control and a range above 0");
        }
        let generator = spec.generator(seed)?;
        let mut spec = spec.clone();
        if let RateSource::File { .. } = spec.rates {
            let base = generator.base();
            spec.rates = RateSource::Given { states: base.len(), rates: base.matrix().to_vec() };
        }
        let sizes = [spec.controls, spec.hidden, generator.base().len()];
        let mut params = Params::new(seed, device, DType::F32);
        let (net, inference_net) = params.build_twice(|p| Net::new(p, sizes))?;
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

    /// Mean relative entropy of the network's distribution to the true one, nats.
    fn error(&self, net: &Net, draw: u64, controls: usize) -> Result<Tensor> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ draw.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let (c, n, range) = (self.spec.controls, self.generator.base().len(), self.spec.range);
        let (mut ys, mut wanted, mut entropy) = (vec![], vec![], 0.0);
        for _ in 0..controls {
            let y: Vec<f64> = (0..c).map(|_| rng.random_range(-range..=range)).collect();
            let p = self.generator.uniform_limit(&y).map_err(candle_core::Error::wrap)?;
            entropy += p.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>();
            ys.extend(y.into_iter().map(|v| v as f32));
            wanted.extend(p.into_iter().map(|v| v as f32));
        }
        let device = self.params.device();
        let y = Tensor::from_vec(ys, (controls, c), device)?;
        let wanted = Tensor::from_vec(wanted, (controls, n), device)?;
        let cross = (wanted * net.log_distribution(&y)?)?.sum_all()?.affine(-1.0 / controls as f64, 0.0)?;
        cross.affine(1.0, entropy / controls as f64)
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
        Ok(self.error(&self.net, self.step, batch.tokens.dim(0)?)?.into())
    }

    /// The error on held-out controls, which no update draws.
    fn evaluate(&self, _: &Batch) -> Result<Tensor> {
        self.error(&self.inference_net, u64::MAX, HELD_OUT)
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
