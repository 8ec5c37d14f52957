//! Comparisons with numbers from PyTorch and other programs. Each test has the name of a file in the oracle folder. All
//! sizes come from the file, so that other files of the same form can replace it.

use std::{collections::HashMap, path::PathBuf, sync::LazyLock};

use candle_core::{DType, Device, IndexOp, Tensor};
use orrery_lab::{
    analysis::{
        bdh_theory as theory,
        graph::{
            Edge, Graph,
            communities::{Search, communities as search},
            degrees, modularity, power_law,
        },
        singular_values::{entropy_rank, singular_values},
    },
    models::{
        Carry, Model, Trainable,
        bdh::{Bdh, BdhSpec, Form},
        capabilities::{CONTROLS, FlowControl, LanguageFlow},
        coupled_qk::{CoupledQk, CoupledQkSpec, QkVariant},
        dense::{Dense, DenseSpec, GatedAct},
        fast_slow::{Approach, FastSlow, FastSlowSpec, Hierarchy, SlowMixer, Upsample},
        gpt::{AlibiGptSpec, Gpt, PlainGptSpec},
        graph_bdh::{GraphBdh, GraphBdhSpec},
        ode_flow::{OdeFlow, OdeFlowSpec},
        spcn::{
            Sparse,
            feedforward::{self, Surprise},
        },
        spen::{COEFFICIENTS, Predictor, Spen, SpenSpec},
    },
    nn::{
        AdamW, Batch, Params, Tap,
        device::open as open_device,
        fused::{embedding::embedding, mlp::Act},
        gru::BiGru,
        host,
        optimiser::{AdamWSpec, ClipRule},
        pooling::{causal_pool, upsample},
        residual_mixing::ResidualMixing,
    },
    ode::{self, Method, Policy, SolveFailure, SolverOptions},
    trainer::{Decay, Schedule},
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::op_checks::{apart, distance, largest};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const LOGITS: f64 = 1e-4;
const GRADIENTS: f64 = 1e-3;
const LOSS: f64 = 1e-5;
const TRAINING: f64 = 1e-3;

/// The device of the comparisons: the CPU, or the one in the environment variable ORRERY_ORACLE_DEVICE.
fn device() -> &'static Device {
    static DEVICE: LazyLock<Device> = LazyLock::new(|| match std::env::var("ORRERY_ORACLE_DEVICE") {
        Ok(name) => open_device(&name).unwrap(),
        Err(_) => Device::Cpu,
    });
    &DEVICE
}

fn path(file: &str) -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles");
    let folder = PathBuf::from(std::env::var_os("ORRERY_ORACLES").unwrap_or(default.into()));
    // the files of models are in the folder itself, as in this repository, or in models/
    let nested = folder.join("models").join(file);
    if nested.exists() { nested } else { folder.join(file) }
}

/// The value of a key in a file's metadata, and the file's tensors.
type Read<T> = Result<(T, HashMap<String, Tensor>), Box<dyn std::error::Error>>;

/// The sizes and the tensors of a model in an oracle file.
pub(crate) struct Oracle {
    config: Value,
    tensors: HashMap<String, Tensor>,
}

impl Oracle {
    pub(crate) fn open(file: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let (config, tensors) = Self::read(file, "config")?;
        Ok(Self { config, tensors })
    }

    /// Opens a file and returns the list that its metadata holds under `key`.
    pub(crate) fn open_list(file: &str, key: &str) -> Read<Vec<Value>> {
        let (list, tensors) = Self::read(file, key)?;
        Ok((list.as_array().ok_or("no list")?.clone(), tensors))
    }

    fn read(file: &str, key: &str) -> Read<Value> {
        let path = path(file);
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let (_, header) = safetensors::SafeTensors::read_metadata(&bytes)?;
        let value = header.metadata().as_ref().and_then(|m| m.get(key)).ok_or(format!("no {key} in the metadata"))?;
        Ok((serde_json::from_str(value)?, candle_core::safetensors::load_buffer(&bytes, device())?))
    }

    fn size(&self, name: &str) -> Option<usize> {
        self.config[name].as_u64().map(|v| v as usize)
    }

    pub(crate) fn must(&self, name: &str) -> Result<usize, String> {
        self.size(name).ok_or(format!("the config has no whole number `{name}`"))
    }

    fn get(&self, name: &str) -> Result<&Tensor, String> {
        self.tensors.get(name).ok_or(format!("the file has no tensor `{name}`"))
    }

    pub(crate) fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Tensor)> {
        self.tensors.iter().filter_map(move |(n, t)| Some((n.strip_prefix(prefix)?, t)))
    }

    fn batch(&self) -> Result<Batch, Box<dyn std::error::Error>> {
        Ok(Batch {
            tokens: self.get("in.tokens")?.to_dtype(DType::U32)?,
            targets: self.get("in.targets")?.to_dtype(DType::U32)?,
        })
    }
}

/// The number of trainable parameters.
fn weights(params: &Params) -> usize {
    params.iter().filter(|(name, _)| !params.is_buffer(name)).count()
}

/// Loads the file's weights into the model, and checks that the file has every trainable one.
fn load(oracle: &Oracle, params: &Params) -> Outcome {
    let mut loaded = 0;
    for (name, value) in oracle.under("w.") {
        params.load(name, value)?;
        loaded += usize::from(!params.is_buffer(name));
    }
    assert_eq!(loaded, weights(params), "every parameter is in the file");
    Ok(())
}

/// Loads the weights and compares logits, loss, every gradient and the training curve.
fn compare(oracle: &Oracle, model: &dyn Model) -> Outcome {
    load(oracle, model.params())?;
    let evaluated = model.evaluate(&oracle.batch()?)?;
    let off = (host::scalar(&evaluated)? - host::scalar(oracle.get("out.loss")?)?).abs();
    assert!(off < LOSS, "evaluated loss is {off:e} off");
    let logits = model.logits(&oracle.batch()?.tokens, &mut Tap::off())?;
    learn(oracle, model.params(), &logits, &|batch| {
        let loss = model.loss(batch)?;
        Ok([loss.total, loss.cross_entropy])
    })
}

/// Compares logits, loss, every gradient and the training curve, with loaded weights. `loss` returns the loss that is
/// differentiated and the cross-entropy.
fn learn(
    oracle: &Oracle,
    params: &Params,
    logits: &Tensor,
    loss: &dyn Fn(&Batch) -> candle_core::Result<[Tensor; 2]>,
) -> Outcome {
    fn same<'a>(params: &'a &Params) -> &'a Params {
        params
    }
    learn_with_state(oracle, &mut { params }, same, logits, |_, batch| loss(batch))
}

