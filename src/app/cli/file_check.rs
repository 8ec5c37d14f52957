//! Checks whether a file holds what a setting expects, as the command would when it reads the file.

use crate::{
    analysis::generator::MatrixKind,
    cli::prelude::*,
    corpus::{BYTES, CorpusSpec, LabelledLines, Source, TextTokenizer, TokenizerSpec},
    models::{FamilySpec, bdh::BdhSpec, stationary::read_matrix},
    trainer::Plan,
    ui::host::{CheckedFile, ChosenFile},
};

/// Reads the file beside the current settings of its lab, in which it is not yet.
pub fn check(file: &ChosenFile, settings: &Config) -> Result<CheckedFile, String> {
    let path = file.path.as_path();
    let mut checked = CheckedFile::default();
    match file.kind {
        FileKind::Matrix => {
            // another setting says whether the numbers are rates or probabilities, so both are tried
            let rates = read_matrix(path, MatrixKind::Rates);
            let matrix = rates.or_else(|e| read_matrix(path, MatrixKind::Transitions).map_err(|_| e));
            checked.states = Some(matrix.map_err(|e| e.to_string())?.len());
        }
        FileKind::Sentences => LabelledLines::read(path).map(drop).map_err(|e| e.to_string())?,
        FileKind::Tokenizer => open_tokenizer(TokenizerSpec::HuggingFace(path.to_owned()))?,
        FileKind::Vocabulary => open_tokenizer(TokenizerSpec::Characters(path.to_owned()))?,
        FileKind::Text | FileKind::TextFolder | FileKind::Treebank => check_text(file, settings)?,
        FileKind::Checkpoint => {
            let weights = Some(path.to_owned());
            BdhSpec { weights, ..BdhSpec::default() }.check_files().map_err(|e| e.to_string())?;
        }
    }
    Ok(checked)
}

fn open_tokenizer(spec: TokenizerSpec) -> Result<(), String> {
    TextTokenizer::open(&spec, "").map(drop).map_err(|e| e.to_string())
}

/// Checks the texts that a run of the settings would read of the file; where it reads none, the file as bytes.
fn check_text(file: &ChosenFile, settings: &Config) -> Result<(), String> {
    let path = file.path.as_path();
    let mut texts = match texts_with(file, settings) {
        Ok(texts) => texts,
        // settings that are refused without the file as well are no fault of it
        Err(e) if plan(file.lab, settings).is_ok() => return Err(e.to_string()),
        Err(_) => vec![],
    };
    if texts.is_empty() {
        let path = path.to_owned();
        let source = match file.kind {
            FileKind::TextFolder => Source::Folder { path, domains: 1 },
            _ => Source::File(path),
        };
        texts = vec![CorpusSpec::new(source, TokenizerSpec::Byte { vocab: BYTES })];
    }
    texts.iter().try_for_each(CorpusSpec::check_file).map_err(|e| e.to_string())
}

/// The texts that a run with these settings would read from the file.
fn texts_with(file: &ChosenFile, settings: &Config) -> Result<Vec<CorpusSpec>, ConfigError> {
    let lab = labs::find_in(labs::LABS, file.lab)?;
    let mut settings = settings.clone();
    settings.set(&(lab.knobs)(), file.key, Value::Text(file.path.display().to_string()))?;
    let is_of_file = |text: &&CorpusSpec| match &text.source {
        Source::File(path) | Source::Folder { path, .. } => *path == file.path,
        Source::GrammarRoles(sets) => {
            sets.treebank.iter().map(|treebank| &treebank.path).chain(&sets.own).any(|path| *path == file.path)
        }
        _ => false,
    };
    Ok(plan(file.lab, &settings)?.texts().filter(is_of_file).cloned().collect())
}

