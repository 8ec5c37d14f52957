//! Builds parts of other tools' logs byte by byte, so that tests can make malicious ones.

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, bit: u32| if (crc ^ bit) & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc, |crc, i| step(crc, u32::from(byte >> i))))
}

/// A record of a TensorBoard event file; `length` may differ from the data's length.
pub fn frame(length: u64, data: &[u8]) -> Vec<u8> {
    let masked = |bytes: &[u8]| crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
    let length = length.to_le_bytes();
    [&length[..], &masked(&length), data, &masked(data)].concat()
}

/// A fragment of a record in a W&B log.
pub fn part(kind: u8, data: &[u8]) -> Vec<u8> {
    let summed = [&[kind][..], data].concat();
    let crc = |crc: u32, byte: u8| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    };
    let sum = !summed.iter().fold(!0, |sum, byte| crc(sum, *byte));
    [&sum.to_le_bytes()[..], &(data.len() as u16).to_le_bytes(), &[kind], data].concat()
}

/// A protobuf message with one field of bytes.
pub fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(bytes);
    out
}

/// A W&B item with a key and a JSON value. `value_json` is field 16, whose tag has two bytes.
pub fn wandb_item(key: &[u8], json: &str) -> Vec<u8> {
    [key, &[0x82, 0x01], &field(0, json.as_bytes())[1..]].concat()
}

/// A W&B log with these records, each split into fragments at block boundaries.
pub fn wandb_log(records: &[Vec<u8>]) -> Vec<u8> {
    const BLOCK: usize = 32 << 10;
    const PART_HEAD: usize = 7;
    let mut log = b":W&B\xe1\xbe\x00".to_vec();
    for record in records {
        let (mut rest, mut is_first) = (record.as_slice(), true);
        loop {
            let room = BLOCK - log.len() % BLOCK;
            if room < PART_HEAD {
                log.resize(log.len() + room, 0);
                continue;
            }
            let (here, after) = rest.split_at(rest.len().min(room - PART_HEAD));
            let kind = match (is_first, after.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            log.extend(part(kind, here));
            (rest, is_first) = (after, false);
            if rest.is_empty() {
                break;
            }
        }
    }
    log
}

/// A number of seven bits per byte, the highest first, as SQLite writes them.
fn sqlite_number(number: u64) -> Vec<u8> {
    let mut bytes = vec![(number & 0x7f) as u8];
    let mut rest = number >> 7;
    while rest > 0 {
        bytes.insert(0, (rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes
}

/// A value of a row; a number is below 128.
enum Cell<'a> {
    Text(&'a str),
    Int(u8),
}

fn sqlite_row(cells: &[Cell<'_>]) -> Vec<u8> {
    let (mut kinds, mut values) = (vec![], vec![]);
    for cell in cells {
        match cell {
            Cell::Text(text) => {
                kinds.extend(sqlite_number(2 * text.len() as u64 + 13));
                values.extend(text.bytes());
            }
            Cell::Int(number) => {
                kinds.push(1);
                values.push(*number);
            }
        }
    }
    [vec![kinds.len() as u8 + 1], kinds, values].concat()
}

/// A database of Trackio with one run, whose only step has these numbers as JSON.
pub fn trackio_database(json: &str) -> Vec<u8> {
    trackio_rows(json, None)
}

/// The same, behind a row that says that it has this many bytes.
pub fn trackio_rows(json: &str, claimed: Option<u64>) -> Vec<u8> {
    const PAGE: usize = 4096;
    let sql = "CREATE TABLE metrics (run_name TEXT, step INTEGER, metrics TEXT)";
    let tables =
        sqlite_row(&[Cell::Text("table"), Cell::Text("metrics"), Cell::Text("metrics"), Cell::Int(2), Cell::Text(sql)]);
    let row = sqlite_row(&[Cell::Text("a"), Cell::Int(1), Cell::Text(json)]);
    // what of a long row is on its own page, and on further ones from the third on
    let (most, least) = (PAGE - 35, (PAGE - 12) * 32 / 255 - 23);
    let here = match row.len() {
        length if length <= most => length,
        length => match least + (length - least) % (PAGE - 4) {
            here if here <= most => here,
            _ => least,
        },
    };
    let leaf = |head: usize, cells: &[Vec<u8>]| {
        let mut page = vec![0; PAGE];
        let mut at = PAGE;
        page[head] = 13;
        page[head + 3..head + 5].copy_from_slice(&(cells.len() as u16).to_be_bytes());
        for (i, cell) in cells.iter().enumerate() {
            at -= cell.len();
            page[at..at + cell.len()].copy_from_slice(cell);
            page[head + 8 + 2 * i..head + 10 + 2 * i].copy_from_slice(&(at as u16).to_be_bytes());
        }
        page
    };
    let mut first = leaf(100, &[[sqlite_number(tables.len() as u64), vec![1], tables].concat()]);
    first[..16].copy_from_slice(b"SQLite format 3\0");
    first[16..18].copy_from_slice(&(PAGE as u16).to_be_bytes());
    let mut cell = [sqlite_number(row.len() as u64), vec![2], row[..here].to_vec()].concat();
    if here < row.len() {
        cell.extend(3_u32.to_be_bytes());
    }
    let claimed = claimed.map(|claimed| [sqlite_number(claimed), vec![1]].concat());
    let cells: Vec<Vec<u8>> = claimed.into_iter().chain([cell]).collect();
    let mut database = [first, leaf(0, &cells)].concat();
    let further = row[here..].chunks(PAGE - 4);
    let pages = further.len();
    for (i, part) in further.enumerate() {
        let next = if i + 1 < pages { i as u32 + 4 } else { 0 };
        database.extend(next.to_be_bytes());
        database.extend(part);
        database.resize(database.len().next_multiple_of(PAGE), 0);
    }
    database
}
