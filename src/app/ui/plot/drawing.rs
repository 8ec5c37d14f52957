//! Shapes of egui as SVG: interface code is laid out in a context that is never painted, and its shapes are written
//! down. Shapes that only the graphics card draws (textures, callbacks) are left out.

use eframe::egui::{
    Color32, Context, FontFamily, Mesh, Pos2, RawInput, Rect, Shape, Stroke, TextureId, Ui, Vec2,
    epaint::{ColorMode, PathStroke, TextShape},
};

use super::svg::{Paint, Svg, escape};
use crate::ui::theme::{self, Theme};

/// A drawing of this many points on the panel's ground, made by interface code.
pub fn drawing(name: &str, size: Vec2, theme: &Theme, mut draw: impl FnMut(&mut Ui)) -> String {
    let ctx = Context::default();
    theme::apply(theme, true, &ctx);
    let screen = Rect::from_min_size(Pos2::ZERO, size);
    let mut shapes = vec![];
    // The first pass learns how large things are.
    for _ in 0..2 {
        let input = RawInput { screen_rect: Some(screen), ..Default::default() };
        let mut output = ctx.run_ui(input, &mut draw);
        shapes = std::mem::take(&mut output.shapes);
        output.drop_without_applying_deltas();
    }
    let mut svg = Svg::new(name, size, theme.panel);
    for clipped in shapes {
        if clipped.clip_rect.intersects(clipped.shape.visual_bounding_rect()) {
            write_shape(&mut svg, &clipped.shape);
        }
    }
    svg.finish()
}

fn write_shape(svg: &mut Svg, shape: &Shape) {
    match shape {
        Shape::Vec(all) => all.iter().for_each(|s| write_shape(svg, s)),
        Shape::Circle(c) => svg.circle(c.center, c.radius, Paint::from_shape(c.fill, c.stroke)),
        Shape::LineSegment { points, stroke } => svg.line(*points, Paint::from_shape(Color32::TRANSPARENT, *stroke)),
        Shape::Path(p) => svg.path(&p.points, p.closed, Paint::from_shape(p.fill, solid(&p.stroke))),
        Shape::Rect(r) => svg.rect(r.rect, r.corner_radius.nw, Paint::from_shape(r.fill, r.stroke)),
        Shape::Text(text) => write_text(svg, text),
        Shape::Mesh(mesh) => write_mesh(svg, mesh),
        _ => {}
    }
}

/// Triangles without a texture, each in one colour; two that make up a rectangle are written as one.
fn write_mesh(svg: &mut Svg, mesh: &Mesh) {
    if mesh.texture_id != TextureId::default() {
        return;
    }
    // The ground does not shine through between neighbours.
    svg.raw("<g shape-rendering=\"crispEdges\">\n");
    for indices in mesh.indices.chunks(6) {
        let vertices = indices.iter().filter_map(|at| mesh.vertices.get(*at as usize));
        let (places, colours): (Vec<Pos2>, Vec<Color32>) = vertices.map(|vertex| (vertex.pos, vertex.color)).unzip();
        let bounds = Rect::from_points(&places);
        if places.len() != indices.len() || !bounds.is_finite() {
            continue;
        }
        let paint = |colours: &[Color32]| Paint::from_shape(mean(colours), Stroke::NONE);
        let is_corner = |p: &Pos2| {
            (p.x == bounds.left() || p.x == bounds.right()) && (p.y == bounds.top() || p.y == bounds.bottom())
        };
        if places.len() == 6 && places.iter().all(is_corner) {
            // Edges that neighbours share are rounded to the same tenth.
            let tenths = |p: Pos2| Pos2::new((10.0 * p.x).round() / 10.0, (10.0 * p.y).round() / 10.0);
            svg.rect(Rect::from_min_max(tenths(bounds.min), tenths(bounds.max)), 0, paint(&colours));
        } else {
            let triangles = places.chunks(3).zip(colours.chunks(3));
            triangles.for_each(|(corners, colours)| svg.path(corners, true, paint(colours)));
        }
    }
    svg.raw("</g>\n");
}

/// The mean of colours, channel by channel.
fn mean(colours: &[Color32]) -> Color32 {
    let channel = |k: usize| {
        let sum: usize = colours.iter().map(|colour| usize::from(colour[k])).sum();
        (sum / colours.len().max(1)) as u8
    };
    Color32::from_rgba_premultiplied(channel(0), channel(1), channel(2), channel(3))
}

