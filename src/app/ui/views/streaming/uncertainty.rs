//! The distribution of U, the inverse precision of a prediction's error, over windows of the run's own text and of
//! foreign ones, and how well it separates the two, compared with the model's own surprise: areas under ROC curves as marks
//! with their intervals, one row per text, and the level of chance.

use super::{CONTROLS_HEIGHT, VARIANTS_TIP, empty_reason, measure_ui, shown_measurement, subtitle_of};
use crate::ui::views::prelude::*;

const GAP: f32 = 8.0;
/// Wider tiles have the areas beside the histogram, points.
const WIDE_WIDTH: f32 = 620.0;
const N_BINS: usize = 24;

#[derive(Default)]
pub struct UncertaintyView {
    /// Shows the histogram of the model's surprise instead of that of U.
    of_surprise: bool,
}

fn values(text: &UncertaintyText, of_surprise: bool) -> &[f64] {
    if of_surprise { &text.surprise } else { &text.uncertainty }
}

/// Shares of values in equal bins from `low` to `high`, as steps: the left edge of each bin, and the end.
fn histogram(values: &[f64], low: f64, high: f64) -> Vec<[f64; 2]> {
    let width = (high - low) / N_BINS as f64;
    let mut counts = [0usize; N_BINS];
    let finite = values.iter().filter(|v| v.is_finite());
    finite.for_each(|v| counts[(((v - low) / width) as usize).min(N_BINS - 1)] += 1);
    let all = values.len().max(1) as f64;
    let steps = counts.iter().enumerate().map(|(i, n)| [low + i as f64 * width, *n as f64 / all]);
    steps.chain([[high, 0.0]]).collect()
}

impl UncertaintyView {
    fn chart(&self, cx: &ViewCx<'_>) -> Chart<'static> {
        let x = if self.of_surprise { "surprise of a window (nats per token)" } else { "U of a window" };
        let mut chart =
            Chart::new("windows by uncertainty", Axis::new(x), Axis::new("share of windows").include(&[0.0]));
        let Some(m) = shown_measurement::<Uncertainty>(cx) else {
            let otherwise = "Not measured yet. Press Space to train, and then Measure: the run's own text and three foreign \
                             ones are read, and the variance of the predictions' errors is kept on the way.";
            let absent = "its predictor is an attention, and U is that of a static one. Choose another variant.";
            return chart.empty(empty_reason::<Uncertainty>(cx, otherwise, absent));
        };
        let all = m.value.texts.iter().flat_map(|t| values(t, self.of_surprise)).copied();
        let Some([low, high]) = finite_range(all) else {
            return chart.empty("Nothing was measured that is a finite number: the model has diverged.");
        };
        // values that are all the same, or farther apart than numbers go
        let (low, high) = (low.max(-1e300), high.min(1e300));
        let high = if high > low { high } else { low + low.abs().max(1e-3) * 0.1 };
        for (i, text) in m.value.texts.iter().enumerate() {
            let points = histogram(values(text, self.of_surprise), low, high);
            chart.add(Line::new(&text.name, cx.theme.series(i), points).stroke(Stroke::Stairs));
        }
        chart
    }
}

impl PanelView for UncertaintyView {
    const SPACING: Vec2 = vec2(GAP, GAP);
    const FOOTER_HEIGHT: f32 = CONTROLS_HEIGHT + GAP;

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let chart = self.chart(cx);
        let found = shown_measurement::<Uncertainty>(cx).filter(|_| !chart.is_empty()).map(|m| m.value);
        let (theme, rows) = (cx.theme, found.map_or(vec![], rows));
        let mut panels = vec![Panel::new(chart, 1.0)];
        if !rows.is_empty() {
            panels.push(Panel::canvas("AUROC by text", move |ui, size| roc_ui(ui, theme, size, &rows)));
        }
        panels
    }

