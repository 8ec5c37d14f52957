//! The large maps beside one another, the values under the pointer, and the scales under them.

use super::{
    Cell, SelectedHead, SideBySide,
    places::{GAP, map_frame},
    source::Column,
};
use crate::ui::{
    plot::map::{MapPointed, NotFiniteLegend, Title},
    views::{
        attention::colours::{around_zero, rounded_up},
        prelude::*,
    },
};

pub struct Maps<'c, 'a> {
    pub columns: &'c [Column<'a>],
    pub chosen: &'c SelectedHead,
    pub colours: Colours,
    /// The variants whose difference is shown, first minus second, and its label.
    pub difference: Option<(usize, usize, String)>,
}

/// One map of the row.
struct Slot<'c> {
    /// The accessible name of the canvas.
    name: String,
    title: String,
    colour: Color32,
    held: Option<&'c MapCells>,
    colours: Colours,
    /// True if the map shows a difference, whose numbers are written with their sign.
    is_difference: bool,
}

impl Maps<'_, '_> {
    /// The layer of the first map, by which queries and keys are named.
    fn first_layer(&self) -> Option<(&Column<'_>, &AttentionLayer)> {
        self.columns.iter().find_map(|c| Some((c, c.layer(&self.chosen.layer)?)))
    }

    fn position(&self, at: usize) -> String {
        let Some((column, layer)) = self.first_layer() else { return at.to_string() };
        position_label(&column.sample.tokens, layer.tokens_per_position, at)
    }

    fn cell(&self, cell: Cell) -> String {
        format!("{} attends to {}", self.position(cell.row), self.position(cell.col))
    }

    /// True if each position of the map is a single token.
    fn is_fine(&self) -> bool {
        self.first_layer().is_some_and(|(_, layer)| layer.tokens_per_position == 1)
    }
}

fn range_label(colours: Colours) -> String {
    match colours.range {
        [from, to] if from == -to => format!("\u{b1}{to}"),
        [from, to] => format!("{from} to {to}"),
    }
}

/// The value of a map at a cell; `is_rounded` in a recorded example.
fn weight_label(slot: &Slot<'_>, cell: Option<Cell>, is_rounded: bool) -> String {
    let Some((held, cell)) = slot.held.zip(cell) else { return String::new() };
    if held.cells().rows != cell.positions {
        return "other text".to_owned();
    }
    let (value, label) = (held.value(cell.row, cell.col), held.label(cell.row, cell.col));
    match slot.is_difference {
        true if value.is_finite() && value > 0.0 => format!("+{label}"),
        false if is_rounded => held.rounded_label(cell.row, cell.col),
        _ => label,
    }
}

impl SideBySide {
    /// The cell whose weights are printed: the one under the pointer, else the chosen one, in every view's query.
    fn cell(&self, cx: &ViewCx<'_>, sheet: &Maps<'_, '_>) -> Option<Cell> {
        let pinned = self.pinned.map(|cell| match cx.selection.token {
            Some(row) if sheet.is_fine() && row < cell.positions => Cell { row, ..cell },
            _ => cell,
        });
        let positions = sheet.first_layer().map(|(_, layer)| layer.positions());
        self.hovered.or(pinned).filter(|cell| Some(cell.positions) == positions)
    }

