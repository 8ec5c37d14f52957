//! The one line chart of the application, in our look: plain data ([`Chart`]), laid out once ([`layout`]), then painted
//! over `egui_plot` or written as SVG and CSV from the same layout.

use std::{borrow::Cow, collections::BTreeSet};

use eframe::egui::{Color32, Pos2, Rangef, Rect, Vec2};

pub use super::curve::{Curve, Smoothed};

mod axis;
pub mod clip;
mod coincident_lines;
pub mod colour_bar;
mod drawing;
mod empty;
mod events;
mod export;
mod geometry;
mod gestures;
mod guess;
mod labels;
mod layout;
mod legend;
pub mod map;
pub mod map_cells;
mod mark;
mod overlay;
mod paint;
mod range;
mod readout;
pub mod scale;
pub mod svg;
mod tile;

pub use axis::Axis;
pub use drawing::drawing;
pub use empty::{empty_message, empty_ui};
pub use events::{StepEvent, StepEvents, near, set_step_events};
pub use geometry::{HOVER_DISTANCE, distance_to};
pub use gestures::{arrow_steps, claim_link_ui, count_presses, zoom_factor};
pub use guess::{Guess, guess, hide_claims, set_guess};
pub use mark::paint_mark;
pub use paint::ChartResponse;
pub use range::limits_around;
pub use scale::{Scale, value_label};
pub use svg::{Paint, Svg, hex};
pub use tile::{
    DrawnPlot, DrawnTable, DrawnTile, DrawnTiles, MIN_PLOT_SIZE, MIN_TILE_SIZE, are_words_last, begin_picture,
    begin_tile, columns, drawn, end_tile, fits, fits_two, is_lower, min_chart_height, missing_height, note_canvas,
    note_lacking, note_table, rows_ui, watch,
};

/// Smallest size at which a chart is legible, points.
pub const MIN_SIZE: Vec2 = Vec2::new(140.0, 90.0);

#[derive(Debug, Clone)]
pub enum Data<'a> {
    /// Drawn through its pyramid: any number of points.
    Curve(&'a Curve),
    /// Ascending x; a y that is not finite leaves a gap.
    Points(Cow<'a, [[f64; 2]]>),
}

impl Data<'_> {
    pub fn len(&self) -> usize {
        match self {
            Data::Curve(c) => c.len(),
            Data::Points(p) => p.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> From<&'a Curve> for Data<'a> {
    fn from(curve: &'a Curve) -> Self {
        Data::Curve(curve)
    }
}

impl<'a> From<&'a [[f64; 2]]> for Data<'a> {
    fn from(points: &'a [[f64; 2]]) -> Self {
        Data::Points(points.into())
    }
}

impl From<Vec<[f64; 2]>> for Data<'_> {
    fn from(points: Vec<[f64; 2]>) -> Self {
        Data::Points(points.into())
    }
}

/// The stroke that distinguishes a line from its neighbours besides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stroke {
    #[default]
    Solid,
    /// A value from the paper, a fit or a bound, or the second of two series of one quantity.
    Dashed,
    /// The level of chance or of a null model, such as a prediction that ignores the input.
    Dotted,
    /// Holds each value until the next x.
    Stairs,
    /// A stem from the bottom of the chart to each value.
    Stems,
    /// A mark at each value without a line, for events.
    Marks(Mark),
}

/// The stroke of what chance or a null model gives, so that it is not read as a number of the paper, which is dashed.
pub const NULL_BASELINE: Stroke = Stroke::Dotted;

