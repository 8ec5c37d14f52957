//! Quantities of the flow along its depth: speed, curvature of the path, stretch of the Jacobian.

use super::{
    EMPTY,
    answer::Answer,
    settings::{FlowSettings, REST_SECONDS, is_answered, keep_fresh},
};
use crate::{
    telemetry::measurements::{FlowAlong, FlowAlongArgs, FlowAnswer},
    ui::views::prelude::*,
};

/// The label of the axis, and a name.
const LINES: [(&str, &str); 3] = [
    ("speed, rms |dH/d\u{3c4}|", "speed"),
    ("curvature, |d\u{b2}H/d\u{3c4}\u{b2}| / |dH/d\u{3c4}|\u{b2}", "curvature"),
    ("largest singular value of dF/dH", "stretch"),
];
/// Index of the stretch, which takes longer and is a question of its own.
const STRETCH_INDEX: usize = 2;

/// View `flow_along`.
#[derive(Default)]
pub struct Along {
    states: [ChartState; 3],
}

impl Along {
    /// True where the stretch belongs to another answer than the one shown.
    fn is_stale(cx: &ViewCx<'_>) -> bool {
        let asked = cx.answered::<FlowAlong>().is_some_and(|m| m.sample.request.is_some());
        let waits = |answer: Answer<'_>| cx.is_waiting_for::<FlowAlong>(Some(answer.variant));
        asked && (due(cx).is_some() || Answer::in_focus(cx).is_some_and(waits))
    }

    fn chart<'a>(&self, cx: &ViewCx<'a>, k: usize) -> Chart<'a> {
        let (words, short) = LINES[k];
        let y = Axis::new(words).include(&[0.0]);
        let mut chart =
            Chart::new(short, Axis::new("depth \u{3c4}").fixed(0.0, 1.0), y).empty(cx.why_nothing::<FlowAnswer>(EMPTY));
        let (answer, along) = (Answer::in_focus(cx), cx.answered::<FlowAlong>());
        // another program may have measured the motion with its stretch alone
        let motion = answer.as_ref().map(|m| &m.motion).or(along.as_ref().map(|m| &m.motion));
        if let Some(motion) = motion {
            let points = match k {
                0 => pairs(&motion.taus, &motion.velocity),
                1 => pairs(&motion.taus, &motion.curvature),
                _ => along.as_ref().map_or(vec![], |along| pairs(&along.motion.taus, &along.sigma)),
            };
            if points.iter().any(|p| p[1].is_finite()) {
                let stale = k == STRETCH_INDEX && Self::is_stale(cx);
                let colour = if stale { cx.theme.faint(cx.theme.text) } else { cx.theme.text };
                chart.add(Line::new(short, colour, points).dots());
            }
        }
        chart.min_left_margin = 60.0;
        chart
    }

    /// All lines in one table.
    fn all<'a>(&self, cx: &ViewCx<'a>) -> Chart<'a> {
        let mut chart = self.chart(cx, 0);
        for k in 1..LINES.len() {
            chart.lines.extend(self.chart(cx, k).lines);
        }
        chart
    }
}

/// The variant whose stretch is to be asked for, and the arguments, where the stretch does not go with the answer shown.
fn due(cx: &ViewCx<'_>) -> Option<(usize, FlowAlongArgs)> {
    let answer = Answer::in_focus(cx)?;
    let freshness = Freshness::FollowsAnswer(answer.sample.request?);
    let args = FlowAlongArgs { flow: FlowSettings::args(cx) };
    cx.is_due::<FlowAlong>(Some(answer.variant), &args, freshness).then_some((answer.variant, args))
}

/// The stretch takes longer than a frame: it is asked for once the settings rest and the flow has answered.
fn is_at_rest(cx: &ViewCx<'_>) -> bool {
    cx.selection.get::<FlowSettings>().is_none_or(|flow| !flow.is_moving) && is_answered(cx)
}

impl View for Along {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh(cx);
        if let Some((variant, args)) = due(cx).filter(|_| cx.can_ask() && is_at_rest(cx)) {
            cx.ask_now::<FlowAlong>(Some(variant), &args);
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        FlowSettings::watch(ui, cx);
        if cx.can_ask() && due(cx).is_some() {
            let wait = if is_at_rest(cx) { 0.0 } else { REST_SECONDS };
            ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(wait));
        }
        self.states.iter_mut().for_each(ChartState::put_out_of_sight);
        let room = ui.available_size();
        let there: Vec<usize> = (0..LINES.len()).filter(|k| !self.chart(cx, *k).is_empty()).collect();
        let Some(&last) = there.last() else {
            let chart = self.chart(cx, 0);
            chart.show(ui, room, cx.theme, &mut self.states[0]);
            return;
        };
        ui.spacing_mut().item_spacing.y = 2.0;
        let high = (room.y / there.len() as f32).floor() - 2.0;
        for k in there {
            let mut chart = self.chart(cx, k);
            if k != last {
                // The axis is named once, under the last.
                chart.x.label.clear();
            }
            chart.show(ui, vec2(room.x, high), cx.theme, &mut self.states[k]);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        sample_subtitle(
            Answer::in_focus(cx).map(|m| m.sample),
            "along the solved path",
            "speed, curvature and stretch over depth",
        )
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        self.all(cx).csv(&ChartState::default())
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        charts_svg((0..LINES.len()).map(|k| self.chart(cx, k)).zip(&self.states), cx.theme)
    }
}
