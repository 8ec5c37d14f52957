//! Places labels of zones, spans, reference lines and claimed lines: inside, on no other label, off lines if possible.

use eframe::egui::{Align2, Pos2, Rangef, Rect, pos2, vec2};

use super::{
    Chart, Reference, Zone,
    clip::Window,
    geometry::{Label, Layout, MeasureText, PlottedLine, ROW_HEIGHT},
};
use crate::ui::theme::FAINTEST_LINE;

/// The labels that fit without overlapping another one. The list of the chart names all of them.
pub(super) fn labels(chart: &Chart<'_>, layout: &Layout, measure: MeasureText<'_>) -> Vec<Label> {
    let mut placed: Vec<Label> = vec![];
    for PendingLabel { words, anchors, claim, reference } in pending_labels(chart, layout) {
        let rows = wrap_text(words, layout.plot.width() - 14.0, measure);
        let wide = rows.iter().map(|r| measure(r, false)).fold(0.0, f32::max);
        let size = vec2(wide, rows.len() as f32 * (ROW_HEIGHT - 1.0));
        let mut best: Option<(f32, Rect)> = None;
        for (i, (at, align)) in anchors.into_iter().enumerate() {
            let rect = move_inside(layout.plot, align.anchor_size(at, size));
            let covered = cost(chart, layout, &placed, rect);
            let total = covered + i as f32;
            if covered < OVERLAP_COST && best.is_none_or(|(least, _)| total < least) {
                best = Some((total, rect));
            }
            // later positions that cover nothing are no better
            if covered == 0.0 {
                break;
            }
        }
        if let Some((_, rect)) = best {
            placed.push(Label { rect, rows, claim, leader: reference.and_then(|of| leader_line(rect, layout, of)) });
        }
    }
    placed
}

/// A line from a label to the reference line that it names, if it is a row or more away: other lines may lie between.
fn leader_line(label: Rect, layout: &Layout, reference: &Reference) -> Option<[Pos2; 2]> {
    let (at, label_ends) = match reference.vertical {
        true => (layout.x_of(reference.at), label.x_range()),
        false => (layout.y_of(reference.at), label.y_range()),
    };
    let edge = if label_ends.max < at { label_ends.max } else { label_ends.min };
    let is_apart = !label_ends.contains(at) && (edge - at).abs() > ROW_HEIGHT / 2.0;
    let place = |end: f32| if reference.vertical { pos2(end, label.center().y) } else { pos2(label.center().x, end) };
    is_apart.then(|| [edge, at].map(place))
}

/// The cost of covering another label: more than any position that covers none.
const OVERLAP_COST: f32 = 1e6;

/// The cost of covering a line at all: as much as the last of all candidate positions, so that a clear one is chosen before it.
const CROSSING_COST: f32 = 64.0;

/// The cost of covering a band or what is drawn faintest, as raw values: as much as the last position at a level.
const FAINT_COST: f32 = 24.0;

/// Further rows over and under a level in which its label may stand, where one beside it would cover data; and further
/// columns beside a vertical line.
const FURTHER_ROWS: u8 = 3;

/// Places the labels again, off a further line, which is given in shares of the plot.
pub(super) fn place_avoiding(chart: &Chart<'_>, layout: &mut Layout, points: Vec<[f64; 2]>, measure: MeasureText<'_>) {
    layout.traces.push(PlottedLine { points, strength: 1.0, ..PlottedLine::default() });
    layout.labels = labels(chart, layout, measure);
    layout.traces.pop();
}

struct PendingLabel<'c> {
    words: &'c str,
    /// Candidate positions, the best first.
    anchors: Vec<(Pos2, Align2)>,
    claim: Option<&'static str>,
    /// The reference line that it names.
    reference: Option<&'c Reference>,
}

/// The named labels of the visible range.
fn pending_labels<'c>(chart: &'c Chart<'_>, layout: &Layout) -> impl Iterator<Item = PendingLabel<'c>> {
    let label = |words, anchors, claim, reference| PendingLabel { words, anchors, claim, reference };
    let zones = chart.zones.iter().map(move |zone| label(zone.label.as_str(), in_zone(layout, zone), zone.claim, None));
    let references = chart.references.iter().map(move |reference| {
        label(&reference.label, beside_reference(layout, reference), reference.claim, Some(reference))
    });
    let stated = chart.lines.iter().enumerate().filter(|(_, line)| line.claim.is_some());
    let lines = stated.map(move |(i, line)| label(line.name(), beside_line(layout, i), line.claim, None));
    zones.chain(references).chain(lines).filter(|label| !label.words.is_empty() && !label.anchors.is_empty())
}

