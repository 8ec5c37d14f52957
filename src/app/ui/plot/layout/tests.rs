//! Layouts of charts without a screen.

use eframe::egui::Color32;

use super::{
    super::{Axis, Curve, Smoothed, geometry::place_of},
    *,
};
use crate::ui::theme::{INTERVAL_LINE, Theme, contrast};

fn measure(text: &str, _mono: bool) -> f32 {
    text.chars().count() as f32 * 7.0
}

fn chart<'a>(lines: Vec<Line<'a>>) -> Chart<'a> {
    Chart { lines, ..Chart::new("test", Axis::new("step"), Axis::new("loss")) }
}

fn laid_out(lines: Vec<Line<'_>>) -> Layout {
    Layout::new(&chart(lines), &ChartState::default(), [480.0, 300.0], &measure)
}

#[test]
fn a_million_points_become_two_a_column() {
    let mut c = Curve::default();
    (0..1_000_000u64).for_each(|i| c.push(i, (i as f64 * 0.01).sin()));
    let layout = laid_out(vec![Line::new("a", Color32::RED, &c)]);
    let points: usize = layout.traces.iter().map(|t| t.points.len()).sum();
    assert!(points <= 1000, "{points}");
    let highest = layout.traces.iter().flat_map(|t| &t.points).map(|p| p[1]).fold(f64::MIN, f64::max);
    assert!(place_of(highest, layout.y) > 0.9999, "the extremes survive");
    let begun = std::time::Instant::now();
    let mut smoothed = Smoothed::default();
    smoothed.follow(&c, 0.9);
    let chart = chart(vec![Line::new("a", Color32::RED, smoothed.curve()).raw(&c)]);
    let smoothing = begun.elapsed();
    let begun = std::time::Instant::now();
    for _ in 0..10 {
        Layout::new(&chart, &ChartState::default(), [480.0, 300.0], &measure);
    }
    println!("smoothing a million points once: {smoothing:?}; laying them out: {:?}", begun.elapsed() / 10);
}

#[test]
fn whole_numbers_have_no_digits_after_the_point() {
    for (last, width) in [(1.0, 480.0), (3.0, 480.0), (3.0, 900.0), (7.0, 900.0), (40.0, 480.0)] {
        let data = vec![[0.0, 1.0], [last, 2.0]];
        let lines = vec![Line::new("a", Color32::RED, data)];
        let chart = Chart { lines, ..Chart::new("test", Axis::new("layer").integer_ticks(), Axis::new("loss")) };
        let layout = Layout::new(&chart, &ChartState::default(), [width, 300.0], &measure);
        // one that the axis' name covers has no words
        let words: Vec<_> = layout.x_ticks.iter().map(|t| t.1.as_str()).filter(|w| !w.is_empty()).collect();
        assert!(!words.is_empty() && words.iter().all(|w| w.parse::<u32>().is_ok()), "{words:?}");
    }
}

#[test]
fn long_words_of_an_axis_leave_its_numbers_where_there_is_height() {
    let data = vec![[0.0, 1.0], [80.0, 2.0]];
    let lines = vec![Line::new("a", Color32::RED, data)];
    let chart =
        Chart { lines, ..Chart::new("test", Axis::new("position (tokens)").integer_ticks(), Axis::new("loss")) };
    let covered = |high: f32| {
        let layout = Layout::new(&chart, &ChartState::default(), [350.0, high], &measure);
        assert!(layout.plot.height() >= 80.0, "{high}");
        (layout.x_ticks.iter().filter(|tick| tick.1.is_empty()).count(), layout.x_label_drop)
    };
    assert_eq!(covered(300.0), (0, ROW_HEIGHT), "the words stand below the numbers");
    let (numbers, drop) = covered(150.0);
    assert!(numbers > 1 && drop == 0.0, "the data keep their height: {numbers}");
}

