//! The pipelines of the picture and the layouts of what they read.

use eframe::egui_wgpu::wgpu;

use super::{Edge, Uniform};
use crate::gpu::{
    Target,
    graph_layout::Kernels,
    resources::{DrawPipeline, bind, group_layout, plain_texture, shader, texture_entry, uniform_entry, view_of},
};

/// The format of the picture's own texture: sRGB values premultiplied by alpha, as egui blends them.
const PICTURE: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// The pipelines and bind group layouts that all graphs share.
pub(super) struct GraphPipelines {
    pub kernels: Option<Kernels>,
    pub edges: wgpu::RenderPipeline,
    pub arrows: wgpu::RenderPipeline,
    pub nodes: wgpu::RenderPipeline,
    pub page: wgpu::RenderPipeline,
    pub drawing: wgpu::BindGroupLayout,
    pub laying: wgpu::BindGroupLayout,
}

impl GraphPipelines {
    pub fn new(device: &wgpu::Device, target: Target) -> Self {
        let module = shader(device, "graph", include_str!("../../../../shaders/graph.wgsl"));
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
            edges: make(["vs_edge", "fs_edge"], PICTURE, Some((edge.as_slice(), size_of::<Edge>() as u64))),
            arrows: make(["vs_arrow", "fs_arrow"], PICTURE, Some((edge.as_slice(), size_of::<Edge>() as u64))),
            nodes: make(["vs_node", "fs_node"], PICTURE, Some((node.as_slice(), 12))),
            page: make(["vs_page", "fs_page"], target.format, None),
            drawing,
            laying,
        }
    }

    /// The texture that a picture of this size is drawn into, and how it is laid onto the page.
    pub fn sheet(&self, device: &wgpu::Device, size: [u32; 2]) -> (wgpu::TextureView, wgpu::BindGroup) {
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let view = view_of(&plain_texture(device, "graph", size, PICTURE, usage));
        let bound = bind(device, "graph, page", &self.laying, [wgpu::BindingResource::TextureView(&view)]);
        (view, bound)
    }
}