impl Stroke {
    /// The lengths of its dashes and of the gaps between them, points; `None` for a line without gaps.
    pub(super) fn dashes(self) -> Option<[f32; 2]> {
        match self {
            Self::Dashed => Some([5.0, 4.0]),
            Self::Dotted => Some([1.5, 3.5]),
            Self::Solid | Self::Stairs | Self::Stems | Self::Marks(_) => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Cross,
    /// A triangle that points up.
    Up,
    Ring,
    /// A small disc: one of many.
    Dot,
}

#[derive(Debug, Clone)]
pub struct Line<'a> {
    pub label: String,
    pub colour: Color32,
    pub data: Data<'a>,
    /// The curve before smoothing, drawn faintly behind the line.
    pub raw: Option<&'a Curve>,
    pub stroke: Stroke,
    /// Marks each point as long as there are few.
    pub dots: bool,
    /// True for one of many seeds: the line is drawn faintly, and left out of the legend and the readout.
    pub faint: bool,
    /// The name in the legend, if it is shorter than the label.
    pub short: Option<String>,
    /// Width of the line, points.
    pub width: f32,
    /// The line has an entry in the legend; false for a second line of the same thing, which the readout still names.
    pub named: bool,
    /// The line is a pinned run's: drawn faint and left out of the readout, but in the legend.
    pub is_pinned: bool,
    /// The claim of the ledger that it is the number of: its name is then written beside it as well, and opens the claim.
    pub claim: Option<&'static str>,
    /// Its values are means over neighbours; the readout mentions it.
    pub is_smoothed: bool,
}

impl<'a> Line<'a> {
    pub fn new(label: impl Into<String>, colour: Color32, data: impl Into<Data<'a>>) -> Self {
        Self {
            label: label.into(),
            colour,
            data: data.into(),
            raw: None,
            stroke: Stroke::Solid,
            dots: false,
            faint: false,
            short: None,
            width: 1.5,
            named: true,
            is_pinned: false,
            claim: None,
            is_smoothed: false,
        }
    }

    pub fn raw(self, raw: &'a Curve) -> Self {
        Self { raw: Some(raw), is_smoothed: true, ..self }
    }

    pub fn stroke(self, stroke: Stroke) -> Self {
        Self { stroke, ..self }
    }

    pub fn dots(self) -> Self {
        Self { dots: true, ..self }
    }

    pub fn faint(self) -> Self {
        Self { faint: true, ..self }
    }

    pub fn pinned(self) -> Self {
        Self { is_pinned: true, faint: true, ..self }
    }

    /// Links the line to the claim of the ledger whose number it shows.
    pub fn claim(self, id: &'static str) -> Self {
        Self { claim: Some(id), ..self }
    }

    /// Its values, and those before smoothing.
    fn for_each_data(&self, each: &mut dyn FnMut(&Data<'_>)) {
        each(&self.data);
        self.raw.into_iter().for_each(|raw| each(&Data::Curve(raw)));
    }

    fn is_listed(&self) -> bool {
        self.named && (!self.faint || self.is_pinned)
    }

    /// True if the list of all lines has it: what the readout names, and pinned runs.
    fn is_in_list(&self) -> bool {
        !self.label.is_empty() && (!self.faint || self.is_listed())
    }

    /// The name in the legend.
    pub fn name(&self) -> &str {
        self.short.as_deref().unwrap_or(&self.label)
    }

    pub fn unnamed(self) -> Self {
        Self { named: false, ..self }
    }

    pub fn dashed(self) -> Self {
        self.stroke(Stroke::Dashed)
    }

    /// The line is what chance or a null model gives.
    pub fn null_baseline(self) -> Self {
        self.stroke(NULL_BASELINE)
    }

    /// Sets a short name for where there is little space.
    pub fn short(self, name: impl Into<String>) -> Self {
        Self { short: Some(name.into()), ..self }
    }
}

/// Pairs each value with its index as x.
pub fn by_place(values: &[f64]) -> Vec<[f64; 2]> {
    values.iter().enumerate().map(|(i, v)| [i as f64, *v]).collect()
}

/// A point for each x that has a y.
pub fn pairs(x: &[f64], y: &[f64]) -> Vec<[f64; 2]> {
    x.iter().zip(y).map(|(x, y)| [*x, *y]).collect()
}

/// One point for each measurement, its step and a number of it; measurements without that number are left out.
pub fn points_over_steps<M, V: Into<Option<f64>>>(history: &[(u64, M)], value: impl Fn(&M) -> V) -> Vec<[f64; 2]> {
    history.iter().filter_map(|(step, m)| Some([*step as f64, Into::<Option<f64>>::into(value(m))?])).collect()
}

/// The area between two lines that have the same x: a spread.
#[derive(Debug, Clone)]
pub struct Band<'a> {
    pub label: String,
    pub colour: Color32,
    pub low: Data<'a>,
    pub high: Data<'a>,
}

/// A band over the whole width or height, labelled inside: "paper: stays closed", a block of tokens.
#[derive(Debug, Clone)]
pub struct Zone {
    pub label: String,
    pub colour: Color32,
    pub from: f64,
    pub to: f64,
    /// Vertical (x values) or horizontal (y values).
    pub vertical: bool,
    /// The claim of the ledger that it is the number of.
    pub claim: Option<&'static str>,
}

impl Zone {
    /// The strip in the layout's points, which may reach beyond the plot; `None` where an end has no place on the axis.
    fn rect(&self, layout: &geometry::Layout) -> Option<Rect> {
        let place = |v: f64| if self.vertical { layout.x_of(v) } else { layout.y_of(v) };
        let [a, b] = [self.from, self.to].map(place);
        let ends = Rangef::new(a.min(b), a.max(b));
        let [x, y] = if self.vertical { [ends, layout.plot.y_range()] } else { [layout.plot.x_range(), ends] };
        (!a.is_nan() && !b.is_nan()).then(|| Rect::from_x_y_ranges(x, y))
    }

