//! Decides which tokens a trained model has and how many layers it was trained with: as its files or the settings state,
//! or else by the candidate with the lowest loss in windows of the length that it was trained for.

use crate::{config::counted, probe::prelude::*};

/// Tokens of a window if the length of those in training is not known.
pub const DEFAULT_WINDOW: usize = 256;
/// The number of standard errors below which a difference between two candidates does not count.
const TIE_STANDARD_ERRORS: f64 = 2.0;

/// The facts known before any text is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownFacts {
    /// The number of layers, if it is known.
    pub layers: Option<KnownNumber>,
    /// The window of training.
    pub window: Option<KnownNumber>,
}

/// The loss of every window of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowLosses {
    /// Nats a token, by window.
    pub by_window: Vec<f64>,
    /// Tokens that one byte of the text makes, on average.
    pub tokens_per_byte: f64,
}

impl WindowLosses {
    pub fn nats_per_token(&self) -> f64 {
        mean_sd(&self.by_window).0
    }

    /// The standard error of [`WindowLosses::nats_per_token`]; NaN of fewer than two windows.
    pub fn error(&self) -> f64 {
        standard_error(&self.by_window)
    }

    /// Comparable between kinds of tokens.
    pub fn bits_per_byte(&self) -> f64 {
        self.nats_per_token() * self.bits()
    }

    /// Bits a byte of one nat per token.
    fn bits(&self) -> f64 {
        self.tokens_per_byte / std::f64::consts::LN_2
    }

    /// The standard error of the difference from another, bits per byte: over pairs of windows where both read the same
    /// tokens.
    fn error_of_difference(&self, other: &Self, is_paired: bool) -> f64 {
        if is_paired && self.by_window.len() == other.by_window.len() {
            let differences: Vec<f64> = self.by_window.iter().zip(&other.by_window).map(|(a, b)| a - b).collect();
            return standard_error(&differences) * self.bits();
        }
        (self.error() * self.bits()).hypot(other.error() * other.bits())
    }
}

fn standard_error(values: &[f64]) -> f64 {
    match values.len() {
        0 | 1 => f64::NAN,
        n => mean_sd(values).1 / (n as f64).sqrt(),
    }
}

/// A kind of tokens and a number of layers, and the loss of the text with them.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The index among the tokenisers.
    pub tokenizer: usize,
    pub layers: usize,
    pub loss: WindowLosses,
    /// The chosen one is not better by more than the error of the difference.
    pub is_close: bool,
}

/// The windows in which all candidates read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparedWindows {
    /// The largest number of windows; tokens of several bytes may give fewer from the same text.
    pub count: usize,
    /// Tokens of each.
    pub length: usize,
    /// The source of the length.
    pub from: Evidence,
}

/// The candidates, which of them is chosen, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateChoice {
    /// The candidates by tokenizer, then by layers; empty if there was nothing to choose.
    pub tried: Vec<Candidate>,
    /// The index of the chosen one among the tokenisers.
    pub tokenizer: usize,
    /// The number of layers.
    pub layers: usize,
    /// The source of the choice of tokens.
    pub tokens_from: Evidence,
    /// The source of the choice of layers.
    pub layers_from: Evidence,
    /// The windows in which the candidates read.
    pub windows: ComparedWindows,
    /// Reasons to doubt the choice.
    pub warnings: Vec<String>,
}

impl CandidateChoice {
    /// Returns true if this candidate was chosen among those that were tried.
    pub fn is_chosen(&self, candidate: &Candidate) -> bool {
        !self.tried.is_empty() && (candidate.tokenizer, candidate.layers) == (self.tokenizer, self.layers)
    }
}

/// Reads a text with every candidate and decides. `tokens_from` says for each tokeniser why it would be taken were it the
/// only one; `read` gives the losses of one after 1, 2, .. layers, or with the known number alone, and nothing where it
/// cannot read the text. `None` where no candidate can.
///
/// # Errors
/// Those of `read`.
pub fn decide(
    known: &KnownFacts,
    windows: ComparedWindows,
    tokens_from: &[Evidence],
    mut read: impl FnMut(usize) -> Result<Option<Vec<WindowLosses>>>,
) -> Result<Option<CandidateChoice>> {
    let mut tried = vec![];
    for tokenizer in 0..tokens_from.len() {
        let losses = read(tokenizer)?.unwrap_or_default();
        let by_layers = (known.layers.map_or(1, |layers| layers.value)..).zip(losses);
        tried.extend(by_layers.map(|(layers, loss)| Candidate { tokenizer, layers, loss, is_close: false }));
    }
    let finite = tried.iter().filter(|c| c.loss.bits_per_byte().is_finite());
    let best = finite.min_by(|a, b| a.loss.bits_per_byte().total_cmp(&b.loss.bits_per_byte())).cloned();
    let Some(best) = best else { return Ok(None) };
    for one in tried.iter_mut().filter(|c| (c.tokenizer, c.layers) != (best.tokenizer, best.layers)) {
        let error = one.loss.error_of_difference(&best.loss, one.tokenizer == best.tokenizer);
        one.is_close = one.loss.bits_per_byte() - best.loss.bits_per_byte() <= TIE_STANDARD_ERRORS * error;
    }
    let tokens_from = match tokens_from {
        [only] => *only,
        _ => Evidence::Measured,
    };
    Ok(Some(CandidateChoice {
        warnings: warnings(known, windows, &tried, &best),
        tokenizer: best.tokenizer,
        layers: best.layers,
        tokens_from,
        layers_from: known.layers.map_or(Evidence::Measured, |layers| layers.from),
        windows: ComparedWindows { count: best.loss.by_window.len(), ..windows },
        tried,
    }))
}

