//! Defines the arguments of commands that read a trained BDH from a file, and opens the file according to them.

use super::process::cores;
use crate::{
    cli::prelude::*,
    corpus::{TokenizerChoice, TokenizerError, TokenizerKind, fitting_tokenizers},
    models::{
        bdh::{Bdh, BdhSpec, Checkpoint, Form, Position},
        capabilities::{KnownNumber, RecordingError},
    },
    nn::device,
    probe::synapses::{CandidateChoice, ChoiceError, ComparedWindows, KnownFacts, choose},
    telemetry::measurements::Evidence,
    ui::widgets::number::grouped_by,
};

/// The longest text that is read whole.
const MAX_TEXT: u64 = 4 << 30;

#[derive(Args)]
pub struct TrainedArgs {
    /// The kind of token; if not given, every kind that fits the model is tried
    #[arg(long, value_parser = one_by_name(&TOKENIZERS), value_name = "KIND")]
    tokenizer: Option<TokenizerKind>,
    /// The characters that the model knows: a .json list, a .json object from character to id (or one with `stoi`),
    /// nanoGPT's meta.pkl, or the text that it was trained on
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,
    /// The model's Hugging Face tokenizer.json
    #[arg(long, value_name = "FILE")]
    tokenizer_json: Option<PathBuf>,
    /// The form of the residuals, if the file does not state it
    #[arg(long, value_parser = one_by_id(&Form::ALL))]
    form: Option<Form>,
    /// How positions enter attention, if the file does not state it
    #[arg(long, value_parser = one_by_id(&Position::ALL))]
    position: Option<Position>,
    /// Device: auto, cpu, cuda:0, metal
    #[arg(long, default_value = "cpu")]
    device: String,
}

#[derive(Args)]
pub struct ReadArgs {
    /// A trained BDH (.safetensors, .pt, .pth)
    pub checkpoint: PathBuf,
    /// The text to read
    pub text: PathBuf,
    /// Layers of a file that does not say how many it has; if not given, 1 to 12 are tried
    #[arg(long, value_name = "N", value_parser = layers)]
    layers: Option<usize>,
    #[arg(long = "depth", hide = true, value_parser = depth)]
    _depth: Option<usize>,
    #[command(flatten)]
    trained: TrainedArgs,
}

impl ReadArgs {
    /// The files that the command reads, which none may be written over.
    pub fn files(&self) -> [&Path; 2] {
        [&self.checkpoint, &self.text]
    }

    /// Checks that the command can write this table, before anything is computed.
    pub fn check_table(&self, file: Option<&Path>) -> Result<(), Failure> {
        file.map_or(Ok(()), |file| output::check_file(file, &self.files()))
    }

    /// Writes a table if it is wanted, and prints its name.
    pub fn write_table(&self, file: Option<&Path>, table: impl FnOnce() -> Table) -> Result<(), Failure> {
        let Some(file) = file else { return Ok(()) };
        output::write(file, table().finish().as_bytes(), &self.files())?;
        print_line!("{}", path_label(file))
    }

    /// The model as it fits the text best, and the text's bytes.
    pub fn open(&self) -> Result<(FittedCheckpoint, Vec<u8>), Failure> {
        let checkpoint = self.trained.open(&self.checkpoint, self.layers)?;
        let text = text(&self.text)?;
        Ok((self.trained.choose(checkpoint, &text, self.layers)?, text))
    }
}

/// The kinds of token that a vocabulary may have, with their names and descriptions.
const TOKENIZERS: [(TokenizerKind, &str, &str); 4] = [
    (TokenizerKind::Byte, "byte", ""),
    (TokenizerKind::SortedChar, "sorted_char", "The distinct characters of the text by code point"),
    (TokenizerKind::Vocabulary, "vocabulary", "The characters of --vocabulary"),
    (TokenizerKind::HuggingFace, "huggingface", "--tokenizer-json"),
];

