//! Checks that the reference of commands agrees with the program's help, and that the program accepts the commands in
//! the pages. After an intended change: `UPDATE_SNAPSHOTS=1 cargo test --test tidy commands`.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use orrery::cli::reference;

/// Compares a page of `docs` with the text that the program generates; with `UPDATE_SNAPSHOTS`, replaces the page.
pub fn assert_page(name: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, now).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let differing = now.lines().zip(stored.lines()).find(|(new, old)| new != old);
    assert!(now == stored, "docs/{name} is not what the program says, first at {differing:?}");
}

#[test]
fn the_reference_of_commands_is_as_the_program_has_them() {
    assert_page("commands.md", &reference::markdown());
}

/// The words of a shell line, which may contain quotes and end with a pipe or a comment.
fn words(line: &str) -> Vec<String> {
    let (mut all, mut word, mut quote) = (vec![], String::new(), None);
    for c in line.split(" #").flat_map(|part| part.split(" | ")).next().unwrap_or_default().chars() {
        match quote {
            Some(q) if c == q => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == ' ' => all.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            _ => word.push(c),
        }
    }
    all.extend(Some(word).filter(|w| !w.is_empty()));
    all
}

#[test]
fn commands_in_pages_are_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let (mut taken, mut refused) = (0, vec![]);
    let is_page = |path: &PathBuf| path.extension().is_some_and(|e| e == "md") && !path.ends_with("commands.md");
    for page in docs.filter(is_page).chain([root.join("README.md")]) {
        let text = fs::read_to_string(&page).unwrap();
        for line in text.lines().map(str::trim).filter(|line| !line.ends_with('\\')) {
            let Some(rest) = line.strip_prefix("orrery ").filter(|rest| !rest.contains("`")) else { continue };
            match reference::check(&words(rest)) {
                Ok(()) => taken += 1,
                Err(why) => {
                    refused.push(format!("{}: {line}: {}", page.display(), why.lines().next().unwrap_or_default()))
                }
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(taken > 80, "{taken} commands were found");
}
