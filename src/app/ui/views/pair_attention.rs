//! Attention from a question of associative recall to the pair that answers it, over training, by layer or by variant.

use crate::{telemetry::measurements::PairAttention as Measured, ui::views::prelude::*};

#[derive(Default)]
pub struct PairAttention {
    lines: Lines,
    target: Target,
    heads: Heads,
}

/// The meaning of a line: a layer, or a variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Lines {
    /// Each line is a layer of the variant in focus.
    #[default]
    Layers,
    /// Each line is a variant, by its layer that attends most.
    Variants,
}

/// The token of the pair that attention is measured to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Target {
    #[default]
    Value,
    Key,
}

/// The aggregation over heads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Heads {
    #[default]
    Best,
    Mean,
}

impl PairAttention {
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
        let Some((_, history)) = cx.history_in_focus::<Measured>() else { return vec![] };
        let Some((_, newest)) = history.last() else { return vec![] };
        let line = |(place, layer): (usize, &LayerPairAttention)| {
            let weight = |m: &Measured| m.layers.get(place).map(|l| self.weight(l));
            let points = history.iter().filter_map(|(step, m)| Some([*step as f64, weight(m)?]));
            Line::new(layer_name(&layer.path), cx.theme.series(place), points.collect::<Vec<_>>()).dots()
        };
        newest.layers.iter().enumerate().map(line).collect()
    }

    /// A line for each variant: its strongest layer, as the mean over seeds, with each seed faint.
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
}

fn choice_ui<T: Copy + PartialEq>(ui: &mut Ui, chosen: &mut T, of: &[(T, &str)]) {
    of.iter().for_each(|(one, words)| _ = ui.selectable_value(chosen, *one, *words));
}

/// "layer 2" for a path that holds no more than the layer's number.
fn layer_name(path: &str) -> String {
    path.strip_prefix("layers.").map_or_else(|| path.to_owned(), |place| format!("layer {place}"))
}

/// Uniform attention's weights, one per kind of layer of the variant in focus, as a window sees fewer tokens.
fn uniform(cx: &ViewCx<'_>) -> Vec<f64> {
    let history = cx.history_in_focus::<Measured>().map_or(vec![], |(_, history)| history);
    let layers = history.last().map_or(&[][..], |(_, newest)| &newest.layers);
    let mut levels: Vec<f64> = layers.iter().map(|l| l.uniform).filter(|u| u.is_finite()).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    levels
}

impl PanelView for PairAttention {
    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let to = match self.target {
            Target::Value => "attention to the value",
            Target::Key => "attention to the key",
        };
        let chart = cx.training_chart("pair attention", Axis::new(to).include(&[0.0]));
        let mut chart = chart.empty(match questions(cx.run_config()) {
            Some(_) => cx.why_nothing::<Measured>(
                "Not measured yet. It is asked of held-out examples while it trains: press Space.",
            ),
            None => "No pairs here: this text asks for none. Associative recall does, such as the corpus mqar_easy."
                .to_owned(),
        });
        chart.lines = match self.lines {
            Lines::Layers => self.layer_lines(cx),
            Lines::Variants => self.variant_lines(cx),
        };
        if !chart.is_empty() {
            for at in uniform(cx) {
                chart.horizontal_line(format!("even attention: {at:.3}"), at).stroke = NULL_BASELINE;
            }
        }
        Panel::single(chart)
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.horizontal_wrapped(|ui| {
            choice_ui(ui, &mut self.target, &[(Target::Value, "value"), (Target::Key, "key")]);
            ui.separator();
            choice_ui(ui, &mut self.heads, &[(Heads::Best, "best head"), (Heads::Mean, "mean of heads")]);
            if cx.mirror.variants().len() > 1 {
                ui.separator();
                choice_ui(ui, &mut self.lines, &[(Lines::Layers, "layers"), (Lines::Variants, "variants")]);
            }
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let shown = cx.history_in_focus::<Measured>().and_then(|(v, _)| cx.mirror.variants().get(v));
        let variant = shown.map(|v| v.label.as_str());
        let heads = match self.heads {
            Heads::Best => "best head",
            Heads::Mean => "mean of heads",
        };
        cx.subtitle(&match (self.lines, variant) {
            (_, None) => "attention from a question to its pair".to_owned(),
            (Lines::Variants, _) => format!("{heads}, of each variant's strongest layer"),
            (Lines::Layers, Some(label)) => format!("{label}: {heads}, of each layer"),
        })
    }
}
