//! TensorBoard's event files: scalars in the old form (`simple_value`) and the new one (a tensor of no axes), and texts.
//!
//! The messages are those of `event.proto`, `summary.proto`, `tensor.proto`: `Event { wall_time = 1, step = 2, summary = 5 }`,
//! `Summary { value = 1 }`, `Value { tag = 1, simple_value = 2, tensor = 8, metadata = 9 }`, `SummaryMetadata { plugin_data = 1 }`,
//! `PluginData { plugin_name = 1 }`, `TensorProto { dtype = 1, tensor_shape = 2, tensor_content = 4, .. }`.

use std::{borrow::Cow, collections::HashSet, fs::File, io::BufReader};

use half::{bf16, f16};

use super::super::tfrecord::{self, Frame};
use super::{
    DamagedParts, ReadError,
    logged::{Logged, LoggedAt, MAX_NAME, MAX_TEXT, SkippedPart},
    max_record,
    protobuf::{Fields, JoinedTexts, MalformedMessage, Value, varint},
    too_long,
};

/// Reads the event file `name` into a run. Errors: the system refuses, or there are more numbers than are read.
pub(super) fn read(file: File, name: &str, run: usize, logged: &mut Logged) -> Result<(), ReadError> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let (mut data, mut number, mut damaged) = (vec![], 0_u64, DamagedParts::default());
    let mut texts = HashSet::new();
    let most = max_record();
    loop {
        let record = || format!("record {}", number + 1);
        match tfrecord::read(&mut file, &mut data, most)? {
            Frame::Data => match event(&data, run, &mut texts, logged) {
                Err(ReadError::Malformed(malformed)) => damaged.add(format_args!("{}: {malformed}", record())),
                taken => taken?,
            },
            Frame::WrongChecksum => damaged.add(format_args!("{}: its data do not have its checksum", record())),
            Frame::TooLong { bytes } => damaged.add(too_long(&record(), bytes)),
            Frame::End => break,
            Frame::Cut => {
                logged.warn(format!("{name} ends within record {}: it is being written, or was cut", number + 1));
                break;
            }
            Frame::Lost => {
                let words = format!("{name} is damaged at record {}: what comes after it is not read", number + 1);
                logged.warn(words);
                break;
            }
        }
        number += 1;
    }
    damaged.report(name, "damaged record", logged);
    Ok(())
}

