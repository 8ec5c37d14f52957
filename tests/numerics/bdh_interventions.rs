//! Tests interventions on a BDH by comparison with PyTorch, with edited weights, and with sums that have the changed
//! values as terms.

use candle_core::{Device, Tensor};
use orrery_lab::{
    models::{
        Model, Trainable,
        bdh::{Bdh, BdhSpec, Form},
        capabilities::{Action, Intervention, NeuronActivation, State, SynapseModel, Target},
    },
    nn::{Tap, host},
    telemetry::Synapse,
};

use crate::{
    bdh::{Outcome, model, normfree, small, tokens, variants},
    op_checks::{distance, largest},
    oracles::Oracle,
};

fn on_neurons(neurons: &[usize], part: NeuronActivation, layer: Option<usize>, action: Action) -> Intervention {
    Intervention { target: Target::Neurons { neurons: neurons.to_vec(), part, layer }, action }
}

/// The same model with some weights changed on the host.
fn edited(spec: &BdhSpec, name: &str, edit: impl Fn(&mut [f32])) -> Result<Bdh, Box<dyn std::error::Error>> {
    let model = model(spec)?;
    let var = model.params().get(name).ok_or("no such weight")?;
    let mut values = host::to_f32(var.as_tensor())?;
    edit(&mut values);
    var.set(&Tensor::from_vec(values, var.shape(), &Device::Cpu)?)?;
    Ok(model)
}

fn changed(model: &Bdh, tokens: &Tensor, change: &Intervention) -> candle_core::Result<Tensor> {
    let mut state = State::empty(model.shape(), 1, &Device::Cpu)?;
    model.read_changed(tokens, &mut state, change)
}

#[test]
fn an_intervention_on_a_neuron_is_an_edit_of_its_weights() -> Outcome {
    for spec in variants() {
        let (d, n) = (spec.d_model, spec.per_head());
        let (model, tokens) = (model(&spec)?, tokens(5, 1, 40)?);
        let usual = model.logits(&tokens, &mut Tap::off())?;
        // neuron 7 of head 1: its column of D_x is (head, d, index), its row of E is head N + index
        let neuron = n + 7;
        for scale in [0.0, 0.5, 3.0] {
            let column = edited(&spec, "encoder", |w| (0..d).for_each(|k| w[(d + k) * n + 7] *= scale as f32))?;
            let row = edited(&spec, "decoder", |w| {
                w[neuron * d..(neuron + 1) * d].iter_mut().for_each(|v| *v *= scale as f32)
            })?;
            for (part, edited) in [(NeuronActivation::X, column), (NeuronActivation::Y, row)] {
                let change = on_neurons(&[neuron], part, None, Action::Scale(scale));
                let found = changed(&model, &tokens, &change)?;
                let off = distance(&found, &edited.logits(&tokens, &mut Tap::off())?)?;
                assert!(off < 2e-4, "{spec:?} {part:?} {scale}: {off:e}");
                assert!(distance(&found, &usual)? > 1e-3, "{spec:?} {part:?} {scale}: nothing happens");
            }
        }
    }
    Ok(())
}

