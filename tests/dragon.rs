//! BDH as a physical system: what the probe hands over is the model's own, hands on the three views, and the
//! lab as it ships.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use candle_core::{Device, Tensor};
use eframe::egui::{self, Key, Modifiers, PointerButton, Pos2, Rect, accesskit::Role, pos2, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    analysis::dragon::{Dense, Drift, Normfree, Weights},
    cli::host::Desk,
    config::{Config, Knob, Value},
    corpus::{self, Corpus},
    labs,
    models::{
        Model, Spec,
        bdh::{BdhSpec, Form, Position},
        plain_gpt::PlainGptSpec,
    },
    nn::{Tap, host},
    probe::{self, Finding, Subject},
    telemetry::{Args, Command, Event, Payload, Question, RunInfo, RunState, Sample, VariantInfo, channels},
    ui::{
        app::{App, Opening, Start},
        mirror::Mirror,
        theme::{self, Theme},
        views::{self, Export, Selection, View, ViewCx},
    },
};

#[path = "recorded/dragon.rs"]
mod recorded;

// The probe.

fn text() -> Corpus {
    Corpus::open(&corpus::Spec {
        source: corpus::Source::Generated("harbour".into()),
        tokenizer: corpus::TokenizerSpec::Char { max_vocab: 64 },
        held_out: 0.1,
        seed: 1,
    })
    .unwrap()
}

fn small(position: Position) -> BdhSpec {
    BdhSpec { d_model: 12, heads: 1, neurons: 64, layers: 2, position, form: Form::Paper, ..BdhSpec::default() }
}

fn ask(model: &mut dyn Model, corpus: &Corpus, args: &[(&str, Value)]) -> Vec<Finding> {
    let args: Args = args.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let probe = probe::find("dragon").unwrap();
    assert!(probe.applies(model));
    probe.ask(&mut Subject { model, corpus, device: &Device::Cpu, seed: 0, args: &args }).unwrap()
}

fn typed(words: &str) -> (&'static str, Value) {
    ("text", Value::Text(words.into()))
}

fn dense(payload: &Payload, part: &str) -> Dense<f64> {
    let m = payload.part(part).unwrap().as_matrix().unwrap();
    Dense::of(m.rows, m.cols, &m.data.iter().map(|v| f64::from(*v)).collect::<Vec<_>>()).unwrap()
}

fn number(payload: &Payload, name: &str) -> f64 {
    let series = payload.part("numbers").unwrap().as_series().unwrap();
    series.lines.iter().find(|l| l.name == name).unwrap().y[0]
}

fn norm(v: &[f64]) -> Vec<f64> {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    let variance = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    v.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect()
}

/// The first layer of the low-rank model has the model's own x; and its y, once the norm that the rules lack
/// is put back: matrices the right way round, pulses, and U in the right sense.
#[test]
fn what_is_handed_over_is_the_models_own_first_layer() {
    let corpus = text();
    for position in [Position::Alibi, Position::Rope, Position::Both, Position::Nothing] {
        let mut model = Spec::Bdh(small(position)).build(corpus.vocab(), 5, &Device::Cpu).unwrap();
        let words = "the ferry left";
        let found = ask(model.as_mut(), &corpus, &[typed(words)]);
        let told = &found[0].payload;
        let weights = Weights::new(dense(told, "e"), dense(told, "dx"), dense(told, "dy")).unwrap();
        assert!(number(told, "missed") < 1e-6, "64 neurons say 12 channels");
        let turns = number(told, "turns") > 0.5;
        let drift = if turns { Drift::rope(64) } else { Drift::still(64) }.and_damping(number(told, "keep"));
        let mut normfree = Normfree::new(weights.clone(), drift, 1);
        let ids = corpus.encode(words);
        let tokens = Tensor::from_slice(&ids, (1, ids.len()), &Device::Cpu).unwrap();
        let mut tap = Tap::on(&["layers.0."]);
        model.logits(&tokens, &mut tap).unwrap();
        let tapped = |part: &str| -> Vec<f64> {
            let (_, t) = tap.found().iter().find(|(name, _)| name.ends_with(part)).unwrap();
            host::to_f64(t).unwrap()
        };
        let (x, y) = (tapped(".x"), tapped(".y"));
        let pulses = dense(told, "pulses");
        for t in 0..ids.len() {
            assert!(pulses.row(t).iter().all(|p| *p >= 0.0));
            let layer = normfree.token(pulses.row(t)).remove(0);
            let of_model = |all: &[f64]| all[t * 64..(t + 1) * 64].to_vec();
            let largest = of_model(&x).iter().copied().fold(0.0, f64::max);
            for (ours, theirs) in layer.x.iter().zip(of_model(&x)) {
                assert!((ours - theirs).abs() < 1e-4 * largest, "{position:?}: x at token {t}");
            }
            let prods = weights.dy.times(&norm(&layer.a));
            let scale = of_model(&y).iter().copied().fold(1e-9, f64::max);
            for ((prods, x), theirs) in prods.iter().zip(&layer.x).zip(of_model(&y)) {
                let ours = prods.max(0.0) * x;
                assert!((ours - theirs).abs() < 2e-3 * scale, "{position:?}: y at token {t}: {ours} {theirs}");
            }
        }
    }
}

