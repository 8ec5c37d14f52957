//! Every view, one a file, and the one list of them.

use eframe::egui;
use egui::Ui;

use super::{mirror::Mirror, theme::Theme};
use crate::{
    config::{Config, Knob, Value},
    telemetry::{Args, Command, Question},
};

pub mod curve;
pub mod losses;
pub mod spread;

/// What is selected, in all views at once.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Selection {
    /// Position on the current token axis.
    pub token: Option<usize>,
    pub head: Option<usize>,
    pub layer: Option<String>,
    /// Index of the variant in focus (asked by one-variant views).
    pub variant: usize,
}

/// What a view sees and may do during one frame.
pub struct ViewCx<'a> {
    pub mirror: &'a Mirror,
    /// The step shown: the newest, or where the scrubber stands.
    pub step: u64,
    /// True when `step` follows the run.
    pub follow: bool,
    pub config: &'a Config,
    pub knobs: &'a [Knob],
    pub theme: &'a Theme,
    pub selection: &'a mut Selection,
    /// Commands to the run, sent after the frame.
    pub commands: &'a mut Vec<Command>,
    /// Settings to change, as if on the control panel (undoable).
    pub settings: &'a mut Vec<(String, Value)>,
    /// Next free request number.
    pub next_request: &'a mut u64,
    /// Reduced motion is wanted.
    pub still: bool,
}

impl ViewCx<'_> {
    /// Asks a probe; returns the request's number.
    pub fn ask(&mut self, probe: &str, variant: Option<usize>, args: Args) -> u64 {
        let request = *self.next_request;
        *self.next_request += 1;
        self.commands.push(Command::Measure(Question { request, probe: probe.to_owned(), variant, args }));
        request
    }

    /// Where a chart over steps is marked: nowhere while it follows the run.
    pub fn marker(&self) -> Option<f64> {
        (!self.follow).then_some(self.step as f64)
    }

    /// A subtitle: what is measured, on which corpus, at which step.
    pub fn subtitle(&self, what: &str) -> String {
        match &self.mirror.info {
            Some(info) => format!("{what} \u{b7} {} \u{b7} step {}", info.corpus, self.step),
            None => what.to_owned(),
        }
    }
}

/// A view of a run. One instance lives as long as its tile; state that should survive a restart is
/// in `Selection` or in settings.
pub trait View {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>);

    /// Subtitle beside the title: of what data, at which step.
    fn subtitle(&self, cx: &ViewCx<'_>) -> String;

    /// CSV of exactly what is shown, with a header line; `None` while there is nothing.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String>;

    /// SVG of what is shown, for curves.
    fn svg(&self, _cx: &ViewCx<'_>) -> Option<String> {
        None
    }
}

/// An entry of the one list.
pub struct ViewEntry {
    pub id: &'static str,
    pub title: &'static str,
    /// Two sentences: what it shows and how to read it.
    pub about: &'static str,
    pub make: fn() -> Box<dyn View>,
}

/// Every view.
pub static VIEWS: &[ViewEntry] = &[ViewEntry {
    id: "losses",
    title: "Loss",
    about: "Cross-entropy on training batches (smoothed, raw faint behind) and on held-out text (dashed), a colour a \
            variant. Lower is better; a held-out line that turns up while training falls means it learns by heart.",
    make: losses::Losses::make,
}];

/// The view with this id.
pub fn find(id: &str) -> Option<&'static ViewEntry> {
    VIEWS.iter().find(|v| v.id == id)
}
