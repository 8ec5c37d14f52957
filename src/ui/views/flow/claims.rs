//! The steering as published and corrected, side by side: what each was trained on, what it reaches by its
//! own measure, and what it does to words on nouns that nobody steered with. It does not ask.

use std::fmt::Write as _;

use eframe::egui::{Align, FontId, Grid, Layout, RichText, ScrollArea, Ui};

use crate::{
    telemetry::{Payload, Sample, channels},
    ui::{
        plot::{drawing, empty_ui, quote},
        theme,
        views::{View, ViewCx},
    },
};

/// View `flow_claims`.
#[derive(Default)]
pub struct Claims;

const EMPTY: &str = "Nothing was steered yet. Choose the preset As published and corrected, or one of the two that steer, \
                     and press Space.";
/// P(good) at u = 1, P(bad) at -1, P(good) unsteered, in the source.
const SOURCE: [&str; 3] = ["98%", "88%", "91%"];
/// Widths of the columns of names, of the source, and of a variant, points.
const NAMES: f32 = 128.0;
const SOURCES: f32 = 78.0;
const COLUMN: f32 = 150.0;
/// The least of the last, and what is between columns, points.
const NARROW: f32 = 84.0;
const GAP: f32 = 14.0;

/// A line of the table: what it says of the source, and of each variant.
struct Row {
    name: &'static str,
    source: &'static str,
    cells: Vec<String>,
    /// Numbers are set in their own face, to the right.
    figures: bool,
}

enum Part {
    Heading(&'static str),
    Row(Row),
}

/// Variants that were steered.
fn told<'a>(cx: &ViewCx<'a>) -> Vec<(usize, &'a str, &'a Sample)> {
    let mirror: &'a crate::ui::mirror::Mirror = cx.mirror;
    let each = mirror.variants().iter().enumerate();
    let found = each
        .filter_map(|(v, info)| Some((v, info.label.as_str(), mirror.sample_at(v, channels::FLOW_CLAIMS, cx.step)?)));
    found.collect()
}

fn number(sample: &Sample, part: &str, name: &str) -> f64 {
    let series = sample.payload.part(part).and_then(Payload::as_series);
    let line = series.and_then(|s| s.lines.iter().find(|l| l.name == name));
    line.and_then(|l| l.y.first()).copied().unwrap_or(f64::NAN)
}

fn words<'a>(sample: &'a Sample, part: &str) -> &'a [String] {
    match sample.payload.part(part) {
        Some(Payload::Text(words)) => words,
        _ => &[],
    }
}

fn percent(v: f64) -> String {
    if v.is_finite() { format!("{:.1}%", 100.0 * v) } else { "no word is one token".to_owned() }
}

/// The words of a class; a bare space is named.
fn class(sample: &Sample, second: bool) -> String {
    let all = words(sample, "classes");
    let at = all.iter().position(|w| w == "|").unwrap_or(all.len());
    let those = if second { all.get(at + 1..).unwrap_or_default() } else { &all[..at] };
    let named = |w: &String| if w.trim() == "\u{b7}" { "a bare space".to_owned() } else { w.trim().to_owned() };
    those.iter().map(named).collect::<Vec<_>>().join(", ")
}

fn table(samples: &[&Sample]) -> Vec<Part> {
    let row = |name, source, figures, cell: &dyn Fn(&Sample) -> String| {
        Part::Row(Row { name, source, figures, cells: samples.iter().map(|s| cell(s)).collect() })
    };
    let share = |name, source, part: &'static str, of: &'static str| {
        row(name, source, true, &|s: &Sample| percent(number(s, part, of)))
    };
    let says =
        |name, i: usize| row(name, "", false, &|s: &Sample| words(s, "says").get(i).cloned().unwrap_or_default());
    let one = |s: &Sample| number(s, "own", "prompts") == 1.0;
    vec![
        row("steered at", "one prompt", false, &|s: &Sample| {
            if one(s) { "one prompt".to_owned() } else { "prompts of 32 nouns".to_owned() }
        }),
        row("\u{201c}good\u{201d} is", "a bare space", false, &|s: &Sample| class(s, false)),
        row("\u{201c}bad\u{201d} is", "one token", false, &|s: &Sample| class(s, true)),
        Part::Heading("By its own measure"),
        row("measured on", "that prompt", false, &|s: &Sample| {
            if one(s) { "that prompt".to_owned() } else { "8 other nouns".to_owned() }
        }),
        share("P(good), u = +1", SOURCE[0], "own", "plus"),
        share("P(bad), u = \u{2212}1", SOURCE[1], "own", "minus"),
        share("P(good), u = 0", SOURCE[2], "own", "plus0"),
        Part::Heading("By the words good, lovely, .. and bad, awful, .. after 8 other nouns"),
        share("P(good words), u = +1", "", "words", "plus"),
        share("P(bad words), u = \u{2212}1", "", "words", "minus"),
        share("P(good words), u = 0", "", "words", "plus0"),
        share("P(bad words), u = 0", "", "words", "minus0"),
        Part::Heading("It says"),
        says("u = +1", 0),
        says("u = 0", 1),
        says("u = \u{2212}1", 2),
    ]
}

