//! Tests the views of the ODE flow through user input (sliders, the pad, tokens, the vector field behind the paths,
//! sweeps point by point, recordings) and the questions that they send. The flow in `recorded/flow.rs` computes the
//! answers.

use std::sync::Arc;

use crate::{
    adapter,
    recorded::{
        bare_sample,
        flow::{self as field, Asked},
        twins_info, variant,
    },
    tiles::{Tile, click, press, questions, rect_of, sized},
};
use eframe::egui::{self, Key, accesskit::Role, pos2, vec2};
use egui_kittest::{Harness, HarnessBuilder, kittest::Queryable};
use orrery::{
    config::{Config, Value},
    labs,
    ode::Method,
    telemetry::{
        Command, Event, Measurement, Question, QuestionState, RunInfo, RunState, Sample,
        measurements::{ClassCurves, FlowOutcome, FlowSweepClass, PlanarOutcome, SweepProgress},
    },
    ui::{action::FileAction, mirror::Mirror, views::flow::FlowSettings},
};

fn info() -> RunInfo {
    RunInfo {
        lab: "ode_flow".into(),
        config: Config::defaults("ode_flow", &[]),
        variants: vec![variant("flow")],
        total_steps: 1100,
        corpus: "steering (generated), words".into(),
        vocab: 92,
        ..twins_info()
    }
}

/// Returns a paused run that has answered no question yet.
fn unanswered() -> Mirror {
    let mut mirror = Mirror::default();
    mirror.apply(Event::Started(Arc::new(info())));
    mirror.apply(Event::State(RunState::Paused));
    mirror
}

fn sample<M: Measurement>(step: u64, variant: usize, request: Option<u64>, measurement: M) -> Event {
    let (about, tokens) = ("a prompt of 5 words".into(), field::TOKENS.map(str::to_owned).to_vec());
    Event::Sample(Sample { step, variant, about, tokens, request, ..bare_sample(measurement.into_payload()) })
}

/// Delivers an answer of the model at step 0, before any update of its weights.
fn reply<M: Measurement>(mirror: &mut Mirror, request: u64, measurement: M) {
    mirror.apply(sample(0, 0, Some(request), measurement));
}

fn builder() -> HarnessBuilder<Tile> {
    sized(760.0, 560.0)
}

fn tile(builder: HarnessBuilder<Tile>, view: &str, mirror: Mirror, still: bool) -> Harness<'static, Tile> {
    let lab = labs::find("ode_flow").unwrap();
    let (config, knobs) = (lab.config(None).unwrap(), (lab.knobs)());
    Tile { preset: config.clone(), config, knobs, still, ..Tile::new(view, mirror) }.shown(builder)
}

/// Sets the control `u0`, as its slider in the control panel does.
fn set_u0(harness: &mut Harness<'_, Tile>, u0: f64) {
    let tile = harness.state_mut();
    tile.config.set(&tile.knobs, "control.u0", Value::Float(u0)).unwrap();
}

fn current_u0(harness: &Harness<'_, Tile>) -> Option<f64> {
    harness.state().config.get("control.u0")?.as_f64()
}

/// Answers every open question with the small flow and returns how many commands there were.
fn serve(harness: &mut Harness<'_, Tile>) -> usize {
    let commands = std::mem::take(&mut harness.state_mut().commands);
    for command in &commands {
        let Command::Measure(q) = command else { continue };
        let mirror = &mut harness.state_mut().mirror;
        match q.probe.as_str() {
            "flow" => reply(mirror, q.request, field::answer(&parse_question(q))),
            "flow_field" => {
                let tau = q.args.get("tau").and_then(Value::as_f64).unwrap();
                reply(mirror, q.request, field::field(&parse_question(q), tau, 0.0));
            }
            "flow_along" => reply(mirror, q.request, field::along(&parse_question(q))),
            "flow_sweep" => {
                let upto = q.args.get("upto").and_then(Value::as_f64).unwrap() as usize;
                reply(mirror, q.request, field::nfe_sweep(upto));
            }
            other => panic!("nobody answers `{other}`"),
        }
    }
    commands.len()
}

