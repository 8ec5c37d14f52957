//! The cases that are timed: sizes, batches and optimiser of the peer script, so that a step here and
//! a step there are the same work.

use std::time::Instant;

use candle_core::{Device, Result};
use clap::Args;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use orrery::{
    cli::Failure,
    models::{
        ModelSpec, Trainable,
        bdh::BdhSpec,
        coupled_qk::{CoupledQkSpec, QkVariant},
        dense::DenseSpec,
        fast_slow::{FastSlowSpec, SlowMixer},
        gpt::AlibiGptSpec,
        graph_bdh::GraphBdhSpec,
        ode_flow::OdeFlowSpec,
        spen::SpenSpec,
    },
    nn::{AdamW, Batch, fused::GradAccumulator, host, memory, optimiser::AdamWSpec, residual_mixing::ResidualMixing},
};

#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    spec: fn() -> ModelSpec,
    /// The width of the stream in place of the spec's own; what else has a width grows with it.
    width: Option<usize>,
    vocab: usize,
    batch: usize,
    tokens: usize,
    /// Floating-point operations of the matrix products of one step of this model, each counted once.
    flop: fn(&Case, &ModelSpec) -> f64,
}

/// Sizes in place of a case's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct Sizes {
    /// Tokens of a sequence in place of the case's own
    #[arg(long, value_name = "T")]
    pub tokens: Option<usize>,
    /// The model's width in place of the case's own; fast_slow, bdh, qk_* and spen
    #[arg(long, value_name = "D")]
    pub width: Option<usize>,
    /// Sequences of a step in place of the case's own
    #[arg(long, value_name = "B")]
    pub batch: Option<usize>,
}

impl Sizes {
    /// As arguments, for this program and for the peer.
    pub fn args(&self) -> Vec<String> {
        let named = [("--tokens", self.tokens), ("--width", self.width), ("--batch", self.batch)];
        named.into_iter().filter_map(|(name, n)| Some([name.to_owned(), n?.to_string()])).flatten().collect()
    }
}

/// Steps that are not timed before those that are.
pub const WARM: usize = 3;

/// A case at the width of its spec, with the sizes of its vocabulary, of a batch, and of a sequence in tokens.
const fn case(
    name: &'static str,
    [vocab, batch, tokens]: [usize; 3],
    spec: fn() -> ModelSpec,
    flop: fn(&Case, &ModelSpec) -> f64,
) -> Case {
    Case { name, spec, width: None, vocab, batch, tokens, flop }
}

