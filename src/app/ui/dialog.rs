//! The file dialogs that the interface can ask for.

use crate::config::FileKind;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogKind {
    Open(FileKind),
    OpenConfig,
    OpenRun,
    OpenGraph,
    SaveAs { suggested: String },
}
