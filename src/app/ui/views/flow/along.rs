//! Quantities of the flow along its depth: speed, curvature of the path, stretch of the Jacobian.

use super::{
    EMPTY,
    answer::Answer,
    settings::{FlowSettings, REST_SECONDS, is_answered, keep_fresh},
};
use crate::ui::views::prelude::*;

/// For each line, the label of its axis and its short name.
const LINE_LABELS: [(&str, &str); 3] = [
    ("speed, rms |dH/d\u{3c4}|", "speed"),
    ("curvature, |d\u{b2}H/d\u{3c4}\u{b2}| / |dH/d\u{3c4}|\u{b2}", "curvature"),
    ("largest singular value of dF/dH", "stretch"),
];
/// The index of the stretch, which is a separate question because it takes longer.
const STRETCH_INDEX: usize = 2;
/// The gap under each chart, points.
const GAP: f32 = 2.0;

#[derive(Default)]
pub struct FlowAlongView;

impl FlowAlongView {
    /// True where the stretch belongs to an answer other than the one shown.
    fn is_stale(cx: &ViewCx<'_>) -> bool {
        let asked = cx.answered::<FlowAlong>().is_some_and(|m| m.sample.request.is_some());
        let waits = |answer: Answer<'_>| cx.is_waiting_for::<FlowAlong>(Some(answer.variant));
        asked && (due_question(cx).is_some() || Answer::in_focus(cx).is_some_and(waits))
    }

    fn chart<'a>(cx: &ViewCx<'a>, k: usize) -> Chart<'a> {
        let (words, short) = LINE_LABELS[k];
        let y = Axis::new(words).include(&[0.0]);
        let mut chart = Chart::new(short, Axis::new("depth \u{3c4}").fixed(0.0, 1.0), y)
            .empty(cx.empty_reason::<FlowAnswer>(EMPTY));
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
}

/// The variant and the arguments of the stretch to ask for; `None` if the stretch already belongs to the shown answer.
fn due_question(cx: &ViewCx<'_>) -> Option<(usize, FlowAlongArgs)> {
    let answer = Answer::in_focus(cx)?;
    let freshness = Freshness::FollowsAnswer(answer.sample.request?);
    let args = FlowAlongArgs { flow: FlowSettings::args(cx) };
    cx.is_due::<FlowAlong>(Some(answer.variant), &args, freshness).then_some((answer.variant, args))
}

/// The stretch takes longer than a frame: it is asked for once the settings rest and the flow has answered.
fn is_at_rest(cx: &ViewCx<'_>) -> bool {
    cx.selection.get::<FlowSettings>().is_none_or(|flow| !flow.is_moving) && is_answered(cx)
}

impl PanelView for FlowAlongView {
    const SPACING: Vec2 = vec2(8.0, GAP);

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh(cx);
        if let Some((variant, args)) = due_question(cx).filter(|_| cx.can_ask() && is_at_rest(cx)) {
            cx.ask_now::<FlowAlong>(Some(variant), &args);
        }
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let charts = (0..LINE_LABELS.len()).map(|k| Self::chart(cx, k));
        let there: Vec<_> = charts.filter(|chart| !chart.is_empty()).map(|c| Panel::new(c, 1.0).in_table("")).collect();
        if there.is_empty() { Panel::single(Self::chart(cx, 0)) } else { there }
    }

    fn arrange(&self, _ui: &Ui, _cx: &ViewCx<'_>, room: Vec2, panels: &[Panel<'_>], _alone: usize) -> Placement {
        if panels[0].is_empty() {
            return Placement::Alone(0);
        }
        let high = (room.y / panels.len() as f32).floor() - GAP;
        Placement::Column(vec![vec2(room.x, high); panels.len()])
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        FlowSettings::watch(ui, cx);
        if cx.can_ask() && due_question(cx).is_some() {
            let wait = if is_at_rest(cx) { 0.0 } else { REST_SECONDS };
            ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(wait));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let (what, otherwise) = ("along the solved path", "speed, curvature and stretch over depth");
        sample_subtitle(Answer::in_focus(cx).map(|m| m.sample), what, otherwise)
    }
}
