//! Reads the tables of an SQLite database, and nothing else of it: no query, no lock, nothing is written
//! (<https://www.sqlite.org/fileformat2.html>). What its write-ahead log has committed counts.
//!
//! No library stands in for this one, because each that was examined in November 2026 lacks a guarantee that docs/reliability.md gives
//! for logs of other tools. SQLite itself (`rusqlite` with its bundled source, a build of 9 MB of C) opens
//! by path, makes a `-shm` file beside a database that has a write-ahead log, or leaves that log out when it is told that
//! nothing changes, and has one limit of memory for the whole process. Of the readers in Rust, `sqlite-rs` 0.3 and
//! `sqlite-parser-nom` 1.0 do not read write-ahead logs, and `turso_core` 0.9 is a whole engine before its first release.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use super::{DamagedParts, ReadError, max_record, too_long};

/// The first bytes of a database.
pub(super) const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Trees are no deeper.
const MAX_DEPTH: usize = 24;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    /// A text; what is not UTF-8 in it is replaced.
    Text(String),
    Blob(Vec<u8>),
}

impl Cell {
    /// A text, also where its bytes were stored as such.
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Blob(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Self::Null | Self::Int(_) | Self::Real(_) => None,
        }
    }
}

/// A table: where its tree begins, and the names of its columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    pub columns: Vec<String>,
    root: u32,
}

pub(super) struct Database {
    file: File,
    wal: Option<Wal>,
    page_size: usize,
    /// Bytes of a page that hold data.
    usable: usize,
    /// Bytes of the file and of what its log has committed: a table has no more.
    bytes: u64,
    /// Bytes of the table that may still be read.
    left: u64,
    /// The largest number of bytes of a row that are held in memory.
    most: u64,
    /// The rows that are skipped because they are too long for memory.
    pub long_rows: DamagedParts,
}

/// The committed pages of a write-ahead log, by their numbers, with the place of each in the log.
struct Wal {
    file: File,
    pages: HashMap<u32, u64>,
}

impl Database {
    /// Opens a database and its write-ahead log, if there is one.
    ///
    /// # Errors
    /// If the system refuses, or it is not a database in UTF-8.
    pub fn open(mut file: File, wal: Option<File>) -> Result<Self, ReadError> {
        let mut head = [0; 100];
        read_at(&mut file, 0, &mut head).map_err(|_| damaged("it is not a SQLite database"))?;
        ensure!(head.starts_with(MAGIC), damaged("it is not a SQLite database"));
        let page_size = match u16::from_be_bytes([head[16], head[17]]) {
            1 => 65536,
            size => usize::from(size),
        };
        let usable = page_size.saturating_sub(usize::from(head[20]));
        let is_usual = page_size.is_power_of_two() && page_size >= 512 && usable >= 480;
        ensure!(is_usual, damaged("its pages have no size that SQLite uses"));
        ensure!(u32::from_be_bytes([head[56], head[57], head[58], head[59]]) <= 1, damaged("its texts are not UTF-8"));
        let wal = wal.map(|file| Wal::open(file, page_size)).transpose()?;
        let in_log = wal.as_ref().map_or(0, |wal| wal.pages.len() as u64 * page_size as u64);
        let bytes = file.metadata()?.len() + in_log;
        Ok(Self {
            file,
            wal,
            page_size,
            usable,
            bytes,
            left: bytes,
            most: max_record(),
            long_rows: DamagedParts::default(),
        })
    }

