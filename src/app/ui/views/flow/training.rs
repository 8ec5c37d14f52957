//! The training of the flow: gradient norms of whole models and of the field alone, and its scale alpha.

use crate::ui::views::{cost::measured, prelude::*};

/// Channels that a model with a flow reports at every step.
const FIELD_NORM: &str = "flow/grad_norm";
const ALPHA_CHANNEL: &str = "flow/alpha";
/// A gradient norm below the first has vanished, above the second it has exploded: six and two orders of
/// magnitude from the norm 1 at which gradients are clipped.
const NORM_LIMITS: [f64; 2] = [1e-6, 1e2];

#[derive(Default)]
pub struct Training;

/// Counts the steps up to this one whose gradient norm has vanished, those whose norm has exploded, and all of them.
fn count(curve: &Curve, step: u64) -> [usize; 3] {
    let all = curve.points(0, step).map(|(_, v)| v);
    let [min, max] = NORM_LIMITS;
    all.fold([0; 3], |[low, high, n], v| [low + usize::from(v < min), high + usize::from(v > max), n + 1])
}

impl Training {
    /// Gradient norms of whole models, then of their fields alone (dashed).
    fn norms<'a>(cx: &ViewCx<'a>) -> Vec<(String, Color32, &'a Curve, Stroke)> {
        let each = [(channels::GRAD_NORM, "", Stroke::Solid), (FIELD_NORM, ", flow alone", Stroke::Dashed)];
        let of_channel = |(channel, what, stroke): (&'static str, &'static str, Stroke)| {
            let curves = cx.each_variant(move |v| cx.mirror.curve(v, channel));
            curves.map(move |(info, colour, curve)| (format!("{}{what}", info.label), colour, curve, stroke))
        };
        each.into_iter().flat_map(of_channel).collect()
    }
}

impl PanelView for Training {
    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let y = Axis::new("gradient norm").log();
        let mut norms = cx.training_chart("gradient norms", y).empty(cx.no_curve_reason(
            "No gradients yet: press Space, and every step tells its norm.",
            "This run has recorded no norms of gradients.",
        ));
        for (label, colour, curve, stroke) in Self::norms(cx) {
            norms.add(Line::new(label, colour, curve).stroke(stroke));
        }
        if !norms.lines.is_empty() {
            for (label, at) in [("vanished below", NORM_LIMITS[0]), ("exploded above", NORM_LIMITS[1])] {
                norms.horizontal_line(format!("{label} {at:e}"), at).claim = Some("D4");
            }
        }
        let mut alpha = cx.training_chart("alpha", Axis::new("\u{3b1}").include(&[0.0, 0.1]));
        for (info, colour, curve) in cx.each_variant(|v| cx.mirror.curve(v, ALPHA_CHANNEL)) {
            alpha.add(Line::new(&info.label, colour, curve));
        }
        alpha.horizontal_line("the source ends at 0.065", 0.065).claim = Some("D3");
        alpha.legend = false;
        vec![Panel::new(norms, 0.6), Panel::new(alpha, 0.4).in_table("alpha ")]
    }

    fn explanation_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        for (label, _, curve, _) in Self::norms(cx) {
            let [low, high, n] = count(curve, cx.step);
            note_ui(ui, cx.theme, format!("{label}: {low} vanished, {high} exploded of {n} steps"));
        }
        let pace = measured(cx.mirror, cx.step);
        let pace: Vec<String> = pace.iter().map(|(group, _, ms)| format!("{} {ms:.1}", group.label)).collect();
        if !pace.is_empty() {
            note_ui(ui, cx.theme, format!("ms per step, median of the last ones: {}", pace.join(", ")));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle("norms before clipping, and the flow's learned scale")
    }
}
