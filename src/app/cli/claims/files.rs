//! The folder of claims: read, and results written into it.

use super::super::{ask, sweep::folder::inner_folder};
use crate::{
    cli::prelude::*,
    experiments::claims::{
        claim::ClaimError,
        ledger::{Ledger, LedgerRow, NamedText, Paper},
        result::ClaimResult,
    },
};

/// The folder of the repository.
const CLAIMS_FOLDER: &str = "claims";
const RESULTS_FOLDER: &str = "results";
const REPLICATIONS_FOLDER: &str = "replications";
/// Bytes of a file of claims or of a result.
const MAX_FILE: u64 = 4 << 20;

impl From<ClaimError> for Failure {
    fn from(e: ClaimError) -> Self {
        Self::wrong(e)
    }
}

/// The claims that a command works on.
pub struct Source {
    /// The folder of the claim files; `None` for the built-in claims.
    folder: Option<PathBuf>,
    /// The folder of results that the user named.
    results: Option<PathBuf>,
}

impl Source {
    /// Takes the folder that the user names, else the folder `claims` here if it holds claims. The folder of results
    /// need not exist yet.
    pub fn new(named: Option<&Path>, results: Option<&Path>) -> Self {
        let here = || file_stems(Path::new(CLAIMS_FOLDER), "toml").is_ok_and(|found| !found.is_empty());
        let folder = named.map(Path::to_owned).or_else(|| here().then(|| PathBuf::from(CLAIMS_FOLDER)));
        Self { folder, results: results.map(Path::to_owned) }
    }

    pub fn ledger(&self) -> Result<Ledger, Failure> {
        let ledger = self.read()?;
        for (_, claim) in ledger.claims() {
            if let Some((rule, probe)) = claim.rule.as_ref().and_then(|rule| Some((rule, rule.ask.as_ref()?))) {
                ask::check(probe, &rule.args)
                    .map_err(|e| usage!("the claim {} asks nothing: {}", claim.id, e.message))?;
            }
        }
        Ok(ledger)
    }

    /// A folder without claims has results of those that are built in.
    fn read(&self) -> Result<Ledger, Failure> {
        let papers = self.folder.as_ref().map_or(Ok(vec![]), |folder| texts(folder, "toml"))?;
        let folder = self.folder.as_deref().unwrap_or(Path::new(CLAIMS_FOLDER));
        // what cannot be used is refused, as a result would be written there too
        let inside = |name: &str| -> Result<Vec<NamedText>, Failure> {
            let found = if folder.is_dir() { inner_folder(folder, name)? } else { None };
            found.map_or(Ok(vec![]), |found| texts(&found, "json"))
        };
        let beside = inside(RESULTS_FOLDER)?;
        let named = self.results.as_ref().filter(|results| results.is_dir());
        let named = named.map_or(Ok(vec![]), |results| texts(results, "json"))?;
        if !papers.is_empty() {
            let replications = inside(REPLICATIONS_FOLDER)?;
            return Ok(Ledger::new(&papers, &beside)?.with_replications(&replications)?.with_results_apart(&named)?);
        }
        ensure!(
            self.folder.is_none() || !beside.is_empty(),
            "`{}` holds no claims (*.toml), and no results (results/*.json) of those that are built in",
            folder.display()
        );
        Ok(Ledger::built_in()?.with_results(&beside)?.with_results_apart(&named)?)
    }

    /// The folder of the claims; the working folder for those that are built in.
    pub fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new("."))
    }

    pub fn results(&self) -> PathBuf {
        self.results.clone().unwrap_or_else(|| self.inside(RESULTS_FOLDER))
    }

    /// The folder in which replications are kept, beside the first results.
    pub fn replications(&self) -> PathBuf {
        self.inside(REPLICATIONS_FOLDER)
    }

    fn inside(&self, name: &str) -> PathBuf {
        self.folder.as_deref().unwrap_or(Path::new(CLAIMS_FOLDER)).join(name)
    }

    /// True if the page of the claims lies in `docs` beside their folder.
    pub fn has_page(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.join("../docs/claims.md").is_file())
    }

    /// A sentence for each page in `docs` beside the folder that is not the one that the ledger makes.
    pub fn outdated_pages(&self, ledger: &Ledger) -> Result<Vec<String>, Failure> {
        let Some(folder) = &self.folder else { return Ok(vec![]) };
        let mut outdated = vec![];
        for (name, text) in ledger.pages() {
            let page = folder.join("../docs").join(name);
            let read = || files::read_text(&page, MAX_FILE).map_err(|e| Failure::unreadable(&page, &e));
            if page.is_file() && read()? != text {
                outdated.push(format!("docs/{name} differs from the ledger"));
            }
        }
        Ok(outdated)
    }
}