fn parse_question(q: &Question) -> Asked {
    let number = |name: &str, usual: f64| q.args.get(name).and_then(Value::as_f64).unwrap_or(usual);
    let usual = Asked::default();
    let method = match q.args.get("method") {
        Some(Value::Text(id)) => Method::from_id(id).unwrap(),
        _ => usual.method,
    };
    Asked {
        u: ["u0", "u1", "u2", "u3"].map(|n| number(n, 0.0)),
        alpha: number("alpha", 1.0),
        tolerance: number("rtol", 1e-3),
        method,
        ..usual
    }
}

/// A view whose first questions have been answered.
fn answered(view: &str) -> Harness<'static, Tile> {
    answered_in(builder(), view, true)
}

fn answered_in(builder: HarnessBuilder<Tile>, view: &str, still: bool) -> Harness<'static, Tile> {
    let mut harness = tile(builder, view, unanswered(), still);
    for _ in 0..6 {
        serve(&mut harness);
        harness.step();
    }
    assert_eq!(questions(&harness).len(), 0, "{view}: it keeps asking");
    harness
}

fn number(q: &Question, arg: &str) -> f64 {
    q.args.get(arg).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {arg} in {:?}", q.args))
}

#[test]
fn a_flow_view_does_not_ask_again_in_each_frame() {
    for view in ["steer", "flow_paths", "flow_solver", "flow_along"] {
        let mut harness = tile(builder(), view, unanswered(), true);
        let first = questions(&harness);
        assert_eq!(first.iter().filter(|q| q.probe == "flow").count(), 1, "{view}");
        harness.step();
        harness.step();
        assert_eq!(questions(&harness).len(), first.len(), "{view} asks each frame");
    }
}

#[test]
fn a_slider_turned_is_a_question_with_its_value() {
    let mut harness = answered("steer");
    let before = harness.state().csv.clone().unwrap();
    harness.get_by_role_and_label(Role::Slider, "u\u{2080}").set_value_accesskit(1.0);
    harness.step();
    harness.step();
    let asked = questions(&harness);
    assert_eq!((asked.len(), asked[0].probe.as_str(), number(&asked[0], "u0")), (1, "flow", 1.0));
    assert_eq!(number(&asked[0], "u1"), 0.0, "what was not touched is as the lab has it");
    serve(&mut harness);
    harness.step();
    assert!(harness.state().subtitle.contains("u = (1, 0, 0, 0)"), "{}", harness.state().subtitle);
    let after = harness.state().csv.clone().unwrap();
    assert_ne!(before, after);
    assert!(after.starts_with("what,name,class,steered,at_u_0\nnext word,"), "{after}");
    assert_eq!(current_u0(&harness), Some(1.0), "the control on the left is the same");
    harness.get_by_label("reset the dials").click();
    harness.run_steps(2);
    assert_eq!(current_u0(&harness), Some(0.0));
}

#[test]
fn dragging_the_slider_with_the_mouse_asks_as_it_goes() {
    let mut harness = answered("steer");
    let rect = harness.get_by_role_and_label(Role::Slider, "u\u{2081}").rect();
    let at = |share: f32| pos2(rect.left() + rect.width() * share, rect.center().y);
    press(&mut harness, at(0.5), true);
    for share in [0.6, 0.7, 0.8] {
        harness.event(egui::Event::PointerMoved(at(share)));
        harness.step();
    }
    press(&mut harness, at(0.8), false);
    let asked = questions(&harness);
    assert!(asked.len() >= 3, "{asked:?}");
    let values: Vec<f64> = asked.iter().map(|q| number(q, "u1")).collect();
    assert!(values.windows(2).all(|w| w[0] < w[1]) && values.last().is_some_and(|v| *v > 0.5), "{values:?}");
    assert_eq!(harness.state().selection.get::<FlowSettings>().unwrap().gesture, 1, "one drag is one gesture");
}

#[test]
fn the_pad_sets_two_controls_by_mouse_and_by_keys() {
    let mut harness = answered("steer");
    // the ends of the controls are within a margin for the handle
    let pad = rect_of(&harness, "pad of u\u{2080} and u\u{2081}").shrink(7.0);
    click(&mut harness, pad.left_top() + pad.size() * vec2(0.75, 0.25));
    let asked = questions(&harness);
    let last = asked.last().unwrap();
    assert!((number(last, "u0") - 1.0).abs() < 0.03 && (number(last, "u1") - 1.0).abs() < 0.03, "{:?}", last.args);
    let before = number(last, "u0");
    harness.key_press(Key::ArrowRight);
    harness.step();
    harness.step();
    let asked = questions(&harness);
    let last = asked.last().unwrap();
    assert!((number(last, "u0") - before - 0.05).abs() < 1e-6, "{:?}", last.args);
}

