//! Modularity against the number of edges, beside graphs of chance; and over training, at one number
//! of edges.

use super::{EMPTY, points};
use crate::ui::views::prelude::*;

/// A null model, as the legend names it.
struct NullModel {
    label: &'static str,
    /// The label in a narrow legend.
    short: &'static str,
    /// The variant whose colour it takes; grey if none.
    colour: Option<usize>,
    values: fn(&GraphModularity) -> &[f64],
}

const NULL_MODELS: [NullModel; 4] = [
    NullModel { label: "same degrees", short: "same degrees", colour: Some(0), values: |m| &m.degree_preserving },
    NullModel {
        label: "random product, same norms",
        short: "same norms",
        colour: Some(2),
        values: |m| &m.low_rank_same_norms,
    },
    NullModel { label: "random product", short: "low rank", colour: None, values: |m| &m.low_rank },
    NullModel { label: "G(n, m)", short: "G(n, m)", colour: Some(4), values: |m| &m.uniform },
];

/// The points (number of edges, Q) of one graph.
fn modularity_by_edges(measured: &GraphModularity, y: &[f64]) -> Vec<[f64; 2]> {
    let edges: Vec<f64> = measured.edges.iter().map(|m| *m as f64).collect();
    points(&edges, y)
}

const ON_DEMAND: &str = "Not measured yet. Press \u{201c}Measure now\u{201d}: it takes seconds.";

#[derive(Default)]
pub struct Modularity;

impl Modularity {
    /// The question of the button. The number of edges makes no difference to it.
    fn args(cx: &ViewCx<'_>) -> GraphModularityArgs {
        let edges = NeuronGraphArgs::default().edges;
        GraphModularityArgs { graph: NeuronGraphArgs { edges, ..super::args(cx.config) }, ..Default::default() }
    }