    fn slots<'c>(&'c self, cx: &ViewCx<'_>, sheet: &Maps<'c, '_>) -> Vec<Slot<'c>> {
        let all = groups(cx.mirror);
        let newest = sheet.columns.iter().map(|c| c.sample.step).max();
        let slot = |column: &Column<'_>| {
            let label = all.iter().find(|g| g.members.contains(&column.variant)).map_or("", |g| g.label.as_str());
            let step = column.sample.step;
            let is_alike = sheet.columns.iter().all(|c| c.sample.tokens == sheet.columns[0].sample.tokens);
            let title = match column.sample.about.as_str() {
                // the answers arrive one by one, so that some may still be about the previous prompt
                about if !is_alike => format!("{label} ({about})"),
                _ if Some(step) != newest => format!("{label} (step {step})"),
                _ => label.to_owned(),
            };
            let held = column.layer(&sheet.chosen.layer).and_then(|l| self.cache.get(column, l, sheet.chosen.head));
            Slot {
                name: format!("attention of {label}"),
                title,
                colour: variant_colour(cx.mirror, column.variant, cx.theme),
                held,
                colours: sheet.colours,
                is_difference: false,
            }
        };
        let mut slots: Vec<Slot<'c>> = sheet.columns.iter().map(slot).collect();
        if let Some((.., words)) = &sheet.difference {
            let made = self.cache.difference();
            slots.push(Slot {
                name: "difference of attention".to_owned(),
                title: words.clone(),
                colour: cx.theme.text,
                held: made.map(|(held, _)| held),
                colours: around_zero(made.map_or(1.0, |(_, max)| rounded_up(max)), cx.theme),
                is_difference: true,
            });
        }
        slots
    }

    pub(super) fn maps_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, sheet: &Maps<'_, '_>, places: &[Rect]) {
        let (cell, is_fine) = (self.cell(cx, sheet), sheet.is_fine());
        let mut window = self.window;
        let (slots, is_rounded) = (self.slots(cx, sheet), cx.mirror.is_example);
        let describe = |row: usize, col: usize, positions: usize| {
            let cell = Cell { positions, row, col };
            let line = |s: &Slot<'_>| format!("{}: {}", s.title, weight_label(s, Some(cell), is_rounded));
            let lines: Vec<String> = slots.iter().map(line).collect();
            format!("{}\n{}", sheet.cell(cell), lines.join("\n"))
        };
        let (mut hovered, mut clicked) = (None, None);
        for ((i, slot), place) in slots.iter().enumerate().zip(places) {
            let mut ui = ui.new_child(UiBuilder::new().id_salt(("slot", i)).max_rect(*place));
            let Some(held) = slot.held else {
                nothing_ui(&ui, slot, sheet.chosen, cx.theme);
                continue;
            };
            let positions = held.cells().rows;
            let value = weight_label(slot, cell, is_rounded);
            let short = if slot.is_difference { "difference".to_owned() } else { String::new() };
            let title = Title { text: slot.title.clone(), short, colour: slot.colour, value };
            let words = |row, col| describe(row, col, positions);
            let map = MapUi {
                marked: cx.selection.token.filter(|_| is_fine && cell.is_none()),
                cell: cell.filter(|c| c.positions == positions).map(|c| (c.row, c.col)),
                frame: MapFrame { title: Some(title), ..map_frame(place.width()) },
                ..MapUi::attention(&slot.name, held, slot.colours, &words)
            };
            let MapPointed { hovered: over, clicked: on } = map.show(&mut ui, place.size(), cx.theme, &mut window);
            let cell = |(row, col)| Cell { positions, row, col };
            (hovered, clicked) = (hovered.or(over.map(cell)), clicked.or(on.map(cell)));
        }
        self.window = window;
        if self.hovered != hovered {
            // the other maps show it in the next frame
            self.hovered = hovered;
            ui.ctx().request_repaint();
        }
        if let Some(cell) = clicked {
            self.pinned = Some(cell);
            if is_fine {
                cx.selection.token = Some(cell.row);
            }
        }
    }

    /// Describes the cell under the pointer, and draws the colour scales and what hatching means.
    pub(super) fn footer_ui(&self, ui: &Ui, cx: &ViewCx<'_>, sheet: &Maps<'_, '_>) {
        let (painter, rect, theme) = (ui.painter(), ui.max_rect(), cx.theme);
        let words = match self.cell(cx, sheet) {
            _ if self.prompt.refusal(cx).is_some() => self.prompt.refusal(cx).unwrap_or_default().to_owned(),
            Some(cell) => sheet.cell(cell),
            None if self.prompt.is_waiting(cx) => "Asking the models.".to_owned(),
            None if !sheet.is_fine() => "Rows and columns are means over blocks of tokens.".to_owned(),
            None => "Rows attend to columns. Point at a cell for its weight in every map.".to_owned(),
        };
        let said = |at: Pos2, words: String, colour: Color32, max: f32| {
            paint_truncated(painter, at, &words, theme::small(), colour, max);
        };
        let legend = self.cache.has_not_finite().then(|| NotFiniteLegend::new(painter, theme));
        let right = rect.right() - legend.as_ref().map_or(0.0, |legend| legend.width() + GAP);
        said(rect.min + vec2(0.0, 4.0), words, theme.text, right - rect.left());
        if let Some(legend) = legend {
            legend.paint(painter, pos2(right + GAP, rect.top() + 4.0), theme);
        }
        let half = ((rect.width() - GAP) / 2.0).clamp(40.0, 320.0);
        let bar = |left: f32, words: &str, colours: Colours| {
            // the numbers at the ends of the bar say the range too
            let with_range = format!("{words}, {}", range_label(colours));
            let is_whole = !truncated(painter, &with_range, theme::small(), theme.secondary, half).elided;
            let words = if is_whole { with_range } else { words.to_owned() };
            said(pos2(left, rect.top() + 22.0), words, theme.secondary, half);
            // the numbers at both ends extend by half of their widths
            let place = Rect::from_min_size(pos2(left + 1.0, rect.top() + 38.0), vec2(half - 20.0, 9.0));
            colour_bar(painter, place, colours, theme);
        };
        bar(rect.left(), "weight", sheet.colours);
        let difference = sheet.difference.as_ref().zip(self.cache.difference());
        if let Some(((.., words), (_, max))) = difference {
            let colours = around_zero(rounded_up(max), theme);
            bar(rect.left() + half + GAP, words, colours);
        }
    }
}

/// Explains why a variant has no map, in the map's place.
fn nothing_ui(ui: &Ui, slot: &Slot<'_>, chosen: &SelectedHead, theme: &Theme) {
    let rect = ui.max_rect();
    let words = match slot.is_difference {
        true => format!("{}: maps of other sizes", slot.title),
        false => format!("{}: no {} head {}", slot.title, chosen.layer, chosen.head),
    };
    let galley = ui.painter().layout(words, theme::small(), theme.secondary, rect.width());
    ui.painter().galley(rect.min, galley, theme.secondary);
}
