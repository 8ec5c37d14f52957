//! Questions to the program that trains a run elsewhere, over the files of its folder (docs/protocol.md).

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use super::{AskArgs, Picture, answers, arguments, matrices::MatrixQuestion, pair_of, replayed};
use crate::{
    cli::{
        RUNS,
        failure::Failure,
        interrupt, lab_config, output,
        remote::{self, Address, RemoteQuestion, RemoteRun},
        settings::{self, Named},
        shell::quoted,
        terminal::notice,
    },
    config::Value,
    labs::foreign::asks,
    probe::Progress,
    store::{self, ComposedQuestion, OpenQuestion, Reader, Reply},
    telemetry::{Args, FOREIGN, RunInfo, Sample},
};

/// How often an answer is looked for.
const POLL: Duration = Duration::from_millis(50);

/// A run that another program trains.
pub(super) struct ForeignRun {
    /// Its folder, or the copy of it.
    folder: PathBuf,
    info: Arc<RunInfo>,
    /// The run of another machine, whose copy is written meanwhile.
    remote: Option<RemoteRun>,
}

/// The run that another program trains, by its folder or its address; `None` for anything else.
///
/// # Errors
/// If it is a run folder of a later version, or the other machine cannot be asked.
pub(super) fn find(what: &str) -> Result<Option<ForeignRun>, Failure> {
    let remote = match Address::parse(what).transpose().map_err(Failure::usage)? {
        Some(address) => Some(remote::begin(&address, Path::new(RUNS))?),
        None if !Path::new(what).is_dir() => return Ok(None),
        None => None,
    };
    let folder = match &remote {
        Some(run) => {
            run.wait_for_description();
            run.folder.clone()
        }
        None => match settings::resolve(what)? {
            Named::Run(folder) => folder,
            _ => return Ok(None),
        },
    };
    let info = Reader::open(&folder).map_err(Failure::wrong)?.info();
    match info.filter(|info| info.lab == FOREIGN) {
        Some(info) => Ok(Some(ForeignRun { folder, info, remote })),
        None if remote.is_some() => {
            Err(Failure::usage(format!("{what} is a run of Orrery's own: ask there, by `orrery ask` on that machine")))
        }
        None => Ok(None),
    }
}

/// Asks the program that trains a run, or the weights that it keeps, and prints or draws the answer.
pub(super) fn run(run: &ForeignRun, name: &str, args: &AskArgs) -> Result<(), Failure> {
    let ForeignRun { folder, info, remote } = run;
    let program = AskedProgram { folder, info, address: remote.as_ref().map(|run| &run.address) };
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
        [] => vec![program.ask(name, &question, Duration::from_secs(args.wait.into()))?],
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

/// The program that trains a run.
pub struct AskedProgram<'a> {
    /// The folder of its run, or the copy of it.
    pub folder: &'a Path,
    pub info: &'a RunInfo,
    /// Where the run lies on another machine, as the user named it in this process. What a copy says of itself is not
    /// enough for a connection to be made.
    pub address: Option<&'a Address>,
}

/// A question that was put to a program, here or on another machine.
pub struct PutQuestion {
    open: OpenQuestion,
    remote: Option<RemoteQuestion>,
}

impl PutQuestion {
    /// The name by which it was asked.
    pub fn ask(&self) -> &str {
        self.open.ask()
    }

    /// The program's reply, once it is there; `info` describes the run.
    ///
    /// # Errors
    /// In words, if what is there is no answer to this question, or none will come.
    pub fn reply(&self, info: &RunInfo) -> Result<Option<Reply>, String> {
        // what has failed after the answer came does not matter any more
        let failure = self.remote.as_ref().and_then(RemoteQuestion::failure);
        match (self.open.reply(info).map_err(|e| e.to_string())?, failure) {
            (None, Some(why)) => Err(why),
            (reply, _) => Ok(reply),
        }
    }

    /// Takes the question away: it was answered, or nobody waits for it any more.
    pub fn withdraw(self) {
        // one over a connection goes with it
        if self.remote.is_none() {
            self.open.withdraw();
        }
    }
}

