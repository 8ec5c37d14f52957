//! The next words whose probability differs most between two runs that read the same text. A run records its likeliest words
//! alone, so of a word that only one has, the difference is known between bounds.

use eframe::egui::{Align2, FontId, Rect, ScrollArea, Sense, Stroke, Ui, WidgetInfo, accesskit::Role, pos2, vec2};

use super::{DifferenceSides, Pair};
use crate::{
    analysis::distinct::distinct,
    telemetry::measurements::{LikelyToken, NextTokens},
    ui::{
        table::{Table, optional_field},
        theme::Theme,
        widgets::{number::signed, truncated::truncated},
    },
};

const ROW_HEIGHT: f32 = 20.0;
/// Height of a line of the header, which has one line per run, points.
const HEAD_LINE: f32 = 17.0;
/// Widths of a probability with its rank, and of a difference with its bounds, points.
const PROBABILITY_WIDTH: f32 = 88.0;
const BOUNDS_WIDTH: f32 = 132.0;
/// The share of the remaining width for the tokens; the bars have the rest.
const TOKENS_SHARE: f32 = 0.4;
/// The minimum width of all columns, points.
const MIN_WIDTH: f32 = 2.0 * PROBABILITY_WIDTH + BOUNDS_WIDTH + 160.0;

/// A word in both lists, or in one.
#[derive(Debug, Clone, PartialEq)]
pub struct WordDifference {
    pub token: String,
    /// Rank from 1 and probability in either list.
    pub at: [Option<(usize, f64)>; 2],
    /// The bounds of the second probability minus the first: equal if both lists have the word.
    pub bounds: [f64; 2],
}

impl WordDifference {
    /// The smallest difference that the bounds allow.
    fn min_difference(&self) -> f64 {
        match self.bounds {
            [low, _] if low > 0.0 => low,
            [_, high] if high < 0.0 => high,
            _ => 0.0,
        }
    }

    fn label(&self) -> String {
        match self.bounds {
            [low, high] if low == high => signed(low, 4),
            [low, high] => format!("{} .. {}", signed(low, 3), signed(high, 3)),
        }
    }
}

#[derive(Debug, Clone)]
pub struct WordsDifference {
    about: String,
    prompt: String,
    /// The differences, the largest first.
    words: Vec<WordDifference>,
}

impl WordsDifference {
    pub(super) fn new(pair: Pair<'_, NextTokens>) -> Result<Self, String> {
        pair.check_text("next words")?;
        let words = differences(&pair.values[0].likely, &pair.values[1].likely);
        Ok(Self { about: pair.steps_label(), prompt: pair.values[0].prompt.clone(), words })
    }

    pub(super) fn subtitle(&self) -> String {
        let end: String = {
            let all: Vec<char> = self.prompt.replace('\n', "\u{ac}").chars().collect();
            all[all.len().saturating_sub(24)..].iter().collect()
        };
        format!("{} \u{b7} probability of what comes after \u{201c}\u{2026}{end}\u{201d}", self.about)
    }

    /// The height of all rows, points.
    pub(super) fn height(&self) -> f32 {
        2.0 * HEAD_LINE + ROW_HEIGHT * self.words.len() as f32
    }

    pub(super) fn ui(&self, ui: &mut Ui, sides: DifferenceSides<'_>, theme: &Theme) {
        ScrollArea::both().auto_shrink([false, false]).show(ui, |ui| {
            let size = vec2(ui.available_width().max(MIN_WIDTH), self.height());
            let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
            self.paint(ui, rect, sides, theme);
            let said = || {
                let all: Vec<String> = self.words.iter().map(|w| format!("{} {}", w.token, w.label())).collect();
                WidgetInfo::labeled(Role::Canvas, true, format!("difference of next words: {}", all.join(", ")))
            };
            response.widget_info(said);
        });
    }

