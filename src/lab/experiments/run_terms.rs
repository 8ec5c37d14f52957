//! The terms in which the numbers of a run are named: the unit of its losses, its first variant, and the tokens that its losses
//! are of. They follow from its settings and variants.

use crate::{
    analysis::distinct::distinct,
    config::Value,
    labs::{
        self, LABS,
        corpus::{CorpusSettings, generated_text},
        headline::{Headline, common, large::FIRST_VARIANT},
        traces,
    },
    telemetry::{RunInfo, channels},
};

/// Key of the training loss where runs are compared; it is not a headline number.
pub const TRAIN_LOSS: &str = "train_loss";

/// The unit of a loss as headline numbers declare it; losses of several runs have it that are not all of the same unit.
pub const NATS: &str = "nats";
const PER_TOKEN: &str = "nats per token";
const PER_ANSWER: &str = "nats per answer";
const PER_QUESTION: &str = "nats per question";

/// Stands where settings name the task of a lab that has several.
const TASK_KEY: &str = "task.kind";

/// The unit of the losses of a run with these settings, each found by its key.
pub fn loss_unit<'v>(lab: &str, setting: impl Fn(&str) -> Option<&'v Value>) -> &'static str {
    let is_set = setting(CorpusSettings::answers_only.name) == Some(&Value::Switch(true));
    match generated_text(setting) {
        _ if lab == traces::LAB.id => PER_QUESTION,
        Some(text) if text.has_only_answers() || text.is_task() && is_set => PER_ANSWER,
        _ => PER_TOKEN,
    }
}

/// True for a headline number that is a loss of the run's text, so that it has the unit of the run's losses.
fn is_loss(headline: &Headline) -> bool {
    let of_run = [channels::LOSS_TRAIN, channels::LOSS_HELD_OUT].contains(&headline.source.channel());
    of_run || headline.about.contains(PER_TOKEN)
}

/// True if this key of a number, or channel, names a loss.
pub fn is_loss_key(key: &str) -> bool {
    let plain = [TRAIN_LOSS, channels::LOSS_TRAIN, channels::LOSS_HELD_OUT];
    plain.contains(&key) || LABS.iter().any(|lab| lab.headline(key).is_some_and(is_loss))
}

/// The unit of a number of a run whose losses have this unit.
pub fn unit_of(headline: &Headline, loss_unit: &'static str) -> &'static str {
    other_unit(headline, loss_unit).filter(|_| headline.unit == NATS).unwrap_or(headline.unit)
}

/// The unit of a loss that is not of every token, whatever its declaration says.
fn other_unit(headline: &Headline, loss_unit: &'static str) -> Option<&'static str> {
    let is_declared = [NATS, PER_TOKEN].contains(&loss_unit) || !is_loss(headline);
    (!is_declared).then_some(loss_unit)
}

/// The unit of a run's losses, and its groups of variants, by which its numbers are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTerms {
    /// For example "nats per token".
    pub loss_unit: &'static str,
    /// The label of its first variant; empty where it has none.
    pub first_variant: String,
    /// The groups of its variants in their order, each with its label.
    pub groups: Vec<(String, String)>,
}

impl From<&RunInfo> for RunTerms {
    fn from(info: &RunInfo) -> Self {
        let reads_text = info.tokens_per_step > 0;
        let named = |group: &str| (group.to_owned(), info.group_label(group).to_owned());
        let unit = if reads_text { loss_unit(&info.lab, |key| info.config.get(key)) } else { NATS };
        Self::new(unit, info.groups().into_iter().map(named).collect())
    }
}

impl RunTerms {
    /// The terms of a run with these groups of variants, each with its label.
    pub fn new(loss_unit: &'static str, groups: Vec<(String, String)>) -> Self {
        let first_variant = groups.first().map_or(String::new(), |(_, label)| label.clone());
        Self { loss_unit, first_variant, groups }
    }

    /// The terms that runs share: the unit that all of their losses have, the variant that is first in all of them, and every
    /// group. A label that differs between them, as one that names a swept setting does, gives way to the group's id.
    pub fn shared(runs: impl Iterator<Item = Self>) -> Self {
        let runs: Vec<Self> = runs.collect();
        let mut groups: Vec<(String, String)> = vec![];
        for (group, label) in runs.iter().flat_map(|run| &run.groups) {
            match groups.iter_mut().find(|(known, _)| known == group) {
                None => groups.push((group.clone(), label.clone())),
                Some((_, known)) if known != label => known.clone_from(group),
                Some(_) => {}
            }
        }
        let units = distinct(runs.iter().map(|run| run.loss_unit));
        let firsts = distinct(runs.iter().filter_map(|run| run.groups.first()).map(|(group, _)| group));
        let shared = Self::new(if let [unit] = units[..] { unit } else { NATS }, groups);
        if firsts.len() == 1 { shared } else { Self { first_variant: String::new(), ..shared } }
    }

    /// The label of one of several groups behind a number: ", coupled".
    pub fn group_suffix(&self, group: &str) -> String {
        let label = self.groups.iter().find(|(known, _)| known == group).filter(|_| self.groups.len() > 1);
        label.map_or(String::new(), |(_, label)| format!(", {label}"))
    }

    /// The heading of the training loss, which is not a headline number: "training loss (nats per answer)".
    pub fn training_loss(&self) -> String {
        format!("training loss ({})", self.unit(&common::LOSS))
    }

    /// The heading of a number of the run: "held-out loss (nats per answer)". A loss per token is in nats.
    pub fn heading(&self, headline: &Headline, key: &str) -> String {
        self.in_run(headline, &headline.heading(key))
    }

    pub fn about(&self, headline: &Headline) -> String {
        self.in_run(headline, headline.about)
    }

    pub fn unit(&self, headline: &Headline) -> &'static str {
        unit_of(headline, self.loss_unit)
    }

    /// These words with the label of the first variant, if there is one, in place of [`FIRST_VARIANT`].
    pub fn with_first_variant(&self, words: &str) -> String {
        let first: &str = if self.first_variant.is_empty() { FIRST_VARIANT } else { &self.first_variant };
        words.replace(FIRST_VARIANT, first)
    }

    fn in_run(&self, headline: &Headline, words: &str) -> String {
        let words = self.with_first_variant(words);
        let Some(unit) = other_unit(headline, self.loss_unit) else { return words };
        words.replace(PER_TOKEN, unit).replace(&format!("({NATS})"), &format!("({unit})"))
    }
}

