//! The ledger for the window: its claims, and the runs of a rule, which are the same sweep that `orrery claims run` makes.

use super::{
    super::sweep::{
        background::{self, Background},
        folder::{SweepFolder, TaskState},
    },
    files::Source,
    numbers::{EndedRuns, NumbersCache},
    runs::{seeds_of, with_known_folder, with_known_seeds},
};
use crate::{
    cli::prelude::*,
    experiments::{
        claims::{
            entry::{ClaimRuns, PaperEntry},
            ledger::Ledger,
            rule::Rule,
        },
        sweep::{Seeds, SweepFile},
    },
};

/// The claims of a window, read once and again when they are listed.
#[derive(Default)]
pub struct WindowClaims {
    /// The folder of claims; `None` for that of the command `orrery claims`.
    folder: Option<PathBuf>,
    ledger: Mutex<Option<Arc<Ledger>>>,
    numbers: NumbersCache,
}

impl WindowClaims {
    pub fn from_folder(folder: PathBuf) -> Self {
        Self { folder: Some(folder), ..Self::default() }
    }

    /// Reads the files of the ledger.
    pub fn list(&self) -> Result<Vec<PaperEntry>, Failure> {
        let ledger = Arc::new(Source::new(self.folder.as_deref(), None).ledger()?);
        *self.ledger.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&ledger));
        Ok(ledger.entries())
    }

    /// Begins the runs that a claim's rule lacks; `runs` is the folder of the window's runs.
    pub fn begin(&self, id: &str, runs: &Path, sweeps: &Background) -> Result<(), Failure> {
        let (_, file, seeds) = self.rule(id)?;
        let file = with_known_seeds(file, &seeds, &background::sweeps_beside(runs).map_err(Failure::run)?)?;
        background::make(&file, runs, Some(sweeps)).map(|_| ()).map_err(Failure::run)
    }

    /// The runs of a claim's rule and their results; `None` while there is no folder of them.
    pub fn runs(&self, id: &str, runs: &Path, sweeps: &Background) -> Result<Option<ClaimRuns>, Failure> {
        let (rule, file, seeds) = self.rule(id)?;
        let out = background::sweeps_beside(runs).map_err(Failure::run)?;
        let folder = out.join(with_known_folder(file, &out).name.unwrap_or_default());
        if !is_sweep(&folder) {
            return Ok(None);
        }
        let sweep = SweepFolder::open(&folder)?;
        let mut states = sweep.states()?;
        // the folder has the seeds of other rules of the same runs too
        states.retain(|state| seeds.contains(&state.task.seed));
        let ended = EndedRuns::read(&rule, &sweep, &seeds, &states, &self.numbers)?;
        let is_running = |state: &TaskState| state.row.as_ref().is_some_and(|row| row.state.is_in_use());
        let is_failed = |state: &TaskState| {
            let is_failure = |state: &RowState| matches!(state, RowState::Failed(_) | RowState::Unreadable);
            state.row.as_ref().map_or_else(|| sweep.refusal(state.task).is_some(), |row| is_failure(&row.state))
        };
        let judged = self.ledger()?.judge(&ended.into_result(id, &rule, None));
        let count = |is_meant: &dyn Fn(&TaskState) -> bool| states.iter().filter(|state| is_meant(state)).count();
        Ok(Some(ClaimRuns {
            total: seeds.len() * sweep.sweep.points.len(),
            finished: count(&|state| state.finished().is_some()),
            running: count(&is_running),
            failed: count(&is_failed),
            process: sweeps.process(&sweep.path),
            judged: judged.ok_or_else(|| no_rule(id))?,
            folder: sweep.path,
        }))
    }

    /// A claim's rule with the sweep that it asks for, and the seeds.
    fn rule(&self, id: &str) -> Result<(Rule, SweepFile, Vec<u64>), Failure> {
        let ledger = self.ledger()?;
        let claim = ledger.claims().map(|(_, claim)| claim).find(|claim| claim.id == id);
        let rule = claim.and_then(|claim| claim.rule.clone()).ok_or_else(|| no_rule(id))?;
        let file = rule.sweep(Seeds::Count(rule.seeds)).map_err(Failure::usage)?;
        let seeds = seeds_of(&rule, None, rule.seeds).map_err(Failure::usage)?;
        Ok((rule, file, seeds))
    }

    fn ledger(&self) -> Result<Arc<Ledger>, Failure> {
        let known = self.ledger.lock().unwrap_or_else(PoisonError::into_inner).clone();
        known.ok_or_else(|| Failure::run("the claims have not been read yet: open the page Claims"))
    }
}

fn no_rule(id: &str) -> Failure {
    usage!("the claim {id} has no rule to run")
}
