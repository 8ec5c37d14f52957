//! Every token's distance from the quasi-steady state over training, and the gate: does it help where that is short?

use super::generator_distance::UNMEASURED_BLOCK;
use crate::ui::views::prelude::*;

const GAP: f32 = 6.0;
/// The height above which a tile also shows the gate's benefit token by token, points.
const TALL_HEIGHT: f32 = 340.0;
/// The width above which the chart over tokens is beside those over steps, points.
const WIDE_WIDTH: f32 = 420.0;
/// The share of the height that the chart over tokens takes.
const TOKEN_CHART_SHARE: f32 = 0.45;

#[derive(Default)]
pub struct TokenResidualsView;

/// For example "2 passes".
fn passes_label(passes: usize) -> String {
    format!("{passes} pass{}", if passes == 1 { "" } else { "es" })
}

/// The selected token, if the text has it.
fn token(cx: &ViewCx<'_>, m: &TokenResiduals) -> Option<usize> {
    let tokens = m.residual.first().map_or(0, |r| r.len());
    cx.selection.token.filter(|t| *t < tokens)
}

/// Says whether the gate helps where the state is close, compared with a null model.
fn sentence(b: &GateBenefit) -> String {
    let n = b.benefit.len();
    if b.correlation.is_nan() {
        return format!(
            "The gate is {} and changes the loss of none of {n} tokens: there is nothing to compare.",
            number::rounded(b.gate, 4)
        );
    }
    let verdict = match (b.p < 0.05, b.correlation < b.null_mean) {
        (false, _) => "no more than by chance",
        (true, true) => "it helps more where the state is close",
        (true, false) => "it helps more where the state is far off",
    };
    let [rho, rotated] = [b.correlation, b.null_mean].map(|rho| number::signed(rho, 2));
    format!(
        "Over {n} held-out tokens the open gate's help and the residual have the rank correlation {rho} (rotated against each \
         other {rotated} \u{b1} {:.2}, p {}): {verdict}.",
        b.null_sd,
        number::p_label(b.p)
    )
}

impl TokenResidualsView {
    fn by_token<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let y = Axis::new("|x \u{2212} Post(x)| / |x|").log();
        let mut chart = Chart::new("residual by token", Axis::new("position (tokens)").integer_ticks(), y)
            .empty(cx.empty_reason::<TokenResiduals>(UNMEASURED_BLOCK));
        let Some(m) = cx.measured_in_focus::<TokenResiduals>() else { return chart };
        for (place, (passes, residual)) in m.passes.iter().zip(&m.residual).enumerate() {
            chart.add(Line::new(passes_label(*passes), cx.theme.series(place), by_place(residual)));
        }
        if let Some(token) = token(cx, m.value) {
            chart.vertical_line(quoted(m.sample.tokens.get(token).map_or("", String::as_str)), token as f64);
        }
        chart
    }

    fn over_steps<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let Some(m) = cx.measured_in_focus::<TokenResiduals>() else {
            return Chart::new("residual over steps", Axis::steps(), Axis::new(""));
        };
        let token = token(cx, m.value);
        let label = token.map_or("residual, mean".to_owned(), |t| format!("residual, token {t}"));
        let mut chart = cx.training_chart("residual over steps", Axis::new(label).log());
        let history = cx.history::<TokenResiduals>(m.variant);
        for (place, passes) in m.passes.iter().enumerate() {
            let points = points_over_steps(&history, |m| m.after(place, token));
            chart.add(Line::new(passes_label(*passes), cx.theme.series(place), points).dots());
        }
        chart.legend = false;
        chart
    }

    fn gate_chart<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let mut chart = cx.training_chart("gate", Axis::new("|tanh \u{3b3}|").include(&[0.0]));
        let Some(m) = cx.measured_in_focus::<TokenResiduals>() else { return chart };
        if let Some(curve) = cx.mirror.curve(m.variant, channels::GATE) {
            let points = curve.points(0, u64::MAX).map(|(step, gate)| [step as f64, gate.abs()]);
            let points: Vec<[f64; 2]> = points.collect();
            let label = cx.mirror.variants().get(m.variant).map_or("gate", |v| v.label.as_str());
            chart.add(Line::new(label, variant_colour(cx.mirror, m.variant, cx.theme), points));
        }
        chart.legend = false;
        chart
    }
}

/// The gate's help by residual, a ring a token; without points where no help was measured.
fn benefit_chart<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
    let x = Axis::new("residual after 1 pass").log();
    let mut chart =
        Chart::new("help of the gate by token", x, Axis::new("loss shut \u{2212} open (nats)").include(&[0.0]));
    let Some(b) = gate_benefit(cx) else { return chart };
    let tokens = Line::new("held-out token", cx.theme.text, pairs(&b.residual, &b.benefit));
    chart.add(tokens.stroke(Stroke::Marks(Mark::Dot)));
    chart.horizontal_line("", 0.0);
    chart.legend = false;
    chart
}

/// The gate's help that was measured with the residuals.
fn gate_benefit<'a>(cx: &ViewCx<'a>) -> Option<&'a GateBenefit> {
    cx.measured_in_focus::<TokenResiduals>().and_then(|m| m.value.gate.as_ref())
}

impl PanelView for TokenResidualsView {
    const SPACING: Vec2 = vec2(GAP, GAP);

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask_if_missing::<TokenResiduals>();
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        // all four even at steps without a gate benefit, because a chart's zoom is stored by its position
        let charts = [Self::by_token(cx), benefit_chart(cx), Self::over_steps(cx), Self::gate_chart(cx)];
        charts.map(|chart| Panel::new(chart, 0.5)).into()
    }

    fn arrange(&self, ui: &Ui, _cx: &ViewCx<'_>, room: Vec2, panels: &[Panel<'_>], _alone: usize) -> Placement {
        if panels[0].is_empty() {
            return Placement::Alone(0);
        }
        let over_steps = Placement::OneAxis(vec![0.5, 0.5]);
        if !fits_two(ui.ctx(), room.x, WIDE_WIDTH) {
            let high = (room.y * TOKEN_CHART_SHARE).floor();
            let lower = (vec2(room.x, room.y - high - 2.0 * GAP), 2, over_steps);
            let groups = vec![(vec2(room.x, high), 2, Placement::Alone(0)), lower];
            return Placement::Groups { is_row: false, groups };
        }
        let half = vec2(((room.x - GAP) / 2.0).floor(), room.y);
        let left = match !panels[1].is_empty() && room.y > TALL_HEIGHT {
            true => Placement::Column(vec![vec2(half.x, ((room.y - GAP) / 2.0).floor()); 2]),
            false => Placement::Alone(0),
        };
        Placement::Groups { is_row: true, groups: vec![(half, 2, left), (half, 2, over_steps)] }
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(benefit) = gate_benefit(cx).filter(|_| !Self::by_token(cx).is_empty()) {
            wrapped_ui(ui, sentence(benefit), cx.theme.text);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let m = cx.measured_in_focus::<TokenResiduals>();
        m.map_or("residual of every token, and the gate".to_owned(), |m| {
            m.subtitle(cx, &format!("round {} \u{b7} ", m.round))
        })
    }
}
