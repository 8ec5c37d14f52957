//! Renders any egui closure to an image, with no window.

use std::{
    sync::{Arc, Mutex, mpsc},
    task::{Context as TaskContext, Poll, Waker},
    time::Duration,
};

use eframe::{
    egui::{self, Context, Pos2, RawInput, Rect, Ui, vec2},
    egui_wgpu::{self, RenderState, RendererOptions, ScreenDescriptor, WgpuSetup, WgpuSetupCreateNew, wgpu},
};

use super::{
    png,
    resources::{buffer, plain_texture, render_pass, rows_of, view_of},
};

/// Advice where no graphics adapter is found.
pub const ADAPTER_ADVICE: &str = "A software one is enough: on Debian or Ubuntu, `apt-get install mesa-vulkan-drivers`";

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OffscreenError {
    #[error("no graphics adapter was found, so pictures cannot be drawn ({0}). {advice}", advice = ADAPTER_ADVICE)]
    NoAdapter(String),
    #[error("a picture of {width} x {height} pixels is too large: the adapter takes at most {max} on a side")]
    TooLarge { width: u32, height: u32, max: u32 },
    #[error("drawing a picture failed: {0}")]
    Drawing(String),
}

/// An image: rows from the top, 8 bits of red, green, blue and alpha a pixel.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    pub width: u32,
    pub height: u32,
    pub rgba: Vec<u8>,
}

impl Image {
    pub fn png(&self) -> Result<Vec<u8>, OffscreenError> {
        png::encode(&self.rgba, [self.width, self.height])
            .map_err(|e| OffscreenError::Drawing(format!("the PNG encoder refused: {e}")))
    }

    /// The number of different colours, counted up to `enough`: 1 for a blank sheet.
    pub fn colours(&self, enough: usize) -> usize {
        let mut seen = std::collections::HashSet::new();
        let colours = self.rgba.as_chunks().0.iter().map(|&[r, g, b, _]| [r, g, b]);
        colours.filter(|colour| seen.insert(*colour)).take(enough).count()
    }
}

/// Size and sharpness of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sheet {
    /// Width and height in points.
    pub size: [f32; 2],
    pub pixels_per_point: f32,
}

/// A picture that is laid out and not yet painted: it may be painted on another thread.
pub struct Drawing {
    sheet: Sheet,
    textures: Vec<egui::TexturesDelta>,
    jobs: Vec<egui::ClippedPrimitive>,
    /// Textures that die with the picture.
    made: Vec<egui::TextureId>,
}

impl Drawing {
    /// Discards a drawing that will not be painted. Its texture updates are cleared, because egui treats updates that
    /// nobody uploads as an error.
    pub fn discard(mut self) {
        self.textures.iter_mut().for_each(egui::TexturesDelta::clear);
    }
}

/// Lays out the shapes that `ui` draws in a fresh context, styled by `prepare`, for the [`Offscreen`] whose target this
/// is.
pub fn lay_out(
    sheet: Sheet,
    target: super::Target,
    prepare: impl FnOnce(&Context),
    mut ui: impl FnMut(&mut Ui),
) -> Drawing {
    let ctx = Context::default();
    ctx.set_pixels_per_point(sheet.pixels_per_point);
    super::install_target(&ctx, target);
    super::install_still(&ctx);
    prepare(&ctx);
    let (mut shapes, mut textures) = (vec![], vec![]);
    for pass in 0..N_PASSES {
        let output = ctx.run_ui(input(sheet, pass), &mut ui);
        textures.push(output.textures_delta);
        shapes = output.shapes;
    }
    let jobs = ctx.tessellate(shapes, sheet.pixels_per_point);
    let made = ctx.tex_manager().read().allocated().map(|(id, _)| *id).collect();
    Drawing { sheet, textures, jobs, made }
}

/// A device and renderer kept for many pictures. Making one takes about a second.
pub struct Offscreen {
    state: RenderState,
    /// The last error of the device, which would otherwise end the program.
    error_message: Arc<Mutex<Option<String>>>,
}

/// Longest that one picture may take; a software rasteriser needs well under a second.
const PICTURE_TIMEOUT: Duration = Duration::from_secs(60);

/// Passes of the interface code before the picture is taken: sizes settle in the first ones.
const N_PASSES: usize = 4;

