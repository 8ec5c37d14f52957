//! Tests BDH on a graph: its edges, parameter counts, strict causality, and the synapses' state in comparison with the
//! parallel form.

use std::collections::BTreeSet;

use candle_core::{Device, IndexOp, Tensor};
use orrery_lab::{
    analysis::bdh_dynamics::{Dense, Drift, TrainedSynapses},
    models::{
        Model, Trainable,
        capabilities::TrainedGraph,
        graph_bdh::{GraphBdh, GraphBdhSpec},
    },
    nn::{AdamW, Batch, Tap, host, optimiser::AdamWSpec},
};

use crate::{
    bdh::{Outcome, VOCAB, tokens},
    op_checks::{distance, largest},
};

fn small() -> GraphBdhSpec {
    GraphBdhSpec { neurons: 32, degree: 4, synapses: 6, layers: 2, memory: 9.0, norms: true, single_state: false }
}

fn variants() -> Vec<GraphBdhSpec> {
    vec![
        small(),
        GraphBdhSpec { norms: false, ..small() },
        GraphBdhSpec { layers: 1, synapses: 32, degree: 32, ..small() },
        GraphBdhSpec { memory: 1.0, layers: 3, ..small() },
        GraphBdhSpec { single_state: true, ..small() },
    ]
}

fn model(spec: &GraphBdhSpec) -> candle_core::Result<GraphBdh> {
    let model = GraphBdh::new(spec, VOCAB, 3, &Device::Cpu)?;
    // the head is far from its small initial values, so that differences become visible
    let head = model.params().get("head.weight").ok_or(candle_core::Error::msg("no head"))?;
    head.set(&(head.as_tensor() * 20.0)?.detach())?;
    Ok(model)
}

#[test]
fn every_neuron_has_as_many_different_sources() -> Outcome {
    let spec = small();
    let [one, other] = [3, 4].map(|seed| GraphBdh::new(&spec, VOCAB, seed, &Device::Cpu));
    let (one, other) = (one?, other?);
    assert_eq!(one.params().count(), spec.parameters(VOCAB), "sources are not weights");
    let mut graphs = BTreeSet::new();
    for (name, var) in one.params().iter().filter(|(name, _)| name.ends_with(".source")) {
        assert!(one.params().is_buffer(name));
        let k = if name == "gs.source" { spec.synapses } else { spec.degree };
        assert_eq!(var.dims(), [spec.neurons, k]);
        let all: Vec<u32> = host::to_f32(var)?.iter().map(|j| *j as u32).collect();
        for row in all.chunks(k) {
            let distinct: BTreeSet<u32> = row.iter().copied().collect();
            assert!(distinct.len() == k && distinct.iter().all(|j| (*j as usize) < spec.neurons), "{name}: {row:?}");
        }
        let second = other.params().get(name).ok_or("no such graph")?;
        assert_ne!(host::to_f32(var)?, host::to_f32(second)?, "another seed draws another graph");
        graphs.insert(all);
    }
    assert_eq!(graphs.len(), 5, "each circuit has its own");
    Ok(())
}

#[test]
fn training_moves_weights_and_leaves_the_graph() -> Outcome {
    training_moves_weights(&small())?;
    training_moves_weights(&GraphBdhSpec { single_state: true, ..small() })
}

fn training_moves_weights(spec: &GraphBdhSpec) -> Outcome {
    let model = model(spec)?;
    let read = |end: &str| -> candle_core::Result<Vec<Vec<f32>>> {
        model.params().iter().filter(|(name, _)| name.ends_with(end)).map(|(_, var)| host::to_f32(var)).collect()
    };
    let (sources, weights) = (read(".source")?, read(".weight")?);
    let batch = Batch { tokens: tokens(1, 2, 20)?, targets: tokens(2, 2, 20)? };
    let grads = model.loss(&batch)?.total.backward()?;
    AdamW::new(model.params(), AdamWSpec::default())?.step(model.params(), &grads, 1e-2)?;
    assert_eq!(read(".source")?, sources);
    for (before, after) in weights.iter().zip(read(".weight")?) {
        assert_ne!(*before, after);
    }
    Ok(())
}

#[test]
fn a_later_token_changes_nothing_before_it() -> Outcome {
    for spec in variants() {
        let (model, at) = (model(&spec)?, 13);
        let first = tokens(1, 1, 24)?;
        let other = Tensor::cat(&[first.narrow(1, 0, at)?, tokens(2, 1, 24 - at)?], 1)?;
        let (a, b) = (model.logits(&first, &mut Tap::off())?, model.logits(&other, &mut Tap::off())?);
        let off = distance(&a.i((.., ..at))?, &b.i((.., ..at))?)?;
        assert!(off < 1e-5, "{spec:?}: {off:e}");
        assert!(distance(&a.i((.., at..))?, &b.i((.., at..))?)? > 1e-3, "{spec:?}: the edit does nothing");
    }
    Ok(())
}

/// The state with one synapse per edge that is updated token by token equals the sum that the parallel form computes at
/// once.
#[test]
fn streaming_is_the_parallel_form() -> Outcome {
    for spec in variants() {
        let (model, rows, t) = (model(&spec)?, 2, 26);
        let all = tokens(5, rows, t)?;
        let whole = model.logits(&all, &mut Tap::off())?;
        let mut stream = model.stream(rows)?;
        let parts: Vec<Tensor> =
            (0..t).map(|at| stream.read(&all.narrow(1, at, 1)?.contiguous()?)).collect::<candle_core::Result<_>>()?;
        let size = largest(host::to_f64(&whole)?).max(1.0);
        let off = distance(&whole, &Tensor::cat(&parts, 1)?)?;
        assert!(off < 1e-4 * size, "{spec:?}: {off:e} of {size}");
    }
    Ok(())
}

