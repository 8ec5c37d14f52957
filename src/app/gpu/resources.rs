//! The resources of a device that several pipelines share: textures, buffers, shaders, bindings and pipelines.

use eframe::egui_wgpu::wgpu;

/// A texture of data that shaders read.
pub(super) fn data_texture(
    device: &wgpu::Device,
    label: &str,
    size: [u32; 2],
    format: wgpu::TextureFormat,
) -> wgpu::Texture {
    let usage = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST;
    plain_texture(device, label, size, format, usage)
}

/// A texture of one layer and one level.
pub(super) fn plain_texture(
    device: &wgpu::Device,
    label: &str,
    [width, height]: [u32; 2],
    format: wgpu::TextureFormat,
    usage: wgpu::TextureUsages,
) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some(label),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

/// Fills a texture, row by row.
pub(super) fn upload<T: bytemuck::Pod>(queue: &wgpu::Queue, texture: &wgpu::Texture, data: &[T]) {
    let layout = rows_of(texture.format().block_copy_size(None).map(|bytes| texture.width() * bytes));
    queue.write_texture(texture.as_image_copy(), bytemuck::cast_slice(data), layout, texture.size());
}

/// The layout of a texture's rows, each of this many bytes, in a buffer.
pub(super) fn rows_of(bytes_per_row: Option<u32>) -> wgpu::TexelCopyBufferLayout {
    wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row, rows_per_image: None }
}

pub(super) fn view_of(texture: &wgpu::Texture) -> wgpu::TextureView {
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

/// A buffer that is filled from here, of this many bytes or the least that can be bound.
pub(super) fn buffer(device: &wgpu::Device, label: &str, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: size.max(16),
        usage: usage | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

pub(super) fn shader(device: &wgpu::Device, label: &str, text: &str) -> wgpu::ShaderModule {
    let source = wgpu::ShaderSource::Wgsl(text.into());
    device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(label), source })
}

pub(super) fn group_layout(
    device: &wgpu::Device,
    label: &str,
    entries: &[wgpu::BindGroupLayoutEntry],
) -> wgpu::BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries })
}

/// A group of resources, bound from 0 on in this order.
pub(super) fn bind<const N: usize>(
    device: &wgpu::Device,
    label: &str,
    layout: &wgpu::BindGroupLayout,
    resources: [wgpu::BindingResource<'_>; N],
) -> wgpu::BindGroup {
    let entry = |(binding, resource)| wgpu::BindGroupEntry { binding: binding as u32, resource };
    let entries: Vec<_> = resources.into_iter().enumerate().map(entry).collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some(label), layout, entries: &entries })
}

/// The entry of a buffer of at least this size in bytes.
pub(super) fn buffer_entry(
    binding: u32,
    visibility: wgpu::ShaderStages,
    ty: wgpu::BufferBindingType,
    size: usize,
) -> wgpu::BindGroupLayoutEntry {
    let min_binding_size = wgpu::BufferSize::new(size as u64);
    let ty = wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size };
    wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None }
}

/// The entry of a uniform of this size in bytes.
pub(super) fn uniform_entry(binding: u32, visibility: wgpu::ShaderStages, size: usize) -> wgpu::BindGroupLayoutEntry {
    buffer_entry(binding, visibility, wgpu::BufferBindingType::Uniform, size)
}

/// The entry of a texture of data, which is read without filtering.
pub(super) fn texture_entry(binding: u32, visibility: wgpu::ShaderStages) -> wgpu::BindGroupLayoutEntry {
    let ty = wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable: false },
        view_dimension: wgpu::TextureViewDimension::D2,
        multisampled: false,
    };
    wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None }
}

fn pipeline_layout(
    device: &wgpu::Device,
    label: &str,
    groups: &[Option<&wgpu::BindGroupLayout>],
) -> wgpu::PipelineLayout {
    device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(label),
        bind_group_layouts: groups,
        immediate_size: 0,
    })
}

/// A pass that draws into a texture, which first is cleared or keeps what it shows.
pub(super) fn render_pass<'e>(
    encoder: &'e mut wgpu::CommandEncoder,
    label: &str,
    view: &wgpu::TextureView,
    load: wgpu::LoadOp<wgpu::Color>,
) -> wgpu::RenderPass<'e> {
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some(label),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view,
            resolve_target: None,
            ops: wgpu::Operations { load, store: wgpu::StoreOp::Store },
            depth_slice: None,
        })],
        ..Default::default()
    })
}

/// A pipeline that computes, named after its function in the shader.
pub(super) fn compute_pipeline(
    device: &wgpu::Device,
    module: &wgpu::ShaderModule,
    entry: &str,
    group: &wgpu::BindGroupLayout,
) -> wgpu::ComputePipeline {
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(entry),
        layout: Some(&pipeline_layout(device, entry, &[Some(group)])),
        module,
        entry_point: Some(entry),
        compilation_options: Default::default(),
        cache: None,
    })
}

/// What differs between the render pipelines.
pub(super) struct DrawPipeline<'a> {
    pub label: &'a str,
    pub module: &'a wgpu::ShaderModule,
    /// The functions of the shader for vertices and for fragments.
    pub entry_points: [&'a str; 2],
    pub group_layouts: &'a [Option<&'a wgpu::BindGroupLayout>],
    /// Attributes of an instance, with its size in bytes; without any, nothing is read for vertices.
    pub instance: Option<(&'a [wgpu::VertexAttribute], u64)>,
    pub topology: wgpu::PrimitiveTopology,
    pub format: wgpu::TextureFormat,
    pub blend: Option<wgpu::BlendState>,
}

impl<'a> DrawPipeline<'a> {
    /// A pipeline that fills the target with one triangle, painting over what was there.
    pub fn filling(
        label: &'a str,
        module: &'a wgpu::ShaderModule,
        group_layouts: &'a [Option<&'a wgpu::BindGroupLayout>],
        format: wgpu::TextureFormat,
    ) -> Self {
        let topology = wgpu::PrimitiveTopology::TriangleList;
        let entry_points = ["vs_main", "fs_main"];
        Self { label, module, entry_points, group_layouts, instance: None, topology, format, blend: None }
    }

    pub fn make(self, device: &wgpu::Device) -> wgpu::RenderPipeline {
        let layout = pipeline_layout(device, self.label, self.group_layouts);
        let step_mode = wgpu::VertexStepMode::Instance;
        let buffer = |(attributes, array_stride)| wgpu::VertexBufferLayout { array_stride, step_mode, attributes };
        let buffers: Vec<_> = self.instance.into_iter().map(|instance| Some(buffer(instance))).collect();
        let target =
            wgpu::ColorTargetState { format: self.format, blend: self.blend, write_mask: wgpu::ColorWrites::ALL };
        device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(self.label),
            layout: Some(&layout),
            vertex: wgpu::VertexState {
                module: self.module,
                entry_point: Some(self.entry_points[0]),
                compilation_options: Default::default(),
                buffers: &buffers,
            },
            primitive: wgpu::PrimitiveState { topology: self.topology, ..Default::default() },
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module: self.module,
                entry_point: Some(self.entry_points[1]),
                compilation_options: Default::default(),
                targets: &[Some(target)],
            }),
            multiview_mask: None,
            cache: None,
        })
    }
}
