//! A paper's claims as their file has them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::rule::{PlannedVariants, Rule, refuse_if};
use crate::{
    experiments::{run_terms::loss_unit, short_number::short},
    files::sha256,
};

/// The claims of one paper: `claims/PAPER.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperFile {
    pub title: String,
    /// For example "arXiv 2606.16730".
    pub source: String,
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A sentence of a paper that an experiment could support or contradict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    /// The claim is one of the twenty of most interest.
    #[serde(default, skip_serializing_if = "is_false")]
    pub starred: bool,
    /// The claim in our own words, briefly.
    pub title: String,
    /// The paper's own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// The claim in our own words, where no source can be quoted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sentence: String,
    /// The place in the paper, such as "Table 2" or "section 4.2".
    pub place: String,
    /// The paper's number with its seeds and its scale, as text.
    pub number: String,
    /// The rule's `published` is not on the scale of the effect, as `number` says, and is not shown. The rule, which is hashed,
    /// keeps it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub off_scale: bool,
    pub tier: Tier,
    /// The means that its runs need and a desktop lacks: "a GPU". A rule may say how they would be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// Hours that the runs of its rule take on two cores; several rules may share them. The rule's hash leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<f64>,
    /// The reason why it has no rule yet: "a preset with ...".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
    /// The test of this repository that holds it, where it is mathematics or a count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<TestLocation>,
    /// The strongest other explanation of a result in its favour.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub counter: String,
    /// The finding that would refute the claim.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub turns: String,
    /// The reason why its runs do not test it: its premise is not met, they end long before the paper's
    /// comparison, a floor or a ceiling hides any difference, or no run could decide. The verdict is then
    /// "cannot be told", whatever the numbers are. The hash of the rule leaves this field out, because it is about the
    /// result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
}

/// A test by its file and its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestLocation {
    /// The path from the repository's root.
    pub file: String,
    pub test: String,
}

/// Two terms of a claim need separate treatment: with other settings its runs would have had other numbers, and a
/// reason why they do not test it replaces their verdict.
pub(super) const SETTINGS: &str = "settings";
pub(super) const UNTESTED: &str = "untested";

fn is_false(value: &bool) -> bool {
    !value
}

/// For example "about 5 hours of two cores".
pub(super) fn time_label(hours: f64) -> String {
    let unit = if hours == 1.0 { "hour" } else { "hours" };
    format!("about {} {unit} of two cores", short(hours))
}

/// The distance of our experiment from the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The paper's own experiment at its own size, or a mathematical statement, which has no size.
    Exact,
    /// The same experiment with a smaller model or less text, or with settings of ours where the paper gives none.
    Scaled,
    /// Another experiment that bears on the claim.
    Proxy,
}

impl Tier {
    pub fn label(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Scaled => "scaled",
            Self::Proxy => "proxy",
        }
    }

    /// Said with every verdict of runs.
    pub fn scale_label(self) -> &'static str {
        match self {
            Self::Exact => "at the paper's scale",
            Self::Scaled => "at our scale",
            Self::Proxy => "at our scale, by a proxy",
        }
    }
}

/// The reason why a file of claims cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("claims/{paper}.toml cannot be read: {source}")]
    Syntax { paper: String, source: Box<toml::de::Error> },
    /// A result, or a replication, by the folder that holds it.
    #[error("claims/{folder}/{claim}.json cannot be read: {source}")]
    Result { folder: &'static str, claim: String, source: serde_json::Error },
    #[error("the claim {id} {why}")]
    Claim { id: String, why: String },
}

impl PaperFile {
    pub fn parse(paper: &str, text: &str) -> Result<Self, ClaimError> {
        let unread = |e| ClaimError::Syntax { paper: paper.to_owned(), source: Box::new(e) };
        let mut file: Self = toml::from_str(text).map_err(unread)?;
        let mut planned = PlannedVariants::new();
        for claim in &mut file.claims {
            claim.check(&mut planned).map_err(|why| ClaimError::Claim { id: claim.id.clone(), why })?;
            if let Some(rule) = &mut claim.rule {
                rule.is_off_scale = claim.off_scale;
                if let Ok(config) = rule.first_run() {
                    rule.loss_unit = loss_unit(&config.lab, |key| config.get(key));
                }
            }
        }
        Ok(file)
    }
}

impl Claim {
    /// The statement of the claim: its quote, or our own sentence where no source can be quoted.
    pub fn wording(&self) -> &str {
        if self.sentence.is_empty() { &self.quote } else { &self.sentence }
    }

    /// These words as they are shown: only a quote has quotation marks.
    pub fn statement(&self) -> String {
        if self.sentence.is_empty() { format!("\u{201c}{}\u{201d}", self.quote) } else { self.sentence.clone() }
    }

    /// The number that the paper reports, in its words, if it reports one.
    pub fn paper_number(&self) -> Option<&str> {
        Some(self.number.as_str()).filter(|number| !matches!(*number, "" | "no number"))
    }

    /// For example "about 5 hours of two cores".
    pub fn time_label(&self) -> Option<String> {
        self.hours.map(time_label)
    }

    /// SHA-256, by name, of each part by which its runs are judged or read that the rule's hash leaves out. A result keeps them,
    /// so that a later edit shows.
    pub fn term_hashes(&self) -> BTreeMap<String, String> {
        let settings = self.rule.as_ref().and_then(|rule| rule.settings_text().ok()).unwrap_or_default();
        let texts = [
            ("quote", self.wording()),
            (SETTINGS, settings.as_str()),
            ("tier", self.tier.label()),
            ("turns", self.turns.as_str()),
            (UNTESTED, self.untested.as_deref().unwrap_or_default()),
        ];
        BTreeMap::from(texts.map(|(name, text)| (name.to_owned(), sha256(text))))
    }

