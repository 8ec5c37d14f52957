//! Limits of a tokenizer.json: as many ids as it has tokens, more or less, and steps that make a text not much longer.
//! A file of a few bytes could otherwise ask for more memory than there is. It builds no tokeniser.

use serde::Deserialize;
use serde_json::Value;

/// The limit of a tokeniser's ids.
const MAX_IDS: usize = 1 << 22;
/// Ids may have gaps: this many, and this many times the number of tokens.
const MAX_ID_GAPS: usize = 1 << 16;
const GAPS_PER_TOKEN: usize = 16;
/// The largest factor by which replacements may lengthen a text.
const MAX_GROWTH: f64 = 1024.0;

/// The parts of the file in which texts are replaced by others.
#[derive(Deserialize)]
struct Steps {
    normalizer: Option<Value>,
    decoder: Option<Value>,
}

/// Checks the steps that make texts longer, before any text goes through them.
pub(super) fn check(json: &[u8]) -> tokenizers::Result<()> {
    let steps: Steps = serde_json::from_slice(json)?;
    for (name, step) in [("normalizer", &steps.normalizer), ("decoder", &steps.decoder)] {
        let growth = step.as_ref().map_or(1.0, growth);
        if growth > MAX_GROWTH {
            return Err(format!("its {name} makes a text up to {growth:.0} times as long").into());
        }
    }
    Ok(())
}

/// The size of a vocabulary of this many tokens up to this id.
pub(super) fn vocabulary(tokens: usize, last: Option<u32>) -> tokenizers::Result<usize> {
    let Some(last) = last else { return Err("it has no tokens".into()) };
    let ids = last as usize + 1;
    if ids > MAX_IDS || ids > tokens.saturating_mul(GAPS_PER_TOKEN).saturating_add(MAX_ID_GAPS) {
        return Err(format!("its {tokens} tokens have ids up to {last}, and every id up to there takes memory").into());
    }
    Ok(ids)
}

/// The factor by which a text can become longer: a replacement by its length, steps in a row by their product.
fn growth(step: &Value) -> f64 {
    let length = |key: &str| step.get(key).and_then(Value::as_str).map_or(0.0, |s| s.len() as f64);
    let own = match step.get("type").and_then(Value::as_str) {
        Some("Replace") => {
            let pattern = step.pointer("/pattern/String").and_then(Value::as_str).map_or(1.0, |s| s.len() as f64);
            (length("content") / pattern.max(1.0)).max(1.0)
        }
        Some("Prepend") => 1.0 + length("prepend"),
        _ => 1.0,
    };
    let inner = ["normalizers", "decoders"].into_iter().filter_map(|key| step.get(key)?.as_array()).flatten();
    inner.map(growth).fold(own, |all, one| all * one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_the_tokens() {
        assert_eq!(vocabulary(3, Some(2)).unwrap(), 3);
        assert_eq!(vocabulary(50_257, Some(50_300)).unwrap(), 50_301);
        assert!(vocabulary(0, None).is_err());
        assert!(vocabulary(3, Some(u32::MAX)).unwrap_err().to_string().contains("4294967295"));
        assert!(vocabulary(1 << 20, Some(1 << 23)).is_err());
    }

    #[test]
    fn replacements_multiply() {
        let double = r#"{"type":"Replace","pattern":{"String":"a"},"content":"aa"}"#;
        let file = |n: usize| {
            let steps = vec![double; n].join(",");
            format!(r#"{{"normalizer":{{"type":"Sequence","normalizers":[{steps}]}},"model":{{}}}}"#)
        };
        check(file(10).as_bytes()).unwrap();
        assert!(check(file(40).as_bytes()).unwrap_err().to_string().contains("normalizer"));
    }
}