#[test]
fn numbers_of_axes_do_not_touch_in_small_charts() {
    for (wide, high) in [(140.0, 90.0), (146.0, 94.0), (200.0, 120.0), (480.0, 300.0)] {
        for range in [[0.0, 1900.0], [1100.0, 1900.0], [9_000.0, 10_500.0], [98_750.0, 99_400.0], [0.0, 3.0]] {
            let data = vec![[range[0], 0.1234], [range[1], 0.1249]];
            let chart = Chart { x: Axis::steps(), ..chart(vec![Line::new("a", Color32::RED, data)]) };
            let layout = Layout::new(&chart, &ChartState::default(), [wide, high], &measure);
            let shown = |ticks: &[(f64, String)]| -> Vec<(f64, String)> {
                ticks.iter().filter(|tick| !tick.1.is_empty()).cloned().collect()
            };
            for pair in shown(&layout.x_ticks).windows(2) {
                let half = |words: &str| measure(words, true) / 2.0;
                let free = layout.x_at(pair[1].0) - layout.x_at(pair[0].0) - half(&pair[0].1) - half(&pair[1].1);
                assert!(free >= 3.9, "{wide} x {high}, {range:?}: {pair:?}");
            }
            for pair in shown(&layout.y_ticks).windows(2) {
                let apart = layout.y_at(pair[0].0) - layout.y_at(pair[1].0);
                assert!(apart >= TEXT_SIZE - 0.1, "{wide} x {high}, {range:?}: {pair:?}");
            }
        }
    }
}

#[test]
fn values_that_are_not_finite_leave_gaps() {
    let data = vec![[0.0, 1.0], [1.0, 2.0], [2.0, f64::NAN], [3.0, 1.0], [4.0, f64::INFINITY], [5.0, 3.0]];
    assert_eq!(laid_out(vec![Line::new("a", Color32::RED, data)]).traces.len(), 3);
}

#[test]
fn names_at_ends_do_not_overlap_and_stay_inside() {
    let lines =
        (0..8).map(|i| Line::new(format!("line {i}"), Color32::RED, vec![[0.0, 1.0], [1.0, 2.0 + i as f64 * 1e-3]]));
    let layout = laid_out(lines.collect());
    assert_eq!(layout.names.len(), 8);
    for pair in layout.names.windows(2) {
        assert!(pair[1].at.y - pair[0].at.y >= ROW_HEIGHT - 1.5);
    }
    for n in &layout.names {
        assert!(n.at.y > 0.0 && n.at.y < 300.0 && n.at.x > layout.plot.right());
    }
}

#[test]
fn a_line_alone_has_a_name_if_it_is_pinned() {
    let line = || Line::new("a", Color32::RED, vec![[0.0, 1.0], [1.0, 2.0]]);
    assert!(laid_out(vec![line()]).names.is_empty());
    assert_eq!(laid_out(vec![line().pinned()]).names.len(), 1);
    assert_eq!(laid_out(vec![line().pinned(), line().pinned().unnamed()]).names.len(), 1);
}

#[test]
fn long_names_go_above() {
    let long = "a name far too long to stand at the end of a line in a small tile";
    let lines = (0..3).map(|i| Line::new(format!("{long} {i}"), Color32::RED, vec![[0.0, 1.0], [1.0, i as f64]]));
    let layout = laid_out(lines.collect());
    assert!(layout.names.iter().all(|n| n.at.y < layout.plot.top()));
}

/// Every line is named or counted, and neither leaves the tile.
#[test]
fn lines_without_room_for_a_name_are_counted() {
    for wide in 90..400u16 {
        let lines = (0..6).map(|i| Line::new(format!("a model {i}"), Color32::RED, vec![[0.0, 1.0], [1.0, 2.0]]));
        let size = [f32::from(wide), 180.0];
        let layout = Layout::new(&chart(lines.collect()), &ChartState::default(), size, &measure);
        let (count, at) = layout.unnamed.unwrap_or((0, Pos2::ZERO));
        assert_eq!(layout.names.len() + count, 6, "{wide}");
        assert!(at.x + measure(&format!("+ {count} more"), false) <= size[0] || count == 0, "{wide}: {at}");
        let clear = layout.names.iter().all(|n| count == 0 || n.at.y < at.y || n.at.x < at.x);
        assert!(clear, "{wide}: a name in its place");
    }
}

#[test]
fn a_first_step_has_none_before_it() {
    assert_eq!(laid_out(vec![Line::new("a", Color32::RED, vec![[0.0, 0.3]])]).x_values(), [0.0, 1.0]);
}