#[test]
fn a_word_of_the_prompt_that_is_clicked_is_followed() {
    let mut harness = answered("steer");
    let strip = harness.get_by_label_contains("tokens: ").rect();
    click(&mut harness, strip.left_top() + vec2(4.0, 8.0));
    assert_eq!(harness.state().selection.token, Some(0));
    assert_eq!(questions(&harness).last().unwrap().args.get("token"), Some(&Value::Int(0)));
}

#[test]
fn a_solver_is_chosen_and_takes_steps_or_tolerances() {
    let mut harness = answered("steer");
    harness.get_by_label("rtol");
    harness.get_by_label("solver").click();
    harness.step();
    harness.step();
    harness.get_by_label("Euler").click();
    harness.step();
    harness.step();
    assert_eq!(questions(&harness).last().unwrap().args.get("method"), Some(&Value::Text("euler".into())));
    assert!(harness.query_by_label("rtol").is_none(), "Euler has no tolerance");
    serve(&mut harness);
    harness.step();
    // With a fixed-step method, the solver's view says that all steps are equal.
    let fixed = field::answer(&Asked { method: Method::EULER, ..Asked::default() });
    let mut mirror = unanswered();
    reply(&mut mirror, 99, fixed);
    let harness = tile(builder(), "flow_solver", mirror, true);
    harness.get_by_label_contains("equal steps");
}

#[test]
fn the_solver_explains_its_count_by_the_ladder() {
    let harness = answered("flow_solver");
    let words = harness.get_by_label_contains("A step is at most ten times");
    let words = format!("{words:?}");
    assert!(words.contains("NFE") && words.contains("The first step is"), "{words}");
    harness.get_by_label_contains("ladder: h_init");
    let csv = harness.state().csv.clone().unwrap();
    let solved: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((solved[0], solved[1]), ("1", "0"), "{csv}");
    assert!(harness.state().svg.as_deref().unwrap().starts_with("<svg"));
}

#[test]
fn the_field_is_asked_for_at_the_depth_of_the_slider() {
    let mut harness = answered("flow_paths");
    harness.get_by_role_and_label(Role::Slider, "\u{3c4}").set_value_accesskit(0.9);
    harness.step();
    harness.step();
    let asked = questions(&harness);
    assert_eq!((asked.len(), asked[0].probe.as_str(), number(&asked[0], "tau")), (1, "flow_field", 0.9));
    harness.get_by_label("none").click();
    harness.step();
    harness.step();
    serve(&mut harness);
    harness.get_by_role_and_label(Role::Slider, "\u{3c4}").set_value_accesskit(0.1);
    harness.step();
    harness.step();
    assert_eq!(questions(&harness).len(), 0, "nothing is behind the paths, so nothing is asked");
}

/// While a model trains, a field may come from a later step than the paths, and the principal axes of the two may
/// differ. Drawn behind paths of other axes, the field would point in wrong directions.
#[test]
fn a_field_of_other_axes_is_not_drawn_behind_the_paths() {
    let mut harness = answered_in(builder(), "flow_paths", false);
    harness.get_by_label("flow").click();
    harness.run_steps(2);
    let mut drawn = |step: u64, turned: f64| {
        let field = field::field(&Asked::default(), 0.5, turned);
        harness.state_mut().mirror.apply(sample(step, 0, Some(100 + step), field));
        harness.run_steps(2);
        harness.state().subtitle.contains("a second of streaks")
    };
    assert!(drawn(0, 0.0), "of the same model");
    assert!(drawn(3, 0.0), "of a later one with about the same axes");
    assert!(!drawn(4, 2.0), "of a later one with others");
    assert!(drawn(5, 0.1), "and again");
}

