//! Where everything of a chart goes: ranges, ticks, margins, thinned lines, names at the lines'
//! ends. The same layout is painted and written as SVG. It measures text by a function it is given.

use eframe::egui::{Pos2, Rect, Vec2, pos2};

use super::{
    Axis, Chart, ChartState, Data, Line, MIN_SIZE, Scale, Stroke,
    clip::{self, Window},
    coincident_lines::split_coincident_lines,
    geometry::{
        Area, FIXED, GAP, Layout, LineName, MeasureText, PlottedLine, ROW_HEIGHT, SWATCH_WIDTH, TEXT_SIZE, share_of,
    },
    labels::labels,
    range::{x_limits, y_limits},
    scale::thin_tick_labels,
    tile::MIN_PLOT_SIZE,
};
use crate::ui::{
    curve::Bucket,
    theme::{FAINT_LINE, FAINTEST_LINE},
};

/// The smallest gap between the numbers of an x axis, points.
const TICK_GAP: f32 = 4.0;
/// The longest text that may stand for the names without room; its width is reserved.
const LONGEST_MORE_LABEL: &str = "+ 10 more";

/// Between two names of a row, points.
const NAME_GAP: f32 = 14.0;

mod thinning;

use thinning::{envelope, extremes, stairs, with_neighbours};

impl Layout {
    /// The layout in this size. In a tile with too little room for data, names leave, and then the chart grows.
    pub fn new(chart: &Chart<'_>, state: &ChartState, size: [f32; 2], measure: MeasureText<'_>) -> Self {
        let mut size = [size[0].max(MIN_SIZE.x), size[1].max(MIN_SIZE.y)];
        let x_scale = state.scale_x.unwrap_or(chart.x.scale);
        let y_scale = state.scale_y.unwrap_or(chart.y.scale);
        let x = x_limits(chart, state, x_scale);
        let y = y_limits(chart, state, y_scale, [x_scale.value(x[0]), x_scale.value(x[1])]);
        let least = if state.is_in_tile { MIN_PLOT_SIZE } else { Vec2::ZERO };
        let framed = |size: [f32; 2], x_label_drop: f32, names_bottom: f32| {
            let rows = ((size[1] - 60.0) / 44.0).floor().clamp(2.0, 6.0) as usize;
            let mut layout = Self {
                size,
                plot: Rect::ZERO,
                x_scale,
                y_scale,
                x,
                y,
                x_ticks: vec![],
                y_ticks: ticks(&chart.y, y_scale, y, rows),
                traces: vec![],
                areas: vec![],
                names: vec![],
                labels: vec![],
                x_label: String::new(),
                y_label: String::new(),
                x_label_drop,
                names_bottom,
                unnamed: None,
                margins: [0.0; 2],
            };
            layout.place_frame(chart, size, least.x, measure);
            layout
        };
        // names take at most a quarter of the height
        let max_names = |height: f32| (height * 0.25).max(1.5 * ROW_HEIGHT);
        let mut layout = framed(size, 0.0, max_names(size[1]));
        if layout.plot.height() < least.y {
            let more = size[0] - 4.0 - measure(LONGEST_MORE_LABEL, false);
            let lower = [3.5, 2.5, 1.5, 0.5].into_iter().map(|rows| framed(size, 0.0, rows * ROW_HEIGHT));
            for lower in lower.filter(|layout| layout.unnamed.is_none_or(|(_, at)| at.x <= more)) {
                layout = lower;
                if layout.plot.height() >= least.y {
                    break;
                }
            }
        }
        // more height can have room for one more row of names, and then for one again
        for _ in 0..6 {
            let lacking = (least.y - layout.plot.height()).ceil();
            if lacking <= 0.0 {
                break;
            }
            size[1] += lacking;
            layout = framed(size, 0.0, layout.names_bottom);
        }
        layout.name_x_axis(chart, measure);
        if layout.covers_x_ticks(measure) {
            let mut lower = framed(size, ROW_HEIGHT, layout.names_bottom);
            lower.name_x_axis(chart, measure);
            if lower.plot.height() >= MIN_PLOT_SIZE.y {
                layout = lower;
            }
        }
        layout.drop_covered_x_ticks(measure);
        let mut y_ticks = std::mem::take(&mut layout.y_ticks);
        // rows of numbers, from the lowest up
        thin_tick_labels(&mut y_ticks, |(place, _)| [0.0, TEXT_SIZE].map(|below| below - layout.y_at(*place)));
        layout.y_ticks = y_ticks;
        let columns = (layout.plot.width() * 1.0).max(16.0) as usize;
        let room = size[0] - 4.0;
        layout.y_label = elide(axis_label(&chart.y, y_scale), room - measure(FIXED, false) - GAP, measure);
        layout.thin_lines(chart, state, columns);
        layout.traces = split_coincident_lines(std::mem::take(&mut layout.traces), layout.plot);
        layout.labels = labels(chart, &layout, measure);
        layout
    }

