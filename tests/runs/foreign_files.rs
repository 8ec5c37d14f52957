//! Tests every argument that takes a file with paths that are not ordinary files and with files that need too much
//! memory. Each is refused with a message that says what it is and the exit code of a wrong argument, and no command
//! blocks. Uses the real binary.

#![cfg(unix)]

use std::{fs, os::unix::fs::symlink, path::Path};

use super::{
    command::stderr_of,
    foreign_folders::{orrery_in, put_pipe},
};

/// Every command that takes a file, whose name replaces `FILE`.
const WAYS: [(&str, &str); 9] = [
    ("run FILE --no-figures", "toml"),
    ("run FILE --no-figures", "txt"),
    ("run synapses --steps 1 --no-figures --set model.checkpoint=FILE", "pt"),
    ("run FILE --steps 1 --no-figures", "safetensors"),
    ("run fast_slow --steps 1 --no-figures --text FILE", "txt"),
    (
        "run fast_slow --steps 1 --no-figures --set corpus.tokenizer=huggingface --set corpus.tokenizer_file=FILE",
        "json",
    ),
    ("graph FILE --layout out.gexf", "gexf"),
    ("graph FILE --layout out.gexf", "csv"),
    ("run equilibrium --steps 1 --no-figures --set generator.file=FILE", "csv"),
];

fn refused(here: &Path, way: &str, file: &str, parts: &[&str]) {
    let words: Vec<String> = way.split(' ').map(|w| w.replace("FILE", file)).collect();
    let output = orrery_in(here, &words.iter().map(String::as_str).collect::<Vec<_>>());
    let said = stderr_of(&output);
    assert_eq!(output.status.code(), Some(2), "{way} of {file}: {said}");
    for part in parts {
        assert!(said.contains(part), "{way} of {file}, `{part}`: {said}");
    }
    for part in ["panicked", "bug in the program"] {
        assert!(!said.contains(part), "{way} of {file}: {said}");
    }
}

#[test]
fn pipes_and_devices_are_named_for_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (way, ending) in WAYS {
        let (pipe, device) = (format!("pipe.{ending}"), format!("zero.{ending}"));
        put_pipe(&here.join(&pipe));
        let _ = symlink("/dev/zero", here.join(&device));
        refused(here, way, &pipe, &["pipe", &pipe]);
        refused(here, way, &device, &["device", &device]);
    }
    let tokenizer = WAYS[5].0;
    refused(here, tokenizer, "/dev/zero", &["/dev/zero", "device"]);
}

#[test]
fn files_without_an_end_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (way, ending) in WAYS.into_iter().filter(|(_, ending)| ["toml", "json"].contains(ending)) {
        let zeros = format!("zeros.{ending}");
        fs::File::create(here.join(&zeros)).unwrap().set_len(500 << 20).unwrap();
        refused(here, way, &zeros, &["longer than"]);
    }
}

#[test]
fn a_bad_tokenizer_is_the_files_fault() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let model = r#""model":{"type":"BPE","vocab":{"a":0,"b":4294967295},"merges":[]}"#;
    let level = r#"{"type":"WordLevel","vocab":{"only":0},"unk_token":"missing"}"#;
    // a WordPiece vocabulary without its token for unknown words
    let pieces = r#"{"type":"WordPiece","vocab":{"x":0},"unk_token":"?","continuing_subword_prefix":"","max_input_chars_per_word":100}"#;
    for (name, content) in [
        ("empty.json", String::new()),
        ("nothing.json", "{}".into()),
        ("cut.json", "{\"model\":{\"type\":\"BPE\"".into()),
        ("id.json", format!("{{\"version\":\"1.0\",{model}}}")),
        ("unknown.json", format!("{{\"version\":\"1.0\",\"model\":{level}}}")),
        ("pieces.json", format!("{{\"version\":\"1.0\",\"model\":{pieces}}}")),
    ] {
        fs::write(here.join(name), content).unwrap();
        refused(here, WAYS[5].0, name, &[name]);
    }
}