    /// The table of this name, if there is one.
    ///
    /// # Errors
    /// If the system refuses, or the list of tables is damaged.
    pub fn table(&mut self, name: &str) -> Result<Option<Table>, ReadError> {
        let mut found = None;
        // type, name, tbl_name, rootpage, sql
        self.rows(&Table { root: 1, columns: vec![] }, |row| {
            if let [Cell::Text(kind), Cell::Text(of), _, Cell::Int(root), Cell::Text(sql)] = row.as_slice()
                && kind == "table"
                && of == name
                && let Ok(root) = u32::try_from(*root)
            {
                found = Some(Table { columns: columns(sql), root });
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Hands every row of a table to `each`, in the order of their numbers. A row that is longer than memory allows is
    /// skipped and noted in `long_rows`.
    ///
    /// # Errors
    /// If the system refuses, a page is damaged, or `each` fails. The rows before it were handed over.
    pub fn rows(
        &mut self,
        table: &Table,
        mut each: impl FnMut(Vec<Cell>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.left = self.bytes;
        let mut seen = HashSet::new();
        // pages to read, the next one last, each with its depth
        let mut open = vec![(table.root, 0)];
        while let Some((number, depth)) = open.pop() {
            ensure!(seen.insert(number) && depth <= MAX_DEPTH, damaged("its pages form a loop"));
            let page = self.page(number)?;
            let wrong = || damaged(&format!("page {number} is damaged"));
            // the first page begins with the head of the file
            let head = if number == 1 { 100 } else { 0 };
            let kind = *page.get(head).ok_or_else(wrong)?;
            let cells = usize::from(u16_at(&page, head + 3).ok_or_else(wrong)?);
            let list = head + if kind == 5 { 12 } else { 8 };
            let cell = |i: usize| Some(usize::from(u16_at(&page, list + 2 * i)?));
            match kind {
                5 => {
                    let mut children = vec![];
                    for i in 0..cells {
                        children.push(cell(i).and_then(|at| u32_at(&page, at)).ok_or_else(wrong)?);
                    }
                    children.push(u32_at(&page, head + 8).ok_or_else(wrong)?);
                    open.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
                }
                13 => {
                    for i in 0..cells {
                        let at = cell(i).ok_or_else(wrong)?;
                        if let Some(payload) = self.payload(&page, at)? {
                            each(record(&payload).ok_or_else(wrong)?)?;
                        }
                    }
                }
                _ => return Err(wrong()),
            }
        }
        Ok(())
    }

    /// The bytes of a row whose cell is at this place of a page, with those on overflow pages; `None` for a row that is
    /// skipped.
    fn payload(&mut self, page: &[u8], at: usize) -> Result<Option<Vec<u8>>, ReadError> {
        let wrong = || damaged("a row is damaged");
        let mut rest = page.get(at..self.usable).ok_or_else(wrong)?;
        let length = varint(&mut rest).filter(|length| *length <= self.left).ok_or_else(wrong)?;
        self.left -= length;
        if length > self.most {
            self.long_rows.add(too_long("a row", length));
            return Ok(None);
        }
        varint(&mut rest).ok_or_else(wrong)?; // the number of the row
        let length = length as usize;
        let (most, least) = (self.usable - 35, (self.usable - 12) * 32 / 255 - 23);
        let here = match length {
            _ if length <= most => length,
            _ => match least + (length - least) % (self.usable - 4) {
                here if here <= most => here,
                _ => least,
            },
        };
        let mut payload = rest.get(..here).ok_or_else(wrong)?.to_vec();
        let mut next = if here < length { u32_at(rest, here).ok_or_else(wrong)? } else { 0 };
        while payload.len() < length {
            let page = self.page(next)?;
            next = u32_at(&page, 0).ok_or_else(wrong)?;
            let part = page.get(4..self.usable).ok_or_else(wrong)?;
            payload.extend(&part[..part.len().min(length - payload.len())]);
        }
        Ok(Some(payload))
    }

    /// A page by its number, from 1 on.
    fn page(&mut self, number: u32) -> Result<Vec<u8>, ReadError> {
        let mut page = vec![0; self.page_size];
        let before = number.checked_sub(1).ok_or_else(|| damaged("a page of it has no number"))?;
        let in_log = self.wal.as_ref().and_then(|wal| wal.pages.get(&number).copied());
        let read = match (&mut self.wal, in_log) {
            (Some(wal), Some(at)) => read_at(&mut wal.file, at, &mut page),
            _ => read_at(&mut self.file, u64::from(before) * self.page_size as u64, &mut page),
        };
        match read {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(damaged(&format!("page {number} is not there"))),
            read => Ok(read.map(|()| page)?),
        }
    }
}

impl Wal {
    /// Reads a write-ahead log up to its last commit: frames after that one belong to an unfinished transaction.
    fn open(mut file: File, page_size: usize) -> Result<Self, ReadError> {
        const LOG_HEADER_BYTES: usize = 32;
        const FRAME_HEADER_BYTES: usize = 24;
        let mut pages = HashMap::new();
        let mut head = [0; LOG_HEADER_BYTES];
        let word = |bytes: &[u8], i: usize| u32_at(bytes, 4 * i).unwrap_or_default();
        if read_at(&mut file, 0, &mut head).is_err() || word(&head, 2) as usize != page_size {
            return Ok(Self { file, pages });
        }
        let is_big_endian = match word(&head, 0) {
            0x377f_0683 => true,
            0x377f_0682 => false,
            _ => return Ok(Self { file, pages }),
        };
        let mut sum = Checksum { is_big_endian, sums: (0, 0) };
        sum.add(&head[..24]);
        if sum.sums != (word(&head, 6), word(&head, 7)) {
            return Ok(Self { file, pages });
        }
        let salts = (word(&head, 4), word(&head, 5));
        let (mut at, mut open) = (LOG_HEADER_BYTES as u64, vec![]);
        let mut frame = vec![0; FRAME_HEADER_BYTES + page_size];
        let mut log = io::BufReader::with_capacity(1 << 16, &file);
        log.seek(SeekFrom::Start(at))?;
        while log.read_exact(&mut frame).is_ok() {
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME_HEADER_BYTES..]);
            if (word(&frame, 2), word(&frame, 3)) != salts || (word(&frame, 4), word(&frame, 5)) != sum.sums {
                break;
            }
            open.push((word(&frame, 0), at + FRAME_HEADER_BYTES as u64));
            // the size of the database after a commit
            if word(&frame, 1) != 0 {
                pages.extend(open.drain(..));
            }
            at += frame.len() as u64;
        }
        Ok(Self { file, pages })
    }
}

struct Checksum {
    is_big_endian: bool,
    sums: (u32, u32),
}

impl Checksum {
    /// Adds bytes, eight at a time.
    fn add(&mut self, bytes: &[u8]) {
        let word = |b: &[u8; 4]| if self.is_big_endian { u32::from_be_bytes(*b) } else { u32::from_le_bytes(*b) };
        let (mut a, mut b) = self.sums;
        for [first, second] in bytes.as_chunks().0.as_chunks().0 {
            a = a.wrapping_add(word(first)).wrapping_add(b);
            b = b.wrapping_add(word(second)).wrapping_add(a);
        }
        self.sums = (a, b);
    }
}

fn damaged(why: &str) -> ReadError {
    ReadError::Other(why.to_owned())
}

fn read_at(file: &mut File, at: u64, into: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(into)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Reads SQLite's variable-length integer: seven bits per byte, the highest first; a ninth byte holds eight.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for i in 0..9 {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        if i == 8 {
            return Some(value << 8 | u64::from(*first));
        }
        value = value << 7 | u64::from(first & 0x7f);
        if first & 0x80 == 0 {
            break;
        }
    }
    Some(value)
}

/// Columns of a table, as many as SQLite itself allows.
const MAX_COLUMNS: usize = 2000;

/// The values of a row; `None` if it is damaged.
fn record(payload: &[u8]) -> Option<Vec<Cell>> {
    let mut head = payload;
    let length = usize::try_from(varint(&mut head)?).ok()?;
    let mut body = payload.get(length..)?;
    head = payload.get(payload.len() - head.len()..length)?;
    let mut cells = vec![];
    while !head.is_empty() {
        if cells.len() == MAX_COLUMNS {
            return None;
        }
        let kind = varint(&mut head)?;
        let size = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            _ => usize::try_from((kind - 12) / 2).ok()?,
        };
        let (value, rest) = body.split_at_checked(size)?;
        body = rest;
        let is_negative = value.first().is_some_and(|first| first & 0x80 != 0);
        let whole = || value.iter().fold(if is_negative { -1 } else { 0 }, |n: i64, b| n << 8 | i64::from(*b));
        cells.push(match kind {
            0 => Cell::Null,
            7 => Cell::Real(f64::from_be_bytes(value.try_into().ok()?)),
            8 | 9 => Cell::Int(i64::from(kind == 9)),
            1..=6 => Cell::Int(whole()),
            _ if kind % 2 == 0 => Cell::Blob(value.to_vec()),
            _ => Cell::Text(String::from_utf8_lossy(value).into_owned()),
        });
    }
    Some(cells)
}

