//! Tests questions to a program that trains a run in another process: the real binary asks through the run's folder,
//! and the test answers in place of the program.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    thread::JoinHandle,
    time::{Duration, Instant},
};
#[cfg(unix)]
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    command::{can_paint, done, expect_exit, orrery},
    foreign_run::ForeignRun,
    wait_for::wait_for,
};
#[cfg(unix)]
use crate::{
    command::{command, output_of, stderr_of},
    foreign_python::Training,
    stand_in_ssh::stand_in_ssh,
    wait_for::wait_until,
};

/// Begins a run in training that allows these questions.
fn asked_run(here: &Path, asks: &[&str]) -> ForeignRun {
    let run = ForeignRun::begin(here, "run", &json!({"lr": 0.1}));
    run.state(0, &json!("running"));
    (1..=3).for_each(|step| run.step(step));
    run.allow(asks);
    run
}

/// Starts a thread that waits for the next question, calls `reply` with its id, and returns the question.
fn replying(run: &ForeignRun, reply: impl FnOnce(&ForeignRun, &str) + Send + 'static) -> JoinHandle<Value> {
    let run = ForeignRun { folder: run.folder.clone() };
    std::thread::spawn(move || {
        let (id, question) = wait_for("nobody asks", || run.asked().into_iter().next());
        reply(&run, &id);
        question
    })
}

/// Answers with the tensor [1, 2.5] in a file beside the answer.
fn answer_with_tensors(run: &ForeignRun, id: &str) {
    let header = br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  "#;
    let values = [1f32, 2.5].map(f32::to_le_bytes).concat();
    let file = [&(header.len() as u64).to_le_bytes()[..], header, &values].concat();
    fs::write(run.folder.join(format!("answer/{id}.safetensors")), file).unwrap();
    run.answer(id, &json!({"state": "answered"}));
}

/// Runs `orrery ask` while `reply` answers. Returns the exit code, the output and the question, whose file must be gone
/// afterwards.
fn ask_replied(
    run: &ForeignRun,
    words: &str,
    reply: impl FnOnce(&ForeignRun, &str) + Send + 'static,
) -> (Option<i32>, String, Value) {
    let replier = replying(run, reply);
    let (code, said) = orrery(run.folder.parent().unwrap(), &format!("ask run {words} --wait 60"));
    let question = replier.join().unwrap();
    assert!(run.asked().is_empty(), "{words}: a question is left");
    (code, said, question)
}

#[test]
fn an_answer_is_printed_as_one_of_an_own_run() {
    let here = tempfile::tempdir().unwrap();
    let run = asked_run(here.path(), &["attention", "scale_lr", "lesson"]);
    // a question has the name of the probe and that of the protocol
    for name in ["attention", "attention_maps"] {
        let (code, said, question) =
            ask_replied(&run, &format!("{name} --set text=hi --set passage=0"), |run, id| run.answer_attention(id, 7));
        assert_eq!(code, Some(0), "{said}");
        assert_eq!((&question["ask"], &question["args"]), (&json!("attention"), &json!({"text": "hi"})));
        assert!(said.contains("attention of 1 layer"), "{said}");
        let line = said.lines().find(|line| line.starts_with('{')).unwrap();
        let sample: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&sample["step"], &sample["channel"]), (&json!(7), &json!("attention.maps")));
        // the output has the form of a line of samples.jsonl: with the variant's id instead of its index, and without
        // absent fields
        assert_eq!((&sample["variant"], sample.get("request")), (&json!("model"), None));
    }
    let (code, said, _) = ask_replied(&run, "attention --set text=hi --csv", |run, id| run.answer_attention(id, 7));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("channel,step,variant,field,index,value\nattention.maps,7,model,"), "{said}");

    let done = |run: &ForeignRun, id: &str| run.answer(id, &json!({"state": "answered", "words": "0.1 -> 0.05"}));
    let (code, said, question) = ask_replied(&run, "scale_lr --set factor=0.5", done);
    assert!(code == Some(0) && said.contains("0.1 -> 0.05") && said.contains("answer/scale_lr"), "{said}");
    assert_eq!(question["args"], json!({"factor": 0.5}));
    let (_, _, question) = ask_replied(&run, "lesson --set n=3 --set deep=true --set name=ferry", done);
    assert_eq!(
        (&question["ask"], &question["args"]),
        (&json!("lesson"), &json!({"n": 3, "deep": true, "name": "ferry"}))
    );
    // an answer may have tensors in a file beside it
    let (code, said, _) = ask_replied(&run, "lesson", answer_with_tensors);
    assert!(code == Some(0) && said.contains("[1.0,2.5]"), "{said}");
}

