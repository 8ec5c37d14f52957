//! The loss of every variant against how much of a long text it has read.

use crate::{
    analysis::student::{CONFIDENCE, standard_errors},
    telemetry::measurements::PositionLosses as Measured,
    ui::views::prelude::*,
};

#[derive(Default)]
pub struct PositionLosses {
    is_perplexity: bool,
}

impl PanelView for PositionLosses {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let mut args = PositionLossesArgs::default();
        args.window = cx.training_window().unwrap_or(args.window);
        cx.ask::<Measured>(None, &args, Freshness::IfMissing);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let y = if self.is_perplexity { "perplexity" } else { "held-out loss (nats per token)" };
        let mut chart =
            Chart::new("loss by position", Axis::new("tokens read before").log(), Axis::new(y))
                .empty(cx.empty_reason::<Measured>(
                "Not measured yet. Held-out texts of four windows are read at the start and as it trains: press Space. \
                 Tasks have no such texts.",
            ));
        let shown = |nats: f64| if self.is_perplexity { nats.exp() } else { nats };
        let mut window = None;
        for (place, group) in groups(cx.mirror).iter().enumerate() {
            let colour = group.colour(place, cx.theme);
            let mut seeds: Vec<_> = group.members.iter().filter_map(|v| cx.newest::<Measured>(*v)).collect();
            let Some(first) = seeds.first().map(|m| m.value) else { continue };
            window = Some(first.window);
            seeds.retain(|m| m.edges == first.edges);
            let (mut means, mut low, mut high) = (vec![], vec![], vec![]);
            let reach = standard_errors(first.texts, CONFIDENCE);
            for (bin, edge) in first.edges.windows(2).enumerate() {
                // The geometric mean of the bin's bounds, where the lower bound is moved up by 1 so that it is never 0.
                let x = ((edge[0] as f64 + 1.0) * edge[1] as f64).sqrt();
                let of = |list: fn(&Measured) -> &Vec<f64>| -> Vec<f64> {
                    seeds.iter().filter_map(|m| list(m.value).get(bin).copied()).collect()
                };
                let (mean, _) = mean_sd(&of(|m| &m.loss));
                let (error, _) = mean_sd(&of(|m| &m.error));
                means.push([x, shown(mean)]);
                low.push([x, shown(mean - reach * error)]);
                high.push([x, shown(mean + reach * error)]);
            }
            if first.texts > 1 {
                chart.band(format!("{}, 95% over texts", group.label), colour, low, high);
            }
            chart.add(Line::new(group.label.clone(), colour, means).dots());
        }
        if let Some(window) = window {
            chart.vertical_line(format!("trained on {window}"), window as f64);
        }
        Panel::single(chart)
    }

    fn controls_ui(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        ui.horizontal(|ui| {
            ui.selectable_value(&mut self.is_perplexity, false, "loss");
            ui.selectable_value(&mut self.is_perplexity, true, "perplexity");
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        sample_subtitle(cx.latest::<Measured>().map(|m| m.sample), "", "loss by position in a text")
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let mut table = Table::new(["variant", "step", "from", "until", "loss", "standard_error"]);
        for (info, _, m) in cx.each_variant(|v| cx.newest::<Measured>(v)) {
            for ((edge, loss), error) in m.edges.windows(2).zip(m.loss.iter()).zip(m.error.iter()) {
                table.cells(&[&info.label, &m.sample.step, &edge[0], &edge[1], loss, error]);
            }
        }
        table.non_empty()
    }
}
