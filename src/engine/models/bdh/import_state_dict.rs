//! A BDH checkpoint that others wrote: which of a file's tensors are its weights, by which code's names, and the sizes
//! that their shapes tell.
//!
//! Four codes' names are known: the public code's, which are ours; jploski/bdh-transformers', the same model whose head
//! is a linear layer, tied to the embedding or not; lucidrains/bdh-cq's, whose maps are linear layers too, with one
//! norm at the end and half of the pairs of neurons turning; and krychu/bdh's (`E`, `Dx`, `Dy`, `readout`,
//! `emb.weight`). The last turns neuron i with i + N/2, at a base of 10,000: its neurons are put into our order, which
//! changes nothing else, and its frequencies are kept. What its tokens see of what follows them, ours do not: that
//! model's outputs cannot be had here, and a remark says so.

use std::{collections::HashMap, path::Path, sync::Arc};

use candle_core::{Device, Result, Tensor, bail};

use super::{
    facts::facts,
    spec::{BdhSpec, Form, Position},
};
use crate::{
    models::capabilities::{CheckpointFacts, KnownNumber},
    nn::{host, weights::Weights},
    telemetry::measurements::Evidence,
};

/// The names of the weights in our files, and in each of the codes of [`SourceCode`].
pub(super) const NAMES: [[&str; 5]; 4] = [
    ["embed.weight", "encoder", "encoder_v", "decoder", "lm_head"],
    ["emb.weight", "Dx", "Dy", "E", "readout"],
    ["backbone.embed.weight", "backbone.encoder", "backbone.encoder_v", "backbone.decoder", "lm_head.weight"],
    ["token_embed.weight", "block.to_qk.weight", "block.proj_up", "block.proj_out.weight", "to_logits.weight"],
];

/// The code whose names a file has, by its place in [`NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceCode {
    /// The public code, and ours.
    Public,
    /// krychu/bdh: neurons lie in halves, not in pairs.
    Krychu,
    /// jploski/bdh-transformers.
    Transformers,
    /// lucidrains/bdh-cq.
    Cq,
}

impl SourceCode {
    const ALL: [Self; 4] = [Self::Public, Self::Krychu, Self::Transformers, Self::Cq];

    fn names(self) -> [&'static str; 5] {
        NAMES[self as usize]
    }

    /// The shape of our weight that corresponds to the file's; one that cannot be transposed stays as it is. `heads` is
    /// read from the one weight that has that dimension.
    fn converted_shape(self, ours: &str, shape: &[usize], heads: usize) -> Vec<usize> {
        match (self, ours, shape) {
            (Self::Transformers | Self::Cq, "lm_head", &[v, d]) => vec![d, v],
            (Self::Cq, "decoder", &[d, n]) => vec![n, d],
            (Self::Cq, "encoder", &[n, d]) if heads > 0 && n.is_multiple_of(heads) => vec![heads, d, n / heads],
            _ => shape.to_vec(),
        }
    }

