//! A graph as a picture, by `shaders/graph.wgsl`, laid out by [`super::graph_layout`] where the adapter computes. It is
//! drawn into a texture that is kept until something changes, so that a frame in which nothing moved costs one
//! rectangle. The positions are read back some frames late.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bytemuck::{Pod, Zeroable};
use eframe::{
    egui::{PaintCallbackInfo, Rect, Shape},
    egui_wgpu::{CallbackResources, CallbackTrait, ScreenDescriptor, wgpu},
};

use super::{
    Target,
    colour::opaque,
    graph_layout::{ForceUniform, Kernels, Node, Spring, StepParams},
    paint_callback,
    resources::{DrawPipeline, bind, group_layout, plain_texture, shader, texture_entry, uniform_entry, view_of},
};

mod entry;

use entry::{DrawnEdges, GraphEntry};

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
pub struct Edge {
    /// The indices of its two nodes.
    pub ends: [u32; 2],
    /// -1 to 1: the magnitude is how strongly the edge is drawn, and the sign chooses the colour.
    pub ink: f32,
}

/// The graph: the data that is uploaded to the device once.
#[derive(Debug, Clone, Default)]
pub struct GraphShape {
    pub nodes: Vec<Node>,
    pub springs: Vec<Spring>,
    /// In the order of drawing: the strongest last.
    pub edges: Vec<Edge>,
    pub forces: Option<ForceUniform>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeStyle {
    /// sRGB and alpha; nodes that are not emphasized have a low alpha.
    pub colour: [u8; 4],
    /// The radius, points.
    pub radius: f32,
    pub held: bool,
}

/// The part of the plane that is visible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Camera {
    /// Everything, with this many points free at the rims.
    Fit { margin: f32 },
    /// This place in the middle, this many points for a unit of length.
    At { centre: [f32; 2], scale: f32 },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphStyle {
    pub selected: Option<u32>,
    /// A factor on the radii of all nodes.
    pub radius_scale: f32,
    /// Strength and width (points) of edges.
    pub strength: f32,
    pub width: f32,
    /// The strength, 0 to 1, of edges that do not touch the selected node.
    pub dim: f32,
    /// How edges blend: 1 adds light, 0 paints over.
    pub glow: f32,
    /// Length in points from which edges grow fainter.
    pub fade: f32,
    /// Length of arrowheads in points; below zero only the selected node's edges have them, at 0 none has.
    pub arrow: f32,
    pub ground: [u8; 3],
    pub accent: [u8; 3],
    pub negative: [u8; 3],
    /// The colour of edges of positive weight; `None`: each has the colours of its nodes.
    pub positive: Option<[u8; 3]>,
}

/// The positions at a step, read back from the device.
#[derive(Debug, Default)]
pub struct NodePositions {
    /// [`Graph::start_revision`] that they come from.
    pub start_revision: u64,
    pub step: u64,
    pub places: Vec<[f32; 2]>,
    /// The reason why there is no picture.
    pub problem: Option<String>,
}

#[derive(Clone)]
pub struct Graph {
    /// The identity of the graph: each is stored once.
    pub key: u64,
    pub shape: Arc<GraphShape>,
    /// Increases when the shape changes.
    pub shape_revision: u64,
    /// The positions of the nodes at the step `begun`.
    pub start: Arc<Vec<[f32; 2]>>,
    /// Increases when the starting positions are replaced.
    pub start_revision: u64,
    pub begun: u64,
    /// The step to show; without compute shaders only `begun` can be shown.
    pub wanted: u64,
    /// The parameters of the layout step that leads to this step.
    pub step_params: Arc<dyn Fn(u64) -> StepParams + Send + Sync>,
    /// Nodes that the pointer holds, with their positions.
    pub moved_nodes: Vec<(u32, [f32; 2])>,
    pub styles: Arc<Vec<NodeStyle>>,
    /// Increases when a colour, a size or the dragged node changes.
    pub style_revision: u64,
    pub camera: Camera,
    pub look: GraphStyle,
    /// The number of edges, the strongest, that can be visible; the others are too faint.
    pub edges: usize,
    /// The number of edges, the strongest, that are drawn for every node; those of the selected node are drawn in
    /// addition.
    pub drawn: usize,
    pub node_positions: Arc<Mutex<NodePositions>>,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GraphError {
    #[error("the graph is inconsistent: {0}")]
    Inconsistent(&'static str),
    #[error("{0} nodes are more than the graphics adapter draws at once")]
    TooMany(usize),
}

impl Graph {
    pub fn shape(self, rect: Rect, target: Target) -> Result<Shape, GraphError> {
        let n = self.shape.nodes.len();
        if n == 0 || self.start.len() != n || self.styles.len() != n {
            return Err(GraphError::Inconsistent("each node needs one position and one colour"));
        }
        if self.shape.edges.iter().any(|e| e.ends.iter().any(|i| *i as usize >= n)) {
            return Err(GraphError::Inconsistent("an edge leads to no node"));
        }
        if (n + 2).div_ceil(COLUMNS as usize) > target.max_texture as usize {
            return Err(GraphError::TooMany(n));
        }
        let g = &self;
        let revisions = [g.key, g.shape_revision, g.start_revision, g.style_revision];
        let held =
            (Arc::as_ptr(&g.shape), Arc::as_ptr(&g.start), Arc::as_ptr(&g.styles), Arc::as_ptr(&g.node_positions));
        let seen = (g.begun, g.wanted, &g.moved_nodes, g.camera, g.look, g.edges, g.drawn, target);
        let picture = format!("graph {revisions:?} {held:?} {seen:?}");
        Ok(paint_callback(rect, &picture, GraphCallback { graph: self, rect, target }).into())
    }
}

/// Nodes in a row of the textures.
const COLUMNS: u32 = super::graph_layout::ROW;

/// The layout must equal the struct of the same fields in the shader.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Pod, Zeroable)]
struct Uniform {
    centre: [f32; 2],
    scale: f32,
    margin: f32,
    size: [f32; 2],
    count: u32,
    columns: u32,
    selected: u32,
    arrow: f32,
    radius_scale: f32,
    strength: f32,
    width: f32,
    dim: f32,
    glow: f32,
    fade: f32,
    ground: [f32; 4],
    accent: [f32; 4],
    negative: [f32; 4],
    positive: [f32; 4],
    srgb_target: u32,
    pixel: f32,
    padding_after: [f32; 2],
}

struct GraphCallback {
    graph: Graph,
    rect: Rect,
    target: Target,
}

impl GraphCallback {
    fn uniform(&self, size: [u32; 2], pixels_per_point: f32) -> Uniform {
        let (g, look) = (&self.graph, &self.graph.look);
        let (centre, scale, margin) = match g.camera {
            Camera::Fit { margin } => ([0.0; 2], 0.0, margin * pixels_per_point),
            Camera::At { centre, scale } => (centre, (scale * pixels_per_point).max(1e-9), 0.0),
        };
        Uniform {
            centre,
            scale,
            margin,
            size: size.map(|s| s as f32),
            count: g.shape.nodes.len() as u32,
            columns: COLUMNS,
            selected: look.selected.unwrap_or(u32::MAX),
            arrow: look.arrow,
            radius_scale: look.radius_scale,
            strength: look.strength,
            width: look.width * pixels_per_point,
            dim: look.dim,
            glow: look.glow,
            fade: look.fade * pixels_per_point,
            ground: opaque(look.ground),
            accent: opaque(look.accent),
            negative: opaque(look.negative),
            positive: look.positive.map_or([0.0; 4], opaque),
            srgb_target: self.target.format.is_srgb().into(),
            pixel: pixels_per_point,
            padding_after: [0.0; 2],
        }
    }

    /// Width and height of the picture, pixels.
    fn size(&self, pixels_per_point: f32) -> [u32; 2] {
        [self.rect.width(), self.rect.height()]
            .map(|s| ((s * pixels_per_point).round() as u32).clamp(1, self.target.max_texture))
    }
}

impl CallbackTrait for GraphCallback {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        screen: &ScreenDescriptor,
        encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        let renderer = resources.entry::<Renderer>().or_insert_with(|| Renderer::new(device, self.target));
        renderer.update(device, queue, encoder, self, screen.pixels_per_point);
        vec![]
    }

    fn paint(&self, _info: PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        if let Some(renderer) = resources.get::<Renderer>() {
            renderer.draw_onto_page(self.graph.key, pass);
        }
    }
}

/// The format of the picture's own texture: sRGB values premultiplied by alpha, as egui blends them.
const PICTURE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// The pipelines and bind group layouts that all graphs share.
struct GraphPipelines {
    kernels: Option<Kernels>,
    edges: wgpu::RenderPipeline,
    arrows: wgpu::RenderPipeline,
    nodes: wgpu::RenderPipeline,
    page: wgpu::RenderPipeline,
    drawing: wgpu::BindGroupLayout,
    picture_layout: wgpu::BindGroupLayout,
}

impl GraphPipelines {
    fn new(device: &wgpu::Device, target: Target) -> Self {
        let module = shader(device, "graph", include_str!("../../../shaders/graph.wgsl"));
        let (vertex, fragment) = (wgpu::ShaderStages::VERTEX, wgpu::ShaderStages::FRAGMENT);
        let uniform = uniform_entry(0, wgpu::ShaderStages::VERTEX_FRAGMENT, size_of::<Uniform>());
        let [places, colours, radii] = [1, 2, 3].map(|binding| texture_entry(binding, vertex));
        let drawing = group_layout(device, "graph", &[uniform, places, colours, radii]);
        let laying = group_layout(device, "graph", &[texture_entry(0, fragment)]);
        let make = |entry_points: [&str; 2], format, instance: Option<(&[wgpu::VertexAttribute], u64)>| {
            let groups = [Some(&drawing), Some(&laying)];
            DrawPipeline {
                label: entry_points[0],
                module: &module,
                entry_points,
                group_layouts: if instance.is_some() { &groups[..1] } else { &groups },
                instance,
                topology: wgpu::PrimitiveTopology::TriangleStrip,
                format,
                blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
            }
            .make(device)
        };
        let edge = wgpu::vertex_attr_array![0 => Uint32x2, 1 => Float32];
        let node = wgpu::vertex_attr_array![0 => Uint32, 1 => Float32, 2 => Uint32];
        Self {
            kernels: target.compute.then(|| Kernels::new(device)),
            edges: make(["vs_edge", "fs_edge"], PICTURE_FORMAT, Some((edge.as_slice(), size_of::<Edge>() as u64))),
            arrows: make(["vs_arrow", "fs_arrow"], PICTURE_FORMAT, Some((edge.as_slice(), size_of::<Edge>() as u64))),
            nodes: make(["vs_node", "fs_node"], PICTURE_FORMAT, Some((node.as_slice(), 12))),
            page: make(["vs_page", "fs_page"], target.format, None),
            drawing,
            picture_layout: laying,
        }
    }

