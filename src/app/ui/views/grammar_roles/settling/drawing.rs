//! The canvas of a settling: words, traces under them, and each level's pictures, with their positions.

use super::super::role_colour;
use crate::ui::views::painting::*;

/// Sweeps that have a column; of more the last ones do.
const MAX_SWEEPS: usize = 4;
const WORDS_HEIGHT: f32 = 36.0;
const LABEL_WIDTH: f32 = 44.0;
const HEAD_HEIGHT: f32 = 16.0;
const GAP: f32 = 8.0;
/// The least room between two headings.
const HEADING_GAP: f32 = 6.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadingPosition {
    /// The index of the word in the sentence, and how many words have been read with it.
    pub(super) word: usize,
    pub(super) read: usize,
    pub(super) sweep: usize,
}

/// A settled sentence on a canvas, at a position of reading.
pub(super) struct Scene<'a> {
    pub(super) painter: Painter,
    pub(super) theme: &'a Theme,
    pub(super) stage: CanvasLayout,
    pub(super) found: Measured<'a, Settling>,
    pub(super) position: ReadingPosition,
    pub(super) of_treebank: bool,
}

/// The layout of the canvas.
pub(super) struct CanvasLayout {
    rect: Rect,
    /// Width of a word's column.
    column: f32,
    /// Height of a trace.
    strip: f32,
    /// Size of a unit.
    cell: f32,
    /// First sweep that has a column, and how many have.
    sweeps: (usize, usize),
    /// Columns beside each other: those of the sweeps and all others, or in two rows the more of them.
    columns: usize,
    /// Height of a row of columns with its headings.
    row: f32,
    /// Top of each level's pictures in the first row, from the lowest level.
    tops: Vec<f32>,
    /// Width of the widest level's picture.
    picture: f32,
}

impl CanvasLayout {
    pub(super) fn new(rect: Rect, found: &Settling, words: usize) -> Self {
        let shown = found.sweeps.min(MAX_SWEEPS);
        let strip = (0.1 * rect.height()).clamp(16.0, 56.0);
        let above = WORDS_HEIGHT + 2.0 * strip + HEAD_HEIGHT + 2.0 * GAP;
        let [widest, high] =
            found.levels.iter().map(|l| bitmap_cells(l.units)).fold([1, 0], |[w, h], [c, r]| [w.max(c), h + r]);
        let room = vec2(rect.width() - LABEL_WIDTH, rect.height() - above);
        let cell_in = |rows: usize, columns: usize| {
            let across = (room.x - GAP * columns as f32) / (widest * columns) as f32;
            let headings = (HEAD_HEIGHT + GAP) * (rows - 1) as f32;
            let down = (room.y - headings) / rows as f32 - GAP * found.levels.len() as f32;
            across.min(down / high.max(1) as f32).clamp(0.5, 7.0)
        };
        let all = shown + HEADINGS.len();
        let columns = if cell_in(2, all - all / 2) > cell_in(1, all) { all - all / 2 } else { all };
        let cell = cell_in(all.div_ceil(columns), columns);
        let mut top = rect.top() + above;
        // the lowest level is the lowest on the canvas
        let mut tops = vec![0.0; found.levels.len()];
        for (at, level) in tops.iter_mut().zip(&found.levels).rev() {
            *at = top;
            top += bitmap_size(level.units, cell).y + GAP;
        }
        let row = top - tops.last().copied().unwrap_or(top) + HEAD_HEIGHT + GAP;
        Self {
            rect,
            column: (rect.width() - LABEL_WIDTH) / words.max(1) as f32,
            strip,
            cell,
            sweeps: (found.sweeps - shown, shown),
            columns,
            row,
            tops,
            picture: widest as f32 * cell,
        }
    }

    fn word_left(&self, word: usize) -> f32 {
        self.rect.left() + LABEL_WIDTH + self.column * word as f32
    }

    pub(super) fn word_at(&self, at: Pos2, words: usize) -> Option<usize> {
        let bottom = self.rect.top() + WORDS_HEIGHT + 2.0 * self.strip + GAP;
        let place = ((at.x - self.rect.left() - LABEL_WIDTH) / self.column).floor();
        (at.y < bottom && place >= 0.0 && (place as usize) < words).then_some(place as usize)
    }

    /// Left of a column of pictures: sweeps first, then error, precision and feedback.
    fn column_left(&self, column: usize) -> f32 {
        self.rect.left() + LABEL_WIDTH + (self.picture + GAP) * (column % self.columns) as f32
    }

    /// How far a column is below the first row.
    fn row_offset(&self, column: usize) -> f32 {
        self.row * (column / self.columns) as f32
    }

