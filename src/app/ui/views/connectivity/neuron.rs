//! One neuron of the graph: the neurons that it excites and inhibits most, those that do so to it, the tokens that make
//! it fire and the tokens that it writes towards. A click selects a partner.

use super::args;
use crate::{
    labs::bdh::BdhSettings,
    ui::{
        run::EXAMPLE_CANNOT_BE_ASKED,
        view::AnswerState,
        views::{
            prelude::*,
            trained_bdh::{neuron_field_ui, take_over_ui},
        },
    },
};

/// A list of what a neuron is connected with.
struct ScoreList {
    heading: &'static str,
    about: &'static str,
    rows: fn(&GraphNeuron) -> Vec<ScoreRow>,
}

const LISTS: [ScoreList; 4] = [
    ScoreList {
        heading: "acts on",
        about: "Entries of its row of G: how much its y raises (warm) or lowers (cool) each partner.",
        rows: |n| partner_rows(n, &n.acts_on),
    },
    ScoreList {
        heading: "is acted on by",
        about: "Entries of its column of G: whose y raises (warm) or lowers (cool) it most.",
        rows: |n| partner_rows(n, &n.acted_on_by),
    },
    ScoreList {
        heading: "fires for",
        about: "Tokens whose embedding gives it most in the first layer.",
        rows: |n| token_rows(&n.reads),
    },
    ScoreList {
        heading: "writes towards",
        about: "Tokens whose logits its row of E raises most, norms left out.",
        rows: |n| token_rows(&n.writes),
    },
];

const EMPTY: &str = "No neuron has been looked at yet. Pick one in the neuron graph; a run of that lab shows one before \
                     the first step.";
const ROW_HEIGHT: f32 = 18.0;
/// Width of the scroll bar, which overlaps the list.
const SCROLL_BAR_WIDTH: f32 = 12.0;

#[derive(Default)]
pub struct Neuron;

struct ScoreRow {
    label: String,
    value: f64,
    neuron: Option<u32>,
}

fn partner_rows(shown: &GraphNeuron, partners: &[Partner]) -> Vec<ScoreRow> {
    let name = |p: &Partner| neuron_name(p.neuron as usize, shown.per_head as usize);
    let row = |p: &Partner| ScoreRow { label: name(p), value: p.entry, neuron: Some(p.neuron) };
    partners.iter().map(row).collect()
}

fn token_rows(tokens: &[TokenScore]) -> Vec<ScoreRow> {
    tokens.iter().map(|t| ScoreRow { label: visible_text(&t.token), value: t.score, neuron: None }).collect()
}