/// The test is skipped if there is no graphics adapter.
#[test]
fn an_answer_is_drawn_by_a_view() {
    let here = tempfile::tempdir().unwrap();
    let run = asked_run(here.path(), &["attention"]);
    let (code, said, _) = ask_replied(&run, "attention --set text=hi --view attention --out answer.png", |run, id| {
        run.answer_attention(id, 7);
    });
    if can_paint(&said) {
        assert_eq!(code, Some(0), "{said}");
        assert!(fs::read(here.path().join("answer.png")).unwrap().starts_with(b"\x89PNG"));
    }
}

#[test]
fn refused_questions_are_answered_with_a_reason() {
    let here = tempfile::tempdir().unwrap();
    let run = asked_run(here.path(), &["attention", "scale_lr"]);
    let (code, said, _) = ask_replied(&run, "attention --set text=hi", |run, id| {
        run.answer(id, &json!({"state": "refused", "words": "`attention` has no function"}));
    });
    assert!(code == Some(2) && said.contains("refused: `attention` has no function"), "{said}");
    for (words, part) in [
        ("save", "`save` is not allowed by the script of this run, which allows attention, scale_lr"),
        ("attention --set txt=hi", "did you mean `text`?"),
        ("scale_lr --set factor=1000", "100"),
        ("attention --set text=hi --step 2", "leave out --step"),
        ("attention --set text=hi --view nothing --out a.png", "there is no view `nothing`"),
    ] {
        expect_exit(here.path(), &format!("ask run {words} --wait 5"), 2, &[part]);
        assert!(run.asked().is_empty(), "{words}");
    }
    run.allow(&[]);
    expect_exit(here.path(), "ask run attention --set text=hi", 2, &["allows none"]);
    run.allow(&["attention"]);
    fs::write(run.folder.join(".source"), "ssh://elsewhere/run\n").unwrap();
    expect_exit(here.path(), "ask run attention --set text=hi", 2, &["this is a copy of ssh://elsewhere/run"]);
    fs::remove_file(run.folder.join(".source")).unwrap();
    run.state(3, &json!("finished"));
    expect_exit(here.path(), "ask run attention --set text=hi", 2, &["the run has ended"]);
}

