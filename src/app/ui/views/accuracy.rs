//! Accuracy on the positions that a task asks for, over training, with what guessing reaches.

use crate::{labs, ui::views::prelude::*};

#[derive(Default)]
pub struct Accuracy {
    tracked: SeedSeries,
    /// The lab that was searched, and its first preset whose text asks questions; `None` before any search.
    asking: Option<(String, Option<&'static str>)>,
}

/// The title of the first preset of a lab whose text asks questions.
fn preset_with_questions(lab: &str) -> Option<&'static str> {
    let lab = labs::find(lab)?;
    let asks = |id: &str| lab.config(Some(id)).is_ok_and(|config| questions(&config).is_some());
    lab.presets.iter().find(|preset| asks(preset.id)).map(|preset| preset.title)
}

/// The accuracy of guessing, where the run reported it.
pub(super) fn chance(cx: &ViewCx<'_>) -> Option<f64> {
    (0..cx.mirror.variants().len()).find_map(|v| cx.mirror.curve(v, channels::GUESS)?.last())
}

impl PanelView for Accuracy {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        self.tracked.follow(cx.mirror, channels::ACCURACY, 0.0);
        if self.asking.as_ref().is_none_or(|(lab, _)| *lab != cx.config.lab) {
            self.asking = Some((cx.config.lab.clone(), preset_with_questions(&cx.config.lab)));
        }
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let y = Axis::new("accuracy (share right)").fixed(0.0, 1.04);
        let set = questions(cx.config);
        let run = cx.mirror.info.as_ref().map(|info| questions(&info.config));
        let mut chart = Chart::new("accuracy", Axis::steps(), y).empty(match (run.map(|q| q.is_some()), set.is_some()) {
            (Some(true), _) | (None, true) => {
                cx.no_curve_reason(
                    "No accuracy yet. It is measured on held-out windows while it trains: press Space.",
                    "This run has measured no accuracy: its models answer none of the questions.",
                )
            }
            (Some(false), true) => {
                "No accuracy in this run: its text asks no questions. The one that is set now does: press R to begin a run \
                 with it.".to_owned()
            }
            (_, false) => {
                let asking = self.asking.as_ref().and_then(|(_, title)| *title);
                let asking = asking.map_or(String::new(), |title| {
                    format!(" The preset \u{201c}{title}\u{201d} trains on one that does.")
                });
                format!("No accuracy here: this text asks no questions.{asking}")
            }
        });
        let look = SeriesStyle { seeds: Seeds::SpreadAndEach, ..SeriesStyle::default() };
        self.tracked.draw(&mut chart, cx.mirror, channels::ACCURACY, cx.theme, look);
        let asked = run.unwrap_or(set);
        let mut reference = |words: &str, at: f64| {
            chart.horizontal_line(format!("{words}: {at:.2}"), at).stroke = NULL_BASELINE;
        };
        if let Some(chance) = chance(cx) {
            reference(asked.map_or("guessing", |q| q.guess), chance);
            if let Some(blind) = asked.and_then(|q| q.blind_accuracy) {
                reference("guessing without reading", blind);
            }
        }
        chart.marker = cx.marker();
        Panel::single(chart)
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let windows = cx.run_config().get(labs::RunSettings::eval_windows.name);
        let windows = windows.map_or(String::new(), |windows| format!("{windows} "));
        let guess = chance(cx).map_or(String::new(), |guess| format!(" \u{b7} guessing: {}", value_label(guess)));
        cx.subtitle(&format!("asked positions of {windows}held-out windows{guess}"))
    }
}
