//! How sparse a BDH is: the share of x and of y that fires, by layer, beside the same model with random
//! weights.

use super::{
    super::{Finding, Probe, ProbeContext},
    firing::{self, Part},
    line_name, model, random, synapses_of,
};
use crate::{
    models::{Model, capabilities::SynapseModel},
    nn::Result,
    telemetry::{Line, Payload, Series, channels},
};

/// Arguments: `windows` (4) held-out windows of `window` (128) tokens. Answers a series over layers with
/// lines `x`, `y`, `x random`, `y random`; position 0 of a window, where y is zero by construction, is left
/// out.
pub struct Activity;

impl Probe for Activity {
    fn id(&self) -> &'static str {
        "activity"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.synapses().is_some()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let whole = |name: &str, usual: f64| {
            cx.args.get(name).and_then(|v| v.as_f64()).unwrap_or(usual).clamp(2.0, 4096.0) as usize
        };
        let (count, len) = (whole("windows", 4.0), whole("window", 128.0));
        let windows = cx.corpus.held_out(count, len).map_err(|e| candle_core::Error::Msg(e.to_string()))?;
        let model = model(cx)?;
        let layers = model.spec().layers;
        let [x, y] = shares(model, &windows.inputs, windows.len, cx)?;
        let random = random(cx)?;
        let [x_random, y_random] = shares(synapses_of(random.as_ref())?, &windows.inputs, windows.len, cx)?;
        let line = |name: &str, y| Line { name: name.into(), y };
        let payload = Payload::Series(Series {
            x_label: "layer".into(),
            y_label: "share of neurons that fire".into(),
            x: (0..layers).map(|l| l as f64).collect(),
            lines: vec![line("x", x), line("y", y), line("x random", x_random), line("y random", y_random)],
        });
        let about =
            format!("{} held-out windows of {} tokens, the first token of each left out", windows.rows, windows.len);
        Ok(vec![Finding { channel: channels::ACTIVITY, about, tokens: vec![], payload }])
    }
}

/// Mean share of x and of y that fires, by layer.
fn shares(model: &dyn SynapseModel, ids: &[u32], len: usize, cx: &ProbeContext<'_>) -> Result<[Vec<f64>; 2]> {
    let layers = model.spec().layers;
    let mut sums = [vec![0.0; layers], vec![0.0; layers]];
    let mut counted = 0usize;
    for row in ids.chunks(len) {
        firing::read(model, row, cx.device, |chunk| {
            for token in 0..chunk.tokens {
                if chunk.from + token == 0 {
                    continue;
                }
                counted += 1;
                for (l, layer) in chunk.layers.iter().enumerate() {
                    sums[0][l] += layer.active(Part::X, token);
                    sums[1][l] += layer.active(Part::Y, token);
                }
            }
            Ok(())
        })?;
    }
    Ok(sums.map(|s| s.into_iter().map(|v| v / counted.max(1) as f64).collect()))
}

/// Names of the lines of an answer over tokens, layer by layer.
pub(super) fn names(layers: usize) -> Vec<String> {
    ["x", "y"].iter().flat_map(|p| (0..layers).map(move |l| line_name(p, l))).collect()
}