#[test]
fn every_equivalence_holds_on_a_models_weights_under_every_u() {
    let corpus = text();
    let mut model = Spec::Bdh(small(Position::Alibi)).build(corpus.vocab(), 5, &Device::Cpu).unwrap();
    for drift in ["trained", "nothing", "damping", "rotation", "both"] {
        let args =
            [typed("the keeper of the light"), ("drift", Value::Text(drift.into())), ("keep", Value::Float(0.8))];
        let found = ask(model.as_mut(), &corpus, &args);
        assert_eq!(found[1].channel, channels::DRAGON_CHECKS);
        for part in ["rules", "normfree", "attention", "square", "construction"] {
            let series = found[1].payload.part(part).unwrap().as_series().unwrap();
            let line = |name: &str| &series.lines.iter().find(|l| l.name == name).unwrap().y;
            assert!(line("share").iter().all(|s| *s <= 1.0), "{drift}, {part}: {:?}", line("share"));
            assert!(line("error").iter().all(|e| *e < 1e-11), "{drift}, {part}: {:?}", line("error"));
            assert!(line("bound").iter().all(|b| *b < 1e-6), "{drift}, {part}: it says little: {:?}", line("bound"));
            assert!(part == "construction" || series.x.len() == 23, "{part}");
        }
        let keep = number(&found[0].payload, "keep");
        assert!(match drift {
            "trained" => (keep - (-(2f64.powi(-8))).exp()).abs() < 1e-6,
            "damping" | "both" => keep == 0.8,
            _ => keep == 1.0,
        });
        let edges = found[1].payload.part("construction").unwrap().as_series().unwrap();
        let first = |name: &str| edges.lines.iter().find(|l| l.name == name).unwrap().y[0];
        assert_eq!(first("edges_excitatory"), 2.0 * 64.0 * 12.0, "no weight is exactly zero: 2 n d edges");
        assert_eq!(first("edges_allowed"), 2.0 * 64.0 * 12.0);
    }
}

#[test]
fn only_a_small_model_of_one_head_is_asked() {
    let corpus = text();
    let probe = probe::find("dragon").unwrap();
    let applies = |spec: Spec| probe.applies(spec.build(corpus.vocab(), 1, &Device::Cpu).unwrap().as_ref());
    let spec = small(Position::Rope);
    assert!(applies(Spec::Bdh(spec.clone())));
    assert!(applies(Spec::Bdh(BdhSpec { form: Form::Code, ..spec.clone() })));
    assert!(!applies(Spec::Bdh(BdhSpec { heads: 2, ..spec.clone() })));
    assert!(!applies(Spec::Bdh(BdhSpec { neurons: 1024, ..spec.clone() })));
    assert!(!applies(Spec::Bdh(BdhSpec { gated: true, ..spec })));
    assert!(!applies(Spec::PlainGpt(PlainGptSpec::default())));
}

// Hands on the views.

struct Tile {
    view: Box<dyn View>,
    mirror: Mirror,
    config: Config,
    selection: Selection,
    commands: Vec<Command>,
    exports: Vec<Export>,
    next_request: u64,
    subtitle: String,
    csv: Option<String>,
}

fn knobs() -> Vec<Knob> {
    (labs::find("bdh_physics").unwrap().knobs)()
}

fn run(sampled: bool) -> Mirror {
    let mut mirror = Mirror::default();
    mirror.apply(Event::Started(Arc::new(RunInfo {
        lab: "bdh_physics".into(),
        config: Config::defaults("bdh_physics", &knobs()),
        variants: vec![VariantInfo {
            id: "bdh".into(),
            label: "BDH".into(),
            group: "bdh".into(),
            seed: 1,
            params: 9000,
        }],
        total_steps: 100,
        device: "cpu".into(),
        threads: 1,
        corpus: "harbour (generated), characters".into(),
        vocab: 40,
        tokens_per_step: 512,
        folder: None,
    })));
    mirror.apply(Event::State(RunState::Paused));
    if sampled {
        tell(&mut mirror, 0, None, false);
    }
    mirror
}