/// The same as [`learn`] for a model whose state changes when it computes a loss.
fn learn_with_state<M>(
    oracle: &Oracle,
    model: &mut M,
    params: impl Fn(&M) -> &Params,
    logits: &Tensor,
    mut loss: impl FnMut(&mut M, &Batch) -> candle_core::Result<[Tensor; 2]>,
) -> Outcome {
    let batch = oracle.batch()?;
    let off = distance(logits, oracle.get("out.logits")?)?;
    assert!(off < LOGITS, "logits are {off:e} off");

    let [total, cross_entropy] = loss(model, &batch)?;
    let off = (host::scalar(&cross_entropy)? - host::scalar(oracle.get("out.loss")?)?).abs();
    assert!(off < LOSS, "loss is {off:e} off");

    let grads = total.backward()?;
    let mut compared = 0;
    for (name, expected) in oracle.under("grad.") {
        let var = params(model).get(name).ok_or(format!("no parameter `{name}`"))?;
        let grad = grads.get(var).ok_or(format!("no gradient of `{name}`"))?;
        let largest = largest(host::to_f64(expected)?);
        let off = distance(grad, expected)?;
        // a gradient that is exactly 0 in the file (of a softmax over one key) may have a rounding error here
        assert!(off <= (GRADIENTS * largest).max(1e-7), "gradient of {name} is {off:e} off, largest {largest:e}");
        compared += 1;
    }
    assert_eq!(compared, weights(params(model)), "the file has the gradient of every weight");
    drop((grads, total, cross_entropy));

    let mut adam = AdamW::new(params(model), AdamWSpec::default())?;
    for (step, expected) in host::to_f64(oracle.get("out.train_losses")?)?.into_iter().enumerate() {
        let [total, cross_entropy] = loss(model, &batch)?;
        let off = (host::scalar(&cross_entropy)? - expected).abs();
        assert!(off < TRAINING, "training loss {step} is {off:e} off");
        adam.step(params(model), &total.backward()?, 2e-3)?;
    }
    Ok(())
}

/// Compares the coupled query-key paper's model, with another attention in each file, and also the first layer's
/// queries and keys before and after their evolution.
fn coupled_qk(file: &str) -> Outcome {
    let mut oracle = Oracle::open(file)?;
    let variant = serde_json::from_value::<QkVariant>(oracle.config["kind"].clone())?;
    let rotary = oracle.config["use_rope"].as_bool().ok_or("the config does not say whether positions are rotary")?;
    if rotary {
        // the file has position embeddings that the rotary model does not use
        let unread = oracle.tensors.remove("grad.pos.weight");
        assert!(unread.is_none_or(|grad| host::to_f64(&grad).unwrap().iter().all(|g| *g == 0.0)));
        oracle.tensors.remove("w.pos.weight");
    }
    let classes = oracle.size("classes");
    let spec = CoupledQkSpec {
        d_model: oracle.must("d")?,
        heads: oracle.must("heads")?,
        layers: oracle.must("layers")?,
        hidden: oracle.must("ff")?,
        positions: oracle.must("ctx")?,
        steps: oracle.must("steps")?,
        rotary,
        variant,
        classes,
        ..CoupledQkSpec::default()
    };
    let model = CoupledQk::new(&spec, oracle.must("vocab")?, 0, device())?;
    load(&oracle, model.params())?;
    let mut tap = Tap::on(&["layers."]);
    let off = distance(&model.logits(&oracle.batch()?.tokens, &mut tap)?, oracle.get("out.logits")?)?;
    assert!(off < LOGITS, "logits beside the taps are {off:e} off");
    for layer in model.capabilities().attention_layers {
        assert!(tap.get(&layer.tap_path()).is_some(), "{} offers its weights", layer.path);
    }
    for (ours, theirs) in [("q0", "q0"), ("k0", "k0"), ("q", "q_evolved"), ("k", "k_evolved")] {
        let Ok(wanted) = oracle.get(&format!("out.{theirs}")) else { continue };
        let found = tap.get(&format!("layers.0.attn.{ours}")).ok_or("queries and keys are not offered")?;
        // in the file, keys that several heads share are repeated for each head
        let (heads, of_file) = (found.dim(1)?, wanted.dim(1)?);
        for head in 0..of_file {
            let off = distance(&found.i((.., head * heads / of_file))?, &wanted.i((.., head))?)?;
            assert!(off < LOGITS, "{ours} of head {head} is {off:e} off");
        }
    }
    compare(&oracle, &model)
}

/// Compares the EMA paper's language model, with another predictor in each file, and also its balance loss and the
/// traces of a block.
fn moving_averages(file: &str) -> Outcome {
    let oracle = Oracle::open(file)?;
    let default = SpenSpec::default();
    let spec = SpenSpec {
        d_model: oracle.must("d")?,
        hidden: oracle.must("ff")?,
        kept: oracle.must("k")?,
        layers: oracle.must("layers")?,
        predictor: match &oracle.config["predictor"] {
            Value::Null => Predictor::Static,
            predictor => serde_json::from_value(predictor.clone())?,
        },
        heads: oracle.size("heads").unwrap_or(default.heads),
        ..default
    };
    let model = Spen::new(&spec, oracle.must("vocab")?, 0, device())?;
    load(&oracle, model.params())?;
    let batch = oracle.batch()?;
    let balance = model.loss(&batch)?.parts.into_iter().find(|p| p.0 == "loss/balance").ok_or("no balance")?.1;
    let off = (host::scalar(&balance)? - host::scalar(oracle.get("out.aux")?)?).abs();
    assert!(off < LOSS * spec.layers as f64, "balance is {off:e} off");
    let mut tap = Tap::on(&["blocks.0"]);
    model.logits(&batch.tokens, &mut tap)?;
    for (trace, a) in ["fast", "medium", "slow"].into_iter().zip(COEFFICIENTS) {
        let found = tap.get(&format!("blocks.0.{trace}")).ok_or("a trace is not offered")?;
        let off = distance(found, oracle.get(&format!("out.ema_{a}"))?)?;
        assert!(off < LOSS, "the {trace} trace is {off:e} off");
    }
    compare(&oracle, &model)
}

#[test]
fn spen() -> Outcome {
    moving_averages("spen.safetensors")
}

#[test]
fn spen_full_softmax() -> Outcome {
    moving_averages("spen_full_softmax.safetensors")
}

#[test]
fn qk_standard() -> Outcome {
    coupled_qk("qk_standard.safetensors")
}

#[test]
fn qk_gqa() -> Outcome {
    coupled_qk("qk_gqa.safetensors")
}

#[test]
fn qk_diff() -> Outcome {
    coupled_qk("qk_diff.safetensors")
}

#[test]
fn qk_mlp() -> Outcome {
    coupled_qk("qk_mlp.safetensors")
}

#[test]
fn qk_euler() -> Outcome {
    coupled_qk("qk_euler.safetensors")
}

#[test]
fn qk_euler_rope() -> Outcome {
    coupled_qk("qk_euler_rope.safetensors")
}

#[test]
fn qk_hamiltonian() -> Outcome {
    coupled_qk("qk_hamiltonian.safetensors")
}

#[test]
fn qk_diff_euler() -> Outcome {
    coupled_qk("qk_diff_euler.safetensors")
}

#[test]
fn qk_diff_euler_rope() -> Outcome {
    coupled_qk("qk_diff_euler_rope.safetensors")
}