    /// The window of values that is drawn, in shares of the plot.
    fn window(&self) -> Window {
        let beyond = |length: f32| f64::from(CLIP_MARGIN / length.max(1.0));
        let (x, y) = (beyond(self.plot.width()), beyond(self.plot.height()));
        Window { x: [-x, 1.0 + x], y: [-y, 1.0 + y] }
    }

    /// Shares of the plot of a place.
    pub(super) fn shares(&self, p: &[f64; 2]) -> [f64; 2] {
        [share_of(p[0], self.x), share_of(p[1], self.y)]
    }

    /// Sets the margins, and the names at the lines' ends if they fit and leave the data this width, else in rows
    /// above.
    fn place_frame(&mut self, chart: &Chart<'_>, size: [f32; 2], least: f32, measure: MeasureText<'_>) {
        let widest = self.y_ticks.iter().map(|t| measure(&t.1, true)).fold(0.0, f32::max);
        let left = chart.margins.map_or((widest + 10.0).max(chart.min_left_margin), |m| m[0].max(widest + 10.0));
        let bottom = size[1] - ROW_HEIGHT - 4.0 - self.x_label_drop;
        let mut named: Vec<usize> =
            if chart.legend { (0..chart.lines.len()).filter(|i| is_named(chart, *i)).collect() } else { vec![] };
        // A line alone needs no name, unless it belongs to another run.
        if named.len() == 1 && !chart.lines[named[0]].is_pinned {
            named.clear();
        }
        let width_of = |i: &usize| SWATCH_WIDTH + 4.0 + measure(chart.lines[*i].name(), false);
        let name_width = named.iter().map(width_of).fold(0.0, f32::max);
        let top = ROW_HEIGHT + 6.0;
        let at_ends = !named.is_empty()
            && name_width <= (size[0] - left) * 0.34
            && size[0] - left - name_width - 12.0 >= least
            && chart.margins.is_none_or(|m| name_width + 12.0 <= m[1])
            && named.len() as f32 * (ROW_HEIGHT - 1.0) <= bottom - top;
        if at_ends {
            let right = chart.margins.map_or(name_width + 12.0, |m| m[1]);
            self.margins = [left, right];
            self.plot = Rect::from_min_max(pos2(left, top), pos2(size[0] - right, bottom));
            self.names_at_ends(chart, &named);
            return;
        }
        let right = chart.margins.map_or(10.0, |m| m[1]);
        self.margins = [left, right];
        // Rows above the plot: as few as name as many lines as there is room for, beside the axis' label only if that saves one.
        let label_width = measure(&axis_label(&chart.y, Scale::Log), false) + measure(FIXED, false) + 2.0 * GAP;
        let lowest = self.names_bottom;
        let place = |mut x: f32, mut row: f32| {
            let mut names = vec![];
            let mut rest = named.iter().map(|i| width_of(i) + NAME_GAP).sum::<f32>() - NAME_GAP;
            for i in &named {
                let w = width_of(i);
                // in the last row a note needs room, unless every name has it
                if row + ROW_HEIGHT > lowest && x > left && x + w > size[0] - 70.0 && x + rest > size[0] - 4.0 {
                    break;
                }
                if x + w > size[0] - 4.0 && x > left {
                    x = left;
                    row += ROW_HEIGHT;
                }
                names.push(LineName { line: *i, at: pos2(x, row) });
                x += w + NAME_GAP;
                rest -= w + NAME_GAP;
            }
            (names, pos2(x, row))
        };
        let (beside, below) = (place(label_width.max(left), ROW_HEIGHT / 2.0), place(left, ROW_HEIGHT * 1.5));
        let is_better = beside.0.len() > below.0.len() || beside.0.len() == below.0.len() && beside.1.y < below.1.y;
        let (names, end) = if is_better || ROW_HEIGHT * 1.5 > lowest { beside } else { below };
        self.names = names;
        if self.names.len() < named.len() {
            self.count_unnamed(named.len() - self.names.len(), end, size[0] - 4.0 - measure(LONGEST_MORE_LABEL, false));
        }
        let top = end.y + ROW_HEIGHT / 2.0 + 6.0;
        self.plot = Rect::from_min_max(pos2(left, top), pos2(size[0] - right, bottom.max(top + 20.0)));
    }