    /// The number of rows of columns.
    fn rows(&self) -> usize {
        (self.sweeps.1 + HEADINGS.len()).div_ceil(self.columns)
    }

    /// The top of a column's pictures.
    fn column_top(&self, column: usize) -> f32 {
        self.tops.iter().copied().fold(f32::INFINITY, f32::min) + self.row_offset(column)
    }

    fn picture_corner(&self, level: usize, column: usize) -> Pos2 {
        pos2(self.column_left(column), self.tops[level] + self.row_offset(column))
    }
}

/// A value as a share of the largest, 0 to 1; what is not a number is as strong as can be, so that it is seen.
fn share(value: f32, max: f32) -> f32 {
    let share = value / max;
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 }
}

/// The columns after the sweeps, each with its explanation.
const HEADINGS: [(&str, &str); 3] = [
    ("error", "Error: what the level above had predicted wrong, once the word is settled."),
    ("precision", "Precision: how much the error of each unit counts, from 0.1 (dark) to 10 (bright)."),
    ("feedback", "Feedback weights W_fb, by which a level predicts the one below: root mean squares of blocks."),
];

/// The heading of a column of pictures.
struct Heading {
    words: String,
    about: Option<&'static str>,
    left: f32,
    right: f32,
    bottom: f32,
}

impl Scene<'_> {
    /// Draws everything, and explains in a tooltip what is under the pointer.
    pub(super) fn show(&self, response: Response) -> Response {
        self.draw_words();
        self.draw_traces();
        (0..self.found.value.levels.len()).rev().for_each(|place| self.draw_level(place));
        let headings = self.headings();
        for Heading { words, left, bottom, .. } in &headings {
            self.text(pos2(*left, bottom - 3.0), Align2::LEFT_BOTTOM, words, self.theme.secondary);
        }
        let Some(words) = response.hover_pos().and_then(|at| self.explanation(at, &headings)) else { return response };
        response.on_hover_text_at_pointer(words)
    }

    fn text(&self, at: Pos2, align: Align2, words: &str, colour: Color32) {
        self.painter.text(at, align, words, theme::small(), colour);
    }

    /// Draws each word above its column, and its role below it if all roles have room; otherwise they alternate between two
    /// rows.
    fn draw_words(&self) {
        let Self { theme, stage, found, position, .. } = self;
        let (tokens, roles) = (&found.sample.tokens, &found.value.roles);
        let width = |text: &str| note_width(&self.painter, text) + 4.0;
        let fit = |all: &[String]| all.iter().all(|text| width(text) <= stage.column);
        let (in_one_row, with_roles) = (fit(tokens), fit(roles));
        for (i, word) in tokens.iter().enumerate() {
            let (left, top) = (stage.word_left(i), stage.rect.top());
            if i == position.word {
                let ground = Rect::from_min_size(pos2(left, top), vec2(stage.column, WORDS_HEIGHT + 2.0 * stage.strip));
                self.painter.rect_filled(ground, 2.0, theme.accent.gamma_multiply(0.16));
            }
            let role = roles.get(i).map_or("", String::as_str);
            let colour = if role.is_empty() { theme.text } else { role_colour(role, self.of_treebank, theme) };
            let y = top + if in_one_row || i.is_multiple_of(2) { 8.0 } else { 25.0 };
            // a word that still has no room is named under the pointer, as is the position of reading
            if in_one_row || width(word) <= 2.0 * stage.column || i == position.word {
                let half = width(word) / 2.0;
                let min = stage.rect.left() + half;
                let x = (left + stage.column / 2.0).clamp(min, (stage.rect.right() - half).max(min));
                self.text(pos2(x, y), Align2::CENTER_CENTER, word, colour);
            }
            if in_one_row && with_roles {
                self.text(pos2(left + stage.column / 2.0, top + 25.0), Align2::CENTER_CENTER, role, theme.secondary);
            }
        }
    }

    /// The traces of the lowest level, one column per word that has been read: units from top to bottom.
    fn draw_traces(&self) {
        let Self { theme, stage, position, .. } = self;
        let (found, words) = (self.found.value, self.found.sample.tokens.len());
        let Some(level) = found.levels.first() else { return };
        for (strip, (trace, name)) in [(&level.fast, "fast"), (&level.slow, "slow")].into_iter().enumerate() {
            let top = stage.rect.top() + WORDS_HEIGHT + stage.strip * strip as f32;
            let colour = theme.trace_colour(2 * strip);
            self.text(pos2(stage.rect.left(), top + stage.strip / 2.0), Align2::LEFT_CENTER, name, colour);
            let max = trace.data().iter().copied().fold(f32::MIN_POSITIVE, f32::max);
            let rows = (stage.strip - 4.0).floor().max(1.0) as usize;
            let is_read = |i: usize| if found.from_right { words - 1 - i < position.read } else { i < position.read };
            for i in (0..words).filter(|i| is_read(*i)) {
                let Some(values) = trace.row(i) else { continue };
                let each = values.len().div_ceil(rows).max(1);
                // units that share a line are drawn by the strongest of them
                let lines: Vec<f32> = values.chunks(each).map(|c| c.iter().copied().fold(0.0, f32::max)).collect();
                let height = (stage.strip - 4.0) / lines.len() as f32;
                for (k, value) in lines.iter().enumerate().filter(|(_, v)| **v > 0.0) {
                    let at = pos2(stage.word_left(i) + 2.0, top + height * k as f32);
                    let line = Rect::from_min_size(at, vec2(stage.column - 4.0, height));
                    self.painter.rect_filled(line, 0.0, colour.gamma_multiply(share(*value, max).sqrt()));
                }
            }
        }
    }

    /// One level: its states after the sweeps so far, error, precision and feedback.
    fn draw_level(&self, place: usize) {
        let Self { painter, theme, stage, position, .. } = self;
        let (level, sweeps) = (&self.found.value.levels[place], self.found.value.sweeps);
        for row in 0..stage.rows() {
            let top = stage.picture_corner(place, row * stage.columns).y;
            let middle = top + bitmap_size(level.units, stage.cell).y / 2.0;
            self.text(pos2(stage.rect.left(), middle), Align2::LEFT_CENTER, &format!("L{place}"), theme.text);
        }
        let columns = bitmap_cells(level.units)[0];
        let draw = |column: usize, values: &[f32], colour: &dyn Fn(f32) -> Option<Color32>| {
            let corner = stage.picture_corner(place, column);
            draw_cells(painter, corner, stage.cell, (columns, values), theme.raised, colour);
        };
        let (first, shown) = stage.sweeps;
        for column in 0..shown {
            let sweep = first + column;
            let row = if sweep <= position.sweep { level.states.row(position.word * sweeps + sweep) } else { None };
            let blank = vec![0.0; level.units];
            let values = row.unwrap_or(&blank);
            let max = values.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
            let colour = |v: f32| (v > 0.0).then(|| theme.accent.gamma_multiply(0.35 + 0.65 * share(v, max)));
            draw(column, values, &colour);
            if sweep == position.sweep {
                let size = bitmap_size(level.units, stage.cell);
                let frame = Rect::from_min_size(stage.picture_corner(place, column), size).expand(2.0);
                painter.rect_stroke(frame, 1.0, Stroke::new(1.0, theme.accent), StrokeKind::Inside);
            }
        }
        let is_settled = position.sweep + 1 == sweeps;
        if let Some(errors) = level.errors.row(position.word).filter(|_| is_settled) {
            let max = errors.iter().fold(f32::MIN_POSITIVE, |m, e| m.max(e.abs()));
            let map = ColourMap::Diverging { dark: theme.dark };
            let colour = |e: f32| (e != 0.0).then(|| map.colour(0.5 + 0.5 * e / max));
            draw(shown, errors, &colour);
        }
        if level.feedback.rows() == 0 {
            return;
        }
        // the colours cover precisions from 0.1 to 10 on a logarithmic scale
        let precision = |v: f32| Some(ColourMap::Viridis.colour(0.5 + 0.5 * v.max(1e-6).log10()));
        draw(shown + 1, level.precision.data(), &precision);
        self.draw_feedback(place, level);
    }

    /// The feedback weights of a level in blocks, scaled to the level's height.
    fn draw_feedback(&self, place: usize, level: &SettlingLevel) {
        let Self { painter, stage, .. } = self;
        let (rows, cols) = (level.feedback.rows(), level.feedback.cols());
        let high = bitmap_size(level.units, stage.cell).y;
        let side = (high / rows.max(1) as f32).min(stage.picture / cols.max(1) as f32);
        let max = level.feedback.data().iter().copied().fold(0f32, f32::max);
        let corner = stage.picture_corner(place, stage.sweeps.1 + 2);
        let colour = |w: f32| (max > 0.0).then(|| ColourMap::Magma.colour(w / max));
        draw_cells(painter, corner, side, (cols, level.feedback.data()), self.theme.raised, colour);
    }

    /// The headings, from the last one to the first: one that is wider than its picture begins farther left, so that it
    /// covers no other of its row.
    fn headings(&self) -> Vec<Heading> {
        let stage = &self.stage;
        let (first, shown) = stage.sweeps;
        let sweeps = (first + 1..=first + shown).map(|sweep| {
            let words = format!("sweep {sweep}");
            // of a wide name its number remains
            (if note_width(&self.painter, &words) > stage.picture { sweep.to_string() } else { words }, None)
        });
        let all: Vec<(String, Option<&'static str>)> =
            sweeps.chain(HEADINGS.map(|(name, about)| (name.to_owned(), Some(about)))).collect();
        let mut end = stage.rect.right();
        let placed = all.into_iter().enumerate().rev().map(|(column, (words, about))| {
            if (column + 1).is_multiple_of(stage.columns) {
                end = stage.rect.right();
            }
            let wide = note_width(&self.painter, &words);
            let left = stage.column_left(column).min(end - wide);
            end = left - HEADING_GAP;
            Heading { words, about, left, right: left + wide, bottom: stage.column_top(column) }
        });
        placed.collect()
    }

    /// Explains the picture at a place.
    fn explanation(&self, at: Pos2, headings: &[Heading]) -> Option<String> {
        let Self { stage, found, position, .. } = self;
        let tokens = &found.sample.tokens;
        let is_under = |Heading { left, right, bottom, .. }: &&Heading| {
            (*left..*right).contains(&at.x) && (bottom - HEAD_HEIGHT..*bottom).contains(&at.y)
        };
        if let Some(words) = headings.iter().find(is_under).and_then(|heading| heading.about) {
            return Some(words.to_owned());
        }
        if let Some(word) = stage.word_at(at, tokens.len()) {
            let role = found.value.roles.get(word).map_or(String::new(), |r| format!(": {r}"));
            return Some(format!("\u{201c}{}\u{201d}{role}", tokens[word]));
        }
        let mut levels = found.value.levels.iter().zip(&stage.tops).enumerate();
        let is_at = |top: f32, units| (top..top + bitmap_size(units, stage.cell).y).contains(&at.y);
        let (place, (level, _)) = levels.find(|(_, (level, top))| {
            (0..stage.rows()).any(|row| is_at(**top + stage.row_offset(row * stage.columns), level.units))
        })?;
        let state = level.states.row(position.word * found.value.sweeps + position.sweep).unwrap_or_default();
        let on = state.iter().filter(|v| **v > 0.0).count();
        let error = level.errors.row(position.word).unwrap_or_default().iter().map(|e| e * e).sum::<f32>();
        Some(format!(
            "Level {place}: {} units, {on} on. Squared error of the prediction from above, once settled: {error:.3}.",
            level.units
        ))
    }
}

