//! Plots the training and held-out loss of every variant. The raw curve stays faintly visible behind a smoothed one, and
//! the seeds of one variant are summarized by their mean and a band.

use crate::{
    experiments::run_terms::{RunTerms, loss_unit},
    ui::{views::prelude::*, widgets::smoothing::smoothing_ui},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LossChoice {
    Both,
    Train,
    HeldOut,
}

pub struct Losses {
    smoothing: f64,
    shown: LossChoice,
    train: SeedSeries,
    held_out: SeedSeries,
}

impl Default for Losses {
    fn default() -> Self {
        let [train, held_out] = Default::default();
        Self { smoothing: 0.9, shown: LossChoice::Both, train, held_out }
    }
}

/// Appends the unit of the run's losses to a label, and none if another program trains, because its unit is unknown.
pub(super) fn with_loss_unit(words: &str, cx: &ViewCx<'_>) -> String {
    let unit = match &cx.mirror.info {
        _ if cx.is_trained_elsewhere() => return words.to_owned(),
        Some(info) => RunTerms::from(info.as_ref()).loss_unit,
        None => loss_unit(&cx.config.lab, |key| cx.config.get(key)),
    };
    format!("{words} ({unit})")
}

impl PanelView for Losses {
    const FOOTER_HEIGHT: f32 = 32.0;

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        self.train.follow(cx.mirror, channels::LOSS_TRAIN, self.smoothing);
        self.held_out.follow(cx.mirror, channels::LOSS_HELD_OUT, 0.0);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let (shown, is_both) = (self.shown, self.shown == LossChoice::Both);
        let y = Axis::new(with_loss_unit("loss", cx));
        let mut chart = Chart::new("losses", Axis::steps(), y).empty(cx.no_curve_reason(
            "No losses yet. Press Space to train; the first step appears at once.",
            "This run has recorded no loss.",
        ));
        if shown != LossChoice::HeldOut {
            let suffix = if is_both { ", train" } else { "" };
            let look = SeriesStyle { suffix, ..SeriesStyle::default() };
            self.train.draw(&mut chart, cx.mirror, channels::LOSS_TRAIN, cx.theme, look);
        }
        if shown != LossChoice::Train {
            let (stroke, suffix) = if is_both { (Stroke::Dashed, ", held out") } else { (Stroke::Solid, "") };
            let look = SeriesStyle { stroke, suffix, unnamed: is_both, seeds: Seeds::Spread };
            self.held_out.draw(&mut chart, cx.mirror, channels::LOSS_HELD_OUT, cx.theme, look);
        }
        // The legend names each variant once; the subtitle explains the strokes.
        let is_own = |line: &Line<'_>| !line.is_pinned;
        if is_both && chart.lines.iter().filter(|l| is_own(l)).all(|l| !l.named) {
            chart.lines.iter_mut().filter(|l| is_own(l)).for_each(|l| l.named = true);
        }
        chart.marker = cx.marker();
        Panel::single(chart)
    }

    fn has_footer(&self, is_empty: bool) -> bool {
        !is_empty
    }

    fn footer_ui(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        for (choice, words) in
            [(LossChoice::Both, "both"), (LossChoice::Train, "train"), (LossChoice::HeldOut, "held out")]
        {
            ui.selectable_value(&mut self.shown, choice, words);
        }
        ui.add_space(8.0);
        let about = "The training loss is averaged over as many steps before each one as after it: by this factor \
                     the weight falls from point to point. Towards both ends fewer are averaged. The raw line stays \
                     faintly behind; held-out loss is never smoothed.";
        smoothing_ui(ui, &mut self.smoothing, about);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.subtitle(match self.shown {
            LossChoice::Both => "training, held out (dashed)",
            LossChoice::Train => "training batches",
            LossChoice::HeldOut => "held-out windows",
        })
    }
}
