//! The rows of the table of runs; only those in sight are drawn.

use super::{RunsPage, settings::TableSettings};
use crate::{
    experiments::run_table::order::Order,
    labs::headline::{Headline, common, split_key},
    ui::{
        panels::prelude::*,
        widgets::{
            sorted_table::{CellText, PAD, SortedTable, TableColumn, cell_ui},
            truncated::without_shared,
        },
    },
};

const ROW_HEIGHT: f32 = 44.0;
const HEAD_HEIGHT: f32 = 24.0;

/// A column: heading, what it sorts by, share of the width.
const COLUMNS: [(&str, &str, f32); 7] = [
    ("run", "name", 0.24),
    ("lab, preset", "lab", 0.14),
    ("differing settings", "changed", 0.17),
    ("step, seed", "steps", 0.09),
    ("loss, result", "loss", 0.19),
    ("began, state", "began", 0.17),
    ("size", "size", 0.0),
];
/// The columns of the name, of the settings, and of the loss and the result.
const NAME_COLUMN: usize = 0;
const SETTINGS: usize = 2;
const LOSS_COLUMN: usize = 4;
/// Width of the last column, points.
const SIZE_WIDTH: f32 = 76.0;
/// Width of the ticks before the first column, points.
const CHECKBOX_WIDTH: f32 = 24.0;

/// The frame of the table in this much width, which all columns share.
fn frame<'a>(theme: &'a Theme, order: &Order, width: f32) -> SortedTable<'a> {
    let shared = width - SIZE_WIDTH - CHECKBOX_WIDTH;
    let columns = COLUMNS.iter().map(|(words, key, share)| TableColumn {
        heading: (*words).to_owned(),
        width: if *share > 0.0 { share * shared } else { SIZE_WIDTH },
        align_right: *key == "size",
        descending: (order.key == *key).then_some(order.descending),
    });
    let (left, head, row) = (CHECKBOX_WIDTH, HEAD_HEIGHT, ROW_HEIGHT);
    SortedTable { id: "runs", theme, columns: columns.collect(), left, head, row, wanted: None }
}

pub fn table_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut RunsPage) {
    let table = frame(shell.theme, &page.order, ui.available_width());
    tick_all_ui(ui, shell, page);
    let (mut selected, mut opened, mut ticked) = (None, None, None);
    let sorted = table.show(ui, page.shown.len(), |ui, i| {
        let Some(row) = page.shown.get(i).and_then(|i| page.rows.get(*i)) else { return };
        let is_selected = page.selected.as_ref() == Some(&row.folder);
        let is_ticked = page.ticked.contains(&row.folder);
        let shared = page.shared.get(i).copied().unwrap_or_default();
        let response = row_ui(ui, shell, &table, row, &page.settings, shared, is_selected);
        if tick_ui(ui, shell, row, response.rect, is_ticked) {
            ticked = Some(row.folder.clone());
        } else if response.double_clicked() && row.state != RowState::Unreadable {
            opened = Some(row.path.clone());
        } else if response.clicked() {
            selected = Some(row.folder.clone());
        }
    });
    if let Some(column) = sorted {
        page.order.click(COLUMNS[column].1);
        page.is_stale = true;
    }
    if let Some(folder) = ticked {
        toggle(&mut page.ticked, folder);
    }
    if let Some(folder) = selected {
        page.selected = if page.selected.as_ref() == Some(&folder) { None } else { Some(folder) };
    }
    if let Some(path) = opened {
        shell.act(OpenAction::Run(path));
    }
}