#[test]
fn qk_diff_hamiltonian() -> Outcome {
    coupled_qk("qk_diff_hamiltonian.safetensors")
}

#[test]
fn qk_linear_mixing() -> Outcome {
    coupled_qk("qk_linear_mixing.safetensors")
}

#[test]
fn qk_shared_mlp() -> Outcome {
    coupled_qk("qk_shared_mlp.safetensors")
}

#[test]
fn qk_invertible() -> Outcome {
    coupled_qk("qk_invertible.safetensors")
}

/// The classifier predicts one of three classes after the last token of each sequence; no other position has a target.
#[test]
fn qk_classifier() -> Outcome {
    coupled_qk("qk_classifier.safetensors")
}

fn fast_slow(file: &str) -> Outcome {
    let oracle = Oracle::open(file)?;
    let spec = FastSlowSpec {
        d_model: oracle.must("d")?,
        heads: oracle.must("heads")?,
        kv_heads: oracle.must("kv_heads")?,
        pool: oracle.must("pool")?,
        n_pre: oracle.must("n_pre")?,
        n_post: oracle.must("n_post")?,
        n_slow: oracle.must("n_slow")?,
        n_rounds: oracle.must("n_rounds")?,
        projector_hidden: oracle.size("projector_hidden"),
        approach: match (oracle.config["approach"].as_str(), oracle.size("passes")) {
            (Some("deq"), _) => Approach::Deq { tolerance: 3e-7, max_iters: 100 },
            (Some("backward_euler"), _) => Approach::BackwardEuler { tolerance: 3e-7, max_iters: 100 },
            (Some("anderson"), Some(passes)) => Approach::Anderson { passes },
            (_, Some(passes)) => Approach::Passes { passes },
            _ => Approach::OnePass,
        },
        fast_window: oracle.size("window"),
        upsample: if oracle.config["upsample"] == "leaky" { Upsample::Leaky } else { Upsample::Causal },
        slow_mixer: match &oracle.config["slow_mixer"] {
            Value::Null => SlowMixer::Attention,
            mixer => serde_json::from_value(mixer.clone())?,
        },
        hierarchy: match oracle.size("cycle_passes") {
            None => Hierarchy::Pooled,
            Some(passes) => {
                Hierarchy::UpdateCount { passes, last_cycle_only: oracle.config["last_cycle_only"] == true }
            }
        },
        aux_lambda: if oracle.config["has_penalty"] == true { 0.01 } else { 0.0 },
        ..FastSlowSpec::default()
    };
    let model = FastSlow::new(&spec, oracle.must("vocab")?, 0, device())?;

    // the file's `out.pool` and `out.upsample` were computed from the embedded tokens
    let tokens = oracle.batch()?.tokens;
    let pooled = causal_pool(&embedding(oracle.get("w.embed.weight")?, &tokens)?, spec.pool)?;
    let off = distance(&pooled, oracle.get("out.pool")?)?;
    assert!(off < 1e-6, "pooled is {off:e} off");
    let up = upsample(&pooled, spec.pool, tokens.dim(1)?, Upsample::Causal)?;
    let off = distance(&up, oracle.get("out.upsample")?)?;
    assert!(off < 1e-6, "upsampled is {off:e} off");

    compare(&oracle, &model)
}

#[test]
fn fast_slow_linear() -> Outcome {
    fast_slow("fast_slow_linear.safetensors")
}

#[test]
fn fast_slow_mlp() -> Outcome {
    fast_slow("fast_slow_mlp.safetensors")
}

#[test]
fn fast_slow_passes() -> Outcome {
    fast_slow("fast_slow_passes.safetensors")
}

#[test]
fn fast_slow_anderson() -> Outcome {
    fast_slow("fast_slow_anderson.safetensors")
}

#[test]
fn fast_slow_penalty() -> Outcome {
    fast_slow("fast_slow_penalty.safetensors")
}

#[test]
fn fast_slow_deq() -> Outcome {
    fast_slow("fast_slow_deq.safetensors")
}

#[test]
fn fast_slow_backward_euler() -> Outcome {
    fast_slow("fast_slow_backward_euler.safetensors")
}

#[test]
fn fast_slow_cycles() -> Outcome {
    fast_slow("fast_slow_cycles.safetensors")
}

#[test]
fn fast_slow_last_cycle() -> Outcome {
    fast_slow("fast_slow_last_cycle.safetensors")
}

#[test]
fn fast_slow_gated_linear() -> Outcome {
    fast_slow("fast_slow_gated_linear.safetensors")
}

#[test]
fn fast_slow_decay() -> Outcome {
    fast_slow("fast_slow_decay.safetensors")
}

#[test]
fn dense_swiglu() -> Outcome {
    let oracle = Oracle::open("dense_swiglu.safetensors")?;
    let spec = DenseSpec {
        d_model: oracle.must("d")?,
        layers: oracle.must("layers")?,
        heads: oracle.must("heads")?,
        kv_heads: oracle.must("kv_heads")?,
        hidden: oracle.must("hidden")?,
        act: GatedAct::Swiglu,
        window: None,
    };
    compare(&oracle, &Dense::new(&spec, oracle.must("vocab")?, 0, device())?)
}

#[test]
fn plain_gpt() -> Outcome {
    let oracle = Oracle::open("plain_gpt.safetensors")?;
    let spec = PlainGptSpec {
        d_model: oracle.must("d")?,
        heads: oracle.must("heads")?,
        layers: oracle.must("layers")?,
        positions: oracle.must("ctx")?,
    };
    compare(&oracle, &Gpt::with_learned_positions(&spec, oracle.must("vocab")?, 0, device())?)
}

fn alibi(file: &str) -> Outcome {
    let oracle = Oracle::open(file)?;
    let spec = AlibiGptSpec {
        d_model: oracle.must("d")?,
        heads: oracle.must("heads")?,
        layers: oracle.must("layers")?,
        residual: match &oracle.config["residual"] {
            Value::Null => ResidualMixing::Fixed,
            residual => serde_json::from_value(residual.clone())?,
        },
        ..AlibiGptSpec::default()
    };
    compare(&oracle, &Gpt::with_alibi(&spec, oracle.must("vocab")?, 0, device())?)
}

#[test]
fn alibi_gpt() -> Outcome {
    alibi("alibi_gpt.safetensors")
}

#[test]
fn alibi_gpt_learned() -> Outcome {
    alibi("alibi_gpt_learned.safetensors")
}

#[test]
fn alibi_gpt_attention() -> Outcome {
    alibi("alibi_gpt_attention.safetensors")
}