#[test]
fn a_zoom_is_what_is_shown() {
    let data: Vec<[f64; 2]> = (0..100).map(|i| [i as f64, i as f64]).collect();
    let state = ChartState { zoom_x: Some([10.0, 20.0]), ..Default::default() };
    let layout = Layout::new(&chart(vec![Line::new("a", Color32::RED, data)]), &state, [480.0, 300.0], &measure);
    assert_eq!(layout.x_values(), [10.0, 20.0]);
    assert!(layout.y[0] > 8.0 && layout.y[1] < 22.0, "y fits what is in sight: {:?}", layout.y);
}

#[test]
fn the_nearest_step_is_read() {
    let mut curve = Curve::default();
    [10, 20, 40].into_iter().for_each(|step| curve.push(step, 1.0));
    let read = |curve: &Curve, stroke| {
        let line = Line::new("a", Color32::RED, curve).stroke(stroke);
        [3.0, 14.0, 16.0, 29.0, 31.0, 99.0].map(|x| nearest_point(&line, x, Scale::Linear).map(|p| p[0]))
    };
    assert_eq!(read(&curve, Stroke::Solid), [10.0, 10.0, 20.0, 20.0, 40.0, 40.0].map(Some));
    let stairs = [None, Some(10.0), Some(10.0), Some(20.0), Some(20.0), Some(40.0)];
    assert_eq!(read(&curve, Stroke::Stairs), stairs);
    curve.push(60, 1.0);
    assert_eq!(read(&curve, Stroke::Solid)[..5], [10.0, 10.0, 20.0, 20.0, 40.0].map(Some), "a later step changes none");
}

/// On a logarithmic axis the middle of two points is their geometric mean.
#[test]
fn the_nearest_of_measured_points_is_read() {
    let line = Line::new("a", Color32::RED, vec![[0.25, 1.0], [4.0, 2.0]]);
    let read = |x: f64, scale: Scale| nearest_point(&line, x, scale).map(|p| p[1]);
    assert_eq!([2.0, 2.2].map(|x| read(x, Scale::Linear)), [Some(1.0), Some(2.0)]);
    assert_eq!([0.9, 1.1].map(|x| read(x, Scale::Log)), [Some(1.0), Some(2.0)]);
}

#[test]
fn what_comes_after_the_marker_is_faint() {
    let data: Vec<[f64; 2]> = (0..10).map(|i| [i as f64, 1.0]).collect();
    let mut c = chart(vec![Line::new("a", Color32::RED, data)]);
    c.marker = Some(4.0);
    let layout = Layout::new(&c, &ChartState::default(), [480.0, 300.0], &measure);
    assert_eq!(layout.traces.iter().map(|t| t.strength).collect::<Vec<_>>(), [1.0, FAINTEST_LINE]);
}

/// In each colour of a line: raw values, a line that is faint itself, what came after the marker, and intervals.
#[test]
fn the_faintest_lines_are_seen_in_every_colour() {
    let mut curve = Curve::default();
    (0..10).for_each(|step| curve.push(step, step as f64));
    for theme in [Theme::dark(), Theme::light()] {
        let Theme { text, secondary, accent, fast, slow, warm, cool, .. } = theme;
        let singles = [theme.grey(), text, secondary, accent, fast, slow, warm, cool];
        let series = (0..7).map(|i| theme.series(i)).chain((0..3).map(|i| theme.trace_colour(i)));
        for colour in series.chain(singles) {
            let lines = vec![Line::new("a", colour, &curve).raw(&curve), Line::new("b", colour, &curve).faint()];
            let chart = Chart { marker: Some(4.0), ..chart(lines) };
            let traces = Layout::new(&chart, &ChartState::default(), [480.0, 300.0], &measure).traces;
            for strength in traces.iter().map(|trace| trace.strength).chain([INTERVAL_LINE]) {
                for ground in [theme.page, theme.panel] {
                    let ratio = contrast(ground.blend(colour.gamma_multiply(strength)), ground);
                    assert!(ratio >= 1.6, "{colour:?} at {strength} on {ground:?}: {ratio:.2}");
                }
            }
        }
        let line = laid_out(vec![Line::new("a", text, &curve).faint()]).traces.remove(0);
        for (faint, least) in [(theme.faint(text), 1.6), (line.colour.gamma_multiply(line.strength), 3.0)] {
            let ratio = contrast(theme.panel.blend(faint), theme.panel);
            assert!(ratio >= least, "a faint line in the colour of text, dark {}: {ratio:.2}", theme.dark);
        }
    }
}

