//! `orrery model eval`: what a text costs a trained BDH, as a number and token by token.

use super::{
    progress::StepProgress,
    trained::{ReadArgs, grouped},
};
use crate::{
    cli::prelude::*,
    models::capabilities::{ReadingForm, TextLoss, TextReader},
};

#[derive(Args)]
pub struct EvalArgs {
    #[command(flatten)]
    read: ReadArgs,
    /// Read in windows of this many tokens, each from an empty state; without it, as one stream
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    window: Option<u64>,
    /// Write position, token and loss (nats) of every token into this CSV file
    #[arg(long, value_name = "FILE")]
    per_token: Option<PathBuf>,
}

pub fn run(args: &EvalArgs) -> Result<(), Failure> {
    args.read.check_table(args.per_token.as_deref())?;
    let (chosen, text) = args.read.open()?;
    let form = args.window.map_or(ReadingForm::Streamed, |n| ReadingForm::Windows(n as usize));
    chosen.print_candidates()?;
    let tokenizer = chosen.tokenizer();
    let ids = chosen.encode_to_score(&text, &args.read.text)?;
    let model = chosen.model()?;
    let uniform = (chosen.checkpoint.vocab as f64).ln();
    let mut progress = StepProgress::new("reading, one step per token", ids.len() as u64 - 1);
    let nats =
        TextReader::new(&model).token_losses(&ids, form, &mut |n| progress.step(n as u64)).map_err(Failure::failed)?;
    if let Some(at) = nats.iter().position(|v| !v.is_finite()) {
        let words = format!("the loss of token {} is {}: the weights overflow on this text", at + 1, nats[at]);
        return Err(Failure::run(words));
    }
    let loss = TextLoss::new(&ids, tokenizer.scored_bytes(&ids, &text), nats.iter().sum());
    print_line!("{}", chosen.described())?;
    print_line!(
        "{}: {} bytes, {} tokens ({}); {} scored, all but the first",
        path_label(&args.read.text),
        grouped(text.len()),
        grouped(ids.len()),
        tokenizer.label(),
        grouped(loss.tokens)
    )?;
    print_line!("read {form}")?;
    print_line!(
        "loss {:.6} nats per token, {:.6} bits per byte (uniform guessing: {:.3} nats)",
        loss.nats_per_token(),
        loss.bits_per_byte(),
        uniform
    )?;
    if loss.nats_per_token() > uniform {
        print_line!("this is worse than guessing: most likely the model was trained with other tokens or layers")?;
    }
    args.read.write_table(args.per_token.as_deref(), || per_token(tokenizer, &ids, &nats))
}

/// Every token with its place from 0; the first has no loss.
fn per_token(tokenizer: &NamedTokenizer, ids: &[u32], nats: &[f64]) -> Table {
    let losses = [&[f64::NAN][..], nats].concat();
    Table::per_token(ids.iter().map(|id| tokenizer.tokenizer.token_text(*id)), &[("loss", &losses[..])])
}
