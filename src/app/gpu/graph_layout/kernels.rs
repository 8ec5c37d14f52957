//! The compute pipelines of the layout, and how their buffers are bound.

use eframe::egui_wgpu::wgpu;

use super::{Laws, StepUniform};
use crate::gpu::resources::{bind, buffer_entry, compute_pipeline, group_layout, shader, uniform_entry};

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
        let module = shader(device, "graph layout", include_str!("../../../../shaders/graph_layout.wgsl"));
        let compute = wgpu::ShaderStages::COMPUTE;
        let laws = uniform_entry(0, compute, size_of::<Laws>());
        // one row of the turns for each step, at an offset
        let mut turn = uniform_entry(1, compute, size_of::<StepUniform>());
        if let wgpu::BindingType::Buffer { has_dynamic_offset, .. } = &mut turn.ty {
            *has_dynamic_offset = true;
        }
        let entry = |binding, read_only, size| {
            buffer_entry(binding, compute, wgpu::BufferBindingType::Storage { read_only }, size)
        };
        let layout = [
            laws,
            turn,
            entry(2, true, 16),
            entry(3, true, 8),
            entry(4, true, 8),
            entry(5, false, 8),
            entry(6, false, 32),
            entry(7, false, 4),
            entry(8, false, 16),
        ];
        let layout = group_layout(device, "graph layout", &layout);
        let pipeline = |name: &str| compute_pipeline(device, &module, name, &layout);
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
        bind(device, "graph layout", &self.layout, resources)
    }
}
