//! Tests the Synapses lab: its probes on a trained model, and its views through user input.

use candle_core::Device;
use crossbeam::channel::unbounded;
use eframe::egui::accesskit::Role;
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::{Config, Value},
    corpus::Corpus,
    labs::{self, merging::MergingSettings},
    models::{ModelSpec, Trainable},
    nn::{Tap, Tensor, host},
    probe::{self, Answer, ProbeInputs},
    telemetry::{
        Args, Command, Measurement, Synapse, channels,
        measurements::{Activity, FiringShare, LayerActivity, Surprise, SynapseReading},
    },
    trainer::{self, DriveOptions, Plan},
    ui::mirror::Mirror,
};

use crate::{
    config_with::{config_with, plan_with},
    record::Record,
    tiles::Tile,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn config(preset: &str, set: &[(&str, &str)]) -> Config {
    config_with("synapses", Some(preset), set)
}

const SMALL: &[(&str, &str)] = &[
    ("model.neurons", "128"),
    ("model.d_model", "16"),
    ("model.heads", "2"),
    ("model.layers", "3"),
    ("train.batch", "4"),
    ("train.window", "80"),
    ("run.device", "cpu"),
    ("run.threads", "1"),
    ("reading.text", "the keeper of the old light found a key"),
];

fn plan(preset: &str, set: &[(&str, &str)]) -> Plan {
    plan_with("synapses", Some(preset), &[SMALL, set].concat()).unwrap()
}

fn run(plan: Plan) -> Mirror {
    let heard = Record::default();
    let (_, receiver) = unbounded();
    let outcome = trainer::drive(
        plan,
        DriveOptions { start: true, ..DriveOptions::default() },
        &receiver,
        vec![Box::new(heard.clone())],
    );
    assert_eq!(outcome.state, orrery::telemetry::RunState::Finished);
    let mut mirror = Mirror::default();
    heard.events().into_iter().for_each(|e| mirror.apply(e));
    mirror
}

fn decoded<M: Measurement>(finding: &Answer) -> &M {
    M::from_payload(&finding.payload).unwrap_or_else(|| panic!("{} holds {:?}", M::CHANNEL, finding.payload))
}

#[test]
fn sparsity_begins_at_the_half_and_the_quarter_of_random_weights_and_falls() {
    let sizes =
        [("model.neurons", "512"), ("model.d_model", "32"), ("train.steps", "60"), ("probe.activity_every", "20")];
    let mirror = run(plan("synapses", &sizes));
    let samples = mirror.samples(0, Activity::CHANNEL);
    assert_eq!(samples.iter().map(|s| s.step).collect::<Vec<_>>(), [0, 20, 40, 60]);
    // the mean over layers
    let at = |k: usize, which: fn(&LayerActivity) -> FiringShare| {
        let layers = &samples[k].measurement::<Activity>().unwrap().layers;
        let mean = |of: fn(FiringShare) -> f64| layers.iter().map(|l| of(which(l))).sum::<f64>() / layers.len() as f64;
        FiringShare { x: mean(|s| s.x), y: mean(|s| s.y) }
    };
    for k in 0..4 {
        let FiringShare { x, y } = at(k, |l| l.random_weights);
        assert!((x - 0.5).abs() < 0.06 && (y - 0.25).abs() < 0.06, "random weights fire {x} and {y}");
    }
    let y = |k: usize| (at(k, |l| l.trained).y, at(k, |l| l.random_weights).y);
    let ((begin, begin_random), (end, end_random)) = (y(0), y(3));
    assert!((begin - begin_random).abs() < 0.06, "an untrained model is one of random weights");
    assert!(end < 0.9 * end_random, "{end} of {end_random}");
    let loss = mirror.curve(0, channels::LOSS_TRAIN).unwrap();
    assert!(loss.last().unwrap() < 0.8 * loss.value_at(1).unwrap());
}

/// Asks a probe of a new small model. Returns the answer, the tokens of the text and the model.
fn ask(id: &str, args: &[(&str, Value)]) -> candle_core::Result<(Answer, Vec<u32>, Box<dyn Trainable>)> {
    let plan = plan("synapses", &[]);
    let corpus = Corpus::open(&plan.corpus).unwrap();
    let mut model = plan.variants[0].model.build(corpus.vocab(), 3, &Device::Cpu)?;
    let args: Args = args.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let ids = args.get("text").map(|t| corpus.encode(&t.to_string())).unwrap_or_default();
    let inputs = ProbeInputs { seed: 7, ..ProbeInputs::standalone(&corpus, &Device::Cpu) };
    let finding = (probe::find(id).unwrap().ask)(model.as_mut(), &args, &inputs)?.remove(0);
    Ok((finding, ids, model))
}

fn text(words: &str) -> (&'static str, Value) {
    ("text", Value::Text(words.to_owned()))
}

/// The state of the selected synapse is the sum over tokens of y (of the previous layer) times x.
#[test]
fn a_synapse_state_is_the_sum_over_tokens_of_y_times_x() -> Outcome {
    // the text is longer than two chunks, so that the state is carried from one chunk to the next
    let words =
        "the keeper of the old light found a small brass key under the stairs and kept it in his coat for years "
            .repeat(2);
    let wanted = (17usize, 90usize);
    let args = [
        text(&words),
        ("layer", Value::Int(2)),
        ("rotated", Value::Switch(false)),
        ("i", Value::Int(17)),
        ("j", Value::Int(90)),
    ];
    let (finding, ids, model) = ask("reading", &args)?;
    assert_eq!(finding.tokens.len(), ids.len());
    let mut tap = Tap::on(&["layers."]);
    model.token_model()?.logits(&Tensor::from_slice(&ids, (1, ids.len()), &Device::Cpu)?, &mut tap)?;
    let (t, per_head) = (ids.len(), 64);
    let values = |path: &str, n: usize| -> candle_core::Result<Vec<f64>> {
        let all = host::to_f64(tap.get(path).unwrap())?; // (1,nh,T,N)
        Ok((0..t).map(|s| all[(n / per_head * t + s) * per_head + n % per_head]).collect())
    };
    let (y, x) = (values("layers.1.y", wanted.0)?, values("layers.2.x", wanted.1)?);
    let reading: &SynapseReading = decoded(&finding);
    let synapse = &reading.synapses[0];
    assert_eq!((reading.layer, synapse.i, synapse.j), (2, 17, 90), "the asked one comes first");
    let mut sum = 0.0;
    for s in 0..t {
        sum += y[s] * x[s];
        let sigma = synapse.sigma[s];
        assert!((sigma - sum).abs() < 1e-4 * sum.abs().max(1e-3), "{s}: {sigma} and {sum}");
    }
    let share = |path: &str, s: usize| {
        let all = host::to_f32(tap.get(path).unwrap()).unwrap();
        let on = (0..128).filter(|n| all[(n / per_head * t + s) * per_head + n % per_head] > 0.0).count();
        on as f64 / 128.0
    };
    assert_eq!(reading.firing[0].y[0], 0.0, "the first token has no past");
    for s in [1, 63, 64, 150] {
        assert_eq!(reading.firing[1].x[s], share("layers.1.x", s), "{s}");
    }
    // the loss equals the cross-entropy of the parallel form
    let logits =
        model.token_model()?.logits(&Tensor::from_slice(&ids, (1, ids.len()), &Device::Cpu)?, &mut Tap::off())?;
    let log_probs = host::to_f64(&candle_nn::ops::log_softmax(&logits, candle_core::D::Minus1)?)?;
    assert!(reading.loss[0].is_nan());
    for s in 1..t {
        assert!((reading.loss[s] + log_probs[(s - 1) * 256 + ids[s] as usize]).abs() < 1e-4, "{s}");
    }
    Ok(())
}

#[test]
fn a_neuron_that_is_not_there_is_named() {
    let args = [text("the key"), ("i", Value::Int(5)), ("j", Value::Int(128))];
    let words = ask("reading", &args).err().unwrap().to_string();
    assert!(words.contains("128"), "{words}");
}

#[test]
fn surprise_covers_a_period_of_every_word() -> Outcome {
    let (finding, _, _) = ask("surprise", &[("periods", Value::Int(3))])?;
    assert!(finding.about.contains("3 new words"), "{}", finding.about);
    let Surprise { trained, octaves, .. } = decoded(&finding);
    assert_eq!((trained.layers.len(), octaves.len()), (3, 3));
    assert!(trained.layers.iter().all(|l| (l.firing.x.len(), l.firing.y.len()) == (77, 77)));
    // the mean over octaves equals the mean over the letters of the phase
    let of_word = trained.layers[1].firing.y[13..21].iter().sum::<f64>() / 8.0;
    let by_octave = octaves[1].memorised.iter().sum::<f64>() / 8.0;
    assert!((of_word - by_octave).abs() < 1e-9, "{of_word} and {by_octave}");
    Ok(())
}

#[test]
fn sizes_that_the_model_cannot_have_are_named_by_their_knob() {
    let bad = config("synapses", &[("model.neurons", "1002")]);
    let words = (labs::find("synapses").unwrap().plan)(&bad).unwrap_err().to_string();
    assert!(words.contains("model.neurons") && words.contains("1000"), "{words}");
    let plan = plan("synapses", &[("model.position", "both"), ("model.form", "paper"), ("model.gated", "true")]);
    let ModelSpec::Bdh(spec) = &plan.variants[0].model else { panic!() };
    assert!(spec.attention().damped && spec.attention().rotary && spec.gated);
}

fn tile(mirror: Mirror) -> Harness<'static, Tile> {
    tile_of("reading", mirror, config("synapses", SMALL))
}

