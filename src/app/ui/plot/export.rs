//! A chart as SVG and as CSV: exactly what is shown.

use eframe::egui::{Color32, Pos2, Rect, vec2};

use super::{
    Chart, ChartState, Data, Line, Mark, StepEvent, Stroke,
    geometry::{Layout, MeasureText, ROW_HEIGHT, SWATCH_WIDTH, TEXT_SIZE},
    svg::{Paint, Svg, escape},
};
use crate::ui::{
    table::{Table, optional_field},
    theme::Theme,
};

impl Chart<'_> {
    /// Comma-separated values of every point in the shown range: one column of x, one for each line
    /// (and one for its values before smoothing). Empty cells are gaps. `None` without points.
    pub fn csv(&self, state: &ChartState) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let layout = Layout::new(self, state, sheet(state), &guess_width);
        let shown = layout.x_values();
        let mut columns: Vec<(String, Vec<[f64; 2]>)> = vec![];
        for line in self.lines.iter().filter(|line| !state.hides(line)) {
            columns.extend(line.raw.map(|raw| (format!("{} (raw)", line.label), points_of(&Data::Curve(raw), shown))));
            columns.push((line.values_label(), points_of(&line.data, shown)));
        }
        for band in self.bands.iter().filter(|band| !state.hides_band(self, band)) {
            columns.push((format!("{} (low)", band.label), points_of(&band.low, shown)));
            columns.push((format!("{} (high)", band.label), points_of(&band.high, shown)));
        }
        let header = std::iter::once(self.x.label.as_str()).chain(columns.iter().map(|(name, _)| name.as_str()));
        let mut table = Table::new(header);
        let mut xs: Vec<f64> = columns.iter().flat_map(|(_, points)| points.iter().map(|p| p[0] + 0.0)).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let mut rows: Vec<Vec<Option<f64>>> = vec![vec![None; columns.len()]; xs.len()];
        for (i, (_, points)) in columns.iter().enumerate() {
            for [x, y] in points {
                rows[xs.partition_point(|other| other < x)][i] = Some(*y);
            }
        }
        for (x, cells) in xs.into_iter().zip(rows) {
            let cell = |v: Option<f64>| optional_field(v.filter(|v| v.is_finite()));
            table.row(std::iter::once(x.to_string()).chain(cells.into_iter().map(cell)));
        }
        Some(table.finish())
    }

    /// A drawing as it was last shown, but higher where the names of all lines need it; `None` without points.
    pub fn svg(&self, state: &ChartState, theme: &Theme) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let layout = self.named_layout(state, sheet(state), &guess_width);
        let mut svg = Svg::new(&self.name, layout.size.into(), theme.panel);
        self.svg_frame(&layout, theme, &mut svg);
        svg_events(&layout, &state.events, theme, &mut svg);
        self.svg_data(&layout, &mut svg);
        self.svg_labels(&layout, state, theme, &mut svg);
        Some(svg.finish())
    }

    /// The layout with every line named, since a drawing has no list to open. Names take a quarter of the height.
    pub(super) fn named_layout(
        &self,
        state: &ChartState,
        [width, height]: [f32; 2],
        measure: MeasureText<'_>,
    ) -> Layout {
        let with_rows =
            |rows: usize| Layout::new(self, state, [width, height + 4.0 * ROW_HEIGHT * rows as f32], measure);
        let mut layout = with_rows(0);
        for rows in 1..=self.lines.len() {
            if layout.unnamed.is_none() {
                break;
            }
            layout = with_rows(rows);
        }
        layout
    }

    fn svg_frame(&self, layout: &Layout, theme: &Theme, svg: &mut Svg) {
        let plot = layout.plot;
        for zone in &self.zones {
            let Some(rect) = zone.rect(layout) else { continue };
            let [min, max] = [rect.min, rect.max].map(|at| at.clamp(plot.min, plot.max));
            svg.rect(Rect { min, max }, 0, Paint::faint_fill(zone.colour, zone.opacity()));
        }
        let hairline = Paint::stroke(theme.line, 1.0);
        for (place, words) in &layout.y_ticks {
            let y = layout.y_at(*place);
            svg.line([Pos2::new(plot.left(), y), Pos2::new(plot.right(), y)], hairline);
            svg.text(Pos2::new(plot.left() - 6.0, y + 4.0), "end", words, theme.secondary);
        }
        for (place, words) in &layout.x_ticks {
            let x = layout.x_at(*place);
            svg.line([Pos2::new(x, plot.top()), Pos2::new(x, plot.bottom())], hairline);
            svg.text(Pos2::new(x, plot.bottom() + 15.0), "middle", words, theme.secondary);
        }
    }

    fn svg_data(&self, layout: &Layout, svg: &mut Svg) {
        let plot = layout.plot;
        svg.raw(&format!(
            "<clipPath id=\"plot\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>\n<g \
             clip-path=\"url(#plot)\">\n",
            plot.left(),
            plot.top(),
            plot.width(),
            plot.height()
        ));
        for area in &layout.areas {
            let low = area.columns.iter().map(|c| layout.screen_point([c[0], c[1]]));
            let high = area.columns.iter().rev().map(|c| layout.screen_point([c[0], c[2]]));
            svg.path(&low.chain(high).collect::<Vec<_>>(), true, Paint::faint_fill(area.colour, 0.18));
        }
        for trace in &layout.traces {
            if trace.mark.is_some() {
                continue;
            }
            let points: Vec<Pos2> = trace.points.iter().map(|p| layout.screen_point(*p)).collect();
            if trace.stems {
                for p in &points {
                    let paint = Paint::faint_stroke(trace.colour, 2.0, trace.strength);
                    svg.line([Pos2::new(p.x, plot.bottom()), *p], paint);
                }
                continue;
            }
            let paint = Paint::faint_stroke(trace.colour, trace.width, trace.strength).dashes(trace.stroke.dashes());
            svg.path(&points, false, paint);
        }
        svg.raw("</g>\n");
        // marks are whole at the edges of the plot
        let marked = layout.traces.iter().filter_map(|t| Some((t, t.mark.or(t.dots.then_some(Mark::Dot))?)));
        for (trace, mark) in marked {
            let points = layout.marked_points(trace).map(|p| layout.screen_point(p));
            points.for_each(|p| draw_mark(svg, p, mark, trace.colour));
        }
    }

    fn svg_labels(&self, layout: &Layout, state: &ChartState, theme: &Theme, svg: &mut Svg) {
        let plot = layout.plot;
        svg.text(Pos2::new(2.0, ROW_HEIGHT / 2.0 + 4.0), "start", &layout.y_label, theme.secondary);
        let at = Pos2::new(plot.right() + layout.margins[1] - 4.0, plot.bottom() + 15.0 + layout.x_label_drop);
        svg.text(at, "end", &layout.x_label, theme.secondary);
        for reference in &self.references {
            let path = reference.path(layout);
            if plot.expand(1.0).contains(path[0]) {
                svg.line(path, Paint::stroke(theme.secondary, 1.0).dashes(reference.stroke.dashes()));
            }
        }
        for label in &layout.labels {
            if let Some(leader) = label.leader {
                svg.line(leader, Paint::stroke(theme.secondary, 1.0));
            }
            for (i, row) in label.rows.iter().enumerate() {
                let at = label.rect.min + vec2(0.0, i as f32 * (ROW_HEIGHT - 1.0) + TEXT_SIZE - 1.0);
                svg.text(at, "start", row, theme.secondary);
            }
        }
        for name in layout.names.iter().filter(|name| !state.hides(&self.lines[name.line])) {
            let line: &Line<'_> = &self.lines[name.line];
            let end = name.at + vec2(SWATCH_WIDTH, 0.0);
            match line.stroke {
                Stroke::Marks(mark) => draw_mark(svg, name.at + vec2(SWATCH_WIDTH / 2.0, 0.0), mark, line.colour),
                stroke => svg.line([name.at, end], Paint::stroke(line.colour, 2.0).dashes(stroke.dashes())),
            }
            svg.text(Pos2::new(end.x + 4.0, name.at.y + 4.0), "start", line.name(), theme.text);
        }
        if let Some(marker) = self.marker {
            let x = layout.x_of(marker);
            if plot.x_range().contains(x) {
                svg.line([Pos2::new(x, plot.top()), Pos2::new(x, plot.bottom())], Paint::stroke(theme.accent, 1.0));
            }
        }
    }
}

