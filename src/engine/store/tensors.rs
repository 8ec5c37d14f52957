//! Named tensors in a safetensors file, with errors that name the file and the tensor.

use std::{collections::HashSet, fs::File};

use candle_core::{Tensor, safetensors::Load};
use safetensors::SafeTensors;

use super::prelude::*;
use crate::{
    files::{open, read_all},
    nn::{
        host,
        weights::{Header, HeaderError},
    },
};

/// Tensors by name, in order.
pub type NamedTensors = Vec<(String, Tensor)>;

/// The length and checksum of a file, to notice when it changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Name within its folder.
    pub file: String,
    /// Length in bytes.
    pub bytes: u64,
    /// CRC-32C of all bytes.
    pub crc32c: u32,
    /// The tensors in the file.
    pub tensors: Vec<TensorRecord>,
}

/// The name, type and shape of a tensor in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TensorRecord {
    /// The name of the tensor.
    pub name: String,
    /// The type of the values.
    pub dtype: String,
    /// The length of each dimension.
    pub shape: Vec<usize>,
}

/// Writes the tensors under their names, any device, exact bits, into a file that must not exist yet, and
/// forces them to the disk.
pub(super) fn write_new(path: &Path, tensors: &[(String, Tensor)]) -> Result<FileRecord, StoreError> {
    let (bytes, record) = encode(path, tensors, &[])?;
    names::write_new(path, &bytes)?;
    Ok(record)
}

/// Writes the tensors under their names, together with metadata strings; replaces a file that is there by a whole one.
pub fn write(
    path: &Path,
    tensors: &[(String, Tensor)],
    metadata: &[(String, String)],
) -> Result<FileRecord, StoreError> {
    let (bytes, record) = encode(path, tensors, metadata)?;
    crate::files::replace(path, &bytes).at("write", path)?;
    Ok(record)
}

/// The file's bytes, and what they must hold. `path` is named in errors.
pub(super) fn encode(
    path: &Path,
    tensors: &[(String, Tensor)],
    metadata: &[(String, String)],
) -> Result<(Vec<u8>, FileRecord), StoreError> {
    let broken = |e: &dyn std::fmt::Display| StoreError::new(format!("cannot write `{}`: {e}", path.display()));
    let on_host = tensors
        .iter()
        .map(|(name, t)| Ok((name.as_str(), host::to_cpu(t)?)))
        .collect::<candle_core::Result<Vec<_>>>()
        .map_err(|e| broken(&e))?;
    // "pt" is what PyTorch tools ask for before they open a file.
    let format = ("format".to_owned(), "pt".to_owned());
    let metadata: BTreeMap<String, String> = metadata.iter().cloned().chain([format]).collect();
    let mut bytes = safetensors::serialize(on_host.iter().map(|(n, t)| (*n, t)), None).map_err(|e| broken(&e))?;
    put_metadata(&mut bytes, &metadata).map_err(|e| broken(&e))?;
    let record = FileRecord {
        file: names::name_of(path),
        bytes: bytes.len() as u64,
        crc32c: crc32c::crc32c(&bytes),
        tensors: on_host
            .iter()
            .map(|(n, t)| TensorRecord {
                name: (*n).to_owned(),
                dtype: t.dtype().as_str().to_owned(),
                shape: t.dims().to_vec(),
            })
            .collect(),
    };
    Ok((bytes, record))
}

/// Adds metadata to the header of a file that has none, sorted by key. The map of the safetensors crate has another
/// order in every process, but equal tensors should give equal bytes.
fn put_metadata(bytes: &mut Vec<u8>, metadata: &BTreeMap<String, String>) -> Result<(), serde_json::Error> {
    let length: [u8; LENGTH] = std::array::from_fn(|i| bytes.get(i).copied().unwrap_or_default());
    let end = LENGTH + u64::from_le_bytes(length) as usize;
    let tensors = String::from_utf8_lossy(bytes.get(LENGTH..end).unwrap_or_default()).trim().to_owned();
    let rest = tensors.strip_prefix('{').unwrap_or("}");
    let comma = if rest == "}" { "" } else { "," };
    let mut header = format!("{{\"__metadata__\":{}{comma}{rest}", serde_json::to_string(metadata)?).into_bytes();
    header.resize(header.len().next_multiple_of(LENGTH), b' ');
    let length = (header.len() as u64).to_le_bytes();
    bytes.splice(..end, length.into_iter().chain(header));
    Ok(())
}

/// The number of bytes of a file's first number, which is the length of its header; the header ends at a multiple of
/// it.
const LENGTH: usize = 8;

/// All tensors of a file, by name.
pub fn read(path: &Path, device: &Device) -> Result<NamedTensors, StoreError> {
    let bytes = open(path).and_then(read_tensors).at("read", path)?;
    from_bytes(path, &bytes, device)
}

/// All tensors of a file's bytes, by name; `path` is named in errors.
pub(super) fn from_bytes(path: &Path, bytes: &[u8], device: &Device) -> Result<NamedTensors, StoreError> {
    let file = parse(path, bytes)?;
    let mut names = file.names();
    names.sort_unstable();
    names.into_iter().map(|name| Ok((name.to_owned(), load(path, &file, name, device)?))).collect()
}

/// The length in bytes of the file that `record` describes.
pub fn length(folder: &Path, record: &FileRecord) -> Result<u64, StoreError> {
    let path = folder.join(&record.file);
    let file = open_inside(folder, &record.file).at("read", &path)?;
    Ok(file.metadata().at("read", &path)?.len())
}