impl AskedProgram<'_> {
    /// Puts a question by the name of a probe or of the protocol. `has_ended`: the run has an end on record.
    ///
    /// # Errors
    /// Why it is not asked, in words: the run has ended, its script does not allow the question, or its folder takes none.
    pub fn put(&self, has_ended: bool, name: &str, args: &Args) -> Result<PutQuestion, String> {
        let Self { folder, info, address } = *self;
        let ask = asks::ask_of(name);
        if let (None, Some(source)) = (address, remote::source_of(folder)) {
            let (word, ask) = (quoted(&source), quoted(ask));
            return Err(format!(
                "this is a copy of {source}: `orrery ask {word} {ask} ..`, or the window of `orrery follow {word}`, asks \
                 over ssh"
            ));
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
            let allowed = info.asks.join(", ");
            return Err(format!("`{ask}` is not allowed by the script of this run, which allows {allowed}"));
        }
        let args = asks::without_defaults(ask, args);
        match address {
            None => Ok(PutQuestion { open: OpenQuestion::put(folder, ask, &args)?, remote: None }),
            Some(address) => {
                let question = ComposedQuestion::new(folder, ask, &args)?;
                let open = question.open.clone();
                Ok(PutQuestion { open, remote: Some(RemoteQuestion::put(address, question)?) })
            }
        }
    }

    /// The program's answer; waits for it for as long as `patience` says.
    ///
    /// # Errors
    /// A refusal, an answer that is none, and none in time.
    pub fn ask(&self, name: &str, args: &Args, patience: Duration) -> Result<Sample, Failure> {
        let Self { folder, info, address } = *self;
        let question = self.put(store::has_ended(folder), name, args).map_err(Failure::usage)?;
        let (begun, since) = (Instant::now(), jiff::Zoned::now().strftime("%H:%M:%S").to_string());
        let is_asked_to_end = interrupt::asked_to_end();
        loop {
            // looked at first, so that what comes at the last moment is taken
            let has_ended = store::has_ended(folder);
            let (is_late, is_interrupted) = (begun.elapsed() >= patience, is_asked_to_end.load(Ordering::SeqCst));
            let reply = question.reply(info);
            if matches!(reply, Ok(None)) && !(has_ended || is_late || is_interrupted) {
                std::thread::sleep(POLL);
                continue;
            }
            let ask = question.ask().to_owned();
            question.withdraw();
            // the ssh of the same terminal may end by an interrupt before this process has seen it
            if reply.is_err() && address.is_some() {
                std::thread::sleep(2 * POLL);
                if is_asked_to_end.load(Ordering::SeqCst) {
                    return Err(Failure::interrupted("the question was withdrawn"));
                }
            }
            return match reply.map_err(Failure::usage)? {
                Some(Reply::Refused(words)) => Err(Failure::usage(format!("refused: {words}"))),
                Some(Reply::Answered { words, sample }) => {
                    if !words.is_empty() {
                        notice!("{words}");
                    }
                    Ok(sample)
                }
                None if is_interrupted => Err(Failure::interrupted("the question was withdrawn")),
                None if has_ended => Err(Failure::run("the run ended before its program answered")),
                None => Err(Failure::run(self.unanswered(&ask, &since, patience))),
            };
        }
    }

    /// Who was asked, since when, and what may be the reason that no answer came.
    fn unanswered(&self, ask: &str, since: &str, patience: Duration) -> String {
        let Self { folder, info, address } = *self;
        let name = info.config.preset.as_str();
        let who = if name.is_empty() { "its program".to_owned() } else { format!("`{name}`") };
        let shown = address.map_or_else(|| folder.display().to_string(), Address::to_string);
        let why = match (address, store::is_being_written(folder)) {
            (Some(_), _) => {
                "It looks once a step, and its steps may be longer: --wait gives it more time. Or it was killed there."
            }
            (None, true) => "It looks once a step, and its steps may be longer: --wait gives it more time.",
            (None, false) => {
                "No program of this machine holds that folder now: it may have been killed, or run elsewhere."
            }
        };
        format!(
            "{who}, which writes {shown}, was asked `{ask}` at {since} and has not answered within {} s; the question was \
             withdrawn. {why}",
            patience.as_secs_f64()
        )
    }
}
