//! A text read token by token, and what chosen synapses hold meanwhile: sigma(i, j) = sum over s <= t of
//! y_{s, l-1}(i) x_{s, l}(j) (the paper's equation (16)), turned by U^(t-s) or raw. The full sigma has n^2
//! entries and is never formed: the pairs of a few dozen neurons with large values are followed.

use std::time::{Duration, Instant};

use super::{
    super::{Finding, ProbeContext, UntypedProbe, prompt::Prompt},
    firing::{self, Activation, LayerActivations},
    model,
};
use crate::{
    config::Value,
    models::{
        Model,
        bdh::{BdhSpec, Rotation, Sampling, generate},
    },
    nn::Result,
    telemetry::{
        Args,
        measurements::{self, LayerFiring, NeuronTrace, SynapseTrace},
    },
};

/// Arguments: `text` (else a held-out passage, `passage` its number), `longest` (512 tokens), `layer` (that
/// of x; the last), `rotated` (true), `rank` (`sudden`, by the largest gain at one token, or `strong`, by the
/// raw value at the end), `i`, `j`: a synapse to follow whatever its rank, and `write` (0): so many tokens that the model
/// writes after the text, drawn at `temperature` (0: the likeliest), and that are read like it. Makes a
/// [`measurements::Reading`].
pub struct Reading;

/// Neurons followed at each end.
const FOLLOWED: usize = 48;
/// Synapses in the measurement.
const MEASURED: usize = 12;

impl UntypedProbe for Reading {
    fn id(&self) -> &'static str {
        "reading"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.synapses().is_some_and(|m| m.spec().layers > 1)
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let spec = model(cx)?.spec().clone();
        let options = Options::of(cx.args, &spec, cx.seed)?;
        let passage = Prompt::of(cx, options.longest)?;
        let ids = written_on(cx, &passage, &options)?;
        Ok(vec![finding(read(cx, &ids, passage.ids.len(), &options)?, cx, &passage, &ids)])
    }
}

/// What synapses hold while these tokens are read, of which the first `given` are the text.
fn read(cx: &ProbeContext<'_>, ids: &[u32], given: usize, options: &Options) -> Result<measurements::Reading> {
    let (spec, layer) = (model(cx)?.spec().clone(), options.layer);
    let (peaks, tokens) = first_pass(cx, ids, layer)?;
    let mut ends = peaks.map(|p| highest(&p, FOLLOWED));
    if let Some(synapse) = options.synapse {
        for (end, neuron) in ends.iter_mut().zip([synapse.i, synapse.j]) {
            if !end.contains(&neuron) {
                end.push(neuron);
            }
        }
    }
    let paths = second_pass(cx, ids, layer, &ends)?;
    let chosen = paths.choose(options.rank, options.synapse);
    let rotation = |j: usize| if options.rotated { Rotation::of(&spec, j) } else { Rotation::NONE };
    let trace = |s: &Synapse| SynapseTrace { i: s.i, j: s.j, sigma: paths.sigma(*s, rotation(s.j)).into() };
    Ok(measurements::Reading {
        layer,
        per_head: spec.per_head(),
        written: ids.len() - given,
        temperature: options.sampling.temperature,
        synapses: chosen.iter().map(trace).collect(),
        y: paths.traces(End::Y, chosen.iter().map(|s| s.i).collect()),
        x: paths.traces(End::X, chosen.iter().map(|s| s.j).collect()),
        firing: tokens.firing,
        loss: tokens.loss.into(),
    })
}

/// A reading of these tokens, in words.
fn finding(reading: measurements::Reading, cx: &ProbeContext<'_>, passage: &Prompt, ids: &[u32]) -> Finding {
    let how = match cx.args.get("rotated") {
        Some(Value::Switch(false)) => "without rotation",
        _ => "as the model sees it",
    };
    let read = match reading.written {
        0 => passage.about.clone(),
        written => format!("{}, then {written} that it wrote", passage.about),
    };
    let layer = reading.layer;
    let about = format!("{read}, synapses from y of layer {} to x of layer {layer}, {how}", layer - 1);
    Finding::new(reading, about, cx.corpus.token_texts(ids))
}

/// The text and what the model writes after it, which is shown as it comes.
fn written_on(cx: &ProbeContext<'_>, passage: &Prompt, options: &Options) -> Result<Vec<u32>> {
    let mut ids = passage.ids.clone();
    if options.write == 0 {
        return Ok(ids);
    }
    let mut shown = WrittenSoFar::default();
    let mut wanted = Ok(());
    generate(model(cx)?, &passage.ids, options.write, options.sampling, cx.corpus.writable(), &mut |id| {
        ids.push(id);
        let written = ids.len() - passage.ids.len();
        wanted = cx.progress.at(written, options.write).and_then(|()| match written < options.write {
            true => shown.show(cx, passage, &ids, options),
            false => Ok(()),
        });
        wanted.is_ok()
    })?;
    wanted.map(|()| ids)
}

