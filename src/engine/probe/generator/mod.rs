//! Questions about a generator that a person holds: what it is at a control, how distributions relax under it, what a
//! network has learned of it. They ask for a [`StationaryMap`], or for a slow stream that is the control itself, and know no
//! family.

use super::staircase::StreamsModel;
use crate::{
    analysis::{
        generator::{Control, ControlledGenerator, Generator, GeneratorError, Topology, TopologySettings, read_edits},
        pca::standard_scores,
    },
    probe::prelude::*,
};

mod flow;
mod gaps;
mod map_error;
mod state;

/// The generator that a slow stream controls: as many states as the paper's check has, and a tilt for each component.
const OWN_TOPOLOGY: TopologySettings = TopologySettings { topology: Topology::Random, states: 12, sparsity: 0.0 };
const OWN_CONTROL: Control = Control { dims: 2, strength: 1.0 };
/// Tokens of the passage along which a slow stream is followed.
const MAX_PASSAGE: usize = 96;

/// A model with a control y that sets the rates of a generator A(y).
pub enum ControlledModel<'m> {
    /// A network that learns where a generator's flow settles; a person holds the control.
    Map(&'m dyn StationaryMap),
    /// A slow stream: y is its first principal components at a token, over their standard deviation along the passage, and A a
    /// generator drawn from the seed, since nothing makes the model's own fast map one.
    Streams(StreamsModel<'m>),
    /// The generator of a [`ControlledModel::Map`] without its network, which is not trained.
    Generator(&'m ControlledGenerator),
}

impl<'m> ControlledModel<'m> {
    /// The part that needs no weights: they decide the control of a slow stream, and not that of a person.
    fn untrained(model: &'m dyn Trainable) -> Option<Self> {
        model.capabilities().stationary_map.map(|map| Self::Generator(map.generator()))
    }
}

impl<'m> FromShared<'m> for ControlledModel<'m> {
    fn from_shared(model: &'m dyn Trainable) -> Option<Self> {
        let map = model.capabilities().stationary_map.map(Self::Map);
        map.or_else(|| StreamsModel::from_shared(model).map(Self::Streams))
    }
}

struct GeneratorQuery<'a> {
    /// The network that learns it, if there is one.
    map: Option<&'a dyn StationaryMap>,
    control: Vec<f64>,
    /// The origin of the control as text; empty if the user sets it.
    origin: String,
    has_edits: bool,
    is_disconnected: bool,
    generator: Generator,
}

impl<'a> GeneratorQuery<'a> {
    /// The generator at the control, with its changed rates, and cut if that is asked.
    fn new(model: ControlledModel<'a>, args: &GeneratorArgs, cx: &ProbeInputs<'_>) -> Result<Self> {
        let drawn;
        let asked = [args.y0, args.y1, args.y2, args.y3];
        let (map, controlled, control, origin) = match model {
            ControlledModel::Map(map) => (Some(map), map.generator(), control(map.generator(), asked), String::new()),
            ControlledModel::Generator(generator) => {
                (None, generator, control(generator, asked), ", without the network".to_owned())
            }
            ControlledModel::Streams(streams) => {
                let base = OWN_TOPOLOGY.draw(cx.seed)?;
                drawn = ControlledGenerator::new(base, OWN_CONTROL, cx.seed);
                let (control, origin) = own_control(streams, args, cx)?;
                (None, &drawn, control, origin)
            }
        };
        let changed = || -> std::result::Result<(Generator, bool), GeneratorError> {
            let mut generator = controlled.at(&control)?;
            let edits = read_edits(&args.edits)?;
            for edit in &edits {
                generator = generator.with_rate(edit.from, edit.to, edit.rate)?;
            }
            let generator = if args.cut { generator.without_bridge() } else { generator };
            Ok((generator, !edits.is_empty()))
        };
        let (generator, has_edits) = changed()?;
        Ok(Self { map, control, origin, has_edits, is_disconnected: args.cut, generator })
    }

    /// True if it is not the generator of the control.
    fn is_changed(&self) -> bool {
        self.has_edits || self.is_disconnected
    }

    fn about(&self) -> String {
        let numbers: Vec<String> = self.control.iter().map(|y| format!("{y:.2}")).collect();
        let edited = if self.has_edits { ", rates changed by hand" } else { "" };
        let cut = if self.is_disconnected { ", cut in two" } else { "" };
        format!("{} states, y = ({}){}{edited}{cut}", self.generator.len(), numbers.join(", "), self.origin)
    }
}

/// The slow state at a token as a control, and its origin as text; 0 in the first block, where the slow stream gives no
/// input yet.
fn own_control(subject: StreamsModel<'_>, args: &GeneratorArgs, cx: &ProbeInputs<'_>) -> Result<(Vec<f64>, String)> {
    let (model, streams) = subject;
    let passage = Prompt::read(cx, "", args.passage, MAX_PASSAGE)?;
    let path = streams.slow_tap(streams.rounds.saturating_sub(1));
    let mut tap = Tap::on(&[&path]);
    model.logits(&passage.tensor(cx.device)?, &mut tap)?;
    let found = tap.require(&path)?;
    let values = host::to_f32(found)?; // (1, T, D)
    let rows: Vec<&[f32]> = values.chunks(found.dim(2)?).collect();
    let token = args.token.min(rows.len().saturating_sub(1));
    let word = passage.tokens.get(token).map_or("", String::as_str);
    let origin = format!(", the slow state at token {token} \u{201c}{word}\u{201d} of {}", passage.about);
    if token < streams.pool {
        return Ok((vec![0.0; OWN_CONTROL.dims], origin));
    }
    let mut scores = standard_scores(&rows, streams.pool, OWN_CONTROL.dims);
    Ok((scores.swap_remove(token), origin))
}

