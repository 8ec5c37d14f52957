//! Readers that must name the token k steps back: what can still be recovered from a trace.
//!
//! Every token id has a fixed sparse random code. Traces of the codes run along the window with fixed coefficients
//! (`h_t = (1-a) h_{t-1} + a x_t`); neither codes nor traces are trained. A reader is trained on top of what [`ReaderInput`]
//! lets it see, and answers all distances at once: logits `(P, B, K, V)` for P positions and K distances.
//!
//! The exact input of each reader when it answers at position t:
//! - `Single`, `Three`: the trace vector(s) at t and nothing else: an MLP with one hidden layer.
//! - `Attention`: the same three trace vectors at t, as three slots for softmax attention with one
//!   head per distance; the MLP reads what the heads read beside the vectors themselves (the
//!   residual path of a transformer block). It is downstream of the same three vectors as `Three`,
//!   so the data-processing inequality binds it just the same.
//! - `AttentionPast`: the trace vectors of every position t-W..=t, kept apart as slots, with their
//!   distance to t in the score. This is not a function of the trace at t: keeping every past state
//!   is keeping the text, and the inequality no longer binds.
//! - `Raw`: as `AttentionPast`, with the codes of the tokens themselves in the slots.
//!
//! Every vector is centred and scaled to unit variance over its units before it is read, so that no
//! reader is held back by the size of a trace (that of a = 0.02 is fifty times smaller).

use crate::{
    analysis::ema,
    models::prelude::*,
    nn::fused::{cross_entropy::cross_entropy, mlp::mlp},
};

/// The input of a reader; see the head of this file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reader", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum ReaderInput {
    /// The reader sees one trace, of the coefficient a = alpha, at the position of the answer.
    Single { alpha: f64 },
    /// Three traces, of these coefficients, are read at the position of the answer.
    Three { alphas: [f64; 3] },
    /// Three traces at the position of the answer are read by softmax attention.
    Attention { alphas: [f64; 3] },
    /// Three traces of every position of the past are read by softmax attention.
    AttentionPast { alphas: [f64; 3] },
    /// The codes of all tokens of the past are read by softmax attention.
    Raw,
}

/// Sizes of a reader that names past tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecoverSpec {
    /// The input of the reader.
    #[serde(flatten)]
    pub reader: ReaderInput,
    /// Distances asked, in tokens, ascending; 0 is the token just written.
    pub distances: Vec<usize>,
    /// The number of units of a code.
    pub code_dim: usize,
    /// The number of units of a code that are on.
    pub code_active: usize,
    /// Draws the codes; the same for all readers of a run.
    pub code_seed: u64,
    /// Units of the reader's hidden layer for each trace it reads.
    pub hidden: usize,
    /// A trace is read with this many bits per unit, of the range 0..code height; 0 reads it as it is (f32).
    pub bits: u32,
}

impl FamilySpec for RecoverSpec {
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let (k, width, head) = (self.distances.len() as f64, self.code_dim as f64 + 1.0, HEAD_WIDTH as f64);
        let traces = alphas(&self.reader).len().max(1) as f64;
        let attends = !matches!(self.reader, ReaderInput::Single { .. } | ReaderInput::Three { .. });
        let keeps_past = matches!(self.reader, ReaderInput::AttentionPast { .. } | ReaderInput::Raw);
        let hidden = self.hidden as f64 * if keeps_past { 1.0 } else { traces };
        let stride = if keeps_past { STRIDE as f64 } else { 1.0 };
        let asked = (step.tokens / stride).ceil();
        let n = asked * step.rows;
        let beside = if keeps_past { 1.0 } else { traces * width };
        let read = if attends { k * head } else { 0.0 };
        let slots = if keeps_past { traces * width } else { width };
        let mut weights = hidden * (beside + read) + k * step.vocab * hidden;
        let mut activations = n * (3.0 * k * step.vocab + 3.0 * hidden + 3.0 * (beside + read))
            + step.positions() * self.code_dim as f64 * (2.0 + 2.0 * traces)
            + asked * step.tokens * traces
            + step.vocab * self.code_dim as f64;
        if attends {
            let kinds = if keeps_past { 1.0 } else { traces };
            let place = if keeps_past { k * POSITION_WIDTH as f64 } else { 0.0 };
            weights += 2.0 * kinds * head * slots + k * head + place + step.vocab * head;
            activations += n * (2.0 * k * step.vocab + 6.0 * read);
            activations += match keeps_past {
                true => 4.0 * n * k * step.tokens + 2.0 * step.positions() * (slots + 2.0 * head + k),
                false => n * traces * (4.0 * head + 4.0 * k),
            };
        }
        StepMemory { weights, shared: 0.0, activations }
    }

    fn tiny() -> Self {
        Self {
            reader: ReaderInput::Three { alphas: [0.5, 0.1, 0.02] },
            distances: vec![0, 2],
            code_dim: 12,
            code_active: 3,
            code_seed: 1,
            hidden: 8,
            bits: 0,
        }
    }
}