pub const CASES: &[Case] = &[
    case(
        "fast_slow",
        [320, 4, 256],
        || ModelSpec::FastSlow(FastSlowSpec::default()),
        |c, spec| {
            let ModelSpec::FastSlow(s) = spec else { return f64::NAN };
            let (d, slow) = (s.d_model, c.tokens.div_ceil(s.pool));
            let kv = s.kv_heads * (d / s.heads);
            let fast_blocks = (s.n_pre + s.n_rounds * s.n_post) as f64;
            let slow_blocks = (s.n_rounds * s.n_slow) as f64;
            let block = |t| c.block(t, d, kv, 2 * d * 4 * d);
            let phi = c.linear(slow, d * d) * s.n_rounds as f64;
            fast_blocks * block(c.tokens) + slow_blocks * block(slow) + phi + c.linear(c.tokens, c.vocab * d)
        },
    ),
    case(
        "gated_linear",
        [320, 4, 256],
        || ModelSpec::FastSlow(gated_linear()),
        |c, spec| {
            // the slow path writes a state for each head of keys and reads it with each head of queries, in place of pairs
            let ModelSpec::FastSlow(s) = spec else { return f64::NAN };
            let (d, slow, width) = (s.d_model, c.tokens.div_ceil(s.pool), s.d_model / s.heads);
            let kv = s.kv_heads * width;
            let fast_blocks = (s.n_pre + s.n_rounds * s.n_post) as f64;
            let maps = 2 * d * d + 3 * d * kv + 2 * d * 4 * d;
            let slow_block = c.linear(slow, maps + (s.heads + s.kv_heads) * width * width);
            let rounds = s.n_rounds as f64;
            fast_blocks * c.block(c.tokens, d, kv, 2 * d * 4 * d)
                + rounds * (s.n_slow as f64 * slow_block + c.linear(slow, d * d))
                + c.linear(c.tokens, c.vocab * d)
        },
    ),
    case(
        "dense",
        [320, 4, 256],
        || ModelSpec::Dense(DenseSpec::default()),
        |c, spec| {
            let ModelSpec::Dense(s) = spec else { return f64::NAN };
            let kv = s.kv_heads * (s.d_model / s.heads);
            let block = c.block(c.tokens, s.d_model, kv, 3 * s.d_model * s.hidden);
            s.layers as f64 * block + c.linear(c.tokens, c.vocab * s.d_model)
        },
    ),
    case(
        "ode_flow",
        [256, 8, 128],
        || ModelSpec::OdeFlow(OdeFlowSpec::default()),
        |c, spec| {
            let ModelSpec::OdeFlow(s) = spec else { return f64::NAN };
            let layers = (s.pre + s.steps + s.post) as f64;
            layers * c.block(c.tokens, s.d_model, s.d_model, 2 * s.d_model * 4 * s.d_model)
                + c.linear(c.tokens, c.vocab * s.d_model)
        },
    ),
    case(
        "bdh",
        [256, 8, 128],
        || ModelSpec::Bdh(BdhSpec::default()),
        |c, spec| {
            // three maps between channels and neurons; of the scores, and of what they gather, the seen
            // half; the backward pass of the scores forms their gradient and one product for both sides
            let ModelSpec::Bdh(s) = spec else { return f64::NAN };
            let maps = c.linear(c.tokens, 3 * s.neurons * s.d_model);
            let pairs = (c.batch * c.tokens * c.tokens) as f64;
            let scores = pairs * s.neurons as f64 * 3.0;
            let gathered = pairs * (s.heads * s.d_model) as f64 * 3.0;
            s.layers as f64 * (maps + scores + gathered) + c.linear(c.tokens, c.vocab * s.d_model)
        },
    ),
    case("alibi_gpt", [256, 8, 128], || ModelSpec::AlibiGpt(BESIDE_BDH), declared_flop),
    case(
        "graph_bdh",
        [64, 16, 64],
        || ModelSpec::GraphBdh(GraphBdhSpec::default()),
        |c, spec| {
            // circuits are multiplied as square matrices; each token reads and writes every synapse
            let ModelSpec::GraphBdh(s) = spec else { return f64::NAN };
            let circuits = c.linear(c.tokens, 2 * s.neurons * s.neurons);
            let synapses = 12.0 * (c.batch * c.tokens * s.neurons * s.synapses) as f64;
            s.layers as f64 * (circuits + synapses) + c.linear(c.tokens, c.vocab * s.neurons)
        },
    ),
    case("qk_standard", [256, 8, 128], || coupled_qk(QkVariant::Standard), declared_flop),
    case("qk_euler", [256, 8, 128], || coupled_qk(QkVariant::Euler), declared_flop),
    case("qk_hamiltonian", [256, 8, 128], || coupled_qk(QkVariant::Hamiltonian), declared_flop),
    case("qk_diff", [256, 8, 128], || coupled_qk(QkVariant::Diff), declared_flop),
    case("spen", [256, 8, 256], || ModelSpec::Spen(SpenSpec::default()), declared_flop),
    case("tread_gpt", [256, 8, 256], || ModelSpec::AlibiGpt(LAST_TREAD), declared_flop),
    case("spen_wide", [256, 2, 256], || ModelSpec::Spen(SpenSpec { layers: 2, ..SpenSpec::paper() }), declared_flop),
];

