//! Tests the canvas that keeps the previous frame where a software adapter draws the window: its picture equals a full
//! redraw pixel by pixel, and only the changed regions are drawn.

use eframe::{
    egui::{self, Color32, Event, Key, PointerButton, Pos2, Rect, accesskit::Role, pos2, vec2},
    egui_wgpu::RendererOptions,
};
use egui_kittest::{Harness, HarnessBuilder, kittest::Queryable, wgpu::WgpuTestRenderer};
use image::RgbaImage;
use orrery::gpu::{
    self,
    canvas::{self, CanvasCounts, CanvasHandle},
    offscreen::Offscreen,
};
use std::sync::{Arc, Mutex};

use crate::{
    adapter::offscreen,
    pictures::over,
    recorded,
    tessellation::tile,
    tiles::{Tile, sized},
};

/// Side length of the arrow that the harness draws at the pointer.
const ARROW: f32 = 18.0;
const SIZE: [f32; 2] = [700.0, 420.0];
/// Views that draw lines, tables, heatmaps and particles, and views whose content can be dragged.
const VIEWS: [&str; 8] =
    ["losses", "gate", "attention", "next_tokens", "phase_plane", "slow_manifold", "trace_strips", "word_swap"];

/// Draws a view of the recorded run on this adapter; `prepare` may install another way of drawing into its context.
fn shown(view: &str, adapter: &Offscreen, prepare: impl FnOnce(&egui::Context) + 'static) -> Harness<'static, Tile> {
    let state = adapter.render_state().clone();
    let told = state.clone();
    let builder: HarnessBuilder<Tile> =
        sized(SIZE[0], SIZE[1]).renderer(WgpuTestRenderer::from_render_state(state)).with_context_setup(move |ctx| {
            gpu::install(ctx, &told);
            prepare(ctx);
        });
    Tile { writes: false, ..tile(view, recorded::twins()) }.shown(builder)
}

/// Draws a view through a canvas.
fn on_canvas(view: &str, adapter: &Offscreen) -> (Harness<'static, Tile>, CanvasHandle) {
    let handle = Arc::<Mutex<Option<CanvasHandle>>>::default();
    let (state, kept) = (adapter.render_state().clone(), Arc::clone(&handle));
    let harness = shown(view, adapter, move |ctx| {
        *kept.lock().unwrap() = Some(canvas::install(ctx, &state, RendererOptions::PREDICTABLE));
    });
    let handle = handle.lock().unwrap().take().unwrap();
    (harness, handle)
}

/// The pixels that differ between a fully redrawn frame, whose background is transparent, and the canvas, whose
/// background is `ground`. Where the background shows through, a difference of one level counts as equal, because
/// blending rounds differently here. The arrow at the pointer is excluded, because the harness draws it only in fully
/// redrawn frames.
fn differing(whole: &RgbaImage, canvas: &RgbaImage, ground: Color32, pointer: Option<Pos2>) -> Vec<(u32, u32)> {
    assert_eq!(whole.dimensions(), canvas.dimensions());
    let seen = over(ground, whole.clone());
    let arrow = pointer.map(|at| Rect::from_min_size(at, vec2(ARROW, ARROW)).expand(4.0));
    let (width, mut found) = (4 * whole.width() as usize, vec![]);
    let rows = seen.chunks_exact(width).zip(canvas.chunks_exact(width));
    // most rows are equal, and are compared as a whole
    for (y, (a, b)) in (0..).zip(rows).filter(|(_, (a, b))| a != b) {
        for (x, (a, b)) in (0..).zip(a.chunks_exact(4).zip(b.chunks_exact(4))).filter(|(_, (a, b))| a[..3] != b[..3]) {
            let most = u8::from(whole.get_pixel(x, y).0[3] < 255);
            let is_arrow = arrow.is_some_and(|arrow| arrow.contains(pos2(x as f32, y as f32)));
            if !is_arrow && a[..3].iter().zip(&b[..3]).any(|(a, b)| a.abs_diff(*b) > most) {
                found.push((x, y));
            }
        }
    }
    found
}

fn canvas_rect(harness: &Harness<'_, Tile>) -> Rect {
    let all = Rect::from_min_size(Pos2::ZERO, vec2(SIZE[0], SIZE[1]));
    harness.query_all_by_role(Role::Canvas).next().map_or(all, |node| node.rect())
}

/// User input, one event per frame.
fn gestures(rect: Rect) -> Vec<Event> {
    let at = |x: f32, y: f32| rect.min + rect.size() * vec2(x, y);
    let button = |pos: Pos2, pressed: bool| Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers: egui::Modifiers::NONE,
    };
    let key =
        |key| Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: egui::Modifiers::NONE };
    let (from, to) = (at(0.3, 0.4), at(0.7, 0.6));
    let mut all = vec![Event::PointerMoved(at(0.2, 0.5)), Event::PointerMoved(from), button(from, true)];
    all.extend([Event::PointerMoved(at(0.5, 0.5)), Event::PointerMoved(to), button(to, false)]);
    all.extend([key(Key::ArrowRight), Event::PointerMoved(at(0.9, 0.9)), Event::PointerGone]);
    all
}