#[test]
fn an_intervention_in_one_layer_leaves_those_before_it() -> Outcome {
    let spec = BdhSpec { layers: 1, ..small() };
    let (one, tokens) = (model(&spec)?, tokens(5, 1, 20)?);
    let three = model(&small())?;
    let change = |layer: Option<usize>| on_neurons(&[3], NeuronActivation::Y, layer, Action::Clamp(5.0));
    let first = changed(&one, &tokens, &change(Some(0)))?;
    assert!(distance(&first, &one.logits(&tokens, &mut Tap::off())?)? > 1e-2);
    // a change of the last layer only leaves the earlier layers unchanged, so it differs from one of all layers
    let last = changed(&three, &tokens, &change(Some(2)))?;
    let all = changed(&three, &tokens, &change(None))?;
    assert!(distance(&last, &all)? > 1e-2);
    for (change, words) in [
        (on_neurons(&[96], NeuronActivation::Y, Some(0), Action::Clamp(5.0)), "neuron 96"),
        (change(Some(3)), "layer 3"),
        (Intervention { action: Action::Clamp(f64::NAN), ..change(Some(0)) }, "finite"),
    ] {
        let said = changed(&three, &tokens, &change).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
    Ok(())
}

#[test]
fn a_changed_model_reads_the_same_in_parts_as_at_once() -> Outcome {
    let (model, tokens) = (model(&small())?, tokens(8, 1, 30)?);
    let synapses = [(1, 5, 50), (2, 90, 3), (1, 7, 51)].map(|(layer, i, j)| Synapse { layer, i, j });
    for change in [
        on_neurons(&[1, 50], NeuronActivation::X, Some(1), Action::Clamp(0.7)),
        Intervention { target: Target::Synapses(synapses.to_vec()), action: Action::Scale(-40.0) },
    ] {
        let whole = changed(&model, &tokens, &change)?;
        let mut state = State::empty(model.shape(), 1, &Device::Cpu)?;
        for (from, len) in [(0, 11), (11, 1), (12, 18)] {
            let part = model.read_changed(&tokens.narrow(1, from, len)?, &mut state, &change)?;
            assert!(distance(&part, &whole.narrow(1, from, len)?)? < 1e-4, "{change:?} from {from}");
        }
    }
    Ok(())
}

/// Parses a case of the oracle.
fn case(case: &serde_json::Value) -> Result<Intervention, String> {
    let number = |v: &serde_json::Value| v.as_u64().map(|v| v as usize).ok_or(format!("{v} in {case}"));
    let float = |key: &str| case[key].as_f64().ok_or(format!("no `{key}` in {case}"));
    let (scale, value) = (float("scale")?, float("value")?);
    let action = if scale == 0.0 && value != 0.0 { Action::Clamp(value) } else { Action::Scale(scale) };
    if let Some(all) = case["synapses"].as_array() {
        let synapse =
            |s: &serde_json::Value| Ok(Synapse { layer: number(&s[0])?, i: number(&s[1])?, j: number(&s[2])? });
        let synapses = all.iter().map(synapse).collect::<Result<_, String>>()?;
        return Ok(Intervention { target: Target::Synapses(synapses), action });
    }
    let neurons: Vec<usize> =
        case["neurons"].as_array().ok_or("no target")?.iter().map(number).collect::<Result<_, _>>()?;
    let part = if case["part"] == "y" { NeuronActivation::Y } else { NeuronActivation::X };
    Ok(on_neurons(&neurons, part, case["layer"].as_u64().map(|l| l as usize), action))
}

#[test]
fn interventions_are_those_of_pytorch() -> Outcome {
    let weights = Oracle::open("bdh.safetensors")?;
    let (cases, tensors) = Oracle::open_list("bdh_interventions.safetensors", "cases")?;
    let spec = BdhSpec {
        d_model: weights.must("d")?,
        heads: weights.must("heads")?,
        neurons: weights.must("n")?,
        layers: weights.must("layers")?,
        ..BdhSpec::default()
    };
    let model = Bdh::new(&spec, weights.must("vocab")?, 0, &Device::Cpu)?;
    for (name, value) in weights.under("w.") {
        model.params().load(name, value)?;
    }
    let tokens = tensors["in.tokens"].to_dtype(candle_core::DType::U32)?;
    assert!(cases.len() >= 12);
    for (k, described) in cases.iter().enumerate() {
        let change = case(described)?;
        let mut state = State::empty(&spec.shape(), tokens.dim(0)?, &Device::Cpu)?;
        let found = model.read_changed(&tokens, &mut state, &change)?;
        let off = distance(&found, &tensors[&format!("out.{k}")])?;
        assert!(off < 1e-4, "{described}: {off:e}");
    }
    Ok(())
}

/// In the paper's form, a layer reads only what the neurons of the previous layer wrote. Scaling all synapses by the
/// same factor scales the attention's output, which the norm cancels. Scaling half of them does change the logits.
#[test]
fn the_synapses_of_a_layer_are_all_that_it_reads() -> Outcome {
    for gated in [false, true] {
        for spec in variants().into_iter().filter(|s| s.form == Form::Paper) {
            let spec = BdhSpec { layers: 3, neurons: 24, gated, ..spec };
            let (model, tokens) = (model(&spec)?, tokens(5, 2, 30)?);
            let usual = model.logits(&tokens, &mut Tap::off())?;
            let size = largest(host::to_f64(&usual)?);
            for scale in [0.5, 3.0] {
                let with = |from: usize| -> candle_core::Result<f64> {
                    let pairs = (from..24).flat_map(|i| (0..24).map(move |j| Synapse { layer: 1, i, j }));
                    let change =
                        Intervention { target: Target::Synapses(pairs.collect()), action: Action::Scale(scale) };
                    let found =
                        model.read_changed(&tokens, &mut State::empty(&spec.shape(), 2, &Device::Cpu)?, &change)?;
                    distance(&found, &usual)
                };
                let (all, half) = (with(0)?, with(12)?);
                assert!(all < 5e-3 * size, "{spec:?} {scale}: {all:e} of {size}");
                assert!(half > 10.0 * all && half > 0.02 * size, "{spec:?} {scale}: {half:e} of {size}");
            }
        }
    }
    Ok(())
}

/// Without norms, the last layer's part of the logits is linear in its attention's output.
#[test]
fn without_norms_scaled_synapses_scale_the_logits() -> Outcome {
    let spec = BdhSpec { neurons: 24, ..normfree() };
    let (model, tokens) = (model(&spec)?, tokens(5, 2, 20)?);
    let usual = host::to_f64(&model.logits(&tokens, &mut Tap::off())?)?;
    let size = largest(usual.iter().copied());
    assert!(size > 1e-6, "{size}");
    let pairs = (0..24).flat_map(|i| (0..24).map(move |j| Synapse { layer: 1, i, j }));
    let change = Intervention { target: Target::Synapses(pairs.collect()), action: Action::Scale(0.5) };
    let found = model.read_changed(&tokens, &mut State::empty(&spec.shape(), 2, &Device::Cpu)?, &change)?;
    for (found, usual) in host::to_f64(&found)?.iter().zip(&usual) {
        assert!((found - 0.5 * usual).abs() < 1e-4 * size, "{found} and {usual}");
    }
    Ok(())
}

#[test]
fn an_impossible_synapse_is_refused() -> Outcome {
    let (model, tokens) = (model(&small())?, tokens(5, 1, 10)?);
    for (layer, i, j, words) in
        [(0, 1, 2, "no y comes before"), (3, 1, 2, "no layer 3"), (1, 96, 2, "neuron 96"), (1, 2, 97, "neuron 97")]
    {
        let target = Target::Synapses(vec![Synapse { layer, i, j }]);
        let said = changed(&model, &tokens, &Intervention { target, action: Action::Scale(0.0) }).unwrap_err();
        assert!(said.to_string().contains(words), "{said}");
    }
    Ok(())
}