/// The heights of rows, from an edge on.
fn rows() -> impl Iterator<Item = f32> {
    (0..8).map(|i| i as f32 * ROW_HEIGHT)
}

/// Candidate label positions of a zone. A horizontal zone is labelled inside at its foot and head if there is room, and
/// otherwise below it, or above it where that is visible.
fn in_zone(layout: &Layout, zone: &Zone) -> Vec<(Pos2, Align2)> {
    let plot = layout.plot;
    if zone.vertical {
        let [from, to] = [zone.from, zone.to].map(|v| layout.x_of(v));
        let at = pos2(from.max(plot.left()) + 4.0, plot.bottom() - 4.0);
        let is_seen = plot.contains(at) && to > plot.left();
        return rows().filter(|_| is_seen).map(|y| (at - vec2(0.0, y), Align2::LEFT_BOTTOM)).collect();
    }
    let [a, b] = [zone.from, zone.to].map(|v| layout.y_of(v));
    let (head, foot) = (a.min(b), a.max(b));
    let (top, bottom) = (head.max(plot.top()), foot.min(plot.bottom()));
    let heights = if bottom - top >= ROW_HEIGHT * 2.0 {
        [Some((bottom - 2.0, Align2::LEFT_BOTTOM)), Some((top + 2.0, Align2::LEFT_TOP))]
    } else if plot.y_range().contains(foot + 2.0) {
        let over = (head - ROW_HEIGHT > plot.top()).then_some((head - 2.0, Align2::LEFT_BOTTOM));
        [Some(((foot + 2.0).min(plot.bottom() - ROW_HEIGHT), Align2::LEFT_TOP)), over]
    } else {
        return vec![];
    };
    let across = [plot.left() + 6.0, plot.center().x, plot.right() - 60.0];
    heights.into_iter().flatten().flat_map(|(y, aligned)| across.map(|x| (pos2(x, y), aligned))).collect()
}

/// Positions beside a visible reference line.
fn beside_reference(layout: &Layout, reference: &Reference) -> Vec<(Pos2, Align2)> {
    let plot = layout.plot;
    if reference.vertical {
        let (x, top) = (layout.x_of(reference.at), plot.top() + 2.0);
        let beside = |apart: f32| {
            let at = move |y: f32| {
                [(pos2(x + apart, top + y), Align2::LEFT_TOP), (pos2(x - apart, top + y), Align2::RIGHT_TOP)]
            };
            rows().flat_map(at)
        };
        let distances = (0..=FURTHER_ROWS).map(|column| 4.0 + f32::from(column) * 2.0 * ROW_HEIGHT);
        return distances.filter(|_| plot.x_range().contains(x)).flat_map(beside).collect();
    }
    let y = layout.y_of(reference.at);
    let across = [
        (plot.left() + 6.0, [Align2::LEFT_BOTTOM, Align2::LEFT_TOP]),
        (plot.right() - 2.0, [Align2::RIGHT_BOTTOM, Align2::RIGHT_TOP]),
        (plot.center().x, [Align2::CENTER_BOTTOM, Align2::CENTER_TOP]),
    ];
    let both = |apart: f32| {
        let at = |(x, [above, below]): (f32, [Align2; 2])| [(pos2(x, y - apart), above), (pos2(x, y + apart), below)];
        across.map(at).into_iter().flatten()
    };
    let distances = (0..=FURTHER_ROWS).map(|row| 2.0 + f32::from(row) * ROW_HEIGHT);
    distances.filter(|_| plot.y_range().contains(y)).flat_map(both).collect()
}

/// Positions above and below a visible line: at its end, at its beginning, and between; none where it is switched off.
fn beside_line(layout: &Layout, line: usize) -> Vec<(Pos2, Align2)> {
    let traces = layout.traces.iter().filter(|trace| trace.line == Some(line));
    let points = traces.flat_map(|trace| &trace.points).map(|shares| layout.screen_point(*shares));
    let points: Vec<Pos2> = points.filter(|at| layout.plot.expand(1.0).contains(*at)).collect();
    let places = [points.last(), points.first(), points.get(points.len() / 2)];
    let both = |at: &Pos2| {
        let [above, below] = match at.x > layout.plot.center().x {
            true => [Align2::RIGHT_BOTTOM, Align2::RIGHT_TOP],
            false => [Align2::LEFT_BOTTOM, Align2::LEFT_TOP],
        };
        [(*at - vec2(0.0, 3.0), above), (*at + vec2(0.0, 3.0), below)]
    };
    places.into_iter().flatten().flat_map(both).collect()
}

