//! A matrix as colours, by `shaders/heatmap.wgsl`: pan, zoom, range, logarithm. Only changed cells are uploaded.

use std::{collections::HashMap, sync::Arc};

use bytemuck::{Pod, Zeroable};
use eframe::{
    egui::{PaintCallbackInfo, Rect, Shape},
    egui_wgpu::{CallbackResources, CallbackTrait, ScreenDescriptor, wgpu},
};

use super::{
    Target,
    colour::{ColourMap, opaque},
    paint_callback,
    resources::{
        DrawPipeline, bind, buffer, data_texture, group_layout, shader, texture_entry, uniform_entry, upload, view_of,
    },
};

/// Stands for a value that is not a finite number: its cell is hatched.
pub const NOT_FINITE: f32 = f32::INFINITY;

/// The cells: row-major, `data.len() == rows * cols`. NaN marks a cell without a value, [`NOT_FINITE`] one whose value is
/// NaN or infinite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cells {
    pub rows: usize,
    pub cols: usize,
    pub data: Vec<f32>,
}

#[derive(Debug, Clone)]
pub struct Heatmap {
    /// The identity of the matrix: each has a texture of its own.
    pub key: u64,
    /// Grows when the cells change.
    pub revision: u64,
    pub cells: Arc<Cells>,
    pub map: ColourMap,
    /// Values of the first and last colour; positive when `log`.
    pub range: [f32; 2],
    pub log: bool,
    /// Left, top, right and bottom of the visible part, in cells.
    pub window: [f32; 4],
    /// Colour of cells without a value, sRGB.
    pub missing: [u8; 3],
    /// Colour of the hatching, on that of cells without a value, sRGB.
    pub not_finite: [u8; 3],
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HeatmapError {
    #[error("a matrix of {rows} x {cols} is too large: the graphics adapter takes at most {max} on a side")]
    TooLarge { rows: usize, cols: usize, max: u32 },
    #[error("a matrix without cells")]
    Empty,
}

impl Heatmap {
    pub fn shape(self, rect: Rect, target: Target) -> Result<Shape, HeatmapError> {
        let Cells { rows, cols, data } = &*self.cells;
        if *rows == 0 || *cols == 0 || data.len() != rows * cols {
            return Err(HeatmapError::Empty);
        }
        if *rows > target.max_texture as usize || *cols > target.max_texture as usize {
            return Err(HeatmapError::TooLarge { rows: *rows, cols: *cols, max: target.max_texture });
        }
        let Self { key, revision, cells, map, range, log, window, missing, not_finite } = &self;
        let drawn = (key, revision, Arc::as_ptr(cells), map.layer(), range, log, window, missing, not_finite, target);
        let drawn = format!("heatmap {drawn:?}");
        Ok(paint_callback(rect, &drawn, HeatmapCallback { heatmap: self, target }).into())
    }

    /// The values of the first and the last colour, or their logarithms.
    pub(super) fn span(&self) -> [f32; 2] {
        let ends = if self.log { self.range.map(|v| v.max(f32::MIN_POSITIVE).ln()) } else { self.range };
        if ends[1] > ends[0] { ends } else { [ends[0] - 0.5, ends[0] + 0.5] }
    }

    fn style(&self, target: Target) -> HeatmapUniform {
        HeatmapUniform {
            window: self.window,
            size: [self.cells.cols as f32, self.cells.rows as f32],
            range: self.span(),
            missing: opaque(self.missing),
            not_finite: opaque(self.not_finite),
            map: self.map.layer(),
            log_scale: self.log.into(),
            srgb_target: target.format.is_srgb().into(),
            padding: 0,
        }
    }
}

/// The layout must equal the struct of the same fields in the shader.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Pod, Zeroable)]
struct HeatmapUniform {
    window: [f32; 4],
    size: [f32; 2],
    range: [f32; 2],
    missing: [f32; 4],
    not_finite: [f32; 4],
    map: u32,
    log_scale: u32,
    srgb_target: u32,
    padding: u32,
}

struct HeatmapCallback {
    heatmap: Heatmap,
    target: Target,
}

struct HeatmapEntry {
    revision: u64,
    texture: wgpu::Texture,
    uniform: wgpu::Buffer,
    style: HeatmapUniform,
    group: wgpu::BindGroup,
    /// The value of `turn` when it was last used.
    used: u64,
}

struct HeatmapPipeline {
    pipeline: wgpu::RenderPipeline,
    layout: wgpu::BindGroupLayout,
    tables: wgpu::TextureView,
    entries: HashMap<u64, HeatmapEntry>,
    turn: u64,
    /// The number of uploads so far, which a test checks.
    uploads: u64,
}

/// A heatmap is dropped if it was not painted during this many paints of all heatmaps.
const KEPT_TURNS: u64 = 4096;

pub fn uploads(resources: &CallbackResources) -> u64 {
    resources.get::<HeatmapPipeline>().map_or(0, |p| p.uploads)
}

impl CallbackTrait for HeatmapCallback {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &ScreenDescriptor,
        _encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        let pipeline = resources
            .entry::<HeatmapPipeline>()
            .or_insert_with(|| HeatmapPipeline::new(device, queue, self.target.format));
        pipeline.update(device, queue, self);
        vec![]
    }