#[test]
fn the_stretch_is_requested_after_the_dials_rest() {
    let mut harness = answered("flow_along");
    assert!(harness.state().csv.as_deref().unwrap().starts_with("depth \u{3c4},speed,curvature,stretch"));
    let turn = |harness: &mut Harness<'_, Tile>, u: f64| {
        set_u0(harness, u);
        harness.step();
    };
    // while a control moves, only the fast question is sent; the stretch takes longer to compute
    for i in 0..30 {
        turn(&mut harness, f64::from(i) / 30.0 + 0.01);
        assert!(questions(&harness).iter().all(|q| q.probe == "flow"), "{:?}", questions(&harness));
        serve(&mut harness);
    }
    for _ in 0..30 {
        harness.step();
    }
    let asked = questions(&harness);
    assert_eq!((asked.len(), asked[0].probe.as_str()), (1, "flow_along"));
    assert!((number(&asked[0], "u0") - 0.9767).abs() < 1e-3);
}

#[test]
fn a_path_that_is_clicked_is_followed() {
    let mut harness = answered("flow_paths");
    let canvas = rect_of(&harness, "paths of the states");
    // clicks from the middle outwards until a click hits a path; each path has a disc at the slider's depth
    let mut places: Vec<_> = (0..40 * 40).map(|i| vec2((i % 40 - 20) as f32, (i / 40 - 20) as f32) / 40.0).collect();
    places.sort_by(|a, b| a.length().total_cmp(&b.length()));
    let hit = places.into_iter().find_map(|share| {
        click(&mut harness, canvas.center() + canvas.size() * share);
        harness.state().selection.token
    });
    let token = hit.expect("no path was hit");
    assert!(token < field::TOKENS.len());
    assert_eq!(questions(&harness).last().unwrap().args.get("token"), Some(&Value::Int(token as i64)));
}

#[test]
fn paths_from_before_the_last_change_stay_as_dashed_lines() {
    let mut harness = answered("flow_paths");
    assert!(!harness.state().csv.as_deref().unwrap().contains("before,"));
    set_u0(&mut harness, 0.5);
    harness.step();
    set_u0(&mut harness, 1.0);
    for _ in 0..4 {
        harness.step();
        serve(&mut harness);
    }
    harness.step();
    let csv = harness.state().csv.clone().unwrap();
    let ends = |what: &str| csv.lines().rfind(|l| l.starts_with(what)).unwrap().to_owned();
    assert_ne!(ends("now").split(',').nth(4), ends("before").split(',').nth(4), "the ghost went elsewhere");
    assert!(harness.state().subtitle.contains("dashed: before the last change"));
}

#[test]
fn frames_are_asked_for_only_while_particles_flow() {
    let wakes = |harness: &mut Harness<'_, Tile>| {
        for _ in 0..8 {
            harness.step();
        }
        harness.ctx.has_requested_repaint()
    };
    // without a graphics card, particles move only after a click, because drawing them would keep the processor busy
    let mut flowing = answered_in(builder(), "flow_paths", false);
    assert!(!wakes(&mut flowing), "the processor is not to draw without pause unasked");
    flowing.get_by_label("flow").click();
    flowing.step();
    assert!(wakes(&mut flowing), "particles flow");
    flowing.get_by_label("still").click();
    flowing.step();
    assert!(!wakes(&mut flowing), "they stand, so nothing is painted anew");
    let mut reduced = answered_in(builder(), "flow_paths", true);
    reduced.get_by_label("flow").click();
    reduced.step();
    assert!(!wakes(&mut reduced), "reduced motion is wanted");
}

#[test]
fn a_sweep_asks_for_the_next_piece_when_one_came_and_rests_when_paused() {
    let mut harness = tile(builder(), "flow_sweep", unanswered(), true);
    assert_eq!(questions(&harness).len(), 0, "nothing is swept unasked");
    harness.get_by_label("measure").click();
    harness.step();
    for piece in 1..=3 {
        harness.step();
        let asked = questions(&harness);
        assert_eq!((asked.len(), asked[0].probe.as_str()), (1, "flow_sweep"));
        assert_eq!(asked[0].args.get("kind"), Some(&Value::Text("nfe".into())));
        assert_eq!(asked[0].args.get("upto"), Some(&Value::Int(piece)));
        serve(&mut harness);
        harness.step();
    }
    harness.get_by_label("pause").click();
    harness.step();
    harness.step();
    serve(&mut harness);
    harness.step();
    harness.step();
    assert_eq!(questions(&harness).len(), 0, "paused");
    harness.get_by_label("go on").click();
    harness.step();
    harness.step();
    assert_eq!(questions(&harness)[0].args.get("upto"), Some(&Value::Int(5)));
    for _ in 0..60 {
        serve(&mut harness);
        harness.step();
    }
    assert_eq!(questions(&harness).len(), 0, "all pieces are in");
    harness.get_by_label("measure again");
    let csv = harness.state().csv.clone().unwrap();
    assert_eq!(csv.lines().count(), 22, "{csv}");
    assert!(csv.lines().next().unwrap().contains("h_init dopri5 interpolate"), "{csv}");
}

