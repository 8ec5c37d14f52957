//! Attention from a question of associative recall to the pair that answers it, over training, by layer or by variant.

use crate::{telemetry::measurements::PairAttention as Measured, ui::views::prelude::*};

#[derive(Default)]
pub struct PairAttention {
    /// Each line is a variant, by its layer that attends most; otherwise a layer of the variant in focus.
    by_variant: bool,
    /// Measures attention to the key of the pair; otherwise to its value.
    to_key: bool,
    /// Takes the mean over heads; otherwise the best head.
    of_mean: bool,
}

impl PairAttention {
    fn weight(&self, layer: &LayerPairAttention) -> f64 {
        let heads = if self.to_key { &layer.to_key } else { &layer.to_value };
        match self.of_mean {
            true => heads.iter().sum::<f64>() / heads.len().max(1) as f64,
            false => heads.iter().copied().fold(f64::NAN, f64::max),
        }
    }

    fn layer_lines<'a>(&self, cx: &ViewCx<'a>) -> Vec<Line<'a>> {
        let Some((_, history)) = cx.history_in_focus::<Measured>() else { return vec![] };
        let Some((_, newest)) = history.last() else { return vec![] };
        let line = |(place, layer): (usize, &LayerPairAttention)| {
            let points = points_over_steps(&history, |m| m.layers.get(place).map(|l| self.weight(l)));
            Line::new(layer_name(&layer.path), cx.theme.series(place), points).dots()
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
            let line = |points: Vec<[f64; 2]>| Line::new(group.label.clone(), colour, points);
            lines.push(line(means).dots());
            if seeds.len() > 1 {
                lines.extend(seeds.iter().map(|seed| line(points_over_steps(seed, |value| *value)).faint()));
            }
        }
        lines
    }
}

fn choice_ui(ui: &mut Ui, chosen: &mut bool, words: [&str; 2]) {
    [false, true].into_iter().zip(words).for_each(|(choice, words)| _ = ui.selectable_value(chosen, choice, words));
}

/// Names a layer "layer 2" if its path holds only the number, and by its whole path otherwise.
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
        let to = if self.to_key { "attention to the key" } else { "attention to the value" };
        let chart = cx.training_chart("pair attention", Axis::new(to).include(&[0.0]));
        let mut chart = chart.empty(match questions(cx.run_config()) {
            Some(_) => cx.empty_reason::<Measured>(
                "Not measured yet. It is asked of held-out examples while it trains: press Space.",
            ),
            None => "No pairs here: this text asks for none. Associative recall does, such as the corpus mqar_easy."
                .to_owned(),
        });
        chart.lines = if self.by_variant { self.variant_lines(cx) } else { self.layer_lines(cx) };
        if !chart.is_empty() {
            for at in uniform(cx) {
                chart.horizontal_line(format!("even attention: {at:.3}"), at).stroke = NULL_BASELINE;
            }
        }
        Panel::single(chart)
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.horizontal_wrapped(|ui| {
            choice_ui(ui, &mut self.to_key, ["value", "key"]);
            ui.separator();
            choice_ui(ui, &mut self.of_mean, ["best head", "mean of heads"]);
            if cx.mirror.variants().len() > 1 {
                ui.separator();
                choice_ui(ui, &mut self.by_variant, ["layers", "variants"]);
            }
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let shown = cx.history_in_focus::<Measured>().and_then(|(v, _)| cx.mirror.variants().get(v));
        let heads = if self.of_mean { "mean of heads" } else { "best head" };
        cx.subtitle(&match shown {
            None => "attention from a question to its pair".to_owned(),
            Some(_) if self.by_variant => format!("{heads}, of each variant's strongest layer"),
            Some(variant) => format!("{}: {heads}, of each layer", variant.label),
        })
    }
}
