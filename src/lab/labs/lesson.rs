//! A lab's lesson as data: the page of text, and its steps, each with what it sets, what to expect and how it is
//! checked. The text is Markdown; a step is a heading of the third rank, then a block of TOML between fences, then its
//! words. The text after a line `<!-- answer -->` is shown once the reader has guessed.
//!
//! ```toml
//! preset = "fast_slow_needed"     # replaces all settings but opened files with what fits them; without one they stay
//! set = { "train.steps" = 200 }   # settings on top of it; those that act in views wait for the reader's guess
//! view = "gate"                   # the view to bring to the front
//! scrub = 63                      # the step to look at, once there is one and the reader has guessed
//! token = 12                      # what is selected in all views: token, neuron
//! controls = ["train.lr"]         # controls it needs besides those it sets
//! random_weights = true           # its words are about the model of the preset: it judges no checkpoint that is open
//! command = "run fast_slow_needed" # makes the stated numbers again: `orrery run fast_slow_needed`, or `orrery ask ..`
//! slow = true                     # not tested with every change
//!
//! [predict]
//! ask = "Where will tanh \u03b3 be after 200 steps?"
//! chart = "gate"                  # the chart to draw the guess on, with the axes' least ends
//! x = [0, 200]
//! y = [-0.3, 0.3]
//! by_eye = "compare the two bars" # what to look at where no check judges the guess: a step has one or the other
//!
//! [[check]]
//! says = "the gate opened"
//! channel = "gate/tanh"           # a measurement's channel with an entry
//! variant = "coupled"             # minus: the variant whose value is taken off; minus_entry: the entry
//! apart = 0.01                    # above, below, apart (from zero): at least one
//! by = 100                        # or at = 100, or neither: the newest
//! measures = "tanh \u03b3"            # what its number is, which is printed after the sentence
//! gives = { step = 20, steps_within = 5, value = -0.2, value_within = 0.05 }
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    Lab, RunSettings, TrainSettings, corpus::CorpusSettings, grammar_roles::settings::GrammarSettings,
    restrictions::Restrictions,
};
use crate::config::{Config, ConfigError, FileKind, Knob, Value};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lesson {
    /// The text before the steps, its heading first.
    pub before: String,
    pub steps: Vec<LessonStep>,
    /// The text after the steps.
    pub after: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LessonStep {
    pub title: String,
    pub text: String,
    /// The part of the text that tells the answer to the step's question.
    pub answer: String,
    pub does: StepActions,
}

/// The settings and checks of a step.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StepActions {
    pub preset: Option<String>,
    pub set: BTreeMap<String, toml::Value>,
    pub view: Option<String>,
    pub scrub: Option<u64>,
    pub token: Option<usize>,
    pub neuron: Option<u32>,
    pub controls: Vec<String>,
    /// The text is about a model of random weights, such as the preset has until a checkpoint is opened.
    pub random_weights: bool,
    pub command: Option<String>,
    pub slow: bool,
    pub predict: Option<Predict>,
    pub check: Vec<Check>,
}

/// A guess that is asked for before the result is seen.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predict {
    pub ask: String,
    /// The chart that a guess may be drawn on, by its name.
    pub chart: Option<String>,
    /// The range that its axes show at least.
    pub x: Option<[f64; 2]>,
    pub y: Option<[f64; 2]>,
    /// Where no check judges the guess, the end of a sentence that tells where to look: "compare the two bars".
    pub by_eye: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Check {
    /// The sentence that is true when it holds: "the gate opened".
    pub says: String,
    pub channel: String,
    /// The id of the variant; `None` is the first.
    pub variant: Option<String>,
    /// The variant whose value is subtracted.
    pub minus: Option<String>,
    /// JSON pointer into a measurement: `/accuracy/3`.
    pub entry: Option<String>,
    /// JSON pointer to the number that is subtracted from that of `entry`.
    pub minus_entry: Option<String>,
    pub above: Option<f64>,
    pub below: Option<f64>,
    pub apart: Option<f64>,
    /// The step whose value decides the check.
    pub at: Option<u64>,
    /// Judged by the first step at which it holds, up to this one.
    pub by: Option<u64>,
    /// The name of the number that decides it: "tanh γ".
    pub measures: Option<String>,
    pub gives: Option<CommandResult>,
}

