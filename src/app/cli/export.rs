//! `orrery export`: a run's scalars, weights and graph of neurons for other programs.

use super::{
    damage::{self, PartialArgs},
    graph_export::GraphArgs,
    trained_run::{Model, newest_whole, state_dict_of},
};
use crate::{
    cli::prelude::*,
    models::bdh::StateDict,
    store::export::{self, Exported, Record},
};

#[derive(Args)]
pub struct ExportArgs {
    /// A run folder, or a log of another tool (docs/runs.md); for --gexf and --graphml also a trained BDH (.safetensors, .pt, .pth)
    pub(super) run: PathBuf,
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
    /// The variant whose weights or graph are written, if a run has several models
    #[arg(long, value_name = "ID")]
    variant: Option<String>,
    #[command(flatten)]
    partial: PartialArgs,
    #[command(flatten)]
    graph: GraphArgs,
}

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let records = [&args.csv, &args.samples, &args.tensorboard, &args.safetensors];
    let of_record = records.iter().any(|path| path.is_some());
    ensure!(
        of_record || args.graph.is_wanted(),
        "say what to write: --csv FILE, --samples DIR, --tensorboard DIR, --safetensors FILE, --gexf FILE, --graphml \
         FILE"
    );
    let single = || [&args.csv, &args.safetensors, &args.graph.gexf, &args.graph.graphml].into_iter().flatten();
    let folders = || [&args.samples, &args.tensorboard].into_iter().flatten();
    folders().try_for_each(|folder| output::check_folder(folder, &[&args.run]))?;
    // a file may lie in a folder that this export makes
    let is_within = |folder: &Path| single().any(|file| file.parent() == Some(folder));
    let new: Vec<&PathBuf> = folders().filter(|folder| !folder.exists() && is_within(folder)).collect();
    single().try_for_each(|file| match new.iter().any(|folder| file.parent() == Some(folder.as_path())) {
        true => output::check(file, &[&args.run]),
        false => output::check_file(file, &[&args.run]),
    })?;
    output::check_distinct(single().chain(folders()))?;
    if of_record {
        store::summary(&args.run).map_err(Failure::wrong)?;
    }
    let model = || newest_whole(&args.run, args.variant.as_deref(), args.partial);
    // read first: where older weights are refused, nothing is written
    let model = args.safetensors.as_ref().map(|file| model().map(|model| (file, model))).transpose()?;
    new.into_iter().try_for_each(|folder| output::make_folder(folder))?;
    if args.graph.is_wanted() {
        args.graph.write(&args.run, args.variant.as_deref(), args.partial)?;
    }
    if !of_record {
        return Ok(());
    }
    let record = Record { run: &args.run, allows_damage: args.partial.partial };
    let mut lost = Damage::default();
    if let Some(file) = &args.csv {
        lost = export::csv(record, file).map_err(Failure::failed)?.damage;
        print_line!("{}", path_label(file))?;
    }
    if let Some(dir) = &args.samples {
        let Exported { written, damage } = export::samples(record, dir).map_err(Failure::failed)?;
        lost = damage;
        written.iter().try_for_each(|file| print_line!("{}", path_label(file)))?;
    }
    if let Some(dir) = &args.tensorboard {
        let Exported { written, damage } = export::tensorboard(record, dir).map_err(Failure::failed)?;
        lost = damage;
        match written.is_empty() {
            true => notice!("{} has recorded no steps: nothing is written for TensorBoard", args.run.display()),
            false => print_line!("{}", path_label(dir))?,
        }
    }
    damage::report(&args.run, &lost);
    if let Some((file, Model { spec, weights, window })) = model {
        let StateDict { tensors, metadata } = match spec {
            ModelSpec::Bdh(spec) => state_dict_of(&spec, &weights)?.with_window(window),
            _ => StateDict { tensors: weights, metadata: vec![] },
        };
        tensors::write(file, &tensors, &metadata).map_err(Failure::failed)?;
        print_line!("{}", path_label(file))?;
    }
    Ok(())
}
