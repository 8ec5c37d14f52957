//! The recorded example of a lab in a window: a run that has ended and has no weights. The questions that need none are
//! answered by models with its settings.

use crate::{
    cli::prelude::*,
    probe::{self, ProbeInputs},
    telemetry::{Command, Inbox, Question, QuestionState},
    trainer::{Run, catch_panic},
    ui::run::EXAMPLE_CANNOT_BE_ASKED,
};
use crossbeam::channel::Receiver;

/// Delivers an example to a window, without checkpoints; then answers questions until the window leaves it.
pub(super) fn show(packed: &[u8], inbox: &Inbox, commands: &Receiver<Command>) {
    let past = match Reader::packed(packed) {
        Ok(past) => past,
        Err(e) => return inbox.deliver(Event::State(RunState::Failed { message: e.to_string() })),
    };
    let is_shown = |event: &Event| !matches!(event, Event::State(_) | Event::Checkpoint { .. });
    let events: Vec<Event> = past.filter(is_shown).collect();
    let mut models = UntrainedModels::new(&events);
    inbox.deliver_recorded(events);
    inbox.deliver(Event::State(RunState::Stopped));
    while let Ok(first) = commands.recv() {
        for question in newest_of_each(std::iter::once(first).chain(commands.try_iter())) {
            let state = match catch_panic(|| models.ask(&question)).unwrap_or_else(Err) {
                Ok(samples) => {
                    samples.into_iter().for_each(|sample| inbox.deliver(Event::Sample(sample)));
                    QuestionState::Answered
                }
                Err(why) => QuestionState::Refused(why),
            };
            inbox.deliver(Event::Question { request: question.request, state });
        }
    }
}

/// The questions among these commands: of each probe and variant the newest, as a control that is dragged asks many.
fn newest_of_each(commands: impl Iterator<Item = Command>) -> Vec<Question> {
    let mut newest: Vec<Question> = vec![];
    for command in commands {
        if let Command::Measure(question) = command {
            newest.retain(|other| (&other.probe, other.variant) != (&question.probe, question.variant));
            newest.push(question);
        }
    }
    newest
}

/// Models with the settings of a record and the weights that training begins with, built for the first question.
struct UntrainedModels {
    config: Option<Config>,
    /// The last step of the record.
    step: u64,
    run: Option<Run>,
}

impl UntrainedModels {
    fn new(events: &[Event]) -> Self {
        let config = |event: &Event| if let Event::Started(info) = event { Some(info.config.clone()) } else { None };
        let step = |event: &Event| if let Event::Step(stats) = event { stats.step } else { 0 };
        Self { config: events.iter().find_map(config), step: events.iter().map(step).max().unwrap_or(0), run: None }
    }

    fn run(&mut self) -> Result<&mut Run, String> {
        match &mut self.run {
            Some(run) => Ok(run),
            unbuilt => {
                let config = self.config.as_ref().ok_or(EXAMPLE_CANNOT_BE_ASKED)?;
                let lab = labs::find(&config.lab).ok_or(EXAMPLE_CANNOT_BE_ASKED)?;
                let plan = (lab.plan)(config).map_err(|e| e.to_string())?;
                Ok(unbuilt.insert(Run::open(plan).map_err(|e| e.to_string())?))
            }
        }
    }

    /// The answers to a question that needs no weights.
    fn ask(&mut self, question: &Question) -> Result<Vec<Sample>, String> {
        let Question { request, probe, variant, args, at } = question;
        let probe = probe::find(probe).filter(|probe| probe.may_need_no_weights).ok_or(EXAMPLE_CANNOT_BE_ASKED)?;
        let step = at.unwrap_or(self.step);
        let run = self.run()?;
        let (texts, seed) = (&run.texts, run.plan.config.seed);
        let inputs = ProbeInputs { step, texts, seed, ..ProbeInputs::standalone(&texts[0], &run.device) };
        let asked = run.variants.iter().enumerate().filter(|(i, _)| variant.is_none_or(|only| only == *i));
        let mut samples = vec![];
        for (variant, asked) in asked {
            let answers = (probe.ask_untrained)(asked.model.as_ref(), args, &inputs).map_err(|e| e.to_string())?;
            samples.extend(answers.into_iter().filter_map(|answer| answer.into_sample(step, variant, Some(*request))));
        }
        if samples.is_empty() { Err(EXAMPLE_CANNOT_BE_ASKED.to_owned()) } else { Ok(samples) }
    }
}
