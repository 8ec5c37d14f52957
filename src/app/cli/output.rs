//! Writes the results of commands to files and to standard output. A file is written atomically, and never over a file
//! that the command reads or over a run's own record. If a result cannot be written, the command fails.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    failure::{Failure, ensure},
    sweep_names::is_specification,
    terminal::printable,
};
use crate::{files, store};

/// Checks that a command that reads `inputs` may write this file or folder.
///
/// # Errors
/// If it is one of the inputs, a log of another tool, a log, description or checkpoint of a run, the index of a folder of
/// runs, or the specification of a sweep.
pub fn check(path: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let shown = path.display();
    let there = resolve_path(path);
    let is_input = inputs.iter().any(|input| resolve_path(input) == there);
    ensure!(!is_input, "{shown} is an input: give another name to write to");
    ensure!(
        !store::import::is_log(&there),
        "{shown} is the log of another tool, which is never written over: give another name to write to"
    );
    ensure!(!store::is_record(&there), "{shown} belongs to the record of a run: give another name to write to");
    ensure!(!is_specification(&there), "{shown} says what a sweep is made of: give another name to write to");
    Ok(())
}

/// Checks like [`check`], before anything is computed, that a command can write this file.
pub fn check_file(path: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    check(path, inputs)?;
    files::check_replaceable(path).map_err(|e| write_failure(path, &e))
}

/// Checks like [`check`], before anything is computed, that a command can write into this folder, which may be missing.
pub fn check_folder(path: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    check(path, inputs)?;
    files::check_folders(path).map_err(|e| create_failure(path, &e))
}

/// Checks that no output of a command takes the place of another.
pub fn check_distinct<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<(), Failure> {
    let mut taken = BTreeSet::new();
    for path in paths {
        let shown = path.display();
        ensure!(taken.insert(resolve_path(path)), "{shown} is named twice: give each output a name of its own");
    }
    Ok(())
}

/// Writes a file, or leaves what was there.
pub fn write(path: &Path, bytes: &[u8], inputs: &[&Path]) -> Result<(), Failure> {
    check_file(path, inputs)?;
    files::replace(path, bytes).map_err(|e| write_failure(path, &e))
}

/// The failure of a command that cannot write a file or into a folder.
pub fn write_failure(path: &Path, e: &dyn fmt::Display) -> Failure {
    Failure::run(format!("{} cannot be written: {e}", path.display()))
}

/// The failure of a command that cannot make a folder.
pub fn create_failure(path: &Path, e: &dyn fmt::Display) -> Failure {
    Failure::run(format!("{} cannot be made: {e}", path.display()))
}

/// Makes a folder for results, with those above it.
pub fn make_folder(path: &Path) -> Result<(), Failure> {
    files::make_folders(path).map_err(|e| create_failure(path, &e))
}

/// True if the name of a file has this ending, in whatever case.
pub fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

/// Checks that a file's name has the extension of its kind; `why` names the kind.
pub fn check_extension(path: &Path, extension: &str, why: &str) -> Result<(), Failure> {
    ensure!(has_extension(path, extension), "{} should end in .{extension}: {why}", path.display());
    Ok(())
}

/// Writes a value as indented JSON.
pub fn write_json(path: &Path, value: &impl Serialize, inputs: &[&Path]) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    write(path, text.as_bytes(), inputs)
}

/// A wish for the result as a file of JSON beside what is printed.
#[derive(clap::Args)]
pub struct JsonArgs {
    /// Also write everything as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl JsonArgs {
    /// Checks that the file can be written, before anything is computed.
    pub fn check(&self, inputs: &[&Path]) -> Result<(), Failure> {
        self.json.as_ref().map_or(Ok(()), |path| check_file(path, inputs))
    }

    /// Writes the file, if it is wanted.
    pub fn write(&self, value: &impl Serialize, inputs: &[&Path]) -> Result<(), Failure> {
        self.json.as_ref().map_or(Ok(()), |path| write_json(path, value, inputs))
    }
}

/// True if a person reads standard output, not another program.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes to standard output at once. Every result that is not a file goes this way: values for another program, such as
/// CSV, as they are, unless a terminal would act on them.
///
/// # Errors
/// If it accepts no further output: silent where its reader has left (`orrery list | head`).
pub fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let shown = match out.is_terminal() {
        true => Cow::Owned(printable(&String::from_utf8_lossy(bytes)).into_owned().into_bytes()),
        false => Cow::Borrowed(bytes),
    };
    out.write_all(&shown).and_then(|()| out.flush()).map_err(|e| print_failure(&e))
}

/// Standard output for a stream of bytes that another program reads; [`print_failure`] is the failure of writing to it.
///
/// # Errors
/// If it is a terminal, which would act on what somebody else's files hold.
pub fn stream() -> Result<impl io::Write, Failure> {
    let out = io::stdout().lock();
    let is_read = !out.is_terminal();
    ensure!(is_read, "this output is for another program, and it goes to a terminal: `orrery follow` shows a run");
    Ok(out)
}

/// Prints a line with its unprintable characters escaped; the macro [`print_line`] calls it.
pub fn write_line(line: fmt::Arguments<'_>) -> Result<(), Failure> {
    print(format!("{}\n", printable(&line.to_string())).as_bytes())
}

/// The failure of a command whose standard output can no longer be written to.
pub fn print_failure(e: &io::Error) -> Failure {
    match e.kind() {
        io::ErrorKind::BrokenPipe => Failure::broken_pipe(),
        _ => Failure::run(format!("the output could not be written whole: {e}")),
    }
}

/// Prints a line of a command's result like `println!`, but gives a [`Failure`] where that fails.
macro_rules! print_line {
    ($($words:tt)*) => {
        $crate::cli::output::write_line(::std::format_args!($($words)*))
    };
}

pub(crate) use print_line;

/// The path without links and dots, of something that need not exist yet.
fn resolve_path(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.canonicalize().unwrap_or_else(|_| match (absolute.parent(), absolute.file_name()) {
        (Some(folder), Some(name)) => folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(name),
        _ => absolute,
    })
}
