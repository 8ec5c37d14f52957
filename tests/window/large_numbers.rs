//! Tests the large numbers above the tiles: each shows its value, meaning and step, for the shown step and the selected
//! variant. A pinned run stays visible behind the next run.

use crossbeam::channel::bounded;
use eframe::egui::{Context, vec2};
use egui_kittest::{
    Harness,
    kittest::{NodeT, Queryable},
};
use orrery::{
    labs,
    telemetry::{
        Event, Measurement, RunHandle, RunInfo, RunState, Sample, StepStats, channels, measurements::ConceptSearch,
    },
    ui::{
        action::{Action, Actions, PageAction},
        lists::Lists,
        mirror::Mirror,
        page::Page,
        panels::{Shell, large_numbers::large_numbers_ui},
        run::{Run, RunOrigin},
        session::Session,
        theme::{self, Theme},
        views::VIEWS,
        widgets::number::grouped,
    },
};

use crate::{
    recorded,
    tiles::{Tile, painted, sized},
};

/// The strip of large numbers of a page, and the actions that clicks on it requested.
struct Strip {
    page: Page,
    asked: Vec<Action>,
    height: f32,
}

fn scalar(mirror: &mut Mirror, variant: usize, step: u64, channel: &str, value: f64) {
    let scalars = vec![(channel.into(), value)];
    mirror.apply(Event::Step(StepStats { step, variant, scalars, wall_secs: 0.0 }));
}

/// A run of three variants with this seed that has measured nothing yet.
fn begun_run(seed: u64) -> Mirror {
    let mut info = recorded::twins_info();
    info.config.seed = seed;
    let mut mirror = Mirror::default();
    mirror.apply(Event::Started(info.into()));
    mirror
}

/// The gates of two variants at steps 20, 60 and 100.
fn gated() -> Mirror {
    let mut mirror = begun_run(7);
    for (step, gate) in [(20, -0.004), (60, 0.05), (100, -0.2)] {
        scalar(&mut mirror, 0, step, channels::GATE, gate);
        scalar(&mut mirror, 1, step, channels::GATE, 0.0);
    }
    mirror
}

fn replayed(mirror: Mirror) -> Run {
    let handle = RunHandle { commands: bounded(1).0, inbox: Default::default() };
    Run::new(handle, mirror, RunOrigin::Folder("runs/1".into()), &Context::default())
}

fn shown(mirror: Mirror, width: f32) -> Harness<'static, Strip> {
    shown_in("fast_slow", mirror, width)
}

fn shown_in(lab: &str, mirror: Mirror, width: f32) -> Harness<'static, Strip> {
    let lab = labs::find(lab).unwrap();
    let mut page = Page::new(lab, lab.config(None).unwrap());
    page.replay(replayed(mirror));
    let builder = Harness::builder().with_size(vec2(width, 120.0)).with_step_dt(1.0 / 60.0);
    let mut harness = builder.build_ui_state(
        |ui, strip: &mut Strip| {
            let theme = Theme::dark();
            theme::apply(&theme, true, ui.ctx());
            let (mut session, mut actions) = (Session::default(), Actions::default());
            let mut shell = Shell {
                theme: &theme,
                session: &mut session,
                lists: Lists::default(),
                actions: &mut actions,
                devices: &[],
                trash: &[],
                now: 0.0,
            };
            strip.height = ui.scope(|ui| large_numbers_ui(ui, &mut shell, &mut strip.page)).response.rect.height();
            strip.asked.extend(actions.iter().cloned());
        },
        Strip { page, asked: vec![], height: 0.0 },
    );
    harness.run_steps(2);
    harness
}

fn scrub(harness: &mut Harness<'_, Strip>, step: u64) {
    harness.state_mut().page.scrub = Some(step);
    harness.run_steps(2);
}

fn has(harness: &Harness<'_, Strip>, words: &str) -> bool {
    harness.query_all_by_label_contains(words).next().is_some()
}

#[test]
fn a_number_is_that_of_the_shown_step_and_absent_before_there_is_one() {
    let mut harness = shown(gated(), 700.0);
    harness.get_by_label("gate size, |tanh γ|: 0.2000, open, coupled, at step 100");
    scrub(&mut harness, 60);
    harness.get_by_label("gate size, |tanh γ|: 0.0500, slightly open, coupled, at step 60");
    scrub(&mut harness, 59);
    harness.get_by_label("gate size, |tanh γ|: 0.0040, closed, coupled, at step 20");
    scrub(&mut harness, 19);
    assert!(!has(&harness, "gate") && !has(&harness, "accuracy") && !has(&harness, "loss"));
}

