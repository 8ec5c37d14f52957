//! Looks for a synapse that stands for a concept: what to look for, the synapses found with how they held
//! on new sentences, random weights beside each, and the verdict.

mod drawing;

use std::fmt::Write as _;

use eframe::egui::{Button, RichText, ScrollArea, TextEdit, Ui, WidgetInfo, accesskit::Role};

use self::drawing::{Row, Scale, nouns_ui, rows_ui};
use super::{Synapse, part};
use crate::{
    config::Value,
    telemetry::{Args, Matrix, Payload, Sample, Series, channels},
    ui::{
        plot::{empty_ui, quote},
        theme::{self, Theme},
        views::{View, ViewCx},
    },
};

/// What can be looked for: id for the probe, name, tip. The last is one's own sentences.
const CONCEPTS: [(&str, &str, &str); 3] = [
    (
        "currency",
        "currency",
        "Sentences about currencies against the same sentences about goods, countries, cities and institutions.",
    ),
    (
        "country",
        "country",
        "Sentences about countries against the same sentences about cities, institutions, currencies and goods.",
    ),
    (
        "",
        "own sentences",
        "Two lists of yours, one sentence a line. Every second one is kept to confirm with; write <F:en> before a sentence to name its language.",
    ),
];

const WITH: &str = "The euro is weak.\nWe paid in dollars.\nThe pound fell again.\nNobody wants the yen.\nThe franc was strong.\nThe peso is old.\nHe kept the rouble.\nThe krone rose.";
const WITHOUT: &str = "The wheat is weak.\nWe paid in March.\nThe timber fell again.\nNobody wants the coal.\nThe butter was strong.\nThe harbour is old.\nHe kept the copper.\nThe river rose.";

/// View `concepts`.
pub struct Concepts {
    chosen: usize,
    with: String,
    without: String,
    /// The request that is waited for, and how many notices there were before it.
    asked: Option<(u64, usize)>,
    /// Why the last one had no answer.
    refused: Option<String>,
}

impl Default for Concepts {
    fn default() -> Self {
        Self { chosen: 0, with: WITH.to_owned(), without: WITHOUT.to_owned(), asked: None, refused: None }
    }
}

/// The parts of a sample.
struct Shown<'a> {
    sample: &'a Sample,
    table: &'a Series,
    random: Option<&'a Series>,
    languages: &'a [String],
}

impl<'a> Shown<'a> {
    fn of(cx: &ViewCx<'a>) -> Option<Self> {
        let (_, sample) = cx.answer(channels::SYNAPSES_CONCEPTS)?;
        Some(Self {
            sample,
            table: part(&sample.payload, "synapses")?,
            random: part(&sample.payload, "random"),
            languages: text(&sample.payload, "languages"),
        })
    }

    fn line(&self, name: &str) -> &'a [f64] {
        self.table.lines.iter().find(|l| l.name == name).map_or(&[], |l| &l.y)
    }

    fn at(&self, name: &str, k: usize) -> f64 {
        self.line(name).get(k).copied().unwrap_or(f64::NAN)
    }

    /// The greatest of a line of the random models.
    fn random(&self, name: &str) -> f64 {
        let line = self.random.and_then(|r| r.lines.iter().find(|l| l.name == name));
        line.map_or(f64::NAN, |l| l.y.iter().copied().fold(f64::NAN, f64::max))
    }

    fn synapse(&self, k: usize) -> Synapse {
        let of = |name: &str| self.at(name, k) as usize;
        Synapse { layer: of("layer"), i: of("y"), j: of("x") }
    }

    fn row(&self, k: usize) -> Row {
        let s = self.synapse(k);
        Row {
            name: format!("layer {}  y {} \u{2192} x {}", s.layer, s.i, s.j),
            search: self.at("search", k),
            new: self.at("both new", k),
            interval: (self.at("low", k), self.at("high", k)),
            p: self.at("holm", k),
            confirmed: self.at("confirmed", k) > 0.5,
            languages: self
                .languages
                .iter()
                .map(|c| (c.clone(), self.at(&format!("both new {c}"), k), self.at(&format!("p {c}"), k)))
                .collect(),
            details: format!(
                "new nouns in known frames {:.2}, known nouns in new frames {:.2}",
                self.at("new nouns", k),
                self.at("new frames", k)
            ),
        }
    }

    fn rows(&self) -> Vec<Row> {
        (0..self.table.x.len()).map(|k| self.row(k)).collect()
    }

    /// The row of the synapse in focus, or the first.
    fn focus(&self, cx: &ViewCx<'_>) -> usize {
        (0..self.table.x.len()).find(|&k| cx.selection.synapse == Some(self.synapse(k))).unwrap_or(0)
    }

    fn by_noun(&self) -> Option<(&'a Matrix, &'a [String], &'a [String])> {
        let matrix = self.sample.payload.part("by noun")?.as_matrix()?;
        Some((matrix, text(&self.sample.payload, "nouns"), text(&self.sample.payload, "classes")))
    }
}

