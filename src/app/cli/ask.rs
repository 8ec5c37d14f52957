//! `orrery ask`: runs a probe on the models of a run folder, of a checkpoint or of a lab, or asks the program
//! that trains a run elsewhere, without a window, and prints the answer as JSON or CSV or draws it.

pub mod foreign;
pub mod matrices;

use std::io;

use clap::Args as ClapArgs;

use super::{
    continuation::{self, Continuation},
    damage, figures,
    process::cores,
    settings::{self, ResolvedName},
    trained,
    trained_run::no_checkpoint,
};
use crate::{
    cli::prelude::*,
    config::check_names,
    labs::{LABS, foreign::asks, trained_bdh::settings::FileSettings},
    models::bdh::{BdhSpec, import_state_dict},
    probe::{self, PROBES, ProbeEntry},
    telemetry::{Args, Channel, table},
    trainer::{Run, RunError},
};

#[derive(ClapArgs, Default)]
pub struct AskArgs {
    /// A run folder, ssh://host/path of one that another program writes, a trained BDH (.safetensors, .pt, .pth), a
    /// config, a lab or a preset; with --list a probe
    what: Option<String>,
    /// The probe (`orrery ask --list` names them all); of a run that another program trains also `attention`, `pause`,
    /// `resume`, `save`, `scale_lr`, or whatever else its script allows
    probe: Option<String>,
    /// An argument of the question; `orrery ask --list PROBE` names them
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Ask only this variant; without it, all that can answer
    #[arg(long, value_name = "ID")]
    variant: Option<String>,
    /// Use the weights kept at this step or last before it; without it, those of the newest checkpoint
    #[arg(long)]
    step: Option<u64>,
    /// A text for the models to read in place of the configured one
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Layers of a checkpoint that does not say how many it has
    #[arg(long, value_name = "N", value_parser = trained::layers)]
    layers: Option<usize>,
    /// Two matrices among the weights that another program keeps of its model, whose product is asked as a graph: what
    /// neurons write by, and what they read by
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"])]
    matrices: Vec<String>,
    /// Seconds to wait for a program that trains a run elsewhere to answer, including the time until ssh is connected
    #[arg(long, value_name = "SECS", default_value_t = 60)]
    wait: u32,
    /// Print CSV with one row per value, in place of JSON with one line per measurement
    #[arg(long)]
    csv: bool,
    /// Draw the answer by this view (`orrery list --views`) into the file of --out in place of printing it
    #[arg(long, value_name = "VIEW", requires = "out", conflicts_with = "csv")]
    view: Option<String>,
    /// The PNG or SVG of --view
    #[arg(long, value_name = "FILE", requires = "view")]
    out: Option<PathBuf>,
    /// List the probes, or the arguments of one
    #[arg(long)]
    list: bool,
    /// Let a link read the files of this machine that it names
    #[arg(long)]
    allow_files: bool,
}

impl AskArgs {
    /// The time that a program training a run elsewhere has to answer.
    fn patience(&self) -> Duration {
        Duration::from_secs(self.wait.into())
    }
}

pub fn run(args: &AskArgs) -> Result<(), Failure> {
    if args.list {
        // `orrery ask RUN --list` asks for the probes too
        let is_asked = |what: &&str| settings::resolve(what).is_err() || find(what).is_ok();
        return list(args.what.as_deref().filter(is_asked).or(args.probe.as_deref()));
    }
    let (Some(what), Some(id)) = (&args.what, &args.probe) else {
        return Err(usage!("name a run and a probe: orrery ask RUN PROBE; `orrery ask --list` names the probes"));
    };
    if let (Some(view), Some(out)) = (&args.view, &args.out) {
        figures::view(view)?;
        figures::check_picture(out)?;
        output::check_file(out, &[Path::new(what)])?;
    }
    if foreign::run(what, id, args)? {
        return Ok(());
    }
    ensure!(
        args.matrices.is_empty(),
        "--matrices is only for the runs of other programs: the models of this one have matrices of their own"
    );
    let probe = find(id)?;
    let question = arguments(probe.id, &(probe.knobs)(), &args.set)?;
    let mut asked = OpenedRun::open(what, args)?;
    let samples = asked.ask(probe, &question, args.variant.as_deref())?;
    match (&args.view, &args.out) {
        (Some(view), Some(out)) => asked.draw(probe.id, view, out, samples),
        _ => {
            let seed = Some(asked.run.plan.config.seed);
            output::print(&answers(&asked.variants(), &samples, seed, args.csv).map_err(Failure::failed)?)
        }
    }
}