fn tile_of(view: &str, mirror: Mirror, config: Config) -> Harness<'static, Tile> {
    let tile = Tile { config, knobs: (labs::find("synapses").unwrap().knobs)(), ..Tile::new(view, mirror) };
    tile.shown(Harness::builder().with_size([760.0, 640.0]).with_step_dt(1.0 / 10.0))
}

fn asked_args(tile: &Tile) -> Vec<Args> {
    let measures = tile.commands.iter().filter_map(|c| match c {
        Command::Measure(q) if q.probe == "reading" => Some(q.args.clone()),
        _ => None,
    });
    measures.collect()
}

#[test]
fn the_reading_view_plays_asks_and_follows_a_synapse() {
    let mut harness = tile(run(plan("synapses", &[("train.steps", "2")])));
    assert_eq!(asked_args(harness.state()).len(), 1, "asked once by itself");
    harness.run_steps(3);
    assert_eq!(asked_args(harness.state()).len(), 1, "and not again while nothing changes");
    let last = SMALL.last().unwrap().1.len() - 1;
    harness.get_by_label("back").click();
    harness.run_steps(2);
    assert_eq!(harness.state().selection.token, Some(last - 1));
    harness.get_by_label("next").click();
    harness.run_steps(2);
    harness.get_by_label("play").click();
    harness.run_steps(6);
    let at = harness.state().selection.token.unwrap();
    assert!((1..=5).contains(&at), "reading began anew and stands at {at}");
    harness.get_by_label("pause").click();
    harness.run_steps(2);
    // selecting another synapse asks about it by its two neurons
    harness.state_mut().selection.set(Synapse { layer: 1, i: 3, j: 5 });
    harness.run_steps(2);
    let args = asked_args(harness.state()).pop().unwrap();
    assert_eq!((args["i"].as_f64(), args["j"].as_f64(), args["layer"].as_f64()), (Some(3.0), Some(5.0), Some(1.0)));
    // so does a change of the text
    let field = harness.get_by_role_and_label(Role::TextInput, "text to read");
    field.focus();
    harness.step();
    harness.get_by_role_and_label(Role::TextInput, "text to read").type_text("!");
    harness.run_steps(3);
    let args = asked_args(harness.state()).pop().unwrap();
    assert!(args["text"].to_string().contains('!'), "{:?}", args["text"]);
    let csv = harness.state().csv.clone().unwrap();
    assert_eq!(csv.lines().count(), last + 2, "a row a token");
}

