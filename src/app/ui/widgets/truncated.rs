//! Text on one line: its width, and the text shortened by an ellipsis where it is too wide or too long.

use std::sync::Arc;

use eframe::egui::{
    Color32, FontId, Galley, Painter, Pos2,
    text::{LayoutJob, TextWrapping},
};

/// Narrower than this nothing can be read, points.
const MIN_WIDTH: f32 = 8.0;

/// The width of a text in one line, points.
pub fn text_width(painter: &Painter, words: &str, font: FontId) -> f32 {
    painter.layout_no_wrap(words.to_owned(), font, Color32::PLACEHOLDER).size().x
}

/// Lays out one line of text, truncated at `width` points.
pub fn truncated(painter: &Painter, text: &str, font: FontId, colour: Color32, width: f32) -> Arc<Galley> {
    let mut job = LayoutJob::simple_singleline(text.to_owned(), font, colour);
    job.wrap = TextWrapping::truncate_at_width(width.max(MIN_WIDTH));
    painter.layout_job(job)
}

/// Paints one line of text that [`truncated`] lays out; `at` is its upper left corner.
pub fn paint_truncated(painter: &Painter, at: Pos2, text: &str, font: FontId, colour: Color32, width: f32) {
    painter.galley(at, truncated(painter, text, font, colour, width), colour);
}

/// The text, without its middle where it has more than `max` characters: names of runs differ at their ends.
pub fn without_middle(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let end = max / 3;
    text.chars().take(max - end - 1).chain(['…']).chain(text.chars().skip(count - end)).collect()
}

/// The length of the beginning, in bytes and up to one of the separators, that each of these names shares with the one
/// most like it.
pub fn shared_beginnings(names: &[&str], separators: &[u8]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|i| names[*i]);
    let mut shared = vec![0; names.len()];
    // in alphabetical order the name most like another one is beside it
    for pair in order.windows(2) {
        let [a, b] = [names[pair[0]], names[pair[1]]].map(str::as_bytes);
        let alike = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let length = a[..alike].iter().rposition(|byte| separators.contains(byte)).map_or(0, |i| i + 1);
        pair.iter().for_each(|i| shared[*i] = length.max(shared[*i]));
    }
    shared
}

/// The text, shortened where it is wider than `width` points: in its first `shared` bytes, which others have too, and where these
/// are not enough in the middle of the rest.
pub fn without_shared(painter: &Painter, text: &str, shared: usize, font: &FontId, width: f32) -> String {
    shortened(text, shared, |words| text_width(painter, words, font.clone()) <= width.max(MIN_WIDTH))
}

fn shortened(text: &str, shared: usize, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let (beginning, rest) = text.split_at_checked(shared).unwrap_or(("", text));
    let (count, of_rest) = (text.chars().count(), rest.chars().count());
    let shown = |max: usize| match (max.checked_sub(of_rest + 1), beginning.is_empty()) {
        (_, true) => without_middle(text, max),
        (Some(kept), false) => format!("{}…{rest}", beginning.chars().take(kept).collect::<String>()),
        (None, false) => format!("…{}", without_middle(rest, max - 1)),
    };
    let counts: Vec<usize> = (2..count).collect();
    let fitting = counts.partition_point(|max| fits(&shown(*max)));
    shown(fitting.max(1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_loses_its_middle() {
        assert_eq!(without_middle("Undo: preset Wide", 24), "Undo: preset Wide");
        let shown = without_middle("Undo: left the replay of 2026-11-20-142233-fast_slow-seed-7", 44);
        assert_eq!((shown.as_str(), shown.chars().count()), ("Undo: left the replay of 2026…st_slow-seed-7", 44));
    }

    #[test]
    fn what_distinguishes_a_name_stays() {
        let names = [
            "rates/20260131-142501-fast_slow-needed-s1",
            "rates/20260131-142502-fast_slow-needed-s1",
            "rates/20260131-142502-fast_slow-needed-s1-2",
            "Wide gate",
        ];
        let shared = shared_beginnings(&names, b" /-");
        assert_eq!(shared, [15, 39, 39, 0]);
        let shown = |i: usize, max: usize| shortened(names[i], shared[i], |words| words.chars().count() <= max);
        assert_eq!(shown(0, 41), names[0], "what fits is whole");
        assert_eq!(shown(0, 30), "rat…142501-fast_slow-needed-s1");
        assert_eq!(shown(0, 20), "…142501-fast_…ded-s1");
        assert_eq!(shown(2, 30), "rates/20260131-142502-fas…s1-2");
        assert_eq!(shown(3, 6), "Wid…te");
        assert_eq!(shortened("é", 1, |_| false), "é", "nothing is split within a letter");
    }
}