    /// Refuses a claim that says too little, or whose rule no lab can follow.
    fn check(&self, planned: &mut PlannedVariants) -> Result<(), String> {
        let is_plain = !self.id.is_empty() && self.id.chars().all(|c| c.is_ascii_alphanumeric());
        refuse_if(!is_plain, "has no plain id: give letters and digits, such as A1")?;
        for (key, text) in [("title", self.title.as_str()), ("place", self.place.as_str()), ("quote", self.wording())] {
            refuse_if(text.trim().is_empty(), &format!("has an empty `{key}`"))?;
        }
        let has_both = !self.quote.is_empty() && !self.sentence.is_empty();
        refuse_if(has_both, "has `quote` and `sentence`: leave out the sentence where its source can be quoted")?;
        let reasons = [self.rule.is_some() || self.needs.is_some(), self.open.is_some(), self.held.is_some()];
        let has_one = reasons.iter().filter(|given| **given).count() == 1;
        refuse_if(!has_one, "needs `rule`, perhaps with `needs`, or one of `needs`, `open` and `held`")?;
        let is_no_time = |hours: f64| self.rule.is_none() || !hours.is_finite() || hours <= 0.0;
        let no_time = "has `hours` that are not a number above 0, or no rule whose runs could take them";
        refuse_if(self.hours.is_some_and(is_no_time), no_time)?;
        let is_no_reason = |why: &str| self.rule.is_none() || why.trim().is_empty();
        let no_reason = "has `untested` without a reason, or without a rule whose runs do not test it";
        refuse_if(self.untested.as_deref().is_some_and(is_no_reason), no_reason)?;
        let has_published = self.rule.as_ref().is_some_and(|rule| rule.published.is_some());
        refuse_if(
            self.off_scale && !has_published,
            "has `off_scale`, and no rule with a `published` that could be off it",
        )?;
        let Some(rule) = &self.rule else { return Ok(()) };
        let is_silent = self.counter.trim().is_empty() || self.turns.trim().is_empty();
        refuse_if(is_silent, "has a rule, so that it needs `counter` and `turns`")?;
        rule.check(planned)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::small_ledger::PAPER, *};

    const HEAD: &str = "
title = 'P'
source = 'S'
[[claim]]
id = 'X1'
title = 't'
quote = 'q'
place = '1'
number = ''
tier = 'scaled'
";

    fn parse_error(text: &str) -> String {
        PaperFile::parse("p", text).err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_claim_has_a_rule_or_says_why_not() {
        let read = PaperFile::parse("p", &format!("{HEAD}needs = 'a GPU'\n")).unwrap();
        assert_eq!((read.claims.len(), read.claims[0].tier), (1, Tier::Scaled));
        assert!(parse_error(HEAD).contains("needs `rule`"), "{}", parse_error(HEAD));
        assert!(parse_error(&format!("{HEAD}needs = 'a'\nopen = 'b'\n")).contains("one of"));
        assert!(parse_error(&format!("{HEAD}needs = 'a'\nhours = 2.0\n")).contains("no rule whose runs"));
        assert!(parse_error(&format!("{HEAD}needs = 'a'\nuntested = 'b'\n")).contains("without a rule"));
        let silent = PAPER.replacen("counter =", "untested = ' '\ncounter =", 1);
        assert!(parse_error(&silent).contains("without a reason"));
    }

    #[test]
    fn a_number_off_the_scale_is_kept_in_the_hash_and_not_shown() {
        let off_scale = |text: &str| text.replacen("tier =", "off_scale = true\ntier =", 1);
        let on = PAPER.replacen("stands =", "published = 0.5\nstands =", 1);
        let rule = |text: &str| PaperFile::parse("p", text).unwrap().claims[0].rule.clone().unwrap();
        let (on, off) = (rule(&on), rule(&off_scale(&on)));
        assert_eq!((on.published_on_scale(), off.published_on_scale()), (Some(0.5), None));
        assert_eq!(on.hash(), off.hash());
        assert!(parse_error(&off_scale(PAPER)).contains("`off_scale`"));
    }

    #[test]
    fn an_effect_has_the_unit_of_the_losses_of_its_runs() {
        let unit = |text: &str| PaperFile::parse("p", text).unwrap().claims[1].rule.as_ref().unwrap().unit();
        assert_eq!(unit(PAPER), "nats");
        assert_eq!(unit(&PAPER.replace("\"fast_slow\"", "\"fast_slow_needed\"")), "nats per answer");
    }

    #[test]
    fn only_a_quote_is_shown_in_quotation_marks() {
        let with = |line: &str| format!("{}open = 'b'\n", HEAD.replace("quote = 'q'\n", line));
        let statement = |line: &str| PaperFile::parse("p", &with(line)).unwrap().claims[0].statement();
        assert_eq!(statement("quote = 'q'\n"), "\u{201c}q\u{201d}");
        assert_eq!(statement("sentence = 'It is said.'\n"), "It is said.");
        assert!(parse_error(&with("")).contains("empty `quote`"), "{}", parse_error(&with("")));
        assert!(parse_error(&with("quote = 'q'\nsentence = 's'\n")).contains("leave out the sentence"));
    }

    #[test]
    fn unknown_keys_are_refused() {
        let said = parse_error(&format!("{HEAD}open = 'b'\nnubmer = 1\n"));
        assert!(said.contains("nubmer"), "{said}");
    }
}