#[test]
fn the_picture_is_that_of_a_frame_drawn_whole() {
    for view in VIEWS {
        let (Some(whole), Some(kept)) = (offscreen(), offscreen()) else { return };
        let mut whole = shown(view, &whole, |_| {});
        let (mut kept, _) = on_canvas(view, &kept);
        for (k, event) in gestures(canvas_rect(&whole)).into_iter().enumerate() {
            for harness in [&mut whole, &mut kept] {
                harness.event(event.clone());
                harness.step();
            }
            // some frames are laid out and not rendered; the canvas must still include their changes
            if k % 3 == 1 {
                continue;
            }
            let [a, b] = [&mut whole, &mut kept].map(|harness| harness.render().unwrap());
            let ground = kept.ctx.global_style().visuals.panel_fill;
            let pointer = whole.ctx.pointer_latest_pos();
            assert_eq!(differing(&a, &b, ground, pointer), [], "{view}: pixels differ after event {k}, {event:?}");
        }
    }
}

#[test]
fn an_unchanged_frame_draws_no_pixels() {
    let Some(adapter) = offscreen() else { return };
    let (mut harness, handle) = on_canvas("losses", &adapter);
    let draw = |harness: &mut Harness<'_, Tile>| {
        harness.step();
        harness.render().unwrap();
        handle.counts()
    };
    let all = (SIZE[0] * SIZE[1]) as u64;
    for _ in 0..6 {
        draw(&mut harness);
    }
    let before = draw(&mut harness);
    assert!(before.pixels >= all, "{before:?}");
    let still = draw(&mut harness);
    assert_eq!(still, CanvasCounts { frames: before.frames + 1, ..before }, "nothing changed");
    harness.state_mut().mirror = recorded::seeds();
    let other = draw(&mut harness);
    assert!(other.pixels > still.pixels, "another run is another picture");
    let rect = canvas_rect(&harness);
    harness.event(Event::PointerMoved(rect.min + rect.size() * vec2(0.5, 0.5)));
    let hovered = draw(&mut harness);
    assert!((1..all * 9 / 10).contains(&(hovered.pixels - other.pixels)), "{other:?}, {hovered:?}, of {all}");
}

#[test]
fn a_theme_change_redraws_the_whole_canvas() {
    let (Some(whole), Some(kept)) = (offscreen(), offscreen()) else { return };
    let mut whole = shown("attention", &whole, |_| {});
    let (mut kept, handle) = on_canvas("attention", &kept);
    for harness in [&mut whole, &mut kept] {
        harness.render().unwrap();
        harness.state_mut().theme = orrery::ui::theme::Theme::light();
        harness.step();
        harness.step();
    }
    let [a, b] = [&mut whole, &mut kept].map(|harness| harness.render().unwrap());
    assert_eq!(differing(&a, &b, kept.ctx.global_style().visuals.panel_fill, None), []);
    assert!(handle.counts().pixels >= 2 * (SIZE[0] * SIZE[1]) as u64 * 7 / 10, "{:?}", handle.counts());
}
