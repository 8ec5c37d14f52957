//! Writes SVG, for all charts and pictures: shapes and text at positions in points.

use std::fmt::{Display, Formatter, Result, Write as _};

use eframe::egui::{Color32, Pos2, Rect, Stroke, Vec2};

use super::geometry::TEXT_SIZE;

/// A drawing under construction.
pub struct Svg {
    out: String,
}

/// A colour, and how much it covers of what lies under it, 0 to 1.
#[derive(Debug, Clone, Copy)]
struct Ink {
    colour: [u8; 3],
    strength: f32,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Paint {
    fill: Option<Ink>,
    stroke: Option<(Ink, f32)>,
    /// The lengths of dashes and gaps; `None` for a line without gaps.
    dashes: Option<[f32; 2]>,
}

impl Ink {
    fn new(colour: Color32, strength: f32) -> Self {
        let [r, g, b, a] = colour.to_srgba_unmultiplied();
        Self { colour: [r, g, b], strength: strength * f32::from(a) / 255.0 }
    }

    fn attributes(self, name: &str) -> String {
        let [r, g, b] = self.colour;
        let opacity =
            if self.strength < 1.0 { format!(" {name}-opacity=\"{:.2}\"", self.strength) } else { String::new() };
        format!(" {name}=\"#{r:02x}{g:02x}{b:02x}\"{opacity}")
    }
}

impl Paint {
    pub fn fill(colour: Color32) -> Self {
        Self::faint_fill(colour, 1.0)
    }

    /// Covers `strength` of what lies under it.
    pub fn faint_fill(colour: Color32, strength: f32) -> Self {
        Self { fill: Some(Ink::new(colour, strength)), ..Self::default() }
    }

    pub fn stroke(colour: Color32, width: f32) -> Self {
        Self::faint_stroke(colour, width, 1.0)
    }

    /// Covers `strength` of what lies under it.
    pub fn faint_stroke(colour: Color32, width: f32, strength: f32) -> Self {
        Self { stroke: Some((Ink::new(colour, strength), width)), ..Self::default() }
    }

    /// The paint of a shape of the interface.
    pub fn from_shape(fill: Color32, stroke: Stroke) -> Self {
        Self {
            fill: (fill.a() > 0).then(|| Ink::new(fill, 1.0)),
            stroke: (!stroke.is_empty()).then(|| (Ink::new(stroke.color, 1.0), stroke.width)),
            dashes: None,
        }
    }

    pub fn dashes(self, dashes: Option<[f32; 2]>) -> Self {
        Self { dashes, ..self }
    }
}

impl Display for Paint {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.fill {
            Some(ink) => f.write_str(&ink.attributes("fill"))?,
            None => f.write_str(" fill=\"none\"")?,
        }
        if let Some((ink, width)) = self.stroke {
            write!(f, "{} stroke-width=\"{width}\"", ink.attributes("stroke"))?;
        }
        match self.dashes {
            Some([dash, gap]) => write!(f, " stroke-dasharray=\"{dash} {gap}\""),
            None => Ok(()),
        }
    }
}

// Writing to a string does not fail.
impl Svg {
    /// An empty sheet of a colour.
    pub fn new(name: &str, size: Vec2, ground: Color32) -> Self {
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"sans-serif\" font-size=\"{TEXT_SIZE}\">\n<title>{}</title>\n\
             <rect width=\"{w}\" height=\"{h}\"{}/>\n",
            escape(name),
            Paint::fill(ground),
            w = size.x,
            h = size.y,
        );
        Self { out }
    }

    /// A whole drawing as a part of this one, scaled down into `room`. `nth` separates the clips of parts' plots.
    pub fn add_drawing(&mut self, room: Rect, drawing: &str, nth: usize) {
        let Some((head, rest)) = drawing.split_once('>') else { return };
        let Some([w, h]) = size_in(head) else { return };
        let rest = rest.replace("\"plot\"", &format!("\"plot{nth}\"")).replace("#plot)", &format!("#plot{nth})"));
        let size = room.size().min(Vec2::new(w, h));
        let _ = write!(
            self.out,
            "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {w} {h}\">{rest}",
            room.left(),
            room.top(),
            size.x,
            size.y
        );
    }

    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    /// Adds elements unchanged.
    pub fn raw(&mut self, elements: &str) {
        self.out.push_str(elements);
    }

    pub fn line(&mut self, ends: [Pos2; 2], paint: Paint) {
        self.path(&ends, false, paint);
    }

    /// Adds straight segments between points, closed to a polygon if `is_closed`.
    pub fn path(&mut self, points: &[Pos2], is_closed: bool, paint: Paint) {
        if points.len() < 2 {
            return;
        }
        let step = |(i, p): (usize, &Pos2)| format!("{}{:.1} {:.1}", if i == 0 { "M" } else { "L" }, p.x, p.y);
        let d: String = points.iter().enumerate().map(step).collect();
        let end = if is_closed { "Z" } else { "" };
        let _ = writeln!(self.out, "<path d=\"{d}{end}\" stroke-linejoin=\"round\"{paint}/>");
    }

    pub fn circle(&mut self, at: Pos2, radius: f32, paint: Paint) {
        let _ = writeln!(self.out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\"{paint}/>", at.x, at.y);
    }

    /// Adds a rectangle with rounded corners.
    pub fn rect(&mut self, rect: Rect, radius: u8, paint: Paint) {
        let (at, size) = (rect.min, rect.size());
        let round = if radius > 0 { format!(" rx=\"{radius}\"") } else { String::new() };
        let _ = writeln!(
            self.out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"{round}{paint}/>",
            at.x, at.y, size.x, size.y
        );
    }

    /// Adds an image: a PNG file as base64. Its pixels keep their edges at any size.
    pub fn image(&mut self, rect: Rect, file: &str) {
        let (at, size) = (rect.min, rect.size());
        let _ = writeln!(
            self.out,
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{file}\"/>",
            at.x, at.y, size.x, size.y
        );
    }

    /// Adds a text with its baseline at a position, which is the text's start, middle or end as `anchor` says.
    pub fn text(&mut self, at: Pos2, anchor: &str, words: &str, colour: Color32) {
        if !words.is_empty() {
            let (paint, words) = (Paint::fill(colour), escape(words));
            let _ = writeln!(
                self.out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\"{paint}>{words}</text>",
                at.x, at.y
            );
        }
    }
}

pub fn size_of(drawing: &str) -> Option<Vec2> {
    size_in(drawing.split('>').next()?).map(Vec2::from)
}

fn size_in(head: &str) -> Option<[f32; 2]> {
    let number = |name: &str| head.split_once(&format!(" {name}=\""))?.1.split('"').next()?.parse().ok();
    Some([number("width")?, number("height")?])
}

/// Escapes text for use between tags. Control characters, which names in foreign runs may contain, are left out: XML
/// cannot represent them, and a drawing with one could not be opened.
pub fn escape(words: &str) -> String {
    let is_valid = |c: &char| *c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}') || matches!(c, '\t' | '\n' | '\r');
    let words: String = words.chars().filter(is_valid).collect();
    quick_xml::escape::partial_escape(words.as_str()).into_owned()
}

/// For example "#rrggbb".
pub fn hex(c: Color32) -> String {
    format!("#{:02x}{:02x}{:02x}", c.r(), c.g(), c.b())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_no_drawing_invalid() {
        assert_eq!(escape("a\u{1b}[2J\0 \u{ffff}<b>\n"), "a[2J &lt;b&gt;\n");
    }
}
