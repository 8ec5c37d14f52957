//! Holds the table of who may know whom (front page of the crate) and the bans that no lint sees.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Module -> what of ours it may name. `cli` and `main` wire everything.
const MAY_USE: &[(&str, &[&str])] = &[
    ("config", &[]),
    ("corpus", &[]),
    ("nn", &[]),
    ("ode", &["nn"]),
    ("analysis", &[]),
    ("telemetry", &["config"]),
    ("gpu", &[]),
    ("models", &["analysis", "nn", "ode"]),
    ("probe", &["analysis", "config", "corpus", "models", "nn", "ode", "telemetry"]),
    ("store", &["config", "nn", "telemetry"]),
    ("trainer", &["config", "corpus", "models", "nn", "probe", "store", "telemetry"]),
    ("labs", &["config", "corpus", "models", "nn", "probe", "telemetry", "trainer"]),
    ("ui", &["analysis", "config", "gpu", "labs", "telemetry"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// Every source file with the module it belongs to; comments are cut off, and so is a trailing
/// `#[cfg(test)] mod tests`.
fn files() -> Vec<(String, PathBuf, String)> {
    let mut paths = vec![];
    sources(&root(), &mut paths);
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let relative = path.strip_prefix(root()).unwrap();
            let first = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
            let module = first.trim_end_matches(".rs").to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let code: Vec<&str> = code.lines().map(|l| l.split("//").next().unwrap_or_default()).collect();
            (module, path, code.join("\n"))
        })
        .collect()
}

fn modules() -> Vec<String> {
    let mut all: Vec<String> = files().into_iter().map(|(m, _, _)| m).filter(|m| m != "lib" && m != "main").collect();
    all.dedup();
    all
}

/// The modules of ours that a piece of code names: `crate::x` and the groups `use crate::{x, y::z}`.
fn named(code: &str) -> Vec<String> {
    let mut found = vec![];
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let word = |s: &str| -> String { s.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
        match rest.strip_prefix('{') {
            None => found.push(word(rest)),
            Some(group) => found.extend(top_level(group).iter().map(|item| word(item))),
        }
    }
    found.retain(|w| !w.is_empty());
    found
}

/// The items of a `{..}` group, split at its own commas only. `group` begins after the brace.
fn top_level(group: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => items.push(String::new()),
            _ => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                items.last_mut().unwrap().push(c);
            }
        }
    }
    items
}

#[test]
fn the_table_of_who_may_know_whom_holds() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let modules = modules();
    let mut broken = vec![];
    for (module, path, code) in files() {
        if ["cli", "main", "lib"].contains(&module.as_str()) {
            continue;
        }
        let Some(may) = allowed.get(module.as_str()) else {
            broken.push(format!("module `{module}` is not in the table; add it here and on the front page"));
            continue;
        };
        for used in named(&code) {
            if modules.contains(&used) && used != module && !may.contains(&used.as_str()) {
                broken.push(format!("{} names `{used}`, which `{module}` may not know", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_front_page_states_the_same_table() {
    let page = fs::read_to_string(root().join("lib.rs")).unwrap();
    for (module, may) in MAY_USE.iter().filter(|(m, _)| modules().iter().any(|have| have == m)) {
        let row = page
            .lines()
            .find(|l| l.starts_with(&format!("//! | [`{module}`]")))
            .unwrap_or_else(|| panic!("the front page has no row for `{module}`"));
        let last = row.trim_end_matches('|').rsplit('|').next().unwrap();
        let listed: Vec<&str> = last.split(['(', ',']).map(str::trim).collect();
        for m in *may {
            assert!(listed.contains(m), "the front page's row of `{module}` lacks `{m}`: {row}");
        }
    }
}

#[test]
fn libraries_stay_where_they_belong() {
    const NO_WINDOW: &[&str] = &[
        "config",
        "corpus",
        "nn",
        "ode",
        "models",
        "analysis",
        "telemetry",
        "probe",
        "store",
        "trainer",
        "labs",
        "bench",
    ];
    let bans: &[(&str, &[&str])] = &[
        ("candle_", &["config", "corpus", "telemetry", "analysis", "labs", "gpu", "ui"]),
        ("egui", NO_WINDOW),
        ("wgpu", NO_WINDOW),
    ];
    for (module, path, code) in files() {
        for (library, banned) in bans {
            if banned.contains(&module.as_str()) {
                assert!(!code.contains(library), "{} names {library}", path.display());
            }
        }
    }
}

#[test]
fn the_interface_thread_never_waits() {
    for (module, path, code) in files() {
        if module == "ui" {
            // a path's or a slice's join takes an argument; a thread's takes none
            for wait in [".recv()", ".join()", "thread::sleep", "fs::read", "File::open", "block_on("] {
                assert!(!code.contains(wait), "{} has `{wait}`; the interface must not wait", path.display());
            }
        }
    }
}

#[test]
fn numbers_come_back_from_a_device_in_one_file() {
    for (module, path, code) in files() {
        if path.ends_with("nn/host.rs") || path.components().any(|c| c.as_os_str() == "fused") {
            continue; // fused operations work on host memory itself
        }
        if ["nn", "ode", "models", "probe", "trainer", "store"].contains(&module.as_str()) {
            for copy in ["to_vec0", "to_vec1", "to_vec2", "to_vec3", "to_scalar"] {
                assert!(!code.contains(copy), "{} has `{copy}`; use nn::host", path.display());
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is() {
    for (_, path, _) in files() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//!"), "{} does not open with //!", path.display());
    }
}

/// A checker that cannot fail checks nothing.
#[test]
fn the_reader_of_imports_sees_groups_and_paths() {
    let code =
        "use crate::{\n    config::{Config, Knob},\n    nn,\n    telemetry::Event,\n};\nlet x = crate::models::Spec;";
    assert_eq!(named(code), ["config", "nn", "telemetry", "models"]);
}
