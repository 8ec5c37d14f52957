//! Counts the shapes of a frame and their vertices, without a graphics adapter. Tests bound these numbers instead of
//! times, which depend on the machine.

use eframe::{
    egui::{Memory, epaint::Primitive},
    egui_wgpu::wgpu,
};
use egui_kittest::{Harness, HarnessBuilder};
use orrery::{
    gpu::{self, Target},
    ui::views::VIEWS,
};

use crate::{
    recorded,
    tiles::{Tile, sized},
};

/// Five times the vertices that any view draws of recorded runs. A line whose invisible part is drawn exceeds this by
/// orders of magnitude.
const MAX_VERTICES: usize = 250_000;
const MAX_SHAPES: usize = 20_000;

/// A software adapter without compute shaders.
const TARGET: Target =
    Target { format: wgpu::TextureFormat::Rgba8Unorm, max_texture: 8192, compute: false, software: true };

/// Sets up a window whose software adapter has no compute shaders, for tests that draw nothing.
pub fn unseen(builder: HarnessBuilder<Tile>) -> HarnessBuilder<Tile> {
    builder.with_context_setup(|ctx| gpu::install_target(ctx, TARGET))
}

/// Draws the first frame of another tile in an [`unseen`] window. Of what was drawn before, only the fonts are kept,
/// since loading them takes longer than drawing a tile many times.
pub fn replace(harness: &mut Harness<'_, Tile>, tile: Tile) {
    harness.ctx.memory_mut(|memory| {
        let options = std::mem::take(&mut memory.options);
        *memory = Memory::default();
        memory.options = options;
    });
    gpu::install_target(&harness.ctx, TARGET);
    *harness.state_mut() = tile;
    harness.step();
}

/// A tile of 640 x 400 points, in the window of an earlier one if there is one.
pub fn shown_in(window: Option<Harness<'static, Tile>>, tile: Tile) -> Harness<'static, Tile> {
    let Some(mut harness) = window else { return tile.shown(unseen(sized(640.0, 400.0))) };
    replace(&mut harness, tile);
    harness
}

/// A tile with a view of a run and the settings of the recorded runs.
pub fn tile(view: &str, mirror: orrery::ui::mirror::Mirror) -> Tile {
    Tile { config: recorded::config(), knobs: recorded::knobs(), ..Tile::new(view, mirror) }
}

/// The number of vertices in the last frame.
///
/// # Panics
/// If there are more shapes or vertices than any picture needs, or a vertex has no finite position.
pub fn vertices(harness: &Harness<'_, Tile>, when: &str) -> usize {
    let shapes = harness.output().shapes.clone();
    assert!(shapes.len() <= MAX_SHAPES, "{when}: {} shapes", shapes.len());
    let mut vertices = 0;
    for primitive in harness.ctx.tessellate(shapes, 1.0) {
        let Primitive::Mesh(mesh) = primitive.primitive else { continue };
        vertices += mesh.vertices.len();
        let lost = mesh.vertices.iter().find(|v| !(v.pos.x.is_finite() && v.pos.y.is_finite()));
        assert!(lost.is_none(), "{when}: a vertex at {:?}", lost.map(|v| v.pos));
    }
    assert!(vertices <= MAX_VERTICES, "{when}: {vertices} vertices");
    vertices
}

/// The ids of all views, or the one in the environment variable ORRERY_VIEW.
pub fn view_ids() -> Vec<&'static str> {
    let only = std::env::var("ORRERY_VIEW").ok();
    let ids: Vec<_> = VIEWS.iter().map(|v| v.id).filter(|id| only.as_deref().is_none_or(|o| o == *id)).collect();
    assert!(!ids.is_empty(), "ORRERY_VIEW names no view");
    ids
}
