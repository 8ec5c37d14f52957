//! Questions to the program that writes a run folder: files in `ask/`, which it answers by files in `answer/`
//! (docs/protocol.md). A question is removed by the program that asked it, once it is answered or its time is over.

mod answer;
mod inbox;

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    io::Write,
    time::Duration,
};

use serde_json::{Value as Json, json};

use self::answer::{AnswerRecord, Outcome, json_memory, shortened};
pub use self::inbox::{QuestionInbox, ReceivedQuestion};
use super::{
    names::{ANSWER, ASK},
    prelude::*,
    record::{self, PROTOCOL},
    tensors,
};
use crate::{
    files::{create_new_inside, make_folder_inside, read_all, remove_file_inside, rename_inside},
    nn::host,
    telemetry::{Args, Array, Payload},
};

/// The largest number of bytes of a question; a program reads no more.
const MAX_QUESTION: usize = 64 << 10;
/// Bytes of an answer, and of the tensors beside it.
pub const MAX_ANSWER: u64 = 64 << 20;
/// The limit for the names and shapes of those tensors: parsed, they take twenty times the memory of their text.
const MAX_HEADER: u64 = 1 << 20;
/// Bytes of memory that a value of them takes on its way to JSON: as its number, in bytes that grow, and as text.
const MAX_VALUE_MEMORY: u64 = 24;

#[derive(Serialize)]
struct QuestionOut<'a> {
    protocol: u32,
    ask: &'a str,
    args: &'a Args,
    at: String,
    /// Seconds after which the answer is no longer needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait: Option<u64>,
}

/// The program's reply to a question.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum Reply {
    /// The program refused, for this reason.
    Refused(String),
    /// The program answered: the result in a sentence, which may be empty, and as a measurement. If the program gave only
    /// text, that is in the channel `answer/NAME`, and tensors beside the answer are arrays there.
    Answered { words: String, sample: Sample },
}

/// A question that was put to the program that writes a run folder.
#[derive(Debug, Clone)]
pub struct OpenQuestion {
    run: PathBuf,
    /// Distinguishes it from every other question: digits and letters.
    pub id: String,
    /// The name under which the question was asked.
    pub ask: String,
}

/// A question that is composed but not yet sent.
#[derive(Debug, Clone)]
pub struct ComposedQuestion {
    /// Reads the answer after the question was sent.
    pub open: OpenQuestion,
    /// The content of its file: one line of JSON.
    pub text: Vec<u8>,
}

impl ComposedQuestion {
    /// Composes the question that the protocol calls `ask`, for the program that writes the run folder `run`. If `patience`
    /// is known, the question says how long its answer is waited for.
    ///
    /// # Errors
    /// If it is longer than a program reads.
    pub fn new(run: &Path, ask: &str, args: &Args, patience: Option<Duration>) -> Result<Self, StoreError> {
        let wait = patience.map(|patience| patience.as_secs_f64().ceil() as u64);
        let question = QuestionOut { protocol: PROTOCOL, ask, args, at: record::local_timestamp(), wait };
        let text = serde_json::to_vec(&question)
            .map_err(|e| StoreError::with_source(format!("the question `{ask}` cannot be written: {e}"), e))?;
        // over `ssh` the file ends its line
        let bytes = text.len() + 1;
        if bytes > MAX_QUESTION {
            return Err(StoreError::new(format!(
                "the question has {bytes} bytes, and a program reads at most {MAX_QUESTION}: shorten its text"
            )));
        }
        Ok(Self { open: OpenQuestion { run: run.to_owned(), id: new_id(), ask: ask.to_owned() }, text })
    }
}

impl OpenQuestion {
    /// Asks the program that writes the run in this folder a question, as [`ComposedQuestion::new`] composes it.
    ///
    /// # Errors
    /// If the folder takes no questions, the question is longer than a program reads, or the system refuses.
    pub fn send(run: &Path, ask: &str, args: &Args, patience: Option<Duration>) -> Result<Self, StoreError> {
        match folder_inside(run, ASK) {
            Err(e) if e.is_missing() => return Err(StoreError::new(no_program_message(run))),
            found => drop(found.at("ask in", &run.join(ASK))?),
        }
        let ComposedQuestion { open: asked, text } = ComposedQuestion::new(run, ask, args, patience)?;
        let hidden = Path::new(ASK).join(format!(".{}.json", asked.id));
        let write = || -> Result<(), FileError> {
            create_new_inside(run, &hidden)?.write_all(&text)?;
            rename_inside(run, &hidden, asked.path(ASK, "json"))
        };
        let written = write();
        if written.is_err() {
            // a leftover file is hidden, and no program reads it
            let _ = remove_file_inside(run, &hidden);
        }
        written.at("write", &run.join(asked.path(ASK, "json")))?;
        Ok(asked)
    }

