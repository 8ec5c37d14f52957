//! The paper's equivalences on the weights of the running model: how far the two sides are apart, token by
//! token, beside how far rounding could have brought them.

use super::{EMPTY, keep_fresh, origin, shown_measurement};
use crate::ui::views::prelude::*;

struct Check {
    /// The column's name in tables.
    id: &'static str,
    /// One entry per token, or one per matrix.
    by_token: fn(&BdhDynamicsChecks) -> CheckByToken,
    name: &'static str,
    /// The two sides of the equation that is checked; it begins with the line's name.
    claim: &'static str,
    about: &'static str,
}

/// Claim 3, with wires and prods in the place of tokens: the weights alone decide it.
fn construction(checks: &BdhDynamicsChecks) -> CheckByToken {
    let both = |f: fn(&ConstructionCheck) -> f64| vec![f(&checks.wires), f(&checks.prods)].into();
    CheckByToken { error: both(|c| c.error), bound: both(|c| c.bound), share: both(|c| c.share) }
}

/// The number of checks that have a value for each token; the last check is the same for every token.
const TOKEN_CHECKS: usize = 4;
const CHECKS: [Check; 5] = [
    Check {
        id: "rules",
        by_token: |c| c.rules.clone(),
        name: "local rules",
        claim: "local rules = equations (6)",
        about: "The four rounds of local rules (table 1) against the state-space equations: X, A and Y in every layer, and every synapse.",
    },
    Check {
        id: "normfree",
        by_token: |c| c.normfree.clone(),
        name: "low rank",
        claim: "low rank (7) = (6)",
        about: "BDH-Normfree with its state of n d numbers against BDH on the n by n graphs of equation (9), G = DE and G\u{209b} = 1: X, Y, and E\u{3c3} = \u{3c1}.",
    },
    Check {
        id: "attention",
        by_token: |c| c.attention.clone(),
        name: "attention",
        claim: "attention (5) = state (7)",
        about: "The state that is updated against linear attention that keeps every past token by itself.",
    },
    Check {
        id: "square",
        by_token: |c| c.two_steps.clone(),
        name: "two steps",
        claim: "two steps of H = one of G",
        about: "Claim 3 at work: a pulse through the sparse circuits H\u{1d49} and H\u{2071}, twice, against one step of DE.",
    },
    Check {
        id: "construction",
        by_token: construction,
        name: "square",
        claim: "square: H\u{1d49}\u{b2} \u{2212} H\u{2071}\u{b2} = DE",
        about: "Claim 3 itself, entry by entry, for the wires and for the prods. No token changes it, so that its line is level; that of the matrix which is nearer to its bound is drawn.",
    },
];

/// The meaning of the table's columns.
const COLUMNS: &str = "error: the largest difference between the two sides, as a share of the largest value.\n\
    of bound: the largest share that an error has of what rounding alone could explain, each error beside its own bound; up \
    to 1 the equation holds, as rounding explains the whole difference.";

/// Height at which an error of exactly zero is drawn.
const ERROR_FLOOR: f64 = 1e-18;
const ROW_HEIGHT: f32 = 17.0;
/// Height of the table, points: its rows, and the sentence on edges, which takes two where the tile is narrow.
const TABLE_HEIGHT: f32 = ROW_HEIGHT * 8.0;
const GAP: f32 = 4.0;

#[derive(Default)]
pub struct BdhChecksView;

/// Largest value; NaN if one is not a number.
fn max_or_nan(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, v| if v.is_nan() || m.is_nan() { f64::NAN } else { m.max(*v) })
}

/// The place whose error has the largest share of its bound; a share that is not a number counts as the largest.
fn nearest_to_bound(share: &[f64]) -> Option<usize> {
    let rank = |place: &usize| if share[*place].is_nan() { f64::INFINITY } else { share[*place] };
    (0..share.len()).max_by(|a, b| rank(a).total_cmp(&rank(b)))
}

