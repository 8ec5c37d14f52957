//! The gallery's drawing of the ODE flow: paths through a spiral field on which a control u leans like a
//! wind, from a ring of starts.

use crate::labs::{headline::rounded, prelude::*};

const N_STARTS: usize = 16;
const N_STEPS: usize = 60;
/// Radius of the mark at the end of a path, points.
const MARK_RADIUS: f32 = 2.5;

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let u = 4.0 * canvas.pointer_or(0.72) - 2.0;
    let paths: Vec<Vec<[f32; 2]>> = (0..N_STARTS).map(|i| path(i, u)).collect();
    let [cx, cy] = canvas.centre();
    let reach = |axis: usize| paths.iter().flatten().map(|at| at[axis].abs()).fold(0.0, f32::max);
    // a strong wind blows the paths out of the usual picture
    let scale = (canvas.size[1] * 0.4).min((cx - MARK_RADIUS) / reach(0)).min((cy - MARK_RADIUS) / reach(1)).max(0.0);
    for path in paths {
        let path: Vec<[f32; 2]> = path.iter().map(|[x, y]| [cx + scale * x, cy - scale * y]).collect();
        drawing.ring(path[0], 2.0, Ink::Secondary, 1.0);
        drawing.disc(path[N_STEPS], MARK_RADIUS, Ink::Accent);
        drawing.path(path, Ink::Fast, 1.0);
    }
    drawing.caption = format!("a spiral with a wind u = {}, in {N_STEPS} Euler steps", rounded(u, 1));
}

/// The path from a start, `N_STEPS` steps long.
fn path(start: usize, u: f32) -> Vec<[f32; 2]> {
    let angle = std::f32::consts::TAU * start as f32 / N_STARTS as f32;
    let first = [1.6 * angle.cos(), angle.sin()];
    let step = |at: &[f32; 2]| {
        let [x, y] = *at;
        let slope = [-0.9 * x - 2.2 * y + 1.5 * u, 2.2 * x - 0.9 * y];
        Some([x + slope[0] / N_STEPS as f32, y + slope[1] / N_STEPS as f32])
    };
    std::iter::successors(Some(first), step).take(N_STEPS + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::drawing::Shape;

    #[test]
    fn paths_stay_inside_the_card_at_every_pointer_position() {
        for pointer in (0..=20u8).map(|i| f32::from(i) / 20.0) {
            let size = [280.0, 126.0];
            let mut drawing = Drawing::default();
            draw(&Canvas { size, pointer: Some(pointer) }, &mut drawing);
            let paths = drawing.shapes.iter().filter_map(|shape| match shape {
                Shape::Path { points, .. } => Some(points),
                Shape::Circle { .. } => None,
            });
            for [x, y] in paths.flatten() {
                assert!((0.0..=size[0]).contains(x) && (0.0..=size[1]).contains(y), "{pointer}: {x}, {y}");
            }
        }
    }
}
