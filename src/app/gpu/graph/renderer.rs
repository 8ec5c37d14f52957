//! The graphs on the device, each of which is dropped once it has not been painted for a while.

use std::collections::HashMap;

use eframe::egui_wgpu::{CallbackResources, wgpu};

use super::{
    GraphCallback,
    entry::{DrawnEdges, GraphEntry},
    pipelines::GraphPipelines,
};
use crate::gpu::Target;

/// A graph is dropped after this many paints of other graphs.
const KEPT_TURNS: u64 = 1024;

/// Pictures of graphs that this renderer has drawn so far; frames in which nothing changed are none.
pub fn frames_drawn(resources: &CallbackResources) -> u64 {
    resources.get::<Renderer>().map_or(0, |r| r.drawn)
}

/// Steps of layouts that this renderer has made so far.
pub fn steps_made(resources: &CallbackResources) -> u64 {
    resources.get::<Renderer>().map_or(0, |r| r.steps)
}

pub(super) struct Renderer {
    pipelines: GraphPipelines,
    entries: HashMap<u64, GraphEntry>,
    /// Paints of any graph so far.
    turn: u64,
    /// The numbers of pictures drawn and of steps made so far, which tests check.
    drawn: u64,
    steps: u64,
}

impl Renderer {
    pub fn new(device: &wgpu::Device, target: Target) -> Self {
        Self { pipelines: GraphPipelines::new(device, target), entries: HashMap::new(), turn: 0, drawn: 0, steps: 0 }
    }

    /// Brings the device up to date with a graph about to be painted.
    pub fn update(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        paint: &GraphCallback,
        pixels_per_point: f32,
    ) {
        self.turn += 1;
        let (graph, turn) = (&paint.graph, self.turn);
        if self.entries.get(&graph.key).is_none_or(|e| e.shape_revision != graph.shape_revision) {
            let entry = GraphEntry::new(&self.pipelines, device, queue, graph);
            self.entries.insert(graph.key, entry);
            self.entries.retain(|key, e| *key == graph.key || turn - e.used < KEPT_TURNS);
        }
        let Some(mut entry) = self.entries.remove(&graph.key) else { return };
        entry.used = turn;
        self.steps += entry.advance(self.pipelines.kernels.as_ref(), device, queue, encoder, graph);
        entry.styles(queue, graph);
        let (size, edges) = (paint.size(pixels_per_point), DrawnEdges::new(graph));
        let uniform = paint.uniform(size, pixels_per_point);
        let wanted = (size, uniform, entry.version, graph.style_revision, edges);
        if entry.shown.as_ref() != Some(&wanted) {
            if entry.shown.as_ref().is_none_or(|s| s.0 != size) {
                entry.sheet = Some(self.pipelines.sheet(device, size));
            }
            queue.write_buffer(&entry.uniform, 0, bytemuck::bytes_of(&uniform));
            entry.draw(&self.pipelines, device, encoder, graph, edges);
            entry.shown = Some(wanted);
            self.drawn += 1;
        }
        entry.poll_readback(device, encoder, graph);
        self.entries.insert(graph.key, entry);
    }

    /// Draws the stored picture onto the page.
    pub fn draw_onto_page(&self, key: u64, pass: &mut wgpu::RenderPass<'static>) {
        let Some(entry) = self.entries.get(&key) else { return };
        let Some((_, sheet)) = &entry.sheet else { return };
        pass.set_pipeline(&self.pipelines.page);
        pass.set_bind_group(0, &entry.drawing, &[]);
        pass.set_bind_group(1, sheet, &[]);
        pass.draw(0..4, 0..1);
    }
}
