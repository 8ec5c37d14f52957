//! The solver's steps, error and cost, and how much of them the bound by step growth explains: a step is at most ten times
//! as long as the one before, so that the first step alone decides the minimum number. It is explained in sentences and
//! drawn as a strip.

use super::{EMPTY, answer::Answer, settings::keep_fresh};
use crate::{
    analysis::step_growth_bound::{min_first_step, min_steps},
    ui::views::prelude::*,
};

#[derive(Default)]
pub struct Solver;

impl Solver {
    /// Step lengths over depth, with the rejected steps and those that the growth bound limited.
    fn steps_chart<'a>(cx: &ViewCx<'a>, attempts: &[SolverAttempt]) -> Chart<'a> {
        let theme = cx.theme;
        let mut chart = Chart::new("steps", depth_axis(attempts), Axis::new("step h(\u{3c4})").log())
            .empty(cx.empty_reason::<FlowAnswer>(EMPTY));
        let marks = |keep: &dyn Fn(&SolverAttempt) -> bool| -> Vec<[f64; 2]> {
            attempts.iter().filter(|a| keep(a)).map(|a| [a.t, a.h]).collect()
        };
        chart.add(Line::new("rejected", theme.error, marks(&|a| !a.accepted)).stroke(Stroke::Marks(Mark::Cross)));
        let capped = marks(&|a| a.growth_capped);
        chart.add(Line::new("growth capped", theme.accent, capped).stroke(Stroke::Marks(Mark::Up)));
        chart.lines.retain(|line| !line.data.is_empty());
        let mut stairs = marks(&|a| a.accepted);
        if let Some(last) = attempts.iter().rev().find(|a| a.accepted) {
            stairs.push([last.t + last.h, last.h]);
            if last.t + last.h > 1.0 + 1e-9 {
                // The last step may reach over the end; where it ends is not part of the flow.
                chart.vertical_line("end", 1.0);
            }
        }
        chart.add(Line::new("accepted", theme.text, stairs).stroke(Stroke::Stairs));
        chart
    }

    fn errors_chart<'a>(cx: &ViewCx<'a>, attempts: &[SolverAttempt]) -> Chart<'a> {
        let theme = cx.theme;
        let mut chart = Chart::new("error", depth_axis(attempts), Axis::new("error / tolerance").log().include(&[1.0]));
        let points = |accepted: bool| -> Vec<[f64; 2]> {
            let those = attempts.iter().filter(|a| a.accepted == accepted && a.error > 0.0);
            those.map(|a| [a.t, a.error]).collect()
        };
        chart.add(Line::new("rejected", theme.error, points(false)).stroke(Stroke::Marks(Mark::Cross)));
        chart.lines.retain(|line| !line.data.is_empty());
        chart.add(Line::new("accepted", theme.text, points(true)).stroke(Stroke::Marks(Mark::Ring)));
        chart.horizontal_line("accepted up to here", 1.0);
        chart.legend = false;
        chart
    }
}

/// The axis begins a little before the start, for whole marks, and ends a little after the end, where steps are cut.
fn depth_axis(attempts: &[SolverAttempt]) -> Axis {
    let over = attempts.iter().any(|a| a.accepted && a.t + a.h > 1.0 + 1e-9);
    Axis::new("depth \u{3c4}").fixed(-0.02, if over { 1.15 } else { 1.02 })
}

/// The solve shown, if it has any attempts.
fn shown_solve<'a>(cx: &ViewCx<'a>) -> Option<SolveSummary<'a>> {
    let FlowAnswer { trace, solver, .. } = Answer::in_focus(cx)?.value;
    (!trace.attempts.is_empty()).then_some(SolveSummary { trace, solver })
}

