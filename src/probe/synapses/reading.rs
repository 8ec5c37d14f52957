//! A text read token by token, and what chosen synapses hold meanwhile: sigma(i, j) = sum over s <= t of
//! y_{s, l-1}(i) x_{s, l}(j) (the paper's equation (16)), turned by U^(t-s) or raw. The full sigma has n^2
//! entries and is never formed: of a few dozen neurons that fire most all pairs are followed.

use super::{
    super::{Finding, Probe, ProbeContext, passage::Passage},
    activity,
    firing::{self, Layer, Part},
    model,
};
use crate::{
    config::Value,
    models::{Model, bdh::BdhSpec},
    nn::{Result, fused::linear_attention::decays},
    telemetry::{Line, Payload, Series, channels},
};

/// Arguments: `text` (else a held-out passage, `passage` its number), `longest` (512 tokens), `layer` (that
/// of x; the last), `rotated` (true), `rank` (`sudden`, by the largest gain at one token, or `strong`, by the
/// raw value at the end), and `i`, `j`: a synapse to follow whatever its rank. Answers a bundle of series over
/// tokens: `sigma` (a line a synapse, the asked one first, named `i>j`), `y` and `x` (of the neurons at
/// their ends, named by number), `active` (`x0`.., `y0`.., shares that fire), `loss` (nats).
pub struct Reading;

/// Neurons of each end that are followed.
const FOLLOWED: usize = 48;
/// Synapses that are told.
const TOLD: usize = 12;

impl Probe for Reading {
    fn id(&self) -> &'static str {
        "reading"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.synapses().is_some_and(|m| m.spec().layers > 1)
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let number = |name: &str| cx.args.get(name).and_then(|v| v.as_f64());
        let longest = number("longest").unwrap_or(512.0).clamp(2.0, 100_000.0) as usize;
        let passage = Passage::of(cx, longest)?;
        let spec = model(cx)?.spec().clone();
        let layer = number("layer").map_or(spec.layers - 1, |l| (l.max(1.0) as usize).min(spec.layers - 1));
        let neuron = |name: &str| match number(name) {
            Some(v) if v >= 0.0 && (v as usize) < spec.neurons => Ok(Some(v as usize)),
            Some(v) => candle_core::bail!("neuron {v} is not one of 0..{}", spec.neurons),
            None => Ok(None),
        };
        let asked = neuron("i")?.zip(neuron("j")?);
        let rotated = !matches!(cx.args.get("rotated"), Some(Value::Switch(false)));
        let strong = cx.args.get("rank").is_some_and(|v| v.to_string() == "strong");

        let (peaks, tokens) = first_pass(cx, &passage.ids, layer)?;
        let mut ends = peaks.map(|p| highest(&p, FOLLOWED));
        if let Some((i, j)) = asked {
            for (end, neuron) in ends.iter_mut().zip([i, j]) {
                if !end.contains(&neuron) {
                    end.push(neuron);
                }
            }
        }
        let paths = second_pass(cx, &passage.ids, layer, &ends)?;
        let told = paths.choose(strong, asked);
        let u = |j: usize| if rotated { Turn::of(&spec, j) } else { Turn::NONE };

        let x: Vec<f64> = passage.positions();
        let over = |y_label: &str, lines: Vec<Line>| {
            let series = Series { x_label: "position (tokens)".into(), y_label: y_label.into(), x: x.clone(), lines };
            Payload::Series(series)
        };
        let sigma = told.iter().map(|&(i, j)| Line { name: format!("{i}>{j}"), y: paths.sigma(i, j, u(j)) }).collect();
        let end = |which: usize, part: &[Vec<f32>]| {
            let mut all: Vec<usize> = told.iter().map(|&(i, j)| if which == 0 { i } else { j }).collect();
            all.sort_unstable();
            all.dedup();
            let values = |n: usize| part[paths.place(which, n)].iter().map(|v| f64::from(*v)).collect();
            all.into_iter().map(|n| Line { name: n.to_string(), y: values(n) }).collect::<Vec<_>>()
        };
        let active = activity::names(spec.layers).into_iter().zip(tokens.active).map(|(name, y)| Line { name, y });
        let payload = Payload::Bundle(vec![
            ("sigma".into(), over("synapse", sigma)),
            ("y".into(), over("y", end(0, &paths.y))),
            ("x".into(), over("x", end(1, &paths.x))),
            ("active".into(), over("share of neurons that fire", active.collect())),
            ("loss".into(), over("loss (nats)", vec![Line { name: "loss".into(), y: tokens.loss }])),
            ("layer".into(), Payload::Scalar(layer as f64)),
        ]);
        let how = if rotated { "as the model sees it" } else { "without rotation" };
        let about = format!("{}, synapses from y of layer {} to x of layer {layer}, {how}", passage.about, layer - 1);
        Ok(vec![Finding { channel: channels::READING, about, tokens: passage.tokens, payload }])
    }
}

/// What is told of every token.
struct Tokens {
    /// x of every layer, then y of every layer.
    active: Vec<Vec<f64>>,
    loss: Vec<f64>,
}

/// The largest value of every y of the layer before and every x of the layer, and what is told of tokens.
fn first_pass(cx: &ProbeContext<'_>, ids: &[u32], layer: usize) -> Result<([Vec<f32>; 2], Tokens)> {
    let model = model(cx)?;
    let (layers, n) = (model.spec().layers, model.spec().neurons);
    let mut peaks = [vec![0f32; n], vec![0f32; n]];
    let mut tokens = Tokens { active: vec![vec![]; 2 * layers], loss: vec![] };
    firing::read(model, ids, cx.device, |chunk| {
        for token in 0..chunk.tokens {
            for (l, each) in chunk.layers.iter().enumerate() {
                tokens.active[l].push(each.active(Part::X, token));
                tokens.active[layers + l].push(each.active(Part::Y, token));
            }
            raise(&mut peaks[0], &chunk.layers[layer - 1], Part::Y, token);
            raise(&mut peaks[1], &chunk.layers[layer], Part::X, token);
        }
        tokens.loss.extend(chunk.surprise);
        Ok(())
    })?;
    Ok((peaks, tokens))
}

