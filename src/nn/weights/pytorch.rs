//! The table of contents of a file of `torch.save`: a zip, uncompressed, of one pickle that names
//! storages and one file a storage.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{BufReader, Read},
};

use zip::{CompressionMethod, ZipArchive};

use super::{
    Contents, Entry, FloatKind,
    pickle::{self, Node, Pickle},
    placed,
};

/// Larger pickles hold more than names: a model's is some kilobytes, with an optimiser's state some more.
const MOST_PICKLE: u64 = 64 << 20;
/// Values looked at while walking a pickle, and how deep; objects may hold each other.
const MOST_NODES: usize = 1 << 20;
const DEEPEST: usize = 16;

pub(super) fn contents(file: File, length: u64) -> Result<Contents, String> {
    let cut = |e: &dyn std::fmt::Display| {
        format!(
            "it begins like a file of torch.save and is cut off or damaged ({e}); copy it anew ({length} bytes are here)"
        )
    };
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|e| cut(&e))?;
    let mut places = HashMap::new(); // name -> first byte, end
    let mut pickle = None;
    for i in 0..zip.len() {
        let mut part = zip.by_index(i).map_err(|e| cut(&e))?;
        let name = String::from_utf8_lossy(part.name_raw()).into_owned();
        let (at, size) = (part.data_start().ok_or_else(|| cut(&"a part without a place"))?, part.size());
        let end = at.checked_add(size).filter(|end| *end <= length);
        let end = end.ok_or_else(|| cut(&format!("`{name}` claims {size} bytes")))?;
        if part.compression() != CompressionMethod::Stored || part.compressed_size() != size {
            return Err(format!("`{name}` in it is compressed, which torch.save does not do"));
        }
        if let Some(folder) = name.strip_suffix("data.pkl") {
            if size > MOST_PICKLE {
                return Err(format!("its pickle has {size} bytes: save the model's state_dict alone"));
            }
            let mut bytes = Vec::with_capacity(size as usize);
            part.read_to_end(&mut bytes).map_err(|e| cut(&e))?;
            pickle = Some((folder.to_owned(), bytes));
        }
        places.insert(name, (at, end));
    }
    let Some((folder, bytes)) = pickle else {
        return Err("it is a zip without the pickle of torch.save".into());
    };
    let pickle = pickle::read(&bytes)?;
    let mut walk = Walk { pickle: &pickle, folder, places, nodes: 0, entries: vec![], metadata: BTreeMap::new() };
    walk.go(pickle.top, "", 0)?;
    Ok(Contents { entries: walk.entries, metadata: walk.metadata })
}

struct Walk<'a> {
    pickle: &'a Pickle<'a>,
    folder: String,
    places: HashMap<String, (u64, u64)>,
    nodes: usize,
    entries: Vec<Entry>,
    metadata: BTreeMap<String, String>,
}

impl Walk<'_> {
    /// Takes in everything under `path`: tensors, numbers, words; leaves out what it does not know.
    fn go(&mut self, node: usize, path: &str, depth: usize) -> Result<(), String> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err("it holds more than a model: save the model's state_dict alone".into());
        }
        if depth > DEEPEST {
            return Ok(());
        }
        match self.pickle.get(node) {
            Node::Int(n) => drop(self.metadata.insert(path.to_owned(), n.to_string())),
            Node::Float(v) => drop(self.metadata.insert(path.to_owned(), v.to_string())),
            Node::Bool(b) => drop(self.metadata.insert(path.to_owned(), b.to_string())),
            Node::Text(s) => drop(self.metadata.insert(path.to_owned(), (*s).to_owned())),
            Node::Dict(pairs) => {
                for (key, value) in pairs {
                    if let Some(path) = self.under(path, *key) {
                        self.go(*value, &path, depth + 1)?;
                    }
                }
            }
            Node::Tuple(items) | Node::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.go(*item, &format!("{path}.{i}"), depth + 1)?;
                }
            }
            Node::Made { class, arguments, state, pairs } => match self.pickle.class(*class) {
                Some(("torch._utils", "_rebuild_tensor_v2")) => self.tensor(*arguments, path)?,
                // Parameter(tensor, requires_grad, hooks)
                Some(("torch._utils", "_rebuild_parameter")) => {
                    if let Some(inner) = self.pickle.item(*arguments, 0) {
                        self.go(inner, path, depth + 1)?;
                    }
                }
                _ => {
                    for (key, value) in pairs {
                        if let Some(path) = self.under(path, *key) {
                            self.go(*value, &path, depth + 1)?;
                        }
                    }
                    // an OrderedDict's own state is bookkeeping; a config object's is its fields
                    if let Some(state) = state.filter(|_| pairs.is_empty()) {
                        self.go(state, path, depth + 1)?;
                    }
                }
            },
            _ => {}
        }
        Ok(())
    }

    fn under(&self, path: &str, key: usize) -> Option<String> {
        let key = match self.pickle.get(key) {
            Node::Text(s) => (*s).to_owned(),
            Node::Int(n) => n.to_string(),
            _ => return None,
        };
        Some(if path.is_empty() { key } else { format!("{path}.{key}") })
    }

    /// _rebuild_tensor_v2(storage, offset, size, stride, ..), storage = ("storage", class, key, device, count)
    fn tensor(&mut self, arguments: usize, path: &str) -> Result<(), String> {
        let p = self.pickle;
        let damaged = || format!("its pickle is damaged where it tells of tensor `{path}`");
        let part = |i: usize| p.item(arguments, i);
        let whole = |node: usize| match p.get(node) {
            Node::Int(n) => usize::try_from(*n).ok(),
            _ => None,
        };
        let list = |node: usize| p.items(node)?.iter().map(|n| whole(*n)).collect::<Option<Vec<_>>>();
        let storage = part(0).and_then(|n| match p.get(n) {
            Node::Persistent(inner) => Some(*inner),
            _ => None,
        });
        let storage = storage.ok_or_else(damaged)?;
        let offset = part(1).and_then(whole).ok_or_else(damaged)?;
        let (shape, strides) = part(2).and_then(list).zip(part(3).and_then(list)).ok_or_else(damaged)?;
        if shape.len() != strides.len() {
            return Err(damaged());
        }
        let class = p.item(storage, 1).and_then(|n| p.class(n)).map(|c| c.1).ok_or_else(damaged)?;
        let key = match p.item(storage, 2).map(|n| p.get(n)) {
            Some(Node::Text(key)) => *key,
            _ => return Err(damaged()),
        };
        let kind = match class {
            "DoubleStorage" => Some(FloatKind::F64),
            "FloatStorage" => Some(FloatKind::F32),
            "HalfStorage" => Some(FloatKind::F16),
            "BFloat16Storage" => Some(FloatKind::Bf16),
            _ => None,
        };
        let file = format!("{}data/{key}", self.folder);
        let Some(&(at, end)) = self.places.get(&file) else {
            return Err(format!(
                "tensor `{path}` lies in `{file}`, which the file does not hold: it is damaged; copy it anew"
            ));
        };
        let bytes = kind.map_or(1, FloatKind::bytes);
        let from = (offset as u64).checked_mul(bytes).and_then(|n| at.checked_add(n)).ok_or_else(damaged)?;
        let kind = (kind, class.trim_end_matches("Storage").to_lowercase());
        self.entries.push(placed(path.to_owned(), kind, (shape, strides), (from, end))?);
        Ok(())
    }
}
