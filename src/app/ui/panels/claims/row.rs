//! The row of a claim: id, title, effect, and verdict with its sign. Words that do not fit continue in a further line.

use super::RunsHere;
use crate::ui::panels::prelude::*;

/// Widths of the columns beside the title, points.
const ID_WIDTH: f32 = 72.0;
const EFFECT_WIDTH: f32 = 232.0;
const VERDICT_WIDTH: f32 = 216.0;
/// Room of the sign before a verdict, points.
const SIGN_WIDTH: f32 = 20.0;
/// Radius of a sign, points.
const SIGN_RADIUS: f32 = 5.0;
const GAP: f32 = 12.0;
/// The padding above and below the text of a row, points.
const ROW_PADDING: f32 = 7.0;
/// Width below which effect and verdict are under the title, points.
const NARROW_WIDTH: f32 = 752.0;
const COLUMNS: [&str; 3] = ["claim", "effect [95% interval]", "verdict"];

/// The state of a claim in the words of its row: that of its stored result, or of the runs here where it has none.
pub fn state(entry: &ClaimEntry, runs: Option<&RunsHere>) -> (ClaimState, String) {
    let stored = (entry.state(), entry.verdict_label());
    let has_verdict = !matches!(stored.0, ClaimState::NotRun | ClaimState::Outdated | ClaimState::Needs);
    let Some(here) = runs.and_then(|runs| runs.read.as_ref()).filter(|_| !has_verdict) else { return stored };
    match here.state() {
        Some(state) => (state, format!("{}, {}, by runs here", state.label(), entry.claim.tier.scale_label())),
        None if here.finished + here.running > 0 || here.process.is_alive() => {
            (ClaimState::NotRun, format!("{} of {} runs have ended here", here.finished, here.total))
        }
        None => stored,
    }
}

/// The effect of the stored result, or of the runs here; of an edited rule none.
fn effect(entry: &ClaimEntry, runs: Option<&RunsHere>) -> String {
    let stored = entry.standing.judgement().filter(|judged| !judged.is_rule_changed);
    let here = runs.and_then(|runs| runs.read.as_ref()).map(|read| &read.judged);
    let outcome = stored.or(here).and_then(|judged| judged.outcome.as_ref());
    entry.claim.rule.as_ref().zip(outcome).map_or(String::new(), |(rule, outcome)| outcome.label(rule))
}

/// Names the columns of the rows below, where they have columns.
pub fn heading_ui(ui: &mut Ui, theme: &Theme) {
    let width = ui.available_width();
    if width < NARROW_WIDTH {
        return;
    }
    let (rect, response) = ui.allocate_exact_size(vec2(width, theme::SMALL + ROW_PADDING), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, COLUMNS.join(", ")));
    let effect = ID_WIDTH + title_room(width) + GAP;
    for (words, x) in COLUMNS.into_iter().zip([ID_WIDTH, effect, effect + EFFECT_WIDTH + GAP]) {
        let at = pos2(rect.left() + x, rect.top());
        ui.painter().text(at, Align2::LEFT_TOP, words, theme::small(), theme.secondary);
    }
}

/// The width of a title beside effect and verdict.
fn title_room(width: f32) -> f32 {
    width - ID_WIDTH - EFFECT_WIDTH - VERDICT_WIDTH - 2.0 * GAP
}