impl Offscreen {
    /// Looks for an adapter and makes a device on it.
    pub fn new() -> Result<Self, OffscreenError> {
        let setup = graphics_setup("pictures");
        let instance = wait_for(setup.new_instance());
        let config = egui_wgpu::WgpuConfiguration { wgpu_setup: setup, ..Default::default() };
        let state = wait_for(RenderState::create(&config, &instance, None, RendererOptions::PREDICTABLE))
            .map_err(|e| OffscreenError::NoAdapter(e.to_string()))?;
        let error_message = Arc::new(Mutex::new(None));
        let kept = error_message.clone();
        state.device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| {
            if let Ok(mut slot) = kept.lock() {
                slot.get_or_insert_with(|| e.to_string());
            }
        }));
        Ok(Self { state, error_message })
    }

    /// The adapter's name and kind, for reports.
    pub fn adapter(&self) -> String {
        let info = self.state.adapter.get_info();
        format!("{} ({:?})", info.name, info.backend)
    }

    pub fn render_state(&self) -> &RenderState {
        &self.state
    }

    /// Draws `ui` in a fresh context that `prepare` may style (fonts, visuals), and reads it back.
    pub fn draw(
        &mut self,
        sheet: Sheet,
        prepare: impl FnOnce(&Context),
        ui: impl FnMut(&mut Ui),
    ) -> Result<Image, OffscreenError> {
        self.check(sheet)?;
        self.paint_drawing(lay_out(sheet, self.target(), prepare, ui))
    }

    pub fn target(&self) -> super::Target {
        super::target_of(&self.state)
    }

    /// Width and height in pixels, if the adapter takes them.
    fn check(&self, sheet: Sheet) -> Result<[u32; 2], OffscreenError> {
        let [width, height] = sheet.size.map(|points| (points * sheet.pixels_per_point).round().max(1.0) as u32);
        let max = self.state.device.limits().max_texture_dimension_2d;
        if width > max || height > max {
            return Err(OffscreenError::TooLarge { width, height, max });
        }
        Ok([width, height])
    }

    /// Paints what was laid out for this target, and reads it back.
    pub fn paint_drawing(&mut self, drawing: Drawing) -> Result<Image, OffscreenError> {
        let Drawing { sheet, textures, jobs, made } = drawing;
        let size = self.check(sheet);
        textures.into_iter().for_each(|delta| self.take_textures(delta));
        let [width, height] = match size {
            Ok(size) => size,
            Err(e) => {
                self.forget_textures(&made);
                return Err(e);
            }
        };
        let screen = ScreenDescriptor { size_in_pixels: [width, height], pixels_per_point: sheet.pixels_per_point };
        let texture = self.paint(&jobs, &screen);
        let image = self.read_back(&texture);
        self.forget_textures(&made);
        let error_message = self.error_message.lock().ok().and_then(|mut c| c.take());
        error_message.map_or(image, |words| Err(OffscreenError::Drawing(words)))
    }

    fn take_textures(&self, mut delta: egui::TexturesDelta) {
        let mut renderer = self.state.renderer.write();
        for (id, images) in delta.set.drain() {
            for image in images {
                renderer.update_texture(&self.state.device, &self.state.queue, id, &image);
            }
        }
        delta.free.drain().for_each(|id| renderer.free_texture(&id));
    }

    /// The context dies with its picture and textures. The next context writes the font atlas again under its id.
    fn forget_textures(&self, made: &[egui::TextureId]) {
        let mut renderer = self.state.renderer.write();
        made.iter().for_each(|id| renderer.free_texture(id));
    }

    fn paint(&self, jobs: &[egui::ClippedPrimitive], screen: &ScreenDescriptor) -> wgpu::Texture {
        let RenderState { device, queue, .. } = &self.state;
        let mut renderer = self.state.renderer.write();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("picture") });
        let extra = renderer.update_buffers(device, queue, &mut encoder, jobs, screen);
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC;
        let texture = plain_texture(device, "picture", screen.size_in_pixels, self.state.target_format, usage);
        let view = view_of(&texture);
        {
            let clear = wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT);
            let mut pass = render_pass(&mut encoder, "picture", &view, clear).forget_lifetime();
            renderer.render(&mut pass, jobs, screen);
        }
        queue.submit(extra.into_iter().chain([encoder.finish()]));
        texture
    }

    fn read_back(&self, texture: &wgpu::Texture) -> Result<Image, OffscreenError> {
        let fail = |what: &str| OffscreenError::Drawing(what.to_owned());
        let RenderState { device, queue, .. } = &self.state;
        let (width, height) = (texture.width(), texture.height());
        let row = width as usize * 4;
        let padded = row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT as usize);
        let size = (padded * height as usize) as u64;
        let buffer = buffer(device, "picture", size, wgpu::BufferUsages::MAP_READ);
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("read back") });
        let into = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout: rows_of(Some(padded as u32)) };
        encoder.copy_texture_to_buffer(texture.as_image_copy(), into, texture.size());
        let submission = queue.submit([encoder.finish()]);
        let (told, mapped) = mpsc::channel();
        buffer.slice(..).map_async(wgpu::MapMode::Read, move |r| {
            let _ = told.send(r);
        });
        device
            .poll(wgpu::PollType::Wait { submission_index: Some(submission), timeout: Some(PICTURE_TIMEOUT) })
            .map_err(|e| OffscreenError::Drawing(format!("the adapter did not finish: {e}")))?;
        mapped
            .try_recv()
            .map_err(|_| fail("the picture could not be read back"))?
            .map_err(|e| OffscreenError::Drawing(e.to_string()))?;
        let bytes = buffer.slice(..).get_mapped_range().map_err(|e| OffscreenError::Drawing(e.to_string()))?;
        let swap = matches!(texture.format(), wgpu::TextureFormat::Bgra8Unorm | wgpu::TextureFormat::Bgra8UnormSrgb);
        let mut rgba = Vec::with_capacity(row * height as usize);
        for line in bytes.chunks_exact(padded) {
            rgba.extend_from_slice(&line[..row]);
        }
        if swap {
            rgba.as_chunks_mut::<4>().0.iter_mut().for_each(|p| p.swap(0, 2));
        }
        Ok(Image { width, height, rgba })
    }
}

/// Asks every adapter for what it has, any of Vulkan first: egui's own request is so low on OpenGL that compute shaders
/// would be lost, and wgpu then stops the program.
pub fn graphics_setup(label: &'static str) -> WgpuSetup {
    let mut setup = WgpuSetupCreateNew::without_display_handle();
    setup.device_descriptor = Arc::new(move |adapter| wgpu::DeviceDescriptor {
        label: Some(label),
        required_limits: adapter.limits(),
        ..Default::default()
    });
    WgpuSetup::CreateNew(setup)
}

fn input(sheet: Sheet, pass: usize) -> RawInput {
    RawInput {
        screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(sheet.size[0], sheet.size[1]))),
        time: Some(pass as f64),
        focused: false,
        ..Default::default()
    }
}

/// Drives a future on this thread, without sleeping: wgpu's futures are ready at once on native backends.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut cx = TaskContext::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}