fn tell(mirror: &mut Mirror, step: u64, request: Option<u64>, turns: bool) {
    let parts = [
        (channels::DRAGON_WEIGHTS, recorded::weights(step, 24, turns)),
        (channels::DRAGON_CHECKS, recorded::checks(24, turns)),
    ];
    for (channel, payload) in parts {
        mirror.apply(Event::Sample(Sample {
            step,
            variant: 0,
            channel: channel.into(),
            about: "typed text".into(),
            tokens: recorded::TEXT.chars().map(String::from).collect(),
            request,
            payload: Arc::new(payload),
        }));
    }
}

fn tile(view: &str, mirror: Mirror) -> Harness<'static, Tile> {
    let tile = Tile {
        view: (views::find(view).unwrap().make)(),
        mirror,
        config: Config::defaults("bdh_physics", &knobs()),
        selection: Selection::default(),
        commands: vec![],
        exports: vec![],
        next_request: 1,
        subtitle: String::new(),
        csv: None,
    };
    let (theme, knobs) = (Theme::dark(), knobs());
    let builder = Harness::builder().with_size(vec2(420.0, 640.0)).with_step_dt(1.0 / 60.0);
    let mut harness = builder.build_ui_state(
        move |ui, t: &mut Tile| {
            theme::apply(&theme, true, ui.ctx());
            let mut settings = vec![];
            let mut cx = ViewCx {
                mirror: &t.mirror,
                step: t.mirror.step,
                follow: true,
                config: &t.config,
                knobs: &knobs,
                theme: &theme,
                selection: &mut t.selection,
                commands: &mut t.commands,
                settings: &mut settings,
                next_request: &mut t.next_request,
                exports: &mut t.exports,
                still: true,
            };
            t.view.ui(ui, &mut cx);
            t.subtitle = t.view.subtitle(&cx);
            t.csv = t.view.csv(&cx);
        },
        tile,
    );
    harness.step();
    harness
}

fn press(harness: &mut Harness<'_, Tile>, label: &str) {
    harness.get_by_role_and_label(Role::Button, label).click();
    harness.step();
    harness.step();
}

fn click(harness: &mut Harness<'_, Tile>, at: Pos2) {
    for pressed in [true, false] {
        harness.event(egui::Event::PointerMoved(at));
        harness.event(egui::Event::PointerButton {
            pos: at,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        });
        harness.step();
    }
    harness.step();
}

fn canvas(harness: &Harness<'_, Tile>, label: &str) -> Rect {
    harness.get_by_role_and_label(Role::Canvas, label).rect()
}

/// Which token and round the table of neurons is of, and how many neurons have an x and a y.
fn standing(harness: &Harness<'_, Tile>) -> (String, String, usize, usize) {
    let csv = harness.state().csv.clone().unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let count = |k: usize| rows.iter().filter(|r| r[k].parse::<f64>().unwrap() > 0.0).count();
    assert_eq!(rows.len(), 48);
    (rows[0][4].to_owned(), rows[0][5].to_owned(), count(1), count(2))
}

#[test]
fn rounds_and_tokens_are_stepped_and_named() {
    let mut harness = tile("dragon_rules", run(true));
    press(&mut harness, "restart");
    assert_eq!(standing(&harness).1, "", "nothing was read");
    press(&mut harness, "step round");
    let (token, round, x, y) = standing(&harness);
    assert_eq!((token.as_str(), round.as_str()), ("t", "arrival"));
    assert!(x > 0 && y > 0, "a pulse Y, and X over the wires");
    for (k, name) in ["Inference from state", "Reweighting of synapse state", "Neuron dynamics", "Inference from"]
        .into_iter()
        .enumerate()
    {
        press(&mut harness, "step round");
        assert_eq!(standing(&harness).1, k.to_string());
        harness.get_by_label_contains(&format!("rounds, executed: {name}"));
        if k == 1 {
            assert_eq!(standing(&harness).3, 0, "Y is used up");
        }
    }
    press(&mut harness, "step token");
    assert_eq!(standing(&harness).1, "7", "two layers of four rounds");
    press(&mut harness, "step token");
    assert_eq!((standing(&harness).0.as_str(), standing(&harness).1.as_str()), ("h", "7"));
    harness.get_by_label_contains("next, by the rules: o 0.01");
    // A token of the strip.
    let strip = harness.get_by_label_contains("tokens: ").rect();
    click(&mut harness, strip.left_top() + vec2(8.0 * 7.8 + 3.0, 8.0));
    assert_eq!(harness.state().selection.token, Some(8));
    assert_eq!((standing(&harness).0.as_str(), standing(&harness).1.as_str()), ("y", "7"));
}

