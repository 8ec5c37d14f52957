//! Shapes of egui as SVG: interface code is laid out in a context that is never painted, and its shapes are written
//! down. Shapes that only the graphics card draws (callbacks) are left out; maps are drawn as images instead.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use eframe::egui::{
    Color32, Context, FontFamily, Id, Mesh, Pos2, RawInput, Rect, Shape, Stroke, TextureId, Ui, Vec2,
    epaint::{ClippedShape, ColorMode, PathStroke, TextShape},
    pos2,
};

use super::svg::{Paint, Svg, escape};
use crate::{
    gpu::png,
    ui::theme::{self, Theme},
};

/// The images of a drawing under construction, each a PNG file as base64. A context has them if it is that of a drawing.
#[derive(Debug, Clone, Default)]
struct Images(Vec<String>);

const IMAGES_KEY: &str = "images of a drawing";

/// True in the context of a drawing, where no graphics card paints.
pub(super) fn is_drawing(ctx: &Context) -> bool {
    ctx.data(|data| data.get_temp::<Images>(Id::unique(IMAGES_KEY))).is_some()
}

/// An image for a drawing, with its pixels as red, green, blue and alpha; `None` if they are not as many as `size` says.
pub(super) fn image(ctx: &Context, rect: Rect, rgba: &[u8], size: [usize; 2]) -> Option<Shape> {
    let file = png::encode(rgba, size.map(|side| side as u32)).ok()?;
    let number = ctx.data_mut(|data| {
        let Images(all) = data.get_temp_mut_or_default(Id::unique(IMAGES_KEY));
        all.push(STANDARD.encode(file));
        all.len() as u64
    });
    let mut mesh = Mesh::with_texture(TextureId::User(number));
    mesh.add_rect_with_uv(rect, Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0)), Color32::WHITE);
    Some(mesh.into())
}

/// A drawing of this many points on the panel's ground, made by interface code.
pub fn drawing(name: &str, size: Vec2, theme: &Theme, mut draw: impl FnMut(&mut Ui)) -> String {
    let ctx = Context::default();
    theme::apply(theme, true, &ctx);
    let screen = Rect::from_min_size(Pos2::ZERO, size);
    let mut shapes = vec![];
    // The first pass learns how large things are.
    for _ in 0..2 {
        ctx.data_mut(|data| data.insert_temp(Id::unique(IMAGES_KEY), Images::default()));
        let input = RawInput { screen_rect: Some(screen), ..Default::default() };
        let mut output = ctx.run_ui(input, &mut draw);
        shapes = std::mem::take(&mut output.shapes);
        output.drop_without_applying_deltas();
    }
    let images = ctx.data(|data| data.get_temp(Id::unique(IMAGES_KEY))).unwrap_or_default();
    let mut svg = Svg::new(name, size, theme.panel);
    shapes.iter().for_each(|clipped| write_clipped(&mut svg, clipped, &images));
    svg.finish()
}

/// The part of a shape that is in its area.
fn write_clipped(svg: &mut Svg, ClippedShape { clip_rect, shape, .. }: &ClippedShape, images: &Images) {
    let bounds = shape.visual_bounding_rect();
    if clip_rect.contains_rect(bounds) {
        write_shape(svg, shape, images);
    } else if clip_rect.intersects(bounds) {
        let (at, size) = (clip_rect.min, clip_rect.size());
        let (x, y, w, h) = (at.x, at.y, size.x, size.y);
        svg.raw(&format!("<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\">\n"));
        write_shape(svg, shape, images);
        svg.raw("</svg>\n");
    }
}