/// The four rounds of Table 1 on the trained edges, with the model's norms, compute the same as the model.
#[test]
fn local_rules_on_edges_compute_what_the_model_computes() -> Outcome {
    for spec in variants() {
        let (model, t, n) = (model(&spec)?, 20, spec.neurons);
        let text = tokens(7, 1, t)?;
        let graph = model.graph()?;
        let square = |m: &Tensor| -> std::result::Result<Dense<f64>, Box<dyn std::error::Error>> {
            Dense::from_rows(n, n, &host::to_f64(m)?).ok_or_else(|| "the graph is not square".into())
        };
        let synapses = TrainedSynapses {
            weights: square(&graph.synapses)?,
            retention: host::to_f64(&graph.retention)?,
            norms: graph.norms,
            single_state: graph.single_state,
        };
        let circuits = [&square(&graph.wires)?, &square(&graph.prods)?];
        let system = synapses.system(circuits, &Drift::identity(n), spec.layers).ok_or("sizes differ")?;
        assert_eq!(system.synapses().len(), n * spec.synapses);
        let mut state = system.initial_state();
        let mut by_rules = vec![];
        for pulse in host::to_f64(&model.pulses(&text)?)?.chunks(n) {
            system.receive_token(&mut state, pulse);
            while system.round(&mut state).is_some() {}
            by_rules.extend(state.y.iter().map(|y| *y as f32));
        }
        let y = Tensor::from_vec(by_rules, (t, n), &Device::Cpu)?;
        let by_rules = y.matmul(&graph.head.t()?)?.unsqueeze(0)?;
        let by_model = model.logits(&text, &mut Tap::off())?;
        let size = largest(host::to_f64(&by_model)?).max(1.0);
        let off = distance(&by_model, &by_rules)?;
        assert!(off < 1e-4 * size, "{spec:?}: {off:e} of {size}");
    }
    Ok(())
}

/// With one layer, a state per layer and a single shared state are the same: values, taps and gradients are equal.
#[test]
fn with_one_layer_a_single_state_equals_a_state_per_layer() -> Outcome {
    let own = GraphBdhSpec { layers: 1, ..small() };
    let [whole, in_turn] = [own.clone(), GraphBdhSpec { single_state: true, ..own }].map(|spec| model(&spec));
    let (whole, in_turn) = (whole?, in_turn?);
    let batch = Batch { tokens: tokens(1, 2, 20)?, targets: tokens(2, 2, 20)? };
    let tapped = |model: &GraphBdh| -> candle_core::Result<Vec<Tensor>> {
        let mut tap = Tap::on(&["layers."]);
        model.logits(&batch.tokens, &mut tap)?;
        Ok(tap.recorded().iter().map(|(_, t)| t.clone()).collect())
    };
    let (a, b) = (tapped(&whole)?, tapped(&in_turn)?);
    assert_eq!((a.len(), b.len()), (2, 2));
    for (a, b) in a.iter().zip(&b) {
        assert!(distance(a, b)? < 1e-4);
    }
    let (a, b) = (whole.loss(&batch)?.total.backward()?, in_turn.loss(&batch)?.total.backward()?);
    for (name, var) in whole.params().iter().filter(|(name, _)| name.ends_with(".weight")) {
        let other = in_turn.params().get(name).ok_or("no such weight")?;
        let (a, b) = (a.get(var).ok_or("no gradient")?, b.get(other).ok_or("no gradient")?);
        let size = largest(host::to_f64(a)?);
        assert!(size > 0.0 && distance(a, b)? < 1e-3 * size, "{name}: {size:e}");
    }
    Ok(())
}

/// With more layers they differ, because the second layer reads from a single state what the first has written for the
/// same token.
#[test]
fn with_more_layers_a_single_state_changes_the_logits() -> Outcome {
    let [own, single] = [false, true].map(|single_state| model(&GraphBdhSpec { single_state, ..small() }));
    let text = tokens(5, 1, 8)?;
    let off = distance(&own?.logits(&text, &mut Tap::off())?, &single?.logits(&text, &mut Tap::off())?)?;
    assert!(off > 1e-3, "{off:e}");
    Ok(())
}

#[test]
fn sizes_that_do_not_fit_are_named() {
    for (spec, words) in [
        (GraphBdhSpec { neurons: 0, ..small() }, "neurons 0"),
        (GraphBdhSpec { neurons: 4096, ..small() }, "more than 2048"),
        (GraphBdhSpec { degree: 33, ..small() }, "1 to 32 edges"),
        (GraphBdhSpec { synapses: 0, ..small() }, "1 to 32 synapses"),
        (GraphBdhSpec { layers: 0, ..small() }, "layers 0"),
        (GraphBdhSpec { memory: 0.5, ..small() }, "at least 1 token"),
        (GraphBdhSpec { memory: f64::NAN, ..small() }, "at least 1 token"),
    ] {
        let said = GraphBdh::new(&spec, VOCAB, 0, &Device::Cpu).err().unwrap().to_string();
        assert!(said.contains(words), "{words}: {said}");
    }
}
