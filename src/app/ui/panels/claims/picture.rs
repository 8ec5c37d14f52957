//! The picture of a judgement: the region in which the claim stands, seeds as dots, the interval of the effect, and the paper's
//! number as a dashed line. The page of the window paints it, and `orrery claims --html` writes the same as SVG.

use crate::{
    experiments::claims::{ledger::Judgement, rule::Rule},
    ui::{panels::prelude::*, plot::clip::paint_dashed},
};

const WIDTH: f32 = 640.0;
const HEIGHT: f32 = 96.0;
/// Heights in the picture, points from its top: the paper's number, dots, interval, axis.
const LABEL_Y: f32 = 8.0;
const DOTS_Y: f32 = 24.0;
const INTERVAL_WIDTH: f32 = 58.0;
const AXIS_Y: f32 = 74.0;
/// Between dots of neighbouring seeds, points, so that equal values lie apart.
const SEED_SPACING: f32 = 6.0;
const MAX_ROWS: usize = 4;
const DOT_RADIUS: f32 = 3.5;
/// Ticks of an axis, about.
const N_TICKS: usize = 5;

/// A description of the picture: "8 seeds, effect 0.2 [0.1, 0.3], stands above 0".
fn label(rule: &Rule, judged: &Judgement) -> String {
    let effect = judged.outcome.as_ref().map_or("no interval yet".to_owned(), |outcome| outcome.label(rule));
    format!("{} seeds, effect {effect}, stands {}", judged.values.len(), rule.stands.label())
}

/// The picture as SVG, this many points wide; `None` where the numbers are not a range.
pub fn picture_svg(theme: &Theme, rule: &Rule, judged: &Judgement, width: f32) -> Option<String> {
    judged.extent(rule)?;
    Some(drawing(&label(rule, judged), vec2(width, HEIGHT), theme, |ui| picture_ui(ui, theme, rule, judged)))
}

/// Draws it; nothing where the numbers are not a range.
pub fn picture_ui(ui: &mut Ui, theme: &Theme, rule: &Rule, judged: &Judgement) {
    let Some(ends) = judged.extent(rule) else { return };
    let size = vec2(ui.available_width().min(WIDTH), HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let name = label(rule, judged);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
    if !ui.is_rect_visible(rect) {
        return;
    }
    let picture = Picture { rect, ends, theme };
    picture.region(ui, rule);
    picture.axis(ui);
    picture.paint_published(ui, rule);
    picture.interval(ui, judged);
    let dots = picture.dots(judged.dots(rule));
    for (_, _, at) in &dots {
        ui.painter().circle_filled(*at, DOT_RADIUS, theme.series(0).gamma_multiply(0.8));
    }
    let near = response.hover_pos().and_then(|pointer| {
        let distance = |at: &Pos2| at.distance(pointer);
        let nearest = dots.iter().min_by(|a, b| distance(&a.2).total_cmp(&distance(&b.2)));
        nearest.filter(|dot| distance(&dot.2) < 3.0 * DOT_RADIUS)
    });
    let tip = near.map_or_else(|| name.clone(), |(seed, value, _)| format!("seed {seed}: {}", number::short(*value)));
    response.on_hover_text(tip);
}

/// The place of a picture and the values at its ends.
struct Picture<'a> {
    rect: Rect,
    ends: (f64, f64),
    theme: &'a Theme,
}

impl Picture<'_> {
    fn x(&self, value: f64) -> f32 {
        let share = ((value - self.ends.0) / (self.ends.1 - self.ends.0)).clamp(0.0, 1.0);
        self.rect.left() + share as f32 * self.rect.width()
    }

    fn y(&self, below: f32) -> f32 {
        self.rect.top() + below
    }

    fn region(&self, ui: &Ui, rule: &Rule) {
        let from = rule.stands.above.map_or(self.rect.left(), |v| self.x(v));
        let until = rule.stands.below.map_or(self.rect.right(), |v| self.x(v));
        let shade = Rect::from_min_max(pos2(from, self.y(LABEL_Y * 2.0)), pos2(until.max(from), self.y(AXIS_Y)));
        ui.painter().rect_filled(shade, 0.0, self.theme.faint(self.theme.grey()));
        let bounds = [rule.stands.above.map(|_| from), rule.stands.below.map(|_| until)];
        for x in bounds.into_iter().flatten() {
            ui.painter().vline(x, shade.y_range(), Stroke::new(1.0, self.theme.grey()));
        }
    }

    /// A hairline with round values; those without room are left out.
    fn axis(&self, ui: &Ui) {
        let (theme, y) = (self.theme, self.y(AXIS_Y));
        ui.painter().hline(self.rect.x_range(), y, Stroke::new(1.0, theme.grey()));
        let mut free = self.rect.left();
        for (value, words) in Scale::Linear.ticks(self.ends.0, self.ends.1, N_TICKS) {
            let x = self.x(value);
            ui.painter().vline(x, y..=y + 3.0, Stroke::new(1.0, theme.grey()));
            let galley = ui.painter().layout_no_wrap(words, theme::numbers(), theme.secondary);
            let half = galley.size().x / 2.0;
            if x - half >= free && x + half <= self.rect.right() {
                ui.painter().galley(pos2(x - half, y + 5.0), galley, theme.secondary);
                free = x + half + 8.0;
            }
        }
    }

    fn paint_published(&self, ui: &Ui, rule: &Rule) {
        let Some(published) = rule.published_on_scale() else { return };
        let (x, stroke) = (self.x(published), Stroke::new(1.5, self.theme.secondary));
        let line = [pos2(x, self.y(LABEL_Y * 2.0)), pos2(x, self.y(AXIS_Y))];
        paint_dashed(ui.painter(), &line, stroke, 4.0, 3.0);
        let words = format!("the paper: {}", number::short(published));
        let half = note_width(ui.painter(), &words) / 2.0;
        let x = x.clamp(self.rect.left() + half, (self.rect.right() - half).max(self.rect.left() + half));
        ui.painter().text(pos2(x, self.y(LABEL_Y)), Align2::CENTER_CENTER, words, theme::small(), self.theme.secondary);
    }

    fn interval(&self, ui: &Ui, judged: &Judgement) {
        let Some(outcome) = &judged.outcome else { return };
        let (y, stroke) = (self.y(INTERVAL_WIDTH), Stroke::new(2.0, self.theme.text));
        let (low, high) = (self.x(outcome.interval.0), self.x(outcome.interval.1));
        ui.painter().line_segment([pos2(low, y), pos2(high, y)], stroke);
        for x in [low, high] {
            ui.painter().vline(x, y - 4.0..=y + 4.0, stroke);
        }
        ui.painter().circle_filled(pos2(self.x(outcome.effect), y), DOT_RADIUS + 0.5, self.theme.text);
    }

    /// Seed, value and place of each dot.
    fn dots(&self, values: &[(u64, f64)]) -> Vec<(u64, f64, Pos2)> {
        let place = |(i, (seed, value)): (usize, &(u64, f64))| {
            (*seed, *value, pos2(self.x(*value), self.y(DOTS_Y + SEED_SPACING * (i % MAX_ROWS) as f32)))
        };
        values.iter().enumerate().map(place).collect()
    }
}
