//! The reference of commands (`docs/commands.md`), made from the same declarations as `--help`.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

use super::{Cli, EXIT_CODES, HELP_NOTES, parse};

const INTRO: &str = "# Commands

The commands of `orrery` and their options, as `orrery COMMAND --help` prints them. This page is made from the
program: `UPDATE_SNAPSHOTS=1 cargo test --test tidy commands`.
";

/// All groups, commands and options, as Markdown.
pub fn markdown() -> String {
    let mut program = Cli::command();
    program.build();
    let mut text = INTRO.to_owned();
    section(&mut text, &program, 2);
    let codes = EXIT_CODES.map(|(code, meaning)| format!("- `{code}`: {meaning}")).join("\n");
    // Writing to a string does not fail.
    let _ = writeln!(text, "\n## Exit codes\n\n{codes}\n\n{}", HELP_NOTES.join("\n\n"));
    text
}

/// Checks that the words after `orrery` are a command with its options; no file is looked for.
pub fn check(words: &[String]) -> Result<(), String> {
    let all = std::iter::once("orrery").chain(words.iter().map(String::as_str));
    parse(all).map(drop).map_err(|e| e.to_string())
}

/// A command with what it takes, then its own commands.
fn section(text: &mut String, command: &Command, depth: usize) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_about().map_or_else(String::new, |about| sentence(&about.to_string()));
    let _ = write!(text, "\n{} {name}\n\n{about}\n", "#".repeat(depth));
    let _ = write!(text, "\n```\n{}\n```\n", command.clone().render_usage().to_string().trim_start_matches("Usage: "));
    let arguments: Vec<&Arg> = command.get_arguments().filter(|arg| !is_common(arg) && !arg.is_hide_set()).collect();
    if !arguments.is_empty() {
        text.push('\n');
    }
    for arg in arguments {
        let help = arg.get_help().map_or_else(String::new, ToString::to_string);
        let _ = writeln!(text, "- `{arg}`: {}{}", sentence(&help), values(arg));
    }
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        section(text, command, depth + 1);
    }
}

/// Every command has these.
fn is_common(arg: &Arg) -> bool {
    ["help", "version"].contains(&arg.get_id().as_str())
}

fn sentence(words: &str) -> String {
    if words.is_empty() || words.ends_with('.') { words.to_owned() } else { format!("{words}.") }
}

/// The values to choose from, and the one taken without the option.
fn values(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let choices = arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    let defaults = arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    let lists: [(&str, Vec<String>); 2] = [("One of", choices), ("Without it:", defaults)];
    let shown = lists.iter().filter(|(_, names)| !names.is_empty());
    shown.map(|(words, names)| format!(" {words} {}.", names.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declarations_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_group_and_its_commands_have_a_section() {
        let text = markdown();
        for heading in
            ["## orrery", "### orrery run", "### orrery model", "#### orrery model eval", "#### orrery study roles"]
        {
            assert!(text.lines().any(|line| line == heading), "{heading} is missing:\n{text}");
        }
        assert!(text.contains("- `--seed <SEED>`: Seed of weights and batches."), "{text}");
    }
}
