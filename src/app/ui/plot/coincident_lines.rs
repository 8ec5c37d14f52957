//! Lines that coincide: where one covers another, their colours alternate along the line. It works on positions alone.

use eframe::egui::Rect;

use super::geometry::PlottedLine;

/// Lines nearer than this count as coincident, points.
const COINCIDENT_DISTANCE: f32 = 2.0;
/// Length of a segment in one colour, points.
const SEGMENT_LENGTH: usize = 9;

/// Cuts gaps into lines that coincide with earlier ones, so that the earlier ones show through. Where n lines coincide,
/// the first is continuous, and each of the others is drawn in a different nth of the length.
pub(super) fn split_coincident_lines(traces: Vec<PlottedLine>, plot: Rect) -> Vec<PlottedLine> {
    let columns = plot.width().ceil().max(1.0) as usize;
    let mut lines: Vec<usize> = traces.iter().filter_map(|t| t.line).collect();
    lines.sort_unstable();
    lines.dedup();
    if lines.len() < 2 {
        return traces;
    }
    let heights: Vec<Vec<f32>> = lines.iter().map(|line| heights(&traces, *line, columns, plot.height())).collect();
    let shown: Vec<Vec<bool>> = (0..lines.len()).map(|i| shown_columns(&heights, i)).collect();
    let mut woven = Vec::with_capacity(traces.len());
    for trace in traces {
        let place = trace.line.and_then(|line| lines.binary_search(&line).ok());
        match place.and_then(|i| shown.get(i)).filter(|s| s.contains(&false)) {
            Some(shown) => cut_line(trace, shown, &mut woven),
            None => woven.push(trace),
        }
    }
    woven
}

/// The height of a line over each column, points; NaN where it has none.
fn heights(traces: &[PlottedLine], line: usize, columns: usize, height: f32) -> Vec<f32> {
    let mut sums = vec![(0.0f64, 0u32); columns];
    for trace in traces.iter().filter(|t| t.line == Some(line)) {
        for pair in trace.points.windows(2) {
            let [a, b] = [pair[0], pair[1]];
            let at = |x: f64| (x * columns as f64 - 0.5).ceil().clamp(0.0, columns as f64) as usize;
            for (c, sum) in sums.iter_mut().enumerate().take(at(b[0])).skip(at(a[0])) {
                let x = (c as f64 + 0.5) / columns as f64;
                let y = a[1] + (b[1] - a[1]) * ((x - a[0]) / (b[0] - a[0]).max(1e-12)).clamp(0.0, 1.0);
                *sum = (sum.0 + y, sum.1 + 1);
            }
        }
    }
    sums.into_iter().map(|(sum, n)| if n > 0 { (sum / f64::from(n)) as f32 * height } else { f32::NAN }).collect()
}

fn shown_columns(heights: &[Vec<f32>], line: usize) -> Vec<bool> {
    let own = heights.get(line).map_or(&[][..], Vec::as_slice);
    let in_turn = |c: usize, y: f32| {
        let near = |other: &Vec<f32>| other.get(c).is_some_and(|o| (o - y).abs() < COINCIDENT_DISTANCE);
        let rank = heights[..line].iter().filter(|o| near(o)).count();
        let all = rank + 1 + heights[line + 1..].iter().filter(|o| near(o)).count();
        rank == 0 || (c / SEGMENT_LENGTH) % all == rank
    };
    own.iter().enumerate().map(|(c, y)| y.is_nan() || in_turn(c, *y)).collect()
}

