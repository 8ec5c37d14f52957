//! A stack of layers each of which reads a mix of what the ones before it gave, and where it is tapped.

/// Layers one after another; what the last norm reads is tapped at `final`, `(B, T, D)` as all of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidualLayers {
    /// The number of layers.
    pub layers: usize,
}

impl ResidualLayers {
    /// The tap path of what a layer reads.
    pub fn input_tap(layer: usize) -> String {
        format!("layers.{layer}.input")
    }

    /// The tap path of what a layer adds to it.
    pub fn added_tap(layer: usize) -> String {
        format!("layers.{layer}.added")
    }

    /// The tap paths of what each layer reads, and of what the last norm reads.
    pub fn input_taps(&self) -> Vec<String> {
        (0..self.layers).map(Self::input_tap).chain(["final".to_owned()]).collect()
    }
}
