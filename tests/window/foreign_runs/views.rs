//! Tests each view on the page of another program's run with data in the form that such a program sends.

use eframe::egui::{Rect, Shape, accesskit::Role};
use egui_kittest::kittest::{NodeT, Queryable};
use orrery::{
    labs::foreign,
    telemetry::{Event, MEASUREMENTS, Measurement, channels, measurements},
    ui::{figure::Figure, mirror::Mirror, plot::svg, theme::Theme},
};
use serde_json::{Value, json};

use super::{TestWindow, mirror, shown};
use crate::{
    adapter::offscreen,
    foreign_run::ForeignRun,
    recorded,
    tiles::{Tile, painted, sized},
};

const PROTOCOL: &str = include_str!("../../../docs/protocol.md");

/// Views that only the user opens, each with a channel that it shows.
static OPENED_BY_HAND: [(&str, &str); 3] = [
    (foreign::LOGGED, "my/ratio"),
    ("graph_table", measurements::NeuronGraph::CHANNEL),
    ("flow_paths", measurements::FlowAnswer::CHANNEL),
];

/// The channels that a view of the lab shows.
fn channels_of(view: &str) -> Vec<&'static str> {
    let scalars = [
        channels::LOSS_TRAIN,
        channels::LOSS_HELD_OUT,
        channels::GATE,
        channels::ACCURACY,
        channels::MEMORY_MEDIAN,
        channels::DEQ_RESIDUAL,
    ];
    let by_hand = OPENED_BY_HAND.iter().filter(|(opened, _)| *opened == view).map(|(_, channel)| *channel);
    let all = MEASUREMENTS.iter().map(|entry| entry.channel).chain(scalars);
    all.filter(|channel| view != foreign::LOGGED && foreign::view_of(channel) == view).chain(by_hand).collect()
}

/// The example payload of a channel in docs/protocol.md, if it has one.
fn documented(channel: &str) -> Option<Value> {
    let text = &PROTOCOL[PROTOCOL.find(&format!("- `{channel}`: "))?..];
    let text = &text[text.find("`{")? + 1..];
    let json = text[..=text.find("}`")?].replace("Array (heads, T, T)", "[[[1.0]]]").replace("[..]", "[0.0]");
    Some(serde_json::from_str(&json).unwrap_or_else(|e| panic!("{channel}: {e} in {json}")))
}

/// Writes a measurement of a channel: the example from the protocol if there is one, otherwise the recorded run's.
fn write(run: &ForeignRun, twins: &Mirror, channel: &str) {
    if channel.contains('/') {
        let line = |step: u64| json!({"step": step, "variant": "model", (channel): 0.5 / step as f64});
        return (1..=3).for_each(|step| run.line("metrics.jsonl", &line(step)));
    }
    if let Some(payload) = documented(channel) {
        return run.sample(3, channel, &payload);
    }
    let of_variant = |v| twins.sample_at(v, channel, recorded::STEPS).or_else(|| twins.answer(v, channel));
    let sample = (0..3).find_map(of_variant).unwrap_or_else(|| panic!("nothing of {channel} is recorded"));
    let mut payload = serde_json::to_value(&*sample.payload).unwrap();
    if let Some(temperature) = payload.get_mut("temperature") {
        // the temperature of a text that the program chose itself
        *temperature = json!(0.0);
    }
    let line = json!({"step": 3, "variant": "model", "channel": channel, "about": "batch 0", "tokens": sample.tokens,
                      "payload": payload});
    run.line("samples.jsonl", &line);
}

#[test]
fn every_view_shows_what_a_program_sends() {
    let here = tempfile::tempdir().unwrap();
    let twins = recorded::twins();
    for pane in foreign::LAB.panes {
        let view = pane.view;
        let run = ForeignRun::begin(here.path(), view, &json!({}));
        (1..=3).for_each(|step| run.line("metrics.jsonl", &json!({"step": step, "variant": "model"})));
        channels_of(view).into_iter().for_each(|channel| write(&run, &twins, channel));
        if view == foreign::QUESTIONS {
            run.allow(&["save"]);
        }
        let mirror = mirror(&run);
        let info = mirror.info.clone().unwrap();
        let asked = mirror.can_be_asked_elsewhere().then_some(&info.asks[..]);
        let open = foreign::panes(mirror.channels().iter().map(|channel| channel.as_str()), asked);
        let is_by_hand = OPENED_BY_HAND.iter().any(|(opened, _)| *opened == view && view != foreign::LOGGED);
        assert_eq!(open.iter().any(|pane| pane.view == view), !is_by_hand, "{view} opens by itself");
        for theme in [Theme::dark(), Theme::light()] {
            let figure = Figure::new(view, &mirror, &info.config, &[], &theme);
            let is_empty = figure.empty_message().unwrap().is_some();
            assert_eq!(is_empty, view == foreign::QUESTIONS, "{view}: a form to fill in is not a picture");
        }
    }
}

