//! The drawing of a staircase: one column per step, a tread at what it reaches, a riser from the one before.

use eframe::egui::{Galley, Rangef, Stroke};

use super::{MechanismStep, Score, StepScores};
use crate::{
    experiments::run_terms::RunTerms,
    ui::views::{prelude::*, race::results::verdict},
};

/// One score's staircase.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorePanel {
    pub score: Score,
    /// Levels to compare with, and their labels.
    pub levels: Vec<(&'static str, f64)>,
    /// Extends the axis as far as the levels.
    pub shows_levels: bool,
}

/// Room left of a panel for its axis, between panels, and below for each line of text.
const LEFT_MARGIN: f32 = 58.0;
const RIGHT_MARGIN: f32 = 12.0;
const TOP_MARGIN: f32 = 24.0;
const GAP: f32 = 10.0;
const LINE_HEIGHT: f32 = 15.0;
/// Width below which a column lacks room for numbers, and height below which the drawing does for all, points.
const NARROW_WIDTH: f32 = 62.0;
const LOW_HEIGHT: f32 = 300.0;

struct HeightScale {
    rect: Rect,
    range: [f64; 2],
    is_inverted: bool,
}

impl HeightScale {
    fn new(rect: Rect, panel: &ScorePanel, steps: &[MechanismStep]) -> Self {
        let reached = steps.iter().filter_map(|s| s.scores(panel.score));
        let band = |r: &StepScores| r.sd.map_or([r.mean; 2], |sd| [r.mean - sd, r.mean + sd]);
        let mut values: Vec<f64> = reached.flat_map(|r| r.seeds.iter().copied().chain(band(r))).collect();
        if panel.shows_levels {
            values.extend(panel.levels.iter().map(|(_, at)| *at));
        }
        if panel.score == Score::Recall {
            values.extend([0.0, 1.0]);
        }
        values.retain(|v| v.abs() < 1e100);
        let [low, high] = finite_range(values).unwrap_or([0.0, 1.0]);
        let range = match panel.score {
            Score::Recall => [low - 0.02, high + 0.02],
            Score::Loss => plot::limits_around([low, high], 0.12, Scale::Linear),
        };
        Self { rect, range, is_inverted: panel.score == Score::Loss }
    }

    fn y(&self, value: f64) -> f32 {
        let share = ((value - self.range[0]) / (self.range[1] - self.range[0])) as f32;
        let share = if share.is_finite() { share.clamp(-0.05, 1.05) } else { 0.0 };
        let up = if self.is_inverted { 1.0 - share } else { share };
        self.rect.bottom() - up * self.rect.height()
    }

    fn has(&self, value: f64) -> bool {
        (self.range[0]..=self.range[1]).contains(&value)
    }
}

