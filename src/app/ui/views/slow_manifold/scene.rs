//! The picture of the dynamical manifold: branches, folds, the first-order slow manifold, a trajectory and its speed.

use super::field::{Field, Run};
use crate::{
    analysis::fast_slow_plane::Point,
    ui::views::{flow::sheet::Sheet, painting::*},
};

/// The number of fast segments of a trajectory that have a double arrow; later cycles coincide with the first.
const MAX_ARROWS: usize = 4;
/// A fast part shorter than this has no room for an arrow, points.
const MIN_ARROW_SEGMENT: f32 = 36.0;

pub struct Scene<'a> {
    pub painter: &'a Painter,
    pub theme: &'a Theme,
    pub sheet: Sheet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sample {
    Attracting,
    Repelling,
    FirstOrder,
    Slow,
    Fast,
    Fold,
    Rest,
}

const LEGEND: [(Sample, &str, &str); 7] = [
    (Sample::Attracting, "attracting", "f = 0 where f_x < 0: x falls onto it."),
    (Sample::Repelling, "repelling", "f = 0 where f_x > 0: x leaves it."),
    (Sample::Fold, "fold", "f = f_x = 0: both branches meet and end, and a trajectory must jump."),
    (
        Sample::FirstOrder,
        "h\u{2080} + \u{3b5}h\u{2081}",
        "Fenichel\u{2019}s slow manifold to first order in \u{3b5}, with h\u{2081} = \u{2212}f_y g / f_x\u{b2}. Near a fold it \
         is not a small correction and is not drawn.",
    ),
    (Sample::Slow, "slow", "The trajectory where x moves as slowly as y."),
    (
        Sample::Fast,
        "fast",
        "The trajectory where |f| is above \u{221a}\u{3b5} of its largest: x moves on the fast timescale.",
    ),
    (Sample::Rest, "rest", "f = g = 0."),
];

impl Scene<'_> {
    pub fn paint(&self, field: &Field, run: &Run) {
        for branch in &field.manifold.branches {
            let (width, colour) = if branch.is_stable { (2.5, self.theme.text) } else { (2.0, self.theme.secondary) };
            self.branch(branch.is_stable, &branch.points, Stroke::new(width, colour), [7.0, 5.0]);
        }
        for (is_stable, line) in field.first_order_manifold(run.epsilon) {
            self.branch(is_stable, &line, Stroke::new(1.5, first_order_colour(self.theme)), [2.0, 3.0]);
        }
        self.trajectory(run);
        for at in &field.equilibria {
            paint_mark(self.painter, self.sheet.at(*at), Mark::Cross, self.theme.text);
        }
        for fold in &field.manifold.folds {
            let at = self.sheet.at(*fold);
            self.painter.circle(at, 5.5, self.theme.panel, Stroke::new(2.0, self.theme.accent));
        }
        if let Some(start) = run.trajectory.points.first() {
            self.painter.circle(self.sheet.at(*start), 4.5, self.theme.panel, Stroke::new(2.0, self.theme.text));
        }
    }

    /// An attracting branch is whole, and a repelling one dashed.
    fn branch(&self, is_stable: bool, points: &[Point], stroke: Stroke, [dash, gap]: [f32; 2]) {
        let line = self.sheet.line(points);
        match is_stable {
            true => clip::paint_line(self.painter, &line, stroke),
            false => clip::paint_dashed(self.painter, &line, stroke, dash, gap),
        }
    }

    fn trajectory(&self, run: &Run) {
        let line = self.sheet.line(&run.trajectory.points);
        let mut arrows = 0;
        let mut from = 0;
        for part in run.is_fast.chunk_by(|a, b| a == b) {
            let to = from + part.len();
            let places = &line[from..=to];
            if part[0] {
                clip::paint_line(self.painter, places, Stroke::new(1.4, self.theme.fast));
                if arrows < MAX_ARROWS && self.arrow(places) {
                    arrows += 1;
                }
            } else {
                clip::paint_line(self.painter, places, Stroke::new(3.2, self.theme.slow));
            }
            from = to;
        }
    }

    /// A double arrow in the middle of a line, where it is long enough.
    fn arrow(&self, line: &[Pos2]) -> bool {
        let length: f32 = line.windows(2).map(|w| (w[1] - w[0]).length()).sum();
        if length.is_nan() || length < MIN_ARROW_SEGMENT {
            return false;
        }
        let mut left = length / 2.0;
        for pair in line.windows(2) {
            let way = pair[1] - pair[0];
            if way.length() >= left && way.length() > 0.0 {
                let (ahead, tip) = (way.normalized(), pair[0] + way.normalized() * left);
                let stroke = Stroke::new(1.4, self.theme.fast);
                for shift in [0.0, 6.0] {
                    paint_head(self.painter, tip + ahead * shift, ahead, 4.0, stroke);
                }
                return true;
            }
            left -= way.length();
        }
        false
    }
}

/// The head of an arrow that points `ahead`, with wings this many points wide.
pub fn paint_head(painter: &Painter, tip: Pos2, ahead: Vec2, wide: f32, stroke: Stroke) {
    for side in [wide, -wide] {
        painter.line_segment([tip, tip - ahead * 5.0 + vec2(-ahead.y, ahead.x) * side], stroke);
    }
}

fn first_order_colour(theme: &Theme) -> Color32 {
    theme.series(2)
}

/// The legend of lines and signs, in a row that wraps; tooltips say more.
pub fn legend_ui(ui: &mut Ui, theme: &Theme) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, 2.0);
        for (sample, words, tip) in LEGEND {
            let galley = ui.painter().layout_no_wrap(words.to_owned(), theme::small(), theme.secondary);
            let size = vec2(28.0 + galley.size().x + 6.0, galley.size().y);
            let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
            paint_sample(ui.painter(), theme, sample, rect);
            let at = pos2(rect.left() + 28.0, rect.center().y - galley.size().y / 2.0);
            ui.painter().galley(at, galley, theme.secondary);
            response.on_hover_text(tip);
        }
    });
}

fn paint_sample(painter: &Painter, theme: &Theme, sample: Sample, rect: Rect) {
    let (from, to) = (rect.left_center() + vec2(2.0, 0.0), rect.left_center() + vec2(24.0, 0.0));
    let middle = rect.left_center() + vec2(14.0, 0.0);
    let line = |width: f32, colour: Color32| _ = painter.line_segment([from, to], Stroke::new(width, colour));
    match sample {
        Sample::Attracting => line(2.5, theme.text),
        Sample::Repelling => clip::paint_dashed(painter, &[from, to], Stroke::new(2.0, theme.secondary), 7.0, 5.0),
        Sample::FirstOrder => line(1.5, first_order_colour(theme)),
        Sample::Slow => line(3.2, theme.slow),
        Sample::Fast => {
            line(1.4, theme.fast);
            let stroke = Stroke::new(1.4, theme.fast);
            for tip in [middle, middle + vec2(6.0, 0.0)] {
                paint_head(painter, tip, vec2(1.0, 0.0), 4.0, stroke);
            }
        }
        Sample::Fold => _ = painter.circle(middle, 5.0, theme.panel, Stroke::new(2.0, theme.accent)),
        Sample::Rest => paint_mark(painter, middle, Mark::Cross, theme.text),
    }
}