impl From<TokenizerError> for Failure {
    fn from(e: TokenizerError) -> Self {
        Self::wrong(e)
    }
}

impl From<ChoiceError> for Failure {
    fn from(e: ChoiceError) -> Self {
        if matches!(e, ChoiceError::Failed(_)) { Self::failed(e) } else { Self::wrong(e) }
    }
}

impl From<RecordingError> for Failure {
    fn from(e: RecordingError) -> Self {
        if matches!(e, RecordingError::Failed(_)) { Self::failed(e) } else { Self::wrong(e) }
    }
}

impl TrainedArgs {
    /// Reads the file's weights with a given number of layers, and prints the file's notes.
    pub fn open(&self, path: &Path, layers: Option<usize>) -> Result<Checkpoint, Failure> {
        let device = device::open(&self.device).map_err(Failure::usage)?;
        // nothing else runs in this process, and the results do not depend on the number of threads
        nn::set_threads(cores());
        let mut asked = BdhSpec::default();
        asked.form = self.form.unwrap_or(asked.form);
        asked.position = self.position.unwrap_or(asked.position);
        let checkpoint = Checkpoint::open(path, &asked, &device).map_err(Failure::wrong)?;
        checkpoint.notes.iter().for_each(|note| notice!("note: {note}"));
        if let (Some(KnownNumber { value: said, .. }), Some(asked)) = (checkpoint.facts.layers, layers)
            && said != asked
        {
            notice!("note: the file states {said} layers; {asked} are read as requested");
        }
        Ok(checkpoint)
    }

    /// Chooses the tokens and layers that fit a text best, where neither the file nor the user gives them.
    pub fn choose(
        &self,
        checkpoint: Checkpoint,
        text: &[u8],
        layers: Option<usize>,
    ) -> Result<FittedCheckpoint, Failure> {
        let tokenizers = self.fitting(&checkpoint, text)?;
        let known = KnownFacts::new(&checkpoint.facts, layers);
        let mut choice = choose(|layers| checkpoint.model(layers), &tokenizers, text, &known)?;
        let is_given = self.tokenizer.is_some() || self.vocabulary.is_some() || self.tokenizer_json.is_some();
        if is_given && choice.tokens_from != Evidence::Measured {
            choice.tokens_from = Evidence::Asked;
        }
        choice.warnings.iter().for_each(|words| notice!("warning: {words}"));
        Ok(FittedCheckpoint { checkpoint, tokenizers, choice })
    }

    /// The tokens that the file's model may have been trained with; a list of them beside the file is reported and
    /// used, unless other tokens are asked for.
    pub fn fitting(&self, checkpoint: &Checkpoint, text: &[u8]) -> Result<Vec<NamedTokenizer>, Failure> {
        let is_given = self.vocabulary.is_some() || self.tokenizer_json.is_some();
        let asked = TokenizerChoice {
            kind: self.tokenizer,
            vocabulary: self.vocabulary.clone(),
            json: self.tokenizer_json.clone(),
        };
        let choice = asked.or_tokenizer_beside(&checkpoint.path, checkpoint.vocab);
        let beside = choice.vocabulary.iter().chain(&choice.json).filter(|_| !is_given);
        beside.for_each(|path| notice!("note: {}, beside the checkpoint, lists its tokens", path.display()));
        Ok(fitting_tokenizers(&choice, text, checkpoint.vocab)?)
    }
}

/// A file with the tokens and the number of layers that fit a text best.
pub struct FittedCheckpoint {
    pub checkpoint: Checkpoint,
    pub tokenizers: Vec<NamedTokenizer>,
    pub choice: CandidateChoice,
}

impl FittedCheckpoint {
    pub fn tokenizer(&self) -> &NamedTokenizer {
        &self.tokenizers[self.choice.tokenizer]
    }

    pub fn encode(&self, text: &[u8]) -> Result<Vec<u32>, Failure> {
        self.tokenizer().tokenizer.encode(text).map_err(Failure::wrong)
    }