/// The choice where one kind of tokens fits and the layers are known, so that nothing has to be read.
pub fn known_choice(layers: KnownNumber, tokens_from: Evidence) -> CandidateChoice {
    CandidateChoice {
        tried: vec![],
        tokenizer: 0,
        layers: layers.value,
        tokens_from,
        layers_from: layers.from,
        windows: ComparedWindows { count: 0, length: 0, from: Evidence::Assumed },
        warnings: vec![],
    }
}

fn warnings(known: &KnownFacts, windows: ComparedWindows, tried: &[Candidate], best: &Candidate) -> Vec<String> {
    let mut all = vec![];
    if tried.len() < 2 {
        return all;
    }
    if known.layers.is_none() {
        match known.window {
            Some(trained) if trained.value != windows.length => all.push(format!(
                "the candidates read windows of {} tokens and the model was trained on windows of {}: another length may favour \
                 another number of layers",
                windows.length, trained.value
            )),
            Some(_) => {}
            None => all.push(format!(
                "it is not known on which windows the model was trained; the candidates read windows of {} tokens",
                windows.length
            )),
        }
    }
    if best.loss.by_window.len() < 2 {
        all.push(
            "the text fills one window, so that the errors of the losses are not known: give a longer one".to_owned(),
        );
    }
    let close: Vec<String> = tried.iter().filter(|c| c.is_close).map(|c| name(c, best)).collect();
    if !close.is_empty() {
        all.push(format!(
            "{} cannot be told from {}: the losses differ by less than twice the standard error of the difference",
            close.join(", "),
            name(best, best)
        ));
    }
    all
}

fn name(candidate: &Candidate, best: &Candidate) -> String {
    let layers = counted(candidate.layers, "layer");
    if candidate.tokenizer == best.tokenizer { layers } else { format!("{layers} in other tokens") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Losses whose windows vary together, as those of one text do.
    fn planted(mean: f64) -> WindowLosses {
        let by_window = [-0.3, 0.1, 0.4, -0.2].iter().enumerate().map(|(i, v)| mean + v + 1e-3 * (i % 2) as f64);
        WindowLosses { by_window: by_window.collect(), tokens_per_byte: 1.0 }
    }

    const WINDOWS: ComparedWindows = ComparedWindows { count: 4, length: 64, from: Evidence::File };

    fn known_number(value: usize) -> Option<KnownNumber> {
        Some(KnownNumber { value, from: Evidence::File })
    }

    fn decided(facts: &KnownFacts, losses: &[WindowLosses]) -> CandidateChoice {
        decide(facts, WINDOWS, &[Evidence::OnlyFit], |_| Ok(Some(losses.to_vec()))).unwrap().unwrap()
    }

    #[test]
    fn the_least_loss_is_chosen_and_no_other_is_close() {
        let facts = KnownFacts { layers: None, window: known_number(64) };
        let found = decided(&facts, &[2.0, 1.5, 1.3, 1.2, 1.25, 1.4].map(planted));
        assert_eq!((found.layers, found.layers_from, found.tokens_from), (4, Evidence::Measured, Evidence::OnlyFit));
        assert_eq!(found.tried.len(), 6);
        assert!(found.tried.iter().all(|c| !c.is_close) && found.warnings.is_empty(), "{:?}", found.warnings);
        assert!((found.tried[3].loss.error() - 0.16).abs() < 0.01, "{}", found.tried[3].loss.error());
    }

    #[test]
    fn close_candidates_and_other_lengths_are_warned_of() {
        let facts = KnownFacts { layers: None, window: known_number(512) };
        let mut losses = [2.0, 1.2, 1.3].map(planted);
        // varies by more than it differs
        losses[2].by_window = vec![1.6, 0.9, 1.5, 0.9];
        let found = decided(&facts, &losses);
        assert_eq!(found.tried.iter().map(|c| c.is_close).collect::<Vec<_>>(), [false, false, true]);
        assert!(found.warnings[0].contains("64") && found.warnings[0].contains("512"), "{:?}", found.warnings);
        assert!(found.warnings[1].starts_with("3 layers cannot be told from 2 layers"), "{:?}", found.warnings);
        let found = decided(&KnownFacts::default(), &losses);
        assert!(found.warnings[0].starts_with("it is not known"), "{:?}", found.warnings);
    }

    #[test]
    fn tokens_are_compared_by_the_byte_and_known_layers_are_kept() {
        let facts = KnownFacts { layers: known_number(3), window: known_number(64) };
        // a token of four bytes may cost twice as much as one of one byte
        let texts = [planted(2.0), WindowLosses { tokens_per_byte: 0.25, ..planted(4.0) }];
        let from = [Evidence::OnlyFit, Evidence::Sidecar];
        let found = decide(&facts, WINDOWS, &from, |k| Ok(Some(vec![texts[k].clone()]))).unwrap().unwrap();
        assert_eq!((found.tokenizer, found.layers, found.layers_from), (1, 3, Evidence::File));
        assert_eq!(found.tokens_from, Evidence::Measured);
        // a tokenizer that cannot read the text is not a candidate
        let found = decide(&facts, WINDOWS, &from, |k| Ok((k == 0).then(|| vec![texts[0].clone()]))).unwrap().unwrap();
        assert_eq!((found.tokenizer, found.tried.len()), (0, 1));
        assert!(decide(&facts, WINDOWS, &from, |_| Ok(None)).unwrap().is_none());
    }
}