/// The transformer of as many parameters as the case `bdh`.
const BESIDE_BDH: AlibiGptSpec = AlibiGptSpec {
    d_model: 80,
    heads: 2,
    layers: 5,
    residual: ResidualMixing::Fixed,
    window: None,
    carry: None,
    dropout: 0.0,
};

/// The last tread of the EMA staircase: a transformer of about as many parameters as `spen` with softmax attention.
const LAST_TREAD: AlibiGptSpec = AlibiGptSpec { d_model: 88, ..BESIDE_BDH };

/// The fast-slow model of the case `fast_slow` whose slow path is gated linear attention.
fn gated_linear() -> FastSlowSpec {
    FastSlowSpec { slow_mixer: SlowMixer::GatedLinear, ..FastSlowSpec::default() }
}

/// The operations of a step of a model whose spec counts those of a token.
fn declared_flop(case: &Case, spec: &ModelSpec) -> f64 {
    let of_token = match spec {
        ModelSpec::AlibiGpt(s) => s.training_flops(case.vocab, case.tokens),
        ModelSpec::CoupledQk(s) => s.training_flops(case.vocab, case.tokens),
        ModelSpec::Spen(s) => s.training_flops(case.vocab, case.tokens),
        _ => f64::NAN,
    };
    (case.batch * case.tokens) as f64 * of_token
}

/// The coupled query-key paper's model at the lab's sizes.
fn coupled_qk(variant: QkVariant) -> ModelSpec {
    ModelSpec::CoupledQk(CoupledQkSpec { variant, positions: 256, ..CoupledQkSpec::default() })
}

/// One case, timed. The names are those of the peer's lines; what it does not tell comes after.
#[derive(Debug, Serialize, Deserialize)]
pub struct CaseTiming {
    pub case: String,
    pub params: usize,
    pub tokens_per_step: usize,
    pub ms_median: f64,
    pub ms_min: f64,
    pub ms_max: f64,
    pub tokens_per_s: f64,
    /// Peak memory of the whole process.
    #[serde(default)]
    pub peak_mib: Option<f64>,
    /// A step.
    #[serde(default)]
    pub allocations: f64,
    #[serde(default)]
    pub allocated_mib: f64,
    #[serde(default)]
    pub gflop: f64,
}

