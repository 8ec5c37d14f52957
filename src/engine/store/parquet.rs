//! Apache Parquet files of a flat table: whole numbers, texts and floats, some of which may be missing. Uncompressed, plainly
//! encoded, one page a column and row group; written without reading the format's other half. It does not know what is in
//! the table. The format: <https://parquet.apache.org/docs/file-format>; its headers are in Thrift's compact protocol.

use std::io::{self, Write};

/// What a file begins and ends with.
const MAGIC: &[u8; 4] = b"PAR1";
/// Rows that are held before they are written.
const GROUP: usize = 1 << 16;

/// Values of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    Int(Vec<i64>),
    Text(Vec<String>),
    Float(Vec<f64>),
    /// Some values are missing, which is not the same as NaN.
    OptionalFloat(Vec<Option<f64>>),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::OptionalFloat(values) => values.len(),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Int(values) => values.clear(),
            Self::Text(values) => values.clear(),
            Self::Float(values) => values.clear(),
            Self::OptionalFloat(values) => values.clear(),
        }
    }

    /// The format's number of the physical type.
    fn physical_type(&self) -> i64 {
        match self {
            Self::Int(_) => 2,
            Self::Float(_) | Self::OptionalFloat(_) => 5,
            Self::Text(_) => 6,
        }
    }

    fn is_optional(&self) -> bool {
        matches!(self, Self::OptionalFloat(_))
    }

    /// The page's bytes after its header: which values there are, then the values.
    fn page(&self) -> Vec<u8> {
        let mut out = vec![];
        match self {
            Self::Int(values) => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
            Self::Float(values) => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
            Self::Text(values) => values.iter().for_each(|text| {
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
            }),
            Self::OptionalFloat(values) => {
                let levels = definition_levels(values);
                out.extend((levels.len() as u32).to_le_bytes());
                out.extend(levels);
                values.iter().flatten().for_each(|v| out.extend(v.to_le_bytes()));
            }
        }
        out
    }
}

