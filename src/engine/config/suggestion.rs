//! Suggestions for names that are not known.

/// The largest edit distance between a misspelt name and the intended one; in a short word one edit for every three
/// letters.
const MAX_EDITS: usize = 3;
/// A longer text is not a misspelt name.
const MAX_NAME: usize = 64;

/// The known name closest to `key` by edit distance, if close enough to be a slip of the hand: for "did you mean" wherever a
/// name is unknown. A key without a group is compared with the names within groups as well.
pub fn nearest<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let letters = key.chars().count();
    if letters > MAX_NAME {
        return None;
    }
    let most = letters.div_ceil(3).min(MAX_EDITS);
    let name = |k: &'a str| k.rsplit('.').next().unwrap_or(k);
    // names of runs are known names too, and may be of any length
    let distance = |k: &str| {
        let is_near = k.len().abs_diff(key.len()) <= most * char::MAX.len_utf8();
        is_near.then(|| strsim::levenshtein(key, k)).filter(|d| *d <= most)
    };
    let nearest = known.filter_map(|k| {
        let by_name = if key.contains('.') { None } else { distance(name(k)) };
        Some((distance(k).into_iter().chain(by_name).min()?, k))
    });
    nearest.min().map(|(_, k)| k.to_owned())
}

/// The end of a sentence about an unknown name: "; did you mean `train.lr`?", or nothing where no known one is near.
pub fn did_you_mean<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(key, known).map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}
