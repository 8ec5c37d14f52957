//! W&B's offline log, `run-ID.wandb`: seven bytes, then records in blocks of 32 KiB as LevelDB's log has them
//! (<https://github.com/google/leveldb/blob/main/doc/log_format.md>, with the CRC-32 of zip), each a protobuf message.
//!
//! The messages are those of `wandb_internal.proto`: `Record { history = 2, config = 5, run = 17, exit = 18 }`,
//! `HistoryRecord { item = 1, step = 2 }`, `HistoryItem { key = 1, nested_key = 2, value_json = 16 }`, `ConfigRecord
//! { update = 1 }`, `RunRecord { run_id = 1, config = 4, display_name = 8, notes = 9 }`, `RunExitRecord { exit_code = 1 }`.

use std::{
    borrow::Cow,
    fs::File,
    io::{BufReader, Read},
};

use super::{
    DamagedParts, ReadError,
    json::number,
    logged::{Logged, LoggedAt, MAX_NAME},
    max_record,
    protobuf::{Fields, JoinedTexts, MalformedMessage, Value},
    too_long,
};
use crate::{store::reader::MAX_CHANNELS, telemetry::RunState};

/// The first bytes of a log: a magic word and version 0.
pub(super) const MAGIC: [u8; 7] = [b':', b'W', b'&', b'B', 0xe1, 0xbe, 0];
const BLOCK: usize = 32 << 10;
/// Checksum, length and kind of a part of a record.
const PART_HEAD: usize = 7;

/// Reads the log `name` into a run. Errors: the system refuses, it is no such log, or there are more numbers than are
/// read.
pub(super) fn read(file: File, name: &str, run: usize, logged: &mut Logged) -> Result<(), ReadError> {
    let mut records = Records {
        file: BufReader::with_capacity(1 << 16, file),
        block: vec![],
        at: 0,
        most: max_record(),
        damaged: DamagedParts::default(),
        is_cut: false,
    };
    if !records.next_block()? || !records.block.starts_with(&MAGIC) {
        return Err(ReadError::Other("it does not begin as a log of W&B of version 0 does".to_owned()));
    }
    records.at = MAGIC.len();
    let mut data = vec![];
    while records.next(&mut data)? {
        match record(&data, run, logged) {
            Err(ReadError::Malformed(malformed)) => records.damaged.add(malformed),
            taken => taken?,
        }
    }
    records.damaged.report(name, "damaged part", logged);
    if records.is_cut {
        logged.warn(format!("{name} ends within a record: it is being written, or was cut"));
    }
    Ok(())
}

struct Records {
    file: BufReader<File>,
    block: Vec<u8>,
    /// The offset in the block of the next part of a record.
    at: usize,
    /// The largest number of bytes of a record that are held in memory.
    most: u64,
    damaged: DamagedParts,
    is_cut: bool,
}

impl Records {
    /// Reads the next block; false at the end of the file.
    fn next_block(&mut self) -> Result<bool, ReadError> {
        self.at = 0;
        self.block.clear();
        Ok(self.file.by_ref().take(BLOCK as u64).read_to_end(&mut self.block)? > 0)
    }

    /// Reads the next whole record; false if there is none.
    fn next(&mut self, data: &mut Vec<u8>) -> Result<bool, ReadError> {
        data.clear();
        // whether a record has begun, its length, and why it is skipped, if it is
        let (mut has_begun, mut length, mut fault) = (false, 0, None);
        loop {
            if self.block.len().saturating_sub(self.at) < PART_HEAD {
                let is_last = self.block.len() < BLOCK;
                let has_rest = self.at < self.block.len();
                if is_last || !self.next_block()? {
                    self.is_cut |= has_begun || is_last && has_rest;
                    return Ok(false);
                }
                continue;
            }
            let Some((kind, part)) = self.part() else {
                // the rest of the block cannot be parsed; the next block begins with a new part
                match self.is_cut {
                    true => return Ok(false),
                    false => self.damaged.add("a part of a record does not have its checksum"),
                }
                self.at = self.block.len();
                (has_begun, fault) = (false, None);
                continue;
            };
            let (is_first, is_last) = (kind == 1 || kind == 2, kind == 1 || kind == 4);
            if is_first {
                if has_begun {
                    self.damaged.add("a record has no end");
                }
                (has_begun, length, fault) = (true, 0, None);
                data.clear();
            } else if !has_begun {
                fault = Some("a record has no beginning".to_owned());
            }
            length += part.len() as u64;
            if fault.is_none() && length <= self.most {
                data.extend_from_slice(&self.block[part]);
            }
            if is_last {
                has_begun = false;
                if length > self.most {
                    fault = fault.or_else(|| Some(too_long("a record", length)));
                }
                match fault.take() {
                    Some(why) => self.damaged.add(why),
                    None => return Ok(true),
                }
                length = 0;
            }
        }
    }

