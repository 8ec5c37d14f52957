//! Widths of the columns of a table whose text is wrapped: none is narrower than its longest word.

use eframe::egui::Galley;

/// Width of the longest word of a text, points.
pub fn longest_word(text: &Galley) -> f32 {
    let words = text.rows.iter().flat_map(|row| row.row.glyphs.split(|glyph| glyph.chr.is_whitespace()));
    words.filter_map(|word| Some(word.last()?.max_x() - word.first()?.pos.x)).fold(0.0, f32::max).ceil()
}

/// Columns that share this room in equal parts, except for those whose minimum width is more.
pub fn shared_widths(mut room: f32, least: &[f32]) -> Vec<f32> {
    let mut widths = vec![0.0; least.len()];
    let mut widest_first: Vec<usize> = (0..least.len()).collect();
    widest_first.sort_by(|a, b| least[*b].total_cmp(&least[*a]));
    for (i, column) in widest_first.into_iter().enumerate() {
        widths[column] = (room / (least.len() - i) as f32).max(least[column]);
        room -= widths[column];
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        assert_eq!(shared_widths(300.0, &[10.0, 100.0, 50.0]), [100.0; 3]);
        assert_eq!(shared_widths(300.0, &[10.0, 200.0, 20.0]), [50.0, 200.0, 50.0]);
        assert_eq!(shared_widths(300.0, &[10.0, 200.0, 90.0]), [10.0, 200.0, 90.0]);
        assert_eq!(shared_widths(100.0, &[60.0, 70.0]), [60.0, 70.0], "more than there is room for");
    }
}
