//! The solver's steps, error and cost, and how much of them the step growth bound explains.

use super::{
    EMPTY,
    answer::Answer,
    settings::keep_fresh,
    step_growth_bound::{STRIP, SolveSummary},
};
use crate::{
    telemetry::measurements::{FlowAnswer, SolverAttempt},
    ui::views::prelude::*,
};

/// View `flow_solver`.
#[derive(Default)]
pub struct Solver {
    states: [ChartState; 2],
}

impl Solver {
    /// Step lengths over depth, with the rejected steps and those that the growth bound limited.
    fn steps_chart<'a>(cx: &ViewCx<'a>, attempts: &[SolverAttempt]) -> Chart<'a> {
        let theme = cx.theme;
        let mut chart = Chart::new("steps", depth_axis(attempts), Axis::new("step h(\u{3c4})").log())
            .empty(cx.why_nothing::<FlowAnswer>(EMPTY));
        let marks = |keep: &dyn Fn(&SolverAttempt) -> bool| -> Vec<[f64; 2]> {
            attempts.iter().filter(|a| keep(a)).map(|a| [a.t, a.h]).collect()
        };
        let rejected = marks(&|a| !a.accepted);
        if !rejected.is_empty() {
            chart.add(Line::new("rejected", theme.error, rejected).stroke(Stroke::Marks(Mark::Cross)));
        }
        let capped = marks(&|a| a.growth_capped);
        if !capped.is_empty() {
            chart.add(Line::new("growth capped", theme.accent, capped).stroke(Stroke::Marks(Mark::Up)));
        }
        let mut stairs = marks(&|a| a.accepted);
        if let Some(last) = attempts.iter().rev().find(|a| a.accepted) {
            stairs.push([last.t + last.h, last.h]);
            if last.t + last.h > 1.0 + 1e-9 {
                // The last step may reach over the end; where it ends is no part of the flow.
                chart.upright("end", 1.0);
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
        let (bad, good) = (points(false), points(true));
        if !bad.is_empty() {
            chart.add(Line::new("rejected", theme.error, bad).stroke(Stroke::Marks(Mark::Cross)));
        }
        chart.add(Line::new("accepted", theme.text, good).stroke(Stroke::Marks(Mark::Ring)));
        chart.level("accepted up to here", 1.0);
        chart.legend = false;
        chart
    }
}

/// The axis begins a little before the start, so that marks there are whole, and ends a little after the end, where a
/// last step that reaches beyond is cut.
fn depth_axis(attempts: &[SolverAttempt]) -> Axis {
    let over = attempts.iter().any(|a| a.accepted && a.t + a.h > 1.0 + 1e-9);
    Axis::new("depth \u{3c4}").fixed(-0.02, if over { 1.15 } else { 1.02 })
}

impl View for Solver {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh(cx);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(answer) = Answer::in_focus(cx).filter(|a| !a.trace.attempts.is_empty()) else {
            return cx.unmeasured_ui::<FlowAnswer>(ui, EMPTY);
        };
        let (account, attempts) = (SolveSummary::new(answer.value), &answer.value.trace.attempts);
        let theme = cx.theme;
        ui.spacing_mut().item_spacing.y = 4.0;
        let room = ui.available_size();
        let figures = format!(
            "NFE {}  h_init {}  steps {}  rejected {}  capped {}",
            account.nfe,
            if account.cost.is_some() { value_label(account.h_init) } else { "none".to_owned() },
            account.accepted,
            account.rejected,
            account.capped
        );
        ui.label(RichText::new(figures).font(theme::numbers()).color(theme.text));
        let words = account.sentences().join(" ");
        let galley = ui.painter().layout(words.clone(), theme::small(), theme.secondary, room.x);
        let foot = galley.size().y + 6.0 + if account.cost.is_some() { STRIP + 4.0 } else { 0.0 };
        let left = ui.available_height() - foot;
        // Small tiles keep the charts: the words are in the table and the tooltip of the tile.
        let has_account = left > 120.0;
        let room = vec2(room.x, if has_account { left } else { ui.available_height() });
        self.states.iter_mut().for_each(ChartState::put_out_of_sight);
        let errors = Self::errors_chart(cx, attempts);
        let steps = Self::steps_chart(cx, attempts);
        if errors.is_empty() || room.y < 230.0 {
            steps.show(ui, room, theme, &mut self.states[0]);
        } else {
            one_axis_ui(ui, theme, room, vec![(steps, 0.58), (errors, 0.42)], &mut self.states.each_mut());
        }
        if has_account {
            account.strip_ui(ui, theme);
            note_ui(ui, theme, words);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(answer) = Answer::in_focus(cx) else { return "steps, error and cost of a solve".to_owned() };
        let (sample, solver) = (answer.sample, &answer.value.solver);
        if sample.about.contains(&solver.method) {
            return format!("step {} \u{b7} {}{}", sample.step, answer.whose(cx), sample.about);
        }
        let with = match solver.is_adaptive {
            true => format!(", {}, rtol {:e}, atol {:e}", solver.policy, solver.rtol, solver.atol),
            false => String::new(),
        };
        format!("step {} \u{b7} {}{with} \u{b7} {}", sample.step, solver.method, sample.about)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let attempts = &Answer::in_focus(cx)?.value.trace.attempts;
        let mut table = Table::new(["attempt", "tau", "h", "error_over_tolerance", "accepted", "growth_capped"]);
        for (i, a) in attempts.iter().enumerate() {
            let error = optional_field(a.error.is_finite().then_some(a.error));
            table.cells(&[&(i + 1), &a.t, &a.h, &error, &u8::from(a.accepted), &u8::from(a.growth_capped)]);
        }
        table.finish_if_any()
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let attempts = &Answer::in_focus(cx)?.value.trace.attempts;
        let charts = [Self::steps_chart(cx, attempts), Self::errors_chart(cx, attempts)];
        charts_svg(charts.into_iter().zip(&self.states), cx.theme)
    }
}
