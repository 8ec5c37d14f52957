//! How far a refining map is from a step of a Markov chain: its column sums, and the nearest generator over training.

use crate::ui::views::prelude::*;

/// The hint of a view of a trained block before its measurement.
pub(super) const UNMEASURED_BLOCK: &str = "Not measured yet. It is asked of a fast-slow model: press Space in Fast-slow \
                                           gate, or here with the preset \u{201c}A trained block\u{201d}, or open a \
                                           run of either (Ctrl O).";
/// Column sums of the paper's random map of 12 states (arXiv 2606.16730, remark 30).
const PAPER_COLUMN_SUMS: [f64; 2] = [0.892, 1.096];

#[derive(Default)]
pub struct GeneratorDistanceView;

fn sorted(m: &GeneratorDistance) -> Vec<f64> {
    let mut sums = m.column_sums.to_vec();
    sums.sort_by(f64::total_cmp);
    sums
}

fn sentence(m: &GeneratorDistance) -> String {
    let (sums, null) = (sorted(m), &m.permuted);
    let mean = number::rounded(sums.iter().sum::<f64>() / sums.len().max(1) as f64, 3);
    let [low, high] = [sums.first(), sums.last()].map(|v| v.map_or("\u{2013}".to_owned(), |v| number::rounded(*v, 3)));
    format!(
        "Columns of I + J sum to {low} to {high}, {mean} in the mean (generator: 1). {:.0}% of the entries off the diagonal \
         are negative (generator: none). The nearest generator leaves {:.3} of |J| = {}; of the same entries in random \
         places {:.3} \u{b1} {:.3}.",
        100.0 * m.negative_share,
        m.distance,
        value_label(m.norm),
        null.distance,
        null.distance_sd,
    )
}

impl GeneratorDistanceView {
    fn column_sums_chart<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let x = Axis::new("channel, by column sum").integer_ticks();
        let y = Axis::new("column sum of I + J").include(&[1.0, PAPER_COLUMN_SUMS[0], PAPER_COLUMN_SUMS[1]]);
        let mut chart = Chart::new("column sums", x, y).empty(cx.empty_reason::<GeneratorDistance>(UNMEASURED_BLOCK));
        let Some(m) = cx.measured_in_focus::<GeneratorDistance>() else { return chart };
        let points = by_place(&sorted(m.value));
        chart.x = chart.x.include(&[-2.0, points.len() as f64 + 1.0]);
        let colour = variant_colour(cx.mirror, m.variant, cx.theme);
        chart.add(Line::new("this model", colour, points).stroke(Stroke::Marks(Mark::Ring)));
        let null = &m.permuted;
        if null.smallest.is_finite() && null.largest.is_finite() {
            chart.horizontal_span("entries in random places", cx.theme.secondary, [null.smallest, null.largest]);
        }
        chart.horizontal_span("paper\u{2019}s random map", cx.theme.warm, PAPER_COLUMN_SUMS).claim = Some("A16");
        chart.horizontal_line("generator", 1.0);
        chart
    }

    fn distances_chart<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let y = Axis::new("|J \u{2212} nearest generator| / |J|").include(&[0.0, 1.0]);
        let mut chart = cx.training_chart("distance from a generator", y);
        chart.empty = "Measured at one step only so far.".to_owned();
        for (info, colour, history) in cx.histories::<GeneratorDistance>() {
            chart.add(Line::new(&info.label, colour, points_over_steps(&history, |m| m.distance)).dots());
            let label = format!("{}, entries in random places", info.label);
            let null = Line::new(label, colour, points_over_steps(&history, |m| m.permuted.distance));
            chart.add_of_kind("random places", null.null_baseline());
        }
        chart.horizontal_line("generator", 0.0);
        chart
    }
}

impl PanelView for GeneratorDistanceView {
    const SPACING: Vec2 = Vec2::splat(6.0);
    const ARRANGEMENT: Arrangement = Arrangement::Halves { wide: 420.0 };

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask_if_missing::<GeneratorDistance>();
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        vec![Panel::new(Self::column_sums_chart(cx), 0.5), Panel::new(Self::distances_chart(cx), 0.5)]
    }

    fn explanation_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(m) = cx.measured_in_focus::<GeneratorDistance>() {
            wrapped_ui(ui, sentence(m.value), cx.theme.text);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let m = cx.measured_in_focus::<GeneratorDistance>();
        m.map_or("the post block's Jacobian against generators".to_owned(), |m| {
            m.subtitle(cx, &format!("round {} \u{b7} ", m.round))
        })
    }
}