pub(super) fn move_inside(plot: Rect, rect: Rect) -> Rect {
    let inside = plot.shrink(3.0);
    let right = (inside.right() - rect.right()).min(0.0);
    let rect = rect.translate(vec2(right, (inside.bottom() - rect.bottom()).min(0.0)));
    rect.translate(vec2((inside.left() - rect.left()).max(0.0), (inside.top() - rect.top()).max(0.0)))
}

/// The penalty of a label's place: it counts overlaps with other labels, then with lines, reference lines among them,
/// then with bands and what is drawn faintest.
fn cost(chart: &Chart<'_>, layout: &Layout, placed: &[Label], rect: Rect) -> f32 {
    if placed.iter().any(|l| l.rect.expand(1.0).intersects(rect)) {
        return OVERLAP_COST;
    }
    let near = rect.expand(2.0);
    let window = Window { x: ends(near.x_range()), y: ends(near.y_range()) };
    let count = |t: &PlottedLine| {
        let at = |shares: &[f64; 2]| {
            let Pos2 { x, y } = layout.screen_point(*shares);
            [x, y].map(f64::from)
        };
        let on = t.points.windows(2).filter(|p| window.segment(at(&p[0]), at(&p[1])).is_some());
        let single = t.points.len() == 1 && window.contains(at(&t.points[0]));
        on.count() + usize::from(single)
    };
    let traces = || layout.traces.iter().filter(|t| !t.stems);
    let is_faint = |t: &PlottedLine| t.strength <= FAINTEST_LINE;
    let crossed = traces().filter(|t| !is_faint(t)).map(count).filter(|n| *n > 0);
    let crossed = crossed.map(|n| CROSSING_COST + n.min(40) as f32 * 3.0);
    let is_on_band = layout.areas.iter().flat_map(|area| area.columns.windows(2)).any(|pair| {
        let [[from, low_a, high_a], [to, low_b, high_b]] = [pair[0], pair[1]];
        let upper_left = layout.screen_point([from, high_a.max(high_b)]);
        Rect::from_min_max(upper_left, layout.screen_point([to, low_a.min(low_b)])).intersects(near)
    });
    let is_on_faint = is_on_band || traces().any(|t| is_faint(t) && count(t) > 0);
    // a label may touch its own reference line, and be pushed onto it by the edge of the plot
    let inner = rect.shrink(1.0);
    let through = chart.references.iter().filter(|reference| match reference.vertical {
        true => inner.x_range().contains(layout.x_of(reference.at)),
        false => inner.y_range().contains(layout.y_of(reference.at)),
    });
    crossed.sum::<f32>() + through.count() as f32 * CROSSING_COST + if is_on_faint { FAINT_COST } else { 0.0 }
}

fn ends(range: Rangef) -> [f64; 2] {
    [range.min, range.max].map(f64::from)
}