#[test]
fn play_goes_through_the_rounds_and_pause_stops_it() {
    let mut harness = tile("dragon_rules", run(true));
    press(&mut harness, "restart");
    press(&mut harness, "play");
    (0..120).for_each(|_| harness.step());
    let played = standing(&harness).1;
    assert!(!played.is_empty(), "two seconds play some rounds");
    press(&mut harness, "pause");
    let stood = harness.state().csv.clone();
    (0..120).for_each(|_| harness.step());
    assert_eq!(harness.state().csv, stood);
}

#[test]
fn a_clicked_neuron_is_poked() {
    let mut harness = tile("dragon_rules", run(true));
    press(&mut harness, "restart");
    let ring = canvas(&harness, "neurons on a circle");
    let radius = 0.5 * ring.width().min(ring.height()) - 8.0;
    click(&mut harness, ring.center() + vec2(0.9 * radius, 0.0));
    let csv = harness.state().csv.clone().unwrap();
    let fired: Vec<&str> = csv.lines().skip(1).filter(|l| l.split(',').nth(2) != Some("0")).collect();
    assert_eq!(fired.len(), 1, "{fired:?}");
    assert!(fired[0].starts_with("12,"), "a quarter round: {}", fired[0]);
    harness.get_by_label_contains("Neuron 12 was poked");
}

#[test]
fn new_weights_keep_the_place_and_changed_settings_are_asked_for_once() {
    let mut harness = tile("dragon_rules", run(true));
    assert!(harness.state().commands.is_empty(), "what the schedule brought is enough");
    assert!(harness.state().subtitle.contains("nothing learned"), "{}", harness.state().subtitle);
    let before = (standing(&harness), harness.state().csv.clone());
    tell(&mut harness.state_mut().mirror, 50, None, false);
    harness.state_mut().mirror.step = 50;
    harness.step();
    let after = standing(&harness);
    assert_eq!((&after.0, &after.1), (&before.0.0, &before.0.1), "the same token and round");
    assert_ne!(harness.state().csv, before.1, "of other weights");
    assert!(harness.state().subtitle.contains("step 50"));
    harness.state_mut().config.set_text(&knobs(), "physics.drift", "rotation").unwrap();
    (0..3).for_each(|_| harness.step());
    let asked: Vec<Question> = harness
        .state()
        .commands
        .iter()
        .filter_map(|c| if let Command::Measure(q) = c { Some(q.clone()) } else { None })
        .collect();
    assert_eq!(asked.len(), 1, "once");
    assert_eq!(
        (asked[0].probe.as_str(), asked[0].args.get("drift")),
        ("dragon", Some(&Value::Text("rotation".into())))
    );
    let unanswered = harness.state().csv.clone();
    tell(&mut harness.state_mut().mirror, 50, Some(asked[0].request), true);
    harness.step();
    assert_ne!(harness.state().csv, unanswered, "the answer is shown");
}

#[test]
fn a_run_that_told_nothing_is_asked_by_itself() {
    let harness = tile("dragon_checks", run(false));
    let asked = harness.state().commands.iter().filter(|c| matches!(c, Command::Measure(_))).count();
    assert_eq!(asked, 1);
    assert_eq!(harness.state().csv, None);
}

#[test]
fn the_checks_say_equal_and_can_say_otherwise() {
    let mut harness = tile("dragon_checks", run(true));
    harness.get_by_label_contains("table 1 = equation (6): equal");
    assert!(harness.query_by_label_contains("differs").is_none());
    tell(&mut harness.state_mut().mirror, 9, None, true);
    harness.state_mut().mirror.step = 9;
    harness.step();
    harness.step();
    harness.get_by_label_contains("= DE: differs");
}

/// Seconds and energy of the last row.
fn energy(harness: &Harness<'_, Tile>) -> Option<(f64, f64)> {
    let csv = harness.state().csv.as_deref()?;
    let row: Vec<f64> = csv.lines().last()?.split(',').filter_map(|v| v.parse().ok()).collect();
    Some((*row.first()?, *row.last()?))
}

