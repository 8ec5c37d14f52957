//! Files that list the characters which a model knows: JSON, or the pickle `meta.pkl` that nanoGPT's preparation of
//! a character corpus leaves beside its data. A pickle is read as data, never run.

mod json;

use super::{prelude::*, text_file::read_whole};
use crate::files::pickle::{self, Node, Pickle};

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
/// an object (in Python, a dict) from character to id, or one with such an object as `stoi`. Errors: the file cannot be
/// read, is no such list, or `of_pairs` refuses it.
pub(super) fn read<T>(
    path: &Path,
    of_pairs: impl FnOnce(Vec<(String, u64)>) -> Result<T, String>,
) -> Result<T, CorpusError> {
    let here = path.display();
    let misfit = |e: &FileError| format!("{here} cannot be read as a list of characters: {e}.");
    let bytes = read_whole(path, MAX_BYTES, GROWTH, misfit)?;
    let is_json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
    let pairs = if is_json { json::parse(&bytes) } else { parse_pickle(&bytes) };
    pairs.and_then(of_pairs).map_err(|why| {
        CorpusError::new(format!(
            "{here} is not a list of characters: {why}. It should hold [\"a\", \"b\", ..] or {{\"a\": 0, \
             \"b\": 1, ..}}, alone or as `stoi`; or give the text that the model was trained on."
        ))
    })
}

fn parse_pickle(bytes: &[u8]) -> Result<Vec<(String, u64)>, String> {
    let pickle = pickle::read(bytes)?;
    let top = match pickle.get(pickle.top) {
        Node::Dict(pairs) => pairs.iter().find(|(key, _)| is_text(&pickle, *key, "stoi")).map(|(_, stoi)| *stoi),
        _ => None,
    };
    // a pickle may name one text many times, and a list has each of its symbols once
    let mut left = bytes.len();
    let mut check_symbol = |symbol: &str| match left.checked_sub(symbol.len()) {
        Some(rest) => {
            left = rest;
            Ok(())
        }
        None => Err("it has the same symbol again and again".to_owned()),
    };
    match pickle.get(top.unwrap_or(pickle.top)) {
        Node::List(all) | Node::Tuple(all) => {
            let symbols = all.iter().zip(0..).map(|(node, id)| match pickle.get(*node) {
                Node::Text(s) => check_symbol(s).map(|()| ((*s).to_owned(), id)),
                other => Err(not_a_character(id, kind(other))),
            });
            symbols.collect()
        }
        Node::Dict(all) => {
            let pairs = all.iter().map(|(symbol, id)| match (pickle.get(*symbol), pickle.get(*id)) {
                (Node::Text(symbol), Node::Int(id)) => {
                    check_symbol(symbol)?;
                    pair(symbol, u64::try_from(*id).ok(), id)
                }
                (Node::Text(symbol), other) => {
                    Err(format!("the id of `{symbol}` is {}, not a whole number", kind(other)))
                }
                (other, _) => Err(format!("{} is where a character should be", kind(other))),
            });
            pairs.collect()
        }
        _ => Err("it is neither a list nor a dict".to_owned()),
    }
}

/// The kind of a value for an error message, which the value's own members could make long.
fn kind(node: &Node<'_>) -> &'static str {
    match node {
        Node::None => "None",
        Node::Bool(_) => "a truth value",
        Node::Int(_) | Node::Float(_) => "a number",
        Node::Text(_) => "a text",
        Node::Tuple(_) | Node::List(_) => "a list",
        Node::Dict(_) => "a dict",
        Node::Class(..) | Node::Made { .. } | Node::Persistent(_) | Node::Other => "an object",
    }
}

fn is_text(pickle: &Pickle<'_>, node: usize, text: &str) -> bool {
    matches!(pickle.get(node), Node::Text(t) if *t == text)
}

fn not_a_character(id: u64, said: impl std::fmt::Display) -> String {
    format!("entry {id} is {said}, not a character")
}

fn pair(symbol: &str, id: Option<u64>, said: &impl std::fmt::Display) -> Result<(String, u64), String> {
    match id.filter(|id| *id < MAX_IDS) {
        Some(id) => Ok((symbol.to_owned(), id)),
        None => Err(format!("the id of `{symbol}` is {said}, not a whole number from 0")),
    }
}
