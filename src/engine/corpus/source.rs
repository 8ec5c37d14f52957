//! The sources of a corpus: one variant for each kind, each opened as a stream by its own file.

use std::path::PathBuf;

use super::{
    CorpusError, CorpusSpec, folder,
    generated::{self, Generated, domains, parliament::Extent},
    grammar::{GrammarRoles, SentenceStream},
    labels::{LabelStream, Labels},
    recall::RecallStream,
    steering::{self, Steering},
    stream::Stream,
    task::{self, Task},
    text::Text,
    text_file::TextFile,
};

/// The origin of a corpus's text, as plain data.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum Source {
    /// Generated: an id of [`generated::CORPORA`]; a task opens with its own settings.
    Generated(String),
    /// A part of the parliament.
    Parliament(Extent),
    /// A task with the given settings.
    Task(Task),
    /// A steering run: the language of the corpus `steering` first, then prompts to steer at.
    Steering(Steering),
    /// Sentences whose words have grammatical roles, of a grammar or of a treebank.
    GrammarRoles(GrammarRoles),
    /// Sentences with labels, to be classified.
    Labels(Labels),
    /// A text file of any size.
    File(PathBuf),
    /// The generated domains from the first on, 1 to [`generated::domains::MAX_DOMAINS`] of them.
    Domains(usize),
    /// The text files of a folder as domains, the first ones by name, at most this many.
    Folder { path: PathBuf, domains: usize },
}

pub(super) struct OpenedSource {
    pub name: String,
    pub stream: Box<dyn Stream>,
}

impl Source {
    /// Opens the file or generates the text. Errors: the file cannot be read, or the id is unknown.
    pub(super) fn open(&self, spec: &CorpusSpec) -> Result<OpenedSource, CorpusError> {
        let text = |name: String, text: TextFile| -> Result<OpenedSource, CorpusError> {
            let text = if let Some(bytes) = spec.length { text.beginning(bytes)? } else { text };
            Ok(OpenedSource { name: name.clone(), stream: Box::new(Text::split(name, text, spec.held_out)?) })
        };
        let generated = |id: &str| format!("{id} (generated)");
        let file_name = |path: &PathBuf| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        match self {
            Self::Task(task) => open_task(task, spec.seed),
            Self::Steering(steering) => {
                let stream = steering::SteeringStream { spec: steering.clone(), seed: spec.seed };
                Ok(OpenedSource { name: generated("steering"), stream: Box::new(stream) })
            }
            Self::GrammarRoles(sets) => {
                let own = sets.treebank.as_ref().map(|treebank| file_name(&treebank.path));
                let name = own.unwrap_or_else(|| generated("grammar_roles"));
                Ok(OpenedSource { name, stream: Box::new(SentenceStream::open(sets)?) })
            }
            Self::Labels(labels) => {
                let stream = LabelStream::open(labels, spec.held_out, spec.seed)?;
                Ok(OpenedSource { name: stream.name().to_owned(), stream: Box::new(stream) })
            }
            Self::Generated(id) => match generated::by_id(id) {
                Some(corpus) if corpus.is_task() => {
                    open_task(&Task { id: id.clone(), spacing: 0, answers_only: true }, spec.seed)
                }
                Some(corpus) => text(generated(id), TextFile::from_string(corpus.text(spec.seed, generated::SIZE))),
                None => Err(unknown(id, |_| true)),
            },
            Self::Parliament(extent) => {
                let made = generated::part_of_parliament(spec.seed, generated::SIZE, extent);
                text(generated("part of parliament"), TextFile::from_string(made))
            }
            Self::File(path) => text(file_name(path), TextFile::open(path)?),
            Self::Domains(count) => {
                let count = (*count).clamp(1, domains::MAX_DOMAINS);
                let made = domains::text(spec.seed, generated::SIZE, count);
                text(format!("{count} of {} domains (generated)", domains::MAX_DOMAINS), TextFile::from_string(made))
            }
            Self::Folder { path, domains } => {
                let (name, mixed) = folder::open(path, *domains, spec.seed)?;
                text(name, mixed)
            }
        }
    }

