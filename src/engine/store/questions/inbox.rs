//! The program's side: questions that others put into the folder of a run, and the answers to them.

use std::{collections::BTreeSet, fs::File, time::SystemTime};

use serde_json::{Value as Json, json};

use super::MAX_QUESTION;
use crate::{
    files::{entries, read_all},
    store::{
        names::{ANSWER, ASK},
        prelude::*,
        record::{self, PROTOCOL},
    },
    telemetry::Args,
};

/// The largest number of names in `ask/` that are read.
const MAX_NAMES: usize = 1000;
/// The largest number of questions that one poll takes.
const MAX_QUESTIONS_PER_POLL: usize = 8;
/// The largest number of characters of a question's id.
const MAX_ID: usize = 64;
/// Seconds after which a question that states no time limit is no longer answered.
const MAX_WAIT_SECS: f64 = 86_400.0;
/// Seconds by which the clocks of two machines may differ.
const CLOCK_SECS: f64 = 60.0;

#[derive(Deserialize)]
struct QuestionIn {
    #[serde(default)]
    protocol: u32,
    ask: String,
    #[serde(default)]
    args: Args,
    #[serde(default)]
    wait: Json,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedQuestion {
    /// The name of its file, which the answer gets too.
    pub id: String,
    /// The protocol's name of the question.
    pub ask: String,
    /// The arguments, unchecked.
    pub args: Args,
}

/// The questions that are put to the program which writes a run folder.
#[derive(Debug)]
pub struct QuestionInbox {
    run: PathBuf,
    taken: BTreeSet<String>,
}

impl QuestionInbox {
    /// Makes the folders of questions and answers in a run folder, if they are not there.
    ///
    /// # Errors
    /// If the system refuses, or one of them is a link.
    pub fn open(run: &Path) -> Result<Self, StoreError> {
        [ASK, ANSWER].into_iter().try_for_each(|name| names::make_folder(run, name))?;
        Ok(Self { run: run.to_owned(), taken: BTreeSet::new() })
    }

    /// The new questions, the oldest first and some at a time; each is given once. A file that holds no question, or
    /// one whose time is over, is answered by a refusal at this step.
    ///
    /// # Errors
    /// If the folder of questions cannot be listed, or a refusal cannot be written.
    pub fn take(&mut self, step: u64) -> Result<Vec<ReceivedQuestion>, StoreError> {
        let path = self.run.join(ASK);
        let folder = folder_inside(&self.run, ASK).at("list", &path)?;
        let named = entries(&folder).at("list", &path)?;
        let ids = named.take(MAX_NAMES).filter_map(|entry| id_of(entry.file_name().to_str()?));
        let mut ids: Vec<String> = ids.filter(|id| !self.taken.contains(id)).collect();
        ids.sort();
        ids.truncate(MAX_QUESTIONS_PER_POLL);
        let mut questions = vec![];
        for id in ids {
            self.taken.insert(id.clone());
            if self.run.join(answer_path(&id)).symlink_metadata().is_ok() {
                continue;
            }
            match self.read(&id) {
                Ok(Some(question)) => questions.push(question),
                Ok(None) => {}
                Err(words) => self.answer(&id, step, Err(words))?,
            }
        }
        Ok(questions)
    }

    /// Answers a question in one sentence: what was done, or why it is refused.
    ///
    /// # Errors
    /// If the folder of answers is a link, or the system refuses.
    pub fn answer(&self, id: &str, step: u64, outcome: Result<String, String>) -> Result<(), StoreError> {
        names::make_folder(&self.run, ANSWER)?;
        let (state, words) = match outcome {
            Ok(words) => ("answered", words),
            Err(words) => ("refused", words),
        };
        let answer = json!({
            "protocol": PROTOCOL, "id": id, "state": state, "step": step, "at": record::local_timestamp(), "words": words,
        });
        let path = self.run.join(answer_path(id));
        files::replace(&path, answer.to_string().as_bytes()).at("write", &path)
    }