    /// Notes at a position how many lines have no name; where that is too far right, the note replaces the last name.
    fn count_unnamed(&mut self, count: usize, at: Pos2, furthest: f32) {
        let replaced = self.names.pop_if(|last| at.x > furthest && last.at.y == at.y);
        self.unnamed = Some(replaced.map_or((count, at), |last| (count + 1, last.at)));
    }

    /// Each name at its line's last height, then moved apart by whole rows. Lines that end at about one height are named in
    /// the chart's order, so that noise does not swap their names from step to step.
    fn names_at_ends(&mut self, chart: &Chart<'_>, named: &[usize]) {
        let shown = self.x_values();
        let mut at: Vec<(usize, f32)> = named
            .iter()
            .map(|i| {
                let last = value_before(&chart.lines[*i].data, shown[1]).map_or(f64::NAN, |p| p[1]);
                let y = self.y_of(last);
                (*i, if y.is_finite() { y.clamp(self.plot.top() + 6.0, self.plot.bottom() - 6.0) } else { f32::MAX })
            })
            .collect();
        at.sort_by(|a, b| a.1.total_cmp(&b.1));
        for alike in at.chunk_by_mut(|a, b| b.1 - a.1 < MAX_MERGE_DISTANCE) {
            let heights: Vec<f32> = alike.iter().map(|(_, y)| *y).collect();
            alike.sort_by_key(|(line, _)| *line);
            alike.iter_mut().zip(heights).for_each(|(name, y)| name.1 = y);
        }
        let row = ROW_HEIGHT - 1.0;
        let mut floor = f32::MIN;
        for (_, y) in &mut at {
            *y = y.max(floor).min(self.plot.bottom() + row * 8.0);
            floor = *y + row;
        }
        let mut ceiling = self.plot.bottom() - 4.0;
        for (_, y) in at.iter_mut().rev() {
            *y = y.min(ceiling);
            ceiling = *y - row;
        }
        let x = self.plot.right() + 8.0;
        self.names = at.into_iter().map(|(line, y)| LineName { line, at: pos2(x, y) }).collect();
    }

    /// The numbers and the text of the x axis.
    fn name_x_axis(&mut self, chart: &Chart<'_>, measure: MeasureText<'_>) {
        let scale = self.x_scale;
        let wanted = (self.plot.width() / 72.0).floor().clamp(2.0, 8.0) as usize;
        let mut ticks = ticks(&chart.x, scale, self.x, wanted);
        thin_tick_labels(&mut ticks, |(place, number)| {
            let (at, half) = (self.x_at(*place), measure(number, true) / 2.0);
            [at - half, at + half + TICK_GAP]
        });
        self.x_ticks = ticks;
        self.x_label = elide(axis_label(&chart.x, scale), self.plot.width() * 0.8, measure);
    }

    /// True for a number that the text at the end of its row would cover, or that would stand out of the sheet.
    fn is_covered(&self, (place, number): &(f64, String), measure: MeasureText<'_>) -> bool {
        let end = match self.x_label_drop > 0.0 || self.x_label.is_empty() {
            true => self.size[0] + 1.0,
            false => self.size[0] - measure(&self.x_label, false) - 16.0,
        };
        self.x_at(*place) + measure(number, true) / 2.0 > end
    }

    /// True if the x axis' label would cover more than one of its numbers, or leave fewer than two: it then gets a row of
    /// its own.
    fn covers_x_ticks(&self, measure: MeasureText<'_>) -> bool {
        let shown = || self.x_ticks.iter().filter(|tick| !tick.1.is_empty());
        let covered = shown().filter(|tick| self.is_covered(tick, measure)).count();
        !self.x_label.is_empty() && covered > 0 && (covered > 1 || shown().count() - covered < 2)
    }

    fn drop_covered_x_ticks(&mut self, measure: MeasureText<'_>) {
        let mut ticks = std::mem::take(&mut self.x_ticks);
        ticks.iter_mut().filter(|tick| self.is_covered(tick, measure)).for_each(|tick| tick.1.clear());
        self.x_ticks = ticks;
    }

