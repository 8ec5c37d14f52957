//! Tests that the real binary can ask and open a run that the Python package writes, during the training and after it
//! was killed. Skipped if there is no Python.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use orrery::{store::Reader, telemetry::Event};

use crate::{command::orrery, wait_for::wait_until};

/// A short training script that accepts questions.
const SCRIPT: &str = r#"
import sys, time
sys.path.insert(0, sys.argv[1])
import orrery_log

class Optimizer:
    param_groups = [{"lr": 0.1}]

run = orrery_log.init(
    "stand-in",
    dir=sys.argv[2],
    allow=["attention", "next_tokens", "scale_lr", "pause", "norms"],
    answers={
        "attention": lambda text: ({"h.0": [[1.0, 0.0], [0.5, 0.5]]}, list(text)),
        "next_tokens": lambda text, count=2: [("a", 0.75), ("b", 0.25)][:count],
        "norms": lambda layer: [[1.0, 2.0], [3.0, float(layer)]],
    },
)
run.optimizer = Optimizer()
print(run.folder, flush=True)
step, begun = 0, time.monotonic()
while time.monotonic() - begun < 120:
    step += 1
    run.log({"loss": 1.0 / step}, step=step)
    time.sleep(0.01)
"#;

/// A process that is killed at the end of the test.
pub struct Training(pub Child);

impl Drop for Training {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the script. Returns its process and the folder of its run.
fn trained(here: &Path) -> Option<(Training, PathBuf)> {
    let python = std::env::var("ORRERY_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut packages = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|up| up.join("python"));
    let package = packages.find(|up| up.join("orrery_log").is_dir()).expect("the package lies in the repository");
    let mut command = Command::new(&python);
    command.args(["-c", SCRIPT]).arg(&package).arg(here).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(process) = command.spawn() else {
        println!("skipped: there is no {python}");
        return None;
    };
    let mut training = Training(process);
    let mut folder = String::new();
    BufReader::new(training.0.stdout.take().unwrap()).read_line(&mut folder).unwrap();
    Some((training, PathBuf::from(folder.trim())))
}

#[test]
fn a_python_program_answers_questions_while_it_trains() {
    let here = tempfile::tempdir().unwrap();
    let Some((_training, folder)) = trained(here.path()) else { return };
    let name = folder.file_name().unwrap().to_str().unwrap();
    let ask = |words: &str| orrery(here.path(), &format!("ask {name} {words}"));
    let answered = |words: &str| {
        let (code, said) = ask(words);
        assert_eq!(code, Some(0), "{words}: {said}");
        said
    };
    assert!(answered("attention --set text=hi").contains("\"tokens\":[\"h\",\"i\"]"));
    let next = answered("next_tokens --set text=hi --set count=1");
    assert!(next.contains("\"token\":\"a\"") && !next.contains("\"token\":\"b\""), "{next}");
    assert!(answered("scale_lr --set factor=0.5").contains("learning rate 0.1 -> 0.05"));
    assert!(answered("norms --set layer=4").contains("[[1.0,2.0],[3.0,4.0]]"));
    let (code, said) = ask("norms");
    assert!(code == Some(2) && said.contains("refused: TypeError"), "{said}");
    let (code, said) = ask("save");
    assert!(code == Some(2) && said.contains("is not allowed"), "{said}");
    // a paused program answers too, and no question's file remains
    assert!(answered("pause").contains("paused after step"));
    assert!(answered("resume").contains("goes on after step"));
    assert_eq!(fs::read_dir(folder.join("ask")).unwrap().count(), 0);
}

#[test]
fn the_folder_of_a_killed_python_program_can_be_opened() {
    for bytes in [300, 1500, 4000] {
        let here = tempfile::tempdir().unwrap();
        let Some((mut training, folder)) = trained(here.path()) else { return };
        let length = || fs::metadata(folder.join("metrics.jsonl")).map_or(0, |file| file.len());
        wait_until("nothing is written", || length() >= bytes);
        training.0.kill().unwrap();
        training.0.wait().unwrap();
        let reader = Reader::open(&folder).unwrap();
        assert_eq!(reader.info().unwrap().config.preset, "stand-in");
        let (mut steps, mut notices) = (vec![], vec![]);
        let damage = reader.read_through(|event| match event {
            Event::Step(stats) => {
                let stays = stats.scalars.iter().all(|(name, _)| name.as_str() == "loss");
                assert!(stays, "only what is called loss/train is a loss in nats: {:?}", stats.scalars);
                steps.push(stats.step);
            }
            Event::Notice { text, .. } => notices.push(text),
            _ => {}
        });
        steps.dedup();
        assert_eq!(steps, (1..=steps.len() as u64).collect::<Vec<_>>());
        assert!(steps.len() > 1, "{bytes} bytes hold several steps");
        assert!(damage.unwrap().is_empty(), "a torn last line is not damage: {notices:?}");
        assert!(notices.iter().any(|words| words.contains("no end is recorded")), "{notices:?}");
    }
}
