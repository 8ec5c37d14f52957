//! This program and PyTorch, one after the other, again and again, each case in a process of its own:
//! what else the machine does then falls on both.

use std::{
    io::Read,
    process::{Command, Stdio},
    time::Duration,
};

use super::{
    BenchArgs,
    case::{self, Case, CaseTiming, Sizes, median},
    peak,
};
use orrery::cli::Failure;
use orrery::nn::memory;

/// The two sides of a comparison.
pub struct Sides<'a> {
    pub python: &'a str,
    pub script: &'a str,
    pub threads: usize,
    pub steps: usize,
    /// Steps before those that are timed.
    pub warm: usize,
    pub compile: bool,
}

impl Sides<'_> {
    /// A case at these sizes, timed by this program in a process of its own.
    ///
    /// # Errors
    /// If that fails.
    pub fn ours(&self, case: &str, sizes: Sizes) -> Result<CaseTiming, Failure> {
        self.timed(own_command(case)?, sizes)
    }

    /// The same case, timed by PyTorch.
    ///
    /// # Errors
    /// If that fails.
    pub fn theirs(&self, case: &str, sizes: Sizes) -> Result<CaseTiming, Failure> {
        let mut command = Command::new(self.python);
        command.args([self.script, "--only", case]);
        if self.compile {
            command.arg("--compile");
        }
        self.timed(command, sizes)
    }

    fn timed(&self, mut command: Command, sizes: Sizes) -> Result<CaseTiming, Failure> {
        for (name, n) in [("--threads", self.threads), ("--steps", self.steps), ("--warm", self.warm)] {
            command.arg(name).arg(n.to_string());
        }
        command.args(sizes.args());
        timed(command)
    }
}

/// The command by which this program times a case in a process of its own.
///
/// # Errors
/// If the program does not find itself.
pub fn own_command(case: &str) -> Result<Command, Failure> {
    let ours = std::env::current_exe().map_err(|e| Failure::run(format!("this program does not find itself: {e}")))?;
    let mut command = Command::new(ours);
    command.args(["--json", "--case", case]);
    Ok(command)
}

/// Prints for each case both medians, the ratio of the medians, the ratios of the rounds, memory, and what share of the
/// machine's peak the step's products alone make of either side's time.
pub fn compare(args: &BenchArgs, cases: &[Case], python: &str, script: &str) -> Result<(), Failure> {
    let (threads, steps) = (args.threads(), args.steps);
    let peer = if args.compile { "compiled" } else { "eager" };
    println!("{threads} threads, {} rounds of {steps} steps, PyTorch {peer}", args.rounds.max(1));
    let peak = peak::gflops(args.threads());
    if !args.json {
        let one = if args.threads() == 1 { peak } else { peak::gflops(1) };
        println!("peak of multiply-adds in registers: {one:.0} GFLOP/s of one thread, {peak:.0} of {threads}");
    }
    let sides =
        Sides { python, script, threads: args.threads(), steps: args.steps, warm: case::WARM, compile: args.compile };
    for case in cases {
        let (mut here, mut there) = (vec![], vec![]);
        for _ in 0..args.rounds.max(1) {
            here.push(sides.ours(case.name, args.sizes)?);
            there.push(sides.theirs(case.name, args.sizes)?);
        }
        print_comparison(args, case.name, &here, &there, peak)?;
    }
    Ok(())
}

/// `machine`: its peak, GFLOP/s.
fn print_comparison(
    args: &BenchArgs,
    name: &str,
    here: &[CaseTiming],
    there: &[CaseTiming],
    machine: f64,
) -> Result<(), Failure> {
    let middle = |found: &[CaseTiming]| median(&found.iter().map(|f| f.ms_median).collect::<Vec<_>>());
    let (ours, theirs) = (middle(here), middle(there));
    let mut ratios: Vec<f64> = here.iter().zip(there).map(|(a, b)| a.ms_median / b.ms_median).collect();
    ratios.sort_by(f64::total_cmp);
    let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
    let peak = |found: &[CaseTiming]| found.iter().filter_map(|f| f.peak_mib).fold(f64::NAN, f64::max);
    let (mib, their_mib) = (peak(here), peak(there));
    // both sides are to compute the same, as counted here
    let gflop = here[0].gflop;
    let share = |ms: f64| gflop / ms * 1e3 / machine;
    if args.json {
        let line = serde_json::json!({
            "case": name, "threads": args.threads(), "ms": ours, "torch_ms": theirs, "ratio": ours / theirs,
            "ratio_min": least, "ratio_max": most, "peak_mib": mib, "torch_peak_mib": their_mib,
            "peak_gflops": machine, "share_of_peak": share(ours), "torch_share_of_peak": share(theirs),
        });
        println!("{line}");
    } else {
        println!(
            "{name:<12} {ours:.1} ms, PyTorch {theirs:.1} ms: ratio {:.2} ({least:.2} .. {most:.2}); peak {mib:.0} MiB, PyTorch {their_mib:.0} MiB: ratio {:.2}; {:.0}% of the machine's peak, PyTorch {:.0}%",
            ours / theirs,
            mib / their_mib,
            100.0 * share(ours),
            100.0 * share(theirs),
        );
    }
    Ok(())
}

/// Runs a command that prints one line of JSON, watching its memory.
fn timed(mut command: Command) -> Result<CaseTiming, Failure> {
    let words = format!("{command:?}");
    let failed = |why: String| Failure::run(format!("`{words}` {why}"));
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|e| Failure::usage(format!("`{words}` does not start: {e}")))?;
    let id = child.id().to_string();
    let mut peak = None;
    let status = loop {
        peak = memory::peak_mib(&id).or(peak);
        match child.try_wait().map_err(|e| failed(format!("is lost: {e}")))? {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut text).map_err(|e| failed(format!("printed no text: {e}")))?;
    }
    if !status.success() {
        return Err(failed(format!("failed ({status})")));
    }
    let line = text.lines().rfind(|l| l.starts_with('{')).ok_or_else(|| failed("printed no JSON line".to_owned()))?;
    let mut found: CaseTiming = serde_json::from_str(line).map_err(|e| failed(format!("printed another form: {e}")))?;
    found.peak_mib = found.peak_mib.or(peak);
    Ok(found)
}