    /// Encodes like [`FittedCheckpoint::encode`], for the text of a file whose loss is wanted.
    pub fn encode_to_score(&self, text: &[u8], path: &Path) -> Result<Vec<u32>, Failure> {
        let ids = self.encode(text)?;
        let count = ids.len();
        ensure!(count >= 2, "{} has {count} token: a loss needs at least two", path.display());
        Ok(ids)
    }

    pub fn model(&self) -> Result<Bdh, Failure> {
        self.checkpoint.model(self.choice.layers).map_err(Failure::failed)
    }

    /// A description of the model: its sizes, and where the number of layers comes from.
    pub fn described(&self) -> String {
        let layers = KnownNumber { value: self.choice.layers, from: self.choice.layers_from };
        described(&self.checkpoint, layers)
    }

    /// Prints what was chosen from, if anything was, and the model.
    pub fn print(&self) -> Result<(), Failure> {
        self.print_candidates()?;
        print_line!("{}", self.described())
    }

    pub fn print_candidates(&self) -> Result<(), Failure> {
        self.table().map_or(Ok(()), |table| print_line!("{table}"))
    }

    /// The losses of all candidates, and which is used; `None` where there was nothing to choose.
    fn table(&self) -> Option<String> {
        let Self { choice, tokenizers, .. } = self;
        let ComparedWindows { count, length, from } = choice.windows;
        if choice.tried.is_empty() {
            return None;
        }
        let width = tokenizers.iter().map(|t| t.label().chars().count()).max().unwrap_or(0).max("tokens".len());
        let source = match from {
            Evidence::Assumed => "it is not known which ones training used".to_owned(),
            from => format!("those of training, {}", from.label()),
        };
        let mut out = format!("candidates in {count} windows of {length} tokens of the text ({source})\n");
        let _ = writeln!(out, "{:<width$}  layers   nats/token      error  bits/byte", "tokens");
        for one in &choice.tried {
            let name = tokenizers[one.tokenizer].label();
            let (nats, error, bits) = (one.loss.nats_per_token(), one.loss.error(), one.loss.bits_per_byte());
            let error = if error.is_finite() { format!("{error:.4}") } else { "-".to_owned() };
            let mark = match (choice.is_chosen(one), one.is_close) {
                (true, _) => "  used",
                (_, true) => "  close",
                _ => "",
            };
            let _ = writeln!(out, "{name:<width$} {:>7} {nats:>12.4} {error:>10} {bits:>10.4}{mark}", one.layers);
        }
        Some(out)
    }
}

pub fn layers(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (1..=1024).contains(n));
    number.ok_or_else(|| match text.contains(',') {
        true => format!("it is the number of the model's layers; the layers to write are named by `--layer {text}`"),
        false => "the number of layers goes from 1 to 1024".to_owned(),
    })
}

/// The earlier name of `--layers`.
pub fn depth(text: &str) -> Result<usize, String> {
    Err(format!("`--depth` is now `--layers`: --layers {text}"))
}

pub fn text(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = files::read(path, MAX_TEXT);
    let bytes = read.map_err(|e| usage!("the text {} cannot be read: {e}", path.display()))?;
    ensure!(!bytes.is_empty(), "the text {} is empty: give one with at least two tokens", path.display());
    Ok(bytes)
}

/// A whole number with a comma between thousands.
pub fn grouped(n: usize) -> String {
    grouped_by(n as u64, ',')
}

/// A description of the model: its sizes, and where the number of layers comes from.
pub fn described(checkpoint: &Checkpoint, layers: KnownNumber) -> String {
    let spec = &checkpoint.spec;
    format!(
        "{}: {} parameters, V {}, D {}, n {} in {} heads, {} layers ({})",
        checkpoint.path.display(),
        grouped(spec.parameters(checkpoint.vocab)),
        checkpoint.vocab,
        spec.d_model,
        grouped(spec.neurons),
        spec.heads,
        layers.value,
        layers.from.label()
    )
}
