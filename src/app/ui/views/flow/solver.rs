//! The solver's steps, error and cost, and how much of them the step growth bound explains.

use super::{
    EMPTY,
    answer::Answer,
    settings::keep_fresh,
    step_growth_bound::{STRIP, SolveSummary},
};
use crate::ui::views::prelude::*;

#[derive(Default)]
pub struct Solver;

impl Solver {
    /// Step lengths over depth, with the rejected steps and those that the growth bound limited.
    fn steps_chart<'a>(cx: &ViewCx<'a>, attempts: &[SolverAttempt]) -> Chart<'a> {
        let theme = cx.theme;
        let mut chart = Chart::new("steps", depth_axis(attempts), Axis::new("step h(\u{3c4})").log())
            .empty(cx.why_nothing::<FlowAnswer>(EMPTY));
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
fn shown<'a>(cx: &ViewCx<'a>) -> Option<SolveSummary<'a>> {
    let FlowAnswer { trace, solver, .. } = Answer::in_focus(cx)?.value;
    (!trace.attempts.is_empty()).then_some(SolveSummary { trace, solver })
}

impl PanelView for Solver {
    const LOW: f32 = 230.0;
    const SPACING: Vec2 = vec2(8.0, 4.0);

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh(cx);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some(SolveSummary { trace, .. }) = shown(cx) else { return vec![] };
        let attempts = &trace.attempts;
        vec![Panel::new(Self::steps_chart(cx, attempts), 0.58), Panel::new(Self::errors_chart(cx, attempts), 0.42)]
    }

    fn why_nothing(&self, cx: &ViewCx<'_>) -> String {
        cx.why_nothing::<FlowAnswer>(EMPTY)
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(account) = shown(cx) else { return };
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
        let Some(account) = shown(cx) else { return 0.0 };
        let words = account.sentences().join(" ");
        let height = note_height(ui, &words, room.x) + 6.0 + if account.cost().is_some() { STRIP + 4.0 } else { 0.0 };
        // Small tiles keep the charts: the words are in the table and the tooltip of the tile.
        if room.y - height > 120.0 { height } else { 0.0 }
    }

    fn below_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, _height: f32) {
        let Some(account) = shown(cx) else { return };
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
        let attempts = &shown(cx)?.trace.attempts;
        let mut table = Table::new(["attempt", "tau", "h", "error_over_tolerance", "accepted", "growth_capped"]);
        for (i, a) in attempts.iter().enumerate() {
            let error = optional_field(a.error.is_finite().then_some(a.error));
            table.cells(&[&(i + 1), &a.t, &a.h, &error, &u8::from(a.accepted), &u8::from(a.growth_capped)]);
        }
        Some(table)
    }
}