const SEARCHING: &str =
    "Searching this model and three untrained ones: a minute or two, in which the model stands still.";

/// A line in the second colour.
fn told(ui: &mut Ui, theme: &Theme, words: &str) {
    ui.label(RichText::new(words).size(theme::SMALL).color(theme.secondary));
}

fn text<'a>(payload: &'a Payload, name: &str) -> &'a [String] {
    match payload.part(name) {
        Some(Payload::Text(lines)) => lines,
        _ => &[],
    }
}

impl Concepts {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// An answer that came, a refusal, or a run that cannot answer, ends the waiting.
    fn listen(&mut self, cx: &ViewCx<'_>) {
        let Some((asked, notices)) = self.asked else { return };
        let came = cx.answer(channels::SYNAPSES_CONCEPTS).and_then(|(_, s)| s.request);
        let since = cx.mirror.notices.get(notices..).unwrap_or_default();
        self.refused = since.iter().rev().find(|n| n.1.contains("`concepts`")).map(|n| n.1.clone());
        if !cx.can_ask() || self.refused.is_some() || came.is_some_and(|r| r >= asked) {
            self.asked = None;
        }
    }

    fn choice_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.listen(cx);
        ui.horizontal_wrapped(|ui| {
            for (k, (_, name, tip)) in CONCEPTS.iter().enumerate() {
                ui.selectable_value(&mut self.chosen, k, *name).on_hover_text(*tip);
            }
            let tip = "Searches this model and three untrained ones; the model stands still meanwhile, for a minute or two. \
                       What is found is confirmed on sentences that took no part in the search.";
            let button = ui.add_enabled(cx.can_ask() && self.asked.is_none(), Button::new("Find"));
            if button.on_hover_text(tip).clicked() {
                let request = cx.ask("concepts", Some(cx.selection.variant), self.args(cx));
                (self.asked, self.refused) = (Some((request, cx.mirror.notices.len())), None);
            }
        });
        let source = cx.config.get("corpus.source").map(ToString::to_string).unwrap_or_default();
        let parliament = source.starts_with("parliament");
        if self.asked.is_some() {
            told(ui, cx.theme, SEARCHING);
        } else if let Some(words) = &self.refused {
            ui.label(RichText::new(words).size(theme::SMALL).color(cx.theme.error));
        } else if !parliament && !CONCEPTS[self.chosen].0.is_empty() {
            told(ui, cx.theme, "This model learns from another text: it has read no sentence of the parliament.");
        }
        if CONCEPTS[self.chosen].0.is_empty() {
            ui.columns(2, |columns| {
                let lists = [("with the concept", &mut self.with), ("without it", &mut self.without)];
                for (ui, (name, list)) in columns.iter_mut().zip(lists) {
                    ui.label(RichText::new(name).size(theme::SMALL).color(cx.theme.secondary));
                    ScrollArea::vertical().id_salt(name).max_height(84.0).show(ui, |ui| {
                        let edit = TextEdit::multiline(list).desired_rows(5).desired_width(f32::INFINITY);
                        let response = ui.add(edit);
                        response.widget_info(|| {
                            WidgetInfo::labeled(Role::MultilineTextInput, true, format!("sentences {name}"))
                        });
                    });
                }
            });
        }
    }

    /// Whether what is shown answers what is chosen.
    fn shows(&self, shown: &Shown<'_>) -> bool {
        let found = text(&shown.sample.payload, "concept").first().map_or("", String::as_str);
        found.starts_with(CONCEPTS[self.chosen].1)
    }

    fn args(&self, cx: &ViewCx<'_>) -> Args {
        let text = |t: &str| Value::Text(t.to_owned());
        let id = CONCEPTS[self.chosen].0;
        if id.is_empty() {
            return Args::from([("with".to_owned(), text(&self.with)), ("without".to_owned(), text(&self.without))]);
        }
        let naive = cx.config.get("corpus.source") == Some(&text("parliament_naive"));
        Args::from([("preset".to_owned(), text(&format!("{id}{}", if naive { "_naive" } else { "" })))])
    }

    fn verdict_ui(ui: &mut Ui, cx: &ViewCx<'_>, shown: &Shown<'_>) {
        let Some(words) = text(&shown.sample.payload, "verdict").first() else { return };
        let yes = shown.line("confirmed").iter().any(|c| *c > 0.5);
        let (sign, colour) = if yes { ("\u{2714}", cx.theme.accent) } else { ("\u{2013}", cx.theme.secondary) };
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new(sign).color(colour));
            ui.label(RichText::new(words).color(cx.theme.text));
        });
    }
}

