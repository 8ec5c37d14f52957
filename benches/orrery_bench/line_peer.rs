//! A Python program that answers questions line by line, so that the two sides can be timed in turn.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde::de::DeserializeOwned;

use orrery::cli::Failure;

/// A peer that answers line by line.
pub struct LinePeer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl LinePeer {
    pub fn start(python: &str, script: &str, threads: usize) -> Result<Self, Failure> {
        let fails = |e: &dyn std::fmt::Display| Failure::usage(format!("`{python} {script}` does not start: {e}"));
        let mut child = Command::new(python)
            .args([script, "--threads", &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| fails(&e))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(fails(&"it has no pipes"));
        };
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    pub fn ask<T: DeserializeOwned>(&mut self, case: &str) -> Result<T, Failure> {
        let fails = |e: &dyn std::fmt::Display| Failure::run(format!("the peer on {case}: {e}"));
        writeln!(self.input, "{case}").map_err(|e| fails(&e))?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|e| fails(&e))?;
        serde_json::from_str(&line).map_err(|e| fails(&format!("answered `{}`: {e}", line.trim())))
    }
}

impl Drop for LinePeer {
    fn drop(&mut self) {
        // it may have ended by itself
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
