//! Named tensors as an `.npz` file for NumPy: a zip of one `.npy` for each. candle writes each number of such a file by a call
//! of the system of its own, which takes minutes where this takes seconds.

use std::io::{self, BufWriter, Seek, Write};

use candle_core::{DType, Tensor};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::prelude::*;
use crate::nn::host;

/// A zip without its 64-bit extension holds no larger part.
const LARGEST_PART: u64 = u32::MAX as u64;

/// Bytes that are handed to the system at a time.
const BUFFER: usize = 1 << 20;
/// The first bytes of an `.npy`, with its version.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// Writes `name.npy` for each tensor, uncompressed, dated 1980 so that equal tensors give equal bytes; replaces a file
/// that is there by a whole one.
///
/// # Errors
/// If a tensor is larger than 4 GiB, or the system refuses.
pub fn write(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), StoreError> {
    let shown = path.display();
    let broken = |e: &dyn std::fmt::Display| StoreError::new(format!("cannot write `{shown}`: {e}"));
    let mut on_host = vec![];
    for (name, tensor) in tensors {
        let bytes = (tensor.elem_count() as u64).saturating_mul(tensor.dtype().size_in_bytes() as u64);
        if bytes + 1024 > LARGEST_PART {
            let words =
                format!("`{name}` has {}, and an .npz holds at most 4 GiB of each: write .safetensors", size(bytes));
            return Err(broken(&words));
        }
        let tensor = host::to_cpu(tensor).map_err(|e| broken(&e))?;
        on_host.push((name.as_str(), header(&tensor).map_err(|e| broken(&e))?, tensor));
    }
    let mut file = Replacement::create(path).at("write", path)?;
    write_parts(&mut file, &on_host).at("write", path)?;
    file.commit().at("write", path)
}

fn write_parts(file: impl Write + Seek, parts: &[(&str, Vec<u8>, Tensor)]) -> io::Result<()> {
    let mut zip = ZipWriter::new(file);
    for (name, header, tensor) in parts {
        let bytes = header.len() + tensor.elem_count() * tensor.dtype().size_in_bytes();
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file(format!("{name}.npy"), options.large_file(u32::try_from(bytes).is_err()))?;
        let mut part = BufWriter::with_capacity(BUFFER, &mut zip);
        part.write_all(header)?;
        tensor.write_bytes(&mut part).map_err(|e| match e {
            candle_core::Error::Io(e) => e,
            other => io::Error::other(other.to_string()),
        })?;
        part.flush()?;
    }
    zip.finish()?;
    Ok(())
}

/// The header of a row-major array, version 1.0 of the format. Errors: NumPy has no such type.
fn header(tensor: &Tensor) -> Result<Vec<u8>, String> {
    let kind = match tensor.dtype() {
        DType::F16 => "f2",
        DType::F32 => "f4",
        DType::F64 => "f8",
        DType::I16 => "i2",
        DType::I32 => "i4",
        DType::I64 => "i8",
        DType::U32 => "u4",
        DType::U8 => "u1",
        other => return Err(format!("NumPy has no numbers of type {}", other.as_str())),
    };
    let shape: String = tensor.dims().iter().map(|n| format!("{n},")).collect();
    let mut words = format!("{{'descr': '<{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    // a line whose end is at a multiple of 64 bytes
    let fixed = MAGIC.len() + size_of::<u16>();
    let length = (fixed + words.len() + 1).next_multiple_of(64) - fixed;
    words.extend(std::iter::repeat_n(' ', length - 1 - words.len()));
    words.push('\n');
    let length = u16::try_from(length).map_err(|_| "too many dimensions".to_owned())?;
    Ok([MAGIC, &length.to_le_bytes(), words.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, SeekFrom};

    use super::*;

    /// Counts the calls that a file would get.
    struct CountedFile {
        bytes: Cursor<Vec<u8>>,
        writes: usize,
    }

    impl Write for CountedFile {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            self.bytes.write(buf)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for CountedFile {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.bytes.seek(to)
        }
    }

    #[test]
    fn numbers_are_written_many_at_once() {
        let tensor = Tensor::arange(0f32, 300_000f32, &Device::Cpu).unwrap().reshape((3, 100_000)).unwrap();
        let start = header(&tensor).unwrap();
        assert_eq!((start.len() % 64, start.last()), (0, Some(&b'\n')));
        let mut file = CountedFile { bytes: Cursor::new(vec![]), writes: 0 };
        write_parts(&mut file, &[("a", start, tensor.clone())]).unwrap();
        assert!(file.writes < 200, "{}", file.writes);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        std::fs::write(&path, file.bytes.into_inner()).unwrap();
        let read = Tensor::read_npz(&path).unwrap();
        assert_eq!((read.len(), read[0].0.as_str(), read[0].1.dims()), (1, "a", &[3, 100_000][..]));
        assert_eq!(host::to_f32(&read[0].1).unwrap(), host::to_f32(&tensor).unwrap());
    }

    #[test]
    fn a_file_replaces_another_by_its_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.npz");
        std::fs::write(&path, "before").unwrap();
        let tensor = Tensor::new(7u32, &Device::Cpu).unwrap();
        write(&path, &[("scalar".to_owned(), tensor)]).unwrap();
        let read = Tensor::read_npz(&path).unwrap();
        assert_eq!((read[0].1.dims().len(), read[0].1.to_scalar::<u32>().unwrap()), (0, 7));
    }
}
