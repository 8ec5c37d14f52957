//! The fingerprint of a file's content: its length and its SHA-256, as `sha256sum` prints it.

use std::{
    io::{self, BufReader},
    path::Path,
};

use sha2::{Digest, Sha256};

use super::{FileError, open};

/// Length in bytes and SHA-256 in lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 in lower-case hexadecimal digits.
    pub sha256: String,
}

/// Reads the file through, whatever its size.
///
/// # Errors
/// If it is not an ordinary file, or cannot be read.
pub fn fingerprint(path: &Path) -> Result<Fingerprint, FileError> {
    let mut hash = Sha256::new();
    let bytes = io::copy(&mut BufReader::with_capacity(256 << 10, open(path)?), &mut hash)?;
    Ok(Fingerprint { bytes, sha256: hexadecimal(hash) })
}

/// The SHA-256 of a text, as [`fingerprint`] gives that of a file.
pub fn sha256(text: &str) -> String {
    hexadecimal(Sha256::new_with_prefix(text))
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_is_the_published_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-2, B.1
        assert_eq!(fingerprint(&path).unwrap(), Fingerprint { bytes: 3, sha256: known.to_owned() });
        assert_eq!(sha256("abc"), known);
    }
}