impl PanelView for Solver {
    const MIN_HEIGHT_FOR_ALL: f32 = 230.0;
    const SPACING: Vec2 = vec2(8.0, 4.0);

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh(cx);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some(SolveSummary { trace, .. }) = shown_solve(cx) else { return vec![] };
        let attempts = &trace.attempts;
        vec![Panel::new(Self::steps_chart(cx, attempts), 0.58), Panel::new(Self::errors_chart(cx, attempts), 0.42)]
    }

    fn empty_reason(&self, cx: &ViewCx<'_>) -> String {
        cx.empty_reason::<FlowAnswer>(EMPTY)
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(account) = shown_solve(cx) else { return };
        let trace = account.trace;
        let figures = format!(
            "NFE {}  h_init {}  steps {}  rejected {}  capped {}",
            trace.nfe,
            if account.cost().is_some() { value_label(trace.h_init) } else { "none".to_owned() },
            trace.accepted(),
            trace.rejected(),
            trace.growth_capped()
        );
        ui.label(RichText::new(figures).font(theme::numbers()).color(cx.theme.text));
    }

    fn height_below(&self, ui: &Ui, cx: &ViewCx<'_>, room: Vec2, _is_empty: bool) -> f32 {
        let Some(account) = shown_solve(cx) else { return 0.0 };
        let words = account.sentences().join(" ");
        let strip = if account.cost().is_some() { STRIP_HEIGHT + 4.0 } else { 0.0 };
        let height = note_height(ui, &words, room.x) + 6.0 + strip;
        // Small tiles keep the charts: the words are in the table and the tooltip of the tile.
        if room.y - height > 120.0 { height } else { 0.0 }
    }

    fn below_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, _height: f32) {
        let Some(account) = shown_solve(cx) else { return };
        account.strip_ui(ui, cx.theme);
        note_ui(ui, cx.theme, account.sentences().join(" "));
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(answer) = Answer::in_focus(cx) else { return "steps, error and cost of a solve".to_owned() };
        let (sample, solver) = (answer.sample, &answer.value.solver);
        if sample.about.contains(&solver.method) {
            return format!("step {} \u{b7} {}{}", sample.step, answer.variant_prefix(cx), sample.about);
        }
        let with = match solver.is_adaptive {
            true => format!(", {}, rtol {:e}, atol {:e}", solver.policy.id(), solver.rtol, solver.atol),
            false => String::new(),
        };
        format!("step {} \u{b7} {}{with} \u{b7} {}", sample.step, solver.method, sample.about)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let attempts = &shown_solve(cx)?.trace.attempts;
        let mut table = Table::new(["attempt", "tau", "h", "error_over_tolerance", "accepted", "growth_capped"]);
        for (i, a) in attempts.iter().enumerate() {
            let error = optional_field(a.error.is_finite().then_some(a.error));
            table.cells(&[&(i + 1), &a.t, &a.h, &error, &u8::from(a.accepted), &u8::from(a.growth_capped)]);
        }
        Some(table)
    }
}

/// Height of the strip, points.
const STRIP_HEIGHT: f32 = 54.0;
/// The bound is shown for up to this many steps; a first step below a hundred-millionth is not met in practice.
const MAX_STEPS: u32 = 8;

/// A solve that is explained: what its solver did.
struct SolveSummary<'a> {
    trace: &'a SolverTrace,
    solver: &'a SolverUse,
}

