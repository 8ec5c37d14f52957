//! The spellings of earlier versions: each is refused with the new one, written out with the user's own arguments.

use std::ffi::OsString;

use super::shell::quoted;

/// The old name of a command, and the words that replace it after `orrery`.
const RENAMED_COMMANDS: [(&str, &str); 12] = [
    ("activations", "orrery model activations"),
    ("bench", "cargo run --release -p orrery-bench --"),
    ("concepts", "orrery study concepts"),
    ("contexts", "orrery model contexts"),
    ("eval", "orrery model eval"),
    ("find-concept", "orrery model find-concept"),
    ("generate", "orrery model generate"),
    ("intervene", "orrery model intervene"),
    ("merge", "orrery model merge"),
    ("merge-story", "orrery study merge-story"),
    ("roles", "orrery study roles"),
    ("view-graph", "orrery graph"),
];

/// The sentence for arguments that begin with an old name, perhaps after `help`.
pub fn refusal(args: &[OsString]) -> Option<String> {
    let is_help = args.first().is_some_and(|word| word == "help");
    let (name, rest) = args[usize::from(is_help)..].split_first()?;
    let (old, new) = RENAMED_COMMANDS.iter().find(|(old, _)| name == old)?;
    let words = rest.iter().map(quoted).chain(is_help.then(|| "--help".to_owned()));
    let command: Vec<String> = std::iter::once((*new).to_owned()).chain(words).collect();
    Some(format!("`orrery {old}` is now `{}`: {}", new.trim_end_matches(" --"), command.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal_of(words: &[&str]) -> Option<String> {
        refusal(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn an_old_spelling_names_the_new_one_with_its_arguments() {
        let eval = refusal_of(&["eval", "a b.pt", "--layers", "6"]).unwrap();
        assert_eq!(eval, "`orrery eval` is now `orrery model eval`: orrery model eval 'a b.pt' --layers 6");
        let help = refusal_of(&["help", "roles"]).unwrap();
        assert_eq!(help, "`orrery roles` is now `orrery study roles`: orrery study roles --help");
        let bench = refusal_of(&["bench", "--json"]).unwrap();
        assert!(bench.ends_with("cargo run --release -p orrery-bench -- --json"), "{bench}");
    }

    #[test]
    fn other_words_are_left_to_the_parser() {
        for words in [&[][..], &["help"], &["run", "eval"], &["./merge"]] {
            assert_eq!(refusal_of(words), None);
        }
    }
}
