//! Quotes words for a shell, so that a printed command can be copied.

use std::ffi::OsStr;

/// Quotes a word for a POSIX shell.
pub fn quoted(word: impl AsRef<OsStr>) -> String {
    let text = word.as_ref().to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_a_shell() {
        assert_eq!(quoted("/a/b-c_1.toml"), "/a/b-c_1.toml");
        assert_eq!(quoted("my runs/it's"), r"'my runs/it'\''s'");
    }
}
