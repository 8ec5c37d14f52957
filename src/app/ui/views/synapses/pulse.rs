//! The followed synapses as a small graph: neurons of y on the left, of x on the right, as full as they fire at this
//! token; a line as wide as its synapse is strong now.

use eframe::egui::epaint::CubicBezierShape;

use crate::ui::views::painting::*;

/// A neuron at one side: its name, and its value as a share of its largest value in this text.
pub struct Node {
    pub name: String,
    pub fires: f32,
}

/// A synapse between neurons by their index in each side; `strength` in -1..1 of the strongest.
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub strength: f32,
    /// Gains at this token.
    pub gains: bool,
    pub chosen: bool,
}

/// Draws both sides and their edges; returns the index of a clicked edge.
pub fn pulse_ui(
    ui: &mut Ui,
    theme: &Theme,
    size: Vec2,
    names: [&str; 2],
    nodes: [&[Node]; 2],
    edges: &[Edge],
) -> Option<usize> {
    let (rect, response) = ui.allocate_exact_size(size.max(vec2(160.0, 90.0)), Sense::click());
    let painter = ui.painter_at(rect);
    let inner = Rect::from_min_max(rect.min + vec2(64.0, 22.0), rect.max - vec2(64.0, 8.0));
    let place = |side: usize, at: usize| -> Pos2 {
        let x = if side == 0 { inner.left() } else { inner.right() };
        let step = inner.height() / nodes[side].len().max(1) as f32;
        pos2(x, inner.top() + step * (at as f32 + 0.5))
    };
    for (side, name) in names.into_iter().enumerate() {
        let (x, align) = if side == 0 { (rect.left(), Align2::LEFT_TOP) } else { (rect.right(), Align2::RIGHT_TOP) };
        painter.text(pos2(x, rect.top()), align, name, theme::small(), theme.secondary);
    }
    let curve = |e: &Edge| {
        let (a, b) = (place(0, e.from), place(1, e.to));
        let pull = vec2((b.x - a.x) * 0.4, 0.0);
        [a, a + pull, b - pull, b]
    };
    for e in edges {
        let strength = share(e.strength.abs());
        let tone = if e.strength < 0.0 { theme.cool } else { theme.warm };
        let tone = if e.chosen { theme.accent } else { tone };
        let wide = 0.6 + 5.0 * strength;
        let colour = if e.gains || e.chosen { tone } else { tone.gamma_multiply(0.25 + 0.5 * strength) };
        let stroke = Stroke::new(wide, colour);
        painter.add(CubicBezierShape::from_points_stroke(curve(e), false, Color32::TRANSPARENT, stroke));
    }
    for (side, nodes) in nodes.iter().enumerate() {
        let mut below = f32::NEG_INFINITY;
        for (at, node) in nodes.iter().enumerate() {
            let centre = place(side, at);
            let full = share(node.fires);
            painter.circle_filled(centre, 5.0, theme.panel);
            painter.circle_filled(centre, 5.0, theme.accent.gamma_multiply(full));
            let edge = if full > 0.0 { theme.accent } else { theme.secondary };
            painter.circle_stroke(centre, 5.0, Stroke::new(1.0, edge));
            let (x, align) = if side == 0 { (-10.0, Align2::RIGHT_CENTER) } else { (10.0, Align2::LEFT_CENTER) };
            let tone = if full > 0.0 { theme.text } else { theme.secondary };
            // in a low tile, names that would overlap are omitted
            if centre.y >= below {
                let name = painter.text(centre + vec2(x, 0.0), align, &node.name, theme::numbers(), tone);
                below = centre.y + name.height();
            }
        }
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, format!("{} synapses as a graph", edges.len())));
    let at = response.interact_pointer_pos().filter(|_| response.clicked())?;
    let distance = |e: &Edge| {
        let bezier = CubicBezierShape::from_points_stroke(curve(e), false, Color32::TRANSPARENT, Stroke::NONE);
        (0..=80).map(|k| bezier.sample(k as f32 / 80.0).distance(at)).fold(f32::INFINITY, f32::min)
    };
    let nearest = edges.iter().enumerate().map(|(i, e)| (i, distance(e))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    (nearest.1 < 12.0).then_some(nearest.0)
}
