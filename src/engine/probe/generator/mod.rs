//! Questions about a generator that a person holds: what it is at a control, how distributions relax under it, what a
//! network has learned of it. They ask for a [`StationaryMap`] and know no family.

use crate::{
    analysis::generator::{Generator, GeneratorError, read_edits},
    models::capabilities::StationaryMap,
    nn::Result,
    telemetry::measurements::GeneratorArgs,
};

mod flow;
mod gaps;
mod map_error;
mod state;

pub use flow::GeneratorFlowProbe;
pub use gaps::GapBySizeProbe;
pub use map_error::StationaryMapProbe;
pub use state::GeneratorProbe;

/// A generator as it is asked about.
struct GeneratorQuery<'a> {
    map: &'a dyn StationaryMap,
    control: Vec<f64>,
    is_edited: bool,
    generator: Generator,
}

impl<'a> GeneratorQuery<'a> {
    /// The generator at the control, with its changed rates, and cut if that is asked.
    fn new(map: &'a dyn StationaryMap, args: &GeneratorArgs) -> Result<Self> {
        let control = control(map, [args.y0, args.y1, args.y2, args.y3]);
        let edited = || -> std::result::Result<(Generator, bool), GeneratorError> {
            let mut generator = map.generator().at(&control)?;
            let edits = read_edits(&args.edits)?;
            for edit in &edits {
                generator = edit.apply(&generator)?;
            }
            let generator = if args.cut { generator.cut() } else { generator };
            Ok((generator, args.cut || !edits.is_empty()))
        };
        let (generator, is_edited) = edited().map_err(candle_core::Error::wrap)?;
        Ok(Self { map, control, is_edited, generator })
    }

    fn about(&self) -> String {
        let numbers: Vec<String> = self.control.iter().map(|y| format!("{y:.2}")).collect();
        let edited = if self.is_edited { ", rates changed by hand" } else { "" };
        format!("{} states, y = ({}){edited}", self.generator.len(), numbers.join(", "))
    }
}

/// The control y: as many of these numbers as it has, and 0 beyond them.
fn control(map: &dyn StationaryMap, asked: [f64; 4]) -> Vec<f64> {
    asked.into_iter().chain(std::iter::repeat(0.0)).take(map.generator().dims()).collect()
}
