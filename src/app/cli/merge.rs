//! `orrery model merge`: joins two trained BDHs into one. `orrery study merge-story`: trains two such models from a common
//! base, merges them, and compares the losses of all of them.

mod story;

use super::trained_run::{self, state_dict_of};
use crate::{
    cli::prelude::*,
    models::bdh::{
        BdhSpec, StateDict, import_state_dict,
        merge::{Parent, merge},
    },
};

pub use story::{StoryArgs, run as story};

#[derive(Args)]
pub struct MergeArgs {
    /// A trained BDH: a run folder (its newest checkpoint) or a file (.safetensors, .pt, .pth)
    a: PathBuf,
    /// The other; width, heads, layers and vocabulary must be the same
    b: PathBuf,
    /// The file to write, as safetensors under the names of the public code
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Which model of a run that has several
    #[arg(long, value_name = "ID", default_value = "bdh")]
    variant: String,
    /// Layers of a file that does not say how many it has
    #[arg(long)]
    layers: Option<usize>,
}

pub fn run(args: &MergeArgs) -> Result<(), Failure> {
    output::check_file(&args.out, &[&args.a, &args.b])?;
    let open = |path: &Path| parent(path, &args.variant, args.layers);
    let ((a, window), (b, other_window)) = (open(&args.a)?, open(&args.b)?);
    let merged = merge(&a, &b).map_err(Failure::wrong)?;
    let window = window.filter(|tokens| other_window == Some(*tokens));
    let StateDict { tensors, metadata } = state_dict_of(&merged.spec, &merged.weights)?.with_window(window);
    tensors::write(&args.out, &tensors, &metadata).map_err(Failure::failed)?;
    merged.notes.iter().for_each(|line| notice!("{line}"));
    print_line!("{}", path_label(&args.out))
}

/// Loads a parent of the merge: the newest model of a run folder, or the model in a file. Returns its training window,
/// tokens, beside it where that is known.
fn parent(path: &Path, variant: &str, layers: Option<usize>) -> Result<(Parent, Option<usize>), Failure> {
    let name = path.display().to_string();
    if path.is_dir() {
        let found = trained_run::newest_weights(path, Some(variant))?;
        return match found.spec {
            ModelSpec::Bdh(spec) => {
                let spec = spec.resolved().map_err(Failure::wrong)?;
                Ok((Parent { name, spec, weights: found.weights }, found.window))
            }
            _ => Err(usage!("`{variant}` of {name} is not a BDH; only BDHs can be merged")),
        };
    }
    let unsaid = layers.unwrap_or(0);
    let file = import_state_dict::open(path, &BdhSpec { layers: unsaid.max(1), ..BdhSpec::default() })
        .map_err(Failure::wrong)?;
    let is_known = layers.is_some() || file.facts.layers.is_some();
    ensure!(is_known, "{name} does not say how many layers its model has: give --layers");
    file.notes.iter().for_each(|r| notice!("note: {r}"));
    let weights =
        file.load(&Device::Cpu).map_err(Failure::wrong)?.into_iter().map(|(n, t)| (n.to_owned(), t)).collect();
    let window = file.facts.window.map(|known| known.value);
    Ok((Parent { name, spec: file.spec.clone(), weights }, window))
}
