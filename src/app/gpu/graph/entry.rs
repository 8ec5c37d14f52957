//! One graph on the device: brought up to the wanted step, styled, drawn after changes, its positions read back.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use eframe::egui_wgpu::wgpu::{self, util::DeviceExt as _};

use super::{COLUMNS, Edge, Graph, GraphPipelines, Uniform};
use crate::gpu::{
    graph_layout::{GraphLayout, Kernels, MAX_STEPS, box_of, corners},
    resources::{bind, buffer, data_texture, render_pass, rows_of, upload, view_of},
};

/// The beginnings of the drawn edges, in the ascending order of strength.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DrawnEdges {
    /// The index of the first edge that is strong enough to be seen.
    seen: usize,
    /// The index from which all edges are drawn; below it, only those of the selected node.
    all: usize,
}

impl DrawnEdges {
    pub fn new(graph: &Graph) -> Self {
        Self::strongest(graph.shape.edges.len(), graph.edges, graph.drawn)
    }

    /// The strongest `seen` edges may become visible; of these the strongest `drawn` are drawn for every node.
    fn strongest(edges: usize, seen: usize, drawn: usize) -> Self {
        let seen = edges - seen.min(edges);
        Self { seen, all: seen.max(edges - drawn.min(edges)) }
    }

    /// The edges of a node that are drawn although they are not among the strong ones.
    fn own(self, edges: &[Edge], node: u32) -> Vec<Edge> {
        let weak = edges.get(self.seen..self.all).unwrap_or_default();
        weak.iter().filter(|edge| edge.ends.contains(&node)).copied().collect()
    }
}

pub(super) struct GraphEntry {
    pub shape_revision: u64,
    start_revision: u64,
    style_revision: Option<u64>,
    layout: Option<GraphLayout>,
    /// The step that the positions belong to.
    step: u64,
    /// Grows whenever positions change.
    pub version: u64,
    places: wgpu::Texture,
    colours: wgpu::Texture,
    radii: wgpu::Texture,
    edges: wgpu::Buffer,
    nodes: wgpu::Buffer,
    pub uniform: wgpu::Buffer,
    pub drawing: wgpu::BindGroup,
    pub sheet: Option<(wgpu::TextureView, wgpu::BindGroup)>,
    /// The inputs of the last drawing: its size, the uniform, the versions of positions and style, the edges.
    pub shown: Option<([u32; 2], Uniform, u64, u64, DrawnEdges)>,
    moved_nodes: Vec<(u32, [f32; 2])>,
    held: Vec<bool>,
    readback: Readback,
    pub used: u64,
}

#[derive(Default)]
struct Readback {
    buffer: Option<wgpu::Buffer>,
    /// Set once the buffer can be read.
    ready: Arc<AtomicBool>,
    /// Start revision, step and version of the read-back in progress.
    under_way: Option<(u64, u64, u64)>,
    /// The version of the layout that was read back last.
    reported_version: Option<u64>,
}