#[test]
fn a_cancelled_sweep_is_forgotten_and_what_was_whole_before_it_comes_back() {
    let mut harness = tile(builder(), "flow_sweep", unanswered(), true);
    let begin = |harness: &mut Harness<'_, Tile>, label: &str, pieces: usize| {
        harness.get_by_label(label).click();
        harness.step();
        for _ in 0..pieces {
            harness.step();
            serve(harness);
            harness.step();
        }
    };
    begin(&mut harness, "measure", 3);
    assert!(harness.state().csv.is_some());
    harness.get_by_role_and_label(Role::ProgressIndicator, "sweep: 3 of 21");
    // one question is open when the sweep is cancelled: its answer still arrives and must be ignored
    harness.step();
    assert_eq!(questions(&harness).len(), 1);
    harness.get_by_label("cancel").click();
    harness.step();
    harness.step();
    serve(&mut harness);
    harness.step();
    harness.step();
    assert_eq!((harness.state().csv.clone(), questions(&harness).len()), (None, 0));
    assert!(harness.state().subtitle.contains("not measured yet"), "{}", harness.state().subtitle);
    assert!(harness.query_by_label("cancel").is_none());
    // a new sweep starts at the first point, with the model as it is now
    harness.get_by_label("measure").click();
    harness.step();
    harness.step();
    let first = questions(&harness).remove(0);
    assert_eq!((first.args.get("upto"), first.args.get("begin")), (Some(&Value::Int(1)), Some(&Value::Switch(true))));
    for _ in 0..30 {
        serve(&mut harness);
        harness.step();
        harness.step();
    }
    let whole = harness.state().csv.clone().unwrap();
    begin(&mut harness, "measure again", 4);
    assert_ne!(harness.state().csv.as_ref(), Some(&whole));
    harness.get_by_label("cancel").click();
    harness.step();
    harness.step();
    assert_eq!(harness.state().csv.as_ref(), Some(&whole), "the whole sweep from before is back");
    harness.get_by_label("measure again");
}

#[test]
fn a_sweep_that_goes_on_asks_what_it_began_with_whatever_the_dials_say_now() {
    let mut harness = tile(builder(), "flow_sweep", unanswered(), true);
    harness.get_by_label("measure").click();
    harness.step();
    harness.step();
    serve(&mut harness);
    set_u0(&mut harness, 1.5);
    harness.step();
    harness.step();
    let next = questions(&harness).remove(0);
    assert_eq!(
        (next.args.get("upto"), next.args.get("u0"), next.args.get("begin")),
        (Some(&Value::Int(2)), Some(&Value::Float(0.0)), None)
    );
    assert!(harness.query_by_label("pause").is_some());
}

#[test]
fn a_sweep_that_is_refused_says_why_and_waits_for_nothing() {
    let mut harness = tile(builder(), "flow_sweep", unanswered(), true);
    harness.get_by_label("measure").click();
    harness.step();
    harness.step();
    harness.get_by_label("measuring the first piece");
    let text = "the field gave no finite value".to_owned();
    let request = harness.state().questions.last_request;
    harness.state_mut().mirror.apply(Event::Question { request, state: QuestionState::Refused(text.clone()) });
    harness.step();
    harness.step();
    harness.get_by_label(&text);
    harness.get_by_label("measure");
}