    /// A weight converted to this program's form; its shape has been checked.
    fn converted_value(self, ours: &str, value: Tensor, spec: &BdhSpec) -> Result<Tensor> {
        let (h, d, n) = (spec.heads, spec.d_model, spec.per_head());
        match (self, ours) {
            (Self::Krychu, _) => paired(spec, ours, &value),
            (Self::Transformers | Self::Cq, "lm_head") | (Self::Cq, "decoder") => value.t()?.contiguous(),
            (Self::Cq, "encoder") => value.reshape((h, n, d))?.transpose(1, 2)?.contiguous(),
            _ => Ok(value),
        }
    }
}
/// Rotations per token of every neuron, in turns, `(1, 1, 1, N)`: a buffer of the public code.
pub(super) const FREQUENCIES: &str = "attn.freqs";
/// Rotations per token of every pair of neurons, in radians: a parameter of lucidrains/bdh-cq, and the prefix of all
/// tensors of its rotary embedding.
const CQ_FREQUENCIES: &str = "rope.freqs";
const CQ_ROTARY: &str = "rope.";
/// Base of the rotary frequencies of krychu/bdh and of lucidrains/bdh-cq.
const ROPE_BASE: f32 = 10_000.0;
/// Frequencies closer than this share are the same.
const FREQUENCY_TOLERANCE: f32 = 1e-5;
/// A checkpoint whose tensors all fit; not yet loaded.
pub struct ImportedStateDict {
    /// The requested spec with the sizes of the file. It names no file, because a model that is built from it is a new
    /// one.
    pub spec: BdhSpec,
    /// The number of ids of the vocabulary, from the shape of the embedding.
    pub vocab: usize,
    /// Notes on values that were inferred or differ here.
    pub notes: Vec<String>,
    /// The metadata stored with the weights; a missing number of layers is the requested one.
    pub facts: CheckpointFacts,
    file: Weights,
    /// Names in the file, in the order of [`NAMES`].
    names: [String; 5],
    code: SourceCode,
}

