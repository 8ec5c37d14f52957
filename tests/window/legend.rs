//! Tests the controls around a chart: names switch lines off and on, the y axis can be held, and the label of a claim's
//! number opens the claim. Needs no graphics adapter.

use eframe::egui::{Pos2, Shape, accesskit::Role, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    labs,
    telemetry::{Channel, Event, RunInfo, StepStats, channels},
    ui::{figure::Figure, mirror::Mirror, theme::Theme},
};

use crate::{
    recorded,
    tiles::{Tile, rect_of, sized},
};

fn losses() -> Harness<'static, Tile> {
    Tile::new("losses", recorded::twins()).shown(sized(560.0, 360.0))
}

fn header(tile: &Tile) -> String {
    tile.csv.as_deref().and_then(|csv| csv.lines().next()).unwrap_or_default().to_owned()
}

/// The tick labels of the y axis in the SVG.
fn ticks(tile: &Tile) -> Vec<String> {
    let svg = tile.svg.clone().unwrap();
    let beside = svg.lines().filter(|l| l.contains("text-anchor=\"end\""));
    beside.filter_map(|l| Some(l.split_once('>')?.1.split('<').next()?.to_owned())).collect()
}

fn click(harness: &mut Harness<'static, Tile>, name: &str) {
    harness.get_by_role_and_label(Role::CheckBox, name).click();
    harness.run_steps(3);
}

/// Appends a loss far above all others, so that an axis that fits the data must change.
fn leap(harness: &mut Harness<'static, Tile>, variant: usize) {
    let scalars = vec![(Channel::new(channels::LOSS_TRAIN), 90.0)];
    for step in 651..700 {
        let scalars = scalars.clone();
        harness.state_mut().mirror.apply(Event::Step(StepStats { step, variant, scalars, wall_secs: 1.0 }));
    }
    harness.run_steps(2);
}

#[test]
fn a_name_switches_its_lines_off_and_the_axis_fits_the_rest() {
    let mut harness = losses();
    let all = header(harness.state());
    leap(&mut harness, 1);
    let wide = ticks(harness.state());
    click(&mut harness, "frozen");
    assert!(!header(harness.state()).contains("frozen") && all.contains("frozen"), "{}", header(harness.state()));
    assert!(ticks(harness.state()) != wide, "the axis fits what is left");
    harness.run_steps(5);
    assert!(!header(harness.state()).contains("frozen"), "it stays off");
    click(&mut harness, "frozen");
    assert_eq!((header(harness.state()), ticks(harness.state())), (all, wide));
}

#[test]
fn a_held_axis_stays_while_the_run_goes_on() {
    let mut harness = losses();
    let before = ticks(harness.state());
    let chart = harness.get_by_role_and_label(Role::Canvas, "losses").rect();
    harness.hover_at(chart.center());
    harness.run_steps(3);
    click(&mut harness, "Hold the y axis of losses");
    leap(&mut harness, 0);
    assert_eq!(ticks(harness.state()).len(), before.len());
    let y = |tile: &Tile| ticks(tile)[..2].to_vec();
    assert_eq!(y(harness.state()), before[..2], "the range is held");
    click(&mut harness, "Hold the y axis of losses");
    assert!(y(harness.state()) != before[..2], "and follows the data again");
}

/// The published model's number is drawn as a line; a click on its label opens the claim.
#[test]
fn the_label_of_a_published_number_opens_its_claim() {
    let mut harness = Tile::new("flow_training", recorded::twins()).shown(sized(640.0, 480.0));
    harness.get_by_role_and_label(Role::Link, "claim D3: the source ends at 0.065").click();
    harness.run_steps(3);
    assert_eq!(harness.state().claims, ["D3"], "once");
}

#[test]
fn a_loss_is_of_a_token_only_where_a_text_is_read() {
    let axis = |tokens_per_step| {
        let mut mirror = Mirror::default();
        mirror.apply(Event::Started(RunInfo { tokens_per_step, ..recorded::twins_info() }.into()));
        let scalars = vec![(Channel::new(channels::LOSS_TRAIN), 1.0)];
        mirror.apply(Event::Step(StepStats { step: 1, variant: 0, scalars, wall_secs: 1.0 }));
        let harness = Tile::new("losses", mirror).shown(sized(560.0, 360.0));
        harness.state().svg.clone().unwrap()
    };
    assert!(axis(1024).contains(">loss (nats per token)<"));
    assert!(axis(0).contains(">loss (nats)<"));
}

