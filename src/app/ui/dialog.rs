//! The file dialogs that the interface can ask for.

use crate::config::FileKind;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogKind {
    /// Opens what a setting can take.
    Open(FileKind),
    OpenConfig,
    OpenRun,
    OpenGraph,
    SaveAs {
        suggested: String,
    },
}