/// A text is read in parts with a first-in, first-out cache of keys and values. The logits equal those of the whole
/// text with a sliding window of the same length, and gradients stop at the beginning of a part.
#[test]
fn alibi_gpt_cache() -> Outcome {
    let oracle = Oracle::open("alibi_gpt_cache.safetensors")?;
    let (part, batch) = (oracle.must("part")?, oracle.batch()?);
    let (rows, tokens) = batch.tokens.dims2()?;
    let parts = tokens / part;
    assert!(parts > 2 && parts * part == tokens);
    let spec = AlibiGptSpec {
        d_model: oracle.must("d")?,
        heads: oracle.must("heads")?,
        layers: oracle.must("layers")?,
        window: Some(oracle.must("window")?),
        carry: Some(Carry { rows, every: parts as u64 }),
        ..AlibiGptSpec::default()
    };
    let mut model = Gpt::with_alibi(&spec, oracle.must("vocab")?, 0, device())?;
    load(&oracle, model.params())?;
    let logits = model.logits(&batch.tokens, &mut Tap::off())?;
    learn_with_state(&oracle, &mut model, Trainable::params, &logits, |model: &mut Gpt, batch| {
        let mut sum = Tensor::new(0f32, device())?;
        for k in 0..parts {
            let of_part = |ids: &Tensor| ids.narrow(1, k * part, part)?.contiguous();
            model.begin_step(k as u64 + 1)?;
            let batch = Batch { tokens: of_part(&batch.tokens)?, targets: of_part(&batch.targets)? };
            sum = (sum + model.loss(&batch)?.total)?;
        }
        let mean = (sum / parts as f64)?;
        Ok([mean.clone(), mean])
    })
}

/// Compares gradients that stop at keys and values, and thirty training steps with them.
#[test]
fn bdh_no_bptt() -> Outcome {
    let oracle = Oracle::open("bdh_no_bptt.safetensors")?;
    let spec = BdhSpec {
        d_model: oracle.must("d")?,
        heads: oracle.must("heads")?,
        neurons: oracle.must("n")?,
        layers: oracle.must("layers")?,
        through_past: false,
        ..BdhSpec::default()
    };
    compare(&oracle, &Bdh::new(&spec, oracle.must("vocab")?, 0, device())?)
}

/// Compares x and y of every layer too.
#[test]
fn bdh() -> Outcome {
    bdh_activity("bdh.safetensors", Form::Code)
}

/// Compares Equation (7), with weights of a size at which neither layer vanishes.
#[test]
fn bdh_normfree() -> Outcome {
    bdh_activity("bdh_normfree.safetensors", Form::Normfree)
}

/// Compares Equation (8), in which x is summed over the layers, and a layer passes on its normalised read-out.
#[test]
fn bdh_equation_8() -> Outcome {
    bdh_activity("bdh_equation_8.safetensors", Form::Paper)
}

/// Compares BDH-GPU', which has a gate on each head's output and a learned mean of all layers' logits.
#[test]
fn bdh_gated() -> Outcome {
    bdh_activity("bdh_gated.safetensors", Form::Code)
}

fn bdh_activity(file: &str, form: Form) -> Outcome {
    let oracle = Oracle::open(file)?;
    let spec = BdhSpec {
        d_model: oracle.must("d")?,
        heads: oracle.must("heads")?,
        neurons: oracle.must("n")?,
        layers: oracle.must("layers")?,
        form,
        gated: oracle.config["gated"] == true,
        ..BdhSpec::default()
    };
    let model = Bdh::new(&spec, oracle.must("vocab")?, 0, device())?;
    load(&oracle, model.params())?;
    let mut tap = Tap::on(&["layers."]);
    model.logits(&oracle.batch()?.tokens, &mut tap)?;
    for layer in 0..spec.layers {
        for part in ["x", "y"] {
            let found = tap.get(&format!("layers.{layer}.{part}")).ok_or("a tap is missing")?;
            let off = distance(found, oracle.get(&format!("out.{part}_{layer}"))?)?;
            assert!(off < LOGITS, "{part} of layer {layer} is {off:e} off");
        }
    }
    compare(&oracle, &model)
}

/// Compares Equation (6) on a sparse graph, and also x and y of every layer. PyTorch computed it token by token with a
/// state for every pair of neurons. The graph comes from the file.
fn graph(file: &str) -> Outcome {
    let mut oracle = Oracle::open(file)?;
    let edges: Vec<(String, Tensor)> = oracle
        .under("out.")
        .filter(|(name, _)| name.ends_with(".source"))
        .map(|(name, source)| (format!("w.{name}"), source.clone()))
        .collect();
    assert_eq!(edges.len(), 5, "two circuits of two parts, and the synapses");
    oracle.tensors.extend(edges);
    let spec = GraphBdhSpec {
        neurons: oracle.must("n")?,
        degree: oracle.must("degree")?,
        synapses: oracle.must("synapses")?,
        layers: oracle.must("layers")?,
        memory: oracle.config["memory"].as_f64().ok_or("no memory")?,
        norms: oracle.config["norms"].as_bool().ok_or("the config does not say whether there are norms")?,
        single_state: false,
    };
    let model = GraphBdh::new(&spec, oracle.must("vocab")?, 0, device())?;
    load(&oracle, model.params())?;
    let mut tap = Tap::on(&["layers."]);
    model.logits(&oracle.batch()?.tokens, &mut tap)?;
    for layer in 0..spec.layers {
        for part in ["x", "y"] {
            let found = tap.get(&format!("layers.{layer}.{part}")).ok_or("a tap is missing")?.squeeze(1)?;
            let off = distance(&found, oracle.get(&format!("out.{part}_{layer}"))?)?;
            assert!(off < LOGITS, "{part} of layer {layer} is {off:e} off");
        }
    }
    compare(&oracle, &model)
}

#[test]
fn graph_bdh() -> Outcome {
    graph("graph_bdh.safetensors")
}

#[test]
fn graph_bdh_normfree() -> Outcome {
    graph("graph_bdh_normfree.safetensors")
}

/// Every row has its own control, so the logits are computed row by row, in the same way as by a probe.
#[test]
fn ode_flow() -> Outcome {
    let oracle = Oracle::open("ode_flow.safetensors")?;
    assert_eq!(oracle.must("control")?, CONTROLS, "the family has so many controls");
    let spec = OdeFlowSpec {
        d_model: oracle.must("d")?,
        heads: oracle.must("heads")?,
        pre: oracle.must("head_layers")?,
        post: oracle.must("tail_layers")?,
        positions: oracle.must("ctx")?,
        steps: oracle.must("steps")?,
        method: Method::EULER,
        ..OdeFlowSpec::default()
    };
    let model = OdeFlow::new(&spec, oracle.must("vocab")?, 0, device())?;
    load(&oracle, model.params())?;
    let (tokens, control) = (oracle.batch()?.tokens, oracle.get("in.control")?);
    // the file's field was computed at tau = 0.3 from the embedded tokens without positions
    let embedded = embedding(oracle.get("w.embed.weight")?, &tokens)?;
    let (mut logits, mut slopes) = (vec![], vec![]);
    for row in 0..tokens.dim(0)? {
        let u = host::to_f64(&control.i(row)?)?;
        let field = model.field(FlowControl { u: [u[0], u[1], u[2], u[3]], alpha: 1.0 })?;
        let options = SolverOptions::fixed(spec.method, spec.steps);
        let end = ode::solve(&*field, &model.embed(&tokens.narrow(0, row, 1)?)?, ode::Span::UNIT, &options)?.end;
        logits.push(model.finish(&end)?);
        slopes.push(ode::Field::at(&*field, 0.3, &embedded.narrow(0, row, 1)?)?);
    }
    let off = distance(&Tensor::cat(&slopes, 0)?, oracle.get("out.field_tau_0.3")?)?;
    assert!(off < 1e-5, "the field is {off:e} off");
    learn(&oracle, model.params(), &Tensor::cat(&logits, 0)?, &|batch| {
        let loss = model.language_loss(batch, control)?;
        Ok([loss.clone(), loss])
    })
}