    /// The kind of the next part of a record and where it lies in the block; `None` if it is damaged or cut.
    fn part(&mut self) -> Option<(u8, std::ops::Range<usize>)> {
        let head = self.block.get(self.at..self.at + PART_HEAD)?;
        let sum = u32::from_le_bytes(*head.first_chunk()?);
        let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
        let kind = head[6];
        let from = self.at + PART_HEAD;
        self.is_cut = from + length > self.block.len() && self.block.len() < BLOCK;
        // the sum is over the kind and the data
        let summed = self.block.get(from - 1..from + length)?;
        if !(1..=4).contains(&kind) || crc32fast::hash(summed) != sum {
            return None;
        }
        self.at = from + length;
        Some((kind, from..from + length))
    }
}

/// Reads a record. If it is malformed, the fields before the damage are kept.
fn record(data: &[u8], run: usize, logged: &mut Logged) -> Result<(), ReadError> {
    for field in Fields(data) {
        match field? {
            (2, Value::Bytes(history)) => take_history(history, run, logged)?,
            (5, Value::Bytes(config)) => take_config(config, run, logged)?,
            (17, Value::Bytes(described)) => take_run(described, run, logged)?,
            (18, Value::Bytes(exit)) => take_exit(exit, run, logged)?,
            _ => {}
        }
    }
    Ok(())
}

/// A value under its key.
struct Item<'a> {
    key: Cow<'a, str>,
    json: Cow<'a, str>,
}

impl<'a> Item<'a> {
    fn read(data: &'a [u8]) -> Result<Self, MalformedMessage> {
        let (mut key, mut json) = (Cow::default(), Cow::default());
        // a longer name is skipped
        let mut nested = JoinedTexts::new('.', MAX_NAME);
        for field in Fields(data) {
            match field? {
                (1, value) => key = value.text(),
                (2, value) => nested.add(value),
                (16, value) => json = value.text(),
                _ => {}
            }
        }
        Ok(Self { key: nested.joined.map_or(key, Cow::Owned), json })
    }
}

/// The scalars of a step.
fn take_history(data: &[u8], run: usize, logged: &mut Logged) -> Result<(), ReadError> {
    let (mut items, mut step, mut wall) = (vec![], None, f64::NAN);
    for field in Fields(data) {
        match field? {
            (1, Value::Bytes(_)) if items.len() == MAX_CHANNELS => return Err(MalformedMessage.into()),
            (1, Value::Bytes(item)) => items.push(Item::read(item)?),
            (2, Value::Bytes(message)) => {
                // a step of 0 is not written out
                step = Some(0);
                for field in Fields(message) {
                    if let (1, Value::Varint(number)) = field? {
                        step = Some(number.cast_signed());
                    }
                }
            }
            _ => {}
        }
    }
    for item in &items {
        match &*item.key {
            "_step" => step = item.json.trim().parse().ok().or(step),
            "_timestamp" => wall = number(&item.json).unwrap_or(wall),
            _ => {}
        }
    }
    for Item { key, json } in items.iter().filter(|item| !["_step", "_timestamp", "_runtime"].contains(&&*item.key)) {
        logged.value(run, key, step.map(|step| LoggedAt { step, wall }), number(json))?;
    }
    Ok(())
}

fn take_config(data: &[u8], run: usize, logged: &mut Logged) -> Result<(), MalformedMessage> {
    for field in Fields(data) {
        if let (1, Value::Bytes(item)) = field? {
            let Item { key, json } = Item::read(item)?;
            if key != "_wandb"
                && !key.starts_with("_wandb.")
                && let Some(value) = logged.parse_settings(&json)
            {
                logged.setting(run, &key, &value);
            }
        }
    }
    Ok(())
}

fn take_run(data: &[u8], run: usize, logged: &mut Logged) -> Result<(), MalformedMessage> {
    let (mut id, mut name) = (Cow::default(), Cow::default());
    for field in Fields(data) {
        match field? {
            (1, value) => id = value.text(),
            (4, Value::Bytes(config)) => take_config(config, run, logged)?,
            (8, value) => name = value.text(),
            (9, notes) if !notes.bytes().is_empty() => logged.text(run, "notes", 0, notes.text().into_owned()),
            _ => {}
        }
    }
    if let Some(run) = logged.runs.get_mut(run) {
        let name = if name.is_empty() { id } else { name };
        run.name = name.chars().take(MAX_NAME).collect();
    }
    Ok(())
}

fn take_exit(data: &[u8], run: usize, logged: &mut Logged) -> Result<(), MalformedMessage> {
    let mut code = 0;
    for field in Fields(data) {
        if let (1, Value::Varint(number)) = field? {
            code = number.cast_signed();
        }
    }
    if let Some(run) = logged.runs.get_mut(run) {
        run.end = Some(match code {
            0 => RunState::Finished,
            code => RunState::Failed { message: format!("the program ended with code {code}") },
        });
    }
    Ok(())
}
