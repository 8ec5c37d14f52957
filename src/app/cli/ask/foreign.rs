//! Questions to the program that trains a run elsewhere, over the files of its folder (docs/protocol.md).

use super::{AnswerPicture, AskArgs, answers, arguments, figures, matrices::MatrixQuestion, replayed};
use crate::{
    cli::{
        RUNS, interrupt,
        prelude::*,
        remote::{self, Address, RemoteQuestion, RemoteSource},
        settings::{self, ResolvedName},
    },
    labs::foreign::asks,
    store::{ComposedQuestion, OpenQuestion, Reply},
    telemetry::Args,
};

/// The interval at which an answer is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Asks the program that trains a run, by the run's folder or address, or the weights that it keeps, and prints or draws the
/// answer; false for what is not a run of another program.
///
/// # Errors
/// If the question is wrong, which is said before another machine is connected to, and those of [`AskedProgram::ask`]; if
/// the other machine cannot be asked, or the folder is of a later version.
pub(super) fn run(what: &str, name: &str, args: &AskArgs) -> Result<bool, Failure> {
    let begun = Instant::now();
    if let Some(address) = Address::parse(what).transpose().map_err(Failure::usage)? {
        let question = TypedQuestion::new(name, args)?;
        ensure!(question.matrices.is_none(), "the weights of {address} are not copied: ask on that machine");
        let run = remote::begin(&address, remote::copy_folder(&address, Path::new(RUNS), "")?, Some(args.patience()))?;
        let Some(info) = asked_info(&run.folder, name, args)? else {
            return Err(usage!("{what} is a run of Orrery's own: ask there, by `orrery ask` on that machine"));
        };
        let program = AskedProgram { folder: &run.folder, info: &info, remote: Some(&run.source) };
        question.answer(&program, begun)?;
        return Ok(true);
    }
    if !Path::new(what).is_dir() {
        return Ok(false);
    }
    let ResolvedName::Run(folder) = settings::resolve(what)? else { return Ok(false) };
    let Some(info) = asked_info(&folder, name, args)? else { return Ok(false) };
    let program = AskedProgram { folder: &folder, info: &info, remote: None };
    TypedQuestion::new(name, args)?.answer(&program, begun)?;
    Ok(true)
}

/// The description of a folder's run, if the question goes to the program that trains it: every question for a run of
/// another program, and only commands for one of Orrery, whose checkpoints answer the probes.
fn asked_info(folder: &Path, name: &str, args: &AskArgs) -> Result<Option<Arc<RunInfo>>, Failure> {
    let is_command = asks::is_command(name) && args.matrices.is_empty();
    let info = Reader::open(folder).map_err(Failure::wrong)?.info();
    Ok(info.filter(|info| info.lab == FOREIGN || is_command))
}

/// A question as it was typed, checked as far as is possible without the run.
struct TypedQuestion<'a> {
    name: &'a str,
    question: Args,
    /// The names of the two matrices that are read when weights are asked in place of the program.
    matrices: Option<[&'a str; 2]>,
    typed: &'a AskArgs,
}

impl<'a> TypedQuestion<'a> {
    fn new(name: &'a str, typed: &'a AskArgs) -> Result<Self, Failure> {
        let matrices = match &typed.matrices[..] {
            [] => None,
            [from, to] => Some([from.as_str(), to.as_str()]),
            _ => return Err(Failure::usage("--matrices takes the names of two matrices, once")),
        };
        let given = [
            (typed.step.is_some() && matrices.is_none(), "--step"),
            (typed.text.is_some(), "--text"),
            (typed.variant.is_some(), "--variant"),
            (typed.layers.is_some(), "--layers"),
        ];
        if let Some((_, option)) = given.into_iter().find(|(is_given, _)| *is_given) {
            return Err(usage!(
                "a program that trains a run is asked as it is now, about whatever the question itself names: leave out \
                 {option}"
            ));
        }
        let name = asks::protocol_name(name);
        ensure!(
            typed.view.is_none() || matrices.is_some() || !asks::is_command(name),
            "`{name}` is answered in words, which no view draws: leave out --view"
        );
        let question = match asks::knobs_of(name) {
            Some(knobs) => arguments(name, &knobs, &typed.set)?,
            None => typed.set.iter().map(|pair| plain_argument(pair)).collect::<Result<_, _>>()?,
        };
        if matrices.is_none() {
            // composing refuses a question that is too long
            let args = asks::without_defaults(name, &question);
            ComposedQuestion::new(Path::new(RUNS), name, &args, Some(typed.patience())).map_err(Failure::wrong)?;
        }
        Ok(Self { name, question, matrices, typed })
    }

