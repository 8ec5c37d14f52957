//! Paints a lab's drawing on its card in the gallery. The geometry is the lab's ([`Lab::draw`]).

use crate::{
    labs::drawing::{self, Canvas, Drawing, Edge, Ink, Paint},
    ui::panels::prelude::*,
};

/// Height of the caption under the drawing.
const CAPTION_HEIGHT: f32 = 18.0;

/// Draws into `rect`. `pointer`: where the pointer is across it (0 to 1).
pub fn sketch_ui(ui: &Ui, theme: &Theme, lab: &Lab, rect: Rect, pointer: Option<f32>) {
    let plot = Rect::from_min_max(rect.min, pos2(rect.right(), rect.bottom() - CAPTION_HEIGHT));
    let Drawing { shapes, caption } = lab.draw(&Canvas { size: plot.size().into(), pointer });
    ui.painter().extend(shapes.iter().map(|shape| egui_shape(shape, theme, plot)));
    ui.painter().text(rect.left_bottom(), Align2::LEFT_BOTTOM, caption, theme::small(), theme.secondary);
}

fn egui_shape(shape: &drawing::Shape, theme: &Theme, plot: Rect) -> Shape {
    let at = |point: &drawing::Point| plot.min + Pos2::from(*point).to_vec2();
    let stroke = |edge: &Edge| Stroke::new(edge.width, colour(theme, edge.paint));
    match shape {
        drawing::Shape::Path { points, edge } => Shape::line(points.iter().map(at).collect(), stroke(edge)),
        drawing::Shape::Circle { centre, radius, fill, edge } => Shape::Circle(eframe::epaint::CircleShape {
            center: at(centre),
            radius: *radius,
            fill: fill.map_or(Color32::TRANSPARENT, |paint| colour(theme, paint)),
            stroke: edge.as_ref().map_or(Stroke::NONE, stroke),
        }),
    }
}

fn colour(theme: &Theme, paint: Paint) -> Color32 {
    let mut colour = ink_colour(theme, paint.ink);
    if let Some((other, share)) = paint.towards {
        colour = colour.lerp_to_gamma(ink_colour(theme, other), share);
    }
    // even a factor of 1 would round the colour
    if paint.opacity < 1.0 { colour.gamma_multiply(paint.opacity) } else { colour }
}

fn ink_colour(theme: &Theme, ink: Ink) -> Color32 {
    match ink {
        Ink::Fast => theme.fast,
        Ink::Slow => theme.slow,
        Ink::Trace(strength) => theme.trace_colour(strength),
        Ink::Group(rank) => theme.group(rank),
        Ink::Accent => theme.accent,
        Ink::Warm => theme.warm,
        Ink::Line => theme.line,
        Ink::Secondary => theme.secondary,
        Ink::Panel => theme.panel,
        Ink::Raised => theme.raised,
    }
}