impl GraphEntry {
    /// Runs the layout steps up to the wanted one and returns their number.
    pub fn advance(
        &mut self,
        kernels: Option<&Kernels>,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        graph: &Graph,
    ) -> u64 {
        if self.start_revision != graph.start_revision || self.version == 0 {
            self.start_revision = graph.start_revision;
            self.step = graph.begun;
            self.version += 1;
            self.moved_nodes.clear();
            self.held = vec![];
            self.layout = None;
            upload(queue, &self.places, &with_box(&graph.start));
            if let (Some(kernels), Some(forces)) = (kernels, graph.shape.forces) {
                let (nodes, springs) = (&graph.shape.nodes, &graph.shape.springs);
                match GraphLayout::new(device, queue, kernels, nodes, springs, &graph.start, forces) {
                    Ok(layout) => self.layout = Some(layout),
                    Err(e) => self.set_error(graph, &e.to_string()),
                }
            }
        }
        let (Some(kernels), Some(layout)) = (kernels, &mut self.layout) else { return 0 };
        if self.style_revision != Some(graph.style_revision) || self.held.is_empty() {
            let held: Vec<bool> = graph.styles.iter().map(|d| d.held).collect();
            for (i, now) in held.iter().enumerate() {
                if *now != self.held.get(i).copied().unwrap_or(false) {
                    layout.hold(queue, i as u32, *now);
                }
            }
            self.held = held;
        }
        let moved = self.moved_nodes != graph.moved_nodes;
        if moved {
            graph.moved_nodes.iter().for_each(|(node, place)| layout.set_position(queue, *node, *place));
            self.moved_nodes.clone_from(&graph.moved_nodes);
        }
        let missing = graph.wanted.saturating_sub(self.step);
        let turns: Vec<_> = (self.step + 1..=graph.wanted).map(|s| (graph.step_params)(s)).collect();
        let mut chunks = turns.chunks(MAX_STEPS).peekable();
        while let Some(chunk) = chunks.next() {
            if chunks.peek().is_none() {
                layout.run(queue, encoder, kernels, chunk);
                break;
            }
            let mut own = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("layout") });
            layout.run(queue, &mut own, kernels, chunk);
            queue.submit([own.finish()]);
        }
        if missing > 0 || moved {
            self.step = self.step.max(graph.wanted);
            self.version += 1;
            let from = wgpu::TexelCopyBufferInfo { buffer: layout.places(), layout: rows_of(Some(COLUMNS * 8)) };
            encoder.copy_buffer_to_texture(from, self.places.as_image_copy(), self.places.size());
        }
        missing
    }

    /// The selected node's edges that are not drawn with the strong ones.
    fn own_edges(&self, device: &wgpu::Device, graph: &Graph, drawn: DrawnEdges) -> Option<(wgpu::Buffer, u32)> {
        let selected = graph.look.selected?;
        let own = drawn.own(&graph.shape.edges, selected);
        let buffer = (!own.is_empty()).then(|| {
            device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: Some("graph, own edges"),
                contents: bytemuck::cast_slice(&own),
                usage: wgpu::BufferUsages::VERTEX,
            })
        })?;
        Some((buffer, own.len() as u32))
    }

    /// Draws the edges that `drawn` allows and all nodes into the texture.
    pub fn draw(
        &self,
        pipelines: &GraphPipelines,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        graph: &Graph,
        drawn: DrawnEdges,
    ) {
        let Some((view, _)) = &self.sheet else { return };
        let own = self.own_edges(device, graph, drawn);
        let mut pass = render_pass(encoder, "graph", view, wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT));
        pass.set_bind_group(0, &self.drawing, &[]);
        let has_arrows = graph.look.arrow != 0.0;
        for pipeline in [Some(&pipelines.edges), has_arrows.then_some(&pipelines.arrows)].into_iter().flatten() {
            pass.set_pipeline(pipeline);
            pass.set_vertex_buffer(0, self.edges.slice(..));
            pass.draw(0..4, drawn.all as u32..graph.shape.edges.len() as u32);
            if let Some((buffer, count)) = &own {
                pass.set_vertex_buffer(0, buffer.slice(..));
                pass.draw(0..4, 0..*count);
            }
        }
        pass.set_pipeline(&pipelines.nodes);
        pass.set_vertex_buffer(0, self.nodes.slice(..));
        pass.draw(0..4, 0..graph.shape.nodes.len() as u32);
    }

    pub fn new(pipelines: &GraphPipelines, device: &wgpu::Device, queue: &wgpu::Queue, graph: &Graph) -> Self {
        let n = graph.shape.nodes.len() as u32;
        let size = [COLUMNS, (n + 2).div_ceil(COLUMNS)];
        let texture = |label, format| data_texture(device, label, size, format);
        let buffer = |label, size, usage| buffer(device, label, size, usage);
        let places = texture("graph, places", wgpu::TextureFormat::Rg32Float);
        let colours = texture("graph, colours", wgpu::TextureFormat::Rgba8Unorm);
        let radii = texture("graph, radii", wgpu::TextureFormat::R32Float);
        let edges = buffer("graph, edges", graph.shape.edges.len() as u64 * 12, wgpu::BufferUsages::VERTEX);
        queue.write_buffer(&edges, 0, bytemuck::cast_slice(&graph.shape.edges));
        let nodes = buffer("graph, nodes", u64::from(n) * 12, wgpu::BufferUsages::VERTEX);
        let uniform = buffer("graph, look", size_of::<Uniform>() as u64, wgpu::BufferUsages::UNIFORM);
        let views = [&places, &colours, &radii].map(view_of);
        let [place, colour, radius] = views.each_ref().map(wgpu::BindingResource::TextureView);
        let drawing = bind(device, "graph", &pipelines.drawing, [uniform.as_entire_binding(), place, colour, radius]);
        Self {
            shape_revision: graph.shape_revision,
            start_revision: 0,
            style_revision: None,
            layout: None,
            step: 0,
            version: 0,
            places,
            colours,
            radii,
            edges,
            nodes,
            uniform,
            drawing,
            sheet: None,
            shown: None,
            moved_nodes: vec![],
            held: vec![],
            readback: Readback::default(),
            used: 0,
        }
    }

    fn set_error(&self, graph: &Graph, words: &str) {
        if let Ok(mut node_positions) = graph.node_positions.lock() {
            node_positions.problem = Some(words.to_owned());
        }
    }

    /// Colours and sizes, if they changed. Nodes that stand out are drawn last, and before them the large ones.
    pub fn styles(&mut self, queue: &wgpu::Queue, graph: &Graph) {
        if self.style_revision.replace(graph.style_revision) == Some(graph.style_revision) {
            return;
        }
        let mut colours: Vec<[u8; 4]> = graph.styles.iter().map(|d| d.colour).collect();
        colours.resize((self.colours.width() * self.colours.height()) as usize, [0; 4]);
        upload(queue, &self.colours, &colours);
        let mut radii: Vec<f32> = graph.styles.iter().map(|d| d.radius).collect();
        radii.resize(colours.len(), 0.0);
        upload(queue, &self.radii, &radii);
        let mut order: Vec<u32> = (0..graph.styles.len() as u32).collect();
        let rank = |i: &u32| graph.styles.get(*i as usize).map_or((0, 0), |d| (d.colour[3], (d.radius * 64.0) as u32));
        order.sort_by_key(rank);
        let row = |i: &u32| {
            let (radius, held) = graph.styles.get(*i as usize).map_or((0.0f32, false), |d| (d.radius, d.held));
            [*i, radius.to_bits(), held.into()]
        };
        let rows: Vec<[u32; 3]> = order.iter().map(row).collect();
        queue.write_buffer(&self.nodes, 0, bytemuck::cast_slice(&rows));
    }

    /// Publishes a finished read-back and starts the next one if positions have changed since.
    pub fn poll_readback(&mut self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder, graph: &Graph) {
        let Some(layout) = &self.layout else { return };
        let size = u64::from(layout.count()) * 8;
        if self.readback.under_way.is_some() {
            // this does not wait; a lost device is reported elsewhere
            let _ = device.poll(wgpu::PollType::Poll);
        }
        if let (Some((start_revision, step, version)), Some(buffer)) = (self.readback.under_way, &self.readback.buffer)
            && self.readback.ready.load(Ordering::Acquire)
        {
            if let (Ok(bytes), Ok(mut node_positions)) =
                (buffer.slice(..size).get_mapped_range(), graph.node_positions.lock())
            {
                node_positions.places = bytemuck::cast_slice(&bytes).to_vec();
                (node_positions.start_revision, node_positions.step) = (start_revision, step);
            }
            buffer.unmap();
            self.readback.under_way = None;
            self.readback.reported_version = Some(version);
        }
        if self.readback.under_way.is_some() || self.readback.reported_version == Some(self.version) {
            return;
        }
        let make = || buffer(device, "graph, back", size, wgpu::BufferUsages::MAP_READ);
        let buffer = self.readback.buffer.get_or_insert_with(make);
        encoder.copy_buffer_to_buffer(layout.places(), 0, buffer, 0, size);
        self.readback.ready.store(false, Ordering::Release);
        let ready = self.readback.ready.clone();
        encoder.map_buffer_on_submit(buffer, wgpu::MapMode::Read, .., move |done| {
            ready.store(done.is_ok(), Ordering::Release);
        });
        self.readback.under_way = Some((self.start_revision, self.step, self.version));
    }
}