impl Case {
    /// The case of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> std::result::Result<&'static Self, Failure> {
        CASES.iter().find(|case| case.name == name).ok_or_else(|| {
            let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
            Failure::usage(format!("there is no case `{name}`; choose one of {}", names.join(", ")))
        })
    }

    /// Operations of the forward product and both backward products of a weight with this many values.
    fn linear(&self, t: usize, weights: usize) -> f64 {
        6.0 * (self.batch * t * weights) as f64
    }

    /// A block over t tokens; half of all pairs of positions are seen.
    fn block(&self, t: usize, d: usize, kv: usize, mlp: usize) -> f64 {
        self.linear(t, 2 * d * d + 2 * d * kv + mlp) + 6.0 * (self.batch * t * t * d) as f64
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> Result<Batch> {
        let (b, t) = (self.batch, self.tokens);
        let ids: Vec<u32> = (0..b * (t + 1)).map(|_| rng.random_range(0..self.vocab as u32)).collect();
        let part = |from: usize| ids.chunks(t + 1).flat_map(|row| row[from..from + t].to_vec()).collect::<Vec<_>>();
        Batch::from_ids(&part(0), &part(1), b, t, &Device::Cpu)
    }

    /// The same case at other sizes.
    ///
    /// # Errors
    /// If a size is 0 or no multiple of 32, or the family has no width to choose.
    pub fn at(self, sizes: Sizes) -> std::result::Result<Self, Failure> {
        let given = [sizes.tokens, sizes.width, sizes.batch];
        if given.contains(&Some(0)) || sizes.width.is_some_and(|width| width % 32 != 0) {
            return Err(Failure::usage("--tokens and --batch are 1 or more, --width is a multiple of 32"));
        }
        let case = Self {
            width: sizes.width.or(self.width),
            batch: sizes.batch.unwrap_or(self.batch),
            tokens: sizes.tokens.unwrap_or(self.tokens),
            ..self
        };
        case.model_spec().map(|_| case)
    }

    /// The model at the case's sizes. All inner widths keep their ratio to the stream's.
    fn model_spec(&self) -> std::result::Result<ModelSpec, Failure> {
        let mut spec = (self.spec)();
        if let ModelSpec::CoupledQk(s) = &mut spec {
            s.positions = s.positions.max(self.tokens);
        }
        let Some(width) = self.width else { return Ok(spec) };
        match &mut spec {
            ModelSpec::FastSlow(s) => s.d_model = width,
            ModelSpec::Bdh(s) => (s.d_model, s.neurons) = (width, 32 * width),
            ModelSpec::CoupledQk(s) => (s.d_model, s.hidden) = (width, 4 * width),
            // a unit in 16.5 is kept, as in the paper's 184 of 3,072
            ModelSpec::Spen(s) => (s.d_model, s.hidden, s.kept) = (width, 4 * width, 31 * width / 128),
            _ => return Err(Failure::usage(format!("the case `{}` has no width to choose", self.name))),
        }
        Ok(spec)
    }

    /// `warm` steps that are not timed, then `steps` that are.
    ///
    /// # Errors
    /// If the model cannot be made or a step fails.
    pub fn measure(&self, warm: usize, steps: usize) -> Result<CaseTiming> {
        let spec = self.model_spec().map_err(|e| candle_core::Error::Msg(e.to_string()))?;
        let gflop = (self.flop)(self, &spec) * 1e-9;
        let model = spec.build(self.vocab, 0, &Device::Cpu)?;
        // PyTorch's defaults
        let spec = AdamWSpec { beta2: 0.999, weight_decay: 0.01, clip: 1.0, ..AdamWSpec::default() };
        let mut adam = AdamW::new(model.params(), spec)?;
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut times = Vec::with_capacity(steps);
        let mut before = [0; 2];
        for step in 0..warm + steps {
            let batch = self.draw(&mut rng)?;
            if step == warm {
                before = memory::allocations();
            }
            let began = Instant::now();
            one_step(model.as_ref(), &mut adam, &batch)?;
            if step >= warm {
                times.push(began.elapsed().as_secs_f64() * 1e3);
            }
        }
        let after = memory::allocations();
        let a_step = |i: usize| (after[i] - before[i]) as f64 / steps as f64;
        times.sort_by(f64::total_cmp);
        let ms = median(&times);
        let tokens = self.batch * self.tokens;
        Ok(CaseTiming {
            case: self.name.to_owned(),
            params: model.params().count(),
            tokens_per_step: tokens,
            ms_median: ms,
            ms_min: times[0],
            ms_max: times[times.len() - 1],
            tokens_per_s: (tokens as f64 / ms * 1e3).round(),
            peak_mib: memory::peak_mib("self"),
            allocations: a_step(0),
            allocated_mib: a_step(1) / f64::from(1 << 20),
            gflop,
        })
    }
}

/// The loss is read, as any trainer does that shows it.
fn one_step(model: &dyn Trainable, adam: &mut AdamW, batch: &Batch) -> Result<f64> {
    let accumulator = GradAccumulator::default();
    let loss = model.accumulated_loss(batch, &accumulator)?;
    let grads = accumulator.backward(&loss.total)?;
    adam.step(model.params(), &grads, 1e-4)?;
    host::scalar(&loss.cross_entropy)
}

/// The median of at least one value.
pub fn median(values: &[f64]) -> f64 {
    let (mut sorted, n) = (values.to_vec(), values.len());
    sorted.sort_by(f64::total_cmp);
    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
}