/// Checks that there is such a probe and that it takes these arguments.
pub fn check(id: &str, question: &Args) -> Result<(), Failure> {
    typed(id, question).map(|_| ())
}

/// The answers of variants of a run folder, by the weights of its newest checkpoint; the folder is opened once.
pub fn answers_by_variant<'v>(
    run: &Path,
    id: &str,
    question: &Args,
    variants: impl IntoIterator<Item = &'v str>,
) -> Result<BTreeMap<&'v str, Vec<Sample>>, Failure> {
    let (probe, question) = typed(id, question)?;
    let mut asked = OpenedRun::from_folder(run.to_owned(), &AskArgs::default())?;
    let of_each = |variant: &'v str| Ok((variant, asked.ask(probe, &question, Some(variant))?));
    variants.into_iter().map(of_each).collect()
}

/// Finds a probe and checks a question's arguments against its declared ones.
fn typed(id: &str, question: &Args) -> Result<(&'static ProbeEntry, Args), Failure> {
    let probe = find(id)?;
    let set: Vec<String> = question.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Ok((probe, arguments(probe.id, &(probe.knobs)(), &set)?))
}

/// Finds the probe of this name, Orrery's own or the protocol's, so that runs of this program and of others are asked
/// in the same way.
fn find(id: &str) -> Result<&'static ProbeEntry, Failure> {
    asks::find_probe(id).ok_or_else(|| Failure::usage(view_words(id).unwrap_or_else(|| probe::unknown(id))))
}

/// The measurement behind a view that is named in place of a probe, in the first lab that shows it.
fn view_words(id: &str) -> Option<String> {
    let lab = LABS.iter().find(|lab| lab.panes.iter().any(|pane| pane.view == id))?;
    let plan = (lab.plan)(&lab.config(None).ok()?).ok()?;
    let probes = distinct(plan.probes.iter().map(|schedule| schedule.probe.as_str())).join(", ");
    Some(format!(
        "`{id}` is a view, and not a probe: its lab {} asks {probes} (`orrery ask --list` names all probes)",
        lab.id
    ))
}

/// The arguments that were typed, each checked against those of the question.
fn arguments(name: &str, knobs: &[Knob], set: &[String]) -> Result<Args, Failure> {
    let pair = |text: &String| {
        let (key, value) = settings::pair_of(text)?;
        Ok((key.to_owned(), Value::Text(value.to_owned())))
    };
    let mut args = set.iter().map(pair).collect::<Result<Args, Failure>>()?;
    check_names(name, knobs, &args)?;
    let mut typed = Config::defaults(name, knobs);
    for (key, value) in &mut args {
        typed.set_text(knobs, key, &value.to_string())?;
        if let Some(checked) = typed.get(key) {
            value.clone_from(checked);
        }
    }
    Ok(args)
}

fn list(of: Option<&str>) -> Result<(), Failure> {
    let Some(id) = of else {
        let width = PROBES.iter().map(|probe| probe.id.len()).max().unwrap_or_default();
        return PROBES.iter().try_for_each(|probe| print_line!("{:<width$}  {}", probe.id, probe.about));
    };
    let knobs = asks::knobs_of(asks::protocol_name(id)).map_or_else(|| find(id).map(|probe| (probe.knobs)()), Ok)?;
    knobs.iter().try_for_each(|k| {
        let default = match k.default.to_string() {
            text if text.is_empty() => "chosen by the probe".to_owned(),
            text => format!("{text} if not given"),
        };
        print_line!("{:<18}{} ({}; {default})", k.key, k.tip, k.accepts())
    })
}