/// The tensors that `record` describes, in its order, if the file still holds exactly those.
pub fn read_checked(folder: &Path, record: &FileRecord, device: &Device) -> Result<NamedTensors, StoreError> {
    let path = folder.join(&record.file);
    let bytes = open_inside(folder, &record.file).and_then(read_tensors).at("read", &path)?;
    let file = parse(&path, &bytes)?;
    let mut seen = HashSet::new();
    for t in &record.tensors {
        if !seen.insert(&t.name) {
            let words = format!("`{}`: the checkpoint lists its tensor `{}` twice", path.display(), t.name);
            return Err(StoreError::new(words));
        }
        let Ok(found) = file.tensor(&t.name) else {
            return Err(StoreError::new(format!("`{}` lacks the tensor `{}` {:?}", path.display(), t.name, t.shape)));
        };
        if found.shape() != t.shape {
            return Err(StoreError::new(format!(
                "`{}`: tensor `{}` has shape {:?}, the checkpoint was written with {:?}",
                path.display(),
                t.name,
                found.shape(),
                t.shape
            )));
        }
    }
    if bytes.len() as u64 != record.bytes || crc32c::crc32c(&bytes) != record.crc32c {
        return Err(StoreError::new(format!(
            "`{}` is not the file that was written (its checksum differs): it was damaged or replaced",
            path.display()
        )));
    }
    record.tensors.iter().map(|t| Ok((t.name.clone(), load(&path, &file, &t.name, device)?))).collect()
}

/// The name of a CRC-32 of the values among a file's metadata, eight hexadecimal digits.
const CRC32: &str = "orrery.crc32";

/// All tensors of a file in a folder, by name, and the metadata strings, if its bytes have this CRC-32C; without one,
/// if its values have the CRC-32 that its header states.
pub(super) fn read_with_checksum(
    folder: &Path,
    name: &str,
    crc32c: Option<u32>,
    device: &Device,
) -> Result<(NamedTensors, HashMap<String, String>), StoreError> {
    let path = folder.join(name);
    let bytes = open_inside(folder, name).and_then(read_tensors).at("read", &path)?;
    let damaged = || StoreError::new(format!("`{}` is damaged: its checksum differs", path.display()));
    ensure!(crc32c.is_none_or(|sum| crc32c::crc32c(&bytes) == sum), damaged());
    let file = parse(&path, &bytes)?;
    let (length, header) = SafeTensors::read_metadata(&bytes)
        .map_err(|e| StoreError::new(format!("cannot read `{}`: {e}", path.display())))?;
    if crc32c.is_none() {
        let told = header.metadata().as_ref().and_then(|metadata| metadata.get(CRC32));
        let told = told.and_then(|sum| u32::from_str_radix(sum, 16).ok()).ok_or_else(|| {
            let words = format!("`{}` holds no checksum, neither in its name nor as `{CRC32}`", path.display());
            StoreError::new(words)
        })?;
        ensure!(crc32fast::hash(bytes.get(LENGTH + length..).unwrap_or_default()) == told, damaged());
    }
    let tensors = file.names().into_iter().map(|name| Ok((name.to_owned(), load(&path, &file, name, device)?)));
    Ok((tensors.collect::<Result<_, StoreError>>()?, header.metadata().clone().unwrap_or_default()))
}

/// Reads the bytes of a file, if they and the tensors made of them fit in memory.
fn read_tensors(file: File) -> Result<Vec<u8>, FileError> {
    check_memory(file.metadata()?.len().saturating_mul(2))?;
    read_all(file, u64::MAX)
}

fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<SafeTensors<'a>, StoreError> {
    // Its header is read by rules of our own first: the crate sets no bounds to it.
    let header = Header::read(bytes, bytes.len() as u64).map_err(|e| e.to_string());
    header.and_then(|_| SafeTensors::deserialize(bytes).map_err(|e| e.to_string())).map_err(|e| {
        let why = truncation_message(bytes).unwrap_or_else(|| format!("it is not a safetensors file ({e})"));
        StoreError::new(format!("cannot read `{}`: {why}", path.display()))
    })
}

fn load(path: &Path, file: &SafeTensors<'_>, name: &str, device: &Device) -> Result<Tensor, StoreError> {
    let broken = |e: &dyn std::fmt::Display| {
        StoreError::new(format!("cannot read tensor `{name}` of `{}`: {e}", path.display()))
    };
    let view = file.tensor(name).map_err(|e| broken(&e))?;
    view.load(device).map_err(|e| broken(&e))
}

/// Says where a truncated file ends; `None` if the file is not truncated.
fn truncation_message(bytes: &[u8]) -> Option<String> {
    let header = match Header::read(bytes, bytes.len() as u64) {
        Ok(header) => header,
        Err(e @ (HeaderError::NoLength(_) | HeaderError::CutOff(_))) => return Some(e.to_string()),
        Err(_) => return None,
    };
    let have = bytes.len() as u64 - header.data_start;
    let ends = header.tensors.iter().map(|(name, info)| (info.data_offsets.1 as u64, name));
    let (end, name) = ends.filter(|(end, _)| *end > have).min()?;
    Some(format!("it is cut off in tensor `{name}` ({have} bytes of data, {end} needed)"))
}
