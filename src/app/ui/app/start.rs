//! The start of the application: what it opens with, and the window that it opens.

use std::{sync::Arc, time::Instant};

use eframe::{egui, egui_wgpu};

use super::{
    dispatch::{
        lesson::open_lesson,
        link::open_page,
        open::open_sweep,
        open_file::open_path,
        open_lab::{open_lab, open_on_example, open_settings},
        open_run::open_run,
    },
    window_size,
};
use crate::{
    experiments::permalink::Permalink,
    gpu::{
        self,
        offscreen::{ADAPTER_ADVICE, graphics_setup},
        png,
    },
    ui::{NAME, app::prelude::*, close_request::CloseRequest, host::Host, panels},
};

/// The page to open with; without it the last session is restored.
#[derive(Debug, Clone)]
pub enum Opening {
    Lab(String),
    Lesson(LessonLink),
    Page(Box<Permalink>),
    Config(Config),
    /// A text file, or anything else that could be dropped on the window.
    Text(PathBuf),
    Run(PathBuf),
    Sweep(PathBuf),
}

#[derive(Debug, Clone)]
pub struct Start {
    pub opening: Option<Opening>,
    /// Say on standard error when the first frame and the first training step came, and at the end
    /// how long frames took.
    pub timings: bool,
    pub started: Instant,
    pub close_request: Arc<CloseRequest>,
    /// A software adapter draws every frame whole, as a graphics card does: for comparisons.
    pub draws_all: bool,
}

impl Default for Start {
    fn default() -> Self {
        Self { opening: None, timings: false, started: Instant::now(), close_request: Arc::default(), draws_all: false }
    }
}

/// Opens that, or else the lab of the last session.
pub(super) fn open_at_start(app: &mut App, opening: Option<Opening>, ctx: &Context) {
    // another program's run is opened by its folder alone
    let lab = app.session.lab.clone().filter(|id| app.lists.lab(id).is_none_or(Lab::makes_runs));
    let opening = opening.or_else(|| lab.map(Opening::Lab));
    match opening {
        None => {}
        Some(Opening::Lab(id)) => match app.lists.lab(&id) {
            Some(lab) => open_lab(app, lab.id, ctx),
            None => app
                .toasts
                .push(Level::Error, format!("There is no lab \u{201c}{id}\u{201d}. The labs are on this page.")),
        },
        Some(Opening::Lesson(link)) => open_lesson(app, &link, ctx),
        Some(Opening::Page(link)) => open_page(app, *link, ctx),
        Some(Opening::Config(config)) => {
            let is_shown = open_on_example(app, &config, ctx);
            if !is_shown {
                open_settings(app, config.into(), ctx);
            }
        }
        Some(Opening::Run(folder)) => open_run(app, folder, ctx),
        Some(Opening::Sweep(folder)) => open_sweep(app, folder),
        Some(Opening::Text(path)) => {
            if let Some(lab) = app.lists.labs.iter().find(|l| panels::open_sheet::takes_files(l)) {
                open_lab(app, lab.id, ctx);
            }
            open_path(app, path, ctx);
        }
    }
}

/// Opens the window and stays until it closes. The error says what is missing and what to do.
pub fn run(host: Box<dyn Host>, start: Start) -> Result<(), String> {
    open_window(host, start, None, |_, app| Box::new(app))
}

/// Opens the window like [`run`], with the application that `wrap` makes of it, such as one that moves the pointer by
/// itself. The session is kept in the file `session`, so that the user's own session stays as it is.
pub fn run_scripted(
    host: Box<dyn Host>,
    start: Start,
    session: PathBuf,
    wrap: impl FnOnce(&eframe::CreationContext<'_>, App) -> Box<dyn eframe::App> + 'static,
) -> Result<(), String> {
    open_window(host, start, Some(session), wrap)
}

fn open_window(
    host: Box<dyn Host>,
    start: Start,
    session: Option<PathBuf>,
    wrap: impl FnOnce(&eframe::CreationContext<'_>, App) -> Box<dyn eframe::App> + 'static,
) -> Result<(), String> {
    let mut viewport = egui::ViewportBuilder::default()
        .with_title(NAME)
        .with_app_id("orrery")
        .with_inner_size(window_size::DEFAULT_SIZE)
        .with_min_inner_size(window_size::MIN_SIZE)
        .with_drag_and_drop(true);
    if let Some((rgba, [width, height])) = png::decode(include_bytes!("../../../../assets/icon.png")) {
        viewport = viewport.with_icon(egui::IconData { rgba, width, height });
    }
    let options = eframe::NativeOptions {
        viewport,
        renderer: eframe::Renderer::Wgpu,
        wgpu_options: egui_wgpu::WgpuConfiguration { wgpu_setup: graphics_setup("orrery"), ..Default::default() },
        persist_window: true,
        persistence_path: session,
        dithering: RENDERER.dithering,
        ..Default::default()
    };
    let make = move |cc: &eframe::CreationContext<'_>| {
        if let Some(graphics) = cc.wgpu_render_state.as_ref().filter(|_| !start.draws_all)
            && gpu::is_software(graphics)
        {
            gpu::canvas::install(&cc.egui_ctx, graphics, RENDERER);
        }
        wrap(cc, App::new(cc, host, start))
    };
    eframe::run_native(NAME, options, Box::new(move |cc| Ok(make(cc)))).map_err(|e| window_error(&e))
}

/// Without a driver of Vulkan or OpenGL there is no surface to draw on, or no adapter for it.
fn window_error(e: &eframe::Error) -> String {
    use egui_wgpu::WgpuError::{CreateSurfaceError, RequestAdapterError};
    match e {
        eframe::Error::Wgpu(CreateSurfaceError(_) | RequestAdapterError(_)) => {
            format!("the window could not be opened: no graphics adapter was found ({e}). {ADAPTER_ADVICE}")
        }
        e => format!("the window could not be opened: {e}"),
    }
}

/// The options of the renderers that draw the window: no dithering, whose noise would cover small differences of colour.
const RENDERER: egui_wgpu::RendererOptions = egui_wgpu::RendererOptions {
    msaa_samples: 0,
    depth_stencil_format: None,
    dithering: false,
    predictable_texture_filtering: false,
};