    fn opacity(&self) -> f32 {
        if self.vertical { 0.16 } else { 0.14 }
    }
}

/// A line at a known value, with its label.
#[derive(Debug, Clone)]
pub struct Reference {
    pub label: String,
    pub at: f64,
    /// Vertical (an x value) or horizontal (a y value).
    pub vertical: bool,
    /// [`Stroke::Dashed`], or [`NULL_BASELINE`] for the value of a null model.
    pub stroke: Stroke,
    /// The claim of the ledger that it is the number of: "A15".
    pub claim: Option<&'static str>,
}

impl Reference {
    /// Its ends in the layout's points, which may lie beyond the plot.
    fn path(&self, layout: &geometry::Layout) -> [Pos2; 2] {
        let ends = [layout.plot.left_top(), layout.plot.right_bottom()];
        match self.vertical {
            true => ends.map(|end| Pos2::new(layout.x_of(self.at), end.y)),
            false => ends.map(|end| Pos2::new(end.x, layout.y_of(self.at))),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Chart<'a> {
    /// Distinguishes charts within a tile, and names it for a screen reader.
    pub name: String,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line<'a>>,
    pub bands: Vec<Band<'a>>,
    pub zones: Vec<Zone>,
    pub references: Vec<Reference>,
    /// The step that the scrubber shows: it is marked, and the data after it is drawn faint.
    pub marker: Option<f64>,
    /// The text that is shown while there are no points, with advice on how to get some.
    pub empty: String,
    /// Names the lines at their ends or above; false where a chart beside it already does.
    pub legend: bool,
    /// Left and right margins to be under another chart; from its [`ChartResponse`].
    pub margins: Option<[f32; 2]>,
    /// Smallest left margin, for charts above one another to agree on.
    pub min_left_margin: f32,
}

impl<'a> Chart<'a> {
    pub fn new(name: impl Into<String>, x: Axis, y: Axis) -> Self {
        let empty = "Nothing has been measured yet.".to_owned();
        Self { name: name.into(), x, y, empty, legend: true, min_left_margin: 30.0, ..Self::default() }
    }

    pub fn line(mut self, line: Line<'a>) -> Self {
        self.lines.push(line);
        self
    }

    pub fn add(&mut self, line: Line<'a>) {
        self.lines.push(line);
    }

    /// Adds a line of a kind that has its own stroke and accompanies each of the other lines, such as the result of random
    /// weights in each layer. The legend names the kind once, by its first line, and switches all of them together.
    pub fn add_of_kind(&mut self, kind: &str, line: Line<'a>) {
        let is_named = self.lines.iter().any(|other| other.short.as_deref() == Some(kind));
        let line = line.short(kind);
        self.add(if is_named { line.unnamed() } else { line });
    }

    pub fn band(
        &mut self,
        label: impl Into<String>,
        colour: Color32,
        low: impl Into<Data<'a>>,
        high: impl Into<Data<'a>>,
    ) {
        self.bands.push(Band { label: label.into(), colour, low: low.into(), high: high.into() });
    }

    /// Adds a shaded range of y; if its `claim` is set, its label opens the claim.
    pub fn horizontal_span(&mut self, label: impl Into<String>, colour: Color32, [from, to]: [f64; 2]) -> &mut Zone {
        self.zones.push_mut(Zone { label: label.into(), colour, from, to, vertical: false, claim: None })
    }

    /// Adds a shaded range of x.
    pub fn vertical_span(&mut self, label: impl Into<String>, colour: Color32, [from, to]: [f64; 2]) {
        self.zones.push(Zone { label: label.into(), colour, from, to, vertical: true, claim: None });
    }

    /// Adds a horizontal reference line at a known y; if its `claim` is set, its label opens the claim.
    pub fn horizontal_line(&mut self, label: impl Into<String>, at: f64) -> &mut Reference {
        let (label, stroke) = (label.into(), Stroke::Dashed);
        self.references.push_mut(Reference { label, at, vertical: false, stroke, claim: None })
    }

    /// Adds a vertical reference line at a known x; if its `claim` is set, its label opens the claim.
    pub fn vertical_line(&mut self, label: impl Into<String>, at: f64) -> &mut Reference {
        let reference = self.horizontal_line(label, at);
        reference.vertical = true;
        reference
    }

    pub fn empty(self, words: impl Into<String>) -> Self {
        Self { empty: words.into(), ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|l| l.data.is_empty() && l.raw.is_none_or(|r| r.is_empty()))
    }
}

/// The zoom and the legend of a chart as the user left them. It lives with the view.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChartState {
    /// Shown range of x and of y in values; `None` fits the data.
    pub zoom_x: Option<[f64; 2]>,
    pub zoom_y: Option<[f64; 2]>,
    /// The y axis' range, held while the run continues.
    pub fixed_y: Option<[f64; 2]>,
    /// The names of the lines that are switched off in the legend.
    pub hidden: BTreeSet<String>,
    /// The scale chosen by a click on the axis; `None` means the axis' own.
    pub scale_x: Option<Scale>,
    pub scale_y: Option<Scale>,
    /// Where a drag began, in screen points.
    drag_from: Option<[f32; 2]>,
    /// Size at which it was last shown, points: exports use it.
    pub(in crate::ui) size: Option<[f32; 2]>,
    /// Its upper left corner where a view of several charts shows it, screen points: exports use it.
    pub(in crate::ui) corner: Option<Pos2>,
    /// The events on the axis of steps when it was last shown; exports use them.
    events: StepEvents,
    /// The claim whose label was clicked, until the view takes it.
    pub(in crate::ui) asked_claim: Option<&'static str>,
    /// The chart was last shown in a tile, where its data have at least the room of [`MIN_PLOT_SIZE`].
    is_in_tile: bool,
}

impl ChartState {
    /// Begins a frame of a view of several charts: the chart is in none of its exports unless it is shown.
    pub fn clear_visibility(&mut self) {
        self.corner = None;
    }

    /// Copies another chart's zoom and scale of the x axis, and which lines are switched off.
    pub fn share_x(&mut self, of: &ChartState) {
        (self.zoom_x, self.scale_x) = (of.zoom_x, of.scale_x);
        self.hidden.clone_from(&of.hidden);
    }

    /// True if a line was switched off; all lines of one name are switched together.
    pub fn hides(&self, line: &Line<'_>) -> bool {
        self.hidden.contains(line.name())
    }

    /// True if a band belongs to a line that was switched off.
    fn hides_band(&self, chart: &Chart<'_>, band: &Band<'_>) -> bool {
        let mut of = chart.lines.iter().filter(|l| l.colour == band.colour && band.label.starts_with(&l.label));
        !self.hidden.is_empty() && of.any(|l| self.hides(l))
    }

    fn toggle(&mut self, name: &str) {
        if !self.hidden.remove(name) {
            self.hidden.insert(name.to_owned());
        }
    }
}
