//! Tensors by name in files that others wrote: safetensors, and what `torch.save` makes. Files are not trusted:
//! every size is compared with the file's length before memory is allocated for it, and no code of a pickle is ever run.

mod header;
mod metadata;
mod pytorch;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use candle_core::{Device, Result, Tensor, bail};
use half::{bf16, f16};
pub use header::{Header, HeaderError};
use metadata::LONGEST_PATH;
pub use metadata::json_scalars;

use crate::files::{self, FileError, check_memory};

/// Tensors have at most this many sides, as in PyTorch.
const MAX_DIMS: usize = 64;

/// The type of values in the file, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FloatKind {
    F64,
    F32,
    F16,
    Bf16,
}

impl FloatKind {
    fn bytes(self) -> u64 {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    fn read(self, b: &[u8]) -> f32 {
        match (self, b) {
            (Self::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]) as f32,
            (Self::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (Self::F16, &[a, b]) => f16::from_le_bytes([a, b]).to_f32(),
            (Self::Bf16, &[a, b]) => bf16::from_le_bytes([a, b]).to_f32(),
            _ => f32::NAN,
        }
    }
}

/// A tensor of the file, whose byte range was checked against the file's length.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    name: String,
    shape: Vec<usize>,
    /// Steps from one index to the next, in values.
    strides: Vec<usize>,
    /// The float type; `None` for a type that weights cannot have, whose name is in `dtype_name`.
    kind: Option<FloatKind>,
    dtype_name: String,
    /// The offset of the first value in bytes from the file's start.
    at: u64,
    /// The checksum of the part of the file that holds it, where the format has one.
    checksum: Option<Checksum>,
}

/// The CRC-32 that a part of a zip must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Checksum {
    /// Bytes from the file's start.
    from: u64,
    to: u64,
    crc32: u32,
}