/// Each row of a text, and each change of its look, on its own.
fn write_text(svg: &mut Svg, text: &TextShape) {
    let job = &text.galley.job;
    let starts: Vec<usize> = job.text.char_indices().map(|(at, _)| at).collect();
    let section_of = |at: usize| {
        let byte = starts.get(at).copied().unwrap_or(job.text.len());
        job.sections.iter().rposition(|s| s.byte_range.start.0 <= byte).unwrap_or(0)
    };
    let mut count = 0;
    for placed in &text.galley.rows {
        let numbered: Vec<_> = placed.row.glyphs.iter().enumerate().map(|(i, g)| (section_of(count + i), g)).collect();
        count += numbered.len() + usize::from(placed.ends_with_newline);
        for run in numbered.chunk_by(|a, b| a.0 == b.0) {
            let (Some((section, first)), Some((_, last))) = (run.first(), run.last()) else { continue };
            let Some(format) = job.sections.get(*section).map(|s| &s.format) else { continue };
            let words: String = run.iter().map(|(_, g)| g.chr).collect();
            if words.trim().is_empty() {
                continue;
            }
            let colour = match text.override_text_color {
                Some(colour) => colour,
                None if format.color == Color32::PLACEHOLDER => text.fallback_color,
                None => format.color,
            };
            let at = text.pos + placed.pos.to_vec2() + first.pos.to_vec2();
            let width = last.pos.x + last.advance_width - first.pos.x;
            let face = if format.font_id.family == FontFamily::Monospace { " font-family=\"monospace\"" } else { "" };
            svg.raw(&format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{}\" textLength=\"{width:.1}\" \
                 lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\"{face}{}>{}</text>\n",
                at.x,
                at.y,
                format.font_id.size,
                Paint::from_shape(colour, Stroke::NONE),
                escape(&words)
            ));
        }
    }
}

fn solid(stroke: &PathStroke) -> Stroke {
    match stroke.color {
        ColorMode::Solid(colour) => Stroke::new(stroke.width, colour),
        ColorMode::UV(_) => Stroke::NONE,
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{RichText, vec2};

    use super::*;

    #[test]
    fn cells_of_a_mesh_are_rectangles() {
        let svg = drawing("cells", vec2(100.0, 100.0), &Theme::dark(), |ui| {
            let mut mesh = Mesh::default();
            mesh.add_colored_rect(Rect::from_min_max(Pos2::new(10.0, 10.0), Pos2::new(20.04, 30.0)), Color32::RED);
            mesh.colored_vertex(Pos2::new(40.0, 40.0), Color32::GREEN);
            mesh.colored_vertex(Pos2::new(50.0, 40.0), Color32::GREEN);
            mesh.colored_vertex(Pos2::new(45.0, 50.0), Color32::GREEN);
            mesh.add_triangle(4, 5, 6);
            for x in [60.0, 70.0, 65.0] {
                mesh.colored_vertex(Pos2::new(x, if x == 65.0 { 50.0 } else { 40.0 }), Color32::BLUE);
            }
            mesh.add_triangle(7, 8, 9);
            ui.painter().add(mesh);
        });
        assert!(svg.contains("<rect x=\"10.0\" y=\"10.0\" width=\"10.0\" height=\"20.0\" fill=\"#ff0000\"/>"), "{svg}");
        let fill = |points: &str| svg.lines().find(|line| line.contains(points)).unwrap_or_else(|| panic!("{svg}"));
        assert!(fill("M40.0 40.0L50.0 40.0L45.0 50.0Z").contains("#00ff00"), "{svg}");
        assert!(fill("M60.0 40.0L70.0 40.0L65.0 50.0Z").contains("#0000ff"), "each triangle in its own colour: {svg}");
    }

    #[test]
    fn words_and_shapes_are_written_where_they_stand() {
        let theme = Theme::dark();
        let svg = drawing("a < b", vec2(200.0, 100.0), &theme, |ui| {
            ui.label(RichText::new("mass & more").size(14.0).color(Color32::from_rgb(1, 2, 3)));
            ui.painter().circle_filled(Pos2::new(50.0, 60.0), 4.0, Color32::RED);
            ui.painter().line_segment([Pos2::ZERO, Pos2::new(9.0, 9.0)], Stroke::new(2.0, theme.accent));
        });
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(svg.contains("<title>a &lt; b</title>") && svg.contains(">mass &amp; more</text>"), "{svg}");
        assert!(svg.contains("fill=\"#010203\"") && svg.contains("font-size=\"14\""), "{svg}");
        assert!(svg.contains("<circle cx=\"50.0\" cy=\"60.0\" r=\"4.0\" fill=\"#ff0000\"/>"), "{svg}");
        assert!(svg.contains("M0.0 0.0L9.0 9.0") && svg.contains("stroke-width=\"2\""), "{svg}");
    }
}