/// The number that the command gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommandResult {
    pub step: Option<u64>,
    pub steps_within: u64,
    pub value: Option<f64>,
    pub value_within: f64,
}

impl Check {
    /// True if a value fulfils the condition.
    pub fn holds(&self, value: f64) -> bool {
        self.above.is_none_or(|v| value > v)
            && self.below.is_none_or(|v| value < v)
            && self.apart.is_none_or(|v| value.abs() > v)
    }

    /// Its sentence with the number that decides it: "the gate opened at step 63 (tanh γ: -0.1017)". Only a check that is
    /// judged by the first step at which it holds says when that was; of any other the step is that of the number.
    pub fn sentence(&self, step: Option<u64>, value: Option<&str>) -> String {
        let at = step.map(|step| format!(" at step {step}")).unwrap_or_default();
        let (says, name) = (&self.says, self.measures.as_deref().unwrap_or("measured"));
        match value {
            None => format!("{says}{at}"),
            Some(value) if self.by.is_some() => format!("{says}{at} ({name}: {value})"),
            Some(value) => format!("{says} ({name}{at}: {value})"),
        }
    }

    /// The condition as text: "above 0.01".
    pub fn condition_text(&self) -> String {
        let parts = [("above", self.above), ("below", self.below), ("further from 0 than", self.apart)];
        let words: Vec<String> = parts.iter().filter_map(|(w, v)| v.map(|v| format!("{w} {v}"))).collect();
        words.join(" and ")
    }
}

impl StepActions {
    /// The settings with which the step begins. A preset replaces those of the user, except for device, threads and
    /// opened files; without a preset they stay. The settings that the step names are put on top. Errors: there is no
    /// such preset or setting, or it cannot be so.
    pub fn settings(&self, lab: &Lab, user: &Config) -> Result<Config, ConfigError> {
        let knobs = (lab.knobs)();
        let mut config = match &self.preset {
            Some(preset) => lab.config(Some(preset))?,
            None => user.clone(),
        };
        for key in preserved_keys(&knobs, user) {
            if let Some(value) = user.get(key) {
                config.set(&knobs, key, value.clone())?;
            }
        }
        self.apply_to(&mut config, &knobs)?;
        Ok(config)
    }

    /// Puts its settings into a config. Errors: there is no such setting, or it cannot be so.
    pub fn apply_to(&self, config: &mut Config, knobs: &[Knob]) -> Result<(), ConfigError> {
        let text = |value: &toml::Value| Value::from_toml(value.clone()).to_string();
        self.set.iter().try_for_each(|(key, value)| config.set_text(knobs, key, &text(value)))
    }

    /// The keys of the controls that it needs.
    pub fn needed_controls(&self) -> impl Iterator<Item = &str> {
        self.set.keys().chain(&self.controls).map(String::as_str)
    }
}

/// The user's settings that no preset of a step replaces: device, threads, opened files, the tokens in which a model or
/// a list of tokens is read, and how a treebank is read: tags, vocabulary, and the window, since longer sentences are left
/// out.
fn preserved_keys<'k>(knobs: &'k [Knob], user: &Config) -> Vec<&'k str> {
    let is_named = |key: &str| user.get(key).is_some_and(|path| !path.to_string().trim().is_empty());
    let files: Vec<&Knob> = knobs.iter().filter(|k| k.file_kind().is_some() && is_named(k.key)).collect();
    let has = |kinds: &[FileKind]| files.iter().any(|k| k.file_kind().is_some_and(|kind| kinds.contains(&kind)));
    let mut own = vec![RunSettings::device.name, RunSettings::threads.name];
    if has(&[FileKind::Checkpoint, FileKind::Tokenizer, FileKind::Vocabulary]) {
        own.push(CorpusSettings::tokenizer.name);
    }
    if has(&[FileKind::Treebank]) {
        own.extend([GrammarSettings::tags.name, GrammarSettings::words.name, GrammarSettings::lowercase.name]);
        own.push(TrainSettings::window.name);
    }
    let own = knobs.iter().map(|k| k.key).filter(|key| own.contains(key));
    own.chain(files.iter().map(|k| k.key)).collect()
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("assets/lessons/{lab}.md, step {step} \u{201c}{title}\u{201d}: {why}")]
pub struct LessonError {
    lab: String,
    step: usize,
    title: String,
    why: String,
}

