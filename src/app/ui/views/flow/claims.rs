//! The steering as published and corrected, side by side: the training data of each, its score by its own measure, and
//! its effect on words after nouns that were not steered with.

use super::answer::SPACE;
use crate::ui::{views::prelude::*, widgets::column_widths::longest_word};

#[derive(Default)]
pub struct Claims;

const EMPTY: &str = "Nothing has been steered yet. Choose the preset As published and corrected, or one of the two that steer, \
                     and press Space.";
/// Widths of the columns of names, of the source, and of a variant, points.
const NAME_WIDTH: f32 = 128.0;
const SOURCE_WIDTH: f32 = 78.0;
const COLUMN_WIDTH: f32 = 150.0;
/// The minimum width of a variant's column, and the gap between columns, points.
const MIN_COLUMN_WIDTH: f32 = 84.0;
const GAP: f32 = 14.0;

/// A line of the table: a fact, its value in the source, and its value for each variant.
struct ClaimRow {
    name: &'static str,
    source: &'static str,
    /// The claim that the value in the source opens.
    claim: Option<&'static str>,
    cells: Vec<String>,
    /// Numbers are set in their own face, to the right.
    figures: bool,
}

impl ClaimRow {
    fn font(&self) -> FontId {
        if self.figures { theme::numbers() } else { theme::small() }
    }

    fn longest_word(&self, ui: &Ui, cell: &str) -> f32 {
        longest_word(&ui.painter().layout_no_wrap(cell.to_owned(), self.font(), Color32::PLACEHOLDER))
    }
}

enum TableLine {
    Heading(&'static str),
    Row(ClaimRow),
}

fn measured<'a>(cx: &ViewCx<'a>) -> Vec<(&'a str, Measured<'a, FlowClaims>)> {
    let each = cx.each_variant(|v| cx.scheduled::<FlowClaims>(v));
    each.map(|(info, _, m)| (info.label.as_str(), m)).collect()
}

fn percent(v: f64) -> String {
    if v.is_finite() { format!("{:.1}%", 100.0 * v) } else { "no word is one token".to_owned() }
}

/// The tokens of a class; a bare space is named.
fn class(tokens: &[String]) -> String {
    let named = |t: &String| if t.trim() == SPACE { "a bare space".to_owned() } else { t.trim().to_owned() };
    tokens.iter().map(named).collect::<Vec<_>>().join(", ")
}

