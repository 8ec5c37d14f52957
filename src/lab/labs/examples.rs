//! The recorded examples: of each lab a short run of one preset, packed by `scripts/examples` and read by
//! `orrery_engine::store::Reader::packed`.

use crate::probe;

pub struct Example {
    pub lab: &'static str,
    /// The preset of the recorded run: the lab's first one or, if that shows little, the one that shows the effect of
    /// the lab. The lab opens with its settings.
    pub preset: &'static str,
    pub packed: &'static [u8],
}

/// Expands to the examples of these labs, each with its preset.
macro_rules! examples {
    ($($lab:literal: $preset:literal),* $(,)?) => {
        &[$(Example {
            lab: $lab,
            preset: $preset,
            packed: include_bytes!(concat!("../../../assets/examples/", $lab, ".run.gz")),
        }),*]
    };
}

/// The largest number of bytes of a packed example.
pub const MAX_PACKED: usize = 150_000;

static EXAMPLES: &[Example] = examples! {
    // on prose the gate hardly opens
    "fast_slow": "fast_slow_needed",
    "equilibrium": "equilibrium",
    "traces": "traces",
    "grammar_roles": "grammar_roles",
    "spen": "spen",
    "ode_flow": "ode_flow",
    // until a checkpoint is opened its weights are random
    "trained_bdh": "trained_bdh_here",
    "synapses": "synapses",
    "neuron_graph": "neuron_graph",
    "bdh_physics": "bdh_physics",
    "coupled_qk": "coupled_qk",
};

pub fn find(lab: &str) -> Option<&'static Example> {
    EXAMPLES.iter().find(|example| example.lab == lab)
}

/// True if an example may answer this probe: it has no weights, and the answer may need none.
pub fn may_answer(probe: &str) -> bool {
    probe::find(probe).is_some_and(|probe| probe.may_need_no_weights)
}
