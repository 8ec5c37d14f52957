//! Tests the layout of a graph: it comes to rest, is reproducible, and separates communities; a graphics adapter
//! computes the same forces as the processor.

use crate::planted_graph;
use orrery::analysis::layout::{
    ForceParams, MAX_EXACT_NODES, Repulsion, STEPS, Schedule, Springs, run_steps, start, step, steps_for,
};

fn springs(graph: &planted_graph::Planted) -> Springs {
    Springs::new(graph.nodes, &graph.edges)
}

/// Runs the layout from a start until it is at rest.
fn settled(springs: &Springs, places: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    run_steps(u64::from(steps_for(places.len())), springs, &ForceParams::default(), places, |_| ())
}

fn far(a: [f32; 2], b: [f32; 2]) -> f32 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[test]
fn a_layout_depends_only_on_its_seed() {
    let graph = planted_graph::graph(300, 5, 1500, 0.8, 1);
    let run = |seed| settled(&springs(&graph), start(0..300u32, seed));
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn the_layout_stops_when_no_node_moves_visibly() {
    let graph = planted_graph::graph(400, 5, 2400, 0.8, 2);
    let springs = springs(&graph);
    let places = settled(&springs, start(0..400u32, 1));
    let schedule = Schedule::from_start(400);
    assert_eq!(schedule.last_step(), u64::from(STEPS));
    let next = step(
        &springs,
        &ForceParams::default(),
        Repulsion::Exact,
        schedule.step_params(schedule.last_step()),
        &[false; 400],
        &places,
    );
    let b = orrery::analysis::layout::bounds(&places);
    let moved = places.iter().zip(&next).map(|(a, b)| far(*a, *b)).fold(0.0, f32::max);
    assert!(moved / (b[2] - b[0]) < 1e-3, "a pixel in a thousand: {moved} of {}", b[2] - b[0]);
}

/// Most of the ten nearest neighbours of a node belong to its community. By chance, only one eighth would.
#[test]
fn communities_are_separated_by_the_layout() {
    for (nodes, edges) in [(600, 4200), (MAX_EXACT_NODES + 600, 12_000)] {
        let graph = planted_graph::graph(nodes, 8, edges, 0.75, 3);
        let places = settled(&springs(&graph), start(0..nodes as u32, 1));
        let pure = planted_graph::purity(&graph, &places);
        assert!(pure > 0.75, "{nodes} nodes: {pure}");
    }
}

#[test]
fn held_nodes_stay_and_invalid_edges_exert_no_force() {
    let springs = Springs::new(3, &[(0, 1, 2.0), (1, 1, 9.0), (2, 7, 1.0), (0, 2, f32::NAN), (1, 2, 0.0)]);
    assert_eq!((springs.neighbours(0).len(), springs.neighbours(1).len(), springs.neighbours(2).len()), (1, 1, 0));
    let places = vec![[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]];
    let turn = Schedule::from_start(3).step_params(1);
    let after = step(&springs, &ForceParams::default(), Repulsion::Exact, turn, &[true, false, false], &places);
    assert_eq!(after[0], places[0]);
    assert!(after[1] != places[1] && after[2] != places[2]);
    assert_eq!(settled(&Springs::new(0, &[]), vec![]), Vec::<[f32; 2]>::new());
}

#[test]
fn a_smaller_change_starts_a_cooler_and_shorter_schedule() {
    let (fresh, nudged, changed) = (Schedule::from_start(100), Schedule::nudged(100, 500), Schedule::changed(100, 500));
    assert!(nudged.last_step() - 500 < changed.last_step() - 500 && changed.last_step() - 500 < fresh.last_step());
    assert!(nudged.step_params(501).temperature < changed.step_params(501).temperature);
    assert!(changed.step_params(501).temperature < fresh.step_params(1).temperature);
    assert_eq!(Schedule::cooled(100, 9).last_step(), 9);
}

mod device {
    //! Tests the layout on the available graphics adapter.

    use eframe::egui_wgpu::wgpu;
    use orrery::{
        analysis::layout::{ForceParams, MASS_QUANTUM, Repulsion, Springs, StepParams, grid_parts},
        gpu::{
            graph_layout::{self, GraphLayout, Kernels, Node, Spring},
            offscreen::Offscreen,
        },
    };

    pub struct Device {
        offscreen: Offscreen,
        kernels: Kernels,
    }

    impl Device {
        pub fn new() -> Option<Self> {
            let offscreen = crate::adapter::offscreen()?;
            let device = &offscreen.render_state().device;
            device.on_uncaptured_error(std::sync::Arc::new(|e| panic!("{e}")));
            let kernels = Kernels::new(device);
            Some(Self { offscreen, kernels })
        }

        pub fn adapter(&self) -> String {
            self.offscreen.adapter()
        }

        pub fn put(&self, springs: &Springs, repulsion: Repulsion, held: &[u32], start: &[[f32; 2]]) -> GraphLayout {
            let node = |i: usize| Node {
                mass: springs.masses[i],
                first: springs.first[i],
                end: springs.first[i + 1],
                held: held.contains(&(i as u32)).into(),
            };
            let nodes: Vec<Node> = (0..springs.nodes()).map(node).collect();
            let ends: Vec<Spring> =
                springs.ends.iter().map(|(to, strength)| Spring { to: *to, strength: *strength }).collect();
            let ForceParams { repulsion: strength, gravity, reach, softening, damping } = ForceParams::default();
            let forces = graph_layout::ForceUniform {
                count: 0,
                levels: if let Repulsion::Grid { levels } = repulsion { levels } else { 0 },
                parts: grid_parts(&springs.masses),
                quantum: MASS_QUANTUM,
                repulsion: strength,
                gravity,
                reach,
                softening,
                damping,
                padding: [0.0; 7],
            };
            let state = self.offscreen.render_state();
            GraphLayout::new(&state.device, &state.queue, &self.kernels, &nodes, &ends, start, forces).unwrap()
        }

        /// Runs the steps and reads back the positions, followed by their bounding box.
        pub fn run(&self, layout: &mut GraphLayout, turns: &[StepParams]) -> Vec<[f32; 2]> {
            let state = self.offscreen.render_state();
            let turns: Vec<_> =
                turns.iter().map(|t| graph_layout::StepParams { temperature: t.temperature, loose: t.loose }).collect();
            let mut encoder = state.device.create_command_encoder(&Default::default());
            layout.run(&state.queue, &mut encoder, &self.kernels, &turns);
            let size = (u64::from(layout.count()) + 2) * 8;
            let back = state.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            encoder.copy_buffer_to_buffer(layout.places(), 0, &back, 0, size);
            state.queue.submit([encoder.finish()]);
            back.slice(..).map_async(wgpu::MapMode::Read, |r| r.unwrap());
            state.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            let bytes = back.slice(..).get_mapped_range().unwrap();
            bytemuck::cast_slice(&bytes).to_vec()
        }
    }
}

/// The largest difference between two layouts, as a fraction of the layout's radius.
fn apart(a: &[[f32; 2]], b: &[[f32; 2]]) -> f32 {
    let box_of = orrery::analysis::layout::bounds(a);
    let radius = 0.5 * (box_of[2] - box_of[0]).max(box_of[3] - box_of[1]);
    a.iter().zip(b).map(|(a, b)| far(*a, *b)).fold(0.0, f32::max) / radius
}

#[test]
fn the_adapter_moves_nodes_as_the_processor_does() {
    let Some(device) = device::Device::new() else { return };
    for (nodes, repulsion) in
        [(300, Repulsion::Exact), (1500, Repulsion::Grid { levels: 7 }), (65, Repulsion::Grid { levels: 2 })]
    {
        let graph = planted_graph::graph(nodes, 5, nodes * 5, 0.8, 4);
        let springs = springs(&graph);
        let first = start(0..nodes as u32, 3);
        let mut held = vec![false; nodes];
        held[7] = true;
        let mut layout = device.put(&springs, repulsion, &[7], &first);
        let schedule = Schedule::changed(nodes, 0);
        let mut places = first.clone();
        let mut made = 0;
        for (upto, tolerance) in [(1u64, 2e-5), (2, 5e-5), (10, 2e-3)] {
            let turns: Vec<_> = (made + 1..=upto).map(|s| schedule.step_params(s)).collect();
            for turn in &turns {
                places = step(&springs, &ForceParams::default(), repulsion, *turn, &held, &places);
            }
            made = upto;
            let found = device.run(&mut layout, &turns);
            let off = apart(&places, &found[..nodes]);
            println!("{}: {nodes} nodes, {repulsion:?}, {upto} steps: {off:.1e} of the radius apart", device.adapter());
            assert!(off < tolerance, "{nodes} nodes, {repulsion:?}, after {upto} steps: {off}");
            assert_eq!(found[7], first[7], "it is held");
            let b = orrery::analysis::layout::bounds(&found[..nodes]);
            assert_eq!((found[nodes], found[nodes + 1]), ([b[0], b[1]], [b[2], b[3]]), "the box around all");
        }
        assert_eq!(layout.steps(), 10);
    }
}

#[test]
fn a_gpu_layout_is_the_same_in_any_batches() {
    let Some(device) = device::Device::new() else { return };
    for (nodes, repulsion) in [(200, Repulsion::Exact), (1200, Repulsion::for_nodes(1200))] {
        let graph = planted_graph::graph(nodes, 5, nodes * 5, 0.8, 5);
        let springs = springs(&graph);
        let schedule = Schedule::from_start(nodes);
        let turns: Vec<_> = (1..=schedule.last_step()).map(|s| schedule.step_params(s)).collect();
        let run = |parts: &[usize]| {
            let mut layout = device.put(&springs, repulsion, &[], &start(0..nodes as u32, 3));
            let (mut from, mut found) = (0, vec![]);
            for part in parts {
                found = device.run(&mut layout, &turns[from..from + part]);
                from += part;
            }
            found
        };
        let whole = run(&[300]);
        assert!(whole == run(&[1, 99, 7, 193]), "{nodes} nodes: in parts");
        let pure = planted_graph::purity(&graph, &whole[..nodes]);
        assert!(pure > 0.8, "{nodes} nodes: {pure}");
    }
}
