//! The layout of a graph: it comes to rest by itself, is the same each time, and parts communities;
//! on a graphics adapter the same forces as on the processor.

#[path = "planted/mod.rs"]
mod planted;

use orrery::analysis::layout::{EXACT_UP_TO, Laws, Repulsion, STEPS, Schedule, Springs, settle, start, step};

fn springs(graph: &planted::Planted) -> Springs {
    Springs::new(graph.nodes, &graph.edges)
}

fn far(a: [f32; 2], b: [f32; 2]) -> f32 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[test]
fn it_is_the_same_each_time_and_another_for_another_seed() {
    let graph = planted::graph(300, 5, 1500, 0.8, 1);
    let run = |seed| settle(&springs(&graph), &Laws::default(), start(0..300u32, seed));
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn it_stops_by_itself_with_nothing_moving_to_be_seen() {
    let graph = planted::graph(400, 5, 2400, 0.8, 2);
    let springs = springs(&graph);
    let places = settle(&springs, &Laws::default(), start(0..400u32, 1));
    let schedule = Schedule::fresh(400);
    assert_eq!(schedule.rest(), u64::from(STEPS));
    let next =
        step(&springs, &Laws::default(), Repulsion::Exact, schedule.turn(schedule.rest()), &[false; 400], &places);
    let b = orrery::analysis::layout::bounds(&places);
    let moved = places.iter().zip(&next).map(|(a, b)| far(*a, *b)).fold(0.0, f32::max);
    assert!(moved / (b[2] - b[0]) < 1e-3, "a pixel in a thousand: {moved} of {}", b[2] - b[0]);
}

/// Of the ten nearest to each node most are of its community; chance would be one in `groups`.
#[test]
fn communities_part() {
    for (nodes, edges) in [(600, 4200), (EXACT_UP_TO + 600, 12_000)] {
        let graph = planted::graph(nodes, 8, edges, 0.75, 3);
        let places = settle(&springs(&graph), &Laws::default(), start(0..nodes as u32, 1));
        let pure = planted::purity(&graph, &places);
        assert!(pure > 0.75, "{nodes} nodes: {pure}");
    }
}

#[test]
fn who_is_held_stays_and_what_is_no_edge_pulls_nobody() {
    let springs = Springs::new(3, &[(0, 1, 2.0), (1, 1, 9.0), (2, 7, 1.0), (0, 2, f32::NAN), (1, 2, 0.0)]);
    assert_eq!((springs.of(0).len(), springs.of(1).len(), springs.of(2).len()), (1, 1, 0));
    let places = vec![[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]];
    let turn = Schedule::fresh(3).turn(1);
    let after = step(&springs, &Laws::default(), Repulsion::Exact, turn, &[true, false, false], &places);
    assert_eq!(after[0], places[0]);
    assert!(after[1] != places[1] && after[2] != places[2]);
    assert_eq!(settle(&Springs::new(0, &[]), &Laws::default(), vec![]), Vec::<[f32; 2]>::new());
}

#[test]
fn weaker_heat_ends_sooner_and_begins_cooler() {
    let (fresh, nudged, changed) = (Schedule::fresh(100), Schedule::nudged(100, 500), Schedule::changed(100, 500));
    assert!(nudged.rest() - 500 < changed.rest() - 500 && changed.rest() - 500 < fresh.rest());
    assert!(nudged.turn(501).temperature < changed.turn(501).temperature);
    assert!(changed.turn(501).temperature < fresh.turn(1).temperature);
    assert_eq!(Schedule::at_rest(100, 9).rest(), 9);
}