#[test]
fn a_picture_has_every_channel_or_says_how_many() {
    let here = tempfile::tempdir().unwrap();
    let run_of = |count: usize| {
        let run = ForeignRun::begin(here.path(), &format!("run{count}"), &json!({}));
        for step in 1..=2 {
            let mut line = json!({"step": step, "variant": "model"});
            (0..count).for_each(|i| line[format!("my/{i:02}")] = json!(i * step));
            run.line("metrics.jsonl", &line);
        }
        mirror(&run)
    };
    let theme = Theme::dark();
    let height = |drawing: &str| svg::size_of(drawing).unwrap().y;
    let svg_of = |mirror: &Mirror| {
        let config = mirror.info.clone().unwrap().config.clone();
        Figure::new(foreign::LOGGED, mirror, &config, &[], &theme).svg().unwrap()
    };
    for count in [13, 38] {
        let all = svg_of(&run_of(count));
        for i in 0..count {
            assert!(all.contains(&format!("<title>my/{i:02}</title>")), "no panel {i} of {count}");
        }
        let words = [format!("{count} channels"), format!(" of {count}")];
        assert!(all.contains(&words[0]) && !all.contains(&words[1]), "{all}");
        assert_eq!(height(&all) > 600.0, count > 24, "{count}: {}", height(&all));
    }
    let bounded = svg_of(&run_of(400));
    assert!(bounded.contains(" of 400 channels: a wider picture has more"));
    assert!(height(&bounded) <= 4000.0, "{}", height(&bounded));
    let Some(mut offscreen) = offscreen() else { return };
    let mirror = run_of(39);
    let config = mirror.info.clone().unwrap().config.clone();
    let image = Figure::new(foreign::LOGGED, &mirror, &config, &[], &theme).image(&mut offscreen).unwrap();
    assert!(image.height > 2 * 600, "the picture grows as the drawing does: {}", image.height);
}

/// Nothing can be scrolled in a picture, and no slider chooses another matrix.
#[test]
fn a_picture_says_which_rows_and_matrices_it_leaves_out() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    run.line("metrics.jsonl", &json!({"step": 1, "variant": "model"}));
    let rows: Vec<Value> = (0..300).map(|i| json!([i])).collect();
    run.sample(1, "table/long", &json!({"columns": ["i"], "rows": rows}));
    run.sample(1, "matrix/three", &json!([[[1, 2]], [[3, 4]], [[5, 6]]]));
    let (mirror, theme) = (mirror(&run), Theme::dark());
    let config = mirror.info.clone().unwrap().config.clone();
    let svg = Figure::new(foreign::LOGGED, &mirror, &config, &[], &theme).svg().unwrap();
    assert!(svg.contains(" of 300 rows") && svg.contains("matrix 0 of 0 to 2"), "{svg}");
}

/// The same in the window, with all channels in one run.
#[test]
fn a_page_opens_a_view_for_every_channel_that_a_program_sends() {
    let here = tempfile::tempdir().unwrap();
    let twins = recorded::twins();
    let run = ForeignRun::begin(here.path(), "all", &json!({}));
    (1..=3).for_each(|step| run.line("metrics.jsonl", &json!({"step": step, "variant": "model"})));
    run.allow(&["save"]);
    let mut views: Vec<&str> = foreign::LAB.panes.iter().map(|pane| pane.view).collect();
    views.retain(|view| *view == foreign::LOGGED || OPENED_BY_HAND.iter().all(|(opened, _)| opened != view));
    views.iter().flat_map(|view| channels_of(view)).for_each(|channel| write(&run, &twins, channel));
    let mut desk = TestWindow::new(here.path());
    desk.drop_folder(&run.folder);
    desk.until("all views are open", |d| d.views().len() == views.len());
    views.sort_unstable();
    assert_eq!(desk.views(), views);
}