/// Models with the text that they read, and where their record lies if they have one.
struct OpenedRun {
    lab: &'static Lab,
    config: Config,
    run: Run,
    folder: Option<PathBuf>,
    /// The damage to its record that was reported already.
    lost: Damage,
}

impl OpenedRun {
    fn open(what: &str, args: &AskArgs) -> Result<Self, Failure> {
        nn::set_threads(cores());
        match settings::resolve(what)? {
            ResolvedName::Run(folder) => Self::from_folder(folder, args),
            ResolvedName::Config(lab, config) => Self::from_config(lab, config, args),
            ResolvedName::Page(lab, link) => {
                settings::check_linked_files(lab, &link, args.allow_files)?;
                Self::from_config(lab, link.config, args)
            }
            ResolvedName::Text(path) => {
                let (lab, config) = settings::with_text(path)?;
                Self::from_config(lab, config, args)
            }
            ResolvedName::Series(_) | ResolvedName::Sweep(_) | ResolvedName::Lesson(_) => {
                Err(usage!("`{what}` is not one run: give the folder of a run, or a checkpoint"))
            }
        }
    }

    fn from_config(lab: &'static Lab, mut config: Config, args: &AskArgs) -> Result<Self, Failure> {
        ensure!(args.step.is_none(), "--step needs a run folder: nothing else keeps the weights of several steps");
        if let Some(path) = &args.text {
            settings::set_text_file(lab, &mut config, path)?;
        }
        if let Some(layers) = args.layers {
            set_layers(lab, &mut config, layers)?;
        }
        let plan = (lab.plan)(&config)?;
        trainer::check_plan_memory(&plan, false).map_err(Failure::wrong)?;
        let run = Run::open(plan)?;
        run.opening_notes().iter().for_each(|note| notice!("note: {note}"));
        Ok(Self { lab, config, run, folder: None, lost: Damage::default() })
    }

    fn from_folder(folder: PathBuf, args: &AskArgs) -> Result<Self, Failure> {
        ensure!(args.text.is_none(), "a run is asked on the text that it was trained on: leave out --text");
        ensure!(args.layers.is_none(), "a run has the layers that it was trained with: leave out --layers");
        let (lab, config) = settings::recorded(&folder)?;
        let Continuation { plan, from, notices, lost } = continuation::decide_for_questions(&folder)?;
        damage::report(&folder, &lost);
        notices.iter().for_each(|notice| notice!("note: {notice}"));
        trainer::check_plan_memory(&plan, false).map_err(Failure::wrong)?;
        let mut run = Run::open(plan)?;
        match args.step {
            Some(step) if from.as_ref().is_none_or(|c| c.step > step) => {
                let kept = snapshots::list(&folder);
                let newest = kept.range(..=step).next_back();
                let (_, path) = newest.ok_or_else(|| Failure::usage(no_weights(&folder, step, kept.keys())))?;
                let weights = snapshots::read(&folder, path, &Device::Cpu).map_err(Failure::wrong)?;
                run.load_weights(&weights).map_err(Failure::failed)?;
            }
            _ => run.restore(&from.ok_or_else(|| without_checkpoint(&folder))?).map_err(Failure::failed)?,
        }
        Ok(Self { lab, config, run, folder: Some(folder), lost })
    }

