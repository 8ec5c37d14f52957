//! `orrery model info`: what a trained BDH's file says of the model, without a text.

use std::path::PathBuf;

use clap::Args;

use crate::config::Choice;

use super::{
    failure::Failure,
    trained::{TrainedArgs, grouped},
};

#[derive(Args)]
pub struct InfoArgs {
    /// A trained BDH (.safetensors, .pt, .pth)
    checkpoint: PathBuf,
    #[command(flatten)]
    trained: TrainedArgs,
}

pub fn run(args: &InfoArgs) -> Result<(), Failure> {
    let checkpoint = args.trained.open(&args.checkpoint, None)?;
    let (spec, file) = (&checkpoint.spec, checkpoint.path.display());
    let layers = checkpoint.layers.map_or_else(
        || format!("the file does not say how many; `orrery model eval {file} TEXT` finds out"),
        |layers| layers.to_string(),
    );
    println!("{file}: {} parameters", grouped(spec.parameters(checkpoint.vocab)));
    for (name, value) in [
        ("vocabulary V", checkpoint.vocab.to_string()),
        ("width D", spec.d_model.to_string()),
        ("neurons n", format!("{} in {} heads", grouped(spec.neurons), spec.heads)),
        ("layers L", layers),
        ("residuals", spec.form.id().to_owned()),
        ("position", spec.position.id().to_owned()),
    ] {
        println!("{name:<14}{value}");
    }
    Ok(())
}