/// Draws a row. The first `shared` bytes of its name are the beginning of another name too.
fn row_ui(
    ui: &mut Ui,
    shell: &Shell<'_>,
    table: &SortedTable<'_>,
    row: &RunRow,
    settings: &TableSettings,
    shared: usize,
    is_selected: bool,
) -> Response {
    let name = format!("{}, {}, {}", row.title(), row.lab, row.state_label());
    let response = table.row_ui(ui, &name, is_selected);
    let theme = shell.theme;
    let cells = cells(shell, row, settings.of_run(row));
    for (i, ((first, second), place)) in cells.into_iter().zip(table.places(response.rect)).enumerate() {
        let is_number = (3..=LOSS_COLUMN).contains(&i) || i == 6;
        let (middle, align_right) = (place.top() + 14.0, i == 6);
        let place = if align_right { place } else { place.with_max_x(place.right() - 4.0) };
        let font = if is_number { theme::numbers() } else { FontId::proportional(theme::BODY) };
        let line = |y: f32| place.with_min_y(y).with_max_y(y);
        let mut text = first.clone();
        if i == NAME_COLUMN {
            let pin = first.strip_suffix(row.title()).unwrap_or_default();
            let room = place.width() - PAD - text_width(ui.painter(), pin, font.clone());
            text = format!("{pin}{}", without_shared(ui.painter(), row.title(), shared, &font, room));
        }
        let is_short = text != first;
        let is_first_cut = cell_ui(ui, line(middle), CellText { text, font, colour: theme.text, align_right });
        let (font, colour) = (theme::small(), if i == 5 { state_colour(shell, row) } else { theme.secondary });
        let is_cut = cell_ui(ui, line(middle + 17.0), CellText { text: second.clone(), font, colour, align_right });
        let cell = |salt: &str| ui.interact(place, ui.scope_id().with((salt, &row.folder)), Sense::hover());
        match i {
            NAME_COLUMN if is_short || is_cut => {
                _ = cell("name").on_hover_text(format!("{first}\n{second}").trim_end());
            }
            SETTINGS if is_first_cut || is_cut => {
                cell("settings").on_hover_ui(|ui| _ = ui.label(settings.of_run_in_full(row).join("\n")));
            }
            LOSS_COLUMN if !row.losses.is_empty() => {
                _ = cell("values").on_hover_ui(|ui| _ = ui.label(values_by_variant(row)));
            }
            _ => {}
        }
    }
    response
}

/// The tick of a row, for comparing; whether it was clicked.
fn tick_ui(ui: &mut Ui, shell: &Shell<'_>, row: &RunRow, rect: Rect, is_ticked: bool) -> bool {
    let place = Rect::from_min_size(rect.min, vec2(CHECKBOX_WIDTH, ROW_HEIGHT));
    let response = ui.interact(place, ui.scope_id().with(("tick", &row.folder)), Sense::click());
    square_ui(ui, shell, &response, &format!("Compare {}", row.title()), is_ticked);
    response.clicked()
}

/// The tick above the rows: that of all runs that are shown.
fn tick_all_ui(ui: &mut Ui, shell: &Shell<'_>, page: &mut RunsPage) {
    let place = Rect::from_min_size(ui.cursor().min, vec2(CHECKBOX_WIDTH, HEAD_HEIGHT));
    let response = ui.interact(place, ui.scope_id().with("tick all"), Sense::click());
    let rows = page.shown.iter().filter_map(|i| page.rows.get(*i)).filter(|row| row.state != RowState::Unreadable);
    let shown: Vec<String> = rows.map(|row| row.folder.clone()).collect();
    let are_ticked = !shown.is_empty() && shown.iter().all(|folder| page.ticked.contains(folder));
    square_ui(ui, shell, &response, "Tick all runs shown", are_ticked);
    if response.on_hover_text("Ticks all runs that are shown, for comparison, or unticks them.").clicked() {
        if are_ticked { page.ticked.retain(|folder| !shown.contains(folder)) } else { page.ticked.extend(shown) }
    }
}

fn square_ui(ui: &Ui, shell: &Shell<'_>, response: &Response, name: &str, is_ticked: bool) {
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, is_ticked, name));
    let square = Rect::from_center_size(response.rect.center() + vec2(2.0, 0.0), vec2(12.0, 12.0));
    let hot = response.hovered() || response.has_focus();
    let edge = if hot || is_ticked { shell.theme.accent } else { shell.theme.secondary };
    ui.painter().rect_stroke(square, 2.0, Stroke::new(1.0, edge), StrokeKind::Inside);
    if is_ticked {
        ui.painter().rect_filled(square.shrink(3.0), 1.0, edge);
    }
}

