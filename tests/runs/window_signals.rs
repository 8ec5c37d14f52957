//! Tests that a window that receives SIGTERM ends with the right exit code, with and without a run. Uses the real
//! binary on a virtual display, if there is one.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

/// The longest wait for a window of a development build, which a busy processor draws.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that is killed at the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // the process may have ended already, so errors are ignored
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a virtual display. Returns its process and name; `None` if there is no Xvfb.
fn virtual_display() -> Option<(Running, String)> {
    let mut server = Command::new("Xvfb");
    server.args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"]);
    let mut server = Running(server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?);
    let mut number = String::new();
    BufReader::new(server.0.stdout.take()?).read_line(&mut number).ok()?;
    let number: u32 = number.trim().parse().ok()?;
    Some((server, format!(":{number}")))
}

/// The lines that a process writes to standard error.
fn lines_of(process: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    let said = BufReader::new(process.stderr.take().unwrap());
    std::thread::spawn(move || said.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    receiver
}

/// Opens a window and sends it SIGTERM after its first frame. Returns the exit code and the text on standard error;
/// `None` if no window can open.
fn interrupted(display: &str, here: &Path, words: &[&str]) -> Option<(Option<i32>, String)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
    command.args(words).current_dir(here).env("DISPLAY", display).env_remove("WAYLAND_DISPLAY");
    for home in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env(home, here);
    }
    let mut window = Running(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let (lines, mut said) = (lines_of(&mut window.0), String::new());
    while !said.contains("first frame") {
        let line = lines.recv_timeout(PATIENCE).ok();
        said.extend(line.iter().flat_map(|line| [line.as_str(), "\n"]));
        if line.is_none() || said.contains("without a window") {
            println!("skipped: no window opens here: {said}");
            return None;
        }
    }
    // waits until the run's models are ready and it waits for its first step
    std::thread::sleep(Duration::from_secs(2));
    let sent = Command::new("kill").args(["-TERM", &window.0.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let begun = Instant::now();
    let code = loop {
        match window.0.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if begun.elapsed() > PATIENCE => panic!("{words:?} did not end: {said}"),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    said.extend(lines.iter().flat_map(|line| [line, "\n".to_owned()]));
    Some((code, said))
}

#[test]
fn a_window_that_is_asked_to_end_exits_with_130() {
    let Some((_server, display)) = virtual_display() else {
        println!("skipped: there is no Xvfb here");
        return;
    };
    let small = ["fast_slow", "--timings", "--set", "model.d_model=16", "--set", "train.window=16"];
    // the gallery, which has no run, and a run that waits for its first step
    for words in [&["--timings"][..], &small] {
        let here = tempfile::tempdir().unwrap();
        let Some((code, said)) = interrupted(&display, here.path(), words) else { return };
        assert_eq!(code, Some(130), "{words:?}: {said}");
        assert!(!said.contains("panicked"), "{words:?}: {said}");
    }
}
