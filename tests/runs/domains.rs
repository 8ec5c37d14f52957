//! Tests texts of several domains: generated ones and folders of files, messages about faulty folders, and a resumed
//! run with such a folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use orrery::{
    config::Config,
    corpus::{Corpus, CorpusSpec, Source, TokenizerSpec, generated},
    labs::{self, corpus::CorpusSettings},
};

use super::{
    command::{done, expect_exit},
    folders::contents,
};

fn spec(source: Source) -> CorpusSpec {
    CorpusSpec::new(source, TokenizerSpec::Byte { vocab: 256 })
}

fn open_folder(path: &Path, domains: usize) -> Result<Corpus, String> {
    Corpus::open(&spec(Source::Folder { path: path.to_owned(), domains })).map_err(|e| e.to_string())
}

/// Writes a file of `kilobytes` kB whose lines repeat one letter.
fn write(folder: &Path, name: &str, letter: char, kilobytes: usize) {
    let line = format!("{} \n", letter.to_string().repeat(62));
    fs::write(folder.join(name), line.repeat(16 * kilobytes)).unwrap();
}

/// Returns the letters that occur in the first held-out windows.
fn letters(corpus: &Corpus) -> String {
    let windows = corpus.held_out(40, 128).unwrap();
    let text = corpus.decode(&windows.inputs);
    ('a'..='z').filter(|l| text.contains(*l)).collect()
}

#[test]
fn the_number_of_domains_changes_coherence_and_not_length() {
    let open = |source| Corpus::open(&spec(source)).unwrap();
    let one = open(Source::Domains(1));
    let all = open(Source::Domains(8));
    assert!(one.describe().starts_with("1 of 8 domains (generated), 1.4 MB"), "{}", one.describe());
    assert!(all.describe().starts_with("8 of 8 domains (generated), 1.4 MB"), "{}", all.describe());
    let text = |corpus: &Corpus| corpus.decode(&corpus.held_out(60, 256).unwrap().inputs);
    let (one, all) = (text(&one), text(&all));
    for mark in ["def ", "req=", "AUTHOR", "K:", "\u{e9}"] {
        assert!(all.contains(mark) && !one.contains(mark), "{mark}");
    }
    assert_eq!(text(&open(Source::Generated("domains".into()))), all);
    assert_eq!(generated::by_id("domains").unwrap().text(1, 50_000).len(), 50_000);
}

#[test]
fn settings_choose_the_domains_and_a_folder() {
    let lab = labs::find_in(labs::LABS, "traces").unwrap();
    let knobs = (lab.knobs)();
    let source = |pairs: &[(&str, &str)]| {
        let mut config = Config::defaults(lab.id, &knobs);
        pairs.iter().for_each(|(k, v)| config.set_text(&knobs, k, v).unwrap());
        (lab.plan)(&config).map(|plan| plan.corpus.source).map_err(|e| e.to_string())
    };
    assert_eq!(source(&[("corpus.source", "domains"), ("corpus.domains", "3")]).unwrap(), Source::Domains(3));
    let folder = source(&[("corpus.folder", "books"), ("corpus.domains", "2")]).unwrap();
    assert_eq!(folder, Source::Folder { path: PathBuf::from("books"), domains: 2 });
    let both = source(&[("corpus.folder", "books"), ("corpus.file", "book.txt")]).unwrap_err();
    assert!(both.contains(CorpusSettings::folder.name) && both.contains("leave one of them empty"), "{both}");
}

#[test]
fn a_folders_first_files_by_name_are_its_domains() {
    let here = tempfile::tempdir().unwrap();
    for (name, letter) in [("b.txt", 'b'), ("a.txt", 'a'), ("d", 'd'), ("c.log", 'c')] {
        write(here.path(), name, letter, 40);
    }
    fs::write(here.path().join(".hidden"), "x").unwrap();
    fs::create_dir(here.path().join("0 inside")).unwrap();
    fs::write(here.path().join("0 inside/e.txt"), "x").unwrap();
    for (domains, expected) in [(1, "a"), (2, "ab"), (3, "abc"), (4, "abcd"), (8, "abcd")] {
        let corpus = open_folder(here.path(), domains).unwrap();
        assert_eq!(letters(&corpus), expected);
        let name = here.path().file_name().unwrap().to_string_lossy();
        let said = format!("{name} ({} of 4 files; 1 other entry is left out), 41 kB", domains.min(4));
        assert!(corpus.describe().starts_with(&said), "{}", corpus.describe());
    }
}