const FENCE: &str = "```";

/// Stands before the part of a step's text that tells its answer.
const ANSWER: &str = "<!-- answer -->";

impl Lesson {
    /// The text before the first section: what the lab is about. Sections say what there is to see and to do in the window.
    pub fn opening(&self) -> &str {
        self.before.split("\n## ").next().unwrap_or_default()
    }

    /// Reads the lesson of a lab. Errors: a step has no block of TOML, or one with an unknown key or a wrong type; the
    /// message names file, step and key.
    pub fn parse(lab: &str, text: &str) -> Result<Self, LessonError> {
        let mut lesson = Self::default();
        let mut rest = text;
        let is_step = |line: &str| line.starts_with("### ");
        lesson.before = take_lines_until(&mut rest, is_step);
        while let Some(line) = rest.lines().next().filter(|line| is_step(line)) {
            let title = line.trim_start_matches('#').trim().to_owned();
            rest = rest[line.len()..].trim_start_matches('\n');
            let step = lesson.steps.len() + 1;
            let refused =
                |why: &str| LessonError { lab: lab.to_owned(), step, title: title.clone(), why: why.to_owned() };
            let Some(block) = rest.strip_prefix("```toml\n") else {
                return Err(refused("a step begins with a block of TOML between ```toml and ```"));
            };
            let Some(end) = block.find(FENCE) else {
                return Err(refused("the block of TOML does not end with ```"));
            };
            let does = toml::from_str(&block[..end]).map_err(|e| refused(&e.to_string()))?;
            rest = &block[end + FENCE.len()..];
            let text = take_lines_until(&mut rest, |line| is_step(line) || line.starts_with("## "));
            let (text, answer) = text.split_once(ANSWER).unwrap_or((&text, ""));
            let [text, answer] = [text, answer].map(|part| part.trim().to_owned());
            lesson.steps.push(LessonStep { title, text, answer, does });
        }
        lesson.after = rest.to_owned();
        Ok(lesson)
    }
}

/// Takes the lines before the first that is wanted.
fn take_lines_until(rest: &mut &str, is_wanted: impl Fn(&str) -> bool) -> String {
    let lines = rest.split_inclusive('\n').take_while(|line| !is_wanted(line.trim_end()));
    let taken: usize = lines.map(str::len).sum();
    let (before, after) = rest.split_at(taken);
    *rest = after;
    before.to_owned()
}

/// A link to a step of a lab's lesson: `orrery:fast_slow?lesson=2`, with restrictions `orrery:fast_slow?lesson=2&lock=train`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonLink {
    pub lab: String,
    /// Number of the step, from 1.
    pub step: usize,
    pub restrictions: Restrictions,
}

/// The prefix of every link.
pub const LINK: &str = "orrery:";

impl LessonLink {
    /// The link to a step, from 1, without restrictions.
    pub fn new(lab: &str, step: usize) -> Self {
        Self { lab: lab.to_owned(), step, restrictions: Restrictions::default() }
    }