/// The largest difference, relative to the expected number if that is larger than 1.
fn apart_by_size(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    largest(found.iter().zip(expected).map(|(a, b)| (a - b) / b.abs().max(1.0)))
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap_or(f64::NAN)],
    }
}

/// Compares a bidirectional GRU, a trajectory of AdamW and the activations in f64. No model uses the file's
/// `gelu_tanh`.
#[test]
fn layers() -> Outcome {
    let file: Value = serde_json::from_slice(&std::fs::read(path("layers.json"))?)?;
    adamw(&file["adamw"])?;
    zclip(&file["zclip"])?;
    gru(&file["gru"])?;
    let activations = &file["activations"];
    let x = Tensor::new(numbers(&activations["x"]), device())?;
    for (name, act) in [("gelu_erf", Act::Gelu), ("silu", Act::Silu)] {
        let expected = Tensor::new(numbers(&activations[name]), device())?;
        let off = distance(&act.apply(&x)?, &expected)?;
        assert!(off < 1e-9, "{name} is {off:e} off");
    }
    Ok(())
}

/// Compares claims 5, 7, 8 and 9, observation 8 and the gains of section 5.4 of the BDH paper on small matrices.
#[test]
fn bdh_theory() -> Outcome {
    let file: Value = serde_json::from_slice(&std::fs::read(path("bdh_theory.json"))?)?;
    let whole = |value: &Value| -> Vec<usize> { numbers(value).into_iter().map(|v| v as usize).collect() };
    let lists =
        |value: &Value| -> Vec<Vec<usize>> { value.as_array().map_or(vec![], |all| all.iter().map(whole).collect()) };
    let near = |what: &str, found: &[f64], expected: &Value| {
        let expected = numbers(expected);
        let off = apart_by_size(found, &expected);
        assert!(!found.is_empty() && off < 1e-10, "{what} is {off:e} off");
    };
    let markov = &file["markov"];
    let (successors, p) = (lists(&markov["successors"]), numbers(&markov["p"]));
    let bias = markov["bias"].as_f64().ok_or("no bias")?;
    let errors: Vec<_> =
        (0..successors.len()).map(|node| theory::propagation_errors(&successors, &p, bias, node)).collect();
    let each = |of: fn(&theory::PropagationErrors) -> f64| errors.iter().map(of).collect::<Vec<f64>>();
    near("linear", &each(|e| e.linear), &markov["linear"]);
    near("relu", &each(|e| e.relu), &markov["relu"]);
    near("biased", &each(|e| e.biased), &markov["biased"]);
    let capacity = &file["capacity"];
    let [keys, values, query] = ["keys", "values", "query"].map(|name| numbers(&capacity[name]));
    near("capacity", &theory::retrieval_errors(&keys, &values, &query), &capacity["errors"]);
    for one in file["near_distributions"].as_array().ok_or("no distributions")? {
        let (n, alpha) = (one["n"].as_u64().ok_or("no n")?, one["alpha"].as_f64().ok_or("no alpha")?);
        let (distance, apart) = theory::near_distributions(n as usize, alpha);
        near("distance", &[distance, apart], &serde_json::json!([one["distance"], one["apart"]]));
    }
    let state = &file["sparse_state"];
    let [x, y, encoder] = ["x", "y", "encoder"].map(|name| numbers(&state[name]));
    let n = state["neurons"].as_u64().ok_or("no neurons")? as usize;
    let edges: Vec<[usize; 2]> = lists(&state["edges"]).iter().map(|e| [e[0], e[1]]).collect();
    let inputs = theory::SparseStateInputs { x: &x, y: &y, encoder: &encoder, n };
    let errors = theory::sparse_state_errors(&inputs, &edges);
    assert!(errors.iter().all(|[claim, _]| *claim < 1e-12), "{errors:?}");
    near("sampled", &errors.iter().map(|[_, sampled]| *sampled).collect::<Vec<f64>>(), &state["errors"]);
    let pairs = &file["pair_gains"];
    let (successors, p) = (lists(&pairs["successors"]), numbers(&pairs["p"]));
    let (n, bias) = (successors.len(), pairs["bias"].as_f64().ok_or("no bias")?);
    let gains: Vec<f64> = (0..n).flat_map(|i| theory::pair_gains(&successors, &p, bias, [i, (i + 1) % n])).collect();
    assert!(gains.iter().any(|gain| *gain > 0.1) && gains.iter().any(|gain| *gain < 0.0), "no gain is tried");
    near("gains", &gains, &pairs["gains"]);
    interaction_kernel(&file["kernel"])?;
    graph_rounds(&file["rounds"])
}

/// Compares three steps of Equation (3), which numpy computed with the full tensor of rates.
fn interaction_kernel(file: &Value) -> Outcome {
    let rule = |row: &Value| {
        let row = numbers(row);
        theory::KernelRule { reactants: [row[0] as usize, row[1] as usize], product: row[2] as usize, rate: row[3] }
    };
    let rules = file["rules"].as_array().ok_or("no rules")?.iter().map(rule).collect();
    let kernel = theory::InteractionKernel { rules, decay: numbers(&file["decay"]) };
    let states: Vec<Vec<f64>> = file["states"].as_array().ok_or("no states")?.iter().map(numbers).collect();
    assert!(states.len() > 1);
    for pair in states.windows(2) {
        let found = kernel.step(&pair[0]);
        assert_eq!(found.len(), pair[1].len());
        let off = largest(found.iter().zip(&pair[1]).map(|(a, b)| (a - b) / b));
        assert!(off < 1e-12, "a step of the kernel is {off:e} off");
    }
    Ok(())
}

/// Compares the four rounds of table 1 (b) with full matrices, and the mean of random spikes with the rounds.
fn graph_rounds(file: &Value) -> Outcome {
    let links = |value: &Value| -> Vec<theory::Link> {
        let rows: Vec<Vec<f64>> = value.as_array().map_or(vec![], |rows| rows.iter().map(numbers).collect());
        rows.iter().map(|r| theory::Link { from: r[0] as usize, to: r[1] as usize, weight: r[2] }).collect()
    };
    let pair = |name: &str| [0, 1].map(|part| links(&file[name][part]));
    let n = file["n"].as_u64().ok_or("no n")? as usize;
    let graph =
        theory::SpikingGraph { n, synapses: links(&file["synapses"]), wires: pair("wires"), prods: pair("prods") };
    let [x, y, sigma] = ["x", "y", "sigma"].map(|name| numbers(&file[name]));
    let rates = theory::Rates { x, y, sigma };
    let exact = graph.exact(&rates);
    let spiking = graph.spiking(&rates, 20_000, &mut ChaCha8Rng::seed_from_u64(1));
    let found = [&exact.a, &exact.sigma, &exact.y, &exact.x];
    let counted = [&spiking.a, &spiking.sigma, &spiking.y, &spiking.x];
    for ((name, found), counted) in ["a", "sigma_next", "y_next", "x_next"].into_iter().zip(found).zip(counted) {
        let wanted = numbers(&file[name]);
        let off = apart(found, &wanted);
        assert!(off < 1e-14, "{name} is {off:e} off");
        let off = apart(counted, &wanted);
        assert!(off < 0.02, "{name} of spikes is {off:e} off");
    }
    Ok(())
}

