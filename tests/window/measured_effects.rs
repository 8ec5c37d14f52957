//! Tests views that add a measurement to their usual content: the entropy behind a gate, and how much of a layer's
//! output later layers can still read.

use orrery::{
    telemetry::{
        Event, Measurement, Sample, StepStats, channels,
        measurements::{GateEntropy, LayerReadout, RankCorrelation},
    },
    ui::mirror::Mirror,
};

use crate::{
    recorded,
    tiles::{Tile, painted, sized},
};

fn measure<M: Measurement>(mirror: &mut Mirror, step: u64, variant: usize, measurement: M) {
    let measured = recorded::bare_sample(measurement.into_payload());
    mirror.apply(Event::Sample(Sample { step, variant, about: "8 held-out windows".into(), ..measured }));
}

/// All painted texts, joined by spaces, the tile's subtitle and its table.
fn texts_and_table(view: &'static str, mirror: Mirror) -> (String, String, String) {
    let harness = Tile::new(view, mirror).shown(sized(640.0, 420.0));
    let tile = harness.state();
    (painted(&harness).join(" "), tile.subtitle.clone(), tile.csv.clone().unwrap_or_default())
}

#[test]
fn the_gate_says_what_it_does_to_the_entropy_behind_it() {
    let mut mirror = recorded::twins();
    let (before, ..) = texts_and_table("gate", recorded::twins());
    assert!(!before.contains("entropy"), "nothing was measured");
    let correlation = |rho| RankCorrelation { rho, null_mean: 0.01, null_sd: 0.05, p: 0.002 };
    let measured = |at: f64, rho: f64| GateEntropy {
        gate: at,
        layers: vec!["post.0.r1".into()],
        windows: 8,
        entropy: vec![1.5 - at; 64].into(),
        shut: vec![1.5; 64].into(),
        push: vec![at; 64].into(),
        loss_change: vec![-at; 64].into(),
        with_push: correlation(-rho),
        with_loss: correlation(rho),
    };
    for (step, measurement) in [(0, measured(0.0, f64::NAN)), (recorded::STEPS, measured(0.2, 0.31))] {
        measure(&mut mirror, step, 0, measurement);
    }
    let (painted, said, table) = texts_and_table("gate", mirror);
    assert!(painted.contains("\u{394} entropy (nats)"), "{painted}");
    assert!(said.contains("the loss by +0.31 (rotated +0.01 \u{b1} 0.05, p 0.002)"), "{said}");
    assert!(table.lines().next().unwrap().contains("entropy, open less shut coupled"), "{table}");
}

#[test]
fn recoverability_over_depth_has_a_line_a_variant_and_its_null() {
    let mut mirror = recorded::twins();
    let (before, ..) = texts_and_table("recoverability", recorded::twins());
    assert!(
        before.contains("tokens back")
            && before.contains("most common token: 0.09")
            && !before.contains("layer that reads"),
        "{before}"
    );
    for (variant, left) in [0.2, 0.6].into_iter().enumerate() {
        let measured = LayerReadout {
            layer: 1,
            readers: vec![2, 3, 4],
            explained: vec![1.0, 0.8, left].into(),
            permuted: vec![-0.01; 3].into(),
            tokens: 1024,
        };
        measure(&mut mirror, recorded::STEPS, variant, measured);
    }
    let (painted, said, table) = texts_and_table("recoverability", mirror);
    assert!(painted.contains("layer that reads; the last is the final norm"), "{painted}");
    assert!(said.contains("what layer 1 added, read later"), "{said}");
    let columns = table.lines().next().unwrap_or_default();
    assert!(columns.contains("coupled, tokens exchanged") && columns.contains("frozen"), "{columns}");
    assert!(table.contains("0.6"), "{table}");
}

#[test]
fn a_step_of_the_staircase_says_from_where_its_change_is() {
    let (painted, ..) = texts_and_table("mechanisms", recorded::twins());
    assert!(painted.contains("from left"), "{painted}");
}

#[test]
fn the_time_of_a_short_run_is_a_median_of_its_own_steps() {
    let mut mirror = Mirror::default();
    mirror.apply(Event::Started(recorded::twins_info().into()));
    let scalars = vec![(channels::STEP_MS.into(), 4.0)];
    mirror.apply(Event::Step(StepStats { step: 60, variant: 0, scalars, wall_secs: 0.0 }));
    let (painted, ..) = texts_and_table("cost", mirror);
    assert!(painted.contains("median of the last 60 training steps"), "{painted}");
}
