//! The sentence of the Traces lab as its views see it: coefficients, words, codes and colours, read from the settings.

use std::{cell::OnceCell, collections::BTreeMap, f64::consts::TAU};

use crate::{
    analysis::{distinct::distinct, ema},
    labs::traces::TraceSettings,
    ui::views::prelude::*,
};

/// Names of the three traces, fast to slow.
pub const TRACE_NAMES: [&str; 3] = ["fast", "medium", "slow"];

/// The sentence in labs that have no setting for one, short enough for a small tile.
pub const SENTENCE: &str = "the keeper of the old light found a small brass key under the stairs";

/// The settings of the trace views; a lab without such settings gets the paper's values.
pub struct Sentence {
    pub alphas: [f64; 3],
    pub words: Vec<String>,
    /// Index of the word to swap, inside the sentence.
    pub swap_word: usize,
    pub swap_to: String,
    pub code_dim: usize,
    code_active: usize,
    seed: u64,
    /// The hue of each distinct word, by its number, once a colour is asked for: charts of traces need none.
    hues: OnceCell<BTreeMap<u64, f64>>,
}

impl Sentence {
    pub fn from_settings(cx: &ViewCx<'_>) -> Self {
        let set: TraceSettings = cx.config.group().unwrap_or_default();
        let sentence = cx.config.value(TraceSettings::sentence).unwrap_or_else(|_| SENTENCE.to_owned());
        Self::new(set, &sentence, cx.config.seed)
    }

    fn new(set: TraceSettings, sentence: &str, seed: u64) -> Self {
        let words: Vec<String> = sentence.split_whitespace().take(MAX_WORDS).map(str::to_owned).collect();
        Self {
            alphas: [set.alpha_fast, set.alpha_medium, set.alpha_slow],
            swap_word: set.swap_word.clamp(1, words.len().max(1)) - 1,
            swap_to: set.swap_to,
            words,
            code_dim: set.code_dim,
            code_active: set.code_active,
            seed,
            hues: OnceCell::new(),
        }
    }

    /// The cursor: the selected word, or the last one.
    pub fn cursor(&self, selected: Option<usize>) -> usize {
        let last = self.words.len().saturating_sub(1);
        selected.unwrap_or(last).min(last)
    }

    /// Codes of these words in a row: `(words, code_dim)`, row-major, each of norm 1.
    pub fn codes<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Vec<f64> {
        words.into_iter().flat_map(|w| ema::code_vector(&self.units(ema::word_id(w)), self.code_dim)).collect()
    }

    fn units(&self, word_id: u64) -> Vec<usize> {
        ema::sparse_code(self.seed, word_id, self.code_dim, self.code_active)
    }

    /// The place on a circle where the units of a word's code lie on average, radians from 0.
    fn code_hue(&self, word_id: u64) -> f64 {
        let (mut x, mut y) = (0.0, 0.0);
        for unit in self.units(word_id) {
            let angle = TAU * unit as f64 / self.code_dim.max(1) as f64;
            (x, y) = (x + angle.cos(), y + angle.sin());
        }
        f64::atan2(y, x).rem_euclid(TAU)
    }

    /// A hue for each distinct word, since words in one colour would seem to share a code. The circle of hues has as many
    /// places as there are words; a word takes the one nearest to the hue of its code, or the next that is free.
    fn own_hues(&self) -> BTreeMap<u64, f64> {
        let ids = distinct(self.words.iter().map(|word| ema::word_id(word)));
        let places = ids.len().max(MIN_HUES);
        let apart = TAU / places as f64;
        let mut is_free = vec![true; places];
        let own_hue = |id: u64| {
            let nearest = (self.code_hue(id) / apart).round() as usize % places;
            let place = (nearest..places).chain(0..nearest).find(|place| is_free[*place]).unwrap_or(nearest);
            is_free[place] = false;
            (id, place as f64 * apart)
        };
        ids.into_iter().map(own_hue).collect()
    }

    /// A word's colour. The same word has the same one wherever it stands in the sentence, and no other word of it has that.
    pub fn colour(&self, word: &str, theme: &Theme) -> Color32 {
        let id = ema::word_id(word);
        let hues = self.hues.get_or_init(|| self.own_hues());
        let hue = hues.get(&id).copied().unwrap_or_else(|| self.code_hue(id));
        oklch(if theme.dark { 0.76 } else { 0.58 }, 0.12, hue)
    }
}

/// The least number of places on the circle of hues, so that few words stay near the hues of their codes.
const MIN_HUES: usize = 12;

/// The maximum number of words shown; columns for more would be too narrow.
const MAX_WORDS: usize = 80;

/// OKLCH (Ottosson 2020) to sRGB, clipped: colours of equal lightness.
fn oklch(lightness: f64, chroma: f64, hue: f64) -> Color32 {
    let (a, b) = (chroma * hue.cos(), chroma * hue.sin());
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    let encode = |v: f64| {
        let v = v.clamp(0.0, 1.0);
        let v = if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        (v * 255.0).round() as u8
    };
    Color32::from_rgb(
        encode(4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s),
        encode(-1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s),
        encode(-0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes of *door* and *open* have nearly the same hue, so that the two once had one colour.
    #[test]
    fn words_of_a_sentence_have_colours_of_their_own() {
        let theme = Theme::dark();
        let many = (0..MAX_WORDS).map(|i| format!("word{i}")).collect::<Vec<_>>().join(" ");
        for text in ["the door was old and The door was open", many.as_str()] {
            for seed in 0..20 {
                let sentence = Sentence::new(TraceSettings::default(), text, seed);
                let colours: Vec<Color32> = sentence.words.iter().map(|word| sentence.colour(word, &theme)).collect();
                let ids: Vec<u64> = sentence.words.iter().map(|word| ema::word_id(word)).collect();
                for (i, j) in (0..ids.len()).flat_map(|j| (0..j).map(move |i| (i, j))) {
                    assert_eq!(colours[i] == colours[j], ids[i] == ids[j], "{}", sentence.words[j]);
                }
            }
        }
        let sentence = Sentence::new(TraceSettings::default(), "the door was old and the door was open", 7);
        let [door, open] = ["door", "open"].map(|word| sentence.colour(word, &theme));
        let apart = door.to_array().into_iter().zip(open.to_array()).map(|(a, b)| a.abs_diff(b)).max();
        assert!(apart >= Some(20), "told apart by eye: {door:?} {open:?}");
    }

    #[test]
    fn colours_are_of_equal_lightness_and_grey_without_chroma() {
        let grey = oklch(0.5, 0.0, 1.0);
        assert!(grey.r().abs_diff(grey.g()) <= 1 && grey.g().abs_diff(grey.b()) <= 1, "{grey:?}");
        assert_eq!(oklch(1.0, 0.0, 0.0), Color32::WHITE);
        let (a, b) = (oklch(0.76, 0.12, 0.0), oklch(0.76, 0.12, 2.0));
        assert_ne!(a, b);
    }
}