    fn arrange(&self, ui: &Ui, cx: &ViewCx<'_>, room: Vec2, panels: &[Panel<'_>], _alone: usize) -> Placement {
        let Some(m) = shown_measurement::<Uncertainty>(cx).filter(|_| panels.len() > 1) else {
            return Placement::Alone(0);
        };
        if fits_two(ui.ctx(), room.x, WIDE_WIDTH) {
            let wide = ((room.x - GAP) * 0.58).floor();
            return Placement::Row(vec![vec2(wide, room.y), vec2(room.x - GAP - wide, room.y)]);
        }
        let high = (HEAD_HEIGHT + ROW_HEIGHT * m.texts.len() as f32).min(((room.y - GAP) / 2.0).floor());
        Placement::Column(vec![vec2(room.x, room.y - GAP - high), vec2(room.x, high)])
    }

    fn footer_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let tip = "Weights stay frozen. It takes some seconds.";
        measure_ui::<Uncertainty>(ui, cx, &UncertaintyArgs::default(), tip);
        ui.selectable_value(&mut self.of_surprise, false, "U").on_hover_text("Mean of 1 / \u{3c0} over channels.");
        ui.selectable_value(&mut self.of_surprise, true, "surprise").on_hover_text("The model's own cross-entropy.");
        cx.variants_ui(ui, VARIANTS_TIP);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle_of::<Uncertainty>(cx, "what tells foreign text from the run's own", |m| &m.notes)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let found = shown_measurement::<Uncertainty>(cx)?.value;
        let mut table = Table::new(["text", "told_by", "auroc", "low", "high", "window", "value"]);
        for text in &found.texts {
            let by_uncertainty = ("uncertainty", &text.uncertainty, text.by_uncertainty);
            for (name, values, area) in [by_uncertainty, ("surprise", &text.surprise, text.by_surprise)] {
                for (window, value) in values.iter().enumerate() {
                    table.cells(&[&text.name, &name, &area.value, &area.low, &area.high, &window, value]);
                }
            }
        }
        Some(table)
    }
}

/// Foreign texts first; the own one is held against itself.
fn rows(found: &Uncertainty) -> Vec<RocRow<'_>> {
    let row = |name, text: &UncertaintyText| RocRow { name, areas: [text.by_uncertainty, text.by_surprise] };
    let foreign = found.texts.iter().skip(1).map(|text| row(&text.name, text));
    foreign.chain(found.texts.first().map(|own| row("own text, halves", own))).collect()
}

/// Height of a row, and of what is above the rows.
const ROW_HEIGHT: f32 = 24.0;
const HEAD_HEIGHT: f32 = 38.0;
const MARK_RADIUS: f32 = 3.5;
/// Width of the figure at the end of a row.
const FIGURE_WIDTH: f32 = 34.0;

/// The ROC of one text, scored by the uncertainty and by the model's surprise.
struct RocRow<'a> {
    name: &'a str,
    areas: [Auroc; 2],
}

const NAMES: [&str; 2] = ["uncertainty U", "surprise"];

fn colours(theme: &Theme) -> [Color32; 2] {
    [theme.accent, theme.secondary]
}

fn draw_mark(painter: &Painter, which: usize, at: Pos2, colour: Color32) {
    match which {
        0 => painter.circle_filled(at, MARK_RADIUS, colour),
        _ => painter.circle_stroke(at, MARK_RADIUS - 0.5, Pen::new(1.5, colour)),
    };
}

