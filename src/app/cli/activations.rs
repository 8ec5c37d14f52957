//! `orrery model activations`: what a trained BDH's neurons do while it reads a text, as tensors for other programs.

use super::trained::{ReadArgs, grouped};
use crate::{
    cli::prelude::*,
    models::capabilities::{Recording, record},
    store::npz,
};

#[derive(Args)]
pub struct ActivationArgs {
    /// The file to write: .safetensors or .npz
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Arrays to write: x and y (heads, tokens, neurons a head), sigma (heads, neurons a head, neurons a head) after
    /// the text, logits (tokens, vocabulary)
    #[arg(long, value_enum, value_delimiter = ',', default_value = "x,y")]
    what: Vec<ActivationKind>,
    /// Layers to write, counted from 0; all if not given
    #[arg(long, value_delimiter = ',', value_name = "LAYERS")]
    layer: Vec<usize>,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ActivationKind {
    X,
    Y,
    Sigma,
    Logits,
}

/// The formats.
enum Format {
    Safetensors,
    Npz,
}

pub fn run(args: &ActivationArgs) -> Result<(), Failure> {
    let format = match args.out.extension().and_then(|e| e.to_str()) {
        Some("safetensors") => Format::Safetensors,
        Some("npz") => Format::Npz,
        _ => {
            return Err(Failure::usage(format!("{} should end in .safetensors or .npz", args.out.display())));
        }
    };
    output::check(&args.out, &args.read.files())?;
    let (chosen, text) = args.read.open()?;
    let tokenizer = chosen.tokenizer();
    let ids = chosen.encode(&text)?;
    let model = chosen.model()?;
    let wants = |what: ActivationKind| args.what.contains(&what);
    let recording = Recording {
        x: wants(ActivationKind::X),
        y: wants(ActivationKind::Y),
        sigma: wants(ActivationKind::Sigma),
        logits: wants(ActivationKind::Logits),
        layers: args.layer.clone(),
    };
    let found = record(&model, &ids, &recording)?;
    match format {
        Format::Safetensors => {
            let spec = &chosen.checkpoint.spec;
            let pair = |key: &str, value: String| (key.to_owned(), value);
            let metadata = [
                pair("n_layer", chosen.choice.layers.to_string()),
                pair("n_head", spec.heads.to_string()),
                pair("n_embd", spec.d_model.to_string()),
                pair("tokenizer", tokenizer.label()),
            ];
            tensors::write(&args.out, &found, &metadata).map_err(Failure::failed)?;
        }
        Format::Npz => npz::write(&args.out, &found).map_err(Failure::failed)?,
    }
    chosen.print()?;
    print_line!("{} tokens ({})", grouped(ids.len()), tokenizer.label())?;
    for (name, tensor) in &found {
        print_line!("{name} {:?}", tensor.dims())?;
    }
    print_line!("{}", args.out.display())
}
