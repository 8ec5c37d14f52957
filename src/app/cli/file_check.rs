//! Tells whether a file holds what a setting takes it for, as the command would find when it reads it.

use std::path::Path;

use crate::{
    analysis::generator::MatrixKind,
    config::FileKind,
    corpus::{LabelledLines, TextTokenizer, TokenizerSpec},
    models::stationary::read_matrix,
    ui::host::CheckedFile,
};

/// True for the kinds of files that can be checked by themselves; others are tried by the run that reads them.
pub fn can_check(kind: FileKind) -> bool {
    matches!(kind, FileKind::Matrix | FileKind::Sentences | FileKind::Tokenizer | FileKind::Vocabulary)
}

/// # Errors
/// In words, if the file cannot be read or holds something else.
pub fn check(kind: FileKind, path: &Path) -> Result<CheckedFile, String> {
    let tokenizer = |spec: TokenizerSpec| TextTokenizer::open(&spec, "").map(|_| ()).map_err(|e| e.to_string());
    let mut checked = CheckedFile::default();
    match kind {
        FileKind::Matrix => {
            // which of both its numbers are is a setting of its own
            let rates = read_matrix(path, MatrixKind::Rates);
            let matrix = rates.or_else(|e| read_matrix(path, MatrixKind::Transitions).map_err(|_| e));
            checked.states = Some(matrix.map_err(|e| e.to_string())?.len());
        }
        FileKind::Sentences => {
            LabelledLines::read(path).map_err(|e| e.to_string())?;
        }
        FileKind::Tokenizer => tokenizer(TokenizerSpec::HuggingFace(path.to_owned()))?,
        FileKind::Vocabulary => tokenizer(TokenizerSpec::Characters(path.to_owned()))?,
        _ => {}
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_refuses_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let rates = file("rates.csv", "0,1,1\n2,0,1\n1,1,0\n");
        assert_eq!(check(FileKind::Matrix, &rates), Ok(CheckedFile { states: Some(3) }));
        let words = file("words.csv", "a,b\nc,d\n");
        for kind in [FileKind::Matrix, FileKind::Sentences, FileKind::Tokenizer] {
            assert!(can_check(kind));
            let why = check(kind, &words).unwrap_err();
            assert!(why.contains("words.csv"), "{kind:?}: {why}");
        }
        assert!(!can_check(FileKind::Checkpoint));
    }
}