    /// A question; `None` if it was withdrawn meanwhile. The error is the reason for a refusal.
    fn read(&self, id: &str) -> Result<Option<ReceivedQuestion>, String> {
        let opened = open_inside(&self.run, Path::new(ASK).join(format!("{id}.json")));
        let read = |file: File| -> Result<(Vec<u8>, SystemTime), FileError> {
            let put = file.metadata()?.modified()?;
            Ok((read_all(file, MAX_QUESTION as u64)?, put))
        };
        let (bytes, put) = match opened.and_then(read) {
            Err(e) if e.is_missing() => return Ok(None),
            read => read.map_err(|e| format!("the question cannot be read: {e}"))?,
        };
        let QuestionIn { protocol, ask, args, wait } =
            serde_json::from_slice(&bytes).map_err(|e| format!("this is not a question: {e}"))?;
        if protocol > PROTOCOL {
            return Err(format!("the question is of protocol {protocol}, and this program knows {PROTOCOL}"));
        }
        let wait = wait.as_f64().filter(|wait| (0.0..MAX_WAIT_SECS).contains(wait)).unwrap_or(MAX_WAIT_SECS);
        // one from the future, by another clock, is new
        let age = put.elapsed().unwrap_or_default().as_secs_f64();
        if age > wait + CLOCK_SECS {
            return Err(format!("nobody waits for the answer any more: the question is {age:.0} s old"));
        }
        Ok(Some(ReceivedQuestion { id: id.to_owned(), ask, args }))
    }
}

fn answer_path(id: &str) -> PathBuf {
    Path::new(ANSWER).join(format!("{id}.json"))
}

/// The id of the question in a file of this name, if it is one.
fn id_of(name: &str) -> Option<String> {
    let id = name.strip_suffix(".json")?;
    let is_id = (1..=MAX_ID).contains(&id.len()) && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    is_id.then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::{
        super::{OpenQuestion, Reply},
        *,
    };
    use crate::{config::Value, telemetry::RunInfo};

    fn refusal(inbox: &mut QuestionInbox, name: &str, content: &str) -> String {
        fs::write(inbox.run.join(ASK).join(format!("{name}.json")), content).unwrap();
        assert!(inbox.take(3).unwrap().is_empty());
        let answer = fs::read(inbox.run.join(answer_path(name))).unwrap();
        let answer: Json = serde_json::from_slice(&answer).unwrap();
        assert_eq!((&answer["state"], &answer["step"]), (&json!("refused"), &json!(3)));
        answer["words"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_question_is_taken_once_and_its_answer_read() {
        let run = tempfile::tempdir().unwrap();
        let mut inbox = QuestionInbox::open(run.path()).unwrap();
        assert!(inbox.take(0).unwrap().is_empty());
        let args = Args::from([("factor".to_owned(), Value::Float(0.5))]);
        let put: Vec<OpenQuestion> =
            (0..2).map(|_| OpenQuestion::send(run.path(), "scale_lr", &args, None).unwrap()).collect();
        let taken = inbox.take(0).unwrap();
        let ids: Vec<&str> = taken.iter().map(|question| question.id.as_str()).collect();
        assert_eq!(ids, [&*put[0].id, &*put[1].id]);
        assert_eq!((taken[0].ask.as_str(), &taken[0].args), ("scale_lr", &args));
        assert!(inbox.take(0).unwrap().is_empty());
        inbox.answer(&put[0].id, 7, Ok("halved".to_owned())).unwrap();
        inbox.answer(&put[1].id, 7, Err("not now".to_owned())).unwrap();
        let info = RunInfo::default();
        let Some(Reply::Answered { words, sample }) = put[0].reply(&info).unwrap() else { panic!("no answer") };
        assert_eq!((words.as_str(), sample.step), ("halved", 7));
        assert_eq!(put[1].reply(&info).unwrap(), Some(Reply::Refused("not now".into())));
        // the next process of the same run does not answer a question again
        assert!(QuestionInbox::open(run.path()).unwrap().take(0).unwrap().is_empty());
    }

    #[test]
    fn invalid_question_files_are_refused_with_a_reason() {
        let run = tempfile::tempdir().unwrap();
        let mut inbox = QuestionInbox::open(run.path()).unwrap();
        assert!(refusal(&mut inbox, "a", "[1]").contains("this is not a question"));
        assert!(refusal(&mut inbox, "b", r#"{"ask":"save","protocol":9}"#).contains("protocol 9"));
        assert!(refusal(&mut inbox, "c", &" ".repeat(MAX_QUESTION + 1)).contains("cannot be read"));
        for name in [".hidden.json", "a b.json", "text.txt", ".json"] {
            fs::write(run.path().join(ASK).join(name), "{}").unwrap();
        }
        assert!(inbox.take(0).unwrap().is_empty());
        assert_eq!(fs::read_dir(run.path().join(ANSWER)).unwrap().count(), 3);
    }

    #[test]
    fn a_question_that_nobody_waits_for_is_refused() {
        let run = tempfile::tempdir().unwrap();
        let mut inbox = QuestionInbox::open(run.path()).unwrap();
        let put = |name: &str, age: u64| {
            let path = run.path().join(ASK).join(name);
            fs::write(&path, r#"{"ask":"save","wait":10}"#).unwrap();
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        };
        put("old.json", 100);
        put("new.json", 50);
        let taken = inbox.take(0).unwrap();
        assert_eq!(taken.iter().map(|question| question.id.as_str()).collect::<Vec<_>>(), ["new"]);
        let answer = fs::read_to_string(run.path().join(answer_path("old"))).unwrap();
        assert!(answer.contains("nobody waits"), "{answer}");
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed() {
        use std::os::unix::fs::symlink;
        let (run, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut inbox = QuestionInbox::open(run.path()).unwrap();
        let secret = elsewhere.path().join("secret.json");
        fs::write(&secret, r#"{"ask":"save"}"#).unwrap();
        symlink(&secret, run.path().join(ASK).join("a.json")).unwrap();
        assert!(inbox.take(0).unwrap().is_empty());
        assert!(fs::read_to_string(run.path().join(answer_path("a"))).unwrap().contains("it is a link"));
        fs::remove_dir_all(run.path().join(ASK)).unwrap();
        symlink(elsewhere.path(), run.path().join(ASK)).unwrap();
        assert!(inbox.take(0).unwrap_err().to_string().contains("it is a link"));
        assert!(QuestionInbox::open(run.path()).is_err());
    }
}
