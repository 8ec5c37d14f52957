//! A graph of neurons as a BDH model would tell it: the real probes, asked of a small model whose
//! weights are drawn here, at first without and then with communities and busy neurons.

use candle_core::{Device, Tensor};
use orrery::{
    config::Value,
    corpus::{self, Corpus},
    models::{Spec, bdh::BdhSpec},
    probe::{self, ProbeContext},
    telemetry::{Args, Payload},
};

use super::Noise;

const NEURONS: usize = 512;
const WIDTH: usize = 16;

/// Strength 0: noise. 1: eight communities, and neurons of very unequal strength.
fn weights(strength: f64) -> (Vec<f32>, Vec<f32>) {
    let mut noise = Noise::new(11);
    let axes: Vec<Vec<f64>> = (0..8).map(|_| (0..WIDTH).map(|_| noise.next()).collect()).collect();
    let mut rows = |push: f64| -> Vec<f32> {
        let row = |i: usize, noise: &mut Noise| -> Vec<f32> {
            let loud = (0.6 * strength * noise.next()).exp();
            let axis = &axes[i * 8 / NEURONS];
            axis.iter().map(|a| (loud * (noise.next() + strength * push * a)) as f32 * 0.02).collect()
        };
        (0..NEURONS).flat_map(|i| row(i, &mut noise)).collect()
    };
    (rows(0.5), rows(0.4))
}

/// (channel, about, payload) of every scheduled question at this strength.
pub fn samples(strength: f64) -> Vec<(&'static str, String, Payload)> {
    let corpus = Corpus::open(&corpus::Spec {
        source: corpus::Source::Generated("harbour".into()),
        tokenizer: corpus::TokenizerSpec::Byte { vocab: 256 },
        held_out: 0.1,
        seed: 1,
    })
    .unwrap();
    let spec = BdhSpec { neurons: NEURONS, d_model: WIDTH, heads: 4, layers: 2, ..BdhSpec::default() };
    let mut model = Spec::Bdh(spec).build(corpus.vocab(), 3, &Device::Cpu).unwrap();
    let (decoder, encoder) = weights(strength);
    let decoder = Tensor::from_vec(decoder, (NEURONS, WIDTH), &Device::Cpu).unwrap();
    let encoder = Tensor::from_vec(encoder, (4, NEURONS / 4, WIDTH), &Device::Cpu).unwrap();
    model.params().load("decoder", &decoder).unwrap();
    model.params().load("encoder", &encoder.transpose(1, 2).unwrap().contiguous().unwrap()).unwrap();
    let args: Args =
        [("edges", 3000), ("most", 16_000), ("restarts", 2)].map(|(k, v)| (k.to_owned(), Value::Int(v))).into();
    let mut all = vec![];
    for id in ["neuron_graph", "graph_curve", "graph_modularity", "graph_neuron"] {
        let mut subject = ProbeContext { seed: 1, ..ProbeContext::alone(model.as_mut(), &corpus, &Device::Cpu, &args) };
        let found = probe::find(id).unwrap().ask(&mut subject).unwrap();
        all.extend(found.into_iter().map(|f| (f.payload.channel().unwrap(), f.about, f.payload)));
    }
    all
}