#[test]
fn every_used_file_gives_as_much_and_the_length_stays() {
    let here = tempfile::tempdir().unwrap();
    // all numbers of domains use the same total length: three files allow at most 3 * 10 kB, so one file gives as much
    for (name, letter, kilobytes) in [("a", 'a', 90), ("b", 'b', 30), ("c", 'c', 10)] {
        write(here.path(), name, letter, kilobytes);
    }
    for domains in 1..=3 {
        let corpus = open_folder(here.path(), domains).unwrap();
        assert!(corpus.describe().contains("31 kB"), "{}", corpus.describe());
        let windows = corpus.held_out(20, 127).unwrap();
        let text = corpus.decode(&windows.inputs);
        let share = text.matches('a').count() as f64 / text.matches(|c: char| c.is_alphabetic()).count() as f64;
        assert!((share - 1.0 / domains as f64).abs() < 0.12, "{domains}: {share}");
    }
}

#[test]
fn an_unusable_text_folder_is_refused_with_advice() {
    let here = tempfile::tempdir().unwrap();
    let refusal = |name: &str, parts: &[&str]| {
        let error = open_folder(&here.path().join(name), 8).err().unwrap();
        for part in parts.iter().chain([&name]) {
            assert!(error.contains(part), "{part}: {error}");
        }
    };
    let make = |name: &str| {
        let folder = here.path().join(name);
        fs::create_dir(&folder).unwrap();
        write(&folder, "good.txt", 'g', 8);
        fs::write(folder.join("other.txt"), "ab\n".repeat(4000)).unwrap();
        folder
    };
    fs::create_dir_all(here.path().join("empty/inside")).unwrap();
    refusal("empty", &["has no files", "put text files into it"]);
    refusal("missing", &["does not exist", "check the path"]);
    write(here.path(), "a file", 'x', 8);
    refusal("a file", &["is a file, not a folder", "choose the folder"]);
    fs::write(make("binary").join("zeros.bin"), vec![0; 9000]).unwrap();
    refusal("binary", &["zeros.bin", "binary, not text", "take it out of the folder"]);
    fs::write(make("short").join("note.txt"), "a note").unwrap();
    refusal("short", &["note.txt has only 6 bytes", "take it out of the folder"]);
    #[cfg(unix)]
    {
        let elsewhere = here.path().join("elsewhere.txt");
        fs::write(&elsewhere, "ab\n".repeat(4000)).unwrap();
        for (name, target) in [("dangling", Path::new("nowhere")), ("linked", elsewhere.as_path())] {
            std::os::unix::fs::symlink(target, make(name).join("link.txt")).unwrap();
            refusal(name, &["link.txt", "is a link", "take it out of the folder"]);
        }
    }
}

#[test]
#[cfg(unix)]
fn special_files_of_a_text_folder_are_ignored() {
    let here = tempfile::tempdir().unwrap();
    write(here.path(), "a.txt", 'a', 8);
    let pipe = here.path().join("pipe");
    assert!(open_folder(here.path(), 8).unwrap().describe().contains("(1 of 1 files)"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::create_dir(here.path().join("inside")).unwrap();
    fs::write(here.path().join(".hidden"), "x").unwrap();
    let said = open_folder(here.path(), 8).unwrap().describe();
    assert!(said.contains("(1 of 1 files; 2 other entries are left out)"), "{said}");
}

#[test]
fn a_run_goes_on_with_the_same_folder_and_with_no_other() {
    let here = tempfile::tempdir().unwrap();
    let texts = here.path().join("texts");
    fs::create_dir(&texts).unwrap();
    [("a.txt", 'a'), ("b.txt", 'b')].iter().for_each(|(name, letter)| write(&texts, name, *letter, 20));
    let small = "--no-figures --device cpu --set run.threads=1 --set train.batch=2 --set train.window=16 \
                 --set model.d_model=16 --set run.eval_windows=2 --set run.eval_every=0 --set run.checkpoint_every=2 \
                 --set probe.residual_every=0";
    let words = format!("run fast_slow {small} --steps 4 --set corpus.folder=texts --set corpus.domains=1");
    done(here.path(), &words);
    let run = fs::read_dir(here.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    let record = fs::read_to_string(run.join("run.json")).unwrap();
    assert!(record.contains("a.txt") && record.contains("b.txt"), "all files decide how much each gives: {record}");
    let resume = format!("resume {} --no-figures --steps 6", run.display());
    let refused = |part: &str| {
        let before = contents(&run);
        expect_exit(here.path(), &resume, 2, &[part]);
        assert!(contents(&run) == before, "{part}: a refusal changed the folder");
    };
    write(&texts, "c.txt", 'c', 20);
    refused("c.txt was not there when this run began");
    fs::remove_file(texts.join("c.txt")).unwrap();
    write(&texts, "b.txt", 'c', 20);
    refused("is not the file that this run was trained with");
    fs::remove_file(texts.join("b.txt")).unwrap();
    refused("b.txt is gone");
    write(&texts, "b.txt", 'b', 20);
    fs::rename(&texts, here.path().join("moved")).unwrap();
    refused("does not exist");
    fs::rename(here.path().join("moved"), &texts).unwrap();
    done(here.path(), &resume);
}
