//! `orrery-bench --jobs N`: small runs by processes of one thread each, one after another and all at once on all cores, in
//! turn: how well a sweep of them would use the machine.

use std::{
    process::{Child, Stdio},
    time::Instant,
};

use super::{BenchArgs, case::median, peer};
use orrery::cli::Failure;

/// The case of a run that names none.
const CASE: &str = "fast_slow";

/// Prints the seconds of both ways and the ratio of their paces.
pub fn report(args: &BenchArgs, jobs: usize) -> Result<(), Failure> {
    if jobs == 0 {
        return Err(Failure::usage("--jobs 0 runs nothing; use 1 or more"));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (case, rounds) = (args.case.as_deref().unwrap_or(CASE), args.rounds.max(1));
    println!("{jobs} runs of {case}, {} steps, one thread each; {cores} cores", args.steps);
    let (mut ratios, mut seconds) = (vec![], [vec![], vec![]]);
    for _ in 0..rounds {
        let serial = timed(args, case, jobs, 1)?;
        let parallel = timed(args, case, jobs, cores)?;
        println!("one after another {serial:.2} s, {cores} at once {parallel:.2} s: ratio {:.2}", serial / parallel);
        ratios.push(serial / parallel);
        seconds[0].push(serial);
        seconds[1].push(parallel);
    }
    ratios.sort_by(f64::total_cmp);
    let [serial, parallel] = seconds.map(|all| median(&all));
    println!(
        "medians of {rounds} rounds: {:.2} times the pace of one after another ({:.2} .. {:.2})",
        serial / parallel,
        ratios[0],
        ratios[rounds - 1]
    );
    Ok(())
}

/// Seconds that the runs take, this many at once.
fn timed(args: &BenchArgs, case: &str, jobs: usize, at_once: usize) -> Result<f64, Failure> {
    let began = Instant::now();
    let (mut waiting, mut running) = (jobs, Vec::<Child>::new());
    let mut outcome = Ok(());
    while outcome.is_ok() && (waiting > 0 || !running.is_empty()) {
        if waiting > 0 && running.len() < at_once {
            waiting -= 1;
            outcome = spawn(args, case).map(|child| running.push(child));
            continue;
        }
        let before = running.len();
        outcome = reap(&mut running);
        if outcome.is_ok() && running.len() == before {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
    // of a failed round nothing goes on behind the next
    for child in &mut running {
        let _ = child.kill();
        let _ = child.wait();
    }
    outcome.map(|()| began.elapsed().as_secs_f64())
}

/// Drops the processes that have ended.
///
/// # Errors
/// If one of them failed.
fn reap(running: &mut Vec<Child>) -> Result<(), Failure> {
    let mut i = 0;
    while let Some(child) = running.get_mut(i) {
        match child.try_wait() {
            Ok(None) => i += 1,
            Ok(Some(status)) if status.success() => drop(running.swap_remove(i)),
            Ok(Some(status)) => return Err(Failure::run(format!("a run failed ({status})"))),
            Err(e) => return Err(Failure::run(format!("a run is lost: {e}"))),
        }
    }
    Ok(())
}

fn spawn(args: &BenchArgs, case: &str) -> Result<Child, Failure> {
    let mut command = peer::own_command(case)?;
    command.args(["--threads", "1", "--steps", &args.steps.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().map_err(|e| Failure::run(format!("a run could not be started: {e}")))
}