/// Draws the row; true if it was clicked.
pub fn row_ui(ui: &mut Ui, theme: &Theme, entry: &ClaimEntry, runs: Option<&RunsHere>, is_unfolded: bool) -> bool {
    let width = ui.available_width();
    let is_narrow = width < NARROW_WIDTH;
    let layout = |words: String, font: FontId, colour: Color32, room: f32| {
        ui.painter().layout(words, font, colour, room.max(40.0))
    };
    let (state, words) = state(entry, runs);
    let title_room = if is_narrow { width - ID_WIDTH } else { title_room(width) };
    let sign = if is_unfolded { '\u{25be}' } else { '\u{25b8}' };
    let star = if entry.claim.starred { " ★" } else { "" };
    let id = layout(format!("{sign} {}{star}", entry.claim.id), theme::small(), theme.secondary, ID_WIDTH);
    let title = layout(entry.claim.title.clone(), FontId::proportional(theme::BODY), theme.text, title_room);
    let effect_room = if is_narrow { title_room } else { EFFECT_WIDTH };
    let effect = layout(effect(entry, runs), theme::numbers(), theme.text, effect_room);
    let verdict_room = if is_narrow { title_room - SIGN_WIDTH } else { VERDICT_WIDTH - SIGN_WIDTH };
    let verdict = layout(words.clone(), theme::small(), sign_colour(theme, state), verdict_room);

    let beside = title.size().y.max(effect.size().y).max(verdict.size().y);
    let effect_height = if effect.is_empty() { 0.0 } else { effect.size().y };
    let stacked = title.size().y + verdict.size().y + effect_height;
    let height = 2.0 * ROW_PADDING + if is_narrow { stacked } else { beside };
    let (rect, response) = ui.allocate_exact_size(vec2(width, height), Sense::click());
    let name = format!("{}, {}, {words}", entry.claim.id, entry.claim.title);
    response.widget_info(|| WidgetInfo::selected(Role::ListItem, true, is_unfolded, &name));
    let (left, top) = (rect.left() + 4.0, rect.top() + ROW_PADDING);
    let text = rect.left() + ID_WIDTH;
    let effect_at = match is_narrow {
        true => pos2(text, top + title.size().y + verdict.size().y),
        false => pos2(text + title_room + GAP, top + 1.0),
    };
    if ui.is_rect_visible(rect) {
        paint_background(ui, theme, rect, &response);
        let put = |galley: &Arc<Galley>, x: f32, y: f32| {
            ui.painter().galley(pos2(x, y), Arc::clone(galley), theme.text);
        };
        put(&id, left, top + 1.0);
        put(&title, text, top);
        let (x, y) = match is_narrow {
            true => (text, top + title.size().y),
            false => (text + title_room + GAP + EFFECT_WIDTH + GAP, top + 1.0),
        };
        paint_sign(ui.painter(), theme, state, pos2(x + SIGN_RADIUS + 1.0, y + 8.0));
        put(&verdict, x + SIGN_WIDTH, y);
        put(&effect, effect_at.x, effect_at.y);
    }
    let tip = if is_unfolded { "Click to collapse it." } else { "Click to see the quote, picture, rule and runs." };
    let tip = match &entry.claim.rule {
        Some(rule) => format!("The rule: {}. {tip}", rule.sentence()),
        None => tip.to_owned(),
    };
    response.on_hover_cursor(CursorIcon::PointingHand).on_hover_text(tip).clicked()
}

fn paint_background(ui: &Ui, theme: &Theme, rect: Rect, response: &Response) {
    ui.painter().hline(rect.x_range(), rect.top(), Stroke::new(1.0, theme.line));
    if response.hovered() {
        ui.painter().rect_filled(rect, 0.0, theme.raised);
    }
    if response.has_focus() {
        ui.painter().rect_stroke(rect, theme::CORNER, Stroke::new(1.0, theme.accent), StrokeKind::Inside);
    }
}

fn sign_colour(theme: &Theme, state: ClaimState) -> Color32 {
    match state {
        ClaimState::Stands => theme.series(0),
        ClaimState::DoesNotStand => theme.series(1),
        ClaimState::Outdated => theme.error,
        ClaimState::CannotBeTold | ClaimState::NotRun | ClaimState::Needs | ClaimState::Open => theme.secondary,
    }
}

/// A tick, a cross, a dash, an exclamation mark, or an empty ring: drawn rather than written, so that no font lacks it, and
/// sufficient without the colour.
fn paint_sign(painter: &egui::Painter, theme: &Theme, state: ClaimState, centre: Pos2) {
    let stroke = Stroke::new(2.0, sign_colour(theme, state));
    let at = |x: f32, y: f32| centre + vec2(x, y) * SIGN_RADIUS;
    let mut lines: Vec<[Pos2; 2]> = vec![];
    match state {
        ClaimState::Stands => lines.extend([[at(-0.9, 0.1), at(-0.2, 0.8)], [at(-0.2, 0.8), at(1.0, -0.8)]]),
        ClaimState::DoesNotStand => lines.extend([[at(-0.8, -0.8), at(0.8, 0.8)], [at(-0.8, 0.8), at(0.8, -0.8)]]),
        ClaimState::CannotBeTold => lines.push([at(-1.0, 0.0), at(1.0, 0.0)]),
        ClaimState::Outdated => lines.extend([[at(0.0, -1.0), at(0.0, 0.3)], [at(0.0, 0.8), at(0.0, 1.1)]]),
        ClaimState::NotRun | ClaimState::Needs | ClaimState::Open => {
            painter.circle_stroke(centre, 0.8 * SIGN_RADIUS, Stroke::new(1.0, theme.secondary));
        }
    }
    for line in lines {
        painter.line_segment(line, stroke);
    }
}