fn raise(peaks: &mut [f32], layer: &Layer, part: Part, token: usize) {
    peaks.iter_mut().zip(layer.row(part, token)).for_each(|(p, v)| *p = p.max(v));
}

/// The `count` neurons with the largest values, largest first; ties by number.
fn highest(values: &[f32], count: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..values.len()).collect();
    all.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    all.truncate(count);
    all
}

/// Values of the followed neurons at every token.
struct Paths {
    /// Numbers of the neurons of y and of x.
    ends: [Vec<usize>; 2],
    y: Vec<Vec<f32>>,
    x: Vec<Vec<f32>>,
    /// Of the neurons that turn together with those of x.
    mates: Vec<Vec<f32>>,
}

fn second_pass(cx: &ProbeContext<'_>, ids: &[u32], layer: usize, ends: &[Vec<usize>; 2]) -> Result<Paths> {
    let room = |n: &Vec<usize>| vec![Vec::with_capacity(ids.len()); n.len()];
    let mut paths = Paths { ends: ends.clone(), y: room(&ends[0]), x: room(&ends[1]), mates: room(&ends[1]) };
    firing::read(model(cx)?, ids, cx.device, |chunk| {
        for token in 0..chunk.tokens {
            for (at, &i) in ends[0].iter().enumerate() {
                paths.y[at].push(chunk.layers[layer - 1].at(Part::Y, token, i));
            }
            for (at, &j) in ends[1].iter().enumerate() {
                paths.x[at].push(chunk.layers[layer].at(Part::X, token, j));
                paths.mates[at].push(chunk.layers[layer].at(Part::X, token, j ^ 1));
            }
        }
        Ok(())
    })?;
    Ok(paths)
}

impl Paths {
    fn place(&self, end: usize, neuron: usize) -> usize {
        self.ends[end].iter().position(|n| *n == neuron).unwrap_or_default()
    }

    /// The synapses to tell: the asked one first, then those of the highest rank.
    fn choose(&self, strong: bool, asked: Option<(usize, usize)>) -> Vec<(usize, usize)> {
        let mut ranked = vec![];
        for (a, &i) in self.ends[0].iter().enumerate() {
            for (b, &j) in self.ends[1].iter().enumerate() {
                let gains = self.y[a].iter().zip(&self.x[b]).map(|(y, x)| y * x);
                let score: f32 = if strong { gains.sum() } else { gains.fold(0.0, f32::max) };
                if score > 0.0 && asked != Some((i, j)) {
                    ranked.push((score, i, j));
                }
            }
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        // one synapse for each pair of ends says more than twelve of the same neuron
        let mut told: Vec<(usize, usize)> = asked.into_iter().collect();
        for (_, i, j) in ranked {
            let often = told.iter().filter(|(a, b)| *a == i || *b == j).count();
            if often < 2 && told.len() < TOLD {
                told.push((i, j));
            }
        }
        told
    }

    /// The synapse after every token.
    fn sigma(&self, i: usize, j: usize, turn: Turn) -> Vec<f64> {
        let (y, b) = (&self.y[self.place(0, i)], self.place(1, j));
        let (mut own, mut mate) = (0f64, 0f64);
        let steps = y.iter().zip(self.x[b].iter().zip(&self.mates[b]));
        let each = steps.map(|(y, (x, m))| {
            (own, mate) = turn.step(own, mate);
            own += f64::from(*y) * f64::from(*x);
            mate += f64::from(*y) * f64::from(*m);
            own
        });
        each.collect()
    }
}

/// What one token does to the trace of a neuron of x and of its mate.
#[derive(Debug, Clone, Copy)]
struct Turn {
    cos: f64,
    /// Of the mate's share in the neuron's own trace.
    sin: f64,
    left: f64,
}

impl Turn {
    const NONE: Self = Self { cos: 1.0, sin: 0.0, left: 1.0 };

    /// U of neuron j: a key written s tokens ago meets a query turned by s tokens more.
    fn of(spec: &BdhSpec, j: usize) -> Self {
        let (per_head, attention) = (spec.per_head(), spec.attention());
        let (head, within) = (j / per_head, j % per_head);
        let left = if attention.damped { f64::from(decays(spec.heads)[head]) } else { 1.0 };
        if !attention.rotary {
            return Self { left, ..Self::NONE };
        }
        let angle = f64::from(spec.attention().pair_frequency(within / 2, per_head)) * std::f64::consts::TAU;
        let sin = if within.is_multiple_of(2) { angle.sin() } else { -angle.sin() };
        Self { cos: angle.cos(), sin, left }
    }

    /// The neuron's trace and its mate's, one token later.
    fn step(self, own: f64, mate: f64) -> (f64, f64) {
        (self.left * (own * self.cos + mate * self.sin), self.left * (mate * self.cos - own * self.sin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Device, Tensor, fused::linear_attention::rotate, host};

    /// What stands in the state, q_t^T k_s summed over s, is the rotated trace read at neuron j alone.
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
            let paths =
                Paths { ends: [vec![0], vec![j]], y: vec![y.clone()], x: vec![column(j)], mates: vec![column(j ^ 1)] };
            let found = paths.sigma(0, j, Turn::of(&spec, j));
            for (now, sigma) in found.iter().enumerate() {
                // a query with neuron j alone, turned to `now`
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
