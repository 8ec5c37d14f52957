//! The start of the application: what it opens with, and the window that it opens.

use std::{path::PathBuf, sync::Arc, time::Instant};

use eframe::{
    egui::{self, Context},
    egui_wgpu,
};

use super::{
    App,
    dispatch::{
        lesson::open_lesson,
        link::open_page,
        open::open_sweep,
        open_file::open_path,
        open_lab::{open_config, open_lab, open_on_example},
        open_run::open_run,
    },
    window_size,
};
use crate::{
    config::Config,
    experiments::permalink::Permalink,
    gpu::{offscreen::ADAPTER_ADVICE, png},
    labs::{Lab, lesson::LessonLink},
    telemetry::Level,
    ui::{NAME, close_request::CloseRequest, host::Host, panels},
};

/// The page to open with; without it the last session is restored.
#[derive(Debug, Clone)]
pub enum Opening {
    /// A lab, by id.
    Lab(String),
    /// A lab at a step of its lesson.
    Lesson(LessonLink),
    /// A page by its link.
    Page(Box<Permalink>),
    /// Settings; their lab opens.
    Config(Config),
    /// A text file, or anything else that could be dropped on the window.
    Text(PathBuf),
    /// A run folder to replay.
    Run(PathBuf),
    /// The folder of a sweep.
    Sweep(PathBuf),
}

/// The options of the window's start.
#[derive(Debug, Clone)]
pub struct Start {
    pub opening: Option<Opening>,
    /// Say on standard error when the first frame and the first training step came, and at the end
    /// how long frames took.
    pub timings: bool,
    /// When the process began.
    pub started: Instant,
    /// Through which others may ask the window to close.
    pub close_request: Arc<CloseRequest>,
}

impl Default for Start {
    fn default() -> Self {
        Self { opening: None, timings: false, started: Instant::now(), close_request: Arc::default() }
    }
}

/// Opens that, or else the lab of the last session.
pub(super) fn open_at_start(app: &mut App, opening: Option<Opening>, ctx: &Context) {
    // another program's run is opened by its folder alone
    let lab = app.session.lab.clone().filter(|id| app.lists.lab(id).is_none_or(Lab::trains));
    let opening = opening.or_else(|| lab.map(Opening::Lab));
    match opening {
        None => {}
        Some(Opening::Lab(id)) => match app.lists.lab(&id) {
            Some(lab) => open_lab(app, lab.id, ctx),
            None => app.toasts.push(Level::Error, format!("There is no lab `{id}`. The labs are on this page.")),
        },
        Some(Opening::Lesson(link)) => open_lesson(app, &link, ctx),
        Some(Opening::Page(link)) => open_page(app, *link, ctx),
        Some(Opening::Config(config)) => {
            let is_shown = open_on_example(app, &config, ctx);
            if !is_shown {
                open_config(app, config, ctx);
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
    let mut viewport = egui::ViewportBuilder::default()
        .with_title(NAME)
        .with_app_id("orrery")
        .with_inner_size(window_size::USUAL)
        .with_min_inner_size(window_size::LEAST)
        .with_drag_and_drop(true);
    if let Some((rgba, [width, height])) = png::decode(include_bytes!("../../../../assets/icon.png")) {
        viewport = viewport.with_icon(egui::IconData { rgba, width, height });
    }
    let options = eframe::NativeOptions {
        viewport,
        renderer: eframe::Renderer::Wgpu,
        wgpu_options: egui_wgpu::WgpuConfiguration { wgpu_setup: graphics_setup(), ..Default::default() },
        persist_window: true,
        dithering: false,
        ..Default::default()
    };
    eframe::run_native(NAME, options, Box::new(move |cc| Ok(Box::new(App::new(cc, host, start)))))
        .map_err(|e| window_error(&e))
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

/// Asks every adapter for what it has: egui's own request is so low on OpenGL that compute
/// shaders would be lost, and wgpu then stops the program.
fn graphics_setup() -> egui_wgpu::WgpuSetup {
    let mut setup = egui_wgpu::WgpuSetupCreateNew::without_display_handle();
    setup.device_descriptor = Arc::new(|adapter| egui_wgpu::wgpu::DeviceDescriptor {
        label: Some("orrery"),
        required_limits: adapter.limits(),
        ..Default::default()
    });
    egui_wgpu::WgpuSetup::CreateNew(setup)
}
