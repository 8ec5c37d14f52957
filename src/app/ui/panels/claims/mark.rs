//! The sign and the colour of a claim's state. The sign is drawn rather than written, so that no font lacks it, and is
//! sufficient without the colour.

use eframe::egui::{Color32, Painter, Pos2, Stroke, vec2};

use crate::{experiments::claims::entry::ClaimState, ui::theme::Theme};

/// Radius of a sign, points.
pub const RADIUS: f32 = 5.0;

pub fn colour(theme: &Theme, state: ClaimState) -> Color32 {
    match state {
        ClaimState::Stands => theme.series(0),
        ClaimState::DoesNotStand => theme.series(1),
        ClaimState::Outdated => theme.error,
        ClaimState::CannotBeTold | ClaimState::NotRun | ClaimState::Needs | ClaimState::Open => theme.secondary,
    }
}

/// A tick, a cross, a dash, an exclamation mark, or an empty ring.
pub fn mark(painter: &Painter, theme: &Theme, state: ClaimState, centre: Pos2) {
    let stroke = Stroke::new(2.0, colour(theme, state));
    let at = |x: f32, y: f32| centre + vec2(x, y) * RADIUS;
    let mut lines: Vec<[Pos2; 2]> = vec![];
    match state {
        ClaimState::Stands => lines.extend([[at(-0.9, 0.1), at(-0.2, 0.8)], [at(-0.2, 0.8), at(1.0, -0.8)]]),
        ClaimState::DoesNotStand => lines.extend([[at(-0.8, -0.8), at(0.8, 0.8)], [at(-0.8, 0.8), at(0.8, -0.8)]]),
        ClaimState::CannotBeTold => lines.push([at(-1.0, 0.0), at(1.0, 0.0)]),
        ClaimState::Outdated => lines.extend([[at(0.0, -1.0), at(0.0, 0.3)], [at(0.0, 0.8), at(0.0, 1.1)]]),
        ClaimState::NotRun | ClaimState::Needs | ClaimState::Open => {
            painter.circle_stroke(centre, 0.8 * RADIUS, Stroke::new(1.0, theme.secondary));
        }
    }
    for line in lines {
        painter.line_segment(line, stroke);
    }
}