/// Width of an attention reader's queries, keys and values.
const HEAD_WIDTH: usize = 32;
/// Width of the code of "how far back" that position queries are matched with.
const POSITION_WIDTH: usize = 64;
/// The factor on the input from the heads before the MLP: it has many columns, and one step of AdamW moves them all.
const HEADS_SCALE: f64 = 0.1;
/// Readers that keep the past answer at every fourth position while training: they need fewer examples.
const STRIDE: usize = 4;

/// A trainable reader over fixed traces.
pub struct Recover {
    params: Params,
    spec: RecoverSpec,
    vocab: usize,
    /// `(V, C)`, rows with `code_active` ones.
    codes: Tensor,
    weights: Weights,
    inference_weights: Weights,
}

enum Weights {
    /// `up` (H, n (C+1)), `down` (K V, H).
    State {
        up: Tensor,
        down: Tensor,
    },
    Attention(Heads),
}

/// Softmax attention with one head per distance, a direct map to symbols, and an MLP over all heads.
struct Heads {
    /// The query of each head, `(K, HEAD_WIDTH)`.
    query: Tensor,
    /// Keys `(HEAD_WIDTH, width)`, one for each kind of slot: three for `Attention`, one otherwise.
    keys: Vec<Tensor>,
    values: Vec<Tensor>,
    /// The positional query of each head, `(K, POSITION_WIDTH)`; absent for `Attention`, whose slots have no position in
    /// time.
    place: Option<Tensor>,
    /// The direct map from values to symbols, `(V, HEAD_WIDTH)`, shared by all distances.
    direct: Tensor,
    up: Tensor,
    down: Tensor,
}

impl Recover {
    /// Weights from `seed` and their names; codes from the spec's own seed.
    pub fn new(spec: &RecoverSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        check(spec)?;
        let mut params = Params::new(seed, device, DType::F32);
        let (weights, inference_weights) = params.build_twice(|p| Weights::new(p, spec, vocab))?;
        let codes = codes(spec, vocab, device)?;
        Ok(Self { params, vocab, codes, weights, inference_weights, spec: spec.clone() })
    }

    /// Answers at these positions: tokens u32 `(B, T)` -> logits `(P, B, K, V)`.
    fn read(&self, weights: &Weights, tokens: &Tensor, positions: &[usize]) -> Result<Tensor> {
        let (b, t) = tokens.dims2()?;
        let (p, k) = (positions.len(), self.spec.distances.len());
        let ids = tokens.t()?.contiguous()?.flatten_all()?; // (T B)
        let x = self.codes.index_select(&ids, 0)?.reshape((t, b * self.spec.code_dim))?; // (T, B C)
        match weights {
            Weights::State { up, down } => {
                let state = Tensor::cat(&self.traces(&x, positions, b)?, D::Minus1)?; // (P B, n (C+1))
                mlp(&state, up, down, Act::Gelu)?.reshape((p, b, k, self.vocab))
            }
            Weights::Attention(heads) => {
                let logits = match heads.place.as_ref() {
                    None => {
                        let traces = self.traces(&x, positions, b)?;
                        heads.answer(&heads.attend_to_traces(&traces)?, &Tensor::cat(&traces, D::Minus1)?)?
                    }
                    Some(place) => {
                        let everywhere: Vec<usize> = (0..t).collect();
                        let slots = match &self.spec.reader {
                            ReaderInput::Raw => readable(&x.reshape((t * b, self.spec.code_dim))?)?,
                            _ => Tensor::cat(&self.traces(&x, &everywhere, b)?, D::Minus1)?,
                        }; // (T B, width)
                        let reads = heads.attend_to_past(&slots.reshape((t, b, ()))?, place, positions)?;
                        heads.answer(&reads, &Tensor::ones((p * b, 1), DType::F32, x.device())?)?
                    }
                }; // (P B, K V)
                logits.reshape((p, b, k, self.vocab))
            }
        }
    }