#[test]
fn the_toy_is_poked_swings_and_comes_to_rest() {
    let mut harness = tile("dragon_toy", Mirror::default());
    let begun = energy(&harness).unwrap();
    (0..30).for_each(|_| harness.step());
    assert_eq!(energy(&harness), Some(begun), "it stands until somebody acts");
    press(&mut harness, "rest");
    assert_eq!(harness.state().csv, None, "at rest, nothing to tell");
    let ring = canvas(&harness, "particles on a circle");
    let radius = 0.5 * ring.width().min(ring.height()) - 4.0;
    click(&mut harness, ring.center() - vec2(0.0, 0.74 * radius));
    (0..60).for_each(|_| harness.step());
    let (seconds, poked) = energy(&harness).unwrap();
    assert!((0.5..1.5).contains(&seconds) && poked > 0.05, "a second later: {seconds} {poked}");
    // Nothing relaxes: what swings swings on, and pausing stops time.
    for (key, value) in [("toy.damping", "0"), ("toy.swing", "5"), ("toy.prods", "0")] {
        harness.state_mut().config.set_text(&knobs(), key, value).unwrap();
    }
    (0..600).for_each(|_| harness.step());
    let (earlier, kept) = energy(&harness).unwrap();
    assert!(earlier > seconds + 5.0);
    (0..300).for_each(|_| harness.step());
    let (later, still) = energy(&harness).unwrap();
    assert!(later > earlier + 3.0 && (still / kept - 1.0).abs() < 1e-6, "{kept} {still}");
    press(&mut harness, "pause");
    let stood = energy(&harness);
    (0..60).for_each(|_| harness.step());
    assert_eq!(energy(&harness), stood);
    // It relaxes again, comes to rest, and then asks for no more frames.
    harness.state_mut().config.set_text(&knobs(), "toy.damping", "5").unwrap();
    press(&mut harness, "play");
    (0..300).for_each(|_| harness.step());
    harness.get_by_role_and_label(Role::Button, "play");
}

// The lab as it ships.

fn until<R>(harness: &mut Harness<'_, App>, what: &str, found: impl Fn(&App) -> Option<R>) -> R {
    let begun = Instant::now();
    loop {
        harness.step();
        if let Some(r) = found(harness.state()) {
            return r;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn told_at(app: &App) -> Option<u64> {
    let mirror = &app.page()?.run.as_ref()?.mirror;
    let newest = mirror.sample_at(0, channels::DRAGON_WEIGHTS, u64::MAX).or(mirror.answer(0, channels::DRAGON_WEIGHTS));
    newest.map(|s| s.step)
}

#[test]
fn the_lab_opens_on_first_weights_and_learns_under_the_rules() {
    let lab = labs::find("bdh_physics").unwrap();
    let mut config = lab.config(None).unwrap();
    let steps = std::env::var("DRAGON_STEPS").unwrap_or("12".into());
    for (key, value) in [("train.steps", steps.as_str()), ("probe.dragon_every", "6"), ("run.eval_windows", "1")] {
        config.set_text(&knobs(), key, value).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let host = Box::new(Desk::new(folder.path().to_owned()));
    let start = Start { opening: Some(Opening::Config(config)), ..Start::default() };
    let builder = Harness::builder().with_size([1280.0, 800.0]);
    let drawn = orrery::gpu::Offscreen::new().is_ok();
    let builder = if drawn { builder.wgpu() } else { builder };
    let mut harness = builder.build_eframe(move |cc| App::new(cc, host, start));
    assert_eq!(until(&mut harness, "first weights", told_at), 0);
    harness.get_by_label_contains("rounds, executed");
    picture(&mut harness, drawn, "first");
    harness.key_press(Key::Space);
    let last: u64 = steps.parse().unwrap();
    until(&mut harness, "weights of the end", |app| told_at(app).filter(|s| *s >= last - last % 6));
    harness.get_by_label_contains("= DE: equal");
    picture(&mut harness, drawn, "learned");
    harness.key_press(Key::D);
    harness.step();
    picture(&mut harness, drawn, "learned-light");
}

/// To be looked at in the target folder.
fn picture(harness: &mut Harness<'_, App>, drawn: bool, name: &str) {
    (0..3).for_each(|_| harness.step());
    if drawn {
        let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("views");
        std::fs::create_dir_all(&folder).unwrap();
        harness.render().unwrap().save(folder.join(format!("bdh_physics-{name}.png"))).unwrap();
    }
}

/// A place on the screen keeps its meaning when the picture is small.
#[test]
fn a_tile_too_small_for_all_draws_what_it_can() {
    for view in ["dragon_rules", "dragon_checks", "dragon_toy"] {
        let mut harness = tile(view, run(true));
        harness.set_size(vec2(160.0, 120.0));
        (0..3).for_each(|_| harness.step());
        click(&mut harness, pos2(80.0, 100.0));
    }
}
