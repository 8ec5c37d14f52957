//! Questions to the program that trains a run elsewhere, over the files of its folder (docs/protocol.md).

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{AskArgs, Picture, answers, arguments, matrices::MatrixQuestion, pair_of, replayed};
use crate::{
    cli::{
        failure::Failure,
        interrupt, lab_config, output, remote,
        settings::{self, Named},
        terminal::notice,
    },
    config::Value,
    labs::foreign::asks,
    probe::Progress,
    store::{self, OpenQuestion, Reader, Reply},
    telemetry::{Args, FOREIGN, RunInfo, Sample},
};

/// How often an answer is looked for.
const POLL: Duration = Duration::from_millis(50);

/// The folder of a run that another program trains, with its description; `None` for anything else.
///
/// # Errors
/// If it is a run folder of a later version.
pub(super) fn find(what: &str) -> Result<Option<(PathBuf, Arc<RunInfo>)>, Failure> {
    if !Path::new(what).is_dir() {
        return Ok(None);
    }
    let Named::Run(folder) = settings::resolve(what)? else { return Ok(None) };
    let info = Reader::open(&folder).map_err(Failure::wrong)?.info();
    Ok(info.filter(|info| info.lab == FOREIGN).map(|info| (folder, info)))
}

/// Asks the program that trains a run, or the weights that it keeps, and prints or draws the answer.
pub(super) fn run(folder: &Path, info: &RunInfo, name: &str, args: &AskArgs) -> Result<(), Failure> {
    let is_of_weights = !args.matrices.is_empty();
    let given = [
        (args.step.is_some() && !is_of_weights, "--step"),
        (args.text.is_some(), "--text"),
        (args.variant.is_some(), "--variant"),
    ];
    for (is_given, option) in given {
        if is_given {
            let words = "is asked as it is now, about whatever the question itself names";
            return Err(Failure::usage(format!("a program that trains a run elsewhere {words}: leave out {option}")));
        }
    }
    let name = asks::ask_of(name);
    let question = match asks::knobs_of(name) {
        Some(knobs) => arguments(name, &knobs, &args.set)?,
        None => args.set.iter().map(|pair| plain_argument(pair)).collect::<Result<_, _>>()?,
    };
    let samples = match &args.matrices[..] {
        [from, to] => MatrixQuestion { probe: name, names: [from, to], args: &question, at: args.step }
            .ask(folder, info, Progress::none())
            .map_err(Failure::usage)?,
        [] => vec![ask(folder, info, name, &question, Duration::from_secs(args.wait.into()))?],
        _ => return Err(Failure::usage("--matrices takes the names of two matrices, once")),
    };
    match (&args.view, &args.out) {
        (Some(view), Some(out)) => {
            let (lab, config) = lab_config::recorded(folder)?;
            Picture { view, out, lab, config: &config }.draw(replayed(folder)?, samples)
        }
        _ => {
            let ids: Vec<String> = info.variants.iter().map(|v| v.id.clone()).collect();
            output::print(&answers(&ids, &samples, args.csv).map_err(Failure::failed)?)
        }
    }
}

/// An argument of a question that the program alone knows: a number or a switch where it reads as one, else a text.
fn plain_argument(pair: &str) -> Result<(String, Value), Failure> {
    let (key, text) = pair_of(pair)?;
    let value = match Value::parse(text, false) {
        Value::Float(number) if !number.is_finite() => Value::Text(text.to_owned()),
        value => value,
    };
    Ok((key.to_owned(), value))
}

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
