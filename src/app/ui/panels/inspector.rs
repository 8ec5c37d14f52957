//! The right panel: the lesson, or what the run is and its exact values at the step shown.

use super::lesson;
use crate::{
    telemetry::RunInfo,
    ui::{panels::prelude::*, session::Tab},
};

pub fn right_panel_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 8, bottom: 4 }).show(ui, |ui| {
        ui.horizontal(|ui| {
            for (tab, name) in [(Tab::Lesson, "Lesson"), (Tab::Inspector, "Inspector")] {
                let on = shell.session.tab == tab;
                let colour = if on { shell.theme.text } else { shell.theme.secondary };
                let button = ui.add(Button::new(RichText::new(name).color(colour)).frame(false));
                button.widget_info(|| WidgetInfo::selected(Role::Tab, true, on, name));
                if on {
                    let r = button.rect;
                    ui.painter().hline(r.x_range(), r.bottom() + 2.0, Stroke::new(1.5, shell.theme.accent));
                }
                if button.clicked() {
                    shell.session.tab = tab;
                }
            }
        });
    });
    // Each lab has its own id, so that a lesson opens at its top.
    let id = ("right", page.lab.id, shell.session.tab == Tab::Lesson);
    ScrollArea::vertical().id_salt(id).auto_shrink([false, false]).show(ui, |ui| {
        Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 8, bottom: 16 }).show(ui, |ui| {
            match shell.session.tab {
                Tab::Lesson => lesson::lesson_ui(ui, shell, page),
                Tab::Inspector => inspector_ui(ui, shell, page),
            }
        });
    });
}

fn inspector_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    ui.spacing_mut().interact_size.y = 16.0;
    let Some(run) = &page.run else {
        quiet_ui(ui, shell.theme, "No run yet. Space makes one and runs it.");
        shell.on_click(ui.button("Run"), RunAction::RunPause);
        return;
    };
    let mirror = &run.mirror;
    if !page.lab.has_runs() {
        section_ui(ui, shell.theme, "File");
        if let Some(file) = page.recorded_folder() {
            wrapped_ui(ui, file.display().to_string(), shell.theme.text);
        }
        return selection_ui(ui, shell.theme, page);
    }
    note_ui(ui, shell.theme, "Run");
    match &mirror.info {
        Some(info) => info_ui(ui, shell, page, info, run.state_label()),
        None => _ = quiet_ui(ui, shell.theme, "Preparing: reading the corpus and building the models."),
    }
    variants_ui(ui, shell, page, mirror);
    section_ui(ui, shell.theme, format!("Values at step {}", page.shown_step()));
    values_ui(ui, shell.theme, mirror, page.shown_step());
    selection_ui(ui, shell.theme, page);
    changes_ui(ui, shell.theme, mirror);
}

fn pair_ui(ui: &mut Ui, theme: &Theme, name: &str, value: &str) {
    note_ui(ui, theme, name);
    wrapped_ui(ui, value, theme.text);
    ui.end_row();
}

fn info_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page, info: &RunInfo, state: &str) {
    Grid::new("run info").num_columns(2).spacing([12.0, 4.0]).min_col_width(64.0).show(ui, |ui| {
        let theme = shell.theme;
        pair_ui(ui, theme, "State", state);
        pair_ui(ui, theme, "Seed", &info.config.seed.to_string());
        // another program may have left out what it does not know
        if let Some(device) = info.device_label() {
            pair_ui(ui, theme, "Device", &device);
        }
        if !info.corpus.is_empty() {
            pair_ui(ui, theme, "Corpus", &info.corpus);
        }
        for (name, tokens) in [("Vocabulary", info.vocab), ("A step", info.tokens_per_step)] {
            if tokens > 0 {
                pair_ui(ui, theme, name, &format!("{} tokens", number::grouped(tokens as u64)));
            }
        }
        if let Some(folder) = page.folder() {
            pair_ui(ui, theme, "Folder", &folder.display().to_string());
        }
    });
    if let Some(folder) = page.folder() {
        let copy = ui.small_button("Copy the folder's path");
        shell.on_click(copy, MessageAction::CopyText(folder.display().to_string()));
    }
}