    /// Mean cross-entropy over the distances; the batch's next-token targets are ignored.
    fn cross_entropy(&self, weights: &Weights, batch: &Batch) -> Result<Tensor> {
        let stride = match self.spec.reader {
            ReaderInput::AttentionPast { .. } | ReaderInput::Raw => STRIDE,
            _ => 1,
        };
        let positions = self.positions(batch.tokens.dim(1)?, stride)?;
        let logits = self.read(weights, &batch.tokens, &positions)?;
        cross_entropy(&logits, &self.target_ids(&batch.tokens, &positions)?)
    }

    /// The traces at these positions as input of a reader: x `(T, B C)` -> n times `(P B, C+1)`.
    fn traces(&self, x: &Tensor, positions: &[usize], b: usize) -> Result<Vec<Tensor>> {
        let (t, c) = (x.dim(0)?, self.spec.code_dim);
        alphas(&self.spec.reader)
            .iter()
            .map(|&a| {
                let mut decay = vec![0f32; positions.len() * t]; // a (1-a)^(t-s) for s <= t
                for (row, &at) in decay.chunks_exact_mut(t).zip(positions) {
                    for (s, w) in row.iter_mut().enumerate().take(at + 1) {
                        *w = (a * (1.0 - a).powi((at - s) as i32)) as f32;
                    }
                }
                let decay = Tensor::from_vec(decay, (positions.len(), t), x.device())?;
                let h = decay.matmul(x)?.reshape((positions.len() * b, c))?;
                readable(&rounded(h, self.spec.bits)?)
            })
            .collect()
    }
}

impl Weights {
    fn new(params: &mut Params, spec: &RecoverSpec, vocab: usize) -> Result<Self> {
        let (k, width) = (spec.distances.len(), spec.code_dim + 1);
        let scale = |fan_in: usize| 1.0 / (fan_in as f64).sqrt();
        let traces = alphas(&spec.reader).len().max(1);
        let keeps_past = matches!(spec.reader, ReaderInput::AttentionPast { .. } | ReaderInput::Raw);
        let h = if keeps_past { spec.hidden } else { spec.hidden * traces };
        Ok(match &spec.reader {
            ReaderInput::Single { .. } | ReaderInput::Three { .. } => Weights::State {
                up: init_one_trace_per_unit(params, h, traces, width, 0)?,
                down: params.normal("down", (k * vocab, h), scale(h))?,
            },
            _ => {
                let now = !keeps_past;
                let (kinds, slot) = if now { (traces, width) } else { (1, traces * width) };
                let mut maps = |name: &str| -> Result<Vec<Tensor>> {
                    (0..kinds).map(|i| params.normal(&format!("{name}.{i}"), (HEAD_WIDTH, slot), scale(slot))).collect()
                };
                let (keys, values) = (maps("key")?, maps("value")?);
                Weights::Attention(Heads {
                    keys,
                    values,
                    query: params.normal("query", (k, HEAD_WIDTH), scale(HEAD_WIDTH))?,
                    place: if now { None } else { Some(params.normal("place", (k, POSITION_WIDTH), 0.1)?) },
                    direct: params.normal("direct", (vocab, HEAD_WIDTH), scale(HEAD_WIDTH))?,
                    up: if now {
                        init_one_trace_per_unit(params, h, traces, width, k * HEAD_WIDTH)?
                    } else {
                        init_one_trace_per_unit(params, h, 1, 1, k * HEAD_WIDTH)?
                    },
                    down: params.normal("down", (k * vocab, h), scale(h))?,
                })
            }
        })
    }
}

impl Heads {
    /// Attention over the traces of one position: n times `(N, C+1)` -> `(N, K, HEAD_WIDTH)`.
    fn attend_to_traces(&self, traces: &[Tensor]) -> Result<Tensor> {
        let map = |w: &[Tensor]| -> Result<Tensor> {
            let each = traces.iter().zip(w).map(|(h, w)| linear(h, w)).collect::<Result<Vec<_>>>()?;
            Tensor::stack(&each, 1) // (N, n, HEAD_WIDTH)
        };
        let scores = linear(&map(&self.keys)?, &self.query)?; // (N, n, K)
        let scores = (scores.transpose(1, 2)? / (HEAD_WIDTH as f64).sqrt())?; // (N, K, n)
        let weights = candle_nn::ops::softmax(&scores, D::Minus1)?;
        weights.contiguous()?.matmul(&map(&self.values)?.contiguous()?)
    }

