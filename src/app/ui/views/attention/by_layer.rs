//! Entropy, effective rank, share of the largest singular value and sink of the attention by layer, a line per variant.

use super::paper::{self, PaperLine};
use crate::{analysis::statistics::mean, config::Setting, ui::views::prelude::*};

const PAPERS_LAB: &str = "coupled_qk";
const GAP: f32 = 6.0;

struct Statistic {
    name: &'static str,
    axis: &'static str,
    /// Reads one value for each head.
    heads: fn(&LayerStatistics) -> &[f64],
    uniform: fn(&UniformStatistics) -> f64,
    paper: fn() -> Vec<PaperLine>,
}

static STATISTICS: [Statistic; 4] = [
    Statistic {
        name: "entropy",
        axis: "entropy (nats)",
        heads: |l| &l.entropy,
        uniform: |u| u.entropy,
        paper: paper::entropies,
    },
    Statistic {
        name: "effective rank",
        axis: "effective rank",
        heads: |l| &l.effective_rank,
        uniform: |u| u.effective_rank,
        paper: paper::effective_ranks,
    },
    Statistic {
        name: "largest singular value's share",
        axis: "s\u{2081} / \u{3a3} s",
        heads: |l| &l.top_share,
        uniform: |u| u.top_share,
        paper: paper::top_shares,
    },
    Statistic { name: "sink", axis: "weight on token 0", heads: |l| &l.sink, uniform: |u| u.sink, paper: Vec::new },
];

#[derive(Default)]
pub struct AttentionByLayer {
    /// Draws the paper's lines; `None` draws them where the model has as many layers as the paper's.
    shows_paper: Option<bool>,
    over_training: bool,
}

/// The run's settings where it has them, else the defaults.
fn args(cx: &ViewCx<'_>) -> AttentionStatisticsArgs {
    let usual = AttentionStatisticsArgs::default();
    let setting = |key: &str| cx.setting(key).and_then(|value| usize::from_value(&value));
    AttentionStatisticsArgs {
        windows: setting("probe.attention_windows").unwrap_or(usual.windows),
        length: setting(TrainSettings::window.name).unwrap_or(usual.length),
    }
}

fn layers(measured: Option<Measured<'_, AttentionStatistics>>) -> &[LayerStatistics] {
    measured.map_or(&[][..], |m| &m.value.layers)
}

/// The index of the selected layer; the first if none is selected.
fn selected_layer(cx: &ViewCx<'_>) -> usize {
    let is_selected = |l: &LayerStatistics| Some(&l.path) == cx.selection.layer.as_ref();
    layers(cx.measured_in_focus()).iter().position(is_selected).unwrap_or(0)
}

impl AttentionByLayer {
    fn is_papers(cx: &ViewCx<'_>) -> bool {
        cx.mirror.info.as_ref().is_some_and(|info| info.lab == PAPERS_LAB)
    }

    fn shows_paper(&self, cx: &ViewCx<'_>) -> bool {
        let is_alike = || layers(cx.measured_in_focus()).len() == paper::LAYERS;
        Self::is_papers(cx) && !self.over_training && self.shows_paper.unwrap_or_else(is_alike)
    }

    /// x and the statistic of one variant: by layer, or of the selected layer by step.
    fn points(&self, cx: &ViewCx<'_>, variant: usize, statistic: &Statistic) -> Vec<(u64, f64)> {
        let of_layer = |layer: &LayerStatistics| mean((statistic.heads)(layer));
        if self.over_training {
            let place = selected_layer(cx);
            let history = cx.history::<AttentionStatistics>(variant);
            let at = |(step, m): &(u64, &AttentionStatistics)| Some((*step, of_layer(m.layers.get(place)?)));
            return history.iter().filter_map(at).collect();
        }
        (0..).zip(layers(cx.newest(variant))).map(|(i, layer)| (i, of_layer(layer))).collect()
    }