    /// The program's reply, once it has arrived; `info` describes the run.
    ///
    /// # Errors
    /// If the file is not an answer to this question, or too large.
    pub fn reply(&self, info: &RunInfo) -> Result<Option<Reply>, StoreError> {
        let Some((path, bytes)) = self.answer_file("json", 1)? else { return Ok(None) };
        let wrong = |words: &dyn std::fmt::Display| {
            StoreError::new(format!("`{}` is not an answer to this question: {words}", path.display()))
        };
        check_memory(json_memory(&bytes)).map_err(|e| wrong(&e))?;
        let answer: AnswerRecord = serde_json::from_slice(&bytes).map_err(|e| wrong(&e))?;
        if answer.protocol > PROTOCOL {
            let words =
                format!("it is of version {} of the protocol, and this Orrery reads up to {PROTOCOL}", answer.protocol);
            return Err(wrong(&words));
        }
        ensure!(answer.id == self.id, wrong(&format!("it answers `{}`", shortened(&answer.id))));
        if answer.state == Outcome::Refused {
            return Ok(Some(Reply::Refused(answer.words)));
        }
        let sample = match answer.sample {
            Some(sample) => sample.read(info).map_err(|e| wrong(&e))?,
            None => {
                let payload = self.tensors()?.unwrap_or_else(|| json!({ "kind": "text", "text": answer.words }));
                Sample {
                    step: answer.step,
                    variant: 0,
                    channel: format!("{ANSWER}/{}", self.ask).as_str().into(),
                    about: String::new(),
                    tokens: vec![],
                    request: None,
                    payload: Arc::new(Payload::Unknown(payload)),
                }
            }
        };
        Ok(Some(Reply::Answered { words: answer.words, sample }))
    }

    /// Writes a file of the answer that came over a connection to where [`OpenQuestion::reply`] looks for it; `extension` is
    /// `json` or `safetensors`.
    ///
    /// # Errors
    /// If the folder of answers is a link, or the system refuses.
    pub fn write_answer(&self, extension: &str, content: &[u8]) -> Result<(), StoreError> {
        make_folder_inside(&self.run, ANSWER).at("make", &self.run.join(ANSWER))?;
        let path = self.run.join(self.path(ANSWER, extension));
        files::replace(&path, content).at("write", &path)
    }

    /// Removes the question because it was answered or its answer is no longer needed.
    pub fn withdraw(&self) {
        // the file or its folder may be gone already
        let _ = remove_file_inside(&self.run, self.path(ASK, "json"));
    }

    /// The path and the bytes of a file of the answer, once it is there, if `times` as many bytes of memory are free.
    fn answer_file(&self, extension: &str, times: u64) -> Result<Option<(PathBuf, Vec<u8>)>, StoreError> {
        let name = self.path(ANSWER, extension);
        let path = self.run.join(&name);
        let read = || -> Result<Vec<u8>, FileError> {
            let file = open_inside(&self.run, &name)?;
            // `read_all` refuses a longer answer, with its own message
            check_memory(times * file.metadata()?.len().min(MAX_ANSWER))?;
            read_all(file, MAX_ANSWER)
        };
        match read() {
            Err(e) if e.is_missing() => Ok(None),
            bytes => {
                let bytes = bytes.at("read", &path)?;
                Ok(Some((path, bytes)))
            }
        }
    }

    /// The tensors that are stored with the answer: an array for one, an object by name for several.
    fn tensors(&self) -> Result<Option<Json>, StoreError> {
        // the file and its tensors
        let Some((path, bytes)) = self.answer_file("safetensors", 2)? else { return Ok(None) };
        let wrong =
            |words: &dyn std::fmt::Display| StoreError::new(format!("`{}` cannot be shown: {words}", path.display()));
        let header = bytes.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
        // a length beyond the end of the file is not a safetensors header
        if header > MAX_HEADER && header < bytes.len() as u64 {
            return Err(wrong(&format!("its header has {}, and at most {} are read", size(header), size(MAX_HEADER))));
        }
        let tensors = tensors::from_bytes(&path, &bytes, &Device::Cpu)?;
        drop(bytes);
        let values: u64 = tensors.iter().map(|(_, tensor)| tensor.elem_count() as u64).sum();
        check_memory(values * MAX_VALUE_MEMORY).map_err(|e| wrong(&e))?;
        let mut arrays = serde_json::Map::new();
        for (name, tensor) in tensors {
            let values = host::to_f32(&tensor).map_err(|e| wrong(&e))?;
            let array = Array::new(tensor.dims().to_vec(), values).map_err(|e| wrong(&e))?;
            arrays.insert(name, serde_json::to_value(array).map_err(|e| wrong(&e))?);
        }
        Ok(match arrays.len() {
            1 => arrays.into_iter().next().map(|(_, array)| array),
            _ => Some(Json::Object(arrays)),
        })
    }

