//! The values under the pointer: a line, a dot on each curve, and all of them in one box. It does not
//! know what a hand did to get there.

use eframe::egui::{self, Color32, FontId, Rect, StrokeKind, pos2, vec2};

use super::{
    layout::{ROW, SWATCH, TEXT, value_before},
    paint::Canvas,
    scale::value_words,
};

impl Canvas<'_> {
    /// The line under the pointer, a dot on each line, and all their values in one box.
    pub(super) fn cursor(&self, x: f64, with_box: bool) {
        let (layout, theme, area) = (self.layout, self.theme, self.area());
        let at_x = layout.x_at(layout.x_scale.place(x)) + self.corner.x;
        if !area.x_range().contains(at_x) {
            return;
        }
        self.painter.vline(at_x, area.y_range(), egui::Stroke::new(1.0, theme.secondary.gamma_multiply(0.7)));
        let mut rows: Vec<(Color32, &str, String)> = vec![];
        let mut exact_x = None;
        for line in self.chart.lines.iter().filter(|l| !l.faint) {
            let Some([px, py]) = value_before(&line.data, x) else { continue };
            let dot = layout.at(layout.x_scale.place(px), layout.y_scale.place(py)) + self.corner;
            if area.contains(dot) {
                self.painter.circle(dot, 3.0, line.colour, egui::Stroke::new(1.0, theme.panel));
            }
            exact_x = Some(exact_x.map_or(px, |e: f64| e.max(px)));
            if !line.label.is_empty() {
                rows.push((line.colour, &line.label, value_words(py)));
            }
        }
        if with_box && let Some(x) = exact_x {
            rows.truncate(16);
            self.readout(at_x, &format!("{} {}", self.chart.x.label, value_words_of_x(x)), &rows);
        }
    }

    fn readout(&self, at_x: f32, head: &str, rows: &[(Color32, &str, String)]) {
        let theme = self.theme;
        let label = |t: &str| self.painter.layout_no_wrap(t.to_owned(), FontId::proportional(TEXT), theme.text);
        let figure = |t: &str| self.painter.layout_no_wrap(t.to_owned(), FontId::monospace(TEXT), theme.text);
        let labels: Vec<_> = rows.iter().map(|r| label(r.1)).collect();
        let figures: Vec<_> = rows.iter().map(|r| figure(&r.2)).collect();
        let head = self.painter.layout_no_wrap(head.to_owned(), FontId::monospace(TEXT), theme.secondary);
        let label_width = labels.iter().map(|g| g.size().x).fold(0.0, f32::max);
        let figure_width = figures.iter().map(|g| g.size().x).fold(0.0, f32::max);
        let width = (SWATCH + 4.0 + label_width + 12.0 + figure_width).max(head.size().x) + 16.0;
        let size = vec2(width, 12.0 + ROW * (rows.len() + 1) as f32);
        let area = self.area();
        let left = if at_x + 12.0 + width < area.right() || at_x - 12.0 - width < area.left() {
            at_x + 12.0
        } else {
            at_x - 12.0 - width
        };
        let box_rect = Rect::from_min_size(pos2(left, area.top() + 4.0), size);
        // Above the tile's clip: near an edge the box may reach over it.
        let painter = self.painter.with_clip_rect(Rect::EVERYTHING);
        let ground = theme.panel.gamma_multiply(0.95);
        painter.rect(box_rect, 6.0, ground, egui::Stroke::new(1.0, theme.line), StrokeKind::Inside);
        let mut y = box_rect.top() + 6.0 + ROW / 2.0;
        let centre = |g: &egui::Galley, x: f32, y: f32| pos2(x, y - g.size().y / 2.0);
        painter.galley(centre(&head, box_rect.left() + 8.0, y), head.clone(), theme.secondary);
        for ((row, label), figure) in rows.iter().zip(labels).zip(figures) {
            y += ROW;
            let x = box_rect.left() + 8.0;
            painter.hline(x..=x + SWATCH, y, egui::Stroke::new(2.0, row.0));
            painter.galley(centre(&label, x + SWATCH + 4.0, y), label, theme.text);
            let x = box_rect.right() - 8.0 - figure.size().x;
            painter.galley(centre(&figure, x, y), figure, theme.text);
        }
    }
}

/// Steps and positions are whole; anything else has four digits.
fn value_words_of_x(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e12 { format!("{x:.0}") } else { value_words(x) }
}
