//! `orrery model info`: what a trained BDH's file says of the model, without a text.

use super::trained::{TrainedArgs, grouped};
use crate::{cli::prelude::*, models::capabilities::KnownNumber, telemetry::measurements::Evidence};

#[derive(Args)]
pub struct InfoArgs {
    /// A trained BDH (.safetensors, .pt, .pth)
    checkpoint: PathBuf,
    #[command(flatten)]
    trained: TrainedArgs,
}

pub fn run(args: &InfoArgs) -> Result<(), Failure> {
    let checkpoint = args.trained.open(&args.checkpoint, None)?;
    let (spec, file) = (&checkpoint.spec, path_label(&checkpoint.path));
    let facts = &checkpoint.facts;
    let word = quoted(&checkpoint.path);
    let unknown = || format!("the file does not say how many; `orrery model eval {word} TEXT` finds out");
    let layers = facts.layers.map_or_else(unknown, number_text);
    let window = facts.window.map_or_else(|| "unknown".to_owned(), number_text);
    print_line!("{file}: {} parameters", grouped(spec.parameters(checkpoint.vocab)))?;
    for (name, value) in [
        ("vocabulary V", checkpoint.vocab.to_string()),
        ("width D", spec.d_model.to_string()),
        ("neurons n", format!("{} in {} heads", grouped(spec.neurons), spec.heads)),
        ("layers L", layers),
        ("window T", window),
        ("residuals", spec.form.id().to_owned()),
        ("position", spec.position.id().to_owned()),
    ] {
        print_line!("{name:<14}{value}")?;
    }
    Ok(())
}

/// A number from the file; if it comes from a file beside it, that is added.
fn number_text(known: KnownNumber) -> String {
    match known.from {
        Evidence::File => known.value.to_string(),
        from => format!("{} ({})", known.value, from.label()),
    }
}
