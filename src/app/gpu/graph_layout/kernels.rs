//! The compute pipelines of the layout, and how their buffers are bound.

use eframe::egui_wgpu::wgpu;

use super::{Laws, StepUniform};

/// Every pass of a step.
pub struct Kernels {
    layout: wgpu::BindGroupLayout,
    pub(super) clear_box: wgpu::ComputePipeline,
    pub(super) gather: wgpu::ComputePipeline,
    pub(super) weigh: wgpu::ComputePipeline,
    pub(super) sum_up: wgpu::ComputePipeline,
    pub(super) step_exact: wgpu::ComputePipeline,
    pub(super) step_grid: wgpu::ComputePipeline,
    pub(super) tell_box: wgpu::ComputePipeline,
}

impl Kernels {
    pub fn new(device: &wgpu::Device) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("graph layout"),
            source: wgpu::ShaderSource::Wgsl(include_str!("../../../../shaders/graph_layout.wgsl").into()),
        });
        let entry = |binding, ty, dynamic, size: usize| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty,
                has_dynamic_offset: dynamic,
                min_binding_size: wgpu::BufferSize::new(size as u64),
            },
            count: None,
        };
        let read = wgpu::BufferBindingType::Storage { read_only: true };
        let write = wgpu::BufferBindingType::Storage { read_only: false };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("graph layout"),
            entries: &[
                entry(0, wgpu::BufferBindingType::Uniform, false, size_of::<Laws>()),
                entry(1, wgpu::BufferBindingType::Uniform, true, size_of::<StepUniform>()),
                entry(2, read, false, 16),
                entry(3, read, false, 8),
                entry(4, read, false, 8),
                entry(5, write, false, 8),
                entry(6, write, false, 32),
                entry(7, write, false, 4),
                entry(8, write, false, 16),
            ],
        });
        let whole = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("graph layout"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = |name: &str| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&whole),
                module: &module,
                entry_point: Some(name),
                compilation_options: Default::default(),
                cache: None,
            })
        };
        Self {
            clear_box: pipeline("clear_box"),
            gather: pipeline("gather"),
            weigh: pipeline("weigh"),
            sum_up: pipeline("sum_up"),
            step_exact: pipeline("step_exact"),
            step_grid: pipeline("step_grid"),
            tell_box: pipeline("tell_box"),
            layout,
        }
    }

    pub(super) fn bind(&self, device: &wgpu::Device, resources: [wgpu::BindingResource<'_>; 9]) -> wgpu::BindGroup {
        let entry = |(binding, resource)| wgpu::BindGroupEntry { binding: binding as u32, resource };
        let entries: Vec<_> = resources.into_iter().enumerate().map(entry).collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("graph layout"),
            layout: &self.layout,
            entries: &entries,
        })
    }
}