/// Fields and buttons must not reach beyond the narrowest tile, which may end at the edge of the window.
#[test]
fn questions_fit_into_a_narrow_tile() {
    const WIDTH: f32 = 320.0;
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    run.step(1);
    run.allow(&["pause", "scale_lr", "attention", "next_tokens", "lesson"]);
    let mut mirror = mirror(&run);
    mirror.apply(Event::Snapshots(vec![1].into()));
    let mut tile = Tile::new(foreign::QUESTIONS, mirror).shown(sized(WIDTH, 900.0));
    tile.get_by_role_and_label(Role::Button, "Ask scale_lr").click();
    tile.run_steps(3);
    assert!(tile.query_by_role_and_label(Role::Button, "Withdraw").is_some(), "its longest row is shown");
    for role in [Role::Button, Role::TextInput, Role::SpinButton] {
        for node in tile.query_all_by_role(role) {
            assert!(node.rect().right() <= WIDTH, "{:?}", node.accesskit_node().label());
        }
    }
}

#[test]
fn a_gate_of_another_program_is_not_measured_by_the_paper() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::finished(here.path(), "run", 1e-3);
    let tile = shown(Tile::new("gate", mirror(&run)));
    let words = painted(&tile).join(" ");
    assert!(words.contains("closed: within") && !words.contains("paper"), "{words}");
    assert!(tile.state().subtitle.contains("opening of the gate"), "{}", tile.state().subtitle);
}

/// The layers of a Hugging Face model have long names that differ in one number.
#[test]
fn long_names_of_layers_keep_their_number_and_lie_apart() {
    let here = tempfile::tempdir().unwrap();
    for (layers, heads) in [(3, 4), (12, 12)] {
        let run = ForeignRun::begin(here.path(), &format!("run{layers}"), &json!({}));
        run.step(1);
        let map = json!([[1.0, 0.0], [0.5, 0.5]]);
        let layer = |i: usize| {
            json!({"path": format!("model.layers.{i}.self_attn"), "tokens_per_position": 1, "weights": vec![&map; heads],
                   "entropy": vec![0.5; heads], "uniform_entropy": vec![0.6; heads]})
        };
        run.sample(1, "attention.maps", &json!({"layers": (0..layers).map(layer).collect::<Vec<_>>()}));
        let tile = Tile::new("attention", mirror(&run)).shown(sized(760.0, 480.0));
        let mut names: Vec<(&str, Rect)> = vec![];
        for clipped in &tile.output().shapes {
            if let Shape::Text(text) = &clipped.shape
                && text.galley.text().contains('\u{2026}')
            {
                let place = Rect::from_min_size(text.pos, text.galley.size());
                assert!(clipped.clip_rect.contains_rect(place), "{} is cut", text.galley.text());
                assert!(names.iter().all(|(_, other)| !other.intersects(place)), "{names:?} and {place:?}");
                names.push((text.galley.text(), place));
            }
        }
        let numbered = |i: usize| names.iter().filter(|(name, _)| name.contains(&format!("\u{2026}{i}."))).count();
        assert!((0..layers).all(|i| numbered(i) == 1), "{names:?}");
    }
}

/// `orrery_log` sends neither the tokens of the prompt nor a continuation; the view must then leave out their lines.
#[test]
fn next_tokens_alone_leave_no_empty_line() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    run.step(1);
    let likely = json!([{"token": "a", "probability": 0.75}]);
    let payload =
        |continuation: &str| json!({"prompt": "hi", "is_typed": true, "likely": likely, "continuation": continuation});
    run.sample(1, "text.next_tokens", &payload(""));
    let has_lines = |run: &ForeignRun| {
        let tile = shown(Tile::new("next_tokens", mirror(run)));
        let csv = tile.state().csv.as_deref().unwrap_or_default();
        assert!(csv.starts_with("variant,step,prompt,token,probability,goes on\n"), "{csv}");
        assert!(csv.contains(",1,hi,a,0.75,"), "{csv}");
        let has_strip = tile.query_all_by_label_contains("tokens: ").next().is_some();
        (has_strip, painted(&tile).iter().any(|words| words.contains("goes on:")))
    };
    assert_eq!(has_lines(&run), (false, false));
    let line = json!({"step": 1, "variant": "model", "channel": "text.next_tokens", "about": "", "tokens": ["h", "i"],
                      "payload": payload(" there")});
    run.line("samples.jsonl", &line);
    assert_eq!(has_lines(&run), (true, true));
}
