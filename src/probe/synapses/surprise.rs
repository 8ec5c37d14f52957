//! Sparsity and surprise (the paper's figure 14): words that are met for the first time and then again
//! and again, and how much of each layer fires meanwhile.

use super::{
    super::{Finding, Probe, ProbeContext},
    activity,
    firing::{self, Chunk, Part},
    model, random, synapses_of,
};
use crate::{
    analysis::statistics,
    corpus::generated::repeats::{self, PERIOD, WARM, WORD},
    models::{Model, capabilities::SynapseModel},
    nn::Result,
    telemetry::{Line, Payload, Series, channels},
};

/// Argument: `periods` (16). Reads so many new words, each anew after a period of another word: a model that
/// was trained on windows of two periods has not learned to read on for ever. Answers a
/// bundle of series over the position in a period, all means over periods: `trained` and `random` (lines
/// `x0`.., `y0`.., shares that fire), `loss` (lines `trained`, `random`, nats), `octaves` (x: RoPE octave,
/// lines: share of y that fires at memorisation and at repetitions 5 to 8, layer by layer), and of each layer
/// the correlation of its y's share with the loss over the tokens of memorisation and repetition,
/// `correlation`.
pub struct Surprise;

/// Which repetitions count as known.
const KNOWN: std::ops::Range<usize> = 4..8;

impl Probe for Surprise {
    fn id(&self) -> &'static str {
        "surprise"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.synapses().is_some()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let periods = cx.args.get("periods").and_then(|v| v.as_f64()).unwrap_or(16.0).clamp(2.0, 256.0) as usize;
        // words that no training text of this seed has
        let text = repeats::fresh(cx.seed, 2 * periods);
        let ids = cx.corpus.encode(&text);
        if ids.len() != text.len() {
            candle_core::bail!("surprise is measured letter by letter; choose the tokeniser byte or char");
        }
        let trained = Means::of(model(cx)?, &ids, cx)?;
        let random = random(cx)?;
        let untrained = Means::of(synapses_of(random.as_ref())?, &ids, cx)?;
        let layers = model(cx)?.spec().layers;
        let positions: Vec<f64> = (0..PERIOD).map(|p| p as f64).collect();
        let over = |y_label: &str, lines: Vec<Line>| {
            Payload::Series(Series {
                x_label: "position in the period (letters)".into(),
                y_label: y_label.into(),
                x: positions.clone(),
                lines,
            })
        };
        let fires = |means: &Means| {
            let lines = activity::names(layers).into_iter().zip(&means.shares);
            over("share of neurons that fire", lines.map(|(name, y)| Line { name, y: y.clone() }).collect())
        };
        let line = |name: &str, y: &[f64]| Line { name: name.into(), y: y.to_vec() };
        let octaves = Series {
            x_label: "octave of the neuron's rotation (0 the fastest)".into(),
            y_label: "share of y that fires".into(),
            x: (0..OCTAVES).map(|o| o as f64).collect(),
            lines: (0..layers)
                .flat_map(|l| [("memorised", 0), ("known", 1)].map(|(n, k)| (l, n, k)))
                .map(|(l, name, k)| line(&format!("y{l} {name}"), &trained.octaves[l][k]))
                .collect(),
        };
        let correlation = Series {
            x_label: "layer".into(),
            y_label: "correlation of y's share with the loss".into(),
            x: (0..layers).map(|l| l as f64).collect(),
            lines: vec![
                line("trained", &trained.correlations(layers)),
                line("random", &untrained.correlations(layers)),
            ],
        };
        let payload = Payload::Bundle(vec![
            ("trained".into(), fires(&trained)),
            ("random".into(), fires(&untrained)),
            ("loss".into(), over("loss (nats)", vec![line("trained", &trained.loss), line("random", &untrained.loss)])),
            ("octaves".into(), Payload::Series(octaves)),
            ("correlation".into(), Payload::Series(correlation)),
        ]);
        let about = format!(
            "mean over {periods} new words of {WORD} letters, each read 8 times after {WARM} fixed letters and a period of another word"
        );
        Ok(vec![Finding { channel: channels::SURPRISE, about, tokens: vec![], payload }])
    }
}

