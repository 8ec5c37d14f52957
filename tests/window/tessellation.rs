//! What a frame costs: its shapes and the vertices they become, counted without a graphics adapter. It knows
//! no view.

use eframe::{egui::epaint::Primitive, egui_wgpu::wgpu};
use egui_kittest::{Harness, HarnessBuilder};
use orrery::{
    gpu::{self, Target},
    ui::views::VIEWS,
};

use crate::{recorded, tiles::Tile};

/// More than any view draws of recorded runs, by a factor of five; a line whose unseen part is drawn exceeds
/// it by orders of magnitude.
const MOST_VERTICES: usize = 250_000;
const MOST_SHAPES: usize = 20_000;

/// Sets up a window whose software adapter has no compute shaders, for tests that draw nothing.
pub fn unseen(builder: HarnessBuilder<Tile>) -> HarnessBuilder<Tile> {
    let target = Target { format: wgpu::TextureFormat::Rgba8Unorm, max_texture: 8192, compute: false, software: true };
    builder.with_context_setup(move |ctx| gpu::install_target(ctx, target))
}

/// A view of a run, with the settings of the recorded ones.
pub fn tile(view: &str, mirror: orrery::ui::mirror::Mirror) -> Tile {
    Tile { config: recorded::config(), knobs: recorded::knobs(), ..Tile::new(view, mirror) }
}

/// The vertices of the last frame.
///
/// # Panics
/// Where there are more than any picture needs, or one has no place.
pub fn vertices(harness: &Harness<'_, Tile>, when: &str) -> usize {
    let shapes = harness.output().shapes.clone();
    assert!(shapes.len() <= MOST_SHAPES, "{when}: {} shapes", shapes.len());
    let mut vertices = 0;
    for primitive in harness.ctx.tessellate(shapes, 1.0) {
        let Primitive::Mesh(mesh) = primitive.primitive else { continue };
        vertices += mesh.vertices.len();
        let lost = mesh.vertices.iter().find(|v| !(v.pos.x.is_finite() && v.pos.y.is_finite()));
        assert!(lost.is_none(), "{when}: a vertex at {:?}", lost.map(|v| v.pos));
    }
    assert!(vertices <= MOST_VERTICES, "{when}: {vertices} vertices");
    vertices
}

/// Ids of all views, or of the one that the environment names in ORRERY_VIEW.
pub fn view_ids() -> Vec<&'static str> {
    let only = std::env::var("ORRERY_VIEW").ok();
    let ids: Vec<_> = VIEWS.iter().map(|v| v.id).filter(|id| only.as_deref().is_none_or(|o| o == *id)).collect();
    assert!(!ids.is_empty(), "ORRERY_VIEW names no view");
    ids
}
