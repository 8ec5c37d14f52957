//! One neuron: the neurons that it excites and inhibits most and that excite and inhibit it, the tokens that make it
//! fire in the first layer, and the tokens that it writes towards.

use super::Factors;
use crate::{analysis::graph::product::Sign, probe::prelude::*, telemetry::read_neurons};

/// Partners and tokens listed of each kind.
const PARTNERS: usize = 6;
const TOKENS: usize = 8;

/// The partners are taken from the whole graph.
impl Probe for GraphNeuronArgs {
    type Answer = GraphNeuron;
    type Subject<'m> = &'m dyn SynapseModel;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        // A neuron's partners are listed with either sign, whichever sign the edges of the graph have.
        let whole = NeuronGraphArgs { from_head: 0, to_head: 0, sign: Sign::Both, ..self.graph.clone() };
        let factors = Factors::new(model, &whole, cx)?;
        let (named, shape) = (self.neuron.as_deref().unwrap_or_default(), &factors.shape);
        let i = match read_neurons(named, shape.heads, shape.per_head()).map_err(Error::Msg)?[..] {
            [] => factors.max_row_norm_neuron(),
            [one] => one,
            _ => bail!("one neuron is asked about at a time, not `{named}`"),
        };
        let to = strongest(&factors.effects_of(i), i);
        let from = strongest(&factors.effects_on(i), i);
        let (writes, reads) = tokens(model, &factors, i)?;
        let partners = |found: Vec<(usize, f32)>| {
            let partner = |(j, g)| Partner { neuron: j as u32, head: factors.head(j), entry: f64::from(g) };
            found.into_iter().map(partner).collect()
        };
        let measured = GraphNeuron {
            neuron: i as u32,
            head: factors.head(i),
            heads: factors.shape.heads as u32,
            per_head: factors.shape.per_head() as u32,
            octave: factors.octave(i),
            acts_on: partners(to),
            acted_on_by: partners(from),
            reads: ranked(&reads, cx.corpus),
            writes: ranked(&writes, cx.corpus),
        };
        let about = format!("{}, {}", factors.label(i), factors.about(&whole));
        Ok(Answer::new(measured, about, vec![]))
    }
}

/// The largest entries of either sign, by falling value; not the neuron's own.
fn strongest(effects: &[f32], own: usize) -> Vec<(usize, f32)> {
    let mut all: Vec<(usize, f32)> = effects.iter().copied().enumerate().filter(|(j, _)| *j != own).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    if all.len() > 2 * PARTNERS {
        all.drain(PARTNERS..all.len() - PARTNERS);
    }
    all
}

/// Two values for each token: the amount that the neuron's row of E adds to its logit (before the norm, which scales
/// all logits equally), and the amount that the token's embedding gives the neuron in the first layer.
fn tokens(model: &dyn SynapseModel, factors: &Factors, i: usize) -> Result<(Vec<f32>, Vec<f32>)> {
    let get = |name: &str| model.params().detached(name);
    let (head, embed) = (get("lm_head")?, get("embed.weight")?); // (D, V), (V, D)
    let d = factors.shape.d_model;
    let row = get("decoder")?.narrow(0, i, 1)?; // (1, D)
    let writes = host::to_f32(&row.matmul(&head)?)?; // (1, V)
    let mean = writes.iter().sum::<f32>() / writes.len().max(1) as f32;
    let n = factors.shape.per_head();
    let column = host::to_f32(&get("encoder")?.get(i / n)?.narrow(1, i % n, 1)?)?; // (D)
    let norm = |v: &[f32]| -> f32 {
        let mean = v.iter().sum::<f32>() / d as f32;
        let var = v.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / d as f32;
        v.iter().zip(&column).map(|(x, w)| (x - mean) * w).sum::<f32>() / (var + 1e-5).sqrt()
    };
    let reads = host::to_f32(&embed)?.chunks_exact(d).map(norm).collect();
    Ok((writes.iter().map(|w| w - mean).collect(), reads))
}

/// The highest scores with their tokens.
fn ranked(scores: &[f32], corpus: &Corpus) -> Vec<TokenScore> {
    let scored = |t: usize| TokenScore { token: corpus.token_text(t as u32), score: f64::from(scores[t]) };
    statistics::largest(scores, TOKENS).into_iter().map(scored).collect()
}