/// Modularity Q and its comparison with null models are measured on the same graph with different numbers of edges.
/// Without the number of edges, the two values would seem comparable.
#[test]
fn a_graph_number_names_its_number_of_edges() {
    let harness = shown_in("neuron_graph", described(info_of("neuron_graph")), 1600.0);
    assert!(has(&harness, &format!("modularity Q, {} edges: ", grouped(3_000))));
    assert!(has(&harness, "highest null: 0.200, same degrees, the only one measured"));
    assert!(has(&harness, &format!("Q less the highest null, {} edges: ", grouped(16_000))));
}

/// The recorded run's description as one of this lab with its default settings.
fn info_of(lab: &str) -> RunInfo {
    let config = labs::find(lab).unwrap().config(None).unwrap();
    RunInfo { lab: lab.into(), config, ..recorded::twins_info() }
}

/// The recorded run with another description.
fn described(info: RunInfo) -> Mirror {
    let mut twins = recorded::twins();
    twins.info = Some(info.into());
    twins
}

/// *Grammar roles* asks whether it takes a network.
#[test]
fn a_number_stands_beside_that_of_the_variant_without() {
    let names_it = |info: RunInfo| has(&shown_in("grammar_roles", described(info), 1600.0), "no network: ");
    let mut info = info_of("grammar_roles");
    assert!(!names_it(info.clone()), "there is no such variant");
    info.variants[1].group = "words".into();
    assert!(names_it(info));
}

/// *Synapses* asks for a concept, which a run is not searched for by itself.
#[test]
fn the_number_of_the_question_stands_first() {
    let first = |mirror: Mirror| {
        let harness = shown_in("synapses", mirror, 1600.0);
        let buttons = harness.query_all_by_role(eframe::egui::accesskit::Role::Button);
        let first = buttons.min_by(|a, b| a.rect().left().total_cmp(&b.rect().left()));
        first.and_then(|node| node.accesskit_node().label()).unwrap_or_default()
    };
    let unasked = || {
        let mut unasked = Mirror::default();
        unasked.apply(Event::Started(info_of("synapses").into()));
        scalar(&mut unasked, 0, 10, channels::LOSS_HELD_OUT, 0.5);
        unasked
    };
    assert_eq!(first(unasked()), "concept correlation: \u{2013}, not measured yet");
    let texts = painted(&shown_in("synapses", unasked(), 1600.0));
    assert!(texts.iter().any(|words| words == "ask in Concepts"), "it says where: {texts:?}");
    let asked = first(described(info_of("synapses")));
    assert!(asked.starts_with("concept correlation: ") && !asked.contains("not measured"), "{asked}");
    // the verdict, too: a correlation above that of random weights would be read as a yes
    let twins = recorded::twins();
    let search = twins.samples(0, ConceptSearch::CHANNEL).last().and_then(Sample::measurement::<ConceptSearch>);
    let search = search.expect("the recorded run was searched");
    let verdict = if search.synapses.iter().any(|s| s.confirmed) { "confirmed" } else { "not confirmed" };
    assert!(asked.contains(&format!(", {verdict}; best of random weights: ")), "{asked}");
}

#[test]
fn no_tile_moves_when_the_first_number_comes() {
    let (empty, full) = (shown(begun_run(7), 700.0), shown(gated(), 700.0));
    assert!(!has(&empty, "gate") && has(&full, "gate"));
    let words = "The main numbers appear here";
    assert!(has(&empty, words) && !has(&full, words), "an empty strip says what it is for");
    assert!(empty.state().height > 40.0 && empty.state().height == full.state().height, "{}", full.state().height);
    let mut ended = shown(begun_run(7), 700.0);
    ended.state_mut().page.run.as_mut().unwrap().mirror.apply(Event::State(RunState::Stopped));
    ended.run_steps(2);
    assert!(!has(&ended, words) && has(&ended, "No main number of this lab was measured."), "none can come");
    let mut none = shown(gated(), 700.0);
    none.state_mut().page.run = None;
    none.run_steps(2);
    assert_eq!(none.state().height, 0.0, "without a run there is no strip");
}

