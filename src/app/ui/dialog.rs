//! The file dialogs that the interface can ask for.

/// The purpose of a file dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogKind {
    OpenText,
    /// A folder of texts.
    OpenTextFolder,
    OpenConfig,
    OpenRun,
    /// A graph's file.
    OpenGraph,
    OpenTokenizer,
    /// A list of characters, or a text to take them from.
    OpenVocabulary,
    OpenSentences,
    OpenCheckpoint,
    /// A matrix of numbers.
    OpenMatrix,
    SaveAs {
        suggested: String,
    },
}
