//! The picture of a window, kept from frame to frame: only the tiles whose shapes changed are tessellated and drawn, by
//! egui's own renderer, and the whole is laid onto the window's surface by `shaders/canvas.wgsl`. For adapters that are
//! software, where every pixel costs the processor: what is seen is the same, pixel for pixel.

use std::{
    any::Any,
    mem,
    sync::{Arc, Mutex},
};

use eframe::{
    egui::{
        Context, FullOutput, Id, PaintCallbackInfo, Plugin, Rect, Shape, TextureId, TexturesDelta,
        epaint::{ClippedPrimitive, ClippedShape, PaintCallback, Primitive},
    },
    egui_wgpu::{
        Callback, CallbackResources, CallbackTrait, RenderState, Renderer, RendererOptions, ScreenDescriptor, wgpu,
    },
};

use super::resources::{DrawPipeline, bind, group_layout, plain_texture, render_pass, shader, texture_entry, view_of};

mod changed_tiles;

use changed_tiles::{FrameShapes, PixelRect};

/// The longest time of a double click in seconds: press and release take a frame each, which software adapters draw
/// slowly.
const DOUBLE_CLICK: f64 = 0.6;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CanvasCounts {
    pub frames: u64,
    /// Pixels drawn again, over all frames.
    pub pixels: u64,
}

/// Draws the frames of this context through a canvas from now on. `options` are those of the renderer of `state`.
pub fn install(ctx: &Context, state: &RenderState, options: RendererOptions) -> CanvasHandle {
    let canvas = Arc::new(Mutex::new(Canvas::new(&state.device, state.target_format, options)));
    ctx.add_plugin(CanvasPlugin(Arc::clone(&canvas)));
    ctx.options_mut(|o| o.input_options.max_double_click_delay = DOUBLE_CLICK);
    // A path that ends just outside of a tile may still colour a fringe in it.
    ctx.tessellation_options_mut(|o| o.coarse_tessellation_culling = false);
    note_share(ctx, 1.0);
    CanvasHandle(canvas)
}

const SHARE_KEY: &str = "orrery canvas changed";

fn note_share(ctx: &Context, share: f32) {
    ctx.data_mut(|d| d.insert_temp(Id::unique(SHARE_KEY), share));
}

/// The share of the window, 0 to 1, that the last frame drew again, if the context is drawn through a canvas.
pub fn changed_share(ctx: &Context) -> Option<f32> {
    ctx.data(|d| d.get_temp(Id::unique(SHARE_KEY)))
}

/// Access to a canvas for reports.
pub struct CanvasHandle(Arc<Mutex<Canvas>>);

impl CanvasHandle {
    pub fn counts(&self) -> CanvasCounts {
        self.0.lock().map_or_else(|_| CanvasCounts::default(), |canvas| canvas.counts)
    }
}

/// Replaces a frame's shapes by a single one that draws them through the canvas.
struct CanvasPlugin(Arc<Mutex<Canvas>>);

impl Plugin for CanvasPlugin {
    fn debug_name(&self) -> &'static str {
        "canvas"
    }

    fn output_hook(&mut self, ctx: &Context, output: &mut FullOutput) {
        let Ok(mut canvas) = self.0.lock() else { return };
        canvas.textures.append(mem::take(&mut output.textures_delta));
        // Pixels that no shape covers have the colour that the window is cleared with.
        let everywhere = |shape: Shape| ClippedShape::new(Rect::EVERYTHING, shape);
        let (window, ground) = (ctx.viewport_rect(), ctx.global_style().visuals.panel_fill);
        let ground = everywhere(Shape::rect_filled(window.expand(8.0), 0.0, ground));
        let shapes = [ground].into_iter().chain(mem::take(&mut output.shapes)).collect();
        let frame = CanvasFrame { canvas: Arc::clone(&self.0), ctx: ctx.clone(), shapes: Mutex::new(Some(shapes)) };
        output.shapes = vec![everywhere(Callback::new_paint_callback(window, frame).into())];
    }
}

struct CanvasFrame {
    canvas: Arc<Mutex<Canvas>>,
    ctx: Context,
    /// The shapes to be drawn; `None` once they are drawn.
    shapes: Mutex<Option<Vec<ClippedShape>>>,
}

impl CallbackTrait for CanvasFrame {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        screen: &ScreenDescriptor,
        _encoder: &mut wgpu::CommandEncoder,
        _resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        let shapes = self.shapes.lock().ok().and_then(|mut shapes| shapes.take());
        let (Some(shapes), Ok(mut canvas)) = (shapes, self.canvas.lock()) else { return vec![] };
        canvas.take_textures(device, queue);
        // Submitted at once: egui drops its own encoder where the surface has no room for a frame, and what the canvas
        // takes for drawn would then be missing from the picture.
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("canvas") });
        let commands = canvas.draw(&self.ctx, shapes, device, queue, screen, &mut encoder);
        queue.submit(commands.into_iter().chain([encoder.finish()]));
        vec![]
    }

    fn paint(&self, info: PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, _resources: &CallbackResources) {
        let Ok(canvas) = self.canvas.lock() else { return };
        let Some(picture) = &canvas.picture else { return };
        let [width, height] = info.screen_size_px.map(|side| side as f32);
        pass.set_viewport(0.0, 0.0, width, height, 0.0, 1.0);
        pass.set_pipeline(&canvas.pipeline);
        pass.set_bind_group(0, &picture.group, &[]);
        pass.draw(0..3, 0..1);
    }
}

