//! Questions to the program that trains a run elsewhere, over the files of its folder (docs/protocol.md).

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    cli::{failure::Failure, interrupt, remote, terminal::notice},
    labs::foreign::asks,
    store::{self, OpenQuestion, Reply},
    telemetry::{Args, RunInfo, Sample},
};

/// How often an answer is looked for.
const POLL: Duration = Duration::from_millis(50);

/// Puts a question to the program that writes a run, by the name of a probe or of the protocol. `has_ended`: the run has an
/// end on record.
///
/// # Errors
/// Why it is not asked, in words: it has ended, its script does not allow the question, or the folder takes none.
pub fn put(folder: &Path, info: &RunInfo, has_ended: bool, name: &str, args: &Args) -> Result<OpenQuestion, String> {
    let ask = asks::ask_of(name);
    if let Some(source) = remote::source_of(folder) {
        return Err(format!("this is a copy of {source}: ask there, where its program looks for questions"));
    }
    if has_ended {
        return Err("the run has ended, and nobody is there to answer".to_owned());
    }
    if info.asks.is_empty() {
        let words = "the program that trains this run answers no questions: its script allows none, as by \
                     `orrery_log.init(.., allow=[..])`";
        return Err(words.to_owned());
    }
    if !asks::is_allowed(&info.asks, ask) {
        return Err(format!("`{ask}` is not allowed by the script of this run, which allows {}", info.asks.join(", ")));
    }
    OpenQuestion::put(folder, ask, &asks::without_defaults(ask, args)).map_err(Into::into)
}

/// The answer of the program that writes the run in a folder; waits for it for as long as `patience` says.
///
/// # Errors
/// A refusal, an answer that is none, and none in time.
pub fn ask(folder: &Path, info: &RunInfo, name: &str, args: &Args, patience: Duration) -> Result<Sample, Failure> {
    let question = put(folder, info, store::has_ended(folder), name, args).map_err(Failure::usage)?;
    let (begun, since) = (Instant::now(), jiff::Zoned::now().strftime("%H:%M:%S").to_string());
    let is_asked_to_end = Arc::<AtomicBool>::default();
    let ends = Arc::clone(&is_asked_to_end);
    interrupt::on_interrupt(move || ends.store(true, Ordering::SeqCst));
    loop {
        // looked at first, so that what comes at the last moment is taken
        let has_ended = store::has_ended(folder);
        let (is_late, is_interrupted) = (begun.elapsed() >= patience, is_asked_to_end.load(Ordering::SeqCst));
        let reply = question.reply(info);
        if matches!(reply, Ok(None)) && !(has_ended || is_late || is_interrupted) {
            std::thread::sleep(POLL);
            continue;
        }
        question.withdraw();
        return match reply.map_err(Failure::wrong)? {
            Some(Reply::Refused(words)) => Err(Failure::usage(format!("refused: {words}"))),
            Some(Reply::Answered { words, sample }) => {
                if !words.is_empty() {
                    notice!("{words}");
                }
                Ok(sample)
            }
            None if is_interrupted => Err(Failure::interrupted("the question was withdrawn")),
            None if has_ended => Err(Failure::run("the run ended before its program answered")),
            None => Err(Failure::run(unanswered(folder, info, question.ask(), &since, patience))),
        };
    }
}

/// Who was asked, since when, and what may be the reason that no answer came.
fn unanswered(folder: &Path, info: &RunInfo, ask: &str, since: &str, patience: Duration) -> String {
    let name = info.config.preset.as_str();
    let who = if name.is_empty() { "its program".to_owned() } else { format!("`{name}`") };
    let why = match store::is_being_written(folder) {
        true => "It looks once a step, and its steps may be longer: --wait gives it more time.",
        false => "No program of this machine holds that folder now: it may have been killed, or run elsewhere.",
    };
    format!(
        "{who}, which writes {}, was asked `{ask}` at {since} and has not answered within {} s; the question was withdrawn. \
         {why}",
        folder.display(),
        patience.as_secs_f64()
    )
}