fn table_ui(ui: &mut Ui, cx: &ViewCx<'_>) {
    let told = told(cx);
    let theme = cx.theme;
    let samples: Vec<&Sample> = told.iter().map(|t| t.2).collect();
    let small = |words: &str, colour| RichText::new(words).size(theme::SMALL).color(colour);
    // A narrow tile has the variants side by side and does without the source.
    let (n, room) = (told.len().max(1) as f32, ui.available_width() - 12.0);
    let with_source = room >= NAMES + SOURCES + GAP + n * (NARROW + GAP);
    let used = NAMES + if with_source { SOURCES + GAP } else { 0.0 };
    let column = ((room - used) / n - GAP).clamp(NARROW, COLUMN);
    Grid::new("claims")
        .num_columns(1 + usize::from(with_source) + told.len())
        .spacing([GAP, 5.0])
        .min_row_height(15.0)
        .show(ui, |ui| {
            ui.spacing_mut().interact_size.y = 15.0;
            cell_ui(ui, NAMES, small("", theme.text));
            if with_source {
                cell_ui(ui, SOURCES, small("the source", theme.secondary));
            }
            for (variant, label, _) in &told {
                cell_ui(ui, column, small(label, theme.variant(*variant)).strong());
            }
            ui.end_row();
            for part in table(&samples) {
                match part {
                    Part::Heading(words) => {
                        ui.end_row();
                        // Over all columns, and in none of them.
                        let at = ui.cursor().min;
                        ui.painter().text(
                            at,
                            eframe::egui::Align2::LEFT_TOP,
                            words,
                            FontId::proportional(theme::SMALL),
                            theme.secondary,
                        );
                        ui.allocate_exact_size(eframe::egui::vec2(1.0, 16.0), eframe::egui::Sense::hover());
                    }
                    Part::Row(row) => {
                        cell_ui(ui, NAMES, small(row.name, theme.text));
                        if with_source {
                            cell_ui(ui, SOURCES, small(row.source, theme.secondary));
                        }
                        for cell in row.cells {
                            let face = if row.figures { theme::numbers() } else { FontId::proportional(theme::SMALL) };
                            cell_ui(ui, column, RichText::new(cell).font(face).color(theme.text));
                        }
                    }
                }
                ui.end_row();
            }
        });
}

/// Words of one column, broken where it ends.
fn cell_ui(ui: &mut Ui, width: f32, words: RichText) {
    ui.with_layout(Layout::top_down(Align::Min), |ui| {
        ui.set_width(width);
        ui.label(words);
    });
}

impl Claims {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }
}

impl View for Claims {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if told(cx).is_empty() {
            empty_ui(ui, ui.available_size(), cx.theme, EMPTY);
            return;
        }
        ScrollArea::both().auto_shrink(false).show(ui, |ui| table_ui(ui, cx));
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match told(cx).first() {
            Some((_, _, sample)) => format!("step {} \u{b7} {}", sample.step, sample.about),
            None => "one slider, two ways to measure it".to_owned(),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let told = told(cx);
        let samples: Vec<&Sample> = told.iter().map(|t| t.2).collect();
        let mut out = String::from("part,what,the source");
        for (_, label, _) in &told {
            let _ = write!(out, ",{}", quote(label));
        }
        out.push('\n');
        let mut heading = "steering";
        for part in table(&samples) {
            match part {
                Part::Heading(words) => heading = words,
                Part::Row(row) => {
                    let _ = write!(out, "{},{},{}", quote(heading), quote(row.name), quote(row.source));
                    for cell in &row.cells {
                        let _ = write!(out, ",{}", quote(cell));
                    }
                    out.push('\n');
                }
            }
        }
        (!told.is_empty()).then_some(out)
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let columns = told(cx).len();
        let size = eframe::egui::vec2(NAMES + SOURCES + 66.0 + (COLUMN + GAP) * columns as f32, 440.0);
        (columns > 0).then(|| {
            drawing("as published and corrected", size, cx.theme, |ui| {
                let inside = ui.max_rect().shrink(12.0);
                ui.scope_builder(eframe::egui::UiBuilder::new().max_rect(inside), |ui| table_ui(ui, cx));
            })
        })
    }
}