/// Between two showings of what was written so far.
const SHOWN_EVERY: Duration = Duration::from_millis(100);
/// Reading what was written so far may take this share of the time, or the text would wait for it.
const READING_SHARE: f64 = 0.25;

/// What is shown of a text while it is written: every token, and what synapses held when it was last read.
#[derive(Default)]
struct WrittenSoFar {
    shown: Option<Instant>,
    /// What was read last, and when and how long that took.
    read: Option<(measurements::Reading, Instant, Duration)>,
}

impl WrittenSoFar {
    /// The first token at once and without a reading, which takes longer than to write it.
    fn show(&mut self, cx: &ProbeContext<'_>, passage: &Prompt, ids: &[u32], options: &Options) -> Result<()> {
        if !cx.progress.is_watched() || self.shown.is_some_and(|at| at.elapsed() < SHOWN_EVERY) {
            return Ok(());
        }
        let is_due = |(_, at, took): &(_, Instant, Duration)| {
            took.as_secs_f64() < READING_SHARE * (at.elapsed().as_secs_f64() + took.as_secs_f64())
        };
        if self.shown.is_some() && self.read.as_ref().is_none_or(is_due) {
            let began = Instant::now();
            let reading = read(cx, ids, passage.ids.len(), options)?;
            self.read = Some((reading, Instant::now(), began.elapsed()));
        }
        let reading = match &self.read {
            Some((reading, ..)) => reading.clone(),
            None => measurements::Reading {
                layer: options.layer,
                per_head: model(cx)?.spec().per_head(),
                written: 0,
                temperature: options.sampling.temperature,
                synapses: vec![],
                y: vec![],
                x: vec![],
                firing: vec![],
                loss: vec![].into(),
            },
        };
        let written = ids.len() - passage.ids.len();
        self.shown = Some(Instant::now());
        cx.progress.show(finding(measurements::Reading { written, ..reading }, cx, passage, ids));
        Ok(())
    }
}

/// A synapse from neuron i of y to neuron j of x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Synapse {
    i: usize,
    j: usize,
}

/// By what synapses are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    /// The largest gain at one token.
    Sudden,
    /// The raw value at the end.
    Strong,
}

/// The probe's arguments.
struct Options {
    longest: usize,
    /// That of x.
    layer: usize,
    rotated: bool,
    rank: Rank,
    /// The synapse to follow whatever its rank.
    synapse: Option<Synapse>,
    /// Tokens that the model writes after the text.
    write: usize,
    sampling: Sampling,
}

impl Options {
    /// # Errors
    /// If a neuron is not one of the model's.
    fn of(args: &Args, spec: &BdhSpec, seed: u64) -> Result<Self> {
        let number = |name: &str| args.get(name).and_then(|v| v.as_f64());
        let neuron = |name: &str| match number(name) {
            Some(v) if v >= 0.0 && (v as usize) < spec.neurons => Ok(Some(v as usize)),
            Some(v) => candle_core::bail!("neuron {v} is not one of 0..{}", spec.neurons),
            None => Ok(None),
        };
        let last = spec.layers - 1;
        let is_strong = args.get("rank").is_some_and(|v| v.to_string() == "strong");
        Ok(Self {
            longest: number("longest").unwrap_or(512.0).clamp(2.0, 100_000.0) as usize,
            layer: number("layer").map_or(last, |l| (l.max(1.0) as usize).min(last)),
            rotated: !matches!(args.get("rotated"), Some(Value::Switch(false))),
            rank: if is_strong { Rank::Strong } else { Rank::Sudden },
            synapse: neuron("i")?.zip(neuron("j")?).map(|(i, j)| Synapse { i, j }),
            write: number("write").unwrap_or(0.0).clamp(0.0, 10_000.0) as usize,
            sampling: Sampling { temperature: number("temperature").unwrap_or(0.0).clamp(0.0, 5.0), seed },
        })
    }
}

/// What is measured at every token.
struct TokenValues {
    /// One entry a layer.
    firing: Vec<LayerFiring>,
    /// Nats.
    loss: Vec<f64>,
}

/// The largest values of y of the layer before and of x of the layer, `(n)` each, and the values at every
/// token.
fn first_pass(cx: &ProbeContext<'_>, ids: &[u32], layer: usize) -> Result<([Vec<f32>; 2], TokenValues)> {
    let model = model(cx)?;
    let (layers, n) = (model.spec().layers, model.spec().neurons);
    let mut peaks = [vec![0f32; n], vec![0f32; n]];
    let mut tokens = TokenValues { firing: vec![LayerFiring::default(); layers], loss: vec![] };
    firing::read(model, ids, cx.device, |chunk| {
        for token in 0..chunk.tokens {
            for (firing, activations) in tokens.firing.iter_mut().zip(&chunk.layers) {
                firing.x.0.push(activations.active(Activation::X, token));
                firing.y.0.push(activations.active(Activation::Y, token));
            }
            raise(&mut peaks[0], &chunk.layers[layer - 1], Activation::Y, token);
            raise(&mut peaks[1], &chunk.layers[layer], Activation::X, token);
        }
        tokens.loss.extend(chunk.loss);
        Ok(())
    })?;
    Ok((peaks, tokens))
}

