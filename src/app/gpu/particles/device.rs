//! The pipelines of the particles and the buffers of one set of them.

use std::collections::HashMap;

use eframe::egui_wgpu::wgpu;

use super::{MAX_STIFF, MotionUniform, ParticlesEntry, ParticlesPipelines, StreakUniform};
use crate::gpu::resources::{DrawPipeline, data_texture, texture_entry, uniform_entry};

impl ParticlesPipelines {
    pub(super) fn new(device: &wgpu::Device, format: wgpu::TextureFormat) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("particles"),
            source: wgpu::ShaderSource::Wgsl(include_str!("../../../../shaders/particles.wgsl").into()),
        });
        let moving = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("particles, moving"),
            entries: &[
                uniform_entry(0, wgpu::ShaderStages::COMPUTE, size_of::<MotionUniform>()),
                texture_entry(1, wgpu::ShaderStages::COMPUTE),
                wgpu::BindGroupLayoutEntry {
                    binding: 2,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Storage { read_only: false },
                        has_dynamic_offset: false,
                        min_binding_size: wgpu::BufferSize::new(16),
                    },
                    count: None,
                },
            ],
        });
        let drawing = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("particles, drawing"),
            entries: &[uniform_entry(0, wgpu::ShaderStages::VERTEX_FRAGMENT, size_of::<StreakUniform>())],
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("particles"),
            bind_group_layouts: &[Some(&moving)],
            immediate_size: 0,
        });
        let advance = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("particles, moving"),
            layout: Some(&layout),
            module: &module,
            entry_point: Some("advance"),
            compilation_options: Default::default(),
            cache: None,
        });
        let draw = DrawPipeline {
            label: "particles, drawing",
            module: &module,
            entries: ["vs_main", "fs_main"],
            groups: &[Some(&drawing)],
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
        let buffer = |size: usize, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("particles"),
                size: size as u64,
                usage: usage | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let particles = buffer(MAX_STIFF as usize * 16, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::VERTEX);
        let flow = buffer(size_of::<MotionUniform>(), wgpu::BufferUsages::UNIFORM);
        let look = buffer(size_of::<StreakUniform>(), wgpu::BufferUsages::UNIFORM);
        let view = field.create_view(&wgpu::TextureViewDescriptor::default());
        let entry = |binding, resource| wgpu::BindGroupEntry { binding, resource };
        let moving = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("particles, moving"),
            layout: &self.moving,
            entries: &[
                entry(0, flow.as_entire_binding()),
                entry(1, wgpu::BindingResource::TextureView(&view)),
                entry(2, particles.as_entire_binding()),
            ],
        });
        let drawing = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("particles, drawing"),
            layout: &self.drawing,
            entries: &[entry(0, look.as_entire_binding())],
        });
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
