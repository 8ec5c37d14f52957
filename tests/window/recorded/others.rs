//! Measurements of the channels that are missing from the recorded run, because a user asks for them or because they
//! belong to other labs. Tests of properties that must hold for every channel need them.

use orrery::{
    telemetry::{Payload, measurements::LongAttentionMaps},
    ui::mirror::Mirror,
};
use serde_json::json;

use super::{SENTENCE, STEPS, attention, measured, sample};

pub fn emit(mirror: &mut Mirror) {
    let progress = json!({ "done": 2, "total": 3 });
    let correlation = json!({ "rho": 0.31, "null_mean": 0.01, "null_sd": 0.05, "p": 0.002 });
    let (counts, line) = (json!([2, 4, 8]), json!([0.2, 0.5, 0.9]));
    let gradients =
        json!({ "progress": progress, "steps": counts, "methods": [{ "method": "adjoint", "values": line }] });
    let class = json!({ "plus": line, "minus": line });
    let steering = json!({ "plus": line, "minus": line, "perplexity": line, "largest_bend": 0.1 });
    let lognormal = json!({ "density": line, "log_ratio": 1.5, "p": 0.02 });
    let power_law = json!({
        "alpha": 2.4, "k_min": 2, "tail": 100, "ks_distance": 0.03, "density": line, "lognormal": lognormal,
    });
    let intervals = json!({
        "interval": [1.0, 8.0, 64.0], "density": line, "mean": 5.5, "longest": 64, "power_law": power_law,
    });
    let pair = json!({
        "from_head": 1, "to_head": 1, "mean": 0.1, "standard_deviation": 1.1, "skewness": 0.5, "kurtosis": 4.5,
        "positive_tail": 1e-3, "negative_tail": 1e-4, "random_tail": 5e-4, "heavy_tail": "positive",
    });
    let text = json!({
        "name": "parliament", "loss": 1.5, "prompt": "The", "continuation": " House",
        "directions": [{ "from": "fr", "to": "en", "tokens": 10, "loss": 2.5 }],
    });
    let all = [
        (
            "graph.core",
            json!({
                "edges": 100, "carrying": 40, "core_k": 9, "core_size": 12, "core_k_rewired": [5, 6, 7],
                "rich_club": 0.5, "rich_club_rewired": line,
            }),
        ),
        ("graph.head_pairs", json!({ "heads": 1, "pairs": [pair] })),
        (
            "fast_slow.gate_entropy",
            json!({
                "gate": 0.2, "layers": ["post.0.r1"], "windows": 8, "entropy": line, "shut": line, "push": line,
                "loss_change": line, "with_push": correlation, "with_loss": correlation,
            }),
        ),
        (
            "layers.readout",
            json!({ "layer": 1, "readers": [2, 3, 4], "explained": line, "permuted": line, "tokens": 1024 }),
        ),
        ("text.domains", json!({ "components": [1, 2, 4], "loss": line, "exchanged": line, "windows": 400 })),
        (
            "synapses.write_intervals",
            json!({
                "layer": 0, "tokens": 1024, "synapses": 4000, "written_twice": 900, "write_share": 0.02,
                "measured": intervals, "shuffled": intervals,
            }),
        ),
        ("synapses.texts", json!({ "texts": [text] })),
        (
            "flow.sweep.tolerance",
            json!({
                "progress": progress, "tolerance": [1e-2, 1e-4, 1e-6],
                "solvers": [{ "method": "dopri5", "policy": "interpolate", "nfe": [8.5, 20.5, 44.5] }],
            }),
        ),
        (
            "flow.sweep.invariance",
            json!({
                "progress": progress, "steps": counts, "controls": [{ "u0": 0.5, "percent": line }],
                "source_percent": 1.5,
            }),
        ),
        (
            "flow.sweep.class",
            json!({ "progress": progress, "u0": line, "held_out": class, "trained": class, "neutral": line }),
        ),
        (
            "flow.sweep.activation",
            json!({ "progress": progress, "strength": line, "control": steering, "vector": steering }),
        ),
        (
            "flow.sweep.difficulty",
            json!({
                "progress": progress, "surprise": line, "next": line, "prompt": line, "token_steps": line,
                "prompt_steps": line, "token_with_surprise": correlation, "token_with_next": correlation,
                "prompt_with_surprise": correlation,
            }),
        ),
        (
            "flow.sweep.layers",
            json!({
                "progress": progress, "taus": line, "accuracy": line, "low": line, "high": line, "chance": 0.5,
            }),
        ),
        ("flow.sweep.latency", json!({ "progress": progress, "turns": [1, 2, 3], "hybrid": line, "baseline": line })),
        ("flow.sweep.gradient_error", gradients.clone()),
        ("flow.sweep.gradient_memory", gradients),
    ];
    let mut events = vec![];
    for (channel, payload) in all {
        let payload = Payload::decode(channel, payload).unwrap_or_else(|e| panic!("{channel}: {e}"));
        sample(&mut events, STEPS, "made up", payload, "", None);
    }
    let maps = attention(STEPS, 0).layers;
    let long = LongAttentionMaps { thumbnails: maps.clone(), layers: maps };
    measured(&mut events, STEPS, "held-out passage 0, 76 tokens", long, SENTENCE);
    events.into_iter().for_each(|event| mirror.apply(event));
}