/// The control y: as many of these numbers as it has, and 0 beyond them.
fn control(generator: &ControlledGenerator, asked: [f64; 4]) -> Vec<f64> {
    asked.into_iter().chain(std::iter::repeat(0.0)).take(generator.dims()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        models::{FamilySpec, fast_slow::FastSlowSpec, stationary::StationarySpec},
        probe::find,
        telemetry::{Args, Measurement},
    };

    /// A generator is drawn from the seed; the network that learns it, and the slow state of a model, are trained.
    #[test]
    fn only_what_needs_no_weights_answers_without_them() -> Result<()> {
        let ask = |spec: &ModelSpec, is_trained: bool| -> Result<Option<GeneratorState>> {
            let (mut model, corpus) = testing::model(spec)?;
            let (args, probe) = (Args::new(), find("generator").expect("a probe"));
            let cx = ProbeInputs::standalone(&corpus, &Device::Cpu);
            let answers = match is_trained {
                true => (probe.ask)(model.as_mut(), &args, &cx)?,
                false => (probe.ask_untrained)(model.as_ref(), &args, &cx)?,
            };
            Ok(answers.first().and_then(|answer| GeneratorState::from_payload(&answer.payload).cloned()))
        };
        let network = ModelSpec::Stationary(StationarySpec::tiny());
        let [whole, untrained] = [ask(&network, true)?, ask(&network, false)?].map(|state| state.expect("a generator"));
        assert!(whole.matrix == untrained.matrix && whole.classes == untrained.classes);
        assert!(whole.predicted.len() == 12 && untrained.predicted.is_empty());
        let streams = ModelSpec::FastSlow(FastSlowSpec { d_model: 16, ..FastSlowSpec::default() });
        assert!(ask(&streams, true)?.is_some() && ask(&streams, false)?.is_none());
        Ok(())
    }

    fn ask_probe<M: Measurement>(token: i64, weights: f64) -> Result<M> {
        let spec = ModelSpec::FastSlow(FastSlowSpec { d_model: 16, ..FastSlowSpec::default() });
        let (mut model, corpus) = testing::model(&spec)?;
        for (_, var) in model.params().iter().filter(|(name, _)| name.starts_with("slow.1.mlp.down")) {
            let changed: Tensor = (var.as_tensor() * weights)?;
            var.set(&changed.detach())?;
        }
        testing::measured(model.as_mut(), &corpus, &[("token", Value::Int(token))])
    }

    #[test]
    fn a_slow_stream_sets_the_rates_by_block_and_by_its_weights() -> Result<()> {
        let state = ask_probe::<GeneratorState>;
        let [first, in_block, same_block, later, other] =
            [state(2, 1.0)?, state(40, 1.0)?, state(43, 1.0)?, state(60, 1.0)?, state(60, -4.0)?];
        assert_eq!(*first.control, [0.0, 0.0], "the slow stream says nothing yet");
        assert!(in_block.control == same_block.control && in_block.matrix == same_block.matrix);
        assert!(in_block.control != later.control && in_block.matrix != later.matrix);
        assert!(later.control != other.control, "other weights, another slow state");
        assert_eq!((later.states(), later.kernel(), later.control.len()), (12, 1, 2));
        assert!(later.predicted.is_empty() && later.control.iter().all(|y| y.is_finite() && y.abs() < 10.0));
        let columns = (0..12).map(|j| (0..12).map(|i| f64::from(later.matrix.data()[12 * i + j])).sum::<f64>());
        assert!(columns.into_iter().all(|sum| sum.abs() < 1e-5), "A(y) is a generator");
        Ok(())
    }

    #[test]
    fn a_cut_is_not_called_a_change_by_hand() -> Result<()> {
        let about = |has_edits, is_disconnected| -> Result<String> {
            let (control, origin, generator) = (vec![0.5], String::new(), OWN_TOPOLOGY.draw(1)?);
            Ok(GeneratorQuery { map: None, control, origin, has_edits, is_disconnected, generator }.about())
        };
        assert_eq!(about(false, true)?, "12 states, y = (0.50), cut in two");
        assert_eq!(about(true, false)?, "12 states, y = (0.50), rates changed by hand");
        Ok(())
    }

    #[test]
    fn its_flow_settles_on_the_stationary_distribution_of_the_same_control() -> Result<()> {
        let state = ask_probe::<GeneratorState>(60, 1.0)?;
        let flow = ask_probe::<GeneratorFlow>(60, 1.0)?;
        let p = &state.classes[0].stationary;
        assert!(flow.limit.iter().zip(p.iter()).all(|(a, b)| (a - b).abs() < 1e-9));
        assert!(flow.exact.error.last() < flow.exact.error.first());
        Ok(())
    }
}
