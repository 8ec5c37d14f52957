//! The text files of one folder as domains: each gives as much as the others, mixed document by document. It reads
//! ordinary files of that folder alone, none of a folder inside it and none through a link, because the folder may be untrusted.

use std::{fs, io};

use super::{
    generated::domains,
    prelude::*,
    text_file::{TextFile, refused},
};
use crate::files::memory::size;

/// The limit of entries of a folder that are listed.
const MAX_ENTRIES: usize = 10_000;
/// The largest number of bytes that all files give together.
const MAX_TEXT: u64 = 8 << 20;
/// A file with fewer bytes would leave too little for all others, which give no more than it does.
const MIN_FILE: u64 = 4 << 10;

struct Texts {
    files: Vec<PathBuf>,
    /// The number of entries that are not read: folders, special files, and further texts. Hidden ones do not count.
    left_out: usize,
}

/// The files that are the folder's domains: the first [`domains::MAX_DOMAINS`] by name of those that are ordinary files
/// and whose names do not begin with a dot. Errors: it is not a folder, cannot be read, has too many entries, none that
/// is a file, or a link where a file could be.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    list(folder).map(|texts| texts.files)
}

/// The same files, and how many other entries there are.
fn list(folder: &Path) -> Result<Texts, CorpusError> {
    let here = folder.display();
    let entries = files::all_entries(folder).map_err(|e| match e.kind() {
        io::ErrorKind::NotADirectory => CorpusError::with_source(
            format!("{here} is a file, not a folder: choose the folder it lies in, or give it as the text file."),
            e,
        ),
        io::ErrorKind::PermissionDenied => CorpusError::with_source(
            format!("{here} cannot be read with your permissions: change them (chmod +rx), or choose another folder."),
            e,
        ),
        _ => refused(folder, e.into()),
    })?;
    let (mut names, mut left_out) = (vec![], 0);
    for (i, entry) in entries.enumerate() {
        if i == MAX_ENTRIES {
            return Err(CorpusError::new(format!(
                "{here} has more than {MAX_ENTRIES} entries: put the texts to learn from into a folder of their own."
            )));
        }
        let entry = entry.map_err(|e| refused(folder, e.into()))?;
        // A file whose metadata cannot be read is refused when it is opened.
        let is_file = fs::metadata(entry.path()).map_or(true, |meta| meta.is_file());
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if !is_file {
            left_out += 1;
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            return Err(CorpusError::new(format!(
                "{} is a link, and only files that lie in the folder are read: put a copy in its place (cp -L), or take it out of the folder.",
                entry.path().display()
            )));
        }
        names.push(entry.file_name());
    }
    if names.is_empty() {
        return Err(CorpusError::new(format!(
            "{here} has no files: put text files into it, one a domain, or choose another folder (folders inside it are not looked at)."
        )));
    }
    names.sort();
    left_out += names.len().saturating_sub(domains::MAX_DOMAINS);
    names.truncate(domains::MAX_DOMAINS);
    Ok(Texts { files: names.into_iter().map(|name| folder.join(name)).collect(), left_out })
}

/// The share of the text that each file of a folder gives.
#[derive(Debug)]
struct DomainShares {
    /// The files, the first first, and how many of them are used.
    files: Vec<PathBuf>,
    used: usize,
    /// See [`Texts`].
    left_out: usize,
    /// Bytes of the text, the same however many files are used.
    total: u64,
}

impl DomainShares {
    fn new(folder: &Path, domains: usize) -> Result<Self, CorpusError> {
        let Texts { files, left_out } = list(folder)?;
        let mut total = MAX_TEXT;
        let mut smallest = u64::MAX;
        for (path, count) in files.iter().zip(1..) {
            let bytes = fs::metadata(path).map_err(|e| in_folder(refused(path, e.into())))?.len();
            if bytes < MIN_FILE {
                return Err(CorpusError::new(format!(
                    "{} has only {}, and every file of a folder of domains gives as much as the smallest can: take it out of the folder, or make it at least {} long.",
                    path.display(),
                    size(bytes),
                    size(MIN_FILE)
                )));
            }
            smallest = smallest.min(bytes);
            total = total.min(smallest.saturating_mul(count));
        }
        let used = domains.clamp(1, files.len());
        Ok(Self { files, used, left_out, total })
    }
}

/// The text of the first `domains` files of a folder (all, where there are fewer), and its name. Errors: those of
/// [`files()`]; if one of the first files is too short to be a domain, or one that is used is not text.
pub(super) fn open(folder: &Path, domains: usize, seed: u64) -> Result<(String, TextFile), CorpusError> {
    let shares = DomainShares::new(folder, domains)?;
    let share = (shares.total / shares.used as u64) as usize;
    let read = |path: &PathBuf| {
        let file = TextFile::open(path).map_err(in_folder)?;
        let part = file.slice(0, share);
        // The share may end inside a character.
        Ok(file.encoding.text(&part.bytes(0, share)?).trim_end_matches('\u{fffd}').to_owned())
    };
    let texts = shares.files[..shares.used].iter().map(read).collect::<Result<Vec<_>, CorpusError>>()?;
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
    let left_out = match shares.left_out {
        0 => String::new(),
        1 => "; 1 other entry is left out".to_owned(),
        n => format!("; {n} other entries are left out"),
    };
    let name = format!("{name} ({} of {} files{left_out})", shares.used, shares.files.len());
    Ok((name, TextFile::from_string(domains::mixed(seed, shares.total as usize, &texts))))
}

/// Bytes of its text in memory; 0 for a folder that opening will refuse.
pub(super) fn bytes(folder: &Path) -> u64 {
    DomainShares::new(folder, 1).map_or(0, |shares| shares.total)
}

/// The error of a file that cannot be read, with the advice that applies to a file of a folder.
fn in_folder(refusal: CorpusError) -> CorpusError {
    let words = format!("{refusal} Or take it out of the folder of domains: every file in it is read.");
    CorpusError::with_source(words, refusal)
}