    /// The selected head of every variant, as rings.
    fn head_lines<'a>(cx: &ViewCx<'a>, chart: &mut Chart<'a>, statistic: &Statistic) {
        let Some(head) = cx.selection.head else { return };
        for (variant, info) in cx.mirror.variants().iter().enumerate() {
            let point = |(i, layer): (usize, &LayerStatistics)| Some([i as f64, *(statistic.heads)(layer).get(head)?]);
            let points: Vec<[f64; 2]> = layers(cx.newest(variant)).iter().enumerate().filter_map(point).collect();
            let label = format!("{}, head {head}", info.label);
            let line = Line::new(label, variant_colour(cx.mirror, variant, cx.theme), points);
            chart.add(line.stroke(Stroke::Marks(Mark::Ring)).unnamed());
        }
    }

    fn chart<'a>(&self, cx: &ViewCx<'a>, statistic: &Statistic) -> Chart<'a> {
        let y = Axis::new(statistic.axis).include(&[0.0]);
        let chart = match self.over_training {
            true => cx.training_chart(statistic.name, y),
            false => Chart::new(statistic.name, Axis::new("layer").integer_ticks(), y),
        };
        let mut chart = chart.empty(cx.empty_reason::<AttentionStatistics>(
            "Not measured yet. A run measures its attention at the start: press Space.",
        ));
        let all = groups(cx.mirror);
        for (place, group) in all.iter().enumerate() {
            let colour = group.colour(place, cx.theme);
            let seeds = group.members.iter().map(|v| self.points(cx, *v, statistic)).filter(|p| !p.is_empty());
            let seeds: Vec<_> = seeds.collect();
            let spread = spread_of(&seeds);
            let line = |side: f64| spread.iter().map(|[x, mean, sd]| [*x, mean + side * sd]).collect::<Vec<_>>();
            if seeds.len() > 1 {
                chart.band(format!("{}, \u{b1}1 sd", group.label), colour, line(-1.0), line(1.0));
            }
            if !seeds.is_empty() {
                let means: Vec<[f64; 2]> = spread.iter().map(|[x, mean, _]| [*x, *mean]).collect();
                chart.add(Line::new(&group.label, colour, means).dots());
            }
        }
        if chart.is_empty() {
            return chart;
        }
        if !self.over_training {
            Self::head_lines(cx, &mut chart, statistic);
            let uniform = layers(cx.measured_in_focus()).iter().map(|layer| (statistic.uniform)(&layer.uniform));
            let points = by_place(&uniform.collect::<Vec<_>>());
            chart.add(Line::new("uniform", cx.theme.secondary, points).null_baseline());
        }
        if self.shows_paper(cx) {
            for line in (statistic.paper)() {
                let place = all.iter().position(|group| group.id == line.variant);
                let colour = place.map_or(cx.theme.secondary, |place| all[place].colour(place, cx.theme));
                let drawn = Line::new(line.label, colour.gamma_multiply(0.7), line.points).dashed();
                chart.add(match line.claim {
                    Some(claim) => drawn.short(paper::SHORT).claim(claim),
                    None => drawn,
                });
            }
        }
        // One legend stands for all: the first chart's.
        chart.legend = statistic.name == STATISTICS[0].name;
        chart
    }
}

impl PanelView for AttentionByLayer {
    const ARRANGEMENT: Arrangement = Arrangement::Grid;
    const SPACING: Vec2 = vec2(GAP, GAP);

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask::<AttentionStatistics>(None, &args(cx), Freshness::IfMissing);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        STATISTICS.iter().map(|statistic| Panel::new(self.chart(cx, statistic), 0.25)).collect()
    }

    /// Controls above the charts, which scroll in a tile where their names leave them too little room.
    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(measured) = cx.measured_in_focus::<AttentionStatistics>() else { return };
        let heads = measured.value.layers.iter().map(|l| l.entropy.len()).max().unwrap_or(0);
        ui.horizontal(|ui| {
            ui.selectable_value(&mut self.over_training, false, "by layer").on_hover_text("As of the shown step.");
            ui.selectable_value(&mut self.over_training, true, "over training")
                .on_hover_text("The selected layer, at every step that was measured.");
            if !self.over_training && heads > 0 {
                let words = cx.selection.head.map_or("head: none".to_owned(), |head| format!("head {head}"));
                let each = (0..heads).map(|head| (Some(head), format!("head {head}")));
                let choices = std::iter::once((None, "none".to_owned())).chain(each);
                let tip = "The head that the rings are of; lines are means over heads.";
                choice_menu(ui, &words, &mut cx.selection.head, choices, tip);
            }
            if Self::is_papers(cx) && !self.over_training {
                let mut shows = self.shows_paper(cx);
                let words = "Dashed: what the paper measured of its 60M models at T = 512 (table 12, figure 3).";
                if ui.toggle_value(&mut shows, "paper").on_hover_text(words).changed() {
                    self.shows_paper = Some(shows);
                }
            }
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(m) = cx.measured_in_focus::<AttentionStatistics>() else {
            return "entropy, rank and sink of the attention".to_owned();
        };
        let what = match self.over_training {
            true => format!("{}, mean over heads", m.value.layers.get(selected_layer(cx)).map_or("", |l| &l.path)),
            false => format!("step {}, mean over heads", m.sample.step),
        };
        let all = (0..cx.mirror.variants().len()).filter_map(|v| cx.newest::<AttentionStatistics>(v));
        let is_differential = all.into_iter().any(|m| m.value.layers.iter().any(|l| l.is_differential));
        let note = if is_differential { " \u{b7} differential: entropy and sink of |w| / \u{3a3}|w|" } else { "" };
        format!("{what} \u{b7} {}{note}", m.sample.about)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        cx.measured_in_focus::<AttentionStatistics>()?;
        let columns = ["variant", "step", "layer", "path", "head", "entropy", "effective_rank", "top_share", "sink"];
        let mut table = Table::new(columns);
        for (info, _, m) in cx.each_variant(|v| cx.newest::<AttentionStatistics>(v)) {
            for (i, layer) in m.value.layers.iter().enumerate() {
                for head in 0..layer.entropy.len() {
                    let [a, b, c, d] = STATISTICS.each_ref().map(|s| optional_field((s.heads)(layer).get(head)));
                    table.cells(&[&info.label, &m.sample.step, &i, &layer.path, &head, &a, &b, &c, &d]);
                }
            }
        }
        Some(table)
    }
}