/// Compares four learning rules for feedforward weights, and the effective rank of the resulting weights.
#[test]
fn hebbian() -> Outcome {
    let file: Value = serde_json::from_slice(&std::fs::read(path("hebbian.json"))?)?;
    let number = |value: &Value| value.as_f64().map(|v| v as f32).ok_or("no number");
    let size = |name: &str| file["sizes"][name].as_u64().map(|n| n as usize).ok_or(format!("no size `{name}`"));
    let (units, inputs, active) = (size("units")?, size("inputs")?, size("active")?);
    let (rate, decay) = (number(&file["rate"])?, number(&file["decay"])?);
    // rows are units in the file, and inputs in the program
    let columns = |value: &Value, n: usize| -> Vec<f32> {
        let rows = numbers(value);
        (0..n).flat_map(|j| (0..units).map(|i| rows[i * n + j] as f32).collect::<Vec<_>>()).collect()
    };
    let rows =
        |name: &str| -> Vec<Vec<f64>> { file[name].as_array().map_or(vec![], |all| all.iter().map(numbers).collect()) };
    let sparse = |row: &Vec<f64>| {
        let entries = row.iter().enumerate().filter(|(_, v)| **v != 0.0);
        let (units, values) = entries.map(|(i, v)| (i as u32, *v as f32)).unzip();
        Sparse { units, values }
    };
    let single = |row: &Vec<f64>| row.iter().map(|v| *v as f32).collect::<Vec<f32>>();
    let start = columns(&file["start"], inputs);
    let [mut sanger, mut foldiak, mut surprise, mut forward] = [0; 4].map(|_| start.clone());
    let mut inhibition = vec![0.0; units * units];
    let mut mean = number(&file["surprise_start"])?;
    let (lengths, signs) = (numbers(&file["lengths"]), numbers(&file["signs"]));
    let (errors, precision) = (rows("errors"), rows("precision"));
    for (t, (input, state)) in rows("inputs").iter().map(sparse).zip(rows("states").iter().map(sparse)).enumerate() {
        feedforward::sanger(&mut sanger, units, [&input, &state], rate);
        feedforward::foldiak(&mut foldiak, &mut inhibition, [units, active], [&input, &state], rate);
        let (errors, precision) = (single(&errors[t]), single(&precision[t]));
        let level = Surprise { errors: &errors, precision: &precision, rate, decay };
        feedforward::surprise_gated(&mut surprise, &mut mean, &input, &level);
        let (length, signed_rate) = (lengths[t] as f32, rate * signs[t] as f32);
        feedforward::forward_forward(&mut forward, units, [&input, &state], length, signed_rate);
    }
    let near = |name: &str, found: &[f32], expected: &[f32]| {
        let off = apart(found, expected);
        assert!(off < 1e-4 * largest(expected.iter().copied()).max(1.0), "{name} is {off:e} off");
    };
    for (name, found) in
        [("sanger", &sanger), ("foldiak", &foldiak), ("surprise", &surprise), ("forward_forward", &forward)]
    {
        let expected = columns(&file["weights"][name], inputs);
        near(name, found, &expected);
        assert_ne!(expected, start, "{name} learns nothing");
        let rank = entropy_rank(&singular_values(inputs, units, found).ok_or("no singular values")?);
        let of_file = file["ranks"][name].as_f64().ok_or("no rank")?;
        assert!((rank - of_file).abs() < 1e-3 * of_file, "the rank of {name} is {rank}, not {of_file}");
    }
    near("inhibition", &inhibition, &columns(&file["inhibition"], units));
    near("surprise", &[mean], &[number(&file["surprise"])?]);
    let open = file["gates_open"].as_u64().ok_or("no count")?;
    assert!(open > 5 && open < 30, "{open} words are surprising");
    Ok(())
}

/// Compares every state of the GRU, and checks that masked positions change no others.
fn gru(file: &Value) -> Outcome {
    let tensor = |value: &Value, shape: &[usize]| Tensor::from_vec(numbers(value), shape, device());
    let mut params = Params::new(0, device(), DType::F64);
    let layer = BiGru::new(&mut params, "gru", 5, 6)?;
    for (name, var) in params.iter() {
        let of_file = &file["weights"][name.trim_start_matches("gru.")];
        assert!(of_file.is_array(), "the oracle has no {name}");
        var.set(&tensor(of_file, var.dims())?)?;
    }
    let (x, expected) = (tensor(&file["x"], &[2, 7, 5])?, tensor(&file["y"], &[2, 7, 12])?);
    let found = layer.forward(&x, &Tensor::ones((2, 7, 1), DType::F64, device())?)?;
    let off = distance(&found, &expected)?;
    assert!(off < 1e-12, "states are {off:e} off");
    // appends two masked positions
    let longer = Tensor::cat(&[&x, &x.narrow(1, 0, 2)?], 1)?;
    let counts = Tensor::cat(
        &[Tensor::ones((2, 7, 1), DType::F64, device())?, Tensor::zeros((2, 2, 1), DType::F64, device())?],
        1,
    )?;
    let off = distance(&layer.forward(&longer, &counts)?.narrow(1, 0, 7)?, &expected)?;
    assert!(off < 1e-12, "with places that do not count, states are {off:e} off");
    Ok(())
}

/// A matrix that AdamW trains towards a target matrix, from a file of updates.
struct UpdatedMatrix {
    params: Params,
    p: Tensor,
    target: Tensor,
    shape: (usize, usize),
    adam: AdamW,
}

impl UpdatedMatrix {
    fn new(file: &Value, clip: f64, clip_rule: ClipRule) -> Outcome<Self> {
        let (start, betas) = (numbers(&file["start"]), numbers(&file["betas"]));
        let rows = file["start"].as_array().map_or(1, Vec::len);
        let shape = (rows, start.len() / rows);
        let mut params = Params::new(0, device(), DType::F64);
        let p = params.zeros("p", shape)?;
        params.load("p", &Tensor::from_vec(start, shape, device())?)?;
        let target = Tensor::from_vec(numbers(&file["target"]), shape, device())?;
        let (eps, weight_decay) = (number(file, "eps")?, number(file, "weight_decay")?);
        let spec = AdamWSpec { beta1: betas[0], beta2: betas[1], eps, weight_decay, clip, clip_rule };
        let adam = AdamW::new(&params, spec)?;
        Ok(Self { params, p, target, shape, adam })
    }
}