fn plan(lab: &str, settings: &Config) -> Result<Plan, ConfigError> {
    (labs::find_in(labs::LABS, lab)?.plan)(settings)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Checks files for a lab with the settings of its first preset.
    struct TestHost {
        folder: tempfile::TempDir,
        lab: &'static str,
    }

    impl TestHost {
        fn new(lab: &'static str) -> Self {
            Self { folder: tempfile::tempdir().unwrap(), lab }
        }

        fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
            let path = self.folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        }

        fn check(&self, kind: FileKind, path: PathBuf) -> Result<CheckedFile, String> {
            let lab = labs::find(self.lab).unwrap();
            let key = lab.file_key(kind).unwrap();
            check(&ChosenFile { path, kind, lab: lab.id, key, is_opened: true }, &lab.config(None).unwrap())
        }
    }

    #[test]
    fn files_that_a_command_refuses_are_refused() {
        let matrices = TestHost::new("equilibrium");
        let rates = matrices.file("rates.csv", "0,1,1\n2,0,1\n1,1,0\n");
        assert_eq!(matrices.check(FileKind::Matrix, rates), Ok(CheckedFile { states: Some(3) }));
        let why = matrices.check(FileKind::Matrix, matrices.file("words.csv", "a,b\nc,d\n")).unwrap_err();
        assert!(why.contains("words.csv"), "{why}");
        // one that is too large is refused in the command's words, whatever its numbers are
        let large = matrices.file("large.csv", format!("1{}\n", ",0".repeat(75)).repeat(76));
        let command = read_matrix(&large, MatrixKind::Transitions).unwrap_err().to_string();
        assert!(command.contains("76 states; a generator here has 2 to 64"), "{command}");
        assert_eq!(matrices.check(FileKind::Matrix, large), Err(command));

        let synapses = TestHost::new("synapses");
        let words = || synapses.file("words.csv", "a,b\nc,d\n");
        for kind in [FileKind::Sentences, FileKind::Tokenizer, FileKind::Checkpoint, FileKind::TextFolder] {
            let why = synapses.check(kind, words()).unwrap_err();
            assert!(why.contains("words.csv"), "{kind:?}: {why}");
        }
        assert_eq!(synapses.check(FileKind::Vocabulary, words()), Ok(CheckedFile::default()));
    }

    #[test]
    fn texts_that_no_run_could_read_are_refused() {
        let host = TestHost::new("synapses");
        let text = |name: &str, bytes: &[u8]| host.check(FileKind::Text, host.file(name, bytes));
        assert_eq!(text("book.txt", b"It was a bright cold day in April.\n"), Ok(CheckedFile::default()));
        for (name, bytes, why) in [
            ("empty.txt", b"".as_slice(), "is empty"),
            ("binary.txt", b"MZ\x90\0\x03\0\0\0", "is binary, not text"),
            ("wide.txt", b"\xff\xfeI\0t\0", "is UTF-16 text"),
            ("blank.txt", b"  \n\n", "only spaces"),
        ] {
            let refusal = text(name, bytes).unwrap_err();
            assert!(refusal.contains(why) && refusal.contains(name), "{refusal}");
        }
        let missing = host.check(FileKind::Text, host.folder.path().join("missing.txt")).unwrap_err();
        assert!(missing.contains("does not exist"), "{missing}");
        let folder = host.folder.path().join("texts");
        std::fs::create_dir(&folder).unwrap();
        assert!(host.check(FileKind::TextFolder, folder).unwrap_err().contains("has no files"));
    }

    #[test]
    fn sentences_of_ones_own_are_in_the_words_of_the_grammar() {
        let host = TestHost::new("grammar_roles");
        let why = host.check(FileKind::Text, host.file("own.txt", "colourless green ideas\n")).unwrap_err();
        assert!(why.contains("own.txt"), "{why}");
    }

    #[test]
    fn a_treebank_is_refused_by_its_line() {
        let host = TestHost::new("grammar_roles");
        let treebank = |tag: &str| format!("1\ttide\t_\t{tag}\t_\t_\t0\troot\t_\t_\n");
        let good = host.file("good.conllu", treebank("NOUN"));
        assert_eq!(host.check(FileKind::Treebank, good), Ok(CheckedFile::default()));
        let why = host.check(FileKind::Treebank, host.file("own.conllu", treebank("noun"))).unwrap_err();
        assert!(why.contains("Line 1 of") && why.contains("own.conllu"), "{why}");
    }

    #[test]
    fn weights_that_are_none_are_refused() {
        let host = TestHost::new("trained_bdh");
        let header = |json: &str, data: usize| {
            let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
            bytes.extend(json.as_bytes());
            bytes.extend(vec![0; data]);
            bytes
        };
        let other = r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
        for (name, bytes, why) in [
            ("empty.safetensors", vec![], "cannot be read"),
            ("broken.safetensors", header("{\"w\":", 8), "cannot be read"),
            ("cut.safetensors", header(other, 2), "cannot be read"),
            ("other.safetensors", header(other, 8), "holds no BDH"),
        ] {
            let refusal = host.check(FileKind::Checkpoint, host.file(name, bytes)).unwrap_err();
            assert!(refusal.contains(why) && refusal.contains(name), "{refusal}");
        }
    }
}
