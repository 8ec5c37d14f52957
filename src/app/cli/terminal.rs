//! All text that a command prints for a person. What came from a file or from somebody else's run is in it, so that no
//! character reaches the terminal that would act there: such a character is shown as its code.
//!
//! Standard error takes words about the work ([`notice`]). That it is closed, or full, must end nothing: a run is worth
//! more than its account. Results go to standard output by [`super::output::print_line`], and fail with it.

use std::{
    borrow::Cow,
    fmt,
    io::{self, Write as _},
    path::Path,
};

use crate::ui::widgets::truncated::without_middle;

/// The most characters of the first line of a message, which may list every name that is known.
const MAX_SENTENCE: usize = 2000;
/// The most characters of a further line, such as one that is quoted from a file.
const MAX_FURTHER_LINE: usize = 300;
const MAX_LINES: usize = 100;

/// Prints a message to standard error like `eprintln!`, but printable, its further lines indented, and never panics.
macro_rules! notice {
    ($($words:tt)*) => { $crate::cli::terminal::print_notice(::std::format_args!($($words)*)) };
}

pub(crate) use notice;

/// The message of [`notice`].
pub fn print_notice(words: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", indented(&bounded(&printable(&words.to_string()))));
}

/// The message, no longer than a person reads: a file of one line of 100 kB, or a name of that length, would be quoted whole.
/// A line that is too long loses its middle, because a sentence ends with what to do.
pub fn bounded(message: &str) -> Cow<'_, str> {
    let max = |line: usize| if line == 0 { MAX_SENTENCE } else { MAX_FURTHER_LINE };
    let is_short = |(i, line): (usize, &str)| i < MAX_LINES && line.chars().count() <= max(i);
    if message.split('\n').enumerate().all(is_short) {
        return Cow::Borrowed(message);
    }
    let mut lines: Vec<String> = message.split('\n').map(str::to_owned).take(MAX_LINES + 1).collect();
    if lines.len() > MAX_LINES {
        lines[MAX_LINES] = "…".to_owned();
    }
    let short = lines.iter().enumerate().map(|(i, line)| without_middle(line, max(i)));
    Cow::Owned(short.collect::<Vec<_>>().join("\n"))
}

/// The text with its further lines indented: names and sentences of somebody else's run may contain line breaks, and what
/// follows one must not look like a message of its own.
fn indented(text: &str) -> String {
    let indent = |(i, line): (usize, &str)| match i > 0 && line.starts_with(|c: char| !c.is_whitespace()) {
        true => format!("  {line}"),
        false => line.to_owned(),
    };
    text.split('\n').enumerate().map(indent).collect::<Vec<String>>().join("\n")
}

/// The text with codes for characters that act on a terminal (`\u{1b}`, `\r`) or turn the direction of text.
pub fn printable(text: &str) -> Cow<'_, str> {
    escape_chars(text, |c| !matches!(c, '\n' | '\t') && is_unprintable(c))
}

/// The text as one line of a table, in which the ends of lines and tabs are shown as their codes too.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape_chars(text, is_unprintable)
}

/// The path for a line of a result.
pub fn path_label(path: &Path) -> String {
    one_line(&path.to_string_lossy()).into_owned()
}

fn escape_chars(text: &str, is_shown_as_code: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_shown_as_code) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_shown_as_code(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// C0, DEL and C1, the separators of lines and paragraphs, and the characters that Unicode calls bidirectional controls.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_printed_as_escapes() {
        let hostile = "a\x1b]0;title\x07\u{9b}31m\r\x7f\u{202e}txt.exe\u{2066}\u{2028}b";
        let shown = r"a\u{1b}]0;title\u{7}\u{9b}31m\r\u{7f}\u{202e}txt.exe\u{2066}\u{2028}b";
        assert_eq!(printable(hostile), shown);
        assert_eq!(one_line(hostile), shown);
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["", "loss \u{2014} \u{3b7} \u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f600}", "two\n\tlines"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
        assert_eq!(one_line("two\n\tlines"), r"two\n\tlines");
    }

    #[test]
    fn a_message_is_no_longer_than_a_person_reads() {
        let long = "x".repeat(100_000);
        let message =
            format!("a.toml: unknown key `{long}`, expected `axes`\n1 | {long}\n{}^\nleave it out", " ".repeat(90_000));
        let shown = bounded(&message);
        assert!(shown.len() < 3000, "{}", shown.len());
        assert!(shown.starts_with("a.toml: unknown key `x") && shown.contains("x`, expected `axes`\n1 | x"), "{shown}");
        assert!(shown.ends_with("^\nleave it out") && matches!(bounded(&shown), Cow::Borrowed(_)), "{shown}");
        assert_eq!(bounded(&"line\n".repeat(100_000)), format!("{}…", "line\n".repeat(MAX_LINES)));
        for short in ["", "one", "two\nlines\n"] {
            assert!(matches!(bounded(short), Cow::Borrowed(same) if same == short));
        }
    }

    #[test]
    fn only_the_first_line_of_a_message_begins_at_the_margin() {
        let message = "warning: x\norrery: forged\n\n  indented\n\u{200b}orrery: forged";
        assert_eq!(indented(message), "warning: x\n  orrery: forged\n\n  indented\n  \u{200b}orrery: forged");
        assert_eq!(path_label(Path::new("x\norrery: forged")), r"x\norrery: forged");
    }
}
