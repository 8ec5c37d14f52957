//! Files that list the characters which a model knows: JSON, or the pickle `meta.pkl` that nanoGPT's preparation of
//! a character corpus leaves beside its data. A pickle is read as data, never run.

use std::path::Path;

use serde_json::Value;

use super::{CorpusError, text_file::read_whole};
use crate::files::{
    FileError,
    pickle::{self, Node, Pickle},
};

/// A list of characters is no longer than this; Unicode has some 300,000, and some lists have each twice.
const MAX_BYTES: u64 = 16 << 20;
/// The memory for a parsed list, at most this many times its bytes.
const GROWTH: u64 = 32;
/// The limit of ids in a vocabulary of characters.
const MAX_IDS: u64 = 1 << 21;

/// Returns true if a file of this name lists characters; any other is a text that has them.
pub fn is_list(path: &Path) -> bool {
    path.extension().is_some_and(|e| ["json", "pkl", "pickle"].iter().any(|known| e.eq_ignore_ascii_case(known)))
}

/// The result of `of_pairs` for the symbols and ids of a list: an array of characters (a character's place is its id),
/// an object (in Python, a dict) from character to id, or one with such an object as `stoi`.
///
/// # Errors
/// If the file cannot be read, is no such list, or `of_pairs` refuses it.
pub(super) fn read<T>(
    path: &Path,
    of_pairs: impl FnOnce(Vec<(String, u64)>) -> Result<T, String>,
) -> Result<T, CorpusError> {
    let here = path.display();
    let misfit = |e: &FileError| format!("{here} cannot be read as a list of characters: {e}.");
    let bytes = read_whole(path, MAX_BYTES, GROWTH, misfit)?;
    let is_json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
    let pairs = if is_json { parse_json(&bytes) } else { parse_pickle(&bytes) };
    pairs.and_then(of_pairs).map_err(|why| {
        CorpusError::new(format!(
            "{here} is no list of characters: {why}. It should hold [\"a\", \"b\", ..] or {{\"a\": 0, \"b\": 1, ..}}, \
             alone or as `stoi`; or give the text that the model was trained on."
        ))
    })
}

fn parse_json(bytes: &[u8]) -> Result<Vec<(String, u64)>, String> {
    let json: Value = serde_json::from_slice(bytes).map_err(|e| format!("it is no JSON ({e})"))?;
    match json.get("stoi").unwrap_or(&json) {
        Value::Array(all) => {
            let symbols = all.iter().zip(0..).map(|(symbol, id)| match symbol {
                Value::String(s) => Ok((s.clone(), id)),
                other => Err(format!("entry {id} is {other}, not a character")),
            });
            symbols.collect()
        }
        Value::Object(all) => all.iter().map(|(symbol, id)| pair(symbol, id.as_u64(), id)).collect(),
        _ => Err("it is neither a list nor an object".to_owned()),
    }
}

fn parse_pickle(bytes: &[u8]) -> Result<Vec<(String, u64)>, String> {
    let pickle = pickle::read(bytes)?;
    let top = match pickle.get(pickle.top) {
        Node::Dict(pairs) => pairs.iter().find(|(key, _)| is_text(&pickle, *key, "stoi")).map(|(_, stoi)| *stoi),
        _ => None,
    };
    match pickle.get(top.unwrap_or(pickle.top)) {
        Node::List(all) | Node::Tuple(all) => {
            let symbols = all.iter().zip(0..).map(|(node, id)| match pickle.get(*node) {
                Node::Text(s) => Ok(((*s).to_owned(), id)),
                other => Err(format!("entry {id} is {other:?}, not a character")),
            });
            symbols.collect()
        }
        Node::Dict(all) => {
            let pairs = all.iter().map(|(symbol, id)| match (pickle.get(*symbol), pickle.get(*id)) {
                (Node::Text(symbol), Node::Int(id)) => pair(symbol, u64::try_from(*id).ok(), id),
                (Node::Text(symbol), other) => Err(format!("the id of `{symbol}` is {other:?}, not a whole number")),
                (other, _) => Err(format!("{other:?} stands where a character should")),
            });
            pairs.collect()
        }
        _ => Err("it is neither a list nor a dict".to_owned()),
    }
}

fn is_text(pickle: &Pickle<'_>, node: usize, text: &str) -> bool {
    matches!(pickle.get(node), Node::Text(t) if *t == text)
}

fn pair(symbol: &str, id: Option<u64>, said: &impl std::fmt::Display) -> Result<(String, u64), String> {
    match id.filter(|id| *id < MAX_IDS) {
        Some(id) => Ok((symbol.to_owned(), id)),
        None => Err(format!("the id of `{symbol}` is {said}, not a whole number from 0")),
    }
}
