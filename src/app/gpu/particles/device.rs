//! The pipelines of the particles and the buffers of one set of them.

use std::collections::HashMap;

use eframe::egui_wgpu::wgpu;

use super::{MAX_STIFF, MotionUniform, ParticlesEntry, ParticlesPipelines, StreakUniform};
use crate::gpu::resources::{
    DrawPipeline, bind, buffer, buffer_entry, compute_pipeline, data_texture, group_layout, shader, texture_entry,
    uniform_entry, view_of,
};

impl ParticlesPipelines {
    pub(super) fn new(device: &wgpu::Device, format: wgpu::TextureFormat) -> Self {
        let module = shader(device, "particles", include_str!("../../../../shaders/particles.wgsl"));
        let (compute, written) = (wgpu::ShaderStages::COMPUTE, wgpu::BufferBindingType::Storage { read_only: false });
        let moving = [
            uniform_entry(0, compute, size_of::<MotionUniform>()),
            texture_entry(1, compute),
            buffer_entry(2, compute, written, 16),
        ];
        let moving = group_layout(device, "particles, moving", &moving);
        let look = uniform_entry(0, wgpu::ShaderStages::VERTEX_FRAGMENT, size_of::<StreakUniform>());
        let drawing = group_layout(device, "particles, drawing", &[look]);
        let advance = compute_pipeline(device, &module, "advance", &moving);
        let draw = DrawPipeline {
            label: "particles, drawing",
            module: &module,
            entry_points: ["vs_main", "fs_main"],
            group_layouts: &[Some(&drawing)],
            instance: Some((wgpu::vertex_attr_array![0 => Float32x4].as_slice(), 16)),
            topology: wgpu::PrimitiveTopology::TriangleStrip,
            format,
            blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
        }
        .make(device);
        Self { advance, draw, moving, drawing, entries: HashMap::new(), turn: 0, steps: 0 }
    }

    pub(super) fn new_entry(&self, device: &wgpu::Device, size: (u32, u32)) -> ParticlesEntry {
        let field = data_texture(device, "particles", size.into(), wgpu::TextureFormat::Rg32Float);
        let buffer = |size: usize, usage| buffer(device, "particles", size as u64, usage);
        let particles = buffer(MAX_STIFF as usize * 16, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::VERTEX);
        let flow = buffer(size_of::<MotionUniform>(), wgpu::BufferUsages::UNIFORM);
        let look = buffer(size_of::<StreakUniform>(), wgpu::BufferUsages::UNIFORM);
        let view = view_of(&field);
        let moved =
            [flow.as_entire_binding(), wgpu::BindingResource::TextureView(&view), particles.as_entire_binding()];
        let moving = bind(device, "particles, moving", &self.moving, moved);
        let drawing = bind(device, "particles, drawing", &self.drawing, [look.as_entire_binding()]);
        ParticlesEntry {
            revision: 0,
            done: None,
            moved: 0,
            field,
            particles,
            flow,
            look,
            moving,
            drawing,
            used: self.turn,
        }
    }
}
