//! The file dialogs that the interface can ask for.

use crate::config::FileKind;

/// The purpose of a file dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogKind {
    /// Opens what a setting can take.
    Open(FileKind),
    OpenConfig,
    OpenRun,
    /// Opens a graph's file.
    OpenGraph,
    SaveAs {
        suggested: String,
    },
}
