//! Bytes to ids to batches: text files, tokenisers and generated text. Plain numbers: no tensor.
//!
//! A corpus is its text, cut once into a training part and a held-out part, and a tokeniser. Windows
//! are read out of the text when they are asked for, so a file may be larger than the memory; which
//! window comes when is a keyed permutation, so a batch is a pure function of its position. Tasks
//! ([`Task`]) have no text: their windows are made to order.

pub mod generated;
mod permutation;
mod steering;
mod subword;
mod task;
mod text_file;
mod tokenizer;
mod visible;
mod windows;

use generated::parliament::Extent;
use serde::{Deserialize, Serialize};
use text_file::{Encoding, TextFile};
use tokenizer::Tokenizer;
use windows::Part;

/// What to train on: plain data, enough to open the corpus again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    pub source: Source,
    pub tokenizer: TokenizerSpec,
    /// The last fraction of the text is held out (0.1 for the paper's tenth).
    pub held_out: f64,
    /// Of the generated text, not of the batches.
    pub seed: u64,
}

impl Spec {
    /// Whether the text file, if it names one, can be read at all: a quick look, without tokenising.
    pub fn check_file(&self) -> Result<(), CorpusError> {
        match &self.source {
            Source::File(path) => TextFile::open(path).map(drop),
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Generated: an id of [`generated::CORPORA`]; a task opens with its own settings.
    Generated(String),
    /// So much of the parliament.
    Parliament(Extent),
    /// A task with settings of one's choice.
    Task(Task),
    /// A steering run: the language `steering` first, then prompts to steer at.
    Steering(Steering),
    /// A text file of any size.
    File(std::path::PathBuf),
}

/// A steering run of two stages; see [`generated::steering`]. A batch whose number
/// ([`Position::drawn`]) is below `language_batches` is the language with every id a target; all later
/// ones have targets only where the steering is asked for, and no held-out noun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steering {
    pub language_batches: u64,
    /// Steer at this one prompt (as the source's demonstration did) rather than at many.
    pub prompt: Option<String>,
}

/// A task: a fact stated at the start of each window and asked for far later. Best read by
/// [`TokenizerSpec::Word`], one id a word or symbol; distances are counted in ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// `facts` or `facts_symbols`.
    pub id: String,
    /// The fewest ids between a statement of the fact and the next question; 0 for the task's own (36 in
    /// the story, 32 in symbols: both beyond three passes of attention over 8 ids, which reach 21).
    pub spacing: usize,
    /// Only answers are targets; everything else is `u32::MAX`.
    pub answers_only: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenizerSpec {
    /// Bytes; `vocab` >= 256 (the paper pads to 320).
    Byte { vocab: usize },
    /// Characters of the training part by frequency, at most this many, one for all others.
    Char { max_vocab: usize },
    /// Words and marks of the training part by frequency, at most this many, one for all others. White
    /// space but line breaks is not kept.
    Word { max_vocab: usize },
    /// As `Word`, but white space is kept, each a token of its own: what comes after a word is then a bare
    /// space, whatever word is to come.
    Spaced { max_vocab: usize },
    /// Byte-pair encoding trained on the training part.
    Bpe { vocab: usize },
    /// A Hugging Face `tokenizer.json`.
    HuggingFace(std::path::PathBuf),
}

/// An error in words: what, where, what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct CorpusError(pub String);

/// Rows of ids: `inputs` and `targets` hold `rows * len` values each; a target may be `u32::MAX`
/// (asks nothing).
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    pub rows: usize,
    pub len: usize,
    pub inputs: Vec<u32>,
    pub targets: Vec<u32>,
    /// Of a task: true where the target answers a question; same shape as `targets`.
    pub answers: Option<Vec<bool>>,
}

/// Where a batch stream stands; enough to go on exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Position {
    pub seed: u64,
    /// Batches drawn so far.
    pub drawn: u64,
}

/// An opened corpus.
pub struct Corpus {
    name: String,
    tokenizer: Tokenizer,
    body: Body,
    parliament: Option<Extent>,
}

enum Body {
    Text { text: TextFile, split: usize, bytes_per_id: f64 },
    Task(task::Stream),
    Steering(steering::Stream),
}