/// Columns and rows of the picture of a level's units, a cell each: about square, and wider than high.
fn bitmap_cells(units: usize) -> [usize; 2] {
    let mut columns = 1;
    while columns * columns < units {
        columns *= 2;
    }
    [columns.max(1), units.div_ceil(columns.max(1)).max(1)]
}

/// The size of the picture of a number of units at this size of a cell, points.
fn bitmap_size(units: usize, cell: f32) -> Vec2 {
    let [columns, rows] = bitmap_cells(units);
    vec2(columns as f32, rows as f32) * cell
}

/// Draws values as cells from `corner` on, in rows of this many columns; those without a colour show the ground.
fn draw_cells(
    painter: &Painter,
    corner: Pos2,
    cell: f32,
    (columns, values): (usize, &[f32]),
    ground: Color32,
    colour: impl Fn(f32) -> Option<Color32>,
) {
    let columns = columns.max(1);
    let size = vec2(columns as f32, values.len().div_ceil(columns).max(1) as f32) * cell;
    painter.rect_filled(Rect::from_min_size(corner, size), 0.0, ground);
    let mut mesh = Mesh::default();
    for (i, value) in values.iter().enumerate() {
        if let Some(colour) = colour(*value) {
            let at = vec2((i % columns) as f32, (i / columns) as f32) * cell;
            mesh.add_colored_rect(Rect::from_min_size(corner + at, vec2(cell, cell)), colour);
        }
    }
    painter.add(Shape::mesh(mesh));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_about_square_and_hold_all_units() {
        for (units, wanted) in
            [(512, [32, 16]), (256, [16, 16]), (128, [16, 8]), (64, [8, 8]), (1, [1, 1]), (24, [8, 3])]
        {
            assert_eq!(bitmap_cells(units), wanted, "{units}");
        }
        assert!((1..600).all(|n| bitmap_cells(n)[0] * bitmap_cells(n)[1] >= n));
    }
}
