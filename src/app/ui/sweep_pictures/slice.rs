//! A number against one setting: one dot per seed, and the line of means.

use super::{axis_span::AxisSpan, prelude::*};

/// Room for the figures of the axes, points; long ones have more.
const LEFT_MARGIN: f32 = 44.0;
const BOTTOM_MARGIN: f32 = 34.0;
/// Width from which the label of a word says something where it has no room for the whole, points.
const MIN_WORD: f32 = 24.0;

/// Draws the slice along the axis of this index.
pub fn slice_ui(ui: &mut Ui, size: Vec2, view: &SweepView<'_>, axis: usize) -> PointedAt {
    let (results, theme) = (view.results, view.theme);
    let Some(setting) = results.axes.get(axis) else { return PointedAt::default() };
    let (sheet, response) = sheet_ui(ui, size, view, &format!("along {}", setting.key));
    let ends = view.values().and_then(|values_at_step| {
        let all = values_at_step.values.iter().flatten().flat_map(|v| v.each.iter().map(|(_, x)| *x));
        Some((values_at_step, AxisSpan::from_axis(results, axis)?, AxisSpan::around(all, view.scale)?))
    });
    let Some((values_at_step, x, y)) = ends else { return empty_picture(ui, sheet, theme) };
    let (top, bottom) = (sheet.top() + 2.0, sheet.bottom() - BOTTOM_MARGIN);
    let y_ticks = y.ticks((((bottom - top) / 44.0) as usize).clamp(2, 6));
    let wide = |words: &str| text_width(ui.painter(), words, theme::numbers());
    let widest = y_ticks.iter().map(|(_, words)| wide(words)).fold(0.0, f32::max);
    let left = sheet.left() + (widest + 8.0).max(LEFT_MARGIN);
    let plot = Rect::from_min_max(pos2(left, top), pos2(sheet.right() - 10.0, bottom));
    let axes = Axes { sheet, plot, x, y, y_ticks };
    axes.paint(ui, theme, &results.axis_title(axis));
    let line = results.mean_line(values_at_step, axis);
    let means: Vec<Pos2> = line.points.iter().map(|[p, v]| axes.to_screen(*p, *v)).filter(|p| !p.any_nan()).collect();
    if means.len() > 1 {
        ui.painter().line(means, Stroke::new(1.5, theme.secondary));
    }
    let mut dots: Vec<(usize, Pos2)> = vec![];
    for (point, value) in values_at_step.values.iter().enumerate() {
        let (Some(place), Some(value)) = (results.points[point].places.get(axis), value) else { continue };
        dots.extend(value.each.iter().map(|(_, v)| (point, axes.to_screen(*place, *v))).filter(|(_, p)| !p.any_nan()));
    }
    // points outside the brush are drawn first, the selected one last
    let rank = |point: usize| (view.selected == Some(point), view.is_in_brush(point));
    dots.sort_by_key(|(point, _)| rank(*point));
    dots.iter().for_each(|(point, p)| selected_dot(ui, *p, view, *point));
    let pointer = response.hover_pos();
    let far = |(point, p): &(usize, Pos2)| (*point, pointer.map_or(f32::INFINITY, |at| at.distance(*p)));
    let hovered = nearest_point(pointer, dots.iter().filter(|(point, _)| view.is_in_brush(*point)).map(far));
    handle_pointer(&response, view, hovered)
}

/// The area of a slice and its axes.
struct Axes {
    sheet: Rect,
    plot: Rect,
    x: AxisSpan,
    y: AxisSpan,
    /// Share of the height, and words.
    y_ticks: Vec<(f32, String)>,
}

impl Axes {
    fn to_screen(&self, place: f64, value: f64) -> Pos2 {
        let (x, y) = (self.x.share(place), self.y.share(value));
        pos2(self.plot.left() + x * self.plot.width(), self.plot.bottom() - y * self.plot.height())
    }

    /// Paints hairlines, figures and the name of the setting.
    fn paint(&self, ui: &Ui, theme: &Theme, key: &str) {
        let Self { sheet, plot, x, y_ticks, .. } = self;
        let hairline = Stroke::new(1.0, theme.line);
        for (share, words) in y_ticks {
            let at = (plot.bottom() - share * plot.height()).round() + 0.5;
            ui.painter().hline(plot.x_range(), at, hairline);
            figure_text(ui, pos2(plot.left() - 6.0, at), Align2::RIGHT_CENTER, words, theme.secondary);
        }
        let mut free_from = sheet.left();
        let word_room = x.word_share().map(|share| share * plot.width() - 6.0).filter(|room| *room >= MIN_WORD);
        for (share, words) in x.ticks(((plot.width() / 64.0) as usize).clamp(2, 6)) {
            let at = (plot.left() + share * plot.width()).round() + 0.5;
            ui.painter().vline(at, plot.y_range(), hairline);
            if let Some(room) = word_room {
                let words = without_shared(ui.painter(), &words, 0, &theme::numbers(), room);
                figure_text(ui, pos2(at, plot.bottom() + 3.0), Align2::CENTER_TOP, &words, theme.secondary);
                continue;
            }
            let wide = truncated(ui.painter(), &words, theme::small(), theme.secondary, 200.0).size().x * 1.15;
            // figures that would touch those before them are left out
            if at - wide / 2.0 >= free_from && at + wide / 2.0 <= sheet.right() {
                figure_text(ui, pos2(at, plot.bottom() + 3.0), Align2::CENTER_TOP, &words, theme.secondary);
                free_from = at + wide / 2.0 + 6.0;
            }
        }
        let name = truncated(ui.painter(), key, theme::small(), theme.secondary, plot.width());
        let at = pos2(plot.right() - name.size().x, plot.bottom() + 18.0);
        ui.painter().galley(at, name, theme.secondary);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiments::sweep::results::ResultPoint,
        ui::sweep_pictures::{
            PictureChoices, Prepared,
            fixtures::{recorded_number, unmade_run},
        },
    };

    /// The slice along a setting with these words, each that of a run.
    fn slice(words: &[&str]) -> String {
        let kind = AxisKind::Words(words.iter().map(|word| (*word).to_owned()).collect());
        let point =
            |(i, word): (usize, &&str)| ResultPoint { values: vec![(*word).to_owned()], places: vec![i as f64] };
        let results = Arc::new(SweepResults {
            axes: vec![ResultAxis { key: "corpus.file".into(), kind }],
            points: words.iter().enumerate().map(point).collect(),
            seeds: vec![7],
            runs: (0..words.len()).map(|point| unmade_run(point, 7)).collect(),
            numbers: vec![recorded_number("loss", (0..words.len()).map(|i| Some(i as f64)))],
            ..SweepResults::default()
        });
        let choices = PictureChoices { number: 0, others: vec![], step: 10, brush: Brush::default(), is_dark: true };
        let (prepared, theme) = (Prepared::new(&results, choices), Theme::dark());
        let (view, size) = (prepared.view(None, Scale::Linear, &theme), vec2(190.0, 180.0));
        drawing("slice", size, &theme, |ui| _ = slice_ui(ui, size, &view, 0))
    }

    #[test]
    fn every_word_has_a_label() {
        let svg = slice(&["", "/data/texts/own.txt"]);
        assert!(svg.contains(">–<") && svg.contains(">own.txt<"), "{svg}");
        let svg = slice(&["fast_slow_live", "fast_slow_needed"]);
        assert!(svg.matches('…').count() == 2 && svg.contains("ve<") && svg.contains("ed<"), "{svg}");
    }
}
