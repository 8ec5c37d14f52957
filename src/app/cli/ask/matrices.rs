//! Graphs of any two matrices that the program of a run keeps (docs/protocol.md): a graph's probes, asked of values.

use crate::{
    cli::{prelude::*, remote},
    nn::Tensor,
    probe::neuron_graph::{MATRIX_PROBES, MatrixPair, ask_matrices},
    telemetry::Args,
};

/// Names of tensors that are listed where one is wrong.
const MAX_NAMES: usize = 30;

/// A question about the product of two matrices.
pub struct MatrixQuestion<'a> {
    pub probe: &'a str,
    /// The names of the matrices that neurons write by and read by.
    pub names: [&'a str; 2],
    pub args: &'a Args,
    /// The step whose weights are asked, or the last before it; `None` for the newest.
    pub at: Option<u64>,
}

impl MatrixQuestion<'_> {
    /// The answers of the first variant whose weights have both matrices.
    pub fn ask(&self, folder: &Path, info: &RunInfo, progress: Progress<'_>) -> Result<Vec<Sample>, String> {
        if !MATRIX_PROBES.contains(&self.probe) {
            let known = MATRIX_PROBES.join(", ");
            return Err(format!("`{}` cannot be asked of two matrices; {known} can", self.probe));
        }
        let kept = snapshots::list(folder);
        let newest = kept.range(..=self.at.unwrap_or(u64::MAX)).next_back();
        let Some((_, path)) = newest else {
            let steps: Vec<String> = kept.keys().map(u64::to_string).collect();
            return Err(match (self.at, steps.is_empty(), remote::source_of(folder)) {
                (Some(at), false, _) => {
                    format!("no weights of step {at} or before it are kept; there are {}", steps.join(", "))
                }
                (_, _, Some(source)) => {
                    format!("this is a copy of {source}, whose weights are not copied: ask on that machine")
                }
                _ => "this run keeps no weights: in Python, run.log_weights(model) does".to_owned(),
            });
        };
        let weights = snapshots::read(folder, path, &Device::Cpu).map_err(|e| e.to_string())?;
        let find = |tensors: &'_ [(String, Tensor)], name: &str| tensors.iter().position(|(known, _)| known == name);
        let [from, to] = self.names;
        let found = weights.iter().find_map(|w| Some((w, find(&w.tensors, from)?, find(&w.tensors, to)?)));
        let Some((weights, from, to)) = found else {
            let all = weights.iter().flat_map(|w| w.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)));
            return Err(unknown_name_error(self.names, all.collect()));
        };
        let [from, to] = [from, to].map(|place| (weights.tensors[place].0.as_str(), &weights.tensors[place].1));
        let pair = MatrixPair::new(from, to).map_err(|e| e.to_string())?;
        let variant = info.variants.iter().position(|v| v.id == weights.variant).unwrap_or(0);
        let answers =
            ask_matrices(self.probe, &pair, self.args, info.config.seed, progress).map_err(|e| e.to_string())?;
        Ok(answers.into_iter().filter_map(|answer| answer.into_sample(weights.step, variant, None)).collect())
    }
}

/// The error for a name that no tensor has; it lists the names of the matrices.
fn unknown_name_error(names: [&str; 2], tensors: Vec<(&str, &Tensor)>) -> String {
    let is_known = |name: &str| tensors.iter().any(|(known, _)| *known == name);
    let matrices: Vec<&str> = tensors.iter().filter(|(_, t)| t.dims().len() == 2).map(|(name, _)| *name).collect();
    let Some(wrong) = names.into_iter().find(|name| !is_known(name)) else {
        return format!("no variant has both `{}` and `{}`", names[0], names[1]);
    };
    let hint =
        nearest(wrong, matrices.iter().copied()).map_or(String::new(), |near| format!("did you mean `{near}`? "));
    let more = matrices.len().saturating_sub(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = matrices[..matrices.len().min(MAX_NAMES)].join(", ");
    format!("the weights have no `{wrong}`; {hint}matrices are {shown}{more}")
}
