//! A number against one setting: a dot a seed, and the line of means.

use eframe::egui::{Align2, Pos2, Rect, Stroke, Ui, Vec2, pos2, vec2};

use super::{PointedAt, SweepView, dot, empty, ends::Ends, figure_text, nearest, pointed, sheet_ui, small_text};

/// Room for the figures of the axes, points.
const LEFT: f32 = 44.0;
const FOOT: f32 = 34.0;

/// Along the axis of this place.
pub fn slice_ui(ui: &mut Ui, size: Vec2, view: &SweepView<'_>, axis: usize) -> PointedAt {
    let (results, theme) = (view.results, view.theme);
    let Some(setting) = results.axes.get(axis) else { return PointedAt::default() };
    let (sheet, response) = sheet_ui(ui, size, view, &format!("along {}", setting.key));
    let ends = view.values().and_then(|as_of| {
        let all = as_of.values.iter().flatten().flat_map(|v| v.each.iter().map(|(_, x)| *x));
        Some((as_of, Ends::from_axis(results, axis)?, Ends::around(all, view.scale)?))
    });
    let Some((as_of, x, y)) = ends else {
        empty(ui, sheet, theme, "No run has recorded this number at this step.");
        return PointedAt::default();
    };
    let plot = Rect::from_min_max(sheet.min + vec2(LEFT, 2.0), sheet.max - vec2(10.0, FOOT));
    frame(ui, view, (plot, sheet), (&x, &y), &setting.key);
    let at = |place: f64, value: f64| {
        pos2(plot.left() + x.share(place) * plot.width(), plot.bottom() - y.share(value) * plot.height())
    };
    let line = results.mean_line(as_of, axis);
    let means: Vec<Pos2> = line.points.iter().map(|[p, v]| at(*p, *v)).filter(|p| !p.any_nan()).collect();
    if means.len() > 1 {
        ui.painter().line(means, Stroke::new(1.5, theme.secondary));
    }
    let mut dots: Vec<(usize, Pos2)> = vec![];
    for (point, value) in as_of.values.iter().enumerate() {
        let (Some(place), Some(value)) = (results.points[point].places.get(axis), value) else { continue };
        dots.extend(value.each.iter().map(|(_, v)| (point, at(*place, *v))).filter(|(_, p)| !p.any_nan()));
    }
    // what is brushed away lies under the others, the selected over them
    let rank = |point: usize| (view.selected == Some(point), view.is_kept(point));
    dots.sort_by_key(|(point, _)| rank(*point));
    dots.iter().for_each(|(point, p)| dot(ui, *p, view, *point));
    let pointer = response.hover_pos();
    let far = |(point, p): &(usize, Pos2)| (*point, pointer.map_or(f32::INFINITY, |at| at.distance(*p)));
    let hovered = nearest(pointer, dots.iter().filter(|(point, _)| view.is_kept(*point)).map(far));
    pointed(&response, view, hovered)
}

/// Hairlines, figures and the words of the setting.
fn frame(ui: &Ui, view: &SweepView<'_>, (plot, sheet): (Rect, Rect), (x, y): (&Ends, &Ends), key: &str) {
    let theme = view.theme;
    let hairline = Stroke::new(1.0, theme.line);
    for (share, words) in y.ticks(((plot.height() / 44.0) as usize).clamp(2, 6)) {
        let at = (plot.bottom() - share * plot.height()).round() + 0.5;
        ui.painter().hline(plot.x_range(), at, hairline);
        figure_text(ui, pos2(plot.left() - 6.0, at), Align2::RIGHT_CENTER, &words, theme.secondary);
    }
    let mut free_from = sheet.left();
    for (share, words) in x.ticks(((plot.width() / 64.0) as usize).clamp(2, 6)) {
        let at = (plot.left() + share * plot.width()).round() + 0.5;
        ui.painter().vline(at, plot.y_range(), hairline);
        let wide = small_text(ui, &words, theme.secondary, 200.0).size().x * 1.15;
        // figures that would touch those before them are left out
        if at - wide / 2.0 >= free_from && at + wide / 2.0 <= sheet.right() {
            figure_text(ui, pos2(at, plot.bottom() + 3.0), Align2::CENTER_TOP, &words, theme.secondary);
            free_from = at + wide / 2.0 + 6.0;
        }
    }
    let name = small_text(ui, key, theme.secondary, plot.width());
    let at = pos2(plot.right() - name.size().x, plot.bottom() + 18.0);
    ui.painter().galley(at, name, theme.secondary);
}