struct Picture {
    size: [u32; 2],
    view: wgpu::TextureView,
    group: wgpu::BindGroup,
}

struct Canvas {
    renderer: Renderer,
    format: wgpu::TextureFormat,
    pipeline: wgpu::RenderPipeline,
    layout: wgpu::BindGroupLayout,
    picture: Option<Picture>,
    /// The shapes that the picture shows, held so that no other galley or callback can have the address of one.
    shown: Option<FrameShapes>,
    /// Textures set and freed in frames that were not drawn yet.
    textures: TexturesDelta,
    /// Textures that the last drawn frame may have used, and the next one does not.
    unused: Vec<TextureId>,
    counts: CanvasCounts,
}

impl Drop for Canvas {
    fn drop(&mut self) {
        // egui takes textures that nobody uploads for a mistake
        self.textures.clear();
    }
}

impl Canvas {
    fn new(device: &wgpu::Device, format: wgpu::TextureFormat, options: RendererOptions) -> Self {
        let module = shader(device, "canvas", include_str!("../../../shaders/canvas.wgsl"));
        let layout = group_layout(device, "canvas", &[texture_entry(0, wgpu::ShaderStages::FRAGMENT)]);
        let pipeline = DrawPipeline::filling("canvas", &module, &[Some(&layout)], format).make(device);
        Self {
            renderer: Renderer::new(device, format, options),
            format,
            pipeline,
            layout,
            picture: None,
            shown: None,
            textures: TexturesDelta::default(),
            unused: vec![],
            counts: CanvasCounts::default(),
        }
    }

    /// Uploads textures. If one was replaced, or one other than a font was written to, all is drawn again.
    fn take_textures(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        mem::take(&mut self.unused).iter().for_each(|id| self.renderer.free_texture(id));
        for (id, images) in self.textures.set.drain() {
            for image in images {
                if image.is_whole() || id != TextureId::default() {
                    self.shown = None;
                }
                self.renderer.update_texture(device, queue, id, &image);
            }
        }
        self.unused = self.textures.free.drain().collect();
    }

    fn draw(
        &mut self,
        ctx: &Context,
        shapes: Vec<ClippedShape>,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        screen: &ScreenDescriptor,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Vec<wgpu::CommandBuffer> {
        let (size, scale) = (screen.size_in_pixels, screen.pixels_per_point);
        if self.picture.as_ref().is_none_or(|picture| picture.size != size) {
            self.picture = Some(self.new_picture(device, size));
            self.shown = None;
        }
        let frame = FrameShapes::new(shapes, size, scale);
        let all = || vec![PixelRect::from_size(size)];
        let changed = self.shown.as_ref().map_or_else(all, |shown| frame.changed_since(shown));
        self.counts.frames += 1;
        let pixels: u64 = changed.iter().map(|rect| rect.area()).sum();
        self.counts.pixels += pixels;
        note_share(ctx, pixels as f32 / PixelRect::from_size(size).area().max(1) as f32);
        let mut jobs: Vec<_> = changed.iter().flat_map(|rect| ctx.tessellate(frame.within(*rect), scale)).collect();
        let drawn: Vec<_> = jobs.iter().filter_map(callback).map(|callback| Arc::clone(&callback.callback)).collect();
        jobs.extend(preparations(&frame.shapes, &drawn));
        let commands = self.renderer.update_buffers(device, queue, encoder, &jobs, screen);
        if let (Some(picture), false) = (&self.picture, changed.is_empty()) {
            let mut pass = render_pass(encoder, "canvas", &picture.view, wgpu::LoadOp::Load).forget_lifetime();
            self.renderer.render(&mut pass, &jobs, screen);
        }
        self.shown = Some(frame);
        commands
    }

    fn new_picture(&self, device: &wgpu::Device, size: [u32; 2]) -> Picture {
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let view = view_of(&plain_texture(device, "canvas", size, self.format, usage));
        let group = bind(device, "canvas", &self.layout, [wgpu::BindingResource::TextureView(&view)]);
        Picture { size, view, group }
    }
}

fn callback(job: &ClippedPrimitive) -> Option<&PaintCallback> {
    if let Primitive::Callback(callback) = &job.primitive { Some(callback) } else { None }
}

/// The callbacks of a frame that are not drawn because they look as before, with empty clip rectangles: they are prepared
/// nevertheless, since a callback may read data back from the device.
fn preparations(shapes: &[ClippedShape], drawn: &[Arc<dyn Any + Send + Sync>]) -> Vec<ClippedPrimitive> {
    fn collect(shape: &Shape, drawn: &[Arc<dyn Any + Send + Sync>], into: &mut Vec<ClippedPrimitive>) {
        match shape {
            Shape::Callback(callback) if !drawn.iter().any(|drawn| Arc::ptr_eq(drawn, &callback.callback)) => {
                into.push(ClippedPrimitive { clip_rect: Rect::ZERO, primitive: Primitive::Callback(callback.clone()) })
            }
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| collect(shape, drawn, into)),
            _ => {}
        }
    }
    let mut found = vec![];
    shapes.iter().for_each(|clipped| collect(&clipped.shape, drawn, &mut found));
    found
}
