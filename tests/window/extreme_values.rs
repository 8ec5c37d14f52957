//! Tests every view with extreme values in every channel: NaN, the infinities, the largest and the smallest numbers.
//! Each view must draw them with a bounded number of vertices and export them as a table and an SVG.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use egui_kittest::Harness;
use orrery::{
    telemetry::{Event, MEASUREMENTS, Payload, Sample, StepStats},
    ui::mirror::Mirror,
};
use serde_json::{Map, Value, json};
use std::{
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

use crate::{
    recorded,
    tessellation::{shown_in, tile, vertices, view_ids},
    tiles::Tile,
};

/// Values that replace the measured ones in turn; `None` keeps the measured value.
const MIXTURES: &[(&str, &[Option<f64>])] = &[
    ("NaN", &[Some(f64::NAN)]),
    ("infinity", &[Some(f64::INFINITY)]),
    ("minus infinity", &[Some(f64::NEG_INFINITY)]),
    ("1e308", &[Some(1e308)]),
    ("-1e308", &[Some(-1e308)]),
    ("1e-308", &[Some(1e-308)]),
    ("the least number", &[Some(5e-324)]),
    ("1e38", &[Some(1e38)]),
    ("zero", &[Some(0.0)]),
    ("both ends", &[Some(f64::MAX), Some(f64::MIN)]),
    ("spikes", &[None, None, None, Some(1e308), None, None, Some(-1e308), None, Some(f64::NAN)]),
    ("large single-precision spikes", &[None, None, Some(3e38), None, Some(-3e38), None, None, Some(1e20)]),
    (
        "everything",
        &[
            None,
            Some(f64::NAN),
            Some(1e308),
            None,
            Some(f64::NEG_INFINITY),
            Some(5e-324),
            Some(-1e308),
            Some(0.0),
            Some(f64::INFINITY),
            None,
            Some(1e-308),
        ],
    ),
];

/// Replaces measured values by these values in turn.
struct Altered<'a> {
    values: &'a [Option<f64>],
    next: usize,
}

impl Altered<'_> {
    fn value(&mut self, measured: f64) -> f64 {
        self.next += 1;
        self.values[self.next % self.values.len()].unwrap_or(measured)
    }

    fn json(&mut self, json: &mut Value) {
        match json {
            Value::Number(n) if n.is_f64() => *json = number(self.value(n.as_f64().unwrap_or(0.0))),
            Value::Array(all) => all.iter_mut().for_each(|v| self.json(v)),
            Value::Object(all) => self.object(all),
            _ => {}
        }
    }

    fn object(&mut self, all: &mut Map<String, Value>) {
        let encoded = ["f32", "f16"].into_iter().find_map(|form| Some((form, all.get(form)?.as_str()?.to_owned())));
        let Some((form, text)) = encoded.filter(|_| all.contains_key("shape")) else {
            return all.values_mut().for_each(|v| self.json(v));
        };
        let count = BASE64.decode(text).unwrap().len() / if form == "f32" { 4 } else { 2 };
        let mut bytes = Vec::with_capacity(4 * count);
        (0..count).for_each(|i| bytes.extend_from_slice(&(self.value(i as f64 * 0.1) as f32).to_le_bytes()));
        all.retain(|key, _| key == "shape");
        all.insert("f32".to_owned(), BASE64.encode(bytes).into());
    }
}

/// Encodes a number in the way of [`orrery::telemetry::number`].
fn number(v: f64) -> Value {
    match v {
        v if v.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        v => json!(v),
    }
}

/// The run with its measured numbers replaced.
fn altered(run: &Mirror, values: &[Option<f64>]) -> Mirror {
    let mut values = Altered { values, next: 0 };
    let mut mirror = Mirror::default();
    mirror.apply(Event::Started(run.info.clone().unwrap()));
    for (channel, variants) in run.scalar_channels() {
        for variant in variants {
            for (step, v) in run.curve(variant, channel.as_str()).unwrap().points(0, u64::MAX) {
                let scalars = vec![(channel.clone(), values.value(v))];
                mirror.apply(Event::Step(StepStats { step, variant, scalars, wall_secs: 0.0 }));
            }
        }
    }
    let variants = 0..run.variants().len();
    for (variant, channel) in variants.flat_map(|v| MEASUREMENTS.iter().map(move |m| (v, m.channel))) {
        let answers = run.answer(variant, channel).into_iter().cloned();
        for sample in run.samples(variant, channel).iter().cloned().chain(answers) {
            let mut json = serde_json::to_value(&*sample.payload).unwrap();
            values.json(&mut json);
            let payload = Payload::decode(channel, json).unwrap_or_else(|e| panic!("{channel}: {e}"));
            mirror.apply(Event::Sample(Sample { payload: Arc::new(payload), ..sample }));
        }
    }
    mirror.apply(Event::State(run.state.clone().unwrap()));
    mirror
}

/// Draws two frames of a view, exports the table and the SVG of the second, and returns the mirror. The window is kept
/// for the next view, unless this one panics.
fn drawn(window: &mut Option<Harness<'static, Tile>>, view: &str, mirror: Mirror, when: &str) -> Mirror {
    let tile = Tile { writes: false, ..tile(view, mirror) };
    let mut harness = shown_in(window.take(), tile);
    vertices(&harness, when);
    harness.state_mut().writes = true;
    harness.step();
    vertices(&harness, when);
    let svg = harness.state().svg.clone().unwrap_or_default();
    let lost = ["\"NaN", "\"inf", "\"-inf", "MNaN", "LNaN", "Minf", "Linf", ",NaN", ",inf", " NaN", " inf"];
    // numbers are inside tags; text between tags may contain "NaN"
    let tags = svg.split('<').filter_map(|t| t.split('>').next());
    for tag in tags.filter(|tag| tag.contains("NaN") || tag.contains("inf")) {
        assert!(!lost.iter().any(|l| tag.contains(l)), "{when}: <{tag}>");
    }
    let mirror = std::mem::take(&mut harness.state_mut().mirror);
    *window = Some(harness);
    mirror
}

#[test]
fn every_view_draws_extreme_values() {
    let mut twins = recorded::twins();
    recorded::others::emit(&mut twins);
    let is_measured = |channel: &str| !twins.samples(0, channel).is_empty() || twins.answer(0, channel).is_some();
    let missing = MEASUREMENTS.iter().filter(|m| !is_measured(m.channel)).map(|m| m.channel).collect::<Vec<_>>();
    assert!(missing.is_empty(), "of no sample: {missing:?}");
    let (mut failed, mut window) = (vec![], None);
    for (name, values) in MIXTURES {
        let mut ready = None;
        for view in view_ids() {
            let mirror = ready.take().unwrap_or_else(|| altered(&twins, values));
            let when = format!("{view} of {name}");
            match panic::catch_unwind(AssertUnwindSafe(|| drawn(&mut window, view, mirror, &when))) {
                Ok(mirror) => ready = Some(mirror),
                Err(_) => failed.push(when),
            }
        }
    }
    assert!(failed.is_empty(), "{} do not: {failed:#?}", failed.len());
}