    fn path(&self, folder: &str, extension: &str) -> PathBuf {
        Path::new(folder).join(format!("{}.{extension}", self.id))
    }
}

/// The reason why no question can be asked in a folder without `ask/`.
fn no_program_message(run: &Path) -> String {
    format!(
        "no program answers in `{}`: it has no folder `{ASK}`, which a program makes where its script allows questions \
         (docs/protocol.md)",
        run.display()
    )
}

/// Ids rise with time, so that a program which sorts them answers in order; two askers never share one.
fn new_id() -> String {
    let random = RandomState::new().build_hasher().finish() as u32;
    format!("{:016}-{random:08x}", jiff::Timestamp::now().as_microsecond())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use candle_core::Tensor;

    use super::*;
    use crate::{config::Value, telemetry::VariantInfo};

    struct Folder {
        run: tempfile::TempDir,
        info: RunInfo,
    }

    impl Folder {
        fn new() -> Self {
            let run = tempfile::tempdir().unwrap();
            [ASK, ANSWER].iter().for_each(|name| fs::create_dir(run.path().join(name)).unwrap());
            let variants = vec![VariantInfo { id: "model".into(), ..VariantInfo::default() }];
            Self { run, info: RunInfo { variants, ..RunInfo::default() } }
        }

        fn send(&self) -> OpenQuestion {
            let args = Args::from([("text".to_owned(), Value::Text("hi".into()))]);
            OpenQuestion::send(self.run.path(), "attention", &args, Some(Duration::from_secs(60))).unwrap()
        }

        /// The reading of this answer; `ID` in it stands for the question's.
        fn answered(&self, answer: &str) -> Result<Option<Reply>, StoreError> {
            let asked = self.send();
            let path = self.run.path().join(asked.path(ANSWER, "json"));
            fs::write(path, answer.replace("ID", &asked.id)).unwrap();
            asked.reply(&self.info)
        }

        fn refused(&self, answer: &str) -> String {
            self.answered(answer).expect_err("it is not an answer").to_string()
        }
    }

    #[test]
    fn a_question_is_whole_and_goes_when_it_is_withdrawn() {
        let folder = Folder::new();
        let asked = folder.send();
        let names = || -> Vec<String> {
            let entries = fs::read_dir(folder.run.path().join(ASK)).unwrap();
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
        };
        assert_eq!(names(), [format!("{}.json", asked.id)]);
        let question: Json =
            serde_json::from_slice(&fs::read(folder.run.path().join(asked.path(ASK, "json"))).unwrap()).unwrap();
        assert_eq!((&question["protocol"], &question["ask"]), (&json!(1), &json!("attention")));
        assert_eq!((&question["args"], &question["wait"]), (&json!({"text": "hi"}), &json!(60)));
        assert_eq!(asked.reply(&folder.info).unwrap(), None);
        asked.withdraw();
        assert!(names().is_empty());
        let ids: Vec<String> = (0..50).map(|_| folder.send().id).collect();
        let is_ordered = ids.windows(2).all(|pair| pair[0][..16] <= pair[1][..16] && pair[0] != pair[1]);
        assert!(is_ordered, "{ids:?}");
    }

    #[test]
    fn answers_are_measurements_words_or_tensors() {
        let folder = Folder::new();
        let words = r#"{"protocol":1,"id":"ID","state":"answered","step":7,"words":"done"}"#;
        let Some(Reply::Answered { words, sample }) = folder.answered(words).unwrap() else { panic!("no answer") };
        assert_eq!((words.as_str(), sample.step, sample.channel.as_str()), ("done", 7, "answer/attention"));
        assert_eq!(*sample.payload, Payload::Unknown(json!({"kind": "text", "text": "done"})));
        let next = r#"{"id":"ID","state":"answered","step":7,"sample":{"step":7,"variant":"model","channel":"text.next_tokens",
            "about":"hi","payload":{"prompt":"hi","is_typed":true,"likely":[{"token":"a","probability":1}],"continuation":""}}}"#;
        let Some(Reply::Answered { sample, .. }) = folder.answered(next).unwrap() else { panic!("no answer") };
        assert_eq!((sample.variant, sample.payload.channel()), (0, Some("text.next_tokens")));
        let refused = r#"{"id":"ID","state":"refused","words":"not allowed"}"#;
        assert_eq!(folder.answered(refused).unwrap(), Some(Reply::Refused("not allowed".into())));

        let asked = folder.send();
        let tensor = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu).unwrap();
        let path = folder.run.path().join(asked.path(ANSWER, "safetensors"));
        tensors::write(&path, &[("w".to_owned(), tensor)], &[]).unwrap();
        let answer = json!({"id": asked.id, "state": "answered", "step": 3}).to_string();
        fs::write(folder.run.path().join(asked.path(ANSWER, "json")), answer).unwrap();
        let Some(Reply::Answered { sample, .. }) = asked.reply(&folder.info).unwrap() else { panic!("no answer") };
        let Payload::Unknown(array) = &*sample.payload else { panic!("no array") };
        assert_eq!(Array::deserialize(array).unwrap().data(), [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn what_is_no_answer_is_refused_in_words() {
        let folder = Folder::new();
        for (answer, words) in [
            ("garbage", "is not an answer to this question"),
            ("[1]", "is not an answer to this question"),
            (r#"{"id":"ID","state":"perhaps"}"#, "perhaps"),
            (r#"{"id":"another","state":"answered"}"#, "it answers `another`"),
            (r#"{"protocol":9,"id":"ID","state":"answered"}"#, "version 9"),
            (
                r#"{"id":"ID","state":"answered","sample":{"step":1,"variant":"x","channel":"a/b","payload":1}}"#,
                "its variant is not one",
            ),
            (
                r#"{"id":"ID","state":"answered","sample":{"step":1,"channel":"attention.maps","payload":1}}"#,
                "channel `attention.maps`",
            ),
        ] {
            let said = folder.refused(answer);
            assert!(said.contains(words), "{answer}: {said}");
        }
        let long = format!("{{\"id\":\"ID\",\"state\":\"answered\"}}{}", " ".repeat(MAX_ANSWER as usize));
        let said = folder.refused(&long);
        assert!(said.contains("longer than 67.1 MB"), "{said}");
        let deep = format!("{{\"id\":\"ID\",\"state\":\"answered\",\"sample\":{}", "[".repeat(100_000));
        assert!(folder.refused(&deep).contains("is not an answer to this question"));
    }

    #[test]
    fn tensors_that_are_too_large_are_refused_before_they_are_read() {
        let folder = Folder::new();
        let asked = folder.send();
        let answer = json!({"id": asked.id, "state": "answered"}).to_string();
        fs::write(folder.run.path().join(asked.path(ANSWER, "json")), answer).unwrap();
        let path = folder.run.path().join(asked.path(ANSWER, "safetensors"));
        let said = |written: Vec<u8>, length: u64| {
            fs::write(&path, written).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
            asked.reply(&folder.info).expect_err("refused").to_string()
        };
        // a hole of many gigabytes
        assert!(said(vec![], 1 << 40).contains("longer than 67.1 MB"));
        let header = vec![b' '; MAX_HEADER as usize + 1];
        let long = [&(header.len() as u64).to_le_bytes()[..], &header].concat();
        let length = long.len() as u64 + 8;
        assert!(said(long, length).contains("its header has 1.0 MB"));
        assert!(said(b"no tensors at all".to_vec(), 17).contains("cannot read"));
    }

    #[test]
    fn a_folder_without_questions_and_a_long_one_are_refused() {
        let folder = Folder::new();
        let args = Args::from([("text".to_owned(), Value::Text("x".repeat(MAX_QUESTION)))]);
        let put = |args: &Args| {
            OpenQuestion::send(folder.run.path(), "attention", args, None).expect_err("refused").to_string()
        };
        assert!(put(&args).contains("shorten its text"));
        // the end of the line counts
        let composed = |letters: usize| {
            let args = Args::from([("text".to_owned(), Value::Text("x".repeat(letters)))]);
            ComposedQuestion::new(folder.run.path(), "attention", &args, None).map(|question| question.text.len())
        };
        let most = MAX_QUESTION - 1 - composed(0).unwrap();
        assert!(composed(most).is_ok_and(|bytes| bytes == MAX_QUESTION - 1) && composed(most + 1).is_err());
        fs::remove_dir(folder.run.path().join(ASK)).unwrap();
        assert!(put(&Args::new()).contains("no program answers in"));
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed() {
        use std::os::unix::fs::symlink;
        let (folder, elsewhere) = (Folder::new(), tempfile::tempdir().unwrap());
        let asked = folder.send();
        let secret = elsewhere.path().join("secret.json");
        fs::write(&secret, json!({"id": asked.id, "state": "answered", "words": "secret"}).to_string()).unwrap();
        symlink(&secret, folder.run.path().join(asked.path(ANSWER, "json"))).unwrap();
        let said = asked.reply(&folder.info).expect_err("a link is refused").to_string();
        assert!(said.contains("it is a link"), "{said}");
        asked.withdraw();
        fs::remove_dir(folder.run.path().join(ASK)).unwrap();
        symlink(elsewhere.path(), folder.run.path().join(ASK)).unwrap();
        let put = OpenQuestion::send(folder.run.path(), "attention", &Args::new(), None);
        assert!(put.expect_err("a link is refused").to_string().contains("it is a link"));
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    }
}
