//! A histogram of the entries of G with the threshold drawn over it; dragging the threshold cuts the graph there.

use eframe::egui::CursorIcon;

use super::{EMPTY, grouped_count, keep_fresh, points, shown, subtitle};
use crate::{analysis::graph::product::Sign, labs::neuron_graph::GraphSettings, ui::views::prelude::*};

const SIGN_CHOICES: [(Sign, &str, &str); 3] = [
    (Sign::Excitatory, "excitatory", "Edges are entries above \u{3b2}: neurons that raise one another."),
    (Sign::Inhibitory, "inhibitory", "Edges are entries below \u{2212}\u{3b2}: neurons that lower one another."),
    (Sign::Both, "both", "Edges are entries further than \u{3b2} from 0."),
];

#[derive(Default)]
pub struct Threshold {
    /// The threshold while it is dragged.
    dragged: Option<f64>,
}

impl Threshold {
    fn sign(cx: &ViewCx<'_>) -> Sign {
        cx.config.value(GraphSettings::sign).unwrap_or_default()
    }

    fn chart(cx: &ViewCx<'_>) -> Chart<'static> {
        let x = Axis::new("entry of G");
        let mut chart =
            Chart::new("entries of G", x, Axis::new("density").log()).empty(cx.empty_reason::<EntryHistogram>(EMPTY));
        let Some(histogram) = shown::<EntryHistogram>(cx) else { return chart };
        if let (Some(first), Some(last)) = (histogram.entry.first(), histogram.entry.last()) {
            chart.x = chart.x.fixed(*first, *last);
        }
        let positive = |y: &[f64]| -> Vec<[f64; 2]> {
            // zero has no place on a logarithmic axis
            points(&histogram.entry, y).into_iter().map(|p| if p[1] > 0.0 { p } else { [p[0], f64::NAN] }).collect()
        };
        chart.add(Line::new("frequency", cx.theme.text, positive(&histogram.density)));
        let mirrored =
            Line::new("symmetric part, min f(x), f(\u{2212}x)", cx.theme.secondary, positive(&histogram.symmetric));
        chart.add(mirrored.dashed().short("symmetric"));
        // splitting a bin leaves a rounding error
        let skew = positive(&histogram.skew).into_iter().zip(points(&histogram.entry, &histogram.density));
        let more = skew.map(|(p, f)| [p[0], if p[1] > 0.01 * f[1] { p[1] } else { f64::NAN }]);
        let rest = Line::new("skew: what one side has more", cx.theme.series(0), more.collect::<Vec<_>>());
        chart.add(rest.short("skew"));
        chart
    }

    /// Entries beyond a threshold, interpolated between the thresholds that were counted.
    fn edges_at(thresholds: &[f64], above: &EntriesAbove, sign: Sign, beta: f64) -> Option<f64> {
        let above = match sign {
            Sign::Excitatory => &above.excitatory,
            Sign::Inhibitory => &above.inhibitory,
            Sign::Both => &above.both,
        };
        let counts = points(thresholds, above);
        let after = counts.partition_point(|p| p[0] < beta);
        let (a, b) = (counts.get(after.checked_sub(1)?)?, counts.get(after).or(counts.last())?);
        let along = if b[0] > a[0] { ((beta - a[0]) / (b[0] - a[0])).clamp(0.0, 1.0) } else { 0.0 };
        // counts fall by powers: straight on a logarithmic axis
        Some(((a[1] + 1.0).ln() * (1.0 - along) + (b[1] + 1.0).ln() * along).exp() - 1.0)
    }

    /// Draws the line at beta and its mirror image, and lets the user drag it.
    fn handle_ui(&mut self, ui: &Ui, cx: &mut ViewCx<'_>, on: &ChartResponse, histogram: &EntryHistogram) {
        let (area, range) = (on.area, on.x_limits);
        let (sign, max) = (Self::sign(cx), histogram.threshold.last().copied().unwrap_or(histogram.beta));
        let beta = self.dragged.unwrap_or(histogram.beta);
        let place = |v: f64| area.left() + ((v - range[0]) / (range[1] - range[0])) as f32 * area.width();
        let value = |x: f32| range[0] + f64::from((x - area.left()) / area.width()) * (range[1] - range[0]);
        let sides: &[f64] = match sign {
            Sign::Excitatory => &[1.0],
            Sign::Inhibitory => &[-1.0],
            Sign::Both => &[-1.0, 1.0],
        };
        for side in sides {
            let x = place(side * beta);
            if !area.x_range().contains(x) {
                continue;
            }
            let (beyond, tone) = match *side < 0.0 {
                true => (area.with_max_x(x), cx.theme.cool),
                false => (area.with_min_x(x), cx.theme.warm),
            };
            ui.painter().rect_filled(beyond, 0.0, tone.gamma_multiply(0.10));
            let grip = Rect::from_x_y_ranges(x - 6.0..=x + 6.0, area.y_range());
            let id = ui.scope_id().with(("threshold", *side as i32));
            let response = ui.interact(grip, id, Sense::drag()).on_hover_cursor(CursorIcon::ResizeHorizontal);
            response.widget_info(|| WidgetInfo::labeled(Role::Slider, true, "threshold beta"));
            let strong = response.hovered() || response.dragged();
            let colour = if strong { cx.theme.accent } else { tone };
            ui.painter().vline(x, area.y_range(), Pen::new(if strong { 2.5 } else { 1.5 }, colour));
            grip_mark(ui, pos2(x, area.top() + 10.0), colour);
            let can_move = !cx.is_restricted(&[GraphSettings::edges.name]);
            if let Some(p) = response.interact_pointer_pos().filter(|_| response.dragged() && can_move) {
                self.dragged = Some((value(p.x) * side).clamp(0.0, max));
            }
            if response.drag_stopped()
                && let Some(held) = self.dragged.take()
                && let Some(edges) = Self::edges_at(&histogram.threshold, &histogram.above, sign, held)
            {
                let edges = (edges.round() as i64).clamp(100, 400_000);
                cx.set(GraphSettings::edges.name, Value::Int(edges));
            }
        }
    }

    /// Every pair of heads by the tail of its entries; a click cuts the graph between the two.
    fn head_pairs_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(measured) = cx.latest::<HeadPairs>().filter(|m| m.heads <= MAX_HEADS) else { return };
        let now = [GraphSettings::from_head, GraphSettings::to_head].map(|key| cx.config.value(key).ok());
        let keys = [GraphSettings::from_head.name, GraphSettings::to_head.name];
        let can_set = cx.can_move_controls() && cx.setting(keys[0]).is_some() && !cx.is_restricted(&keys);
        let mut chosen = None;
        // they are measured more seldom than the entries
        let step = measured.sample.step;
        let is_other = shown::<EntryHistogram>(cx).is_some_and(|entries| entries.sample.step != step);
        let when = if is_other { format!(", step {step}") } else { String::new() };
        let words = format!("heavy tails from head to head{when}:");
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            note_ui(ui, cx.theme, words).on_hover_text(PAIRS_TIP);
            for pair in &measured.pairs {
                if pair.to_head == 1 {
                    ui.add_space(6.0);
                }
                let heads = [pair.from_head, pair.to_head];
                let (sign, _) = tail_sign(pair.heavy_tail);
                let response = ui.selectable_label(now == heads.map(Some), sign);
                let name = format!("head {} to head {}: {sign}", pair.from_head, pair.to_head);
                response.widget_info(|| WidgetInfo::labeled(Role::Button, can_set, &name));
                if response.on_hover_text(pair_sentence(pair)).clicked() && can_set {
                    chosen = Some(if now == heads.map(Some) { [0, 0] } else { heads });
                }
            }
        });
        for (key, head) in keys.into_iter().zip(chosen.into_iter().flatten()) {
            cx.set(key, Value::Int(head as i64));
        }
    }

    fn summary(&self, cx: &ViewCx<'_>, histogram: &EntryHistogram) -> String {
        let edges_at = |beta| Self::edges_at(&histogram.threshold, &histogram.above, Self::sign(cx), beta);
        let held = self.dragged.and_then(|beta| Some((beta, edges_at(beta)?)));
        let (beta, edges) = held.unwrap_or((histogram.beta, histogram.edges as f64));
        let summary = shown::<NeuronGraph>(cx).and_then(|graph| graph.value.summary.as_ref());
        let carrying = summary.filter(|_| held.is_none()).map_or(String::new(), |s| {
            format!(" \u{b7} on {} of {} neurons", grouped_count(s.carrying as f64), grouped_count(s.neurons as f64))
        });
        // Scrubbed back, what was measured then may be of a setting other than the control's.
        let is_other = !cx.follow && !super::matches_current_settings(cx);
        let set = cx.config.value(GraphSettings::edges).ok().filter(|_| is_other);
        let later = set.map_or(String::new(), |set| {
            let set = grouped_count(set as f64);
            format!(" \u{b7} measured then; the {set} edges that are set act at the newest step")
        });
        format!(
            "\u{3b2} = {beta:.4} \u{b7} {} edges of {} entries{carrying} \u{b7} skew {}, kurtosis {}{later}",
            grouped_count(edges),
            grouped_count(histogram.entries as f64),
            number::rounded(histogram.skewness, 2),
            number::rounded(histogram.kurtosis, 1),
        )
    }
}

