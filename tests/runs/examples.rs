//! The recorded examples on which the labs open: each is small, can be read, and is of its preset as that is today.

use std::collections::BTreeSet;

use orrery::{
    config::Config,
    labs::{
        LABS, Lab,
        examples::{MAX_PACKED, find},
    },
    store::Reader,
    telemetry::{Event, MEASUREMENTS},
    trainer::Plan,
};

/// The example of a lab, its events, and the plan of the preset that it is of.
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