    /// Prints or draws the answer. The wait for it started at `begun`.
    fn answer(&self, program: &AskedProgram<'_>, begun: Instant) -> Result<(), Failure> {
        let Self { name, question, matrices, typed } = self;
        let AskedProgram { folder, info, .. } = *program;
        let samples = match *matrices {
            Some(names) => MatrixQuestion { probe: name, names, args: question, at: typed.step }
                .ask(folder, info, Progress::none())
                .map_err(Failure::usage)?,
            None => vec![program.ask(name, question, begun, typed.patience())?],
        };
        match (&typed.view, &typed.out) {
            (Some(view), Some(out)) => {
                let (lab, config) = settings::recorded(folder)?;
                let (run, mirror) = (figures::run_name(folder), replayed(folder, &samples, &Damage::default())?);
                AnswerPicture { probe: name, view, out, run: &run, lab, config: &config }.draw(mirror, samples)
            }
            _ => {
                // what a program draws its own answers from is not known
                let seed = matrices.is_some().then_some(info.config.seed);
                output::print(&answers(&info.variant_ids(), &samples, seed, typed.csv).map_err(Failure::failed)?)
            }
        }
    }
}

/// An argument that only the program knows.
fn plain_argument(pair: &str) -> Result<(String, Value), Failure> {
    let (key, text) = settings::pair_of(pair)?;
    Ok((key.to_owned(), asks::typed_value(text)))
}

/// The program that trains a run.
pub struct AskedProgram<'a> {
    /// The folder of its run, or the copy of it.
    pub folder: &'a Path,
    pub info: &'a RunInfo,
    /// The run's address elsewhere as the user named it here. That stored in a copy suffices for no connection.
    pub remote: Option<&'a RemoteSource>,
}

/// A question that was sent to a program, here or on another machine.
pub struct ProgramQuestion {
    pub question: OpenQuestion,
    remote: Option<RemoteQuestion>,
}

impl ProgramQuestion {
    /// The program's reply, once it has arrived; `info` describes the run.
    pub fn reply(&self, info: &RunInfo) -> Result<Option<Reply>, Failure> {
        // a failure after the answer came does not matter any more
        let failure = self.remote.as_ref().and_then(RemoteQuestion::failure);
        match (self.question.reply(info).map_err(Failure::wrong)?, failure) {
            (None, Some(why)) => Err(why),
            (reply, _) => Ok(reply),
        }
    }

    /// Withdraws the question, because it was answered or nobody waits for the answer any more.
    pub fn withdraw(self) {
        // a question sent over a connection is withdrawn when the connection closes
        if self.remote.is_none() {
            self.question.withdraw();
        }
    }
}