    /// Attention over slots of the past, one per position: slots `(T, B, W)` -> `(P B, K, HEAD_WIDTH)`.
    fn attend_to_past(&self, slots: &Tensor, place: &Tensor, positions: &[usize]) -> Result<Tensor> {
        let (t, b, _) = slots.dims3()?;
        let (k, p) = (self.query.dim(0)?, positions.len());
        let (Some(key), Some(value)) = (self.keys.first(), self.values.first()) else {
            candle_core::bail!("an attention reader without keys or values");
        };
        let values = linear(slots, value)?.transpose(0, 1)?.contiguous()?; // (B, T, HEAD_WIDTH)
        let content = (linear(&linear(slots, key)?, &self.query)? / (HEAD_WIDTH as f64).sqrt())?; // (T, B, K)
        let content = content.permute((1, 2, 0))?.unsqueeze(2)?; // (B, K, 1, T)
        let when = self.distance_scores(place, positions, t)?.reshape((1, k, p, t))?;
        let weights = candle_nn::ops::softmax(&content.broadcast_add(&when)?, D::Minus1)?; // (B, K, P, T)
        let reads = weights.reshape((b, k * p, t))?.matmul(&values)?; // (B, K P, HEAD_WIDTH)
        reads.reshape((b, k, p, HEAD_WIDTH))?.permute((2, 0, 1, 3))?.reshape((p * b, k, HEAD_WIDTH))
    }

    /// Scores for how far back a slot is, the future shut out: place `(K, POSITION_WIDTH)` -> `(K, P T)`.
    fn distance_scores(&self, place: &Tensor, positions: &[usize], t: usize) -> Result<Tensor> {
        let by_distance = place.matmul(&positional_encoding(t, place.device())?.t()?)?; // (K, T): distances 0..T
        let shut = Tensor::full(-1e9f32, (place.dim(0)?, 1), place.device())?;
        let table = Tensor::cat(&[by_distance, shut], 1)?; // (K, T+1)
        let index: Vec<u32> =
            positions.iter().flat_map(|&at| (0..t).map(move |s| at.checked_sub(s).unwrap_or(t) as u32)).collect();
        table.index_select(&Tensor::new(index, place.device())?, 1)
    }

    /// Maps the heads' reads `(N, K, HEAD_WIDTH)`, together with further features `(N, ..)`, to logits `(N, K V)`.
    fn answer(&self, reads: &Tensor, beside: &Tensor) -> Result<Tensor> {
        let (n, k, _) = reads.dims3()?;
        let direct = linear(reads, &self.direct)?.reshape((n, ()))?; // (N, K V)
        let all = Tensor::cat(&[beside, &(reads.reshape((n, k * HEAD_WIDTH))? * HEADS_SCALE)?], D::Minus1)?;
        direct + mlp(&all, &self.up, &self.down, Act::Gelu)?
    }
}

impl Trainable for Recover {
    params_and_spec!(Recover);

    fn loss_into(&self, batch: &Batch, _: Option<&GradAccumulator>) -> Result<Loss> {
        Ok(self.cross_entropy(&self.weights, batch)?.into())
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.cross_entropy(&self.inference_weights, batch)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { recovery: Some(self), ..Capabilities::default() }
    }
}

impl RecoveryModel for Recover {
    fn distances(&self) -> &[usize] {
        &self.spec.distances
    }

    fn positions(&self, len: usize, stride: usize) -> Result<Vec<usize>> {
        let furthest = self.spec.distances.last().copied().unwrap_or_default();
        if len <= furthest {
            candle_core::bail!(
                "a window of {len} tokens has no token {furthest} steps back; set train.window above {furthest} or shorten recoverability.distances"
            );
        }
        Ok((furthest..len).step_by(stride.max(1)).collect())
    }

    /// Distances beyond the window's start give id 0.
    fn target_ids(&self, tokens: &Tensor, positions: &[usize]) -> Result<Tensor> {
        let by_time = tokens.t()?.contiguous()?; // (T, B)
        let at = |k: usize| -> Result<Tensor> {
            let rows: Vec<u32> = positions.iter().map(|t| t.saturating_sub(k) as u32).collect();
            by_time.index_select(&Tensor::new(rows, tokens.device())?, 0) // (P, B)
        };
        let all = self.spec.distances.iter().map(|k| at(*k)).collect::<Result<Vec<_>>>()?;
        Tensor::stack(&all, D::Minus1)?.contiguous() // (P, B, K)
    }

