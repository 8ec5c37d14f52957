//! The pages about building and testing name every test binary that `cargo test` links, and no other.

use std::{collections::BTreeSet, fs};

use super::sources::root;

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