fn roc_ui(ui: &mut Ui, theme: &Theme, size: Vec2, rows: &[RocRow<'_>]) -> Response {
    let (rect, response, painter) = canvas_ui(ui, size, Sense::hover(), "AUROC by text");
    let small = theme::small();
    let names = rows.iter().map(|r| note_width(&painter, r.name)).fold(0.0, f32::max).min(rect.width() * 0.42) + 10.0;
    let row = ((rect.height() - HEAD_HEIGHT) / rows.len().max(1) as f32).clamp(12.0, 2.0 * ROW_HEIGHT);
    let (top, bottom) = (rect.top() + HEAD_HEIGHT, rect.top() + HEAD_HEIGHT + row * rows.len() as f32);
    let columns = rect.left() + names + MARK_RADIUS..=rect.right() - FIGURE_WIDTH - MARK_RADIUS;
    let plot = Rect::from_x_y_ranges(columns, top..=bottom.min(rect.bottom()));
    draw_head(&painter, theme, rect, plot);
    for (i, item) in rows.iter().enumerate() {
        let y = plot.top() + row * (i as f32 + 0.5);
        if y + 6.0 > rect.bottom() {
            break;
        }
        let clip = Rect::from_min_max(pos2(rect.left(), y - row / 2.0), pos2(plot.left() - MARK_RADIUS, y + row / 2.0));
        let galley = painter.layout_no_wrap(item.name.to_owned(), small.clone(), theme.text);
        painter.with_clip_rect(clip).galley(pos2(rect.left(), y - galley.size().y / 2.0), galley, theme.text);
        for (which, (area, colour)) in item.areas.iter().zip(colours(theme)).enumerate() {
            if !area.value.is_finite() {
                continue;
            }
            let at = |v: f64| plot.left() + v.clamp(0.0, 1.0) as f32 * plot.width();
            let y = y + if which == 0 { -row / 6.0 } else { row / 6.0 };
            if area.low.is_finite() && area.high.is_finite() {
                let line = Pen::new(1.5, colour.gamma_multiply(theme::INTERVAL_LINE));
                painter.hline(at(area.low)..=at(area.high), y, line);
            }
            draw_mark(&painter, which, pos2(at(area.value), y), colour);
        }
        let value = item.areas[0].value;
        let figure = if value.is_finite() { format!("{value:.2}") } else { "none".to_owned() };
        let at = pos2(rect.right(), y);
        painter.text(at, Align2::RIGHT_CENTER, figure, theme::numbers(), colours(theme)[0]);
    }
    let under = response.hover_pos().map(|p| ((p.y - plot.top()) / row).floor());
    let Some(item) = under.filter(|i| *i >= 0.0).and_then(|i| rows.get(i as usize)) else { return response };
    response.on_hover_text_at_pointer(row_text(item))
}

/// Draws the legend of the signs, the axis, and the level of chance.
fn draw_head(painter: &Painter, theme: &Theme, rect: Rect, plot: Rect) {
    let small = theme::small();
    let mut x = rect.left();
    for (which, (name, colour)) in NAMES.iter().zip(colours(theme)).enumerate() {
        let y = rect.top() + 9.0;
        draw_mark(painter, which, pos2(x + MARK_RADIUS, y), colour);
        let words = painter.text(pos2(x + 11.0, y), Align2::LEFT_CENTER, name, small.clone(), theme.text);
        x = words.right() + 14.0;
    }
    for share in [0.0, 0.5, 1.0] {
        let x = plot.left() + share * plot.width();
        let line = [pos2(x, plot.top() - 2.0), pos2(x, plot.bottom())];
        match share == 0.5 {
            true => clip::paint_dashed(painter, &line, Pen::new(1.0, theme.secondary), 4.0, 3.0),
            false => _ = painter.line_segment(line, Pen::new(1.0, theme.line)),
        }
    }
    let y = plot.top() - 10.0;
    let draw_text = |x: f32, align, words: &str| painter.text(pos2(x, y), align, words, small.clone(), theme.secondary);
    draw_text(plot.left(), Align2::LEFT_CENTER, "0");
    draw_text(plot.center().x, Align2::CENTER_CENTER, "chance 0.5");
    draw_text(plot.right(), Align2::RIGHT_CENTER, "1");
}

fn row_text(row: &RocRow<'_>) -> String {
    let mut words = row.name.to_owned();
    for (name, area) in NAMES.iter().zip(row.areas) {
        // writing to a string does not fail
        let _ = match area.value.is_finite() {
            true => write!(words, "\n{name}: AUROC {:.3} ({:.3} to {:.3})", area.value, area.low, area.high),
            false => write!(words, "\n{name}: no value"),
        };
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_value_has_a_bin() {
        let steps = histogram(&[0.0, 1.0, 0.5, f64::NAN], 0.0, 1.0);
        assert_eq!(steps.len(), N_BINS + 1);
        let sum: f64 = steps.iter().map(|s| s[1]).sum();
        assert!((sum - 0.75).abs() < 1e-12, "the fourth is not a number");
        assert_eq!((steps[0][1], steps[N_BINS - 1][1]), (0.25, 0.25));
    }
}