    fn answers(&self, tokens: &Tensor, positions: &[usize]) -> Result<Tensor> {
        self.read(&self.inference_weights, tokens, positions)
    }
}

/// The initial weights of the first layer, `(H, n width + more)`: each hidden unit reads one of the n traces, and training may
/// connect it to the others. If every unit read all traces from the start, the slow trace would drown out the fast one for
/// hundreds of steps; small weights help there too. All units read the `more` columns, the result of attention.
fn init_one_trace_per_unit(params: &mut Params, h: usize, n: usize, width: usize, more: usize) -> Result<Tensor> {
    let columns = n * width + more;
    let (own, shared) = (1.0 / (width as f32).sqrt(), 1.0 / (more.max(1) as f32).sqrt());
    let share = |row: usize, column: usize| match column / width {
        trace if trace >= n => shared,
        trace if trace == row * n / h.max(1) => own,
        _ => 0.0,
    };
    let shares: Vec<f32> = (0..h * columns).map(|i| share(i / columns, i % columns)).collect();
    params.normal_with("up", (h, columns), 0.1, |up| {
        let shares = Tensor::from_vec(shares, (h, columns), up.device())?;
        &up * &shares
    })
}

fn alphas(reader: &ReaderInput) -> &[f64] {
    match reader {
        ReaderInput::Single { alpha } => std::slice::from_ref(alpha),
        ReaderInput::Three { alphas } | ReaderInput::Attention { alphas } | ReaderInput::AttentionPast { alphas } => {
            alphas
        }
        ReaderInput::Raw => &[],
    }
}

fn check(spec: &RecoverSpec) -> Result<()> {
    let ascends = !spec.distances.is_empty() && spec.distances.windows(2).all(|w| w[0] < w[1]);
    ensure!(ascends, "recoverability.distances must be ascending and hold at least one distance");
    let (units, on) = (spec.code_dim, spec.code_active);
    ensure!((1..=units).contains(&on), "a code has {units} units and {on} of them on; some must be on");
    ensure!(alphas(&spec.reader).iter().all(|a| *a > 0.0 && *a <= 1.0), "a trace's alpha is above 0 and at most 1");
    Ok(())
}

/// The active units of each code, `(V, C)`.
fn codes(spec: &RecoverSpec, vocab: usize, device: &Device) -> Result<Tensor> {
    let mut rows = vec![0f32; vocab * spec.code_dim];
    for (id, row) in rows.chunks_exact_mut(spec.code_dim).enumerate() {
        for unit in ema::sparse_code(spec.code_seed, id as u64, spec.code_dim, spec.code_active) {
            row[unit] = 1.0;
        }
    }
    Tensor::from_vec(rows, (vocab, spec.code_dim), device)
}

/// Values in 0..1 kept with `bits` bits; a trace of codes stays in that range.
fn rounded(h: Tensor, bits: u32) -> Result<Tensor> {
    if bits == 0 {
        return Ok(h);
    }
    let levels = 2f64.powi(bits as i32) - 1.0;
    (h * levels)?.round()? / levels
}

/// Rows centred and scaled to unit variance, with a column of ones appended, whose weight acts as a bias: `(N, C)` ->
/// `(N, C+1)`.
fn readable(x: &Tensor) -> Result<Tensor> {
    let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
    let spread = (centred.sqr()?.mean_keepdim(D::Minus1)? + 1e-12)?.sqrt()?;
    let one = Tensor::ones((x.dim(0)?, 1), x.dtype(), x.device())?;
    Tensor::cat(&[centred.broadcast_div(&spread)?, one], D::Minus1)
}

/// Sines and cosines of distances 0..t at geometric wavelengths from 2 pi to 2 pi 200: `(T, POSITION_WIDTH)`.
fn positional_encoding(t: usize, device: &Device) -> Result<Tensor> {
    let half = POSITION_WIDTH / 2;
    let mut rows = Vec::with_capacity(t * POSITION_WIDTH);
    for distance in 0..t {
        for i in 0..half {
            let angle = distance as f64 / 200f64.powf(i as f64 / half as f64);
            rows.extend([angle.sin() as f32, angle.cos() as f32]);
        }
    }
    Tensor::from_vec(rows, (t, POSITION_WIDTH), device)
}