/// A text or a tokenizer, with the settings that make it what it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct NamedSettings {
    name: String,
    settings: Vec<(&'static str, String)>,
}

impl NamedSettings {
    /// Its name, with the settings in which another of the same name differs from it.
    fn label(&self, all: &[&Self]) -> String {
        let alike: Vec<&&Self> = all.iter().filter(|other| other.name == self.name).collect();
        let differs = |own: &&(&'static str, String)| {
            alike.iter().flat_map(|other| &other.settings).any(|of| of.0 == own.0 && of.1 != own.1)
        };
        let word = |(key, value): &(&'static str, String)| format!("{} {value}", key.rsplit('.').next().unwrap_or(key));
        let differing: Vec<String> = self.settings.iter().filter(differs).map(word).collect();
        if differing.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, differing.join(", ")) }
    }
}

/// The tokens that the losses of a run are of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LossTokens {
    text: NamedSettings,
    tokens: NamedSettings,
    task: String,
    unit: &'static str,
}

impl LossTokens {
    /// `None` where the settings are another program's, or name no text.
    pub fn new<'v>(lab: &str, setting: impl Fn(&str) -> Option<&'v Value>) -> Option<Self> {
        labs::find(lab).filter(|lab| lab.makes_runs())?;
        setting(CorpusSettings::source.name)?;
        let value = |key: &'static str| (key, setting(key).map(ToString::to_string).unwrap_or_default());
        let kind = value(CorpusSettings::tokenizer.name);
        let made_by = match kind.1.as_str() {
            "word" | "spaced" | "bpe" => Some(CorpusSettings::vocab.name),
            "sorted_char" => Some(CorpusSettings::vocabulary_file.name),
            "huggingface" => Some(CorpusSettings::tokenizer_file.name),
            _ => None,
        };
        let name = match kind.1.as_str() {
            "byte" => "bytes",
            "char" | "sorted_char" => "characters",
            "word" => "words",
            "spaced" => "words and spaces",
            "bpe" => "BPE tokens",
            other => other,
        };
        let tokens = NamedSettings {
            name: name.to_owned(),
            settings: std::iter::once(kind).chain(made_by.map(value)).collect(),
        };
        let (text, task, unit) = (text(&setting, value), value(TASK_KEY).1, loss_unit(lab, &setting));
        Some(Self { text, tokens, task, unit })
    }

    /// Says in which terms the run differs from the others: "reads mixture in bytes and counts every token".
    fn sentence(&self, all: &[&Self], is_one_run: bool) -> String {
        let s = if is_one_run { "s" } else { "" };
        let differs = |is_same: fn(&Self, &Self) -> bool| all.iter().any(|other| !is_same(self, other));
        let text = || self.text.label(&all.iter().map(|other| &other.text).collect::<Vec<_>>());
        let tokens = || self.tokens.label(&all.iter().map(|other| &other.tokens).collect::<Vec<_>>());
        let read = match (differs(|a, b| a.text == b.text), differs(|a, b| a.tokens == b.tokens)) {
            (true, true) => Some(format!("read{s} {} in {}", text(), tokens())),
            (true, false) => Some(format!("read{s} {}", text())),
            (false, true) => Some(format!("read{s} {}", tokens())),
            (false, false) => None,
        };
        let task = differs(|a, b| a.task == b.task).then(|| format!("learn{s} the task {}", self.task));
        let counted = match self.unit {
            PER_ANSWER => "answers only",
            PER_QUESTION => "questions about earlier tokens",
            _ => "every token",
        };
        let counts = differs(|a, b| a.unit == b.unit).then(|| format!("count{s} {counted}"));
        read.into_iter().chain(task).chain(counts).collect::<Vec<_>>().join(" and ")
    }
}