/// The variants; a click on one makes the views of one model show it.
fn variants_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page, mirror: &Mirror) {
    let theme = shell.theme;
    if mirror.variants().is_empty() {
        return;
    }
    section_ui(ui, theme, "Variants");
    for (i, v) in mirror.variants().iter().enumerate() {
        ui.horizontal(|ui| {
            let (dot, _) = ui.allocate_exact_size(vec2(10.0, 14.0), Sense::hover());
            ui.painter().circle_filled(dot.center(), 4.0, variant_colour(mirror, i, theme));
            // the count first: a long name is cut before it
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if v.params > 0 {
                    note_ui(ui, theme, "weights");
                    ui.label(RichText::new(number::grouped(v.params as u64)).font(theme::numbers()));
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let name = variant_ui(ui, theme, &v.label, i == page.selection.variant);
                    shell.on_click(name, PageAction::Focus(i));
                });
            });
        });
    }
}

/// The name of a variant as a button, cut where it has no room.
fn variant_ui(ui: &mut Ui, theme: &Theme, label: &str, on: bool) -> Response {
    let name = RichText::new(label).color(if on { theme.text } else { theme.secondary });
    let tip = format!("{label}\nClick to see this one in the views that show one model.");
    let button = ui.add(Button::new(name).frame(false).truncate()).on_hover_text(tip);
    button.widget_info(|| WidgetInfo::selected(Role::RadioButton, true, on, label));
    if on {
        let r = button.rect;
        ui.painter().hline(r.x_range(), r.bottom() + 1.0, Stroke::new(1.5, theme.accent));
    }
    button
}

/// Draws every scalar at the step shown, with a row per channel and a column per variant. If the columns do not fit, or
/// their shortened names would be equal, each channel has a row per variant below its name instead.
fn values_ui(ui: &mut Ui, theme: &Theme, mirror: &Mirror, step: u64) {
    let channels = mirror.scalar_channels();
    if channels.is_empty() {
        let words = match mirror.state {
            Some(RunState::Running) => "Nothing measured yet: the run has begun.",
            // "so far" even if the run has ended, because a run of another program is followed for as long as it is shown
            Some(RunState::Followed(_)) => "This run has recorded no numbers so far.",
            Some(RunState::Stopped | RunState::Failed { .. }) => "This run has recorded no numbers.",
            _ => "Nothing measured yet. Space runs the lab.",
        };
        quiet_ui(ui, theme, words);
        return;
    }
    let n = mirror.variants().len().max(1);
    let rows: Vec<ValueRow> = channels.keys().map(|channel| ValueRow::new(mirror, channel.as_str(), n, step)).collect();
    let values = rows.iter().flat_map(|row| row.texts.iter().map(|text| text.chars().count()));
    let chars = values.max().unwrap_or(0).max(MIN_CHARS);
    let column = text_width(ui.painter(), &"0".repeat(chars), theme::numbers()) + COLUMN_GAP;
    let variants: Vec<NamedVariant<'_>> = mirror
        .variants()
        .iter()
        .enumerate()
        .map(|(i, v)| NamedVariant {
            label: &v.label,
            heading: cut(&v.label, chars),
            colour: variant_colour(mirror, i, theme),
        })
        .collect();
    let look_alike = (1..variants.len()).any(|i| variants[..i].iter().any(|v| v.heading == variants[i].heading));
    // the names of the channels have what the values leave, which are whole
    let names = ui.available_width() - n as f32 * column - 1.0;
    let is_stacked = names < MIN_NAMES_WIDTH || look_alike;
    let names = if is_stacked { ui.available_width() - column - 1.0 } else { names };
    let columns = if is_stacked { 2 } else { n + 1 };
    Grid::new(("values", is_stacked)).num_columns(columns).spacing([COLUMN_GAP, 4.0]).show(ui, |ui| {
        if !is_stacked {
            ui.label("");
            for NamedVariant { label, heading: head, colour } in &variants {
                ui.label(number_text(head, chars, *colour)).on_hover_text(*label);
            }
            ui.end_row();
        }
        for row in &rows {
            ui.label(truncated(ui.painter(), &row.name, theme::small(), theme.secondary, names));
            for (i, (value, text)) in row.values.iter().zip(&row.texts).enumerate() {
                if let Some(variant) = variants.get(i).filter(|_| is_stacked) {
                    ui.end_row();
                    ui.label(truncated(ui.painter(), variant.label, theme::small(), variant.colour, names));
                }
                let label = ui.label(number_text(text, chars, theme.text));
                if let Some(value) = value {
                    label.on_hover_text(format!("{value}"));
                }
            }
            ui.end_row();
        }
    });
}

