//! The gate over training: tanh(gamma) of every variant, and beneath it the gradient that moves it and, where it was
//! measured, what the open gate does to the entropy of the attention behind it.

use crate::ui::views::prelude::*;

/// The paper's gates stay within this of zero.
const PAPER_BAND: f64 = 0.01;
/// Weight of the past in the smoothed gradient.
const GRADIENT_SMOOTHING: f64 = 0.8;

#[derive(Default)]
pub struct Gate {
    gate: SeedSeries,
    gradient: SeedSeries,
}

/// Nothing where no entropy was measured.
fn entropy_chart<'a>(cx: &ViewCx<'a>) -> Option<Chart<'a>> {
    let y = Axis::new("\u{394} entropy (nats)").include(&[0.0]);
    let mut chart = cx.training_chart("entropy behind the gate", y);
    for (info, colour, history) in cx.histories::<GateEntropy>() {
        chart.add(Line::new(&info.label, colour, points_over_steps(&history, |m| m.change())).dots());
    }
    if chart.lines.is_empty() {
        return None;
    }
    chart.horizontal_line("shut", 0.0);
    chart.legend = false;
    Some(chart)
}

/// For example "+0.31 (rotated -0.01 ± 0.05, p 0.002)".
fn correlation_label(c: RankCorrelation) -> String {
    let [rho, rotated] = [c.rho, c.null_mean].map(|rho| number::signed(rho, 2));
    format!("{rho} (rotated {rotated} \u{b1} {:.2}, p {})", c.null_sd, number::p_label(c.p))
}

/// The correlations by token of the variant in focus, where its gate changes anything.
fn correlations(cx: &ViewCx<'_>) -> String {
    match cx.measured_in_focus::<GateEntropy>() {
        Some(m) if m.with_loss.rho.is_finite() => format!(
            " \u{b7} by token the change of entropy goes with that of the loss by {}, with the size of what the gate lets in by {}",
            correlation_label(m.with_loss),
            correlation_label(m.with_push)
        ),
        _ => String::new(),
    }
}

impl PanelView for Gate {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        self.gate.follow(cx.mirror, channels::GATE, 0.0);
        self.gradient.follow(cx.mirror, channels::GATE_GRAD, GRADIENT_SMOOTHING);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let each = SeriesStyle { seeds: Seeds::Each, ..SeriesStyle::default() };
        let y = Axis::new("tanh(\u{3b3})").include(&[-1.3 * PAPER_BAND, 1.3 * PAPER_BAND]);
        let mut gate = cx.training_chart("gate", y).empty(cx.no_curve_reason(
            "No gate yet. Press Space: \u{3b3} leaves zero with the first step, where the variant is coupled.",
            "No variant of this run has a gate.",
        ));
        self.gate.draw(&mut gate, cx.mirror, channels::GATE, cx.theme, each);
        // the paper's gate stays closed on prose, which does not need it: on a task, and in the model of another program,
        // the band only says what counts as closed
        let band = [-PAPER_BAND, PAPER_BAND];
        if questions(cx.run_config()).is_none() && !cx.is_trained_elsewhere() {
            gate.horizontal_span("paper: stays closed, \u{b1}0.01", cx.theme.secondary, band).claim = Some("A1");
        } else {
            gate.horizontal_span("closed: within \u{b1}0.01", cx.theme.secondary, band);
        }
        let mut gradient = cx.training_chart("gate gradient", Axis::new("dLoss/d\u{3b3}, smoothed"));
        self.gradient.draw(&mut gradient, cx.mirror, channels::GATE_GRAD, cx.theme, each);
        gradient.legend = false;
        let entropy = entropy_chart(cx);
        let shares = if entropy.is_some() { [0.46, 0.27] } else { [0.6, 0.4] };
        let gradient = Panel::new(gradient, shares[1]).in_table("dLoss/d\u{3b3} ");
        let mut panels = vec![Panel::new(gate, shares[0]), gradient];
        panels.extend(entropy.map(|chart| Panel::new(chart, 0.27).in_table("entropy, open less shut ")));
        panels
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let is_negative = (0..cx.mirror.variants().len())
            .filter_map(|v| cx.mirror.curve(v, channels::GATE)?.value_at(cx.step))
            .any(|gate| gate < 0.0);
        let sign = if is_negative { " \u{b7} below zero as open as above: its size is |tanh \u{3b3}|" } else { "" };
        let seeds = if cx.mirror.variants().len() > groups(cx.mirror).len() { ", a line a seed" } else { "" };
        let gate = if cx.is_trained_elsewhere() { "opening of the gate" } else { "weight of the slow path" };
        let what = cx.subtitle(&format!("{gate}, and its gradient{seeds}"));
        format!("{what}{sign}{}", correlations(cx))
    }
}
