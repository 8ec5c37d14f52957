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
