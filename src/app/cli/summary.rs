//! The headline numbers of a run as a small table: for each variant, or mean and standard deviation over seeds.

use std::borrow::Cow;

use super::terminal::one_line;
use crate::{
    cli::prelude::*,
    experiments::{
        headlines::{self, RunHeadlines},
        run_terms::RunTerms,
        seeds::SeedSummary,
        short_number::with_spread,
    },
    labs::headline::Headline,
};

/// A table that would be wider than this has a row for each number instead of a column.
const MAX_WIDTH: usize = 120;
/// The gap between columns.
const GAP: &str = "   ";

/// The table of a run folder; empty if nothing of it was measured.
pub fn table(folder: &Path) -> Result<String, StoreError> {
    Ok(line(&headlines::read(folder, |_| ())?))
}

fn line(run: &RunHeadlines) -> String {
    let RunHeadlines { info, lab: Some(lab), found, .. } = run else { return String::new() };
    if found.values.is_empty() {
        return String::new();
    }
    let columns: Vec<(&str, &Headline)> =
        found.keys().into_iter().filter_map(|key| Some((key, lab.headline(key)?))).collect();
    let newest = found.values.iter().map(|v| v.step).max().unwrap_or(0);
    let corner = format!("at step {newest}");
    let terms = RunTerms::from(info.as_ref());
    let headings = columns.iter().map(|(key, headline)| terms.heading(headline, key));
    let mut rows = vec![std::iter::once(corner).chain(headings).collect::<Vec<_>>()];
    for group in info.groups() {
        let members: Vec<_> = info.variants.iter().filter(|v| v.group == group).collect();
        let name = match members.as_slice() {
            [one] => one.label.clone(),
            many => format!("{group}, {} seeds", many.len()),
        };
        let cells = columns.iter().map(|(key, headline)| {
            let other = found.step(key, group).filter(|step| *step != newest);
            cell_at(headline, found.group(key, group).as_ref(), other)
        });
        rows.push(std::iter::once(name).chain(cells).collect());
    }
    let mut lines = fitted(&rows);
    let missing = found.missing.iter().filter_map(|m| Some(format!("no {}: {}", lab.headline(&m.id)?.name, m.why)));
    lines.extend(missing);
    lines.join("\n")
}

/// The lines of a table with names in its first column; the table is transposed if it would be too wide.
pub(super) fn fitted(rows: &[Vec<String>]) -> Vec<String> {
    let is_left = |column| column == 0;
    let lines = laid_out(rows, is_left);
    match rows.first() {
        Some(first) if lines.iter().any(|line| line.chars().count() > MAX_WIDTH) => {
            let column = |i: usize| rows.iter().map(|row| row[i].clone()).collect();
            laid_out(&(0..first.len()).map(column).collect::<Vec<Vec<String>>>(), is_left)
        }
        _ => lines,
    }
}

