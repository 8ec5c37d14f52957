//! Checks the pages for contributors: everything that they name exists, their filters match tests, and the code in
//! CONTRIBUTING.md can be applied to the tree. `scripts/contributing` applies it to a copy, which `ORRERY_APPLY_TO`
//! names. The script compiles this file alone, so it uses only the standard library.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Holds a block of code with the place that the line before it names.
struct Block {
    path: String,
    /// Where to insert it; `None` of a whole new file.
    anchor: Option<Anchor>,
    text: String,
}

/// A line that occurs exactly once in its file.
struct Anchor {
    line: String,
    is_before: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The paths of all checked pages.
fn pages() -> Vec<String> {
    let mut all =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "tests/window/snapshots/README.md"].map(String::from).to_vec();
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            all.push(format!("docs/{name}"));
        }
    }
    all
}

/// The text in backticks after `before`, if the line ends with it and a colon.
fn named<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.strip_suffix("`:").and_then(|line| line.rsplit_once(before)).map(|(_, name)| name)
}

fn blocks() -> Vec<Block> {
    let page = read("CONTRIBUTING.md");
    let (mut blocks, mut last, mut lines) = (vec![], "", page.lines());
    while let Some(line) = lines.next() {
        let fence = line.split(|c| c != '`').next().unwrap_or_default();
        if fence.len() < 3 {
            last = if line.is_empty() { last } else { line };
            continue;
        }
        let text: String = lines.by_ref().take_while(|l| *l != fence).map(|l| format!("{l}\n")).collect();
        let new = named(last, "File `").map(|path| (path.to_owned(), None));
        let split = |by: &str, is_before| {
            let (path, line) = named(last, "In `")?.split_once(by)?;
            Some((path.to_owned(), Some(Anchor { line: line.to_owned(), is_before })))
        };
        let place = new.or_else(|| split("`, after the line `", false)).or_else(|| split("`, before the line `", true));
        let (path, anchor) = place.unwrap_or_else(|| panic!("where does this block belong? {last}"));
        blocks.push(Block { path, anchor, text });
    }
    blocks
}

/// The content of the file after the block was applied.
fn applied(block: &Block, tree: &Path) -> String {
    let path = tree.join(&block.path);
    let Some(anchor) = &block.anchor else {
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(there.is_empty() || there == block.text, "{} is not a new file", block.path);
        assert!(path.parent().is_some_and(Path::is_dir), "{} has no folder", block.path);
        return block.text.clone();
    };
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", block.path));
    let at: Vec<usize> = (0..).zip(text.lines()).filter(|(_, l)| l.trim() == anchor.line).map(|(i, _)| i).collect();
    assert_eq!(at.len(), 1, "{} has the line `{}` {} times", block.path, anchor.line, at.len());
    let mut lines: Vec<&str> = text.lines().collect();
    let place = if anchor.is_before { at[0] } else { at[0] + 1 };
    lines.splice(place..place, block.text.lines());
    lines.join("\n") + "\n"
}

#[test]
fn every_block_has_its_place() {
    let copy = env::var_os("ORRERY_APPLY_TO").map(PathBuf::from);
    for block in blocks() {
        let text = applied(&block, copy.as_ref().unwrap_or(&root()));
        if let Some(copy) = &copy {
            fs::write(copy.join(&block.path), text).unwrap();
        }
    }
}