/// Draws the scores of models that each add one mechanism, in the whole `size`.
pub fn staircase_ui(
    ui: &mut Ui,
    size: Vec2,
    theme: &Theme,
    mirror: &Mirror,
    steps: &[MechanismStep],
    panels: &[ScorePanel],
) -> Response {
    let unit = mirror.info.as_ref().map_or("", |info| RunTerms::from(info.as_ref()).loss_unit);
    let explanations: Vec<String> = steps.iter().map(|s| step_tooltip(s, unit).replace('\n', ", ")).collect();
    let name = format!("staircase: {}", explanations.join("; "));
    let (sheet, response, painter) = canvas_ui(ui, size.max(vec2(160.0, 120.0)), Sense::hover(), name);
    let column = (sheet.width() - LEFT_MARGIN - RIGHT_MARGIN) / steps.len().max(1) as f32;
    let numbers = match (column < NARROW_WIDTH, sheet.height() < LOW_HEIGHT) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 4,
    };
    let colour = |step: &MechanismStep| step.racer.colour(theme);
    let names: Vec<_> = steps.iter().map(|step| name_of(&painter, step, colour(step), column - 4.0)).collect();
    let name_rows = names.iter().map(|name| name.rows.len()).max().unwrap_or(1);
    let foot = 8.0 + (name_rows + numbers) as f32 * LINE_HEIGHT;
    let each = (sheet.height() - foot - (TOP_MARGIN + GAP) * panels.len() as f32) / panels.len().max(1) as f32;
    let across = |i: usize| {
        let left = sheet.left() + LEFT_MARGIN + i as f32 * column;
        Rangef::new(left, left + column)
    };
    for (k, panel) in panels.iter().enumerate() {
        let top = sheet.top() + TOP_MARGIN + k as f32 * (each + TOP_MARGIN + GAP);
        let (left, right) = (sheet.left() + LEFT_MARGIN, sheet.right() - RIGHT_MARGIN);
        let rect = Rect::from_x_y_ranges(left..=right, top..=top + each.max(20.0));
        let scale = HeightScale::new(rect, panel, steps);
        axis(&painter, theme, panel, &scale);
        let mut before: Option<f32> = None;
        for (i, step) in steps.iter().enumerate() {
            let Some(reached) = step.scores(panel.score).filter(|r| r.mean.is_finite()) else {
                before = None;
                continue;
            };
            let (x, y) = (across(i), scale.y(reached.mean));
            if let Some(before) = before.filter(|_| !step.is_control) {
                painter.vline(x.min, before.min(y)..=before.max(y), Stroke::new(1.0, theme.secondary));
            }
            draw_tread(&painter, &scale, x, reached, colour(step), step.is_control);
            before = Some(y);
        }
    }
    for (i, (step, name)) in steps.iter().zip(names).enumerate() {
        let at = pos2(across(i).center(), sheet.bottom() - foot + 4.0);
        painter.galley(at, name, colour(step));
        numbers_ui(&painter, theme, at + vec2(0.0, name_rows as f32 * LINE_HEIGHT), step, numbers);
    }
    if numbers > 1 && steps.iter().any(|step| step.change.is_some()) {
        let at = pos2(sheet.left() + 4.0, sheet.bottom() - foot + 4.0 + (name_rows + 1) as f32 * LINE_HEIGHT);
        painter.text(at, Align2::LEFT_TOP, "from left", theme::small(), theme.secondary);
    }
    let is_under = |i: usize| response.hover_pos().is_some_and(|p| across(i).contains(p.x));
    let Some((_, step)) = steps.iter().enumerate().find(|(i, _)| is_under(*i)) else { return response };
    response.on_hover_ui_at_pointer(|ui| _ = ui.label(RichText::new(step_tooltip(step, unit)).size(theme::SMALL)))
}

/// The mean as a tread, one standard deviation as a band, each seed as a dot. A control's tread is dashed.
fn draw_tread(painter: &Painter, scale: &HeightScale, x: Rangef, of: &StepScores, colour: Color32, is_control: bool) {
    let (y, inside) = (scale.y(of.mean), x.shrink(1.0));
    if let Some(sd) = of.sd.filter(|sd| *sd > 0.0) {
        let (a, b) = (scale.y(of.mean - sd), scale.y(of.mean + sd));
        let band = Rect::from_x_y_ranges(inside, a.min(b)..=a.max(b));
        painter.rect_filled(band, 0.0, colour.gamma_multiply(0.2));
    }
    let stroke = Stroke::new(2.5, colour);
    if is_control {
        let ends = [inside.min, inside.max].map(|x| pos2(x, y));
        clip::paint_dashed(painter, &ends, stroke, 6.0, 4.0);
    } else {
        painter.hline(inside, y, stroke);
    }
    if of.seeds.len() > 1 {
        let apart = (0.5 * x.span() / of.seeds.len() as f32).min(9.0);
        for (i, seed) in of.seeds.iter().enumerate().filter(|(_, seed)| seed.is_finite()) {
            let x = x.center() + apart * (i as f32 - 0.5 * (of.seeds.len() - 1) as f32);
            painter.circle_filled(pos2(x, scale.y(*seed)), 2.5, colour);
        }
    }
}

