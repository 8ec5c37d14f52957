//! The difference of two runs in what a view shows: attention weights, edges of a graph, next words. It needs the same
//! text or the same nodes in both; else it gives the reason why there is none. It reads no files.

mod attention;
mod graph;
mod words;

use eframe::egui::{Color32, Ui, Vec2, vec2};

use super::ReplayedRun;
use crate::{
    telemetry::{Measurement, Sample},
    ui::{
        figure,
        plot::{empty_ui, map::MapState},
        theme::Theme,
        views::Selection,
    },
};

pub use attention::AttentionDifference;
pub use graph::GraphDifference;
pub use words::WordsDifference;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    Attention,
    Graph,
    Words,
}

impl DifferenceKind {
    /// The difference that this view has, if any.
    pub fn for_view(view: &str) -> Option<Self> {
        match view {
            "attention" | "attention_by_layer" | "attention_side_by_side" => Some(Self::Attention),
            "neuron_graph" | "graph_table" => Some(Self::Graph),
            "next_tokens" => Some(Self::Words),
            _ => None,
        }
    }
}

/// The second of two runs minus the first.
#[derive(Debug, Clone)]
pub enum Difference {
    Attention(AttentionDifference),
    Graph(GraphDifference),
    Words(WordsDifference),
}

/// The names and the colours of two runs: of what is subtracted, and of what it is subtracted from.
#[derive(Debug, Clone, Copy)]
pub struct DifferenceSides<'a> {
    pub names: [&'a str; 2],
    pub colours: [Color32; 2],
}

impl Difference {
    /// The difference of two runs at a step, for the current selection.
    ///
    /// # Errors
    /// The reason, where the two cannot be subtracted: nothing was measured, or the texts, layers or nodes differ.
    pub fn new(
        kind: DifferenceKind,
        runs: [&ReplayedRun; 2],
        step: u64,
        selection: &Selection,
    ) -> Result<Self, String> {
        let focus = selection.variant;
        Ok(match kind {
            DifferenceKind::Attention => {
                Self::Attention(AttentionDifference::new(pair(runs, step, focus)?, selection)?)
            }
            DifferenceKind::Graph => Self::Graph(GraphDifference::new(pair(runs, step, focus)?)?),
            DifferenceKind::Words => Self::Words(WordsDifference::new(pair(runs, step, focus)?)?),
        })
    }

    /// The two runs, their steps, and the summary numbers of the difference.
    pub fn subtitle(&self) -> String {
        match self {
            Self::Attention(d) => d.subtitle(),
            Self::Graph(d) => d.subtitle(),
            Self::Words(d) => d.subtitle(),
        }
    }

    /// Every number of it; the columns of the two runs are named after them.
    pub fn csv(&self, names: [&str; 2]) -> String {
        match self {
            Self::Attention(d) => d.csv(names),
            Self::Graph(d) => d.csv(names),
            Self::Words(d) => d.csv(names),
        }
    }

    /// Width and height at which it is seen well as a picture of its own, points.
    pub fn size(&self) -> Vec2 {
        match self {
            Self::Attention(_) => vec2(720.0, 640.0),
            Self::Graph(_) => vec2(680.0, 760.0),
            Self::Words(d) => vec2(760.0, figure::HEAD_HEIGHT + 2.0 * figure::MARGIN + d.height()),
        }
    }

    fn ui(&self, ui: &mut Ui, sides: DifferenceSides<'_>, theme: &Theme, state: &mut MapState) {
        match self {
            Self::Attention(d) => d.ui(ui, sides.names, theme, state),
            Self::Graph(d) => d.ui(ui, sides, theme),
            Self::Words(d) => d.ui(ui, sides, theme),
        }
    }
}

/// A measurement of both runs, the first one's before the second one's.
struct Pair<'a, M> {
    values: [&'a M; 2],
    samples: [&'a Sample; 2],
    /// The labels of the two variants; empty where each run has one variant.
    variants: [String; 2],
}

impl<M> Pair<'_, M> {
    /// "step 40", or both steps; and the variants.
    fn steps_label(&self) -> String {
        let [a, b] = [self.samples[0].step, self.samples[1].step];
        let steps = if a == b { format!("step {a}") } else { format!("step {b} minus step {a}") };
        match &self.variants {
            [a, b] if a.is_empty() && b.is_empty() => steps,
            [a, b] if a == b => format!("{steps} \u{b7} {a}"),
            [a, b] => format!("{steps} \u{b7} {b} minus {a}"),
        }
    }

    /// # Errors
    /// If the two are not of the same text.
    fn check_text(&self, what: &str) -> Result<(), String> {
        let [a, b] = self.samples;
        let is_same = a.tokens == b.tokens && (!a.tokens.is_empty() || a.about == b.about);
        if is_same {
            return Ok(());
        }
        Err(format!(
            "No difference: the {what} are of different texts ({}; {}). Runs with the same text and seed of the text have one.",
            a.about, b.about
        ))
    }
}

/// Finds the measurement `M` of both runs at a step: for the variant in focus of the first run, and for the variant with
/// the same id in the second.
fn pair<'a, M: Measurement>(runs: [&'a ReplayedRun; 2], step: u64, focus: usize) -> Result<Pair<'a, M>, String> {
    let [a, b] = runs;
    let nothing = |run: &ReplayedRun| {
        format!("No difference: {} has no such measurement by step {}.", run.name, step.min(run.mirror.step))
    };
    let (of_a, sample_a, value_a) = measured::<M>(a, step, Some(focus)).ok_or_else(|| nothing(a))?;
    let id = a.mirror.variants().get(of_a).map(|v| v.id.as_str());
    let same = b.mirror.variants().iter().position(|v| Some(v.id.as_str()) == id);
    let (of_b, sample_b, value_b) = measured::<M>(b, step, same).ok_or_else(|| nothing(b))?;
    let label = |run: &ReplayedRun, variant: usize| match run.mirror.variants() {
        [] | [_] => String::new(),
        all => all.get(variant).map_or(String::new(), |v| v.label.clone()),
    };
    Ok(Pair { values: [value_a, value_b], samples: [sample_a, sample_b], variants: [label(a, of_a), label(b, of_b)] })
}

/// The newest measurement at or before a step: the focused variant's if it has one, else the first that any variant has.
fn measured<M: Measurement>(run: &ReplayedRun, step: u64, focus: Option<usize>) -> Option<(usize, &Sample, &M)> {
    let all = 0..run.mirror.variants().len();
    let newest = |variant: usize| {
        let scheduled = run.mirror.sample_at(variant, M::CHANNEL, step);
        let answered = run.mirror.answer(variant, M::CHANNEL).filter(|s| s.step <= step);
        let sample = scheduled.or(answered)?;
        Some((variant, sample, sample.measurement::<M>()?))
    };
    focus.into_iter().chain(all).find_map(newest)
}

/// Draws a difference with its title, or the reason why there is none.
pub fn cell_ui(
    ui: &mut Ui,
    made: Result<&Difference, &String>,
    sides: DifferenceSides<'_>,
    theme: &Theme,
    state: &mut MapState,
) {
    let subtitle = made.map_or(String::new(), Difference::subtitle);
    let title = format!("Difference: ({}) \u{2212} ({})", sides.names[1], sides.names[0]);
    let mut inner = figure::sheet_ui(ui, theme, &title, &subtitle);
    let size = inner.max_rect().size();
    match made {
        Ok(difference) => difference.ui(&mut inner, sides, theme, state),
        Err(words) => drop(empty_ui(&mut inner, size, theme, words)),
    }
}
