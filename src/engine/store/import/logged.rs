//! Logs of other tools, as the same typed stream whatever the tool: settings, numbers and texts of runs.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value as Json;

use super::json::{MAX_SETTINGS_JSON, setting, without_lone_surrogates};
use crate::{
    config::{Value, counted},
    files::reading_budget,
    store::reader::MAX_CHANNELS,
    telemetry::{Level, RunState},
};

/// No log of numbers has more.
const MAX_SCALARS: u64 = 1 << 24;
/// The memory of a number: its own, half of it again during sorting, and the spare capacity of a growing list.
const BYTES_OF_A_SCALAR: u64 = 4 * size_of::<Scalar>() as u64;
/// Longer names are skipped.
pub(super) const MAX_NAME: usize = 256;
/// The largest number of channels of texts; the rest of [`MAX_CHANNELS`] is for numbers.
const MAX_TEXT_NAMES: usize = 1000;
const MAX_NUMBER_NAMES: usize = MAX_CHANNELS - MAX_TEXT_NAMES;
/// The largest number of settings of a run; further ones are left out.
const MAX_SETTINGS: usize = 1000;
/// Bytes of all settings of a source: `run.json` has at most 4 MiB, in which a character may take six.
const MAX_SETTING_BYTES: usize = 512 << 10;
/// Bytes of a text, and of all of a source.
pub(super) const MAX_TEXT: usize = 256 << 10;
const MAX_TEXTS: usize = 16 << 20;
/// The largest depth of nested settings; deeper ones are kept as text.
const MAX_DEPTH: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scalar {
    pub step: u64,
    /// Index of the channel.
    pub channel: u32,
    /// Index of the run.
    pub run: u32,
    /// Seconds since 1970; NaN where the log does not say.
    pub wall: f64,
    pub value: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    pub step: u64,
    pub run: usize,
    pub name: String,
    pub text: String,
}

/// The description of a run, without its numbers.
#[derive(Debug, Default)]
pub(super) struct LoggedRun {
    /// The name that distinguishes it from other runs of the same log.
    pub id: String,
    /// The name that the user gave the run; empty if there is none.
    pub name: String,
    pub settings: BTreeMap<String, Value>,
    /// The recorded end.
    pub end: Option<RunState>,
    last_step: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SkippedPart {
    NoNumber,
    NegativeStep,
    NoStep,
    LongName,
    Channels,
    Settings,
    Texts,
}

impl SkippedPart {
    fn sentence(self, n: u64) -> String {
        let values = counted(n as usize, "value");
        match self {
            Self::NoNumber => format!("{values} passed over that are not numbers (texts, media, lists)"),
            Self::NegativeStep => format!("{values} passed over whose steps are negative or not whole numbers"),
            Self::NoStep => format!("{values} passed over that have no step"),
            Self::LongName => format!("{values} passed over whose names are empty or longer than {MAX_NAME} bytes"),
            Self::Channels => {
                format!("{values} passed over: no log is read with more than {MAX_NUMBER_NAMES} channels")
            }
            Self::Settings => format!(
                "{n} settings left out: at most {MAX_SETTINGS} of a run are read, {} KiB of all, and of {} KiB of JSON each",
                MAX_SETTING_BYTES >> 10,
                MAX_SETTINGS_JSON >> 10
            ),
            Self::Texts => format!(
                "{n} texts left out: at most {MAX_TEXT_NAMES} names, {} KiB a text and {} MiB of all are read",
                MAX_TEXT >> 10,
                MAX_TEXTS >> 20
            ),
        }
    }
}

/// Collects what the readers of logs find, up to fixed limits.
#[derive(Default)]
pub(super) struct Logged {
    pub runs: Vec<LoggedRun>,
    pub channels: Vec<String>,
    pub scalars: Vec<Scalar>,
    pub texts: Vec<Text>,
    /// Sentences that name what is damaged or skipped.
    pub notices: Vec<(Level, String)>,
    by_name: HashMap<String, u32>,
    skipped: BTreeMap<SkippedPart, u64>,
    max: u64,
    text_names: HashSet<String>,
    bytes_of_texts: usize,
    bytes_of_settings: usize,
    /// Numbers whose steps are below one that came before in their run.
    backwards: u64,
}

/// The error for a log with more numbers than are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it has more than {max} numbers, the most that are read of a log: give the folder of one run")]
pub(super) struct TooManyNumbers {
    pub max: u64,
}

impl Logged {
    pub fn new() -> Self {
        Self { max: MAX_SCALARS.min(reading_budget() / BYTES_OF_A_SCALAR), ..Self::default() }
    }