/// Names the text that these settings choose, together with the settings that determine it.
fn text<'v>(
    setting: impl Fn(&str) -> Option<&'v Value>,
    value: impl Fn(&'static str) -> (&'static str, String),
) -> NamedSettings {
    let generated = generated_text(setting);
    let [folder, file, source] =
        [CorpusSettings::folder.name, CorpusSettings::file.name, CorpusSettings::source.name].map(&value);
    let mixes_domains = generated.map_or(!folder.1.trim().is_empty(), |text| text.mixes_domains());
    let own = [folder, file].into_iter().find(|(_, path)| !path.trim().is_empty());
    let name = match &own {
        Some((_, path)) => path.trim().rsplit(['/', '\\']).next().unwrap_or(path).to_owned(),
        None => source.1.clone(),
    };
    let (length, held_out) = (CorpusSettings::length.name, CorpusSettings::held_out.name);
    let keys = match generated {
        Some(text) if text.is_task() => vec![CorpusSettings::seed.name, CorpusSettings::spacing.name],
        Some(_) => vec![CorpusSettings::seed.name, length, held_out],
        None => vec![length, held_out],
    };
    let domains = mixes_domains.then_some(CorpusSettings::domains.name);
    let settings = keys.into_iter().chain(domains).map(value);
    NamedSettings { name, settings: std::iter::once(own.unwrap_or(source)).chain(settings).collect() }
}

/// The number of runs that a sentence names one by one.
const MAX_NAMED: usize = 3;

