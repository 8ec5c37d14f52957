//! Tests every view with random panning, zooming and clicking: no frame may have more shapes and vertices than a
//! picture needs. The fixed number of gestures bounds the test's time.

use eframe::egui::{
    self, Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, Rect, Vec2, accesskit::Role, vec2,
};
use egui_kittest::{Harness, kittest::Queryable};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    recorded,
    tessellation::{shown_in, tile, unseen, vertices, view_ids},
    tiles::{Tile, sized},
};

/// The number of random gestures per view.
const GESTURES: usize = 8;

/// Random user input on a view, reproducible from a seed.
struct RandomInput<'h> {
    harness: Harness<'h, Tile>,
    rng: ChaCha8Rng,
}

impl RandomInput<'_> {
    /// Draws a random position, in nine of ten cases on one of the canvases.
    fn place(&mut self) -> Pos2 {
        let all = Rect::from_min_size(Pos2::ZERO, vec2(640.0, 400.0));
        let canvases: Vec<Rect> = self.harness.query_all_by_role(Role::Canvas).map(|n| n.rect()).collect();
        let rect = match canvases.len() {
            0 => all,
            n if self.rng.random_bool(0.9) => canvases[self.rng.random_range(0..n)],
            _ => all,
        };
        let share = |rng: &mut ChaCha8Rng| rng.random_range(0.02..0.98f32);
        rect.min + rect.size() * vec2(share(&mut self.rng), share(&mut self.rng))
    }

    fn event(&mut self, event: Event) {
        self.harness.event(event);
    }

    fn button(&mut self, pos: Pos2, pressed: bool) {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        self.event(Event::PointerButton { pos, button, pressed, modifiers });
    }

    fn drag(&mut self) -> String {
        let from = self.place();
        let mut to = self.place();
        match self.rng.random_range(0..4) {
            // a horizontal or vertical drag zooms one axis only; a short one zooms far in
            0 => to.y = from.y,
            1 => to.x = from.x,
            2 => to = from + vec2(self.rng.random_range(9.0..14.0), self.rng.random_range(17.0..22.0)),
            _ => {}
        }
        self.event(Event::PointerMoved(from));
        self.button(from, true);
        self.harness.step();
        self.event(Event::PointerMoved(from + (to - from) * 0.5));
        self.harness.step();
        self.event(Event::PointerMoved(to));
        self.harness.step();
        self.button(to, false);
        format!("a drag from {from} to {to}")
    }

    fn scroll(&mut self) -> String {
        let at = self.place();
        let far = *[30.0, -30.0, 600.0, -600.0, 1e5, -1e5, 1e30].get(self.rng.random_range(0..7)).unwrap();
        self.event(Event::PointerMoved(at));
        let delta: Vec2 = if self.rng.random_bool(0.8) { vec2(0.0, far) } else { vec2(far, far) };
        let (unit, phase, modifiers) = (MouseWheelUnit::Point, egui::TouchPhase::Move, Modifiers::NONE);
        let source = egui::MouseWheelSource::Unknown;
        self.event(Event::MouseWheel { unit, delta, phase, modifiers, source });
        format!("a scroll by {delta} at {at}")
    }

    fn pinch(&mut self) -> String {
        let at = self.place();
        let factor = *[0.5, 2.0, 1e-6, 1e6].get(self.rng.random_range(0..4)).unwrap();
        self.event(Event::PointerMoved(at));
        self.event(Event::Zoom(factor));
        format!("a pinch by {factor} at {at}")
    }

    fn clicks(&mut self, count: usize) -> String {
        let at = self.place();
        self.event(Event::PointerMoved(at));
        for _ in 0..count {
            self.button(at, true);
            self.button(at, false);
        }
        format!("{count} clicks at {at}")
    }

    fn key(&mut self) -> String {
        let keys = [Key::ArrowLeft, Key::ArrowDown, Key::Plus, Key::Plus, Key::Minus, Key::Num0, Key::Escape];
        let key = keys[self.rng.random_range(0..keys.len())];
        self.harness.key_press(key);
        format!("{key:?}")
    }

    fn gesture(&mut self) -> String {
        match self.rng.random_range(0..10) {
            0..4 => self.drag(),
            4 | 5 => self.scroll(),
            6 => self.pinch(),
            7 => self.clicks(1),
            8 => self.clicks(2),
            _ => self.key(),
        }
    }
}

#[test]
fn no_pan_or_zoom_draws_what_is_not_seen() {
    let (mut runs, mut window) = ([(recorded::twins(), "twins"), (recorded::seeds(), "seeds")], None);
    for (nth, view) in view_ids().into_iter().enumerate() {
        for (mirror, which) in &mut runs {
            // exports are switched off, because their shapes would be counted as well
            let tile = Tile { writes: false, ..tile(view, std::mem::take(mirror)) };
            let harness = shown_in(window.take(), tile);
            let mut hand = RandomInput { harness, rng: ChaCha8Rng::seed_from_u64(nth as u64) };
            let first = vertices(&hand.harness, view);
            let mut most = first;
            for k in 0..GESTURES {
                let what = hand.gesture();
                for _ in 0..2 {
                    hand.harness.step();
                    most = most.max(vertices(&hand.harness, &format!("{view} of {which}, {k}: after {what}")));
                }
            }
            println!("{view} of {which}: {first} vertices at first, {most} at most");
            *mirror = std::mem::take(&mut hand.harness.state_mut().mirror);
            window = Some(hand.harness);
        }
    }
}

/// Each of five drags zooms into a twentieth of the visible range. Only the visible dashes of a dashed line may be
/// drawn, not the millions outside.
#[test]
fn five_drags_into_a_dashed_line_cost_nothing() {
    let mut harness = tile("losses", recorded::twins()).shown(unseen(sized(640.0, 400.0)));
    let before = vertices(&harness, "before");
    for k in 0..5 {
        let canvas = harness.query_all_by_role(Role::Canvas).next().unwrap().rect();
        let from = canvas.center();
        for (at, pressed) in
            [(from, Some(true)), (from + vec2(20.0, 25.0), None), (from + vec2(20.0, 25.0), Some(false))]
        {
            harness.event(Event::PointerMoved(at));
            if let Some(pressed) = pressed {
                let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
                harness.event(Event::PointerButton { pos: at, button, pressed, modifiers });
            }
            harness.step();
        }
        harness.step();
        let after = vertices(&harness, &format!("after drag {}", k + 1));
        assert!(after <= 2 * before, "{before} vertices became {after} by drag {}", k + 1);
    }
}