/// The names of the columns of a `CREATE TABLE`: the first word of each part between its outermost brackets.
fn columns(sql: &str) -> Vec<String> {
    let inner = sql.split_once('(').map_or("", |(_, inner)| inner);
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for c in inner.chars() {
        match c {
            ')' if depth == 0 => break,
            ',' if depth == 0 && parts.len() == MAX_COLUMNS => break,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {
                depth = depth + usize::from(c == '(') - usize::from(c == ')');
                if let Some(part) = parts.last_mut() {
                    part.push(c);
                }
            }
        }
    }
    let name = |part: &String| {
        part.split_whitespace().next().unwrap_or_default().trim_matches(['"', '`', '[', ']']).to_owned()
    };
    let is_constraint = |name: &String| {
        let name = name.split('(').next().unwrap_or_default().to_uppercase();
        ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"].contains(&name.as_str())
    };
    parts.iter().map(name).filter(|name| !is_constraint(name)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn rows_are_read_by_their_kinds() {
        // a head of 7 bytes: null, -2 in one byte, 1.5, 1, "hi", x'ff'
        let mut row = vec![7, 0, 1, 7, 9, 17, 14, 0xfe];
        row.extend(1.5_f64.to_be_bytes());
        row.extend(b"hi\xff");
        let expected = [
            Cell::Null,
            Cell::Int(-2),
            Cell::Real(1.5),
            Cell::Int(1),
            Cell::Text("hi".to_owned()),
            Cell::Blob(vec![0xff]),
        ];
        assert_eq!(record(&row).unwrap(), expected);
        [0, 3, 7, 9, row.len() - 1].into_iter().for_each(|end| assert_eq!(record(&row[..end]), None, "{end}"));
        assert_eq!(varint(&mut &[0x81, 0x00][..]), Some(128));
        assert_eq!(varint(&mut &[0xff; 9][..]), Some(u64::MAX));
    }

    #[test]
    fn a_row_that_is_too_long_is_passed_over() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/other_logs/trackio/demo.db");
        let read = |most: u64| {
            let mut database = Database::open(File::open(&path).unwrap(), None).unwrap();
            let table = database.table("metrics").unwrap().unwrap();
            database.most = most;
            let mut rows = 0;
            let each = |_| {
                rows += 1;
                Ok(())
            };
            database.rows(&table, each).unwrap();
            (rows, database.long_rows.count)
        };
        assert_eq!((read(u64::MAX), read(10)), ((12, 0), (0, 12)));
        let (rows, passed_over) = (10..400).map(read).find(|(rows, _)| *rows > 0).unwrap();
        assert!(rows < 12 && rows + passed_over == 12, "rows of several lengths: {rows} and {passed_over}");
    }

    #[test]
    fn columns_are_those_of_the_statement() {
        let sql = "CREATE TABLE \"a\" (\n  id INTEGER PRIMARY KEY, [step] INT CHECK(step > (1 + 2)), \"x y\" TEXT, UNIQUE(id, step)\n, space_id TEXT)";
        assert_eq!(columns(sql), ["id", "step", "x", "space_id"]);
        assert_eq!(columns("CREATE TABLE a"), [""]);
    }
}
