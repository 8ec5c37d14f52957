//! Areas under ROC curves as marks with their intervals, one row per text, and the level of chance.

use crate::ui::views::painting::*;

/// Height of a row, and of what is above the rows.
pub const ROW: f32 = 24.0;
pub const HEAD_HEIGHT: f32 = 38.0;
const MARK: f32 = 3.5;
/// Width of the figure at the end of a row.
const FIGURE: f32 = 34.0;

/// The ROC of one text, scored by the uncertainty and by the model's surprise.
pub struct RocRow<'a> {
    pub name: &'a str,
    pub areas: [Auroc; 2],
}

const NAMES: [&str; 2] = ["uncertainty U", "surprise"];

fn colours(theme: &Theme) -> [Color32; 2] {
    [theme.accent, theme.secondary]
}

fn draw_mark(painter: &Painter, which: usize, at: Pos2, colour: Color32) {
    match which {
        0 => painter.circle_filled(at, MARK, colour),
        _ => painter.circle_stroke(at, MARK - 0.5, Stroke::new(1.5, colour)),
    };
}

pub fn roc_ui(ui: &mut Ui, theme: &Theme, size: Vec2, rows: &[RocRow<'_>]) -> Response {
    let (rect, response, painter) = canvas_ui(ui, size, Sense::hover(), "AUROC by text");
    let small = theme::small();
    let names = rows.iter().map(|r| note_width(&painter, r.name)).fold(0.0, f32::max).min(rect.width() * 0.42) + 10.0;
    let row = ((rect.height() - HEAD_HEIGHT) / rows.len().max(1) as f32).clamp(12.0, 2.0 * ROW);
    let (top, bottom) = (rect.top() + HEAD_HEIGHT, rect.top() + HEAD_HEIGHT + row * rows.len() as f32);
    let columns = rect.left() + names + MARK..=rect.right() - FIGURE - MARK;
    let plot = Rect::from_x_y_ranges(columns, top..=bottom.min(rect.bottom()));
    draw_head(&painter, theme, rect, plot);
    for (i, item) in rows.iter().enumerate() {
        let y = plot.top() + row * (i as f32 + 0.5);
        if y + 6.0 > rect.bottom() {
            break;
        }
        let clip = Rect::from_min_max(pos2(rect.left(), y - row / 2.0), pos2(plot.left() - MARK, y + row / 2.0));
        let galley = painter.layout_no_wrap(item.name.to_owned(), small.clone(), theme.text);
        painter.with_clip_rect(clip).galley(pos2(rect.left(), y - galley.size().y / 2.0), galley, theme.text);
        for (which, (area, colour)) in item.areas.iter().zip(colours(theme)).enumerate() {
            if !area.value.is_finite() {
                continue;
            }
            let at = |v: f64| plot.left() + v.clamp(0.0, 1.0) as f32 * plot.width();
            let y = y + if which == 0 { -row / 6.0 } else { row / 6.0 };
            if area.low.is_finite() && area.high.is_finite() {
                let line = Stroke::new(1.5, colour.gamma_multiply(theme::INTERVAL_LINE));
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
        draw_mark(painter, which, pos2(x + MARK, y), colour);
        let words = painter.text(pos2(x + 11.0, y), Align2::LEFT_CENTER, name, small.clone(), theme.text);
        x = words.right() + 14.0;
    }
    for share in [0.0, 0.5, 1.0] {
        let x = plot.left() + share * plot.width();
        let line = [pos2(x, plot.top() - 2.0), pos2(x, plot.bottom())];
        match share == 0.5 {
            true => clip::paint_dashed(painter, &line, Stroke::new(1.0, theme.secondary), 4.0, 3.0),
            false => _ = painter.line_segment(line, Stroke::new(1.0, theme.line)),
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

pub fn wanted_height(rows: usize) -> f32 {
    HEAD_HEIGHT + ROW * rows as f32
}