fn write_shape(svg: &mut Svg, shape: &Shape, images: &Images) {
    let curve = |svg: &mut Svg, points: &[Pos2], is_closed, fill, stroke: &PathStroke| {
        svg.path(points, is_closed, Paint::from_shape(fill, solid_stroke(stroke)));
    };
    match shape {
        Shape::Vec(all) => all.iter().for_each(|s| write_shape(svg, s, images)),
        Shape::Circle(c) => svg.circle(c.center, c.radius, Paint::from_shape(c.fill, c.stroke)),
        Shape::LineSegment { points, stroke } => svg.line(*points, Paint::from_shape(Color32::TRANSPARENT, *stroke)),
        Shape::Path(p) => curve(svg, &p.points, p.closed, p.fill, &p.stroke),
        Shape::QuadraticBezier(q) => curve(svg, &q.flatten(None), q.closed, q.fill, &q.stroke),
        Shape::CubicBezier(c) => curve(svg, &c.flatten(None), c.closed, c.fill, &c.stroke),
        Shape::Rect(r) => svg.rect(r.rect, r.corner_radius.nw, Paint::from_shape(r.fill, r.stroke)),
        Shape::Text(text) => write_text(svg, text),
        Shape::Mesh(mesh) => write_mesh(svg, mesh, images),
        Shape::Noop | Shape::Ellipse(_) | Shape::Band(_) | Shape::Callback(_) => {}
    }
}

/// Triangles without a texture, each in one colour; two that make up a rectangle are written as one. Or an image.
fn write_mesh(svg: &mut Svg, mesh: &Mesh, Images(images): &Images) {
    match mesh.texture_id {
        TextureId::Managed(0) => {}
        TextureId::User(number) if let Some(file) = images.get((number as usize).wrapping_sub(1)) => {
            return svg.image(mesh.calc_bounds(), file);
        }
        _ => return,
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
        let paint = |colours: &[Color32]| Paint::from_shape(mean_colour(colours), Stroke::NONE);
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

fn mean_colour(colours: &[Color32]) -> Color32 {
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
    // a text may be turned about its place, as the name of a narrow column is
    let turn = match text.angle == 0.0 {
        true => String::new(),
        false => format!(" transform=\"rotate({:.1} {:.1} {:.1})\"", text.angle.to_degrees(), text.pos.x, text.pos.y),
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
                 lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\"{face}{turn}{}>{}</text>\n",
                at.x,
                at.y,
                format.font_id.size,
                Paint::from_shape(colour, Stroke::NONE),
                escape(&words)
            ));
        }
    }
}

fn solid_stroke(stroke: &PathStroke) -> Stroke {
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
            let place = Rect::from_min_max(Pos2::new(1.0, 2.0), Pos2::new(31.0, 42.0));
            ui.painter().add(image(ui.ctx(), place, &[255; 8], [2, 1]).unwrap());
            let half = Rect::from_min_max(Pos2::new(100.0, 0.0), Pos2::new(110.0, 100.0));
            ui.painter_at(half).rect_filled(Rect::from_center_size(half.max, vec2(9.0, 9.0)), 0.0, Color32::BLUE);
            let aside = ui.painter().layout_no_wrap("aside".to_owned(), theme::small(), Color32::RED);
            let aside = TextShape::new(Pos2::new(150.0, 90.0), aside, Color32::RED);
            ui.painter().add(aside.with_angle(-std::f32::consts::FRAC_PI_2));
        });
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(svg.contains("<title>a &lt; b</title>") && svg.contains(">mass &amp; more</text>"), "{svg}");
        assert!(svg.contains("fill=\"#010203\"") && svg.contains("font-size=\"14\""), "{svg}");
        assert!(svg.contains("<circle cx=\"50.0\" cy=\"60.0\" r=\"4.0\" fill=\"#ff0000\"/>"), "{svg}");
        assert!(svg.contains("M0.0 0.0L9.0 9.0") && svg.contains("stroke-width=\"2\""), "{svg}");
        let image = "<image x=\"1\" y=\"2\" width=\"30\" height=\"40\"";
        assert_eq!(svg.matches(image).count(), 1, "in place of what a graphics card would paint: {svg}");
        assert_eq!(svg.matches("viewBox=\"100 0 10 100\"").count(), 1, "what reaches out of its area is cut: {svg}");
        let turned: Vec<&str> = svg.lines().filter(|line| line.contains("rotate(-90.0 150.0 90.0)")).collect();
        assert!(turned.len() == 1 && turned[0].ends_with(">aside</text>"), "{svg}");
    }
}