#[test]
fn a_click_on_the_graph_puts_a_synapse_in_focus() {
    let mirror = run(plan("synapses", &[("train.steps", "2")]));
    let sample = mirror.sample_at(0, SynapseReading::CHANNEL, 2).unwrap().clone();
    let synapses = &sample.measurement::<SynapseReading>().unwrap().synapses;
    let mut harness = tile(mirror);
    let canvas = harness.get_by_role_and_label(Role::Canvas, &format!("{} synapses as a graph", synapses.len())).rect();
    // on the left side, each neuron has an edge nearby; one of these clicks must hit
    let mut chosen = None;
    for k in 0..12 {
        let at = eframe::egui::pos2(
            canvas.left() + 80.0,
            canvas.top() + 22.0 + (canvas.height() - 30.0) * (k as f32 + 0.5) / 12.0,
        );
        for pressed in [true, false] {
            harness.event(eframe::egui::Event::PointerMoved(at));
            harness.event(eframe::egui::Event::PointerButton {
                pos: at,
                button: eframe::egui::PointerButton::Primary,
                pressed,
                modifiers: Default::default(),
            });
            harness.step();
        }
        chosen = chosen.or(harness.state().selection.get::<Synapse>().copied());
    }
    let chosen = chosen.expect("an edge was hit");
    assert!(synapses.iter().any(|s| (s.i, s.j) == (chosen.i, chosen.j)), "{chosen:?}");
}

