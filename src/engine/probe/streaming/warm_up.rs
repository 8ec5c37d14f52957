//! The gain of a model from traces that hold the text: perplexity along streams, compared with that of the same tokens
//! read with empty traces. What is merely easier text is easier for both.

use super::streams::{StreamReader, StreamSizes, StreamTexts, TokenCosts};
use crate::{
    analysis::student::{CONFIDENCE, mean_interval},
    probe::prelude::*,
};

/// Numbers of tokens after which the retention of the slowest trace is measured.
const RETENTION_MARKS: [usize; 2] = [50, 200];
/// The largest number of tokens of a stream for a model that keeps every token.
const MAX_KEPT_TOKENS: usize = 1000;
/// The longest stream of other models.
const MAX_TOKENS: usize = 50_000;
const FOREIGN: usize = 2;

/// A model that keeps every token reads at most 1,000 of each stream.
impl Probe for WarmUpArgs {
    type Answer = WarmUp;
    type Subject<'m> = &'m dyn StreamingModel;
    const IS_SLOW: bool = true;

    fn ask(&self, model: &dyn StreamingModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let window = self.window;
        let most = if model.keeps_all_tokens() { MAX_KEPT_TOKENS.max(2 * window) } else { MAX_TOKENS };
        let tokens = self.tokens.clamp(2 * window, most);
        let sizes =
            StreamSizes { rows: self.streams, len: tokens - tokens % window, min_len: window, foreign: FOREIGN };
        let mut texts = StreamTexts::new(cx.corpus, sizes)?;
        texts.cut_to_windows(window);
        let reader = StreamReader { texts: &texts, device: cx.device };
        let mut found = vec![];
        for (i, text) in texts.texts.iter().enumerate() {
            let progress = cx.progress.piece(i, texts.texts.len());
            let streamed = reader.read_all(i, model.stream().as_mut(), progress.piece(0, 2))?;
            let reset = read_by_window(&reader, i, window, model, progress.piece(1, 2))?;
            found.push(compare(text.name.clone(), window, &streamed, &reset));
        }
        let share = |a: f64, tokens: usize| (1.0 - a).powi(tokens as i32);
        let left = |a| RETENTION_MARKS.map(|tokens| Retention { tokens, share: share(a, tokens) }).to_vec();
        let warm_up = WarmUp {
            window,
            streams: texts.rows,
            texts: found,
            retention: model.slowest_rate().map_or(vec![], left),
            notes: texts.notes.clone(),
        };
        Ok(Answer::new(warm_up, texts.about(), vec![]))
    }
}

/// Reads every window of a text from its beginning with a reader of its own.
fn read_by_window(
    reader: &StreamReader<'_>,
    text: usize,
    window: usize,
    model: &dyn StreamingModel,
    progress: Progress<'_>,
) -> Result<TokenCosts> {
    let mut all = TokenCosts::unread(reader.texts.rows, reader.texts.len);
    let windows = all.len / window;
    for w in 0..windows {
        let begin = w * window;
        let stream = &mut model.stream();
        let costs = reader.read(text, begin..begin + window, stream.as_mut(), progress.piece(w, windows))?;
        all.write(begin, &costs.nats);
    }
    Ok(all)
}

fn compare(name: String, window: usize, streamed: &TokenCosts, reset: &TokenCosts) -> WarmUpText {
    let windows = streamed.len / window;
    // The tokens of window w, and those at a position of all windows but the first, of all streams.
    let in_window = |of: &TokenCosts, w: usize| -> Vec<f64> {
        of.nats.chunks(of.len).flat_map(|row| &row[w * window..(w + 1) * window]).copied().collect()
    };
    let at_position = |of: &TokenCosts, p: usize| -> Vec<f64> {
        of.nats.chunks(of.len).flat_map(|row| (1..windows).map(|w| row[w * window + p]).collect::<Vec<_>>()).collect()
    };
    let perplexities = |of: &TokenCosts| (0..windows).map(|w| mean(&in_window(of, w)).exp()).collect();
    let by_position = |of: &TokenCosts| match windows {
        0 | 1 => vec![].into(),
        _ => (0..window).map(|p| mean(&at_position(of, p))).collect(),
    };
    let later = |of: &TokenCosts| -> Vec<f64> { of.nats.chunks(of.len).map(|row| mean(&row[window..])).collect() };
    let saved: Vec<f64> = later(reset).iter().zip(later(streamed)).map(|(r, s)| r - s).collect();
    let (saved_low, saved_high) = mean_interval(&saved, CONFIDENCE).unwrap_or((f64::NAN, f64::NAN));
    WarmUpText {
        name,
        streamed: perplexities(streamed),
        reset: perplexities(reset),
        reset_by_position: by_position(reset),
        streamed_by_position: by_position(streamed),
        saved: mean(&saved),
        saved_low,
        saved_high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two streams of three windows of two tokens.
    #[test]
    fn windows_and_positions_are_means_over_the_same_tokens() {
        let costs = |nats: [f64; 12]| TokenCosts { len: 6, nats: nats.to_vec(), uncertainty: vec![] };
        let streamed = costs([4.0, 3.0, 2.0, 1.0, 2.0, 1.0, 4.0, 3.0, 2.0, 2.0, 2.0, 2.0]);
        let reset = costs([4.0, 3.0, 5.0, 1.0, 3.0, 1.0, 4.0, 3.0, 4.0, 2.0, 4.0, 3.0]);
        let found = compare("own text".into(), 2, &streamed, &reset);
        let close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(&found.streamed, &[3.5f64.exp(), 1.75f64.exp(), 1.75f64.exp()]), "{found:?}");
        assert!(close(&found.reset, &[3.5f64.exp(), 3.0f64.exp(), 2.75f64.exp()]));
        assert!(close(&found.reset_by_position, &[4.0, 1.75]), "the first window is the same for both");
        assert!(close(&found.streamed_by_position, &[2.0, 1.5]));
        // by stream: 10/4 - 6/4 = 1 and 13/4 - 8/4 = 5/4
        assert!((found.saved - 1.125).abs() < 1e-12 && found.saved_low < 1.0 && found.saved_high > 1.25);
    }

    #[test]
    fn one_window_tells_nothing_about_later_ones() {
        let costs = || TokenCosts { len: 2, nats: vec![1.0, 2.0], uncertainty: vec![] };
        let found = compare("own text".into(), 2, &costs(), &costs());
        assert!(found.saved.is_nan() && found.reset_by_position.is_empty() && found.streamed.len() == 1);
    }
}