fn state_colour(shell: &Shell<'_>, row: &RunRow) -> Color32 {
    match &row.state {
        RowState::Failed(_) | RowState::Unreadable => shell.theme.error,
        RowState::Running => shell.theme.accent,
        _ => shell.theme.secondary,
    }
}

/// The tags of a run, and the text behind them: "#talk #wide a note".
fn with_tags(row: &RunRow, words: &str) -> String {
    let tags = row.note.tags.iter().map(|tag| format!("#{tag}"));
    let words = Some(words.to_owned()).filter(|words| !words.is_empty());
    tags.chain(words).collect::<Vec<_>>().join(" ")
}

/// Two lines of each column; `settings` are those by which the run is told from others.
fn cells(shell: &Shell<'_>, row: &RunRow, settings: Vec<String>) -> [(String, String); COLUMNS.len()] {
    let pin = if row.note.pinned { "★ " } else { "" };
    let second = match (row.problems.first(), row.note.note.lines().next(), row.note.name.is_empty()) {
        // a problem is shown without the tags, so that it is not cut
        (Some(problem), ..) => problem.clone(),
        (_, Some(note), _) if !note.is_empty() => with_tags(row, note),
        (.., false) => with_tags(row, &row.folder),
        _ => with_tags(row, ""),
    };
    let lab = shell.lists.lab(&row.lab).map_or(row.lab.as_str(), |l| l.title);
    let preset = shell.lists.preset_title(&row.lab, &row.preset);
    let preset = if row.sweep.is_empty() { preset.to_owned() } else { format!("sweep {}, {preset}", row.sweep) };
    let mut settings = settings.into_iter();
    let first_setting =
        settings.next().unwrap_or_else(|| if row.settings.is_empty() { String::new() } else { "none".into() });
    let steps = match row.state {
        RowState::Unreadable => Default::default(),
        _ => (number::grouped(row.steps), format!("seed {}", row.seed)),
    };
    let archived = if row.note.archived { "archived, " } else { "" };
    [
        (format!("{pin}{}", row.title()), second),
        (lab.to_owned(), preset),
        (first_setting, settings.collect::<Vec<_>>().join(", ")),
        steps,
        (row.loss_label(), result(row)),
        (row.when.clone(), format!("{archived}{}", row.state_label())),
        (size(row.bytes), String::new()),
    ]
}

/// The key of the first headline number that is not a loss, and the number.
fn result_headline(row: &RunRow) -> Option<(&str, &'static Headline)> {
    let mut keys = row.headlines.keys().into_iter();
    let key = keys.find(|key| !split_key(key).0.ends_with("loss") && *key != "perplexity")?;
    Some((key, row.headline_of(key)?))
}

/// The values of that number, then its name, which may be cut.
fn result(row: &RunRow) -> String {
    let found = result_headline(row);
    found.map_or_else(String::new, |(key, headline)| {
        let name = row.terms().with_first_variant(headline.name);
        format!("{} {name}", row.headline_label(key))
    })
}

/// The loss and the result of every variant, one per line.
fn values_by_variant(row: &RunRow) -> String {
    let known = row.losses.iter().filter_map(|l| Some((&l.label, l.last()?.0)));
    let mut lines: Vec<String> =
        known.map(|(label, loss)| format!("{label}: {}", common::LOSS.digits.format(loss))).collect();
    if !lines.is_empty() {
        lines.insert(0, format!("loss ({})", row.terms().unit(&common::LOSS)));
    }
    if let Some((key, headline)) = result_headline(row) {
        lines.push(row.terms().heading(headline, key));
        let values = row.headline(key).into_iter();
        lines.extend(values.map(|(label, value)| format!("{label}: {}", headline.digits.format(value))));
    }
    lines.join("\n")
}

/// For example "1.3 MB".
pub fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b >= 1e9 => format!("{:.1} GB", b * 1e-9),
        b if b >= 1e6 => format!("{:.1} MB", b * 1e-6),
        b => format!("{:.0} kB", (b * 1e-3).ceil()),
    }
}
