//! Handles damaged records: every command that reads one warns in the same words, and commands that export one refuse
//! unless `--partial` is given.

use crate::{cli::prelude::*, store::export::Record};

/// The option to write the readable part of a damaged record.
#[derive(Args, Clone, Copy)]
pub struct PartialArgs {
    /// Write what can be read of a damaged record, and say what is missing
    #[arg(long)]
    pub partial: bool,
}

/// Reports the lost parts of a run, if there are any.
pub fn report(run: &Path, damage: &Damage) {
    if !damage.is_empty() {
        report_on_one_line(run.display(), damage);
    }
}

/// Reports the problems of a run in a table, if there are any.
pub fn report_problems(row: &RunRow) {
    if !row.problems.is_empty() {
        report_on_one_line(&row.folder, row.problems.join("; "));
    }
}

/// Prints a sentence about a run. After a line break, somebody else's name could pass for a message of this program.
pub fn report_on_one_line(run: impl Display, sentence: impl Display) {
    notice!("{}", one_line(&format!("{run}: {sentence}")));
}

/// Reports the lost parts of the runs of a table.
pub fn report_rows<'a>(rows: impl Iterator<Item = &'a RunRow>) {
    rows.for_each(|row| report(&row.path, &Damage(row.damage.clone())));
}

impl PartialArgs {
    /// Reports which part of a run's record is lost.
    ///
    /// # Errors
    /// If something is lost and `--partial` was not given.
    pub fn check(self, run: &Path, damage: &Damage) -> Result<(), Failure> {
        let record = Record { run, allows_damage: self.partial };
        report(run, &record.check(damage.clone()).map_err(Failure::failed)?);
        Ok(())
    }

    /// Checks the runs of a table like [`PartialArgs::check`].
    pub fn check_rows<'a>(self, mut rows: impl Iterator<Item = &'a RunRow>) -> Result<(), Failure> {
        rows.try_for_each(|row| self.check(&row.path, &Damage(row.damage.clone())))
    }
}