/// 1 where there is a value, in runs: their length, shifted by a bit that says that it is a run, and what repeats.
fn definition_levels(values: &[Option<f64>]) -> Vec<u8> {
    let mut out = vec![];
    for run in values.chunk_by(|a, b| a.is_some() == b.is_some()) {
        varint(&mut out, (run.len() as u64) << 1);
        out.push(u8::from(run[0].is_some()));
    }
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Types of Thrift's compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A Thrift struct being written; fields come by rising number.
#[derive(Default)]
struct Thrift {
    out: Vec<u8>,
    last: u8,
}

impl Thrift {
    fn field(&mut self, number: u8, of: u8) {
        self.out.push((number - self.last) << 4 | of);
        self.last = number;
    }

    fn int(&mut self, number: u8, of: u8, value: i64) -> &mut Self {
        self.field(number, of);
        varint(&mut self.out, zigzag(value));
        self
    }

    fn text(&mut self, number: u8, text: &str) -> &mut Self {
        self.field(number, BINARY);
        bytes(&mut self.out, text);
        self
    }

    fn nested(&mut self, number: u8, inner: Self) -> &mut Self {
        self.field(number, STRUCT);
        self.out.extend(inner.finish());
        self
    }

    /// Items that are written already.
    fn list(&mut self, number: u8, of: u8, items: &[Vec<u8>]) -> &mut Self {
        self.field(number, LIST);
        match items.len() {
            n @ 0..15 => self.out.push((n as u8) << 4 | of),
            n => {
                self.out.push(0xf0 | of);
                varint(&mut self.out, n as u64);
            }
        }
        items.iter().for_each(|item| self.out.extend(item));
        self
    }

    fn finish(mut self) -> Vec<u8> {
        self.out.push(0);
        self.out
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn bytes(out: &mut Vec<u8>, text: &str) {
    varint(out, text.len() as u64);
    out.extend(text.as_bytes());
}

fn int_item(value: i64) -> Vec<u8> {
    let mut out = vec![];
    varint(&mut out, zigzag(value));
    out
}

fn text_item(text: &str) -> Vec<u8> {
    let mut out = vec![];
    bytes(&mut out, text);
    out
}

/// A file being written, group of rows by group of rows.
pub struct ParquetWriter<W> {
    out: W,
    /// Bytes written.
    at: u64,
    columns: Vec<(String, Column)>,
    groups: Vec<Vec<u8>>,
    rows: u64,
}

impl<W: Write> ParquetWriter<W> {
    /// With these columns, empty so far.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn new(out: W, columns: Vec<(String, Column)>) -> io::Result<Self> {
        let mut writer = Self { out, at: 0, columns, groups: vec![], rows: 0 };
        writer.put(MAGIC)?;
        Ok(writer)
    }

    /// The columns, each of which gets one value more by `add`.
    pub fn row(&mut self, add: impl FnOnce(&mut [(String, Column)])) -> io::Result<()> {
        add(&mut self.columns);
        match self.columns.first().is_some_and(|(_, c)| c.len() >= GROUP) {
            true => self.close_group(),
            false => Ok(()),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn close_group(&mut self) -> io::Result<()> {
        let rows = self.columns.first().map_or(0, |(_, c)| c.len());
        if rows == 0 {
            return Ok(());
        }
        let (mut chunks, mut total) = (vec![], 0);
        for i in 0..self.columns.len() {
            let (name, column) = &self.columns[i];
            let (page, from) = (column.page(), self.at);
            let header = page_header(page.len(), column.len());
            let size = (header.len() + page.len()) as i64;
            chunks.push(chunk(name, column, from as i64, size));
            total += size;
            self.put(&header)?;
            self.put(&page)?;
            self.columns[i].1.clear();
        }
        let mut group = Thrift::default();
        group.list(1, STRUCT, &chunks).int(2, I64, total).int(3, I64, rows as i64);
        self.groups.push(group.finish());
        self.rows += rows as u64;
        Ok(())
    }

    /// Writes what describes the file; gives what it was written to.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.close_group()?;
        let mut root = Thrift::default();
        root.text(4, "schema").int(5, I32, self.columns.len() as i64);
        let schema: Vec<Vec<u8>> =
            std::iter::once(root.finish()).chain(self.columns.iter().map(|(name, c)| element(name, c))).collect();
        let mut footer = Thrift::default();
        footer.int(1, I32, 1).list(2, STRUCT, &schema).int(3, I64, self.rows as i64).list(4, STRUCT, &self.groups);
        footer.text(6, concat!("orrery version ", env!("CARGO_PKG_VERSION")));
        let footer = footer.finish();
        self.put(&footer)?;
        self.put(&(footer.len() as u32).to_le_bytes())?;
        self.put(MAGIC)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// SchemaElement of a column.
fn element(name: &str, column: &Column) -> Vec<u8> {
    let mut out = Thrift::default();
    out.int(1, I32, column.physical_type()).int(3, I32, i64::from(column.is_optional())).text(4, name);
    if matches!(column, Column::Text(_)) {
        // UTF-8, in the old words and in the new ones
        let mut logical = Thrift::default();
        logical.nested(1, Thrift::default());
        out.int(6, I32, 0).nested(10, logical);
    }
    out.finish()
}

/// PageHeader: a data page of the first version, plainly encoded, its levels in runs.
fn page_header(size: usize, values: usize) -> Vec<u8> {
    let mut data = Thrift::default();
    data.int(1, I32, values as i64).int(2, I32, 0).int(3, I32, 3).int(4, I32, 3);
    let mut out = Thrift::default();
    out.int(1, I32, 0).int(2, I32, size as i64).int(3, I32, size as i64).nested(5, data);
    out.finish()
}

/// ColumnChunk with its metadata.
fn chunk(name: &str, column: &Column, from: i64, size: i64) -> Vec<u8> {
    let mut of = Thrift::default();
    of.int(1, I32, column.physical_type())
        .list(2, I32, &[int_item(0), int_item(3)])
        .list(3, BINARY, &[text_item(name)])
        .int(4, I32, 0)
        .int(5, I64, column.len() as i64)
        .int(6, I64, size)
        .int(7, I64, size)
        .int(9, I64, from);
    let mut out = Thrift::default();
    out.int(2, I64, from).nested(3, of);
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_format_says() {
        let varint_of = |v| {
            let mut out = vec![];
            varint(&mut out, v);
            out
        };
        assert_eq!((varint_of(1), varint_of(300)), (vec![1], vec![0xac, 2]));
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
        // three values, then two that are missing
        assert_eq!(definition_levels(&[Some(1.0), Some(f64::NAN), Some(2.0), None, None]), [6, 1, 4, 0]);
    }

    #[test]
    fn a_file_ends_with_the_length_of_what_describes_it() {
        let columns =
            vec![("step".to_owned(), Column::Int(vec![])), ("loss".to_owned(), Column::OptionalFloat(vec![]))];
        let mut file = ParquetWriter::new(vec![], columns).unwrap();
        for step in 0..(GROUP as i64 + 5) {
            file.row(|columns| {
                let [(_, Column::Int(steps)), (_, Column::OptionalFloat(losses))] = columns else { panic!() };
                steps.push(step);
                losses.push((step % 2 == 0).then_some(0.5));
            })
            .unwrap();
        }
        assert_eq!(file.groups.len(), 1, "the first group is on its way");
        let bytes = file.finish().unwrap();
        assert!(bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC));
        let length = bytes[bytes.len() - 8..bytes.len() - 4].try_into().map(u32::from_le_bytes).unwrap() as usize;
        let footer = &bytes[bytes.len() - 8 - length..bytes.len() - 8];
        assert!(footer.windows(4).any(|w| w == b"loss") && footer.ends_with(&[0]));
    }
}
