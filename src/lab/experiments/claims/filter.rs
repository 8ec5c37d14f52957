//! The filter of the rows of claims.

use super::entry::ClaimEntry;
use crate::experiments::run_table::query::{self, FilteredRow, QueryTerm};

/// A line of terms that select claims, in the language of the table of runs: `verdict:stands lab:fast_slow is:starred`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimFilter {
    terms: Vec<QueryTerm>,
}

/// The keys that a term may ask for.
const KEYS: [&str; 14] = [
    "id", "title", "quote", "place", "paper", "tier", "verdict", "is", "lab", "preset", "seeds", "effect", "p",
    "minutes",
];

impl ClaimFilter {
    pub fn parse(line: &str) -> Result<Self, String> {
        let terms = query::parse(line)?;
        match terms.iter().filter_map(QueryTerm::key).find(|key| !KEYS.contains(key)) {
            Some(key) => Err(format!("a claim has no `{key}`; there are {}", KEYS.join(", "))),
            None => Ok(Self { terms }),
        }
    }

    pub fn selects(&self, entry: &ClaimEntry) -> bool {
        self.terms.iter().all(|term| term.holds(entry))
    }
}

impl FilteredRow for ClaimEntry {
    fn mentions(&self, words: &str) -> bool {
        let claim = &self.claim;
        let texts = [&claim.id, &claim.title, &claim.place, &claim.number, &claim.counter, &claim.turns];
        let mut texts = texts.map(String::as_str).into_iter().chain([claim.wording()]).chain(claim.untested.as_deref());
        texts.any(|text| text.to_lowercase().contains(words))
    }

    fn numbers(&self, key: &str) -> Vec<f64> {
        let judged = self.standing.judgement();
        let number = match key {
            "seeds" => judged.map(|judged| judged.values.len() as f64),
            "effect" => judged.and_then(|judged| judged.outcome).map(|outcome| outcome.effect),
            "p" => judged.and_then(|judged| judged.p),
            "minutes" => self.made.as_ref().map(|made| made.minutes),
            _ => None,
        };
        number.into_iter().collect()
    }

    fn text(&self, key: &str) -> Option<String> {
        let claim = &self.claim;
        Some(match key {
            "id" => claim.id.clone(),
            "title" => claim.title.clone(),
            "quote" => claim.wording().to_owned(),
            "place" => claim.place.clone(),
            "paper" => self.paper.clone(),
            "tier" => claim.tier.label().to_owned(),
            "verdict" => self.state().label().to_owned(),
            "lab" => self.lab.clone(),
            "preset" => claim.rule.as_ref().map_or(String::new(), |rule| rule.base.clone()),
            _ => return None,
        })
    }

    fn has(&self, key: &str, text: &str) -> bool {
        match (key, text) {
            ("is", "starred") => self.claim.starred,
            // ids and labs match as whole words: A1 is not A12
            ("id" | "lab" | "preset", text) => self.text(key).is_some_and(|found| found.eq_ignore_ascii_case(text)),
            // a paper by words of its file, title or source, from their beginning on: "ode" is none of "model"
            ("paper", text) => {
                let words = format!("{} {}", self.paper, self.paper_title).to_lowercase();
                words.match_indices(text).any(|(at, _)| !words[..at].ends_with(char::is_alphanumeric))
            }
            _ => self.text(key).is_some_and(|found| found.to_lowercase().contains(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::claims::small_ledger::{ledger_with, result};

    #[test]
    fn claims_are_filtered_in_the_language_of_runs() {
        let claims = ledger_with(&result(&[0.001, 0.002, 0.003])).entries().remove(0).claims;
        let found = |line: &str| -> Vec<&str> {
            let filter = ClaimFilter::parse(line).unwrap();
            claims.iter().filter(|entry| filter.selects(entry)).map(|entry| entry.claim.id.as_str()).collect()
        };
        assert_eq!(found(""), ["X1", "X2", "X12"]);
        assert_eq!(found("id:x1"), ["X1"]);
        assert_eq!(found("is:starred lab:fast_slow"), ["X1"]);
        assert_eq!(found("verdict:needs"), ["X12"]);
        assert_eq!(found("!is:starred"), ["X2", "X12"]);
        assert_eq!(found("minutes<5 seeds>=2"), ["X1"]);
        assert_eq!(found("closed"), ["X1"]);
        assert_eq!(found("paper:pape id:X2"), ["X2"], "the beginning of a word of its title");
        assert_eq!(found("paper:\"arXiv 0\" id:X2"), ["X2"], "its source");
        assert_eq!(found("paper:aper"), [""; 0], "no beginning of a word");
        assert!(ClaimFilter::parse("nothing:x").unwrap_err().contains("there are id, title"));
    }
}
