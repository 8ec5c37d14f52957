//! Merges two models side by side along n (arXiv 2509.26507, section 7.1): tensors with a side of n neurons are
//! concatenated within each head, all others are averaged, and every neuron keeps the frequency at which it rotated.

use super::spec::{BdhSpec, Position};
use crate::models::prelude::*;

/// A trained model: its sizes, its weights by the public code's names, and what it is called in messages.
pub struct Parent {
    /// The name of the model in messages.
    pub name: String,
    /// The sizes of the model.
    pub spec: BdhSpec,
    /// The weights by the public code's names.
    pub weights: Vec<(String, Tensor)>,
}

impl Parent {
    fn get(&self, name: &str) -> Result<&Tensor> {
        match self.weights.iter().find(|(n, _)| n == name) {
            Some((_, t)) => Ok(t),
            None => bail!("{} lacks the tensor `{name}`", self.name),
        }
    }
}

/// Neurons of each head by the model that they come from.
fn provenance(of: &BdhSpec) -> Vec<usize> {
    match of.provenance.as_slice() {
        [] => vec![of.per_head()],
        known => known.to_vec(),
    }
}

/// The result of a merge.
pub struct MergedModel {
    /// The sizes of the merged model.
    pub spec: BdhSpec,
    /// The weights of the merged model by the public code's names.
    pub weights: Vec<(String, Tensor)>,
    /// Notes on the treatment of each tensor.
    pub notes: Vec<String>,
}

/// Errors: the two models, named `names`, do not have this size in common.
fn check_equal(what: &str, names: [&str; 2], sizes: [usize; 2]) -> Result<()> {
    let ([a, b], [x, y]) = (names, sizes);
    ensure!(x == y, "{a} has {what} {x} and {b} has {y}; only models that differ in neurons alone can be merged");
    Ok(())
}

/// The sizes of two models as one, the first one's neurons first in each head. Errors say what does not fit.
pub fn side_by_side(names: [&str; 2], s: &BdhSpec, t: &BdhSpec) -> Result<BdhSpec> {
    check_equal("width (D)", names, [s.d_model, t.d_model])?;
    check_equal("heads", names, [s.heads, t.heads])?;
    check_equal("layers", names, [s.layers, t.layers])?;
    let ([a, b], [(p, f), (q, g)]) = (names, [s, t].map(|of| (of.position, of.form)));
    ensure!((p, f) == (q, g), "{a} and {b} treat time or residuals differently ({p:?} {f:?}, {q:?} {g:?})");
    ensure!(!s.gated && !t.gated, "models with gates cannot be merged: a gate weighs what all neurons of a head write");
    let turns: Arc<[f32]> = [s.shape().turns_per_token(), t.shape().turns_per_token()].concat().into();
    let turned = matches!(s.position, Position::Rope | Position::Both);
    let spec = BdhSpec {
        neurons: s.neurons + t.neurons,
        frequencies: turned.then_some(turns),
        provenance: [provenance(s), provenance(t)].concat(),
        carry: None,
        weights: None,
        twofold: false,
        ..s.clone()
    };
    spec.check()?;
    Ok(spec)
}

/// The first parent's neurons come first in each head. Errors say what does not fit.
pub fn merge(a: &Parent, b: &Parent) -> Result<MergedModel> {
    let (s, t) = (&a.spec, &b.spec);
    let vocab = |p: &Parent| p.get("embed.weight")?.dim(0);
    check_equal("vocabulary", [&a.name, &b.name], [vocab(a)?, vocab(b)?])?;
    let spec = side_by_side([&a.name, &b.name], s, t)?;
    let (heads, d) = (s.heads, s.d_model);
    let parts = [s.per_head(), t.per_head()];
    let n = parts[0] + parts[1];
    let beside = |name: &str| Tensor::cat(&[a.get(name)?, b.get(name)?], 2);
    let mean = |name: &str| (a.get(name)? + b.get(name)?)?.affine(0.5, 0.0);
    let rows = |p: &Parent| p.get("decoder")?.reshape((heads, p.spec.per_head(), d));
    let decoder = Tensor::cat(&[rows(a)?, rows(b)?], 1)?.reshape((heads * n, d))?; // (nh, Na + Nb, D)
    let named = |name: &str, value: Tensor| (name.to_owned(), value);
    let weights = vec![
        named("embed.weight", mean("embed.weight")?),
        named("encoder", beside("encoder")?),
        named("encoder_v", beside("encoder_v")?),
        named("decoder", decoder),
        named("lm_head", mean("lm_head")?),
    ];
    let far = |name: &str| -> Result<f64> {
        let (x, y) = (a.get(name)?, b.get(name)?);
        let length = |t: &Tensor| crate::nn::host::scalar(&t.sqr()?.sum_all()?).map(f64::sqrt);
        Ok(length(&(x - y)?)? / length(x)?.max(f64::MIN_POSITIVE))
    };
    let notes = vec![
        format!("{heads} heads of {} and {} neurons become {heads} heads of {n}", parts[0], parts[1]),
        "encoder, encoder_v: side by side along the neurons of each head; decoder: rows of each head one behind the other".to_owned(),
        format!(
            "embed.weight, lm_head: averaged; they were {:.1}% and {:.1}% of their length apart",
            100.0 * far("embed.weight")?,
            100.0 * far("lm_head")?
        ),
        "every neuron keeps its rotary frequency (attn.freqs)".to_owned(),
    ];
    Ok(MergedModel { spec, weights, notes })
}
