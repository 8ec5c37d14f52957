//! Tests the read-outs of networks of predictive columns: at a small size, properties that hold at any; at the full
//! size, earlier results within their spread (slow, only if `ORRERY_SLOW_LESSONS` is set).

use orrery_lab::{
    config::Settings,
    labs::grammar_roles::{self, settings::GrammarRolesSettings},
    nn,
    telemetry::{
        Measurement,
        measurements::{RoleAccuracy, RoleFeatures},
    },
    trainer::Run,
};

/// Trains all variants and returns each one's label with its accuracies.
fn accuracies(settings: &[(&str, &str)], seed: u64) -> Vec<(String, RoleAccuracy)> {
    nn::set_threads(2);
    let config = grammar_roles::config(settings, seed).unwrap();
    let mut run =
        Run::open(grammar_roles::plan(&config, &GrammarRolesSettings::read(&config).unwrap()).unwrap()).unwrap();
    while run.step < run.plan.steps {
        for i in 0..run.variants.len() {
            run.update(i).unwrap();
        }
        run.finish_step().unwrap();
    }
    let args = run.plan.probes[0].args.clone();
    (0..run.variants.len())
        .map(|i| {
            let samples = run.ask(i, "role_accuracy", &args).unwrap();
            (run.variants[i].spec.id.clone(), RoleAccuracy::from_payload(&samples[0].payload).unwrap().clone())
        })
        .collect()
}

fn shares(all: &[(String, RoleAccuracy)], id: &str, features: RoleFeatures) -> [f64; 3] {
    let (_, accuracy) = all.iter().find(|(of, _)| of == id).unwrap();
    accuracy.accuracies(accuracy.by_features(features).unwrap())
}

#[test]
fn traces_predict_roles_better_than_the_word_alone() {
    let small = [
        ("network.units", "128"),
        ("network.levels", "3"),
        ("grammar.train", "300"),
        ("grammar.test", "150"),
        ("train.batch", "20"),
        ("roles.levels", "1"),
        ("compare.forward_only", "true"),
    ];
    let all = accuracies(&small, 1);
    let [within, _, deep] = shares(&all, "network", RoleFeatures::Both);
    let [activation, _, activation_deep] = shares(&all, "network", RoleFeatures::Activation);
    let [forward, _, _] = shares(&all, "forward_only", RoleFeatures::Both);
    let [words, ..] = shares(&all, "words", RoleFeatures::Traces);
    assert!(within > activation + 0.1 && deep > activation_deep + 0.2, "traces: {within} {deep}, without {activation}");
    assert!(within > forward + 0.05, "both directions matter: {within}, {forward}");
    // reading only from the left, about a third of the words in half of the sentences are ambiguous
    assert!(forward < 0.86, "{forward}");
    assert!(words > 0.9, "most of it needs no network: {words}");
}

/// The expected values are means and standard deviations over three seeds with 2,000 sentences. The mean of three other
/// seeds may differ by three standard errors of the difference.
#[test]
fn the_table_is_within_its_spread() {
    if std::env::var_os("ORRERY_SLOW_LESSONS").is_none() {
        return;
    }
    let seeds: Vec<_> = (1..=3).map(|seed| accuracies(&[("roles.levels", "1")], seed)).collect();
    for (features, means, sds) in [
        (RoleFeatures::Activation, [0.779, 0.409, 0.314], [0.016, 0.010, 0.018]),
        (RoleFeatures::Traces, [0.965, 0.496, 0.722], [0.004, 0.012, 0.023]),
        (RoleFeatures::Both, [0.976, 0.625, 0.836], [0.004, 0.018, 0.038]),
    ] {
        for i in 0..3 {
            let found = seeds.iter().map(|all| shares(all, "network", features)[i]).sum::<f64>() / 3.0;
            let off = (found - means[i]).abs() / (sds[i] * (2.0f64 / 3.0).sqrt());
            assert!(off < 3.0, "{features:?} {i}: {found:.3} is {off:.1} standard errors from {}", means[i]);
        }
    }
}