#[test]
fn a_loss_is_of_an_answer_where_answers_alone_count() {
    let mirror = || {
        let config = labs::find("fast_slow").unwrap().config(Some("fast_slow_needed")).unwrap();
        let mut mirror = Mirror::default();
        mirror.apply(Event::Started(RunInfo { config, ..recorded::twins_info() }.into()));
        for (step, variant) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
            let scalars = [channels::LOSS_TRAIN, channels::LOSS_HELD_OUT].map(|name| (Channel::new(name), 1.0)).into();
            mirror.apply(Event::Step(StepStats { step, variant, scalars, wall_secs: step as f64 }));
        }
        mirror
    };
    for (view, words) in [
        ("losses", ">loss (nats per answer)<"),
        ("loss_difference", ">loss difference (nats per answer)<"),
        ("race", ">held-out loss (nats per answer)<"),
    ] {
        let harness = Tile::new(view, mirror()).shown(sized(560.0, 360.0));
        let svg = harness.state().svg.clone().unwrap_or_else(|| panic!("{view} has no drawing"));
        assert!(svg.contains(words), "{view}: {svg}");
    }
}

#[test]
fn an_accuracy_shows_its_task_and_the_guessing_level() {
    let harness = Tile::new("accuracy", recorded::twins()).shown(sized(640.0, 420.0));
    let subtitle = &harness.state().subtitle;
    assert!(subtitle.contains("asked positions of held-out windows \u{b7} guessing: 0.1000"), "{subtitle}");
}

/// A picture of another size is drawn from the tile's state, so a line that is switched off is missing there too.
#[test]
fn a_picture_of_another_size_omits_lines_that_are_switched_off() {
    let mut harness = losses();
    click(&mut harness, "frozen");
    let Tile { view, mirror, config, knobs, selection, .. } = harness.state_mut();
    let theme = Theme::light();
    let figure = Figure {
        run: "wide",
        step: recorded::STEPS,
        size: [1000.0, 700.0],
        pixels_per_point: 1.0,
        ..Figure::new("losses", mirror, config, knobs, &theme)
    };
    let drawing = figure.svg_of(view.as_mut(), selection);
    assert!(drawing.contains(">coupled<") && !drawing.contains(">frozen<"), "{}", &drawing[..400]);
    assert!(drawing.contains(">wide \u{b7} step "), "the subtitle names the run: {}", &drawing[..400]);
    assert!(drawing.starts_with("<svg") && drawing.contains("width=\"968\""), "{}", &drawing[..200]);
}

/// Two lines of one colour differ in their strokes, in the chart and in the box under the pointer.
#[test]
fn the_readout_shows_the_stroke_of_each_line() {
    fn flat<'a>(shape: &'a Shape, into: &mut Vec<&'a Shape>) {
        match shape {
            Shape::Vec(all) => all.iter().for_each(|shape| flat(shape, into)),
            one => into.push(one),
        }
    }
    let mut harness = losses();
    let chart = rect_of(&harness, "losses");
    harness.hover_at(chart.left_top() + chart.size() * vec2(0.4, 0.6));
    harness.run_steps(40);
    let mut shapes = vec![];
    harness.output().shapes.iter().for_each(|clipped| flat(&clipped.shape, &mut shapes));
    let strokes = |label: &str| {
        let text = shapes.iter().find_map(|shape| match shape {
            Shape::Text(text) if text.galley.text().starts_with(label) => Some(text),
            _ => None,
        });
        let text = text.unwrap_or_else(|| panic!("no row of {label}"));
        let (left, middle) = (text.pos.x - 18.0, text.pos.y + text.galley.size().y / 2.0);
        let is_before = |at: &Pos2| (at.y - middle).abs() < 1.0 && (left - 1.0..text.pos.x).contains(&at.x);
        let lines = shapes.iter().filter(|shape| match shape {
            Shape::LineSegment { points, .. } => points.iter().all(is_before),
            _ => false,
        });
        lines.count()
    };
    assert_eq!((strokes("coupled, train"), strokes("frozen, train")), (1, 1), "solid");
    assert!(strokes("coupled, held out") > 1 && strokes("frozen, held out") > 1, "dashed");
}

/// The lines of random weights in all layers are dotted; a legend that names one of them explains all.
#[test]
fn a_stroke_that_accompanies_every_line_is_named_once() {
    for (view, kind) in [("activity", "random weights"), ("warm_up", "traces emptied")] {
        let harness = Tile::new(view, recorded::twins()).shown(sized(900.0, 700.0));
        let svg = harness.state().svg.clone().unwrap_or_else(|| panic!("{view} has no drawing"));
        assert_eq!(svg.matches(&format!(">{kind}<")).count(), 1, "{view}");
    }
}
