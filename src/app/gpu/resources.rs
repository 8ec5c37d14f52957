//! The textures and entries of layouts that several pipelines have.

use eframe::egui_wgpu::wgpu;

/// A texture of data that shaders read.
pub(super) fn data_texture(
    device: &wgpu::Device,
    label: &str,
    [width, height]: [u32; 2],
    format: wgpu::TextureFormat,
) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some(label),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    })
}

/// Fills a texture, row by row.
pub(super) fn upload<T: bytemuck::Pod>(queue: &wgpu::Queue, texture: &wgpu::Texture, data: &[T]) {
    let bytes_per_row = texture.format().block_copy_size(None).map(|bytes| texture.width() * bytes);
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row, rows_per_image: None };
    queue.write_texture(texture.as_image_copy(), bytemuck::cast_slice(data), layout, texture.size());
}

/// The entry of a uniform of this size in bytes.
pub(super) fn uniform_entry(binding: u32, visibility: wgpu::ShaderStages, size: usize) -> wgpu::BindGroupLayoutEntry {
    let ty = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: false,
        min_binding_size: wgpu::BufferSize::new(size as u64),
    };
    wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None }
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

/// The parts in which pipelines that draw differ.
pub(super) struct DrawPipeline<'a> {
    pub label: &'a str,
    pub module: &'a wgpu::ShaderModule,
    /// The functions of the shader for vertices and for fragments.
    pub entries: [&'a str; 2],
    pub groups: &'a [Option<&'a wgpu::BindGroupLayout>],
    /// Attributes of an instance, with its size in bytes; without any, nothing is read for vertices.
    pub instance: Option<(&'a [wgpu::VertexAttribute], u64)>,
    pub topology: wgpu::PrimitiveTopology,
    pub format: wgpu::TextureFormat,
    pub blend: Option<wgpu::BlendState>,
}

impl DrawPipeline<'_> {
    pub fn make(self, device: &wgpu::Device) -> wgpu::RenderPipeline {
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(self.label),
            bind_group_layouts: self.groups,
            immediate_size: 0,
        });
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
                entry_point: Some(self.entries[0]),
                compilation_options: Default::default(),
                buffers: &buffers,
            },
            primitive: wgpu::PrimitiveState { topology: self.topology, ..Default::default() },
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module: self.module,
                entry_point: Some(self.entries[1]),
                compilation_options: Default::default(),
                targets: &[Some(target)],
            }),
            multiview_mask: None,
            cache: None,
        })
    }
}