fn axis(painter: &Painter, theme: &Theme, panel: &ScorePanel, scale: &HeightScale) {
    let HeightScale { rect, range, .. } = scale;
    let font = theme::small();
    let title = pos2(rect.left() - LEFT_MARGIN + 4.0, rect.top() - TOP_MARGIN + 2.0);
    let title = painter.text(title, Align2::LEFT_TOP, panel.score.axis(), font.clone(), theme.secondary);
    let wanted = ((rect.height() / 34.0) as usize).clamp(2, 8);
    for (at, words) in Scale::Linear.ticks(range[0], range[1], wanted) {
        let y = scale.y(at);
        painter.hline(rect.x_range(), y, Stroke::new(1.0, theme.line));
        painter.text(pos2(rect.left() - 6.0, y), Align2::RIGHT_CENTER, words, theme::numbers(), theme.secondary);
    }
    // by whether they lie below the panel, in the order of the levels
    let mut beyond: [Vec<String>; 2] = [vec![], vec![]];
    for &(label, at) in &panel.levels {
        let words = format!("{label} {}", value_label(at));
        if !scale.has(at) {
            let is_below = (at < range[0]) != scale.is_inverted;
            beyond[usize::from(is_below)].push(words);
            continue;
        }
        let y = scale.y(at);
        let ends = [pos2(rect.left(), y), pos2(rect.right(), y)];
        if let Some([dash, gap]) = NULL_BASELINE.dashes() {
            clip::paint_dashed(painter, &ends, Stroke::new(1.0, theme.secondary), dash, gap);
        }
        let (side, high) = if y - rect.top() > 18.0 { (Align2::RIGHT_BOTTOM, -2.0) } else { (Align2::RIGHT_TOP, 2.0) };
        painter.text(pos2(rect.right(), y + high), side, words, font.clone(), theme.secondary);
    }
    let [above, mut below] = beyond;
    below.reverse();
    // Lists as many as there is room for beside the title, the nearest first.
    let list = |side: &str, words: &[String], n: usize| match words.len().min(n) {
        0 => None,
        n => Some(format!("{side}: {}", words[..n].join(", "))),
    };
    let fitting = (1..=above.len().max(below.len())).rev().map(|n| {
        let sides = [list("above", &above, n), list("below", &below, n)];
        sides.into_iter().flatten().collect::<Vec<_>>().join("; ")
    });
    let mut laid = fitting.map(|words| painter.layout_no_wrap(words, font.clone(), theme.secondary));
    let room = rect.right() - title.right() - 12.0;
    if let Some(galley) = laid.find(|galley| galley.size().x <= room) {
        painter.galley(pos2(rect.right() - galley.size().x, title.top()), galley, theme.secondary);
    }
}

/// The step's name, in as many lines as a narrow column takes.
fn name_of(painter: &Painter, step: &MechanismStep, colour: Color32, width: f32) -> Arc<Galley> {
    // a sign stays with its word
    let name = step.racer.group.label.replace("+ ", "+\u{a0}");
    let mut job = LayoutJob::simple(name, theme::small(), colour, width);
    job.wrap.max_rows = 3;
    job.halign = Align::Center;
    painter.layout_job(job)
}

/// Draws up to `numbers` lines under a step's name: score, change from the step before (a control's: the first), cost.
fn numbers_ui(painter: &Painter, theme: &Theme, top: Pos2, step: &MechanismStep, numbers: usize) {
    let first = if step.is_control { "first " } else { "" };
    let lines = [
        step.scores(Score::Loss).map_or("\u{2013}".to_owned(), |r| format!("{:.3}", r.mean)),
        step.change.as_ref().map_or(String::new(), |c| format!("{first}{}", signed(c.mean))),
        format!("{} params", abbreviated(step.racer.params as f64)),
        step.racer.flops.map_or(String::new(), |flops| format!("{} FLOP", abbreviated(flops))),
    ];
    for (i, line) in lines.into_iter().take(numbers).enumerate() {
        let at = top + vec2(0.0, i as f32 * LINE_HEIGHT);
        let ink = if i == 0 { theme.text } else { theme.secondary };
        painter.text(at, Align2::CENTER_TOP, line, FontId::monospace(11.0), ink);
    }
}

fn signed(v: f64) -> String {
    number::difference(v, 3)
}

/// The tooltip of a step, whose losses are in this unit.
fn step_tooltip(step: &MechanismStep, unit: &str) -> String {
    let spread = |r: &StepScores| match r.sd {
        None => value_label(r.mean),
        Some(sd) => format!("{} \u{b1} {} over {} seeds", value_label(r.mean), value_label(sd), r.seeds.len()),
    };
    let mut words = step.racer.group.label.clone();
    if let Some(loss) = step.scores(Score::Loss) {
        words.push_str(&format!("\nheld-out loss {} {unit}", spread(loss)));
    }
    if let Some(recall) = step.scores(Score::Recall) {
        words.push_str(&format!("\nrecall {}", spread(recall)));
    }
    if let Some(change) = &step.change {
        let whom = if step.is_control { "the first step" } else { "the step before" };
        let interval =
            change.interval.map_or(String::new(), |(low, high)| format!("95% [{}, {}], ", signed(low), signed(high)));
        words.push_str(&format!("\nloss against {whom}: {} ({interval}{})", signed(change.mean), verdict(change)));
    }
    words.push_str(&format!("\n{} parameters", step.racer.params));
    if let Some(flops) = step.racer.flops {
        words.push_str(&format!(", {} operations a token of training", abbreviated(flops)));
    }
    words
}