/// A line for each visible event, named when pointed to.
fn svg_events(layout: &Layout, events: &[StepEvent], theme: &Theme, svg: &mut Svg) {
    let plot = layout.plot;
    for event in events {
        let x = layout.x_of(event.step as f64);
        if plot.x_range().contains(x) {
            svg.raw(&format!(
                "<path d=\"M{x:.1} {:.1}V{:.1}\"{}><title>{}</title></path>\n",
                plot.top(),
                plot.bottom(),
                Paint::faint_stroke(theme.secondary, 1.0, 0.55),
                escape(&event.label())
            ));
        }
    }
}

fn draw_mark(svg: &mut Svg, at: Pos2, mark: Mark, colour: Color32) {
    let by = |x: f32, y: f32| Pos2::new(at.x + x, at.y + y);
    let r = super::mark::MARK;
    match mark {
        Mark::Cross => {
            let r = r * std::f32::consts::FRAC_1_SQRT_2;
            svg.line([by(-r, -r), by(r, r)], Paint::stroke(colour, 1.5));
            svg.line([by(-r, r), by(r, -r)], Paint::stroke(colour, 1.5));
        }
        Mark::Up => svg.path(&super::mark::triangle(at), true, Paint::fill(colour)),
        Mark::Ring => svg.circle(at, r, Paint::stroke(colour, 1.0)),
        Mark::Dot => svg.circle(at, super::mark::DOT, Paint::fill(colour)),
    }
}