/// Writes a result, whole or not at all.
pub fn write(result: &ClaimResult, folder: &Path) -> Result<PathBuf, Failure> {
    let path = folder.join(format!("{}.json", result.claim));
    let text = result.to_json().map_err(Failure::failed)?;
    output::make_folder(folder)?;
    output::write(&path, text.as_bytes(), &[])?;
    Ok(path)
}

/// Writes the results of a folder that have another verdict now, or are other ones in the ledger `changed`.
///
/// # Errors
/// If a result names a claim other than that of its file, which could be any path, or its numbers are not those that
/// were made: each verdict of its paper counts them. See [`write()`].
pub fn write_changed(ledger: &Ledger, changed: &Ledger, folder: &Path) -> Result<(), Failure> {
    let problem = |(id, result): (&String, &ClaimResult)| match result.claim == *id {
        true => Some(format!("{id}: {}", result.digest_problem()?)),
        false => Some(format!("{id}: the result names the claim {}", result.claim)),
    };
    if let Some(words) = ledger.results.iter().find_map(problem) {
        return Err(Failure::run(format!("{words}; no verdict was written")));
    }
    for (_, now) in changed.rejudged() {
        let is_same = ledger.results.get(&now.claim) == Some(&now);
        if !is_same && folder.join(format!("{}.json", now.claim)).is_file() {
            write(&now, folder)?;
        }
    }
    Ok(())
}

pub fn known_paper<'a>(ledger: &'a Ledger, id: &str) -> Result<&'a Paper, Failure> {
    ledger.papers.iter().find(|paper| paper.id == id).ok_or_else(|| {
        let names: Vec<&str> = ledger.papers.iter().map(|paper| paper.id.as_str()).collect();
        usage!("there is no paper `{id}`; the papers are {}", names.join(", "))
    })
}

pub fn known_claim<'a, 'b>(rows: &'b [LedgerRow<'a>], id: &str) -> Result<&'b LedgerRow<'a>, Failure> {
    rows.iter().find(|row| row.claim.id.eq_ignore_ascii_case(id)).ok_or_else(|| {
        let meant = did_you_mean(id, rows.iter().map(|row| row.claim.id.as_str()));
        let stop = if meant.is_empty() { ";" } else { "" };
        usage!("there is no claim `{id}`{meant}{stop} `orrery claims` lists them")
    })
}

/// The files of a folder with this extension, sorted by name, each with its stem. No symbolic link is followed, because
/// the folder may come from someone else.
fn texts(folder: &Path, extension: &str) -> Result<Vec<NamedText>, Failure> {
    let text = |stem: String| {
        let name = format!("{stem}.{extension}");
        let text = files::read_text_inside(folder, &name, MAX_FILE)
            .map_err(|e| Failure::unreadable(&folder.join(name), &e))?;
        Ok((stem, text))
    };
    file_stems(folder, extension)?.into_iter().map(text).collect()
}

fn file_stems(folder: &Path, extension: &str) -> Result<Vec<String>, Failure> {
    let entries = files::entries(folder).map_err(|e| usage!("{} cannot be listed: {e}", folder.display()))?;
    let paths = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == extension));
    let mut found: Vec<String> =
        paths.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    found.sort();
    Ok(found)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// The message that refuses a folder of claims.
    fn refusal(folder: &Path) -> String {
        Source::new(Some(folder), None).ledger().err().map(|e| e.message).unwrap_or_default()
    }

    #[test]
    fn claims_are_neither_read_nor_written_over_links() {
        let (claims, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(claims.path().join("a.toml"), "title = 'P'\nsource = 'S'\n").unwrap();
        assert_eq!(refusal(claims.path()), "");
        let results = claims.path().join(RESULTS_FOLDER);
        symlink(outside.path(), &results).unwrap();
        assert!(refusal(claims.path()).contains("results cannot be used: it is a link"), "{}", refusal(claims.path()));
        fs::remove_file(results).unwrap();
        fs::write(outside.path().join("b"), "title = 'P'\nsource = 'S'\n").unwrap();
        symlink(outside.path().join("b"), claims.path().join("b.toml")).unwrap();
        assert!(refusal(claims.path()).contains("b.toml cannot be read: it is a link"), "{}", refusal(claims.path()));
    }

    /// A result names its claim with any text, so a name that is a path must not make the result overwrite that file.
    #[test]
    fn no_verdict_is_written_where_a_result_says() {
        let outside = tempfile::tempdir().unwrap();
        let (victim, results) = (outside.path().join("victim.json"), outside.path().join(RESULTS_FOLDER));
        fs::write(&victim, "kept").unwrap();
        fs::create_dir(&results).unwrap();
        let mut ledger = Ledger::built_in().unwrap();
        let (id, result) = ledger.results.pop_first().unwrap();
        let forged = ClaimResult { claim: "../victim".to_owned(), ..result }.with_digest();
        ledger.results = BTreeMap::from([(id, forged)]);
        let refused = write_changed(&ledger, &ledger, &results).unwrap_err().message;
        assert!(refused.contains("the result names the claim ../victim"), "{refused}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
    }
}
