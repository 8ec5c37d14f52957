//! Plots how often each unit of a block is kept, the most used first, or the share of units never kept over training.

use super::block_name;
use crate::{telemetry::measurements::UnitUsage as Measured, ui::views::prelude::*};

const EMPTY: &str = "Not measured yet. A run counts its units at the start and as it trains: press Space.";

#[derive(Default)]
pub struct UnitUsage {
    over_training: bool,
}

/// The share of a block's units that were never kept.
fn unused_share(block: &BlockUsage) -> f64 {
    block.usage.iter().filter(|share| **share == 0.0).count() as f64 / block.usage.len().max(1) as f64
}

fn mean(blocks: &[BlockUsage], number: fn(&BlockUsage) -> f64) -> f64 {
    blocks.iter().map(number).sum::<f64>() / blocks.len().max(1) as f64
}

/// The effective number of units: the exponential of the entropy of their use.
fn effective(block: &BlockUsage) -> f64 {
    let total: f64 = block.usage.iter().sum();
    let entropy = |share: &f64| if *share > 0.0 { -share / total * (share / total).ln() } else { 0.0 };
    block.usage.iter().map(entropy).sum::<f64>().exp()
}

impl UnitUsage {
    fn sorted<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let x = Axis::new("unit, most used first");
        let y = Axis::new("kept for a share of tokens").include(&[0.0]);
        let mut chart = Chart::new("unit usage", x, y).empty(cx.empty_reason::<Measured>(EMPTY));
        let Some(m) = cx.latest::<Measured>() else { return chart };
        for (place, block) in m.value.blocks.iter().enumerate() {
            let mut usage: Vec<f64> = block.usage.iter().copied().filter(|share| share.is_finite()).collect();
            usage.sort_by(|a, b| b.total_cmp(a));
            chart.add(Line::new(block_name(&block.path), cx.theme.series(place), by_place(&usage)));
        }
        let units = m.value.blocks.first().map_or(0, |b| b.usage.len());
        if units > 0 && !chart.is_empty() {
            let at = m.value.kept as f64 / units as f64;
            chart.horizontal_line(format!("all alike: {at:.3}"), at).stroke = NULL_BASELINE;
        }
        chart
    }

    fn over_training<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let y = Axis::new("units never kept (share)").include(&[0.0]);
        let mut chart = cx.training_chart("unused units", y).empty(cx.empty_reason::<Measured>(EMPTY));
        for (info, colour, history) in cx.histories::<Measured>() {
            let points = points_over_steps(&history, |m| mean(&m.blocks, unused_share));
            chart.add(Line::new(&info.label, colour, points).dots());
        }
        chart
    }
}

impl PanelView for UnitUsage {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let mut args = UnitUsageArgs::default();
        args.window = cx.training_window().unwrap_or(args.window);
        cx.ask::<Measured>(None, &args, Freshness::IfMissing);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        Panel::single(if self.over_training { Self::over_training(cx) } else { Self::sorted(cx) })
    }

    fn controls_ui(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        ui.horizontal(|ui| {
            ui.selectable_value(&mut self.over_training, false, "by unit").on_hover_text("As of the shown step.");
            ui.selectable_value(&mut self.over_training, true, "over training")
                .on_hover_text("The share that was never kept, mean over blocks, of every variant.");
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        if self.over_training {
            return cx.subtitle("units that no held-out token keeps");
        }
        let Some(m) = cx.latest::<Measured>() else { return "how often units are kept".to_owned() };
        let blocks = &m.value.blocks;
        let (share, alike) = (mean(blocks, unused_share), mean(blocks, effective));
        let units = blocks.first().map_or(0, |b| b.usage.len());
        cx.subtitle_of::<Measured>(&format!(
            "{} of {units} kept; {:.0}% never, as spread as {alike:.0} used alike",
            m.value.kept,
            100.0 * share
        ))
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let m = cx.latest::<Measured>().filter(|_| !self.over_training)?;
        let mut table = Table::new(["block", "unit", "usage"]);
        for block in &m.value.blocks {
            block.usage.iter().enumerate().for_each(|(unit, share)| table.cells(&[&block.path, &unit, share]));
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_count_of_equally_used_units_is_their_number() {
        let block = |usage: &[f64]| BlockUsage { path: "blocks.0".to_owned(), usage: usage.to_vec().into() };
        assert!((effective(&block(&[0.5, 0.5, 0.5, 0.5])) - 4.0).abs() < 1e-12);
        assert!((effective(&block(&[1.0, 0.0])) - 1.0).abs() < 1e-12);
        assert_eq!(unused_share(&block(&[1.0, 0.0, 0.0, 0.5])), 0.5);
    }
}
