//! Checks which modules may use which (the table on the front page of the crate), and bans that no lint covers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use super::{
    imports::Imports,
    sources::{files, root, sources},
};

/// The modules that each module may use. `cli` and `main` may use all of them.
const MAY_USE: &[(&str, &[&str])] = &[
    ("config", &[]),
    ("files", &[]),
    ("random", &[]),
    ("kernels", &[]),
    ("corpus", &["files", "random"]),
    ("nn", &["config", "files", "kernels", "random"]),
    ("ode", &["analysis", "nn"]),
    ("analysis", &["config", "random"]),
    ("telemetry", &["analysis", "config"]),
    ("gpu", &[]),
    ("models", &["analysis", "config", "files", "nn", "ode", "random", "telemetry"]),
    ("probe", &["analysis", "config", "corpus", "models", "nn", "ode", "random", "telemetry"]),
    ("store", &["config", "files", "nn", "telemetry"]),
    ("trainer", &["config", "corpus", "files", "models", "nn", "probe", "store", "telemetry"]),
    ("labs", &["analysis", "config", "corpus", "models", "nn", "ode", "probe", "telemetry", "trainer"]),
    ("experiments", &["analysis", "config", "files", "labs", "store", "telemetry"]),
    ("ui", &["analysis", "config", "experiments", "gpu", "labs", "random", "telemetry"]),
];

fn modules() -> BTreeSet<String> {
    sources().iter().map(|s| s.top().to_owned()).filter(|m| m != "lib").collect()
}