fn number(file: &Value, name: &str) -> Result<f64, String> {
    file[name].as_f64().ok_or(format!("no number `{name}`"))
}

fn adamw(file: &Value) -> Outcome {
    let clip = number(file, "clip_norm")?;
    let UpdatedMatrix { params, p, target, shape, mut adam } = UpdatedMatrix::new(file, clip, ClipRule::default())?;
    for (i, step) in file["steps"].as_array().ok_or("no steps")?.iter().enumerate() {
        let grads = (&p - &target)?.sqr()?.sum_all()?.backward()?;
        let norm = adam.step(&params, &grads, number(file, "lr")?)?;
        let expected = number(step, "grad_norm")?;
        assert!((norm - expected).abs() < 1e-10 * expected.max(1.0), "gradient norm {i}: {norm} is not {expected}");
        let off = distance(&p, &Tensor::from_vec(numbers(&step["p"]), shape, device())?)?;
        assert!(off < 1e-10, "weights after update {i} are {off:e} off");
    }
    // guards against an empty matrix, with which every comparison would succeed
    assert_eq!(p.i(0)?.elem_count(), shape.1);
    Ok(())
}

/// Compares clipping by the z-score of the gradient norm, and the linear schedule.
fn zclip(file: &Value) -> Outcome {
    let UpdatedMatrix { params, p, target, shape, mut adam } = UpdatedMatrix::new(file, 0.0, ClipRule::ZClip)?;
    let (total, warmup) = (number(file, "total")? as u64, number(file, "warmup")? as u64);
    let schedule = Schedule { lr: number(file, "peak")?, warmup, floor: 0.1, decay: Decay::Linear };
    let mut clipped = 0;
    for (i, step) in file["steps"].as_array().ok_or("no steps")?.iter().enumerate() {
        let rate = schedule.at(i as u64 + 1, total);
        assert!((rate - number(step, "lr")?).abs() < 1e-14, "learning rate {i}: {rate}");
        let grads = ((&p - &target)?.sum_all()? * number(step, "factor")?)?.backward()?;
        adam.step(&params, &grads, rate)?;
        clipped += usize::from(step["limit"].is_f64());
        let off = distance(&p, &Tensor::from_vec(numbers(&step["p"]), shape, device())?)?;
        assert!(off < 1e-9, "weights after update {i} are {off:e} off");
    }
    assert!(clipped >= 3, "{clipped} of the spikes were clipped");
    Ok(())
}

/// The field with this name in solvers.json, with the file's weights.
fn solver_field(file: &Value, name: &str) -> Result<Box<dyn ode::Field>, String> {
    let weights = |key: &str| -> Result<Tensor, String> {
        let values = numbers(&file[key]);
        let rows = file[key].as_array().map_or(0, Vec::len);
        Tensor::from_vec(values.clone(), (rows, values.len() / rows.max(1)), device()).map_err(|e| e.to_string())
    };
    /// A field of two components, from their values.
    fn pair(f: impl Fn(f64, f64, f64) -> [f64; 2] + 'static) -> Box<dyn ode::Field> {
        Box::new(move |t: f64, y: &Tensor| {
            let v = host::to_f64(y)?;
            Tensor::new(&f(t, v[0], v[1]), device())
        })
    }
    let mlp = |scale: f64, push: fn(f64) -> f64| -> Result<Box<dyn ode::Field>, String> {
        let (w1, w2) = (weights("mlp_w1")?, weights("mlp_w2")?);
        Ok(Box::new(move |t: f64, y: &Tensor| {
            let hidden = w1.matmul(&y.unsqueeze(1)?)?.tanh()?;
            (w2.matmul(&hidden)?.squeeze(1)? * scale)? + push(t)
        }))
    };
    Ok(match name {
        "decay" => Box::new(|_: f64, y: &Tensor| y.neg()),
        "harmonic" => pair(|_, a, b| [b, -a]),
        "time_cubic" => pair(|t, _, _| [t.powi(3), (5.0 * t).cos()]),
        "lotka_volterra" => pair(|_, a, b| [1.5 * a - a * b, -3.0 * b + a * b]),
        "van_der_pol_5" => pair(|_, a, b| [b, 5.0 * (1.0 - a * a) * b - a]),
        "mlp_tanh" => mlp(1.0, |_| 0.0)?,
        "mlp_tanh_strong" => mlp(4.0, |t| (7.0 * t).sin())?,
        other => return Err(format!("the file has a field `{other}` that is not known here")),
    })
}

/// Compares a case of solvers.json: the number of evaluations and the end state of torchdiffeq.
fn solver_case(file: &Value, case: &Value) -> Result<(), String> {
    let text = |name: &str| case[name].as_str().ok_or(format!("no `{name}`"));
    let number = |name: &str| case[name].as_f64().ok_or(format!("no number `{name}`"));
    let method = Method::from_id(text("method")?).ok_or("a method that is not known here")?;
    let options = if method.is_adaptive() {
        let (rtol, atol) = (number("rtol")?, number("atol")?);
        SolverOptions {
            method,
            policy: Policy::Interpolate,
            rtol,
            atol,
            max_attempts: 1_000_000,
            ..SolverOptions::default()
        }
    } else {
        SolverOptions::fixed(method, case["steps"].as_u64().ok_or("no steps")? as usize)
    };
    let field = solver_field(file, text("field")?)?;
    let y0 = Tensor::new(numbers(&case["y0"]), device()).map_err(|e| e.to_string())?;
    let (nfe, expected) = (case["nfe"].as_u64().ok_or("no nfe")? as usize, numbers(&case["y1"]));
    let solved = ode::solve(field.as_ref(), &y0, ode::Span { start: 0.0, end: number("t1")? }, &options);
    if expected.iter().any(|v| !v.is_finite()) {
        // torchdiffeq continues with NaN and infinities; here they must cause an error
        let failure = solved.err().ok_or("the reference is not finite, and this is")?;
        let (reason, done) = (failure.reason, failure.trace.nfe);
        let right = matches!(reason, SolveFailure::NonFiniteField | SolveFailure::Overflow) && done <= nfe;
        return if right { Ok(()) } else { Err(format!("{reason} after {done} evaluations")) };
    }
    let solved = solved.map_err(|f| f.to_string())?;
    if solved.trace.nfe != nfe {
        return Err(format!("{} evaluations, not {nfe}", solved.trace.nfe));
    }
    let found = host::to_f64(&solved.end).map_err(|e| e.to_string())?;
    let near = apart_by_size(&found, &expected) <= 1e-6;
    if near { Ok(()) } else { Err(format!("ends at {found:?}, not {expected:?}")) }
}

