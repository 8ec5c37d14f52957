//! `orrery model generate`: text that a trained BDH writes after a prompt.

use super::trained::{self, TrainedArgs};
use crate::{
    cli::prelude::*,
    corpus::TextTokenizer,
    models::capabilities::{Sampling, generate},
    probe::synapses::KnownFacts,
};

#[derive(Args)]
pub struct GenerateArgs {
    /// A trained BDH (.safetensors, .pt, .pth)
    checkpoint: PathBuf,
    /// The text to begin with
    prompt: String,
    /// How many tokens to write
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    tokens: u64,
    /// Divides the logits; 0 always takes the likeliest token
    #[arg(long, default_value_t = 1.0)]
    temperature: f64,
    /// Seed of the draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Layers of a file that does not say how many it has
    #[arg(long, value_name = "N", value_parser = trained::layers)]
    layers: Option<usize>,
    #[command(flatten)]
    trained: TrainedArgs,
}

/// Tokens of one character at most.
const LONGEST_CHAR: usize = 8;
/// Tokens before those that are shown: some decoders put a space between two.
const CONTEXT_TOKENS: usize = 4;

/// Prints text to standard output as it is generated, one complete character at a time.
struct Printer<'a> {
    tokenizer: &'a TextTokenizer,
    /// The token ids of the prompt, followed by the generated ones.
    ids: Vec<u32>,
    shown: usize,
    /// The error with which standard output refused the text, after which nothing more is printed.
    failure: Option<Failure>,
}

impl Printer<'_> {
    fn show(&mut self, bytes: &[u8]) -> bool {
        self.failure = output::print(bytes).err();
        self.failure.is_none()
    }

    /// Shows the token, unless it is a part of a character; returns true if more can be shown.
    fn add(&mut self, id: u32) -> bool {
        self.ids.push(id);
        let bytes = self.context_bytes();
        if is_cut(&bytes) && self.ids.len() - self.shown < LONGEST_CHAR {
            return true;
        }
        self.shown = self.ids.len();
        self.show(&bytes)
    }

    fn show_rest(&mut self) {
        let rest = self.context_bytes();
        if self.failure.is_none() && self.show(&rest) {
            self.show(b"\n");
        }
    }

    /// The bytes that the ids that are not shown add to those before them.
    fn context_bytes(&self) -> Vec<u8> {
        let from = self.shown.saturating_sub(CONTEXT_TOKENS);
        let before = self.tokenizer.decode(&self.ids[from..self.shown]);
        let all = self.tokenizer.decode(&self.ids[from..]);
        let added = all.strip_prefix(before.as_slice()).map(<[u8]>::to_vec);
        added.unwrap_or_else(|| self.tokenizer.decode(&self.ids[self.shown..]))
    }
}

/// True if the text ends inside a character.
fn is_cut(bytes: &[u8]) -> bool {
    bytes.ends_with("\u{fffd}".as_bytes()) || bytes.utf8_chunks().any(|chunk| !chunk.invalid().is_empty())
}

pub fn run(args: &GenerateArgs) -> Result<(), Failure> {
    ensure!(
        args.temperature.is_finite() && args.temperature >= 0.0,
        "--temperature is a number from 0, not {}",
        args.temperature
    );
    ensure!(!args.prompt.is_empty(), "the prompt is empty: the first token needs one before it");
    let checkpoint = args.trained.open(&args.checkpoint, args.layers)?;
    let Some(layers) = KnownFacts::new(&checkpoint.facts, args.layers).layers else {
        return Err(usage!(
            "{} does not say how many layers its model has: give --layers (`orrery model eval` on a text finds out)",
            args.checkpoint.display()
        ));
    };
    let tokenizers = args.trained.fitting(&checkpoint, args.prompt.as_bytes())?;
    // a file given by the user comes last and is preferred to bytes
    let Some(tokenizer) = tokenizers.last() else { return Err(Failure::usage("no tokens fit the model")) };
    notice!("{}", trained::described(&checkpoint, layers));
    notice!("tokens: {}", tokenizer.label());
    let prompt = tokenizer.tokenizer.encode(args.prompt.as_bytes()).map_err(Failure::wrong)?;
    let model = checkpoint.model(layers.value).map_err(Failure::failed)?;
    let mut printer =
        Printer { tokenizer: &tokenizer.tokenizer, ids: prompt.clone(), shown: prompt.len(), failure: None };
    let (began, mut first) = (Instant::now(), None);
    if printer.show(args.prompt.as_bytes()) {
        let sampling = Sampling { temperature: args.temperature, seed: args.seed };
        let count = args.tokens as usize;
        let result = generate(&model, &prompt, count, sampling, tokenizer.decodable_vocab(), &mut |id| {
            first.get_or_insert_with(Instant::now);
            printer.add(id)
        });
        result.map_err(Failure::failed)?;
        printer.show_rest();
    }
    if let Some(failure) = printer.failure {
        return Err(failure);
    }
    let written = printer.ids.len() - prompt.len();
    let read = first.map_or(0.0, |at| (at - began).as_secs_f64());
    let wrote = first.map_or(0.0, |at| at.elapsed().as_secs_f64());
    notice!(
        "{} tokens read in {read:.2} s; {written} written, {:.1} tokens/s",
        prompt.len(),
        written.saturating_sub(1) as f64 / wrote.max(1e-9)
    );
    Ok(())
}
