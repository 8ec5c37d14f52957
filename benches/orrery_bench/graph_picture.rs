//! `orrery-bench --graph-picture`: what a step of the layout and a frame of the picture of the neuron
//! graph cost on the adapter that is found. It draws the same as the window; its graphs are made up.

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use eframe::egui::{Rect, pos2, vec2};

use orrery::{
    analysis::layout::{ForceParams, MASS_QUANTUM, Repulsion, Schedule, Springs, grid_parts, start, step},
    cli::Failure,
    gpu::{
        self,
        graph::{Camera, Edge, Graph, GraphShape, GraphStyle, NodePositions, NodeStyle, steps_made},
        graph_layout::{self, Node, Spring},
        offscreen::{Offscreen, Sheet},
    },
};

/// Nodes and edges timed.
const SIZES: [(usize, usize); 2] = [(2_000, 20_000), (32_768, 200_000)];
/// Points of the canvas; a pixel a point.
const CANVAS: (f32, f32) = (860.0, 640.0);

/// Communities of about sixty, most edges inside, by a plain multiplicative hash: the same each time.
fn made_up(nodes: usize, edges: usize) -> Vec<(u32, u32, f32)> {
    let mut state = 1u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below
    };
    let groups = (nodes / 60).max(2);
    (0..edges)
        .map(|_| {
            let (a, near) = (draw(nodes), draw(10) < 7);
            let b = if near { (a % groups) + groups * draw((nodes / groups).max(1)) } else { draw(nodes) };
            (a as u32, (b % nodes) as u32, 0.2 + draw(1000) as f32 / 1000.0)
        })
        .collect()
}

fn graph_of(springs: &Springs, edges: &[(u32, u32, f32)], read_back: &Arc<Mutex<NodePositions>>) -> Graph {
    let n = springs.nodes();
    let ForceParams { repulsion, gravity, reach, softening, damping } = ForceParams::default();
    let levels = if let Repulsion::Grid { levels } = Repulsion::for_nodes(n) { levels } else { 0 };
    let parts = grid_parts(&springs.masses);
    let forces = graph_layout::ForceUniform {
        count: n as u32,
        levels,
        parts,
        quantum: MASS_QUANTUM,
        repulsion,
        gravity,
        reach,
        softening,
        damping,
        padding: [0.0; 7],
    };
    let node = |i: usize| Node { mass: springs.masses[i], first: springs.first[i], end: springs.first[i + 1], held: 0 };
    let shape = GraphShape {
        nodes: (0..n).map(node).collect(),
        springs: springs.ends.iter().map(|(to, strength)| Spring { to: *to, strength: *strength }).collect(),
        edges: edges.iter().map(|(a, b, w)| Edge { ends: [*a, *b], ink: *w / 1.2 }).collect(),
        forces: Some(forces),
    };
    let schedule = Schedule::from_start(n);
    Graph {
        key: n as u64,
        shape: Arc::new(shape),
        shape_revision: 1,
        start: Arc::new(start(0..n as u32, 1)),
        start_revision: 1,
        begun: 0,
        wanted: 0,
        step_params: Arc::new(move |s| {
            let turn = schedule.step_params(s);
            graph_layout::StepParams { temperature: turn.temperature, loose: turn.loose }
        }),
        moved_nodes: vec![],
        styles: Arc::new(vec![NodeStyle { colour: [90, 180, 240, 255], radius: 2.5, held: false }; n]),
        style_revision: 1,
        camera: Camera::Fit { margin: 28.0 },
        look: GraphStyle {
            selected: None,
            radius_scale: 1.0,
            strength: 0.3,
            width: 0.9,
            dim: 0.12,
            glow: 0.55,
            fade: 110.0,
            arrow: 0.0,
            ground: [22, 27, 34],
            accent: [240, 169, 59],
            negative: [111, 168, 245],
            positive: None,
        },
        edges: usize::MAX,
        drawn: usize::MAX,
        node_positions: read_back.clone(),
    }
}

/// Milliseconds that a picture of the canvas takes with this graph, or with `None` for an empty canvas.
fn picture(offscreen: &mut Offscreen, graph: Option<&Graph>) -> Result<f64, Failure> {
    let sheet = Sheet { size: [CANVAS.0, CANVAS.1], pixels_per_point: 1.0 };
    let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(CANVAS.0, CANVAS.1));
    let begun = Instant::now();
    let drawn = offscreen.draw(
        sheet,
        |_| {},
        |ui| {
            let shape = graph.cloned().zip(gpu::target(ui.ctx())).map(|(g, target)| g.shape(rect, target));
            if let Some(Ok(shape)) = shape {
                ui.painter().add(shape);
            }
        },
    );
    drawn.map_err(Failure::failed)?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// `frames`: how many of each kind are timed.
pub fn report(frames: usize) -> Result<(), Failure> {
    let mut offscreen = Offscreen::new().map_err(Failure::failed)?;
    let frames = frames.clamp(3, 200);
    println!("{}, canvas {} x {} pixels, medians of {frames}", offscreen.adapter(), CANVAS.0, CANVAS.1);
    println!(
        "{:>8}{:>9}{:>15}{:>15}{:>15}{:>15}{:>15}",
        "nodes", "edges", "step, adapter", "step, here", "edges all", "edges 6000", "nothing moved"
    );
    for (nodes, edges) in SIZES {
        let edges = made_up(nodes, edges);
        let springs = Springs::new(nodes, &edges);
        let read_back = Arc::new(Mutex::new(NodePositions::default()));
        let mut graph = graph_of(&springs, &edges, &read_back);
        picture(&mut offscreen, Some(&graph))?;
        let empty = median((0..frames).map(|_| picture(&mut offscreen, None)).collect::<Result<_, _>>()?);
        // A step: pictures that also make ten steps, less those that make none but are drawn anew.
        let mut times = [vec![], vec![], vec![], vec![]];
        for k in 0..frames {
            graph.camera = Camera::Fit { margin: 28.0 + 0.01 * k as f32 };
            times[0].push(picture(&mut offscreen, Some(&graph))?);
            times[1].push(picture(&mut offscreen, Some(&graph))?);
            graph.wanted += 10;
            times[2].push(picture(&mut offscreen, Some(&graph))?);
            graph.drawn = 6_000;
            graph.camera = Camera::Fit { margin: 28.005 + 0.01 * k as f32 };
            times[3].push(picture(&mut offscreen, Some(&graph))?);
            graph.drawn = usize::MAX;
        }
        let [drawn, idle, moved, fewer] = times.map(median);
        let made = steps_made(&offscreen.render_state().renderer.read().callback_resources);
        let adapter = if made > 0 { format!("{:.2} ms", (moved - drawn) / 10.0) } else { "no compute".to_owned() };
        let held = vec![false; nodes];
        let (schedule, repulsion) = (Schedule::from_start(nodes), Repulsion::for_nodes(nodes));
        let mut places = graph.start.to_vec();
        let mut here = vec![];
        for s in 1..=5u64 {
            let begun = Instant::now();
            places = step(&springs, &ForceParams::default(), repulsion, schedule.step_params(s), &held, &places);
            here.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        println!(
            "{:>8}{:>9}{:>15}{:>12.2} ms{:>12.1} ms{:>12.1} ms{:>12.1} ms",
            nodes,
            edges.len(),
            adapter,
            median(here),
            drawn - empty,
            fewer - empty,
            idle - empty
        );
    }
    println!("Pictures are less an empty one of the same size, which is mostly reading it back.");
    Ok(())
}
