//! TensorBoard's event files: TFRecord frames around hand-encoded protobuf messages.
//!
//! The frames are those of [`super::tfrecord`]. The messages are `Event { wall_time = 1: double, step = 2: int64,
//! file_version = 3: string, summary = 5 }`, `Summary { value = 1 }` and `Value { tag = 1: string,
//! simple_value = 2: float }` (`event.proto`, `summary.proto`).

use std::io::BufWriter;

use super::{prelude::*, tfrecord};

pub(super) struct EventFile {
    path: PathBuf,
    out: BufWriter<Replacement>,
}

impl EventFile {
    /// Makes the file with its version line. `wall_time` in seconds since 1970.
    pub fn create(path: &Path, wall_time: f64) -> Result<Self, StoreError> {
        let mut file =
            Self { path: path.to_owned(), out: BufWriter::new(Replacement::create(path).at("write", path)?) };
        let mut event = vec![];
        double(&mut event, 1, wall_time);
        bytes(&mut event, 3, b"brain.Event:2");
        file.frame(&event)?;
        Ok(file)
    }

    /// Writes the scalars of a step; `wall_time` in seconds since 1970.
    pub fn scalars(&mut self, wall_time: f64, step: u64, scalars: &[(Channel, f64)]) -> Result<(), StoreError> {
        let mut summary = vec![];
        for (channel, value) in scalars {
            let mut v = vec![];
            bytes(&mut v, 1, channel.as_str().as_bytes());
            float(&mut v, 2, *value as f32);
            bytes(&mut summary, 1, &v);
        }
        let mut event = vec![];
        double(&mut event, 1, wall_time);
        key(&mut event, 2, 0);
        varint(&mut event, step);
        bytes(&mut event, 5, &summary);
        self.frame(&event)
    }

    /// Writes the buffered events and gives the file its name.
    pub fn finish(self) -> Result<(), StoreError> {
        let file = self.out.into_inner().map_err(|e| e.into_error()).at("write", &self.path)?;
        file.commit().at("write", &self.path)
    }

    fn frame(&mut self, data: &[u8]) -> Result<(), StoreError> {
        tfrecord::write(&mut self.out, data).at("write", &self.path)
    }
}

fn varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push((v as u8) | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Field number and wire type: 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes.
fn key(out: &mut Vec<u8>, field: u64, wire: u64) {
    varint(out, field << 3 | wire);
}

fn double(out: &mut Vec<u8>, field: u64, v: f64) {
    key(out, field, 1);
    out.extend(v.to_le_bytes());
}

fn float(out: &mut Vec<u8>, field: u64, v: f32) {
    key(out, field, 5);
    out.extend(v.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, field: u64, v: &[u8]) {
    key(out, field, 2);
    varint(out, v.len() as u64);
    out.extend(v);
}
