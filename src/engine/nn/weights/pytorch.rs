//! The table of contents of a file of `torch.save`: an uncompressed zip of one pickle that names storages and one file
//! per storage.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufReader, Read},
};

use zip::{CompressionMethod, ZipArchive};

use super::{Checksum, Contents, Entry, FloatKind, MAX_DIMS, checked, metadata::Metadata};
use crate::files::pickle::{self, Node, Pickle};

/// Larger pickles hold more than names: a model's is some kilobytes, with an optimiser's state some more.
const MAX_PICKLE: u64 = 64 << 20;
/// Limits on the number of values visited in a pickle and on their depth, since objects may hold each other.
const MAX_NODES: usize = 1 << 20;
const MAX_DEPTH: usize = 16;
/// The limit of the parts of the archive: each storage is a part of its own, and a tensor has one storage.
const MAX_PARTS: usize = 1 << 17;

pub(super) fn contents(file: File, length: u64) -> Result<Contents, String> {
    let cut = |e: &dyn std::fmt::Display| {
        format!(
            "it begins like a file of torch.save and is cut off or damaged ({e}); copy it again ({length} bytes are \
             here)"
        )
    };
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|e| cut(&e))?;
    if zip.len() > MAX_PARTS {
        return Err(format!(
            "it has {} parts, more than a model has tensors: save the model's state_dict alone",
            zip.len()
        ));
    }
    let mut checksums = HashMap::new();
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
            ensure!(size <= MAX_PICKLE, format!("its pickle has {size} bytes: save the model's state_dict alone"));
            ensure!(pickle.is_none(), "it holds two pickles, and torch.save writes one: it is damaged".into());
            let mut bytes = Vec::with_capacity(size as usize);
            part.read_to_end(&mut bytes).map_err(|e| cut(&e))?;
            pickle = Some((folder.to_owned(), bytes));
        }
        checksums.insert(name, Checksum { from: at, to: end, crc32: part.crc32() });
    }
    let Some((folder, bytes)) = pickle else {
        return Err("it is a zip without the pickle that torch.save writes".into());
    };
    let pickle = pickle::read(&bytes)?;
    let metadata = Metadata::default();
    let mut visitor = Visitor { pickle: &pickle, folder, checksums, nodes: 0, entries: vec![], metadata };
    visitor.visit(pickle.top, 0)?;
    Ok(Contents { entries: visitor.entries, metadata: visitor.metadata.finish()? })
}

struct Visitor<'a> {
    pickle: &'a Pickle<'a>,
    folder: String,
    /// The checksum of every part by its name.
    checksums: HashMap<String, Checksum>,
    nodes: usize,
    entries: Vec<Entry>,
    metadata: Metadata,
}

impl Visitor<'_> {
    /// Takes in everything under the open path: tensors, numbers, words; leaves out everything else.
    fn visit(&mut self, node: usize, depth: usize) -> Result<(), String> {
        self.nodes += 1;
        ensure!(self.nodes <= MAX_NODES, "it holds more than a model: save the model's state_dict alone".into());
        if depth > MAX_DEPTH || self.metadata.exceeds_limit {
            return Ok(());
        }
        let p = self.pickle;
        match p.get(node) {
            Node::Int(n) => self.metadata.insert(&n.to_string()),
            Node::Float(v) => self.metadata.insert(&v.to_string()),
            Node::Bool(b) => self.metadata.insert(&b.to_string()),
            Node::Text(s) => self.metadata.insert(s),
            Node::Dict(pairs) => self.pairs(pairs, depth)?,
            Node::Tuple(items) | Node::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.visit_entry(&i.to_string(), *item, depth)?;
                }
            }
            Node::Made { class, arguments, state, pairs } => match p.class(*class) {
                Some(("torch._utils", "_rebuild_tensor_v2")) => self.tensor(*arguments)?,
                // Parameter(tensor, requires_grad, hooks)
                Some(("torch._utils", "_rebuild_parameter")) => {
                    if let Some(inner) = p.item(*arguments, 0) {
                        self.visit(inner, depth + 1)?;
                    }
                }
                _ => {
                    self.pairs(pairs, depth)?;
                    // an OrderedDict's own state is bookkeeping; a config object's is its fields
                    if let Some(state) = state.filter(|_| pairs.is_empty()) {
                        self.visit(state, depth + 1)?;
                    }
                }
            },
            _ => {}
        }
        Ok(())
    }

    /// Keys that are words or whole numbers, and what is under them.
    fn pairs(&mut self, pairs: &[(usize, usize)], depth: usize) -> Result<(), String> {
        for (key, value) in pairs {
            match self.pickle.get(*key) {
                Node::Text(key) => self.visit_entry(key, *value, depth)?,
                Node::Int(key) => self.visit_entry(&key.to_string(), *value, depth)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn visit_entry(&mut self, key: &str, value: usize, depth: usize) -> Result<(), String> {
        let before = self.metadata.enter(key);
        let result = self.visit(value, depth + 1);
        self.metadata.leave_to(before);
        result
    }

    /// _rebuild_tensor_v2(storage, offset, size, stride, ..), storage = ("storage", class, key, device, count)
    fn tensor(&mut self, arguments: usize) -> Result<(), String> {
        let (p, path) = (self.pickle, self.metadata.path().to_owned());
        let damaged = || format!("its pickle is damaged where it describes tensor `{path}`");
        let part = |i: usize| p.item(arguments, i);
        let whole = |node: usize| match p.get(node) {
            Node::Int(n) => usize::try_from(*n).ok(),
            _ => None,
        };
        let list = |node: usize| {
            p.items(node).filter(|n| n.len() <= MAX_DIMS)?.iter().map(|n| whole(*n)).collect::<Option<Vec<_>>>()
        };
        let storage = part(0).and_then(|n| match p.get(n) {
            Node::Persistent(inner) => Some(*inner),
            _ => None,
        });
        let storage = storage.ok_or_else(damaged)?;
        let offset = part(1).and_then(whole).ok_or_else(damaged)?;
        let (shape, strides) = part(2).and_then(list).zip(part(3).and_then(list)).ok_or_else(damaged)?;
        ensure!(shape.len() == strides.len(), damaged());
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
        let Some(&checksum) = self.checksums.get(&file) else {
            return Err(format!(
                "tensor `{path}` lies in `{file}`, which the file does not hold: it is damaged; copy it again"
            ));
        };
        let bytes = kind.map_or(1, FloatKind::bytes);
        let from = (offset as u64).checked_mul(bytes).and_then(|n| checksum.from.checked_add(n)).ok_or_else(damaged)?;
        let entry = Entry {
            name: path,
            shape,
            strides,
            kind,
            dtype_name: class.trim_end_matches("Storage").to_lowercase(),
            at: from,
            // torch.save has an option to leave checksums out; then they are 0
            checksum: Some(checksum).filter(|c| c.crc32 != 0),
        };
        self.entries.push(checked(entry, checksum.to)?);
        Ok(())
    }
}
