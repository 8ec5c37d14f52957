//! The equilibrium solves of every training step: how close the last one came, and how many stopped short.

use crate::ui::views::prelude::*;

#[derive(Default)]
pub struct EquilibriumSolves {
    residual: SeedSeries,
    missed: SeedSeries,
    missed_backward: SeedSeries,
}

impl PanelView for EquilibriumSolves {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        self.residual.follow(cx.mirror, channels::DEQ_RESIDUAL, 0.0);
        self.missed.follow(cx.mirror, channels::DEQ_MISSED, 0.0);
        self.missed_backward.follow(cx.mirror, channels::DEQ_BACKWARD_MISSED, 0.0);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let y = Axis::new("residual of the last solve").log();
        let mut residual = cx.training_chart("equilibrium solves", y).empty(cx.no_curve_reason(
            "No solve yet. Turn a variant on that solves for its fast state, such as \u{201c}With DEQ\u{201d}, and \
             press Space.",
            "No variant of this run solves for its fast state.",
        ));
        self.residual.draw(&mut residual, cx.mirror, channels::DEQ_RESIDUAL, cx.theme, SeriesStyle::default());
        let y = Axis::new("solves that stopped short").include(&[0.0, 1.0]);
        let mut missed = cx.training_chart("solves that stopped short", y);
        self.missed.draw(&mut missed, cx.mirror, channels::DEQ_MISSED, cx.theme, SeriesStyle::default());
        let backward =
            SeriesStyle { stroke: Stroke::Dashed, suffix: ", backward", unnamed: true, seeds: Seeds::Spread };
        self.missed_backward.draw(&mut missed, cx.mirror, channels::DEQ_BACKWARD_MISSED, cx.theme, backward);
        missed.legend = false;
        vec![Panel::new(residual, 0.6), Panel::new(missed, 0.4).in_table("stopped short ")]
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle(
            "one solve a round in each step; beneath, those short of the tolerance, of the backward pass dashed",
        )
    }
}