impl AskedProgram<'_> {
    /// True if the record says that the run has ended; an outdated copy of a remote record is ignored.
    pub fn has_ended(&self, is_recorded: impl FnOnce() -> bool) -> bool {
        self.remote.is_none_or(RemoteSource::is_up_to_date) && is_recorded()
    }

    /// True if the program ran on this machine, as the lock of its folder says, and is gone.
    pub fn was_abandoned_here(&self) -> bool {
        self.remote.is_none() && store::was_abandoned_here(self.folder)
    }

    /// Asks a question by its name, a probe's or one of the protocol's; it is withdrawn after `patience`, if that is set.
    pub fn send(
        &self,
        has_ended: bool,
        name: &str,
        args: &Args,
        patience: Option<Duration>,
    ) -> Result<ProgramQuestion, Failure> {
        let Self { folder, info, remote } = *self;
        let ask = asks::protocol_name(name);
        if let (None, Some(source)) = (remote, remote::source_of(folder)) {
            let (word, ask) = (quoted(&source), quoted(ask));
            return Err(usage!(
                "this is a copy of {source}: `orrery ask {word} {ask} ..`, or the window of `orrery follow {word}`, asks \
                 over ssh"
            ));
        }
        ensure!(!has_ended, "the run has ended, so no program can answer");
        ensure!(!self.was_abandoned_here(), "the program that trained this run was killed, so it cannot answer");
        // an older copy may list outdated permissions; the program itself refuses what it does not allow
        let is_known = remote.is_none_or(RemoteSource::is_described);
        if is_known && info.asks.is_empty() {
            return Err(Failure::usage(match info.lab == FOREIGN {
                true => {
                    "the program that trains this run answers no questions: its script allows none, as by \
                     `orrery_log.init(.., allow=[..])`"
                }
                false => {
                    "this run answers no questions while it trains: `orrery run` and `orrery resume` take \
                     --allow pause,save,scale_lr"
                }
            }));
        }
        let who = if info.lab == FOREIGN { "the script of this run" } else { "this run" };
        let is_allowed = !is_known || asks::is_allowed(&info.asks, ask);
        ensure!(is_allowed, "`{ask}` is not allowed by {who}, which allows {}", info.asks.join(", "));
        let args = asks::without_defaults(ask, args);
        match remote {
            None => Ok(ProgramQuestion { question: OpenQuestion::send(folder, ask, &args, patience)?, remote: None }),
            Some(source) => {
                let composed = ComposedQuestion::new(folder, ask, &args, patience).map_err(Failure::wrong)?;
                let question = composed.open.clone();
                Ok(ProgramQuestion { question, remote: Some(RemoteQuestion::send(source, composed)?) })
            }
        }
    }

    /// The program's answer, waited for as long as `patience` allows, from `begun` on.
    pub fn ask(&self, name: &str, args: &Args, begun: Instant, patience: Duration) -> Result<Sample, Failure> {
        let Self { folder, info, remote } = *self;
        let has_ended = || self.has_ended(|| store::has_ended(folder));
        let left = patience.saturating_sub(begun.elapsed());
        let question = self.send(has_ended(), name, args, Some(left))?;
        let since = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
        let is_asked_to_end = interrupt::cancel_flag();
        loop {
            // This is read first, so that an answer that arrives at the last moment is still taken.
            let has_ended = has_ended();
            let (is_late, is_interrupted) = (begun.elapsed() >= patience, is_asked_to_end.load(Ordering::SeqCst));
            let reply = question.reply(info);
            if matches!(reply, Ok(None)) && !(has_ended || is_late || is_interrupted) {
                std::thread::sleep(POLL_INTERVAL);
                continue;
            }
            let ask = question.question.ask.clone();
            question.withdraw();
            // the ssh of the same terminal may end by an interrupt before this process has seen it
            if reply.is_err() && remote.is_some() {
                std::thread::sleep(2 * POLL_INTERVAL);
                if is_asked_to_end.load(Ordering::SeqCst) {
                    return Err(Failure::interrupted("the question was withdrawn"));
                }
            }
            return match reply? {
                Some(Reply::Refused(words)) => Err(usage!("refused: {words}")),
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

    /// Says who was asked and since when, and names the likely reason that no answer came.
    fn unanswered(&self, ask: &str, since: &str, patience: Duration) -> String {
        let Self { folder, info, remote } = *self;
        let name = info.config.preset.as_str();
        let who = if name.is_empty() { "its program".to_owned() } else { format!("`{name}`") };
        let shown = remote.map_or_else(|| folder.display().to_string(), |source| source.address.to_string());
        let why = match (remote, store::is_being_written(folder)) {
            (Some(_), _) => {
                "It looks once a step, and its steps may be longer: --wait gives it more time. Or it was killed there, or has ended."
            }
            (None, true) => "It looks once a step, and its steps may be longer: --wait gives it more time.",
            (None, false) => {
                "No program of this machine holds that folder now: it may have been killed, or run elsewhere."
            }
        };
        format!(
            "{who}, which writes {shown}, was asked `{ask}` at {since} and had not answered when the {} s of --wait were over; \
             the question was withdrawn. {why}",
            patience.as_secs_f64()
        )
    }
}