/// The positions followed by the corners of their bounding box, padded to whole rows of the texture.
fn with_box(places: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let mut all = places.to_vec();
    all.extend(corners(box_of(places)));
    all.resize(all.len().next_multiple_of(COLUMNS as usize), [0.0; 2]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes 20,000 edges of increasing strength; every 183rd, 110 in all, belongs to node 7.
    fn edges() -> Vec<Edge> {
        let end = |k: u32| if k.is_multiple_of(183) { 7 } else { 8 + k % 1000 };
        (0..20_000).map(|k| Edge { ends: [end(k), 2000 + k % 500], ink: k as f32 / 20_000.0 }).collect()
    }

    fn is_of(node: u32) -> impl Fn(&&Edge) -> bool {
        move |edge| edge.ends.contains(&node)
    }

    #[test]
    fn while_the_layout_moves_every_edge_of_the_selected_node_is_drawn() {
        let edges = edges();
        let all = edges.iter().filter(is_of(7)).count();
        // at rest, while it moves, and where the motion allows none
        for drawn in [usize::MAX, 6_000, 0] {
            let which = DrawnEdges::strongest(edges.len(), usize::MAX, drawn);
            let strong = edges[which.all..].iter().filter(is_of(7)).count();
            let own = which.own(&edges, 7);
            assert_eq!((strong + own.len(), all), (all, 110), "{drawn}");
            assert!(own.iter().all(|edge| is_of(7)(&edge)), "and of no other beyond the strong ones");
            assert!(drawn != 6_000 || strong < all, "some are weak, or the test tells nothing");
        }
    }

    #[test]
    fn edges_below_the_visibility_limit_are_not_drawn() {
        let edges = edges();
        let which = DrawnEdges::strongest(edges.len(), 10_000, 6_000);
        let seen = edges[10_000..].iter().filter(is_of(7)).count();
        assert_eq!(edges[which.all..].iter().filter(is_of(7)).count() + which.own(&edges, 7).len(), seen);
        assert_eq!(DrawnEdges::strongest(edges.len(), 100, 6_000), DrawnEdges { seen: 19_900, all: 19_900 });
    }
}