/// The texts in backticks in a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The lines of a page outside code blocks.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut text = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The cells of each row in the table that says where to add something.
fn rows() -> Vec<Vec<String>> {
    let page = read("CONTRIBUTING.md");
    let (_, table) = page.split_once("| to add |").expect("the table of what is added where");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

fn assert_exists(path: &str, page: &str) {
    let known = path.split(['<', '*']).next().unwrap_or_default();
    let known = if known.len() < path.len() { known.rsplit_once('/').map_or("", |(folder, _)| folder) } else { known };
    assert!(root().join(known).exists(), "{page} names `{path}`, which does not exist");
}

#[test]
fn the_table_names_what_exists() {
    let rows = rows();
    assert!(rows.len() >= 10, "{} rows", rows.len());
    for row in rows {
        let [_, file, entry, _] = row.as_slice() else { panic!("{row:?}") };
        quoted(file).for_each(|path| assert_exists(path, "CONTRIBUTING.md"));
        let (paths, items): (Vec<&str>, Vec<&str>) = quoted(entry).partition(|word| word.contains('/'));
        let text: String = paths.iter().map(|path| read(path)).collect();
        for item in items {
            let name = item.trim_end_matches('!').rsplit("::").next().unwrap_or_default();
            assert!(text.contains(name), "none of {paths:?} has `{item}`");
        }
    }
}

/// The paths of all tests of one binary, such as `fused::layers::threads_change_no_bit`.
fn tests_of(binary: &str) -> Vec<String> {
    let folder = root().join("tests").join(binary);
    assert!(folder.is_dir(), "there is no test binary `{binary}`");
    let (mut all, mut waiting) = (vec![], vec![folder.clone()]);
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let module = path.strip_prefix(&folder).unwrap().with_extension("");
            let names = module.iter().map(|part| part.to_string_lossy().into_owned());
            let module: String = names.filter(|n| n != "mod" && n != "main").map(|n| n + "::").collect();
            let text = fs::read_to_string(&path).unwrap();
            for part in text.split("#[test]").skip(1) {
                let name = part.split_once("fn ").map_or("", |(_, rest)| rest);
                let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                all.push(format!("{module}{name}"));
            }
        }
    }
    all
}

/// The word up to a blank or the end of quoted code.
fn word(text: &str) -> &str {
    text.trim_start().split(|c: char| c.is_whitespace() || c == '`').next().unwrap_or_default()
}

/// Every `--test BINARY FILTER` of a text; the filter is empty where none is given.
fn filters(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().flat_map(|line| line.split(" --test ").skip(1));
    let is_filter = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c));
    lines
        .map(|rest| {
            let binary = word(rest).trim_end_matches([',', '.', ';', ')']);
            let after = rest.trim_start().strip_prefix(binary).unwrap_or_default();
            let filter = if after.starts_with(' ') { word(after) } else { "" };
            (binary.to_owned(), if is_filter(filter) { filter.to_owned() } else { String::new() })
        })
        .filter(|(binary, _)| is_filter(binary) && binary != "BINARY")
        .collect()
}

#[test]
fn every_filter_matches_a_test() {
    let mut all = vec![];
    for page in
        pages().into_iter().chain([".ci/run", "scripts/asan", "scripts/faults", "scripts/slurm"].map(String::from))
    {
        all.extend(filters(&read(&page)).into_iter().map(|(binary, filter)| (page.clone(), binary, filter)));
    }
    for row in rows() {
        for (binary, filter) in quoted(&row[3]).filter_map(|words| words.split_once(' ')) {
            all.push(("the table of CONTRIBUTING.md".to_owned(), binary.to_owned(), filter.to_owned()));
        }
    }
    let silent =
        all.iter().filter(|(_, binary, filter)| !tests_of(binary).iter().any(|test| test.contains(filter.as_str())));
    let silent: Vec<String> =
        silent.map(|(page, binary, filter)| format!("{page}: --test {binary} {filter}")).collect();
    assert!(silent.is_empty(), "these run no test:\n{}", silent.join("\n"));
}

#[test]
fn pages_name_files_that_exist() {
    const FOLDERS: [&str; 10] =
        ["src/", "tests/", "scripts/", "docs/", "assets/", "configs/", "shaders/", "benches/", "fuzz/", ".ci/"];
    let added: Vec<String> = blocks().into_iter().filter(|b| b.anchor.is_none()).map(|b| b.path).collect();
    let stems: Vec<&str> = added.iter().filter_map(|path| Path::new(path).file_stem()?.to_str()).collect();
    for page in pages() {
        let text = prose(&read(&page));
        for path in text.lines().flat_map(quoted).filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder))) {
            let path = path.split([' ', ':']).next().unwrap_or_default();
            if !stems.iter().any(|stem| path.contains(stem)) && !path.contains("NAME") {
                assert_exists(path, &page);
            }
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in pages() {
        let text = prose(&read(&page));
        let folder = Path::new(&page).parent().unwrap_or(Path::new(""));
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            let is_outside = link.contains("://") || path.is_empty();
            assert!(is_outside || root().join(folder).join(path).exists(), "{page} links to {link}");
        }
    }
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 90, "README.md has {lines} lines");
}