/// In a tile the data have room: the chart is made higher than asked, and names are above where they would take width.
#[test]
fn in_a_tile_the_data_have_the_least_room() {
    let in_tile = ChartState { is_in_tile: true, ..Default::default() };
    for count in [1, 2, 5, 12] {
        let line = |i: usize| Line::new(format!("variant {i}"), Color32::RED, vec![[0.0, i as f64], [9.0, 1.0]]);
        let chart = chart((0..count).map(line).collect());
        for wide in (336..700u16).step_by(7).map(f32::from) {
            for high in (90..400u16).step_by(10).map(f32::from) {
                let layout = Layout::new(&chart, &in_tile, [wide, high], &measure);
                let plot = layout.plot.size();
                assert!(
                    plot.x >= MIN_PLOT_SIZE.x && plot.y >= MIN_PLOT_SIZE.y,
                    "{count} lines, {wide} x {high}: {plot:?}"
                );
                assert!(layout.size[0] == wide && layout.size[1] >= high);
            }
        }
        let outside = Layout::new(&chart, &ChartState::default(), [336.0, 120.0], &measure);
        assert!(
            outside.size == [336.0, 120.0] && outside.plot.height() < MIN_PLOT_SIZE.y,
            "elsewhere it keeps its size"
        );
    }
}

/// The x axis stays within the room as long as the names of lines can give way; a row of names is hidden only if the data
/// would otherwise lose its minimum height.
#[test]
fn in_a_low_tile_names_give_way_to_the_axis_where_they_must() {
    let in_tile = ChartState { is_in_tile: true, ..Default::default() };
    let line = |i: usize| Line::new(format!("a longer name {i}"), Color32::RED, vec![[0.0, i as f64], [9.0, 1.0]]);
    let names = |lines: usize, high: f32| {
        let layout = Layout::new(&chart((0..lines).map(line).collect()), &in_tile, [340.0, high], &measure);
        assert!(layout.size[1] == high && layout.plot.height() >= MIN_PLOT_SIZE.y, "{high}");
        (layout.names.len(), layout.unnamed.map_or(0, |(count, _)| count))
    };
    for high in [204.0, 222.0] {
        let (named, count) = names(6, high);
        assert!(count > 0 && named + count == 6, "{high}: {named} and {count}");
    }
    let named = [202.0, 218.0, 234.0, 250.0].map(|high| names(9, high).0);
    assert!(named.is_sorted() && named[1] < named[2] && named[2] < named[3], "{named:?}");
}

/// Two lines that end within the noise keep the order of their names; two that have parted are named as they lie.
#[test]
fn names_are_not_swapped_by_noise() {
    let order = |ends: [f64; 2]| -> Vec<usize> {
        let line = |i: usize| Line::new(format!("{i}"), Color32::RED, vec![[0.0, 10.0 * i as f64], [9.0, ends[i]]]);
        laid_out(vec![line(0), line(1)]).names.iter().map(|name| name.line).collect()
    };
    assert_eq!((order([5.0, 5.02]), order([5.02, 5.0])), (vec![0, 1], vec![0, 1]));
    assert_eq!((order([5.0, 9.0]), order([9.0, 5.0])), (vec![1, 0], vec![0, 1]), "the higher one stands above");
}

#[test]
fn a_hidden_label_leaves_its_scale_alone() {
    let words = |axis: Axis, scale| {
        let lines = vec![Line::new("a", Color32::RED, vec![[0.0, 1.0], [1.0, 2.0]])];
        let chart = Chart { lines, ..Chart::new("test", Axis::new("step"), axis) };
        let state = ChartState { scale_y: Some(scale), ..ChartState::default() };
        Layout::new(&chart, &state, [480.0, 300.0], &measure).y_label
    };
    let shown = [Scale::Linear, Scale::Log].map(|scale| words(Axis::new("loss"), scale));
    let hidden = [Scale::Linear, Scale::Log].map(|scale| words(Axis::new("loss").hide_label(), scale));
    assert_eq!(shown, ["loss", "loss, log"]);
    assert_eq!(hidden, ["", "log"]);
}