impl Corpus {
    /// Opens (maps, generates, trains the tokeniser). Errors: missing, empty, binary, too short, a
    /// fraction or vocabulary out of range, an unknown id, an invalid tokenizer.json.
    pub fn open(spec: &Spec) -> Result<Self, CorpusError> {
        if !(spec.held_out > 0.0 && spec.held_out <= 0.9) {
            return Err(CorpusError(format!(
                "The held-out fraction must be above 0 and at most 0.9, not {}: 0.1 holds out the last tenth.",
                spec.held_out
            )));
        }
        let mut parliament = None;
        let (name, text) = match &spec.source {
            Source::Task(task) => return Self::open_task(task, spec),
            Source::Steering(steering) => {
                let stream = steering::Stream { spec: steering.clone(), seed: spec.seed };
                let tokenizer = Tokenizer::open(&spec.tokenizer, Encoding::Utf8, || stream.sample())?;
                return Ok(Self {
                    name: "steering (generated)".into(),
                    tokenizer,
                    body: Body::Steering(stream),
                    parliament,
                });
            }
            Source::Generated(id) => match generated::by_id(id) {
                Some(made) if made.is_task() => {
                    return Self::open_task(&Task { id: id.clone(), spacing: 0, answers_only: true }, spec);
                }
                Some(made) => {
                    parliament = made.extent();
                    (format!("{id} (generated)"), TextFile::made(made.text(spec.seed, generated::SIZE)))
                }
                None => return Err(unknown(id, |_| true)),
            },
            Source::Parliament(extent) => {
                parliament = Some(extent.clamped());
                let text = generated::part_of_parliament(spec.seed, generated::SIZE, extent);
                ("part of parliament (generated)".into(), TextFile::made(text))
            }
            Source::File(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                (name, TextFile::open(path)?)
            }
        };
        let split = windows::split(text.bytes(), text.encoding, spec.held_out);
        let train = &text.bytes()[..split];
        let tokenizer = Tokenizer::open(&spec.tokenizer, text.encoding, || windows::sample(train, text.encoding))?;
        let bytes_per_id = windows::bytes_per_id(train, text.encoding, &tokenizer)?;
        Ok(Self { name, tokenizer, body: Body::Text { text, split, bytes_per_id }, parliament })
    }

    fn open_task(task: &Task, spec: &Spec) -> Result<Self, CorpusError> {
        let kind = generated::by_id(&task.id)
            .and_then(generated::Generated::task)
            .ok_or_else(|| unknown(&task.id, generated::Generated::is_task))?;
        let stream = task::Stream::new(kind, task, spec.seed);
        let tokenizer = Tokenizer::open(&spec.tokenizer, Encoding::Utf8, || stream.sample())?;
        Ok(Self { name: format!("{} (generated)", task.id), tokenizer, body: Body::Task(stream), parliament: None })
    }

    /// "mixture (generated)", or the file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// In words: "mixture (generated), 1.4 MB, bytes".
    pub fn describe(&self) -> String {
        let size = match &self.body {
            Body::Task(stream) => stream.describe(),
            Body::Steering(stream) => stream.describe(),
            Body::Text { text, .. } => {
                let size = readable_size(text.bytes().len());
                if text.encoding == Encoding::Latin1 { format!("{size}, {}", text.encoding.name()) } else { size }
            }
        };
        format!("{}, {size}, {}", self.name, self.tokenizer.describe())
    }

    /// How much of the parliament the text has, if it is one.
    pub fn parliament(&self) -> Option<Extent> {
        self.parliament
    }

    /// The share of questions that guessing answers rightly, if this corpus asks any.
    pub fn guess(&self) -> Option<f64> {
        match &self.body {
            Body::Task(stream) => Some(stream.guess()),
            Body::Text { .. } | Body::Steering(_) => None,
        }
    }

    pub fn vocab(&self) -> usize {
        self.tokenizer.vocab()
    }