    /// A row a word: both probabilities with their ranks, and the difference as a bar from the middle. The head names the
    /// first run on its upper line and the second on its lower one, so that both have room.
    fn paint(&self, ui: &Ui, rect: Rect, sides: DifferenceSides<'_>, theme: &Theme) {
        let painter = ui.painter_at(rect);
        let (font, mono) = (FontId::proportional(12.0), FontId::monospace(12.0));
        let name = rect.left() + TOKENS_SHARE * (rect.width() - 2.0 * PROBABILITY_WIDTH - BOUNDS_WIDTH);
        let (first, second) = (name + PROBABILITY_WIDTH, name + 2.0 * PROBABILITY_WIDTH);
        let number = rect.right() - BOUNDS_WIDTH;
        let (middle, half) = ((second + number) / 2.0, (number - second) / 2.0 - 8.0);
        let max = self.words.iter().flat_map(|w| w.bounds).fold(1e-6_f64, |max, b| max.max(b.abs()));
        let DifferenceSides { names, colours } = sides;
        for (i, x) in [first, second].into_iter().enumerate() {
            let cut = truncated(&painter, names[i], font.clone(), colours[i], x - rect.left());
            painter.galley(pos2(x - cut.size().x, rect.top() + HEAD_LINE * i as f32), cut, colours[i]);
        }
        let across = |v: f64| middle + (v / max) as f32 * half;
        for (i, word) in self.words.iter().enumerate() {
            let y = rect.top() + 2.0 * HEAD_LINE + ROW_HEIGHT * (i as f32 + 0.5);
            let clip = Rect::from_x_y_ranges(rect.left()..=name - 4.0, y - ROW_HEIGHT..=y + ROW_HEIGHT);
            let inside = painter.with_clip_rect(clip);
            inside.text(pos2(rect.left(), y), Align2::LEFT_CENTER, &word.token, font.clone(), theme.text);
            for (at, x) in word.at.iter().zip([first, second]) {
                let words = at.map_or("\u{2013}".to_owned(), |(rank, p)| format!("{p:.4} #{rank}"));
                painter.text(pos2(x, y), Align2::RIGHT_CENTER, words, mono.clone(), theme.text);
            }
            painter.vline(middle, y - ROW_HEIGHT / 2.0..=y + ROW_HEIGHT / 2.0, Stroke::new(1.0, theme.line));
            let colour = if word.min_difference() < 0.0 { colours[0] } else { colours[1] };
            let bar = |from: f64, to: f64| Rect::from_x_y_ranges(across(from)..=across(to), y - 5.0..=y + 5.0);
            let [low, high] = word.bounds;
            painter.rect_filled(bar(0f64.min(word.min_difference()), 0f64.max(word.min_difference())), 1.0, colour);
            if low < high {
                // the thin line spans the bounds of the value; the bar is the part that is certain
                painter.hline(across(low)..=across(high), y, Stroke::new(2.0, theme.faint(theme.text)));
            }
            painter.text(pos2(rect.right(), y), Align2::RIGHT_CENTER, word.label(), mono.clone(), theme.text);
        }
    }

    pub(super) fn csv(&self, names: [&str; 2]) -> String {
        let headings = |what: &str| names.map(|name| format!("{what} in {name}"));
        let ([rank_a, rank_b], [p_a, p_b]) = (headings("rank"), headings("probability"));
        let head = ["token", &rank_a, &p_a, &rank_b, &p_b, "difference at least", "difference at most"];
        let mut table = Table::new(head);
        for word in &self.words {
            let at = |i: usize| {
                let (rank, p) = word.at[i].unzip();
                [optional_field(rank), optional_field(p)]
            };
            let numbers = at(0).into_iter().chain(at(1)).chain(word.bounds.map(|b| b.to_string()));
            table.row(std::iter::once(word.token.clone()).chain(numbers));
        }
        table.finish()
    }
}

/// The differences in probability of the tokens in either list, in descending order of the difference that is certain.
fn differences(a: &[LikelyToken], b: &[LikelyToken]) -> Vec<WordDifference> {
    let place = |list: &[LikelyToken], token: &str| {
        let at = list.iter().position(|l| l.token == token)?;
        Some((at + 1, list[at].probability))
    };
    // A token missing from a list is no likelier than its last token, nor than the probability that it leaves over.
    let beyond = |list: &[LikelyToken]| {
        let min = list.iter().map(|l| l.probability).fold(1.0, f64::min);
        let left_over = 1.0 - list.iter().map(|l| l.probability).sum::<f64>();
        min.min(left_over.max(0.0))
    };
    let max = [beyond(a), beyond(b)];
    let difference = |token: &String| {
        let at = [place(a, token), place(b, token)];
        let range = |i: usize| at[i].map_or([0.0, max[i]], |(_, p)| [p, p]);
        let ([a_low, a_high], [b_low, b_high]) = (range(0), range(1));
        WordDifference { token: token.clone(), at, bounds: [b_low - a_high, b_high - a_low] }
    };
    let mut words: Vec<_> = distinct(a.iter().chain(b).map(|l| &l.token)).into_iter().map(difference).collect();
    words.sort_by(|x, y| y.min_difference().abs().total_cmp(&x.min_difference().abs()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[(&str, f64)]) -> Vec<LikelyToken> {
        words.iter().map(|(token, p)| LikelyToken { token: (*token).to_owned(), probability: *p }).collect()
    }

    #[test]
    fn a_word_of_one_list_is_known_between_bounds() {
        let a = list(&[("the", 0.5), ("a", 0.25)]);
        let b = list(&[("a", 0.75), ("an", 0.125)]);
        let found = differences(&a, &b);
        let words: Vec<&str> = found.iter().map(|w| w.token.as_str()).collect();
        assert_eq!(words, ["a", "the", "an"]);
        assert_eq!((found[0].at, found[0].bounds), ([Some((2, 0.25)), Some((1, 0.75))], [0.5, 0.5]));
        // not among b's two, which leave 0.125 over
        assert_eq!(found[1].bounds, [-0.5, 0.125 - 0.5]);
        // bounded by a's least probability, 0.25: it may be likelier there
        assert_eq!((found[2].bounds, found[2].min_difference()), ([0.125 - 0.25, 0.125], 0.0));
    }
}
