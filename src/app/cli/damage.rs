//! Records that are not whole: all who read one say the same, and who hands it on refuses, unless asked for a part.

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
        notice!("{}: {damage}", run.display());
    }
}

/// Reports the lost parts of the runs of a table.
pub fn report_rows<'a>(rows: impl Iterator<Item = &'a RunRow>) {
    rows.for_each(|row| report(&row.path, &Damage(row.damage.clone())));
}

impl PartialArgs {
    /// Says what of a run is lost.
    ///
    /// # Errors
    /// If something is, and no part was asked for.
    pub fn check(self, run: &Path, damage: &Damage) -> Result<(), Failure> {
        let record = Record { run, allows_damage: self.partial };
        report(run, &record.check(damage.clone()).map_err(Failure::failed)?);
        Ok(())
    }

    /// Checks the runs of a table like [`PartialArgs::check`].
    ///
    /// # Errors
    /// See [`PartialArgs::check`].
    pub fn check_rows<'a>(self, mut rows: impl Iterator<Item = &'a RunRow>) -> Result<(), Failure> {
        rows.try_for_each(|row| self.check(&row.path, &Damage(row.damage.clone())))
    }
}