#[test]
fn modules_use_only_modules_that_the_table_allows() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let mut broken: Vec<String> = modules()
        .iter()
        .filter(|m| *m != "cli" && !allowed.contains_key(m.as_str()))
        .map(|m| format!("module `{m}` is not in the table; add it here and on the front page"))
        .collect();
    for (from, used) in Imports::of_crate().across() {
        let own = from[0].as_str();
        if own != "cli" && !allowed.get(own).is_some_and(|may| may.contains(&used)) {
            broken.push(format!("`{}` names `{used}`, which `{own}` may not know", from.join("::")));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_front_page_states_the_same_table() {
    let page = fs::read_to_string(root().join("app/lib.rs")).unwrap();
    let row = |line: &str| -> Option<(String, BTreeSet<String>)> {
        let module = line.strip_prefix("//! | [`")?.split('`').next()?;
        let may = line.trim_end_matches('|').rsplit('|').next()?.split('(').next()?;
        let may = may.split(',').map(str::trim).filter(|m| *m != "nothing");
        Some((module.to_owned(), may.map(str::to_owned).collect()))
    };
    let mut stated: BTreeMap<String, BTreeSet<String>> = page.lines().filter_map(row).collect();
    assert_eq!(stated.remove("cli"), Some(BTreeSet::from(["all".to_owned()])));
    let here = MAY_USE.iter().map(|(m, may)| ((*m).to_owned(), may.iter().map(|m| (*m).to_owned()).collect()));
    assert_eq!(stated, here.collect::<BTreeMap<String, BTreeSet<String>>>());
}

#[test]
fn libraries_stay_where_they_belong() {
    const NO_TENSORS: &[&str] = &["config", "corpus", "telemetry", "analysis", "labs", "experiments", "gpu", "ui"];
    const WINDOW: &[&str] = &["gpu", "ui", "cli"];
    for source in sources() {
        let (module, path, code) = (source.top(), &source.file, &source.code);
        let bans = [
            ("candle_", NO_TENSORS.contains(&module)),
            ("egui", !WINDOW.contains(&module)),
            ("wgpu", !WINDOW.contains(&module)),
        ];
        for (library, is_banned) in bans {
            assert!(!is_banned || !code.contains(library), "{} names {library}", path.display());
        }
    }
}

#[test]
fn the_interface_thread_never_waits() {
    const WAITS: &[&str] = &[
        ".recv()",
        ".recv_timeout(",
        // a path's or a slice's join takes an argument; a thread's takes none
        ".join()",
        // a process's wait takes no argument
        ".wait()",
        ".wait_timeout(",
        ".wait_while(",
        ".output()",
        ".status()",
        "thread::sleep",
        "thread::park",
        "fs::read",
        "File::open",
        "block_on(",
    ];
    /// Their locks are held by others while values are copied, or are taken on threads of their own.
    const SHORT_LOCKS: &[&str] = &["ui/panels/picture.rs", "ui/views/graph/canvas.rs", "ui/views/graph/motion.rs"];
    for source in sources().into_iter().filter(|source| source.top() == "ui") {
        let (path, code) = (&source.file, &source.code);
        let found = WAITS.iter().find(|wait| code.contains(**wait));
        assert!(found.is_none(), "{} has {found:?}; the interface must not wait", path.display());
        let may_lock = SHORT_LOCKS.iter().any(|file| path.ends_with(file));
        assert!(may_lock || !code.contains(".lock()"), "{} takes a lock that others may hold", path.display());
    }
}

/// One p value in two formats looks like two.
#[test]
fn p_values_are_written_by_one_function() {
    for source in sources().into_iter().filter(|source| ["ui", "cli"].contains(&source.top())) {
        for format in ["(p {:", " p {:", "p = {:"] {
            assert!(!source.code.contains(format), "{} has `{format}`; use p_label", source.file.display());
        }
    }
}

/// Unsafe code is that of the kernels, where it is read with care. These files are the exceptions: products of matrices on
/// the kernels' instructions, an allocator that counts, an option of a graphics card, and calls to the operating system.
#[test]
fn unsafe_code_stands_in_the_kernels_and_in_files_named_here() {
    const EXCEPTIONS: &[&str] = &[
        "app/cli/display.rs",
        "app/cli/process.rs",
        "app/cli/runs.rs",
        "engine/analysis/dense.rs",
        "engine/analysis/graph/product.rs",
        "engine/analysis/ridge.rs",
        "engine/nn/device.rs",
        "engine/nn/memory.rs",
    ];
    let is_unsafe = |code: &str| ["unsafe {", "unsafe fn", "unsafe impl"].iter().any(|form| code.contains(form));
    let outside = sources().into_iter().filter(|source| source.top() != "kernels" && is_unsafe(&source.code));
    let found: Vec<PathBuf> = outside.map(|source| source.file.strip_prefix(root()).unwrap().to_owned()).collect();
    assert_eq!(found, EXCEPTIONS.iter().map(PathBuf::from).collect::<Vec<_>>());
}

#[test]
fn numbers_come_back_from_a_device_in_one_file() {
    for source in sources() {
        let (module, path, code) = (source.top(), &source.file, &source.code);
        if path.ends_with("kernels/host.rs") || path.components().any(|c| c.as_os_str() == "fused") {
            continue; // fused operations work on host memory itself
        }
        if ["nn", "ode", "models", "probe", "trainer", "store"].contains(&module) {
            for copy in ["to_vec0", "to_vec1", "to_vec2", "to_vec3", "to_scalar"] {
                assert!(!code.contains(copy), "{} has `{copy}`; use nn::host", path.display());
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is() {
    for path in files() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//!"), "{} does not open with //!", path.display());
    }
}

#[test]
fn no_file_is_long() {
    for source in sources() {
        let lines = source.code.lines().count();
        assert!(lines < 500, "{} has {lines} lines before its tests: split it", source.file.display());
    }
}

/// A variant must have the same colour in all views, so every view takes it from the same function.
#[test]
fn a_variants_colour_is_taken_from_one_place() {
    for source in sources() {
        let is_that_place = source.module == ["ui", "seed_series"] || source.module == ["ui", "theme"];
        assert!(
            is_that_place || !source.code.contains("theme.variant("),
            "{} picks a variant's colour: take it from seed_series::variant_colour",
            source.file.display()
        );
    }
}

/// A command must fail if its result cannot be written, so all results go through one writer that checks this.
#[test]
fn standard_output_has_one_writer() {
    for source in sources() {
        let is_writer = source.module == ["cli", "output"];
        let prints = |line: &str| {
            let is_macro = |name: &str| line.match_indices(name).any(|(at, _)| !line[..at].ends_with(['e', '_']));
            is_macro("println!(") || is_macro("print!(") || line.contains("stdout()")
        };
        let found = source.code.lines().find(|line| prints(line));
        assert!(is_writer || found.is_none(), "{}: {found:?}: use print_line of cli::output", source.file.display());
    }
}

/// After a line break the name of somebody else's folder could pass for a further line of the result.
#[test]
fn paths_are_printed_on_one_line() {
    for source in sources().iter().filter(|s| s.top() == "cli") {
        for (at, _) in source.code.match_indices("print_line!(") {
            let call = first_call(&source.code[at..]);
            assert!(!call.contains(".display()"), "{}: {call}: use path_label", source.file.display());
        }
    }
}

/// The text up to the parenthesis that closes the first one.
fn first_call(code: &str) -> &str {
    let mut depth = 0;
    let end = code.char_indices().find(|(_, c)| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        *c == ')' && depth == 0
    });
    end.map_or(code, |(at, _)| &code[..at])
}

/// Run folders, sweeps and folders of texts may come from somebody else. Only the module `files`, which follows no link
/// inside them, may open, create, list, rename and remove files and folders. Types and `metadata` may be used anywhere.
#[test]
fn files_are_opened_in_one_room() {
    const DOORS: &[&str] = &[
        "fs::read",
        "fs::write",
        "fs::create_dir",
        "fs::remove_",
        "fs::rename",
        "fs::copy",
        "fs::hard_link",
        "fs::set_permissions",
        "fs::*",
        "fs as",
        "rustix::fs",
        "tempfile::",
        "File::open",
        "File::create",
        "File::options",
        "File as",
        "OpenOptions",
        "DirBuilder",
        "read_dir",
    ];
    /// The files that use temporary folders, which belong to this process only.
    const OWN_FOLDERS: &[&str] = &["cli/sweep/slurm.rs", "cli/remote/ssh.rs"];
    let mut found = vec![];
    for source in sources().iter().filter(|s| s.top() != "files") {
        let has_own_folder = OWN_FOLDERS.iter().any(|file| source.file.ends_with(file));
        let is_banned = |line: &str, door: &str| names(line, door) && !(has_own_folder && door == "tempfile::");
        for line in source.code.lines().filter(|line| DOORS.iter().any(|door| is_banned(line, door))) {
            found.push(format!("{}: {}", source.file.display(), line.trim()));
        }
        found.extend(imported_doors(&source.code).map(|item| format!("{}: fs::{{{item}}}", source.file.display())));
    }
    assert!(found.is_empty(), "use the functions of `files`:\n{}", found.join("\n"));
}

/// True if a line contains this path, and not only as the end of a longer name.
fn names(line: &str, path: &str) -> bool {
    let is_whole = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    line.match_indices(path).any(|(at, _)| is_whole(at))
}

/// The functions in import lists from `fs`, whose calls do not contain `fs::`.
fn imported_doors(code: &str) -> impl Iterator<Item = &str> {
    const TYPES: &[&str] = &["self", "DirEntry", "File", "FileType", "Metadata", "ReadDir", "TryLockError"];
    let lists = code.match_indices("fs::{").filter_map(move |(at, open)| code[at + open.len()..].split('}').next());
    let items = lists.flat_map(|list| list.split(',')).map(str::trim);
    items.filter(|item| !item.is_empty() && !TYPES.contains(item))
}

#[test]
fn functions_of_fs_are_found_in_lists_of_imports() {
    let code = "use std::{\n    fs::{self, File,\n        read_to_string},\n};\nuse std::fs::{write, Metadata};";
    assert_eq!(imported_doors(code).collect::<Vec<_>>(), ["read_to_string", "write"]);
    assert!(names("use rustix::fs::openat;", "rustix::fs") && !names("offs::read()", "fs::read"));
}
