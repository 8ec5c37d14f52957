//! The fields of a protobuf message, one after another, without its description
//! (<https://protobuf.dev/programming-guides/encoding/>).

use std::borrow::Cow;

/// The bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not a protobuf message")]
pub(super) struct MalformedMessage;

/// The encoded value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Varint(u64),
    /// Eight bytes, little-endian.
    Fixed64(u64),
    /// A text, bytes, a message or packed numbers.
    Bytes(&'a [u8]),
    /// Four bytes, little-endian.
    Fixed32(u32),
}

impl<'a> Value<'a> {
    /// The bytes of a field of variable length; none of another.
    pub fn bytes(self) -> &'a [u8] {
        if let Self::Bytes(bytes) = self { bytes } else { &[] }
    }

    /// The text of a field; what is not UTF-8 in it is replaced.
    pub fn text(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes())
    }
}

/// The texts of a field that is repeated, as one.
pub(super) struct JoinedTexts {
    /// The separator between two texts.
    pub between: char,
    /// No text is added to more bytes than these.
    pub max: usize,
    /// `None` before the first text.
    pub joined: Option<String>,
}

impl JoinedTexts {
    pub fn new(between: char, max: usize) -> Self {
        Self { between, max, joined: None }
    }

    /// Adds a text. A list of them would take many times the bytes of a message of empty ones.
    pub fn add(&mut self, text: Value<'_>) {
        match &mut self.joined {
            None => self.joined = Some(text.text().into_owned()),
            Some(joined) if joined.len() <= self.max => {
                joined.push(self.between);
                joined.push_str(&text.text());
            }
            Some(_) => {}
        }
    }
}

/// The fields of a message: their numbers and values. After a malformed one there are no more.
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = varint(&mut self.0)?;
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut self.0)?),
            1 => Value::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(varint(&mut self.0)?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            // groups are deprecated, and none of the messages read here contains one
            _ => return None,
        };
        Some((key >> 3, value))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), MalformedMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or(MalformedMessage))
    }
}

/// A number of seven bits per byte, the lowest first; `None` where it does not end within ten bytes.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for i in 0..10 {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << (7 * i);
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_field_is_read_and_what_is_cut_is_malformed() {
        // 1: 150, 2: "hi", 3: 1.0 as f32, 4: 1.0 as f64; the first two as in the guide
        let mut bytes = vec![0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d];
        bytes.extend(1f32.to_le_bytes());
        bytes.push(0x21);
        bytes.extend(1f64.to_le_bytes());
        let all: Result<Vec<_>, _> = Fields(&bytes).collect();
        let expected = vec![
            (1, Value::Varint(150)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Fixed32(1f32.to_bits())),
            (4, Value::Fixed64(1f64.to_bits())),
        ];
        assert_eq!(all, Ok(expected));
        for end in [1, 2, 4, 6, 10, 15] {
            let all: Result<Vec<_>, _> = Fields(&bytes[..end]).collect();
            assert_eq!(all, Err(MalformedMessage), "{end}");
        }
        assert_eq!(varint(&mut &[0xff; 11][..]), None);
        assert_eq!(Fields(&[0x0b]).collect::<Result<Vec<_>, _>>(), Err(MalformedMessage));
    }
}
