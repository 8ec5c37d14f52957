//! Quotes words for a shell, so that a printed command can be copied.

use std::{ffi::OsStr, fmt::Write as _};

/// Quotes a word for a POSIX shell, on one line.
pub fn quoted(word: impl AsRef<OsStr>) -> String {
    let text = word.as_ref().to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false if text.contains(char::is_control) => escaped(&text),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Writes control characters as their codes, in the quotes `$'..'` of POSIX.1-2024 (bash, zsh, ksh; not dash). What
/// reads commands line by line, such as GNU parallel, would take what follows a line's end for another command.
fn escaped(text: &str) -> String {
    let mut out = "$'".to_owned();
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            _ if c.is_control() => {
                for byte in c.to_string().bytes() {
                    // writing to a string does not fail
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            _ => out.push(c),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_a_shell() {
        assert_eq!(quoted("/a/b-c_1.toml"), "/a/b-c_1.toml");
        assert_eq!(quoted("my runs/it's"), r"'my runs/it'\''s'");
    }

    #[cfg(unix)]
    #[test]
    fn a_control_character_stays_within_its_line() {
        for word in ["a\nreboot\n", "a\x1b[2J\u{9b}1m", "it's\t\\0\u{e9}7"] {
            let line = format!("printf %s {}", quoted(word));
            assert!(!line.contains(char::is_control), "{line}");
            let output = std::process::Command::new("bash").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word, "{line}");
        }
    }
}