fn sheet(state: &ChartState) -> [f32; 2] {
    state.size.unwrap_or([640.0, 400.0])
}

/// Estimates the width of text in a font that is not available, a little generously.
fn guess_width(text: &str, mono: bool) -> f32 {
    text.chars().count() as f32 * TEXT_SIZE * if mono { 0.62 } else { 0.56 }
}

fn points_of(data: &Data<'_>, shown: [f64; 2]) -> Vec<[f64; 2]> {
    match data {
        Data::Curve(c) => {
            let (from, to) = (shown[0].max(0.0).ceil() as u64, shown[1].max(0.0).floor() as u64);
            c.points(from, to).map(|(s, v)| [s as f64, v]).collect()
        }
        Data::Points(p) => {
            p.iter().copied().filter(|p| p[0].is_finite() && p[0] >= shown[0] && p[0] <= shown[1]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui;

    use super::{
        super::{Axis, Curve, begin_picture, missing_height},
        *,
    };
    use crate::ui::theme;

    #[test]
    fn rows_rise_by_x_whatever_its_sign() {
        let points = |xs: [f64; 4]| xs.map(|x| [x, 1.0]).to_vec();
        let chart = Chart::new("t", Axis::new("x"), Axis::new("y"))
            .line(Line::new("a", Color32::RED, points([-1e9, -2.5, -0.0, 1e-300])))
            .line(Line::new("b", Color32::BLUE, points([-2.5, 0.0, 3.0, 1e9])));
        let csv = chart.csv(&ChartState::default()).unwrap();
        let xs: Vec<f64> = csv.lines().skip(1).map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
        assert_eq!(xs, [-1e9, -2.5, 0.0, 1e-300, 3.0, 1e9]);
    }

    #[test]
    fn csv_holds_the_visible_range_of_every_line() {
        let mut a = Curve::default();
        let mut b = Curve::default();
        (0..10u64).for_each(|i| a.push(i, i as f64));
        (0..10u64).step_by(5).for_each(|i| b.push(i, if i == 5 { f64::NAN } else { 0.5 }));
        let chart = Chart::new("t", Axis::new("step"), Axis::new("loss"))
            .line(Line::new("a, smooth", Color32::RED, &a))
            .line(Line::new("b", Color32::BLUE, &b));
        let state = ChartState { zoom_x: Some([4.0, 6.0]), ..Default::default() };
        assert_eq!(chart.csv(&state).unwrap(), "step,\"a, smooth\",b\n4,4,\n5,5,\n6,6,\n");
        let all = chart.csv(&ChartState::default()).unwrap();
        assert_eq!(all.lines().count(), 11);
        assert!(all.contains("\n0,0,0.5\n"), "{all}");
    }

    fn many_lines() -> Chart<'static> {
        let mut chart = Chart::new("t", Axis::new("step"), Axis::new("loss"));
        for i in 0..12 {
            let label = format!("a variant with a name as long as line {i}");
            chart = chart.line(Line::new(label, Color32::RED, vec![[0.0, 1.0], [1.0, f64::from(i)]]));
        }
        chart
    }

    #[test]
    fn a_picture_is_high_enough_for_every_name() {
        let (chart, theme) = (many_lines(), Theme::dark());
        let drawn = |height: f32, is_picture: bool| {
            let ctx = egui::Context::default();
            theme::apply(&theme, true, &ctx);
            if is_picture {
                begin_picture(&ctx);
            }
            let screen = Rect::from_min_size(Pos2::ZERO, vec2(480.0, 4000.0));
            let input = egui::RawInput { screen_rect: Some(screen), ..Default::default() };
            let (mut state, mut lacking) = (ChartState::default(), 0.0);
            ctx.run_ui(input, |ui| {
                chart.show(ui, vec2(480.0, height), &theme, &mut state);
                lacking = missing_height(ui.ctx());
            })
            .drop_without_applying_deltas();
            (state.size.unwrap()[1], lacking)
        };
        assert_eq!(drawn(240.0, false), (240.0, 0.0), "elsewhere a list has the rest");
        let (height, lacking) = drawn(240.0, true);
        assert!(lacking > 0.0 && height == 240.0 + lacking, "{height} {lacking}");
        assert_eq!(drawn(height, true), (height, 0.0));
    }

    #[test]
    fn a_drawing_names_every_line() {
        let chart = many_lines();
        let state = ChartState { size: Some([480.0, 240.0]), ..ChartState::default() };
        let shown = Layout::new(&chart, &state, sheet(&state), &guess_width);
        assert!(shown.unnamed.is_some(), "in this size some have no room");
        let svg = chart.svg(&state, &Theme::dark()).unwrap();
        for line in &chart.lines {
            assert!(svg.contains(line.name()), "{}", line.name());
        }
        let only = Line::new("only", Color32::RED, vec![[0.0, 1.0], [1.0, 2.0]]);
        let few = Chart::new("t", Axis::new("step"), Axis::new("loss")).line(only);
        let svg = few.svg(&state, &Theme::dark()).unwrap();
        assert_eq!(super::super::svg::size_of(&svg), Some(vec2(480.0, 240.0)), "others keep their size");
    }

    /// The plot cuts lines at its edges; a mark at the first step is whole, one that a zoom leaves out is not drawn.
    #[test]
    fn marks_at_the_edges_are_whole() {
        let points = vec![[0.0, 1.0], [1.0, 2.0], [2.0, 1.0]];
        let line = Line::new("x", Color32::RED, points).stroke(Stroke::Marks(Mark::Ring));
        let chart = Chart::new("t", Axis::new("step"), Axis::new("loss")).line(line);
        let whole = |state: &ChartState| {
            let svg = chart.svg(state, &Theme::dark()).unwrap();
            svg.split_once("</g>").map(|(_, after)| after.matches("<circle").count())
        };
        assert_eq!(whole(&ChartState::default()), Some(3));
        assert_eq!(whole(&ChartState { zoom_x: Some([0.0, 1.99]), ..ChartState::default() }), Some(2));
    }

    #[test]
    fn svg_is_well_formed_and_escapes_words() {
        let line = Line::new("x", Color32::RED, vec![[0.0, 1.0], [1.0, 2.0]]);
        let chart = Chart::new("a < b", Axis::new("step"), Axis::new("loss & more")).line(line);
        let svg = chart.svg(&ChartState::default(), &Theme::dark()).unwrap();
        assert!(svg.contains("loss &amp; more") && svg.contains("a &lt; b"));
        assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
        assert_eq!(svg.matches("<g").count(), svg.matches("</g>").count());
    }
}