/// Wraps a text into rows no wider than `room`.
fn wrap_text(words: &str, room: f32, measure: MeasureText<'_>) -> Vec<String> {
    let mut rows: Vec<String> = vec![];
    for word in words.split(' ') {
        match rows.last_mut() {
            Some(row) if measure(&format!("{row} {word}"), false) <= room => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use eframe::egui::Color32;

    use super::{
        super::{Axis, ChartState, Curve, Line},
        *,
    };

    fn measure(text: &str, _mono: bool) -> f32 {
        text.chars().count() as f32 * 7.0
    }

    /// At every width, on whatever is beside them.
    #[test]
    fn labels_stay_inside_and_off_one_another() {
        for wide in 140..500u16 {
            let points: Vec<[f64; 2]> = (0..30).map(|i| [f64::from(i), f64::from(i % 7)]).collect();
            let mut chart = Chart::new("t", Axis::new("x"), Axis::new("y")).line(Line::new("a", Color32::RED, points));
            chart.horizontal_line("G(n, m): 0.062", 3.0);
            chart.horizontal_line("random product: 0.080", 3.1).claim = Some("E7");
            chart.vertical_line("changed", 12.0);
            chart.horizontal_span("paper: stays closed, \u{b1}0.01", Color32::RED, [1.0, 1.2]).claim = Some("A1");
            chart.vertical_span("warm-up", Color32::RED, [0.0, 1.0]);
            chart.vertical_span("new", Color32::RED, [1.0, 2.0]);
            let layout = Layout::new(&chart, &ChartState::default(), [f32::from(wide), 200.0], &measure);
            for (i, label) in layout.labels.iter().enumerate() {
                assert!(layout.plot.expand(0.5).contains_rect(label.rect), "{wide}: {label:?} in {:?}", layout.plot);
                let clear = layout.labels[..i].iter().all(|other| !other.rect.intersects(label.rect));
                assert!(clear, "{wide}: {label:?}");
            }
            assert!(wide < 240 || layout.labels.len() == 6, "{wide}: {} of 6", layout.labels.len());
            let claims = layout.labels.iter().filter_map(|label| Some((label.rows.join(" "), label.claim?)));
            for (words, claim) in claims {
                assert!(words.starts_with(if claim == "E7" { "random" } else { "paper" }), "{claim}: {words}");
            }
            assert!(wide < 240 || layout.labels.iter().filter(|label| label.claim.is_some()).count() == 2);
        }
    }

    /// A long segment counts as much as many short ones, and a guess as much as a line of the run.
    #[test]
    fn labels_are_placed_where_no_line_is() {
        let steep = Line::new("a", Color32::RED, vec![[0.0, 0.0], [2.0, 1.0], [30.0, 1.0]]);
        let mut chart = Chart::new("t", Axis::new("x"), Axis::new("y")).line(steep);
        chart.horizontal_line("chance", 0.3);
        let mut layout = Layout::new(&chart, &ChartState::default(), [400.0, 240.0], &measure);
        let is_on = |rect: Rect, [a, b]: [Pos2; 2]| (0..=200u8).any(|i| rect.contains(a.lerp(b, f32::from(i) / 200.0)));
        let steep = [[0.0, 0.0], [2.0, 1.0]].map(|point| layout.at(point));
        let label = layout.labels[0].rect;
        assert!(!is_on(label, steep), "{label:?} is on the line {steep:?}");
        // a guess through the label and what is left of it, at its height
        let (at, plot) = (label.center(), layout.plot);
        let share = f64::from((plot.bottom() - at.y) / plot.height());
        place_avoiding(&chart, &mut layout, vec![[0.0, share], [1.0, share]], &measure);
        let (moved, guess) = (layout.labels[0].rect, [pos2(plot.left(), at.y), pos2(plot.right(), at.y)]);
        assert!(!is_on(moved, guess), "{moved:?} is on the guess {guess:?}");
        assert!(layout.traces.iter().all(|trace| trace.line.is_some()), "the guess is not a line of the run");
    }

    /// The second line is nearer to the right edge than its label is wide.
    #[test]
    fn a_label_is_off_reference_lines() {
        let points = vec![[0.0, 1.0], [220.0, 0.0]];
        let mut chart = Chart::new("t", Axis::new("x"), Axis::new("y")).line(Line::new("a", Color32::RED, points));
        for at in [50.0, 200.0] {
            chart.vertical_line(format!("paper: {at} words"), at);
        }
        let layout = Layout::new(&chart, &ChartState::default(), [400.0, 260.0], &measure);
        assert_eq!(layout.labels.len(), 2);
        for (label, at) in layout.labels.iter().flat_map(|label| [50.0, 200.0].map(|at| (label, at))) {
            assert!(!label.rect.x_range().contains(layout.x_of(at)), "{label:?} is on the line at {at}");
        }
    }

    /// A level among lines is named above them, with a line that leads to it.
    #[test]
    fn a_label_leaves_its_level_where_lines_are_on_both_sides() {
        let low = (0..60u8).map(|i| [f64::from(i), if i.is_multiple_of(2) { 0.0 } else { 0.25 }]);
        let high = vec![[0.0, 1.0], [59.0, 1.0]];
        let lines = [low.collect(), high].map(|points: Vec<[f64; 2]>| Line::new("a", Color32::RED, points).unnamed());
        let mut chart = Chart { lines: lines.into(), ..Chart::new("t", Axis::new("x"), Axis::new("y")) };
        chart.horizontal_line("most common", 0.1);
        let layout = Layout::new(&chart, &ChartState::default(), [400.0, 260.0], &measure);
        let (label, [lowest, highest]) = (layout.labels[0].rect, [0.25, 1.0].map(|y| layout.y_of(y)));
        assert!(label.bottom() < lowest && label.top() > highest, "{label:?} between {highest} and {lowest}");
        let level = layout.y_of(0.1);
        let leader = layout.labels[0].leader.expect("a line leads to the level");
        assert!(leader.map(|end| end.y) == [label.bottom(), level] && leader[0].x == leader[1].x, "{leader:?}");
        let alone = Line::new("a", Color32::RED, vec![[0.0, 1.0], [59.0, 1.0]]);
        let mut chart = Chart::new("t", Axis::new("x"), Axis::new("y").include(&[0.0])).line(alone);
        chart.horizontal_line("most common", 0.1);
        let layout = Layout::new(&chart, &ChartState::default(), [400.0, 260.0], &measure);
        assert_eq!(layout.labels[0].leader, None, "beside its level it needs none");
    }

    /// The curve swings through all heights beside the line, and nowhere else.
    #[test]
    fn a_label_leaves_its_vertical_line_where_a_curve_is_beside_it() {
        let swing = |i: u8| if (20..40).contains(&i) && i.is_multiple_of(2) { 1.0 } else { 0.0 };
        let points: Vec<[f64; 2]> = (0..=60).map(|i| [f64::from(i), swing(i)]).collect();
        let mut chart = Chart::new("t", Axis::new("x"), Axis::new("y")).line(Line::new("a", Color32::RED, points));
        chart.vertical_line("u = 0", 30.0);
        let layout = Layout::new(&chart, &ChartState::default(), [400.0, 260.0], &measure);
        let (label, x) = (layout.labels[0].rect, layout.x_of(30.0));
        assert!(label.left() > layout.x_of(40.0) || label.right() < layout.x_of(20.0), "{label:?} beside {x}");
        let leader = layout.labels[0].leader.expect("a line leads to the vertical one");
        assert!(leader[0].y == leader[1].y && leader[1].x == x, "{leader:?}");
    }

    /// The level is in the middle of a band and of noisy values.
    #[test]
    fn a_label_is_off_bands_and_raw_values() {
        let mut raw = Curve::default();
        (0..60u64).for_each(|step| raw.push(step, if step.is_multiple_of(2) { 0.1 } else { -0.1 }));
        let mean = vec![[0.0, 0.0], [59.0, 0.0]];
        let mut chart = Chart::new("t", Axis::new("x"), Axis::new("y").include(&[-1.0, 1.0]));
        chart.add(Line::new("a", Color32::RED, mean).raw(&raw));
        chart.band("a, \u{b1}1 sd", Color32::RED, vec![[0.0, -0.2], [59.0, -0.2]], vec![[0.0, 0.2], [59.0, 0.2]]);
        chart.horizontal_line("equal", 0.0);
        let layout = Layout::new(&chart, &ChartState::default(), [400.0, 260.0], &measure);
        let label = &layout.labels[0];
        assert!(label.rect.bottom() < layout.y_of(0.2) || label.rect.top() > layout.y_of(-0.2), "{label:?}");
        assert!(label.leader.is_some());
    }

    /// A line that is the number of a claim is named beside itself; one that is switched off is not.
    #[test]
    fn a_line_of_a_claim_has_its_label() {
        let points: Vec<[f64; 2]> = (0..8).map(|i| [f64::from(i), f64::from(i * i)]).collect();
        let paper = Line::new("paper: standard", Color32::RED, points.clone()).dashed().short("paper").claim("C15");
        let chart =
            Chart::new("t", Axis::new("x"), Axis::new("y")).line(Line::new("a", Color32::RED, points)).line(paper);
        let named = |state: &ChartState| -> Vec<(String, Option<&'static str>)> {
            let layout = Layout::new(&chart, state, [400.0, 240.0], &measure);
            layout.labels.iter().map(|label| (label.rows.join(" "), label.claim)).collect()
        };
        assert_eq!(named(&ChartState::default()), [("paper".to_owned(), Some("C15"))]);
        let hidden = ChartState { hidden: ["paper".to_owned()].into(), ..ChartState::default() };
        assert!(named(&hidden).is_empty());
    }
}
