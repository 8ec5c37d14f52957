//! Colours for values, and the bar that shows which colour is which value.

use eframe::egui::{Align2, FontId, Mesh, Painter, Rangef, Rect, pos2};

use super::scale::Scale;
use crate::{gpu::colour::ColourMap, ui::theme::Theme};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Colours {
    pub map: ColourMap,
    /// Values of the first and the last colour.
    pub range: [f32; 2],
    pub log: bool,
}

/// The bar that says which colour is which value; it runs up, or to the right where it is wide.
pub fn colour_bar(painter: &Painter, rect: Rect, colours: Colours, theme: &Theme) {
    let scale = if colours.log { Scale::Log } else { Scale::Linear };
    let ends = colours.range.map(|v| scale.position(f64::from(v)));
    scaled_colour_bar(painter, rect, colours.map, scale, ends, theme);
}

/// The bar of a map between two places of a scale.
pub fn scaled_colour_bar(
    painter: &Painter,
    rect: Rect,
    map: ColourMap,
    scale: Scale,
    [from, to]: [f64; 2],
    theme: &Theme,
) {
    let lying = rect.width() > rect.height();
    // Both edges of the bar at a share of its length.
    let edges = |t: f32| match lying {
        true => [rect.top(), rect.bottom()].map(|y| pos2(rect.left() + t * rect.width(), y)),
        false => [rect.left(), rect.right()].map(|x| pos2(x, rect.bottom() - t * rect.height())),
    };
    let mut mesh = Mesh::default();
    let n = 64;
    for i in 0..=n {
        let t = i as f32 / n as f32;
        let colour = map.colour(t);
        let [near, far] = edges(t);
        mesh.colored_vertex(near, colour);
        mesh.colored_vertex(far, colour);
        if i > 0 {
            let k = 2 * i as u32;
            mesh.add_triangle(k - 2, k - 1, k);
            mesh.add_triangle(k - 1, k, k + 1);
        }
    }
    painter.add(mesh);
    let max = if scale == Scale::Log { 4.0 } else { 6.0 };
    // words beside one another need more room than words on top of one another
    let (room, each) = if lying { (rect.width(), 60.0) } else { (rect.height(), 44.0) };
    let wanted = (room / each).floor().clamp(2.0, max) as usize;
    let mut free_from = f32::NEG_INFINITY;
    let font = FontId::monospace(12.0);
    for (place, words) in scale.ticks(from, to, wanted) {
        let [_, far] = edges(((place - from) / (to - from)) as f32);
        let (at, anchor) = if lying {
            // A label that would touch the one before it is left out.
            let wide = painter.layout_no_wrap(words.clone(), font.clone(), theme.secondary).size().x;
            let x = centre_within(far.x, wide, painter.clip_rect().x_range());
            if x - wide / 2.0 < free_from {
                continue;
            }
            free_from = x + wide / 2.0 + 6.0;
            (pos2(x, far.y + 3.0), Align2::CENTER_TOP)
        } else {
            (pos2(far.x + 4.0, far.y.clamp(rect.top() + 5.0, rect.bottom() - 5.0)), Align2::LEFT_CENTER)
        };
        painter.text(at, anchor, words, font.clone(), theme.secondary);
    }
}

/// Moves the centre `x` of a text of this width so that the whole text lies within `edges`.
fn centre_within(x: f32, wide: f32, edges: Rangef) -> f32 {
    x.min(edges.max - wide / 2.0).max(edges.min + wide / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_at_an_edge_stay_whole() {
        let edges = Rangef::new(10.0, 200.0);
        let kept = [4.0, 10.0, 100.0, 199.0].map(|x| centre_within(x, 30.0, edges));
        assert_eq!(kept, [25.0, 25.0, 100.0, 185.0]);
    }
}
