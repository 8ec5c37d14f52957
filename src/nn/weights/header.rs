//! The table of contents of a safetensors file: eight bytes of length, JSON, data.

use std::{collections::BTreeMap, fs::File, io::Read};

use serde_json::Value;

use super::{Contents, Kind, placed, row_major};

/// More than any header has: a name and two numbers for each of many thousand tensors.
const MOST_HEADER: u64 = 32 << 20;

pub(super) fn contents(mut file: File, length: u64, first: &[u8; 4]) -> Result<Contents, String> {
    let unlike = || match first {
        [0x80, 2..=5, ..] => {
            "it is a PyTorch file of before version 1.6; write it anew with torch.save(torch.load(path), path)"
                .to_owned()
        }
        _ => format!("it is neither a safetensors file nor one of torch.save ({length} bytes)"),
    };
    let mut size = [0u8; 8];
    file.read_exact(&mut size).map_err(|_| format!("it is cut off after {length} bytes"))?;
    let size = u64::from_le_bytes(size);
    if size > MOST_HEADER {
        return Err(unlike());
    }
    let data = 8 + size;
    if data > length {
        return Err(format!("it is cut off in its header, after {length} bytes"));
    }
    let mut header = vec![0u8; size as usize];
    file.read_exact(&mut header).map_err(|e| e.to_string())?;
    let Ok(Value::Object(header)) = serde_json::from_slice(&header) else { return Err(unlike()) };
    let mut entries = vec![];
    let mut metadata = BTreeMap::new();
    for (name, about) in header {
        if name == "__metadata__" {
            tell(&about, "", &mut metadata);
            continue;
        }
        let damaged = || format!("its header is damaged where it tells of tensor `{name}`");
        let whole = |v: &Value| v.as_u64().and_then(|n| usize::try_from(n).ok());
        let shape = about["shape"].as_array().and_then(|s| s.iter().map(whole).collect::<Option<Vec<_>>>());
        let (shape, from) = shape.zip(about["data_offsets"][0].as_u64()).ok_or_else(damaged)?;
        let to = about["data_offsets"][1].as_u64().ok_or_else(damaged)?;
        let kind_name = about["dtype"].as_str().ok_or_else(damaged)?.to_owned();
        let kind = match kind_name.as_str() {
            "F64" => Some(Kind::F64),
            "F32" => Some(Kind::F32),
            "F16" => Some(Kind::F16),
            "BF16" => Some(Kind::Bf16),
            _ => None,
        };
        let at = data.checked_add(from).ok_or_else(damaged)?;
        let end = data.checked_add(to).ok_or_else(damaged)?.min(length);
        let strides = row_major(&shape);
        entries.push(placed(name, (kind, kind_name), (shape, strides), (at, end))?);
    }
    Ok(Contents { entries, metadata })
}

/// Scalars by dotted path; words that are JSON themselves are read as such.
fn tell(value: &Value, path: &str, metadata: &mut BTreeMap<String, String>) {
    let under = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(o) => o.iter().for_each(|(k, v)| tell(v, &under(k), metadata)),
        Value::String(s) => match serde_json::from_str(s) {
            Ok(inner @ Value::Object(_)) => tell(&inner, path, metadata),
            _ => drop(metadata.insert(path.to_owned(), s.clone())),
        },
        Value::Array(_) => {}
        other => drop(metadata.insert(path.to_owned(), other.to_string())),
    }
}
