//! The header of a safetensors file: eight bytes of length, then JSON that describes each tensor. The one reader of it,
//! for weights of others and for checkpoints; it does not read tensors.
//!
//! The description of a tensor is the `safetensors` crate's. The crate's own reader needs the whole file and rejects it
//! as a whole; this one reads the header alone and names the tensor that is wrong.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Read},
};

use safetensors::{Dtype, tensor::TensorInfo};
use serde::de::{Deserializer, MapAccess, Visitor};

use super::{
    Contents, Entry, FloatKind, checked,
    metadata::{Metadata, Scalars},
    row_major, short,
};

/// More than any header has: a name and two numbers for each of many thousand tensors.
const MAX_HEADER: u64 = 32 << 20;

/// The header of a safetensors file.
#[derive(Debug)]
pub struct Header {
    /// The tensors by name; `data_offsets` count from `data_start`.
    pub tensors: BTreeMap<String, TensorInfo>,
    /// `__metadata__`, a map of strings in a file that keeps to the format.
    metadata: Metadata,
    /// Bytes before the data.
    pub data_start: u64,
}

/// The reason why a header cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// A file too short for the length of its header.
    #[error("it is cut off after {0} bytes")]
    NoLength(u64),
    /// A file that ends within its header.
    #[error("it is cut off in its header, after {0} bytes")]
    CutOff(u64),
    /// A file of another format.
    #[error("it is not a safetensors file")]
    OtherFormat,
    /// A damaged description of the tensor of this name.
    #[error("its header is damaged where it describes tensor `{0}`")]
    Tensor(String),
    /// Any other error of the system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Filters the header while it is parsed, so that nothing is allocated but the entries that are kept.
struct HeaderVisitor {
    tensors: BTreeMap<String, TensorInfo>,
    metadata: Metadata,
    /// The tensor whose description is being read.
    at: Option<String>,
}

impl<'de> Visitor<'de> for &mut HeaderVisitor {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value_seed(Scalars(&mut self.metadata))?;
                continue;
            }
            self.at = Some(name);
            let info = map.next_value::<TensorInfo>()?;
            if let Some(name) = self.at.take() {
                self.tensors.insert(name, info);
            }
        }
        Ok(())
    }
}

impl Header {
    /// Reads the header of a file of `length` bytes, from its beginning. Nothing of the file is believed: the header must
    /// fit into it before memory is set aside.
    ///
    /// # Errors
    /// See [`HeaderError`]. Whether a tensor lies within the file is not checked.
    pub fn read(mut file: impl Read, length: u64) -> Result<Self, HeaderError> {
        let mut size = [0u8; 8];
        file.read_exact(&mut size).map_err(|_| HeaderError::NoLength(length))?;
        let size = u64::from_le_bytes(size);
        ensure!(size <= MAX_HEADER, HeaderError::OtherFormat);
        let data_start = 8 + size;
        ensure!(data_start <= length, HeaderError::CutOff(length));
        let mut bytes = vec![0u8; size as usize];
        file.read_exact(&mut bytes)?;
        let mut reading = HeaderVisitor { tensors: BTreeMap::new(), metadata: Metadata::default(), at: None };
        let mut json = serde_json::Deserializer::from_slice(&bytes);
        let read = json.deserialize_map(&mut reading).and_then(|()| json.end());
        match (read, reading.at) {
            (Ok(()), _) => Ok(Self { tensors: reading.tensors, metadata: reading.metadata, data_start }),
            (Err(e), Some(name)) if e.is_data() => Err(HeaderError::Tensor(short(&name))),
            _ => Err(HeaderError::OtherFormat),
        }
    }
}

pub(super) fn contents(file: impl Read, length: u64, first: &[u8; 4]) -> Result<Contents, String> {
    let header = Header::read(file, length).map_err(|e| match (e, first) {
        (HeaderError::OtherFormat, [0x80, 2..=5, ..]) => {
            "it is a PyTorch file of before version 1.6, a pickle that could run code: read it with torch.load(path, weights_only=True) and save its state_dict with safetensors.torch.save_file"
                .to_owned()
        }
        (HeaderError::OtherFormat, _) => {
            format!("it is neither a safetensors file nor one of torch.save ({length} bytes)")
        }
        (e, _) => e.to_string(),
    })?;
    let metadata = header.metadata.finish()?;
    let mut entries = vec![];
    for (name, info) in header.tensors {
        let kind = match info.dtype {
            Dtype::F64 => Some(FloatKind::F64),
            Dtype::F32 => Some(FloatKind::F32),
            Dtype::F16 => Some(FloatKind::F16),
            Dtype::BF16 => Some(FloatKind::Bf16),
            _ => None,
        };
        let (from, to) = info.data_offsets;
        let absolute = |offset: usize| header.data_start.checked_add(offset as u64);
        let (Some(at), Some(end)) = (absolute(from), absolute(to)) else {
            return Err(HeaderError::Tensor(name).to_string());
        };
        let strides = row_major(&info.shape);
        let dtype_name = format!("{:?}", info.dtype);
        let entry = Entry { name, shape: info.shape, strides, kind, dtype_name, at, checksum: None };
        entries.push(checked(entry, end.min(length))?);
    }
    Ok(Contents { entries, metadata })
}