/// Groups of neurons by the logarithm of their period, equally many in each.
const OCTAVES: usize = 8;

/// Means over periods, by position in the period.
struct Means {
    /// x of every layer, then y of every layer.
    shares: Vec<Vec<f64>>,
    loss: Vec<f64>,
    /// By layer: at memorisation and when known, by octave.
    octaves: Vec<[Vec<f64>; 2]>,
}

impl Means {
    fn of(model: &dyn SynapseModel, ids: &[u32], cx: &ProbeContext<'_>) -> Result<Self> {
        let (layers, n) = (model.spec().layers, model.spec().neurons);
        let per_head = model.spec().per_head();
        let groups = speeds(&model.spec().turns());
        let mut shares = vec![vec![0.0; PERIOD]; 2 * layers];
        let mut loss = vec![0.0; PERIOD];
        let mut octaves = vec![[vec![0.0; OCTAVES], vec![0.0; OCTAVES]]; layers];
        let counted = (ids.len() / (2 * PERIOD)) as f64;
        let mut take = |chunk: Chunk| {
            for token in 0..chunk.tokens {
                let Some(at) = (chunk.from + token).checked_sub(PERIOD) else { continue };
                loss[at] += chunk.surprise[token] / counted;
                let phase = phase(at);
                for (l, layer) in chunk.layers.iter().enumerate() {
                    shares[l][at] += layer.active(Part::X, token) / counted;
                    shares[layers + l][at] += layer.active(Part::Y, token) / counted;
                    let Some(phase) = phase else { continue };
                    let letters = if phase == 0 { WORD } else { WORD * KNOWN.len() } as f64;
                    let one = OCTAVES as f64 / (n as f64 * letters * counted);
                    for (neuron, _) in layer.row(Part::Y, token).enumerate().filter(|(_, v)| *v > 0.0) {
                        octaves[l][phase][groups[neuron % per_head / 2]] += one;
                    }
                }
            }
            Ok(())
        };
        for two in ids.chunks_exact(2 * PERIOD) {
            firing::read(model, two, cx.device, &mut take)?;
        }
        Ok(Self { shares, loss, octaves })
    }

    /// Pearson's, by layer, over the letters of the word and its repetitions.
    fn correlations(&self, layers: usize) -> Vec<f64> {
        (0..layers).map(|l| statistics::correlation(&self.shares[layers + l][WARM..], &self.loss[WARM..])).collect()
    }
}

/// The group of each pair of neurons by how fast it turns, 0 the fastest; equally many in each.
fn speeds(turns: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by(|&a, &b| turns[b].total_cmp(&turns[a]).then(a.cmp(&b)));
    let mut groups = vec![0; turns.len()];
    for (rank, pair) in order.into_iter().enumerate() {
        groups[pair] = rank * OCTAVES / turns.len();
    }
    groups
}

/// 0 while the word is new, 1 while it is known, nothing in between and in the warm-up.
fn phase(at: usize) -> Option<usize> {
    let repetition = at.checked_sub(WARM)? / WORD;
    match repetition {
        0 => Some(0),
        r if KNOWN.contains(&r) => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::bdh::BdhSpec;

    #[test]
    fn groups_follow_the_speed_whatever_the_order_of_the_neurons() {
        let turns = BdhSpec { heads: 1, neurons: 64, ..BdhSpec::default() }.turns();
        let groups = speeds(&turns);
        assert!(groups.iter().enumerate().all(|(pair, g)| *g == pair * OCTAVES / 32), "{groups:?}");
        // side by side, as merging puts them
        let merged = speeds(&[turns.clone(), turns].concat());
        assert_eq!(merged[..32], merged[32..]);
    }
}
