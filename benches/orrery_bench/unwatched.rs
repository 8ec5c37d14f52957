//! The run of `orrery-bench --frames` without a window: which preset of the lab it takes, and its pace in this process when
//! nobody looks, with which the pace beside a window is compared.

use std::time::{Duration, Instant};

use crossbeam::channel::{Sender, bounded, unbounded};
use orrery::{
    cli::Failure,
    config::{Config, Value},
    labs::Lab,
    telemetry::{Command, Event, RunState, Sink},
    trainer::{self, DriveOptions},
};

/// More steps than any run makes while the script lasts.
const STEPS: u64 = 100_000;
/// Steps before anything is timed.
const WARM: u64 = 5;
/// How long steps are counted.
const COUNTED: Duration = Duration::from_secs(8);
/// Longest wait for a step.
const PATIENCE: Duration = Duration::from_secs(60);

/// The first preset of a lab whose run outlasts the script, else the one with the most steps, with `train.steps` raised. A preset
/// that trains nothing by itself is passed over.
///
/// # Errors
/// If no preset trains.
pub fn config(lab: &Lab) -> Result<(&'static str, Config), Failure> {
    let mut longest: Option<(u64, &'static str, Config)> = None;
    for preset in lab.presets {
        let Ok(mut config) = lab.config(Some(preset.id)) else { continue };
        if steps(lab, &config) == 0 {
            continue;
        }
        // a lab without the setting keeps its own number of steps
        let _ = config.set(&(lab.knobs)(), "train.steps", Value::Int(STEPS as i64));
        let found = steps(lab, &config);
        if longest.as_ref().is_none_or(|(most, _, _)| found > *most) {
            longest = Some((found, preset.id, config));
        }
        if found >= STEPS {
            break;
        }
    }
    longest.map(|(_, preset, config)| (preset, config)).ok_or_else(|| {
        Failure::usage(format!("no preset of the lab `{}` trains anything, so no run can be looked at", lab.id))
    })
}

/// Zero where the settings cannot be run.
fn steps(lab: &Lab, config: &Config) -> u64 {
    (lab.plan)(config).map_or(0, |plan| plan.steps)
}

/// Tells when steps are made, and why a run failed.
struct Steps(Sender<Result<(u64, Instant), String>>);

impl Sink for Steps {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        let said = match event {
            Event::Step(s) => Ok((s.step, Instant::now())),
            Event::State(RunState::Failed { message }) => Err(message.clone()),
            _ => return Ok(()),
        };
        // nobody listens any more at the end
        self.0.send(said).or(Ok(()))
    }
}

/// Steps a second of a run of this process without a window and without a folder.
///
/// # Errors
/// If the run fails or makes no step in a minute.
pub fn pace(lab: &Lab, config: &Config) -> Result<f64, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::run(format!("the run without a window could not be timed: {e}"));
    let plan = (lab.plan)(config).map_err(|e| failed(&e))?;
    let (commands, receiver) = bounded(16);
    let (told, steps) = unbounded();
    std::thread::scope(move |scope| {
        // backward recurses over the graph
        let driver = std::thread::Builder::new().stack_size(64 << 20);
        let options = DriveOptions { start: true, ..DriveOptions::default() };
        driver
            .spawn_scoped(scope, move || trainer::drive(plan, options, &receiver, vec![Box::new(Steps(told))]))
            .map_err(|e| failed(&e))?;
        let mut first: Option<(u64, Instant)> = None;
        let pace = loop {
            let (step, at) = match steps.recv_timeout(PATIENCE) {
                Ok(Ok(made)) => made,
                Ok(Err(words)) => break Err(failed(&words)),
                Err(e) => break Err(failed(&e)),
            };
            match first {
                None if step >= WARM => first = Some((step, at)),
                Some((from, since)) if at - since >= COUNTED => {
                    break Ok((step - from) as f64 / (at - since).as_secs_f64());
                }
                _ => {}
            }
        };
        // a run that has ended takes no command
        let _ = commands.send(Command::Stop);
        pace
    })
}