    fn thin_lines(&mut self, chart: &Chart<'_>, state: &ChartState, columns: usize) {
        for band in chart.bands.iter().filter(|band| !state.hides_band(chart, band)) {
            let low = self.thinned_line(&band.low, columns);
            let high = self.thinned_line(&band.high, columns);
            // Each thinned column holds its extremes: the band keeps the widest.
            let shares = low.iter().zip(&high).map(|(l, h)| {
                let y = |v: f64| share_of(v, self.y);
                [share_of(l[0], self.x), y(l[1].min(h[1])), y(l[1].max(h[1]))]
            });
            let shares = envelope(&shares.collect::<Vec<_>>(), columns);
            let window = self.window();
            for run in shares.split(|c| c.iter().any(|v| v.is_nan())).filter(|run| run.len() > 1) {
                self.areas.push(Area { columns: window.area(run), colour: band.colour });
            }
        }
        let shown = || chart.lines.iter().enumerate().filter(|(_, line)| !state.hides(line));
        for (i, line) in shown() {
            if let Some(raw) = line.raw {
                let points = self.thinned_line(&Data::Curve(raw), columns);
                self.push_trace(chart, i, points, FAINTEST_LINE, 1.0);
            }
        }
        for (i, line) in shown() {
            let mut points = self.thinned_line(&line.data, columns);
            if line.stroke == Stroke::Stairs {
                points = stairs(&points);
            }
            let strength = if line.faint { FAINT_LINE } else { 1.0 };
            self.push_trace(chart, i, points, strength, if line.faint { 1.0 } else { line.width });
        }
    }

    /// Splits at gaps and at the marker, after which lines are the faintest, and cuts off what is out of sight.
    fn push_trace(&mut self, chart: &Chart<'_>, line: usize, points: Vec<[f64; 2]>, strength: f32, width: f32) {
        let style = &chart.lines[line];
        let few = (points.len() as f32) < self.plot.width() / 16.0;
        let stems = style.stroke == Stroke::Stems;
        let mark = if let Stroke::Marks(mark) = style.stroke { Some(mark) } else { None };
        let marker = chart.marker.map(|m| self.x_scale.position(m)).filter(|m| m.is_finite());
        for run in points.split(|p| !(p[0].is_finite() && p[1].is_finite())) {
            let cut = marker.map_or(run.len(), |m| run.partition_point(|p| p[0] <= m));
            for (part, share) in [(&run[..cut], 1.0), (&run[cut.saturating_sub(1)..], FAINTEST_LINE)] {
                if part.is_empty() || (share < 1.0 && cut == run.len()) {
                    continue;
                }
                let is_line = !stems && mark.is_none() && strength > FAINTEST_LINE;
                let trace = PlottedLine {
                    line: (is_line && !style.faint).then_some(line),
                    points: vec![],
                    colour: style.colour,
                    strength: strength.min(share),
                    width,
                    stroke: style.stroke,
                    dots: is_line && few && (style.dots || run.len() == 1),
                    stems,
                    mark,
                };
                self.push_clipped(trace, &part.iter().map(|p| self.shares(p)).collect::<Vec<_>>());
            }
        }
    }

    /// The parts of a trace that are visible.
    fn push_clipped(&mut self, trace: PlottedLine, points: &[[f64; 2]]) {
        let window = self.window();
        let single: Vec<[f64; 2]> = if trace.stems {
            // Stems start at the bottom of the chart; a top above the visible range is cut there.
            let top = |p: &[f64; 2]| [p[0], p[1].min(window.y[1]).max(window.y[0])];
            points.iter().map(top).filter(|p| window.contains(*p)).collect()
        } else {
            points.iter().copied().filter(|p| window.contains(*p)).collect()
        };
        if trace.stems || trace.mark.is_some() {
            self.traces.extend((!single.is_empty()).then_some(PlottedLine { points: single, ..trace }));
            return;
        }
        let nearest = [self.plot.width(), self.plot.height()].map(|length| clip::NEAREST / f64::from(length.max(1.0)));
        if single.len() == points.len() {
            let measured = single.len();
            let points = clip::without_close_points(single, nearest);
            // A line whose points coincide would not be visible at all.
            let has_collapsed = points.len() == 1 && measured > 1;
            let dots = trace.dots || has_collapsed && trace.strength > FAINTEST_LINE;
            self.traces.push(PlottedLine { points, dots, ..trace });
            return;
        }
        // Dots are at points, not where a line was cut.
        let lines = window.polyline(points).into_iter().map(|run| clip::without_close_points(run, nearest));
        let lines = lines.filter(|run| run.len() > 1);
        self.traces.extend(lines.map(|points| PlottedLine { points, dots: false, ..trace.clone() }));
        if trace.dots && !single.is_empty() {
            self.traces.extend(single.into_iter().map(|p| PlottedLine { points: vec![p], ..trace.clone() }));
        }
    }

