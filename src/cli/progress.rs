//! A run's progress on stderr: a bar on a terminal, a line now and then elsewhere. A sink.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::terminal::tell;
use crate::telemetry::{Event, Level, RunInfo, RunState, Sink, channels};

/// Tells a person how far a headless run is.
pub struct Progress {
    bar: Option<ProgressBar>,
    names: Vec<String>,
    losses: Vec<f64>,
    told: Instant,
    total: u64,
}

impl Progress {
    /// A bar if stderr is a terminal, plain lines otherwise.
    pub fn new() -> Self {
        use std::io::IsTerminal;
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            let style = "{bar:32} {pos}/{len} steps, {eta} left  {msg}";
            bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, names: vec![], losses: vec![], told: Instant::now(), total: 0 }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell!("{text}")),
            None => tell!("{text}"),
        }
    }

    fn begin(&mut self, info: &RunInfo) {
        self.total = info.total_steps;
        self.names = info.variants.iter().map(|v| v.id.clone()).collect();
        self.losses = vec![f64::NAN; self.names.len()];
        let models: Vec<String> = info.variants.iter().map(|v| format!("{} ({} parameters)", v.id, v.params)).collect();
        self.say(&format!(
            "{}: {} on {}, {} threads; {}",
            info.config.preset,
            models.join(", "),
            info.device,
            info.threads,
            info.corpus
        ));
        if let Some(bar) = &self.bar {
            bar.set_length(info.total_steps);
        }
    }

    fn step(&mut self, step: u64) {
        let known: Vec<String> = self
            .names
            .iter()
            .zip(&self.losses)
            .filter(|(_, l)| l.is_finite())
            .take(4)
            .map(|(n, l)| format!("{n} {l:.3}"))
            .collect();
        match &self.bar {
            Some(bar) => {
                bar.set_position(step);
                bar.set_message(format!("loss {}", known.join(", ")));
            }
            None if self.told.elapsed() > Duration::from_secs(10) || step == self.total => {
                self.told = Instant::now();
                tell!("step {step} / {}  loss {}", self.total, known.join(", "));
            }
            None => {}
        }
    }
}

impl Sink for Progress {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Started(info) => self.begin(info),
            Event::Step(s) => {
                if let Some((_, loss)) = s.scalars.iter().find(|(c, _)| c.as_str() == channels::LOSS_TRAIN) {
                    if let Some(slot) = self.losses.get_mut(s.variant) {
                        *slot = *loss;
                    }
                    if s.variant + 1 == self.names.len() {
                        self.step(s.step);
                    }
                }
            }
            Event::Notice { level, text } => {
                let sign = match level {
                    Level::Info => "note",
                    Level::Warning => "warning",
                    Level::Error => "error",
                };
                self.say(&format!("{sign}: {text}"));
            }
            Event::State(RunState::Finished | RunState::Stopped | RunState::Failed { .. }) => {
                if let Some(bar) = &self.bar {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
        Ok(())
    }
}
