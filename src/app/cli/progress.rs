//! Progress on stderr, of a run (as its sink) or other long work: a bar on a terminal, else a line now and then.

use indicatif::{ProgressBar, ProgressStyle};

use super::terminal::printable;
use crate::cli::prelude::*;

/// The minimum time between two lines where there is no terminal.
const MIN_REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Returns a progress bar if stderr is a terminal.
fn progress_bar(style: &str) -> Option<ProgressBar> {
    use std::io::IsTerminal;
    std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new(0);
        bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar
    })
}

/// Shows the progress of a task of a known number of steps.
pub struct StepProgress {
    bar: Option<ProgressBar>,
    what: String,
    /// The singular name of one unit of work: "step".
    unit: &'static str,
    total: u64,
    last_report: Instant,
}

impl StepProgress {
    pub fn new(what: impl Into<String>, total: u64) -> Self {
        Self::counting(what, "step", total)
    }

    /// Shows the progress of a task whose unit of work is not called "step".
    pub fn counting(what: impl Into<String>, unit: &'static str, total: u64) -> Self {
        let bar = progress_bar(&format!("{{bar:32}} {{pos}}/{{len}} {unit}s, {{eta}} left  {{msg}}"));
        let what = what.into();
        if let Some(bar) = &bar {
            bar.set_length(total);
            bar.set_message(printable(&what).into_owned());
        }
        Self { bar, what, unit, total, last_report: Instant::now() }
    }

    pub fn step(&mut self, step: u64) {
        match &self.bar {
            Some(bar) if step == self.total => bar.finish_and_clear(),
            Some(bar) => bar.set_position(step),
            None if self.last_report.elapsed() > MIN_REPORT_INTERVAL => {
                self.last_report = Instant::now();
                notice!("{}: {} {step} of {}", self.what, self.unit, self.total);
            }
            None => {}
        }
    }
}

pub struct RunProgress {
    bar: Option<ProgressBar>,
    names: Vec<String>,
    losses: Vec<f64>,
    last_report: Instant,
    total: u64,
    last_step: u64,
}

impl RunProgress {
    /// A bar if stderr is a terminal, plain lines otherwise.
    pub fn new() -> Self {
        let bar = progress_bar("{bar:32} {pos}/{len} steps, {eta} left  {msg}");
        Self { bar, names: vec![], losses: vec![], last_report: Instant::now(), total: 0, last_step: 0 }
    }

    fn print(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| notice!("{text}")),
            None => notice!("{text}"),
        }
    }

    fn begin(&mut self, info: &RunInfo) {
        self.total = info.total_steps;
        self.names = info.variant_ids();
        self.losses = vec![f64::NAN; self.names.len()];
        let models: Vec<String> = info.variants.iter().map(|v| format!("{} ({} parameters)", v.id, v.params)).collect();
        let corpus = if info.corpus.is_empty() { String::new() } else { format!("; {}", info.corpus) };
        self.print(&format!(
            "{}: {} on {}, {}{corpus}",
            info.config.preset,
            models.join(", "),
            info.device,
            counted(info.threads, "thread")
        ));
        if let Some(bar) = &self.bar {
            bar.set_length(info.total_steps);
        }
    }

    fn step(&mut self, step: u64) {
        self.last_step = step;
        let known = losses_label(&self.names, &self.losses);
        match &self.bar {
            Some(bar) => {
                bar.set_position(step);
                bar.set_message(printable(&format!("loss {known}")).into_owned());
            }
            None if self.last_report.elapsed() > MIN_REPORT_INTERVAL || step == self.total => {
                self.last_report = Instant::now();
                notice!("step {step} / {}  loss {known}", self.total);
            }
            None => {}
        }
    }
}

/// A notice of a run behind a word for its severity: a run's own words alone could imitate a message of the program.
pub fn notice_line(level: Level, text: &str) -> String {
    let severity = match level {
        Level::Info => "note",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    format!("{severity}: {text}")
}

/// The first few losses that are known, by variant, and how many more there are: "fast 1.234, slow 1.345, and 3 more".
fn losses_label(names: &[String], losses: &[f64]) -> String {
    const MAX_SHOWN: usize = 4;
    let known: Vec<_> = names.iter().zip(losses).filter(|(_, loss)| loss.is_finite()).collect();
    let mut words: Vec<String> = known.iter().take(MAX_SHOWN).map(|(name, loss)| format!("{name} {loss:.3}")).collect();
    if known.len() > MAX_SHOWN {
        words.push(format!("and {} more", known.len() - MAX_SHOWN));
    }
    words.join(", ")
}

impl Sink for RunProgress {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Started(info) => self.begin(info),
            Event::Step(s) => {
                let is_loss = |channel: &str| [channels::LOSS_TRAIN, channels::LABELS_TRAIN].contains(&channel);
                if let Some((_, loss)) = s.scalars.iter().find(|(c, _)| is_loss(c.as_str())) {
                    if let Some(slot) = self.losses.get_mut(s.variant) {
                        *slot = *loss;
                    }
                    // where stages follow one another the last variant may be silent
                    if s.variant + 1 == self.names.len() || s.step > self.last_step + 1 {
                        self.step(s.step);
                    }
                }
            }
            Event::Notice { level, text } => self.print(&notice_line(*level, text)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_that_are_left_out_are_counted() {
        let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).into();
        let label = |losses: &[f64]| losses_label(&names, losses);
        assert_eq!(label(&[1.0, f64::NAN, 2.5]), "a 1.000, c 2.500");
        assert_eq!(label(&[1.0; 4]), "a 1.000, b 1.000, c 1.000, d 1.000");
        assert_eq!(label(&[1.0; 6]), "a 1.000, b 1.000, c 1.000, d 1.000, and 2 more");
    }
}
