//! The tap: named activations, offered by layers, kept only when wanted.

use candle_core::{Result, Tensor};

/// Collects the activations whose path starts with one of the wanted prefixes.
#[derive(Debug, Default)]
pub struct Tap {
    wanted: Vec<String>,
    found: Vec<(String, Tensor)>,
}

impl Tap {
    /// Wants nothing and costs nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// A tap for all values whose path begins with one of the prefixes.
    pub fn on(prefixes: &[impl AsRef<str>]) -> Self {
        Self { wanted: prefixes.iter().map(|p| p.as_ref().to_owned()).collect(), found: vec![] }
    }

    /// Returns true if anything is wanted at all, so that a layer can skip building paths.
    pub fn is_on(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Returns true if a layer should compute the value at `path` (and take its reference path if need be).
    pub fn wants(&self, path: &str) -> bool {
        self.wanted.iter().any(|w| path.starts_with(w.as_str()))
    }

    /// Keeps the value if wanted; `value` is only evaluated then. Detached: a tap takes no part in
    /// gradients.
    pub fn offer(&mut self, path: &str, value: impl FnOnce() -> Result<Tensor>) -> Result<()> {
        if self.wants(path) {
            self.found.push((path.to_owned(), value()?.detach()));
        }
        Ok(())
    }

    /// All values in the order of the forward pass.
    pub fn found(&self) -> &[(String, Tensor)] {
        &self.found
    }

    /// The activation taken at this path.
    pub fn get(&self, path: &str) -> Option<&Tensor> {
        self.found.iter().find(|(p, _)| p == path).map(|(_, t)| t)
    }

    /// Like [`Tap::get`]; an error if the model offers no value at this path.
    pub fn need(&self, path: &str) -> Result<&Tensor> {
        self.get(path).ok_or_else(|| candle_core::Error::Msg(format!("the model offers no activation `{path}`")))
    }
}