#[test]
fn a_timed_out_question_names_its_run_and_when_it_was_asked() {
    let here = tempfile::tempdir().unwrap();
    let run = asked_run(here.path(), &["attention"]);
    let begun = Instant::now();
    let (code, said) = orrery(here.path(), "ask run attention --set text=hi --wait 1");
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(code, Some(1), "{said}");
    for part in ["`run`", "asked `attention` at ", "the 1 s of --wait", "No program of this machine holds that folder"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(run.asked().is_empty(), "the question was withdrawn");
    // the program holds the lock, so it is running, but it does not answer in time
    let lock = File::options().create(true).append(true).open(run.folder.join(".lock")).unwrap();
    lock.lock().unwrap();
    let (_, said) = orrery(here.path(), "ask run attention --set text=hi --wait 1");
    assert!(said.contains("It looks once a step"), "{said}");
    #[cfg(target_os = "linux")]
    {
        let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap();
        fs::write(run.folder.join(".lock"), boot).unwrap();
        drop(lock);
        let killed = "this run was killed, so it cannot answer";
        expect_exit(here.path(), "ask run attention --set text=hi --wait 60", 2, &[killed]);
        fs::remove_file(run.folder.join(".lock")).unwrap();
    }
    // the program ends while the question is open
    let (code, said, _) = ask_replied(&run, "attention --set text=hi", |run, _| {
        run.state(3, &json!({"failed": {"message": "out of memory"}}));
    });
    assert!(code == Some(1) && said.contains("the run ended before its program answered"), "{said}");
}

#[test]
fn malformed_answers_are_reported_and_not_shown() {
    let here = tempfile::tempdir().unwrap();
    let run = asked_run(here.path(), &["attention"]);
    let file = |run: &ForeignRun, id: &str| run.folder.join(format!("answer/{id}.json"));
    let refused = |part: &str, reply: fn(PathBuf)| {
        let (code, said, _) = ask_replied(&run, "attention --set text=hi", move |run, id| reply(file(run, id)));
        assert!(code == Some(2) && said.contains(part), "{part}: {said}");
    };
    refused("is not an answer to this question", |path| fs::write(path, b"\xff\x00 garbage").unwrap());
    refused("it is a folder", |path| fs::create_dir(path).unwrap());
}

#[cfg(unix)]
#[test]
fn no_link_of_a_folder_that_is_asked_is_followed() {
    use std::os::unix::fs::symlink;
    let here = tempfile::tempdir().unwrap();
    let run = asked_run(here.path(), &["attention"]);
    let elsewhere = here.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let secret = elsewhere.join("secret.json");
    fs::write(&secret, r#"{"words":"the secret"}"#).unwrap();
    let target = secret.clone();
    let (code, said, _) = ask_replied(&run, "attention --set text=hi", move |run, id| {
        symlink(&target, run.folder.join(format!("answer/{id}.json"))).unwrap();
    });
    assert!(code == Some(2) && said.contains("it is a link") && !said.contains("the secret"), "{said}");
    let ask = run.folder.join("ask");
    fs::remove_dir(&ask).unwrap();
    symlink(&elsewhere, &ask).unwrap();
    expect_exit(here.path(), "ask run attention --set text=hi --wait 1", 2, &["it is a link"]);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1, "nothing was written there");
    fs::remove_file(&ask).unwrap();
    expect_exit(here.path(), "ask run attention --set text=hi --wait 1", 2, &["it has no folder `ask`"]);
}

/// A machine that is reached through [`stand_in_ssh`].
#[cfg(unix)]
struct OtherMachine {
    here: tempfile::TempDir,
    run: ForeignRun,
}

#[cfg(unix)]
impl OtherMachine {
    fn new(asks: &[&str]) -> Self {
        let here = tempfile::tempdir().unwrap();
        stand_in_ssh(here.path(), true);
        let there = here.path().join("there, it's far");
        fs::create_dir(&there).unwrap();
        let run = asked_run(&there, asks);
        Self { here, run }
    }

    fn address(&self) -> String {
        format!("ssh://me@far{}", self.run.folder.display())
    }

    fn command(&self, words: &[&str]) -> Command {
        let bin = self.here.path().join("bin");
        let mut command = command(self.here.path(), words);
        command.env_remove("SSH_ASKPASS").env("TMPDIR", "/tmp");
        command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
        command
    }

    /// Returns the options of each call of `ssh` so far.
    fn options(&self) -> Vec<String> {
        let options = fs::read_to_string(self.here.path().join("options")).unwrap_or_default();
        options.lines().map(str::to_owned).collect()
    }

    /// Asks the run on the other machine. Returns the exit code and the output.
    fn ask(&self, words: &[&str]) -> (Option<i32>, String) {
        let address = self.address();
        let output = self.command(&[&["ask", address.as_str()][..], words].concat()).output().unwrap();
        (output.status.code(), output_of(&output))
    }

    /// Asks the run while its program gives `reply`. Returns the exit code, the output and the question.
    fn ask_replied(
        &self,
        words: &[&str],
        reply: impl FnOnce(&ForeignRun, &str) + Send + 'static,
    ) -> (Option<i32>, String, Value) {
        let replier = replying(&self.run, reply);
        let (code, said) = self.ask(&[words, &["--wait", "60"]].concat());
        (code, said, replier.join().unwrap())
    }

    /// Puts a question to the run, whose program answers it. Returns the output and the question.
    fn ask_answered(&self, ask: &str) -> (String, Value) {
        let answer = json!({"state": "answered", "words": "it is done"});
        let (code, said, question) = self.ask_replied(&[ask], move |run, id| run.answer(id, &answer));
        assert!(code == Some(0) && said.contains("it is done"), "{ask}: {said}");
        (said, question)
    }

    /// Waits until no question's file is left on the other machine.
    fn is_silent_soon(&self) {
        let questions = self.run.folder.join("ask");
        wait_until("a question is left", || fs::read_dir(&questions).unwrap().count() == 0);
    }
}

/// These cases mostly wait for connections and answers, so they run in parallel.
#[cfg(unix)]
#[test]
fn a_program_of_another_machine_is_asked() {
    let cases: &[(&str, fn())] = &[
        ("a_copy_that_nobody_writes_any_more_is_taken_over", a_copy_that_nobody_writes_any_more_is_taken_over),
        ("a_program_of_another_machine_is_asked_over_ssh", a_program_of_another_machine_is_asked_over_ssh),
        ("the_end_of_an_older_copy_does_not_count", the_end_of_an_older_copy_does_not_count),
        ("a_question_goes_over_the_connection_of_the_copy", a_question_goes_over_the_connection_of_the_copy),
        ("a_connection_that_is_lost_ends_an_open_question", a_connection_that_is_lost_ends_an_open_question),
        #[cfg(target_os = "linux")]
        ("an_end_while_connecting_leaves_nothing_behind", an_end_while_connecting_leaves_nothing_behind),
        (
            "a_question_that_was_left_behind_goes_once_it_is_answered",
            a_question_that_was_left_behind_goes_once_it_is_answered,
        ),
        ("a_connection_is_waited_for_no_longer_than_an_answer", a_connection_is_waited_for_no_longer_than_an_answer),
        ("a_folder_that_is_not_there_is_a_wrong_argument", a_folder_that_is_not_there_is_a_wrong_argument),
        ("an_older_copy_that_another_holds_does_not_count", an_older_copy_that_another_holds_does_not_count),
        (
            "without_an_answer_of_another_machine_the_question_is_withdrawn",
            without_an_answer_of_another_machine_the_question_is_withdrawn,
        ),
        ("no_link_of_a_folder_on_another_machine_is_followed", no_link_of_a_folder_on_another_machine_is_followed),
    ];
    std::thread::scope(|scope| {
        for (name, case) in cases {
            // the thread has the case's name, which a panic message then contains
            std::thread::Builder::new().name((*name).to_owned()).spawn_scoped(scope, case).unwrap();
        }
    });
}

/// A command that asks a question also updates the local copy of the run. When it ends, a window that has opened the
/// copy meanwhile must continue it.
#[cfg(unix)]
fn a_copy_that_nobody_writes_any_more_is_taken_over() {
    let far = OtherMachine::new(&["save"]);
    far.ask_answered("save");
    let copy = fs::read_dir(far.here.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    let writer = fs::File::options().write(true).open(copy.join(".lock")).unwrap();
    writer.lock().unwrap();
    let mut follower = far.command(&["follow", &far.address(), "--headless"]);
    let mut follower = follower.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    far.run.step(41);
    std::thread::sleep(Duration::from_secs(1));
    let has_step = || fs::read_to_string(copy.join("metrics.jsonl")).is_ok_and(|log| log.contains("\"step\":41"));
    assert!(!has_step(), "another writes the copy");
    drop(writer);
    wait_until("nobody copies the run", has_step);
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[cfg(unix)]
fn a_program_of_another_machine_is_asked_over_ssh() {
    let far = OtherMachine::new(&["attention", "lesson"]);
    let text = "it's `a` $HOME \\n\n\u{e4}";
    let argument = format!("text={text}");
    let (code, said, question) =
        far.ask_replied(&["attention", "--set", &argument], |run, id| run.answer_attention(id, 7));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((&question["ask"], &question["args"]), (&json!("attention"), &json!({"text": text})));
    assert!(said.contains("attention of 1 layer") && said.contains("\"channel\":\"attention.maps\""), "{said}");
    far.is_silent_soon();
    let commands = fs::read_to_string(far.here.path().join("commands")).unwrap();
    assert!(commands.lines().any(|line| line.starts_with("exec sh -s -- '")), "{commands}");

    // the tensors of an answer arrive too
    let (code, said, _) = far.ask_replied(&["lesson"], answer_with_tensors);
    assert!(code == Some(0) && said.contains("[1.0,2.5]"), "{said}");
    far.is_silent_soon();

    let refusal = json!({"state": "refused", "words": "not now"});
    let (code, said, _) = far.ask_replied(&["lesson"], move |run, id| run.answer(id, &refusal));
    assert!(code == Some(2) && said.contains("refused: not now"), "{said}");
    let (code, said) = far.ask(&["save"]);
    assert!(code == Some(2) && said.contains("`save` is not allowed by the script of this run"), "{said}");

    // the permissions at the time of the copy do not count, but the current ones of the run
    far.is_silent_soon();
    far.run.allow(&["save"]);
    far.ask_answered("save");

    // a copied folder must not cause a connection by itself: the address in it is untrusted
    let before = fs::read_to_string(far.here.path().join("commands")).unwrap();
    let copy = far.here.path().join("runs/run-at-me_far");
    let output = far.command(&["ask", copy.to_str().unwrap(), "lesson"]).output().unwrap();
    let said = stderr_of(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    // the message quotes the address for a shell
    let word = format!("'{}'", far.address().replace('\'', r"'\''"));
    assert!(said.contains(&format!("`orrery ask {word} lesson ..`")), "{said}");
    assert_eq!(fs::read_to_string(far.here.path().join("commands")).unwrap(), before);
}

/// A copy in which the run has ended is out of date if the run was resumed since.
#[cfg(unix)]
fn the_end_of_an_older_copy_does_not_count() {
    let far = OtherMachine::new(&["save"]);
    far.run.state(3, &json!("finished"));
    let (code, said) = far.ask(&["save", "--wait", "60"]);
    assert!(code == Some(2) && said.contains("the run has ended"), "{said}");
    far.run.state(3, &json!("running"));
    let (_, question) = far.ask_answered("save");
    assert!(question["wait"].as_u64().is_some_and(|wait| (1..=60).contains(&wait)), "{question}");
}

#[cfg(unix)]
#[test]
fn a_wrong_question_makes_no_connection() {
    let far = OtherMachine::new(&["lesson", "attention", "scale_lr"]);
    let long = format!("text={}", "x".repeat(70_000));
    let wrong: [(&[&str], &str); 8] = [
        (&["lesson", "--view", "nothing", "--out", "a.png"], "there is no view `nothing`"),
        (&["lesson", "--view", "logged", "--out", "a.jpg"], "should end in .png"),
        (&["attention", "--set", "txt=hi"], "did you mean `text`?"),
        (&["attention", "--set", "text"], "write --set key=value"),
        (&["attention", "--set", long.as_str()], "shorten its text"),
        (&["scale_lr", "--set", "factor=1000"], "100"),
        (&["lesson", "--step", "2"], "leave out --step"),
        (&["neuron_graph", "--matrices", "a", "b"], "are not copied: ask on that machine"),
    ];
    for (words, part) in wrong {
        let (code, said) = far.ask(words);
        assert!(code == Some(2) && said.contains(part), "{part}: {said}");
    }
    assert!(far.options().is_empty(), "{:?}", far.options());
}

/// The `ssh` of a question gets the control socket of the copy's `ssh`, so that a real `ssh` asks for no second
/// password. The stand-in does not share connections, so this test checks the options only. Without a terminal, no
/// password may be asked for.
#[cfg(unix)]
fn a_question_goes_over_the_connection_of_the_copy() {
    let far = OtherMachine::new(&["lesson"]);
    let ask = || {
        let before = far.options().len();
        far.ask_answered("lesson");
        far.is_silent_soon();
        let options = far.options().split_off(before);
        assert_eq!(options.len(), 2, "the copy and the question: {options:?}");
        assert!(options.iter().all(|options| options.contains("BatchMode=yes")), "{options:?}");
        options
    };
    let options = ask();
    let socket = |options: &str| {
        let mut words = options.split_whitespace();
        words.find_map(|word| word.strip_prefix("ControlPath=")).expect("a socket").to_owned()
    };
    assert!(options[0].contains("ControlMaster=auto") && options[1].contains("ControlMaster=no"), "{options:?}");
    assert_eq!(socket(&options[0]), socket(&options[1]));
    let folder = Path::new(&socket(&options[0])).parent().unwrap().to_owned();
    assert!(folder.starts_with("/tmp") && !folder.exists(), "{}", folder.display());
    assert!(options.iter().all(|options| options.contains("ControlPersist=no")), "{options:?}");
    // a configuration of the user that has a control path but does not share connections, and one that shares them
    let configured = "controlmaster false\ncontrolpath /nowhere/a\n";
    fs::write(far.here.path().join("configured"), configured).unwrap();
    assert!(ask().iter().all(|options| options.contains("ControlPath=") && !options.contains("/nowhere")));
    fs::write(far.here.path().join("configured"), "controlmaster auto\ncontrolpath /home/me/.ssh/a\n").unwrap();
    assert!(ask().iter().all(|options| !options.contains("Control") && options.contains("ServerAliveInterval=5")));
    // a keepalive setting of the user is not overridden either
    fs::write(far.here.path().join("configured"), "serveraliveinterval 60\nserveralivecountmax 5\n").unwrap();
    assert!(ask().iter().all(|options| options.contains("Control") && !options.contains("ServerAlive")));
}

/// If the connection is lost while a question is open, the command ends with an error, and the copying reconnects.
#[cfg(unix)]
fn a_connection_that_is_lost_ends_an_open_question() {
    let far = OtherMachine::new(&["lesson"]);
    let mut follower = far.command(&["follow", &far.address(), "--headless"]);
    let mut follower = Training(follower.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut lines = BufReader::new(follower.0.stdout.take().unwrap()).lines();
    assert!(lines.next().is_some_and(|line| line.unwrap().starts_with("step ")));
    fs::write(far.here.path().join("cut"), "").unwrap();
    let begun = Instant::now();
    let (code, said) = far.ask(&["lesson", "--wait", "300"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(200), "it waits no longer than for the connection");
    assert!(said.contains("Timeout, server far not responding."), "{said}");
    let words = format!("orrery: {}: `ssh` ended with code 255, and no answer has come", far.address());
    assert_eq!(said.matches(&words).count(), 1, "{said}");
    far.is_silent_soon();
    far.run.step(41);
    assert!(lines.any(|line| line.unwrap().starts_with("step 41 ")), "the copy goes on");
}

/// The commands are terminated while `ssh` waits for a password.
#[cfg(target_os = "linux")]
fn an_end_while_connecting_leaves_nothing_behind() {
    let far = OtherMachine::new(&["lesson"]);
    let file = |name: &str| far.here.path().join(name);
    fs::write(file("hangs"), "").unwrap();
    let address = far.address();
    for words in [&["follow", address.as_str(), "--headless"][..], &["ask", &address, "lesson", "--wait", "300"]] {
        let mut command = far.command(words);
        let mut process = Training(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let ssh = wait_for(&format!("{words:?}: it does not connect"), || {
            let number = fs::read_to_string(file("hanging")).unwrap_or_default();
            number.strip_suffix('\n').map(str::to_owned)
        });
        assert!(Path::new("/proc").join(&ssh).exists() && file("runs/run-at-me_far").exists(), "{words:?}");
        // the signal reaches only this process, while Ctrl-C would also reach `ssh`
        assert!(Command::new("kill").args(["-TERM", &process.0.id().to_string()]).status().unwrap().success());
        assert_eq!(process.0.wait().unwrap().code(), Some(130), "{words:?}");
        assert!(!Path::new("/proc").join(&ssh).exists(), "{words:?}: an ssh is left");
        assert!(!file("runs/run-at-me_far").exists(), "{words:?}: a copy without a run is left");
        let options = far.options().pop().unwrap();
        let socket = options.split_whitespace().find_map(|word| word.strip_prefix("ControlPath=")).unwrap();
        assert!(!Path::new(socket).parent().unwrap().exists(), "{words:?}: {socket}");
        fs::remove_file(file("hanging")).unwrap();
    }
}

/// A question that remained on the other machine after a lost connection is removed by the next question, if it has
/// been answered.
#[cfg(unix)]
fn a_question_that_was_left_behind_goes_once_it_is_answered() {
    let far = OtherMachine::new(&["lesson"]);
    for id in ["0-answered", "0-open"] {
        fs::write(far.run.folder.join(format!("ask/{id}.json")), "{}").unwrap();
    }
    far.run.answer("0-answered", &json!({"state": "refused", "words": "nobody waits"}));
    let (code, said) = far.ask(&["lesson", "--wait", "5"]);
    assert_eq!(code, Some(1), "{said}");
    wait_until("two questions are left", || far.run.asked().len() <= 1);
    assert_eq!(far.run.asked()[0].0, "0-open");
}

#[cfg(unix)]
fn a_connection_is_waited_for_no_longer_than_an_answer() {
    let far = OtherMachine::new(&["lesson"]);
    fs::write(far.here.path().join("hangs"), "").unwrap();
    let begun = Instant::now();
    let (code, said) = far.ask(&["lesson", "--wait", "1"]);
    assert!(begun.elapsed() < Duration::from_secs(50), "it ends by itself");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("nothing has come from {} within ", far.address())), "{said}");
    // a question needs a connection: an older copy of the run does not suffice
    fs::rename(far.here.path().join("hangs"), far.here.path().join("hung")).unwrap();
    far.ask_answered("lesson");
    far.is_silent_soon();
    fs::write(far.here.path().join("down"), "").unwrap();
    let (code, said) = far.ask(&["lesson", "--wait", "60"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("`ssh` ended with code 255") && said.contains("cannot ask for a password"), "{said}");
    assert!(said.contains("connect once by hand"), "{said}");
}

/// A missing folder on the other machine has the same exit code as a missing local one.
#[cfg(unix)]
fn a_folder_that_is_not_there_is_a_wrong_argument() {
    let far = OtherMachine::new(&["lesson"]);
    let address = format!("ssh://me@far{}/nowhere", far.here.path().display());
    for words in [&["ask", &address, "lesson"][..], &["follow", &address, "--headless"]] {
        let output = far.command(words).output().unwrap();
        let said = stderr_of(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("there is no such folder there") && !said.contains("--out"), "{words:?}: {said}");
    }
}

/// While another Orrery, which has no connection yet, holds the copy, neither the end of the run nor the permissions in
/// it count.
#[cfg(unix)]
fn an_older_copy_that_another_holds_does_not_count() {
    let far = OtherMachine::new(&["lesson"]);
    far.run.state(3, &json!("finished"));
    let (code, said) = far.ask(&["lesson", "--wait", "60"]);
    assert!(code == Some(2) && said.contains("the run has ended"), "{said}");
    far.run.allow(&["save"]);
    far.run.state(3, &json!("running"));
    let lock = File::options().write(true).open(far.here.path().join("runs/run-at-me_far/.lock")).unwrap();
    lock.lock().unwrap();
    let (said, _) = far.ask_answered("save");
    assert!(said.contains("another Orrery is already copying this run"), "{said}");
}

#[cfg(unix)]
fn without_an_answer_of_another_machine_the_question_is_withdrawn() {
    let far = OtherMachine::new(&["attention"]);
    let (code, said) = far.ask(&["attention", "--set", "text=hi", "--wait", "5"]);
    assert_eq!(code, Some(1), "{said}");
    let address = far.address();
    for part in ["`run`", address.as_str(), "asked `attention` at ", "the 5 s of --wait", "Or it was killed there"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    far.is_silent_soon();
    // the connection is lost before the question is sent
    let mut follower = far.command(&["follow", &address, "--headless"]);
    let mut follower = Training(follower.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    BufReader::new(follower.0.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    fs::write(far.here.path().join("down"), "").unwrap();
    let (code, said) = far.ask(&["attention", "--set", "text=hi", "--wait", "60"]);
    assert_eq!(code, Some(1), "a connection that is cut: {said}");
    assert!(said.contains("another Orrery is already copying this run"), "{said}");
    assert!(said.contains("`ssh` ended with code 255, and no answer has come"), "{said}");
    far.is_silent_soon();
}

#[cfg(unix)]
fn no_link_of_a_folder_on_another_machine_is_followed() {
    use std::os::unix::fs::symlink;
    let far = OtherMachine::new(&["attention"]);
    let elsewhere = far.here.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let secret = elsewhere.join("secret.json");
    fs::write(&secret, r#"{"words":"the secret"}"#).unwrap();
    let refused = |part: &str| {
        let (code, said) = far.ask(&["attention", "--set", "text=hi", "--wait", "60"]);
        assert!(code == Some(2) && said.contains(part) && !said.contains("the secret"), "{part}: {said}");
    };
    let target = secret.clone();
    let replier = replying(&far.run, move |run, id| {
        symlink(&target, run.folder.join(format!("answer/{id}.json"))).unwrap();
    });
    refused("is a link, or not a file");
    replier.join().unwrap();
    far.is_silent_soon();
    let replier = replying(&far.run, |run, id| {
        let file = File::create(run.folder.join(format!("answer/{id}.json"))).unwrap();
        file.set_len((64 << 20) + 1).unwrap();
    });
    refused("has 67.1 MB, and at most 67.1 MB are read");
    replier.join().unwrap();
    far.is_silent_soon();
    let replier = replying(&far.run, |run, id| {
        fs::write(run.folder.join(format!("answer/{id}.json")), b"\xff garbage").unwrap();
    });
    refused("is not an answer to this question");
    replier.join().unwrap();
    far.is_silent_soon();

    let (ask, answer) = (far.run.folder.join("ask"), far.run.folder.join("answer"));
    fs::rename(&answer, elsewhere.join("answer")).unwrap();
    symlink(elsewhere.join("answer"), &answer).unwrap();
    refused("`answer` of ssh://me@far");
    far.is_silent_soon();
    fs::remove_dir(&ask).unwrap();
    symlink(&elsewhere, &ask).unwrap();
    refused("`ask` of ssh://me@far");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 2, "nothing was written there");
    fs::remove_file(&ask).unwrap();
    refused("it has no folder `ask`");
}

#[test]
fn any_two_matrices_of_the_weights_are_a_graph() {
    let here = tempfile::tempdir().unwrap();
    let run = asked_run(here.path(), &[]);
    expect_exit(here.path(), "ask run neuron_graph --matrices h.0.c_proj h.0.c_fc", 2, &["keeps no weights"]);
    for step in [2, 4] {
        run.weights(step, &[("h.0.c_fc", 40, 5), ("h.0.c_proj", 5, 40), ("wte", 7, 9)]);
    }
    let samples = |words: &str| -> Vec<Value> {
        let said = done(here.path(), &format!("ask run {words} --matrices h.0.c_proj h.0.c_fc"));
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let graph = samples("neuron_graph --set edges=50");
    let channels: Vec<&str> = graph.iter().filter_map(|sample| sample["channel"].as_str()).collect();
    assert_eq!(channels, ["graph.histogram", "graph.neurons", "graph.degrees"]);
    assert!(graph.iter().all(|sample| sample["step"] == json!(4)), "the newest weights");
    assert!(graph[1]["about"].as_str().unwrap().starts_with("G from h.0.c_proj to h.0.c_fc, excitatory"));
    assert_eq!(graph[1]["payload"]["summary"]["neurons"], json!(40), "the hidden neurons");
    let past = samples("neuron_graph --set edges=50 --step 3");
    assert!(past[0]["step"] == json!(2) && past[1]["payload"] != graph[1]["payload"], "the weights last before it");
    let nulls = &samples("graph_modularity --set most=100 --set searches=1")[0];
    assert_eq!((&nulls["channel"], nulls["seed"].is_u64()), (&json!("graph.modularity"), true));
    for (words, part) in [
        ("neuron_graph --matrices h.0.c_proj h.0.c_fcc", "did you mean `h.0.c_fc`?"),
        ("neuron_graph --matrices wte h.0.c_fc", "no side of one is as long"),
        (
            "neuron_graph --matrices h.0.c_proj h.0.c_fc --step 1",
            "no weights of step 1 or before it are kept; there are 2, 4",
        ),
        ("neuron_graph --matrices h.0.c_proj h.0.c_fc --set from_head=1", "no heads"),
        ("graph_neuron --matrices h.0.c_proj h.0.c_fc", "cannot be asked of two matrices"),
    ] {
        expect_exit(here.path(), &format!("ask run {words}"), 2, &[part]);
    }
    let damaged = run.folder.join("snapshots/step-00000004.safetensors");
    let mut bytes = fs::read(&damaged).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&damaged, bytes).unwrap();
    expect_exit(here.path(), "ask run neuron_graph --matrices h.0.c_proj h.0.c_fc", 2, &["its checksum differs"]);
}
