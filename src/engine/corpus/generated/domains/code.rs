//! Short functions of a small language: what is bound above is used below.

use super::words::WORDS;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

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
    let lists = ["verbs", "nouns", "limits", "results", "fields", "compares", "operators"];
    let [verb, noun, limit, result, field, compare, operator] = lists.map(|list| WORDS.code.pick(rng, list));
    let number = rng.random_range(0..10);
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