/// Opens the table of contents of `path` and finds a BDH in it; what a file does not say (layers, form)
/// is taken from `asked`. Errors name the tensor and say what to do.
pub fn open(path: &Path, asked: &BdhSpec) -> Result<ImportedStateDict> {
    let file = Weights::open(path)?;
    let shown = path.display();
    let all: Vec<(&str, &[usize])> = file.tensors().collect();
    let Some(TensorGroup { prefix, code, mut names }) = largest_group(&all) else {
        bail!(
            "`{shown}` holds no BDH: its {} tensors have other names than those of one, such as `encoder_v` or `Dx`. No \
             other model opens from a file; orrery-log shows the training of any (python/README.md)",
            all.len()
        )
    };
    let shape = |name: &str| all.iter().find(|(n, _)| *n == name).map(|(_, s)| *s);
    let [embed, .., head] = &mut names;
    let is_tied = code == SourceCode::Transformers && head.is_empty() && !embed.is_empty();
    if is_tied {
        head.clone_from(embed);
    }
    for (wanted, name) in code.names().iter().zip(&names) {
        ensure!(!name.is_empty(), "`{shown}` lacks the tensor `{prefix}{wanted}`; save the model's whole state_dict");
    }
    let extra = all.iter().filter(|(n, _)| n.starts_with(&prefix) && !names.iter().any(|k| k == n));
    let prefix_len = uncompiled(&prefix).len();
    if let Some((name, shape)) = extra.clone().find(|(n, _)| !can_be_computed(&uncompiled(n)[prefix_len..])) {
        let why = match name.ends_with("pos.weight") {
            true => "learned positions are not part of BDH-GPU; train it with rotary ones",
            false => "it belongs to a changed model; take it out of the file if it changes nothing",
        };
        bail!("`{shown}` has a tensor `{name}` {shape:?} that BDH does not have: {why}")
    }

    let heads = shape(&names[2]).and_then(|s| s.first().copied()).unwrap_or(0);
    let shapes: [Vec<usize>; 5] =
        std::array::from_fn(|i| code.converted_shape(NAMES[0][i], shape(&names[i]).unwrap_or(&[]), heads));
    let tensors = std::array::from_fn(|i| (names[i].as_str(), shapes[i].as_slice()));
    let turned = match code {
        SourceCode::Public | SourceCode::Krychu => "",
        SourceCode::Transformers | SourceCode::Cq => ", both turned as the public code has them",
    };
    let wrong = |why: String| candle_core::Error::Msg(format!("{why}{turned} (`{shown}`)"));
    let TensorSizes { heads, d_model, n, vocab, neurons } = TensorSizes::from_tensors(&tensors).map_err(wrong)?;

    let mut notes = vec![];
    let facts = facts(&file, path);
    let layers = facts.layers.map_or(asked.layers, |known| known.value);
    match facts.layers {
        Some(KnownNumber { value, from: Evidence::Sidecar }) => {
            notes.push(format!("settings beside `{shown}` say that its model had {value} layers"));
        }
        Some(_) => {}
        None => notes.push(format!(
            "`{shown}` does not say how many layers its model had, and shared weights do not show it: `model.layers` \
             = {layers} is taken"
        )),
    }
    let mut spec = BdhSpec { d_model, heads, neurons, layers, ..asked.clone() };
    spec.gated = false;
    spec.weights = None;
    let metadata = |key: &str| file.metadata().find(|(k, _)| *k == key).map(|(_, v)| v);
    spec.position = metadata("position").and_then(Position::from_id).unwrap_or(spec.position);
    spec.form = metadata("form").and_then(Form::from_id).unwrap_or(spec.form);
    // files of earlier versions name it `heritage`
    let provenance = metadata("provenance").or_else(|| metadata("heritage")).unwrap_or("");
    let provenance: Vec<usize> = provenance.split(' ').filter_map(|n| n.parse().ok()).collect();
    let is_complete = provenance.iter().try_fold(0usize, |sum, part| sum.checked_add(*part)) == Some(n);
    spec.provenance = if is_complete { provenance } else { vec![] };
    if is_tied {
        notes.push(format!(
            "`{shown}` has no `lm_head.weight`, which is tied to the embedding: here it is a copy of it"
        ));
    }
    if code == SourceCode::Cq {
        spec.form = Form::FinalNorm;
        spec.frequencies = Some(cq_frequencies(&file, &extra.clone().map(|(n, _)| *n).collect::<Vec<_>>(), n)?);
        notes.push(format!(
            "`{shown}` is of the code lucidrains/bdh-cq: one norm at the end (`model.form` = final_norm), and half of the neurons of a head turn. Its latent reasoning steps are not made here"
        ));
    } else if code == SourceCode::Krychu {
        spec.frequencies =
            Some((0..n / 2).map(|i| ROPE_BASE.powf(-2.0 * i as f32 / n as f32) / std::f32::consts::TAU).collect());
        notes.push(format!(
            "`{shown}` is of the code krychu/bdh, whose tokens see the whole sequence, themselves and those that follow too: here they see their past only, so outputs differ. Weights and graphs are the same"
        ));
        let form = match spec.form {
            Form::Code => "is not carried here (set `model.form` = both if it was)",
            Form::Paper => "is carried here and v is not, which no version of it does (set `model.form` = both)",
            Form::Normfree => "is carried here, and there is no norm (set `model.form` = code or both)",
            Form::Both => "is carried here (set `model.form` = code if it was not)",
            Form::FinalNorm => {
                "is not carried here, and there is one norm at the end (set `model.form` = code or both)"
            }
        };
        notes.push(format!(
            "`{shown}` does not say which residuals it was trained with: in some versions of that code x is carried from layer to layer, in others it is not; it {form}. Nor does it say whether its neurons turn: if it was trained without rotary positions, set `model.position` = nothing"
        ));
    } else if let Some((name, _)) = extra.clone().find(|(n, _)| n.ends_with(FREQUENCIES)) {
        spec.frequencies = frequencies(&file, name, n, &mut notes)?;
    }
    if asked.gated {
        notes.push(format!("`{shown}` has no gates: `model.gated` is taken as off"));
    }
    spec.check().map_err(|e| candle_core::Error::Msg(format!("`{shown}` cannot be opened: {e}")))?;
    Ok(ImportedStateDict { spec, vocab, notes, facts, file, names, code })
}

impl ImportedStateDict {
    /// The weights by our names.
    pub fn load(&self, device: &Device) -> Result<Vec<(&'static str, Tensor)>> {
        let load = |(ours, name): (&&'static str, &String)| -> Result<(&'static str, Tensor)> {
            let value = self.file.load(name, device)?;
            Ok((*ours, self.code.converted_value(ours, value, &self.spec)?))
        };
        NAMES[0].iter().zip(&self.names).map(load).collect()
    }
}