impl Neuron {
    /// The measurement of the neuron in focus at the shown step: the answer if it was asked for, else the scheduled
    /// one, which chooses a neuron by itself. While a neuron is selected, no other one is shown.
    fn shown<'a>(cx: &ViewCx<'a>) -> Option<Measured<'a, GraphNeuron>> {
        let in_focus = |m: &Measured<'_, GraphNeuron>| cx.selection.neuron.is_none_or(|n| n == m.neuron);
        let answer = cx.answer_of(cx.selection.variant).filter(in_focus);
        answer.or_else(|| cx.latest().filter(in_focus))
    }

    fn empty_text(cx: &ViewCx<'_>) -> String {
        let Some(neuron) = cx.selection.neuron else {
            return cx.empty_reason_before_asking::<GraphNeuron>(EMPTY, EMPTY);
        };
        let per_head = cx.latest::<GraphNeuron>().map_or(0, |m| m.per_head as usize);
        let name = neuron_name(neuron as usize, per_head);
        // the schedule measures a neuron that it chooses
        match cx.question_state::<GraphNeuron>() {
            Some(AnswerState::Asked(_) | AnswerState::Refused(_)) => cx.empty_reason::<GraphNeuron>(EMPTY),
            _ if cx.mirror.is_example => {
                format!("The example has no record of neuron {name}. {EXAMPLE_CANNOT_BE_ASKED}")
            }
            _ => format!("Of neuron {name} nothing was measured by step {}.", cx.step),
        }
    }

    fn head_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, shown: &GraphNeuron) {
        let mut neuron = shown.neuron;
        let (heads, per_head) = (shown.heads as usize, shown.per_head as usize);
        let max = match shown.heads * shown.per_head {
            0 => cx.config.value(BdhSettings::neurons).unwrap_or(1_000_000) as u32,
            known => known,
        };
        ui.horizontal_wrapped(|ui| {
            if let Some(other) = neuron_field_ui(ui, cx.can_ask(), neuron, max.saturating_sub(1), (heads, per_head)) {
                neuron = other;
                cx.selection.neuron = Some(neuron);
            }
            let octave = shown.octave.map(|o| format!("RoPE octave {o} of 16"));
            let words: Vec<String> = octave.into_iter().chain(Self::in_graph(cx, neuron)).collect();
            ui.label(RichText::new(words.join(" \u{b7} ")).font(theme::numbers()).color(cx.theme.secondary));
        });
    }

    /// The neuron's community and edges in the graph.
    fn in_graph(cx: &ViewCx<'_>, neuron: u32) -> Option<String> {
        let graph = super::shown::<NeuronGraph>(cx)?;
        let Some(at) = graph.neurons.iter().position(|n| *n == neuron) else {
            return Some("no edges at this threshold".to_owned());
        };
        let community = (*graph.groups.community.as_ref()?.get(at)?)?;
        let (into, out) = (graph.in_degree.get(at)?, graph.out_degree.get(at)?);
        Some(format!("community {community} \u{b7} {into} edges in, {out} out"))
    }

    /// The community of the neuron, where the graph has one, and the names of its neurons.
    fn community(cx: &ViewCx<'_>, shown: &GraphNeuron) -> Option<(u32, Vec<String>)> {
        let graph = super::shown::<NeuronGraph>(cx)?;
        let communities = graph.groups.community.as_ref()?;
        let at = graph.neurons.iter().position(|n| *n == shown.neuron)?;
        let community = (*communities.get(at)?)?;
        let of = graph.neurons.iter().zip(communities).filter(|(_, c)| **c == Some(community));
        Some((community, of.map(|(n, _)| neuron_name(*n as usize, shown.per_head as usize)).collect()))
    }

    /// A list with one bar per row; returns the neuron that was clicked.
    fn list_ui(ui: &mut Ui, cx: &ViewCx<'_>, heading: &str, about: &str, rows: &[ScoreRow]) -> Option<u32> {
        let mut picked = None;
        note_ui(ui, cx.theme, heading).on_hover_text(about);
        let max = rows.iter().map(|r| r.value.abs()).fold(f64::MIN_POSITIVE, f64::max);
        let wide = ui.available_width();
        for row in rows {
            let sense = if row.neuron.is_some() { Sense::click() } else { Sense::hover() };
            let (rect, response) = ui.allocate_exact_size(vec2(wide, ROW_HEIGHT), sense);
            if response.hovered() && row.neuron.is_some() {
                ui.painter().rect_filled(rect, 2.0, cx.theme.line);
            }
            let tone = if row.value < 0.0 { cx.theme.cool } else { cx.theme.warm };
            let words_wide = (wide * 0.4).min(76.0);
            let room = (wide - words_wide - 60.0).max(12.0);
            let from = rect.left() + words_wide;
            let size = vec2((room as f64 * row.value.abs() / max) as f32, 8.0);
            ui.painter().rect_filled(Rect::from_min_size(pos2(from, rect.center().y - 4.0), size), 1.0, tone);
            let text = |at: Pos2, align, words: &str, colour| {
                ui.painter().text(at, align, words, theme::numbers(), colour);
            };
            text(rect.left_center(), Align2::LEFT_CENTER, &row.label, cx.theme.text);
            let value = number::signed(row.value, 3);
            text(rect.right_center(), Align2::RIGHT_CENTER, &value, cx.theme.secondary);
            let name = format!("{heading} {}: {value}", row.label);
            let role = if row.neuron.is_some() { Role::Button } else { Role::Label };
            response.widget_info(|| WidgetInfo::labeled(role, true, &name));
            if row.neuron.is_some() && response.on_hover_text("Click to look at this neuron.").clicked() {
                picked = row.neuron;
            }
        }
        picked
    }
}

impl View for Neuron {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let Some(neuron) = cx.selection.neuron else { return };
        let args = GraphNeuronArgs { graph: args(cx.config), neuron: Some(neuron.to_string()) };
        cx.ask::<GraphNeuron>(Some(cx.selection.variant), &args, Freshness::WithSchedule);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(shown) = Self::shown(cx) else {
            cx.shows_nothing();
            return cx.nothing_ui(ui, &Self::empty_text(cx));
        };
        ui.spacing_mut().item_spacing.y = 2.0;
        Self::head_ui(ui, cx, &shown);
        let name = neuron_name(shown.neuron as usize, shown.per_head as usize);
        let community = Self::community(cx, &shown);
        take_over_ui(ui, cx, name, community);
        let columns = if ui.available_width() > 720.0 { 4 } else { 2 };
        let mut picked = None;
        plot::rows_ui(ui, ScrollArea::vertical().auto_shrink(false), |ui| {
            ui.set_width(ui.available_width() - SCROLL_BAR_WIDTH);
            ui.spacing_mut().item_spacing.x = 20.0;
            ui.columns(columns, |ui| {
                for (k, list) in LISTS.iter().enumerate() {
                    let rows = (list.rows)(&shown);
                    picked = picked.or(Self::list_ui(&mut ui[k % columns], cx, list.heading, list.about, &rows));
                }
            });
        });
        if picked.is_some() && cx.can_ask() {
            cx.selection.neuron = picked;
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        sample_subtitle(Self::shown(cx).map(|m| m.sample), "", "strongest partners, and tokens")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let shown = Self::shown(cx)?;
        let mut table = Table::new(["list", "name", "value"]);
        for ScoreList { heading, rows, .. } in LISTS {
            rows(&shown).iter().for_each(|row| table.cells(&[&heading, &row.label, &row.value]));
        }
        Some(table.finish())
    }
}