impl BdhChecksView {
    fn chart<'a>(checks: Option<&BdhDynamicsChecks>, theme: &Theme) -> Chart<'a> {
        let y = Axis::new("difference / largest value; dashed: bound").log().include(&[1e-17]);
        let mut chart = Chart::new("equivalences", Axis::new("token").integer_ticks(), y);
        let Some(checks) = checks else { return chart };
        let tokens = checks.rules.error.len();
        for (i, check) in CHECKS.iter().enumerate() {
            let CheckByToken { error, bound, share } = (check.by_token)(checks);
            // without tokens both lines are taken at one matrix, so that an error is compared with its own bound
            let matrix = nearest_to_bound(&share).filter(|_| i >= TOKEN_CHECKS);
            let points = |y: &[f64]| -> Vec<[f64; 2]> {
                let level = matrix.and_then(|matrix| y.get(matrix)).map(|y| vec![*y; tokens]);
                let y = level.unwrap_or_else(|| y.to_vec());
                y.iter().enumerate().map(|(t, y)| [t as f64, y.clamp(ERROR_FLOOR, f64::INFINITY)]).collect()
            };
            let colour = theme.series(i);
            chart.add(Line::new(check.name, colour, points(&error)).dots());
            chart.add(Line::new(format!("{}, bound", check.name), colour, points(&bound)).dashed().unnamed());
        }
        chart
    }

    fn table_ui(ui: &mut Ui, checks: &BdhDynamicsChecks, theme: &Theme) -> Response {
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), TABLE_HEIGHT), Sense::hover());
        let painter = ui.painter_at(rect);
        let small = theme::small();
        let right = [rect.right() - 118.0, rect.right() - 50.0, rect.right() - 2.0];
        let write = |x: f32, row: usize, align, words: &str, font: FontId, colour| {
            painter.text(pos2(x, rect.top() + ROW_HEIGHT * row as f32), align, words, font, colour);
        };
        for (x, words) in right.iter().zip(["error", "of bound", "verdict"]) {
            write(*x, 0, Align2::RIGHT_TOP, words, small.clone(), theme.secondary);
        }
        let mut verdicts = vec![];
        for (i, check) in CHECKS.iter().enumerate() {
            let found = (check.by_token)(checks);
            let (error, share) = (max_or_nan(&found.error), max_or_nan(&found.share));
            let (holds, share) = (share <= 1.0, Digits::Decimals(3).format(share));
            let (verdict, within) = if holds { ("holds", "up to") } else { ("fails", "by more than") };
            verdicts.push(format!("{}: {verdict} {within} rounding, {share} of its bound", check.claim));
            let at = pos2(rect.left() + 4.0, rect.top() + ROW_HEIGHT * (i as f32 + 1.0) + 8.0);
            painter.circle_filled(at, 3.0, theme.series(i));
            write(rect.left() + 12.0, i + 1, Align2::LEFT_TOP, check.claim, small.clone(), theme.text);
            for (x, words) in right.iter().zip([format!("{error:.0e}"), share]) {
                write(*x, i + 1, Align2::RIGHT_TOP, &words, theme::numbers(), theme.text);
            }
            let colour = if holds { theme.text } else { theme.error };
            write(right[2], i + 1, Align2::RIGHT_TOP, verdict, small.clone(), colour);
        }
        let wires = &checks.wires;
        let words = format!(
            "H for the wires: {} + {} edges, 2nd = {} allowed each; G has {} pairs",
            wires.excitatory_edges, wires.inhibitory_edges, wires.allowed_edges, wires.pairs
        );
        let at = rect.min + vec2(0.0, ROW_HEIGHT * 6.0);
        painter.galley(at, painter.layout(words, small, theme.secondary, rect.width()), theme.secondary);
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, format!("verdicts: {}", verdicts.join("; "))));
        let under = response.hover_pos().map(|p| ((p.y - rect.top()) / ROW_HEIGHT) as usize);
        let about = |row: usize| row.checked_sub(1).map_or(Some(COLUMNS), |i| CHECKS.get(i).map(|check| check.about));
        let Some(about) = under.and_then(about) else { return response };
        response.on_hover_text_at_pointer(about)
    }
}

