//! Attention from a question of associative recall to the pair that answers it, over training: by layer of one variant,
//! or the strongest layer of each variant. It does not know how the pair is asked for.

use eframe::egui::Ui;

use super::{View, ViewCx};
use crate::{
    labs::corpus::questions,
    telemetry::measurements::{LayerPairAttention, PairAttention as Measured},
    ui::{
        plot::{Axis, Chart, ChartState, Line, Reference},
        seed_series::{groups, spread_of},
    },
};

/// View `pair_attention`.
#[derive(Default)]
pub struct PairAttention {
    state: ChartState,
    lines: Lines,
    target: Target,
    heads: Heads,
}

/// What a line is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Lines {
    /// A layer of the variant in focus.
    #[default]
    Layers,
    /// A variant: its layer that attends most.
    Variants,
}

/// Which token of the pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Target {
    #[default]
    Value,
    Key,
}

/// How heads become one number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Heads {
    #[default]
    Best,
    Mean,
}

impl PairAttention {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// The variant in focus, or the first of which something is known.
    fn shown(cx: &ViewCx<'_>) -> Option<usize> {
        let all = std::iter::once(cx.selection.variant).chain(0..cx.mirror.variants().len());
        all.into_iter().find(|v| !cx.history::<Measured>(*v).is_empty())
    }

    /// A layer's weight.
    fn weight(&self, layer: &LayerPairAttention) -> f64 {
        let heads = match self.target {
            Target::Value => &layer.to_value,
            Target::Key => &layer.to_key,
        };
        match self.heads {
            Heads::Best => heads.iter().copied().fold(f64::NAN, f64::max),
            Heads::Mean => heads.iter().sum::<f64>() / heads.len().max(1) as f64,
        }
    }

    fn layer_lines<'a>(&self, cx: &ViewCx<'a>) -> Vec<Line<'a>> {
        let history = Self::shown(cx).map(|v| cx.history::<Measured>(v)).unwrap_or_default();
        let Some((_, newest)) = history.last() else { return vec![] };
        let line = |(place, layer): (usize, &LayerPairAttention)| {
            let weight = |m: &Measured| m.layers.get(place).map(|l| self.weight(l));
            let points = history.iter().filter_map(|(step, m)| Some([*step as f64, weight(m)?]));
            Line::new(layer_name(&layer.path), cx.theme.series(place), points.collect::<Vec<_>>()).dots()
        };
        newest.layers.iter().enumerate().map(line).collect()
    }

    /// Of each variant its strongest layer, the mean over seeds; each seed faint.
    fn variant_lines<'a>(&self, cx: &ViewCx<'a>) -> Vec<Line<'a>> {
        let mut lines = vec![];
        for (place, group) in groups(cx.mirror).into_iter().enumerate() {
            let colour = group.colour(place, cx.theme);
            let strongest = |m: &Measured| m.layers.iter().map(|l| self.weight(l)).fold(f64::NAN, f64::max);
            let of_seed = |v: &usize| -> Vec<(u64, f64)> {
                cx.history::<Measured>(*v).iter().map(|(step, m)| (*step, strongest(m))).collect()
            };
            let seeds: Vec<Vec<(u64, f64)>> = group.members.iter().map(of_seed).filter(|s| !s.is_empty()).collect();
            if seeds.is_empty() {
                continue;
            }
            let means: Vec<[f64; 2]> = spread_of(&seeds).into_iter().map(|[x, mean, _]| [x, mean]).collect();
            lines.push(Line::new(group.label.clone(), colour, means).dots());
            if seeds.len() > 1 {
                let points = |seed: Vec<(u64, f64)>| -> Vec<[f64; 2]> {
                    seed.into_iter().map(|(step, value)| [step as f64, value]).collect()
                };
                lines
                    .extend(seeds.into_iter().map(|seed| Line::new(group.label.clone(), colour, points(seed)).faint()));
            }
        }
        lines
    }

    fn chart<'a>(&self, cx: &ViewCx<'a>) -> Chart<'a> {
        let to = match self.target {
            Target::Value => "attention to the value",
            Target::Key => "attention to the key",
        };
        let mut chart = Chart::new("pair attention", Axis::steps().include(&[0.0]), Axis::new(to).include(&[0.0]));
        let config = cx.mirror.info.as_ref().map_or(cx.config, |info| &info.config);
        chart = chart.empty(match questions(config) {
            Some(_) => "Not measured yet. It is asked of held-out examples while it trains: press Space.",
            None => "No pairs here: this text asks for none. Associative recall does, such as the corpus mqar_easy.",
        });
        chart.lines = match self.lines {
            Lines::Layers => self.layer_lines(cx),
            Lines::Variants => self.variant_lines(cx),
        };
        if !chart.is_empty() {
            chart.references.extend(uniform(cx));
        }
        chart.marker = cx.marker();
        chart
    }

    fn controls_ui(&mut self, ui: &mut Ui, has_many: bool) {
        ui.horizontal_wrapped(|ui| {
            choice_ui(ui, &mut self.target, &[(Target::Value, "value"), (Target::Key, "key")]);
            ui.separator();
            choice_ui(ui, &mut self.heads, &[(Heads::Best, "best head"), (Heads::Mean, "mean of heads")]);
            if has_many {
                ui.separator();
                choice_ui(ui, &mut self.lines, &[(Lines::Layers, "layers"), (Lines::Variants, "variants")]);
            }
        });
    }
}

fn choice_ui<T: Copy + PartialEq>(ui: &mut Ui, chosen: &mut T, of: &[(T, &str)]) {
    for (one, words) in of {
        ui.selectable_value(chosen, *one, *words);
    }
}

/// "layer 2" where the path says no more than that.
fn layer_name(path: &str) -> String {
    path.strip_prefix("layers.").map_or_else(|| path.to_owned(), |place| format!("layer {place}"))
}

/// What even attention gives, of each kind of layer that the variant in focus has: windows see less.
fn uniform(cx: &ViewCx<'_>) -> Vec<Reference> {
    let history = PairAttention::shown(cx).map(|v| cx.history::<Measured>(v)).unwrap_or_default();
    let layers = history.last().map_or(&[][..], |(_, newest)| &newest.layers);
    let mut levels: Vec<f64> = layers.iter().map(|l| l.uniform).filter(|u| u.is_finite()).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let reference = |at| Reference { label: format!("even attention: {at:.3}"), at, vertical: false };
    levels.into_iter().map(reference).collect()
}

impl View for PairAttention {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if cx.has_controls {
            self.controls_ui(ui, cx.mirror.variants().len() > 1);
        }
        self.chart(cx).show(ui, ui.available_size(), cx.theme, &mut self.state);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let variant = Self::shown(cx).and_then(|v| cx.mirror.variants().get(v)).map(|v| v.label.as_str());
        let heads = match self.heads {
            Heads::Best => "best head",
            Heads::Mean => "mean of heads",
        };
        cx.subtitle(&match (self.lines, variant) {
            (_, None) => "attention from a question to its pair".to_owned(),
            (Lines::Variants, _) => format!("{heads} of each variant's strongest layer"),
            (Lines::Layers, Some(label)) => format!("{label}: {heads} of each layer"),
        })
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        self.chart(cx).csv(&self.state)
    }

    fn draws_svg(&self) -> bool {
        true
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        self.chart(cx).svg(&self.state, cx.theme)
    }
}
