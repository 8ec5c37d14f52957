//! Reads the files of `assets/corpora`: word lists, nouns and templates of the generated corpora. They are compiled in and
//! read when first used. An error in one is a developer's, so it panics with the place; the tests read them all.

use serde::de::DeserializeOwned;

/// A file of `assets/corpora`, as the initial value of a `LazyLock`.
macro_rules! data {
    ($file:literal) => {
        ::std::sync::LazyLock::new(|| {
            let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/corpora/", $file));
            $crate::corpus::generated::data::read($file, text)
        })
    };
}
pub(super) use data;

pub(super) fn read<T: DeserializeOwned>(file: &str, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("assets/corpora/{file}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    #[should_panic(expected = "assets/corpora/some.toml: TOML parse error at line 2")]
    fn an_error_says_its_place() {
        read::<std::collections::HashMap<String, Vec<String>>>("some.toml", "women = []\nmen = 3");
    }
}