    /// Thins a line to about two points per column at most, in axis coordinates; NaN marks a gap.
    fn thinned_line(&self, data: &Data<'_>, columns: usize) -> Vec<[f64; 2]> {
        let place = |x: f64, y: f64| [self.x_scale.position(x), self.y_scale.position(y)];
        let [from, to] = self.x_values();
        match data {
            Data::Points(points) => {
                let a = points.partition_point(|p| p[0] < from).saturating_sub(1);
                let b = (points.partition_point(|p| p[0] <= to) + 1).min(points.len());
                let places: Vec<[f64; 2]> = points[a..b.max(a)].iter().map(|p| place(p[0], p[1])).collect();
                extremes(places, columns, self.x)
            }
            Data::Curve(curve) => {
                let buckets = match self.x_scale {
                    Scale::Linear => {
                        let (from, to) = with_neighbours(curve, from, to);
                        curve.range(from, to, columns)
                    }
                    Scale::Log => {
                        let [first, last] = self.x;
                        let edge = |i| self.x_scale.value(first + (last - first) * i as f64 / columns as f64);
                        curve.between(&(0..=columns).map(edge).collect::<Vec<_>>())
                    }
                };
                let ends = |b: &Bucket| {
                    let last = (b.last > b.first).then(|| place(b.last as f64, b.extent.max));
                    [place(b.first as f64, b.extent.min)].into_iter().chain(last)
                };
                buckets.iter().flat_map(ends).collect()
            }
        }
    }
}

/// Lines whose ends are no further apart than this end at one height, points.
const MAX_MERGE_DISTANCE: f32 = 3.0;
/// Points beyond the plot at which lines are cut: their ends and joins stay unseen.
const CLIP_MARGIN: f32 = 16.0;
/// Cuts a text to a width, with an ellipsis.
fn elide(words: String, room: f32, measure: MeasureText<'_>) -> String {
    if measure(&words, false) <= room {
        return words;
    }
    let mut kept: Vec<char> = words.chars().collect();
    while kept.pop().is_some() {
        let short = format!("{}\u{2026}", kept.iter().collect::<String>().trim_end());
        if measure(&short, false) <= room {
            return short;
        }
    }
    String::new()
}

/// About as many ticks of an axis as wanted: places with their numbers.
fn ticks(axis: &Axis, scale: Scale, [from, to]: [f64; 2], wanted: usize) -> Vec<(f64, String)> {
    if axis.integer_ticks { scale.integer_ticks(from, to, wanted) } else { scale.ticks(from, to, wanted) }
}

fn axis_label(axis: &Axis, scale: Scale) -> String {
    match (scale, axis.has_hidden_label) {
        (Scale::Linear, false) => axis.label.clone(),
        (Scale::Log, false) => format!("{}, log", axis.label),
        (Scale::Linear, true) => String::new(),
        (Scale::Log, true) => "log".to_owned(),
    }
}

fn is_named(chart: &Chart<'_>, i: usize) -> bool {
    let line = &chart.lines[i];
    let drawn = !line.data.is_empty() || line.raw.is_some_and(|r| !r.is_empty());
    line.is_listed() && !line.label.is_empty() && drawn
}

/// The last point at or before x.
pub fn value_before(data: &Data<'_>, x: f64) -> Option<[f64; 2]> {
    match data {
        Data::Curve(c) => c.point_at(x.max(0.0).floor() as u64).map(|(s, v)| [s as f64, v]),
        Data::Points(p) => p.partition_point(|p| p[0] <= x + 1e-12).checked_sub(1).map(|i| p[i]),
    }
}

/// The line's point that is nearest to `x` on the axis, which a readout shows. A staircase holds its value until the
/// next point, so that there it is the point before.
pub fn nearest_point(line: &Line<'_>, x: f64, scale: Scale) -> Option<[f64; 2]> {
    let after = || match &line.data {
        Data::Curve(c) => {
            let next = c.points((x.max(0.0).floor() as u64).saturating_add(1), u64::MAX).next();
            next.map(|(step, value)| [step as f64, value])
        }
        Data::Points(p) => p.get(p.partition_point(|p| p[0] <= x + 1e-12)).copied(),
    };
    let before = value_before(&line.data, x);
    let after = if line.stroke == Stroke::Stairs { None } else { after() };
    let far = |p: &[f64; 2]| (scale.position(p[0]) - scale.position(x)).abs();
    before.into_iter().chain(after).min_by(|a, b| far(a).total_cmp(&far(b)))
}

#[cfg(test)]
mod tests;