impl Checksum {
    fn matches(self, file: &mut File) -> std::io::Result<bool> {
        file.seek(SeekFrom::Start(self.from))?;
        let mut part = file.take(self.to.saturating_sub(self.from));
        let (mut hasher, mut bytes) = (crc32fast::Hasher::new(), vec![0u8; 1 << 20]);
        loop {
            match part.read(&mut bytes) {
                Ok(0) => return Ok(hasher.finalize() == self.crc32),
                Ok(n) => hasher.update(&bytes[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// A file's table of contents.
#[derive(Debug)]
pub struct Weights {
    path: PathBuf,
    entries: Vec<Entry>,
    metadata: BTreeMap<String, String>,
}

/// The result of a format's reader for a file of `length` bytes.
struct Contents {
    entries: Vec<Entry>,
    /// Numbers and strings other than tensors, by dotted path.
    metadata: BTreeMap<String, String>,
}

impl Weights {
    /// Reads the table of contents; errors name the file, and the tensor where there is one to blame.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let read = || -> std::result::Result<(File, u64), FileError> {
            let file = files::open(path)?;
            let length = file.metadata()?.len();
            Ok((file, length))
        };
        let (mut file, length) =
            read().map_err(|e| candle_core::Error::Msg(format!("`{shown}` cannot be read: {e}")))?;
        let mut first = [0u8; 4];
        let zipped = file.read_exact(&mut first).is_ok() && &first == b"PK\x03\x04";
        let found = file.rewind().map_err(|e| e.to_string()).and_then(|()| match zipped {
            true => pytorch::contents(file, length),
            false => header::contents(file, length, &first),
        });
        match found {
            Ok(Contents { entries, metadata }) => Ok(Self { path: path.to_owned(), entries, metadata }),
            Err(why) => bail!("`{shown}` cannot be read: {why}"),
        }
    }

    /// Names and shapes, in the order of the file.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.entries.iter().map(|e| (e.name.as_str(), e.shape.as_slice()))
    }

    /// Numbers and strings that the file holds in addition to its tensors, by dotted path (`config.n_layer`).
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metadata.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// Loads a tensor as f32, row-major; an error names it if it is missing, holds no weights, ends early
    /// or has a value that is not a number.
    pub fn load(&self, name: &str, device: &Device) -> Result<Tensor> {
        let shown = self.path.display();
        let Some(entry) = self.entries.iter().find(|e| e.name == name) else {
            bail!("`{shown}` has no tensor `{name}`")
        };
        let Some(kind) = entry.kind else {
            bail!(
                "tensor `{name}` of `{shown}` is of type {}; weights are float32, float16, bfloat16 or float64",
                entry.dtype_name
            )
        };
        let values = self
            .values(entry, kind)
            .map_err(|e| candle_core::Error::Msg(format!("tensor `{name}` of `{shown}` cannot be read: {e}")))?;
        if let Some(i) = values.iter().position(|v| !v.is_finite()) {
            let bad = values.iter().filter(|v| !v.is_finite()).count();
            bail!(
                "tensor `{name}` of `{shown}` has {bad} of {} values that are not finite, the first ({}) at index \
                 {i}: the training that wrote it had diverged, or the file is damaged; use an earlier checkpoint",
                values.len(),
                values[i]
            );
        }
        Tensor::from_vec(values, entry.shape.as_slice(), device)
    }

    fn values(&self, entry: &Entry, kind: FloatKind) -> std::io::Result<Vec<f32>> {
        let mut file = files::open(&self.path)?;
        if let Some(checksum) = entry.checksum
            && !checksum.matches(&mut file)?
        {
            let words = "its bytes are not those that were written (their CRC-32 differs): the file is damaged; copy \
                         it again, or save it with its checksums on";
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, words));
        }
        file.seek(SeekFrom::Start(entry.at))?;
        let size = kind.bytes() as usize;
        let count = span(&entry.shape, &entry.strides).unwrap_or_default();
        // The bytes, and the values that are made of them.
        let needed = (count as u64).saturating_mul((size + size_of::<f32>()) as u64);
        check_memory(needed).map_err(FileError::from)?;
        let mut bytes = vec![0u8; count * size];
        file.read_exact(&mut bytes)?;
        let value = |i: usize| kind.read(&bytes[i * size..(i + 1) * size]);
        if entry.strides == row_major(&entry.shape) {
            return Ok((0..bytes.len() / size).map(value).collect());
        }
        let total: usize = entry.shape.iter().product();
        let place = |mut i: usize| {
            let mut at = 0;
            for (n, step) in entry.shape.iter().zip(&entry.strides).rev() {
                at += i % n * step;
                i /= n;
            }
            at
        };
        Ok((0..total).map(|i| value(place(i))).collect())
    }
}

/// The beginning of a name, for messages.
fn short(name: &str) -> String {
    let mut out: String = name.chars().take(80).collect();
    if out.len() < name.len() {
        out.push('\u{2026}');
    }
    out
}

fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    (1..shape.len()).rev().for_each(|i| strides[i - 1] = strides[i].saturating_mul(shape[i]));
    strides
}

/// The number of values from the first to the last of a strided tensor; `None` on overflow, or if the contiguous tensor
/// would be larger than this span.
fn span(shape: &[usize], strides: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let total = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
    let last = shape.iter().zip(strides).try_fold(0usize, |at, (d, s)| at.checked_add((d - 1).checked_mul(*s)?))?;
    // an expanded tensor (stride 0) claims values that the file does not hold
    (total <= last + 1).then_some(last + 1)
}

/// The entry, if its tensor ends before the byte `end`; else an error message.
fn checked(entry: Entry, end: u64) -> std::result::Result<Entry, String> {
    let Entry { name, shape, at, .. } = &entry;
    if name.len() > LONGEST_PATH || shape.len() > MAX_DIMS {
        let (bytes, dims) = (name.len(), shape.len());
        return Err(format!(
            "tensor `{}` has a name of {bytes} bytes and {dims} dimensions, more than any weights have",
            short(name)
        ));
    }
    let bytes = entry.kind.map_or(1, FloatKind::bytes);
    let size = span(shape, &entry.strides).and_then(|n| (n as u64).checked_mul(bytes));
    match size {
        Some(n) if at.checked_add(n).is_some_and(|last| last <= end) => Ok(entry),
        Some(n) => Err(format!(
            "tensor `{name}` {shape:?} needs {n} bytes and the file holds {} for it: it is cut off or damaged; copy \
             it again",
            end.saturating_sub(*at)
        )),
        None => Err(format!("tensor `{name}` claims the impossible shape {shape:?}")),
    }
}