/// The lines of a table whose columns stand to the left or to the right; every cell on one line.
pub(super) fn laid_out(rows: &[Vec<String>], is_left: impl Fn(usize) -> bool) -> Vec<String> {
    let rows: Vec<Vec<Cow<'_, str>>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    let line = |row: &Vec<Cow<'_, str>>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(i, (cell, width))| match is_left(i) {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<String>>().join(GAP).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The mean with the standard deviation over seeds, or a paired difference with its 95% interval.
pub(super) fn cell(headline: &Headline, group: Option<&SeedSummary>) -> String {
    let digits = headline.digits;
    match group {
        None => "-".to_owned(),
        Some(SeedSummary { mean, sd: None, .. }) => digits.format(*mean),
        Some(SeedSummary { mean, interval: Some((low, high)), .. }) if headline.is_paired() => {
            format!("{} [{}, {}]", digits.format(*mean), digits.format(*low), digits.format(*high))
        }
        Some(SeedSummary { mean, sd: Some(sd), .. }) => with_spread(*mean, *sd, Some(digits)),
    }
}

/// The meaning of the spreads in such cells; `None` where there is none.
pub(super) fn spread_legend<'a>(cells: impl Iterator<Item = (&'a Headline, &'a SeedSummary)>) -> Option<String> {
    let (mut has_sd, mut has_interval) = (false, false);
    for (headline, _) in cells.filter(|(_, number)| number.seeds > 1) {
        *(if headline.is_paired() { &mut has_interval } else { &mut has_sd }) = true;
    }
    let sd = has_sd.then_some("mean ± standard deviation over seeds");
    let interval = has_interval.then_some("a difference with the 95% interval of its mean over seeds [low, high]");
    let known: Vec<&str> = sd.into_iter().chain(interval).collect();
    (!known.is_empty()).then(|| known.join("; "))
}

/// A [`cell`] with the step of its number if that differs from the table's: "5.5500 (step 0)".
pub(super) fn cell_at(headline: &Headline, group: Option<&SeedSummary>, other_step: Option<u64>) -> String {
    format!("{}{}", cell(headline, group), step_words(other_step))
}

/// " (step 0)", after a number whose step differs from the table's.
pub(super) fn step_words(other_step: Option<u64>) -> String {
    other_step.map_or(String::new(), |step| format!(" (step {step})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiments::headline_values::{HeadlineValue, HeadlineValues},
        labs::headline::common::{DIFFERENCE_FROM_FIRST, LOSS},
        store::Damage,
        telemetry::{RunInfo, VariantInfo},
    };

    #[test]
    fn a_number_of_another_step_than_the_heads_says_so() {
        let lab = labs::find("fast_slow").unwrap();
        let variant = VariantInfo { id: "a".into(), label: "A".into(), group: "a".into(), seed: 7, params: 1 };
        let value = |key: &str, step, value| HeadlineValue {
            key: key.into(),
            variant: "a".into(),
            group: "a".into(),
            step,
            value,
        };
        let values = vec![value(LOSS.id, 0, 5.55), value("gate", 78, 0.25)];
        let found = HeadlineValues { values, ..HeadlineValues::default() };
        let info = Arc::new(RunInfo { variants: vec![variant], ..RunInfo::default() });
        let words = line(&RunHeadlines { info, lab: Some(lab), found, damage: Damage::default() });
        assert!(words.contains("at step 78") && words.contains("5.5500 (step 0)"), "{words}");
        assert!(!words.contains("(step 78)"), "{words}");
    }

    #[test]
    fn seeds_become_mean_and_spread_and_gaps_a_dash() {
        assert_eq!(cell(&LOSS, SeedSummary::new(&[]).as_ref()), "-");
        assert_eq!(cell(&LOSS, SeedSummary::new(&[0.25]).as_ref()), "0.2500");
        assert_eq!(cell(&LOSS, SeedSummary::new(&[1.0, 3.0]).as_ref()), "2.0000 ± 1.4142");
    }

    #[test]
    fn a_legend_names_the_spreads_that_are_there() {
        let [one, three] = [&[1.0][..], &[1.0, 2.0, 3.0]].map(|values| SeedSummary::new(values).unwrap());
        let legend = |cells: &[(&Headline, &SeedSummary)]| spread_legend(cells.iter().copied()).unwrap_or_default();
        assert_eq!(legend(&[(&LOSS, &one), (&DIFFERENCE_FROM_FIRST, &one)]), "");
        assert_eq!(legend(&[(&LOSS, &three)]), "mean ± standard deviation over seeds");
        let both = legend(&[(&LOSS, &three), (&DIFFERENCE_FROM_FIRST, &three)]);
        assert!(both.contains("standard deviation") && both.contains("95% interval"), "{both}");
    }

    #[test]
    fn a_paired_difference_has_its_interval() {
        assert_eq!(
            cell(&DIFFERENCE_FROM_FIRST, SeedSummary::new(&[1.0, 2.0, 3.0]).as_ref()),
            "2.0000 [-0.4841, 4.4841]"
        );
    }
}
