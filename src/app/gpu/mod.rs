//! wgpu pipelines, one per file, and the off-screen renderer.
//!
//! A pipeline is made lazily, the first time its paint callback is prepared, so that the same code
//! draws in a window, in a test harness and off screen. For that it needs only the format
//! it draws into: [`install`] leaves it in the egui context.

use std::{
    any::Any,
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, LazyLock, Mutex, Weak},
};

use eframe::{
    egui::{Context, Id, PaintCallback, Rect},
    egui_wgpu::{Callback, CallbackTrait, RenderState, wgpu},
};

pub mod canvas;
pub mod cell_image;
pub mod colour;
pub mod graph;
pub mod graph_layout;
pub mod heatmap;
pub mod offscreen;
pub mod particles;
pub mod png;
mod resources;

pub use offscreen::Offscreen;

/// The properties of the target that a pipeline depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    pub format: wgpu::TextureFormat,
    /// Widest and highest texture that the device takes.
    pub max_texture: u32,
    /// The adapter runs compute shaders.
    pub compute: bool,
    /// The adapter is a software renderer, where animation takes processor time from training.
    pub software: bool,
}

const TARGET_KEY: &str = "orrery gpu target";
const STILL_KEY: &str = "orrery gpu still";

/// Tells the context which target it draws into. Call once, when a window or test harness starts;
/// without it, views that need a pipeline say that there is no graphics adapter.
pub fn install(ctx: &Context, state: &RenderState) {
    install_target(ctx, target_of(state));
}

fn target_of(state: &RenderState) -> Target {
    let limits = state.device.limits();
    let flags = state.adapter.get_downlevel_capabilities().flags;
    Target {
        format: state.target_format,
        max_texture: limits.max_texture_dimension_2d,
        compute: flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
            && limits.max_compute_workgroups_per_dimension > 0,
        software: is_software(state),
    }
}

/// True where the adapter is a program that draws on the processor.
pub fn is_software(state: &RenderState) -> bool {
    state.adapter.get_info().device_type == wgpu::DeviceType::Cpu
}

/// Installs a target like [`install`], for a context whose shapes are drawn by another one or only counted by a test.
pub fn install_target(ctx: &Context, target: Target) {
    ctx.data_mut(|d| d.insert_temp(Id::unique(TARGET_KEY), target));
}

/// The target of the context, if [`install`] has set one.
pub fn target(ctx: &Context) -> Option<Target> {
    ctx.data(|d| d.get_temp(Id::unique(TARGET_KEY)))
}

/// Marks a context from which a single picture is taken: no animation continues in a next frame.
pub(crate) fn install_still(ctx: &Context) {
    ctx.data_mut(|d| d.insert_temp(Id::unique(STILL_KEY), true));
}

/// True if only one picture of this context will be seen.
pub fn is_still(ctx: &Context) -> bool {
    ctx.data(|d| d.get_temp(Id::unique(STILL_KEY))).unwrap_or(false)
}

/// The recent callbacks, by a key of their content.
static CALLBACKS: LazyLock<Mutex<HashMap<u64, Weak<dyn Any + Send + Sync>>>> = LazyLock::new(Mutex::default);
/// If more recent callbacks than this are listed, dropped ones are removed from the list.
const MANY_CALLBACKS: usize = 64;

/// The paint callback for `rect`. One that is still held and was made of the same `drawn` is taken again instead of
/// `callback`, so that who compares shapes ([`canvas`]) sees that nothing changed. `drawn` names all that the picture
/// depends on; what is large is in it by its address, which nothing else has while the callback holds it.
fn paint_callback(rect: Rect, drawn: &str, callback: impl CallbackTrait + 'static) -> PaintCallback {
    let made = Callback::new_paint_callback(rect, callback);
    let mut hasher = DefaultHasher::new();
    let edges = [rect.min.x, rect.min.y, rect.max.x, rect.max.y].map(f32::to_bits);
    (edges, drawn).hash(&mut hasher);
    let key = hasher.finish();
    let Ok(mut recent) = CALLBACKS.lock() else { return made };
    if let Some(callback) = recent.get(&key).and_then(Weak::upgrade) {
        return PaintCallback { rect, callback };
    }
    if recent.len() > MANY_CALLBACKS {
        recent.retain(|_, callback| callback.strong_count() > 0);
    }
    recent.insert(key, Arc::downgrade(&made.callback));
    made
}