    /// The bytes that its text takes in memory; 0 for windows that are generated on demand, and for a file whose size
    /// cannot be read, because opening that file reports the error.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Task(_) | Self::Steering(_) => 0,
            Self::GrammarRoles(sets) => sets.treebank.as_ref().map_or(0, |treebank| length(&treebank.path)),
            Self::Generated(_) | Self::Parliament(_) | Self::Domains(_) => generated::SIZE as u64,
            Self::Labels(labels) => labels.own.as_deref().map_or(0, length),
            Self::File(path) => length(path),
            Self::Folder { path, .. } => folder::bytes(path),
        }
    }

    pub(super) fn asks_questions(&self) -> bool {
        match self {
            Self::Task(_) | Self::Steering(_) | Self::Labels(_) => true,
            Self::Generated(id) => generated::by_id(id).is_some_and(|c| c.is_task()),
            _ => false,
        }
    }

    /// Returns true if it is one continuous text rather than windows that are generated on demand.
    pub fn is_running_text(&self) -> bool {
        !self.asks_questions() && !matches!(self, Self::GrammarRoles(_))
    }

    /// Returns true if the text is generated; false if any of it comes from a file of the user's.
    pub fn is_generated(&self) -> bool {
        match self {
            Self::Generated(_) | Self::Parliament(_) | Self::Task(_) | Self::Steering(_) | Self::Domains(_) => true,
            Self::GrammarRoles(sets) => sets.treebank.is_none() && sets.own.is_none(),
            Self::Labels(labels) => labels.own.is_none(),
            Self::File(_) | Self::Folder { .. } => false,
        }
    }

    /// Returns true if the text contains this generated domain; false for files, whose domains are unknown.
    pub fn has_domain(&self, domain: usize) -> bool {
        match self {
            Self::Domains(count) => domain < *count,
            Self::Generated(id) => generated::by_id(id).is_some_and(|corpus| corpus.has_domain(domain)),
            Self::Parliament(_) => Generated::has_debates(domain),
            _ => false,
        }
    }

    /// The extent of the parliament in the text, if it is one.
    pub fn parliament(&self) -> Option<Extent> {
        match self {
            Self::Parliament(extent) => Some(extent.clamped()),
            Self::Generated(id) => generated::by_id(id)?.extent(),
            _ => None,
        }
    }

    /// The files that the text depends on.
    ///
    /// # Errors
    /// If a folder cannot be read, or has no files.
    pub fn files(&self) -> Result<Vec<PathBuf>, CorpusError> {
        match self {
            Self::File(path) => Ok(vec![path.clone()]),
            Self::Folder { path, .. } => folder::files(path),
            Self::GrammarRoles(sets) => {
                Ok(sets.own.iter().chain(sets.treebank.iter().map(|treebank| &treebank.path)).cloned().collect())
            }
            Self::Labels(labels) => Ok(labels.own.iter().cloned().collect()),
            Self::Generated(_) | Self::Parliament(_) | Self::Task(_) | Self::Steering(_) | Self::Domains(_) => {
                Ok(vec![])
            }
        }
    }
}

/// Bytes of a file; 0 if it does not exist.
pub(super) fn length(path: &std::path::Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}

fn open_task(task: &Task, seed: u64) -> Result<OpenedSource, CorpusError> {
    let corpus = generated::by_id(&task.id);
    let stream: Box<dyn Stream> = match (corpus.and_then(Generated::facts), corpus.and_then(Generated::recall)) {
        (Some(style), _) => Box::new(task::TaskStream::new(style, task, seed)),
        (None, Some(recall)) => Box::new(RecallStream::new(recall, seed)),
        (None, None) => return Err(unknown(&task.id, Generated::is_task)),
    };
    Ok(OpenedSource { name: format!("{} (generated)", task.id), stream })
}

fn unknown(id: &str, of: fn(&Generated) -> bool) -> CorpusError {
    let known: Vec<&str> = generated::CORPORA.iter().filter(|c| of(c)).map(|c| c.id).collect();
    CorpusError::new(format!("There is no generated corpus `{id}`: choose one of {}.", known.join(", ")))
}