/// Cuts a trace to the columns that show it. Dots stay, and so do the upright risers of stairs, which cover no line.
fn cut_line(trace: PlottedLine, shown: &[bool], woven: &mut Vec<PlottedLine>) {
    let columns = shown.len() as f64;
    let is_shown = |x: f64| shown[((x * columns).floor().max(0.0) as usize).min(shown.len() - 1)];
    let mut run: Vec<[f64; 2]> = vec![];
    let mut runs = vec![];
    for pair in trace.points.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        let (first, last) = ((a[0] * columns).floor().max(0.0) as usize, (b[0] * columns).ceil().max(0.0) as usize);
        let mut edges = vec![a];
        for c in first + 1..last.min(shown.len()) {
            if shown[c] != shown[c - 1] {
                let x = c as f64 / columns;
                edges.push([x, a[1] + (b[1] - a[1]) * ((x - a[0]) / (b[0] - a[0]).max(1e-12)).clamp(0.0, 1.0)]);
            }
        }
        edges.push(b);
        for part in edges.windows(2) {
            let is_riser = part[0][0] == part[1][0] && part[0][1] != part[1][1];
            if is_riser || is_shown((part[0][0] + part[1][0]) / 2.0) {
                if run.is_empty() {
                    run.push(part[0]);
                }
                run.push(part[1]);
            } else if !run.is_empty() {
                runs.push(std::mem::take(&mut run));
            }
        }
    }
    runs.push(run);
    let dots: Vec<[f64; 2]> = if trace.dots { trace.points.clone() } else { vec![] };
    let part = |points| PlottedLine { points, dots: false, ..trace.clone() };
    woven.extend(runs.into_iter().filter(|run| run.len() > 1).map(part));
    woven.extend(dots.into_iter().map(|p| PlottedLine { points: vec![p], ..trace.clone() }));
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Color32, pos2};

    use super::{
        super::{Axis, Chart, ChartState, Line, geometry::Layout},
        *,
    };

    fn measure(text: &str, _mono: bool) -> f32 {
        text.chars().count() as f32 * 7.0
    }

    /// For each colour the share of the plot's width over which it is the uppermost.
    fn visible_shares(lines: Vec<Line<'_>>) -> Vec<f64> {
        let colours: Vec<Color32> = lines.iter().map(|l| l.colour).collect();
        let chart = Chart { lines, ..Chart::new("t", Axis::new("x"), Axis::new("y")) };
        let layout = Layout::new(&chart, &ChartState::default(), [640.0, 300.0], &measure);
        let mut top = vec![None; 1000];
        for trace in &layout.traces {
            for pair in trace.points.windows(2) {
                let column = |x: f64| ((x * 1000.0).round() as usize).min(1000);
                top[column(pair[0][0])..column(pair[1][0])].fill(Some(trace.colour));
            }
        }
        colours.iter().map(|c| top.iter().filter(|t| **t == Some(*c)).count() as f64 / 1000.0).collect()
    }

    const COLOURS: [Color32; 3] = [Color32::RED, Color32::GREEN, Color32::BLUE];

    fn line(i: usize, y: impl Fn(f64) -> f64) -> Line<'static> {
        let points: Vec<[f64; 2]> = (0..=40).map(|x| [f64::from(x), y(f64::from(x))]).collect();
        Line::new(format!("line {i}"), COLOURS[i], points)
    }

    #[test]
    fn coinciding_lines_are_drawn_with_equal_shares() {
        for n in [2, 3] {
            let shares = visible_shares((0..n).map(|i| line(i, |x| (x / 5.0).sin())).collect());
            let even = 1.0 / n as f64;
            assert!(shares.iter().all(|s| (s - even).abs() < 0.06), "{n} lines: {shares:?}");
        }
    }

    /// Where a staircase coincides with another line, its treads may be hidden, but its risers stay visible.
    #[test]
    fn risers_of_stairs_stay() {
        let points = vec![[0.0, 0.2], [0.5, 0.2], [0.5, 0.8], [1.0, 0.8]];
        let stairs = PlottedLine { line: Some(0), points, ..PlottedLine::default() };
        let mut woven = vec![];
        cut_line(stairs, &[false; 10], &mut woven);
        assert_eq!(woven.len(), 1);
        assert_eq!(woven[0].points, [[0.5, 0.2], [0.5, 0.8]]);
    }

    #[test]
    fn lines_that_part_are_whole_where_they_are_apart() {
        let parted = |x: f64| if x < 20.0 { 0.0 } else { x - 20.0 };
        let shares = visible_shares(vec![line(0, |_| 0.0), line(1, parted)]);
        assert!(shares[1] > 0.65 && shares[1] < 0.85, "half of one half, all of the other: {shares:?}");
        let chart = Chart {
            lines: vec![line(0, |_| 0.0), line(1, |_| 5.0)],
            ..Chart::new("t", Axis::new("x"), Axis::new("y"))
        };
        let layout = Layout::new(&chart, &ChartState::default(), [640.0, 300.0], &measure);
        assert_eq!(layout.traces.len(), 2, "nothing is cut");
        let plot = Rect::from_min_max(pos2(0.0, 0.0), pos2(100.0, 50.0));
        assert!(split_coincident_lines(vec![], plot).is_empty());
    }
}
