//! The tap: named activations, offered by layers, kept only when wanted.

use candle_core::{Result, Tensor};

/// Collects the activations whose path starts with one of the requested prefixes.
#[derive(Debug, Default)]
pub struct Tap {
    requested: Vec<String>,
    recorded: Vec<(String, Tensor)>,
}

impl Tap {
    /// Wants nothing and costs nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// A tap for all values whose path begins with one of the prefixes.
    pub fn on(prefixes: &[impl AsRef<str>]) -> Self {
        Self { requested: prefixes.iter().map(|p| p.as_ref().to_owned()).collect(), recorded: vec![] }
    }

    /// Returns true if anything is wanted at all, so that a layer can skip building paths.
    pub fn is_on(&self) -> bool {
        !self.requested.is_empty()
    }

    /// Returns true if a layer should compute the value at `path` (and take its reference path if need be).
    pub fn wants(&self, path: &str) -> bool {
        self.requested.iter().any(|w| path.starts_with(w.as_str()))
    }

    /// Records the value if it is requested; `value` is only evaluated then. It is detached, so that a tap does not
    /// affect gradients.
    pub fn offer(&mut self, path: &str, value: impl FnOnce() -> Result<Tensor>) -> Result<()> {
        if self.wants(path) {
            self.recorded.push((path.to_owned(), value()?.detach()));
        }
        Ok(())
    }

    /// All values in the order of the forward pass.
    pub fn recorded(&self) -> &[(String, Tensor)] {
        &self.recorded
    }

    /// The activation taken at this path.
    pub fn get(&self, path: &str) -> Option<&Tensor> {
        self.recorded.iter().find(|(p, _)| p == path).map(|(_, t)| t)
    }

    /// Like [`Tap::get`]; an error if the model offers no value at this path.
    pub fn require(&self, path: &str) -> Result<&Tensor> {
        self.get(path).ok_or_else(|| candle_core::Error::Msg(format!("the model offers no activation `{path}`")))
    }
}
