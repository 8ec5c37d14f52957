//! Questions about a generator that a person holds: what it is at a control, how distributions relax under it, what a
//! network has learned of it. They ask for a [`StationaryMap`] and know no family.

use crate::{
    analysis::generator::{Generator, GeneratorError, read_edits},
    config::Value,
    models::{Model, capabilities::StationaryMap},
    nn::Result,
    probe::ProbeContext,
};

mod flow;
mod gaps;
mod map_error;
mod state;

pub use flow::GeneratorFlowProbe;
pub use gaps::GapBySizeProbe;
pub use map_error::StationaryMapProbe;
pub use state::GeneratorProbe;

fn applies(model: &dyn Model) -> bool {
    model.stationary_map().is_some()
}

/// A generator as it is asked about.
struct Asked<'a> {
    map: &'a dyn StationaryMap,
    control: Vec<f64>,
    is_edited: bool,
    generator: Generator,
}

impl<'a> Asked<'a> {
    /// Arguments: `y0`, `y1`, ..: the control (0); `edits`: changed rates, as [`read_edits`] reads them, which stand
    /// whatever the control; `cut`: without the rates between the two halves of the states.
    fn of(cx: &'a ProbeContext<'_>) -> Result<Self> {
        let Some(map) = cx.model.stationary_map() else {
            candle_core::bail!("this model has no generator: open the lab Equilibrium");
        };
        let control = control(cx, map.generator().dims());
        let edits = cx.text("edits").unwrap_or_default();
        let is_cut = matches!(cx.args.get("cut"), Some(Value::Switch(true)));
        let edited = || -> std::result::Result<(Generator, bool), GeneratorError> {
            let mut generator = map.generator().at(&control)?;
            let edits = read_edits(&edits)?;
            for edit in &edits {
                generator = edit.apply(&generator)?;
            }
            let generator = if is_cut { generator.cut() } else { generator };
            Ok((generator, is_cut || !edits.is_empty()))
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

/// The control y of an asker; numbers that are not given are 0.
fn control(cx: &ProbeContext<'_>, dims: usize) -> Vec<f64> {
    let number = |i: usize| cx.args.get(&format!("y{i}")).and_then(Value::as_f64);
    (0..dims).map(|i| number(i).filter(|y| y.is_finite()).unwrap_or(0.0)).collect()
}