/// More heads than this have no room for a sign a pair.
const MAX_HEADS: usize = 8;

const PAIRS_TIP: &str = "A sign for every pair of heads, from the one that acts to the one that is acted on: + more large \
                         positive entries than random products have, \u{2212} more large negative ones, \u{b1} both, \
                         \u{b7} neither. A click cuts the graph between the two, a second one takes all heads again.";

/// The sign of a tail, and its meaning as text.
fn tail_sign(tail: HeavyTail) -> (&'static str, &'static str) {
    match tail {
        HeavyTail::Positive => ("+", "more large positive entries than random products have"),
        HeavyTail::Negative => ("\u{2212}", "more large negative entries than random products have"),
        HeavyTail::Both => ("\u{b1}", "more large entries of both signs than random products have"),
        HeavyTail::Neither => ("\u{b7}", "no more large entries than random products have"),
    }
}

fn pair_sentence(pair: &HeadPair) -> String {
    let HeadPair { from_head, to_head, skewness, kurtosis, positive_tail, negative_tail, random_tail, .. } = pair;
    let (skewness, kurtosis) = (number::rounded(*skewness, 2), number::rounded(*kurtosis, 1));
    format!(
        "Head {from_head} to head {to_head}: {}. Skew {skewness}, kurtosis {kurtosis}. Entries far above 0: \
         {positive_tail:.1e} of all, far below: {negative_tail:.1e}; random products have at most {random_tail:.1e}.",
        tail_sign(pair.heavy_tail).1
    )
}

