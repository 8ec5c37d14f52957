//! `orrery export`: a run's scalars for other programs.

use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use crate::store;

#[derive(Args)]
pub struct ExportArgs {
    /// A run folder
    run: PathBuf,
    /// Write all scalars into this CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write TensorBoard event files into this folder, one subfolder a variant
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<PathBuf>,
}

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    if args.csv.is_none() && args.tensorboard.is_none() {
        return Err(Failure::usage("say what to write: --csv FILE, --tensorboard DIR, or both"));
    }
    let words = |e: store::StoreError| Failure::usage(e.to_string());
    if let Some(file) = &args.csv {
        store::export::csv(&args.run, file).map_err(words)?;
        println!("{}", file.display());
    }
    if let Some(dir) = &args.tensorboard {
        store::export::tensorboard(&args.run, dir).map_err(words)?;
        println!("{}", dir.display());
    }
    Ok(())
}
