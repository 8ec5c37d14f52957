//! Asks the program that trains a run on another machine. A shell script sent by `ssh` writes the question there and
//! waits for the answer, which arrives in the copy of the run. Each question uses an `ssh` process of its own, over the
//! connection of the copy if that can be shared; Orrery need not be installed there.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;

use super::{
    Address, RemoteSource,
    ssh::{Frames, Ssh, script},
};
use crate::{
    cli::{failure::Failure, process::spawn, terminal::one_line},
    files::memory::size,
    store::{ComposedQuestion, MAX_ANSWER, frames::read_bytes},
};

/// The shell script that writes the question and sends the answer; the text appended to it calls its function `ask`.
const SCRIPT: &str = include_str!("ask.sh");

/// A line that the script writes.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnswerFrame {
    /// There is no answer yet.
    Beat,
    /// No program answers questions about the folder.
    Nobody,
    /// The question could not be written.
    Unwritable,
    /// The path of this name is a link or otherwise not a regular file.
    NoFile {
        name: String,
    },
    TooLong {
        name: String,
        bytes: u64,
    },
    /// `bytes` bytes of the answer follow. The JSON comes last.
    Answer {
        ending: String,
        bytes: u64,
    },
}

/// A question that was asked over `ssh`. Dropping it withdraws the question: the remote script notices that its output is
/// no longer read.
pub struct RemoteQuestion {
    ssh: Arc<Ssh>,
    /// The failure that prevents an answer.
    failure: Arc<Mutex<Option<Failure>>>,
}

impl Drop for RemoteQuestion {
    fn drop(&mut self) {
        self.ssh.end();
    }
}

impl RemoteQuestion {
    /// Asks the program that writes the run there; the answer lands in the copy, the folder that the question names.
    pub fn send(source: &RemoteSource, question: ComposedQuestion) -> Result<Self, Failure> {
        let asked = Self { ssh: Arc::default(), failure: Arc::default() };
        let (ssh, failure) = (Arc::clone(&asked.ssh), Arc::clone(&asked.failure));
        let source = source.clone();
        let worker = spawn("ssh question", move || {
            if let Err(why) = exchange(&source, &question, &ssh) {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            }
        });
        worker.map(|_| asked).map_err(Failure::run)
    }

    /// The reason why no answer will come, if there is one; it is returned once.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Asks a question over a separate `ssh` connection and writes the answer into the local copy when it arrives.
fn exchange(source: &RemoteSource, question: &ComposedQuestion, ssh: &Ssh) -> Result<(), Failure> {
    let id = &question.open.id;
    let RemoteSource { address, options, .. } = source;
    let command = script(address, id, options);
    let frames = ssh.connect(command, &script_input(id, &question.text), options.max_silence).map_err(Failure::run)?;
    let answered = frames.map_or(Ok(false), |frames| read(frames, address, question, ssh));
    let exit = ssh.exit();
    match answered? {
        true => Ok(()),
        false if ssh.is_over() => Err(Failure::run("the question was withdrawn")),
        false => Err(exit.failure(unanswered(address, &exit))),
    }
}

/// Reads what the script writes; true once the answer is whole.
fn read(mut frames: Frames, there: &Address, question: &ComposedQuestion, ssh: &Ssh) -> Result<bool, Failure> {
    let lost = |why: String| Failure::run(unanswered(there, &why));
    while let Some(frame) = frames.read_frame().map_err(lost)? {
        if ssh.is_over() {
            return Ok(false);
        }
        let failure = match frame {
            AnswerFrame::Beat => continue,
            AnswerFrame::Answer { ending, bytes }
                if bytes <= MAX_ANSWER && ["json", "safetensors"].contains(&ending.as_str()) =>
            {
                // stored where local answers are read too
                let content = read_bytes(&mut frames, bytes).map_err(lost)?;
                question.open.write_answer(&ending, &content).map_err(Failure::failed)?;
                if ending == "json" {
                    return Ok(true);
                }
                continue;
            }
            AnswerFrame::Answer { ending, bytes } => {
                Failure::usage(format!("{bytes} bytes of `{}` were sent, which are not read", short_line(&ending)))
            }
            AnswerFrame::Nobody => {
                let words = "it has no folder `ask`, which a program makes where its script allows questions";
                Failure::usage(format!("no program answers in {there}: {words} (docs/protocol.md)"))
            }
            AnswerFrame::Unwritable => {
                Failure::run(format!("the question cannot be written into the folder `ask` of {there}"))
            }
            AnswerFrame::NoFile { name } => {
                let name = short_line(&name);
                Failure::usage(format!(
                    "`{name}` of {there} is a link, or not a file: links in a folder are not followed"
                ))
            }
            AnswerFrame::TooLong { name, bytes } => {
                let (name, bytes, most) = (short_line(&name), size(bytes), size(MAX_ANSWER));
                Failure::usage(format!("`{name}` of {there} has {bytes}, and at most {most} are read"))
            }
        };
        return Err(failure);
    }
    Ok(false)
}

/// The sentence for a connection that ended before the answer came.
fn unanswered(address: &Address, why: &dyn std::fmt::Display) -> String {
    format!("{address}: {why}, and no answer has come")
}

/// The script with the question as what its function reads. JSON has no line of its own that could end it early.
fn script_input(id: &str, question: &[u8]) -> Vec<u8> {
    [SCRIPT.as_bytes(), format!("ask <<'{id}'\n").as_bytes(), question, format!("\n{id}\n").as_bytes()].concat()
}

/// Output of the remote side on one line, cut to 80 characters, for an error message.
fn short_line(words: &str) -> String {
    one_line(&words.chars().take(80).collect::<String>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{super::ssh::NO_FOLDER, *};

    #[test]
    fn the_script_has_the_same_bound_and_exit_code() {
        assert!(SCRIPT.contains(&format!("\nmost={MAX_ANSWER}\n")));
        assert!(SCRIPT.contains(&format!("|| exit {NO_FOLDER}\n")));
    }

    #[test]
    fn a_question_is_the_input_of_the_script() {
        let text = script_input("0001-ab", br#"{"ask":"a\nb"}"#);
        let text = String::from_utf8(text).unwrap();
        assert!(text.ends_with("}\nask <<'0001-ab'\n{\"ask\":\"a\\nb\"}\n0001-ab\n"), "{text}");
    }
}