fn table(measured: &[(&str, Measured<'_, FlowClaims>)]) -> Vec<TableLine> {
    let row = |name, source, figures, cell: &dyn Fn(&FlowClaims) -> String| {
        let cells = measured.iter().map(|(_, m)| cell(m.value)).collect();
        TableLine::Row(ClaimRow { name, source, claim: None, figures, cells })
    };
    let share = |name, source, claim, read: fn(&FlowClaims) -> f64| {
        let cells = measured.iter().map(|(_, m)| percent(read(m.value))).collect();
        TableLine::Row(ClaimRow { name, source, claim: Some(claim), figures: true, cells })
    };
    let word_share = |name, read: fn(&ClassShares) -> f64| {
        row(name, "", true, &|c| percent(c.words.as_ref().map_or(f64::NAN, read)))
    };
    let says =
        |name, read: fn(&ClaimedContinuations) -> &String| row(name, "", false, &|c| read(&c.continuations).clone());
    let one = |c: &FlowClaims| c.own.prompts == 1;
    vec![
        row("steered at", "one prompt", false, &|c| {
            if one(c) { "one prompt".to_owned() } else { "prompts of 32 nouns".to_owned() }
        }),
        row("\u{201c}good\u{201d} is", "a bare space", false, &|c| class(&c.classes.plus)),
        row("\u{201c}bad\u{201d} is", "one token", false, &|c| class(&c.classes.minus)),
        TableLine::Heading("By its own measure"),
        row("measured on", "that prompt", false, &|c| {
            if one(c) { "that prompt".to_owned() } else { "8 other nouns".to_owned() }
        }),
        share("P(good), u = +1", "98%", "D5", |c| c.own.plus),
        share("P(bad), u = \u{2212}1", "88%", "D5", |c| c.own.minus),
        share("P(good), u = 0", "91%", "D6", |c| c.own.plus_unsteered),
        TableLine::Heading("By the words good, lovely, .. and bad, awful, .. after 8 other nouns"),
        word_share("P(good words), u = +1", |s| s.plus),
        word_share("P(bad words), u = \u{2212}1", |s| s.minus),
        word_share("P(good words), u = 0", |s| s.plus_unsteered),
        word_share("P(bad words), u = 0", |s| s.minus_unsteered),
        TableLine::Heading("It says"),
        says("u = +1", |s| &s.plus),
        says("u = 0", |s| &s.unsteered),
        says("u = \u{2212}1", |s| &s.minus),
    ]
}

/// Draws the table; the claim whose number was clicked.
fn table_ui(ui: &mut Ui, cx: &ViewCx<'_>) -> Option<&'static str> {
    let (measured, theme) = (measured(cx), cx.theme);
    // in a narrow tile the column of sources is omitted, so that the variants fit side by side
    let (n, room) = (measured.len().max(1) as f32, ui.available_width() - 12.0);
    let with_source = room >= NAME_WIDTH + SOURCE_WIDTH + GAP + n * (MIN_COLUMN_WIDTH + GAP);
    let used = NAME_WIDTH + if with_source { SOURCE_WIDTH + GAP } else { 0.0 };
    let lines = table(&measured);
    let longest = lines.iter().filter_map(|line| if let TableLine::Row(row) = line { Some(row) } else { None });
    let longest = longest.flat_map(|row| row.cells.iter().map(|cell| row.longest_word(ui, cell))).fold(0.0, f32::max);
    let column = ((room - used) / n - GAP).clamp(MIN_COLUMN_WIDTH, COLUMN_WIDTH).max(longest);
    let mut asked = None;
    Grid::new("claims")
        .num_columns(1 + usize::from(with_source) + measured.len())
        .spacing([GAP, 5.0])
        .min_row_height(15.0)
        .show(ui, |ui| {
            ui.spacing_mut().interact_size.y = 15.0;
            cell_ui(ui, NAME_WIDTH, small_text("", theme.text));
            if with_source {
                cell_ui(ui, SOURCE_WIDTH, small_text("the source", theme.secondary));
            }
            for (label, m) in &measured {
                cell_ui(ui, column, small_text(*label, variant_colour(cx.mirror, m.variant, theme)).strong());
            }
            ui.end_row();
            for part in lines {
                match part {
                    TableLine::Heading(words) => {
                        ui.end_row();
                        // The heading spans all columns.
                        let (at, font) = (ui.cursor().min, theme::small());
                        let galley = ui.painter().layout(words.to_owned(), font, theme.secondary, room);
                        let high = galley.size().y + 2.0;
                        ui.painter().galley(at, galley, theme.secondary);
                        ui.allocate_exact_size(vec2(1.0, high), Sense::hover());
                    }
                    TableLine::Row(row) => {
                        cell_ui(ui, NAME_WIDTH, small_text(row.name, theme.text));
                        if with_source {
                            asked = source_ui(ui, theme, &row).or(asked);
                        }
                        for cell in &row.cells {
                            cell_ui(ui, column, RichText::new(cell).font(row.font()).color(theme.text));
                        }
                    }
                }
                ui.end_row();
            }
        });
    asked
}

/// The value of a row in the source; the claim that states it, if it was clicked.
fn source_ui(ui: &mut Ui, theme: &Theme, row: &ClaimRow) -> Option<&'static str> {
    let words = small_text(row.source, theme.secondary);
    let Some(claim) = row.claim else {
        cell_ui(ui, SOURCE_WIDTH, words);
        return None;
    };
    let rect = cell_ui(ui, SOURCE_WIDTH, words.underline()).rect;
    plot::claim_link_ui(ui, theme, rect, claim, row.source, row.name).then_some(claim)
}

/// A cell of a column, with its text wrapped; the response of the text.
fn cell_ui(ui: &mut Ui, width: f32, words: RichText) -> Response {
    let cell = ui.with_layout(Layout::top_down(Align::Min), |ui| {
        ui.set_width(width);
        ui.label(words)
    });
    cell.inner
}

impl View for Claims {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if measured(cx).is_empty() {
            return cx.unmeasured_ui::<FlowClaims>(ui, EMPTY);
        }
        let shown = ScrollArea::both().auto_shrink(false).show(ui, |ui| table_ui(ui, cx));
        note_table(ui.ctx(), "claims", shown.inner_rect.width(), shown.content_size.x);
        if let Some(claim) = shown.inner {
            cx.act(OpenAction::Claim(claim.to_owned()));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        sample_subtitle(measured(cx).first().map(|(_, m)| m.sample), "", "one slider, two ways to measure it")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let measured = measured(cx);
        let labels = measured.iter().map(|(label, _)| *label);
        let mut out = Table::new(["part", "what", "the source"].into_iter().chain(labels));
        let mut heading = "steering";
        for part in table(&measured) {
            match part {
                TableLine::Heading(words) => heading = words,
                TableLine::Row(row) => {
                    let cells = row.cells.iter().map(String::as_str);
                    out.row([heading, row.name, row.source].into_iter().chain(cells));
                }
            }
        }
        (!measured.is_empty()).then(|| out.finish())
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let columns = measured(cx).len();
        let size = vec2(NAME_WIDTH + SOURCE_WIDTH + 66.0 + (COLUMN_WIDTH + GAP) * columns as f32, 440.0);
        (columns > 0).then(|| {
            drawing("as published and corrected", size, cx.theme, |ui| {
                let inside = ui.max_rect().shrink(12.0);
                ui.scope_builder(UiBuilder::new().max_rect(inside), |ui| table_ui(ui, cx));
            })
        })
    }
}