/// A variant over its column of values, or beside its value.
struct NamedVariant<'a> {
    label: &'a str,
    /// The beginning of the label, as far as a column has room for it.
    heading: String,
    colour: Color32,
}

/// A cell at the right of a column of this many characters.
fn number_text(words: &str, chars: usize, colour: Color32) -> RichText {
    RichText::new(format!("{words:>chars$}")).font(theme::numbers()).color(colour)
}

/// Minimum width of a column of values, characters.
const MIN_CHARS: usize = 9;
/// Points between the columns of the values.
const COLUMN_GAP: f32 = 12.0;
/// Minimum width of the names beside them, points.
const MIN_NAMES_WIDTH: f32 = 96.0;

struct ValueRow {
    /// The name, followed by the steps of the values where these differ from the shown step.
    name: String,
    values: Vec<Option<f64>>,
    texts: Vec<String>,
}

impl ValueRow {
    fn new(mirror: &Mirror, channel: &str, variants: usize, step: u64) -> Self {
        let point = |variant| mirror.curve(variant, channel).and_then(|c| c.point_at(step));
        let points: Vec<Option<(u64, f64)>> = (0..variants).map(point).collect();
        let steps: Vec<Option<u64>> = points.iter().map(|p| p.map(|(step, _)| step)).collect();
        let name = format!("{channel}{}", other_steps(&steps, step));
        let values: Vec<Option<f64>> = points.into_iter().map(|p| p.map(|(_, value)| value)).collect();
        Self { name, texts: value_texts(&values), values }
    }
}

/// The values of a channel in the form of [`number::short`], all with the decimals of the longest, if a column has room for them;
/// powers of ten stay as they are.
fn value_texts(values: &[Option<f64>]) -> Vec<String> {
    let texts: Vec<String> = values.iter().map(|v| v.map_or_else(|| "–".to_owned(), number::short)).collect();
    let plain = texts.iter().filter(|text| !text.contains('e'));
    let (mut digits, mut decimals) = (0, 0);
    for (whole, fraction) in plain.map(|text| text.split_once('.').unwrap_or((text.as_str(), ""))) {
        (digits, decimals) = (digits.max(whole.chars().count()), decimals.max(fraction.len()));
    }
    if digits + 1 + decimals > MIN_CHARS {
        return texts;
    }
    let aligned = |(text, value): (String, &Option<f64>)| match value {
        Some(value) if !text.contains('e') => format!("{value:.decimals$}"),
        _ => text,
    };
    texts.into_iter().zip(values).map(aligned).collect()
}

/// The steps at which values were measured, where they are not the step shown: " (step 0)".
fn other_steps(steps: &[Option<u64>], shown: u64) -> String {
    let mut known: Vec<u64> = steps.iter().flatten().copied().collect();
    known.dedup();
    match known.as_slice() {
        [] => String::new(),
        [step] if *step == shown => String::new(),
        [step] => format!(" (step {step})"),
        _ => {
            let words = steps.iter().map(|step| step.map_or("–".to_owned(), |step| step.to_string()));
            format!(" (steps {})", words.collect::<Vec<_>>().join(", "))
        }
    }
}

fn selection_ui(ui: &mut Ui, theme: &Theme, page: &Page) {
    let s = &page.selection;
    let parts: Vec<String> = [
        s.token.map(|t| format!("token {t}")),
        s.layer.clone(),
        s.head.map(|h| format!("head {h}")),
        s.neuron.map(|n| format!("{} {n}", if page.lab.has_runs() { "neuron" } else { "node" })),
    ]
    .into_iter()
    .flatten()
    .collect();
    section_ui(ui, theme, "Selected");
    let words = match parts.is_empty() {
        true if !page.lab.has_runs() => "Nothing. Click a node, or its line in the table.".to_owned(),
        true => "Nothing. Click a token, a head or a position in any view; every view then shows it.".to_owned(),
        false => parts.join(" · "),
    };
    ui.label(small_text(words, if parts.is_empty() { theme.secondary } else { theme.text }));
}

