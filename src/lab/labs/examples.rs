//! The recorded examples: of each lab a short run of its first preset, packed by `scripts/examples` and read by
//! `orrery_engine::store::Reader::packed`.

/// Expands to the packed examples of these labs, by their ids.
macro_rules! examples {
    ($($lab:literal),* $(,)?) => {
        &[$(($lab, include_bytes!(concat!("../../../assets/examples/", $lab, ".run.gz")))),*]
    };
}

/// The most bytes of a packed example.
pub const MAX_PACKED: usize = 150_000;

static EXAMPLES: &[(&str, &[u8])] = examples![
    "fast_slow",
    "equilibrium",
    "traces",
    "grammar_roles",
    "spen",
    "ode_flow",
    "trained_bdh",
    "synapses",
    "neuron_graph",
    "bdh_physics",
    "coupled_qk",
];

/// The packed example of a lab.
pub fn find(lab: &str) -> Option<&'static [u8]> {
    EXAMPLES.iter().find(|(id, _)| *id == lab).map(|(_, packed)| *packed)
}
