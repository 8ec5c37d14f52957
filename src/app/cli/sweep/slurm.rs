//! The runs of a sweep as an array job of Slurm: a script is written and submitted, and nobody waits for the job.

use std::{io, process::Command};

use super::{
    super::headless::{self, RunOptions},
    folder::{LOGS, SweepFolder},
};
use crate::{cli::prelude::*, config::Setting, files::replace, labs::TrainSettings};

/// The minimum time of a task of the array, minutes: shorter runs share a task.
const MIN_MINUTES: f64 = 10.0;
const TIMED_STEPS: u64 = 5;
const SCRIPT_FILE: &str = "job.sh";

pub fn submit(sweep: &SweepFolder, numbers: &[usize], minutes: Option<f64>) -> Result<(), Failure> {
    let minutes = match minutes {
        Some(minutes) if minutes.is_finite() && minutes > 0.0 => minutes,
        Some(minutes) => return Err(usage!("--minutes {minutes}: give a number above 0")),
        None => minutes_per_run(sweep)?,
    };
    let packed = split_into_tasks(numbers, minutes);
    let program = std::env::current_exe().map_err(Failure::failed)?;
    let script = sweep.path.join(SCRIPT_FILE);
    // Slurm expands patterns that begin with % in output paths, so that a literal % is doubled
    let logs = format!("{}/task-%a.txt", sweep.path.join(LOGS).display().to_string().replace('%', "%%"));
    // created here, because Slurm would follow a symbolic link with the name of an output
    files::make_folder_inside(&sweep.path, LOGS).map_err(|e| write_failure(&sweep.path.join(LOGS), &e))?;
    for task in 0..packed.len() {
        let log = Path::new(LOGS).join(format!("task-{task}.txt"));
        files::create_inside(&sweep.path, &log).map_err(|e| write_failure(&sweep.path.join(log), &e))?;
    }
    let text = script_of(&packed, &format!("{} sweep {}", quoted(&program), quoted(&sweep.path)));
    replace(&script, text.as_bytes()).map_err(Failure::failed)?;
    let last = packed.len() - 1;
    let submitted = Command::new("sbatch")
        .args([
            "--parsable",
            "--cpus-per-task=1",
            &format!("--job-name=orrery-{}", sweep.name()),
            &format!("--array=0-{last}"),
        ])
        .arg(format!("--output={logs}"))
        .arg(&script)
        .output();
    let output = submitted.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => usage!(
            "there is no sbatch here, so no Slurm: run this on a machine that submits jobs, or use --on here. The script \
             is {}",
            script.display()
        ),
        _ => Failure::failed(e),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::run(format!("Slurm refused the job: {}", said.trim())));
    }
    let id = String::from_utf8_lossy(&output.stdout);
    notice!(
        "job {}: {} runs in {} tasks of about {:.0} minutes; `orrery sweep {} --table` shows how far they are",
        id.trim(),
        numbers.len(),
        packed.len(),
        minutes * packed[0].len() as f64,
        quoted(&sweep.path)
    );
    Ok(())
}

fn write_failure(path: &Path, e: &FileError) -> Failure {
    usage!("{} cannot be written: {e}", path.display())
}

/// The runs of each task: as many as fill the minimum time, in order.
fn split_into_tasks(numbers: &[usize], minutes: f64) -> Vec<&[usize]> {
    let each = (MIN_MINUTES / minutes).ceil().clamp(1.0, numbers.len().max(1) as f64) as usize;
    numbers.chunks(each).collect()
}

fn script_of(packed: &[&[usize]], command: &str) -> String {
    let of_task = |numbers: &&[usize]| {
        let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        format!("  '{}'\n", words.join(" "))
    };
    let tasks: String = packed.iter().map(of_task).collect();
    format!(
        "#!/bin/bash\n# The runs of each task of the array. A run that fails stops no other.\ntasks=(\n{tasks})\nstatus=0\n\
         for run in ${{tasks[$SLURM_ARRAY_TASK_ID]}}; do\n  {command} --task \"$run\" || status=1\ndone\nexit $status\n"
    )
}

/// Minutes that a run takes: a few steps of the first one, into a folder that is removed.
fn minutes_per_run(sweep: &SweepFolder) -> Result<f64, Failure> {
    let Some(task) = sweep.sweep.tasks().first().copied() else { return Ok(MIN_MINUTES) };
    let mut config = sweep.sweep.config(task);
    let knobs = (sweep.sweep.lab.knobs)();
    let steps = config.value(TrainSettings::steps).unwrap_or(TIMED_STEPS);
    config.set(&knobs, TrainSettings::steps.name, TIMED_STEPS.min(steps).to_value())?;
    notice!("timing {} steps of the first run; --minutes saves that", TIMED_STEPS.min(steps));
    let folder = tempfile::tempdir().map_err(Failure::failed)?;
    let began = Instant::now();
    headless::train(sweep.sweep.lab, &config, folder.path(), RunOptions::without_figures())?;
    Ok(estimate(began.elapsed(), steps) / 60.0)
}

/// Estimates the seconds of a whole run from the time that its first steps took.
fn estimate(took: Duration, steps: u64) -> f64 {
    took.as_secs_f64() * steps as f64 / TIMED_STEPS.min(steps).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_share_a_task() {
        let numbers: Vec<usize> = (0..24).collect();
        assert_eq!(split_into_tasks(&numbers, 1.0).iter().map(|p| p.len()).collect::<Vec<_>>(), [10, 10, 4]);
        assert_eq!(split_into_tasks(&numbers, 45.0).len(), 24);
        assert_eq!(split_into_tasks(&numbers, 1e-9).len(), 1);
        assert_eq!(split_into_tasks(&numbers, 4.0)[0], [0, 1, 2]);
    }

    #[test]
    fn the_script_makes_the_runs_of_its_task() {
        let text = script_of(&[&[0, 3], &[5]], "echo run");
        let run = |task: &str| {
            let output = Command::new("bash").args(["-c", &text]).env("SLURM_ARRAY_TASK_ID", task).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(run("0"), "run --task 0\nrun --task 3\n");
        assert_eq!(run("1"), "run --task 5\n");
    }

    #[test]
    fn a_short_timing_is_stretched() {
        assert_eq!(estimate(Duration::from_secs(2), 500), 200.0);
        assert_eq!(estimate(Duration::from_secs(2), 3), 2.0);
    }
}