    /// The answers of the variants that can answer.
    fn ask(&mut self, probe: &ProbeEntry, question: &Args, variant: Option<&str>) -> Result<Vec<Sample>, Failure> {
        let ids = self.variants();
        if let Some(id) = variant.filter(|id| ids.iter().all(|known| known != id)) {
            return Err(usage!("there is no variant `{id}`; there are {}", ids.join(", ")));
        }
        let mut samples = vec![];
        for (i, _) in ids.iter().enumerate().filter(|(_, id)| variant.is_none_or(|wanted| *id == wanted)) {
            if let Some(needed) = (probe.missing)(self.run.variants[i].model.as_mut(), question) {
                return Err(usage!("`{}` has nothing to ask about: {needed}", probe.id));
            }
            let answered = self.run.ask(i, probe.id, question).map_err(|e| match e {
                RunError::Refused(_) | RunError::Tensor(_) => Failure::usage(e.to_string()),
                e => Failure::failed(e),
            })?;
            samples.extend(answered);
        }
        let (id, ids) = (probe.id, ids.join(", "));
        ensure!(
            !samples.is_empty(),
            "none of {ids} has what `{id}` asks about; `orrery ask --list {id}` says what it takes"
        );
        Ok(samples)
    }

    fn variants(&self) -> Vec<String> {
        self.run.variants.iter().map(|v| v.spec.id.clone()).collect()
    }

    /// Draws the answers of a probe by a view, beside what the run recorded.
    fn draw(&self, probe: &str, view: &str, out: &Path, samples: Vec<Sample>) -> Result<(), Failure> {
        let (run, mirror) = match &self.folder {
            Some(folder) => (figures::run_name(folder), replayed(folder, &samples, &self.lost)?),
            None => {
                let mut mirror = Mirror::default();
                mirror.apply(Event::Started(Arc::new(self.run.info(1, None))));
                let preset = Some(self.config.preset.as_str()).filter(|preset| !preset.is_empty());
                (preset.unwrap_or(self.lab.id).to_owned(), mirror)
            }
        };
        AnswerPicture { probe, view, out, run: &run, lab: self.lab, config: &self.config }.draw(mirror, samples)
    }
}

/// Sets the number of layers, for a checkpoint that does not record it.
fn set_layers(lab: &Lab, config: &mut Config, layers: usize) -> Result<(), Failure> {
    let path = lab.file_key(FileKind::Checkpoint).and_then(|key| config.get(key)).map(ToString::to_string);
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Err(Failure::usage("--layers is for a checkpoint, which may not say how many it has"));
    };
    let file = import_state_dict::open(Path::new(&path), &BdhSpec::default()).map_err(Failure::wrong)?;
    match file.facts.layers {
        Some(said) if said.value != layers => {
            Err(usage!("`{path}` says that its model has {} layers: leave out --layers", said.value))
        }
        _ => Ok(config.set_text(&(lab.knobs)(), FileSettings::layers.name, &layers.to_string())?),
    }
}

/// The record of a run beside an answer. Of the channel that was asked it has what the run measured of the variants that
/// answered: a view could otherwise show an earlier answer, or a variant that was not asked, in its place. Damage that was
/// `reported` is not reported again.
fn replayed(folder: &Path, samples: &[Sample], reported: &Damage) -> Result<Mirror, Failure> {
    let is_beside = |event: &Event| {
        let Event::Sample(recorded) = event else { return true };
        let mut answers = samples.iter().filter(|answer| answer.channel == recorded.channel).peekable();
        let is_measured = recorded.request.is_none();
        answers.peek().is_none() || is_measured && answers.any(|answer| answer.variant == recorded.variant)
    };
    let (mut mirror, events) = (Mirror::default(), Reader::open(folder).map_err(Failure::wrong)?);
    let lost = events.read_through(|event| {
        if is_beside(&event) {
            mirror.apply(event);
        }
    });
    let mut lost = lost.map_err(Failure::failed)?;
    lost.0.retain(|sentence| !reported.0.contains(sentence));
    damage::report(folder, &lost);
    Ok(mirror)
}

struct AnswerPicture<'a> {
    probe: &'a str,
    /// The id or the title of the view that draws it.
    view: &'a str,
    out: &'a Path,
    run: &'a str,
    lab: &'a Lab,
    config: &'a Config,
}