impl SolveSummary<'_> {
    /// The number of evaluations per step and the solver's order p; `None` for a fixed step size.
    fn cost(&self) -> Option<(u32, i32)> {
        self.solver.is_adaptive.then_some((self.solver.evaluations_per_step, self.solver.order as i32))
    }

    /// The least number of steps if no error shortens one, up to one more than the bound is shown for.
    fn min_steps(&self) -> u32 {
        min_steps(self.trace.h_init).min(MAX_STEPS + 1)
    }

    /// The explanation, one sentence per line.
    fn sentences(&self) -> Vec<String> {
        let SolverTrace { nfe, h_init, .. } = *self.trace;
        let (accepted, rejected, total) = (self.trace.accepted(), self.trace.rejected(), self.trace.attempts.len());
        let Some((each, order)) = self.cost() else {
            return vec![format!(
                "{} takes {total} equal steps, whatever the field does: NFE {nfe}. Nothing measures its error, so \
                 compare its end with an adaptive solver's.",
                self.solver.method
            )];
        };
        let mut all = vec![format!(
            "NFE {nfe} = {} to begin + {each} \u{d7} {total} steps ({accepted} accepted, {rejected} rejected).",
            nfe as i64 - i64::from(each) * total as i64,
        )];
        if !(h_init.is_finite() && h_init > 0.0) {
            return all;
        }
        let min = self.min_steps();
        let begun = format!("The first step is {}.", value_label(h_init));
        let forced = format!("A step is at most ten times the one before, so {min} are needed even without any error");
        all.push(match (accepted as u32).checked_sub(min) {
            Some(0) if rejected == 0 => {
                format!("{begun} {forced}: the whole cost is the ladder's, and says nothing of the flow's curvature.")
            }
            Some(0) => format!("{begun} {forced}; the rejected ones are what the error cost."),
            Some(more) => format!("{begun} {forced}; the error asked for {more} more."),
            None => format!("{begun} {forced} with the end reached exactly; the last step reached over it."),
        });
        let capped = self.trace.growth_capped();
        if capped > 0 {
            all.push(format!("{capped} of the steps would have grown more, had they been allowed (triangles)."));
        }
        all.extend(self.first_step_rule(min, order));
        all
    }

    /// Says which of the two rules fixed the first step, and where the bound asks for one step more.
    fn first_step_rule(&self, min: u32, order: i32) -> Option<String> {
        let SolverTrace { h_init, d0, d1, d2, .. } = *self.trace;
        let max = d1.max(d2);
        if !(max.is_finite() && max > 0.0) {
            return None;
        }
        let by_slope = (0.01 / max).powf(1.0 / f64::from(order));
        if ((by_slope - h_init) / h_init).abs() > 0.01 {
            let by_size = d0 / d1;
            let by_size = by_size.is_finite() && ((by_size - h_init) / h_init).abs() < 0.01;
            return by_size.then(|| {
                "It is d\u{2080}/d\u{2081}, the size of the state over its speed: the rule's upper bound.".to_owned()
            });
        }
        // (0.01 / m)^(1/p) falls below the least first step for k steps where m = 0.01 ((10^k - 1) / 9)^p.
        let bound = |k: u32| 0.01 * (1.0 / min_first_step(k)).powi(order);
        Some(format!(
            "It is (0.01 / m)^(1/{order}) with m = max(d\u{2081}, d\u{2082}) = {}; above {} the ladder asks for one step \
             more, that is {} evaluations.",
            value_label(max),
            value_label(bound(min)),
            self.cost().map_or(0, |c| c.0)
        ))
    }

    /// The strip: first steps on a log axis, divided where the least number of steps changes, with this solve's.
    fn strip_ui(&self, ui: &mut Ui, theme: &Theme) {
        let h_init = self.trace.h_init;
        let Some((each, _)) = self.cost().filter(|_| h_init > 0.0 && h_init.is_finite()) else { return };
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), STRIP_HEIGHT), Sense::hover());
        let painter = ui.painter_at(rect);
        let lowest = h_init.clamp(1e-9, 1e-3).log10().floor();
        let across = |h: f64| {
            let share = (h.log10() - lowest) / (0.3 - lowest);
            rect.left() + 8.0 + share.clamp(0.0, 1.0) as f32 * (rect.width() - 16.0)
        };
        let (top, foot) = (rect.top() + 18.0, rect.top() + 36.0);
        let here = self.min_steps();
        for k in 1..=MAX_STEPS + 1 {
            let left = if k > MAX_STEPS { across(10f64.powf(lowest)) } else { across(min_first_step(k)) };
            let right = if k == 1 { across(10f64.powf(0.3)) } else { across(min_first_step(k - 1)) };
            if right - left < 1.0 {
                continue;
            }
            let step = Rect::from_min_max(pos2(left, top), pos2(right, foot));
            if k == here {
                painter.rect_filled(step, 0.0, theme.accent.gamma_multiply(0.2));
            }
            painter.vline(left, top..=foot, Pen::new(1.0, theme.secondary));
            let colour = if k == here { theme.text } else { theme.secondary };
            if right - left > 22.0 {
                painter.text(step.center(), Align2::CENTER_CENTER, 2 + each * k, theme::numbers(), colour);
            }
        }
        for y in [top, foot] {
            painter.hline(across(10f64.powf(lowest))..=across(10f64.powf(0.3)), y, Pen::new(1.0, theme.line));
        }
        for (place, words) in Scale::Log.ticks(lowest, 0.0, 5) {
            let x = across(10f64.powf(place));
            let x = x.clamp(rect.left() + 18.0, rect.right() - 18.0);
            painter.text(pos2(x, foot + 3.0), Align2::CENTER_TOP, words, theme::numbers(), theme.secondary);
        }
        let head = "fewest evaluations by the ladder, over h_init (log)";
        painter.text(rect.left_top() + vec2(2.0, 0.0), Align2::LEFT_TOP, head, theme::small(), theme.secondary);
        let x = across(h_init);
        painter.vline(x, top - 2.0..=foot + 2.0, Pen::new(2.0, theme.accent));
        paint_mark(&painter, pos2(x, foot + 5.0), Mark::Up, theme.accent);
        let words = format!("ladder: h_init {}, at least {here} steps", value_label(h_init));
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The source's own jump: dopri5 goes from 14 to 20 when max(d1, d2) passes 1610.5.
    #[test]
    fn the_jump_from_14_to_20_is_where_it_is_known_to_be() {
        let h = |m: f64| (0.01 / m).powf(0.2);
        let nfe = |m: f64| 2 + 6 * min_steps(h(m));
        assert_eq!((nfe(1610.0), nfe(1611.0)), (14, 20));
        let solver = SolverUse {
            method: "dopri5".into(),
            policy: StepPolicy::Interpolate,
            rtol: 1e-3,
            atol: 1e-3,
            steps: 0,
            is_adaptive: true,
            order: 5,
            evaluations_per_step: 6,
        };
        let words = |m: f64, accepted: usize| {
            let step = |i| SolverAttempt { t: 0.0, h: 0.0, error: 0.0, accepted: true, growth_capped: i == 0 };
            let attempts = (0..accepted).map(step).collect();
            let trace = SolverTrace { h_init: h(m), d0: 1000.0, d1: m, d2: 0.0, nfe: nfe(m) as usize, attempts };
            SolveSummary { trace: &trace, solver: &solver }.sentences().join(" ")
        };
        let said = words(1600.0, 2);
        assert!(said.contains("whole cost is the ladder's") && said.contains("above 1611"), "{said}");
        let said = words(1600.0, 5);
        assert!(said.contains("3 more"), "{said}");
    }
}