    /// Reads a link; `None` if the text is not a link, an error in words if the link is broken. Its lab and the names
    /// of its restrictions are not looked up.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let body = text.trim().strip_prefix(LINK)?;
        let written =
            "one is written orrery:LAB?lesson=NUMBER, and may end in &lock=KEYS, &hide=KEYS and &answers=hidden";
        let broken = |why: String| format!("`{}` is not a link to a lesson{why}; {written}", text.trim());
        Some(Self::read(body).map_err(broken))
    }

    /// Reads the part after `orrery:`. The error says what is wrong with a restriction, and is empty for the rest.
    fn read(body: &str) -> Result<Self, String> {
        let (lab, rest) = body.split_once("?lesson=").filter(|(lab, _)| !lab.is_empty()).ok_or("")?;
        let mut parts = rest.split('&');
        let step = parts.next().and_then(|step| step.parse().ok()).filter(|step| *step > 0).ok_or("")?;
        let mut link = Self::new(lab, step);
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match link.restrictions.set_pair(name, value) {
                Ok(true) => {}
                Ok(false) => return Err(format!(": it has an unknown part `{part}`")),
                Err(words) => return Err(format!(": {words}")),
            }
        }
        Ok(link)
    }
}

impl std::fmt::Display for LessonLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{LINK}{}?lesson={}", self.lab, self.step)?;
        self.restrictions.pairs().iter().try_for_each(|(name, value)| write!(f, "&{name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Title\n\nBefore.\n\n## Five minutes\n\n### One\n\n```toml\npreset = \"p\"\nset = { \"a.b\" = 2 }\n\n\
                        [[check]]\nsays = \"it rose\"\nchannel = \"x\"\nabove = 0.5\nby = 20\ngives = { step = 7 }\n```\n\n\
                        Words of one.\n\n### Two\n\n```toml\nview = \"v\"\n```\n\nWords of two.\n\n## After\n\nEnd.\n";

    #[test]
    fn a_lesson_is_text_steps_and_text() {
        let lesson = Lesson::parse("x", TEXT).unwrap();
        assert!(lesson.before.ends_with("## Five minutes\n\n") && lesson.after.starts_with("## After"));
        let [one, two] = lesson.steps.as_slice() else { panic!("two steps") };
        assert_eq!(
            (one.title.as_str(), one.text.as_str(), two.text.as_str()),
            ("One", "Words of one.", "Words of two.")
        );
        assert_eq!(one.does.needed_controls().collect::<Vec<_>>(), ["a.b"]);
        let check = &one.does.check[0];
        assert!(check.holds(0.6) && !check.holds(0.5) && check.gives.unwrap().step == Some(7));
        assert_eq!(lesson.opening().trim_end(), "# Title\n\nBefore.");
        assert_eq!(Lesson::parse("x", "# Only text\n").unwrap().steps, []);
    }

    /// Otherwise the step of the number would seem to belong to the sentence: "whatever their size at step 0".
    #[test]
    fn a_number_stands_with_its_name_and_step() {
        let measures = Some("tanh \u{3b3}".into());
        let check = Check { says: "the gate opened".into(), measures, by: Some(150), ..Check::default() };
        assert_eq!(check.sentence(Some(63), Some("-0.1")), "the gate opened at step 63 (tanh \u{3b3}: -0.1)");
        assert_eq!(check.sentence(Some(63), None), "the gate opened at step 63");
        let newest = Check { says: "the sum is 1".into(), measures: Some("sum less 1".into()), ..Check::default() };
        assert_eq!(newest.sentence(Some(0), Some("2e-15")), "the sum is 1 (sum less 1 at step 0: 2e-15)");
        assert_eq!(newest.sentence(None, Some("2e-15")), "the sum is 1 (sum less 1: 2e-15)");
        let unnamed = Check { at: Some(60), measures: None, ..newest };
        assert_eq!(unnamed.sentence(Some(60), Some("0")), "the sum is 1 (measured at step 60: 0)");
    }

    #[test]
    fn an_answer_stands_apart_from_the_text() {
        let lesson =
            Lesson::parse("x", &TEXT.replace("Words of one.", "Do it.\n\n<!-- answer -->\n\nIt rose.")).unwrap();
        assert_eq!((lesson.steps[0].text.as_str(), lesson.steps[0].answer.as_str()), ("Do it.", "It rose."));
        assert_eq!(lesson.steps[1].answer, "");
    }

    #[test]
    fn a_step_keeps_opened_files_and_what_it_does_not_name() {
        let lab = crate::labs::find("fast_slow").unwrap();
        let knobs = (lab.knobs)();
        let mut user = lab.config(Some("fast_slow")).unwrap();
        for (key, value) in [("corpus.file", "mine.txt"), ("train.lr", "0.002"), ("run.threads", "3")] {
            user.set_text(&knobs, key, value).unwrap();
        }
        let get = |config: &Config, key: &str| config.get(key).unwrap().to_string();
        let without = StepActions { set: BTreeMap::from([("train.steps".into(), 7.into())]), ..StepActions::default() };
        let config = without.settings(lab, &user).unwrap();
        assert_eq!(config.changed_keys(&user), ["train.steps"]);
        let with = StepActions { preset: Some("fast_slow_needed".into()), ..StepActions::default() };
        let config = with.settings(lab, &user).unwrap();
        let preset = lab.config(Some("fast_slow_needed")).unwrap();
        assert_eq!(get(&config, "train.lr"), get(&preset, "train.lr"));
        assert_eq!((get(&config, "corpus.file"), get(&config, "run.threads")), ("mine.txt".into(), "3".into()));
        let own = StepActions { set: BTreeMap::from([("corpus.file".into(), "".into())]), ..with };
        assert_eq!(get(&own.settings(lab, &user).unwrap(), "corpus.file"), "", "the step itself sets it");
    }

    #[test]
    fn a_step_keeps_how_an_opened_treebank_is_read() {
        let lab = crate::labs::find("grammar_roles").unwrap();
        let knobs = (lab.knobs)();
        let step = StepActions { preset: Some("grammar_roles".into()), ..StepActions::default() };
        let fits = [
            ("grammar.lowercase", "false"),
            ("grammar.tags", "deprel"),
            ("grammar.words", "1500"),
            ("train.window", "40"),
        ];
        for (file, kept) in [("own.conllu", &fits[..]), ("", &fits[..0])] {
            let mut user = lab.config(Some("grammar_roles_hebbian")).unwrap();
            for (key, value) in fits.into_iter().chain([("grammar.treebank", file)]) {
                user.set_text(&knobs, key, value).unwrap();
            }
            let mut changed = step.settings(lab, &user).unwrap().changed_keys(&lab.config(None).unwrap());
            changed.retain(|key| key != "grammar.treebank");
            assert_eq!(changed, kept.iter().map(|(key, _)| *key).collect::<Vec<_>>(), "with {file:?}");
        }
    }

    #[test]
    fn an_error_names_file_step_and_key() {
        let words = |text: &str| Lesson::parse("x", text).unwrap_err().to_string();
        let unknown = words(&TEXT.replace("view =", "veiw ="));
        assert!(
            unknown.contains("assets/lessons/x.md, step 2 \u{201c}Two\u{201d}") && unknown.contains("veiw"),
            "{unknown}"
        );
        assert!(words(&TEXT.replace("above = 0.5", "above = true")).contains("above"));
        assert!(words("### One\n\nNo block.\n").contains("begins with a block"));
        assert!(words("### One\n```toml\nview = \"v\"\n").contains("does not end"));
    }

    #[test]
    fn a_link_says_lab_and_step() {
        let link = LessonLink::new("fast_slow", 2);
        assert_eq!(LessonLink::parse(" orrery:fast_slow?lesson=2\n"), Some(Ok(link.clone())));
        assert_eq!(LessonLink::parse(&link.to_string()), Some(Ok(link)));
        let locked = "orrery:fast_slow?lesson=2&lock=train,model.pool&hide=run&answers=hidden";
        assert_eq!(LessonLink::parse(locked).unwrap().unwrap().to_string(), locked);
        let words = LessonLink::parse("orrery:fast_slow?lesson=2&answers=no").unwrap().unwrap_err();
        assert!(words.contains("`answers` = `no`"), "{words}");
        assert_eq!(LessonLink::parse("orrery1:abc"), None);
        for broken in
            ["orrery:x", "orrery:x?lesson=0", "orrery:?lesson=1", "orrery:x?lesson=two", "orrery:x?lesson=1&a=b"]
        {
            assert!(LessonLink::parse(broken).unwrap().unwrap_err().contains("orrery:LAB?lesson="), "{broken}");
        }
    }
}