/// Moves neuron i + N/2 next to its partner, neuron i, because rotation pairs neighbours here.
fn paired(spec: &BdhSpec, name: &str, value: &Tensor) -> Result<Tensor> {
    let (h, d, n) = (spec.heads, spec.d_model, spec.per_head());
    let order: Vec<u32> = (0..n as u32).map(|i| i / 2 + i % 2 * (n as u32 / 2)).collect();
    let order = Tensor::from_vec(order, n, value.device())?;
    match name {
        "encoder" | "encoder_v" => value.index_select(&order, 2),
        "decoder" => value.reshape((h, n, d))?.index_select(&order, 1)?.reshape((h * n, d)),
        _ => Ok(value.clone()),
    }
}

/// The sizes that follow from the shapes of the weights.
struct TensorSizes {
    heads: usize,
    d_model: usize,
    /// A head
    n: usize,
    vocab: usize,
    /// The neurons of all heads.
    neurons: usize,
}

impl TensorSizes {
    /// Finds the sizes that most of the five weights, in the order of [`NAMES`], agree on. An error names a tensor
    /// that does not fit the others.
    fn from_tensors(tensors: &[(&str, &[usize]); 5]) -> std::result::Result<Self, String> {
        let [embed, encoder, encoder_v, _, lm_head] = tensors;
        for (sides, (name, shape), what) in [
            (3, encoder, "three sides, (heads, width, neurons per head)"),
            (2, embed, "two sides, (vocabulary, width)"),
        ] {
            ensure!(shape.len() == sides, format!("tensor `{name}` has shape {shape:?}; it must have {what}"));
        }
        // Any one tensor may have the wrong shape, so the sizes are read from several pairs and the best is kept.
        let mut best: Option<(Self, Vec<String>)> = None;
        for (base, vocab) in [(encoder, embed), (encoder, lm_head), (encoder_v, embed), (encoder_v, lm_head)] {
            let (&[heads, d_model, n], &[_, _]) = (base.1, vocab.1) else { continue };
            let vocab = if vocab.0 == lm_head.0 { vocab.1[1] } else { vocab.1[0] };
            let Some(neurons) = heads.checked_mul(n) else { return Err("its sizes are impossible".to_owned()) };
            let wanted = [
                vec![vocab, d_model],
                vec![heads, d_model, n],
                vec![heads, d_model, n],
                vec![neurons, d_model],
                vec![d_model, vocab],
            ];
            let misfits = tensors.iter().zip(wanted).filter(|((_, found), wanted)| found != wanted);
            let beside = format!("`{}` {:?}", base.0, base.1);
            let misfits = misfits.map(|((name, found), wanted)| {
                format!("tensor `{name}` has shape {found:?}; beside {beside} it must be {wanted:?}")
            });
            let (sizes, misfits) = (Self { heads, d_model, n, vocab, neurons }, misfits.collect::<Vec<_>>());
            if best.as_ref().is_none_or(|(_, fewest)| misfits.len() < fewest.len()) {
                best = Some((sizes, misfits));
            }
        }
        match best {
            Some((sizes, misfits)) => misfits.into_iter().next().map_or(Ok(sizes), Err),
            None => Err("its weights have other numbers of sides than BDH's".to_owned()),
        }
    }
}

/// The tensors of a file that make up one model.
struct TensorGroup {
    /// The prefix of its tensors' names.
    prefix: String,
    code: SourceCode,
    /// The tensors' names in the file, in the order of [`NAMES`]; empty where a tensor is missing.
    names: [String; 5],
}

/// A name without the part that torch.compile inserts.
fn uncompiled(name: &str) -> String {
    name.replace("_orig_mod.", "")
}

/// True for a tensor that is not a weight and need not be read because it can be computed.
fn can_be_computed(rest: &str) -> bool {
    let starts = ["linear_attn.rotary.", CQ_ROTARY];
    matches!(rest, FREQUENCIES | "backbone.attn.freqs" | "pos_idx") || starts.iter().any(|s| rest.starts_with(s))
}

