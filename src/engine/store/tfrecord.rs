//! TFRecord: the frames of TensorBoard's event files, written and read.
//!
//! A frame is length (u64 LE), masked CRC-32C of the length, data, masked CRC-32C of the data
//! (TensorFlow, `record_writer.h`).

use std::io::{self, Read, Write};

pub(super) fn write(out: &mut impl Write, data: &[u8]) -> io::Result<()> {
    let length = (data.len() as u64).to_le_bytes();
    let mut frame = Vec::with_capacity(data.len() + 16);
    frame.extend(length);
    frame.extend(masked(&length).to_le_bytes());
    frame.extend(data);
    frame.extend(masked(data).to_le_bytes());
    out.write_all(&frame)
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// The data of a frame that is whole.
    Data,
    /// A frame whose data do not have its checksum; the next one can be read.
    WrongChecksum,
    /// A frame of this many bytes, which is not held in memory; the next one can be read.
    TooLong { bytes: u64 },
    /// The file ends where a frame ends.
    End,
    /// The file ends within a frame: it was being written, or was cut.
    Cut,
    /// The length does not have its checksum: where the next frame begins is not known.
    Lost,
}

/// Reads the next frame into `data`, unless it has more than `most` bytes.
pub(super) fn read(file: &mut impl Read, data: &mut Vec<u8>, most: u64) -> io::Result<Frame> {
    let mut head = vec![];
    match file.by_ref().take(12).read_to_end(&mut head)? {
        0 => return Ok(Frame::End),
        12 => {}
        _ => return Ok(Frame::Cut),
    }
    let (length, sum) = head.split_at(8);
    if masked(length).to_le_bytes() != *sum {
        return Ok(Frame::Lost);
    }
    let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
    data.clear();
    if length > most {
        let rest = length.saturating_add(4);
        let passed = io::copy(&mut file.by_ref().take(rest), &mut io::sink())?;
        return Ok(if passed == rest { Frame::TooLong { bytes: length } } else { Frame::Cut });
    }
    if file.by_ref().take(length + 4).read_to_end(data)? as u64 != length + 4 {
        return Ok(Frame::Cut);
    }
    let sum = data.split_off(length as usize);
    Ok(if masked(data).to_le_bytes() == *sum { Frame::Data } else { Frame::WrongChecksum })
}

/// The masked checksum of TFRecord, which keeps checksums of data that contain checksums sound.
fn masked(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written_and_damage_is_told_apart() {
        let mut file = vec![];
        write(&mut file, b"one").unwrap();
        write(&mut file, b"").unwrap();
        let all_within = |bytes: &[u8], most: u64| {
            let (mut from, mut data, mut found) = (bytes, vec![], vec![]);
            loop {
                let frame = read(&mut from, &mut data, most).unwrap();
                let is_last = matches!(frame, Frame::End | Frame::Cut | Frame::Lost);
                found.push(match frame {
                    Frame::Data => String::from_utf8(data.clone()).unwrap(),
                    other => format!("{other:?}"),
                });
                if is_last {
                    return found.join(",");
                }
            }
        };
        let all = |bytes: &[u8]| all_within(bytes, 3);
        assert_eq!(all(&file), "one,,End");
        assert_eq!(all_within(&file, 2), "TooLong { bytes: 3 },,End");
        assert_eq!(all_within(&file[..18], 2), "Cut");
        assert_eq!(all(&file[..file.len() - 1]), "one,Cut");
        assert_eq!(all(&file[..20]), "one,Cut");
        let changed = |at: usize| {
            let mut bytes = file.clone();
            bytes[at] ^= 1;
            all(&bytes)
        };
        assert_eq!(changed(13), "WrongChecksum,,End");
        assert_eq!(changed(0), "Lost");
    }
}
