//! The share of each layer that fires over training, beside random weights; its size; and times between two writes.

use super::super::connectivity;
use crate::ui::views::prelude::*;

/// The chart that the view shows.
#[derive(Default, Clone, Copy, PartialEq)]
enum ActivityChart {
    #[default]
    Shares,
    Sizes,
    Intervals,
}

#[derive(Default)]
pub struct Activity {
    shown: ActivityChart,
}

/// The scheduled measurements of the shown variant with their steps; without any, the latest answer alone.
fn history<'a>(cx: &ViewCx<'a>) -> Vec<(u64, &'a measurements::Activity)> {
    let Some(latest) = cx.latest::<measurements::Activity>() else { return vec![] };
    let scheduled = cx.history::<measurements::Activity>(latest.variant);
    if scheduled.is_empty() { vec![(latest.sample.step, latest.value)] } else { scheduled }
}

const EMPTY: &str = "Nothing measured yet. A BDH is measured at its start and as it trains: press Space.";

/// A chart of x or y with one line per layer over training: shares with a dotted line for random weights, or root mean
/// squares, whose zeros have no place on a logarithmic axis.
fn chart(cx: &ViewCx<'_>, name: &'static str, are_sizes: bool) -> Chart<'static> {
    let (is_x, latest) = (name == "x", cx.latest::<measurements::Activity>());
    let size = |l: &LayerActivity| l.size.map(|size| if is_x { size.x } else { size.y });
    let share = |of: FiringShare| if is_x { of.x } else { of.y };
    let (title, y) = match are_sizes {
        true => (format!("size of {name}"), Axis::new(format!("root mean square of {name}")).log()),
        false => (format!("sparsity of {name}"), Axis::new(format!("share of {name} that fires")).include(&[0.0])),
    };
    let mut chart = Chart::new(title, Axis::steps(), y).empty(cx.empty_reason::<measurements::Activity>(EMPTY));
    let history = history(cx);
    for layer in 0..latest.map_or(0, |m| m.layers.len()) {
        let (label, colour) = (format!("layer {layer}"), cx.theme.series(layer));
        if are_sizes {
            let points = points_over_steps(&history, |m| size(m.layers.get(layer)?).filter(|size| *size > 0.0));
            chart.add(Line::new(label, colour, points).dots());
            continue;
        }
        let random = points_over_steps(&history, |m| Some(share(m.layers.get(layer)?.random_weights)));
        let random = Line::new(format!("{label}, random weights"), colour, random).null_baseline();
        let trained = points_over_steps(&history, |m| Some(share(m.layers.get(layer)?.trained)));
        chart.add(Line::new(label, colour, trained).dots());
        chart.add_of_kind("random weights", random);
    }
    if are_sizes {
        chart.lines.retain(|line| !line.data.is_empty());
    }
    chart.marker = latest.and_then(|_| cx.marker());
    chart
}

/// The times between two writes of a synapse, and those of writes at random times.
fn intervals_chart(cx: &ViewCx<'_>) -> Chart<'static> {
    let x = Axis::new("tokens between two writes of a synapse").log();
    let mut chart = Chart::new("write intervals", x, Axis::new("share of intervals").log())
        .empty(cx.empty_reason::<WriteIntervals>(EMPTY));
    let Some(found) = cx.latest::<WriteIntervals>() else { return chart };
    let line = |label: &str, colour, of: &IntervalDistribution| {
        Line::new(label, colour, connectivity::points(&of.interval, &of.density)).stroke(Stroke::Marks(Mark::Ring))
    };
    chart.add(line("this model", cx.theme.text, &found.measured));
    chart.add(line("as often, at random times", cx.theme.series(0), &found.shuffled));
    if let Some(law) = &found.measured.power_law {
        let law = connectivity::points(&found.measured.interval, &law.density);
        chart.add(Line::new("power law", cx.theme.accent, law).dashed());
    }
    chart.lines.retain(|line| !line.data.is_empty());
    chart
}

fn intervals_sentence(found: &WriteIntervals) -> String {
    let WriteIntervals { synapses, written_twice, measured, shuffled, .. } = found;
    let law = measured.power_law.as_ref().map_or(String::new(), |law| {
        let better = match &law.lognormal {
            Some(test) if test.p < 0.05 && test.log_ratio > 0.0 => ", which fits better than a lognormal",
            Some(test) if test.p < 0.05 => ", and a lognormal fits better",
            _ => "",
        };
        format!("; power law \u{3b1} = {:.2} from {} tokens on{better}", law.alpha, law.k_min)
    });
    format!(
        "{written_twice} of {synapses} synapses were written twice or more; mean interval {:.1} tokens, longest {} \
         (at random times {:.1} and {}){law}",
        measured.mean, measured.longest, shuffled.mean, shuffled.longest
    )
}

impl PanelView for Activity {
    const MIN_HEIGHT_FOR_ALL: f32 = 0.0;

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        if self.shown == ActivityChart::Intervals {
            cx.ask_if_missing::<WriteIntervals>();
        }
        cx.ask_if_missing::<measurements::Activity>();
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        if self.shown == ActivityChart::Intervals {
            return Panel::single(intervals_chart(cx));
        }
        let are_sizes = self.shown == ActivityChart::Sizes;
        let (upper, mut lower) = (chart(cx, "y", are_sizes), chart(cx, "x", are_sizes));
        lower.legend = false;
        vec![Panel::new(upper, 0.56), Panel::new(lower, 0.44)]
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if chart(cx, "y", false).is_empty() {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            cx.controls_ui(ui, |ui, _| {
                ui.selectable_value(&mut self.shown, ActivityChart::Shares, "over training");
                let tip = "Root mean square of y and x by layer. Norms keep sizes alike; without any they vanish or explode from \
                           layer to layer. A layer that is all zero has no point.";
                ui.selectable_value(&mut self.shown, ActivityChart::Sizes, "sizes").on_hover_text(tip);
                let tip = "Tokens between two writes of a synapse while a held-out text is read, beside writes at random \
                           times. The paper expects a heavy tail.";
                ui.selectable_value(&mut self.shown, ActivityChart::Intervals, "write intervals").on_hover_text(tip);
            });
            if let Some(found) = cx.latest::<WriteIntervals>().filter(|_| self.shown == ActivityChart::Intervals) {
                note_ui(ui, cx.theme, intervals_sentence(found.value));
            }
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match self.shown {
            ActivityChart::Intervals => cx.subtitle_of::<WriteIntervals>("tokens between two writes of a synapse"),
            ActivityChart::Sizes => {
                cx.subtitle_of::<measurements::Activity>("root mean square over neurons and tokens")
            }
            ActivityChart::Shares => {
                cx.subtitle_of::<measurements::Activity>("share of neurons above zero, dotted: random weights")
            }
        }
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        cx.latest::<measurements::Activity>().filter(|_| self.shown != ActivityChart::Intervals)?;
        let are_sizes = self.shown == ActivityChart::Sizes;
        let columns = if are_sizes { "step,layer,x_size,y_size" } else { "step,layer,x,y,x_random,y_random" };
        let mut table = Table::new(columns.split(','));
        for (step, measured) in history(cx) {
            for (layer, LayerActivity { trained, random_weights: random, size }) in measured.layers.iter().enumerate() {
                match size {
                    _ if !are_sizes => table.cells(&[&step, &layer, &trained.x, &trained.y, &random.x, &random.y]),
                    Some(size) => table.cells(&[&step, &layer, &size.x, &size.y]),
                    None => {}
                }
            }
        }
        Some(table)
    }
}