impl AnswerPicture<'_> {
    /// Draws these samples; `mirror` holds what the run has recorded, which the view may show as well.
    ///
    /// # Errors
    /// If the view shows nothing of the answer, so that the picture would be of something else, and those of
    /// [`figures::draw`].
    fn draw(&self, mut mirror: Mirror, samples: Vec<Sample>) -> Result<(), Failure> {
        let &Self { probe, out, run, lab, config, .. } = self;
        let view = figures::view(self.view)?.id;
        let step = samples.iter().map(|s| s.step).max().unwrap_or_default();
        let answered: BTreeSet<Channel> = samples.iter().map(|s| s.channel.clone()).collect();
        for sample in samples {
            // views show a measurement by the run itself before an answer to a question that the page did not ask
            mirror.apply(Event::Sample(Sample { request: None, ..sample }));
        }
        mirror.begin_noting_reads();
        let (theme, knobs) = (Theme::dark(), (lab.knobs)());
        let figure = Figure { run, step, ..Figure::new(view, &mirror, config, &knobs, &theme) };
        if !reads_channels(&figure, &answered)? {
            let shows = |view: &&str| {
                let figure = Figure { view, ..figure };
                reads_channels(&figure, &answered).unwrap_or(false) && matches!(figure.empty_message(), Ok(None))
            };
            let others: Vec<&str> = lab.panes.iter().map(|pane| pane.view).filter(shows).collect();
            let hint = match &others[..] {
                [] => "; without --view it is printed".to_owned(),
                [view] => format!("; `{view}` does"),
                views => format!("; {} do", views.join(", ")),
            };
            return Err(usage!("the view `{view}` does not show what `{probe}` answers{hint}"));
        }
        figures::draw(&figure, &"this answer", out, &[])
    }
}

/// True if the view of a figure reads measurements of these channels.
fn reads_channels(figure: &Figure<'_>, channels: &BTreeSet<Channel>) -> Result<bool, Failure> {
    figure.mirror.take_reads();
    figure.empty_message().map_err(Failure::run)?;
    Ok(!figure.mirror.take_reads().is_disjoint(channels))
}

/// The failure when a run without a checkpoint is asked; it names the last saved step, which `--step` can ask.
fn without_checkpoint(folder: &Path) -> Failure {
    let failure = no_checkpoint(folder);
    match snapshots::list(folder).last_key_value() {
        Some((step, _)) => usage!("{}, and --step {step} asks the weights that it kept", failure.message),
        None => failure,
    }
}

fn no_weights<'a>(folder: &Path, step: u64, kept: impl Iterator<Item = &'a u64>) -> String {
    let kept: Vec<String> = kept.map(u64::to_string).collect();
    let kept = if kept.is_empty() { "none".to_owned() } else { kept.join(", ") };
    format!("{} keeps no weights of step {step} or before it; it keeps those of {kept}", folder.display())
}

/// JSON as in `samples.jsonl` with the seed of random draws, if it is known, or the rows that `orrery export --samples`
/// writes; `variants` are ids.
fn answers(variants: &[String], samples: &[Sample], seed: Option<u64>, as_csv: bool) -> io::Result<Vec<u8>> {
    let variant_of = |sample: &Sample| variants.get(sample.variant).map_or("", String::as_str);
    if !as_csv {
        let lines: Result<Vec<_>, _> = samples.iter().map(|s| store::sample_line(s, variant_of(s), seed)).collect();
        return Ok(lines?.concat());
    }
    let mut csv = Table::new(["channel", "step", "variant", "field", "index", "value"]);
    for sample in samples {
        let variant = variant_of(sample);
        for cell in table::cells(&sample.payload)? {
            let step = sample.step.to_string();
            csv.row([sample.channel.as_str(), &step, variant, &cell.field, &cell.place(), &cell.value]);
        }
    }
    Ok(csv.finish().into_bytes())
}
