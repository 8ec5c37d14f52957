//! The reference of commands is what the program's own help says. After a change that is meant:
//! `UPDATE_SNAPSHOTS=1 cargo test --test tidy commands`.

use std::{env, fs, path::Path};

use orrery::cli::reference;

#[test]
fn the_reference_of_commands_is_as_the_program_has_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let now = reference::markdown();
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let differing = now.lines().zip(stored.lines()).find(|(new, old)| new != old);
    assert!(now == stored, "docs/commands.md is not what the program says, first at {differing:?}");
}