impl View for Concepts {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing.y = 4.0;
        self.choice_ui(ui, cx);
        let Some(shown) = Shown::of(cx).filter(|s| !s.table.x.is_empty()) else {
            let words = match self.asked {
                Some(_) => {
                    "The answer comes here: the ten synapses that the search put first, and how each did on new sentences."
                }
                None => {
                    "Does one synapse rise for every currency, in every language, in sentences it has never met? Train on the \
                     parliament (preset Parliament), then press Find. The preset The trap shows how easily one is fooled."
                }
            };
            empty_ui(ui, ui.available_size(), cx.theme, words);
            return;
        };
        if !self.shows(&shown) && self.asked.is_none() {
            let (found, chosen) = (text(&shown.sample.payload, "concept"), CONCEPTS[self.chosen].1);
            let found = found.first().map_or("another concept", String::as_str);
            told(ui, cx.theme, &format!("Below is {found}, of step {}. Press Find for {chosen}.", shown.sample.step));
        }
        Self::verdict_ui(ui, cx, &shown);
        let rows = shown.rows();
        let focus = shown.focus(cx);
        let below = if shown.by_noun().is_some() && ui.available_height() > 260.0 { 116.0 } else { 0.0 };
        let scale = Scale { random: [shown.random("search"), shown.random("best")] };
        let room = ui.available_height() - below - 6.0;
        let clicked = ScrollArea::vertical()
            .id_salt("synapses found")
            .max_height(room)
            .show(ui, |ui| rows_ui(ui, cx.theme, &rows, scale, focus))
            .inner;
        if let Some(k) = clicked {
            cx.selection.synapse = Some(shown.synapse(k));
        }
        if below > 0.0
            && let Some((matrix, nouns, classes)) = shown.by_noun()
        {
            let values: Vec<f32> = (0..matrix.cols).filter_map(|n| matrix.at(focus, n)).collect();
            nouns_ui(ui, cx.theme, &rows[focus].name, &values, nouns, classes);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match Shown::of(cx) {
            Some(s) => format!("step {} \u{b7} {}", s.sample.step, s.sample.about),
            None => "one synapse for a concept, confirmed on new nouns in new frames".to_owned(),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let shown = Shown::of(cx)?;
        let names: Vec<String> = shown.table.lines.iter().map(|l| quote(&l.name)).collect();
        let mut csv = format!("rank,{},random_search,random_both_new\n", names.join(","));
        for (k, rank) in shown.table.x.iter().enumerate() {
            let values: Vec<String> =
                shown.table.lines.iter().map(|l| l.y.get(k).map_or(String::new(), |v| v.to_string())).collect();
            let random = (shown.random("search"), shown.random("best"));
            let _ = writeln!(csv, "{rank},{},{},{}", values.join(","), random.0, random.1);
        }
        Some(csv)
    }
}