    /// The index of the run with this id; it is added if it is not there.
    pub fn run(&mut self, id: &str) -> usize {
        self.runs.iter().position(|run| run.id == id).unwrap_or_else(|| {
            self.runs.push(LoggedRun { id: id.to_owned(), ..LoggedRun::default() });
            self.runs.len() - 1
        })
    }

    /// Adds a warning that something is damaged or left out.
    pub fn warn(&mut self, words: String) {
        self.notices.push((Level::Warning, words));
    }

    /// Adds a notice about something that is in order.
    pub fn note(&mut self, words: String) {
        self.notices.push((Level::Info, words));
    }

    /// Counts a value that was skipped.
    pub fn skip(&mut self, what: SkippedPart) {
        *self.skipped.entry(what).or_default() += 1;
    }

    /// Takes a number; `wall` is in seconds since 1970, NaN if it is not known.
    ///
    /// # Errors
    /// If there are more numbers than are read.
    pub fn scalar(&mut self, run: usize, name: &str, at: LoggedAt, value: f64) -> Result<(), TooManyNumbers> {
        let Ok(step) = u64::try_from(at.step) else {
            self.skip(SkippedPart::NegativeStep);
            return Ok(());
        };
        let channel = match self.by_name.get(name) {
            Some(channel) => *channel,
            None if name.len() > MAX_NAME || name.is_empty() => {
                self.skip(SkippedPart::LongName);
                return Ok(());
            }
            None if self.channels.len() >= MAX_NUMBER_NAMES => {
                self.skip(SkippedPart::Channels);
                return Ok(());
            }
            None => {
                let channel = self.channels.len() as u32;
                self.channels.push(name.to_owned());
                self.by_name.insert(name.to_owned(), channel);
                channel
            }
        };
        ensure!((self.scalars.len() as u64) < self.max, TooManyNumbers { max: self.max });
        if let Some(run) = self.runs.get_mut(run) {
            self.backwards += u64::from(step < run.last_step);
            run.last_step = run.last_step.max(step);
        }
        self.scalars.push(Scalar { step, channel, run: run as u32, wall: at.wall, value });
        Ok(())
    }

    /// Adds a logged value, which is a number at a step, if the log has one. Anything else is skipped.
    pub fn value(
        &mut self,
        run: usize,
        name: &str,
        at: Option<LoggedAt>,
        value: Option<f64>,
    ) -> Result<(), TooManyNumbers> {
        match (at, value) {
            (Some(at), Some(value)) => return self.scalar(run, name, at, value),
            (None, Some(_)) => self.skip(SkippedPart::NoStep),
            (_, None) => self.skip(SkippedPart::NoNumber),
        }
        Ok(())
    }

    /// Takes a text.
    pub fn text(&mut self, run: usize, name: &str, step: i64, text: String) {
        let Ok(step) = u64::try_from(step) else { return self.skip(SkippedPart::NegativeStep) };
        if name.len() > MAX_NAME {
            return self.skip(SkippedPart::LongName);
        }
        let is_new = !self.text_names.contains(name);
        if text.len() > MAX_TEXT
            || self.bytes_of_texts + text.len() + size_of::<Text>() > MAX_TEXTS
            || is_new && self.text_names.len() >= MAX_TEXT_NAMES
        {
            return self.skip(SkippedPart::Texts);
        }
        self.bytes_of_texts += text.len() + size_of::<Text>();
        if is_new {
            self.text_names.insert(name.to_owned());
        }
        self.texts.push(Text { step, run, name: name.to_owned(), text });
    }

    /// Parses the JSON of settings, and takes what is not JSON as a text; `None` where it is longer than is read.
    pub fn parse_settings(&mut self, json: &str) -> Option<Json> {
        if json.len() > MAX_SETTINGS_JSON {
            self.skip(SkippedPart::Settings);
            return None;
        }
        Some(serde_json::from_str(&without_lone_surrogates(json)).unwrap_or_else(|_| json.into()))
    }

    /// Takes a setting; each key of an object becomes a setting of its own, with dots between the names.
    pub fn setting(&mut self, run: usize, key: &str, value: &Json) {
        self.setting_at(run, key, value, 0);
    }

