//! `orrery export`: a run's scalars, weights and graph of neurons for other programs.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{failure::Failure, graph_export::GraphArgs, lab_config::recorded, output};
use crate::{
    models::{
        Spec,
        bdh::{BdhSpec, StateDict, export_state_dict},
    },
    nn::{Device, Tensor},
    store::{self, checkpoint, tensors},
};

#[derive(Args)]
pub struct ExportArgs {
    /// A run folder; for --gexf and --graphml also a trained BDH (.safetensors, .pt, .pth)
    run: PathBuf,
    /// Write all scalars into this CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write every measurement into this folder, a CSV a channel, one row a value
    #[arg(long, value_name = "DIR")]
    samples: Option<PathBuf>,
    /// Write TensorBoard event files into this folder, one subfolder a variant
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<PathBuf>,
    /// Write the weights of the newest checkpoint into this file, a BDH's under the names of its public code
    #[arg(long, value_name = "FILE")]
    safetensors: Option<PathBuf>,
    /// Whose weights, where a run has several models
    #[arg(long, value_name = "ID")]
    variant: Option<String>,
    #[command(flatten)]
    graph: GraphArgs,
}

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let records = [&args.csv, &args.samples, &args.tensorboard, &args.safetensors];
    let of_record = records.iter().any(|path| path.is_some());
    if !of_record && !args.graph.is_wanted() {
        let words = "say what to write: --csv FILE, --samples DIR, --tensorboard DIR, --safetensors FILE, --gexf FILE, --graphml FILE";
        return Err(Failure::usage(words));
    }
    let graphs = [&args.graph.gexf, &args.graph.graphml];
    records.into_iter().chain(graphs).flatten().try_for_each(|path| output::check(path, &[&args.run]))?;
    if args.graph.is_wanted() {
        args.graph.write(&args.run, args.variant.as_deref())?;
    }
    if !of_record {
        return Ok(());
    }
    let words = |e: store::StoreError| Failure::failed(e);
    store::summary(&args.run).map_err(Failure::wrong)?;
    if let Some(file) = &args.csv {
        store::export::csv(&args.run, file).map_err(words)?;
        println!("{}", file.display());
    }
    if let Some(dir) = &args.samples {
        for file in store::export::samples(&args.run, dir).map_err(words)? {
            println!("{}", file.display());
        }
    }
    if let Some(dir) = &args.tensorboard {
        store::export::tensorboard(&args.run, dir).map_err(words)?;
        println!("{}", dir.display());
    }
    if let Some(file) = &args.safetensors {
        let Model { spec, weights, .. } = newest(&args.run, args.variant.as_deref())?;
        let StateDict { tensors, metadata } = match spec {
            Spec::Bdh(spec) => state_dict_of(&spec, &weights)?,
            _ => StateDict { tensors: weights, metadata: vec![] },
        };
        tensors::write(file, &tensors, &metadata).map_err(words)?;
        println!("{}", file.display());
    }
    Ok(())
}

/// A trained model of a run.
pub struct Model {
    pub spec: Spec,
    pub weights: Vec<(String, Tensor)>,
}

/// The weights in a run's newest checkpoint, of the named variant or the only one.
pub fn newest(run: &Path, variant: Option<&str>) -> Result<Model, Failure> {
    let words = |e: &dyn std::fmt::Display| Failure::usage(e.to_string());
    let (lab, config) = recorded(run)?;
    let plan = (lab.plan)(&config)?;
    let loaded = checkpoint::load(run, &Device::Cpu).map_err(|e| words(&e))?;
    let loaded = loaded.ok_or_else(|| {
        Failure::usage(format!("{} has no checkpoint yet; `orrery resume` makes one at its end", run.display()))
    })?;
    let ids = || plan.variants.iter().map(|v| v.id.as_str()).collect::<Vec<_>>().join(", ");
    let of_variant = |id: &str| plan.variants.iter().find(|v| v.id == id);
    let chosen = match (variant, plan.variants.as_slice()) {
        (Some(id), _) => of_variant(id),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let chosen = chosen.ok_or_else(|| Failure::usage(format!("say whose weights: --variant ID, one of {}", ids())))?;
    let kept = loaded.checkpoint.variants.into_iter().find(|v| v.id == chosen.id);
    let kept = kept.ok_or_else(|| Failure::usage(format!("the checkpoint does not hold `{}`", chosen.id)))?;
    Ok(Model { spec: chosen.model.clone(), weights: kept.weights })
}

pub fn state_dict_of(spec: &BdhSpec, weights: &[(String, Tensor)]) -> Result<StateDict, Failure> {
    let words = |e: crate::nn::Error| Failure::usage(e.to_string());
    export_state_dict(&spec.resolved().map_err(words)?, weights).map_err(words)
}