/// Draws two small triangles, the sign that a line can be dragged.
fn grip_mark(ui: &Ui, at: Pos2, colour: Color32) {
    for side in [-1.0, 1.0] {
        let tip = |x: f32, y: f32| at + vec2(side * x, y);
        let corners = vec![tip(3.0, -5.0), tip(3.0, 5.0), tip(8.0, 0.0)];
        ui.painter().add(Shape::convex_polygon(corners, colour, Pen::NONE));
    }
}

impl PanelView for Threshold {
    const SPACING: Vec2 = vec2(8.0, 4.0);

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh(cx);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        Panel::single(Self::chart(cx))
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle::<EntryHistogram>(cx, "entries of G and the threshold that makes edges")
    }

    fn controls(&self) -> &'static [&'static str] {
        const { &[GraphSettings::sign.name, GraphSettings::edges.name] }
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if cx.setting(GraphSettings::sign.name).is_none() {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            cx.setting_ui(ui, &[GraphSettings::sign.name], |ui, cx| {
                if let Some(sign) = choice_buttons(ui, &Self::sign(cx), SIGN_CHOICES) {
                    cx.set(GraphSettings::sign.name, Value::Text(sign.id().to_owned()));
                }
                ui.add_space(8.0);
            });
            let Ok(edges) = cx.config.value(GraphSettings::edges) else { return };
            cx.edit_setting_ui(ui, GraphSettings::edges.name, edges, |ui, edges| {
                let label = ui.label("edges").on_hover_text("How many of the largest entries make edges.").id;
                ui.add(DragValue::new(edges).range(100..=400_000).speed(100.0)).labelled_by(label)
            });
        });
    }

    fn explanation_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(histogram) = shown::<EntryHistogram>(cx).filter(|histogram| !histogram.entry.is_empty()) else {
            return;
        };
        ui.label(RichText::new(self.summary(cx, histogram.value)).font(theme::numbers()).color(cx.theme.secondary));
        Self::head_pairs_ui(ui, cx);
    }

    fn chart_pointed(&mut self, ui: &Ui, cx: &mut ViewCx<'_>, on: &ChartResponse) {
        if let Some(histogram) = shown::<EntryHistogram>(cx).filter(|histogram| !histogram.entry.is_empty()) {
            self.handle_ui(ui, cx, on, histogram.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::number::Numbers;

    #[test]
    fn counts_are_read_off_between_thresholds() {
        let (excitatory, inhibitory) = (Numbers::default(), Numbers::default());
        let above = EntriesAbove { excitatory, inhibitory, both: vec![1000.0, 100.0, 0.0].into() };
        let at = |beta| Threshold::edges_at(&[0.0, 1.0, 2.0], &above, Sign::Both, beta).unwrap();
        assert!((at(1.0) - 100.0).abs() < 1e-9 && (at(2.0)).abs() < 1e-9 && at(9.0).abs() < 1e-9);
        assert!(at(0.5) > 300.0 && at(0.5) < 330.0, "{}", at(0.5));
    }
}