    fn setting_at(&mut self, run: usize, key: &str, value: &Json, depth: usize) {
        // before it is copied for each of its fields, or counted
        if key.len() > MAX_NAME {
            return self.skip(SkippedPart::Settings);
        }
        if let Json::Object(fields) = value
            && depth < MAX_DEPTH
        {
            fields.iter().for_each(|(name, value)| self.setting_at(run, &format!("{key}.{name}"), value, depth + 1));
            return;
        }
        // a key without a group is in `config`, as orrery-log writes it
        let key = if key.contains('.') { key.to_owned() } else { format!("config.{key}") };
        let Some(LoggedRun { id, settings, .. }) = self.runs.get_mut(run) else { return };
        let value = setting(value);
        self.bytes_of_settings += id.len() + key.len() + if let Value::Text(text) = &value { text.len() } else { 8 };
        if key.len() > MAX_NAME
            || self.bytes_of_settings > MAX_SETTING_BYTES
            || settings.len() >= MAX_SETTINGS && !settings.contains_key(&key)
        {
            return self.skip(SkippedPart::Settings);
        }
        settings.insert(key, value);
    }

    /// Sorts the numbers by step; if a channel has several at one step, the last counts. Adds a warning about skipped
    /// values.
    pub fn finish(&mut self) {
        // within a step the order of logging is kept
        self.scalars.sort_by_key(|s| (s.step, s.run, s.channel));
        let before = self.scalars.len();
        self.scalars.dedup_by(|later, kept| {
            let is_again = (later.step, later.run, later.channel) == (kept.step, kept.run, kept.channel);
            if is_again {
                *kept = *later;
            }
            is_again
        });
        self.texts.sort_by_key(|text| text.step);
        for (what, n) in std::mem::take(&mut self.skipped) {
            // texts and media are not numbers, as they should be
            let level = if what == SkippedPart::NoNumber { Level::Info } else { Level::Warning };
            self.notices.push((level, what.sentence(n)));
        }
        if self.backwards > 0 {
            let values = counted(self.backwards as usize, "value");
            self.note(format!("{values} logged after later steps: put in order"));
        }
        match before - self.scalars.len() {
            0 => {}
            n => {
                let values = counted(n, "value");
                self.note(format!("{values} logged again at the same step: the last of each counts"));
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LoggedAt {
    pub step: i64,
    /// Seconds since 1970; NaN where the log does not say.
    pub wall: f64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_sorted_and_odd_values_are_reported() {
        let mut logged = Logged::new();
        let run = logged.run("a");
        assert_eq!((logged.run("b"), logged.run("a")), (1, run));
        let mut put = |step: i64, name: &str, value: f64| {
            logged.scalar(run, name, LoggedAt { step, wall: f64::NAN }, value).unwrap();
        };
        put(2, "loss", 2.0);
        put(1, "loss", 1.0);
        put(2, "loss", f64::INFINITY);
        put(-1, "loss", 0.0);
        put(3, &"x".repeat(300), 0.0);
        logged.finish();
        let all: Vec<(u64, f64)> = logged.scalars.iter().map(|s| (s.step, s.value)).collect();
        assert_eq!(all, [(1, 1.0), (2, f64::INFINITY)]);
        let said = logged.notices.iter().map(|(_, words)| words.as_str()).collect::<Vec<_>>().join("\n");
        for words in ["1 value passed over whose steps", "longer than 256 bytes", "1 value logged after later steps"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(said.contains("logged again at the same step"), "{said}");
    }

    #[test]
    fn numbers_beyond_the_bound_are_refused() {
        let mut logged = Logged { max: 2, ..Logged::new() };
        let run = logged.run("a");
        let mut put = |step| logged.scalar(run, "loss", LoggedAt { step, wall: 0.0 }, 1.0);
        assert_eq!([put(1), put(2), put(3)], [Ok(()), Ok(()), Err(TooManyNumbers { max: 2 })]);
    }

    #[test]
    fn settings_have_dotted_keys_and_plain_values() {
        let mut logged = Logged::new();
        let run = logged.run("a");
        let value = json!({"lr": 0.1, "model": {"layers": 2, "betas": [0.9, 0.99]}, "amp": true, "big": u64::MAX, "none": null});
        value.as_object().unwrap().iter().for_each(|(key, value)| logged.setting(run, key, value));
        let all: Vec<String> = logged.runs[run].settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let expected = [
            "config.amp=true",
            "config.big=18446744073709552000",
            "config.lr=0.1",
            "config.none=null",
            "model.betas=[0.9,0.99]",
            "model.layers=2",
        ];
        assert_eq!(all, expected);
    }
}
