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
    /// Arrays to write: x and y (heads, tokens, neurons per head), sigma (heads, neurons per head, neurons per head) after
    /// the text, logits (tokens, vocabulary)
    #[arg(long, value_parser = ["x", "y", "sigma", "logits"], value_delimiter = ',', default_value = "x,y")]
    what: Vec<String>,
    /// Layers to write, counted from 0; all if not given
    #[arg(long, value_delimiter = ',', value_name = "LAYERS")]
    layer: Vec<usize>,
    #[command(flatten)]
    read: ReadArgs,
}

pub fn run(args: &ActivationArgs) -> Result<(), Failure> {
    let is_npz = match args.out.extension().and_then(|e| e.to_str()) {
        Some("safetensors") => false,
        Some("npz") => true,
        _ => return Err(usage!("{} should end in .safetensors or .npz", args.out.display())),
    };
    output::check_file(&args.out, &args.read.files())?;
    let (chosen, text) = args.read.open()?;
    let tokenizer = chosen.tokenizer();
    let ids = chosen.encode(&text)?;
    let model = chosen.model()?;
    let wants = |what: &str| args.what.iter().any(|wanted| wanted == what);
    let recording = Recording {
        x: wants("x"),
        y: wants("y"),
        sigma: wants("sigma"),
        logits: wants("logits"),
        layers: args.layer.clone(),
    };
    let found = record(&model, &ids, &recording)?;
    match is_npz {
        true => npz::write(&args.out, &found).map_err(Failure::failed)?,
        false => {
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
    }
    chosen.print()?;
    print_line!("{} tokens ({})", grouped(ids.len()), tokenizer.label())?;
    found.iter().try_for_each(|(name, tensor)| print_line!("{name} {:?}", tensor.dims()))?;
    print_line!("{}", path_label(&args.out))
}