/// The model of most weights; of equals, the one under the shortest prefix (not an average kept beside it).
fn largest_group(all: &[(&str, &[usize])]) -> Option<TensorGroup> {
    let mut found: Vec<TensorGroup> = vec![];
    let mut places: HashMap<(&str, String), usize> = HashMap::new();
    for (name, _) in all {
        for code in SourceCode::ALL {
            let tail = uncompiled(name);
            for (i, wanted) in code.names().iter().enumerate() {
                let Some(before) = tail.strip_suffix(wanted).filter(|p| p.is_empty() || p.ends_with('.')) else {
                    continue;
                };
                let prefix = name.strip_suffix(wanted).unwrap_or_default().to_owned();
                let at = *places.entry((code.names()[0], before.to_owned())).or_insert_with(|| {
                    found.push(TensorGroup { prefix, code, names: Default::default() });
                    found.len() - 1
                });
                found[at].names[i] = (*name).to_owned();
            }
        }
    }
    let has = |g: &TensorGroup| g.names.iter().filter(|n| !n.is_empty()).count();
    // a file with `emb.weight` alone does not hold a BDH
    found.into_iter().filter(|g| has(g) >= 2).max_by_key(|g| (has(g), std::cmp::Reverse(g.prefix.len())))
}

/// Rotations per token of every pair, in turns, as lucidrains/bdh-cq has them: the file's table (in radians) for the first
/// half of a head's neurons, or the usual one with base 10,000. The other pairs do not rotate.
fn cq_frequencies(file: &Weights, extra: &[&str], n: usize) -> Result<Arc<[f32]>> {
    let (turning, table) = (n / 4, extra.iter().find(|name| name.ends_with(CQ_FREQUENCIES)));
    let mut turns: Vec<f32> = match table {
        Some(name) => host::to_f32(&file.load(name, &Device::Cpu)?)?,
        None => (0..turning).map(|i| ROPE_BASE.powf(-4.0 * i as f32 / n as f32)).collect(),
    };
    let fits = turns.len() == turning && n.is_multiple_of(4);
    ensure!(fits, "tensor `{CQ_FREQUENCIES}`: {} frequencies do not fit {n} neurons of a head", turns.len());
    turns.iter_mut().for_each(|radians| *radians /= std::f32::consts::TAU);
    turns.resize(n / 2, 0.0);
    Ok(turns.into())
}

/// The table of pairs in the public code's buffer; `None` if it is the usual one.
fn frequencies(file: &Weights, name: &str, n: usize, notes: &mut Vec<String>) -> Result<Option<Arc<[f32]>>> {
    let shape = file.tensors().find(|(t, _)| *t == name).map(|(_, s)| s.to_vec()).unwrap_or_default();
    let has = shape.iter().product::<usize>();
    ensure!(has == n, "tensor `{name}` has shape {shape:?}; it must have one value for each of {n} neurons of a head");
    let all = host::to_f32(&file.load(name, &Device::Cpu)?)?;
    let usual = BdhSpec { heads: 1, neurons: n, position: Position::Rope, frequencies: None, ..BdhSpec::default() }
        .shape()
        .turns_per_token();
    let table: Vec<f32> = all.iter().step_by(2).copied().collect();
    // paired neurons have the same rotation
    if let Some(i) = all.as_chunks().0.iter().position(|[a, b]| (a - b).abs() > FREQUENCY_TOLERANCE * a.abs()) {
        bail!("tensor `{name}`: neurons {} and {} are a pair and turn at different speeds", 2 * i, 2 * i + 1)
    }
    if table.iter().zip(&usual).all(|(a, b)| (a - b).abs() <= FREQUENCY_TOLERANCE * b) {
        return Ok(None);
    }
    notes.push(format!("`{name}` are other frequencies than the usual ones, and are kept"));
    Ok(Some(table.into()))
}