fn raise(peaks: &mut [f32], layer: &LayerActivations, which: Activation, token: usize) {
    peaks.iter_mut().zip(layer.row(which, token)).for_each(|(p, v)| *p = p.max(v));
}

/// The `count` neurons with the largest values, largest first; ties by number.
fn highest(values: &[f32], count: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..values.len()).collect();
    all.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    all.truncate(count);
    all
}

/// The two ends of a synapse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Y = 0,
    X = 1,
}

/// Values of the followed neurons at every token.
struct Paths {
    /// Numbers of the neurons of y and of x.
    ends: [Vec<usize>; 2],
    y: Vec<Vec<f32>>,
    x: Vec<Vec<f32>>,
    /// Of the neurons that rotary position turns together with those of x.
    partners: Vec<Vec<f32>>,
}

fn second_pass(cx: &ProbeContext<'_>, ids: &[u32], layer: usize, ends: &[Vec<usize>; 2]) -> Result<Paths> {
    let empty = |n: &Vec<usize>| vec![Vec::with_capacity(ids.len()); n.len()];
    let mut paths = Paths { ends: ends.clone(), y: empty(&ends[0]), x: empty(&ends[1]), partners: empty(&ends[1]) };
    firing::read(model(cx)?, ids, cx.device, |chunk| {
        for token in 0..chunk.tokens {
            for (at, &i) in ends[0].iter().enumerate() {
                paths.y[at].push(chunk.layers[layer - 1].at(Activation::Y, token, i));
            }
            for (at, &j) in ends[1].iter().enumerate() {
                paths.x[at].push(chunk.layers[layer].at(Activation::X, token, j));
                paths.partners[at].push(chunk.layers[layer].at(Activation::X, token, j ^ 1));
            }
        }
        Ok(())
    })?;
    Ok(paths)
}

impl Paths {
    fn index(&self, end: End, neuron: usize) -> usize {
        self.ends[end as usize].iter().position(|n| *n == neuron).unwrap_or_default()
    }

    /// The values of some neurons of one end, in ascending order of their numbers, each once.
    fn traces(&self, end: End, mut neurons: Vec<usize>) -> Vec<NeuronTrace> {
        neurons.sort_unstable();
        neurons.dedup();
        let values = if end == End::Y { &self.y } else { &self.x };
        let trace = |neuron: usize| NeuronTrace {
            neuron,
            values: values[self.index(end, neuron)].iter().map(|v| f64::from(*v)).collect(),
        };
        neurons.into_iter().map(trace).collect()
    }