fn changes_ui(ui: &mut Ui, theme: &Theme, mirror: &Mirror) {
    if mirror.changes.is_empty() {
        return;
    }
    section_ui(ui, theme, "Changed while running");
    Grid::new("changes").num_columns(3).spacing([12.0, 4.0]).show(ui, |ui| {
        for (step, key, value) in mirror.changes.iter().rev().take(20) {
            ui.label(RichText::new(step.to_string()).font(theme::numbers()).color(theme.secondary));
            ui.label(RichText::new(key).small());
            ui.label(RichText::new(value.as_f64().map_or(value.to_string(), number::short)).font(theme::numbers()));
            ui.end_row();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::VariantInfo;

    /// The values at step 9 in a panel of this width, and the rectangles of the drawn text.
    fn drawn_texts(mirror: &Mirror, width: f32) -> Vec<(String, Rect)> {
        let (ctx, theme) = (Context::default(), Theme::dark());
        theme::apply(&theme, true, &ctx);
        let mut words = vec![];
        for _ in 0..3 {
            let screen_rect = Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(width, 400.0)));
            let input = egui::RawInput { screen_rect, ..egui::RawInput::default() };
            let out = ctx.run_ui(input, |ui| values_ui(ui, &theme, mirror, 9));
            let text = |clipped: &egui::epaint::ClippedShape| match &clipped.shape {
                Shape::Text(text) => {
                    let place = Rect::from_min_size(text.pos, text.galley.size());
                    Some((text.galley.text().trim().to_owned(), place.intersect(clipped.clip_rect)))
                }
                _ => None,
            };
            words = out.shapes.iter().filter_map(text).collect();
            out.drop_without_applying_deltas();
        }
        words
    }

    #[test]
    fn values_are_whole_in_columns_or_below_the_channels_name() {
        let labels = ["standard", "MLP on queries", "coupled, seed 1", "coupled, seed 2"];
        let name = "accuracy/of/a/name/that/is/longer/than/the/panel";
        let variant = |label: &str| {
            let [id, group] = [label; 2].map(String::from);
            VariantInfo { label: label.into(), id, group, ..VariantInfo::default() }
        };
        for shown in [2, 4] {
            let variants = labels.iter().take(shown).map(|label| variant(label)).collect();
            let mut mirror = Mirror::begun(RunInfo { variants, ..RunInfo::default() });
            (0..shown).for_each(|variant| mirror.report(variant, 7, &[(name, 0.125 * (variant + 1) as f64)]));
            let words = drawn_texts(&mirror, 300.0);
            assert!(words.iter().any(|(text, _)| *text == format!("{name} (step 7)")), "{words:?}");
            let at = |wanted: &str| {
                let found = words.iter().find(|(text, _)| *text == wanted);
                found.unwrap_or_else(|| panic!("no {wanted} in {words:?}")).1
            };
            for (variant, label) in labels.iter().take(shown).enumerate() {
                let text = format!("{:.3}", 0.125 * (variant + 1) as f64);
                let is_whole = |(drawn, place): &(String, Rect)| *drawn == text && place.width() > 40.0;
                assert!(drawn_texts(&mirror, 256.0).iter().any(is_whole), "{text} in a narrow panel");
                let value = at(&text);
                assert!(value.right() <= 300.0 && value.width() > 40.0, "{value:?}");
                match shown {
                    2 => {
                        assert!(value.center().y > at(&cut(label, MIN_CHARS)).center().y, "{label} heads the column")
                    }
                    _ => assert!((value.center().y - at(label).center().y).abs() < 4.0, "{label} is beside {value:?}"),
                }
            }
        }
        assert_eq!(cut("MLP on queries", 9), "MLP on q\u{2026}");
    }

    #[test]
    fn values_of_a_channel_have_one_number_of_decimals() {
        assert_eq!(value_texts(&[Some(5.72), Some(5.7214), None, Some(12.0)]), ["5.720", "5.721", "–", "12.000"]);
        assert_eq!(value_texts(&[Some(2e-7), Some(0.5)]), ["2e-7", "0.5"]);
        assert_eq!(value_texts(&[Some(123_456.0), Some(0.001_234)]), ["123456", "0.001234"]);
    }

    #[test]
    fn a_value_of_another_step_says_which() {
        assert_eq!(other_steps(&[Some(78), None, Some(78)], 78), "");
        assert_eq!(other_steps(&[Some(0), Some(0)], 78), " (step 0)");
        assert_eq!(other_steps(&[Some(0), None, Some(78)], 78), " (steps 0, –, 78)");
        assert_eq!(other_steps(&[None], 78), "");
    }
}