/// Says that the losses of runs are not of the same tokens, and what each run reads: "These losses are not of the same tokens: A
/// reads words and counts answers only; B reads bytes and counts every token." `None` where they are, as far as it is known.
pub fn incomparable_losses(names: &[String], runs: &[Option<LossTokens>]) -> Option<String> {
    let all = distinct(runs.iter().flatten());
    if all.len() < 2 {
        return None;
    }
    let sentence = |of: &&LossTokens| {
        let same = names.iter().zip(runs).filter(|(_, run)| run.as_ref() == Some(*of));
        let same: Vec<&str> = same.map(|(name, _)| name.as_str()).collect();
        let more = same.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = same.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(" and ");
        format!("{named}{more} {}", of.sentence(&all, same.len() == 1))
    };
    let sentences: Vec<String> = all.iter().map(sentence).collect();
    Some(format!("These losses are not of the same tokens: {}.", sentences.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn config(lab: &str, preset: &str, set: &[(&str, &str)]) -> Config {
        let lab = labs::find(lab).unwrap();
        let mut config = lab.config(Some(preset)).unwrap();
        set.iter().for_each(|(key, value)| config.set_text(&(lab.knobs)(), key, value).unwrap());
        config
    }

    fn unit(config: &Config) -> &'static str {
        loss_unit(&config.lab, |key| config.get(key))
    }

    fn loss_note(configs: &[&Config]) -> Option<String> {
        let names: Vec<String> = ["A", "B", "C", "D", "E"].map(str::to_owned).into_iter().take(configs.len()).collect();
        let tokens: Vec<_> = configs.iter().map(|c| LossTokens::new(&c.lab, |key| c.get(key))).collect();
        incomparable_losses(&names, &tokens)
    }

    #[test]
    fn a_loss_that_counts_answers_is_in_nats_per_answer() {
        let needed = config("fast_slow", "fast_slow_needed", &[]);
        assert_eq!(unit(&needed), "nats per answer");
        let set = [("corpus.answers_only", "false")];
        assert_eq!(unit(&config("fast_slow", "fast_slow_needed", &set)), "nats per token");
        let prose = [("corpus.answers_only", "true")];
        assert_eq!(unit(&config("fast_slow", "fast_slow", &prose)), "nats per token", "prose has no questions");
        let recall = [("corpus.answers_only", "false")];
        let recall = config("coupled_qk", "coupled_qk_mqar", &recall);
        assert_eq!(unit(&recall), "nats per answer", "recall always counts answers only");
        assert_eq!(unit(&config("traces", "traces", &[])), "nats per question");
    }

    #[test]
    fn words_of_a_loss_have_the_unit_of_the_run() {
        let terms = |loss_unit| RunTerms::new(loss_unit, vec![("standard".into(), "standard".into())]);
        let answers = terms(PER_ANSWER);
        assert_eq!(answers.heading(&common::LOSS, "held_out_loss"), "held-out loss (nats per answer)");
        assert!(answers.about(&common::LOSS).ends_with("nats per answer."), "{}", answers.about(&common::LOSS));
        assert_eq!((answers.unit(&common::LOSS), answers.unit(&common::ACCURACY)), ("nats per answer", ""));
        assert_eq!(answers.unit(&common::PERPLEXITY), "tokens");
        let tokens = terms(PER_TOKEN);
        assert_eq!(tokens.heading(&common::LOSS, "held_out_loss"), "held-out loss (nats)");
        assert_eq!(tokens.about(&common::LOSS), common::LOSS.about);
        let difference = tokens.heading(&common::DIFFERENCE_FROM_FIRST, "loss_beside_first");
        assert_eq!(difference, "loss minus that of standard (nats)");
        assert!(is_loss_key("train_loss") && is_loss_key("perplexity") && !is_loss_key("gate") && !is_loss_key("seed"));
    }

    #[test]
    fn runs_share_a_unit_and_a_first_variant_where_all_have_it() {
        let run = |unit, groups: &[(&str, &str)]| {
            RunTerms::new(unit, groups.iter().map(|(id, label)| ((*id).to_owned(), (*label).to_owned())).collect())
        };
        let heading = |runs: &[RunTerms]| {
            let shared = RunTerms::shared(runs.iter().cloned());
            let difference = shared.heading(&common::DIFFERENCE_FROM_FIRST, "loss_beside_first");
            [format!("{difference}{}", shared.group_suffix("euler")), shared.training_loss()]
        };
        let euler = ("euler", "Euler");
        let answers = run(PER_ANSWER, &[("standard", "standard, 2 heads"), euler]);
        assert_eq!(
            heading(&[answers.clone(), answers.clone()]),
            ["loss minus that of standard, 2 heads (nats per answer), Euler", "training loss (nats per answer)"]
        );
        let wider = run(PER_ANSWER, &[("standard", "standard, 4 heads"), euler]);
        assert_eq!(heading(&[answers.clone(), wider])[0], "loss minus that of standard (nats per answer), Euler");
        let other = run(PER_TOKEN, &[euler]);
        assert_eq!(
            heading(&[answers, other.clone()]),
            ["loss minus that of the first variant (nats), Euler", "training loss (nats)"]
        );
        assert_eq!(heading(&[other])[0], "loss minus that of Euler (nats)", "there is one group");
    }

    #[test]
    fn losses_of_other_tokens_are_not_compared_unsaid() {
        let (needed, prose) = (config("fast_slow", "fast_slow_needed", &[]), config("fast_slow", "fast_slow", &[]));
        assert_eq!(
            loss_note(&[&needed, &prose]).unwrap(),
            "These losses are not of the same tokens: A reads facts_symbols in words and counts answers only; B reads mixture in \
             bytes and counts every token."
        );
        let every = config("fast_slow", "fast_slow_needed", &[("corpus.answers_only", "false")]);
        let words = loss_note(&[&needed, &needed, &every]).unwrap();
        assert!(words.ends_with("A and B count answers only; C counts every token."), "{words}");
        let other = config("fast_slow", "fast_slow", &[("corpus.seed", "77")]);
        let words = loss_note(&[&prose, &other]).unwrap();
        assert!(words.ends_with("A reads mixture (seed 1); B reads mixture (seed 77)."), "{words}");
    }

    #[test]
    fn losses_of_the_same_tokens_need_no_words() {
        let prose = config("fast_slow", "fast_slow", &[]);
        let others = [("train.lr", "0.01"), ("seed", "9"), ("corpus.spacing", "40"), ("corpus.answers_only", "true")];
        assert_eq!(loss_note(&[&prose, &config("fast_slow", "fast_slow", &others)]), None, "prose has no spacing");
        assert_eq!(loss_note(&[&prose]), None);
        let foreign = Config::defaults(crate::telemetry::FOREIGN, &[]);
        assert_eq!(loss_note(&[&prose, &foreign]), None, "what another program reads is not known");
    }
}
