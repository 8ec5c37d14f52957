//! The picture that a lab draws on its card in the gallery: plain geometry, cheap to compute, in colours that go by
//! their meaning. Nothing in it is measured. The gallery paints it.

/// A colour by what it stands for; a theme says which it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ink {
    /// Quantities that change at token rate.
    Fast,
    /// Quantities that change more slowly.
    Slow,
    /// The fast, middle or slow trace: 0, 1, 2.
    Trace(usize),
    /// A group of nodes, by number.
    Group(usize),
    Accent,
    /// A large quantity.
    Warm,
    /// Thin lines that structure a drawing.
    Line,
    /// Less important parts of the drawing.
    Secondary,
    /// The card behind the drawing.
    Panel,
    /// A surface above the card.
    Raised,
}

/// A colour: an ink, moved towards another and thinned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paint {
    pub ink: Ink,
    /// The other ink and its share, 0 to 1.
    pub towards: Option<(Ink, f32)>,
    /// 0 is invisible, 1 covers.
    pub opacity: f32,
}

impl From<Ink> for Paint {
    fn from(ink: Ink) -> Self {
        Self { ink, towards: None, opacity: 1.0 }
    }
}

impl Ink {
    /// This ink at an opacity from 0 to 1.
    pub fn with_opacity(self, opacity: f32) -> Paint {
        Paint { opacity, ..self.into() }
    }

    /// This ink, moved towards another by a share of 0 to 1.
    pub fn mixed(self, other: Ink, share: f32) -> Paint {
        Paint { towards: Some((other, share)), ..self.into() }
    }
}

/// A point in a drawing: x to the right and y down, from its upper left corner.
pub type Point = [f32; 2];

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    pub paint: Paint,
    pub width: f32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    Path { points: Vec<Point>, edge: Edge },
    Circle { centre: Point, radius: f32, fill: Option<Paint>, edge: Option<Edge> },
}

/// The size, the time and the pointer that a drawing is made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Canvas {
    pub size: [f32; 2],
    /// Position of the pointer across it, 0 to 1, which moves the drawing's one parameter.
    pub pointer: Option<f32>,
}

impl Canvas {
    pub fn centre(&self) -> Point {
        [0.5 * self.size[0], 0.5 * self.size[1]]
    }

    /// The pointer's place, or this one where there is no pointer.
    pub fn pointer_or(&self, usual: f32) -> f32 {
        self.pointer.unwrap_or(usual)
    }
}

/// Shapes, the first undermost, and a line that says what formula they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drawing {
    pub shapes: Vec<Shape>,
    pub caption: String,
}

impl Drawing {
    pub fn path(&mut self, points: Vec<Point>, paint: impl Into<Paint>, width: f32) {
        self.shapes.push(Shape::Path { points, edge: Edge { paint: paint.into(), width } });
    }

    pub fn disc(&mut self, centre: Point, radius: f32, paint: impl Into<Paint>) {
        self.shapes.push(Shape::Circle { centre, radius, fill: Some(paint.into()), edge: None });
    }

    pub fn ring(&mut self, centre: Point, radius: f32, paint: impl Into<Paint>, width: f32) {
        let edge = Some(Edge { paint: paint.into(), width });
        self.shapes.push(Shape::Circle { centre, radius, fill: None, edge });
    }

    /// A filled circle with a thin outline.
    pub fn node(&mut self, centre: Point, radius: f32, fill: impl Into<Paint>) {
        let edge = Some(Edge { paint: Ink::Secondary.into(), width: 1.0 });
        self.shapes.push(Shape::Circle { centre, radius, fill: Some(fill.into()), edge });
    }
}