    /// Text to ids; what the tokeniser cannot say becomes its unknown id. Empty when a tokenizer.json
    /// has no unknown id to say it with.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text).unwrap_or_default()
    }

    pub fn decode(&self, ids: &[u32]) -> String {
        self.tokenizer.decode(ids)
    }

    /// How one id is shown on a token axis (a space as a visible mark, a newline as its sign).
    pub fn token_text(&self, id: u32) -> String {
        self.tokenizer.token_text(id)
    }

    /// The batch at this position of the training part: `rows` windows of `len` ids; a pure function of (position, rows,
    /// len), so that any run can be resumed exactly. Within an epoch (as long as `rows` and `len` stay)
    /// no window comes twice; each epoch cuts the text elsewhere. Errors when the text is shorter than a
    /// window, or the file has been cut since it was opened.
    pub fn batch(&self, at: &Position, rows: usize, len: usize) -> Result<Windows, CorpusError> {
        let ids = match &self.body {
            Body::Text { text, split, bytes_per_id } => {
                text.still_there()?;
                let part = self.part(&text.bytes()[..*split], "training", text.encoding, *bytes_per_id);
                part.batch(at, rows, len)?
            }
            Body::Task(stream) => return stream.batch(&self.tokenizer, at, rows, len),
            Body::Steering(stream) => return stream.batch(&self.tokenizer, at, rows, len),
        };
        Ok(Windows::from_rows(&ids, len))
    }

    /// As [`Corpus::batch`], but each row goes on where the batch before has left it, over `every` batches;
    /// then all rows begin elsewhere. Tasks have windows that nothing follows, and are refused.
    pub fn batch_along(&self, at: &Position, rows: usize, len: usize, every: u64) -> Result<Windows, CorpusError> {
        let Body::Text { text, split, bytes_per_id } = &self.body else {
            return Err(CorpusError(format!(
                "{} is made window by window, so that no batch goes on where another ended: choose a text, or carry no state.",
                self.name
            )));
        };
        text.still_there()?;
        let part = self.part(&text.bytes()[..*split], "training", text.encoding, *bytes_per_id);
        let every = every.max(1);
        let whole = usize::try_from(every).ok().and_then(|n| n.checked_mul(len)).unwrap_or(usize::MAX / 4);
        let stretches = part.batch(&Position { seed: at.seed, drawn: at.drawn / every }, rows, whole)?;
        let from = (at.drawn % every) as usize * len;
        let ids: Vec<Vec<u32>> = stretches.into_iter().map(|row| row[from..=from + len].to_vec()).collect();
        Ok(Windows::from_rows(&ids, len))
    }

    /// The first `count` held-out windows (fewer if there are fewer; at least one or an error).
    pub fn held_out(&self, count: usize, len: usize) -> Result<Windows, CorpusError> {
        let ids = match &self.body {
            Body::Text { text, split, bytes_per_id } => {
                text.still_there()?;
                let part = self.part(&text.bytes()[*split..], "held-out", text.encoding, *bytes_per_id);
                part.first(count.max(1), len)?
            }
            Body::Task(stream) => return stream.held_out(&self.tokenizer, count.max(1), len),
            Body::Steering(stream) => return stream.held_out(&self.tokenizer, count.max(1), len),
        };
        Ok(Windows::from_rows(&ids, len))
    }

    /// A held-out passage to look at, about `len` ids, beginning at a sentence; `index` picks which.
    pub fn passage(&self, index: u64, len: usize) -> Vec<u32> {
        match &self.body {
            Body::Text { text, split, bytes_per_id } if text.still_there().is_ok() => {
                self.part(&text.bytes()[*split..], "held-out", text.encoding, *bytes_per_id).passage(index, len)
            }
            Body::Text { .. } => vec![],
            Body::Task(stream) => stream.passage(&self.tokenizer, index, len),
            Body::Steering(stream) => stream.passage(&self.tokenizer, index, len),
        }
    }

    fn part<'a>(&'a self, bytes: &'a [u8], what: &'static str, encoding: Encoding, bytes_per_id: f64) -> Part<'a> {
        Part { name: &self.name, what, bytes, encoding, tokenizer: &self.tokenizer, bytes_per_id }
    }
}

impl Windows {
    /// Rows of `len + 1` ids into inputs and targets, shifted by one.
    fn from_rows(rows: &[Vec<u32>], len: usize) -> Self {
        let inputs = rows.iter().flat_map(|r| &r[..len]).copied().collect();
        let targets = rows.iter().flat_map(|r| &r[1..=len]).copied().collect();
        Self { rows: rows.len(), len, inputs, targets, answers: None }
    }
}

fn unknown(id: &str, of: fn(&generated::Generated) -> bool) -> CorpusError {
    let known: Vec<&str> = generated::CORPORA.iter().filter(|c| of(c)).map(|c| c.id).collect();
    CorpusError(format!("There is no generated corpus `{id}`: choose one of {}.", known.join(", ")))
}

/// Bytes in words, as disks count them.
fn readable_size(bytes: usize) -> String {
    let bytes = bytes as f64;
    match bytes {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.0} kB", b / 1e3),
        b => format!("{b:.0} bytes"),
    }
}