#[test]
fn a_number_is_that_of_the_variant_in_focus() {
    let mut harness = shown(gated(), 700.0);
    harness.state_mut().page.selection.variant = 1;
    harness.run_steps(2);
    harness.get_by_label("gate size, |tanh γ|: 0.0000, closed, frozen, at step 100");
    harness.state_mut().page.selection.variant = 2;
    harness.run_steps(2);
    harness.get_by_label("gate size, |tanh γ|: 0.2000, open, coupled, at step 100");
}

#[test]
fn a_click_on_a_number_brings_its_view_to_the_front() {
    let mut harness = shown(gated(), 700.0);
    harness.get_by_label_contains("gate size, |tanh γ|: ").click();
    harness.run_steps(2);
    assert_eq!(harness.state().asked, [Action::from(PageAction::ShowView("gate"))]);
    for number in labs::LABS.iter().flat_map(|lab| lab.large_numbers) {
        assert!(number.view.is_empty() || VIEWS.iter().any(|v| v.id == number.view), "{}", number.view);
    }
}

#[test]
fn large_numbers_without_room_are_named_and_none_is_clipped() {
    for width in [1200.0, 700.0, 420.0, 300.0, 240.0] {
        let harness = shown(recorded::twins(), width);
        let named = ["gate size, |tanh γ|: ", "accuracy: ", "held-out loss: "]
            .iter()
            .filter(|words| has(&harness, words))
            .count();
        assert_eq!(named, 3, "{width}: a number is shown, or named where the pointer rests");
        for number in harness.query_all_by_role(eframe::egui::accesskit::Role::Button) {
            assert!(number.rect().right() <= width, "{width}: {:?}", number.accesskit_node().label());
        }
    }
}

#[test]
fn seeds_are_one_number_with_their_interval() {
    let harness = shown(recorded::seeds(), 1200.0);
    let label = harness.get_by_label_contains("accuracy: ").accesskit_node().label().unwrap_or_default();
    assert!(label.contains("guessing: 0.1000, coupled, at step 650"), "{label}");
}

#[test]
fn numbers_without_room_are_in_a_list_that_opens() {
    let mut harness = shown(recorded::twins(), 300.0);
    assert_eq!(harness.query_all_by_label_contains("held-out loss: ").count(), 1);
    let texts = painted(&harness);
    assert!(texts.iter().any(|words| words == "2 more"), "a count of numbers, and no change of one: {texts:?}");
    harness.get_by_label_contains("More numbers: ").click();
    harness.run_steps(3);
    let loss = |node: &egui_kittest::Node<'_>| {
        node.accesskit_node().label().is_some_and(|label| label.starts_with("held-out loss: "))
    };
    let number = harness.query_all_by_label_contains("held-out loss: ").find(loss).expect("it is in the list");
    number.click();
    harness.run_steps(2);
    assert_eq!(harness.state().asked, [Action::from(PageAction::ShowView("losses"))]);
}

/// The second run of a page whose first run was pinned.
fn after_pinned() -> Mirror {
    let mut first = gated();
    assert!(first.pin() && first.is_pinned);
    let mut second = begun_run(8);
    second.follow_pinned(&mut first);
    scalar(&mut second, 0, 10, channels::GATE, 0.125);
    second
}

#[test]
fn a_pinned_run_is_drawn_behind_the_next_until_it_is_unpinned() {
    let pinned = "pinned: seed 7";
    let harness = Tile::new("gate", after_pinned()).shown(sized(640.0, 420.0));
    let csv = harness.state().csv.clone().unwrap();
    assert!(csv.lines().next().unwrap().contains("pinned: seed 7, coupled"), "{csv}");
    assert!(csv.contains("-0.2") && csv.contains("0.125"), "{csv}");
    assert_eq!(harness.query_all_by_label(pinned).count(), 1, "the legend names it once");
    let mut mirror = after_pinned();
    mirror.unpin();
    let harness = Tile::new("gate", mirror).shown(sized(640.0, 420.0));
    assert!(!harness.state().csv.clone().unwrap().contains("pinned"));
    assert_eq!(harness.query_all_by_label(pinned).count(), 0);
}

#[test]
fn a_pinned_run_is_drawn_where_the_next_has_nothing_yet() {
    let (mut first, mut second) = (gated(), begun_run(8));
    assert!(first.pin());
    second.follow_pinned(&mut first);
    let harness = Tile::new("gate", second).shown(sized(640.0, 420.0));
    let csv = harness.state().csv.clone().expect("the chart is not empty");
    assert!(csv.contains("pinned: seed 7, coupled") && csv.contains("-0.2"), "{csv}");
    assert_eq!(harness.query_all_by_label("pinned: seed 7").count(), 1);
}