    fn paint(&self, _info: PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        let Some(pipeline) = resources.get::<HeatmapPipeline>() else { return };
        let Some(entry) = pipeline.entries.get(&self.heatmap.key) else { return };
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &entry.group, &[]);
        pass.draw(0..3, 0..1);
    }
}

impl HeatmapPipeline {
    fn new(device: &wgpu::Device, queue: &wgpu::Queue, format: wgpu::TextureFormat) -> Self {
        let module = shader(device, "heatmap", include_str!("../../../shaders/heatmap.wgsl"));
        let uniform = uniform_entry(0, wgpu::ShaderStages::VERTEX_FRAGMENT, size_of::<HeatmapUniform>());
        let [cells, tables_entry] = [1, 2].map(|binding| texture_entry(binding, wgpu::ShaderStages::FRAGMENT));
        let layout = group_layout(device, "heatmap", &[uniform, cells, tables_entry]);
        let pipeline = DrawPipeline::filling("heatmap", &module, &[Some(&layout)], format).make(device);
        Self { pipeline, layout, tables: tables(device, queue), entries: HashMap::new(), turn: 0, uploads: 0 }
    }

    /// Brings the device up to date with a heatmap about to be painted.
    fn update(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, paint: &HeatmapCallback) {
        self.turn += 1;
        let (heatmap, turn) = (&paint.heatmap, self.turn);
        let cells = &*heatmap.cells;
        let size = (cells.cols as u32, cells.rows as u32);
        let style = heatmap.style(paint.target);
        let fits = self.entries.get(&heatmap.key).is_some_and(|e| (e.texture.width(), e.texture.height()) == size);
        if !fits {
            let entry = self.new_entry(device, queue, size, style);
            self.entries.insert(heatmap.key, entry);
            self.entries.retain(|key, e| *key == heatmap.key || turn - e.used < KEPT_TURNS);
        }
        let Some(entry) = self.entries.get_mut(&heatmap.key) else { return };
        entry.used = turn;
        if !fits || entry.revision != heatmap.revision {
            upload(queue, &entry.texture, &cells.data);
            entry.revision = heatmap.revision;
            self.uploads += 1;
        }
        if entry.style != style {
            queue.write_buffer(&entry.uniform, 0, bytemuck::bytes_of(&style));
            entry.style = style;
        }
    }

    fn new_entry(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        size: (u32, u32),
        style: HeatmapUniform,
    ) -> HeatmapEntry {
        let texture = data_texture(device, "heatmap", size.into(), wgpu::TextureFormat::R32Float);
        let uniform = buffer(device, "heatmap", size_of::<HeatmapUniform>() as u64, wgpu::BufferUsages::UNIFORM);
        queue.write_buffer(&uniform, 0, bytemuck::bytes_of(&style));
        let view = view_of(&texture);
        let [cells, tables] = [&view, &self.tables].map(wgpu::BindingResource::TextureView);
        let group = bind(device, "heatmap", &self.layout, [uniform.as_entire_binding(), cells, tables]);
        HeatmapEntry { revision: 0, texture, uniform, style, group, used: self.turn }
    }
}

/// Every colour map's table, one per row.
fn tables(device: &wgpu::Device, queue: &wgpu::Queue) -> wgpu::TextureView {
    let bytes: Vec<u8> =
        ColourMap::STACK.iter().flat_map(|map| map.table().iter().flat_map(|[r, g, b]| [*r, *g, *b, 255])).collect();
    let size = [super::colour::ENTRIES as u32, ColourMap::STACK.len() as u32];
    let texture = data_texture(device, "heatmap", size, wgpu::TextureFormat::Rgba8Unorm);
    upload(queue, &texture, &bytes);
    view_of(&texture)
}