#[test]
fn only_what_can_be_measured_is_offered() {
    let plane = |playground: bool| {
        let mut answer = field::answer(&Asked::default());
        if playground {
            answer.outcome = FlowOutcome::Plane(PlanarOutcome { field: "spiral".into() });
        }
        let mut mirror = unanswered();
        reply(&mut mirror, 1, answer);
        mirror
    };
    let mut harness = tile(builder(), "flow_sweep", plane(false), true);
    harness.get_by_role_and_label(Role::ComboBox, "what to measure").click();
    harness.run_steps(3);
    harness.get_by_label("class mass");
    let harness = tile(builder(), "flow_sweep", plane(true), true);
    harness.get_by_label("tolerance");
    assert!(harness.query_by_label("class mass").is_none() && harness.query_by_label("time").is_none());
    // a planar field has only two controls
    let harness = tile(builder(), "steer", plane(true), true);
    harness.get_by_role_and_label(Role::Slider, "u\u{2081}");
    assert!(harness.query_by_role_and_label(Role::Slider, "u\u{2082}").is_none());
}

/// A steered run measures its classes by itself. Their curves show what the dial does even where no model can be asked.
#[test]
fn a_sweep_that_the_run_measured_is_shown_until_another_is_chosen() {
    let curves = || ClassCurves { plus: vec![0.1, 0.3, 0.9].into(), minus: vec![0.8, 0.3, 0.1].into() };
    let measured = FlowSweepClass {
        progress: SweepProgress { done: 3, total: 3 },
        u0: vec![-1.0, 0.0, 1.0].into(),
        held_out: curves(),
        trained: curves(),
        neutral: vec![0.1, 0.4, 0.0].into(),
    };
    let mut mirror = unanswered();
    mirror.apply(sample(0, 0, None, measured));
    let mut harness = tile(builder(), "flow_sweep", mirror, true);
    assert!(harness.state().subtitle.contains("class mass"), "{}", harness.state().subtitle);
    set_u0(&mut harness, -0.5);
    harness.step();
    let svg = harness.state().svg.clone().unwrap();
    assert!(svg.contains("class +") && svg.contains("u\u{2080} = \u{2212}0.50"), "{svg}");
    assert_eq!(svg.matches(">steered nouns<").count(), 1, "one name for both dashed lines: {svg}");
    harness.get_by_label("what to measure").click();
    harness.run_steps(2);
    harness.get_by_label("tolerance").click();
    harness.run_steps(2);
    assert!(harness.state().subtitle.starts_with("tolerance"), "{}", harness.state().subtitle);
}

#[test]
fn narrow_tiles_choose_the_sweep_from_a_menu() {
    let narrow = sized(340.0, 240.0);
    let mut harness = tile(narrow, "flow_sweep", unanswered(), true);
    harness.get_by_label("what to measure").click();
    harness.step();
    harness.step();
    harness.get_by_label("tolerance").click();
    harness.step();
    harness.step();
    assert!(harness.state().subtitle.starts_with("tolerance"), "{}", harness.state().subtitle);
}

#[test]
fn the_answer_and_the_paths_are_written_as_drawings() {
    let harness = answered("steer");
    let svg = harness.state().svg.clone().unwrap();
    assert!(svg.starts_with("<svg") && svg.contains(">mass of a class</text>") && svg.contains("class +"), "{svg}");
    let harness = answered("flow_paths");
    let svg = harness.state().svg.clone().unwrap();
    let paths = svg.matches("<path").count();
    assert!(svg.starts_with("<svg") && paths > field::TOKENS.len() && svg.contains(">was</text>"), "{paths}\n{svg}");
}

/// A run of two variants, like the preset that compares two steerings.
fn two_variants() -> Mirror {
    let mut info = info();
    info.variants = vec![variant("as published"), variant("corrected")];
    let mut mirror = Mirror::default();
    mirror.apply(Event::Started(Arc::new(info)));
    mirror.apply(Event::State(RunState::Paused));
    mirror
}

#[test]
fn two_variants_are_steered_side_by_side() {
    let mut mirror = two_variants();
    for (variant, u) in [(0, 0.0), (1, 1.0)] {
        let answer = field::answer(&Asked { u: [u, 0.0, 0.0, 0.0], ..Asked::default() });
        mirror.apply(sample(0, variant, None, answer));
    }
    let harness = tile(builder(), "steer", mirror, true);
    let [left, right] = ["as published", "corrected"].map(|label| harness.get_by_label(label).rect());
    assert!(left.right() < right.left() && (left.center().y - right.center().y).abs() < 1.0);
    assert_eq!(harness.query_all_by_label_contains("mass: class +").count(), 2, "each with its own bars");
}