    /// The texture that a picture of this size is drawn into, and how it is laid onto the page.
    fn sheet(&self, device: &wgpu::Device, size: [u32; 2]) -> (wgpu::TextureView, wgpu::BindGroup) {
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let view = view_of(&plain_texture(device, "graph", size, PICTURE_FORMAT, usage));
        let bound = bind(device, "graph, page", &self.picture_layout, [wgpu::BindingResource::TextureView(&view)]);
        (view, bound)
    }
}

/// A graph is dropped after this many paints of other graphs.
const KEPT_TURNS: u64 = 1024;

/// Pictures of graphs that this renderer has drawn so far; frames in which nothing changed do not count.
pub fn frames_drawn(resources: &CallbackResources) -> u64 {
    resources.get::<Renderer>().map_or(0, |r| r.drawn)
}

pub fn steps_made(resources: &CallbackResources) -> u64 {
    resources.get::<Renderer>().map_or(0, |r| r.steps)
}

/// The graphs on the device; each is dropped once it has not been painted for a while.
struct Renderer {
    pipelines: GraphPipelines,
    entries: HashMap<u64, GraphEntry>,
    /// Paints of any graph so far.
    turn: u64,
    /// The numbers of pictures drawn and of steps made so far, which tests check.
    drawn: u64,
    steps: u64,
}

impl Renderer {
    fn new(device: &wgpu::Device, target: Target) -> Self {
        Self { pipelines: GraphPipelines::new(device, target), entries: HashMap::new(), turn: 0, drawn: 0, steps: 0 }
    }

    /// Brings the device up to date with a graph about to be painted.
    fn update(
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

    fn draw_onto_page(&self, key: u64, pass: &mut wgpu::RenderPass<'static>) {
        let Some(entry) = self.entries.get(&key) else { return };
        let Some((_, sheet)) = &entry.sheet else { return };
        pass.set_pipeline(&self.pipelines.page);
        pass.set_bind_group(0, &entry.drawing, &[]);
        pass.set_bind_group(1, sheet, &[]);
        pass.draw(0..4, 0..1);
    }
}
