//! Lightning's CSV logger: `metrics.csv`, a row per call with empty cells, and the settings beside it in
//! `hparams.yaml`.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take},
};

use serde_json::Value as Json;

use super::{
    ReadError,
    logged::{Logged, LoggedAt, MAX_NAME},
};

/// Bytes of the first line of a table, which names its columns.
const MAX_HEAD: u64 = 1 << 20;
/// The largest number of bytes of a table that is read.
const MAX_TABLE: u64 = 256 << 20;
/// The largest number of bytes of a row; the index of each of its cells takes eight. The first line is a row too.
const MAX_ROW: u64 = MAX_HEAD + (64 << 10);
/// The largest number of columns of a table, far more than the channels that are read.
const MAX_COLUMNS: usize = 1 << 16;

/// The names of a table's columns, in its first row.
pub(super) fn columns(table: impl Read) -> io::Result<Vec<String>> {
    column_names(&mut reader(table))
}

fn reader<R: Read>(table: R) -> csv::Reader<R> {
    csv::ReaderBuilder::new().flexible(true).from_reader(table)
}

fn column_names(table: &mut csv::Reader<impl Read>) -> io::Result<Vec<String>> {
    let columns = table.byte_headers().map_err(io::Error::from)?;
    Ok(columns.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// Reads the table `name` into a run. Errors: the system refuses, there is no column of steps, or there are more
/// numbers than are read.
pub(super) fn read(mut file: File, name: &str, run: usize, logged: &mut Logged) -> Result<(), ReadError> {
    let length = file.metadata()?.len();
    ensure!(length > 0, ReadError::Other("it is empty".to_owned()));
    let is_whole = length <= MAX_TABLE && ends_with_line(&mut file)?;
    let head = BufReader::new(&mut file).take(MAX_HEAD + 1).skip_until(b'\n')?;
    ensure!(head as u64 <= MAX_HEAD, ReadError::Other("its first line is longer than 1 MiB".to_owned()));
    file.seek(SeekFrom::Start(0))?;
    // the inner limit begins again with every row
    let mut table = reader(file.take(MAX_TABLE).take(MAX_ROW));
    let columns = column_names(&mut table)?;
    if columns.len() > MAX_COLUMNS {
        return Err(ReadError::Other(format!("it has {} columns, and at most {MAX_COLUMNS} are read", columns.len())));
    }
    let step_column = columns.iter().position(|name| name == "step");
    let step_column = step_column.ok_or_else(|| {
        ReadError::Other(
            "it has no column `step`: its first line should name the columns, separated by commas".to_owned(),
        )
    })?;
    let mut rows = Rows { table, has_long_row: false };
    let (mut row, mut next) = (csv::ByteRecord::new(), csv::ByteRecord::new());
    let mut has_row = rows.read(&mut row)?;
    while has_row {
        let has_next = rows.read(&mut next)?;
        // the numbers of a row that is cut would be others
        if !has_next && !is_whole && !rows.has_long_row {
            break;
        }
        let cell = |i: usize| std::str::from_utf8(row.get(i).unwrap_or_default()).unwrap_or("?").trim();
        let at = parse_integer(cell(step_column)).map(|step| LoggedAt { step, wall: f64::NAN });
        for (i, name) in
            columns.iter().enumerate().take(row.len()).filter(|(i, _)| *i != step_column && !cell(*i).is_empty())
        {
            logged.value(run, name, at, cell(i).parse().ok())?;
        }
        std::mem::swap(&mut row, &mut next);
        has_row = has_next;
    }
    if rows.has_long_row {
        logged.warn(format!(
            "{name} has a row longer than {} KiB: it and what comes after it are not read",
            MAX_ROW >> 10
        ));
    } else if !is_whole {
        let why = if length > MAX_TABLE { "is longer than 256 MiB" } else { "ends within a row" };
        logged.warn(format!("{name} {why}: what comes after the last whole row is not read"));
    }
    Ok(())
}

/// The rows of a table, as far as they are within [`MAX_ROW`].
struct Rows {
    table: csv::Reader<Take<Take<File>>>,
    has_long_row: bool,
}

impl Rows {
    /// Reads the next row; false if there is none, or it is too long.
    fn read(&mut self, row: &mut csv::ByteRecord) -> io::Result<bool> {
        self.table.get_mut().set_limit(MAX_ROW);
        let is_read = self.table.read_byte_record(row)?;
        // a complete row leaves some of the limit unread
        self.has_long_row |= self.table.get_ref().limit() == 0;
        Ok(is_read && !self.has_long_row)
    }
}

/// Parses a whole number, which may be written as 10.0; `None` for anything else.
fn parse_integer(text: &str) -> Option<i64> {
    let as_float = || text.parse::<f64>().ok().filter(|x| x.fract() == 0.0 && x.abs() < 1e15).map(|x| x as i64);
    text.parse().ok().or_else(as_float)
}

fn ends_with_line(file: &mut File) -> io::Result<bool> {
    let mut last = *b"\n";
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        file.seek(SeekFrom::Start(0))?;
    }
    Ok(last == *b"\n")
}

/// Reads the plain parts of `hparams.yaml`: keys with values, keys within keys by their indent, lists. Other lines are
/// skipped and counted.
pub(super) fn settings(text: &str, run: usize, logged: &mut Logged) {
    let mut parents: Vec<(usize, &str)> = vec![];
    let mut lists: Vec<(String, Vec<Json>)> = vec![];
    let mut unread = 0;
    for line in text.lines() {
        let body = line.trim();
        let indent = line.len() - line.trim_start().len();
        if body.is_empty() || body.starts_with('#') || body == "---" || body == "{}" {
            continue;
        }
        if let Some(item) = body.strip_prefix("- ").filter(|item| !item.contains(": ") && !item.starts_with("- ")) {
            // a list item belongs to the key above it, indented or not
            let depth = parents.iter().take_while(|(at, _)| *at <= indent).count();
            match path(&parents[..depth]) {
                key if key.is_empty() || key.len() > MAX_NAME => unread += 1,
                key => match lists.last_mut() {
                    Some((list, items)) if *list == key => items.push(scalar(item)),
                    _ => lists.push((key, vec![scalar(item)])),
                },
            }
            continue;
        }
        let entry = body.split_once(": ").or_else(|| body.strip_suffix(':').map(|key| (key, "")));
        let Some((key, value)) = entry.filter(|(key, _)| !key.starts_with(['-', '?', '!', '"', '\'', '[', '{'])) else {
            unread += 1;
            continue;
        };
        parents.retain(|(at, _)| *at < indent);
        parents.push((indent, key.trim()));
        match value.trim() {
            "" => {}
            value if value.starts_with(['!', '&', '*', '|', '>']) => unread += 1,
            value => logged.setting(run, &path(&parents), &scalar(value)),
        }
    }
    lists.into_iter().for_each(|(key, items)| logged.setting(run, &key, &Json::Array(items)));
    if unread > 0 {
        logged.warn(format!(
            "hparams.yaml: {unread} lines are not read, which are more than plain keys, values and lists"
        ));
    }
}

fn path(parents: &[(usize, &str)]) -> String {
    parents.iter().map(|(_, key)| *key).collect::<Vec<_>>().join(".")
}

fn scalar(text: &str) -> Json {
    let text = text.trim();
    let quoted = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    if let Some(inner) = quoted('\'').or_else(|| quoted('"')) {
        return inner.into();
    }
    match text {
        "null" | "~" => Json::Null,
        "true" => true.into(),
        "false" => false.into(),
        _ => match serde_json::from_str::<serde_json::Number>(text) {
            Ok(number) => number.into(),
            Err(_) => text.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_settings_are_read_and_the_rest_is_counted() {
        let mut logged = Logged::new();
        let run = logged.run("a");
        let text = "lr: 0.001\nname: 'a b'\nbetas:\n- 0.9\n- 0.99\nmodel:\n  layers: 2\n  sizes:\n  - 3\n  deep:\n    bias: false\n\
                    seed: null\nodd: !!python/object:a.B\n? x\n";
        settings(text, run, &mut logged);
        let all: Vec<String> = logged.runs[run].settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let expected = [
            "config.betas=[0.9,0.99]",
            "config.lr=0.001",
            "config.name=a b",
            "config.seed=null",
            "model.deep.bias=false",
            "model.layers=2",
            "model.sizes=[3]",
        ];
        assert_eq!(all, expected);
        assert!(logged.notices[0].1.contains("2 lines are not read"), "{:?}", logged.notices);
    }
}