/// How many of the equivalences hold, in words.
fn verdict(checks: &BdhDynamicsChecks) -> String {
    let all = CHECKS.len();
    match CHECKS.iter().filter(|check| max_or_nan(&(check.by_token)(checks).share) <= 1.0).count() {
        held if held == all => format!("all {all} hold up to rounding"),
        held => format!("{held} of {all} hold"),
    }
}

impl PanelView for BdhChecksView {
    const SPACING: Vec2 = vec2(8.0, GAP);

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh::<BdhDynamicsChecks>(cx);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let (checks, theme) = (shown_measurement::<BdhDynamicsChecks>(cx).map(|m| m.value), cx.theme);
        let chart = Self::chart(checks, theme).empty(cx.empty_reason::<BdhDynamicsChecks>(EMPTY));
        let table = checks.map(|checks| Panel::canvas("verdicts", move |ui, _| Self::table_ui(ui, checks, theme)));
        std::iter::once(Panel::new(chart, 1.0)).chain(table).collect()
    }

    /// In a tile without room for both the verdicts go first.
    fn arrange(&self, ui: &Ui, _cx: &ViewCx<'_>, room: Vec2, panels: &[Panel<'_>], _alone: usize) -> Placement {
        let least = plot::min_chart_height(ui.ctx());
        match panels.len() > 1 {
            true if room.y > TABLE_HEIGHT + GAP + least.max(106.0) => {
                Placement::Column(vec![vec2(room.x, room.y - TABLE_HEIGHT - GAP), vec2(room.x, TABLE_HEIGHT)])
            }
            true if least > 0.0 || room.y < TABLE_HEIGHT + 60.0 => Placement::Alone(1),
            _ => Placement::Alone(0),
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(m) = shown_measurement::<BdhDynamicsChecks>(cx) else {
            return "the paper's equivalences against rounding".to_owned();
        };
        format!("{} \u{b7} dashed: its bound, what rounding explains", origin(cx, m.sample, &verdict(m.value)))
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let checks = shown_measurement::<BdhDynamicsChecks>(cx)?.value;
        let mut table = Table::new(["check", "claim", "token", "error", "bound", "share_of_bound"]);
        for check in &CHECKS {
            let CheckByToken { error, bound, share } = (check.by_token)(checks);
            for (t, ((error, bound), share)) in error.iter().zip(&bound).zip(&share).enumerate() {
                let [error, bound] = [error, bound].map(|v| format!("{v:e}"));
                table.cells(&[&check.id, &check.claim, &t, &error, &bound, share]);
            }
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::plot::Data;

    /// The error of the wires is the larger one, and so is the bound of the prods: they do not belong together.
    #[test]
    fn an_error_is_drawn_beside_the_bound_of_its_own_matrix() {
        let token = || CheckByToken { error: vec![1e-16].into(), bound: vec![4e-15].into(), share: vec![0.025].into() };
        let matrix = |error: f64, bound: f64| ConstructionCheck {
            error,
            bound,
            share: error / bound,
            excitatory_edges: 1,
            inhibitory_edges: 1,
            allowed_edges: 1,
            pairs: 1,
        };
        let drawn = |wires: ConstructionCheck, prods: ConstructionCheck| -> Vec<f64> {
            let (rules, normfree, attention, two_steps) = (token(), token(), token(), token());
            let checks = BdhDynamicsChecks { rules, normfree, attention, two_steps, wires, prods };
            let chart = BdhChecksView::chart(Some(&checks), &Theme::dark());
            let first = |line: &Line<'_>| match &line.data {
                Data::Points(points) => points[0][1],
                Data::Curve(_) => f64::NAN,
            };
            chart.lines.iter().filter(|line| line.label.starts_with("square")).map(first).collect()
        };
        assert_eq!(drawn(matrix(3e-15, 2e-15), matrix(1e-15, 8e-15)), [3e-15, 2e-15]);
        assert_eq!(drawn(matrix(3e-15, 2e-15), matrix(2.5e-15, 1e-15)), [2.5e-15, 1e-15], "the nearer one");
        let [error, bound] = drawn(matrix(1e-15, 2e-15), matrix(f64::NAN, 8e-15))[..] else { panic!("two lines") };
        assert!(error.is_nan() && bound == 8e-15, "a check without a number is not hidden by the other");
    }
}