#[test]
fn claims_are_a_table_with_a_column_a_variant() {
    let mut mirror = two_variants();
    for variant in 0..2 {
        mirror.apply(sample(0, variant, None, field::claims(variant == 0)));
    }
    let harness = tile(builder(), "flow_claims", mirror, true);
    let csv = harness.state().csv.clone().unwrap();
    assert!(csv.starts_with("part,what,the source,as published,corrected\n"), "{csv}");
    let line = |of: &str| csv.lines().find(|l| l.contains(of)).unwrap_or_else(|| panic!("{of}: {csv}")).to_owned();
    assert!(line("P(good), u = +1").ends_with("98%,100.0%,95.0%"), "{csv}");
    assert!(line("\u{201c}good\u{201d} is").contains("a bare space,a bare space,"), "{csv}");
    harness.get_by_label("prompts of 32 nouns");
    assert_eq!(harness.query_all_by_label("The tea was bad.").count(), 2);
}

#[test]
fn a_recording_is_a_picture_for_each_answered_value_and_a_table() {
    let mut harness = answered("steer");
    // this test needs no table and SVG of each frame, which would make it slow
    harness.state_mut().writes = false;
    harness.get_by_label("record").click();
    harness.step();
    let mut waited = 0;
    for _ in 0..2000 {
        harness.step();
        // answers only every third frame, because a real run answers late too
        waited += 1;
        if waited % 3 == 0 {
            serve(&mut harness);
        }
        if matches!(harness.state().exports.last(), Some(FileAction::SaveInExports(..))) {
            break;
        }
    }
    let exports = &harness.state().exports;
    let pictures: Vec<&String> =
        exports.iter().filter_map(|e| if let FileAction::Record(_, name) = e { Some(name) } else { None }).collect();
    assert_eq!(pictures.len(), 60);
    assert!(pictures[0].starts_with("steering-u0-sine-") && pictures[59].ends_with("/frame-0060.png"));
    let Some(FileAction::SaveInExports(name, bytes)) = exports.last() else { panic!("no table") };
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(name.ends_with("/values.csv") && text.lines().count() == 61, "{name}\n{text}");
    let row = |i: usize| -> Vec<f64> {
        text.lines().nth(i).unwrap().split(',').map(|c| c.parse().unwrap_or(f64::NAN)).collect()
    };
    let (high, low) = (row(16), row(46));
    assert_eq!((high[1], low[1]), (2.0, -2.0), "a quarter and three quarters of the way");
    assert!(high[5] > low[5], "P(class +) follows u in the table: {} and {}", high[5], low[5]);
}

#[test]
fn play_moves_the_control_and_a_click_on_the_pad_stops_it() {
    let mut harness = answered("steer");
    harness.get_by_label("play").click();
    harness.step();
    for _ in 0..20 {
        harness.step();
        serve(&mut harness);
    }
    let set = |h: &Harness<'_, Tile>| h.state().subtitle.clone();
    let moved = set(&harness);
    assert!(!moved.contains("u = (0, 0, 0, 0)"), "{moved}");
    let pad = rect_of(&harness, "pad of u\u{2080} and u\u{2081}");
    click(&mut harness, pad.center());
    harness.get_by_label("play");
}

/// The three-dimensional paths are drawn differently from the plane. The picture is also saved for a person to look at,
/// because only user input leads to it.
#[test]
fn paths_in_space_are_another_picture() {
    if !adapter::exists() {
        return;
    }
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("views");
    std::fs::create_dir_all(&folder).unwrap();
    let mut harness = answered_in(builder().wgpu(), "flow_paths", true);
    let plane = harness.render().unwrap();
    harness.get_by_label("space").click();
    harness.step();
    set_u0(&mut harness, 1.2);
    for _ in 0..4 {
        harness.step();
        serve(&mut harness);
    }
    let canvas = rect_of(&harness, "paths of the states");
    press(&mut harness, canvas.center() + vec2(120.0, 120.0), true);
    harness.event(egui::Event::PointerMoved(canvas.center() + vec2(160.0, 100.0)));
    harness.step();
    press(&mut harness, canvas.center() + vec2(160.0, 100.0), false);
    let space = harness.render().unwrap();
    assert!(plane != space);
    space.save(folder.join("flow_paths-space.png")).unwrap();
}
