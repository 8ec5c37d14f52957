//! A question to the program that trains a run on another machine: a script for `sh` writes it there and waits for the
//! answer, which comes into the copy of the run. Each question has a connection of its own, which ends with it; no program of
//! Orrery is needed there.

use std::{
    io::{BufReader, Read},
    process::{ChildStdout, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use serde::Deserialize;

use super::{Address, Shared, end_words, exactly, next_frame};
use crate::{
    cli::terminal::one_line,
    files::memory::size,
    store::{ComposedQuestion, MAX_ANSWER},
};

/// Writes the question and sends the answer. What it is followed by calls its function `ask`.
const SCRIPT: &str = include_str!("ask.sh");

/// A line that the script writes.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnswerFrame {
    /// There is no answer yet.
    Beat,
    /// The folder takes no questions.
    Nobody,
    /// The question could not be written.
    Unwritable,
    /// What has this name is a link, or otherwise no file.
    NoFile {
        name: String,
    },
    TooLong {
        name: String,
        bytes: u64,
    },
    /// So many bytes of the answer follow. The JSON comes last.
    Answer {
        ending: String,
        bytes: u64,
    },
}

/// A question that was put over `ssh`. Dropped, it is withdrawn: the script there notices that nobody reads it any more.
pub struct RemoteQuestion {
    shared: Arc<Shared>,
    /// Why no answer will come.
    failure: Arc<Mutex<Option<String>>>,
}

impl Drop for RemoteQuestion {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl RemoteQuestion {
    /// Asks the program that writes the run at this address. The answer is written into the folder that the question names,
    /// the copy of the run.
    ///
    /// # Errors
    /// If no thread can be started, in words.
    pub fn put(address: &Address, question: ComposedQuestion) -> Result<Self, String> {
        let asked = Self { shared: Arc::default(), failure: Arc::default() };
        let (shared, failure) = (Arc::clone(&asked.shared), Arc::clone(&asked.failure));
        let exchange = Exchange { address: address.clone(), question, shared };
        let worker = std::thread::Builder::new().name("ssh question".to_owned()).spawn(move || {
            if let Err(words) = exchange.run() {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
            }
        });
        worker.map(|_| asked).map_err(|e| format!("no thread could be started: {e}"))
    }

    /// Why no answer will come, if so.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One connection with one question.
struct Exchange {
    address: Address,
    question: ComposedQuestion,
    shared: Arc<Shared>,
}

impl Exchange {
    /// Puts the question and writes the answer, once it comes, into the copy.
    fn run(&self) -> Result<(), String> {
        let id = self.question.open.id();
        let mut command = self.address.ssh(&format!("exec sh -s -- {} {id}", self.address.quoted_path()));
        command.stdin(Stdio::piped());
        let out = self.shared.connect(command, &script(id, &self.question.text))?;
        let answered = out.map_or(Ok(false), |out| self.read(out));
        let code = self.shared.exit_code();
        match answered? {
            true => Ok(()),
            false if self.shared.is_over() => Err("the question was withdrawn".to_owned()),
            false => Err(format!("{}: {}, and no answer has come", self.address, end_words(code))),
        }
    }

    /// Reads what the script writes; true once the answer is whole.
    fn read(&self, out: ChildStdout) -> Result<bool, String> {
        let mut out = BufReader::new(out);
        let there = &self.address;
        while let Some(frame) = next_frame(&mut out)? {
            if self.shared.is_over() {
                return Ok(false);
            }
            match frame {
                AnswerFrame::Beat => {}
                AnswerFrame::Nobody => {
                    let words = "it has no folder `ask`, which a program makes where its script allows questions";
                    return Err(format!("nobody answers in {there}: {words} (docs/protocol.md)"));
                }
                AnswerFrame::Unwritable => {
                    return Err(format!("the question cannot be written into the folder `ask` of {there}"));
                }
                AnswerFrame::NoFile { name } => {
                    let name = shown(&name);
                    return Err(format!("`{name}` of {there} is a link, or no file: no link of a folder is followed"));
                }
                AnswerFrame::TooLong { name, bytes } => {
                    let (name, bytes, most) = (shown(&name), size(bytes), size(MAX_ANSWER));
                    return Err(format!("`{name}` of {there} has {bytes}, and at most {most} are read"));
                }
                AnswerFrame::Answer { ending, bytes } => {
                    let is_json = ending == "json";
                    if !(is_json || ending == "safetensors") || bytes > MAX_ANSWER {
                        return Err(format!("{bytes} bytes of `{}` were sent, which are not read", shown(&ending)));
                    }
                    self.keep(&ending, bytes, &mut out)?;
                    if is_json {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Writes a file of the answer into the copy, where any answer is looked for.
    fn keep(&self, ending: &str, bytes: u64, out: &mut impl Read) -> Result<(), String> {
        self.question.open.write_answer(ending, &exactly(out, bytes)?).map_err(|e| e.to_string())
    }
}

/// The script with the question as what its function reads. JSON has no line of its own that could end it early.
fn script(id: &str, question: &[u8]) -> Vec<u8> {
    [SCRIPT.as_bytes(), format!("ask <<'{id}'\n").as_bytes(), question, format!("\n{id}\n").as_bytes()].concat()
}

/// What came from the other side, in a sentence.
fn shown(words: &str) -> String {
    one_line(&words.chars().take(80).collect::<String>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_has_the_same_bound() {
        assert!(SCRIPT.contains(&format!("\nmost={MAX_ANSWER}\n")));
    }

    #[test]
    fn a_question_is_the_input_of_the_script() {
        let text = script("0001-ab", br#"{"ask":"a\nb"}"#);
        let text = String::from_utf8(text).unwrap();
        assert!(text.ends_with("}\nask <<'0001-ab'\n{\"ask\":\"a\\nb\"}\n0001-ab\n"), "{text}");
    }
}