/// Reads an event. If it is malformed, the fields before the damage are kept.
fn event(data: &[u8], run: usize, texts: &mut HashSet<String>, logged: &mut Logged) -> Result<(), ReadError> {
    let mut at = LoggedAt { step: 0, wall: f64::NAN };
    for field in Fields(data) {
        match field? {
            (1, Value::Fixed64(bits)) => at.wall = f64::from_bits(bits),
            (2, Value::Varint(step)) => at.step = step.cast_signed(),
            _ => {}
        }
    }
    // the time and the step may come after what was logged then
    let summaries = Fields(data).filter_map(|field| match field {
        Ok((5, Value::Bytes(summary))) => Some(summary),
        _ => None,
    });
    for value in summaries.flat_map(Fields) {
        if let (1, Value::Bytes(value)) = value? {
            take(&Summary::read(value)?, at, run, texts, logged)?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Summary<'a> {
    tag: Cow<'a, str>,
    simple: Option<f64>,
    tensor: Option<&'a [u8]>,
    plugin: Cow<'a, str>,
    /// An image, a histogram or a sound.
    is_other: bool,
}

impl<'a> Summary<'a> {
    fn read(data: &'a [u8]) -> Result<Self, MalformedMessage> {
        let mut value = Self::default();
        for field in Fields(data) {
            match field? {
                (1, tag) => value.tag = tag.text(),
                (2, Value::Fixed32(bits)) => value.simple = Some(f32::from_bits(bits).into()),
                (8, Value::Bytes(tensor)) => value.tensor = Some(tensor),
                (9, Value::Bytes(metadata)) => {
                    for field in Fields(metadata) {
                        if let (1, Value::Bytes(plugin)) = field? {
                            for field in Fields(plugin) {
                                if let (1, name) = field? {
                                    value.plugin = name.text();
                                }
                            }
                        }
                    }
                }
                (4..=6, _) => value.is_other = true,
                _ => {}
            }
        }
        Ok(value)
    }
}

fn take(
    value: &Summary<'_>,
    at: LoggedAt,
    run: usize,
    texts: &mut HashSet<String>,
    logged: &mut Logged,
) -> Result<(), ReadError> {
    if let Some(number) = value.simple {
        return Ok(logged.scalar(run, &value.tag, at, number)?);
    }
    // the plugin is named with the first value of a tag alone
    if value.plugin == "text" && texts.len() < 1000 && value.tag.len() <= MAX_NAME {
        texts.insert(value.tag.clone().into_owned());
    }
    match value.tensor.map(Tensor::read) {
        Some(Ok(Tensor { is_scalar: true, number: Some(number), .. })) => logged.scalar(run, &value.tag, at, number)?,
        Some(Ok(Tensor { text, .. })) if texts.contains(&*value.tag) => {
            logged.text(run, &value.tag, at.step, text.unwrap_or_default());
        }
        Some(_) => logged.skip(SkippedPart::NoNumber),
        None if value.is_other => logged.skip(SkippedPart::NoNumber),
        None => {}
    }
    Ok(())
}

/// The fields of a tensor that may hold a single number or texts.
#[derive(Default)]
struct Tensor {
    /// The tensor has no axes.
    is_scalar: bool,
    number: Option<f64>,
    /// Its texts, a line each.
    text: Option<String>,
}

impl Tensor {
    fn read(data: &[u8]) -> Result<Self, MalformedMessage> {
        let (mut tensor, mut kind, mut axes, mut content) = (Self::default(), 0, 0, None);
        // a longer text is left out
        let mut texts = JoinedTexts::new('\n', MAX_TEXT);
        let mut first: Option<Value<'_>> = None;
        let mut first_field = 0;
        for field in Fields(data) {
            match field? {
                (1, Value::Varint(dtype)) => kind = dtype,
                (2, Value::Bytes(shape)) => {
                    for field in Fields(shape) {
                        axes += usize::from(field?.0 == 2);
                    }
                }
                (4, Value::Bytes(bytes)) if !bytes.is_empty() => content = Some(bytes),
                (8, text) => texts.add(text),
                (field @ (5 | 6 | 7 | 10 | 11 | 13 | 16 | 17), value) if first.is_none() => {
                    (first, first_field) = (Some(value), field);
                }
                _ => {}
            }
        }
        (tensor.is_scalar, tensor.text) = (axes == 0, texts.joined);
        tensor.number = match content {
            Some(bytes) => from_content(kind, bytes),
            None => first.and_then(|value| from_values(kind, first_field, value)),
        };
        Ok(tensor)
    }
}

/// The only number of a tensor whose bytes are those of its memory.
fn from_content(kind: u64, bytes: &[u8]) -> Option<f64> {
    Some(match (kind, bytes) {
        (1, b) => f32::from_le_bytes(b.try_into().ok()?).into(),
        (2, b) => f64::from_le_bytes(b.try_into().ok()?),
        (3, b) => i32::from_le_bytes(b.try_into().ok()?).into(),
        (4, [b]) => (*b).into(),
        (5, b) => i16::from_le_bytes(b.try_into().ok()?).into(),
        (6, [b]) => b.cast_signed().into(),
        (9, b) => i64::from_le_bytes(b.try_into().ok()?) as f64,
        (10, [b]) => f64::from(u8::from(*b != 0)),
        (14, b) => bf16::from_le_bytes(b.try_into().ok()?).to_f64(),
        (17, b) => u16::from_le_bytes(b.try_into().ok()?).into(),
        (19, b) => f16::from_le_bytes(b.try_into().ok()?).to_f64(),
        (22, b) => u32::from_le_bytes(b.try_into().ok()?).into(),
        (23, b) => u64::from_le_bytes(b.try_into().ok()?) as f64,
        _ => return None,
    })
}

/// The first number of a tensor's list of values: packed, or one field per value.
fn from_values(kind: u64, field: u64, value: Value<'_>) -> Option<f64> {
    let whole = |value: Value<'_>| match value {
        Value::Varint(n) => Some(n),
        Value::Bytes(mut packed) => varint(&mut packed),
        Value::Fixed32(_) | Value::Fixed64(_) => None,
    };
    Some(match field {
        5 => match value {
            Value::Fixed32(bits) => f32::from_bits(bits).into(),
            packed => f32::from_le_bytes(*packed.bytes().first_chunk()?).into(),
        },
        6 => match value {
            Value::Fixed64(bits) => f64::from_bits(bits),
            packed => f64::from_le_bytes(*packed.bytes().first_chunk()?),
        },
        // both kinds of half precision, as whole numbers
        13 if kind == 14 => bf16::from_bits(u16::try_from(whole(value)?).ok()?).to_f64(),
        13 => f16::from_bits(u16::try_from(whole(value)?).ok()?).to_f64(),
        7 | 10 => whole(value)?.cast_signed() as f64,
        _ => whole(value)? as f64,
    })
}