    /// The synapses to measure: the one that is asked for first, then those of the highest rank.
    fn choose(&self, rank: Rank, asked: Option<Synapse>) -> Vec<Synapse> {
        let mut ranked = vec![];
        for (a, &i) in self.ends[0].iter().enumerate() {
            for (b, &j) in self.ends[1].iter().enumerate() {
                let gains = self.y[a].iter().zip(&self.x[b]).map(|(y, x)| y * x);
                let score: f32 = match rank {
                    Rank::Strong => gains.sum(),
                    Rank::Sudden => gains.fold(0.0, f32::max),
                };
                if score > 0.0 && asked != Some(Synapse { i, j }) {
                    ranked.push((score, i, j));
                }
            }
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        // A neuron takes part in two synapses at most: twelve synapses of one neuron would show only that
        // neuron.
        let mut chosen: Vec<Synapse> = asked.into_iter().collect();
        for (_, i, j) in ranked {
            let sharing = chosen.iter().filter(|s| s.i == i || s.j == j).count();
            if sharing < 2 && chosen.len() < MEASURED {
                chosen.push(Synapse { i, j });
            }
        }
        chosen
    }

    /// The synapse after every token.
    fn sigma(&self, synapse: Synapse, rotation: Rotation) -> Vec<f64> {
        let (y, b) = (&self.y[self.index(End::Y, synapse.i)], self.index(End::X, synapse.j));
        let (mut own, mut partner) = (0f64, 0f64);
        let tokens = y.iter().zip(self.x[b].iter().zip(&self.partners[b]));
        let sigma = tokens.map(|(y, (x, p))| {
            (own, partner) = rotation.step(own, partner);
            own += f64::from(*y) * f64::from(*x);
            partner += f64::from(*y) * f64::from(*p);
            own
        });
        sigma.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Device, Tensor, fused::linear_attention::rotate, host};

    #[test]
    fn what_is_written_is_shown_before_its_end() -> Result<()> {
        use std::{cell::RefCell, sync::atomic::AtomicBool};

        use crate::{
            corpus::{Corpus, Source, Spec, TokenizerSpec},
            models::bdh::Bdh,
            probe::Progress,
            telemetry::Measurement,
        };
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("text.txt"), "The tide turned, and the harbour filled again.\n".repeat(40))?;
        let source = Source::File(folder.path().join("text.txt"));
        let spec = Spec { source, tokenizer: TokenizerSpec::Byte { vocab: 256 }, held_out: 0.2, seed: 1 };
        let corpus = Corpus::open(&spec).map_err(candle_core::Error::msg)?;
        let sizes = BdhSpec { heads: 2, neurons: 64, d_model: 16, layers: 3, ..BdhSpec::default() };
        let mut model = Bdh::new(&sizes, 256, 3, &Device::Cpu)?;
        let args: Args = [("text", Value::Text("the tide".into())), ("write", Value::Int(4000))]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
        let (shown, never) = (RefCell::new(vec![]), AtomicBool::new(false));
        let report = |_| ();
        let show = |so_far: Finding| {
            let reading = measurements::Reading::of(&so_far.payload).cloned().unwrap();
            shown.borrow_mut().push((reading, so_far.tokens));
            // who takes so long to look is shown the next token too, however fast the model writes
            if shown.borrow().len() <= 2 {
                std::thread::sleep(SHOWN_EVERY);
            }
        };
        let mut cx = ProbeContext::alone(&mut model, &corpus, &Device::Cpu, &args);
        cx.progress = Progress::new(&report, &never).showing(&show);
        let whole = Reading.ask(&mut cx)?.remove(0);
        cx.progress = Progress::none();
        assert_eq!(Reading.ask(&mut cx)?.remove(0).tokens, whole.tokens, "who looks changes nothing");
        let shown = shown.into_inner();
        assert!((3..200).contains(&shown.len()), "{} times", shown.len());
        let (first, tokens) = &shown[0];
        assert_eq!((first.written, tokens.len(), first.synapses.len()), (1, 9, 0), "the first token at once");
        assert!(shown.windows(2).all(|w| w[0].1.len() < w[1].1.len()), "each shows more than the one before");
        assert!(shown.iter().all(|(reading, tokens)| tokens.len() == 8 + reading.written));
        assert!(shown.iter().all(|(_, tokens)| tokens[..] == whole.tokens[..tokens.len()]), "what comes stays");
        assert!(shown[1..].iter().all(|(reading, _)| !reading.synapses.is_empty()), "sigma moves with the text");
        Ok(())
    }

    /// The state of linear attention, sum over s of q_t^T k_s, is the rotated trace read at neuron j alone.
    #[test]
    fn a_synapse_turns_as_the_attention_does() -> Result<()> {
        let spec = BdhSpec { heads: 1, neurons: 8, d_model: 4, layers: 2, ..BdhSpec::default() };
        let t = 30;
        let x: Vec<f32> = (0..t * 8).map(|i| ((i * 37 % 11) as f32 - 2.0).max(0.0)).collect();
        let y: Vec<f32> = (0..t).map(|i| ((i * 17 % 7) as f32 - 2.0).max(0.0)).collect();
        let keys = rotate(&Tensor::from_slice(&x, (1, 1, t, 8), &Device::Cpu)?, 0, &spec.attention())?;
        let keys = host::to_f64(&keys)?;
        for j in 0..8 {
            let column = |n: usize| (0..t).map(|s| x[s * 8 + n]).collect::<Vec<_>>();
            let paths = Paths {
                ends: [vec![0], vec![j]],
                y: vec![y.clone()],
                x: vec![column(j)],
                partners: vec![column(j ^ 1)],
            };
            let sigmas = paths.sigma(Synapse { i: 0, j }, Rotation::of(&spec, j));
            for (now, sigma) in sigmas.iter().enumerate() {
                // A query with neuron j alone, turned to `now`.
                let mut one = vec![0f32; 8];
                one[j] = 1.0;
                let query = host::to_f64(&rotate(
                    &Tensor::from_vec(one, (1, 1, 1, 8), &Device::Cpu)?,
                    now,
                    &spec.attention(),
                )?)?;
                let dot = |s: usize| (0..8).map(|n| query[n] * keys[s * 8 + n]).sum::<f64>();
                let wanted: f64 = (0..=now).map(|s| f64::from(y[s]) * dot(s)).sum();
                assert!((sigma - wanted).abs() < 1e-3 * wanted.abs().max(1.0), "{j} at {now}: {sigma}, {wanted}");
            }
        }
        Ok(())
    }
}