    /// Returns the newer of the button's answer and the scheduled measurement.
    fn newest_measurement<'a>(cx: &ViewCx<'a>) -> Option<Measured<'a, GraphModularity>> {
        let scheduled = cx.latest();
        let answer = cx.answer_of(cx.selection.variant).filter(|_| cx.follow);
        match (answer, scheduled) {
            (Some(a), Some(s)) if s.sample.step > a.sample.step => Some(s),
            (a, s) => a.or(s),
        }
    }

    fn against_edges(cx: &ViewCx<'_>) -> Chart<'static> {
        let y = Axis::new("modularity Q").include(&[0.0]);
        let mut chart = Chart::new("modularity against edges", Axis::new("edges").log(), y)
            .empty(cx.empty_reason_before_asking::<GraphModularity>(ON_DEMAND, ON_DEMAND));
        let Some(measured) = Self::newest_measurement(cx) else { return chart };
        let model = Line::new("this model", cx.theme.accent, modularity_by_edges(&measured, &measured.model)).dots();
        chart.add(Line { width: 2.5, ..model });
        for NullModel { label, short, colour, values } in NULL_MODELS {
            let colour = colour.map_or(cx.theme.secondary, |c| cx.theme.series(c));
            let line = Line::new(label, colour, modularity_by_edges(&measured, values(&measured))).null_baseline();
            chart.add(line.short(short).dots());
        }
        let first = cx.mirror.samples(cx.selection.variant, GraphModularity::CHANNEL).first();
        let first = first.filter(|f| f.step < measured.sample.step);
        if let Some(first) = first.and_then(|f| f.measurement::<GraphModularity>()) {
            let points = modularity_by_edges(first, &first.model);
            let before = Line::new("this model before training", cx.theme.text, points);
            chart.add(before.dashed().short("before training"));
        }
        chart
    }

    fn over_training(cx: &ViewCx<'_>) -> Chart<'static> {
        let history = cx.history::<ModularityAtStep>(cx.selection.variant);
        let edges = history.last().map(|(_, m)| m.edges);
        let label = |m: usize| format!("Q at {} edges", super::grouped_count(m as f64));
        let y = Axis::new(edges.map_or("modularity Q".to_owned(), label));
        let unscheduled = "Nothing over training yet: \u{201c}Curve every\u{201d} says how often it is measured.";
        let empty_reason = match cx.setting("probe.graph_curve_every") {
            Some(_) => cx.empty_reason_before_asking::<ModularityAtStep>(EMPTY, unscheduled),
            None => cx.empty_reason::<ModularityAtStep>(EMPTY),
        };
        let mut chart = Chart::new("modularity over training", Axis::steps(), y.include(&[0.0])).empty(empty_reason);
        chart.marker = cx.marker();
        let Some((first, _)) = history.first() else { return chart };
        let model = Line::new("this model", cx.theme.accent, points_over_steps(&history, |m| m.model));
        chart.add(Line { width: 2.5, ..model });
        let null = points_over_steps(&history, |m| m.degree_preserving);
        chart.add(Line::new("same degrees", cx.theme.series(0), null).null_baseline());
        // these two do not depend on the model, so that they are constant
        let measured = Self::newest_measurement(cx);
        let at = measured.and_then(|m| m.edges.iter().position(|n| Some(*n) == edges));
        if let (Some(measured), Some(at)) = (measured, at) {
            let last = history.iter().map(|(step, _)| *step).fold(first + 1, u64::max);
            let ends = [*first as f64, last as f64];
            // drawn as named lines like the others: separate labels would cover the curves
            let [_, _, thin, uniform] = &NULL_MODELS;
            for (null, values) in [(uniform, &measured.uniform), (thin, &measured.low_rank)] {
                let Some(q) = values.get(at).filter(|q| q.is_finite()) else { continue };
                let colour = null.colour.map_or(cx.theme.secondary, |c| cx.theme.series(c));
                let still = Line::new(null.label, colour, ends.map(|x| [x, *q]).to_vec()).null_baseline();
                chart.add(still.short(null.short));
            }
        }
        chart
    }

    /// Says from which number of edges on the model's modularity is above that of every random graph.
    fn verdict(cx: &ViewCx<'_>) -> Option<String> {
        let measured = Self::newest_measurement(cx)?;
        let model = modularity_by_edges(&measured, &measured.model);
        let points = |null: &NullModel| modularity_by_edges(&measured, (null.values)(&measured));
        let nulls: Vec<Vec<[f64; 2]>> = NULL_MODELS.iter().map(points).collect();
        let above = |i: usize| nulls.iter().all(|n| n.get(i).is_none_or(|p| p[1] < model[i][1]));
        let from = (0..model.len()).rev().take_while(|i| above(*i)).last();
        let carrying = modularity_by_edges(&measured, &measured.carrying);
        let in_use = carrying.last().map_or(String::new(), |[edges, share]| {
            format!("; {} edges lie on {:.0}% of the neurons", super::grouped_count(*edges), 100.0 * share)
        });
        let verdict = match from {
            Some(0) => "above all four random graphs at every number of edges".to_owned(),
            Some(i) => format!("above all four random graphs from {} edges on", super::grouped_count(model[i][0])),
            None => "not above all four random graphs".to_owned(),
        };
        Some(verdict + &in_use)
    }
}

impl PanelView for Modularity {
    const ARRANGEMENT: Arrangement = Arrangement::HalvesByShape { wide: 1.2 };
    const SPACING: Vec2 = vec2(12.0, 4.0);
    const CHOICE: &'static [&'static str] = &["by edges", "over training"];

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let (variant, shown) = (Some(cx.selection.variant), Self::newest_measurement(cx).map(|m| m.sample));
        cx.shows_question::<GraphModularity>(variant, &Self::args(cx), shown);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let (edges, training) = (Self::against_edges(cx), Self::over_training(cx));
        match edges.is_empty() && training.is_empty() {
            true => Panel::single(training),
            false => vec![Panel::new(edges, 0.5), Panel::new(training, 0.5)],
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let otherwise = "how far it falls into communities, against chance";
        sample_subtitle(Self::newest_measurement(cx).map(|m| m.sample), "", otherwise)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        super::table(&[Self::against_edges(cx), Self::over_training(cx)])
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        // while both charts are empty, no other control names what to measure
        if Self::against_edges(cx).is_empty() && Self::over_training(cx).is_empty() {
            return;
        }
        let is_waiting = cx.can_ask() && cx.is_waiting_for::<GraphModularity>(Some(cx.selection.variant));
        ui.horizontal_wrapped(|ui| {
            let tip = "Cuts the model's graph and four kinds of random graph at the same numbers of edges, and looks for \
                       communities in each. Takes seconds, beside the training.";
            cx.ask_button::<GraphModularity>(ui, Button::new("Measure now"), true, tip, Self::args);
            if is_waiting {
                note_ui(ui, cx.theme, "measuring");
            }
        });
    }

    fn explanation_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(verdict) = Self::verdict(cx) {
            note_ui(ui, cx.theme, verdict);
        }
    }
}