#[test]
fn a_run_stays_pinned_when_another_begins_in_its_place() {
    let mut mirror = gated();
    assert!(mirror.pin());
    assert!(mirror.pinned().is_none(), "it is not behind itself");
    let info = begun_run(9).info.unwrap();
    mirror.apply(Event::Started(info.clone()));
    let pinned = mirror.pinned().expect("it is behind the new one");
    assert_eq!(pinned.name(), "pinned: seed 7");
    assert_eq!(pinned.curve(0, channels::GATE).unwrap().last(), Some(-0.2));
    mirror.apply(Event::Started(info));
    assert_eq!(mirror.pinned().unwrap().name(), "pinned: seed 7", "and behind the one after that");
    assert!(!begun_run(7).pin(), "what has no curve cannot be pinned");
    let folder = Some("runs/7".to_owned());
    let mut first = Mirror::default();
    first.apply(Event::Started(RunInfo { folder: folder.clone(), ..(*begun_run(7).info.unwrap()).clone() }.into()));
    scalar(&mut first, 0, 1, channels::GATE, 0.5);
    assert!(first.pin());
    first.apply(Event::Started(RunInfo { folder, ..(*begun_run(7).info.unwrap()).clone() }.into()));
    assert!(first.pinned().is_none(), "the run itself, opened again");
    first.apply(Event::Started(begun_run(8).info.unwrap()));
    assert!(first.pinned().is_some());
}

#[test]
fn the_strip_names_the_pinned_run_and_unpins_it() {
    let mut harness = shown(gated(), 900.0);
    let page = &mut harness.state_mut().page;
    assert!(page.run.as_mut().unwrap().mirror.pin());
    page.replay(replayed(begun_run(8)));
    harness.run_steps(2);
    harness.get_by_label("Unpin, pinned: seed 7").click();
    harness.run_steps(2);
    assert_eq!(harness.state().asked, [Action::from(PageAction::UnpinRun)]);
}

#[test]
fn a_long_name_of_the_pinned_run_is_cut_rather_than_a_number() {
    let numbers = |harness: &Harness<'_, Strip>| {
        let is_number = |node: &egui_kittest::Node<'_>| {
            let label = node.accesskit_node().label().unwrap_or_default();
            !["Unpin", "More numbers"].iter().any(|other| label.starts_with(other))
        };
        harness.query_all_by_role(eframe::egui::accesskit::Role::Button).filter(is_number).count()
    };
    for width in [500.0, 700.0, 900.0, 1100.0] {
        let mut info = recorded::twins_info();
        info.config.preset = "a preset whose name goes on and on ".repeat(4);
        let mut first = Mirror::default();
        first.apply(Event::Started(info.into()));
        scalar(&mut first, 0, 20, channels::GATE, 0.1);
        assert!(first.pin());
        let mut second = recorded::twins();
        second.follow_pinned(&mut first);
        let harness = shown(second, width);
        assert_eq!(numbers(&harness), numbers(&shown(recorded::twins(), width - 80.0)), "{width}");
        let unpin = harness.get_by_label_contains("Unpin, pinned: a preset").rect();
        assert!(unpin.left() >= 0.0 && unpin.right() <= width, "{width}: {unpin:?}");
    }
}

#[test]
fn the_name_of_the_pinned_run_lies_on_no_number() {
    for width in (160..700).step_by(20) {
        let mut first = gated();
        assert!(first.pin());
        let mut second = described(info_of("neuron_graph"));
        second.follow_pinned(&mut first);
        let harness = shown_in("neuron_graph", second, width as f32);
        let buttons = harness.query_all_by_role(eframe::egui::accesskit::Role::Button);
        let is_unpin = |node: &egui_kittest::Node<'_>| {
            node.accesskit_node().label().is_some_and(|label| label.starts_with("Unpin, "))
        };
        let (unpin, numbers): (Vec<_>, Vec<_>) = buttons.partition(is_unpin);
        assert!(!unpin.is_empty() || width < 260, "{width}: the run is named");
        for (name, number) in unpin.iter().flat_map(|name| numbers.iter().map(move |number| (name, number))) {
            let (name, number) = (name.rect(), number.rect());
            assert!(name.left() >= number.right() - 1.0, "{width}: {name} on {number}");
        }
    }
}