#[test]
fn solvers() -> Outcome {
    // Python writes NaN and infinities as words that are not valid JSON
    let text =
        std::fs::read_to_string(path("solvers.json"))?.replace("NaN", "\"none\"").replace("-Infinity", "\"none\"");
    let file: Value = serde_json::from_str(&text.replace("Infinity", "\"none\""))?;
    let cases = file["cases"].as_array().ok_or("no cases")?;
    assert!(!cases.is_empty());
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let what = solver_case(&file, case).err()?;
            let [field, method, rtol, steps] = ["field", "method", "rtol", "steps"].map(|name| &case[name]);
            Some(format!("{field} {method} rtol {rtol} steps {steps}: {what}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    Ok(())
}

/// Compares the modularity of given partitions, and checks that the search reaches at least 99% of the best modularity
/// of other programs.
#[test]
fn communities() -> Outcome {
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path("communities.json"))?)?;
    let graphs = file["graphs"].as_array().ok_or("no graphs")?;
    assert!(!graphs.is_empty());
    for case in graphs {
        let name = case["name"].as_str().ok_or("no name")?;
        let directed = case["directed"].as_bool().ok_or("no `directed`")?;
        let nodes = case["nodes"].as_u64().ok_or("no `nodes`")? as usize;
        let edges: Vec<Edge> = serde_json::from_value(case["edges"].clone())?;
        let partition: Vec<u32> = serde_json::from_value(case["partition"].clone())?;
        let graph = Graph::new(nodes, &edges, directed)?;

        let expected = case["modularity_of_partition"].as_f64().ok_or("no modularity")?;
        let found = modularity::modularity(&graph, &partition).ok_or("the partition does not fit")?;
        assert!((found - expected).abs() < 1e-9, "{name}: {found}, not {expected}");

        let (out, into) = degrees::degrees(nodes, &edges);
        // for a directed graph, the file has the in-degrees
        let both = out.iter().zip(&into).map(|(o, i)| if directed { *i } else { o + i }).collect::<Vec<u32>>();
        let expected: Vec<u32> = serde_json::from_value(case["degrees"].clone())?;
        assert_eq!(both, expected, "{name}: degrees");

        let best = ["best_louvain_of_20", "best_leiden_of_10"].map(|k| case[k].as_f64().unwrap_or(f64::NAN));
        let best = best[0].max(best[1]);
        let found = search(&graph, Search::default());
        let again = modularity::modularity(&graph, &found.membership).ok_or("the partition does not fit")?;
        assert!((found.modularity - again).abs() < 1e-12, "{name}: says {}, is {again}", found.modularity);
        assert!(found.modularity >= 0.99 * best, "{name}: {} of {best}", found.modularity);
    }
    Ok(())
}

/// On small directed weighted graphs with planted blocks, the search is at least as good as ten runs of Leiden, and at
/// most half a percent worse than a search that takes many times as long.
#[test]
fn communities_of_small_directed_graphs() -> Outcome {
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path("directed_blocks.json"))?)?;
    let graphs = file["graphs"].as_array().ok_or("no graphs")?;
    assert_eq!(graphs.len(), 7);
    for (i, case) in graphs.iter().enumerate() {
        let nodes = case["nodes"].as_u64().ok_or("no `nodes`")? as usize;
        let edges: Vec<Edge> = serde_json::from_value(case["edges"].clone())?;
        let graph = Graph::new(nodes, &edges, true)?;
        let best = case["leiden"].as_f64().ok_or("no modularity")?;
        let found = search(&graph, Search::default());
        assert!(found.modularity >= best - 1e-9, "graph {i}: {} of {best}", found.modularity);
        let long = search(&graph, Search { seed: 99, restarts: 30, perturbations: Some(60), ..Search::default() });
        assert!(found.modularity >= 0.995 * long.modularity, "graph {i}: {} of {}", found.modularity, long.modularity);
        assert_eq!(found, search(&graph, Search::default()), "graph {i}: another partition by the same seed");
    }
    Ok(())
}

#[test]
fn statistics() -> Outcome {
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path("statistics.json"))?)?;
    let sample: Vec<u32> = serde_json::from_value(file["zipf_sample"].clone())?;
    let expected = file["zipf_mle_alpha_xmin1"].as_f64().ok_or("no exponent")?;
    let fit = power_law::fit_from(&sample, 1).ok_or("no fit")?;
    assert!((fit.alpha - expected).abs() < 1e-5, "exponent {}, not {expected}", fit.alpha);
    Ok(())
}

/// Compares the Mann-Whitney test and Wilson intervals of the same file.
#[test]
fn statistics_of_ranks() -> Outcome {
    use orrery_lab::analysis::{rank_test::MannWhitney, statistics::wilson};
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path("statistics.json"))?)?;
    let number = |value: &Value| value.as_f64().ok_or("not a number");
    let cases = file["mann_whitney"].as_array().ok_or("no Mann-Whitney cases")?;
    assert!(!cases.is_empty());
    for case in cases {
        let (a, b) = (numbers(&case["a"]), numbers(&case["b"]));
        let test = MannWhitney::new(&a, &b);
        assert_eq!(test.u, number(&case["u"])?);
        assert!((test.rank_biserial() - number(&case["rank_biserial"])?).abs() < 1e-12);
        let p = number(&case["p_greater_asymptotic"])?;
        assert!((test.p_greater() - p).abs() < 1e-9 * p.max(1e-3), "{} is not {p}", test.p_greater());
    }
    for case in file["wilson"].as_array().ok_or("no intervals")? {
        let (low, high) = wilson(number(&case["k"])?, number(&case["n"])?);
        let want = numbers(&case["interval95"]);
        // this program uses z = 1.96, and the file the exact quantile
        assert!((low - want[0]).abs() < 1e-5 && (high - want[1]).abs() < 1e-5, "{low} {high} are not {want:?}");
    }
    Ok(())
}

/// Compares singular values and entropies of row-stochastic matrices from the same file.
#[test]
fn statistics_of_spectra() -> Outcome {
    use orrery_lab::analysis::{
        attention_rows::Rows,
        singular_values::{effective_rank, singular_values, top_share},
    };
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path("statistics.json"))?)?;
    let cases = file["matrices"].as_array().ok_or("no matrices")?;
    assert!(cases.len() >= 3);
    for case in cases {
        let matrix: Vec<Vec<f64>> = case["matrix"].as_array().ok_or("no matrix")?.iter().map(numbers).collect();
        let (rows, cols) = (matrix.len(), matrix[0].len());
        let found = singular_values(rows, cols, &matrix.concat()).ok_or("no singular values")?;
        let want = numbers(&case["singular_values"]);
        assert_eq!(found.len(), want.len());
        for (f, w) in found.iter().zip(&want) {
            assert!((f - w).abs() < 1e-14 * want[0], "{rows} x {cols}: {found:?} are not {want:?}");
        }
        let number = |key: &str| case[key].as_f64().ok_or("not a number");
        assert!((effective_rank(&found) / number("effective_rank")? - 1.0).abs() < 1e-12);
        assert!((top_share(&found) / number("top1_ratio")? - 1.0).abs() < 1e-12);
        let weights: Vec<f32> = matrix.concat().iter().map(|v| *v as f32).collect();
        let entropy = number("mean_row_entropy_nats")?;
        assert!((Rows::Shares.mean_entropy(&weights, cols) / entropy - 1.0).abs() < 1e-6);
    }
    Ok(())
}
