//! Tests the recorded examples on which the labs open: each is small, readable, and was recorded with the present
//! settings of its preset.

use std::collections::BTreeSet;

use orrery::{
    config::Config,
    labs::{
        LABS, Lab,
        examples::{MAX_PACKED, find},
        find as find_lab,
    },
    store::Reader,
    telemetry::{Event, MEASUREMENTS, channels, measurements::TrainedBdh},
    trainer::Plan,
};

/// The events of a lab's example, and the config and plan of its preset.
struct Example {
    events: Vec<Event>,
    config: Config,
    plan: Plan,
}

fn renew(lab: &Lab) -> String {
    format!("the example of {0} is stale or missing: `scripts/examples {0}` records it anew", lab.id)
}

fn example(lab: &Lab) -> Example {
    let packed = find(lab.id).unwrap_or_else(|| panic!("{}", renew(lab))).packed;
    assert!(packed.len() <= MAX_PACKED, "{}: {} bytes", lab.id, packed.len());
    let events = Reader::packed(packed).unwrap_or_else(|e| panic!("{}: {e}", lab.id)).collect();
    let config = lab.opening_config().unwrap();
    Example { events, plan: (lab.plan)(&config).unwrap(), config }
}

#[test]
fn every_example_is_of_its_preset() {
    for lab in LABS {
        let Example { events, config, plan } = example(lab);
        let Some(Event::Started(info)) = events.first() else { panic!("{}", renew(lab)) };
        let recorded = &info.config;
        let differences = [config.changed_keys(recorded), recorded.changed_keys(&config)];
        assert!(differences.iter().all(Vec::is_empty), "{}: {differences:?}", renew(lab));
        assert_eq!((&*recorded.lab, &recorded.preset), (lab.id, &config.preset), "{}", renew(lab));
        assert_eq!((recorded.seed, info.total_steps), (config.seed, plan.steps), "{}", renew(lab));
        let ids: Vec<&str> = info.variants.iter().map(|v| v.id.as_str()).collect();
        let planned: Vec<&str> = plan.variants.iter().map(|v| v.id.as_str()).collect();
        assert_eq!(ids, planned, "{}", renew(lab));
        assert!(info.folder.is_none() && info.inputs.is_empty(), "{}: no file of a machine", lab.id);
    }
}

#[test]
fn every_example_is_read_whole() {
    for lab in LABS {
        let Example { events, plan, .. } = example(lab);
        let mut steps = BTreeSet::new();
        for event in &events {
            match event {
                Event::Notice { text, .. } => panic!("{}: {text}", lab.id),
                Event::Step(stats) => drop(steps.insert(stats.step)),
                _ => {}
            }
        }
        let last = steps.last().copied().unwrap_or(0);
        assert_eq!(last, plan.steps, "{}: its last step", lab.id);
        assert!(steps.len() as u64 >= last.min(100), "{}: {} steps", lab.id, steps.len());
    }
}

#[test]
fn an_example_has_what_its_schedule_measures() {
    for lab in LABS {
        let Example { events, plan, .. } = example(lab);
        let recorded: BTreeSet<&str> = events
            .iter()
            .filter_map(|event| if let Event::Sample(sample) = event { Some(sample.channel.as_str()) } else { None })
            .collect();
        for probe in plan.probes.iter().filter(|probe| probe.every > 0) {
            let of_probe = || MEASUREMENTS.iter().filter(|m| m.probe == probe.probe);
            let has_any = of_probe().any(|m| recorded.contains(m.channel));
            assert!(has_any, "{}: nothing of the probe {}", renew(lab), probe.probe);
        }
    }
}

/// The last value of a curve of the variant with this id.
fn last(example: &Example, variant: &str, channel: &str) -> f64 {
    let variant = example.plan.variants.iter().position(|v| v.id == variant).unwrap();
    let value = example.events.iter().rev().find_map(|event| match event {
        Event::Step(stats) if stats.variant == variant => {
            stats.scalars.iter().find(|(name, _)| name.as_str() == channel).map(|(_, value)| *value)
        }
        _ => None,
    });
    value.unwrap_or_else(|| panic!("no {channel}"))
}

/// The first presets of these labs would not show their effects, because the gate stays closed and the weights are
/// random. The examples must show them.
#[test]
fn an_example_shows_the_effect_of_its_lab() {
    let gated = example(find_lab("fast_slow").unwrap());
    assert!(last(&gated, "coupled", channels::GATE).abs() > 0.1, "its gate is open");
    assert!(last(&gated, "coupled", channels::ACCURACY) > 0.9);
    assert!(last(&gated, "frozen", channels::ACCURACY) < 0.5, "the twin guesses");

    let trained = example(find_lab("trained_bdh").unwrap());
    let measured = trained.events.iter().rev().find_map(|event| match event {
        Event::Sample(sample) => sample.measurement::<TrainedBdh>(),
        _ => None,
    });
    let measured = measured.expect("the model is measured");
    assert!(measured.loss < 0.8 * measured.frequency_loss, "it reads the text");
}
