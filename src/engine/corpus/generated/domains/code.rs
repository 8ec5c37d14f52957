//! Short functions of a small language: what is bound above is used below. It does not know what they would compute.

use super::super::writer::pick;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

const VERBS: [&str; 12] =
    ["count", "sum", "find", "filter", "scale", "merge", "check", "collect", "reduce", "update", "split", "index"];
const NOUNS: [&str; 14] = [
    "item", "price", "node", "edge", "row", "key", "score", "point", "record", "sample", "cell", "block", "weight",
    "event",
];
const RESULTS: [&str; 6] = ["total", "result", "best", "found", "acc", "out"];
const LIMITS: [&str; 6] = ["limit", "floor", "start", "width", "depth", "size"];
const FIELDS: [&str; 6] = ["value", "length", "rank", "cost", "level", "id"];
const COMPARES: [&str; 4] = ["<", ">", "==", "!="];
const OPERATORS: [&str; 3] = ["+", "-", "*"];

/// Functions, a blank line between two.
pub(super) fn text(rng: &mut ChaCha8Rng, size: usize) -> String {
    let mut out = String::with_capacity(size + 512);
    while out.len() < size {
        function(rng, &mut out);
        out.push('\n');
    }
    out
}

fn function(rng: &mut ChaCha8Rng, out: &mut String) {
    let (verb, noun, limit) = (pick(rng, &VERBS), pick(rng, &NOUNS), pick(rng, &LIMITS));
    let (result, field) = (pick(rng, &RESULTS), pick(rng, &FIELDS));
    let (compare, operator, number) = (pick(rng, &COMPARES), pick(rng, &OPERATORS), rng.random_range(0..10));
    out.push_str(&format!("def {verb}_{noun}s({noun}s, {limit}={number}):\n"));
    out.push_str(&format!("    {result} = {}\n", if rng.random_bool(0.5) { "0" } else { "[]" }));
    out.push_str(&format!("    for {noun} in {noun}s:\n"));
    out.push_str(&format!("        if {noun}.{field} {compare} {limit}:\n"));
    match rng.random_range(0..3) {
        0 => out.push_str(&format!("            {result} = {result} {operator} {noun}.{field}\n")),
        1 => out.push_str(&format!("            {result}.append({noun})\n")),
        _ => out.push_str(&format!("            {limit} = {noun}.{field} {operator} {}\n", rng.random_range(1..10))),
    }
    if rng.random_bool(0.4) {
        out.push_str("        else:\n            continue\n");
    }
    out.push_str(&format!("    return {result}\n"));
}