#[test]
fn the_merging_view_goes_through_its_stages() {
    let small = [
        ("train.steps", "3"),
        ("merging.tune", "2"),
        ("merging.write", "4"),
        ("train.window", "128"),
        ("run.eval_windows", "16"),
    ];
    let set = [SMALL, &small].concat();
    let mut harness = tile_of("merging", run(plan("synapses_merging", &small)), config("synapses_merging", &set));
    let stages = |h: &Harness<'static, Tile>, words: &str| h.query_by_role_and_label(Role::Canvas, words).is_some();
    let done = "stages: base 3 done, child A 2 done, child B 2 done, merged made";
    assert!(stages(&harness, done));
    let csv = harness.state().csv.clone().unwrap();
    // the table has a row for each text, and for each translation that occurs in the measured windows
    let translations = csv.lines().filter(|l| l.starts_with("translations ")).count();
    assert!(translations >= 4 && translations.is_multiple_of(4), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 3 * 4 + translations, "{csv}");
    for text in ["parliament_en_es", "parliament_en_fr", "parliament_en_de"] {
        assert_eq!(csv.lines().filter(|l| l.starts_with(&format!("{text},"))).count(), 4, "{csv}");
        harness.get_by_label(text);
    }
    harness.get_by_label_contains("the merged model is");
    let unknown = "a language that no model has learned (\u{201c}The text mentions the pound";
    assert!(harness.query_all_by_label_contains(unknown).count() > 0, "{csv}");
    // a click on a model selects it for every view
    let place = harness.get_by_role_and_label(Role::Canvas, done).rect();
    for pressed in [true, false] {
        let pos = eframe::egui::pos2(place.right() - 30.0, place.center().y);
        harness.event(eframe::egui::Event::PointerMoved(pos));
        harness.event(eframe::egui::Event::PointerButton {
            pos,
            button: eframe::egui::PointerButton::Primary,
            pressed,
            modifiers: Default::default(),
        });
        harness.step();
    }
    assert_eq!(harness.state().selection.variant, 3);
    // another training text for a child model takes effect only after a reset
    assert!(harness.query_by_label_contains("applies at reset").is_none());
    assert!(harness.query_by_role(Role::ComboBox).is_none());
    let knobs = (labs::find("synapses").unwrap().knobs)();
    harness.state_mut().config.set_text(&knobs, MergingSettings::text_a.name, "harbour").unwrap();
    harness.run_steps(2);
    harness.get_by_label_contains("child A reads harbour");
    harness.get_by_label_contains("applies at reset");
}

#[test]
fn without_children_the_merging_view_offers_to_make_some() {
    let mut harness = tile_of("merging", Mirror::default(), config("synapses", SMALL));
    harness.get_by_label("Tune two children and merge them").click();
    harness.run_steps(2);
    assert_eq!(harness.state().config.value(MergingSettings::tune).unwrap(), 300);
    assert!(harness.query_by_label("Tune two children and merge them").is_none());
    harness.get_by_label_contains("press Space to begin");
    harness.get_by_role_and_label(
        Role::Canvas,
        "stages: base 0 / 600, child A 300 updates, child B 300 updates, merged at step 900",
    );
}
