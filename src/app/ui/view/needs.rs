//! The requirements of each probe on a model, as text that explains why a panel of another lab stays empty.

use std::sync::LazyLock;

use crate::labs::LABS;

/// The probes by what their models must have.
const NEEDS: &[(&str, &[&str])] = &[
    (
        "It is asked of a model with a slow path beside a fast one, as in the lab Fast-slow gate.",
        &["staircase", "causality", "residual", "generator_distance", "token_residuals", "gate_entropy"],
    ),
    (
        "It is asked of a model with softmax attention.",
        &["attention_maps", "long_attention_maps", "attention_statistics", "attention_chain"],
    ),
    ("It is asked of a model with softmax attention that learns associative recall.", &["pair_attention"]),
    (
        "It is asked of a model whose queries and keys evolve before they meet, as in the lab Coupled attention.",
        &["step_lengths", "query_key_paths"],
    ),
    (
        "It is asked of a model with a flow, as in the lab ODE flow.",
        &["flow", "flow_field", "flow_along", "flow_sweep"],
    ),
    ("It is asked of a flow that was steered: choose a preset that steers in the lab ODE flow.", &["flow_claims"]),
    (
        "It is asked of a network that learns a map from controls to a stationary distribution: the task map of the lab \
         Equilibrium.",
        &["stationary_map", "gap_by_size"],
    ),
    (
        "It is asked of a network that learns where a generator settles, or of a model with a slow path, as in the lab \
         Equilibrium.",
        &["generator", "generator_flow"],
    ),
    (
        "It is asked of a model with blocks of traces, as in the lab EMA language model.",
        &["unit_usage", "autocorrelation", "trace_reading"],
    ),
    (
        "It is asked of a model with blocks of traces, or of a transformer with ALiBi, that learns a text and no task, as in \
         the lab EMA language model.",
        &["position_losses"],
    ),
    ("It is asked of a model that reads a text part by part.", &["warm_up", "fast_weights", "uncertainty"]),
    ("It is asked of a model that predicts the next token of a running text.", &["adaptation"]),
    ("It is asked of a transformer whose layers can be tapped, as in the lab EMA language model.", &["layer_readout"]),
    ("It is asked of a reader that is trained to name past tokens, as in the lab Traces.", &["recoverability"]),
    ("It is asked of a network that settles on a sentence, as in the lab Grammar roles.", &["settling"]),
    ("It is asked of a model that reads sentences with roles, as in the lab Grammar roles.", &["role_accuracy"]),
    (
        "It is asked of a model with synapses, a BDH.",
        &[
            "reading",
            "merging",
            "logit_lens",
            "intervention",
            "trained_bdh",
            "surprise",
            "concepts",
            "neuron_graph",
            "graph_neuron",
            "graph_modularity",
            "graph_curve",
            "head_pairs",
            "core_periphery",
            "activity",
            "top_contexts",
            "texts",
            "write_intervals",
            "query_key_maps",
            "concept_effect",
            "candidates",
            "bdh_dynamics",
            "bdh_theory",
        ],
    ),
    (
        "It is asked of a model that predicts the next token of a text.",
        &["next_tokens", "token_baselines", "domain_coherence"],
    ),
];

/// The property of the models that a probe can ask, in a sentence; empty for an unknown probe.
pub fn needs_of(probe: &str) -> &'static str {
    NEEDS.iter().find(|(_, probes)| probes.contains(&probe)).map_or("", |(words, _)| words)
}

/// The same for a run of this lab that does not schedule the probe: a preset of its own that asks it comes first.
pub fn needs_in(lab: &str, probe: &str) -> String {
    let words = needs_of(probe);
    let asks = |preset: &&AskingPreset| preset.lab == lab && preset.probes.iter().any(|asked| asked == probe);
    let Some(AskingPreset { title, .. }) = ASKING_PRESETS.iter().find(asks) else { return words.to_owned() };
    let (what, _) = words.split_once(", as in the lab").unwrap_or((words, ""));
    format!("{}. This lab\u{2019}s preset \u{201c}{title}\u{201d} has one.", what.trim_end_matches('.'))
}

/// A preset with the probes that its schedule asks.
struct AskingPreset {
    lab: &'static str,
    title: &'static str,
    probes: Vec<String>,
}

/// The presets that can be planned, each with the probes of its schedule.
static ASKING_PRESETS: LazyLock<Vec<AskingPreset>> = LazyLock::new(|| {
    let presets = LABS.iter().flat_map(|lab| lab.presets.iter().map(move |preset| (*lab, preset)));
    let asking = presets.filter_map(|(lab, preset)| {
        let plan = lab.config(Some(preset.id)).and_then(|config| (lab.plan)(&config)).ok()?;
        let probes = plan.probes.into_iter().filter(|p| p.every > 0).map(|p| p.probe).collect();
        Some(AskingPreset { lab: lab.id, title: preset.title, probes })
    });
    asking.collect()
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::MEASUREMENTS;

    #[test]
    fn a_preset_of_the_lab_itself_is_named_before_another_lab() {
        let words = needs_in("equilibrium", "generator_distance");
        assert!(words.contains("This lab\u{2019}s preset \u{201c}A trained block\u{201d}"), "{words}");
        assert!(!words.contains("Fast-slow"), "{words}");
        assert_eq!(needs_in("fast_slow", "flow"), needs_of("flow"));
    }

    #[test]
    fn the_needs_of_every_probe_are_known() {
        for entry in MEASUREMENTS {
            assert!(!needs_of(entry.probe).is_empty(), "{}", entry.probe);
        }
    }
}
