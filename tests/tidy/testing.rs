//! The pages about building and testing name every test binary that `cargo test` links and every variable that a test
//! reads, and no others.

use std::{collections::BTreeSet, fs};

use super::sources::{files, root, rust_files};

/// The commands that run one test binary of the default members each.
fn commands() -> BTreeSet<String> {
    let read = |folder: &str| -> toml::Table {
        let text = fs::read_to_string(root().join("..").join(folder).join("Cargo.toml")).unwrap();
        toml::from_str(&text).unwrap()
    };
    let is_tested = |target: &toml::Value| target.get("test").is_none_or(|test| test.as_bool() != Some(false));
    let name = |target: &toml::Value| target["name"].as_str().unwrap().to_owned();
    let mut all = BTreeSet::new();
    for member in read(".")["workspace"]["default-members"].as_array().unwrap() {
        let manifest = read(member.as_str().unwrap());
        if is_tested(&manifest["lib"]) {
            all.insert(format!("cargo test -p {} --lib", name(&manifest["package"])));
        }
        for kind in ["test", "bin"] {
            let targets = manifest.get(kind).and_then(toml::Value::as_array).into_iter().flatten();
            let tested = targets.filter(|target| is_tested(target));
            all.extend(tested.map(|target| format!("cargo test --{kind} {}", name(target))));
        }
    }
    all
}

/// The commands with which the rows of a page's tables begin.
fn named(page: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("../docs").join(page)).unwrap();
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    cells.filter(|cell| cell.starts_with("cargo test")).map(str::to_owned).collect()
}

#[test]
fn pages_name_every_test_binary() {
    assert_eq!(named("testing.md"), commands());
    assert_eq!(named("build.md"), commands());
}

#[test]
fn the_number_of_test_binaries_is_stated() {
    let page = fs::read_to_string(root().join("../docs/build.md")).unwrap();
    assert_eq!(commands().len(), 9, "docs/build.md says nine");
    assert!(page.contains("links nine test binaries"));
}

/// The environment variables that tests read.
fn variables_read() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for file in rust_files(&root().join("../tests")) {
        let text = fs::read_to_string(file).unwrap();
        for read in ["var(\"", "var_os(\"", "variable(\""] {
            let names = text.split(read).skip(1).filter_map(|rest| rest.split('"').next());
            let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_uppercase() || c == '_') && *name != "PATH";
            all.extend(names.filter(is_name).map(str::to_owned));
        }
    }
    all
}

/// Returns the environment variables in the table of docs/testing.md.
fn variables_listed() -> BTreeSet<String> {
    let page = fs::read_to_string(root().join("../docs/testing.md")).unwrap();
    let (_, table) = page.split_once("| variable | what it does |\n").unwrap();
    let cells = table.lines().take_while(|line| line.starts_with('|')).filter_map(|row| row.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.filter_map(|name| name.split_once('=')).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn every_variable_of_the_tests_is_listed() {
    let listed = variables_listed();
    // scripts/contributing sets it
    let missing: Vec<String> =
        variables_read().into_iter().filter(|name| !listed.contains(name) && name != "ORRERY_APPLY_TO").collect();
    assert!(missing.is_empty(), "docs/testing.md does not list {missing:?}");
}

#[test]
fn every_listed_variable_is_read() {
    let mut places = files();
    places.extend(rust_files(&root().join("../tests")));
    places.extend(["../.cargo/config.toml", "../python/tests/test_crash.py"].map(|path| root().join(path)));
    let text: String = places.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let listed = variables_listed();
    assert!(listed.len() > 10, "{listed:?}");
    let unread: Vec<&String> = listed.iter().filter(|name| !text.contains(name.as_str())).collect();
    assert!(unread.is_empty(), "nothing reads {unread:?}");
}

#[test]
fn examples_of_the_engine_have_forty_lines() {
    let examples = rust_files(&root().join("engine/examples"));
    assert_eq!(examples.len(), 2, "docs/debugging.md tells of two");
    for file in examples {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 40, "{} has {lines} lines", file.display());
    }
}
